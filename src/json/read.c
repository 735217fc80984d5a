#include "json/read.h"

#include <errno.h>
#include "base/error.h"

#define EXACT_MAX 9007199254740992.0 /* beyond it not every whole number is a double */

/* The library's words name its own flags. */
static const char *words_of(const json_error_t *e)
{
	return json_error_code(e) == json_error_null_character ? "U+0000 in a string is not taken"
	                                                       : e->text;
}

int json_read(const char *bytes, size_t n, size_t max, const char *what, json_t **ret_value,
              struct error *err)
{
	json_error_t e;
	json_t *value;

	if (n > max)
		return error_set(err, ERROR_LIMIT, E2BIG, "%s: longer than %zu bytes", what, max);
	value = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &e);
	if (!value)
		return error_set(err, ERROR_INPUT, EINVAL, "%s: line %d, column %d: %s", what,
		                 e.line, e.column, words_of(&e));
	*ret_value = value;
	return 0;
}

bool json_whole(const json_t *value, json_int_t *ret_number)
{
	double d = json_real_value(value);

	if (json_is_integer(value)) {
		*ret_number = json_integer_value(value);
		return true;
	}
	if (!json_is_real(value) || d > EXACT_MAX || d < -EXACT_MAX)
		return false;
	*ret_number = (json_int_t)d;
	return (double)*ret_number == d;
}
