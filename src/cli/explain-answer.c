#include "cli/explain-answer.h"

#include <string.h>
#include "base/buffer.h"
#include "cli/analyse-text.h"
#include "cli/cli.h"
#include "decide/check.h"
#include "decide/hosts.h"
#include "engine/explain-network.h"
#include "shell/facts.h"

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
		buffer_puts(out, "\n         not proven harmless: the sandbox confines it");
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
	if (c->host_count)
		buffer_puts(out, "\nhosts\n");
	for (size_t i = 0; i < c->host_count; i++)
		explain_network_put_text(c->profile, &c->hosts[i], "  ", out);
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
	if (policy_answer_is_left(a) && a->line.verdict != POLICY_VERDICT_DENY)
		buffer_puts(out,
		            "\n  Part of it cannot be known before it runs. The sandbox confines "
		            "it.");
	if (c->reaches_engine && (c->is_client || policy_answer_is_left(a)))
		buffer_puts(out,
		            "\n  The profile gives commands the socket of the container engine "
		            "(docker.allow), which reaches outside the sandbox.");
	else if (c->is_client)
		buffer_puts(out,
		            "\n  The container engine is outside the sandbox. The profile does not "
		            "let commands reach it (docker.allow).");
	buffer_putc(out, '\n');
}
