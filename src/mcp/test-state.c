#include "base/test-support.h"

#include <string.h>
#include "base/cleanup.h"
#include "mcp/state.h"

static const uint8_t key[32] = "a key for tests, of thirty-two b", other[32] = "another";

static struct state make(const char *call)
{
	struct state s = {.expires_ms = 1000, .approval = "ap-0123456789"};

	digest_make(call, strlen(call), &s.call);
	return s;
}

static void what_was_written_is_read_again(void **state)
{
	struct state s = make("call"), back;
	char text[STATE_TEXT_MAX];

	assert_int_equal(state_write(&s, key, text), 0);
	assert_int_equal(state_read(text, key, &s.call, 999, &back), STATE_GOOD);
	assert_string_equal(back.approval, "ap-0123456789");
	assert_int_equal(back.expires_ms, 1000);
	assert_memory_equal(back.nonce, s.nonce, sizeof(s.nonce));
	assert_int_equal(state_read(text, key, &s.call, 1000, &back), STATE_EXPIRED);
}

static void no_two_are_the_same(void **state)
{
	struct state s = make("call");
	char a[STATE_TEXT_MAX], b[STATE_TEXT_MAX];

	assert_int_equal(state_write(&s, key, a), 0);
	assert_int_equal(state_write(&s, key, b), 0);
	assert_string_not_equal(a, b);
}

static void another_key_or_call_is_refused(void **state)
{
	struct state s = make("call"), t = make("another call"), back;
	char text[STATE_TEXT_MAX];

	assert_int_equal(state_write(&s, key, text), 0);
	assert_int_equal(state_read(text, other, &s.call, 0, &back), STATE_BAD);
	assert_int_equal(state_read(text, key, &t.call, 0, &back), STATE_BAD);
}

static void every_changed_character_is_refused(void **state)
{
	struct state s = make("call"), back;
	char text[STATE_TEXT_MAX + 1];
	size_t n;

	assert_int_equal(state_write(&s, key, text), 0);
	n = strlen(text);
	for (size_t i = 0; i < n; i++) {
		char before = text[i];

		for (const char *c = "AZaz09-_+/= \x80"; *c; c++) {
			if (*c == before)
				continue;
			text[i] = *c;
			assert_int_equal(state_read(text, key, &s.call, 0, &back), STATE_BAD);
		}
		text[i] = before;
	}
	text[n] = 'A';
	text[n + 1] = '\0';
	assert_int_equal(state_read(text, key, &s.call, 0, &back), STATE_BAD);
	text[n - 1] = '\0';
	assert_int_equal(state_read(text, key, &s.call, 0, &back), STATE_BAD);
	assert_int_equal(state_read("", key, &s.call, 0, &back), STATE_BAD);
}

static void each_is_used_once(void **state)
{
	struct nonces *used = nonces_new();
	struct state s = make("call"), t = make("call");
	char text[STATE_TEXT_MAX];

	assert_non_null(used);
	assert_int_equal(state_write(&s, key, text), 0);
	assert_int_equal(state_write(&t, key, text), 0);
	assert_true(nonces_use(used, &s, 0));
	assert_false(nonces_use(used, &s, 0));
	assert_true(nonces_use(used, &t, 0));
	assert_false(nonces_use(used, &s, 999));
	nonces_free(used);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read_again),
		cmocka_unit_test(no_two_are_the_same),
		cmocka_unit_test(another_key_or_call_is_refused),
		cmocka_unit_test(every_changed_character_is_refused),
		cmocka_unit_test(each_is_used_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
