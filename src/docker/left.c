#include "docker/left.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "base/buffer.h"
#include "base/error.h"
#include "docker/ping.h"
#include "json/read.h"

#define ANSWER_MAX ((size_t)2 << 20)

/* A name from an engine that may be anybody: hexadecimal digits or nothing. */
static bool is_id(const char *id)
{
	return strlen(id) >= 12 && strspn(id, "0123456789abcdef") >= 12;
}

int docker_left_read(const char *bytes, size_t n, int64_t since_seconds,
                     struct docker_left *ret_left, struct error *err)
{
	const char *body = memmem(bytes, n, "\r\n\r\n", 4);
	scoped(json_decrefp) json_t *list = NULL;
	struct docker_left left = {0};
	json_t *entry;
	size_t i;
	int r;

	if (n < 12 || memcmp(bytes, "HTTP/1.", 7) != 0 || memcmp(bytes + 9, "200", 3) != 0 || !body)
		return error_set(err, ERROR_INPUT, EPROTO, "the engine gives no list");
	body += 4;
	r = json_read(body, n - (size_t)(body - bytes), ANSWER_MAX, "list of containers", &list,
	              err);
	if (r < 0)
		return r;
	json_array_foreach (list, i, entry) {
		const char *id = json_string_value(json_object_get(entry, "Id"));
		json_int_t created = json_integer_value(json_object_get(entry, "Created"));

		if (!id || !is_id(id) || created < since_seconds)
			continue;
		if (left.count < DOCKER_LEFT_SHOWN)
			memcpy(left.ids[left.count], id, 12);
		left.count++;
	}
	*ret_left = left;
	return 0;
}

int docker_left_find(const char *path, int64_t since_seconds, int64_t timeout_ms,
                     struct docker_left *ret_left, struct error *err)
{
	scoped(buffer_donep) struct buffer answer = {.max = ANSWER_MAX};
	int r = docker_get(path, "/containers/json?all=1", timeout_ms, &answer);

	if (r < 0)
		return error_sys(err, -r, "list of containers");
	return docker_left_read(buffer_str(&answer), answer.len, since_seconds, ret_left, err);
}
