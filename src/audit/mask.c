/*
 * The pass of the built-in shapes, then the profile's own patterns on what it has left.
 */
#include "audit/mask.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include "audit/mask-pass.h"
#include "base/buffer.h"
#include "base/error.h"

#define MATCH_LIMIT 100000

struct mask {
	pcre2_code **codes;
	size_t count;
	pcre2_match_data *data;
	pcre2_match_context *context;
};

static pcre2_code *compile(const char *pattern, int *ret_code, PCRE2_SIZE *ret_at)
{
	return pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
	                     PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C,
	                     ret_code, ret_at, NULL);
}

int mask_check(const char *pattern, char *why, size_t size)
{
	PCRE2_UCHAR text[160];
	PCRE2_SIZE at;
	int code;
	pcre2_code *c = compile(pattern, &code, &at);

	if (c) {
		pcre2_code_free(c);
		return 0;
	}
	(void)pcre2_get_error_message(code, text, sizeof(text));
	snprintf(why, size, "%s", (const char *)text);
	return -EINVAL;
}

struct mask *mask_free(struct mask *m)
{
	if (!m)
		return NULL;
	for (size_t i = 0; i < m->count; i++)
		pcre2_code_free(m->codes[i]);
	pcre2_match_data_free(m->data);
	pcre2_match_context_free(m->context);
	free(m->codes);
	free(m);
	return NULL;
}

int mask_new(const char *const *patterns, struct mask **ret_mask, struct error *err)
{
	scoped(mask_freep) struct mask *m = calloc(1, sizeof(*m));
	PCRE2_SIZE at;
	size_t n = 0;
	int code;

	while (patterns && patterns[n])
		n++;
	if (!m)
		return error_nomem(err);
	if (n == 0) {
		/* As in most profiles: nothing of the library is touched then. */
		*ret_mask = take_ptr(&m);
		return 0;
	}
	m->codes = calloc(n, sizeof(pcre2_code *));
	m->data = pcre2_match_data_create(2, NULL);
	m->context = pcre2_match_context_create(NULL);
	if (!m->codes || !m->data || !m->context)
		return error_nomem(err);
	(void)pcre2_set_match_limit(m->context, MATCH_LIMIT);
	for (; m->count < n; m->count++) {
		m->codes[m->count] = compile(patterns[m->count], &code, &at);
		if (!m->codes[m->count])
			return error_set(err, ERROR_INPUT, EINVAL,
			                 "audit.mask: '%.80s' is no pattern", patterns[m->count]);
	}
	*ret_mask = take_ptr(&m);
	return 0;
}

/* Replaces what the pattern matches; the whole text if it cannot be tried to its end. */
static void apply(const struct mask *m, const pcre2_code *code, struct buffer *text)
{
	const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(m->data);
	scoped(buffer_donep) struct buffer out = {.max = text->max};
	struct buffer old;
	size_t at = 0, copied = 0;
	int r;

	while ((r = pcre2_match(code, (PCRE2_SPTR)buffer_str(text), text->len, at, 0, m->data,
	                        m->context)) >= 0) {
		int group = r == 1 || ends[2] == PCRE2_UNSET ? 0 : 1;
		size_t begin = ends[2 * group], end = ends[2 * group + 1];

		if (end > begin && begin >= copied) {
			buffer_append(&out, buffer_str(text) + copied, begin - copied);
			buffer_puts(&out, MASK_STARS);
			copied = end;
		}
		at = ends[1] > at ? ends[1] : at + 1;
		if (at > text->len)
			break;
	}
	if (r < 0 && r != PCRE2_ERROR_NOMATCH) {
		buffer_clear(&out);
		buffer_puts(&out, MASK_STARS);
	} else {
		buffer_append(&out, buffer_str(text) + copied, text->len - copied);
	}
	old = *text;
	*text = out;
	out = old;
}

static void finish(const struct mask *m, struct buffer *text, struct buffer *into)
{
	for (size_t i = 0; i < m->count && buffer_error(text) == 0; i++)
		apply(m, m->codes[i], text);
	buffer_append(into, buffer_str(text), text->len);
	if (buffer_error(text) < 0)
		into->failed = buffer_error(text);
}

static bool has_patterns(const struct mask *m)
{
	return m && m->count > 0;
}

void mask_text(const struct mask *m, const char *text, size_t n, struct buffer *into)
{
	scoped(buffer_donep) struct buffer out = {.max = into->max};

	mask_pass_text(text, n, has_patterns(m) ? &out : into);
	if (has_patterns(m))
		finish(m, &out, into);
}

void mask_word(const struct mask *m, const char *const *words, size_t i, struct buffer *into)
{
	scoped(buffer_donep) struct buffer out = {.max = into->max};

	mask_pass_word(words, i, has_patterns(m) ? &out : into);
	if (has_patterns(m))
		finish(m, &out, into);
}
