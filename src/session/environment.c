#include "session/environment.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "base/arena.h"
#include "base/error.h"
#include "session/search-path.h"
#include "session/variables.h"
#include "shell/facts.h"

#define EXTRA_MAX    256
#define DEFAULT_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static const char *const passed[] = {"PATH", "HOME",     "USER", "LOGNAME",
                                     "LANG", "LANGUAGE", "LC_*", "TZ"};

static bool name_in(const char *const *list, size_t count, const char *name, size_t n)
{
	for (size_t i = 0; i < count; i++)
		if (variable_matches(list[i], name, n))
			return true;
	return false;
}

/* Puts NAME=VALUE in place of an older value, or at the end. */
static void set(const char **env, size_t *count, const char *assignment)
{
	size_t n = (size_t)(strchrnul(assignment, '=') - assignment) + 1;

	for (size_t i = 0; i < *count; i++)
		if (strncmp(env[i], assignment, n) == 0) {
			env[i] = assignment;
			return;
		}
	env[(*count)++] = assignment;
}

static void drop(const char **env, size_t *count, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < *count; i++)
		if (strncmp(env[i], name, n) == 0 && env[i][n] == '=') {
			env[i] = env[--*count];
			return;
		}
}

/* Whether bash would read its text in another charset than the one it was analysed in. */
static bool is_foreign_locale(const char *assignment)
{
	static const char *const names[] = {"LC_ALL=", "LC_CTYPE=", "LANG="};

	for (size_t i = 0; i < array_size(names); i++)
		if (strncmp(assignment, names[i], strlen(names[i])) == 0)
			return !shell_locale_is_plain(assignment + strlen(names[i]));
	return false;
}

static int check(const char *assignment, struct error *err)
{
	size_t n = (size_t)(strchrnul(assignment, '=') - assignment);

	if (n == 0 || assignment[n] != '=')
		return error_set(err, ERROR_INPUT, EINVAL, "environment: '%.60s' is not NAME=VALUE",
		                 assignment);
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)assignment[i]) && assignment[i] != '_')
			return error_set(err, ERROR_INPUT, EINVAL,
			                 "environment: '%.60s' is not a variable name", assignment);
	if (isdigit((unsigned char)assignment[0]))
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "environment: a name cannot begin with a digit: '%.60s'",
		                 assignment);
	if (variable_is_refused(assignment, n))
		return error_set(
			err, ERROR_INPUT, EPERM,
			"environment: %.*s cannot be set: it changes what the shell or the loader "
			"runs",
			(int)n, assignment);
	if (is_foreign_locale(assignment))
		return error_set(err, ERROR_INPUT, EPERM,
		                 "environment: '%.60s' is not a locale of UTF-8", assignment);
	return 0;
}

static size_t count_of(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

/* One that is empty by now would be the current directory: the usual one is better. */
static int clean_path(struct arena *arena, const struct search_ground *ground, const char **value)
{
	const char *clean = search_path_clean(arena, *value + strlen("PATH="), ground);

	if (!clean)
		return -ENOMEM;
	*value = *clean ? arena_printf(arena, "PATH=%s", clean) : DEFAULT_PATH;
	return *value ? 0 : -ENOMEM;
}

int environment_build(struct arena *arena, const struct environment_wish *wish,
                      const char *const **ret_env, struct error *err)
{
	size_t bases = count_of(wish->base), passes = count_of(wish->pass);
	size_t sets = count_of(wish->set), extras = count_of(wish->extra), count = 0;
	const char **env, *pwd;
	int r;

	size_t kept = count_of(wish->kept);

	if (extras > EXTRA_MAX)
		return error_set(err, ERROR_LIMIT, E2BIG, "environment: more than %d variables",
		                 EXTRA_MAX);
	env = arena_new_array(arena, const char *, bases + sets + kept + extras + 6);
	pwd = arena_printf(arena, "PWD=%s", wish->cwd);
	if (!env || !pwd)
		return error_nomem(err);
	set(env, &count, DEFAULT_PATH);
	set(env, &count, "TERM=dumb"); /* there is no terminal */
	if (wish->all) /* the caller's own may be nsh; without one bash asks the system for it */
		set(env, &count, "SHELL=/bin/bash");
	for (size_t i = 0; i < bases; i++) {
		const char *name = wish->base[i];
		size_t n = (size_t)(strchrnul(name, '=') - name);

		if ((name_in(passed, array_size(passed), name, n) ||
		     name_in(wish->pass, passes, name, n) ||
		     (wish->all && name[n] == '=' && variable_is_harmless(name, n))) &&
		    !is_foreign_locale(name)) {
			if (wish->ground && strncmp(name, "PATH=", 5) == 0 &&
			    clean_path(arena, wish->ground, &name) < 0)
				return error_nomem(err);
			set(env, &count, name);
		}
	}
	set(env, &count, pwd);
	if (wish->terminal) /* nacre's own may be another kind, or none */
		set(env, &count, "TERM=xterm-256color");
	for (size_t i = 0; i < sets; i++)
		if (!is_foreign_locale(wish->set[i]))
			set(env, &count, wish->set[i]);
	for (size_t i = 0; wish->dropped && wish->dropped[i]; i++)
		drop(env, &count, wish->dropped[i]);
	for (size_t i = 0; i < kept; i++)
		if (check(wish->kept[i], NULL) == 0)
			set(env, &count, wish->kept[i]);
	for (size_t i = 0; i < extras; i++) {
		r = check(wish->extra[i], err);
		if (r < 0)
			return r;
		set(env, &count, wish->extra[i]);
	}
	env[count] = NULL;
	*ret_env = env;
	return 0;
}
