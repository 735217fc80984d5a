/*
 * To the emulator go orders: bytes, a new size, "give me a frame". From it come frames: a head,
 * then for each row its number and its runs. Both are one stream of a socket. It never writes but
 * when it is asked, and is asked again only when the last frame is here; so neither waits for the
 * other.
 */
#include "task/live.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/utf8.h"
#include "process/clone.h"
#include "sandbox/mute.h"
#include "task/replay-inside.h"

#define STEP_BYTES   ((size_t)64 << 10)
#define TURN_BYTES   ((size_t)512 << 10) /* of the log, for one frame */
#define BEHIND_BYTES ((uint64_t)2 << 20) /* from here on it is cheaper to begin anew */
#define PATIENCE_MS  10000
#define DEATHS_MAX   3
#define SEAM_BYTES   16
#define ROWS_USUAL   200 /* that a terminal may grow to without a new emulator */
#define COLS_USUAL   400

enum order_kind { ORDER_FEED, ORDER_RESIZE, ORDER_FRAME };

struct order {
	uint32_t kind, n; /* N bytes follow; FRAME: 1: all rows */
	uint32_t rows, cols;
};

struct frame_head {
	struct screen_facts facts;
	uint32_t whole, count, bytes; /* of what follows */
	char title[SCREEN_TITLE_SIZE];
};

struct row_head {
	uint16_t row, runs;
};

struct live {
	struct loop *loop;
	const struct live_ops *ops;
	void *owner;
	int dir_fd, fd, pidfd; /* FD: to the emulator; -1: there is none */
	pid_t pid;
	struct loop_source source;
	struct loop_timer patience, failing;
	struct screen_size size, largest;
	int log;
	uint64_t at;       /* of the log, which the emulator has */
	uint64_t sizes_at; /* bytes of the file of sizes that were read */
	struct buffer out, in;
	size_t out_at;
	bool asked, all, keys, paste;
	char seam[SEAM_BYTES];
	size_t seam_len;
	int deaths;
};

/* The emulator */

static bool read_whole(int fd, void *into, size_t n)
{
	for (size_t have = 0; have < n;) {
		ssize_t r = read(fd, (char *)into + have, n - have);

		if (r <= 0)
			return false;
		have += (size_t)r;
	}
	return true;
}

static void put_frame(struct screen *s, bool all, struct buffer *out)
{
	struct frame_head head = {.whole = all};
	size_t at;

	buffer_clear(out);
	screen_facts(s, &head.facts);
	memcpy(head.title, screen_title(s), sizeof(head.title));
	buffer_append(out, &head, sizeof(head));
	for (unsigned i = 0; i < head.facts.rows; i++) {
		struct row_head row = {.row = (uint16_t)i};

		if (!screen_take_change(s, i) && !all)
			continue;
		at = out->len;
		buffer_append(out, &row, sizeof(row));
		row.runs = (uint16_t)screen_runs(s, i, out);
		if (buffer_error(out) == 0)
			memcpy(out->data + at, &row, sizeof(row));
		head.count++;
	}
	if (buffer_error(out) < 0)
		_exit(1);
	head.bytes = (uint32_t)(out->len - sizeof(head));
	memcpy(out->data, &head, sizeof(head));
}

/* All memory is taken before; from then on it reads, writes and ends. It returns: a sanitizer makes
 * system calls in front of what does not. */
static void serve_frames(struct screen *s, int fd, struct buffer *out)
{
	char bytes[STEP_BYTES];
	struct order o;

	while (read_whole(fd, &o, sizeof(o))) {
		switch ((enum order_kind)o.kind) {
		case ORDER_FEED:
			if (o.n > sizeof(bytes) || !read_whole(fd, bytes, o.n))
				return;
			screen_feed(s, bytes, o.n);
			break;
		case ORDER_RESIZE:
			screen_resize(s, (struct screen_size){o.rows, o.cols});
			break;
		case ORDER_FRAME:
			put_frame(s, o.n > 0, out);
			if (fd_write_all(fd, out->data, out->len) < 0)
				return;
			break;
		}
	}
}

static _Noreturn void emulate(const struct replay *r, const struct live *v, int fd)
{
	const struct rlimit seconds = {.rlim_cur = 3600, .rlim_max = 3600}, none = {0};
	struct buffer out = {0};
	struct screen *s = NULL;

	(void)prctl(PR_SET_NAME, "nacre-screen", 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)signal(SIGSEGV, SIG_DFL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)setrlimit(RLIMIT_CPU, &seconds);
	(void)setrlimit(RLIMIT_CORE, &none);
	fd_null_standard();
	fd_close_except(&fd, 1);
	out.max = sizeof(struct frame_head) + v->largest.rows * sizeof(struct row_head) +
	          screen_runs_max(v->largest) + 1;
	if (!buffer_reserve(&out, out.max - 1) ||
	    screen_new(r->sizes[0].size, v->largest, r->alternate, &s, NULL) < 0)
		_exit(1);
	screen_note_changes(s);
	if (sandbox_mute() < 0)
		_exit(1);
	replay_feed(r, s);
	serve_frames(s, fd, &out);
	_exit(0);
}

static void stop(struct live *v)
{
	loop_timer_clear(&v->patience);
	loop_remove(&v->source);
	fd_close(take_fd(&v->fd));
	if (v->pid > 0) {
		(void)kill(v->pid, SIGKILL);
		while (waitpid(v->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	fd_close(take_fd(&v->pidfd));
	v->pid = 0;
	buffer_done(&v->out);
	buffer_done(&v->in);
	v->out_at = 0;
	v->asked = false;
}

static int on_emulator(struct loop_source *source, uint32_t events);

static int spawn(struct live *v, const struct replay *r, struct error *err)
{
	scoped(fd_closep) int ours = -1;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_sys(err, errno, "a socket for the emulator");
	ours = ends[0];
	v->pid = process_clone(&v->pidfd);
	if (v->pid == 0)
		emulate(r, v, ends[1]);
	fd_close(ends[1]);
	if (v->pid < 0) {
		int code = (int)-v->pid;

		v->pid = 0;
		return error_sys(err, code, "starting the emulator");
	}
	(void)fd_set_nonblocking(ours);
	v->fd = take_fd(&ours);
	return loop_add(v->loop, &v->source, v->fd, EPOLLIN, on_emulator, err);
}

static unsigned at_least(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

/* Anew, from the end of the log as it is. */
static int begin(struct live *v, struct error *err)
{
	scoped(replay_done) struct replay r = {.log = -1};
	struct stat st;
	int code;

	stop(v);
	code = replay_read_sizes(&r, v->dir_fd, err);
	if (code == 0)
		code = replay_open_log(&r, v->dir_fd, 0, 0, err);
	if (code == 0)
		code = replay_read_window(&r, err);
	if (code < 0)
		return code;
	fd_close(take_fd(&v->log));
	v->log = r.log < 0 ? -1 : fcntl(r.log, F_DUPFD_CLOEXEC, 3);
	v->at = r.begin + r.bytes.len;
	v->sizes_at = fstatat(v->dir_fd, SIZES_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0
	                      ? (uint64_t)st.st_size
	                      : 0;
	v->size = r.sizes[r.size_count - 1].size;
	v->largest.rows = at_least(r.largest.rows, ROWS_USUAL);
	v->largest.cols = at_least(r.largest.cols, COLS_USUAL);
	v->keys = r.log >= 0 && replay_mode_is_on(&r, replay_application_keys, r.end);
	v->paste = r.log >= 0 && replay_mode_is_on(&r, replay_bracketed_paste, r.end);
	v->seam_len = 0;
	v->all = true;
	return spawn(v, &r, err);
}

/* Frames */

static bool is_plain(const char *text, size_t n)
{
	if (utf8_valid_prefix(text, n) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return true;
}

static bool are_facts(const struct screen_facts *f, const struct screen_size *largest)
{
	return f->rows >= 1 && f->rows <= largest->rows && f->cols >= 1 &&
	       f->cols <= largest->cols && f->used_rows <= f->rows && f->cursor_row < f->rows &&
	       f->cursor_col <= f->cols;
}

/* Each row once, in order; each run within what came. */
static bool are_rows(const struct frame_head *head, const char *at, const char *end)
{
	int last = -1;

	for (uint32_t i = 0; i < head->count; i++) {
		struct row_head row;

		if ((size_t)(end - at) < sizeof(row))
			return false;
		memcpy(&row, at, sizeof(row));
		at += sizeof(row);
		if ((int)row.row <= last || row.row >= head->facts.rows ||
		    row.runs > head->facts.cols)
			return false;
		last = row.row;
		for (unsigned k = 0; k < row.runs; k++) {
			struct screen_run run;

			if ((size_t)(end - at) < sizeof(run))
				return false;
			memcpy(&run, at, sizeof(run));
			at += sizeof(run);
			if ((size_t)(end - at) < run.len || !is_plain(at, run.len) ||
			    (run.attributes & ~SCREEN_ATTRIBUTES) || run.fg >> 24 > 2 ||
			    run.bg >> 24 > 2)
				return false;
			at += run.len;
		}
	}
	return at == end;
}

bool live_frame_read(const char *bytes, size_t n, const struct screen_size *largest,
                     struct live_frame *ret_frame)
{
	struct frame_head head;
	size_t title;

	if (n < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	/* These are C booleans only if they are 0 or 1. */
	if (((const unsigned char *)&head.facts.cursor_visible)[0] > 1 ||
	    ((const unsigned char *)&head.facts.alternate)[0] > 1)
		return false;
	if (head.whole > 1 || head.bytes != n - sizeof(head) || !are_facts(&head.facts, largest) ||
	    !are_rows(&head, bytes + sizeof(head), bytes + n))
		return false;
	*ret_frame = (struct live_frame){.facts = head.facts,
	                                 .whole = head.whole,
	                                 .count = head.count,
	                                 .rows = bytes + sizeof(head),
	                                 .end = bytes + n};
	title = strnlen(head.title, sizeof(head.title) - 1);
	/* It may be cut inside of a character, and a program may put anything there. */
	title = utf8_valid_prefix(head.title, title);
	for (size_t i = 0; i < title; i++)
		if ((unsigned char)head.title[i] < 0x20 || head.title[i] == 0x7f)
			head.title[i] = ' ';
	memcpy(ret_frame->title, head.title, title);
	return true;
}

bool live_row(const struct live_frame *f, const char **at, unsigned *ret_row, unsigned *ret_runs)
{
	struct row_head row;

	if (!*at)
		*at = f->rows;
	if (*at >= f->end)
		return false;
	memcpy(&row, *at, sizeof(row));
	*at += sizeof(row);
	*ret_row = row.row;
	*ret_runs = row.runs;
	return true;
}

void live_run(const char **at, struct screen_run *ret_run, const char **ret_text)
{
	memcpy(ret_run, *at, sizeof(*ret_run));
	*ret_text = *at + sizeof(*ret_run);
	*at += sizeof(*ret_run) + ret_run->len;
}

static int on_failing(struct loop_timer *t)
{
	struct live *v = container_of(t, struct live, failing);

	v->ops->failed(v->owner);
	return 0;
}

/* It has died, does not answer, or answers nonsense: what it was fed may have done that. */
static void fail(struct live *v)
{
	stop(v);
	if (++v->deaths < DEATHS_MAX && begin(v, NULL) == 0) {
		(void)live_pump(v);
		return;
	}
	stop(v);
	v->deaths = DEATHS_MAX;
	(void)loop_timer_set(v->loop, &v->failing, loop_now(v->loop), on_failing);
}

static int on_patience(struct loop_timer *t)
{
	fail(container_of(t, struct live, patience));
	return 0;
}

static size_t frame_size(const struct live *v)
{
	struct frame_head head;

	if (v->in.len < sizeof(head))
		return SIZE_MAX;
	memcpy(&head, v->in.data, sizeof(head));
	return sizeof(head) + head.bytes;
}

static void take_frame(struct live *v, size_t n)
{
	struct live_frame f;

	v->asked = false;
	loop_timer_clear(&v->patience);
	if (n != v->in.len || !live_frame_read(v->in.data, n, &v->largest, &f)) {
		fail(v);
		return;
	}
	f.application_keys = v->keys;
	f.bracketed_paste = v->paste;
	v->ops->frame(v->owner, &f); /* it does not go away in that: see show.c */
	buffer_clear(&v->in);
}

static void flush(struct live *v)
{
	while (v->out_at < v->out.len) {
		ssize_t n = send(v->fd, v->out.data + v->out_at, v->out.len - v->out_at,
		                 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n <= 0)
			break;
		v->out_at += (size_t)n;
	}
	if (v->out_at == v->out.len) {
		buffer_clear(&v->out);
		v->out_at = 0;
	}
	loop_remove(&v->source);
	(void)loop_add(v->loop, &v->source, v->fd, v->out.len ? EPOLLIN | EPOLLOUT : EPOLLIN,
	               on_emulator, NULL);
}

static int on_emulator(struct loop_source *source, uint32_t events)
{
	struct live *v = container_of(source, struct live, source);
	size_t most = sizeof(struct frame_head) + v->largest.rows * sizeof(struct row_head) +
	              screen_runs_max(v->largest);
	char *room;
	ssize_t n;

	if (events & EPOLLOUT)
		flush(v);
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return 0;
	v->in.max = most + STEP_BYTES + 1;
	room = buffer_reserve(&v->in, STEP_BYTES);
	n = room ? recv(v->fd, room, STEP_BYTES, MSG_DONTWAIT) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0 || !v->asked) {
		fail(v);
		return 0;
	}
	v->in.len += (size_t)n;
	if (frame_size(v) != SIZE_MAX && frame_size(v) > most)
		fail(v);
	else if (v->in.len >= frame_size(v))
		take_frame(v, frame_size(v));
	return 0;
}

/* The log */

static void put_order(struct live *v, const struct order *o)
{
	buffer_append(&v->out, o, sizeof(*o));
}

/* Modes that only the bytes tell, also where a sequence lies on the seam of two reads. */
static void note_modes(struct live *v, const char *bytes, size_t n)
{
	char joined[2 * SEAM_BYTES];
	size_t head = n < SEAM_BYTES ? n : SEAM_BYTES;
	char c;

	memcpy(joined, v->seam, v->seam_len);
	memcpy(joined + v->seam_len, bytes, head);
	for (int i = 0; i < 2; i++) {
		const char *text = i ? bytes : joined;
		size_t len = i ? n : v->seam_len + head;

		c = replay_last_change(replay_application_keys, text, len);
		v->keys = c ? c == 'h' : v->keys;
		c = replay_last_change(replay_bracketed_paste, text, len);
		v->paste = c ? c == 'h' : v->paste;
	}
	if (n >= SEAM_BYTES) {
		memcpy(v->seam, bytes + n - SEAM_BYTES, SEAM_BYTES);
		v->seam_len = SEAM_BYTES;
	} else {
		memmove(joined,
		        joined + (v->seam_len + n > SEAM_BYTES ? v->seam_len + n - SEAM_BYTES : 0),
		        v->seam_len + n > SEAM_BYTES ? SEAM_BYTES : v->seam_len + n);
		v->seam_len = v->seam_len + n > SEAM_BYTES ? SEAM_BYTES : v->seam_len + n;
		memcpy(v->seam, joined, v->seam_len);
	}
}

/* Bytes up to END; false: there are none. */
static bool feed(struct live *v, uint64_t end)
{
	char bytes[STEP_BYTES];
	bool fed = false;

	while (v->log >= 0 && v->at < end) {
		size_t wanted = end - v->at < sizeof(bytes) ? (size_t)(end - v->at) : sizeof(bytes);
		ssize_t n = pread(v->log, bytes, wanted, (off_t)v->at);

		if (n <= 0)
			break;
		note_modes(v, bytes, (size_t)n);
		put_order(v, &(struct order){.kind = ORDER_FEED, .n = (uint32_t)n});
		buffer_append(&v->out, bytes, (size_t)n);
		v->at += (uint64_t)n;
		fed = true;
	}
	return fed;
}

static uint64_t log_size(struct live *v)
{
	struct stat st;

	if (v->log < 0)
		v->log = fd_open_regular(v->dir_fd, LOG_FILE);
	if (v->log < 0) {
		v->log = -1;
		return 0;
	}
	return fstat(v->log, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* New lines of the file of sizes, each at its place in the log. 1: there was one; 0: none; -E2BIG:
 * the emulator has no memory for it. */
static int resize(struct live *v, uint64_t end)
{
	scoped(fd_closep) int fd = fd_open_regular(v->dir_fd, SIZES_FILE);
	char text[512];
	struct size size;
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, (off_t)v->sizes_at);
	const char *line = text, *next;
	int found = 0;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	for (; (next = strchr(line, '\n')); line = next + 1) {
		v->sizes_at += (uint64_t)(next + 1 - line);
		if (!replay_read_size(line, &size))
			continue;
		if (size.size.rows > v->largest.rows || size.size.cols > v->largest.cols)
			return -E2BIG;
		(void)feed(v, size.offset < end ? size.offset : end);
		put_order(v, &(struct order){.kind = ORDER_RESIZE,
		                             .rows = size.size.rows,
		                             .cols = size.size.cols});
		v->size = size.size;
		v->all = true;
		found = 1;
	}
	return found;
}

bool live_pump(struct live *v)
{
	uint64_t size, end;
	bool fed;
	int r;

	if (v->fd < 0 || v->asked)
		return v->asked;
	size = log_size(v);
	r = resize(v, size);
	if (r < 0 || size < v->at || size - v->at > BEHIND_BYTES) {
		if (begin(v, NULL) < 0) {
			fail(v);
			return v->asked;
		}
	}
	end = size - v->at > TURN_BYTES && size > v->at ? v->at + TURN_BYTES : size;
	fed = feed(v, end);
	if (!fed && r <= 0 && !v->all)
		return false;
	put_order(v, &(struct order){.kind = ORDER_FRAME, .n = v->all});
	v->all = false;
	v->asked = true;
	(void)loop_timer_set(v->loop, &v->patience, loop_now(v->loop) + PATIENCE_MS, on_patience);
	flush(v);
	return true;
}

void live_want_all(struct live *v)
{
	v->all = true;
}

int live_new(struct loop *l, int dir_fd, const struct live_ops *ops, void *owner,
             struct live **ret_live, struct error *err)
{
	scoped(live_freep) struct live *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return error_nomem(err);
	v->loop = l;
	v->ops = ops;
	v->owner = owner;
	v->dir_fd = dir_fd;
	v->fd = v->log = v->pidfd = v->source.fd = -1;
	r = begin(v, err);
	if (r < 0)
		return r;
	*ret_live = take_ptr(&v);
	return 0;
}

struct live *live_free(struct live *v)
{
	if (!v)
		return NULL;
	stop(v);
	loop_timer_clear(&v->failing);
	fd_close(v->log);
	free(v);
	return NULL;
}
