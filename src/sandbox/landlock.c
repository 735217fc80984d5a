/*
 * Landlock denies what a set of rules governs and does not grant. A right that the running kernel
 * does not know must neither be governed nor granted, or the call fails: every set is cut to what
 * the wall governs.
 */
#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "sandbox/landlock-abi.h"

#define READ_RIGHTS (LL_FS_READ_FILE | LL_FS_READ_DIR)
/* No device nodes: there is no use for them, and root could make them. */
#define WRITE_RIGHTS                                                                               \
	(READ_RIGHTS | LL_FS_WRITE_FILE | LL_FS_TRUNCATE | LL_FS_REMOVE_DIR | LL_FS_REMOVE_FILE |  \
	 LL_FS_MAKE_DIR | LL_FS_MAKE_REG | LL_FS_MAKE_SOCK | LL_FS_MAKE_FIFO | LL_FS_MAKE_SYM |    \
	 LL_FS_REFER)
#define FILE_RIGHTS                                                                                \
	(LL_FS_EXECUTE | LL_FS_WRITE_FILE | LL_FS_READ_FILE | LL_FS_TRUNCATE | LL_FS_IOCTL_DEV)

static const uint64_t rights_of[LANDLOCK_RIGHT_MAX] = {
	[LANDLOCK_READ] = READ_RIGHTS,
	[LANDLOCK_READ_EXEC] = READ_RIGHTS | LL_FS_EXECUTE,
	[LANDLOCK_EXEC_FILE] = LL_FS_READ_FILE | LL_FS_EXECUTE,
	[LANDLOCK_WRITE] = WRITE_RIGHTS,
	[LANDLOCK_WRITE_EXEC] = WRITE_RIGHTS | LL_FS_EXECUTE,
	[LANDLOCK_DEVICE] = READ_RIGHTS | LL_FS_WRITE_FILE | LL_FS_TRUNCATE | LL_FS_IOCTL_DEV,
	[LANDLOCK_WALK] = LL_FS_READ_DIR,
};

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_VERSION);

	return abi > 0 ? (int)abi : 0;
}

struct landlock_wall landlock_wall(int abi, bool no_network)
{
	struct landlock_wall wall = {.abi = abi};

	if (abi < 1)
		return wall;
	wall.files = LL_FS_REFER - 1; /* the thirteen rights of ABI 1 */
	if (abi >= LL_ABI_REFER)
		wall.files |= LL_FS_REFER;
	if (abi >= LL_ABI_TRUNCATE)
		wall.files |= LL_FS_TRUNCATE;
	if (abi >= LL_ABI_NET && no_network)
		wall.net = LL_NET_BIND_TCP | LL_NET_CONNECT_TCP;
	if (abi >= LL_ABI_IOCTL)
		wall.files |= LL_FS_IOCTL_DEV;
	if (abi >= LL_ABI_SCOPE)
		wall.scoped = LL_SCOPE_ABSTRACT_SOCKET | LL_SCOPE_SIGNAL;
	return wall;
}

/* An older kernel refuses a struct that is longer than its own. */
static size_t attr_size(int abi)
{
	if (abi < LL_ABI_NET)
		return offsetof(struct ll_ruleset_attr, handled_net);
	if (abi < LL_ABI_SCOPE)
		return offsetof(struct ll_ruleset_attr, scoped);
	return sizeof(struct ll_ruleset_attr);
}

int landlock_begin(const struct landlock_wall *wall)
{
	struct ll_ruleset_attr attr = {
		.handled_fs = wall->files,
		.handled_net = wall->net,
		.scoped = wall->scoped,
	};
	long fd;

	if (wall->abi < 1)
		return -EOPNOTSUPP;
	fd = syscall(SYS_landlock_create_ruleset, &attr, attr_size(wall->abi), 0);
	return fd < 0 ? -errno : (int)fd; /* the kernel makes it close-on-exec */
}

int landlock_grant(int rules, const struct landlock_wall *wall, int path_fd,
                   enum landlock_right right)
{
	struct ll_path_attr attr = {.parent_fd = path_fd};
	struct stat st;

	if (fstat(path_fd, &st) < 0)
		return -errno;
	attr.allowed = rights_of[right] & wall->files;
	if (!S_ISDIR(st.st_mode))
		attr.allowed &= FILE_RIGHTS;
	if (!attr.allowed)
		return 0;
	if (syscall(SYS_landlock_add_rule, rules, LL_RULE_PATH_BENEATH, &attr, 0) < 0)
		return -errno;
	return 0;
}

int landlock_grant_at(int rules, const struct landlock_wall *wall, int dir_fd, const char *path,
                      enum landlock_right right)
{
	int fd = openat(dir_fd, path, O_PATH | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = landlock_grant(rules, wall, fd, right);
	close(fd);
	return r;
}

int landlock_enforce(int rules)
{
	return syscall(SYS_landlock_restrict_self, rules, 0) < 0 ? -errno : 0;
}
