#include "shell/knowledge.h"

#include <fnmatch.h>
#include <string.h>
#include "base/name.h"

const struct knowledge_command *knowledge_find(const char *name)
{
	const char *slash = strrchr(name, '/');

	/* The name / alone has no base. */
	if (slash && slash[1])
		name = slash + 1;
	for (uint32_t at = name_hash(name);; at++) {
		uint16_t slot = knowledge_slots.slots[at & knowledge_slots.mask];

		if (!slot)
			return NULL;
		if (name_is(knowledge_commands[slot - 1].name, name))
			return &knowledge_commands[slot - 1];
	}
}

bool knowledge_is_variable(const char *pattern, const char *name)
{
	return (*pattern == *name || strchr("*?[\\", *pattern)) && fnmatch(pattern, name, 0) == 0;
}

const char *knowledge_class_name(enum knowledge_class effect)
{
	static const char *const names[] = {
		[KNOWLEDGE_CLASS_EXEC] = "exec",
		[KNOWLEDGE_CLASS_WRITE] = "write",
		[KNOWLEDGE_CLASS_NETWORK] = "network",
		[KNOWLEDGE_CLASS_READ_OUTSIDE] = "read-outside",
		[KNOWLEDGE_CLASS_PRIV] = "priv",
		[KNOWLEDGE_CLASS_HANG] = "hang",
		[KNOWLEDGE_CLASS_SAFE] = "safe",
	};

	return names[effect];
}
