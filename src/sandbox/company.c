/*
 * Who else is at work in the workspace. Each command has a lock on the directory while it runs, at
 * a place that means nothing else; one for reading, the only kind that a directory can have, is in
 * nobody's way.
 *
 * It matters for what is protected. What was not there when a command began can be made by that
 * command, and taken away again, while a later one has it bound read-only: the name is the later
 * one's from then on, who would not be asked about it. So where there was company, what was bound
 * has to be the same file at the end (protect.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fd.h"
#include "sandbox/box.h"

#define PLACE 0x6e616372 /* in the directory: any that nobody else would choose */

static struct flock at_place(short type)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = PLACE, .l_len = 1};
}

static int open_directory(const struct sandbox_plan *p)
{
	scoped(fd_closep) int fd =
		open(p->workspace, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != p->workspace_device ||
	    st.st_ino != p->workspace_inode)
		return -1;
	return take_fd(&fd);
}

/* False: others do not see us. */
static bool join(struct sandbox_plan *p)
{
	struct flock lock = at_place(F_RDLCK);

	if (p->company_fd < 0)
		p->company_fd = open_directory(p);
	return p->company_fd >= 0 && fcntl(p->company_fd, F_OFD_SETLK, &lock) == 0;
}

void box_company_look(struct sandbox_plan *p)
{
	struct flock lock = at_place(F_WRLCK);
	bool seen = true;

	/* First: of two that begin at the same time both shall see the other. The commands of a
	 * kept box come later. */
	if (p->keeps)
		p->company_fd = open_directory(p);
	else
		seen = join(p);
	/* What cannot be known is taken to be so. */
	p->has_company = !seen || p->company_fd < 0 ||
	                 fcntl(p->company_fd, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
	if (p->keeps)
		fd_close(take_fd(&p->company_fd));
}

void sandbox_company_join(struct sandbox_plan *p)
{
	(void)join(p);
}

void sandbox_company_leave(struct sandbox_plan *p)
{
	struct flock lock = at_place(F_UNLCK);

	if (p->company_fd >= 0)
		(void)fcntl(p->company_fd, F_OFD_SETLK, &lock);
}
