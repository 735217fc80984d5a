/*
 * The file is written by nacre and read by nacre, and yet believed in nothing: it is bounded, its
 * types are checked, and what is shown of it is escaped once more where it is shown.
 */
#include "approval/inside.h"
#include "approval/look.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/hex.h"
#include "json/fields.h"
#include "json/read.h"
#include "json/write.h"

static const char prefix[] = "ap-";
static const char letters[] = "0123456789abcdefghjkmnpqrstvwxyz";

static const char *const answer_names[APPROVAL_ANSWER_MAX] = {
	[APPROVAL_DENY] = "deny",
	[APPROVAL_ONCE] = "once",
	[APPROVAL_SESSION] = "session",
	[APPROVAL_SUB] = "sub",
};

static const char *const state_names[APPROVAL_STATE_MAX] = {
	[APPROVAL_OPEN] = "open",       [APPROVAL_GIVEN] = "given",     [APPROVAL_USED] = "used",
	[APPROVAL_REFUSED] = "refused", [APPROVAL_EXPIRED] = "expired",
};

/* Of the files that decide. */
static const char *const names_words[OBJECT_NAMES_MAX] = {
	[OBJECT_NAMES_KNOWN] = "known",
	[OBJECT_NAMES_TREE] = "workspace",
	[OBJECT_NAMES_UNKNOWN] = "unknown",
};

int approval_id_read(const char *text, char ret_id[APPROVAL_ID_MAX])
{
	char id[APPROVAL_ID_MAX] = "ap-";

	if (strncasecmp(text, prefix, sizeof(prefix) - 1) == 0)
		text += sizeof(prefix) - 1;
	if (strlen(text) != APPROVAL_ID_CHARS)
		return -EINVAL;
	for (int i = 0; i < APPROVAL_ID_CHARS; i++) {
		char c = (char)tolower((unsigned char)text[i]);

		if (!strchr(letters, c))
			return -EINVAL;
		id[sizeof(prefix) - 1 + (size_t)i] = c;
	}
	memcpy(ret_id, id, sizeof(id));
	return 0;
}

const char *approval_answer_name(enum approval_answer answer)
{
	return answer_names[answer];
}

int approval_answer_read(const char *name, enum approval_answer *ret_answer)
{
	for (int i = 0; i < APPROVAL_ANSWER_MAX; i++)
		if (strcmp(name, answer_names[i]) == 0) {
			*ret_answer = (enum approval_answer)i;
			return 0;
		}
	return -EINVAL;
}

const char *approval_state_name(enum approval_state state)
{
	return state_names[state];
}

/* Writing */

void approval_put_digest(struct json_writer *w, const struct digest *d)
{
	char hex[2 * DIGEST_BYTES + 1];

	hex_write(d->bytes, sizeof(d->bytes), hex);
	json_put_string(w, hex);
}

static void put_digests(struct json_writer *w, const char *key, const struct digest *list,
                        size_t count)
{
	json_member_array(w, key);
	for (size_t i = 0; list && i < count; i++)
		approval_put_digest(w, &list[i]);
	json_array_end(w);
}

/* Numbers of 64 bits are more than JSON readers agree on; jansson's are signed. */
void approval_put_file(struct json_writer *w, const struct object_file *f)
{
	json_array_begin(w);
	json_put_string(w, f->path);
	json_put_int(w, (int64_t)f->device);
	json_put_int(w, (int64_t)f->inode);
	json_put_int(w, (int64_t)f->size);
	json_put_int(w, f->born_ns);
	json_put_int(w, f->modified_ns);
	json_put_int(w, f->changed_ns);
	approval_put_digest(w, &f->content);
	json_array_end(w);
}

static void put_strings(struct json_writer *w, const char *key, const char *const *list)
{
	json_member_array(w, key);
	for (; list && *list; list++)
		json_put_string(w, *list);
	json_array_end(w);
}

#define OF struct approval

/* What is written to disk, read from there, and shown. */
static const struct json_field asked_fields[] = {
	JSON_TEXT("principal", OF, principal, JSON_REQUIRED),
	JSON_TEXT("door", OF, door, JSON_OPTIONAL),
	JSON_TEXT("session", OF, session, JSON_OPTIONAL),
	JSON_TEXT("profile", OF, profile, JSON_REQUIRED),
	JSON_NUMBER("created_ms", OF, created_ms, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("expires_ms", OF, expires_ms, JSON_REQUIRED, 0, INT64_MAX),
	JSON_TEXT("command", OF, command, JSON_REQUIRED),
	JSON_TEXT("description", OF, description, JSON_OPTIONAL),
	JSON_TEXT("workspace", OF, workspace, JSON_REQUIRED),
	JSON_TEXT("cwd", OF, cwd, JSON_REQUIRED),
	JSON_TEXT("sandbox", OF, sandbox, JSON_OPTIONAL),
	JSON_TEXT("network", OF, network, JSON_OPTIONAL),
	JSON_TEXT("reaches", OF, reaches, JSON_OPTIONAL),
	JSON_TEXT("engine", OF, engine, JSON_OPTIONAL),
	JSON_TEXT("input", OF, input, JSON_OPTIONAL),
	JSON_BOOL("terminal", OF, terminal, JSON_OPTIONAL),
	JSON_NAME("names", OF, object.names, JSON_OPTIONAL, names_words),
	JSON_TEXT("rule_id", OF, rule_id, JSON_OPTIONAL),
	JSON_TEXT("rule_file", OF, rule_file, JSON_OPTIONAL),
	JSON_NUMBER("rule_line", OF, rule_line, JSON_REQUIRED, 0, UINT32_MAX),
	JSON_TEXT("reason", OF, reason, JSON_REQUIRED),
	JSON_TEXT("held", OF, held, JSON_OPTIONAL),
	{0},
};

/* What nobody has to see. */
static const struct json_field held_fields[] = {
	JSON_TEXT("held_in", OF, held_in, JSON_OPTIONAL),
	JSON_TEXT("held_now", OF, held_now, JSON_OPTIONAL),
	JSON_TEXT("held_was", OF, held_was, JSON_OPTIONAL),
	JSON_BOOL("held_runs", OF, held_runs, JSON_OPTIONAL),
	{0},
};

static void put_asked(struct json_writer *w, const struct approval *a)
{
	json_fields_write_part(w, asked_fields, a);
	if (a->object.names == OBJECT_NAMES_TREE)
		json_member_int(w, "tree_files", (int64_t)a->object.tree_files);
	put_strings(w, "env", a->env);
}

int approval_write(const struct approval *a, struct buffer *into)
{
	struct json_writer w = {.out = into};

	json_object_begin(&w);
	json_member_string(&w, "id", a->id);
	put_asked(&w, a);
	json_fields_write_part(&w, held_fields, a);
	if (a->look) {
		json_put_key(&w, "look");
		look_write(&w, a->look);
	}
	put_digests(&w, "object", a->object.parts, OBJECT_PART_MAX);
	json_member_int(&w, "programs", (int64_t)a->object.program_count);
	json_member_array(&w, "files");
	for (size_t i = 0; i < a->object.file_count; i++)
		approval_put_file(&w, &a->object.files[i]);
	json_array_end(&w);
	json_member_bool(&w, "audited", a->audited);
	put_strings(&w, "mask", a->mask);
	json_put_key(&w, "terms");
	approval_put_digest(&w, &a->terms);
	put_digests(&w, "exact", a->exact.digests, a->exact.count);
	put_digests(&w, "sub", a->sub.digests, a->sub.count);
	json_object_end(&w);
	buffer_putc(into, '\n');
	return buffer_error(into);
}

/* Reading */

int approval_read_digest(const json_t *value, struct digest *ret)
{
	const char *hex = json_string_value(value);

	if (!hex || json_string_length(value) != 2 * sizeof(ret->bytes) ||
	    !hex_read(hex, ret->bytes, sizeof(ret->bytes)))
		return -EINVAL;
	return 0;
}

static int read_grants(const json_t *list, struct arena *arena, struct approval_grants *ret)
{
	struct digest *digests;
	size_t n = json_array_size(list);

	if (!json_is_array(list) || n > APPROVAL_GRANTS_MAX)
		return -EINVAL;
	digests = arena_new_array(arena, struct digest, n + 1);
	if (!digests)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (approval_read_digest(json_array_get(list, i), &digests[i]) < 0)
			return -EINVAL;
	*ret = (struct approval_grants){.digests = digests, .count = n};
	return 0;
}

int approval_read_file(json_t *value, struct arena *arena, struct object_file *ret)
{
	json_int_t device, inode, size, born, modified, changed;
	struct digest content = {0};
	json_t *digest = NULL;
	const char *path;

	/* What was written before there was a digest is not what it was. */
	if ((json_unpack(value, "[sIIIIIIo!]", &path, &device, &inode, &size, &born, &modified,
	                 &changed, &digest) < 0 &&
	     json_unpack(value, "[sIIIIII!]", &path, &device, &inode, &size, &born, &modified,
	                 &changed) < 0) ||
	    (digest && approval_read_digest(digest, &content) < 0))
		return -EINVAL;
	*ret = (struct object_file){.path = arena_strdup(arena, path),
	                            .device = (uint64_t)device,
	                            .inode = (uint64_t)inode,
	                            .size = (uint64_t)size,
	                            .born_ns = born,
	                            .modified_ns = modified,
	                            .changed_ns = changed,
	                            .content = content};
	return ret->path ? 0 : -ENOMEM;
}

static int read_object(json_t *parts, json_t *list, json_int_t programs, struct arena *arena,
                       struct approval_object *ret)
{
	size_t n = json_array_size(list);
	struct object_file *files;
	int r;

	if (!json_is_array(parts) || json_array_size(parts) != OBJECT_PART_MAX ||
	    !json_is_array(list) || n > OBJECT_FILES_MAX || programs < 0 || (size_t)programs > n)
		return -EINVAL;
	for (size_t i = 0; i < OBJECT_PART_MAX; i++)
		if (approval_read_digest(json_array_get(parts, i), &ret->parts[i]) < 0)
			return -EINVAL;
	files = arena_new_array(arena, struct object_file, n + 1);
	if (!files)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		r = approval_read_file(json_array_get(list, i), arena, &files[i]);
		if (r < 0)
			return r;
	}
	ret->programs = ret->files = files;
	ret->file_count = n;
	ret->program_count = (size_t)programs;
	return 0;
}

static int read_strings(json_t *list, struct arena *arena, const char *const **ret)
{
	size_t n = json_array_size(list);
	const char **strings = arena_new_array(arena, const char *, n + 1);

	if (!json_is_array(list))
		return -EINVAL;
	if (!strings)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!json_is_string(json_array_get(list, i)))
			return -EINVAL;
		strings[i] = arena_strdup(arena, json_string_value(json_array_get(list, i)));
		if (!strings[i])
			return -ENOMEM;
	}
	*ret = strings;
	return 0;
}

int approval_read(const char *bytes, size_t n, struct arena *arena, struct approval *ret_approval,
                  struct error *err)
{
	scoped(json_decrefp) json_t *root = NULL;
	struct approval a = {.by = ""};
	json_t *env, *mask, *look, *object, *files, *exact, *sub;
	struct approval_look *shown = NULL;
	json_int_t programs;
	const char *id;
	int r, audited;

	r = json_read(bytes, n, APPROVAL_BYTES_MAX, "approval", &root, err);
	if (r < 0)
		return r;
	r = json_fields_read_part(root, "approval", asked_fields, arena, &a, err);
	if (r == 0)
		r = json_fields_read_part(root, "approval", held_fields, arena, &a, err);
	if (r < 0)
		return r;
	r = json_unpack(root, "{s:s, s:I, s:b, s:o, s:o, s:o, s:o, s:o}", "id", &id, "programs",
	                &programs, "audited", &audited, "env", &env, "object", &object, "files",
	                &files, "exact", &exact, "sub", &sub);
	if (r < 0 || a.expires_ms < a.created_ms || approval_id_read(id, a.id) < 0 ||
	    (a.held && (!a.held_in || !a.held_now)))
		return error_set(err, ERROR_INPUT, EINVAL, "approval: its file is damaged");
	a.audited = audited;
	a.object.tree_files = (size_t)json_integer_value(json_object_get(root, "tree_files"));
	r = read_strings(env, arena, &a.env);
	mask = json_object_get(root, "mask"); /* there is none in a file of an older nacre */
	if (r == 0 && mask)
		r = read_strings(mask, arena, &a.mask);
	look = json_object_get(root, "look"); /* nor this */
	if (r == 0 && look)
		r = look_read(look, arena, &shown);
	a.look = shown;
	if (r == 0)
		r = read_object(object, files, programs, arena, &a.object);
	if (r == 0)
		r = read_grants(exact, arena, &a.exact);
	if (r == 0)
		r = read_grants(sub, arena, &a.sub);
	if (r == 0)
		r = approval_read_digest(json_object_get(root, "terms"), &a.terms);
	if (r < 0)
		return r == -ENOMEM ? error_nomem(err)
		                    : error_set(err, ERROR_INPUT, EINVAL,
		                                "approval: its file is damaged");
	*ret_approval = a;
	return 0;
}

void approval_put_json(struct json_writer *w, const struct approval *a)
{
	json_member_string(w, "id", a->id);
	json_member_string(w, "state", approval_state_name(a->state));
	put_asked(w, a);
	json_member_array(w, "files");
	for (size_t i = 0; i < a->object.file_count; i++)
		json_put_string(w, a->object.files[i].path);
	json_array_end(w);
	json_member_array(w, "answers");
	json_put_string(w, approval_answer_name(APPROVAL_DENY));
	json_put_string(w, approval_answer_name(APPROVAL_ONCE));
	if (a->session && a->exact.count)
		json_put_string(w, approval_answer_name(APPROVAL_SESSION));
	if (a->session && a->sub.count)
		json_put_string(w, approval_answer_name(APPROVAL_SUB));
	json_array_end(w);
	look_put_json(w, a);
	if (!*a->by)
		return;
	json_member_string(w, "answer", approval_answer_name(a->answer));
	json_member_string(w, "answered_by", a->by);
	if (a->why)
		json_member_string(w, "answer_reason", a->why);
	json_member_int(w, "answered_ms", a->answered_ms);
}
