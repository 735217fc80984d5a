#include "process/which.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path)
{
	struct stat st;

	/* The effective rights, noexec mounts included. */
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static void say(char *path, size_t n)
{
	path[n] = '\n';
	if (write(STDOUT_FILENO, path, n + 1) < 0) {
		/* Nobody listens; the exit code still says it. */
	}
}

static bool find(const char *name, const char *path, bool all)
{
	char candidate[PATH_MAX + 1];
	size_t length = strlen(name);
	bool found = false;

	if (strchr(name, '/')) {
		if (length >= PATH_MAX || !is_program(name))
			return false;
		memcpy(candidate, name, length + 1);
		say(candidate, length);
		return true;
	}
	while (length > 0 && *path) {
		size_t n = 0;

		while (path[n] && path[n] != ':')
			n++;
		if (n > 0 && n + 1 + length < PATH_MAX) {
			memcpy(candidate, path, n);
			candidate[n] = '/';
			memcpy(candidate + n + 1, name, length + 1);
			if (is_program(candidate)) {
				say(candidate, n + 1 + length);
				found = true;
				if (!all)
					return true;
			}
		}
		path += n;
		path += *path == ':';
	}
	return found;
}

int which_run(const char *const *argv, const char *const *envp)
{
	const char *path = "";
	bool all = false;
	int code = 0;

	for (; *envp; envp++)
		if (strncmp(*envp, "PATH=", 5) == 0)
			path = *envp + 5;
	if (!argv[0] || !argv[1])
		return 1;
	for (argv++; *argv && (*argv)[0] == '-' && (*argv)[1]; argv++) {
		if (strcmp(*argv, "--") == 0) {
			argv++;
			break;
		}
		if (strcmp(*argv, "-a") != 0)
			return 2;
		all = true;
	}
	for (; *argv; argv++)
		if (!find(*argv, path, all))
			code = 1;
	return code;
}
