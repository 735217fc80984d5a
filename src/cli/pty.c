/*
 * The seat: nacre's own terminal is raw, so every key, Ctrl-C included, goes to the terminal of the
 * command. Its output is shown as it is. Nothing else prints meanwhile.
 *
 * The terminal must be restored, however nacre ends. All ends but one pass through
 * pty_seat_leave(). After SIGKILL the guard (base/guard.h) restores the terminal.
 */
#include "cli/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "cli/cli.h"
#include "cli/run-options.h"
#include "engine/job.h"
#include "engine/result.h"
#include "json/write.h"
#include "task/report.h"
#include "process/pty.h"
#include "task/replay.h"

#define AGAIN_MS 10

/* The normal screen, a visible cursor, no colours, no reports of mouse, focus and pasting. */
static const char tidy_up[] =
	"\033[?1047l\033[?25h\033[m\033[?1000l\033[?1002l\033[?1003l\033[?1004l"
	"\033[?1006l\033[?2004l\033[?1l\033>";

void pty_own_size(uint16_t *ret_rows, uint16_t *ret_cols)
{
	struct winsize w;

	if ((ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 && ioctl(STDIN_FILENO, TIOCGWINSZ, &w) < 0) ||
	    !pty_size_is_valid(w.ws_row, w.ws_col))
		w = (struct winsize){.ws_row = PTY_ROWS_DEFAULT, .ws_col = PTY_COLS_DEFAULT};
	*ret_rows = w.ws_row;
	*ret_cols = w.ws_col;
}

int pty_read_size(const char *text, uint16_t *ret_rows, uint16_t *ret_cols)
{
	const char *middle = strchr(text, 'x');
	uint64_t rows, cols;
	char first[8];

	if (!middle || (size_t)(middle - text) >= sizeof(first))
		return -EINVAL;
	memcpy(first, text, (size_t)(middle - text));
	first[middle - text] = '\0';
	if (number_parse_u64(first, &rows) < 0 || number_parse_u64(middle + 1, &cols) < 0 ||
	    rows > PTY_SIDE_MAX || cols > PTY_SIDE_MAX ||
	    !pty_size_is_valid((int64_t)rows, (int64_t)cols))
		return -EINVAL;
	*ret_rows = (uint16_t)rows;
	*ret_cols = (uint16_t)cols;
	return 0;
}

static void write_json(const char *task_id, const struct picture *p, struct buffer *text)
{
	struct json_writer w = {.out = text};
	const char *line = buffer_str(&p->text), *end;

	json_object_begin(&w);
	json_member_string(&w, "task_id", task_id);
	json_member_uint(&w, "rows", p->facts.rows);
	json_member_uint(&w, "cols", p->facts.cols);
	json_member_object(&w, "cursor");
	json_member_uint(&w, "row", p->facts.cursor_row + 1);
	json_member_uint(&w, "col", p->facts.cursor_col + 1);
	json_member_bool(&w, "visible", p->facts.cursor_visible);
	json_object_end(&w);
	json_member_bool(&w, "alternate", p->facts.alternate);
	json_member_array(&w, "lines");
	for (; (end = strchr(line, '\n')); line = end + 1)
		json_put_bytes(&w, line, (size_t)(end - line));
	json_array_end(&w);
	json_object_end(&w);
	buffer_putc(text, '\n');
}

int cli_screen(const char *task_id, int task_dir_fd, const struct keeper_report *report, bool json)
{
	scoped(picture_donep) struct picture p = {0};
	scoped(buffer_donep) struct buffer text = {0};
	const struct keeper_stream *log = report ? &report->streams[0] : NULL;
	struct error err = {0};

	if (replay_screen(task_dir_fd, log ? log->dropped_at : 0, log ? log->dropped_bytes : 0, &p,
	                  &err) < 0) {
		cli_complain("%s: %s", task_id, err.text);
		return EXIT_NACRE_FAILED;
	}
	if (json)
		write_json(task_id, &p, &text);
	else
		buffer_append(&text, buffer_str(&p.text), p.text.len);
	if (buffer_error(&text) < 0 || fd_write_all(STDOUT_FILENO, text.data, text.len) < 0)
		return EXIT_NACRE_FAILED;
	if (!json)
		fprintf(stderr, "[%ux%u, cursor in row %u, column %u%s]\n", p.facts.rows,
		        p.facts.cols, p.facts.cursor_row + 1, p.facts.cursor_col + 1,
		        p.facts.cursor_visible ? "" : ", hidden");
	return 0;
}

bool pty_seat_wanted(const struct run_options *o)
{
	const struct request *rq = &o->request;

	return rq->rows && !o->json && !o->batch && !rq->background && !rq->input &&
	       isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

int pty_seat_prepare(struct run_options *o)
{
	const char *term = getenv("TERM"), *assignment;

	o->request.interactive = true;
	for (int i = 0; i < o->env_count; i++)
		if (strncmp(o->env[i], "TERM=", 5) == 0)
			return 0;
	if (!term || o->env_count == RUN_ENV_MAX)
		return 0;
	assignment = arena_printf(o->arena, "TERM=%s", term);
	if (!assignment)
		return -ENOMEM;
	o->env[o->env_count++] = assignment;
	return 0;
}

static void put_back(const struct termios *before, bool tidy)
{
	if (tidy)
		(void)fd_write_all(STDOUT_FILENO, tidy_up, sizeof(tidy_up) - 1);
	/* Without waiting until all is shown: a terminal that was stopped would hold us. */
	(void)tcsetattr(STDIN_FILENO, TCSANOW, before);
	if (tidy) /* keys and reports that were meant for the command */
		(void)tcflush(STDIN_FILENO, TCIFLUSH);
}

/* In the guard. A terminal that nobody reads would hold it for ever: it is not waited for. */
static void put_back_for(const void *context)
{
	const struct termios *before = context;

	(void)tcsetattr(STDIN_FILENO, TCSANOW, before);
	(void)fd_set_nonblocking(STDOUT_FILENO);
	if (write(STDOUT_FILENO, tidy_up, sizeof(tidy_up) - 1) < 0) {
		/* Then it stays as it is. */
	}
}

static int go_raw(const struct termios *before)
{
	struct termios raw = *before;

	cfmakeraw(&raw);
	return tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0 ? -errno : 0;
}

static int on_keys(struct loop_source *source, uint32_t events);

static int hand_on(struct pty_seat *s);

static int on_again(struct loop_timer *t)
{
	return hand_on(container_of(t, struct pty_seat, again));
}

/* While the keeper does not take it, no more is read. */
static int hand_on(struct pty_seat *s)
{
	if (job_input(s->job, s->typed, s->typed_len) == -EAGAIN) {
		loop_remove(&s->keys);
		return loop_timer_set(s->loop, &s->again, loop_now(s->loop) + AGAIN_MS, on_again);
	}
	s->typed_len = 0; /* a keeper that is gone is noticed elsewhere */
	return s->keys.fd >= 0 ? 0
	                       : loop_add(s->loop, &s->keys, STDIN_FILENO, EPOLLIN, on_keys, NULL);
}

static int on_keys(struct loop_source *source, uint32_t events)
{
	struct pty_seat *s = container_of(source, struct pty_seat, keys);
	ssize_t n = read(STDIN_FILENO, s->typed, sizeof(s->typed));

	if (n > 0) {
		s->typed_len = (size_t)n;
		return hand_on(s);
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	loop_remove(source); /* the terminal is gone, and with it the person */
	job_stop(s->job, false);
	return 0;
}

static int on_signals(struct loop_source *source, uint32_t events)
{
	struct pty_seat *s = container_of(source, struct pty_seat, signals);
	struct signalfd_siginfo info;
	uint16_t rows, cols;

	if (read(source->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	if (info.ssi_signo == SIGCONT) /* whoever had the terminal meanwhile has changed it */
		(void)go_raw(&s->before);
	pty_own_size(&rows, &cols);
	(void)job_resize(s->job, rows, cols);
	return 0;
}

int pty_seat_take(struct pty_seat *s, struct loop *loop, struct job *job, struct error *err)
{
	sigset_t wanted;
	int r;

	*s = (struct pty_seat){.loop = loop, .signal_fd = -1};
	s->keys.fd = s->signals.fd = -1;
	if (tcgetattr(STDIN_FILENO, &s->before) < 0)
		return error_sys(err, errno, "the terminal");
	s->job = job;
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGWINCH);
	sigaddset(&wanted, SIGCONT);
	s->signal_fd = loop_signal_fd(&wanted);
	if (s->signal_fd < 0)
		return error_sys(err, -s->signal_fd, "signals");
	/* Without a guard it is only less safe. */
	(void)guard_post(&s->guard, put_back_for, &s->before, -1);
	r = go_raw(&s->before);
	if (r < 0)
		return error_sys(err, -r, "the terminal");
	r = loop_add(loop, &s->keys, STDIN_FILENO, EPOLLIN, on_keys, err);
	if (r == 0)
		r = loop_add(loop, &s->signals, s->signal_fd, EPOLLIN, on_signals, err);
	return r;
}

void pty_seat_leave(struct pty_seat *s, bool orderly)
{
	if (!s->job)
		return;
	loop_remove(&s->keys);
	loop_remove(&s->signals);
	loop_timer_clear(&s->again);
	put_back(&s->before, !orderly);
	guard_dismiss(&s->guard);
	fd_close(take_fd(&s->signal_fd));
	s->job = NULL;
}
