/*
 * The plain loop that nacre's capture is held against: start a command with a pipe, read, and write
 * what was read to a file. No limits, no counts, no head and tail, no time limit.
 *
 *     drain FILE READ_BYTES PIPE_BYTES SESSION ARGV...
 *
 * PIPE_BYTES 0 leaves the pipe as the kernel makes it. SESSION 1 gives the command a session of its
 * own, as every supervisor does that keeps it away from the terminal: on a busy machine the
 * scheduler then no longer treats reader and writer as one.
 */
#include <fcntl.h>
#include "harness.h"

static void copy(int from, int to, char *buffer, size_t size)
{
	ssize_t n, done;

	while ((n = read(from, buffer, size)) != 0) {
		if (n < 0)
			give_up("read", errno);
		for (ssize_t at = 0; at < n; at += done) {
			done = write(to, buffer + at, (size_t)(n - at));
			if (done < 0)
				give_up("write", errno);
		}
	}
}

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int ends[2], file, r;
	size_t size, pipe_size;
	pid_t pid;

	if (argc < 6)
		give_up("usage: drain FILE READ_BYTES PIPE_BYTES SESSION ARGV...", 0);
	size = number_argument(argv[2]);
	pipe_size = number_argument(argv[3]);
	file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0 || pipe2(ends, O_CLOEXEC) < 0)
		give_up(argv[1], errno);
	if (pipe_size > 0 && fcntl(ends[0], F_SETPIPE_SZ, (int)pipe_size) < 0)
		give_up("size of the pipe", errno);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawnattr_init(&attributes);
	if (number_argument(argv[4]))
		posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
	r = posix_spawn(&pid, argv[5], &actions, &attributes, argv + 5, environ);
	if (r != 0)
		give_up(argv[5], r);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	copy(ends[0], file, allocate(size, 1), size);
	wait_success(pid, argv[5]);
	return 0;
}
