#include "sandbox/beside.h"

#include <errno.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/fd.h"
#include "sandbox/box.h"
#include "sandbox/caps.h"

/* The root of whoever made us is not for a process in a box, even if nobody may look. */
static int take_empty_root(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("nacre", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY,
	          "size=4k,mode=555") < 0 ||
	    chroot("/tmp") < 0 || chdir("/") < 0)
		return -errno;
	return 0;
}

int sandbox_beside_enter(const struct sandbox_plan *p, int space)
{
	const struct box_identity *id = &p->identity;
	scoped(fd_closep) int user = ioctl(space, NS_GET_USERNS);
	int r;

	/* Groups while it is allowed: the box has no right to change them. */
	if (user < 0 || (id->by_parent && syscall(SYS_setgroups, 0, NULL) < 0) ||
	    setns(user, CLONE_NEWUSER) < 0)
		return -errno;
	if (id->by_parent && (syscall(SYS_setresgid, id->gid, id->gid, id->gid) < 0 ||
	                      syscall(SYS_setresuid, id->uid, id->uid, id->uid) < 0))
		return -errno;
	r = take_empty_root();
	if (r < 0)
		return r;
	return setns(space, CLONE_NEWPID) < 0 ? -errno : 0;
}

int sandbox_beside_seal(void)
{
	int r = caps_drop_all();

	if (r < 0)
		return r;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0
	               ? -errno
	               : 0;
}
