#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include "base/base64.h"
#include "base/buffer.h"

static void all_lengths_come_back(void **state)
{
	scoped(buffer_donep) struct buffer text = {0}, back = {0};
	uint64_t seed = 64;
	char bytes[65];

	for (size_t n = 0; n < sizeof(bytes); n++) {
		for (size_t i = 0; i < n; i++)
			bytes[i] = (char)test_random(&seed);
		buffer_clear(&text);
		buffer_clear(&back);
		base64_encode(bytes, n, &text);
		assert_int_equal(text.len, (n + 2) / 3 * 4);
		assert_int_equal(base64_decode(buffer_str(&text), text.len, &back), 0);
		assert_int_equal(back.len, n);
		assert_memory_equal(buffer_str(&back), bytes, n);
	}
}

static void the_text_is_that_of_everybody(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};

	base64_encode("foobar!?>", 9, &text);
	assert_string_equal(text.data, "Zm9vYmFyIT8+");
	buffer_clear(&text);
	base64_encode("fo", 2, &text);
	assert_string_equal(text.data, "Zm8=");
}

static void other_spellings_are_refused(void **state)
{
	static const char *const bad[] = {"Zm9",  "Zm8",  "Zm8==", "Zm=8",  "=m8=", "Zm9=",
	                                  "Zh==", "Z===", "====",  "Zm8\n", "Zm-_", " Zm8"};
	scoped(buffer_donep) struct buffer back = {0};

	for (size_t i = 0; i < array_size(bad); i++)
		assert_int_equal(base64_decode(bad[i], strlen(bad[i]), &back), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_lengths_come_back),
		cmocka_unit_test(the_text_is_that_of_everybody),
		cmocka_unit_test(other_spellings_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
