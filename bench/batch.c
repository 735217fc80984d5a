/*
 * Requests to one running `nacre run --batch`, with a given number of them under way at any time.
 *
 *     batch FILE CALLERS COUNT PROGRAM ARGV...
 *
 * starts ARGV, a batch of nacre's, and asks it COUNT * CALLERS times for PROGRAM, or, if that has a
 * space in it, for this line of bash. The lines in FILE are those of `callers`: the start of nacre
 * itself is not in them, the first answer is not counted.
 */
#include <fcntl.h>
#include <stdbool.h>
#include "harness.h"

struct batch {
	pid_t pid;
	int to;
	FILE *from;
	const char *program;
	int64_t *begun;
	char *line;
	size_t line_size;
};

static void open_batch(struct batch *b, char **argv)
{
	posix_spawn_file_actions_t actions;
	int in[2], out[2], r;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		give_up("pipe", errno);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	r = posix_spawn(&b->pid, argv[0], &actions, NULL, argv, environ);
	if (r != 0)
		give_up(argv[0], r);
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	b->to = in[1];
	b->from = fdopen(out[0], "r");
	if (!b->from)
		give_up("memory", errno);
}

static void ask(struct batch *b, size_t id)
{
	bool is_line = strchr(b->program, ' ');
	char line[512];
	int n = snprintf(line, sizeof(line), "{\"id\":%zu,\"%s\"%s\"%s}\n", id,
	                 is_line ? "command\":" : "argv\":[", b->program, is_line ? "" : "]");

	if (n >= (int)sizeof(line))
		give_up("the name of the program is too long", 0);
	b->begun[id] = now_ns();
	if (write(b->to, line, (size_t)n) != n)
		give_up("writing a request", errno);
}

/* Returns the id that was answered, and turns its begin into how long it took. */
static size_t answer(struct batch *b)
{
	size_t id;

	if (getline(&b->line, &b->line_size, b->from) < 0)
		give_up("the batch ended early", 0);
	if (sscanf(b->line, "{\"id\":%zu,", &id) != 1 || !strstr(b->line, "\"exit_code\":0"))
		give_up(b->line, 0);
	b->begun[id] = now_ns() - b->begun[id];
	return id;
}

int main(int argc, char **argv)
{
	struct batch b = {0};
	size_t callers, count, asked, answered = 0;
	int64_t begin, total;

	if (argc < 6)
		give_up("usage: batch FILE CALLERS COUNT PROGRAM ARGV...", 0);
	callers = number_argument(argv[2]);
	count = number_argument(argv[3]) * callers;
	b.program = argv[4];
	b.begun = allocate(count + 1, sizeof(*b.begun));
	open_batch(&b, argv + 5);
	ask(&b, count);
	(void)answer(&b);
	begin = now_ns();
	for (asked = 0; asked < callers && asked < count; asked++)
		ask(&b, asked);
	for (; answered < count; answered++) {
		(void)answer(&b);
		if (asked < count)
			ask(&b, asked++);
	}
	total = now_ns() - begin;
	close(b.to);
	wait_success(b.pid, "the batch");
	return write_samples(argv[1], total, b.begun, count);
}
