#include "hook/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "hook/call.h"
#include "hook/client.h"
#include "json/read.h"
#include "json/write.h"

static void put_quoted(const char *text, struct buffer *into)
{
	buffer_putc(into, '\'');
	for (; *text; text++)
		if (*text == '\'')
			buffer_puts(into, "'\\''");
		else
			buffer_putc(into, *text);
	buffer_putc(into, '\'');
}

void hook_rewrite(const char *shell, const char *const *variables, const char *line,
                  struct buffer *into)
{
	for (; variables && *variables; variables++) {
		size_t n = strcspn(*variables, "=");

		buffer_append(into, *variables, n);
		buffer_putc(into, '=');
		put_quoted(*variables + n + ((*variables)[n] == '='), into);
		buffer_putc(into, ' ');
	}
	put_quoted(shell, into);
	buffer_puts(into, " -c ");
	put_quoted(line, into);
}

/* The arguments as they came, but for the command. */
static int put_input(struct json_writer *w, const char *key, const struct hook_answer *a)
{
	scoped(json_decrefp) json_t *changed = json_copy(a->input), *line = NULL;
	char *text;

	line = json_string(a->command);
	if (!changed || !line || json_object_set(changed, "command", line) < 0)
		return -ENOMEM;
	text = json_dumps(changed, JSON_COMPACT);
	if (!text)
		return -ENOMEM;
	json_member_raw(w, key, text);
	free(text);
	return 0;
}

static int put_claude(struct json_writer *w, const struct hook_client *c,
                      const struct hook_answer *a, const char *word)
{
	int r = 0;

	json_member_object(w, "hookSpecificOutput");
	json_member_string(w, "hookEventName", c->event);
	json_member_string(w, "permissionDecision", word);
	if (a->reason)
		json_member_string(w, "permissionDecisionReason", a->reason);
	if (a->command && a->verdict != HOOK_DENY)
		r = put_input(w, "updatedInput", a);
	json_object_end(w);
	return r;
}

static int put_gemini(struct json_writer *w, const struct hook_client *c,
                      const struct hook_answer *a, const char *word)
{
	int r = 0;

	json_member_string(w, "decision", word);
	if (a->reason)
		json_member_string(w, "reason", a->reason);
	if (a->command && a->verdict != HOOK_DENY) {
		json_member_object(w, "hookSpecificOutput");
		json_member_string(w, "hookEventName", c->event);
		r = put_input(w, "tool_input", a);
		json_object_end(w);
	}
	return r;
}

static int put_copilot(struct json_writer *w, const struct hook_answer *a, const char *word)
{
	json_member_string(w, "permissionDecision", word);
	if (a->reason)
		json_member_string(w, "permissionDecisionReason", a->reason);
	return a->command && a->verdict != HOOK_DENY ? put_input(w, "modifiedArgs", a) : 0;
}

/* Cursor's documents have had both spellings. */
static int put_cursor(struct json_writer *w, const struct hook_answer *a, const char *word)
{
	json_member_bool(w, "continue", a->verdict != HOOK_DENY);
	json_member_string(w, "permission", word);
	if (a->reason) {
		json_member_string(w, "userMessage", a->reason);
		json_member_string(w, "agentMessage", a->reason);
		json_member_string(w, "user_message", a->reason);
		json_member_string(w, "agent_message", a->reason);
	}
	return 0;
}

int hook_answer_write(const struct hook_client *client, const struct hook_answer *a,
                      struct buffer *into)
{
	struct json_writer w = {.out = into};
	struct hook_answer said = *a;
	const char *word;
	int r = 0;

	if (said.verdict == HOOK_ASK && !client->asks)
		said.verdict = HOOK_DENY;
	if (said.command && !client->rewrites)
		return -ENOTSUP; /* it would run something that nobody has judged */
	word = said.verdict == HOOK_ALLOW ? "allow" : said.verdict == HOOK_ASK ? "ask" : "deny";
	json_object_begin(&w);
	switch (client->shape) {
	case HOOK_SHAPE_CLAUDE:
		r = put_claude(&w, client, &said, word);
		break;
	case HOOK_SHAPE_GEMINI:
		r = put_gemini(&w, client, &said, word);
		break;
	case HOOK_SHAPE_COPILOT:
		r = put_copilot(&w, &said, word);
		break;
	case HOOK_SHAPE_CURSOR:
		r = put_cursor(&w, &said, word);
		break;
	}
	json_object_end(&w);
	buffer_putc(into, '\n');
	return r < 0 ? r : buffer_error(into);
}

static const char *text_of(json_t *object, const char *key, struct arena *arena)
{
	json_t *value = json_object_get(object, key);

	return json_is_string(value) ? arena_strdup(arena, json_string_value(value)) : NULL;
}

int hook_answer_read(const struct hook_client *client, const char *bytes, size_t n,
                     struct arena *arena, struct hook_answer *ret, struct error *err)
{
	static const struct {
		const char *verdict, *reason, *input;
	} keys[] = {
		[HOOK_SHAPE_CLAUDE] = {"permissionDecision", "permissionDecisionReason",
	                               "updatedInput"},
		[HOOK_SHAPE_GEMINI] = {"decision", "reason", "tool_input"},
		[HOOK_SHAPE_COPILOT] = {"permissionDecision", "permissionDecisionReason",
	                                "modifiedArgs"},
		[HOOK_SHAPE_CURSOR] = {"permission", "agent_message", "none"},
	};
	scoped(json_decrefp) json_t *answer = NULL;
	json_t *inner, *top;
	const char *word;
	int r = json_read(bytes, n, HOOK_BYTES_MAX, "the answer", &answer, err);

	if (r < 0)
		return r;
	inner = json_object_get(answer, "hookSpecificOutput");
	top = client->shape == HOOK_SHAPE_CLAUDE ? inner : answer;
	if (client->shape != HOOK_SHAPE_GEMINI)
		inner = top;
	word = text_of(top, keys[client->shape].verdict, arena);
	if (!word)
		return error_set(err, ERROR_INPUT, EINVAL, "the answer has no verdict");
	*ret = (struct hook_answer){
		.verdict = strcmp(word, "allow") == 0 ? HOOK_ALLOW
	                   : strcmp(word, "ask") == 0 ? HOOK_ASK
	                                              : HOOK_DENY,
		.reason = text_of(top, keys[client->shape].reason, arena),
		.command = text_of(json_object_get(inner, keys[client->shape].input), "command",
	                           arena),
	};
	return 0;
}
