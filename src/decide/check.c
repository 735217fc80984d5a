#include "decide/check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/strings.h"
#include "decide/consent.h"
#include "task/order.h"
#include "session/session.h"
#include "profile/profile.h"
#include "shell/print.h"
#include "shell/split.h"

/* bash reads nothing but this line: no start-up file, no function or option of the environment. */
static const char *const bash[] = {"/bin/bash", "--noprofile", "--norc", "-p", "-c"};

/* Words are analysed as the line that has exactly these words, so that wrappers are seen. */
static int facts_of_words(struct arena *arena, const char *const *words,
                          struct shell_facts **ret_facts)
{
	const struct shell_parse_options options = {.allow_control = true};
	scoped(buffer_donep) struct buffer text = {.max = SHELL_TEXT_MAX + 1};

	shell_quote_words(words, &text);
	/* Longer than the limit is the parser's business to say: it gets one byte too many. */
	return shell_facts_read(arena, buffer_str(&text), text.len, &options, ret_facts);
}

/* The tree is one simple command and nothing else, and every word of it is known. */
static const struct shell_fact_command *only_command(const struct shell_facts *f)
{
	const struct shell_statement *s = f->tree->list ? f->tree->list->statements : NULL;
	const struct shell_pipeline *p = s && !s->next && !s->background ? s->pipelines : NULL;
	const struct shell_command *c =
		p && !p->next && !p->negated && !p->timed && p->command_count == 1 ? p->commands
										   : NULL;

	if (!c || c->kind != SHELL_SIMPLE || c->redirects || c->simple.assigns ||
	    f->status != SHELL_FACTS_STATIC || f->command_count == 0)
		return NULL;
	if (f->commands[0].kind != SHELL_KIND_EXTERNAL || f->commands[0].via[0])
		return NULL;
	for (size_t i = 0; i < f->commands[0].word_count; i++)
		if (f->commands[0].words[i].kind != SHELL_VALUE_KNOWN ||
		    memchr(f->commands[0].words[i].text.bytes, '\0',
		           f->commands[0].words[i].text.len))
			return NULL;
	return &f->commands[0];
}

static int argv_of_command(struct arena *arena, const struct shell_fact_command *c,
                           const char *const **ret_argv)
{
	const char **argv = arena_new_array(arena, const char *, c->word_count + 1);

	for (size_t i = 0; argv && i < c->word_count; i++) {
		argv[i] = arena_strndup(arena, c->words[i].text.bytes, c->words[i].text.len);
		if (!argv[i])
			return -ENOMEM;
	}
	*ret_argv = argv;
	return argv ? 0 : -ENOMEM;
}

static int argv_of_bash(struct arena *arena, const struct shell_facts *f,
                        const struct keeper_request *rq, bool session, const char *const **ret_argv)
{
	scoped(buffer_donep) struct buffer canonical = {0};
	size_t args = strings_count(rq->args);
	const char **argv = arena_new_array(arena, const char *, array_size(bash) + 2 + args);
	const char *text = rq->command;

	/* A line past a limit has no tree, and where the line itself changes how bash reads on
	 * (aliases, set -k) no other text has its meaning. Both are opaque: the policy has decided
	 * that the box may have them. */
	if (f->tree->list && !f->changes_reading) {
		shell_print_lines(f->tree, &canonical);
		if (buffer_error(&canonical) < 0)
			return -ENOMEM;
		text = arena_strndup(arena, buffer_str(&canonical), canonical.len);
	}
	if (text && session) {
		buffer_clear(&canonical);
		session_wrap(text, &canonical);
		if (buffer_error(&canonical) < 0)
			return -ENOMEM;
		text = arena_strndup(arena, buffer_str(&canonical), canonical.len);
	}
	if (!argv || !text)
		return -ENOMEM;
	memcpy(argv, bash, sizeof(bash));
	argv[array_size(bash)] = text;
	if (args > 0)
		memcpy(argv + array_size(bash) + 1, rq->args, args * sizeof(*argv));
	*ret_argv = argv;
	return 0;
}

bool check_tells(const struct keeper_request *rq)
{
	return rq->command && ((rq->session && !rq->passing) || rq->tells_cwd);
}

static int choose_argv(struct arena *arena, const struct question *q, const char *const *words,
                       struct check *c)
{
	const struct keeper_request *rq = &q->order->request;
	const struct shell_fact_command *only = only_command(c->facts);

	if (words) {
		c->argv = words;
		return 0;
	}
	/* bash has better words for a program that is not there. */
	if (only && c->answer.command_count > 0 && c->answer.commands[0].resolved)
		return argv_of_command(arena, only, &c->argv);
	/* A container has no descriptor by which bash could tell. */
	return argv_of_bash(arena, c->facts, rq, check_tells(rq) && !q->profile->container,
	                    &c->argv);
}

/* What is to be executed as one line, for a person. */
static int print_canonical(struct arena *arena, const struct keeper_request *rq,
                           const char *const *words, struct check *c)
{
	scoped(buffer_donep) struct buffer text = {0};

	if (words)
		shell_quote_words(words, &text);
	else if (c->facts->tree->list && !c->facts->changes_reading)
		shell_print(c->facts->tree->list, &text);
	else
		buffer_puts(&text, rq->command);
	if (buffer_error(&text) < 0)
		return -ENOMEM;
	c->canonical = arena_strndup(arena, buffer_str(&text), text.len);
	return c->canonical ? 0 : -ENOMEM;
}

/* A string that is no command is refused like any other that may not run. */
static int refuse_text(struct arena *arena, const char *why, struct check *ret_check,
                       struct error *err)
{
	struct shell_facts *facts = NULL;
	const char *reason = arena_strdup(arena, why);

	if (!reason || shell_facts_read(arena, "", 0, NULL, &facts) < 0)
		return error_nomem(err);
	*ret_check = (struct check){
		.facts = facts,
		.answer.line = {.verdict = POLICY_VERDICT_DENY,
	                        .rule_id = "syntax",
	                        .reason = reason},
	};
	return 0;
}

void check_question(const struct question *q, struct policy_question *ret_question)
{
	const struct keeper_request *rq = &q->order->request;
	const char *path = env_value(q->order->envp, "PATH"), *own = getenv("PATH");
	struct policy_question asked = {
		.text = rq->command ? rq->command : rq->argv[0],
		.words = rq->command ? NULL : rq->argv + 1,
		.facts = q->facts,
		.workspace_fd = q->workspace_fd,
		.workspace = rq->workspace,
		.cwd = rq->cwd,
		.path = path ? path : "",
		.home = env_value(q->order->envp, "HOME"),
		.writable = q->profile->sandbox.writable,
		.unboxed = q->profile->sandbox.tier == SANDBOX_TIER_NONE,
		.must_exist = q->to_run && !q->profile->container, /* its image has others */
		.own_path = path && own && strcmp(path, own) == 0,
		.env = rq->env,
		.force = rq->force,
		.grants = q->grants,
	};

	asked.text_len = strlen(asked.text);
	*ret_question = asked;
}

static int read_facts(struct arena *arena, const char *command, const char *const *words,
                      struct question *q)
{
	struct shell_facts *facts = NULL;
	int r = words ? facts_of_words(arena, words, &facts)
	              : shell_facts_read(arena, command, strlen(command), NULL, &facts);

	q->facts = facts;
	return r;
}

int check_request(struct arena *arena, struct question *q, struct check *ret_check,
                  struct error *err)
{
	const struct keeper_request *rq = &q->order->request;
	const char *const *words = rq->argv;
	struct check c = {0};
	struct policy_question asked;
	int r = 0;

	if (!words && q->profile->shell == PROFILE_SHELL_NONE) {
		struct error why = {0};

		r = shell_split(arena, rq->command, strlen(rq->command), &words, &why);
		if (r == 0 && !words[0])
			r = error_set(&why, ERROR_INPUT, EINVAL, "the command is empty");
		if (r < 0)
			return why.kind == ERROR_INPUT
			               ? refuse_text(arena, why.text, ret_check, err)
			               : error_nomem(err);
	}
	if (!q->facts)
		r = read_facts(arena, rq->command, words, q);
	if (r < 0)
		return error_nomem(err);
	c.facts = q->facts;
	check_question(q, &asked);
	r = policy_decide(q->profile->policy, arena, &asked, &c.answer, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < c.facts->command_count && !c.is_client; i++)
		c.is_client = check_is_client(&c.facts->commands[i]);
	c.reaches_engine = q->profile->docker.allow;
	if (c.answer.line.verdict <= POLICY_VERDICT_ASK)
		r = choose_argv(arena, q, words, &c);
	if (r == 0 && c.answer.line.verdict == POLICY_VERDICT_ASK)
		r = print_canonical(arena, rq, words, &c);
	if (r < 0)
		return error_nomem(err);
	*ret_check = c;
	return 0;
}

/* What cannot be known is not looked for: the engine then answers, or does not, as anywhere. */
static enum docker_client client_of(const struct shell_fact_command *c)
{
	return c->word_count > 0 && c->words[0].kind == SHELL_VALUE_KNOWN
	               ? docker_client_of(c->words[0].text.bytes, c->words[0].text.len)
	               : DOCKER_CLIENT_MAX;
}

bool check_is_client(const struct shell_fact_command *c)
{
	return client_of(c) != DOCKER_CLIENT_MAX;
}

bool check_names_client(const struct shell_facts *f, enum docker_client client)
{
	for (size_t i = 0; i < f->command_count; i++) {
		if (client_of(&f->commands[i]) == client)
			return true;
	}
	return false;
}

static bool same_words(const char *const *a, const char *const *b)
{
	while (*a && *b && strcmp(*a, *b) == 0) {
		a++;
		b++;
	}
	return !*a && !*b;
}

int check_load_profile(const struct keeper_request *rq, struct profile **ret_profile,
                       struct error *err)
{
	scoped(fd_closep) int workspace = open(rq->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct profile_request wanted;
	char buffer[PATH_MAX];
	int r;

	if (workspace < 0)
		return error_sys(err, errno, "second check: workspace");
	profile_request_init(&wanted, buffer, sizeof(buffer));
	wanted.name = rq->profile;
	wanted.agent = rq->agent;
	wanted.policy_file = rq->policy_file;
	wanted.workspace_fd = workspace;
	wanted.root = rq->root;
	r = profile_load(&wanted, ret_profile, err);
	return r < 0 ? error_wrap(err, "second check") : 0;
}

/* A person's consent, if it is needed or was named: what was approved is held to the letter, also
 * where the rules allow it by now. */
static int check_consent(struct arena *arena, const struct question *q, const struct check *c,
                         bool spend, struct error *err)
{
	struct approval_object object;
	int r;

	if (!q->order->request.approval)
		return c->answer.line.verdict == POLICY_VERDICT_ALLOW
		               ? 0
		               : error_set(err, ERROR_INPUT, EPERM, "%.180s",
		                           c->answer.line.reason);
	r = consent_object(arena, q, c, &object, err);
	return r < 0 ? r : consent_use(arena, q->order, &object, spend, err);
}

static int second_check(struct arena *arena, struct question *q, bool spend, struct error *err)
{
	struct check c = {0};
	int r;

	r = consent_check(arena, q, &c, err);
	if (r < 0)
		return error_wrap(err, "second check");
	if (c.answer.line.verdict > POLICY_VERDICT_ASK)
		return error_set(err, ERROR_INPUT, EPERM, "second check: %.180s",
		                 c.answer.line.reason);
	if (!c.argv || !same_words(q->order->argv, c.argv))
		return error_set(err, ERROR_INPUT, EPERM,
		                 "second check: what was to be executed is not what was decided");
	/* Last, since it is used up by this. */
	r = check_consent(arena, q, &c, spend, err);
	return r < 0 ? error_wrap(err, "second check") : 0;
}

int check_again(struct arena *arena, const struct check_order *o, const struct shell_facts **facts,
                struct error *err)
{
	scoped(question_done) struct question q = {.workspace_fd = -1};
	int r = question_of_order(o->order, o->profile, o->input_fd, &q, err);

	if (r == 0)
		r = second_check(arena, &q, false, err);
	*facts = q.facts;
	return r;
}

int check_spend(struct arena *arena, const struct check_order *o, const struct shell_facts *facts,
                struct error *err)
{
	scoped(question_done) struct question q = {.workspace_fd = -1};
	int r = question_of_order(o->order, o->profile, o->input_fd, &q, err);

	q.facts = facts;
	return r < 0 ? r : second_check(arena, &q, true, err);
}
