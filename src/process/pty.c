#include "process/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include "base/fd.h"

int pty_resize(int master, const struct pty_size *size)
{
	struct winsize w = {.ws_row = size->rows, .ws_col = size->cols};

	return ioctl(master, TIOCSWINSZ, &w) < 0 ? -errno : 0;
}

/* The kernel's defaults are those of a teletype that knows no UTF-8: Backspace would take half a
 * character. */
static int set_modes(int slave)
{
	struct termios modes;

	if (tcgetattr(slave, &modes) < 0)
		return -errno;
	modes.c_iflag |= IUTF8;
	return tcsetattr(slave, TCSANOW, &modes) < 0 ? -errno : 0;
}

int pty_open(const struct pty_size *size, int *ret_master, int *ret_slave)
{
	scoped(fd_closep) int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	scoped(fd_closep) int slave = -1;
	int locked = 0, r;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &locked) < 0)
		return -errno;
	/* By the master, not by name: a name could mean another instance of the file system. */
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return -errno;
	r = pty_resize(master, size);
	if (r == 0)
		r = set_modes(slave);
	if (r < 0)
		return r;
	*ret_master = take_fd(&master);
	*ret_slave = take_fd(&slave);
	return 0;
}
