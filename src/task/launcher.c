/*
 * One packet per keeper: a flag word that tells which descriptors follow, and as descriptors the
 * order in a memfd, the control socket, the command's input and the task's directory. The launcher
 * answers nothing; a keeper that could not be started shows as a closed control socket.
 */
#include "task/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "keeper/order.h"
#include "process/clone.h"

enum { FD_ORDER, FD_CONTROL, FD_INPUT, FD_TASK, FD_MAX };

union ancillary {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(FD_MAX * sizeof(int))];
};

struct packet {
	int fds[FD_MAX];
};

static void packet_done(struct packet *p)
{
	for (int i = 0; i < FD_MAX; i++)
		fd_close(p->fds[i]);
}

/* 0: a whole packet; -EPIPE: the server is gone; -EBADMSG: something else. */
static int packet_receive(int socket, struct packet *p)
{
	uint32_t count = 0;
	struct iovec part = {&count, sizeof(count)};
	union ancillary a = {0};
	struct msghdr m = {.msg_iov = &part,
	                   .msg_iovlen = 1,
	                   .msg_control = a.bytes,
	                   .msg_controllen = sizeof(a.bytes)};
	struct cmsghdr *c;
	size_t n;
	ssize_t r;

	do
		r = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	while (r < 0 && errno == EINTR);
	if (r <= 0)
		return -EPIPE;
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return -EBADMSG;
	n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(p->fds, CMSG_DATA(c), (n < FD_MAX ? n : FD_MAX) * sizeof(int));
	if (r != (ssize_t)sizeof(count) || count != n || n < FD_TASK || n > FD_MAX ||
	    m.msg_flags & MSG_CTRUNC)
		return -EBADMSG;
	return 0;
}

static _Noreturn void become_keeper(const struct packet *p)
{
	struct keeper_fds fds = {.control = p->fds[FD_CONTROL],
	                         .task = p->fds[FD_TASK],
	                         .input = p->fds[FD_INPUT],
	                         .hello = true};
	struct buffer order = {.max = ORDER_BYTES_MAX};

	if (lseek(p->fds[FD_ORDER], 0, SEEK_SET) < 0 || fd_read_all(p->fds[FD_ORDER], &order) < 0)
		_exit(1);
	keeper_main(&fds, order.data, order.len);
}

static _Noreturn void launcher_main(int socket)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	int r;

	(void)prctl(PR_SET_NAME, "nacre-launcher", 0, 0, 0);
	(void)setsid();
	fd_close_except(&socket, 1);
	fd_null_standard(); /* a reader of nacre's output must not wait for us */
	for (int s = 1; s < 32; s++)
		if (s != SIGSEGV && s != SIGBUS && s != SIGABRT && s != SIGILL && s != SIGFPE)
			(void)sigaction(s, &ignore,
			                NULL); /* SIGCHLD too: keepers are reaped unseen */
	for (;;) {
		scoped(packet_done) struct packet p = {{-1, -1, -1, -1}};
		scoped(fd_closep) int pidfd = -1;

		r = packet_receive(socket, &p);
		if (r == -EPIPE)
			_exit(0);
		if (r == 0 && process_clone(&pidfd) == 0)
			become_keeper(&p);
	}
}

int launcher_start(struct launcher *ret_launcher, struct error *err)
{
	scoped(fd_closep) int ours = -1;
	scoped(fd_closep) int theirs = -1;
	int sockets[2], pidfd = -1;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return error_sys(err, errno, "socket pair for the launcher");
	ours = sockets[0];
	theirs = sockets[1];
	pid = process_clone(&pidfd);
	if (pid == 0)
		launcher_main(theirs);
	if (pid < 0)
		return error_sys(err, (int)-pid, "starting the launcher");
	*ret_launcher = (struct launcher){.socket = take_fd(&ours), .pid = pid, .pidfd = pidfd};
	return 0;
}

void launcher_done(struct launcher *l)
{
	if (l->socket < 0)
		return;
	fd_close(take_fd(&l->socket)); /* end of file: it leaves */
	(void)waitpid(l->pid, NULL, 0);
	fd_close(take_fd(&l->pidfd));
}

static int send_packet(struct launcher *l, const int *fds, uint32_t count)
{
	struct iovec part = {&count, sizeof(count)};
	union ancillary a = {0};
	struct msghdr m = {.msg_iov = &part,
	                   .msg_iovlen = 1,
	                   .msg_control = a.bytes,
	                   .msg_controllen = CMSG_SPACE(count * sizeof(int))};

	a.header.cmsg_level = SOL_SOCKET;
	a.header.cmsg_type = SCM_RIGHTS;
	a.header.cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(&a.header), fds, count * sizeof(int));
	return sendmsg(l->socket, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int launcher_spawn(struct launcher *l, const struct keeper_fds *fds, const char *order,
                   size_t order_bytes, struct error *err)
{
	scoped(fd_closep) int memory = memfd_create("nacre-order", MFD_CLOEXEC);
	const int wire[FD_MAX] = {[FD_ORDER] = memory,
	                          [FD_CONTROL] = fds->control,
	                          [FD_INPUT] = fds->input,
	                          [FD_TASK] = fds->task};
	uint32_t count = fds->task >= 0 ? FD_MAX : FD_TASK;
	int r;

	if (memory < 0 || fd_write_all(memory, order, order_bytes) < 0)
		return error_sys(err, errno, "memory for an order");
	r = send_packet(l, wire, count);
	if (r == -EPIPE || r == -ECONNRESET) {
		/* Forking from here may be slow by now, but it is once. */
		launcher_done(l);
		r = launcher_start(l, err);
		if (r < 0)
			return r;
		r = send_packet(l, wire, count);
	}
	return r < 0 ? error_sys(err, -r, "the launcher does not answer") : 0;
}
