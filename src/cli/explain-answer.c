#include "cli/explain-answer.h"

#include <string.h>
#include "base/buffer.h"
#include "cli/analyse-text.h"
#include "cli/cli.h"
#include "json/write.h"
#include "keeper/check.h"
#include "shell/facts.h"
#include "shell/print.h"

static void put_rule(const struct policy_finding *f, struct json_writer *w)
{
	json_put_key(w, "rule");
	if (!f->rule_id) {
		json_put_null(w);
		return;
	}
	json_object_begin(w);
	json_put_key(w, "id");
	json_put_string(w, f->rule_id);
	json_put_key(w, "file");
	json_put_string(w, f->place.file);
	json_put_key(w, "line");
	if (f->place.line)
		json_put_uint(w, f->place.line);
	else
		json_put_null(w);
	json_object_end(w);
}

static void put_finding(const struct policy_finding *f, struct json_writer *w)
{
	json_put_key(w, "verdict");
	json_put_string(w, policy_verdict_name(f->verdict));
	json_put_key(w, "reason");
	json_put_string(w, f->reason);
	put_rule(f, w);
}

static void put_words(const struct shell_fact_command *c, struct json_writer *w)
{
	json_put_key(w, "words");
	json_array_begin(w);
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

/* Of the line or of any command of it. */
static bool is_left(const struct policy_answer *a)
{
	bool left = a->line.left_to_sandbox;

	for (size_t i = 0; i < a->command_count; i++)
		left |= a->commands[i].left_to_sandbox;
	return left;
}

void explain_put_json(const struct check *c, struct json_writer *w)
{
	const struct policy_answer *a = &c->answer;

	put_finding(&a->line, w);
	json_put_key(w, "recommended");
	json_array_begin(w);
	for (const char *const *u = a->line.use; u && *u; u++)
		json_put_string(w, *u);
	json_array_end(w);
	json_put_key(w, "left_to_sandbox");
	json_put_bool(w, is_left(a));
	json_put_key(w, "status");
	json_put_string(w, shell_facts_status_name(c->facts->status));
	put_canonical(c->facts, w);
	json_put_key(w, "commands");
	json_array_begin(w);
	for (size_t i = 0; i < a->command_count; i++) {
		json_object_begin(w);
		put_words(&c->facts->commands[i], w);
		json_put_key(w, "via");
		json_put_string(w, c->facts->commands[i].via);
		put_finding(&a->commands[i], w);
		json_put_key(w, "resolved");
		json_put_string(w, a->commands[i].resolved);
		json_put_key(w, "left_to_sandbox");
		json_put_bool(w, a->commands[i].left_to_sandbox);
		json_object_end(w);
	}
	json_array_end(w);
}

/* Text */

static void put_clean(struct buffer *out, const char *text)
{
	cli_put_clean(text ? text : "", out);
}

static void put_place(struct buffer *out, const struct policy_finding *f)
{
	if (!f->rule_id)
		return;
	buffer_puts(out, "  [");
	put_clean(out, f->rule_id);
	if (f->place.file) {
		buffer_puts(out, ", ");
		put_clean(out, f->place.file);
		if (f->place.line)
			buffer_printf(out, ":%u", f->place.line);
	}
	buffer_putc(out, ']');
}

static void put_command(struct buffer *out, const struct shell_fact_command *c,
                        const struct policy_finding *f)
{
	buffer_printf(out, "  %-6s", policy_verdict_name(f->verdict));
	if (!c->word_count)
		buffer_puts(out, " (assignments or redirections alone)");
	for (size_t i = 0; i < c->word_count && i < 12; i++) {
		buffer_putc(out, ' ');
		if (c->words[i].kind == SHELL_VALUE_KNOWN)
			put_clean(out, c->words[i].text.bytes);
		else
			buffer_puts(out, "<unknown>");
	}
	if (c->word_count > 12)
		buffer_puts(out, " ...");
	put_place(out, f);
	if (f->resolved) {
		buffer_puts(out, "\n         is ");
		put_clean(out, f->resolved);
	}
	if (f->left_to_sandbox)
		buffer_puts(out, "\n         not proven harmless: the sandbox is what holds it");
	buffer_putc(out, '\n');
}

void explain_put_text(const struct check *c, struct buffer *out)
{
	const struct policy_answer *a = &c->answer;

	analyse_print(c->facts, out);
	if (a->command_count)
		buffer_puts(out, "\nverdicts\n");
	for (size_t i = 0; i < a->command_count; i++)
		put_command(out, &c->facts->commands[i], &a->commands[i]);
	buffer_printf(out, "\n%s", policy_verdict_name(a->line.verdict));
	put_place(out, &a->line);
	if (a->line.reason) {
		buffer_puts(out, "\n  ");
		put_clean(out, a->line.reason);
	}
	for (const char *const *u = a->line.use; u && *u; u++) {
		buffer_puts(out, u == a->line.use ? "\n  use instead: " : ", ");
		put_clean(out, *u);
	}
	if (is_left(a) && a->line.verdict != POLICY_VERDICT_DENY)
		buffer_puts(out, "\n  Some of it cannot be known before it runs: it is left to the "
		                 "sandbox.");
	buffer_putc(out, '\n');
}
