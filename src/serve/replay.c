#include "serve/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/number.h"

static void drop_first(struct replay *r)
{
	struct replay_event *e = r->first;

	r->first = e->next;
	if (!r->first)
		r->last = NULL;
	r->bytes -= e->len;
	free(e);
}

const struct replay_event *replay_add(struct replay *r, const char *json, size_t n)
{
	struct replay_event *e = malloc(sizeof(*e) + n);

	if (!e)
		return NULL;
	*e = (struct replay_event){.number = ++r->count, .len = n};
	memcpy(e->json, json, n);
	while (r->first && r->bytes + n > REPLAY_BYTES_MAX)
		drop_first(r);
	if (r->last)
		r->last->next = e;
	else
		r->first = e;
	r->last = e;
	r->bytes += n;
	return e;
}

const struct replay_event *replay_after(const struct replay *r, uint64_t number)
{
	const struct replay_event *e = r->first;

	while (e && e->number <= number)
		e = e->next;
	return e;
}

void replay_clear(struct replay *r)
{
	while (r->first)
		drop_first(r);
}

void replay_id(const struct replay *r, const struct replay_event *e, char into[REPLAY_ID_MAX])
{
	snprintf(into, REPLAY_ID_MAX, "%" PRIu64 "-%" PRIu64, r->stream, e->number);
}

int replay_id_read(const char *text, uint64_t *ret_stream, uint64_t *ret_number)
{
	const char *dash = strchr(text, '-');
	char stream[24];

	if (!dash || (size_t)(dash - text) >= sizeof(stream))
		return -EINVAL;
	memcpy(stream, text, (size_t)(dash - text));
	stream[dash - text] = '\0';
	if (number_parse_u64(stream, ret_stream) < 0 || number_parse_u64(dash + 1, ret_number) < 0)
		return -EINVAL;
	return 0;
}
