#include "process/search.h"

#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/strings.h"

int process_search_paths(struct arena *arena, const char *name, const char *const *envp,
                         const char *const **ret_paths)
{
	const char *path = env_value(envp, "PATH"), *end;
	size_t count = 2, n = 0;
	const char **paths;

	if (!path)
		path = "";
	for (const char *p = path; *p; p++)
		count += *p == ':';
	paths = arena_new_array(arena, const char *, count + 1);
	if (!paths)
		return -ENOMEM;
	if (strchr(name, '/')) {
		paths[n++] = name;
		path = "";
	} else if (!*name) {
		path = ""; /* an empty name is found nowhere, also not as a directory of PATH */
	}
	for (; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		if (*path != '/')
			continue;
		paths[n] = arena_printf(arena, "%.*s/%s", (int)(end - path), path, name);
		if (!paths[n++])
			return -ENOMEM;
	}
	*ret_paths = paths;
	return 0;
}
