#pragma once
/*
 * What keeper and init tell each other, one struct per packet of their socket pair.
 */
#include <stdint.h>
#include <sys/types.h>

/* clang-format off */
enum init_event { /* from init to the keeper */
	INIT_FAILED,   /* the command could not be started: step and sys */
	INIT_READY,    /* it stands by for a plan; its pidfd comes along the first time, its pid
	                  namespace (if "detail" says so) and where its filter asks */
	INIT_TERMINAL, /* the other end of the command's terminal comes along */
	INIT_ASKS,     /* where the filter asks the keeper comes along */
	INIT_SPACE,    /* its pid namespace comes along */
	INIT_STARTED,
	INIT_EXITED,   /* the command itself has ended: status; leftover: others of its tree live on */
	INIT_GONE,     /* nothing is left; init exits */
};
/* clang-format on */

enum child_step {
	CHILD_SETSID,
	CHILD_STDIO,
	CHILD_LIMITS,
	CHILD_CWD,
	CHILD_SIGNALS,
	CHILD_PRIVILEGES,
	CHILD_EXEC,
	CHILD_FORK,
	CHILD_SANDBOX, /* detail says where */
	CHILD_TERMINAL,
	CHILD_CLOSE,
	CHILD_STEP_MAX,
};

struct init_message {
	enum init_event event;
	enum child_step step;
	int sys;
	int detail; /* for sandbox_plan_explain() */
	pid_t pid;
	int status; /* as waitpid() gives it */
	int leftover;
	int gone; /* INIT_EXITED: nothing is left either; process_receive() makes two messages of it
	           */
	int tmp_full;  /* the box has no room left for temporary files */
	int killed;    /* processes that needed SIGKILL */
	int survivors; /* processes that even that did not end */
	int processes; /* when nothing is left: how many there have been */
	int64_t cpu_us;
	int64_t max_rss_kb;
};

/* clang-format off */
enum init_order { /* from the keeper to init */
	INIT_TERM,  /* SIGTERM to the whole tree */
	INIT_XCPU,  /* SIGXCPU to the whole tree */
	INIT_KILL,  /* SIGKILL to the whole tree, then INIT_GONE */
	INIT_GO,    /* the box is admitted: its init may enter. The next one: the command may be
	               executed (process_command.waits) */
	INIT_AGAIN, /* the command has ended: INIT_READY for another one, or leave */
};
/* clang-format on */
