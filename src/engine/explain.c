#include "engine/explain.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "decide/hosts.h"
#include "engine/engine.h"
#include "engine/explain-network.h"
#include "engine/inside.h"
#include "session/place.h"
#include "engine/result.h"
#include "session/use.h"
#include "json/write.h"
#include "decide/check.h"
#include "shell/facts.h"
#include "shell/print.h"
#include "task/order.h"

int explain_find_hosts(struct arena *arena, const struct profile *profile, struct check *c,
                       struct error *err)
{
	c->profile = profile;
	return hosts_seen(arena, c->facts, &c->hosts, &c->host_count) < 0 ? error_nomem(err) : 0;
}

static int explain(struct engine *e, const struct request *rq, struct arena *arena,
                   struct check *ret_check, struct error *err)
{
	scoped(place_done) struct place place = {.workspace_fd = -1, .cwd_fd = -1};
	scoped(session_release) struct session_use session = {.hold = -1};
	struct keeper_order order = {0};
	struct question q;
	const char *state;
	int r;

	if (!rq->argv == !rq->command || (rq->argv && !rq->argv[0]))
		return error_set(err, ERROR_INPUT, EINVAL, "nothing to decide about");
	state = engine_state_of(arena, &e->store);
	r = session_use(arena, state, rq->session, &session, err);
	if (r == 0)
		r = engine_choose_place(e, rq, state, &session, &place, err);
	if (r < 0)
		return r;
	r = question_of(arena,
	                &(struct question_source){.request = rq,
	                                          .place = &place,
	                                          .session = &session,
	                                          .profile = e->profile,
	                                          .environment = e->environment},
	                &order, &q, err);
	if (r == 0)
		r = check_request(arena, &q, ret_check, err);
	if (r == 0)
		r = explain_find_hosts(arena, e->profile, ret_check, err);
	/* The directory that a profile gives to every job was made for one that never will be. */
	if (!rq->workspace && !rq->session && !rq->job && e->profile->workspace.per_job &&
	    e->profile->workspace.root)
		(void)rmdir(place.workspace);
	return r;
}

int engine_explain(struct engine *e, const struct request *rq, struct arena *arena,
                   struct check *ret_check, struct error *err)
{
	int r = explain(e, rq, arena, ret_check, err);
	const char *words;

	/* To ask about a directory must tell no more of it than to run a command there. What the
	 * system has said is for the log. */
	if (r == 0 || !err || !e->wishes.output_prefix || err->kind == ERROR_SYSTEM)
		return r;
	words = result_neutral_words(err);
	return words == err->text ? r : error_set(err, ERROR_INPUT, ENOENT, "%s", words);
}

static void hide_place(struct policy_finding *f)
{
	const char *slash = f->place.file ? strrchr(f->place.file, '/') : NULL;

	if (slash)
		f->place.file = slash + 1;
	f->resolved = NULL;
}

void explain_hide_places(struct check *c)
{
	c->hidden = true;
	hide_place(&c->answer.line);
	for (size_t i = 0; i < c->answer.command_count; i++)
		hide_place(&c->answer.commands[i]);
}

static void put_rule(const struct policy_finding *f, struct json_writer *w)
{
	json_put_key(w, "rule");
	if (!f->rule_id) {
		json_put_null(w);
		return;
	}
	json_object_begin(w);
	json_member_string(w, "id", f->rule_id);
	json_member_string(w, "file", f->place.file);
	json_put_key(w, "line");
	if (f->place.line)
		json_put_uint(w, f->place.line);
	else
		json_put_null(w);
	json_object_end(w);
}

static void put_finding(const struct policy_finding *f, struct json_writer *w)
{
	json_member_string(w, "verdict", policy_verdict_name(f->verdict));
	json_member_string(w, "reason", f->reason);
	put_rule(f, w);
}

static void put_words(const struct shell_fact_command *c, struct json_writer *w)
{
	json_member_array(w, "words");
	for (size_t i = 0; i < c->word_count; i++) {
		if (c->words[i].kind == SHELL_VALUE_KNOWN)
			json_put_bytes(w, c->words[i].text.bytes, c->words[i].text.len);
		else
			json_put_null(w);
	}
	json_array_end(w);
}

static void put_canonical(const struct shell_facts *facts, struct json_writer *w)
{
	scoped(buffer_donep) struct buffer text = {0};

	json_put_key(w, "canonical");
	if (!facts->tree->list || facts->changes_reading) {
		json_put_null(w);
		return;
	}
	shell_print(facts->tree->list, &text);
	json_put_bytes(w, buffer_str(&text), text.len);
}

void explain_put_json(const struct check *c, struct json_writer *w)
{
	const struct policy_answer *a = &c->answer;

	put_finding(&a->line, w);
	json_member_array(w, "recommended");
	for (const char *const *u = a->line.use; u && *u; u++)
		json_put_string(w, *u);
	json_array_end(w);
	json_member_bool(w, "left_to_sandbox", policy_answer_is_left(a));
	json_member_object(w, "docker");
	json_member_bool(w, "client", c->is_client);
	json_member_bool(w, "allow", c->reaches_engine);
	json_object_end(w);
	json_member_string(w, "status", shell_facts_status_name(c->facts->status));
	put_canonical(c->facts, w);
	json_member_array(w, "commands");
	for (size_t i = 0; i < a->command_count; i++) {
		json_object_begin(w);
		put_words(&c->facts->commands[i], w);
		json_member_string(w, "via", c->facts->commands[i].via);
		put_finding(&a->commands[i], w);
		json_member_string(w, "resolved", a->commands[i].resolved);
		json_member_bool(w, "left_to_sandbox", a->commands[i].left_to_sandbox);
		json_member_uint(w, "start", c->facts->commands[i].range.start);
		json_member_uint(w, "end", c->facts->commands[i].range.end);
		json_object_end(w);
	}
	json_array_end(w);
	json_member_array(w, "hosts");
	for (size_t i = 0; i < c->host_count; i++) {
		json_object_begin(w);
		explain_network_put_json(c->profile, &c->hosts[i], c->hidden, w);
		json_object_end(w);
	}
	json_array_end(w);
}
