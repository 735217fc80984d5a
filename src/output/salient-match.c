/*
 * A line is read once by an automaton that knows a few bytes of each pattern, its key. Most lines
 * have no key and are done with that. The patterns of the keys that were found are then compared,
 * in the order of the table: each from left to right, without ever going back. So the time of a
 * line is linear in its bytes, with a factor that the table bounds.
 */
#include "output/salient-match.h"

#include <string.h>
#include "base/cleanup.h"
#include "output/escape.h"
#include "output/salient-rules.h"

#define KEY_WORDS 4 /* of 64 keys */

struct keys {
	uint64_t bits[KEY_WORDS];
	bool any;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void note_keys(struct keys *k, unsigned state)
{
	unsigned number = (state - salient_first_end) / salient_width;

	for (unsigned i = salient_found_first[number]; i < salient_found_first[number + 1]; i++)
		k->bits[salient_found[i] / 64] |= UINT64_C(1) << salient_found[i] % 64;
	k->any = true;
}

static void find_keys(const char *text, size_t n, struct keys *k)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + n;
	const uint16_t *steps = salient_steps;
	const uint8_t *classes = salient_classes;
	const unsigned first_end = salient_first_end;
	unsigned state = 0;

	for (; p < end; p++) {
		state = steps[state + classes[*p]];
		if (__builtin_expect(state >= first_end, 0))
			note_keys(k, state);
	}
}

static bool has_key(const struct keys *k, unsigned key)
{
	return k->bits[key / 64] >> key % 64 & 1;
}

/* How much of TEXT the piece of a pattern takes at its start; -1: it is not there. *PIECE moves to
 * the `*` behind it, or to the end. */
static ptrdiff_t take_piece(const char **piece, const char *text, size_t n)
{
	const char *p = *piece;
	size_t i = 0;

	for (; *p && *p != '*' && !(*p == '$' && !p[1]); p++) {
		if (*p == '#') {
			if (i == n || !is_digit(text[i]))
				return -1;
			while (i < n && is_digit(text[i]))
				i++;
		} else if (i == n || text[i++] != *p) {
			return -1;
		}
	}
	*piece = p;
	return (ptrdiff_t)i;
}

/* The first place where the piece fits. Of a piece that begins with a number this is the start of
 * that: no later digit of it can do better. */
static const char *find_piece(const char **piece, const char *text, const char *end)
{
	const char *p = *piece;

	while (text <= end) {
		const char *at =
			*p == '#' && text < end ? text : memchr(text, *p, (size_t)(end - text));
		const char *behind = p;
		ptrdiff_t took;

		if (!at)
			return NULL;
		took = take_piece(&behind, at, (size_t)(end - at));
		if (took >= 0) {
			*piece = behind;
			return at + took;
		}
		text = at + 1;
		while (*p == '#' && is_digit(*at) && text < end && is_digit(*text))
			text++; /* from any digit of it the number ends at the same place */
	}
	return NULL;
}

/* The last piece of a pattern that ends with `$`, at the end of the text. */
static bool ends_with(const char *piece, const char *text, const char *end)
{
	size_t len = strcspn(piece, "$");
	const char *from = end;

	for (size_t i = len; i > 0; i--) {
		if (piece[i - 1] == '#') {
			if (from == text || !is_digit(from[-1]))
				return false;
			while (from > text && is_digit(from[-1]))
				from--;
		} else if (from == text || *--from != piece[i - 1]) {
			return false;
		}
	}
	return true;
}

static bool matches(const char *pattern, const char *text, const char *end)
{
	const char *p = pattern;
	ptrdiff_t took;

	if (*p == '^') {
		while (text < end && (*text == ' ' || *text == '\t'))
			text++;
		p++;
		took = take_piece(&p, text, (size_t)(end - text));
		if (took < 0)
			return false;
		text += took;
	} else if (*p != '*') { /* anywhere */
		text = find_piece(&p, text, end);
	}
	while (text && *p == '*') {
		while (*p == '*')
			p++;
		if (!*p)
			return true;
		if (*p != '*' && strchr(p, '*') == NULL && p[strlen(p) - 1] == '$')
			return ends_with(p, text, end);
		text = find_piece(&p, text, end);
	}
	return text && (*p != '$' || text == end);
}

/* The first rule of the key that matches, if it stands before BEST. */
static size_t best_of_key(unsigned key, size_t best, const char *text, const char *end)
{
	for (unsigned i = salient_key_first[key]; i < salient_key_first[key + 1]; i++) {
		if (salient_key_rules[i] >= best)
			break;
		if (matches(salient_rules[salient_key_rules[i]].pattern, text, end))
			return salient_key_rules[i];
	}
	return best;
}

static struct salient_verdict judge(const struct keys *k, const char *text, size_t n)
{
	size_t best = salient_rule_count;
	const struct salient_rule *r;

	for (unsigned word = 0; word < KEY_WORDS; word++)
		for (uint64_t bits = k->bits[word]; bits; bits &= bits - 1)
			best = best_of_key(word * 64 + (unsigned)__builtin_ctzll(bits), best, text,
			                   text + n);
	if (best == salient_rule_count)
		return (struct salient_verdict){0};
	r = &salient_rules[best];
	return (struct salient_verdict){.kind = r->kind,
	                                .weight = r->weight,
	                                .before = r->before,
	                                .after = r->after,
	                                .rule = (uint16_t)best};
}

/* What a terminal would show of it, roughly: sequences go, and a return begins the line again. */
static size_t strip(const char *line, size_t n, char *into)
{
	size_t len = 0, step;

	for (size_t i = 0; i < n && len < SALIENT_LOOK_MAX; i += step) {
		step = 1;
		if (escape_begins(line + i, n - i)) {
			step = escape_scan(line + i, n - i).len;
		} else if (line[i] == '\r') {
			if (i + 1 < n)
				len = 0;
		} else {
			into[len++] = line[i];
		}
	}
	return len;
}

struct salient_verdict salient_match(const char *line, size_t n, char *scratch,
                                     const char **ret_text, size_t *ret_n)
{
	size_t look = n < SALIENT_LOOK_MAX ? n : SALIENT_LOOK_MAX;
	struct keys k = {0};

	if (look > 0 && line[n - 1] == '\r')
		look -= look == n--;
	*ret_text = line;
	*ret_n = n;
	find_keys(line, look, &k);
	if (!k.any)
		return (struct salient_verdict){0};
	if (has_key(&k, SALIENT_KEY_ESCAPE) || has_key(&k, SALIENT_KEY_RETURN)) {
		look = strip(line, n, scratch);
		*ret_text = line = scratch;
		*ret_n = look;
		k = (struct keys){0};
		find_keys(line, look, &k);
	}
	return k.any ? judge(&k, line, look) : (struct salient_verdict){0};
}

uint32_t salient_shape(const char *text, size_t n)
{
	uint32_t hash = 2166136261u;

	if (n > SALIENT_LOOK_MAX / 4)
		n = SALIENT_LOOK_MAX / 4;
	for (size_t i = 0; i < n; i++) {
		bool digit = is_digit(text[i]);

		if (digit && i > 0 && is_digit(text[i - 1]))
			continue;
		hash = (hash ^ (unsigned char)(digit ? '0' : text[i])) * 16777619u;
	}
	return hash;
}
