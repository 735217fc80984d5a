#include "serve/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/loop.h"
#include "process/clone.h"

#define WORDS_MAX 16
#define LINE_MAX_ ((size_t)8 << 20)
#define READ_SIZE 65536

struct helper {
	struct loop *loop;
	const struct helper_ops *ops;
	void *owner;
	pid_t pid;
	int pidfd, fd;
	struct loop_source source;
	struct buffer line;
	bool printed, too_long;
};

static _Noreturn void become(const char *const *argv, int out)
{
	char *words[WORDS_MAX + 2] = {(char *)(uintptr_t) "nacre"};
	sigset_t none;

	for (size_t i = 0; argv[i] && i < WORDS_MAX; i++)
		words[i + 1] = (char *)(uintptr_t)argv[i];
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	fd_null_standard();
	if (dup2(out, STDOUT_FILENO) < 0)
		_exit(127);
	execv("/proc/self/exe", words);
	_exit(127);
}

static void reap(struct helper *h, bool kill_it, int *ret_status)
{
	if (h->pid <= 0)
		return;
	if (kill_it)
		(void)kill(h->pid, SIGKILL);
	while (waitpid(h->pid, ret_status, 0) < 0 && errno == EINTR)
		;
	h->pid = 0;
}

/* Whole lines; the rest waits. */
static void take_lines(struct helper *h, const char *bytes, size_t n)
{
	const char *newline;

	while ((newline = memchr(bytes, '\n', n))) {
		buffer_append(&h->line, bytes, (size_t)(newline - bytes));
		if (buffer_error(&h->line) == 0 && h->line.len > 0) {
			h->printed = true;
			h->ops->line(h->owner, h->line.data, h->line.len);
		}
		h->too_long |= buffer_error(&h->line) < 0;
		buffer_clear(&h->line);
		n -= (size_t)(newline + 1 - bytes);
		bytes = newline + 1;
	}
	buffer_append(&h->line, bytes, n);
}

static int on_output(struct loop_source *s, uint32_t events)
{
	struct helper *h = container_of(s, struct helper, source);
	char bytes[READ_SIZE];
	ssize_t n = read(h->fd, bytes, sizeof(bytes));
	int status = 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n > 0) {
		take_lines(h, bytes, (size_t)n);
		return 0;
	}
	loop_remove(&h->source);
	reap(h, false, &status);
	h->ops->ended(h->owner, h->printed && !h->too_long && WIFEXITED(status));
	return 0;
}

int helper_new(struct loop *l, const char *const *argv, const struct helper_ops *ops, void *owner,
               struct helper **ret_helper, struct error *err)
{
	scoped(helper_freep) struct helper *h = calloc(1, sizeof(*h));
	int ends[2], r;

	if (!h)
		return error_nomem(err);
	h->loop = l;
	h->ops = ops;
	h->owner = owner;
	h->fd = h->pidfd = h->source.fd = -1;
	h->line.max = LINE_MAX_;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_sys(err, errno, "pipe");
	h->fd = ends[0];
	h->pid = process_clone(&h->pidfd);
	if (h->pid == 0)
		become(argv, ends[1]);
	fd_close(ends[1]);
	if (h->pid < 0) {
		r = (int)-h->pid;
		h->pid = 0;
		return error_sys(err, r, "starting nacre %s", argv[0]);
	}
	(void)fd_set_nonblocking(h->fd);
	r = loop_add(l, &h->source, h->fd, EPOLLIN, on_output, err);
	if (r < 0)
		return r;
	*ret_helper = take_ptr(&h);
	return 0;
}

struct helper *helper_free(struct helper *h)
{
	if (!h)
		return NULL;
	loop_remove(&h->source);
	reap(h, true, NULL);
	fd_close(h->fd);
	fd_close(h->pidfd);
	buffer_done(&h->line);
	free(h);
	return NULL;
}
