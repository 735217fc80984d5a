#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include "base/buffer.h"
#include "output/keys.h"

static void expect(const char *name, bool application, const char *wanted)
{
	scoped(buffer_donep) struct buffer bytes = {0};

	assert_int_equal(keys_write(name, application, &bytes), 0);
	assert_string_equal(buffer_str(&bytes), wanted);
	assert_int_equal(bytes.len, strlen(wanted));
}

static void named_keys_send_what_a_terminal_sends(void **state)
{
	expect("Enter", false, "\r");
	expect("enter", false, "\r");
	expect("Escape", false, "\033");
	expect("Backspace", false, "\177");
	expect("Delete", false, "\033[3~");
	expect("F1", false, "\033OP");
	expect("F12", false, "\033[24~");
	expect("PageDown", true, "\033[6~");
}

static void cursor_keys_have_two_forms(void **state)
{
	expect("Up", false, "\033[A");
	expect("Up", true, "\033OA");
	expect("End", false, "\033[F");
	expect("End", true, "\033OF");
}

static void modifiers_change_the_bytes(void **state)
{
	expect("C-c", false, "\003");
	expect("C-C", false, "\003");
	expect("C-[", false, "\033");
	expect("C-?", false, "\177");
	expect("M-x", false, "\033x");
	expect("M-C-x", false, "\033\030");
	expect("S-Tab", false, "\033[Z");
	expect("C-Up", true, "\033[1;5A");
	expect("C-S-Right", false, "\033[1;6C");
	expect("M-Delete", false, "\033[3;3~");
	expect("C-F5", false, "\033[15;5~");
}

static void one_character_is_its_own_key(void **state)
{
	expect("a", false, "a");
	expect("C", false, "C");
	expect("-", false, "-");
	expect("\xc3\xa9", false, "\xc3\xa9");
	expect("\xe6\x97\xa5", false, "\xe6\x97\xa5");
}

static void control_and_space_is_a_zero_byte(void **state)
{
	scoped(buffer_donep) struct buffer bytes = {0};

	assert_int_equal(keys_write("C-Space", false, &bytes), 0);
	assert_int_equal(bytes.len, 1);
	assert_int_equal(bytes.data[0], 0);
}

static void other_names_are_refused_and_write_nothing(void **state)
{
	static const char *const names[] = {"",     "Hyper", "F13",     "F0",  "C-",  "C-1",
	                                    "S-a",  "X-a",   "C-Enter", "ab",  "Upp", "C-\xc3\xa9",
	                                    "\xff", "C-Tab", "M-",      "M-C-"};
	scoped(buffer_donep) struct buffer bytes = {0};

	for (size_t i = 0; i < array_size(names); i++) {
		if (keys_write(names[i], false, &bytes) != -EINVAL)
			fail_msg("'%s' is a key", names[i]);
		assert_int_equal(bytes.len, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named_keys_send_what_a_terminal_sends),
		cmocka_unit_test(cursor_keys_have_two_forms),
		cmocka_unit_test(modifiers_change_the_bytes),
		cmocka_unit_test(one_character_is_its_own_key),
		cmocka_unit_test(control_and_space_is_a_zero_byte),
		cmocka_unit_test(other_names_are_refused_and_write_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
