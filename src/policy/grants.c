/*
 * A grant is a digest over what decides what a command does: its words, assignments and
 * redirections, the directory, the environment. The same command at another time has the same
 * digest, or its grant does not hold. A command with a word that is not known has no digest, and
 * cannot be granted. The program behind the name is looked at apart.
 */
#include "policy/grants.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/policy.h"
#include "policy/runners.h"

struct grant {
	struct digest digest;
	enum policy_grant_scope scope;
};

struct policy_grants {
	struct grant *list;
	size_t count, capacity;
};

struct policy_grants *policy_grants_new(void)
{
	return calloc(1, sizeof(struct policy_grants));
}

struct policy_grants *policy_grants_free(struct policy_grants *g)
{
	if (g)
		free(g->list);
	free(g);
	return NULL;
}

size_t policy_grants_count(const struct policy_grants *g)
{
	return g->count;
}

static bool known(const struct shell_fact_word *w)
{
	return w->kind == SHELL_VALUE_KNOWN;
}

static void put(struct buffer *b, const char *bytes, size_t n)
{
	uint64_t len = n;

	/* The length in front keeps "a" "bc" apart from "ab" "c". */
	buffer_append(b, &len, sizeof(len));
	buffer_append(b, bytes, n);
}

static void put_string(struct buffer *b, const char *text)
{
	put(b, text ? text : "", text ? strlen(text) : 0);
}

/* Whatever decides which program runs, with which words, where. Redirections and assignments of the
 * command count as words. */
static int digest_of(const struct policy_question *q, const struct shell_fact_command *c,
                     enum policy_grant_scope scope, struct digest *ret)
{
	scoped(buffer_donep) struct buffer b = {0};
	size_t words = scope == POLICY_GRANT_SUB ? 2 : c->word_count;

	if (c->word_count < words || !c->word_count)
		return -EPERM;
	buffer_putc(&b, (char)scope);
	for (const char *const *e = q->env; e && *e; e++)
		put_string(&b, *e);
	put_string(&b, NULL);
	put_string(&b, q->workspace);
	put_string(&b, q->cwd);
	put_string(&b, q->path);
	for (size_t i = 0; i < c->assign_count; i++) {
		if (!known(&c->assigns[i].value))
			return -EPERM;
		put(&b, c->assigns[i].name.bytes, c->assigns[i].name.len);
		put(&b, c->assigns[i].value.text.bytes, c->assigns[i].value.text.len);
	}
	put_string(&b, NULL);
	for (size_t i = 0; i < c->redirect_count; i++) {
		/* What comes by an input may be other code each time. */
		if (c->redirects[i].op[0] == '<' || !known(&c->redirects[i].target))
			return -EPERM;
		put_string(&b, c->redirects[i].op);
		buffer_append(&b, &c->redirects[i].fd, sizeof(c->redirects[i].fd));
		put(&b, c->redirects[i].target.text.bytes, c->redirects[i].target.text.len);
	}
	put_string(&b, NULL);
	for (size_t i = 0; i < words; i++) {
		if (!known(&c->words[i]))
			return -EPERM;
		put(&b, c->words[i].text.bytes, c->words[i].text.len);
	}
	if (buffer_error(&b))
		return buffer_error(&b);
	digest_make(b.data, b.len, ret);
	return 0;
}

/* "docker ps": the second word must be a plain one, directly behind the name. */
static bool has_sub(const struct shell_fact_command *c)
{
	struct shell_text t;

	if (c->word_count < 2 || !known(&c->words[1]) || c->open)
		return false;
	t = c->words[1].text;
	return t.len && t.bytes[0] != '-' && !memchr(t.bytes, '/', t.len) &&
	       !memchr(t.bytes, '=', t.len) && !memchr(t.bytes, '.', t.len);
}

static bool is_there(const struct policy_grants *g, const struct digest *digest,
                     enum policy_grant_scope scope)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->list[i].scope == scope &&
		    memcmp(&g->list[i].digest, digest, sizeof(*digest)) == 0)
			return true;
	return false;
}

/*
 * What stands around a command changes what it does: `cd x`, `export X=1`, a pipe that feeds it, a
 * wrapper that changes its directory or adds words. A grant is for the command as it stands alone,
 * with nothing before it that the shell would remember.
 */
static bool is_plain(const struct shell_facts *facts)
{
	static const char *const harmless[] = {":",    "true", "false", "echo", "printf",
	                                       "test", "[",    "pwd",   "wait", NULL};

	if (facts->changes_reading)
		return false;
	for (size_t i = 0; i < facts->command_count; i++) {
		const struct shell_fact_command *c = &facts->commands[i];
		bool known_name = c->word_count && known(&c->words[0]), fine = false;

		if (c->via[0])
			return false;
		if (c->kind == SHELL_KIND_EXTERNAL)
			continue;
		for (const char *const *n = harmless; *n && known_name; n++)
			fine |= strcmp(*n, c->words[0].text.bytes) == 0;
		/* printf -v sets a variable. */
		if (c->kind != SHELL_KIND_BUILTIN || !fine || c->assign_count ||
		    (c->word_count > 1 && known(&c->words[1]) &&
		     strncmp(c->words[1].text.bytes, "-v", 2) == 0))
			return false;
	}
	return true;
}

static bool may_be_granted(const struct shell_fact_command *c)
{
	return c->word_count && known(&c->words[0]) &&
	       !policy_runs_anything(c->words[0].text.bytes) && !policy_words_run(c) &&
	       c->kind != SHELL_KIND_FUNCTION;
}

static bool is_in_link(const char *path, const char *directory)
{
	char real[PATH_MAX];

	return path_is_in(path, directory) || (realpath(directory, real) && path_is_in(path, real));
}

static bool is_script(const char *path)
{
	scoped(fd_closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char start[2];

	return fd >= 0 && pread(fd, start, 2, 0) == 2 && memcmp(start, "#!", 2) == 0;
}

/* Whether an agent can have put it there. */
static bool can_be_made(const struct policy_question *q, const char *path)
{
	char place[PATH_MAX];

	if (q->workspace && is_in_link(path, q->workspace))
		return true;
	for (const char *const *p = q->writable; p && *p; p++) {
		bool home = (*p)[0] == '~' && q->home;

		if (snprintf(place, sizeof(place), "%s%s", home ? q->home : "", *p + home) <
		            (int)sizeof(place) &&
		    is_in_link(path, place))
			return true;
	}
	return false;
}

/* Of the file behind the name. A script is as it was read, and its grant ends when it changes; any
 * other program of an agent may be a copy of an interpreter, whose words are files. One that is not
 * found cannot be granted, which whoever keeps the grant finds out. */
static bool may_grant_file(const struct policy_question *q, const char *resolved)
{
	return !resolved || (!policy_file_runs_anything(resolved) &&
	                     (!can_be_made(q, resolved) || is_script(resolved)));
}

bool policy_grants_cover(const struct policy_grants *g, const struct policy_question *q,
                         const struct shell_fact_command *c)
{
	struct digest digest;

	if (!g->count || !may_be_granted(c) || !is_plain(q->facts))
		return false;
	if (digest_of(q, c, POLICY_GRANT_EXACT, &digest) == 0 &&
	    is_there(g, &digest, POLICY_GRANT_EXACT))
		return true;
	return has_sub(c) && digest_of(q, c, POLICY_GRANT_SUB, &digest) == 0 &&
	       is_there(g, &digest, POLICY_GRANT_SUB);
}

static int add_one(struct policy_grants *g, const struct grant *grant)
{
	if (g->count == g->capacity) {
		size_t capacity = g->capacity ? 2 * g->capacity : 8;
		struct grant *grown;

		if (g->count >= POLICY_GRANT_MAX)
			return -ENOSPC;
		grown = reallocarray(g->list, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		g->list = grown;
		g->capacity = capacity;
	}
	g->list[g->count++] = *grant;
	return 0;
}

void policy_grants_at(const struct policy_grants *g, size_t i, struct digest *ret)
{
	*ret = g->list[i].digest;
}

int policy_grants_put(struct policy_grants *g, const struct digest *digest,
                      enum policy_grant_scope scope)
{
	return add_one(g, &(struct grant){.digest = *digest, .scope = scope});
}

static int refuse(struct error *err, const char *why)
{
	return error_set(err, ERROR_INPUT, EPERM, "this cannot be approved: %s", why);
}

int policy_grants_add(struct policy_grants *g, const struct policy_question *q,
                      const struct policy_answer *answer, enum policy_grant_scope scope,
                      struct error *err)
{
	size_t before = g->count;
	int r;

	if (answer->line.verdict != POLICY_VERDICT_ASK)
		return refuse(err, "it was not to be asked about");
	if (q->facts->status == SHELL_FACTS_OPAQUE)
		return refuse(err, "it cannot be known before it runs what it does");
	if (!is_plain(q->facts))
		return refuse(err, "other parts of the line change what its commands do");
	for (size_t i = 0; i < answer->command_count; i++) {
		const struct shell_fact_command *c = &q->facts->commands[i];
		struct grant grant = {.scope = scope};

		if (answer->commands[i].verdict != POLICY_VERDICT_ASK)
			continue;
		r = -EPERM;
		if (may_be_granted(c) && may_grant_file(q, answer->commands[i].resolved) &&
		    (scope != POLICY_GRANT_SUB || has_sub(c)))
			r = digest_of(q, c, scope, &grant.digest);
		if (r == 0)
			r = add_one(g, &grant);
		if (r == 0)
			continue;
		g->count = before; /* all of it, or nothing */
		if (r == -EPERM)
			return refuse(err, "a command of it runs others, or is not wholly known");
		return error_set(err, ERROR_LIMIT, -r, "no more can be approved in this session");
	}
	if (g->count == before)
		return refuse(err, "what is asked about is not one command");
	return 0;
}
