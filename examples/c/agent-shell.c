/*
 * A shell for an agent in a few lines: each line of standard input is decided, run in the sandbox
 * and answered with what a model would be given. A session keeps directory and variables.
 *
 *	cc agent-shell.c $(pkg-config --cflags --libs libnacre) -o agent-shell
 *	printf 'mkdir -p a; cd a; export X=1\npwd; echo $X\n' | ./agent-shell [PROFILE]
 */
#include <stdio.h>
#include <string.h>
#include <nacre.h>

static void answer(const struct nacre_result *r)
{
	fwrite(r->out, 1, r->out_bytes, stdout);
	fwrite(r->err, 1, r->err_bytes, stdout);
	if (*r->reason)
		printf("[%s]\n", r->reason);
	for (int i = 0; r->recommended[i]; i++)
		printf("[use instead: %s]\n", r->recommended[i]);
	for (int i = 0; r->notices[i]; i++)
		printf("[%s]\n", r->notices[i]);
	printf("[exit %d after %lld ms]\n", r->exit_code, (long long)r->duration_ms);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct nacre_options options = NACRE_OPTIONS_INIT;
	struct nacre_request request = NACRE_REQUEST_INIT;
	struct nacre_context *nacre;
	struct nacre_result *result;
	struct nacre_error err;
	char line[4096];

	options.profile = argc > 1 ? argv[1] : NULL;
	if (nacre_context_new(&options, &nacre, &err) < 0) {
		fprintf(stderr, "agent-shell: %s\n", err.text);
		return 1;
	}
	request.session = "agent-shell";
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		request.command = line;
		if (nacre_run(nacre, &request, &result, &err) < 0) {
			printf("[%s]\n", err.text);
			continue;
		}
		answer(result);
		nacre_result_free(result);
	}
	nacre_context_free(nacre);
	return 0;
}
