#include "base/test-support.h"

#include "base/hex.h"

static void bytes_come_back(void **state)
{
	unsigned char bytes[256], again[256];
	char text[2 * sizeof(bytes) + 1];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)i;
	hex_write(bytes, sizeof(bytes), text);
	assert_int_equal(strlen(text), 2 * sizeof(bytes));
	assert_memory_equal(text, "000102", 6);
	assert_string_equal(text + 2 * 253, "fdfeff");
	assert_true(hex_read(text, again, sizeof(again)));
	assert_memory_equal(again, bytes, sizeof(bytes));
}

static void only_lower_case_digits_are_read(void **state)
{
	unsigned char bytes[4];

	assert_true(hex_read("00ff10ab", bytes, 4));
	assert_false(hex_read("00FF10ab", bytes, 4));
	assert_false(hex_read("00ff10a", bytes, 4));
	assert_false(hex_read("00ff10", bytes, 4));
	assert_false(hex_read("00ff10ag", bytes, 4));
	assert_false(hex_read("00ff1\xff"
	                      "ab",
	                      bytes, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_back),
		cmocka_unit_test(only_lower_case_digits_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
