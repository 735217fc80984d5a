#include "shell/split.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Copies the word that begins at *AT without its quotes to *INTO, and moves both behind it. */
static int take_word(const char *text, size_t n, size_t *at, char **into, struct error *err)
{
	char quote = '\0', *to = *into;
	size_t opened = 0, i;

	for (i = *at; i < n && (quote || !is_blank(text[i])); i++) {
		char c = text[i];

		if (quote ? c == quote : c == '\'' || c == '"') {
			quote = (char)(quote ? '\0' : c);
			opened = i;
		} else if (c == '\\' && quote != '\'') {
			if (i + 1 == n)
				return error_set(err, ERROR_INPUT, EINVAL,
				                 "column %zu: a backslash at the end", i + 1);
			/* Inside double quotes it escapes only what is special there. */
			if (quote && !strchr("\"\\$`\n", text[i + 1]))
				*to++ = c;
			if (text[++i] != '\n')
				*to++ = text[i];
		} else {
			*to++ = c;
		}
	}
	if (quote)
		return error_set(err, ERROR_INPUT, EINVAL, "column %zu: the quote %c is not closed",
		                 opened + 1, quote);
	*to++ = '\0';
	*into = to;
	*at = i;
	return 0;
}

int shell_split(struct arena *arena, const char *text, size_t n, const char *const **ret_words,
                struct error *err)
{
	/* Words are separated, so there are at most half as many, and their ends find room. */
	const char **words = arena_new_array(arena, const char *, n / 2 + 2);
	char *bytes = arena_alloc(arena, n + 2);
	size_t count = 0, at = 0;
	int r;

	if (!words || !bytes)
		return error_nomem(err);

	if (memchr(text, '\0', n))
		return error_set(err, ERROR_INPUT, EINVAL, "a NUL byte in the command");
	for (;;) {
		while (at < n && is_blank(text[at]))
			at++;
		if (at == n)
			break;
		words[count++] = bytes;
		r = take_word(text, n, &at, &bytes, err);
		if (r < 0)
			return r;
	}
	*ret_words = words;
	return 0;
}

void shell_quote_words(const char *const *words, struct buffer *out)
{
	for (size_t i = 0; words[i]; i++) {
		if (i)
			buffer_putc(out, ' ');
		buffer_putc(out, '\'');
		for (const char *c = words[i]; *c; c++) {
			if (*c == '\'')
				buffer_puts(out, "'\\''");
			else
				buffer_putc(out, *c);
		}
		buffer_putc(out, '\'');
	}
}
