/* Says who it runs as; the driver plants it set-user-id root. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	printf("uid %u euid %u\n", (unsigned)getuid(), (unsigned)geteuid());
	return 0;
}
