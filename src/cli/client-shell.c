/*
 * A hook's line ends with `|| exit 2`: clients go on when a hook cannot be started, crashes or
 * prints half an answer, but take the exit code 2 for a no. `timeout` does the same for a hook that
 * hangs. So the line is closed even where the client is open.
 */
#include "cli/client-shell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "hook/client.h"

static bool is_this_program(const char *path)
{
	struct stat own, other;

	return stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 &&
	       own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

static bool first_bash_is_ours(void)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	while (path && *path) {
		size_t n = strcspn(path, ":");

		if (n > 0 &&
		    snprintf(file, sizeof(file), "%.*s/bash", (int)n, path) < (int)sizeof(file) &&
		    access(file, X_OK) == 0)
			return path[0] == '/' && is_this_program(file);
		path += n + (path[n] == ':');
	}
	return false;
}

bool client_shell_is_ours(const struct hook_client *client)
{
	const char *set = client->shell_variable ? getenv(client->shell_variable) : NULL;

	return client->shell_by_path ? first_bash_is_ours()
	                             : set && *set == '/' && is_this_program(set);
}

int client_shell_find(const char *wanted, char into[PATH_MAX], struct error *err)
{
	char own[PATH_MAX];
	ssize_t n;

	if (wanted) {
		if (*wanted != '/' || strlen(wanted) >= PATH_MAX || access(wanted, X_OK) < 0)
			return error_set(err, ERROR_INPUT, ENOENT,
			                 "--shell '%.100s' is not the absolute path of a program",
			                 wanted);
		memcpy(into, wanted, strlen(wanted) + 1);
		return 0;
	}
	n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	own[n > 0 ? n : 0] = '\0';
	if (!strrchr(own, '/'))
		return error_set(err, ERROR_SYSTEM, ENOENT, "nacre does not know its own path");
	*strrchr(own, '/') = '\0';
	if (snprintf(into, PATH_MAX, "%s/nsh", own) >= PATH_MAX || access(into, X_OK) < 0)
		return error_set(err, ERROR_SYSTEM, ENOENT,
		                 "there is no nsh in %.150s. Install nacre anew, or name it with "
		                 "--shell",
		                 own);
	return 0;
}

/* The directory from PATH upwards that has a .git; never the home directory or one around it. */
static bool find_repository(char path[PATH_MAX])
{
	char file[PATH_MAX], top[PATH_MAX], real[PATH_MAX];
	const char *home = getenv("HOME");

	memcpy(top, path, PATH_MAX);
	if (!home || !realpath(home, real))
		real[0] = '\0';
	for (char *slash; top[0] && strcmp(top, real) != 0; *slash = '\0') {
		if (snprintf(file, sizeof(file), "%s/.git", top) < (int)sizeof(file) &&
		    access(file, F_OK) == 0) {
			memcpy(path, top, PATH_MAX);
			return true;
		}
		slash = strrchr(top, '/');
		if (!slash)
			break;
	}
	return false;
}

int client_workspace(const struct hook_client *client, const char *wanted, const char *kept,
                     const char *cwd, char into[PATH_MAX], struct error *err)
{
	const char *told = client->workspace_variable ? getenv(client->workspace_variable) : NULL,
		   *path = wanted                 ? wanted
	                   : told && *told == '/' ? told
	                                          : cwd;

	if (!realpath(path, into))
		return error_set(err, ERROR_INPUT, errno, "workspace '%.150s': %s", path,
		                 strerrordesc_np(errno));
	if (path == cwd)
		(void)find_repository(into);
	return 0;
}

static void put_quoted(const char *text, struct buffer *into)
{
	buffer_putc(into, '\'');
	for (; *text; text++)
		if (*text == '\'')
			buffer_puts(into, "'\\''");
		else
			buffer_putc(into, *text);
	buffer_putc(into, '\'');
}

void client_hook_put(const char *nacre, const char *client, const char *profile, const char *shell,
                     struct buffer *into)
{
	static const char *const limiters[] = {"/usr/bin/timeout", "/bin/timeout"};

	buffer_puts(into, "o=$(");
	for (size_t i = 0; i < array_size(limiters); i++)
		if (access(limiters[i], X_OK) == 0) {
			buffer_printf(into, "%s -k 1 %d ", limiters[i], CLIENT_HOOK_LIMIT_S / 2);
			break;
		}
	put_quoted(nacre, into);
	buffer_printf(into, " hook %s", client);
	if (profile) {
		buffer_puts(into, " --profile ");
		put_quoted(profile, into);
	}
	if (shell) {
		buffer_puts(into, " --shell ");
		put_quoted(shell, into);
	}
	buffer_puts(into,
	            ") && case $o in '{\"'*'}') printf '%s\\n' \"$o\" ;; *) false ;; esac || { "
	            "echo 'nacre did not answer, so the command is refused.' >&2; exit 2; }");
}

/* The name of the profile in a line; empty: none that could be there. */
static void find_profile(const char *line, char into[65])
{
	static const char before[] = " --profile '";
	const char *at = strstr(line, before);
	size_t n = 0;

	for (at = at ? at + strlen(before) : ""; n < 64 && at[n] && at[n] != '\''; n++)
		into[n] = at[n];
	into[n] = '\0';
}

bool client_hook_is_ours(const char *line)
{
	char own[PATH_MAX], profile[65];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (n <= 0 || !strstr(line, " hook "))
		return false;
	own[n] = '\0';
	find_profile(line, profile);
	for (const struct hook_client *c = hook_clients; c->name; c++) {
		scoped(buffer_donep) struct buffer wanted = {0};

		client_hook_put(own, c->name, *profile ? profile : NULL, NULL, &wanted);
		if (c->shell_by_path && strcmp(buffer_str(&wanted), line) == 0)
			return true;
	}
	return false;
}
