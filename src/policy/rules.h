#pragma once
/*
 * Rules: what a profile says about commands, as plain data. The profile room fills it from YAML;
 * policy_new() compiles it. Lists are arrays of strings that end with NULL; a list that is NULL
 * was not given and constrains nothing, an empty one matches nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum policy_list { /* in the order of their force */
	           POLICY_NEVER,
	           POLICY_DENY,
	           POLICY_DANGER, /* as deny, on the text or the structure of a line */
	           POLICY_NUDGE,
	           POLICY_ASK,
	           POLICY_ALLOW,
	           POLICY_LIST_MAX,
};

enum policy_verdict { /* in the order of severity */
	              POLICY_VERDICT_ALLOW,
	              POLICY_VERDICT_ASK,
	              POLICY_VERDICT_NUDGE,
	              POLICY_VERDICT_DENY,
	              POLICY_VERDICT_MAX,
};

enum policy_unknown { /* what becomes of a line that cannot be known before it runs */
	              POLICY_UNKNOWN_DENY,
	              POLICY_UNKNOWN_ASK,
	              POLICY_UNKNOWN_SANDBOX,
	              POLICY_UNKNOWN_MAX,
};

enum policy_paths {
	POLICY_PATHS_ANY,
	POLICY_PATHS_INSIDE,          /* every operand resolves inside the workspace */
	POLICY_PATHS_RELATIVE_INSIDE, /* and is written as a relative path */
	POLICY_PATHS_OUTSIDE,         /* some operand resolves outside */
	POLICY_PATHS_MAX,
};

struct policy_place {
	const char *file; /* "bash.yaml", or "built-in:bash" */
	uint32_t line, column;
};

/* What a tool of the application is for. */
enum policy_role {
	POLICY_ROLE_NONE,
	POLICY_ROLE_SEARCH,
	POLICY_ROLE_LIST,
	POLICY_ROLE_READ,
	POLICY_ROLE_EDIT,
	POLICY_ROLE_BUILD,
	POLICY_ROLE_TEST,
	POLICY_ROLE_DEPENDENCIES,
	POLICY_ROLE_DOCS,
	POLICY_ROLE_VERSIONS,
	POLICY_ROLE_MAX
};

struct policy_rule {
	enum policy_list list;
	struct policy_place place;
	const char *id;   /* "deny:sudo", unique in the profile */
	const char *text; /* as it was written, for people */

	/* A command, by all of these that are given. Names are basenames ("mkfs.*": a glob), or
	 * globs on a path ("./" or "/" followed by a glob whose * crosses slashes); "@shells" and
	 * the like are already replaced by their members. */
	const char *const *commands;
	const char *const *args; /* the first operands, in order; globs ("run", "test*") */
	/* Options, all present; an entry may be "-r|-R|--recursive", and each of these may have a
	 * glob for its value: "--checkpoint-action=exec*". */
	const char *const *with;
	const char *const *without; /* options, none present */
	const char *const *only;    /* no option but these */
	/* Globs on normalised paths, where "~" is the home directory and "**" crosses slashes; some
	 * operand matches, and of an allow rule every one. */
	const char *const *operands;
	enum policy_paths paths;
	const char *const
		*effects; /* "write", "exec" ... of the knowledge table; some one is there */

	/* A line (DANGER): one of these instead of a command. */
	/* In the text, in the canonical text, or in the words of a command joined with blanks. One
	 * that is the definition of a function which starts itself means all such functions. */
	const char *literal;
	const char *regex; /* PCRE2, on both */
	const char *const *pipe_from,
		*const *pipe_to;     /* output of one of these into one of those */
	const char *const *write_to; /* globs: redirections and operands that are written */

	/* Said to the caller; NULL: a sentence made from the rule. {name} is the command, {operand}
	 * the word or option that made it match, {char} what syntax forbids, {allowed} the names of
	 * the allow list, {instead} a sentence about USE and force. */
	const char *reason;
	const char *const *use; /* tools to use instead */
	enum policy_role role;  /* what they are for */
	bool own_tools;         /* USE has the application's own names for them */
	bool forceable;         /* NUDGE: `force` overrides it */
	bool line_only;         /* the box lets the program exist: other programs need it */
};

/* Characters or character sequences that must not stand in the text at all. */
struct policy_syntax {
	const char *const *banned; /* "|", ";", "$(", "\n" ...; the longest that fits is named */
	bool in_command;           /* only the name of the command is looked at, not its words */
	struct policy_place place;
	const char *reason;
};

struct policy_rules {
	const struct policy_rule *rules;
	size_t rule_count;
	struct policy_syntax syntax;
	enum policy_unknown unknown;
	enum policy_verdict fallback; /* for a command that no rule names: allow, ask or deny */
	const char *fallback_reason;  /* "{name} is not in the whitelist: {allowed}" ... */
	const char *const
		*denied_effects; /* effects of the knowledge table that refuse a command */
	const char *const *asked_effects;
	bool absolute_paths; /* a command may be named by an absolute path */
};
