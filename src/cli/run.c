/*
 * `nacre run`: one request, foreground, as a job. nacre itself only waits: for the job, for
 * signals, and on a terminal for the time to turn the spinner. If it is killed the keeper goes on.
 *
 * A question to a person is asked by the prompt, which has the terminal until the command is
 * started or the job has ended; then the command has it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/batch.h"
#include "cli/changes.h"
#include "cli/cli.h"
#include "cli/early.h"
#include "cli/events.h"
#include "cli/prompt.h"
#include "cli/pty.h"
#include "cli/run-options.h"
#include "cli/run.h"
#include "cli/terminal.h"
#include "engine/dialect.h"
#include "engine/engine.h"
#include "engine/job.h"
#include "engine/result.h"
#include "profile/profile.h"
#include "base/loop.h"

#define TICK_MS           80
#define START_PATIENCE_MS 5000

struct run {
	const struct run_options *options;
	const struct dialect *dialect; /* NULL: the answer has no shape but nacre's own */
	const char *tasks;             /* the directory of them, for people */
	struct loop *loop;
	struct loop_source signals;
	struct loop_timer tick, more, start, look;
	struct engine *engine;
	struct terminal terminal;
	struct early early; /* without a terminal */
	struct events events;
	struct prompt prompt;
	struct pty_seat seat;
	struct job *job;  /* NULL: it has ended */
	bool is_early;    /* output comes while the command runs, though nobody watches */
	bool prompts;     /* a person can be asked here */
	bool interactive; /* somebody wants to sit there */
	int stop_signal;
	int exit_code;
};

static int show_output(struct run *run);

static int on_more(struct loop_timer *t)
{
	return show_output(container_of(t, struct run, more));
}

/* A step at a time, so that a flood does not keep us from signals and from the end. */
static int show_output(struct run *run)
{
	int64_t now = loop_now(run->loop);
	bool more;

	if (run->prompt.job) /* a question must stay in sight; it comes behind it */
		return 0;
	more = run->options->events
	               ? events_output(&run->events, &run->engine->store, job_task_id(run->job))
	               : terminal_follow(&run->terminal, job_task_dir(run->job), now);
	if (run->events.failed)
		job_stop(run->job, false); /* nobody reads any more */
	else if (more)
		return loop_timer_set(run->loop, &run->more, now, on_more);
	return 0;
}

static void on_output(void *owner, struct job *j)
{
	(void)show_output(owner);
}

static void on_note(void *owner, struct job *j, const char *text)
{
	struct run *run = owner;

	terminal_note(&run->terminal, text);
}

/* The first signal asks the command to end, the second insists. Ctrl-Z leaves it to itself. */
static int on_signal(struct loop_source *s, uint32_t events)
{
	struct run *run = container_of(s, struct run, signals);
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	if (info.ssi_signo != SIGTSTP) {
		run->stop_signal = (int)info.ssi_signo;
		job_stop(run->job, false); /* a question stays open: nobody has answered it */
	} else if (!job_asks(run->job)) {
		job_let_go(run->job);
	}
	return 0;
}

static int on_tick(struct loop_timer *t)
{
	struct run *run = container_of(t, struct run, tick);

	if (!run->prompt.job)
		terminal_tick(&run->terminal, loop_now(run->loop));
	return loop_timer_set(run->loop, t, loop_now(run->loop) + TICK_MS, on_tick);
}

static int on_early(struct loop_timer *t)
{
	struct run *run = container_of(t, struct run, look);

	/* As in any pipeline: who writes for nobody ends. */
	if (early_look(&run->early, job_task_dir(run->job)) < 0) {
		job_stop(run->job, false);
		return 0;
	}
	return loop_timer_set(run->loop, t, loop_now(run->loop) + EARLY_MS, on_early);
}

/* The start of a background command takes long: somebody will see in the list what becomes of it.
 */
static int on_start_late(struct loop_timer *t)
{
	job_let_go(container_of(t, struct run, start)->job);
	return 0;
}

/* The command has a keeper. */
static void begin(struct run *run)
{
	const struct request *rq = &run->options->request;
	int64_t now = loop_now(run->loop);
	struct error err = {0};
	int r = 0;

	terminal_begin(&run->terminal, rq->description, now);
	if (rq->background)
		r = loop_timer_set(run->loop, &run->start, now + START_PATIENCE_MS, on_start_late);
	if (r == 0 && run->terminal.fancy)
		r = loop_timer_set(run->loop, &run->tick, now + TICK_MS, on_tick);
	/* A command that may become a task has its id alone on the output. */
	if (r == 0 && run->is_early && !rq->background &&
	    run->engine->profile->timeout.act != PROFILE_TIMEOUT_BACKGROUND)
		r = loop_timer_set(run->loop, &run->look, now + EARLY_MS, on_early);
	if (r < 0)
		error_nomem(&err);
	else if (run->interactive)
		r = pty_seat_take(&run->seat, run->loop, run->job, &err);
	if (r < 0) {
		cli_complain("%s", err.text);
		job_stop(run->job, true);
	}
}

static void on_asked(void *owner, struct job *j, const struct approval *a)
{
	struct run *run = owner;
	struct error err = {0};

	if (run->options->events)
		events_asked(&run->events, a);
	if (job_task_id(j) && run->interactive)
		return; /* its keys are the command's */
	terminal_clear(&run->terminal);
	if (run->prompts && prompt_begin(&run->prompt, run->loop, j, &err) < 0) {
		cli_complain("%s", err.text);
		job_give_up(j);
	}
}

static void on_approved(void *owner, struct job *j)
{
	struct run *run = owner;

	prompt_end(&run->prompt);
	begin(run);
}

static void on_answered(void *owner, struct job *j)
{
	struct run *run = owner;

	prompt_end(&run->prompt);
	(void)show_output(run);
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

static void print_stages(const struct result *r)
{
	scoped(buffer_donep) struct buffer text = {0};

	for (int i = 0; i < r->stage_count; i++)
		buffer_printf(&text, "%s%d", i ? ", " : "", r->stages[i]);
	if (text.len > 0)
		cli_complain("exit %d; stages %s", r->exit_code, buffer_str(&text));
}

static int print_text(const struct result *r, const struct run *run)
{
	const struct terminal *t = &run->terminal;
	int code = 0;

	for (int i = 0; i < 2 && code == 0; i++) {
		const struct view *v = &r->views[i];
		int to = i == 0 || r->output_mode == OUTPUT_STDERR ? STDOUT_FILENO : STDERR_FILENO;

		if (!result_shows(r, i) || r->background) /* then it has the id alone */
			continue;
		/* What was shown live is not repeated. */
		if (v->len > 0 && (!t->live || t->shown[i] == 0)) {
			size_t before = early_written(&run->early, i, v->text, v->len);

			code = fd_write_all(to, v->text + before, v->len - before);
		}
		if (code == 0 && !t->live && result_notice(r, i))
			cli_complain("%s", result_notice(r, i));
	}
	if (r->background)
		code = print_task(r, t);
	if (r->reason[0])
		cli_complain("%s", r->reason);
	print_stages(r);
	print_advice(r);
	cli_print_changes(r, run->options->request.dry_run);
	for (int i = 0; i < r->notice_count; i++)
		cli_complain("%s", r->notices[i]);
	return code;
}

static void leave_terminal(struct run *run, bool orderly)
{
	prompt_end(&run->prompt);
	pty_seat_leave(&run->seat, orderly);
	loop_timer_clear(&run->start);
	loop_timer_clear(&run->tick);
	loop_timer_clear(&run->more);
	loop_timer_clear(&run->look);
}

static bool on_ended(void *owner, struct job *j, struct result *result)
{
	struct run *run = owner;
	bool json = run->options->json || run->dialect;
	int r;

	if (run->options->events && result->ran && !result->background)
		events_output_end(&run->events, &run->engine->store, job_task_id(j));
	if (run->terminal.live && result->ran && !result->background)
		terminal_follow_end(&run->terminal, job_task_dir(j), result->report.streams);
	leave_terminal(run, !result->reason[0] && !result->signal);
	run->job = NULL;
	loop_stop(run->loop);
	/* From here on there is nothing to end but ourselves, should nobody read what we print. */
	(void)sigprocmask(SIG_SETMASK, &(sigset_t){0}, NULL);
	if ((result->stopped || !result->ran) && run->stop_signal)
		result->exit_code = 128 + run->stop_signal;
	run->exit_code = result->exit_code;
	terminal_end(&run->terminal, result);
	if (run->options->outcome) {
		struct run_outcome *o = run->options->outcome;

		memcpy(o->task_id, result->task_id, sizeof(o->task_id));
		o->kept = strcmp(result->report.changes.state, "kept") == 0;
	}
	if (run->options->events)
		r = events_result(&run->events, result);
	else
		r = json ? print_json(result, run->dialect) : print_text(result, run);
	if (r < 0) {
		/* Nobody got the result: what it stands on is kept. */
		cli_complain("standard output: %s", strerrordesc_np(-r));
		if (result->task_id[0])
			cli_complain("the output of task %s is kept in %s", result->task_id,
			             run->tasks);
		run->exit_code = EXIT_NACRE_FAILED;
	}
	return r == 0;
}

static const struct job_ops ops = {
	.output = on_output,
	.note = on_note,
	.asked = on_asked,
	.answered = on_answered,
	.approved = on_approved,
	.ended = on_ended,
};

/* To its end. */
static int run_job(struct run *run, struct engine *engine, int signal_fd, struct error *err)
{
	int r = loop_new(&run->loop, err);

	if (r == 0)
		r = loop_add(run->loop, &run->signals, signal_fd, EPOLLIN, on_signal, err);
	if (r == 0)
		r = job_start(engine, run->loop, &run->options->request, NULL, &ops, run, &run->job,
		              err);
	if (r == 0) {
		run->terminal.mode = job_output_mode(run->job);
		early_init(&run->early, job_view(run->job), run->terminal.mode);
		if (job_task_id(run->job))
			begin(run);
		r = loop_run(run->loop);
	}
	if (run->job) {
		error_sys(err, -r, "waiting for the command");
		leave_terminal(run, false);
		job_stop(run->job, true);
		job_leave(run->job);
	}
	loop_remove(&run->signals);
	run->loop = loop_free(run->loop);
	return r;
}

int cli_run_one(struct engine *engine, struct run_options *o, const struct dialect *dialect,
                int signal_fd)
{
	struct run run = {.options = o,
	                  .dialect = dialect,
	                  .tasks = engine->store.path,
	                  .engine = engine,
	                  .signals = {.fd = -1},
	                  .early = EARLY_INIT,
	                  .exit_code = EXIT_NACRE_FAILED,
	                  .interactive = !dialect && pty_seat_wanted(o)};
	bool text = !o->json && !o->events && !dialect;
	struct error err = {0};

	terminal_init(&run.terminal, text, o->quiet || run.interactive, o->request.output_mode);
	run.terminal.raw = run.interactive;
	if (run.interactive && pty_seat_prepare(o) < 0)
		return EXIT_NACRE_FAILED;
	run.is_early = text && !run.terminal.live;
	o->request.follow = (run.terminal.live || o->events) && !o->request.background;
	run.prompts = text && prompt_is_possible();
	o->request.can_ask |= run.prompts;
	engine->ahead = true;
	if (run_job(&run, engine, signal_fd, &err) < 0)
		cli_complain("%s", err.text);
	terminal_done(&run.terminal);
	early_done(&run.early);
	events_done(&run.events);
	return run.exit_code;
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
