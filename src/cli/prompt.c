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
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>
#include "approval/text.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/guard.h"
#include "cli/desk.h"
#include "engine/engine.h"
#include "base/loop.h"

#define CTRL_C 3
#define CTRL_D 4
#define ESCAPE 27

#define QUIET_MS 200 /* behind the last byte of a sequence: it may come in parts */

struct prompt {
	struct engine *engine;
	struct engine_run *run;
	struct loop *loop;
	struct loop_source keys, answer, signals;
	struct loop_timer look;
	int tty; /* -1: nobody is asked here */
	bool raw;
	struct termios before;
	struct guard guard; /* puts the terminal back if we cannot */
	int signal;
	int64_t deaf_until; /* the time of the loop */
	bool answered;      /* here */
};

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

static int look(struct prompt *p);

static int on_look(struct loop_timer *t)
{
	return look(container_of(t, struct prompt, look));
}

static int on_answer(struct loop_source *s, uint32_t events)
{
	return look(container_of(s, struct prompt, answer));
}

static int look(struct prompt *p)
{
	int64_t until, next;

	if (engine_run_asked(p->engine, p->run)) {
		if (!p->answered)
			say(p, "\n");
		loop_stop(p->loop);
		return 0;
	}
	until = engine_run_ask_until(p->run);
	next = loop_now(p->loop) + ENGINE_ASK_LOOK_MS;
	return loop_timer_set(p->loop, &p->look, next < until ? next : until, on_look);
}

static int answer(struct prompt *p, enum approval_answer what, const char *echo)
{
	struct error err = {0};
	char by[128];
	int r;

	cli_name_person(STDERR_FILENO, NULL, by, sizeof(by)); /* /dev/tty has no name */
	r = engine_run_answer(p->run, what, by, NULL, &err);
	p->answered = r == 0;
	if (r == 0) {
		say(p, echo);
	} else {
		say(p, "\nnacre: ");
		say(p, err.text);
	}
	say(p, "\n");
	/* Somebody else was first: that is what counts. An answer that cannot be kept is a no. */
	if (r < 0 && r != -EALREADY && r != -ETIME)
		engine_run_give_up(p->run);
	return look(p);
}

static int take_key(struct prompt *p, const struct approval *a, char key, bool alone)
{
	switch (key) {
	case 'o':
	case 'O':
		return alone ? answer(p, APPROVAL_ONCE, "once") : 0;
	case 's':
	case 'S':
		return alone && session_is_possible(a) ? answer(p, APPROVAL_SESSION, "session") : 0;
	case 'd':
	case 'D':
	case CTRL_C:
	case CTRL_D:
		return answer(p, APPROVAL_DENY, "deny");
	case 'e':
	case 'E':
		show_details(p, a);
		return 0;
	default:
		return 0;
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
	const struct approval *a = engine_run_asks(p->run);
	char keys[256];
	ssize_t n = read(s->fd, keys, sizeof(keys));
	int r = 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (!a)
		return look(p);
	if (n <= 0) /* the terminal is gone, and with it the person */
		return answer(p, APPROVAL_DENY, "");
	if (is_sequence(p, keys, (size_t)n))
		return 0;
	for (ssize_t i = 0; i < n && r == 0 && !p->answered && engine_run_asks(p->run); i++)
		r = take_key(p, a, keys[i], n == 1);
	return r;
}

/* The question stays open: who is ended has not answered it. */
static int on_signal(struct loop_source *s, uint32_t events)
{
	struct prompt *p = container_of(s, struct prompt, signals);
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) != (ssize_t)sizeof(info) || info.ssi_signo == SIGTSTP)
		return 0;
	p->signal = (int)info.ssi_signo;
	engine_run_give_up(p->run);
	return look(p);
}

static int wait_for_answer(struct prompt *p, int signal_fd, struct error *err)
{
	int watch = engine_run_ask_fd(p->run), r;

	r = loop_add(p->loop, &p->signals, signal_fd, EPOLLIN, on_signal, err);
	if (r == 0 && watch >= 0)
		r = loop_add(p->loop, &p->answer, watch, EPOLLIN, on_answer, err);
	if (r == 0 && p->tty >= 0)
		r = loop_add(p->loop, &p->keys, p->tty, EPOLLIN, on_key, err);
	if (r == 0)
		r = loop_timer_set(p->loop, &p->look, loop_now(p->loop), on_look);
	if (r == 0)
		r = loop_run(p->loop);
	loop_remove(&p->signals);
	loop_remove(&p->answer);
	engine_run_ask_done(p->run);
	loop_remove(&p->keys);
	loop_timer_clear(&p->look);
	return r;
}

int prompt_wait(struct engine *e, struct engine_run *run, bool here, int signal_fd, int *ret_signal,
                struct error *err)
{
	struct prompt p = {.engine = e,
	                   .run = run,
	                   .tty = here ? open_tty() : -1,
	                   .keys = {.fd = -1},
	                   .answer = {.fd = -1},
	                   .signals = {.fd = -1}};
	int r = loop_new(&p.loop, err);

	if (r == 0 && p.tty >= 0) {
		r = go_raw(&p);
		if (r < 0)
			error_sys(err, -r, "the terminal");
		else
			show_question(&p, engine_run_asks(run));
	}
	if (r == 0)
		r = wait_for_answer(&p, signal_fd, err);
	put_back(&p);
	fd_close(p.tty);
	p.loop = loop_free(p.loop);
	if (r < 0) {
		engine_run_give_up(run);
		(void)engine_run_asked(e, run);
	}
	*ret_signal = p.signal;
	return r;
}
