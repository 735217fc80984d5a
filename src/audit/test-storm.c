/*
 * Eight processes append and sync as fast as they can, and one after the other is killed with
 * SIGKILL at any moment and replaced. What one of them was told to be on the disk is in the log
 * afterwards, under its number, and the chain is whole with the breaks marked.
 *
 * NACRE_STORM is the number of kills; without it a sample is taken.
 */
#include "base/test-support.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include "audit/audit.h"
#include "audit/event.h"
#include "audit/query.h"
#include "audit/verify.h"
#include "base/error.h"

#define WRITERS 8
#define KILLS   120
#define BETWEEN 40    /* records from one to the next, at most */
#define LONG    60000 /* over many pages, between which a write can be broken off */
#define ACKS    (1 << 20)

struct ack {
	uint64_t seq, token;
};

struct shared {
	_Atomic size_t count;
	_Atomic uint64_t tokens;
	/* How many tokens there may be. Where a sync costs nothing, the log would grow faster than
	 * it can be checked, and each check take several times as long as the one before. */
	_Atomic uint64_t allowed;
	struct ack acks[ACKS];
};

static const struct audit_settings small = {.max_bytes = 300000};

static _Noreturn void write_on(const char *state, struct shared *s)
{
	struct audit *a = NULL;
	struct error err = {0};
	uint64_t seq;

	if (audit_open(state, &small, &a, &err) < 0)
		goto failed;
	for (;;) {
		uint64_t token = atomic_fetch_add(&s->tokens, 1);
		char command[LONG + 40];
		const struct audit_event e = {.kind = AUDIT_STARTED, .command = command};
		size_t at;

		while (token >= atomic_load(&s->allowed))
			(void)poll(NULL, 0, 1);
		snprintf(command, sizeof(command), "%llu %0*d", (unsigned long long)token,
		         token % 8 ? (int)(token % 500) + 1 : LONG, 0);
		if (audit_append(a, &e, 1, &seq, &err) < 0 || audit_sync(a, seq, &err) < 0)
			goto failed;
		at = atomic_fetch_add(&s->count, 1);
		if (at >= ACKS)
			_exit(0);
		s->acks[at] = (struct ack){.seq = seq, .token = token};
	}
failed:
	fprintf(stderr, "writer: %s\n", err.text);
	_exit(1);
}

static pid_t start(const char *state, struct shared *s)
{
	pid_t parent = getpid(), pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		/* They write for ever: a test that fails must not leave them behind. */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
			_exit(1);
		write_on(state, s);
	}
	return pid;
}

static void end(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status)); /* else it had failed by itself */
}

/* By number: the token of each record. */
struct table {
	uint64_t *tokens;
	size_t size;
};

static int note(void *context, const char *line, size_t n, json_t *record)
{
	struct table *t = context;
	uint64_t seq = (uint64_t)json_integer_value(json_object_get(record, "seq"));
	const char *command = json_string_value(json_object_get(record, "command"));

	if (command && seq < t->size)
		t->tokens[seq] = strtoull(command, NULL, 10) + 1;
	return 0;
}

static size_t kills_wanted(void)
{
	const char *told = getenv("NACRE_STORM");

	return told ? strtoul(told, NULL, 10) : KILLS;
}

static void nothing_that_was_acknowledged_is_lost(void **unused)
{
	size_t kills = kills_wanted(), missing = 0, count;
	struct audit_verdict v;
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
	                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct table table = {.size = 4 * ACKS};
	pid_t pids[WRITERS];
	char state[64], directory[96];
	uint64_t seed = (uint64_t)getpid() * 2654435761U + 1;

	assert_true(s != MAP_FAILED);
	test_directory_make(state);
	snprintf(directory, sizeof(directory), "%s/audit", state);
	for (int i = 0; i < WRITERS; i++)
		pids[i] = start(state, s);
	for (size_t i = 0; i < kills; i++) {
		struct timespec pause = {.tv_nsec = (long)(test_random(&seed) % 6000000)};
		size_t who = test_random(&seed) % WRITERS;

		atomic_fetch_add(&s->allowed, BETWEEN);
		(void)nanosleep(&pause, NULL); /* the moment itself is what is tried */
		end(pids[who]);
		pids[who] = start(state, s);
		if (i % 20 == 19 && access(directory, F_OK) ==
		                            0) { /* and nobody who checks it meanwhile is alarmed */
			assert_int_equal(audit_verify(directory, NULL, &v, NULL), 0);
			if (!v.good)
				fail_msg("meanwhile %s:%llu: %s", v.file,
				         (unsigned long long)v.line, v.problem);
		}
	}
	for (int i = 0; i < WRITERS; i++)
		end(pids[i]);
	assert_int_equal(
		audit_event(state, &small, &(struct audit_event){.kind = AUDIT_ENDED}, 1, NULL), 0);
	assert_int_equal(audit_verify(directory, NULL, &v, NULL), 0);
	if (!v.good)
		fail_msg("%s:%llu: %s", v.file, (unsigned long long)v.line, v.problem);
	assert_int_equal(v.lost, 0);
	table.tokens = calloc(table.size, sizeof(*table.tokens));
	assert_non_null(table.tokens);
	assert_int_equal(audit_query(directory, &(struct audit_query){.event = "started"}, note,
	                             &table, NULL),
	                 0);
	count = atomic_load(&s->count);
	for (size_t i = 0; i < count && i < ACKS; i++)
		/* A writer may have been killed between taking a place here and filling it. */
		if (s->acks[i].seq > 0 && (s->acks[i].seq >= table.size ||
		                           table.tokens[s->acks[i].seq] != s->acks[i].token + 1))
			missing++;
	print_message("# %zu kills, %zu acknowledged, %llu records in %llu files, %llu breaks\n",
	              kills, count, (unsigned long long)v.records, (unsigned long long)v.files,
	              (unsigned long long)v.breaks);
	assert_int_equal(missing, 0);
	assert_true(count > 0);
	free(table.tokens);
	(void)munmap(s, sizeof(*s));
	test_directory_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_that_was_acknowledged_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
