#include "base/strings.h"

#include <stdbool.h>
#include <string.h>
#include "base/arena.h"

size_t strings_count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

const char *const *strings_with(struct arena *arena, const char *const *list, const char *text)
{
	size_t n = strings_count(list);
	const char **longer = arena_new_array(arena, const char *, n + 2);

	if (!longer || !text)
		return NULL;
	if (n > 0)
		memcpy(longer, list, n * sizeof(*longer));
	longer[n] = text;
	return longer;
}

static bool is_named(const char *entry, const char *name, size_t n)
{
	return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

const char *env_value(const char *const *envp, const char *name)
{
	size_t n = strlen(name);

	for (; envp && *envp; envp++)
		if (is_named(*envp, name, n))
			return *envp + n + 1;
	return NULL;
}

const char *const *env_with(struct arena *arena, const char *const *envp, const char *name,
                            const char *value)
{
	const char **changed = arena_new_array(arena, const char *, strings_count(envp) + 2);
	size_t n = 0, len = strlen(name);

	if (!changed)
		return NULL;
	for (; envp && *envp; envp++)
		if (!is_named(*envp, name, len))
			changed[n++] = *envp;
	changed[n] = arena_printf(arena, "%s=%s", name, value);
	return changed[n] ? changed : NULL;
}
