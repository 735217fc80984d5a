#include "output/view.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "output/binary.h"
#include "output/capture.h"
#include "output/clean.h"
#include "output/count.h"
#include "output/salient-view.h"
#include "output/salient.h"

/*
 * A stream of which nothing was let go is cleaned in one piece and then cut. Otherwise head and
 * tail are cleaned each for itself, and the gap between them stays a number. In both cases the view
 * is a prefix of the one text and a suffix of the other, which for an unbroken stream are the same
 * text.
 */

enum {
	KEPT_MAX = 2 << 20,
	SLACK = 64 << 10, /* room for escape sequences and rewritten lines */
};

static const struct {
	size_t limit;
	size_t edge;
} defaults[VIEW_STYLE_MAX] = {
	[VIEW_ALL] = {.limit = 1 << 20},      [VIEW_EDGES] = {.limit = 16 << 10, .edge = 1 << 10},
	[VIEW_TAIL_CHARS] = {.limit = 50000}, [VIEW_BYTES] = {.limit = 64 << 10},
	[VIEW_HALVES] = {.limit = 30000},     [VIEW_SALIENT] = {.limit = 30000},
};

static struct view_limits settled(const struct view_limits *given)
{
	struct view_limits l = *given;

	assert((unsigned)l.style < VIEW_STYLE_MAX);
	if (l.style == VIEW_AUTO)
		l.style = VIEW_HALVES;
	if (!l.limit)
		l.limit = defaults[l.style].limit;
	if (!l.edge)
		l.edge = defaults[l.style].edge;
	if (l.edge > l.limit / 2)
		l.edge = l.limit / 2;
	return l;
}

/* N * FACTOR + SLACK, at most MAX. */
static size_t room(size_t n, size_t factor, size_t max)
{
	return n > (max - SLACK) / factor ? max : n * factor + SLACK;
}

struct capture_limits view_capture_limits(const struct view_limits *given)
{
	struct view_limits l = settled(given);
	struct capture_limits c = {0};

	switch (l.style) {
	case VIEW_TAIL_CHARS:
		c.head = BINARY_SAMPLE;
		c.tail = room(l.limit, 4, KEPT_MAX - c.head);
		return c;
	case VIEW_BYTES:
		c.tail = SLACK; /* for a spool that can keep only its head */
		c.head = room(l.limit, 1, KEPT_MAX - c.tail);
		return c;
	case VIEW_SALIENT:
		c.middle = room(l.limit, 4, SALIENT_KEPT_MAX + SLACK) - SLACK;
		/* fall through */
	case VIEW_HALVES:
		c.head = room(l.limit / 2 + 1, 4, KEPT_MAX / 2);
		c.tail = c.head;
		return c;
	case VIEW_EDGES:
	case VIEW_ALL:
	case VIEW_AUTO:
	case VIEW_STYLE_MAX:
		break;
	}
	c.head = room(l.limit / 2, 1, KEPT_MAX / 2);
	c.tail = c.head;
	return c;
}

size_t view_surely_shown(const struct view_limits *given)
{
	size_t head = view_capture_limits(given).head, limit = settled(given).limit;
	size_t least = head < limit ? head : limit;

	return least < BINARY_SAMPLE ? least : BINARY_SAMPLE; /* no more is looked at */
}

size_t view_limit(const struct view_limits *given)
{
	return settled(given).limit;
}

size_t view_sure_beginning(const struct view_limits *given)
{
	struct view_limits l = settled(given);

	switch (l.style) {
	case VIEW_BYTES:
		return l.limit;
	case VIEW_EDGES:
		return l.edge;
	case VIEW_HALVES:
	case VIEW_ALL:
		return l.limit / 2; /* characters have one byte or more */
	case VIEW_SALIENT:
	case VIEW_TAIL_CHARS:
	case VIEW_AUTO:
	case VIEW_STYLE_MAX:
		break;
	}
	return 0;
}

/* A cleaned text, and the part of it that is shown. */
struct piece {
	struct buffer text;
	struct clean_facts facts;
	size_t begin, end;
	uint64_t shown_chars;
};

static void piece_done(struct piece *p)
{
	buffer_done(&p->text);
}

static int piece_clean(struct piece *p, const char *bytes, size_t n,
                       const struct clean_options *options)
{
	int r;

	p->text.max = (size_t)KEPT_MAX * 16; /* padded lines grow the most: LINE_PAD for 7 bytes */
	if (n > KEPT_MAX)
		p->text.max = n > SIZE_MAX / 16 ? SIZE_MAX : n * 16;
	buffer_append(&p->text, "", 0);
	r = clean_text(bytes, n, options, &p->text, &p->facts);
	p->end = r < 0 ? 0 : p->text.len;
	p->shown_chars = r < 0 ? 0 : p->facts.chars;
	return r;
}

static uint64_t chars_of(const char *text, size_t n)
{
	struct count count = {0};

	count_bytes(text, n, &count);
	return count.chars;
}

/* How much of the unit counts towards a limit. */
static size_t weight(const char *text, size_t len, bool in_chars)
{
	if (!in_chars || len == 1)
		return len;
	return (size_t)chars_of(text, len);
}

/* Shows the first LIMIT characters or bytes. */
static void piece_show_first(struct piece *p, size_t limit, bool in_chars)
{
	size_t i = 0, len, w;

	while (i < p->text.len) {
		len = clean_unit(p->text.data + i, p->text.len - i);
		w = weight(p->text.data + i, len, in_chars);
		if (w > limit)
			break;
		limit -= w;
		i += len;
	}
	p->begin = 0;
	p->end = i;
	p->shown_chars = chars_of(p->text.data, i);
}

/* Shows the last LIMIT. Sequences can be told only from their start, hence from the front. */
static void piece_show_last(struct piece *p, size_t limit, bool in_chars)
{
	size_t i = 0, len;
	uint64_t left = in_chars ? p->facts.chars : p->text.len;

	while (left > limit) {
		len = clean_unit(p->text.data + i, p->text.len - i);
		left -= weight(p->text.data + i, len, in_chars);
		i += len;
	}
	p->begin = i;
	p->end = p->text.len;
	p->shown_chars = chars_of(p->text.data + i, p->text.len - i);
}

static void piece_hide(struct piece *p)
{
	p->begin = p->end = p->text.len;
	p->shown_chars = 0;
}

static uint64_t lines_in(const struct piece *p)
{
	struct count count = {0};

	count_bytes(p->text.data, p->text.len, &count);
	return count.newlines;
}

/* An unbroken text: FIRST has all of it. */
static bool fits(const struct piece *p, const struct view_limits *l)
{
	switch (l->style) {
	case VIEW_TAIL_CHARS:
	case VIEW_HALVES:
		return p->facts.chars <= l->limit;
	case VIEW_EDGES:
	case VIEW_BYTES:
		return p->text.len <= l->limit;
	case VIEW_SALIENT:
		return p->text.len <= l->limit && (l->lines == 0 || lines_in(p) <= l->lines);
	case VIEW_ALL:
	case VIEW_AUTO:
	case VIEW_STYLE_MAX:
		break;
	}
	return true;
}

static void cut(struct piece *first, struct piece *last, const struct view_limits *l)
{
	switch (l->style) {
	case VIEW_EDGES:
		piece_show_first(first, l->edge, false);
		piece_show_last(last, l->edge, false);
		break;
	case VIEW_TAIL_CHARS:
		piece_hide(first);
		piece_show_last(last, l->limit, true);
		break;
	case VIEW_BYTES:
		piece_show_first(first, l->limit, false);
		piece_hide(last);
		break;
	case VIEW_HALVES:
		piece_show_first(first, l->limit / 2, true);
		piece_show_last(last, l->limit - l->limit / 2, true);
		break;
	case VIEW_SALIENT: /* where there are no lines to choose from */
		piece_show_first(first, l->limit / 2, false);
		piece_show_last(last, l->limit - l->limit / 2, false);
		break;
	case VIEW_ALL:
	case VIEW_AUTO:
	case VIEW_STYLE_MAX:
		break;
	}
}

static void say_where(struct buffer *b, const struct view_file *f)
{
	if (!f || !f->name) {
		buffer_puts(b, "; the full output was not kept");
		if (f && f->why_not)
			buffer_printf(b, " (%s)", f->why_not);
		return;
	}
	if (!f->dropped_bytes && !f->lost_bytes) {
		buffer_printf(b, "; the full output is in %s", f->name);
		return;
	}
	buffer_printf(b, "; the output is in %s", f->name);
	if (f->dropped_bytes)
		buffer_printf(b, ", without %" PRIu64 " bytes of its middle", f->dropped_bytes);
	if (f->lost_bytes)
		buffer_printf(b, "%s %" PRIu64 " bytes that could not be written",
		              f->dropped_bytes ? " and" : ", without", f->lost_bytes);
}

static void say_what(struct buffer *b, const struct view *v, const struct view_limits *l)
{
	uint64_t chars = v->shown_chars + v->omitted_chars;

	switch (l->style) {
	case VIEW_EDGES:
		buffer_printf(b,
		              "output truncated: it has %" PRIu64
		              " bytes, of which the first and the last %zu are shown",
		              v->total_bytes, l->edge);
		break;
	case VIEW_TAIL_CHARS:
		buffer_printf(b, "only the last %" PRIu64 " of %" PRIu64 " characters are shown",
		              v->shown_chars, chars);
		break;
	case VIEW_BYTES:
		buffer_printf(b, "only the first %" PRIu64 " of %" PRIu64 " bytes are shown",
		              v->shown_bytes, v->shown_bytes + v->omitted_bytes);
		break;
	case VIEW_HALVES:
		buffer_printf(b, "%" PRIu64 " character%s left out", v->omitted_chars,
		              v->omitted_chars == 1 ? "" : "s");
		break;
	case VIEW_SALIENT:
		if (v->total_lines > 0) {
			buffer_printf(b, "%" PRIu64 " of %" PRIu64 " lines are shown",
			              v->shown_lines, v->total_lines);
			break;
		}
		/* fall through */
	case VIEW_ALL:
	case VIEW_AUTO:
	case VIEW_STYLE_MAX:
		buffer_printf(b, "%" PRIu64 " byte%s left out", v->omitted_bytes,
		              v->omitted_bytes == 1 ? "" : "s");
		break;
	}
}

static bool shows_both_ends(enum view_style style)
{
	return style == VIEW_EDGES || style == VIEW_HALVES || style == VIEW_SALIENT ||
	       style == VIEW_ALL;
}

static int finish(struct view *v, struct buffer *text, struct buffer *notice, struct view *ret_view,
                  struct error *err)
{
	size_t len = text->len;

	if (buffer_error(text) || buffer_error(notice))
		return error_sys(err, ENOMEM, "text of the output");
	v->text = buffer_take(text);
	v->len = len;
	if (notice->len)
		v->notice = buffer_take(notice);
	if (!v->text || (v->truncated && !v->notice)) {
		view_done(v);
		return error_sys(err, ENOMEM, "text of the output");
	}
	*ret_view = *v;
	return 0;
}

static int assemble(struct view *v, const struct piece *first, const struct piece *last,
                    const struct view_limits *l, const struct view_file *file,
                    struct view *ret_view, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = SIZE_MAX / 2};
	scoped(buffer_donep) struct buffer notice = {0};

	v->shown_chars = first->shown_chars + (last ? last->shown_chars : 0);
	v->shown_bytes = first->end - first->begin + (last ? last->end - last->begin : 0);
	if (v->truncated) {
		say_what(&notice, v, l);
		say_where(&notice, file);
	}
	buffer_append(&text, first->text.data + first->begin, first->end - first->begin);
	if (v->truncated && shows_both_ends(l->style)) {
		if (text.len && text.data[text.len - 1] != '\n')
			buffer_putc(&text, '\n');
		buffer_printf(&text, "[%s]\n", buffer_str(&notice));
	}
	if (last)
		buffer_append(&text, last->text.data + last->begin, last->end - last->begin);
	return finish(v, &text, &notice, ret_view, err);
}

/* Lines of a stream, of which each notice tells the number. 0: *ret_view has them; -ENOSPC: there
 * are none to choose from. LAST is NULL: FIRST has the whole. */
static int show_lines(struct view *v, const struct capture_snapshot *s, const struct piece *first,
                      const struct piece *last, const struct view_limits *l,
                      const struct view_file *file, struct view *ret_view, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = SIZE_MAX / 2};
	scoped(buffer_donep) struct buffer notice = {0};
	const struct piece *end = last ? last : first;
	struct salient_limits limits = {.bytes = l->limit, .lines = l->lines};
	struct salient_source source = {.head = first->text.data,
	                                .head_len = first->text.len,
	                                .tail = end->text.data,
	                                .tail_len = end->text.len,
	                                .whole = !last,
	                                .lines = s->counts.newlines,
	                                .tail_first = 1,
	                                .tail_mid = last != NULL,
	                                .middle = s->middle,
	                                .middle_len = s->middle_len};
	struct salient_shown shown = {0};
	int r;

	if (!last)
		source.lines = lines_in(first);
	else if (source.lines >= lines_in(last))
		source.tail_first = source.lines - lines_in(last) + 1;
	if (end->text.len > 0 && end->text.data[end->text.len - 1] != '\n')
		source.lines++;
	if (file && file->name && file->call_before && !file->dropped_bytes && !file->lost_bytes) {
		limits.call_before = file->call_before;
		limits.call_behind = file->call_behind;
	}
	r = salient_compose(&source, &limits, &text, &shown);
	if (r < 0)
		return r;
	v->truncated = true;
	v->total_lines = source.lines;
	v->shown_lines = shown.lines;
	v->shown_bytes = shown.bytes;
	v->shown_chars = shown.chars;
	v->omitted_bytes = s->counts.bytes > shown.bytes ? s->counts.bytes - shown.bytes : 0;
	v->omitted_chars = s->counts.chars > shown.chars ? s->counts.chars - shown.chars : 0;
	say_what(&notice, v, l);
	say_where(&notice, file);
	return finish(v, &text, &notice, ret_view, err);
}

static int show_whole(struct view *v, const struct capture_snapshot *s, const struct view_limits *l,
                      const struct view_file *file, struct view *ret_view, struct error *err)
{
	const struct clean_options options = {.keep_escapes = l->keep_escapes,
	                                      .show_controls = l->show_controls};
	scoped(piece_done) struct piece first = {0};
	struct piece last;
	int r;

	r = piece_clean(&first, s->data, s->head_len + s->tail_len, &options);
	if (r < 0)
		return error_sys(err, -r, "cleaning of the output");
	v->replaced = first.facts.replaced;
	if (fits(&first, l))
		return assemble(v, &first, NULL, l, file, ret_view, err);
	if (l->style == VIEW_SALIENT) {
		r = show_lines(v, s, &first, NULL, l, file, ret_view, err);
		if (r != -ENOSPC)
			return r < 0 ? error_sys(err, -r, "text of the output") : r;
	}
	last = first; /* the same text, another part of it */
	cut(&first, &last, l);
	v->truncated = true;
	v->omitted_chars = first.facts.chars - first.shown_chars - last.shown_chars;
	v->omitted_bytes = first.text.len - (first.end - first.begin) - (last.end - last.begin);
	return assemble(v, &first, &last, l, file, ret_view, err);
}

static uint64_t hidden_bytes(const struct piece *p)
{
	return p->text.len - (p->end - p->begin) + p->facts.cut_bytes;
}

static uint64_t hidden_chars(const struct piece *p)
{
	return p->facts.chars - p->shown_chars + p->facts.cut_chars;
}

static int show_ends(struct view *v, const struct capture_snapshot *s, const struct view_limits *l,
                     const struct view_file *file, struct view *ret_view, struct error *err)
{
	struct clean_options options = {.keep_escapes = l->keep_escapes,
	                                .show_controls = l->show_controls};
	scoped(piece_done) struct piece first = {0};
	scoped(piece_done) struct piece last = {0};
	uint64_t kept;
	int r;

	options.ends_mid = true;
	r = piece_clean(&first, s->data, s->head_len, &options);
	if (r < 0)
		return error_sys(err, -r, "cleaning of the output");
	options.ends_mid = false;
	options.starts_mid = true;
	r = piece_clean(&last, s->data + s->head_len, s->tail_len, &options);
	if (r < 0)
		return error_sys(err, -r, "cleaning of the output");

	v->replaced = first.facts.replaced + last.facts.replaced;
	if (l->style == VIEW_SALIENT) {
		r = show_lines(v, s, &first, &last, l, file, ret_view, err);
		if (r != -ENOSPC)
			return r < 0 ? error_sys(err, -r, "text of the output") : r;
	}
	cut(&first, &last, l);
	v->truncated = true;
	kept = chars_of(s->data, s->head_len + s->tail_len);
	v->omitted_chars = hidden_chars(&first) + hidden_chars(&last);
	if (s->counts.chars > kept) /* always, unless a snapshot lies about its counts */
		v->omitted_chars += s->counts.chars - kept;
	v->omitted_bytes = hidden_bytes(&first) + hidden_bytes(&last) + capture_snapshot_omitted(s);
	return assemble(v, &first, &last, l, file, ret_view, err);
}

static int show_binary(struct view *v, const struct capture_snapshot *s,
                       const struct view_file *file, struct view *ret_view, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {0};
	scoped(buffer_donep) struct buffer notice = {0};

	v->binary = true;
	v->truncated = true;
	v->omitted_bytes = s->counts.bytes;
	v->omitted_chars = s->counts.chars;
	buffer_printf(&notice, "binary output: %s, %" PRIu64 " bytes", v->type, s->counts.bytes);
	say_where(&notice, file);
	buffer_printf(&text, "[%s]\n", buffer_str(&notice));
	return finish(v, &text, &notice, ret_view, err);
}

int view_make(const struct capture_snapshot *snapshot, const struct view_limits *given,
              const struct view_file *file, struct view *ret_view, struct error *err)
{
	struct view_limits limits = settled(given);
	struct view v = {.total_bytes = snapshot->counts.bytes};
	bool whole = capture_snapshot_omitted(snapshot) == 0;
	size_t known = snapshot->head_len + (whole ? snapshot->tail_len : 0);
	bool binary;

	binary = binary_detect(snapshot->data, known, &v.type);
	if (!binary && snapshot->counts.nul_at < BINARY_SAMPLE) { /* in a head shorter than that */
		binary = true;
		v.type = "data";
	}
	if (binary)
		return show_binary(&v, snapshot, file, ret_view, err);
	if (whole)
		return show_whole(&v, snapshot, &limits, file, ret_view, err);
	return show_ends(&v, snapshot, &limits, file, ret_view, err);
}

void view_done(struct view *v)
{
	free(v->text);
	free(v->notice);
	*v = (struct view){0};
}
