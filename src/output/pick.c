#define PCRE2_CODE_UNIT_WIDTH 8

#include "output/pick.h"

#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"

#define MATCH_LIMIT 1000000 /* of steps: an expression that would take for ever does not match */
#define DEPTH_LIMIT 1000
#define HEAP_KB     20480

/* That limit is one for each place of each line at which a match could begin, so all of them
 * together have a time. It is looked at while an expression works. */
#define PATIENCE_NS    ((int64_t)100000000) /* of the processor, for what is put at once */
#define STEPS_A_GLANCE 512

struct kept {
	struct kept *next;
	uint64_t number;
	int stream;
	size_t len;
	char text[];
};

/* Lines that wait, the oldest first. */
struct queue {
	struct kept *first, **end;
	uint64_t count;
	size_t bytes;
};

struct pick {
	struct pick_options options;
	pick_sink sink;
	void *owner;
	pcre2_code *regex;
	pcre2_match_data *match;
	pcre2_match_context *limits;
	int64_t until_ns; /* when the expression has had its time */
	unsigned steps;   /* since the last look at the clock */
	bool late;
	struct buffer partial[2];
	uint64_t lines;      /* that have come */
	uint64_t shown;      /* that passed all but the tail */
	uint64_t after;      /* lines of context still due */
	struct queue before; /* context, should the next line match */
	struct queue last;   /* the tail so far */
	uint64_t sunk;       /* number of the last line in the sink */
	bool done;
};

/* Called by the library before each item of the expression. */
static int on_item(pcre2_callout_block *block, void *owner)
{
	struct pick *p = owner;

	if (++p->steps < STEPS_A_GLANCE)
		return 0;
	p->steps = 0;
	p->late = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) > p->until_ns;
	return p->late ? PCRE2_ERROR_CALLOUT : 0;
}

static int compile(struct pick *p, const char *text, struct error *err)
{
	PCRE2_UCHAR message[128];
	PCRE2_SIZE at;
	int code;

	p->regex = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
	                         PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C |
	                                 PCRE2_AUTO_CALLOUT,
	                         &code, &at, NULL);
	if (!p->regex) {
		pcre2_get_error_message(code, message, sizeof(message));
		return error_set(err, ERROR_INPUT, EINVAL, "regular expression: %s at %zu",
		                 (const char *)message, at);
	}
	p->match = pcre2_match_data_create_from_pattern(p->regex, NULL);
	p->limits = pcre2_match_context_create(NULL);
	if (!p->match || !p->limits)
		return error_nomem(err);
	pcre2_set_match_limit(p->limits, MATCH_LIMIT);
	pcre2_set_depth_limit(p->limits, DEPTH_LIMIT);
	pcre2_set_heap_limit(p->limits, HEAP_KB);
	return pcre2_set_callout(p->limits, on_item, p);
}

int pick_new(const struct pick_options *options, pick_sink sink, void *owner,
             struct pick **ret_pick, struct error *err)
{
	scoped(pick_freep) struct pick *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return error_nomem(err);
	p->options = *options;
	p->options.regex = NULL;
	if (p->options.context > PICK_CONTEXT_MAX)
		p->options.context = PICK_CONTEXT_MAX;
	if (p->options.tail > PICK_TAIL_MAX)
		p->options.tail = PICK_TAIL_MAX;
	p->sink = sink;
	p->owner = owner;
	p->before.end = &p->before.first;
	p->last.end = &p->last.first;
	r = options->regex ? compile(p, options->regex, err) : 0;
	if (r < 0)
		return r;
	*ret_pick = take_ptr(&p);
	return 0;
}

static struct kept *pop(struct queue *q)
{
	struct kept *k = q->first;

	if (!k)
		return NULL;
	q->first = k->next;
	if (!q->first)
		q->end = &q->first;
	q->count--;
	q->bytes -= k->len;
	return k;
}

/* gcc 12 does not see that the queue owns what hangs on its end. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

/* The last MOST lines stay. */
static int push(struct queue *q, const struct pick_line *l, uint64_t most)
{
	struct kept *k = malloc(sizeof(*k) + l->len);

	if (!k)
		return -ENOMEM;
	*k = (struct kept){.number = l->number, .stream = l->stream, .len = l->len};
	memcpy(k->text, l->text, l->len);
	*q->end = k;
	q->end = &k->next;
	q->count++;
	q->bytes += k->len;
	while (q->count > most || (q->bytes > PICK_KEPT_MAX && q->count > 1))
		free(pop(q));
	return 0;
}

struct pick *pick_free(struct pick *p)
{
	if (!p)
		return NULL;
	while (p->before.first)
		free(pop(&p->before));
	while (p->last.first)
		free(pop(&p->last));
	pcre2_code_free(p->regex);
	pcre2_match_data_free(p->match);
	pcre2_match_context_free(p->limits);
	buffer_done(&p->partial[0]);
	buffer_done(&p->partial[1]);
	free(p);
	return NULL;
}

static int sink(struct pick *p, const struct pick_line *line)
{
	struct pick_line l = *line;

	l.skipped = l.number > p->sunk + 1;
	p->sunk = l.number;
	return p->sink(p->owner, &l);
}

/* A line that is wanted, unless too many were before it or will be behind it. */
static int pass(struct pick *p, const struct pick_line *l)
{
	if (p->options.head > 0 && p->shown >= p->options.head) {
		p->done = true;
		return 0;
	}
	p->shown++;
	if (p->options.tail > 0)
		return push(&p->last, l, p->options.tail);
	return sink(p, l);
}

static struct pick_line line_of(const struct kept *k)
{
	return (struct pick_line){
		.stream = k->stream, .number = k->number, .text = k->text, .len = k->len};
}

static int pass_context(struct pick *p)
{
	struct kept *k;
	int r = 0;

	while (r == 0 && (k = pop(&p->before))) {
		struct pick_line l = line_of(k);

		r = pass(p, &l);
		free(k);
	}
	return r;
}

static bool matches(struct pick *p, const struct pick_line *l)
{
	size_t n = l->len > 0 && l->text[l->len - 1] == '\n' ? l->len - 1 : l->len;

	return pcre2_match(p->regex, (PCRE2_SPTR)l->text, n, 0, 0, p->match, p->limits) >= 0;
}

static int choose(struct pick *p, const struct pick_line *l)
{
	int r;

	if (!p->regex)
		return pass(p, l);
	if (matches(p, l)) {
		r = pass_context(p);
		p->after = p->options.context;
		return r == 0 ? pass(p, l) : r;
	}
	if (p->late)
		return -ETIME;
	if (p->after > 0) {
		p->after--;
		return pass(p, l);
	}
	return p->options.context > 0 ? push(&p->before, l, p->options.context) : 0;
}

static int take_line(struct pick *p, int stream, const char *text, size_t len)
{
	struct pick_line l = {.stream = stream, .number = ++p->lines, .text = text, .len = len};

	if (p->done || l.number < p->options.from)
		return 0;
	if (p->options.to > 0 && l.number > p->options.to) {
		p->done = true;
		return 0;
	}
	return choose(p, &l);
}

static int take_partial(struct pick *p, int stream)
{
	struct buffer *b = &p->partial[stream];
	int r = b->len > 0 ? take_line(p, stream, b->data, b->len) : 0;

	buffer_clear(b);
	return r;
}

static void begin_time(struct pick *p)
{
	if (p->regex)
		p->until_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + PATIENCE_NS;
}

int pick_put(struct pick *p, int stream, const char *bytes, size_t n)
{
	struct buffer *b = &p->partial[stream];
	int r = 0;

	begin_time(p);
	while (r == 0 && n > 0 && !p->done) {
		const char *newline = memchr(bytes, '\n', n);
		size_t part = newline ? (size_t)(newline - bytes) + 1 : n;

		if (part > PICK_LINE_MAX - b->len) {
			part = PICK_LINE_MAX - b->len;
			newline = bytes + part - 1; /* as if it ended here */
		}
		if (newline && b->len == 0) {
			r = take_line(p, stream, bytes, part);
		} else {
			buffer_append(b, bytes, part);
			if (buffer_error(b) < 0)
				return buffer_error(b);
			if (newline)
				r = take_partial(p, stream);
		}
		bytes += part;
		n -= part;
	}
	return r != 0 ? r : p->done;
}

int pick_flush(struct pick *p)
{
	const struct pick_options *o = &p->options;
	int r = 0;

	if (p->regex || o->from || o->to || o->head || o->tail)
		return 0;
	for (int i = 0; i < 2 && r == 0; i++)
		r = take_partial(p, i);
	return r;
}

int pick_end(struct pick *p)
{
	int r = 0;

	begin_time(p);
	for (int i = 0; i < 2 && r == 0; i++)
		r = take_partial(p, i);
	for (struct kept *k = p->last.first; k && r == 0; k = k->next) {
		struct pick_line l = line_of(k);

		r = sink(p, &l);
	}
	return r;
}

bool pick_lines_parse(const char *text, struct pick_options *into)
{
	const char *dash = strchr(text, '-');
	uint64_t from = 1, to = 0;
	char first[24];

	if (!dash) {
		if (number_parse_u64(text, &from) < 0)
			return false;
		to = from;
	} else {
		if (dash - text >= (ptrdiff_t)sizeof(first) || (dash == text && !dash[1]))
			return false;
		memcpy(first, text, (size_t)(dash - text));
		first[dash - text] = 0;
		if (first[0] && number_parse_u64(first, &from) < 0)
			return false;
		if (dash[1] && (number_parse_u64(dash + 1, &to) < 0 || to == 0))
			return false;
	}
	if (from == 0 || (to > 0 && to < from))
		return false;
	into->from = from;
	into->to = to;
	return true;
}
