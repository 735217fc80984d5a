#include "shell/analysis-json.h"

#include "base/buffer.h"
#include "json/write.h"
#include "shell/print.h"

static void write_text(struct json_writer *w, struct shell_text text)
{
	json_put_bytes(w, text.bytes, text.len);
}

static void write_unknown(struct json_writer *w, const struct shell_fact_word *word)
{
	static const char *const kinds[] = {
		[SHELL_VALUE_KNOWN] = "known",
		[SHELL_VALUE_ONE] = "one",
		[SHELL_VALUE_MANY] = "many",
		[SHELL_VALUE_GLOB] = "glob",
	};

	json_object_begin(w);
	json_member_string(w, "k", kinds[word->kind]);
	if (word->kind == SHELL_VALUE_GLOB) {
		json_put_key(w, "pat");
		write_text(w, word->pattern);
	} else if (word->text.len) {
		json_put_key(w, "pre");
		write_text(w, word->text);
	}
	if (word->pipe)
		json_member_bool(w, "pipe", true);
	json_object_end(w);
}

/* "name": the value or null, then "dyn" where it is null. */
static void write_word(struct json_writer *w, const char *name, const struct shell_fact_word *word)
{
	json_put_key(w, name);
	if (word->kind == SHELL_VALUE_KNOWN) {
		write_text(w, word->text);
		return;
	}
	json_put_null(w);
	json_put_key(w, "dyn");
	write_unknown(w, word);
}

static void write_words(struct json_writer *w, const struct shell_fact_command *c)
{
	struct buffer index = {.max = 32};
	size_t unknown = 0;

	json_member_array(w, "argv");
	for (size_t i = 0; i < c->word_count; i++) {
		if (c->words[i].kind == SHELL_VALUE_KNOWN) {
			write_text(w, c->words[i].text);
		} else {
			json_put_null(w);
			unknown++;
		}
	}
	json_array_end(w);
	if (!unknown)
		return;
	json_member_object(w, "dyn");
	for (size_t i = 0; i < c->word_count; i++) {
		if (c->words[i].kind == SHELL_VALUE_KNOWN)
			continue;
		buffer_clear(&index);
		buffer_printf(&index, "%zu", i);
		json_put_key(w, buffer_str(&index));
		write_unknown(w, &c->words[i]);
	}
	json_object_end(w);
	buffer_done(&index);
}

static void write_redirect(struct json_writer *w, const struct shell_fact_redirect *r)
{
	json_object_begin(w);
	json_put_key(w, "fd");
	if (r->variable.bytes) {
		scoped(buffer_donep) struct buffer name = {0};

		buffer_printf(&name, "{%s}", r->variable.bytes);
		json_put_string(w, buffer_str(&name));
	} else if (r->fd >= 0) {
		json_put_int(w, r->fd);
	} else {
		json_put_null(w);
	}
	json_member_string(w, "op", r->op);
	if (r->heredoc) {
		json_put_key(w, "delim");
		write_text(w, r->delimiter);
		json_member_bool(w, "expand", r->expand);
	} else {
		write_word(w, "target", &r->target);
	}
	json_object_end(w);
}

static void write_assign(struct json_writer *w, const struct shell_fact_assign *a)
{
	json_object_begin(w);
	json_put_key(w, "name");
	write_text(w, a->name);
	write_word(w, "value", &a->value);
	if (a->append)
		json_member_bool(w, "append", true);
	json_object_end(w);
}

static void write_does(struct json_writer *w, const struct shell_fact_command *c)
{
	json_member_array(w, "does");
	for (size_t i = 0; i < c->does_count; i++) {
		json_object_begin(w);
		json_member_string(w, "class", c->does[i].effect);
		json_member_string(w, "by", c->does[i].by);
		json_member_string(w, "note", c->does[i].note);
		if (c->does[i].maybe)
			json_member_bool(w, "maybe", true);
		json_object_end(w);
	}
	json_array_end(w);
}

static void write_range(struct json_writer *w, struct shell_range range)
{
	json_member_uint(w, "start", range.start);
	json_member_uint(w, "end", range.end);
}

static void write_command(struct json_writer *w, const struct shell_fact_command *c)
{
	json_object_begin(w);
	write_words(w, c);
	if (c->via[0])
		json_member_string(w, "via", c->via);
	json_member_string(w, "kind", shell_kind_name(c->kind));
	if (c->redirect_count) {
		json_member_array(w, "redirs");
		for (size_t i = 0; i < c->redirect_count; i++)
			write_redirect(w, &c->redirects[i]);
		json_array_end(w);
	}
	if (c->assign_count) {
		json_member_array(w, "assigns");
		for (size_t i = 0; i < c->assign_count; i++)
			write_assign(w, &c->assigns[i]);
		json_array_end(w);
	}
	if (c->does_count)
		write_does(w, c);
	if (c->open)
		json_member_bool(w, "open", true);
	write_range(w, c->range);
	json_object_end(w);
}

static void write_error(struct json_writer *w, const struct shell_tree *tree)
{
	json_member_object(w, "error");
	json_member_string(w, "message", tree->message);
	if (tree->token.len) {
		json_put_key(w, "token");
		write_text(w, tree->token);
	}
	write_range(w, tree->at);
	json_object_end(w);
}

static void write_reasons(struct json_writer *w, const struct shell_facts *f)
{
	json_member_array(w, "reasons");
	for (size_t i = 0; i < f->effect_count; i++) {
		const struct shell_fact_effect *e = &f->effects[i];

		if (!e->opaque)
			continue;
		json_object_begin(w);
		json_member_string(w, "effect", e->text);
		json_member_string(w, "reason", e->why);
		write_range(w, e->range);
		json_object_end(w);
	}
	json_array_end(w);
}

void shell_facts_write_json(const struct shell_facts *f, struct json_writer *w)
{
	json_object_begin(w);
	json_member_string(w, "status", shell_facts_status_name(f->status));
	json_member_array(w, "commands");
	for (size_t i = 0; i < f->command_count; i++)
		write_command(w, &f->commands[i]);
	json_array_end(w);
	json_member_array(w, "effects");
	for (size_t i = 0; i < f->effect_count; i++)
		json_put_string(w, f->effects[i].text);
	json_array_end(w);
	if (f->status == SHELL_FACTS_OPAQUE)
		write_reasons(w, f);
	if (f->tree->list && !f->changes_reading) {
		scoped(buffer_donep) struct buffer text = {0};

		shell_print(f->tree->list, &text);
		json_member_bytes(w, "canonical", buffer_str(&text), text.len);
		buffer_clear(&text);
		shell_print_lines(f->tree, &text);
		json_member_bytes(w, "executed", buffer_str(&text), text.len);
	} else if (!f->tree->list) {
		write_error(w, f->tree);
	}
	json_object_end(w);
}
