/*
 * This process reads the files and checks what it gets; a child of its own feeds the bytes to the
 * emulator. The child may read, write and end, and has nothing but a pipe to us: bytes that take it
 * over gain a wrong picture. What it answers is as hostile as the log itself, and is looked at as
 * such.
 */
#include "task/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "base/utf8.h"
#include "process/clone.h"
#include "sandbox/mute.h"
#include "task/replay-inside.h"

#define SIZES_BYTES_MAX ((size_t)1 << 20)
#define SIZES_MAX       256                  /* of these the last ones are followed */
#define WINDOW_BYTES    ((size_t)256 << 10)  /* a full-screen program draws all of it more often */
#define SEARCH_BYTES    ((uint64_t)64 << 20) /* how far back a change of screens is looked for */
#define STEP_BYTES      65536
#define SEAM_BYTES      16
#define PATIENCE_MS     10000

void replay_done(struct replay *r)
{
	if (r->log >= 0)
		fd_close(r->log);
	free(r->sizes);
	buffer_done(&r->bytes);
}

/* Three numbers up to the newline. */
bool replay_read_size(const char *line, struct size *ret_size)
{
	uint64_t numbers[3];
	char word[24];

	for (int i = 0; i < 3; i++) {
		size_t n = strcspn(line, " \n");

		if (n >= sizeof(word) || line[n] != (i < 2 ? ' ' : '\n'))
			return false;
		memcpy(word, line, n);
		word[n] = '\0';
		if (number_parse_u64(word, &numbers[i]) < 0)
			return false;
		line += n + 1;
	}
	if (numbers[1] < 1 || numbers[1] > SCREEN_SIDE_MAX || numbers[2] < 1 ||
	    numbers[2] > SCREEN_SIDE_MAX)
		return false;
	*ret_size = (struct size){numbers[0], {(unsigned)numbers[1], (unsigned)numbers[2]}};
	return true;
}

int replay_read_sizes(struct replay *r, int dir_fd, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = SIZES_BYTES_MAX};
	scoped(fd_closep) int fd = fd_open_regular(dir_fd, SIZES_FILE);
	struct size size;

	if (fd == -ENOENT)
		return error_set(err, ERROR_INPUT, ENOTTY, "the task has no terminal");
	r->sizes = calloc(SIZES_MAX, sizeof(*r->sizes));
	if (fd < 0 || !r->sizes || fd_read_all(fd, &text) < 0)
		return error_sys(err, fd < 0 ? -fd : EIO, "the sizes of the terminal");
	/* A line without an end is still being written. */
	for (const char *line = buffer_str(&text), *end; (end = strchr(line, '\n'));
	     line = end + 1) {
		if (!replay_read_size(line, &size))
			continue;
		if (r->size_count == SIZES_MAX)
			memmove(r->sizes, r->sizes + 1, --r->size_count * sizeof(*r->sizes));
		r->sizes[r->size_count++] = size;
	}
	if (r->size_count == 0)
		return error_set(err, ERROR_SYSTEM, EBADMSG,
		                 "the sizes of the terminal are damaged");
	for (size_t i = 0; i < r->size_count; i++) {
		if (r->sizes[i].size.rows > r->largest.rows)
			r->largest.rows = r->sizes[i].size.rows;
		if (r->sizes[i].size.cols > r->largest.cols)
			r->largest.cols = r->sizes[i].size.cols;
	}
	return 0;
}

static ssize_t read_at(const struct replay *r, char *bytes, size_t n, uint64_t offset)
{
	return pread(r->log, bytes, n, (off_t)(offset - r->missing));
}

/* What a program can ask of its terminal, by the ways to write it. */
static const char *const alternate_screen[] = {"\033[?1049", "\033[?1047", "\033[?47", NULL};
const char *const replay_application_keys[] = {"\033[?1", NULL};
const char *const replay_bracketed_paste[] = {"\033[?2004", NULL};

/* The last change of a mode in these bytes: 'h' on, 'l' off, 0: none. */
char replay_last_change(const char *const *ways, const char *bytes, size_t n)
{
	const char *end = bytes + n;
	char last = 0;

	for (const char *at = bytes; (at = memchr(at, '\033', (size_t)(end - at))); at++)
		for (size_t i = 0; ways[i]; i++) {
			size_t length = strlen(ways[i]);

			if ((size_t)(end - at) > length && memcmp(at, ways[i], length) == 0 &&
			    (at[length] == 'h' || at[length] == 'l'))
				last = at[length];
		}
	return last;
}

/* Whether a mode is on at END. Looked for backwards: it may have been asked for long ago. */
bool replay_mode_is_on(const struct replay *r, const char *const *ways, uint64_t end)
{
	char bytes[STEP_BYTES + SEAM_BYTES];
	uint64_t at = end;
	char change = 0;

	while (at > r->first && end - at < SEARCH_BYTES && !change) {
		uint64_t from = at - r->first > STEP_BYTES ? at - STEP_BYTES : r->first;
		size_t wanted = (size_t)(at - from) + SEAM_BYTES; /* it may lie on the seam */
		ssize_t n;

		if (wanted > end - from)
			wanted = (size_t)(end - from);
		n = read_at(r, bytes, wanted, from);
		if (n <= 0)
			break;
		change = replay_last_change(ways, bytes, (size_t)n);
		at = from;
	}
	return change == 'h';
}

/* A log is made by the first byte: without one there is nothing to show yet. */
int replay_open_log(struct replay *r, int dir_fd, uint64_t dropped_at, uint64_t dropped_bytes,
                    struct error *err)
{
	int fd = fd_open_regular(dir_fd, LOG_FILE);
	struct stat st;

	r->log = -1;
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return error_sys(err, -fd, "the output of the task");
	r->log = fd;
	if (fstat(fd, &st) < 0)
		return error_sys(err, errno, "the output of the task");
	r->missing = dropped_bytes;
	r->first = r->begin = dropped_bytes ? dropped_at + dropped_bytes : 0;
	r->end = (uint64_t)st.st_size + dropped_bytes;
	if (r->end < r->first) /* the file is shorter than its report says */
		r->end = r->first;
	return 0;
}

/* The window may begin inside of a character or of a sequence: it is moved to where one begins for
 * sure. */
static void move_to_seam(struct replay *r)
{
	const char *bytes = r->bytes.data;

	for (size_t i = 0; i < r->bytes.len && i < STEP_BYTES; i++)
		if (bytes[i] == '\033' || bytes[i] == '\n') {
			i += bytes[i] == '\n';
			r->begin += i;
			memmove(r->bytes.data, bytes + i, r->bytes.len - i);
			r->bytes.len -= i;
			return;
		}
}

int replay_read_window(struct replay *r, struct error *err)
{
	size_t wanted;
	char *into;
	ssize_t n;

	if (r->log < 0)
		return 0;
	if (r->end - r->first > WINDOW_BYTES)
		r->begin = r->end - WINDOW_BYTES;
	wanted = (size_t)(r->end - r->begin);
	into = buffer_reserve(&r->bytes, wanted);
	if (!into)
		return error_nomem(err);
	while (r->bytes.len < wanted) {
		n = read_at(r, r->bytes.data + r->bytes.len, wanted - r->bytes.len,
		            r->begin + r->bytes.len);
		if (n < 0)
			return error_sys(err, errno, "the output of the task");
		if (n == 0)
			break;
		r->bytes.len += (size_t)n;
	}
	if (r->begin > r->first)
		move_to_seam(r);
	r->alternate = replay_mode_is_on(r, alternate_screen, r->begin);
	return 0;
}

/* Feeds the window, and changes the size where it was changed. */
void replay_feed(const struct replay *r, struct screen *s)
{
	size_t at = 0, next = 0;

	while (at < r->bytes.len || next < r->size_count) {
		size_t stop = r->bytes.len;

		if (next < r->size_count && r->sizes[next].offset <= r->begin + at) {
			screen_resize(s, r->sizes[next++].size);
			continue;
		}
		if (next < r->size_count && r->sizes[next].offset - r->begin < stop)
			stop = (size_t)(r->sizes[next].offset - r->begin);
		if (stop == at) { /* a size for bytes that are not there yet */
			screen_resize(s, r->sizes[next++].size);
			continue;
		}
		screen_feed(s, r->bytes.data + at, stop - at);
		at = stop;
	}
}

/* The child: all it needs is taken before it is muted. */
static _Noreturn void draw(const struct replay *r, int pipe_fd)
{
	const struct rlimit seconds = {.rlim_cur = PATIENCE_MS / 1000,
	                               .rlim_max = PATIENCE_MS / 1000};
	const struct rlimit none = {0};
	struct buffer text = {0};
	struct screen *s = NULL;
	struct screen_facts facts;

	(void)prctl(PR_SET_NAME, "nacre-screen", 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)signal(SIGSEGV, SIG_DFL);
	(void)setrlimit(RLIMIT_CPU, &seconds);
	(void)setrlimit(RLIMIT_CORE, &none);
	fd_null_standard();
	fd_close_except(&pipe_fd, 1);
	text.max = screen_text_max(r->largest) + 1;
	if (!r->sizes || !buffer_reserve(&text, text.max - 1) ||
	    screen_new(r->sizes[0].size, r->largest, r->alternate, &s, NULL) < 0 ||
	    sandbox_mute() < 0)
		_exit(1);
	replay_feed(r, s);
	screen_facts(s, &facts);
	for (unsigned i = 0; i < facts.used_rows; i++) {
		screen_row(s, i, &text);
		buffer_putc(&text, '\n');
	}
	_exit(fd_write_all(pipe_fd, &facts, sizeof(facts)) < 0 ||
	      fd_write_all(pipe_fd, text.data, text.len) < 0);
}

/* Nothing is believed: sizes, and that it is text of so many lines. */
static bool is_sound(const struct replay *r, const struct picture *p)
{
	const struct screen_facts *f = &p->facts;
	const char *text = buffer_str(&p->text);
	unsigned lines = 0;

	if (f->rows < 1 || f->rows > r->largest.rows || f->cols < 1 || f->cols > r->largest.cols ||
	    f->used_rows > f->rows || f->cursor_row >= f->rows || f->cursor_col > f->cols ||
	    utf8_valid_prefix(text, p->text.len) != p->text.len)
		return false;
	for (size_t i = 0; i < p->text.len; i++) {
		unsigned char c = (unsigned char)text[i];

		lines += c == '\n';
		if ((c < 0x20 && c != '\n') || c == 0x7f)
			return false;
	}
	return lines == f->used_rows;
}

/* Reads to the end of the pipe; false: it takes too long, or is too much. */
static bool collect(int fd, struct buffer *into)
{
	int64_t end = clock_now_ms() + PATIENCE_MS;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int64_t left;
	char *room;
	ssize_t n;

	while ((left = end - clock_now_ms()) > 0) {
		if (poll(&p, 1, (int)left) <= 0)
			continue;
		room = buffer_reserve(into, STEP_BYTES);
		n = room ? read(fd, room, STEP_BYTES) : -1;
		if (n <= 0)
			return n == 0;
		into->len += (size_t)n;
	}
	return false;
}

static int have_drawn(const struct replay *r, struct buffer *answer, struct error *err)
{
	scoped(fd_closep) int ours = -1;
	scoped(fd_closep) int pidfd = -1;
	bool whole;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_sys(err, errno, "pipe");
	ours = ends[0];
	pid = process_clone(&pidfd);
	if (pid == 0)
		draw(r, ends[1]);
	fd_close(ends[1]);
	if (pid < 0)
		return error_sys(err, (int)-pid, "starting the emulator");
	whole = collect(ours, answer);
	if (!whole)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return whole ? 0 : -EBADMSG;
}

int replay_screen(int dir_fd, uint64_t dropped_at, uint64_t dropped_bytes,
                  struct picture *ret_picture, struct error *err)
{
	scoped(replay_done) struct replay r = {.log = -1};
	scoped(buffer_donep) struct buffer answer = {0};
	scoped(picture_donep) struct picture p = {0};
	int code;

	code = replay_read_sizes(&r, dir_fd, err);
	if (code == 0)
		code = replay_open_log(&r, dir_fd, dropped_at, dropped_bytes, err);
	if (code == 0)
		code = replay_read_window(&r, err);
	if (code < 0)
		return code;
	answer.max = sizeof(p.facts) + screen_text_max(r.largest) + STEP_BYTES;
	code = have_drawn(&r, &answer, err);
	if (code < 0 && code != -EBADMSG)
		return code;
	if (code == 0 && answer.len >= sizeof(p.facts)) {
		memcpy(&p.facts, answer.data, sizeof(p.facts));
		buffer_append(&p.text, answer.data + sizeof(p.facts), answer.len - sizeof(p.facts));
	}
	if (buffer_error(&p.text) < 0)
		return error_nomem(err);
	if (!is_sound(&r, &p))
		return error_set(err, ERROR_INPUT, EBADMSG,
		                 "the output is nothing that a terminal could show");
	*ret_picture = p;
	p = (struct picture){0};
	return 0;
}

bool replay_has_terminal(int dir_fd)
{
	return faccessat(dir_fd, SIZES_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool replay_wants_application_keys(int dir_fd)
{
	scoped(replay_done) struct replay r = {.log = -1};

	return replay_open_log(&r, dir_fd, 0, 0, NULL) == 0 && r.log >= 0 &&
	       replay_mode_is_on(&r, replay_application_keys, r.end);
}
