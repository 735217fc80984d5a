#include "base/test-support.h"

#include <sodium.h>
#include "base/base64.h"
#include "base/buffer.h"

static void all_lengths_come_back(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};
	uint64_t seed = 64;
	char bytes[65];
	unsigned char back[65];
	size_t len;

	for (size_t n = 0; n < sizeof(bytes); n++) {
		for (size_t i = 0; i < n; i++)
			bytes[i] = (char)test_random(&seed);
		buffer_clear(&text);
		base64_encode(bytes, n, &text);
		assert_int_equal(text.len, (n + 2) / 3 * 4);
		assert_int_equal(sodium_base642bin(back, sizeof(back), buffer_str(&text), text.len,
		                                   NULL, &len, NULL,
		                                   sodium_base64_VARIANT_ORIGINAL),
		                 0);
		assert_int_equal(len, n);
		assert_memory_equal(back, bytes, n);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_lengths_come_back),
		cmocka_unit_test(the_text_is_that_of_everybody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
