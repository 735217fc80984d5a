/*
 * What the console reads of others: a Cookie header, a frame of a screen's emulator, which may have
 * been taken over by the bytes that it was fed, and the look of an approval in its file. The first
 * byte says which.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "approval/look.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "http/text.h"
#include "json/read.h"
#include "json/write.h"
#include "task/live.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_cookie(const char *text)
{
	char value[16];
	int r = http_cookie_get(text, "nacre-80", value, sizeof(value));

	if (r == 0 && (strlen(value) >= sizeof(value) || !strstr(text, "nacre-80=")))
		abort();
	if (http_port(text) > 65539)
		abort();
}

/* What is taken can be walked through, and is text of so many rows. */
static void try_frame(const char *bytes, size_t n)
{
	const struct screen_size largest = {.rows = 50, .cols = 100};
	const char *at = NULL, *text;
	struct screen_run run;
	struct live_frame f;
	unsigned row, runs;
	size_t rows = 0;

	if (!live_frame_read(bytes, n, &largest, &f))
		return;
	if (utf8_valid_prefix(f.title, strlen(f.title)) != strlen(f.title))
		abort();
	while (live_row(&f, &at, &row, &runs)) {
		rows++;
		if (row >= f.facts.rows || f.facts.rows > largest.rows)
			abort();
		for (unsigned i = 0; i < runs; i++) {
			live_run(&at, &run, &text);
			if (utf8_valid_prefix(text, run.len) != run.len)
				abort();
		}
	}
	if (rows != f.count || at > f.end)
		abort();
}

static void try_look(const char *bytes, size_t n)
{
	scoped(arena_freep) struct arena *arena = arena_new((size_t)16 << 20);
	scoped(buffer_donep) struct buffer text = {0};
	scoped(json_decrefp) json_t *root = NULL;
	struct json_writer w = {.out = &text};
	struct approval_look *look;

	if (!arena || json_read(bytes, n, 65536, "look", &root, NULL) < 0 ||
	    look_read(root, arena, &look) < 0)
		return;
	for (size_t i = 0; i < look->piece_count; i++)
		if (look->pieces[i].finding >= (int)look->finding_count)
			abort();
	look_write(&w, look);
	if (buffer_error(&text) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(buffer_donep) struct buffer text = {0};

	if (size < 1 || size > 65536)
		return 0;
	buffer_append(&text, data + 1, size - 1);
	if (buffer_error(&text) < 0)
		return 0;
	switch (data[0] % 3) {
	case 0:
		try_cookie(buffer_str(&text));
		break;
	case 1:
		try_frame(buffer_str(&text), text.len);
		break;
	default:
		try_look(buffer_str(&text), text.len);
		break;
	}
	return 0;
}
