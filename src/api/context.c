#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <nacre.h>
#include "api/inside.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/version.h"

#define STRINGS_MAX ((size_t)16 << 20)

const char *nacre_version(void)
{
	return version_text;
}

static int copy(struct arena *arena, const char *text, const char **ret_copy, struct error *err)
{
	if (!text)
		return 0;
	*ret_copy = arena_strdup(arena, text);
	return *ret_copy ? 0 : error_nomem(err);
}

/* Where a relative path leads is settled now: the host may go elsewhere. */
static int resolve(struct arena *arena, const char *what, const char *path, const char **ret_path,
                   struct error *err)
{
	char real[PATH_MAX];

	if (!path)
		return 0;
	if (!realpath(path, real))
		return error_set(err, ERROR_INPUT, errno, "%s '%.150s': %s", what, path,
		                 strerrordesc_np(errno));
	return copy(arena, real, ret_path, err);
}

/* The nacre of the tree that this library lies in, wherever that was put; else the one of the place
 * that both were built for. */
static int find_program(struct arena *arena, const char **ret_program, struct error *err)
{
	const char *slash;
	char path[PATH_MAX];
	Dl_info us;
	int n;

	if (dladdr((void *)(uintptr_t)nacre_version, &us) && us.dli_fname &&
	    us.dli_fname[0] == '/' && strstr(us.dli_fname, "/libnacre.so")) {
		slash = strrchr(us.dli_fname, '/');
		n = snprintf(path, sizeof(path), "%.*s/%s/nacre", (int)(slash - us.dli_fname),
		             us.dli_fname, NACRE_LIBRARY_TO_PROGRAMS);
		if (n > 0 && (size_t)n < sizeof(path) && access(path, X_OK) == 0)
			return copy(arena, path, ret_program, err);
	}
	return copy(arena, NACRE_PROGRAMS "/nacre", ret_program, err);
}

static int choose_program(struct nacre_context *c, const char *wanted, struct error *err)
{
	if (!wanted)
		wanted = secure_getenv("NACRE_PROGRAM");
	return wanted && *wanted ? resolve(c->strings, "program", wanted, &c->program, err)
	                         : find_program(c->strings, &c->program, err);
}

static int read_options(struct nacre_context *c, const struct nacre_options *o, struct error *err)
{
	const char *const *base = o->environment ? o->environment : (const char *const *)environ;
	struct engine_wishes *w = &c->engine.wishes;
	int r = choose_program(c, o->program, err);

	if (r == 0)
		r = copy(c->strings, o->profile, &w->profile, err);
	if (r == 0)
		r = copy(c->strings, o->agent, &w->agent, err);
	if (r == 0)
		r = copy(c->strings, o->principal, &c->principal, err);
	if (r == 0)
		r = resolve(c->strings, "policy file", o->policy_file, &w->policy_file, err);
	if (r == 0)
		r = resolve(c->strings, "workspace", o->workspace ? o->workspace : ".",
		            &w->workspace, err);
	if (r < 0)
		return r;
	c->engine.environment = api_copy_list(c->strings, base);
	return c->engine.environment ? 0 : error_nomem(err);
}

void nacre_context_free(struct nacre_context *c)
{
	if (!c)
		return;
	launcher_done(&c->launcher);
	engine_done(&c->engine);
	arena_free(c->strings);
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
}
DEFINE_CLEANUP(struct nacre_context *, nacre_context_free);

int nacre_context_new(const struct nacre_options *options, struct nacre_context **ret_context,
                      struct nacre_error *to)
{
	scoped(nacre_context_freep) struct nacre_context *c = NULL;
	struct nacre_options ours = NACRE_OPTIONS_INIT;
	struct error err = {0};
	int r = 0;

	if (options)
		r = api_take(&ours, sizeof(ours), offsetof(struct nacre_options, profile), options,
		             &err);
	if (r < 0)
		return api_fail(to, r, &err);
	c = calloc(1, sizeof(*c));
	if (!c)
		return api_fail(to, error_nomem(&err), &err);
	c->launcher = (struct launcher){.socket = -1, .pidfd = -1};
	(void)pthread_mutex_init(&c->lock, NULL);
	engine_init(&c->engine, NULL);
	c->strings = arena_new(STRINGS_MAX);
	r = c->strings ? read_options(c, &ours, &err) : error_nomem(&err);
	if (r == 0)
		r = launcher_execute(c->program, &c->launcher, &err);
	if (r < 0)
		return api_fail(to, r, &err);
	c->engine.launcher = &c->launcher;
	*ret_context = take_ptr(&c);
	return 0;
}
