#pragma once
/*
 * Quiet, inside: what the files of this theme share.
 *
 *	quiet-tree.c   which processes and threads there are
 *	quiet-fd.c     what the descriptor is that a thread waits for
 *	quiet-call.c   for what a system call waits
 *	quiet.c        the words for it
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESSES_MAX  64
#define THREADS_MAX    32
#define FDS_MAX        64
#define LINES_MAX      4096 /* of a table of the kernel */
#define TEXT_MAX       4096
#define LOOK_MAX_MS    300
#define NAMES_MAX_MS   50
#define LOOK_AGAIN_MS  80
#define BUSY_TICKS     3 /* of these, within that time */
#define NAME_MAX_SHOWN 16
#define DETAIL_MAX     128

/* The later ones tell more. */
enum doing {
	DOING_NOTHING,
	DOING_CHILD,    /* waits for a process of its own */
	DOING_INTERNAL, /* waits for another one of the tree, or for a thread */
	DOING_OTHER,
	DOING_SLEEP,
	DOING_DISK,
	DOING_STOPPED,
	DOING_NETWORK,
	DOING_LOCK,
	DOING_TERMINAL,
	DOING_STDIN,
	DOING_BUSY,
};

struct process_view {
	pid_t pid;
	int parent; /* index; -1: none */
	char name[NAME_MAX_SHOWN + 1];
	char state;
	uint64_t ticks; /* processor time */
	enum doing doing;
	char detail[DETAIL_MAX];
};

struct tree_view {
	int64_t until; /* the command decides how much there is to see, not how long we look */
	struct process_view list[PROCESSES_MAX];
	int count;
};

struct thread_look {
	const struct tree_view *tree;
	struct process_view *process;
};

/* quiet-tree.c */
bool quiet_is_late(const struct tree_view *t);
/* A file of /proc/PID as a string; how long it is, or -1. */
ssize_t quiet_read(pid_t pid, const char *file, char text[TEXT_MAX]);
void quiet_make_printable(char *text);
bool quiet_read_stat(struct process_view *p);
typedef void (*thread_visitor)(void *owner, pid_t pid, pid_t thread);
void quiet_for_each_thread(pid_t pid, thread_visitor visit, void *owner);
void quiet_read_tree(pid_t root, struct tree_view *t);

/* quiet-fd.c */
bool quiet_link(pid_t pid, int fd, char into[PATH_MAX]);
/* Whether the process has LINK open, if WRITING for that. */
bool quiet_has_open(pid_t pid, const char *link, bool writing);
void quiet_note(struct process_view *p, enum doing doing, const char *detail);
/* The thread waits for FD. */
void quiet_note_fd(struct thread_look *l, int fd);

/* quiet-call.c */
void quiet_look_at(struct tree_view *t, struct process_view *p);
/* What was running is busy if it still is, or has used much of the time between. */
void quiet_look_for_busy(struct tree_view *t);
