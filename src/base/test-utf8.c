#include "base/test-support.h"

#include <string.h>
#include "base/cleanup.h"
#include "base/utf8.h"

/* The bytes of one code point, written straight from the table of the standard; 0: not one. */
static size_t encode(uint32_t code, unsigned char into[4])
{
	if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	if (code < 0x80) {
		into[0] = (unsigned char)code;
		return 1;
	}
	if (code < 0x800) {
		into[0] = (unsigned char)(0xc0 | code >> 6);
		into[1] = (unsigned char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		into[0] = (unsigned char)(0xe0 | code >> 12);
		into[1] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
		into[2] = (unsigned char)(0x80 | (code & 0x3f));
		return 3;
	}
	into[0] = (unsigned char)(0xf0 | code >> 18);
	into[1] = (unsigned char)(0x80 | (code >> 12 & 0x3f));
	into[2] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
	into[3] = (unsigned char)(0x80 | (code & 0x3f));
	return 4;
}

/* The reference: decode without any care, encode again, and see whether the bytes come back. */
static size_t reference_char(const unsigned char *b, size_t n, uint32_t *ret_code)
{
	static const unsigned char lead_mask[] = {0, 0xff, 0x1f, 0x0f, 0x07};
	unsigned char again[4];

	for (size_t len = 1; len <= 4 && len <= n; len++) {
		uint32_t code = b[0] & lead_mask[len];

		for (size_t i = 1; i < len; i++)
			code = code << 6 | (b[i] & 0x3f);
		if (encode(code, again) == len && memcmp(again, b, len) == 0) {
			*ret_code = code;
			return len;
		}
	}
	return 0;
}

/* Whether some bytes behind these N make a character: N is 1 to 3, so few edges are to be tried. */
static int reference_is_cut(const unsigned char *b, size_t n)
{
	static const unsigned char edges[] = {0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf};
	unsigned char full[4] = {0};
	uint32_t code;

	if (n == 0 || n > 3 || reference_char(b, n, &code) > 0)
		return 0;
	memcpy(full, b, n);
	for (size_t i = 0; i < array_size(edges); i++) {
		memset(full + n, 0x80, 4 - n);
		full[n] = edges[i];
		if (reference_char(full, 4, &code) > n)
			return 1;
	}
	return 0;
}

static size_t reference_bad(const unsigned char *b, size_t n)
{
	for (size_t len = n < 3 ? n : 3; len > 1; len--)
		if (reference_is_cut(b, len))
			return len;
	return 1;
}

static void expect_like_reference(const unsigned char *bytes, size_t n)
{
	const char *text = (const char *)bytes;
	uint32_t code = 0, expected_code = 0;
	size_t expected = reference_char(bytes, n, &expected_code);

	if (utf8_char(text, n, &code) != expected || code != expected_code)
		fail_msg("utf8_char of %02x %02x %02x %02x (%zu)", bytes[0], bytes[1], bytes[2],
		         bytes[3], n);
	if (utf8_is_cut(text, n) != reference_is_cut(bytes, n))
		fail_msg("utf8_is_cut of %02x %02x %02x %02x (%zu)", bytes[0], bytes[1], bytes[2],
		         bytes[3], n);
	if (expected == 0 && utf8_bad(text, n) != reference_bad(bytes, n))
		fail_msg("utf8_bad of %02x %02x %02x %02x (%zu)", bytes[0], bytes[1], bytes[2],
		         bytes[3], n);
}

static void every_code_point_is_a_character_of_its_length(void **state)
{
	unsigned char bytes[4];
	uint32_t code;

	for (uint32_t c = 0; c <= 0x10ffff; c++) {
		size_t n = encode(c, bytes);

		if (n == 0)
			continue;
		if (utf8_char((const char *)bytes, n, &code) != n || code != c)
			fail_msg("U+%04X", c);
		if (utf8_char((const char *)bytes, n - 1, NULL) != 0)
			fail_msg("U+%04X cut short", c);
	}
}

static void all_pairs_and_the_edges_of_longer_ones_are_as_the_standard_says(void **state)
{
	static const unsigned char edges[] = {0x7f, 0x80, 0xbf, 0xc0};
	unsigned char b[4] = {0};

	for (int pair = 0; pair < 65536; pair++) {
		b[0] = (unsigned char)(pair >> 8);
		b[1] = (unsigned char)(pair & 0xff);
		expect_like_reference(b, 1);
		expect_like_reference(b, 2);
		for (size_t i = 0; b[0] >= 0xe0 && i < array_size(edges) * array_size(edges); i++) {
			b[2] = edges[i / array_size(edges)];
			b[3] = edges[i % array_size(edges)];
			expect_like_reference(b, 3);
			expect_like_reference(b, 4);
		}
	}
}

static void what_the_standard_forbids_is_invalid(void **state)
{
	static const char *const bad[] = {"\xc0\x80",         /* NUL, overlong */
	                                  "\xc1\xbf",         /* DEL, overlong */
	                                  "\xe0\x9f\xbf",     /* overlong */
	                                  "\xed\xa0\x80",     /* a surrogate */
	                                  "\xf0\x8f\xbf\xbf", /* overlong */
	                                  "\xf4\x90\x80\x80", /* U+110000 */
	                                  "\xf5\x80\x80\x80", "\xfe", "\xff", "\x80"};

	for (size_t i = 0; i < array_size(bad); i++) {
		assert_int_equal(utf8_char(bad[i], strlen(bad[i]), NULL), 0);
		assert_int_equal(utf8_bad(bad[i], strlen(bad[i])), 1);
		assert_int_equal(utf8_valid_prefix(bad[i], strlen(bad[i])), 0);
	}
}

/* Table 3-8 of the Unicode standard: U+FFFD for each maximal part. */
static void a_bad_part_is_as_long_as_it_could_have_begun(void **state)
{
	static const char text[] = "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41";
	static const size_t lengths[] = {2, 1, 3, 2};
	size_t at = 0;

	for (size_t i = 0; i < array_size(lengths); i++) {
		assert_int_equal(utf8_bad(text + at, sizeof(text) - 1 - at), lengths[i]);
		at += lengths[i];
	}
	assert_int_equal(utf8_char(text + at, 1, NULL), 1);
}

static void nothing_is_neither_a_character_nor_cut(void **state)
{
	assert_int_equal(utf8_char("", 0, NULL), 0);
	assert_false(utf8_is_cut("", 0));
	assert_int_equal(utf8_valid_prefix("", 0), 0);
}

static void the_valid_prefix_ends_at_the_first_bad_byte(void **state)
{
	assert_int_equal(utf8_valid_prefix("abc", 3), 3);
	assert_int_equal(utf8_valid_prefix("a\0c", 3), 3);
	assert_int_equal(utf8_valid_prefix("\xc3\xa4\xe2\x82\xac", 5), 5);
	assert_int_equal(utf8_valid_prefix("\xc3\xa4\xe2\x82\xac", 4), 2);
	assert_int_equal(utf8_valid_prefix("ab\xff"
	                                   "cd",
	                                   5),
	                 2);
	assert_int_equal(utf8_valid_prefix(UTF8_REPLACEMENT, 3), 3);
}

static void what_a_person_would_not_see_is_hidden(void **state)
{
	static const uint32_t hidden[] = {0x00,   0x1b,    0x7f,    0x9b,   0xa0,   0xad,
	                                  0x61c,  0x200b,  0x200e,  0x2028, 0x202a, 0x202e,
	                                  0x2066, 0x2069,  0x3164,  0xfe0f, 0xfeff, 0xe0041,
	                                  0xfff9, 0x1d173, 0x10ffff};
	static const uint32_t seen[] = {' ',    'a',    '~',    0xa1,   0xe9,
	                                0x2010, 0x2030, 0x20ac, 0x3042, 0x1f600};

	for (size_t i = 0; i < array_size(hidden); i++)
		assert_true(utf8_is_hidden(hidden[i]));
	for (size_t i = 0; i < array_size(seen); i++)
		assert_false(utf8_is_hidden(seen[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_point_is_a_character_of_its_length),
		cmocka_unit_test(all_pairs_and_the_edges_of_longer_ones_are_as_the_standard_says),
		cmocka_unit_test(what_the_standard_forbids_is_invalid),
		cmocka_unit_test(a_bad_part_is_as_long_as_it_could_have_begun),
		cmocka_unit_test(nothing_is_neither_a_character_nor_cut),
		cmocka_unit_test(the_valid_prefix_ends_at_the_first_bad_byte),
		cmocka_unit_test(what_a_person_would_not_see_is_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
