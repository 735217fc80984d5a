#pragma once
/*
 * The subcommands. Each gets its own arguments, with its name as argv[0], and returns the exit
 * code.
 */
int cli_run(int argc, char **argv);
int cli_approvals(int argc, char **argv);
int cli_approve(int argc, char **argv);
int cli_deny(int argc, char **argv);
int cli_call(int argc, char **argv);
int cli_input(int argc, char **argv);
int cli_tasks(int argc, char **argv);
int cli_audit(int argc, char **argv);
int cli_output(int argc, char **argv);
int cli_stop(int argc, char **argv);
int cli_analyse(int argc, char **argv);
int cli_explain(int argc, char **argv);
int cli_policy(int argc, char **argv);
int cli_profiles(int argc, char **argv);
int cli_mcp(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_serve(int argc, char **argv);
int cli_token(int argc, char **argv);
int cli_completion(int argc, char **argv);
int cli_launcher(int argc, char **argv);

struct buffer;

/* Words of a command or of its author, made harmless for the terminal of a person. */
void cli_put_clean(const char *text, struct buffer *into);

/* "nacre: FORMAT" on standard error, clean. */
void cli_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
