/*
 * `nacre run`: one request, foreground. nacre itself only waits: for the keeper's packets, for
 * signals, and on a terminal for the time to turn the spinner. If it is killed the keeper goes on.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/batch.h"
#include "cli/cli.h"
#include "cli/prompt.h"
#include "cli/pty.h"
#include "cli/run-options.h"
#include "cli/run.h"
#include "cli/terminal.h"
#include "engine/dialect.h"
#include "engine/engine.h"
#include "engine/result.h"
#include "base/loop.h"

#define TICK_MS           80
#define GRACE_MAX_MS      60000
#define START_PATIENCE_MS 5000
#define STOP_PATIENCE_MS  20000 /* beyond all of the keeper's own limits */

struct run {
	struct loop *loop;
	struct loop_source control, signals;
	struct loop_timer tick, more, watchdog;
	struct terminal terminal;
	struct engine_run *engine_run;
	int stop_signal;
	struct pty_seat seat;
	bool interactive; /* somebody wants to sit there */
	bool background;  /* it is not waited for, only for its start */
};

static int show_output(struct run *run);

static int on_more(struct loop_timer *t)
{
	return show_output(container_of(t, struct run, more));
}

/* A step at a time, so that a flood does not keep us from signals and from the end. */
static int show_output(struct run *run)
{
	struct task *task = engine_run_task(run->engine_run);
	int64_t now = loop_now(run->loop);

	if (terminal_follow(&run->terminal, task_dir(task), now))
		return loop_timer_set(run->loop, &run->more, now, on_more);
	return 0;
}

static int on_packet(struct loop_source *s, uint32_t events)
{
	struct run *run = container_of(s, struct run, control);
	struct task *task = engine_run_task(run->engine_run);

	switch (task_receive(task)) {
	case TASK_NOTHING:
		break;
	case TASK_OUTPUT:
		return show_output(run);
	case TASK_NOTE:
		terminal_note(&run->terminal, task->note);
		break;
	case TASK_STARTED:
	case TASK_LET_GO:
		engine_run_let_go(run->engine_run, !run->background);
		loop_stop(run->loop);
		break;
	case TASK_ENDED:
	case TASK_LOST:
		terminal_follow_end(&run->terminal, task_dir(task),
		                    task->lost ? NULL : task->report.streams);
		loop_stop(run->loop);
		break;
	}
	return 0;
}

static int on_watchdog(struct loop_timer *t);

/* The first signal asks the command to end, the second insists. Ctrl-Z leaves it to itself. */
static int on_signal(struct loop_source *s, uint32_t events)
{
	struct run *run = container_of(s, struct run, signals);
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	if (info.ssi_signo == SIGTSTP) {
		engine_run_let_go(run->engine_run, false);
		loop_stop(run->loop);
		return 0;
	}
	task_stop(engine_run_task(run->engine_run), run->stop_signal != 0);
	run->stop_signal = (int)info.ssi_signo;
	return loop_timer_set(run->loop, &run->watchdog,
	                      loop_now(run->loop) + STOP_PATIENCE_MS + GRACE_MAX_MS, on_watchdog);
}

static int on_tick(struct loop_timer *t)
{
	struct run *run = container_of(t, struct run, tick);

	terminal_tick(&run->terminal, loop_now(run->loop));
	return loop_timer_set(run->loop, t, loop_now(run->loop) + TICK_MS, on_tick);
}

/* A keeper that was stopped or starved does not report: without it, its init ends the command. */
static int on_watchdog(struct loop_timer *t)
{
	struct run *run = container_of(t, struct run, watchdog);

	task_kill_keeper(engine_run_task(run->engine_run));
	return 0;
}

/* The start of a background command takes long: somebody will see in the list what becomes of it.
 */
static int on_start_late(struct loop_timer *t)
{
	struct run *run = container_of(t, struct run, watchdog);

	engine_run_let_go(run->engine_run, false);
	loop_stop(run->loop);
	return 0;
}

static int wait_for_end(struct run *run, int signal_fd, int64_t patience_ms, struct error *err)
{
	struct task *task = engine_run_task(run->engine_run);
	int64_t now;
	int r;

	r = loop_new(&run->loop, err);
	if (r < 0)
		return r;
	now = loop_now(run->loop);
	r = loop_add(run->loop, &run->control, task->control, EPOLLIN, on_packet, err);
	if (r == 0)
		r = loop_add(run->loop, &run->signals, signal_fd, EPOLLIN, on_signal, err);
	if (r == 0)
		r = run->background ? loop_timer_set(run->loop, &run->watchdog,
		                                     now + START_PATIENCE_MS, on_start_late)
		                    : loop_timer_set(run->loop, &run->watchdog, now + patience_ms,
		                                     on_watchdog);
	if (r == 0 && run->terminal.fancy)
		r = loop_timer_set(run->loop, &run->tick, now + TICK_MS, on_tick);
	if (r == 0 && run->interactive)
		r = pty_seat_take(&run->seat, run->loop, task, err);
	if (r == 0)
		r = loop_run(run->loop);
	pty_seat_leave(&run->seat, r == 0 && !task->lost && task->report.end == KEEPER_END_EXITED &&
	                                   WIFEXITED(task->report.status));
	loop_remove(&run->control);
	loop_remove(&run->signals);
	loop_timer_clear(&run->watchdog);
	loop_timer_clear(&run->tick);
	loop_timer_clear(&run->more);
	run->loop = loop_free(run->loop);
	return r;
}

static int print_json(const struct result *r, const struct dialect *dialect)
{
	scoped(buffer_donep) struct buffer text = {0};
	int code = dialect ? dialect_write_result(dialect, r, &text) : result_write_json(r, &text);

	buffer_putc(&text, '\n');
	if (code < 0 || buffer_error(&text) < 0)
		return -ENOMEM;
	return fd_write_all(STDOUT_FILENO, text.data, text.len);
}

/* What a person or a model could do instead. */
static void print_advice(const struct result *r)
{
	scoped(buffer_donep) struct buffer text = {0};

	for (int i = 0; i < r->recommended_count; i++)
		buffer_printf(&text, "%s%s", i ? ", " : "", r->recommended[i]);
	if (text.len > 0)
		cli_complain("use instead: %s", buffer_str(&text));
	if (r->verdict && strcmp(r->verdict, "allow") != 0 && r->rule_file[0])
		cli_complain("rule %s (%s:%u)", r->rule_id, r->rule_file, r->rule_line);
}

/* Standard output has the id alone, for whoever calls this in a script. */
static int print_task(const struct result *r, const struct terminal *t)
{
	scoped(buffer_donep) struct buffer text = {0};

	if (t->status)
		terminal_show_task(t, r);
	else
		cli_complain("%s; its output is in %s", r->note, r->output_files[0]);
	buffer_printf(&text, "%s\n", r->task_id);
	return t->live && t->status ? 0 : fd_write_all(STDOUT_FILENO, text.data, text.len);
}

static int print_text(const struct result *r, const struct terminal *t)
{
	int code = 0;

	for (int i = 0; i < 2 && code == 0; i++) {
		const struct view *v = &r->views[i];
		int to = i == 0 || r->output_mode == OUTPUT_STDERR ? STDOUT_FILENO : STDERR_FILENO;

		if (!result_shows(r, i))
			continue;
		/* What was shown live is not repeated. */
		if (!t->live || t->shown[i] == 0)
			code = fd_write_all(to, v->text ? v->text : "", v->len);
		if (code == 0 && !t->live && result_notice(r, i))
			cli_complain("%s", result_notice(r, i));
	}
	if (r->background)
		code = print_task(r, t);
	if (r->reason[0])
		cli_complain("%s", r->reason);
	print_advice(r);
	for (int i = 0; i < r->notice_count; i++)
		cli_complain("%s", r->notices[i]);
	return code;
}

int cli_run_one(struct engine *engine, struct run_options *o, const struct dialect *dialect,
                int signal_fd)
{
	struct run run = {.background = o->request.background,
	                  .interactive = !dialect && pty_seat_wanted(o)};
	scoped(result_donep) struct result result = {0};
	struct error err = {0};
	int r, exit_code;
	bool prompts;

	terminal_init(&run.terminal, !o->json && !dialect, o->quiet || run.interactive,
	              o->request.output_mode);
	run.terminal.raw = run.interactive;
	if (run.interactive && pty_seat_prepare(o) < 0)
		return EXIT_NACRE_FAILED;
	o->request.follow = run.terminal.live && !run.background;
	prompts = !o->json && !dialect && prompt_is_possible();
	o->request.can_ask |= prompts;
	engine->ahead = true;
	r = engine_start(engine, &o->request, &run.engine_run, &err);
	if (r < 0) {
		cli_complain("%s", err.text);
		return EXIT_NACRE_FAILED;
	}
	run.terminal.mode = engine_run_output_mode(run.engine_run);
	if (engine_run_asks(run.engine_run) &&
	    prompt_wait(engine, run.engine_run, prompts, signal_fd, &run.stop_signal, &err) < 0)
		cli_complain("%s", err.text);
	if (engine_run_task(run.engine_run)) {
		terminal_begin(&run.terminal, o->request.description, clock_now_ms());
		r = wait_for_end(&run, signal_fd, engine_run_patience_ms(run.engine_run), &err);
		if (r < 0) {
			cli_complain("%s", err.text);
			task_abandon(engine_run_task(run.engine_run));
		}
	}
	/* From here on there is nothing to end but ourselves, should nobody read what we print. */
	(void)sigprocmask(SIG_SETMASK, &(sigset_t){0}, NULL);
	engine_result(engine, run.engine_run, &result);
	exit_code = result.exit_code;
	if ((result.stopped || !result.ran) && run.stop_signal)
		exit_code = result.exit_code = 128 + run.stop_signal;
	terminal_end(&run.terminal, &result);
	r = o->json || dialect ? print_json(&result, dialect) : print_text(&result, &run.terminal);
	terminal_done(&run.terminal);
	if (r < 0) {
		/* Nobody got the result: what it stands on is kept. */
		cli_complain("standard output: %s", strerrordesc_np(-r));
		if (result.task_id[0])
			cli_complain("the output of task %s is kept in %s", result.task_id,
			             engine->store.path);
		exit_code = EXIT_NACRE_FAILED;
	}
	engine_run_done(engine, run.engine_run, result.output_kept || r < 0);
	return exit_code;
}

/* The signals that end a command; one that we were started to ignore (nohup) stays ignored. */
static void ending_signals(sigset_t *ret_set)
{
	static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
	struct sigaction now;

	sigemptyset(ret_set);
	for (size_t i = 0; i < array_size(wanted); i++)
		if (sigaction(wanted[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(ret_set, wanted[i]);
}

int cli_signal_fd(bool stoppable)
{
	sigset_t signals;
	int fd;

	ending_signals(&signals);
	if (!stoppable)
		sigdelset(&signals, SIGTSTP);
	fd = loop_signal_fd(&signals);
	if (fd < 0)
		cli_complain("signals: %s", strerrordesc_np(-fd));
	return fd;
}

int cli_run_main(void *options, int argc, char **argv)
{
	scoped(fd_closep) int signal_fd = -1;
	struct run_options *o = options;
	struct engine engine;
	int exit_code;

	if (run_options_check(o, argc, argv) < 0)
		return EXIT_NACRE_FAILED;
	signal_fd = cli_signal_fd(!o->batch && isatty(STDOUT_FILENO));
	if (signal_fd < 0)
		return EXIT_NACRE_FAILED;
	engine_init(&engine, (const char *const *)environ);
	engine.wishes = o->wishes;
	exit_code = o->batch ? cli_batch(&engine, o, signal_fd)
	                     : cli_run_one(&engine, o, NULL, signal_fd);
	engine_done(&engine);
	return exit_code;
}
