/*
 * A process of the same user outside the box. It has a secret in its environment, in its memory and
 * in an open file, writes down each signal that it gets, and leaves when its standard input ends.
 *
 *     victim LOG SECRET-FILE     prints the address of the secret in its memory
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int log_fd = -1;

static void heard(int number)
{
	char text[] = "signal 00\n";

	text[7] = (char)('0' + number / 10);
	text[8] = (char)('0' + number % 10);
	if (write(log_fd, text, sizeof(text) - 1) < 0)
		_exit(3);
}

int main(int argc, char **argv)
{
	static char secret[128];
	struct sigaction action = {.sa_handler = heard};
	char byte;

	if (argc < 3 || !getenv("VICTIM_SECRET"))
		return 2;
	snprintf(secret, sizeof(secret), "%s-memory", getenv("VICTIM_SECRET"));
	log_fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (log_fd < 0 || open(argv[2], O_RDONLY) < 0)
		return 2;
	for (int n = 1; n < 32; n++)
		sigaction(n, &action, NULL);
	printf("%p\n", (void *)secret);
	fflush(stdout);
	while (read(0, &byte, 1) < 0 && errno == EINTR)
		;
	return 0;
}
