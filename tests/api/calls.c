/*
 * What the calls promise, one scenario each.
 */
#include <poll.h>
#include <signal.h>
#include "host.h"

static void runs_a_line_in_the_box(void)
{
	struct nacre_context *c = context();
	struct nacre_result *r = run(c, "echo out; echo err >&2; exit 3");

	CHECK(r->size == sizeof(*r) && NACRE_HAS(r, json));
	CHECK(r->flags & NACRE_RAN && !(r->flags & NACRE_SUCCESS));
	CHECK(r->exit_code == 3 && r->signal == 0 && r->verdict == NACRE_VERDICT_ALLOW);
	CHECK(strstr(r->out, "out\n") && r->out_bytes == strlen(r->out));
	CHECK(strstr(r->json, "\"exit_code\":3") && strstr(r->json, "\"tier\":\""));
	CHECK(!strstr(r->json, "\"tier\":\"none\""));
	nacre_result_free(r);
	r = run(c, "grep NoNewPrivs /proc/self/status");
	CHECK(strstr(r->out, "NoNewPrivs:\t1"));
	nacre_result_free(r);
	nacre_result_free(NULL);
	nacre_context_free(c);
	nacre_context_free(NULL);
}

static void takes_words_input_and_variables(void)
{
	static const char *const argv[] = {"sh", "-c", "cat; echo \"$A-$#\"", "sh", "a b", NULL};
	static const char *const env[] = {"A=value", NULL};
	struct nacre_request rq = NACRE_REQUEST_INIT;
	struct nacre_context *c = context();
	struct nacre_result *r;

	rq.argv = argv;
	rq.env = env;
	rq.input = "typed\n";
	rq.input_bytes = 6;
	rq.output_mode = NACRE_OUTPUT_SEPARATE;
	rq.description = "what it is for";
	CHECK(nacre_run(c, &rq, &r, NULL) == 0);
	CHECK(strcmp(r->out, "typed\nvalue-1\n") == 0 && r->err_bytes == 0 && *r->err == '\0');
	CHECK(r->written[0] == 14 && r->duration_ms >= 0);
	nacre_result_free(r);
	nacre_context_free(c);
}

static void a_refusal_is_a_result(void)
{
	struct nacre_request rq = NACRE_REQUEST_INIT;
	struct nacre_options o = NACRE_OPTIONS_INIT;
	struct nacre_explanation *x;
	struct nacre_context *c;
	struct nacre_job *j;
	struct nacre_result *r;

	o.profile = "readonly";
	CHECK(nacre_context_new(&o, &c, NULL) == 0);
	rq.command = "python3 x.py";
	CHECK(nacre_start(c, &rq, &j, NULL) == 0);
	CHECK(*nacre_job_task_id(j) == '\0');
	/* Its descriptor shows it, though nothing ever ran. */
	CHECK(poll(&(struct pollfd){.fd = nacre_job_fd(j), .events = POLLIN}, 1, 0) == 1);
	CHECK(nacre_poll(j, 0, &r, NULL) == 0);
	CHECK(!(r->flags & NACRE_RAN) && r->exit_code == 126 && r->verdict == NACRE_VERDICT_DENY);
	CHECK(*r->reason && *r->rule && *r->task_id == '\0');
	CHECK(nacre_poll(j, 0, &r, NULL) == -ESRCH); /* given out once */
	nacre_job_free(j);
	CHECK(nacre_explain(c, &rq, &x, NULL) == 0);
	CHECK(x->verdict == NACRE_VERDICT_DENY && strcmp(x->reason, r->reason) == 0 &&
	      strcmp(x->rule, r->rule) == 0 && strstr(x->json, "\"verdict\":\"deny\""));
	nacre_explanation_free(x);
	nacre_result_free(r);
	rq.command = "ls";
	CHECK(nacre_explain(c, &rq, &x, NULL) == 0 && x->verdict == NACRE_VERDICT_ALLOW);
	nacre_explanation_free(x);
	nacre_explanation_free(NULL);
	nacre_context_free(c);
}

static void ends_what_takes_too_long(void)
{
	struct nacre_request rq = NACRE_REQUEST_INIT;
	struct nacre_context *c = context();
	struct nacre_result *r;

	rq.command = "sleep 1000 & sleep 1000";
	rq.timeout_ms = 300;
	CHECK(nacre_run(c, &rq, &r, NULL) == 0);
	CHECK(r->flags & NACRE_TIMED_OUT && r->exit_code == 124 && *r->reason);
	nacre_result_free(r);
	nacre_context_free(c);
}

static void polls_and_frees(void)
{
	struct nacre_context *c = context();
	struct nacre_job *j = start(c, "read x </dev/zero; sleep 1000", 0), *k;
	struct nacre_result *r = NULL;
	struct nacre_error err;

	CHECK(nacre_poll(j, 0, &r, &err) == -EAGAIN && !r && err.code == -EAGAIN);
	CHECK(nacre_poll(j, 50, &r, NULL) == -EAGAIN);
	k = start(c, "echo quick", 0); /* beside it */
	CHECK(poll(&(struct pollfd){.fd = nacre_job_fd(k), .events = POLLIN}, 1, 60000) == 1);
	CHECK(nacre_poll(k, 60000, &r, NULL) == 0 && strcmp(r->out, "quick\n") == 0);
	nacre_result_free(r);
	nacre_job_free(k);
	nacre_job_free(j); /* ends it; the test looks for what is left */
	nacre_job_free(NULL);
	nacre_context_free(c);
}

/* At whatever moment of its start a command is given up: the test looks for what is left. */
static void ends_what_has_hardly_begun(void)
{
	struct nacre_context *c = context();
	struct nacre_result *r;

	for (int i = 0; i < 24; i++) {
		struct nacre_job *j = start(c, "sleep 1000", 0);

		CHECK(nacre_poll(j, i / 3, &r, NULL) == -EAGAIN);
		nacre_job_free(j);
	}
	nacre_context_free(c);
}

static void stops_by_id(void)
{
	struct nacre_context *c = context();
	struct nacre_job *j = start(c, "echo begun; sleep 1000", 0);
	struct nacre_output *o = NULL;
	struct nacre_output_query q = NACRE_OUTPUT_QUERY_INIT;
	struct nacre_result *r;

	q.wait_ms = 60000;
	CHECK(nacre_output(c, nacre_job_task_id(j), &q, &o, NULL) == 0);
	CHECK(strcmp(o->bytes, "begun\n") == 0 && o->next == 6 && o->missing == 0);
	CHECK(o->state == NACRE_TASK_RUNNING && o->exit_code == -1 && o->size == sizeof(*o));
	nacre_output_free(o);
	CHECK(nacre_stop(c, nacre_job_task_id(j), 0, NULL) == 0);
	CHECK(nacre_poll(j, -1, &r, NULL) == 0);
	CHECK(r->flags & NACRE_STOPPED && strcmp(r->out, "begun\n") == 0);
	nacre_result_free(r);
	nacre_job_free(j);
	CHECK(nacre_stop(c, "bash-00000000", 0, NULL) < 0);
	CHECK(nacre_stop(c, "", 0, NULL) == -EINVAL && nacre_stop(c, NULL, 0, NULL) == -EINVAL);
	nacre_context_free(c);
}

/* Reads until the task has ended; returns how many bytes, and its exit code. */
static size_t follow(struct nacre_context *c, const char *id, size_t piece, int32_t *ret_code)
{
	struct nacre_output_query q = NACRE_OUTPUT_QUERY_INIT;
	struct nacre_output *o;
	size_t n = 0;
	int ended;

	q.max_bytes = piece;
	q.wait_ms = -1;
	do {
		CHECK(nacre_output(c, id, &q, &o, NULL) == 0);
		CHECK(o->byte_count <= piece && o->missing == 0);
		CHECK(o->next == q.since + o->byte_count);
		n += o->byte_count;
		q.since = o->next;
		ended = o->byte_count == 0 && o->state == NACRE_TASK_ENDED;
		*ret_code = o->exit_code;
		nacre_output_free(o);
	} while (!ended);
	return n;
}

static void follows_a_background_task(void)
{
	struct nacre_context *c = context();
	struct nacre_job *j =
		start(c, "seq 1 20000; sleep 0.2; echo end; exit 7", NACRE_BACKGROUND);
	struct nacre_result *r;
	int32_t code;

	CHECK(nacre_poll(j, -1, &r, NULL) == 0);
	CHECK(r->flags & NACRE_IN_BACKGROUND && *r->task_id && *r->note);
	nacre_job_free(j);
	CHECK(follow(c, r->task_id, 5000, &code) == 108894 + 4 && code == 7);
	nacre_result_free(r);
	nacre_output_free(NULL);
	nacre_context_free(c);
}

static void lets_go(void)
{
	struct nacre_context *c = context();
	struct nacre_job *j = start(c, "echo before; sleep 0.5; echo after", 0);
	struct nacre_result *r;
	int32_t code;

	CHECK(nacre_job_let_go(j, NULL) == 0);
	CHECK(nacre_poll(j, -1, &r, NULL) == 0);
	CHECK(r->flags & NACRE_IN_BACKGROUND);
	CHECK(nacre_job_let_go(j, NULL) == -ESRCH);
	nacre_job_free(j); /* it goes on */
	CHECK(follow(c, r->task_id, 100, &code) == 13 && code == 0);
	nacre_result_free(r);
	nacre_context_free(c);
}

static void types_on_a_terminal(void)
{
	static const char *const keys[] = {"Enter", NULL};
	struct nacre_request rq = NACRE_REQUEST_INIT;
	struct nacre_input in = NACRE_INPUT_INIT;
	struct nacre_context *c = context();
	struct nacre_job *j;
	struct nacre_result *r;
	struct nacre_output *o;
	struct nacre_output_query q = NACRE_OUTPUT_QUERY_INIT;

	rq.command = "echo ready; read line; echo \"got $line\"; stty size; cat";
	rq.rows = 24;
	rq.cols = 80;
	CHECK(nacre_start(c, &rq, &j, NULL) == 0);
	q.wait_ms = 60000;
	CHECK(nacre_output(c, nacre_job_task_id(j), &q, &o, NULL) == 0 &&
	      strstr(o->bytes, "ready"));
	nacre_output_free(o);
	in.rows = 30;
	in.cols = 100;
	in.text = "hello";
	in.text_bytes = 5;
	in.keys = keys;
	CHECK(nacre_input(c, nacre_job_task_id(j), &in, NULL) == 0);
	in = (struct nacre_input)NACRE_INPUT_INIT;
	in.end = 1;
	/* The end counts only when cat reads. */
	while (nacre_poll(j, 200, &r, NULL) == -EAGAIN)
		CHECK(nacre_input(c, nacre_job_task_id(j), &in, NULL) <= 0);
	CHECK(strstr(r->out, "got hello") && strstr(r->out, "30 100"));
	nacre_result_free(r);
	nacre_job_free(j);
	nacre_context_free(c);
}

static void takes_structs_of_any_age(void)
{
	struct {
		struct nacre_request request;
		char later[16]; /* members of a header to come */
	} newer;
	struct nacre_request rq = NACRE_REQUEST_INIT;
	struct nacre_context *c = context();
	struct nacre_error err;
	struct nacre_result *r;

	/* Older: it ends behind argv, and what follows is not looked at. */
	memset(&rq, 0xff, sizeof(rq));
	rq.size = offsetof(struct nacre_request, workspace);
	rq.command = "echo old";
	rq.argv = NULL;
	CHECK(nacre_run(c, &rq, &r, NULL) == 0 && strcmp(r->out, "old\n") == 0);
	nacre_result_free(r);
	/* Newer: fine as long as what we do not know is not used. */
	memset(&newer, 0, sizeof(newer));
	newer.request.size = sizeof(newer);
	newer.request.command = "echo new";
	CHECK(nacre_run(c, &newer.request, &r, NULL) == 0 && strcmp(r->out, "new\n") == 0);
	nacre_result_free(r);
	newer.later[3] = 1;
	CHECK(nacre_run(c, &newer.request, &r, &err) == -E2BIG);
	CHECK(err.kind == NACRE_ERROR_UNSUPPORTED && *err.text);
	/* A size that nobody has set. */
	memset(&rq, 0, sizeof(rq));
	rq.command = "true";
	CHECK(nacre_run(c, &rq, &r, &err) == -EINVAL && err.kind == NACRE_ERROR_INPUT);
	rq.size = (size_t)1 << 30;
	CHECK(nacre_run(c, &rq, &r, &err) == -EINVAL);
	nacre_context_free(c);
}

static void tells_what_is_wrong(void)
{
	static const char *const none[] = {NULL};
	struct nacre_options o = NACRE_OPTIONS_INIT;
	struct nacre_request rq = NACRE_REQUEST_INIT;
	struct nacre_input in = NACRE_INPUT_INIT;
	struct nacre_context *c = context(), *d = NULL;
	struct nacre_output *out;
	struct nacre_result *r;
	struct nacre_error err;

	CHECK(nacre_run(c, &rq, &r, &err) == -EINVAL && strstr(err.text, "command"));
	rq.argv = none;
	CHECK(nacre_run(c, &rq, &r, &err) == -EINVAL && strstr(err.text, "argv"));
	rq.argv = NULL;
	rq.command = "true";
	rq.flags = 1U << 31;
	CHECK(nacre_run(c, &rq, &r, &err) == -EINVAL && err.kind == NACRE_ERROR_UNSUPPORTED);
	rq.flags = 0;
	rq.output_mode = 99;
	CHECK(nacre_run(c, &rq, &r, &err) == -EINVAL && strstr(err.text, "99"));
	rq.output_mode = 0;
	rq.cwd = "does/not/exist"; /* that is for the model to read, hence no error */
	CHECK(nacre_run(c, &rq, &r, &err) == 0 && r->exit_code == 125 && *r->reason);
	nacre_result_free(r);
	CHECK(nacre_output(c, "bash-none", NULL, &out, &err) < 0 && *err.text);
	CHECK(nacre_input(c, "bash-none", &in, &err) < 0);
	o.program = "/bin/true";
	CHECK(nacre_context_new(&o, &d, &err) == -EPROTO && strstr(err.text, "/true") && !d);
	o.program = "/does/not/exist";
	CHECK(nacre_context_new(&o, &d, &err) == -ENOENT && !d);
	o.program = NULL;
	o.workspace = "/does/not/exist";
	CHECK(nacre_context_new(&o, &d, &err) == -ENOENT && strstr(err.text, "workspace"));
	nacre_context_free(c);
}

static void hides_the_tasks_of_others(void)
{
	struct nacre_options o = NACRE_OPTIONS_INIT;
	struct nacre_context *mine, *theirs;
	struct nacre_output *out;
	struct nacre_result *r;
	struct nacre_job *j;

	o.principal = "alice";
	CHECK(nacre_context_new(&o, &mine, NULL) == 0);
	o.principal = "bob";
	CHECK(nacre_context_new(&o, &theirs, NULL) == 0);
	j = start(mine, "sleep 1000", NACRE_BACKGROUND);
	CHECK(nacre_poll(j, -1, &r, NULL) == 0);
	nacre_job_free(j);
	CHECK(nacre_output(theirs, r->task_id, NULL, &out, NULL) == -ENOENT);
	CHECK(nacre_stop(theirs, r->task_id, 1, NULL) == -ENOENT);
	CHECK(nacre_output(mine, r->task_id, NULL, &out, NULL) == 0);
	nacre_output_free(out);
	CHECK(nacre_stop(mine, r->task_id, 1, NULL) == 0);
	nacre_result_free(r);
	nacre_context_free(mine);
	nacre_context_free(theirs);
}

/* Starts what a person has to approve, and waits until they are asked. */
static struct nacre_job *ask(struct nacre_context *c)
{
	static const char *const argv[] = {"expr", "6", "*", "7", NULL};
	struct nacre_request rq = NACRE_REQUEST_INIT;
	struct nacre_job *j = NULL;
	struct nacre_result *r;

	rq.argv = argv;
	rq.flags = NACRE_ASK;
	CHECK(nacre_start(c, &rq, &j, NULL) == 0);
	CHECK(poll(&(struct pollfd){.fd = nacre_job_fd(j), .events = POLLIN}, 1, 60000) == 1);
	CHECK(nacre_poll(j, -1, &r, NULL) == -EINPROGRESS);
	CHECK(nacre_poll(j, 0, &r, NULL) == -EAGAIN); /* it is told once */
	CHECK(*nacre_job_task_id(j) == '\0');
	return j;
}

static void asks_a_person(void)
{
	static const char *const argv[] = {"expr", "6", "*", "7", NULL};
	struct nacre_request rq = NACRE_REQUEST_INIT;
	struct nacre_options o = NACRE_OPTIONS_INIT;
	const struct nacre_question *q;
	struct nacre_context *c;
	struct nacre_result *r;
	struct nacre_job *j;

	o.profile = "workspace";
	CHECK(nacre_context_new(&o, &c, NULL) == 0);
	rq.argv = argv; /* nobody is there to be asked */
	CHECK(nacre_run(c, &rq, &r, NULL) == 0 && r->verdict == NACRE_VERDICT_ASK);
	CHECK(r->exit_code == 126 && strstr(r->reason, "nacre approve"));
	nacre_result_free(r);
	j = ask(c);
	q = nacre_job_question(j);
	CHECK(q && strstr(q->command, "expr") && *q->id && *q->reason && *q->cwd && *q->json);
	CHECK(nacre_job_answer(j, 99, "somebody", NULL) == -EINVAL);
	CHECK(nacre_job_answer(j, NACRE_ANSWER_ONCE, "somebody", NULL) == 0);
	CHECK(nacre_poll(j, 60000, &r, NULL) == 0 && strcmp(r->out, "42\n") == 0);
	CHECK(nacre_job_answer(j, NACRE_ANSWER_ONCE, "somebody", NULL) == -ESRCH);
	nacre_result_free(r);
	nacre_job_free(j);
	j = ask(c); /* once is once */
	CHECK(nacre_job_answer(j, NACRE_ANSWER_DENY, "somebody", NULL) == 0);
	CHECK(nacre_poll(j, 60000, &r, NULL) == 0 && !(r->flags & NACRE_RAN));
	CHECK(r->exit_code == 126 && r->verdict == NACRE_VERDICT_ASK);
	nacre_result_free(r);
	nacre_job_free(j);
	nacre_job_free(ask(c)); /* who leaves is not waited for */
	nacre_context_free(c);
}

int main(int argc, char **argv)
{
	static const struct scenario all[] = {
		{"runs_a_line_in_the_box", runs_a_line_in_the_box},
		{"takes_words_input_and_variables", takes_words_input_and_variables},
		{"a_refusal_is_a_result", a_refusal_is_a_result},
		{"ends_what_takes_too_long", ends_what_takes_too_long},
		{"polls_and_frees", polls_and_frees},
		{"ends_what_has_hardly_begun", ends_what_has_hardly_begun},
		{"stops_by_id", stops_by_id},
		{"follows_a_background_task", follows_a_background_task},
		{"lets_go", lets_go},
		{"types_on_a_terminal", types_on_a_terminal},
		{"takes_structs_of_any_age", takes_structs_of_any_age},
		{"tells_what_is_wrong", tells_what_is_wrong},
		{"hides_the_tasks_of_others", hides_the_tasks_of_others},
		{"asks_a_person", asks_a_person},
		{NULL, NULL},
	};

	return argc == 2 ? run_scenario(all, argv[1]) : 2;
}
