/*
 * Who makes the network of a room holds a lock meanwhile, and notes that there is another one. The
 * file is beside the record.
 */
#include "session/room-inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fd.h"

static bool net_path(const char *state, const char *id, char into[PATH_MAX])
{
	return room_id_is_valid(id) &&
	       snprintf(into, PATH_MAX, "%s/rooms/%s" ROOM_NET, state, id) < PATH_MAX;
}

static bool room_is_recorded(const char *state, const char *id)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/rooms/%s.json", state, id) < PATH_MAX &&
	       access(path, F_OK) == 0;
}

int room_net_lock(const char *state, const char *id)
{
	scoped(fd_closep) int fd = -1;
	char path[PATH_MAX];
	int r;

	if (!net_path(state, id, path))
		return -EINVAL;
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fd_lock(fd);
	/* A room that has ended meanwhile has taken its file with it: no other shall stay. */
	if (r == 0 && !room_is_recorded(state, id)) {
		(void)unlink(path);
		r = -ENOENT;
	}
	return r < 0 ? r : take_fd(&fd);
}

void room_net_note(int lock)
{
	(void)futimens(lock, NULL);
}

int64_t room_net_noted(const char *state, const char *id)
{
	char path[PATH_MAX];
	struct stat st;

	if (!net_path(state, id, path) || lstat(path, &st) < 0)
		return 0;
	return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}
