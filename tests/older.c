/*
 * A nacre that believes to run on a kernel whose Landlock has ABI 2 (Linux 5.19 to 6.1): for tests,
 * never installed. It uses no more of Landlock than such a kernel has.
 */
#include "sandbox/landlock.h"

int __real_landlock_abi(void);
int __wrap_landlock_abi(void);

int __wrap_landlock_abi(void)
{
	int abi = __real_landlock_abi();

	return abi < 2 ? abi : 2;
}
