#include "container/left.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "base/error.h"
#include "container/ping.h"
#include "json/read.h"

#define ANSWER_MAX ((size_t)2 << 20)

/* A name from an engine that may be anybody: hexadecimal digits or nothing. */
static bool is_id(const char *id)
{
	return strlen(id) >= 12 && strspn(id, "0123456789abcdef") >= 12;
}

/* WORD may leave out where the image comes from, and that it is the latest. */
static bool is_image(const char *image, const char *word)
{
	size_t n = strlen(image), len = strlen(word);
	const char *latest = ":latest";

	if (n > strlen(latest) && strcmp(image + n - strlen(latest), latest) == 0 &&
	    !strchr(word, ':'))
		n -= strlen(latest);
	return len > 0 && n >= len && memcmp(image + n - len, word, len) == 0 &&
	       (n == len || image[n - len - 1] == '/');
}

static bool is_own(const json_t *entry, const char *const *words)
{
	const char *image = json_string_value(json_object_get(entry, "Image"));

	for (; image && words && *words; words++)
		if (is_image(image, *words))
			return true;
	return false;
}

static void add(struct docker_left *left, const char *id, bool own)
{
	if (own && left->own_count < DOCKER_OWN_MAX) {
		memcpy(left->own[left->own_count++], id, 12);
		return;
	}
	if (left->count < DOCKER_LEFT_SHOWN)
		memcpy(left->ids[left->count], id, 12);
	left->count++;
}

int docker_left_read(const char *bytes, size_t n, const struct docker_line *line,
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

		if (id && is_id(id) && created >= line->since_seconds)
			add(&left, id, is_own(entry, line->words));
	}
	*ret_left = left;
	return 0;
}

int docker_left_find(const char *path, const struct docker_line *line, int64_t timeout_ms,
                     struct docker_left *ret_left, struct error *err)
{
	scoped(buffer_donep) struct buffer answer = {.max = ANSWER_MAX};
	int r = docker_request(path, "GET", "/containers/json?all=1", timeout_ms, &answer);

	if (r < 0)
		return error_sys(err, -r, "list of containers");
	return docker_left_read(buffer_str(&answer), answer.len, line, ret_left, err);
}

size_t docker_left_remove(const char *path, const struct docker_left *left, int64_t timeout_ms)
{
	size_t gone = 0;

	for (size_t i = 0; i < left->own_count; i++) {
		scoped(buffer_donep) struct buffer answer = {.max = ANSWER_MAX};
		char target[64];

		snprintf(target, sizeof(target), "/containers/%s?force=1&v=1", left->own[i]);
		/* 404 and 409: it goes by itself (--rm). */
		if (docker_request(path, "DELETE", target, timeout_ms, &answer) == 0 &&
		    answer.len > 12 &&
		    (answer.data[9] == '2' || memcmp(answer.data + 9, "404", 3) == 0 ||
		     memcmp(answer.data + 9, "409", 3) == 0))
			gone++;
	}
	return gone;
}
