#pragma once
/*
 * A log in a directory of its own for each test, and what is done to it again and again.
 */
#include "base/test-support.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sodium.h>
#include "audit/audit.h"
#include "audit/event.h"
#include "audit/head.h"
#include "audit/verify.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"

struct world {
	char state[64], dir[128];
	struct audit *audit;
};

static inline int make(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	/* In memory, where there is such a place: many of these sync at every step. */
	snprintf(w->state, sizeof(w->state), "/dev/shm/nacre-test-XXXXXX");
	if (!mkdtemp(w->state))
		test_memory_directory_make(w->state);
	snprintf(w->dir, sizeof(w->dir), "%s/audit", w->state);
	*state = w;
	return 0;
}

static inline int unmake(void **state)
{
	struct world *w = *state;

	audit_free(w->audit);
	test_directory_remove(w->state);
	free(w);
	return 0;
}

static inline void open_log(struct world *w, const struct audit_settings *s)
{
	struct error err = {0};

	w->audit = audit_free(w->audit);
	if (audit_open(w->state, s, &w->audit, &err) < 0)
		fail_msg("%s", err.text);
}

static inline uint64_t append(struct world *w, const char *command)
{
	const struct audit_event e = {
		.kind = AUDIT_STARTED, .task = "bash-1", .command = command, .profile = "bash"};
	struct error err = {0};
	uint64_t seq = 0;

	if (audit_append(w->audit, &e, 1, &seq, &err) < 0)
		fail_msg("%s", err.text);
	return seq;
}

static inline struct audit_verdict verify(struct world *w)
{
	struct audit_verdict v;
	struct error err = {0};

	if (audit_verify(w->dir, NULL, &v, &err) < 0)
		fail_msg("%s", err.text);
	return v;
}

static inline void expect_good(struct world *w, uint64_t last)
{
	struct audit_verdict v = verify(w);

	if (!v.good)
		fail_msg("%s line %" PRIu64 ": %s", v.file, v.line, v.problem);
	if (last > 0)
		assert_int_equal(v.last_seq, last);
}

static inline void expect_bad(struct world *w, const char *words)
{
	struct audit_verdict v = verify(w);

	assert_false(v.good);
	if (!strstr(v.problem, words))
		fail_msg("'%s' is not in '%s'", words, v.problem);
}

static inline void path_of(const struct world *w, const char *name, char into[192])
{
	snprintf(into, 192, "%s/%s", w->dir, name);
}

static inline void read_file(const struct world *w, const char *name, struct buffer *into)
{
	scoped(fd_closep) int fd = -1;
	char path[192];

	path_of(w, name, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	buffer_clear(into);
	assert_int_equal(fd_read_all(fd, into), 0);
}

static inline void write_file(const struct world *w, const char *name, const void *bytes, size_t n)
{
	scoped(fd_closep) int fd = -1;
	char path[192];

	path_of(w, name, path);
	fd = open(path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, bytes, n), 0);
}

static inline void unlink_file(const struct world *w, const char *name)
{
	char path[192];

	path_of(w, name, path);
	assert_int_equal(unlink(path), 0);
}

/* What it returns: in a process of its own, whose limits are its own. */
static inline int in_child(struct world *w, int (*act)(struct world *w))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(act(w));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* As if it had been written before the machine was started. */
static inline void age_head(struct world *w)
{
	scoped(buffer_donep) struct buffer head = {0};
	size_t summed = 8 + 40 + sizeof(struct head_place);

	read_file(w, "head", &head);
	head.data[8] = head.data[8] == 'x' ? 'y' : 'x';
	(void)crypto_generichash((unsigned char *)head.data + summed, AUDIT_HASH_BYTES,
	                         (const unsigned char *)head.data, summed, NULL, 0);
	write_file(w, "head", head.data, head.len);
}
