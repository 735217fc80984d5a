/*
 * The profiles that a caller may use, for people who ask what one says. Places of files are told to
 * who may read the log of all: others learn the names of rules, and not how this host is arranged.
 */
#include <fcntl.h>
#include <string.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "json/write.h"
#include "policy/policy.h"
#include "profile/profile.h"
#include "profile/store.h"
#include "serve/inside.h"

#define TEXT_MAX  ((size_t)1 << 20)
#define RULES_MAX 5000

static const char *shown_place(const struct call *c, const char *file)
{
	const char *slash = file ? strrchr(file, '/') : NULL;

	return !c->who.audit && slash ? slash + 1 : file;
}

static void request_of(struct call *c, const char *name, char buffer[4096],
                       struct profile_request *ret)
{
	profile_request_init(ret, buffer, 4096);
	ret->policy_file = c->serve->options.policy_file;
	ret->name = name;
}

struct found {
	const char *name, *path;
	char text[PATH_MAX];
};

static void find(void *context, const char *name, const char *path, bool agent)
{
	struct found *f = context;

	if (agent || strcmp(name, f->name) != 0 || !path || f->path)
		return;
	snprintf(f->text, sizeof(f->text), "%s", path);
	f->path = f->text;
}

static void put_one(struct call *c, const char *name, struct json_writer *w)
{
	scoped(profile_freep) struct profile *p = NULL;
	struct found found = {.name = name};
	struct profile_request q;
	struct error err = {0};
	char buffer[4096];

	request_of(c, name, buffer, &q);
	profile_names(&q, find, &found);
	json_object_begin(w);
	json_member_string(w, "name", name);
	json_member_string(w, "file", shown_place(c, found.path));
	if (profile_load(&q, &p, &err) < 0) {
		json_member_string(w, "description", NULL);
		json_member_string(w, "tool", NULL);
		json_member_string(w, "error",
		                   err.kind == ERROR_SYSTEM ? "it cannot be read" : err.text);
	} else {
		json_member_string(w, "description", p->description);
		json_member_string(w, "tool", p->tool);
		json_member_string(w, "error", NULL);
	}
	json_object_end(w);
}

void profiles_list(struct call *c)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};

	json_object_begin(&w);
	json_member_array(&w, "profiles");
	for (const char *const *p = c->serve->options.profiles; *p; p++)
		if (principal_may_use(&c->who, *p))
			put_one(c, *p, &w);
	json_array_end(&w);
	json_object_end(&w);
	answer_json(c, 200, &json);
}

/* Every name that the caller may use, and every shipped profile: these are no secret. */
static const char *known_name(const struct call *c)
{
	const struct profile_builtin *b = profile_builtin_find(c->id, false);

	for (const char *const *p = c->serve->options.profiles; *p; p++)
		if (strcmp(*p, c->id) == 0 && principal_may_use(&c->who, *p))
			return *p;
	return b && profile_builtin_runs(b) ? b->name : NULL;
}

static void put_text(struct call *c, const char *path, struct json_writer *w)
{
	const struct profile_builtin *b = profile_builtin_find(c->id, false);
	scoped(buffer_donep) struct buffer text = {.max = TEXT_MAX};
	scoped(fd_closep) int fd = -1;

	json_put_key(w, "text");
	if (path && c->who.audit)
		fd = fd_open_regular(AT_FDCWD, path);
	if (fd >= 0 && fd_read_all(fd, &text) == 0)
		json_put_bytes(w, buffer_str(&text), text.len);
	else if (!path && b)
		json_put_bytes(w, b->text, b->len);
	else
		json_put_null(w);
}

static void put_rules(struct call *c, const struct profile *p, struct json_writer *w)
{
	json_member_array(w, "rules");
	for (size_t i = 0; i < p->rules.rule_count && i < RULES_MAX; i++) {
		const struct policy_rule *r = &p->rules.rules[i];

		json_object_begin(w);
		json_member_string(w, "list", policy_list_name(r->list));
		json_member_string(w, "id", r->id);
		json_member_string(w, "text", r->text);
		json_member_string(w, "file", shown_place(c, r->place.file));
		json_member_uint(w, "line", r->place.line);
		json_member_string(w, "reason", r->reason);
		json_object_end(w);
	}
	json_array_end(w);
}

static void put_examples(const struct profile *p, struct json_writer *w)
{
	json_member_array(w, "examples");
	for (size_t i = 0; i < p->example_count; i++) {
		const struct profile_example *e = &p->examples[i];

		if (!e->command || e->files || e->force)
			continue;
		json_object_begin(w);
		json_member_string(w, "command", e->command);
		json_member_string(w, "verdict", policy_verdict_name(e->verdict));
		json_member_string(w, "rule", e->rule);
		json_object_end(w);
	}
	json_array_end(w);
}

void profiles_one(struct call *c)
{
	scoped(profile_freep) struct profile *p = NULL;
	scoped(buffer_donep) struct buffer json = {0};
	const char *name = known_name(c);
	struct json_writer w = {.out = &json};
	struct found found = {.name = name};
	struct profile_request q;
	struct error err = {0};
	char buffer[4096];

	if (!name) {
		answer_error(c, 404, "input", "there is no such profile for you");
		return;
	}
	request_of(c, name, buffer, &q);
	q.examples = true;
	profile_names(&q, find, &found);
	if (profile_load(&q, &p, &err) < 0) {
		answer_failure(c, &err);
		return;
	}
	json_object_begin(&w);
	json_member_string(&w, "name", name);
	json_member_string(&w, "description", p->description);
	json_member_string(&w, "tool", p->tool);
	json_member_string(&w, "file", shown_place(c, found.path));
	put_text(c, found.path, &w);
	json_member_array(&w, "layers");
	for (const struct profile_layer *l = p->store->layers; l; l = l->next)
		json_put_string(&w, shown_place(c, l->name));
	json_array_end(&w);
	put_rules(c, p, &w);
	put_examples(p, &w);
	json_object_end(&w);
	answer_json(c, 200, &json);
}
