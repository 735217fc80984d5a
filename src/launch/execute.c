/*
 * The launcher of a host that is not nacre. A fork would copy the page tables of something big, the
 * locks of its threads, held by nobody in the copy, and what it has in memory into every keeper
 * that stands beside a command. So nacre itself is executed, with the socket as its standard
 * input and no more of the environment than keepers look at.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/packet.h"
#include "process/apart.h"
#include "launch/heritage.h"
#include "launch/inside.h"
#include "launch/launcher.h"

#define GREETING_MS 20000
#define VERSION_MAX 64
#define ENV_MAX     64
#define ENV_BYTES   65536

static char **environment(struct arena *arena)
{
	char **list = arena_new_array(arena, char *, ENV_MAX + 1);
	size_t n = 0;

	for (char **v = environ; list && v && *v && n < ENV_MAX; v++)
		if (heritage_has_variable(*v)) {
			list[n] = arena_strdup(arena, *v);
			if (!list[n++])
				return NULL;
		}
	return list;
}

static int greeting(int socket, const char *program, struct error *err)
{
	struct pollfd p = {.fd = socket, .events = POLLIN};
	int fds[PACKET_FDS_MAX];
	char version[VERSION_MAX + 1] = "";
	size_t count = 0;
	ssize_t n;
	int r;

	do
		r = poll(&p, 1, GREETING_MS);
	while (r < 0 && errno == EINTR);
	n = r > 0 ? packet_receive(socket, version, VERSION_MAX, fds, &count, MSG_DONTWAIT) : 0;
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	if (n > 0 && strcmp(version, NACRE_VERSION) == 0)
		return 0;
	if (n > 0)
		return error_set(err, ERROR_UNSUPPORTED, EPROTO,
		                 "'%.120s' is nacre %.30s, and %s is wanted", program, version,
		                 NACRE_VERSION);
	return error_set(err, ERROR_UNSUPPORTED, EPROTO, "'%.150s' does not answer as nacre does",
	                 program);
}

/* *RET_SOCKET and *RET_PIDFD are the caller's. */
static int execute(const char *program, char *const *argv, int *ret_socket, int *ret_pidfd,
                   struct error *err)
{
	scoped(arena_freep) struct arena *arena = arena_new(ENV_BYTES);
	struct apart apart = {.path = program, .argv = argv};
	scoped(fd_closep) int ours = -1;
	scoped(fd_closep) int theirs = -1; /* closed here: its end must show */
	int sockets[2], r;

	if (arena)
		apart.envp = environment(arena);
	if (!apart.envp)
		return error_nomem(err);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return error_sys(err, errno, "socket pair for the launcher");
	ours = sockets[0];
	apart.input = theirs = sockets[1];
	r = apart_execute(&apart, ret_pidfd, err);
	if (r == 0)
		*ret_socket = take_fd(&ours);
	return r;
}

int launcher_execute(const char *program, struct launcher *ret_launcher, struct error *err)
{
	static char name[] = "nacre", command[] = "launcher", version[] = NACRE_VERSION;
	char *argv[] = {name, command, version, NULL};
	scoped(fd_closep) int ours = -1;
	scoped(fd_closep) int pidfd = -1;
	int r = execute(program, argv, &ours, &pidfd, err);

	if (r == 0)
		r = greeting(ours, program, err);
	if (r < 0)
		return r;
	*ret_launcher = (struct launcher){
		.socket = take_fd(&ours), .pidfd = take_fd(&pidfd), .program = program};
	return 0;
}

/* Executed, not forked: it lives for longer than the call, and shall have nothing of it in its
 * memory, nor all of its variables. */
int launcher_leave(const struct keeper_order *order, const struct profile *profile,
                   struct error *err)
{
	static char name[] = "nacre", command[] = "launcher", version[] = NACRE_VERSION,
		    stay[] = "stay";
	char *argv[] = {name, command, version, stay, NULL};
	scoped(buffer_donep) struct buffer key = {.max = LAUNCHER_KEY_MAX};
	char standby[STANDBY_NAME_MAX + 1];
	scoped(fd_closep) int ours = -1;
	scoped(fd_closep) int pidfd = -1;
	int r = heritage_name(standby);

	if (r < 0)
		return error_sys(err, -r, "name of the launcher");
	if (launcher_key_write(order, profile, &key) < 0)
		return error_nomem(err);
	r = execute("/proc/self/exe", argv, &ours, &pidfd, err);
	if (r < 0)
		return r;
	r = packet_send(ours, standby, strlen(standby) + 1, key.data, key.len, NULL, 0,
	                MSG_NOSIGNAL | MSG_DONTWAIT);
	return r < 0 ? error_sys(err, -r, "the launcher does not answer") : 0;
}
