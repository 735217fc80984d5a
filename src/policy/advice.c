/*
 * Sentences for whoever asked, who may be a model: what is wrong, and what to do instead. Words of
 * the line come into them only in a harmless form.
 */
#include "policy/inside.h"

#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "base/utf8.h"

#define NAME_BYTES_MAX 120

static void put_clean(struct buffer *out, const char *text)
{
	size_t n = strlen(text), from = out->len;

	for (size_t i = 0; i < n;) {
		uint32_t code = 0;
		size_t len = utf8_char(text + i, n - i, &code);

		if (out->len - from > NAME_BYTES_MAX) {
			buffer_puts(out, "...");
			return;
		}
		if (text[i] == '\n')
			buffer_puts(out, "\\n");
		else if (text[i] == '\r')
			buffer_puts(out, "\\r");
		else if (!len || (code < 0x80 && utf8_is_hidden(code)))
			buffer_printf(out, "\\x%02x", (unsigned char)text[i]);
		else if (utf8_is_hidden(code))
			buffer_printf(out, "\\u%04x", code);
		else
			buffer_append(out, text + i, len);
		i += len ? len : 1;
	}
}

const char *advice_quote(struct look *l, const char *text)
{
	scoped(buffer_donep) struct buffer out = {0};
	char *copy;

	put_clean(&out, text ? text : "");
	copy = look_string(l, buffer_str(&out), out.len);
	return copy ? copy : "";
}

const char *advice_fill(struct look *l, const char *pattern, const struct advice *a)
{
	scoped(buffer_donep) struct buffer out = {.max = 1 << 16};
	const char *name = a->name && *a->name ? a->name : "this command";
	const struct {
		const char *key, *value;
		bool clean;
	} keys[] = {
		{"{name}", name, false},
		{"{operand}", a->operand && *a->operand ? a->operand : name, false},
		{"{char}", a->banned ? a->banned : "", false},
		{"{instead}", a->instead ? a->instead : "", true},
		/* A sentence never ends in an empty list. */
		{"{allowed}",
	         l->policy->allowed && *l->policy->allowed ? l->policy->allowed : "nothing", true},
	};
	const char *at = pattern;

	while (*at) {
		size_t n = strcspn(at, "{"), k = 0;

		buffer_append(&out, at, n);
		at += n;
		for (; *at && k < sizeof(keys) / sizeof(keys[0]); k++) {
			if (strncmp(at, keys[k].key, strlen(keys[k].key)) != 0)
				continue;
			if (keys[k].clean)
				buffer_puts(&out, keys[k].value);
			else
				put_clean(&out, keys[k].value);
			at += strlen(keys[k].key);
			break;
		}
		if (*at && k == sizeof(keys) / sizeof(keys[0]))
			buffer_putc(&out, *at++);
	}
	if (buffer_error(&out)) {
		l->failed = true;
		return "";
	}
	return look_string(l, buffer_str(&out), out.len);
}
