#pragma once
/*
 * Find: the tasks of this user, running and past, as their directories tell.
 *
 * No process is asked. A task is running while its keeper holds the lock on spec.json; it has ended
 * when there is a state.json; with neither it was lost, with the machine or by SIGKILL.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "task/report.h"
#include "task/store.h"

struct error;
struct json_writer;
struct living;

enum find_state {
	FIND_RUNNING,
	FIND_ENDED, /* report tells how */
	FIND_LOST,
};

/* Where a task comes from, as its spec.json says; empty: unknown. */
struct find_origin {
	char principal[64]; /* the owner; empty: the user who runs nacre */
	char door[16];      /* "cli", "mcp", "http" ... */
	char root[PATH_MAX], base[PATH_MAX], workspace[PATH_MAX]; /* see keeper/order.h */
};

#define FIND_PORTS_MAX  16
#define FIND_CURSOR_MAX (STORE_ID_MAX + 24)

/* What a list shows of a task. Strings are cut to what fits, never inside of a character. */
struct find_entry {
	char id[STORE_ID_MAX];
	enum find_state state;
	int64_t started_ms, ended_ms; /* wall clock; ended_ms of a lost one: when it last wrote */
	char cursor[FIND_CURSOR_MAX]; /* its place in the list, if it is of one */
	/* Filled by find_look(). */
	struct find_origin origin;
	char command[256], description[128];
	bool background, merged;
	uint64_t bytes[2]; /* written by the command to stdout (or both) and stderr */
	uint64_t timeout_ms;
	uint16_t ports[FIND_PORTS_MAX]; /* on which its processes listen, if it runs */
	int port_count;
	int processes; /* that live, if it runs; 0: not known */
	struct {
		uint16_t host, box;
	} published[FIND_PORTS_MAX]; /* on 127.0.0.1 of the host, of those on which it listens */
	int published_count;
	char quiet[200];             /* why it prints nothing, if it runs and that is known */
	struct keeper_report report; /* if it has ended */
};

struct find_query {
	const char *principal; /* the owner; "": the user who runs nacre; NULL: all */
	/* And of these only which; NULL: all. */
	bool (*wants)(const void *owner, const struct find_origin *origin);
	const void *owner;
	const char *after;   /* the cursor of an entry, which need not be there any more: those
	                        behind it; NULL: from the first on */
	size_t limit;        /* 0: none */
	bool beside_running; /* all that run are listed, and do not count */
	bool only_running;
};

struct find_list {
	struct find_entry *entries; /* the running ones first, then by their end, youngest first */
	size_t count;
	size_t running, ended; /* of all owners, shown or not */
	bool more;             /* than the limit */
};

/* The caller releases the list. -EINVAL: not a cursor. */
int find_tasks(struct store *s, const struct find_query *q, struct find_list *ret_list,
               struct error *err);
void find_list_done(struct find_list *l);
static inline void find_list_donep(struct find_list *l)
{
	find_list_done(l);
}

/* The id of the one task whose id, with or without "bash-", begins with PREFIX. */
int find_id(struct store *s, const char *prefix, char ret_id[STORE_ID_MAX], struct error *err);

/* Whether it is a name that only tasks have. */
bool find_is_task(const char *name);

/* The directory of a task, or a negative errno. */
int find_open(struct store *s, const char *id, struct error *err);

/* The processes of a task that runs; false: they are not known. */
bool find_living(int dir_fd, struct living *ret_living);

/* All that is known about the task in this directory now. */
void find_look(int dir_fd, const char *id, struct find_entry *ret_entry);

/* What a person wants to know of one beside that. Empty: not known, or none. */
struct find_details {
	char profile[64], session[128], approval[STORE_ID_MAX];
	char cwd[PATH_MAX];
	uint16_t rows, cols; /* of its terminal now; 0: it has none */
};
void find_details(int dir_fd, struct find_details *ret_details);

/* The same for where it comes from alone. */
void find_origin(int dir_fd, struct find_origin *ret_origin);

/* The same for its state alone. */
enum find_state find_state(int dir_fd);

/* "running", "finished", "failed", "killed", "timed out", "stopped", "refused" or "lost". */
const char *find_state_name(const struct find_entry *e);

/* The member "ports". */
void find_put_ports(const struct find_entry *e, struct json_writer *w);

/* The exit code of nacre run for it; -1: it runs, or is lost. */
int find_exit_code(const struct find_entry *e);
int find_signal(const struct find_entry *e); /* that ended it; 0: none */
