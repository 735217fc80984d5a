#include "shell/knowledge.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *key, const void *item)
{
	return strcmp(key, ((const struct knowledge_command *)item)->name);
}

const struct knowledge_command *knowledge_find(const char *name)
{
	const char *slash = strrchr(name, '/');

	/* The name / alone has no base. */
	if (slash && slash[1])
		name = slash + 1;
	return bsearch(name, knowledge_commands, knowledge_command_count,
	               sizeof(knowledge_commands[0]), compare);
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
