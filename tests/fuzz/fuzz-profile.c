/*
 * Profiles: any bytes are a tree or a located error, any tree is a profile or a located error, and
 * what a project says never leaves a profile looser than it was.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "json/write.h"
#include "policy/policy.h"
#include "profile/bind.h"
#include "profile/lint.h"
#include "profile/profile.h"
#include "profile/show.h"
#include "profile/store.h"
#include "yaml/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char below[] = "profile: below\ndefault: ask\nunknown: ask\n"
			    "timeout: {default: 10s, max: 20s}\noutput: {limit: 1000}\n"
			    "deny: [sudo]\nallow: [ls, git status]\n"
			    "environment: {pass: [LANG]}\nsandbox: {readable: [/opt]}\n";

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* "f:LINE:COLUMN: words" */
static void check_error(const struct error *err)
{
	const char *p = err->text;

	if (err->sys == ENOMEM)
		return;
	must(strncmp(p, "f:", 2) == 0);
	p += 2;
	must(strspn(p, "0123456789") > 0);
	p += strspn(p, "0123456789");
	must(*p++ == ':' && strspn(p, "0123456789") > 0);
	p += strspn(p, "0123456789");
	must(p[0] == ':' && p[1] == ' ' && p[2]);
}

static void check_tight(const struct profile *p, const struct profile *was)
{
	must(p->rules.fallback >= was->rules.fallback);
	must(p->rules.unknown <= was->rules.unknown);
	must(p->timeout.max_ms <= was->timeout.max_ms);
	must(p->timeout.default_ms <= p->timeout.max_ms);
	must(p->output.view.limit && p->output.view.limit <= was->output.view.limit);
	must(p->sandbox.limits.memory_bytes &&
	     p->sandbox.limits.memory_bytes <= was->sandbox.limits.memory_bytes);
	must(p->sandbox.network == SANDBOX_NETWORK_NONE && p->sandbox.tier == SANDBOX_TIER_STRICT);
	must(!p->environment_set && (!p->environment_pass[0] || !p->environment_pass[1]));
	must(!p->sandbox.writable || !p->sandbox.writable[0]);
	for (size_t i = 0; i < p->rules.rule_count; i++) {
		const struct policy_rule *r = &p->rules.rules[i];

		must(r->list != POLICY_NUDGE || !r->forceable);
		for (const char *const *c = r->commands; r->list == POLICY_ALLOW && *c; c++)
			must(strcmp(*c, "ls") == 0 || strcmp(*c, "git") == 0);
	}
}

static void ignore(void *context, const struct policy_rule *rule, const char *message)
{
	must(*message);
}

static void look_at(struct profile *p, struct profile_store *store, struct binder *b)
{
	scoped(buffer_donep) struct buffer out = {0};
	struct json_writer w = {.out = &out};

	store->origins = b->origins;
	p->store = store;
	profile_lint(p, NULL, ignore, NULL);
	profile_write_json(p, &w);
	profile_print(p, false, &out);
	for (size_t i = 0; i < p->rules.rule_count; i++)
		must(p->rules.rules[i].id && p->rules.rules[i].text &&
		     p->rules.rules[i].place.line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(arena_freep) struct arena *arena = arena_new(YAML_ARENA_MAX);
	struct error err = {0};
	struct profile p = {0}, was;
	struct profile_store store = {0};
	struct binder b = {.arena = arena, .profile = &p, .err = &err, .examples = true};
	const struct yaml_node *root, *lower;

	if (!arena)
		return 0;
	if (yaml_read(arena, "f", (const char *)data, size, &root, &err) < 0) {
		check_error(&err);
		return 0;
	}
	must(bind_defaults(&b) == 0);
	b.file = "below";
	must(yaml_read(arena, "below", below, sizeof(below) - 1, &lower, &err) == 0);
	must(bind_layer(&b, lower) == 0);
	was = p;
	b.file = "f";
	b.tighten = size % 2;
	if (bind_layer(&b, root) < 0) {
		check_error(&err);
		return 0;
	}
	if (bind_finish(&b) < 0)
		return 0;
	if (b.tighten)
		check_tight(&p, &was);
	look_at(&p, &store, &b);
	return 0;
}
