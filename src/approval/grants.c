#include "approval/grants.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "approval/inside.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "json/read.h"
#include "json/write.h"
#include "policy/policy.h"

#define FILE_MAX_BYTES GRANTS_BYTES_MAX
#define LIST_MAX       512 /* grants of one session */
#define NAME_SIZE      80

void grants_done(struct grants *g)
{
	g->policy = policy_grants_free(g->policy);
}

/* A session's id is the name of a file already, where sessions are kept. */
static int name_of(const char *session, char into[NAME_SIZE])
{
	int n = snprintf(into, NAME_SIZE, "%s.json", session);

	return n < 0 || n >= NAME_SIZE || session[0] == '.' || strchr(session, '/') ? -EINVAL : 0;
}

/* The programs of a grant, if all of them are as they were. */
static int take_programs(json_t *list, struct arena *arena, struct object_file *into,
                         size_t *ret_count)
{
	size_t n = json_array_size(list);

	for (size_t i = 0; i < n; i++) {
		int r = approval_read_file(json_array_get(list, i), arena, &into[i]);

		if (r < 0)
			return r;
		if (!object_file_same(&into[i]))
			return -ESTALE;
	}
	*ret_count = n;
	return 0;
}

static int take_digests(json_t *list, bool sub, struct policy_grants *into)
{
	enum policy_grant_scope scope = sub ? POLICY_GRANT_SUB : POLICY_GRANT_EXACT;
	struct digest digest;
	json_t *value;
	size_t i;
	int r;

	json_array_foreach (list, i, value) {
		if (approval_read_digest(value, &digest) < 0)
			return -EINVAL;
		r = policy_grants_put(into, &digest, scope);
		if (r < 0)
			return r;
	}
	return 0;
}

static size_t count_programs(json_t *list)
{
	size_t sum = 0, i;
	json_t *grant;

	json_array_foreach (list, i, grant)
		sum += json_array_size(json_object_get(grant, "programs"));
	return sum;
}

static int take_grants(json_t *list, const struct grants_of *of, struct arena *arena,
                       struct grants *g)
{
	size_t total = count_programs(list), i;
	struct object_file *programs;
	json_t *grant;

	if (total > (size_t)LIST_MAX * OBJECT_FILES_MAX)
		return -EINVAL;
	programs = arena_new_array(arena, struct object_file, total + 1);
	g->policy = policy_grants_new();
	if (!programs || !g->policy)
		return -ENOMEM;
	g->programs = programs;
	json_array_foreach (list, i, grant) {
		json_t *digests, *files, *terms;
		struct digest by;
		const char *whose;
		size_t count = 0;
		int sub, r;

		if (json_unpack(grant, "{s:s, s:b, s:o, s:o, s:o}", "principal", &whose, "sub",
		                &sub, "terms", &terms, "digests", &digests, "programs",
		                &files) < 0 ||
		    approval_read_digest(terms, &by) < 0)
			return -EINVAL;
		if (strcmp(whose, of->principal) != 0 || memcmp(&by, &of->terms, sizeof(by)) != 0)
			continue;
		r = take_programs(files, arena, programs + g->program_count, &count);
		if (r == -ESTALE)
			continue;
		if (r == 0)
			r = take_digests(digests, sub, g->policy);
		if (r < 0)
			return r;
		g->program_count += count;
	}
	return 0;
}

int grants_read(int dir_fd, const char *name, json_t **ret_root)
{
	scoped(buffer_donep) struct buffer text = {.max = FILE_MAX_BYTES};
	int r = approval_read_private(dir_fd, name, &text);

	if (r == 0)
		r = json_read(buffer_str(&text), text.len, FILE_MAX_BYTES, "grants", ret_root,
		              NULL);
	if (r == 0 && (!json_is_array(*ret_root) || json_array_size(*ret_root) > LIST_MAX)) {
		json_decref(*ret_root);
		*ret_root = NULL;
		r = -EINVAL;
	}
	return r;
}

int grants_load(const struct grants_of *of, struct arena *arena, struct grants *ret,
                struct error *err)
{
	scoped(json_decrefp) json_t *root = NULL;
	scoped(grants_donep) struct grants g = {0};
	scoped(fd_closep) int state_fd = -1;
	scoped(fd_closep) int dir_fd = -1;
	char name[NAME_SIZE];
	int r;

	*ret = (struct grants){0};
	if (!of->state || !of->session)
		return 0;
	r = name_of(of->session, name);
	if (r == 0)
		r = state_fd = approval_open_private(AT_FDCWD, of->state, false);
	if (r >= 0)
		r = dir_fd = approval_open_private(state_fd, "grants", false);
	if (r >= 0)
		r = grants_read(dir_fd, name, &root);
	if (r == -ENOENT)
		return 0;
	if (r >= 0)
		r = take_grants(root, of, arena, &g);
	if (r < 0)
		return error_set(err, ERROR_SYSTEM, -r,
		                 "what was approved for this session cannot be read: %s",
		                 strerrordesc_np(-r));
	*ret = g;
	g.policy = NULL;
	return 0;
}

bool grants_hold(const struct grants *g, const struct policy_answer *answer)
{
	for (size_t i = 0; i < answer->command_count; i++) {
		const struct policy_finding *f = &answer->commands[i];
		bool known = false;

		if (!f->rule_id || strcmp(f->rule_id, "grant") != 0)
			continue;
		for (size_t k = 0; f->resolved && k < g->program_count && !known; k++)
			known = strcmp(g->programs[k].path, f->resolved) == 0;
		if (!known)
			return false;
	}
	return true;
}

/* Changing the file */

static void write_grant(const struct approval *a, bool sub, struct buffer *text)
{
	const struct approval_grants *g = sub ? &a->sub : &a->exact;
	struct json_writer w = {.out = text};

	json_object_begin(&w);
	json_member_string(&w, "principal", a->principal);
	json_member_bool(&w, "sub", sub);
	json_member_string(&w, "approval", a->id);
	json_member_string(&w, "command", a->command);
	json_member_string(&w, "profile", a->profile);
	json_member_bool(&w, "audited", a->audited);
	json_put_key(&w, "terms");
	approval_put_digest(&w, &a->terms);
	json_member_array(&w, "digests");
	for (size_t i = 0; i < g->count; i++)
		approval_put_digest(&w, &g->digests[i]);
	json_array_end(&w);
	json_member_array(&w, "programs");
	for (size_t i = 0; i < a->object.program_count; i++)
		approval_put_file(&w, &a->object.programs[i]);
	json_array_end(&w);
	json_object_end(&w);
}

int grants_write(int dir_fd, const char *name, const json_t *root)
{
	scoped(freep) char *whole = json_dumps(root, JSON_INDENT(1));

	if (!whole)
		return -ENOMEM;
	return strlen(whole) > FILE_MAX_BYTES ? -ENOSPC
	                                      : fd_replace_file(dir_fd, name, whole, strlen(whole));
}

static int append(int dir_fd, const char *name, const struct approval *a, bool sub)
{
	scoped(buffer_donep) struct buffer text = {.max = FILE_MAX_BYTES};
	scoped(json_decrefp) json_t *root = NULL;
	scoped(json_decrefp) json_t *grant = NULL;
	int r = grants_read(dir_fd, name, &root);

	if (r < 0 && r != -ENOENT)
		return r;
	if (!root)
		root = json_array();
	write_grant(a, sub, &text);
	if (!root || buffer_error(&text) < 0)
		return -ENOMEM;
	r = json_read(buffer_str(&text), text.len, FILE_MAX_BYTES, "grant", &grant, NULL);
	if (r < 0)
		return r;
	if (json_array_size(root) >= LIST_MAX)
		return -ENOSPC;
	if (json_array_append(root, grant) < 0)
		return -ENOMEM;
	return grants_write(dir_fd, name, root);
}

int grants_add(int desk, const struct approval *a, bool sub, struct error *err)
{
	scoped(fd_closep) int dir_fd = -1;
	char name[NAME_SIZE];
	int r = a->session ? name_of(a->session, name) : -EINVAL;

	if (r == 0)
		r = dir_fd = approval_open_private(desk, "../grants", true);
	if (r >= 0)
		r = fd_lock(dir_fd);
	if (r >= 0)
		r = append(dir_fd, name, a, sub);
	return r < 0 ? error_set(err, ERROR_SYSTEM, -r,
	                         "approved, but only once: the grant cannot be kept: %s",
	                         strerrordesc_np(-r))
	             : 0;
}
