#pragma once
/*
 * Profile: what one kind of caller may run, and how: rules, limits, sandbox, environment, dialect.
 *
 * Made from layers of YAML: the built-in text, /etc/nacre, the user's files, the file of the
 * project, a file of the command line. Everything is checked before anything is used: a key that
 * nobody knows, a value of the wrong type, or a project that would loosen what stands below it is
 * an error with file, line and column, and there is no profile then.
 *
 * Plain data, never changed once it is loaded. All memory hangs on the profile.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "audit/audit.h"
#include "base/cleanup.h"
#include "container/spec.h"
#include "gateway/rules.h"
#include "output/view.h"
#include "policy/rules.h"
#include "sandbox/spec.h"

struct error;
struct policy;
struct profile_store; /* memory, and where each value comes from; see show.h */

enum profile_shell {
	PROFILE_SHELL_BASH, /* a string is a line for bash */
	PROFILE_SHELL_NONE, /* a string is split into words, and these are executed */
	PROFILE_SHELL_MAX,
};

enum profile_mode {
	PROFILE_MODE_STRICT,
	PROFILE_MODE_LANDLOCK,
	PROFILE_MODE_CONTAINER,
	PROFILE_MODE_NONE,
	PROFILE_MODE_MAX,
};

enum profile_timeout_act {
	PROFILE_TIMEOUT_KILL,
	PROFILE_TIMEOUT_BACKGROUND, /* the command becomes a task, and its caller stops waiting */
	PROFILE_TIMEOUT_MAX,
};

struct profile_timeout {
	int64_t default_ms, max_ms, grace_ms; /* default_ms <= max_ms */
	int64_t idle_ms;                      /* 0: none */
	enum profile_timeout_act act;
};

struct profile_output {
	struct view_limits view;
	const char *mode;  /* "separate", "merged", "auto", "stdout", "stderr": where nothing is
	                      asked for */
	uint64_t file_cap; /* bytes per stream on disk */
	uint64_t answer;   /* bytes of an answer that is one text; 0: by the caller */
};

struct profile_workspace {
	const char *root;         /* jobs have their directories below it; NULL: none is made */
	bool per_job;             /* job_<session> or job_<uuid> below the root */
	uint64_t size;            /* of all files; 0: no limit */
	const char *const *roots; /* a caller may name a workspace below one of these; NULL: any */
};

/* What the calls of one session share. */
enum profile_share {
	PROFILE_SHARE_NONE,
	PROFILE_SHARE_TMP, /* /tmp, /dev/shm and the loopback interface */
	PROFILE_SHARE_ALL, /* home as well */
	PROFILE_SHARE_MAX,
};

#define PROFILE_CACHES_MAX 16

/* The application's own tools, by what they are for; each NULL: it has none. */
struct profile_tools {
	const char *const *of[POLICY_ROLE_MAX];
};

struct profile_room {
	enum profile_share share;
	bool network;
	uint64_t size, files;    /* of all that is in it; 0: not limited */
	int64_t idle_ms, age_ms; /* when it ends by itself */
	int64_t warm_ms;         /* how long a launcher stands by after a call; 0: not at all */
	bool keep_leftover;      /* what a command leaves running goes on as a task */
	/* Directories that persist across sessions, as "~/.npm"; NULL: none. */
	const char *const *caches;
	uint64_t cache_size, cache_files; /* of them together; 0: not limited */
};

struct profile_ask {
	int64_t timeout_ms; /* how long a request waits for a person */
	int64_t keep_ms;    /* how long the question stays open, and the answer good */
	bool refused;       /* nobody is asked: what would be is refused */
};

/* Copy-on-write views of the workspace, and what they leave. */
struct profile_undo {
	bool on;           /* every command that may write has one, and is applied at its end */
	bool asks;         /* before what was tried is applied, a person sees it */
	bool durable;      /* contents are on the disk before they are applied */
	int64_t keep_ms;   /* how long a command can be undone, or what was tried be applied */
	uint64_t size;     /* of all that is kept for it, on the disk; 0: not limited */
	const char *store; /* a directory for it; NULL: nacre's state directory */
};

struct profile_audit {
	bool optional; /* a command may run although its record cannot be written */
	bool off;      /* nothing is recorded */
	struct audit_settings log;
};

struct profile_example {
	struct policy_place place;
	const char *command;      /* a line; or NULL and */
	const char *const *argv;  /* words */
	const char *const *files; /* that are in the workspace, executable; may be NULL */
	bool force;
	enum policy_verdict verdict;
	const char *rule; /* the id that must have decided; NULL: any */
};

struct profile {
	const char *name; /* of the profile, or of the agent */
	const char *base; /* the profile that stands lowest: "universal" for the agent "writer" */
	const char *inherits; /* what its file says; NULL: nothing */
	bool by_fallback;     /* nobody has named it */
	const char *description;
	const char
		*tool; /* the dialect: "Bash", "run_command", "shell", "run_shell", "safe_shell" */
	enum profile_shell shell;
	bool require_description;
	enum profile_mode mode; /* of the box; sandbox.tier follows from it */
	bool container;         /* the box is a container of docker or podman */
	struct container_spec in_container;
	struct engine_spec docker;
	struct profile_audit audit;
	struct profile_timeout timeout;
	struct profile_ask ask;
	struct profile_output output;
	struct profile_workspace workspace;
	struct profile_room room;
	struct profile_undo undo;
	struct profile_tools tools;
	const char *const *environment_pass; /* names and globs: "LANG", "LC_*" */
	const char *const *environment_set;  /* NAME=VALUE */
	struct sandbox_spec sandbox;         /* programs and denied follow from the rules */
	struct network_rules network;        /* of SANDBOX_NETWORK_NAMES; else empty */
	struct policy_rules rules;
	struct policy *policy;                  /* of the rules, compiled */
	const struct profile_example *examples; /* only if they were asked for */
	size_t example_count;
	struct profile_store *store;
};

struct profile_request {
	const char *name;        /* NULL: as the agent or the policy file says, else "bash" */
	const char *fallback;    /* the one of the tool that is called, instead of "bash" */
	const char *agent;       /* NULL: none */
	const char *policy_file; /* the topmost layer, or a profile of its own; NULL: none */
	int workspace_fd; /* O_PATH or open for reading; -1: no file of the project is read */
	/* The directory that the operator gave to the caller, who chose the workspace in it;
	 * canonical. The project files of every directory from there down to the workspace hold.
	 * NULL: the workspace itself. */
	const char *root;
	const char *system_dir; /* "/etc/nacre"; NULL: no such layer */
	const char *user_dir;   /* "~/.config/nacre", absolute; NULL: no such layer */
	/* Where the configurations of package managers lie, for the set @packages: the operator's
	 * home directory, and what is "/" for those of the system. NULL: none is read. */
	const char *home, *machine;
	uid_t uid;      /* files of the upper layers belong to this user or to root */
	bool examples;  /* wanted, too */
	bool unchecked; /* nothing will run by it: the policy file may be of anybody */
};

#define PROFILE_DEFAULT      "bash"
#define PROFILE_COMMON       "base" /* what the shipped ones inherit; nothing runs by it alone */
#define PROFILE_PROJECT_FILE ".nacre.yaml"
/* Whether a message begins with the name of a file of the project, and not of the operator. */
bool profile_blames_project(const char *message);

/* No names, no workspace, and the directories and the user of this process. The strings live as
 * long as the environment and BUFFER. */
void profile_request_init(struct profile_request *request, char *buffer, size_t size);

/* The caller owns *ret_profile. The text of an error may be shown to the person who runs nacre. */
int profile_load(const struct profile_request *request, struct profile **ret_profile,
                 struct error *err);
struct profile *profile_free(struct profile *p); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct profile *, profile_free);

/* Whether the files of its layers, and the absence of those that were not there, are as they were
 * when it was loaded: a server may keep it so long. */
bool profile_is_current(const struct profile *p);

/* How long a launcher stands by for the next call of a session; 0: none does. */
static inline int64_t profile_stays_ms(const struct profile *p)
{
	return p->room.warm_ms < p->room.idle_ms ? p->room.warm_ms : p->room.idle_ms;
}

/* What tells this profile from what its files said before, in hexadecimal digits. */
#define PROFILE_DIGEST_SIZE 33
void profile_digest(const struct profile *p, char into[PROFILE_DIGEST_SIZE]);

/* What tells its network from that of another profile, or of this one before a change. False: there
 * is no memory. */
bool profile_network_digest(const struct profile *p, char into[PROFILE_DIGEST_SIZE]);

/* Every profile and agent that can be loaded, shipped ones first; PATH is NULL for these. */
typedef void profile_visit(void *context, const char *name, const char *path, bool agent);
void profile_names(const struct profile_request *request, profile_visit *visit, void *context);

/* The text as it is shipped; agents are found, too. NULL: there is none. */
struct profile_builtin {
	const char *name;
	const char *text;
	size_t len;
	const char *tree; /* packed, without the examples */
	size_t tree_len;
	bool agent;
};
/* False: it is only inherited. */
bool profile_builtin_runs(const struct profile_builtin *b);
const struct profile_builtin *profile_builtin_find(const char *name, bool agent);
extern const struct profile_builtin profile_builtins[]; /* profiles, then agents, by name */
extern const size_t profile_builtin_count;
