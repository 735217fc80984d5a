/*
 * A client moves: its directory is that of the last `cd`. The workspace is what it was at the first
 * call of the session, or what the client names.
 *
 * The directory of a person is no workspace for an agent only because it is a repository: below it
 * lies all that they have. So a search for the top of a repository ends below home.
 */
#include "cli/sh-place.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/path.h"
#include "process/living.h"
#include "session/away.h"
#include "session/session.h"

/* The first that is set. */
static const char *const session_variables[] = {"NACRE_SESSION", "CLAUDE_CODE_SESSION_ID",
                                                "CODEX_THREAD_ID", "COPILOT_AGENT_SESSION_ID",
                                                "GEMINI_SESSION_ID"};

static const char *set_value(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* These clients name no session: one of their processes is one. */
static const char *of_parent(struct arena *arena)
{
	static const struct {
		const char *variable, *name;
	} clients[] = {{"OPENCODE", "opencode"}, {"GEMINI_CLI", "gemini"}, {"QWEN_CODE", "qwen"}};
	pid_t parent = getppid();

	for (size_t i = 0; i < array_size(clients); i++)
		if (set_value(clients[i].variable) && parent > 1)
			return arena_printf(arena, "%s-%d-%llu", clients[i].name, (int)parent,
			                    living_start(parent));
	return NULL;
}

/* An id that is no file name stands for itself by its digest. */
static const char *tame(struct arena *arena, const char *id)
{
	unsigned long long hash = 1469598103934665603ULL;

	if (session_id_is_valid(id))
		return id;
	for (; *id; id++)
		hash = (hash ^ (unsigned char)*id) * 1099511628211ULL;
	return arena_printf(arena, "client-%016llx", hash);
}

static const char *find_session(struct arena *arena)
{
	for (size_t i = 0; i < array_size(session_variables); i++)
		if (set_value(session_variables[i]))
			return tame(arena, set_value(session_variables[i]));
	return of_parent(arena);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The directory with ".git" that is nearest above CWD, itself included, and below home. */
static const char *top_of_repository(struct arena *arena, const char *cwd)
{
	const char *home = getenv("HOME");
	char path[PATH_MAX], real[PATH_MAX] = "";
	char *top = arena_strdup(arena, cwd);

	if (home && !realpath(home, real))
		real[0] = '\0';
	for (char *end; top && *top; *end = '\0') {
		if (snprintf(path, sizeof(path), "%s/.git", top) >= (int)sizeof(path) ||
		    (*real && path_is_in(real, top)))
			break;
		if (access(path, F_OK) == 0)
			return top;
		end = strrchr(top, '/');
	}
	return cwd;
}

/* What the session began with, if it is there still. */
static const char *remembered(const char *state, const char *session, struct arena *arena)
{
	struct session kept = {0};

	if (!state || session_load(state, session, arena, &kept, NULL) < 0 || !kept.workspace)
		return NULL;
	return is_directory(kept.workspace) ? kept.workspace : NULL;
}

static const char *real_directory(struct arena *arena, const char *path)
{
	char real[PATH_MAX];

	return path && realpath(path, real) && is_directory(real) ? arena_strdup(arena, real)
	                                                          : NULL;
}

int sh_place_find(const char *state, struct arena *arena, struct sh_place *ret, struct error *err)
{
	const char *named = set_value("NACRE_WORKSPACE");
	struct sh_place p = {.session = find_session(arena)};
	const char *kept = p.session ? remembered(state, p.session, arena) : NULL;
	char cwd[PATH_MAX];

	if (!getcwd(cwd, sizeof(cwd)) || cwd[0] != '/')
		return error_set(err, ERROR_INPUT, ENOENT,
		                 "the current directory cannot be found: %s",
		                 strerrordesc_np(errno));
	if (named && !real_directory(arena, named))
		return error_set(err, ERROR_INPUT, ENOENT,
		                 "NACRE_WORKSPACE: '%.150s' is no directory", named);
	p.workspace = real_directory(arena, named ? named : set_value("CLAUDE_PROJECT_DIR"));
	p.is_new = p.session && !kept;
	if (!p.workspace)
		p.workspace = kept;
	if (!p.workspace)
		p.workspace = top_of_repository(arena, arena_strdup(arena, cwd));
	if (path_is_in(cwd, p.workspace))
		p.cwd = arena_strdup(arena, cwd);
	else if (session_away_is_valid(cwd))
		p.away = arena_strdup(arena, cwd);
	else
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "the name of the current directory has control characters");
	if (!p.workspace || (!p.cwd && !p.away))
		return error_nomem(err);
	*ret = p;
	return 0;
}

void sh_place_keep(const char *state, const struct sh_place *p)
{
	static const char *const nothing[] = {NULL};
	static const char begin[] = "\0nacre-session 1\0", end[] = "\0end";
	const struct session_start start = {.state = state,
	                                    .id = p->session,
	                                    .workspace = p->workspace,
	                                    .cwd = "", /* so that it is a change */
	                                    .envp = nothing};
	char record[PATH_MAX + 64], notice[SESSION_NOTICE_MAX];
	size_t n = 0;

	if (!state || !p->session || !p->is_new || strlen(p->workspace) >= PATH_MAX)
		return;
	memcpy(record, begin, sizeof(begin)); /* and the end of no variables */
	n = sizeof(begin);
	n += (size_t)snprintf(record + n, PATH_MAX + 2, "%s\n", p->workspace);
	memcpy(record + n, end, sizeof(end));
	n += sizeof(end);
	(void)session_commit(&start, record, n, notice);
}
