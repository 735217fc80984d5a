/*
 * The prompt speaks with /dev/tty and with nothing else: standard input belongs to the command,
 * standard output to whoever reads the result. Keys come one by one and without an echo, Ctrl-C
 * included, which is a no here. What was typed before the question was shown is thrown away: it was
 * meant for something else.
 *
 * A terminal speaks by itself, too: it answers questions that a command has printed, and tells that
 * it lost the focus, with letters among other bytes. So a yes is a key that comes alone, and all
 * that comes with an escape, and shortly behind it, is no key.
 *
 * The terminal is put back on every way out; after SIGKILL the guard (base/guard.h) does it.
 */
#include "cli/prompt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include "approval/text.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/guard.h"
#include "cli/desk.h"
#include "engine/job.h"

#define CTRL_C 3
#define CTRL_D 4
#define ESCAPE 27

#define QUIET_MS 200 /* behind the last byte of a sequence: it may come in parts */

static int open_tty(void)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	/* In the background we would be stopped when we touch it. */
	if (fd >= 0 && tcgetpgrp(fd) != getpgrp()) {
		fd_close(fd);
		return -1;
	}
	return fd;
}

bool prompt_is_possible(void)
{
	scoped(fd_closep) int tty = isatty(STDERR_FILENO) ? open_tty() : -1;

	return tty >= 0;
}

/* The terminal */

static void say(struct prompt *p, const char *text)
{
	if (p->tty >= 0)
		(void)fd_write_all(p->tty, text, strlen(text));
}

static bool session_is_possible(const struct approval *a)
{
	return a->session && a->exact.count;
}

static void show_keys(struct prompt *p, const struct approval *a)
{
	say(p, session_is_possible(a) ? "[o]nce  for the [s]ession  [d]eny  [e]xplain? "
	                              : "[o]nce  [d]eny  [e]xplain? ");
}

static void show_question(struct prompt *p, const struct approval *a)
{
	scoped(buffer_donep) struct buffer text = {0};

	buffer_printf(&text, "nacre: this needs your approval (%s):\n", a->id);
	approval_print(a, &text);
	say(p, buffer_str(&text));
	show_keys(p, a);
}

static void show_details(struct prompt *p, const struct approval *a)
{
	scoped(buffer_donep) struct buffer text = {0};

	buffer_puts(&text, "explain\n");
	approval_print_details(a, clock_wall_ms(), &text);
	say(p, buffer_str(&text));
	show_keys(p, a);
}

/* In the guard. */
static void put_back_for(const void *context)
{
	const struct prompt *p = context;

	(void)tcsetattr(p->tty, TCSANOW, &p->before);
}

static int go_raw(struct prompt *p)
{
	struct termios raw;

	if (tcgetattr(p->tty, &p->before) < 0)
		return -errno;
	/* Without a guard it is only less safe. */
	(void)guard_post(&p->guard, put_back_for, p, p->tty);
	raw = p->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(p->tty, TCSAFLUSH, &raw) < 0)
		return -errno;
	p->raw = true;
	return 0;
}

static void put_back(struct prompt *p)
{
	if (p->raw)
		(void)tcsetattr(p->tty, TCSANOW, &p->before);
	p->raw = false;
	guard_dismiss(&p->guard);
}

/* Answers */

/* Whatever came of it, there is nothing more to be asked here. Where somebody else was first, that
 * is what counts; an answer that cannot be kept is a no. */
static void answer(struct prompt *p, enum approval_answer what, const char *echo)
{
	struct error err = {0};
	char by[128];
	int r;

	cli_name_person(STDERR_FILENO, NULL, by, sizeof(by)); /* /dev/tty has no name */
	r = job_answer(p->job, what, by, NULL, &err);
	p->answered = r == 0;
	if (r == 0) {
		say(p, echo);
	} else {
		say(p, "\nnacre: ");
		say(p, err.text);
	}
	say(p, "\n");
	loop_remove(&p->keys);
	if (r < 0 && r != -EALREADY && r != -ETIME)
		job_give_up(p->job);
}

static void take_key(struct prompt *p, const struct approval *a, char key, bool alone)
{
	switch (key) {
	case 'o':
	case 'O':
		if (alone)
			answer(p, APPROVAL_ONCE, "once");
		break;
	case 's':
	case 'S':
		if (alone && session_is_possible(a))
			answer(p, APPROVAL_SESSION, "session");
		break;
	case 'd':
	case 'D':
	case CTRL_C:
	case CTRL_D:
		answer(p, APPROVAL_DENY, "deny");
		break;
	case 'e':
	case 'E':
		show_details(p, a);
		break;
	default:
		break;
	}
}

/* Not typed, but sent by the terminal itself. */
static bool is_sequence(struct prompt *p, const char *keys, size_t n)
{
	int64_t now = loop_now(p->loop);
	bool begins = false;

	for (size_t i = 0; i < n; i++)
		if (keys[i] == CTRL_C)
			return false;
		else if (keys[i] == ESCAPE || (keys[i] & 0x80))
			begins = true;
	if (!begins && now >= p->deaf_until)
		return false;
	p->deaf_until = now + QUIET_MS;
	return true;
}

static int on_key(struct loop_source *s, uint32_t events)
{
	struct prompt *p = container_of(s, struct prompt, keys);
	const struct approval *a = job_asks(p->job);
	char keys[256];
	ssize_t n = read(s->fd, keys, sizeof(keys));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (!a)
		loop_remove(s);
	else if (n <= 0) /* the terminal is gone, and with it the person */
		answer(p, APPROVAL_DENY, "");
	else if (!is_sequence(p, keys, (size_t)n))
		for (ssize_t i = 0; i < n && p->keys.fd >= 0; i++)
			take_key(p, a, keys[i], n == 1);
	return 0;
}

int prompt_begin(struct prompt *p, struct loop *loop, struct job *job, struct error *err)
{
	int r;

	*p = (struct prompt){.job = job, .loop = loop, .tty = open_tty(), .keys = {.fd = -1}};
	if (p->tty < 0)
		return 0; /* it was ours a moment ago; others can answer */
	r = go_raw(p);
	if (r < 0)
		return error_sys(err, -r, "the terminal");
	show_question(p, job_asks(job));
	return loop_add(loop, &p->keys, p->tty, EPOLLIN, on_key, err);
}

void prompt_end(struct prompt *p)
{
	if (!p->job)
		return;
	loop_remove(&p->keys);
	if (!p->answered)
		say(p, "\n");
	put_back(p);
	fd_close(p->tty);
	p->job = NULL;
}
