/*
 * Bare system calls: what libcap does needs malloc, which a process that was just cloned must not
 * use.
 */
#include "sandbox/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPS_WORDS 2 /* of _LINUX_CAPABILITY_VERSION_3 */
#define CAPS_END   64

/* A uid of 0 gives nothing, a change of uids gives nothing, no capability outlives an execve; and
 * none of that can be taken back. */
#define LOCKED_BITS                                                                                \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                           \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |   \
	 SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

int caps_drop_all(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[CAPS_WORDS] = {0};

	/* The bounding set first: dropping from it needs CAP_SETPCAP. The kernel ends the list with
	 * EINVAL, and without the right there is EPERM for all of them. */
	for (int cap = 0; cap < CAPS_END; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			break;
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	(void)prctl(PR_SET_SECUREBITS, LOCKED_BITS, 0, 0, 0);
	/* A filter around us may refuse the call. What counts is that nothing is left. */
	(void)syscall(SYS_capset, &head, none);
	return caps_any() == 0 ? 0 : -EPERM;
}

int caps_any(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct now[CAPS_WORDS] = {0};
	uint32_t all = 0;

	if (syscall(SYS_capget, &head, now) < 0)
		return -errno;
	for (int i = 0; i < CAPS_WORDS; i++)
		all |= now[i].permitted | now[i].effective | now[i].inheritable;
	return all != 0;
}
