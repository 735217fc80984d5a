#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "output/binary.h"

static void expect_bytes(const char *bytes, size_t n, const char *wanted)
{
	const char *type = "untouched";

	if (wanted) {
		assert_true(binary_detect(bytes, n, &type));
		assert_string_equal(type, wanted);
	} else {
		assert_false(binary_detect(bytes, n, &type));
		assert_string_equal(type, "untouched");
	}
}

#define expect_type(bytes, wanted) expect_bytes((bytes), sizeof(bytes) - 1, (wanted))
#define expect_text(bytes)         expect_bytes((bytes), sizeof(bytes) - 1, NULL)

static void text_is_text(void **state)
{
	expect_text("");
	expect_text("a");
	expect_text("hello\tworld\r\n");
	expect_text("\xef\xbb\xbfwith a mark");
	expect_text("\xd0\xbf\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82 \xf0\x9f\x98\x80");
	expect_text("\x1b[31m\x1b[1mX\x1b[0m\x1b[0m");
	expect_text("\a\b\f\v\x1b");
	expect_text("caf\xe9 cr\xe8me\n"); /* Latin-1 is repaired, not hidden */
	expect_text("one \x01 control");
}

static void words_that_begin_like_a_file_are_text(void **state)
{
	expect_text("BM is short");
	expect_text("MZ and one stray byte \xff here");
	expect_text("GIF89a is a format");
	expect_text("%PDF-1.4 is a version");
	expect_text("PKZIP");
	expect_text("ID3 tags \x01 in a log");
}

static void nul_bytes_are_binary(void **state)
{
	char late[BINARY_SAMPLE + 1];

	expect_type("\0", "data");
	expect_type("a\0b\0c\n\0longer name\0", "text with NUL bytes");
	expect_type("ab\0\0\1\2", "data");
	memset(late, 'x', sizeof(late));
	late[BINARY_SAMPLE - 1] = 0;
	expect_bytes(late, sizeof(late), "text with NUL bytes");
	late[BINARY_SAMPLE - 1] = 'x';
	late[BINARY_SAMPLE] = 0;
	expect_bytes(late, sizeof(late), NULL); /* behind the sample */
}

static void many_odd_bytes_are_binary(void **state)
{
	expect_type("\x01\x02\x03\x04", "data");
	expect_type("\xff\xfa\xfc", "text that is not UTF-8");
	expect_type("ab\x01\x02\xff\xf9xyz", "data");
	expect_type("\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0", "text that is not UTF-8");
}

static void a_character_cut_by_the_sample_is_no_sign(void **state)
{
	char text[BINARY_SAMPLE + 8];

	for (size_t shift = 0; shift < 4; shift++) {
		memset(text, 'x', sizeof(text));
		for (size_t i = shift; i + 4 <= sizeof(text); i += 4)
			memcpy(text + i, "\xf0\x9f\x98\x80", 4);
		expect_bytes(text, sizeof(text) - 4, NULL);
	}
	expect_text("\xf0\x9f");
}

static void utf_16_is_named(void **state)
{
	expect_type("\xff\xfeh\0i\0", "UTF-16 text, little-endian");
	expect_type("\xfe\xff\0h\0i", "UTF-16 text, big-endian");
	expect_type("\xff\xfe\0\0h\0\0\0", "UTF-32 text, little-endian");
	expect_type("\0\0\xfe\xff\0\0\0h", "UTF-32 text, big-endian");
	expect_type("h\0e\0l\0l\0o\0", "UTF-16 text, little-endian");
	expect_type("\0h\0e\0l\0l\0o", "UTF-16 text, big-endian");
}

static void known_beginnings_are_named(void **state)
{
	char tar[512] = "file.txt";

	expect_type("\x7f"
	            "ELF\2\1\1",
	            "ELF file");
	expect_type("\x89PNG\r\n\x1a\n", "PNG image");
	expect_type("\xff\xd8\xff\xe0JFIF", "JPEG image");
	expect_type("GIF89a\1\0\1\0", "GIF image");
	expect_type("%PDF-1.5\n%\xe2\xe3\xcf\xd3\n", "PDF document");
	expect_type("\x1f\x8b\x08", "gzip data");
	expect_type("PK\3\4", "ZIP archive");
	expect_type("\xfd"
	            "7zXZ\0",
	            "xz data");
	expect_type("\x28\xb5\x2f\xfd", "Zstandard data");
	expect_type("BZh91AY&SY\xd1\xb9\0", "bzip2 data");
	expect_type("SQLite format 3\0", "SQLite database");
	expect_type("\0asm\1\0\0\0", "WebAssembly module");
	expect_type("\xca\xfe\xba\xbe\0\0\0\x34", "Java class or Mach-O universal file");
	expect_type("\0\0\0\x20"
	            "ftypisom",
	            "MP4 video");
	expect_type("OggS\0\2", "Ogg media");
	expect_type("RIFF\x10\0\0\0WEBP", "WebP image");
	expect_type("RIFF\x10\0\0\0WAVE", "WAV audio");
	memcpy(tar + 257, "ustar", 5);
	expect_bytes(tar, sizeof(tar), "tar archive");
	expect_bytes(tar, 261, "data"); /* too short for the mark */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_text),
		cmocka_unit_test(words_that_begin_like_a_file_are_text),
		cmocka_unit_test(nul_bytes_are_binary),
		cmocka_unit_test(many_odd_bytes_are_binary),
		cmocka_unit_test(a_character_cut_by_the_sample_is_no_sign),
		cmocka_unit_test(utf_16_is_named),
		cmocka_unit_test(known_beginnings_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
