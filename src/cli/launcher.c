/*
 * `nacre launcher VERSION [stay]`: not for people. A program that uses libnacre executes it, with a
 * socket as standard input, to have its commands started; `nacre run --session` executes it to
 * leave it behind for the next call. See launch/launcher.h.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/command.h"
#include "engine/result.h"
#include "launch/launcher.h"

static int launcher(void *options, int argc, char **argv)
{
	int type = 0;
	socklen_t n = sizeof(type);

	if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &n) < 0 ||
	    type != SOCK_SEQPACKET) {
		cli_complain("'nacre launcher' is only for libnacre, which starts it");
		return EXIT_NACRE_FAILED;
	}
	if (argc > 1)
		(void)launcher_stay(STDIN_FILENO, argv[0]);
	else
		(void)launcher_serve(STDIN_FILENO, argv[0]);
	return EXIT_NACRE_FAILED;
}

const struct cli_command cli_launcher = {
	.name = "launcher", .usage = "VERSION [stay]", .least = 1, .most = 2, .main = launcher};
