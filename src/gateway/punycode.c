#include "gateway/punycode.h"

#include <stdint.h>
#include <string.h>
#include "base/utf8.h"

#define LABEL_MAX 63

/* The letters that people write in names and that have two cases. The rest of Unicode's tables is
 * left to the person who reads the message. */
static uint32_t lower(uint32_t c)
{
	if ((c >= 'A' && c <= 'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7) ||
	    (c >= 0x391 && c <= 0x3a9) || (c >= 0x410 && c <= 0x42f))
		return c + 32;
	if (c >= 0x400 && c <= 0x40f)
		return c + 80;
	if ((c >= 0x100 && c <= 0x137) || (c >= 0x14a && c <= 0x177))
		return c | 1;
	return c;
}

static uint32_t adapt(uint32_t delta, uint32_t count, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / 700 : delta / 2;
	delta += delta / count;
	for (; delta > 455; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

static char digit(uint32_t d)
{
	return (char)(d < 26 ? 'a' + d : '0' + d - 26);
}

struct label {
	char text[LABEL_MAX + 1];
	size_t len;
	bool full;
};

static void put(struct label *l, char c)
{
	if (l->len == LABEL_MAX)
		l->full = true;
	else
		l->text[l->len++] = c;
}

/* A variable-length integer of the standard. */
static void put_number(struct label *l, uint32_t q, uint32_t bias)
{
	for (uint32_t k = 36;; k += 36) {
		uint32_t t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;

		if (q < t)
			break;
		put(l, digit(t + (q - t) % (36 - t)));
		q = (q - t) / (36 - t);
	}
	put(l, digit(q));
}

static void encode(const uint32_t *codes, size_t n, struct label *l)
{
	uint32_t next = 128, delta = 0, bias = 72, basic = 0, done;

	for (const char *p = "xn--"; *p; p++)
		put(l, *p);
	for (size_t i = 0; i < n; i++)
		if (codes[i] < 128) {
			put(l, (char)codes[i]);
			basic++;
		}
	if (basic)
		put(l, '-');
	for (done = basic; done < n && !l->full; delta++, next++) {
		uint32_t least = UINT32_MAX;

		for (size_t i = 0; i < n; i++)
			if (codes[i] >= next && codes[i] < least)
				least = codes[i];
		delta += (least - next) * (done + 1); /* at most 0x10ffff * 64 */
		next = least;
		for (size_t i = 0; i < n; i++) {
			if (codes[i] < next)
				delta++;
			if (codes[i] != next)
				continue;
			put_number(l, delta, bias);
			bias = adapt(delta, done + 1, done == basic);
			delta = 0;
			done++;
		}
	}
}

static bool one_label(const char *text, size_t n, struct label *l)
{
	uint32_t codes[LABEL_MAX];
	size_t count = 0, len;
	bool ascii = true;

	for (size_t i = 0; i < n; i += len) {
		if (count == LABEL_MAX)
			return false;
		len = utf8_char(text + i, n - i, &codes[count]);
		if (len == 0 || utf8_is_hidden(codes[count]) || codes[count] <= ' ')
			return false;
		codes[count] = lower(codes[count]);
		ascii &= codes[count++] < 128;
	}
	if (!ascii)
		encode(codes, count, l);
	for (size_t i = 0; ascii && i < count; i++)
		put(l, (char)codes[i]);
	return !l->full;
}

bool punycode_name(const char *name, size_t n, char *into, size_t size)
{
	size_t used = 0;

	for (size_t at = 0, len; at <= n; at += len + 1) {
		struct label l = {0};
		const char *dot = memchr(name + at, '.', n - at);

		len = dot ? (size_t)(dot - name) - at : n - at;
		if (!one_label(name + at, len, &l) || used + l.len + 2 > size)
			return false;
		memcpy(into + used, l.text, l.len);
		used += l.len;
		into[used++] = dot ? '.' : '\0';
	}
	return true;
}
