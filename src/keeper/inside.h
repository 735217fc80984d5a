#pragma once
/*
 * Inside: one keeper's memory, as the files of this room share it.
 *
 *	keeper.c    the process: its entrances, and one turn of waiting and reading
 *	start.c     from the order to a running command
 *	life.c      what happens next: the table, state by event
 *	left.c      what the command leaves running, which goes on as a task
 *	record.c    the audit log
 *	publish.c   the report, to disk and to the starter
 *	broker.c    what the command may replace, and what is held back
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "task/control.h"
#include "task/home.h"
#include "task/index.h"
#include "base/buffer.h"
#include "keeper/gate.h"
#include "keeper/keeper.h"
#include "keeper/listen.h"
#include "keeper/ports.h"
#include "task/order.h"
#include "keeper/pty.h"
#include "task/report.h"
#include "keeper/stream.h"
#include "keeper/watch.h"
#include "session/room.h"
#include "session/room-watch.h"
#include "container/tool.h"
#include "sandbox/doors.h"
#include "sandbox/plan.h"
#include "sandbox/spec.h"

struct arena;
struct audit;
struct error;
struct process;
struct profile;
struct protect;

#define KEEPER_DEADLINE_NONE INT64_MAX
#define KEEPER_READ_BYTES    ((size_t)256 << 10)
#define KEEPER_LINGER_QUIET_MS                                                                     \
	50 /* a background job that is still printing may go on this long                          \
	    */

enum keeper_state {
	RUNNING,
	LINGER,   /* the command has ended, others of its tree have not */
	LEFTOVER, /* these were asked to end */
	KEPT,     /* or they go on as a task */
	ENDING,   /* the whole tree was asked to end: time limit, or a stop */
	KILLING,  /* the whole tree was killed */
	DRAIN,    /* nothing lives; what is in the pipes is read */
	DONE,
	STATE_MAX,
};

enum keeper_event {
	EV_FAILED,    /* the command could not be executed */
	EV_EXITED,    /* the command has ended */
	EV_LEFTOVER,  /* the same, and others live on */
	EV_GONE,      /* nothing is left */
	EV_INIT_LOST, /* init was killed */
	EV_DEADLINE,
	EV_CROWD, /* more processes than allowed */
	EV_CPU,   /* no processor time is left */
	EV_ROOM,  /* the room has more in it than it may */
	EV_IDLE,  /* no output for too long */
	EV_STOP,
	EV_STOP_NOW,
	EV_MAX,
};

/* What the command wanted a protected path to be. */
#define KEEPER_HELD_MAX 8
struct keeper_held {
	const char *path; /* of the plan, or in the arena */
	bool wanted;      /* else it was only refused */
	bool made;        /* nothing was there, and what the command made was moved away */
	bool anew;        /* nothing was there, and nothing is */
	bool runs;        /* that can be executed */
	struct buffer now, was;
};

/* beside.c: what stands for processes of other tasks. */
#define KEEPER_BESIDE_MAX 33
struct keeper_standin {
	pid_t pid;       /* 0: it has ended */
	int pidfd, real; /* -1: closed, or there is none */
	bool sentinel;
};
struct keeper_beside {
	struct keeper_standin list[KEEPER_BESIDE_MAX]; /* the sentinel first */
	size_t count;
	int wait; /* readable if one of them, or what it stands for, has ended; -1: none */
};

struct names;
struct pollfd;

/* A copy-on-write view of the workspace, by its store. */
struct keeper_view {
	int shelf, store;    /* -1: there is none */
	int hold;            /* of the store, while the command runs; -1 */
	char path[PATH_MAX]; /* of the store */
	int64_t began_ns;    /* nothing that the caller did is later */
	const char *absent;  /* why there is none; NULL: there is one, or nobody wants one */
	bool applies;        /* the store is on the file system of the workspace */
};

struct keeper_network {
	struct sandbox_net net;     /* -1: none */
	struct sandbox_doors doors; /* way NONE: there are none */
	struct names *names;
	struct gate_hold gate; /* none: nobody has needed one yet */
	int channel;           /* of this task, to the gate; -1: none */
	int starts;
	struct ports ports;           /* of this keeper's own network */
	char shown[PORTS_TEXT_MAX];   /* what is published */
	char written[PORTS_TEXT_MAX]; /* and what the task's directory says of it */
	bool held;                    /* a connection waits for a person */
	int64_t held_since, waited_ms;
	char told[APPROVAL_ID_MAX]; /* the question that the starter knows of */
};
#define KEEPER_NETWORK_FDS (3 + SANDBOX_DOORS_TCP + SANDBOX_DOORS_UDP)

struct keeper {
	struct keeper_fds fds;
	struct arena *arena; /* the order and all that was made of it */
	struct home home;
	struct keeper_order order;
	const char *const *paths; /* files that the command may be, in the order of trying */
	struct process *process;
	struct profile *profile;           /* of the second check */
	const struct shell_facts *facts;   /* and what it has read in the words */
	struct sandbox_spec spec;          /* its box, with our limits */
	struct sandbox_plan *plan;         /* NULL: no box */
	struct room room;                  /* of the session; dir -1: none */
	char room_name[ROOM_ID_SIZE + 24]; /* its id and generation, for the audit log; or "" */
	bool owns_room;                    /* it was opened here */
	struct sandbox_net net;            /* of the room; -1: none */
	struct keeper_network network;     /* by name, of this keeper alone */
	struct keeper_view view;
	int net_lock;                  /* until others can find that network; -1: not held */
	struct room_watch room_watch;  /* of its size */
	struct room_watch job_watch;   /* of that of the workspace */
	struct room_watch cache_watch; /* of that of its caches */
	int init_socket, init_pidfd;   /* of an init that stands by; -1: none */
	int init_asks;                 /* where its filter asks; -1: nowhere */
	int init_space;                /* its pid namespace; -1 */
	struct keeper_beside beside;
	struct process *begun; /* an init of our own that waits for the command; NULL: none */
	const struct keeper_ahead *ahead; /* what its box was made for */
	int detail;                       /* where, for sandbox_plan_explain() */
	bool owns_plan;                   /* it was made here */
	bool tmp_full;
	bool refused; /* init could not enter its box */
	struct stream streams[2];
	struct index index;
	struct listen listen;
	int state_file;        /* room on the disk for the report; -1: none */
	int64_t listen_at;     /* a command that ends soon needs no socket */
	struct keeper_pty pty; /* if the order wants a terminal: the first stream is its own */
	enum keeper_state state;
	int64_t deadline, linger_end;
	int64_t time_limit; /* the deadline of the command, while its leftover lingers */
	int64_t started_at; /* monotonic */
	struct keeper_report report;
	struct buffer notes;   /* what the command told for its session */
	bool notes_cut;        /* it told too much */
	int64_t last_output;   /* monotonic */
	int64_t quiet_look_at; /* when to look for the reason of the silence */
	int64_t quiet_pause;   /* time until the next look */
	int64_t crowd_next_look;
	uint64_t crowd_line;  /* tasks of the system from which ours are counted; 0: the kernel does
	                         it */
	struct watch watch;   /* of the box */
	struct audit *audit;  /* NULL: not opened yet */
	uint64_t started_seq; /* of the record of the start; 0: none */
	struct keeper_held held[KEEPER_HELD_MAX];
	size_t held_count;
	struct refs *refs; /* whose commits the workspace's repository has; NULL: not known */
	struct checkout *checkout; /* what git does with protected files; NULL: nothing yet */
	bool starter_gone;
	struct container_box *container; /* NULL: the box is not one */
	struct docker_watch starter;     /* while something is waited for before the start */
	bool told;                    /* the starter has the report already */
	bool let_go;                     /* the starter was told to wait no longer */
	uint64_t left_work;              /* of what was left running, at the last look */
	bool committed;                  /* the session has what the command told */
	int planted;                     /* protected paths that were moved away so far */
	char *buffer;
};

void keeper_set_deadline(struct keeper *k, int64_t from_now_ms);

/* Something has happened. */
void keeper_step(struct keeper *k, enum keeper_event e);

/* The command goes on; the starter is told that it need not wait. */
void keeper_let_go(struct keeper *k);

/* Whether what the command leaves running is to go on. */
bool keeper_keeps_leftover(const struct keeper *k);

/* What the command left running goes on, and the starter gets its result. Not 0: it cannot, since
 * nobody could find or end it. */
int keeper_keep_leftover(struct keeper *k);
bool keeper_leftover_is_starting(struct keeper *k); /* so a look now would come too early */

/* Makes the task's socket, and its directory before. */
int keeper_listen(struct keeper *k);

/* Sends the report as KIND, with what was captured. */
int keeper_send_report(struct keeper *k, enum control_kind kind);

/* beside.c: when init has entered and before the command runs; when something may have ended; when
 * the command has ended. */
void keeper_beside_begin(struct keeper *k);
void keeper_beside_look(struct keeper *k);
void keeper_beside_last_look(struct keeper *k); /* before its end is read */
void keeper_beside_end(struct keeper *k);

/* room.c: before the plan, before the start, and at the end. */
void keeper_room_open(struct keeper *k);
void keeper_room_begin(struct keeper *k);
int64_t keeper_room_wait_ms(const struct keeper *k, int64_t now_ms); /* until a look at its size */
bool keeper_room_is_full(struct keeper *k);
bool keeper_room_look(struct keeper *k); /* at git's files; true: something was taken out */
/* Whether what a profile requires of rooms is there: before the record of the start, and once more
 * when the box is made, which may have turned out to be another one. */
int keeper_room_check(struct keeper *k, struct error *err);
int keeper_room_settle(struct keeper *k, struct error *err);
void keeper_room_mark(struct keeper *k); /* others can find the task now */
void keeper_room_end(struct keeper *k);
void keeper_room_close(struct keeper *k);

/* view.c: before the plan, when the box is known, and after the command. */
void keeper_view_open(struct keeper *k);
int keeper_view_settle(struct keeper *k, struct error *err);
void keeper_view_end(struct keeper *k);
void keeper_view_close(struct keeper *k);

/* network.c: before the plan, before the start, in each turn, and at the end. */
void keeper_network_open(struct keeper *k, const char *workspace);
/* The doors that an init of a kept box has made. */
int keeper_network_take(struct keeper *k, int init);
void keeper_network_begin(struct keeper *k);
size_t keeper_network_fds(const struct keeper *k, int into[KEEPER_NETWORK_FDS]);
#define KEEPER_NETWORK_POLL (KEEPER_NETWORK_FDS + PORTS_FDS)
size_t keeper_network_watch(const struct keeper *k, struct pollfd into[KEEPER_NETWORK_POLL]);
int64_t keeper_network_due(const struct keeper *k);
void keeper_network_turn(struct keeper *k, const struct pollfd *polled, size_t count);
bool keeper_network_waits(const struct keeper *k); /* for a person, within its time */
void keeper_network_give_up(struct keeper *k);     /* nobody will answer */
void keeper_network_end(struct keeper *k);
void keeper_network_close(struct keeper *k);

bool keeper_relays(const struct keeper *k); /* the starter has not taken all output yet */
/* turn.c: waits until something happens, and does what it asks for. */
void keeper_turn(struct keeper *k);

/* Checks the order once more, makes the box and starts the command. */
int keeper_launch(struct keeper *k, struct error *err);

/* The box as the profile has it, for the order. */
void keeper_choose_spec(struct keeper *k);

/* The place of the box, with nacre's own files that are hidden in it. */
struct keeper_place {
	struct sandbox_place place;
	const char *hidden[5];
	char buffer[PATH_MAX], store[PATH_MAX];
};
void keeper_fill_place(const struct keeper *k, struct keeper_place *ret_place);
/* A plan for the order's workspace. The spec must live as long. */
int keeper_box_plan(struct keeper *k, const struct sandbox_spec *spec,
                    struct sandbox_plan **ret_plan, struct error *err);

/* The box could not be entered. If the kernel refused the namespaces and the spec permits it, try
 * the next tier. If a file was renamed before it was bound, try the same tier again. */
int keeper_start_again(struct keeper *k);

/* Why there is no output: at the task's end, and now and then before it. */
void keeper_explain_quiet(struct keeper *k);
void keeper_watch_quiet(struct keeper *k);
void keeper_heard(struct keeper *k);
int64_t keeper_quiet_due(const struct keeper *k); /* when to call keeper_watch_quiet() */

/* Note the names of living processes before the tree is ended, and before it is killed. */
void keeper_note_living(struct keeper *k);
void keeper_note_slain(struct keeper *k);

/* Reads what the command tells for its session. */
void keeper_read_notes(struct keeper *k);
void keeper_commit_session(struct keeper *k);

/* What was kept in memory goes to the disk, and from now on everything does. */
void keeper_settle(struct keeper *k);

/* For a struct that wants to open the task's directory; the owner is the keeper. */
int keeper_open_home(void *owner);

/* Protected paths that were made are moved into the home, reported, and asked about. */
void keeper_look_for_planted(struct keeper *k, struct sandbox_plan *plan);

/* Answers what the command's filter asks. */
void keeper_broker(struct keeper *k);
/* Before the command, and after all of it has ended: the record of its repository. */
void keeper_refs_begin(struct keeper *k);
void keeper_refs_end(struct keeper *k);
/* What may appear at protected paths; the owner is the keeper. */
struct history *keeper_history(void *owner);
/* Git has done what it wanted in its work tree. */
void keeper_finish_checkout(struct keeper *k, struct protect *protect);
/* What was moved to the file or directory NAME of the home is held back. */
void keeper_hold_planted(struct keeper *k, const char *path, const char *name);
/* A person is asked about what was held back. */
void keeper_ask_held(struct keeper *k);

/* What is told about the box after its end. */
void keeper_judge_box(struct keeper *k);
void keeper_publish(struct keeper *k);
void keeper_publish_early(struct keeper *k); /* to a shell, whose command went well */

/* Reaps an init that is our own, and takes down a box that is. */
void keeper_tidy(struct keeper *k);

/* Reserve disk space for the report of a command that runs for a while: its output may fill the
 * disk. */
void keeper_reserve_state(struct keeper *k);
