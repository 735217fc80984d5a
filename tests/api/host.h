#pragma once
/*
 * What the hosts of the library share. They are compiled against the installed tree alone, and each
 * scenario runs in a process of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <nacre.h>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static inline struct nacre_context *context(void)
{
	struct nacre_context *c = NULL;
	struct nacre_error err = {0};

	if (nacre_context_new(NULL, &c, &err) < 0) {
		fprintf(stderr, "no context: %s\n", err.text);
		exit(1);
	}
	return c;
}

/* Runs a line; the caller releases the result. */
static inline struct nacre_result *run(struct nacre_context *c, const char *line)
{
	struct nacre_request rq = NACRE_REQUEST_INIT;
	struct nacre_result *r = NULL;
	struct nacre_error err = {0};

	rq.command = line;
	if (nacre_run(c, &rq, &r, &err) < 0) {
		fprintf(stderr, "%s: %s\n", line, err.text);
		exit(1);
	}
	return r;
}

/* What a command printed; when it is something else, all that the result says of the cause. */
#define CHECK_OUT(r, text)                                                                         \
	do {                                                                                       \
		if (strcmp((r)->out, (text)) != 0) {                                               \
			fprintf(stderr, "%s:%d: exit %d, out '%s', err '%s', reason '%s'\n",       \
			        __FILE__, __LINE__, (r)->exit_code, (r)->out, (r)->err,            \
			        (r)->reason);                                                      \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static inline struct nacre_job *start(struct nacre_context *c, const char *line, uint32_t flags)
{
	struct nacre_request rq = NACRE_REQUEST_INIT;
	struct nacre_job *j = NULL;
	struct nacre_error err = {0};

	rq.command = line;
	rq.flags = flags;
	if (nacre_start(c, &rq, &j, &err) < 0) {
		fprintf(stderr, "%s: %s\n", line, err.text);
		exit(1);
	}
	return j;
}

struct scenario {
	const char *name;
	void (*run)(void);
};

static inline int run_scenario(const struct scenario *all, const char *name)
{
	for (; all->name; all++)
		if (strcmp(all->name, name) == 0) {
			all->run();
			return 0;
		}
	fprintf(stderr, "there is no scenario '%s'\n", name);
	return 2;
}
