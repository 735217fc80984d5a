/*
 * What crosses the border: structs of any age come in, words of a failure go out.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <nacre.h>
#include "api/inside.h"
#include "base/arena.h"
#include "base/error.h"

#define SIZE_LIMIT 65536 /* a struct beyond this is a size that nobody has set */

_Static_assert((int)NACRE_ERROR_SYSTEM == (int)ERROR_SYSTEM &&
                       (int)NACRE_ERROR_INPUT == (int)ERROR_INPUT &&
                       (int)NACRE_ERROR_LIMIT == (int)ERROR_LIMIT &&
                       (int)NACRE_ERROR_UNSUPPORTED == (int)ERROR_UNSUPPORTED,
               "kinds of errors have the same numbers inside and outside");

int api_take(void *into, size_t size, size_t oldest, const void *given, struct error *err)
{
	const char *bytes = given;
	size_t theirs;

	memcpy(&theirs, given, sizeof(theirs));
	if (theirs < oldest || theirs > SIZE_LIMIT)
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "a struct has the size %zu: initialise it with its _INIT", theirs);
	for (size_t i = size; i < theirs; i++)
		if (bytes[i])
			return error_set(err, ERROR_UNSUPPORTED, E2BIG,
			                 "a struct has members that libnacre %s does not know",
			                 NACRE_VERSION);
	memset(into, 0, size);
	memcpy(into, given, theirs < size ? theirs : size);
	return 0;
}

int api_fail(struct nacre_error *to, int code, const struct error *err)
{
	if (!to)
		return code;
	*to = (struct nacre_error){.kind = (int32_t)err->kind, .code = code};
	snprintf(to->text, sizeof(to->text), "%s",
	         err->text[0] ? err->text : strerrordesc_np(-code));
	return code;
}

const char *const *api_copy_list(struct arena *arena, const char *const *list)
{
	const char **copy;
	size_t n = 0;

	while (list && list[n])
		n++;
	copy = arena_new_array(arena, const char *, n + 1);
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = arena_strdup(arena, list[i]);
		if (!copy[i])
			return NULL;
	}
	return copy;
}

static const struct {
	enum output_mode mode;
	bool given;
} modes[] = {
	[NACRE_OUTPUT_PROFILE] = {OUTPUT_SEPARATE, false},
	[NACRE_OUTPUT_SEPARATE] = {OUTPUT_SEPARATE, true},
	[NACRE_OUTPUT_MERGED] = {OUTPUT_MERGED, true},
	[NACRE_OUTPUT_STDOUT] = {OUTPUT_STDOUT, true},
	[NACRE_OUTPUT_STDERR] = {OUTPUT_STDERR, true},
};

static int check(const struct nacre_request *rq, struct error *err)
{
	if (!rq->command == !rq->argv)
		return error_set(err, ERROR_INPUT, EINVAL, "command or argv is wanted");
	if (rq->argv && !rq->argv[0])
		return error_set(err, ERROR_INPUT, EINVAL, "argv is empty");
	if (rq->output_mode >= array_size(modes))
		return error_set(err, ERROR_INPUT, EINVAL, "there is no output mode %u",
		                 rq->output_mode);
	if (rq->flags & ~(uint32_t)(NACRE_BACKGROUND | NACRE_FORCE | NACRE_ASK) || rq->reserved)
		return error_set(err, ERROR_UNSUPPORTED, EINVAL,
		                 "a flag that libnacre %s does not know", NACRE_VERSION);
	if (!rq->rows != !rq->cols || rq->rows > 1000 || rq->cols > 1000)
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "rows and cols are both 0, or from 1 to 1000");
	if (rq->timeout_ms < 0 || rq->idle_timeout_ms < 0 || rq->approval_timeout_ms < 0)
		return error_set(err, ERROR_INPUT, EINVAL, "a time is negative");
	if (rq->input_bytes && !rq->input)
		return error_set(err, ERROR_INPUT, EINVAL, "input_bytes without input");
	return 0;
}

/* Copies the strings of a request that goes on when the call has returned. */
static int keep(struct arena *arena, struct request *rq)
{
	const char **texts[] = {&rq->command, &rq->workspace,   &rq->cwd,
	                        &rq->session, &rq->description, &rq->principal};

	for (size_t i = 0; i < array_size(texts); i++) {
		if (!*texts[i])
			continue;
		*texts[i] = arena_strdup(arena, *texts[i]);
		if (!*texts[i])
			return -ENOMEM;
	}
	if (rq->argv && !(rq->argv = api_copy_list(arena, rq->argv)))
		return -ENOMEM;
	if (rq->env && !(rq->env = api_copy_list(arena, rq->env)))
		return -ENOMEM;
	return 0;
}

int api_read_request(const struct nacre_context *c, const struct nacre_request *given,
                     struct arena *arena, struct request *ret_request, struct error *err)
{
	struct nacre_request rq = {0};
	int r = api_take(&rq, sizeof(rq), offsetof(struct nacre_request, workspace), given, err);

	if (r == 0)
		r = check(&rq, err);
	if (r < 0)
		return r;
	*ret_request = (struct request){
		.argv = rq.argv,
		.command = rq.command,
		.workspace = rq.workspace,
		.cwd = rq.cwd,
		.env = rq.env,
		.input = rq.input_bytes ? rq.input : NULL,
		.input_len = rq.input_bytes,
		.input_fd = -1,
		.rows = rq.rows,
		.cols = rq.cols,
		.principal = c->principal,
		.door = "library",
		.description = rq.description,
		.timeout_ms = rq.timeout_ms,
		.idle_timeout_ms = rq.idle_timeout_ms,
		.session = rq.session,
		.output_mode = modes[rq.output_mode].mode,
		.output_mode_given = modes[rq.output_mode].given,
		.background = rq.flags & NACRE_BACKGROUND,
		.findable = true,
		.force = rq.flags & NACRE_FORCE,
		.can_ask = rq.flags & NACRE_ASK,
		.approval_timeout_ms = rq.approval_timeout_ms,
	};
	if (arena && keep(arena, ret_request) < 0)
		return error_set(err, ERROR_LIMIT, ENOMEM, "the request is too long");
	return 0;
}
