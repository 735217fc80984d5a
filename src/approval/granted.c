/*
 * Grants for persons: what they have approved for sessions, and how they take it back. A session
 * has no end that anybody could see, so this is what ends a grant.
 */
#include "approval/grants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "approval/inside.h"
#include "audit/audit.h"
#include "audit/event.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"

#define LIST_MAX 16384 /* of all sessions together; what is more is not shown */
#define SUFFIX   ".json"

/* For each file: its list, and the session whose it is. Other than 0 ends it. */
typedef int grants_visit(void *context, int dir_fd, const char *name, const char *session,
                         json_t *list);

static int visit_file(int dir_fd, const char *name, grants_visit *visit, void *context,
                      struct error *err)
{
	scoped(json_decrefp) json_t *list = NULL;
	size_t n = strlen(name);
	char session[NAME_MAX + 1];
	int r;

	if (name[0] == '.' || n <= strlen(SUFFIX) || strcmp(name + n - strlen(SUFFIX), SUFFIX) != 0)
		return 0;
	snprintf(session, sizeof(session), "%.*s", (int)(n - strlen(SUFFIX)), name);
	r = grants_read(dir_fd, name, &list);
	if (r == -ENOENT)
		return 0;
	if (r < 0) {
		error_set(err, ERROR_SYSTEM, -r,
		          "what was approved for session '%.64s' cannot be read: %s", session,
		          strerrordesc_np(-r));
		return 0;
	}
	return visit(context, dir_fd, name, session, list);
}

static int visit_all(int dir_fd, grants_visit *visit, void *context, struct error *err)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	int r = 0;

	if (!dir) {
		r = error_sys(err, errno, "grants");
		fd_close(fd);
		return r;
	}
	while (r == 0 && (d = readdir(dir)))
		r = visit_file(dir_fd, d->d_name, visit, context, err);
	closedir(dir);
	return r;
}

static bool programs_hold(json_t *list, struct arena *arena)
{
	struct object_file file;
	json_t *value;
	size_t i;

	json_array_foreach (list, i, value)
		if (approval_read_file(value, arena, &file) < 0 || !object_file_same(&file))
			return false;
	return true;
}

static int read_grant(json_t *value, const char *session, struct arena *arena, struct grant *ret)
{
	const char *principal, *approval, *command, *profile = "";
	json_t *programs;
	struct grant g = {0};
	int sub, audited = 1;

	if (json_unpack(value, "{s:s, s:b, s:s, s:s, s?s, s?b, s:o}", "principal", &principal,
	                "sub", &sub, "approval", &approval, "command", &command, "profile",
	                &profile, "audited", &audited, "programs", &programs) < 0 ||
	    approval_id_read(approval, g.approval) < 0)
		return -EINVAL;
	g.session = arena_strdup(arena, session);
	g.principal = arena_strdup(arena, principal);
	g.profile = arena_strdup(arena, profile);
	g.command = arena_strdup(arena, command);
	g.sub = sub;
	g.audited = audited;
	g.holds = programs_hold(programs, arena);
	if (!g.session || !g.principal || !g.profile || !g.command)
		return -ENOMEM;
	*ret = g;
	return 0;
}

struct gathered {
	struct arena *arena;
	struct grant *list;
	size_t count;
};

static int gather(void *context, int dir_fd, const char *name, const char *session, json_t *list)
{
	struct gathered *g = context;
	json_t *value;
	size_t i;

	json_array_foreach (list, i, value) {
		if (g->count == LIST_MAX)
			return 0;
		if (read_grant(value, session, g->arena, &g->list[g->count]) == 0)
			g->count++;
	}
	return 0;
}

/* -ENOENT: nobody has ever granted anything here. */
static int open_grants(int desk, struct error *err)
{
	int fd = approval_open_private(desk, "../grants", false);

	if (fd >= 0)
		return fd;
	return error_set(err, ERROR_SYSTEM, -fd, "grants: %s", strerrordesc_np(-fd));
}

int grants_list(int desk, struct arena *arena, struct grant **ret_list, size_t *ret_count,
                struct error *err)
{
	struct error none = {0};
	scoped(fd_closep) int dir_fd = open_grants(desk, &none);
	struct gathered g = {.arena = arena};
	int r;

	if (dir_fd < 0 && dir_fd != -ENOENT) {
		if (err)
			*err = none;
		return dir_fd;
	}
	g.list = arena_new_array(arena, struct grant, LIST_MAX);
	if (!g.list)
		return error_nomem(err);
	r = dir_fd < 0 ? 0 : visit_all(dir_fd, gather, &g, err);
	if (r < 0)
		return r;
	*ret_list = g.list;
	*ret_count = g.count;
	return 0;
}

struct revoking {
	int desk;
	char id[APPROVAL_ID_MAX];
	struct arena *arena;
	struct grant grant;
	bool found;
};

/* The answer is good for one run beside the grant, as long as none has used it. */
static int use_up(const struct revoking *v)
{
	char answer[DESK_NAME_SIZE], used[DESK_NAME_SIZE];

	desk_name(v->id, "answer", answer);
	desk_name(v->id, "used", used);
	if (linkat(v->desk, answer, v->desk, used, 0) < 0)
		return errno == EEXIST || errno == ENOENT ? 0 : -errno;
	return fsync(v->desk) < 0 ? -errno : 0;
}

static int take_out(void *context, int dir_fd, const char *name, const char *session, json_t *list)
{
	struct revoking *v = context;
	bool found = false;
	int r;

	for (size_t i = json_array_size(list); i-- > 0;) {
		struct grant g;

		r = read_grant(json_array_get(list, i), session, v->arena, &g);
		if (r == -ENOMEM)
			return r;
		if (r < 0 || strcmp(g.approval, v->id) != 0)
			continue;
		v->grant = g;
		v->found = found = true;
		(void)json_array_remove(list, i);
	}
	r = found ? use_up(v) : 0;
	if (!found || r < 0)
		return r;
	if (json_array_size(list) > 0)
		return grants_write(dir_fd, name, list);
	return unlinkat(dir_fd, name, 0) < 0 ? -errno : 0;
}

/* As an answer is: the command and what may be secret in it stand in the records of the answer. */
static int record(int desk, const struct grant *g, const char *by, struct error *err)
{
	const struct audit_settings settings = {0}; /* a log is begun anew by who has a profile */
	const struct audit_event event = {
		.kind = AUDIT_REFUSED,
		.principal = *g->principal ? g->principal : NULL,
		.profile = *g->profile ? g->profile : NULL,
		.session = g->session,
		.reason = "what was approved for the session was taken back",
		.approval = g->approval,
		.answer = "revoked",
		.by = by,
	};
	char state[64];

	snprintf(state, sizeof(state), "/proc/self/fd/%d/..", desk);
	return g->audited ? audit_event(state, &settings, &event, true, err) : 0;
}

int grants_revoke(int desk, const char *id, const char *by, struct arena *arena,
                  struct grant *ret_grant, struct error *err)
{
	struct revoking v = {.desk = desk, .arena = arena};
	struct error unread = {0}, why = {0};
	scoped(fd_closep) int dir_fd = -1;
	int r = approval_id_read(id, v.id) < 0 ? -ENOENT : 0;

	if (r == 0)
		r = dir_fd = open_grants(desk, NULL);
	if (r >= 0)
		r = fd_lock(dir_fd);
	if (r >= 0)
		r = visit_all(dir_fd, take_out, &v, &unread);
	if (r == 0 && !v.found && unread.text[0])
		return error_set(err, unread.kind, unread.sys, "%s", unread.text);
	if (r == -ENOENT || (r == 0 && !v.found))
		return error_set(
			err, ERROR_INPUT, ENOENT,
			"it has granted nothing; 'nacre approvals --grants' lists what was");
	if (r < 0)
		return error_set(err, ERROR_SYSTEM, -r, "the grant cannot be taken back: %s",
		                 strerrordesc_np(-r));
	if (record(desk, &v.grant, by, &why) < 0)
		error_set(err, ERROR_SYSTEM, why.sys, "that is not in the audit log: %.150s",
		          why.text);
	*ret_grant = v.grant;
	return 0;
}
