/*
 * The numbers of processes begin anew in each pid namespace. A number that one call of a session
 * has told (echo $! >pid) would so be that of some other process in the next call, often of its own
 * shell. Each call therefore begins at a number of its own, by chance. The kernel takes it from a
 * process with rights over the namespace (5.9 and later); elsewhere the numbers begin with 2.
 */
#include "sandbox/numbers.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/random.h>
#include <unistd.h>
#include "sandbox/box.h"
#include "sandbox/plan.h"

#define FIRST 10000 /* five digits */
#define SPAN  20000 /* the least pid_max is 32768 */

void box_numbers_open(struct sandbox_plan *p)
{
	p->numbers_fd = sandbox_plan_has_room(p)
	                        ? open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC)
	                        : -1;
}

void box_numbers_begin(struct sandbox_plan *p)
{
	char text[5]; /* five digits; between fork and exec there is no printf() */
	uint16_t any;
	int number;

	if (p->numbers_fd < 0)
		return;
	if (getrandom(&any, sizeof(any), GRND_NONBLOCK) == (ssize_t)sizeof(any)) {
		number = FIRST + any % SPAN;
		for (int i = (int)sizeof(text) - 1; i >= 0; i--, number /= 10)
			text[i] = (char)('0' + number % 10);
		/* The kernel takes a number only at the beginning of the file. */
		p->numbered = pwrite(p->numbers_fd, text, sizeof(text), 0) == (ssize_t)sizeof(text);
	}
	close(p->numbers_fd);
	p->numbers_fd = -1;
}

int sandbox_numbers_fd(const struct sandbox_plan *p)
{
	return p->numbers_fd;
}

bool sandbox_is_numbered(const struct sandbox_plan *p)
{
	return p->numbered;
}
