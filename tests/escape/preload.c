/* A library of the workspace that says so when it is loaded: LD_PRELOAD and its kin would do it. */
#include <unistd.h>

__attribute__((constructor)) static void loaded(void)
{
	if (write(1, "LOADED\n", 7) != 7)
		_exit(1);
}
