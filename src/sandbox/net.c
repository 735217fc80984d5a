/*
 * The network of a room, or a network by name: a process makes the namespaces, tells, and ends;
 * descriptors are all that is left. Commands do not run in this user namespace but each in one
 * below it, where they have no rights over the network.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/fd.h"
#include "base/packet.h"
#include "sandbox/box.h"
#include "sandbox/doors.h"

#define MAKE_MS 10000

void sandbox_net_done(struct sandbox_net *n)
{
	fd_close(n->user);
	fd_close(n->net);
	fd_close(n->gate);
	*n = SANDBOX_NET_NONE;
}

void sandbox_net_user(const char *workspace, uid_t *ret_uid, gid_t *ret_gid)
{
	struct stat st;

	*ret_uid = geteuid();
	*ret_gid = getegid();
	if (*ret_uid != 0 || stat(workspace, &st) < 0)
		return;
	*ret_uid = st.st_uid ? st.st_uid : BOX_UID;
	*ret_gid = st.st_gid ? st.st_gid : BOX_UID;
}

static int write_text(pid_t pid, const char *name, const char *text, size_t n)
{
	scoped(fd_closep) int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, text, n) != (ssize_t)n ? -errno : 0;
}

static int write_maps(pid_t pid, uid_t uid, gid_t gid)
{
	char map[48];
	int n, r = 0;

	if (geteuid() != 0) /* the kernel wants that of a user who maps itself */
		r = write_text(pid, "setgroups", "deny", 4);
	n = snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
	if (r == 0)
		r = write_text(pid, "gid_map", map, (size_t)n);
	n = snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
	return r == 0 ? write_text(pid, "uid_map", map, (size_t)n) : r;
}

/* Waits for a byte between its steps; the parent may be gone. */
static _Noreturn void maker(int socket, const struct sandbox_ports *ports)
{
	struct sandbox_doors doors = {.way = SANDBOX_WAY_NONE};
	char byte = 0;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* The parent writes to its files in /proc, which are root's otherwise. */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		_exit(1);
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (packet_put(socket, &byte, 1, 0) != 1 || packet_get(socket, &byte, 1, 0) != 1 ||
	    (ports ? doors_open(SANDBOX_WAY_TPROXY, ports, &doors) : sandbox_net_enter()) < 0 ||
	    packet_put(socket, &byte, 1, 0) != 1 || (ports && doors_send(socket, &doors) < 0))
		_exit(1);
	(void)packet_get(socket, &byte, 1, 0);
	_exit(0);
}

static int await(int socket)
{
	struct pollfd p = {.fd = socket, .events = POLLIN};
	char byte;

	return poll(&p, 1, MAKE_MS) == 1 && packet_get(socket, &byte, 1, MSG_DONTWAIT) == 1
	               ? 0
	               : -EPERM;
}

static int open_namespace(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int sandbox_net_make(const char *workspace, const struct sandbox_ports *ports,
                     struct sandbox_net *ret_net, struct sandbox_doors *ret_doors)
{
	scoped(fd_closep) int ours = -1;
	struct sandbox_net net = SANDBOX_NET_NONE;
	struct sandbox_doors doors = {.way = SANDBOX_WAY_NONE};
	int ends[2], r;
	pid_t pid;

	sandbox_net_user(workspace, &net.uid, &net.gid);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	ours = ends[0];
	pid = fork();
	if (pid == 0) {
		fd_close(ends[0]);
		maker(ends[1], ports);
	}
	fd_close(ends[1]);
	if (pid < 0)
		return -errno;
	r = await(ours);
	if (r == 0)
		r = write_maps(pid, net.uid, net.gid);
	if (r == 0 && packet_put(ours, "", 1, 0) != 1)
		r = -EPIPE;
	if (r == 0)
		r = await(ours);
	if (r == 0 && ports)
		r = doors_receive(ours, &doors);
	if (r == 0) {
		net.user = open_namespace(pid, "user");
		net.net = open_namespace(pid, "net");
		r = net.user < 0 ? net.user : net.net < 0 ? net.net : 0;
	}
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	if (r < 0) {
		sandbox_net_done(&net);
		doors_close(&doors);
		return r;
	}
	net.named = ports != NULL;
	*ret_net = net;
	if (ports)
		*ret_doors = doors;
	return 0;
}

int sandbox_net_part(struct sandbox_plan *p, int *ret_step)
{
	*ret_step = BOX_AT_LOOPBACK;
	if (!p->nets_apart)
		return 0;
	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	return doors_open(SANDBOX_WAY_TPROXY, &p->ports, &p->doors);
}

int sandbox_net_pass(struct sandbox_plan *p, int socket)
{
	int r = p->nets_apart ? doors_send(socket, &p->doors) : 0;

	doors_close(&p->doors);
	return r;
}
