#include "json/read.h"

#include <errno.h>
#include "base/error.h"

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
		                 e.line, e.column, e.text);
	*ret_value = value;
	return 0;
}
