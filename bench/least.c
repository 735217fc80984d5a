/*
 * The least that a server for MCP over stdio can do: each call of a tool starts a program and waits
 * for it. No box, no policy, no output, no record, no timeout, not even JSON: it looks for the
 * words that the one client of the bench sends. What it takes nobody can go below.
 *
 *     least ARGV...
 */
#include "harness.h"

/* The number behind "id": in this line; -1: a notification. */
static long id_of(const char *line)
{
	const char *at = strstr(line, "\"id\":");

	return at ? strtol(at + 5, NULL, 10) : -1;
}

static void answer(const char *line, char *const *argv, char *const *envp)
{
	const char *result = "{}";
	long id = id_of(line);

	if (id < 0)
		return;
	if (strstr(line, "\"initialize\"")) {
		result = "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
			 "\"serverInfo\":{\"name\":\"least\",\"version\":\"1\"}}";
	} else if (strstr(line, "\"tools/call\"")) {
		wait_success(start(argv, envp), argv[0]);
		result = "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}";
	} else if (strstr(line, "\"tools/list\"")) {
		result = "{\"tools\":[]}";
	}
	printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":%s}\n", id, result);
	fflush(stdout);
}

int main(int argc, char **argv, char **envp)
{
	static char line[1 << 20];

	if (argc < 2)
		give_up("usage: least ARGV...", 0);
	while (fgets(line, sizeof(line), stdin))
		answer(line, argv + 1, envp);
	return 0;
}
