/*
 * The examples are decided as requests are, by check_request(), in an empty workspace, so that
 * their verdicts do not depend on where the test is run.
 */
#include "cli/policy.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "engine/result.h"
#include "json/write.h"
#include "decide/check.h"
#include "session/place.h"
#include "shell/facts.h"
#include "task/order.h"
#include "task/request.h"

/* The same everywhere, so that a policy is judged alike on every machine. */
static const char *const environment[] = {
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/home/user",
	NULL};

struct trial {
	const struct policy_options *options;
	struct arena *arena;
	struct place place; /* an empty workspace */
	struct json_writer json;
	unsigned held, failed;
};

static void put_words(const struct profile_example *e, struct buffer *out)
{
	if (e->command)
		buffer_puts(out, e->command);
	for (const char *const *w = e->argv; w && *w; w++)
		buffer_printf(out, "%s%s", w == e->argv ? "" : " ", *w);
}

static void tell_json(struct trial *t, const struct profile_example *e,
                      const struct policy_finding *got, const char *error, bool held)
{
	scoped(buffer_donep) struct buffer words = {0};
	struct json_writer *w = &t->json;

	put_words(e, &words);
	json_object_begin(w);
	json_member_string(w, "command", buffer_str(&words));
	json_member_string(w, "file", e->place.file);
	json_member_uint(w, "line", e->place.line);
	json_member_bool(w, "ok", held);
	json_member_string(w, "wanted", policy_verdict_name(e->verdict));
	json_member_string(w, "verdict", got ? policy_verdict_name(got->verdict) : NULL);
	json_member_string(w, "rule", got ? got->rule_id : NULL);
	json_member_string(w, "reason", got ? got->reason : error);
	json_object_end(w);
}

static void tell(struct trial *t, const struct profile_example *e, const struct policy_finding *got,
                 const char *error)
{
	scoped(buffer_donep) struct buffer text = {0}, clean = {0};

	buffer_printf(&text, "%s:%u:%u: '", e->place.file, e->place.line, e->place.column);
	put_words(e, &text);
	buffer_puts(&text, "': ");
	if (!got)
		buffer_puts(&text, error);
	else if (got->verdict != e->verdict)
		buffer_printf(&text, "the verdict is %s, not %s (%s: %s)",
		              policy_verdict_name(got->verdict), policy_verdict_name(e->verdict),
		              got->rule_id ? got->rule_id : "no rule",
		              got->reason ? got->reason : "");
	else
		buffer_printf(&text, "the rule is '%s', not '%s'",
		              got->rule_id ? got->rule_id : "none", e->rule);
	cli_put_clean(buffer_str(&text), &clean);
	printf("%s\n", buffer_str(&clean));
}

static void try_one(struct trial *t, const struct profile *p, const struct profile_example *e)
{
	const struct request rq = {.command = e->command, .argv = e->argv, .force = e->force};
	const struct question_source from = {
		.request = &rq, .place = &t->place, .profile = p, .environment = environment};
	struct keeper_order order = {0};
	struct question q;
	const struct policy_finding *got = NULL;
	struct error err = {0};
	struct check c;
	bool held;

	if (question_of(t->arena, &from, &order, &q, &err) == 0 &&
	    check_request(t->arena, &q, &c, &err) == 0)
		got = &c.answer.line;
	held = got && got->verdict == e->verdict &&
	       (!e->rule || (got->rule_id && strcmp(got->rule_id, e->rule) == 0));
	t->held += held;
	t->failed += !held;
	if (t->options->json)
		tell_json(t, e, got, err.text, held);
	else if (!held)
		tell(t, e, got, err.text);
	arena_reset(t->arena);
}

static int try_file(struct trial *t, const char *name)
{
	scoped(profile_freep) struct profile *p = NULL;
	scoped(buffer_donep) struct buffer clean = {0};
	unsigned held = t->held, failed = t->failed;
	struct error err = {0};
	const char *file;

	if (policy_load_named(t->options, name, &p, &file, &err) < 0) {
		cli_complain("%s", err.text);
		t->failed++;
		return 0;
	}
	for (size_t i = 0; i < p->example_count; i++)
		if (!file || strcmp(p->examples[i].place.file, file) == 0)
			try_one(t, p, &p->examples[i]);
	cli_put_clean(name, &clean);
	if (!t->options->json)
		printf("%s: %u examples hold, %u do not\n", buffer_str(&clean), t->held - held,
		       t->failed - failed);
	return 0;
}

static int try_all(struct trial *t, char **names)
{
	struct buffer *out = t->json.out;

	if (t->options->json) {
		json_object_begin(&t->json);
		json_member_array(&t->json, "examples");
	}
	for (; *names; names++)
		try_file(t, *names);
	if (t->options->json) {
		json_array_end(&t->json);
		json_member_uint(&t->json, "held", t->held);
		json_member_uint(&t->json, "failed", t->failed);
		json_object_end(&t->json);
		buffer_putc(out, '\n');
	}
	if (cli_print(out))
		return EXIT_NACRE_FAILED;
	return t->failed ? 1 : 0;
}

int policy_test(void *options, int argc, char **names)
{
	scoped(arena_freep) struct arena *arena = arena_new(SHELL_FACTS_ARENA_MAX);
	scoped(buffer_donep) struct buffer out = {0};
	struct trial t = {.options = options, .arena = arena, .json = {.out = &out}};
	char workspace[] = "/tmp/nacre-policy-XXXXXX";
	int r;

	if (!arena || !mkdtemp(workspace)) {
		cli_complain("policy test: cannot create an empty workspace in /tmp");
		return EXIT_NACRE_FAILED;
	}
	r = EXIT_NACRE_FAILED;
	if (place_open_workspace(workspace, NULL, &t.place, NULL) == 0) {
		if (place_open_cwd(&t.place, NULL, NULL) == 0)
			r = try_all(&t, names);
		place_done(&t.place);
	}
	(void)rmdir(workspace);
	return r;
}
