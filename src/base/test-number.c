#include "base/test-support.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/number.h"

static void whole_numbers_are_read_to_the_largest(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {{"0", 0},
	            {"7", 7},
	            {"007", 7},
	            {"4294967296", 4294967296},
	            {"18446744073709551615", UINT64_MAX}};
	uint64_t value;

	for (size_t i = 0; i < array_size(good); i++) {
		assert_int_equal(number_parse_u64(good[i].text, &value), 0);
		assert_int_equal(value, good[i].value);
	}
}

static void anything_but_digits_is_refused_and_nothing_is_set(void **state)
{
	static const char *const bad[] = {"",     " 1",  "1 ",  "-1",  "+1",
	                                  "0x10", "1e3", "1.0", "one", "1\n"};
	uint64_t value = 42;

	for (size_t i = 0; i < array_size(bad); i++)
		assert_int_equal(number_parse_u64(bad[i], &value), -EINVAL);
	assert_int_equal(number_parse_u64("18446744073709551616", &value), -ERANGE);
	assert_int_equal(number_parse_u64("99999999999999999999999", &value), -ERANGE);
	assert_int_equal(value, 42);
}

static void what_is_printed_is_read_back(void **state)
{
	uint64_t seed = 3, value, n;
	char text[32];

	for (int i = 0; i < 10000; i++) {
		n = test_random(&seed) >> (i % 64);
		snprintf(text, sizeof(text), "%" PRIu64, n);
		assert_int_equal(number_parse_u64(text, &value), 0);
		assert_int_equal(value, n);
	}
}

static void durations_have_units(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} good[] = {{"500ms", 500},     {"5s", 5000},    {"2m", 120000},
	            {"2min", 120000},   {"1h", 3600000}, {"7d", 604800000},
	            {"0.5d", 43200000}, {"1.5s", 1500},  {"0.25m", 15000},
	            {"0", 0},           {"0s", 0},       {"1.999s", 1999},
	            {"1.9999s", 1999},  {"1.5ms", 1},    {"9223372036854775807ms", INT64_MAX}};
	int64_t ms;

	for (size_t i = 0; i < array_size(good); i++) {
		assert_int_equal(number_parse_duration_ms(good[i].text, &ms), 0);
		assert_int_equal(ms, good[i].ms);
	}
}

static void a_duration_without_or_with_a_wrong_unit_is_refused(void **state)
{
	static const char *const bad[] = {"",    "5",  "1.5", "s",   "-1s",  "+1s",    "5 s", "5S",
	                                  "5ss", "5w", ".5s", "5.s", "1e3s", "1.5.5s", "5s ", "ms"};
	int64_t ms = 42;

	for (size_t i = 0; i < array_size(bad); i++)
		assert_int_equal(number_parse_duration_ms(bad[i], &ms), -EINVAL);
	assert_int_equal(ms, 42);
}

static void a_duration_past_the_range_is_refused(void **state)
{
	static const char *const bad[] = {"9223372036854775808ms",  "18446744073709551615h",
	                                  "18446744073709551616ms", "9223372036854775807s",
	                                  "2562047788016h",         "106751991168d"};
	int64_t ms = 42;

	for (size_t i = 0; i < array_size(bad); i++)
		assert_int_equal(number_parse_duration_ms(bad[i], &ms), -ERANGE);
	assert_int_equal(ms, 42);
}

static void sizes_have_optional_binary_units(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {{"0", 0},
	            {"4096", 4096},
	            {"64K", 65536},
	            {"16M", 16 << 20},
	            {"2G", (uint64_t)2 << 30},
	            {"3KiB", 3072},
	            {"1MiB", 1 << 20},
	            {"1GiB", 1 << 30},
	            {"16777215T", (uint64_t)16777215 << 40},
	            {"18446744073709551615", UINT64_MAX}};
	static const char *const bad[] = {"",    "K",     "1 K", "-1K",  "1KB", "1k",
	                                  "1Ki", "1KiBx", "1X",  "1.5M", "1KK"};
	static const char *const large[] = {"16777216T", "18014398509481984K",
	                                    "18446744073709551616"};
	uint64_t bytes;

	for (size_t i = 0; i < array_size(good); i++) {
		assert_int_equal(number_parse_size(good[i].text, &bytes), 0);
		assert_int_equal(bytes, good[i].bytes);
	}
	bytes = 42;
	for (size_t i = 0; i < array_size(bad); i++)
		assert_int_equal(number_parse_size(bad[i], &bytes), -EINVAL);
	for (size_t i = 0; i < array_size(large); i++)
		assert_int_equal(number_parse_size(large[i], &bytes), -ERANGE);
	assert_int_equal(bytes, 42);
}

static void durations_are_written_for_people(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} cases[] = {{0, "0ms"},         {20, "20ms"},        {999, "999ms"},
	             {1000, "1s"},       {1500, "1.5s"},      {59999, "59.9s"},
	             {60000, "1m 0s"},   {123456, "2m 3s"},   {3599999, "59m 59s"},
	             {3600000, "1h 0m"}, {5400000, "1h 30m"}, {90061000, "25h 1m"}};
	char text[32];

	for (size_t i = 0; i < array_size(cases); i++) {
		number_format_duration(cases[i].ms, text);
		assert_string_equal(text, cases[i].text);
	}
	number_format_duration(INT64_MAX, text);
	number_format_duration(INT64_MIN, text);
	assert_true(strlen(text) < 32);
}

static void sizes_are_written_for_people(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {{0, "0 bytes"},          {1023, "1023 bytes"}, {1024, "1.0 KiB"},
	             {1536, "1.5 KiB"},       {2047, "1.9 KiB"},    {2048, "2.0 KiB"},
	             {1048575, "1023.9 KiB"}, {1048576, "1.0 MiB"}, {(uint64_t)5 << 29, "2.5 GiB"},
	             {UINT64_MAX, "15.9 EiB"}};
	char text[32];

	for (size_t i = 0; i < array_size(cases); i++) {
		number_format_bytes(cases[i].bytes, text);
		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_numbers_are_read_to_the_largest),
		cmocka_unit_test(anything_but_digits_is_refused_and_nothing_is_set),
		cmocka_unit_test(what_is_printed_is_read_back),
		cmocka_unit_test(durations_have_units),
		cmocka_unit_test(a_duration_without_or_with_a_wrong_unit_is_refused),
		cmocka_unit_test(a_duration_past_the_range_is_refused),
		cmocka_unit_test(sizes_have_optional_binary_units),
		cmocka_unit_test(durations_are_written_for_people),
		cmocka_unit_test(sizes_are_written_for_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
