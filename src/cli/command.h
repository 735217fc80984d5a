#pragma once
/*
 * Commands: one entry for each command of nacre, in the file of the command; command.c lists them.
 *
 * Parsing, --help, shell completion, and the synopsis and options in nacre(1) come from the entry.
 * So every option that exists is documented, and every documented option exists.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_OPTIONS_MAX 32
#define CLI_LIST_MAX    256
#define CLI_FOREVER     ((uint64_t)INT64_MAX / 2) /* as a limit of time: none */
#define CLI_OPERAND     '\1' /* the letter of the row that takes operands, in their order */

/* The values of a repeatable option; NULL ends them. */
struct cli_list {
	const char *items[CLI_LIST_MAX + 1];
	size_t count;
};

struct cli_option {
	const char *name; /* --name; NULL: the option has only a letter */
	/* The word for the value; NULL: takes none; "[=WORD]": may take one. It also says what a
	 * shell completes: FILE, DIR, PROFILE, AGENT, TASK, APPROVAL, or one of "a|b|c". */
	const char *value;
	const char *help; /* one line, without a full stop; NULL: not shown */
	char letter;      /* 0: the option has only a name */
	enum {
		CLI_PUT_FLAG,
		CLI_PUT_TEXT,
		CLI_PUT_LIST,
		CLI_PUT_COUNT,
		CLI_PUT_SIZE,
		CLI_PUT_DURATION,
		CLI_PUT_BY,
	} put;
	size_t at;         /* where in the struct of the command */
	uint64_t min, max; /* of a number, in its unit; of a list: how many */
	/* Complains and returns a negative errno if the value is wrong. */
	int (*read)(void *options, const struct cli_option *o, const char *value);
};

/* Where a value goes: the offset of a member, whose type the compiler checks. */
#define CLI_AT(type, holder, member)                                                               \
	(offsetof(holder, member) +                                                                \
	 0 * sizeof(char[__builtin_types_compatible_p(type, __typeof__(((holder *)NULL)->member))  \
	                         ? 1                                                               \
	                         : -1]))
#define CLI_FLAG(holder, member) .put = CLI_PUT_FLAG, .at = CLI_AT(bool, holder, member)
#define CLI_TEXT(holder, member) .put = CLI_PUT_TEXT, .at = CLI_AT(const char *, holder, member)
#define CLI_LIST(holder, member, most)                                                             \
	.put = CLI_PUT_LIST, .at = CLI_AT(struct cli_list, holder, member), .max = (most)
#define CLI_COUNT(holder, member, from, to)                                                        \
	.put = CLI_PUT_COUNT, .at = CLI_AT(uint64_t, holder, member), .min = (from), .max = (to)
#define CLI_SIZE(holder, member, from, to)                                                         \
	.put = CLI_PUT_SIZE, .at = CLI_AT(uint64_t, holder, member), .min = (from), .max = (to)
#define CLI_DURATION(holder, member, from, to)                                                     \
	.put = CLI_PUT_DURATION, .at = CLI_AT(int64_t, holder, member), .min = (from), .max = (to)
#define CLI_BY(function) .put = CLI_PUT_BY, .read = (function)

struct cli_command {
	const char *name;    /* "run"; "audit show" is a command of the group "audit" */
	const char *summary; /* one line for the list of commands; NULL: not for people */
	const char *usage;   /* after the name; a newline begins another form */
	const char *about;   /* for --help; NULL: the summary says it all */
	const char *notes;   /* after the options */
	const char *operand; /* what a shell completes; see cli_option.value */
	const struct cli_option *options; /* up to an empty row; NULL: none; --help is added */
	enum {
		CLI_ANYWHERE, /* options may stand after operands */
		CLI_FIRST,    /* the first operand ends the options */
		CLI_IN_ORDER, /* each operand goes to the row CLI_OPERAND */
	} order;
	int least, most;                /* operands; MOST < 0: any number */
	size_t size;                    /* of the struct that takes the options */
	void (*prepare)(void *options); /* fills in defaults; NULL: zeros */
	void (*done)(void *options);    /* releases what the struct holds; may be NULL */
	/* Gets the operands; returns the exit code. NULL: this is a group. */
	int (*main)(void *options, int argc, char **argv);
};

#define cli_each_option(o, c)                                                                      \
	for (const struct cli_option *o = (c)->options; o && (o->name || o->letter); o++)

extern const struct cli_command *const cli_commands[]; /* up to NULL */

extern const struct cli_command cli_analyse, cli_apply, cli_approvals, cli_approve, cli_audit,
	cli_audit_checkpoint, cli_audit_show, cli_audit_tail, cli_audit_verify, cli_call,
	cli_complete, cli_completion, cli_console, cli_deny, cli_describe, cli_diff, cli_discard,
	cli_doctor, cli_explain, cli_hook, cli_init, cli_input, cli_launcher, cli_learn, cli_mcp,
	cli_output, cli_policy, cli_policy_check, cli_policy_import, cli_policy_schema,
	cli_policy_show, cli_policy_test, cli_profiles, cli_run, cli_serve, cli_session,
	cli_session_caches, cli_session_end, cli_session_list, cli_session_show, cli_stop,
	cli_tasks, cli_token, cli_token_create, cli_token_list, cli_token_revoke, cli_try, cli_undo;

/* Runs the command that argv[1] names, and returns the exit code. */
int cli_main(int argc, char **argv);

/* The command NAME, or NAME VERB; a group if the verb is NULL or unknown. NULL: there is none. */
const struct cli_command *cli_find(const char *name, const char *verb);

/* The name of C in GROUP, or among the commands without one; NULL: it is not there. */
const char *cli_name_in(const struct cli_command *c, const struct cli_command *group);

/* Complains about the value of an option: "--jobs x: expected WANTED". Returns -EINVAL. */
int cli_refuse(const struct cli_option *o, const char *value, const char *wanted);

struct buffer;

/* "nacre run [OPTIONS] -c 'LINE'"; of a group "nacre audit show|tail|..." */
void cli_put_usage(const struct cli_command *c, struct buffer *out);
void cli_put_help(const struct cli_command *c, struct buffer *out); /* of --help */
void cli_put_commands(struct buffer *out);                          /* of 'nacre --help' */
extern const struct cli_option cli_help_option;
