#pragma once
/*
 * Keeper: the process that owns one command. It outlives its starter, pumps the output,
 * keeps the time, ends the whole tree, and records how it all ended.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct profile;
struct room;
struct sandbox_net;
struct sandbox_plan;

struct keeper_fds {
	int control; /* packet socket to the starter; its end does not end the command */
	int tasks;   /* the directory of all tasks, or of this one, if the order is findable; -1:
	                there   is none, everything stays in memory */
	int input;   /* standard input of the command */
	bool hello;  /* the starter is not the parent and needs a pidfd */
	struct profile *profile; /* in memory still from before the fork; NULL: it is loaded */
	const struct sandbox_net *net; /* of its room, if the starter has it; or NULL */
};

/* Runs in a process of its own, right after the fork. ORDER is a keeper_order as JSON. Takes the
 * descriptors. Does not return. */
_Noreturn void keeper_main(const struct keeper_fds *fds, const struct buffer *order);

/* An order on its way through the launcher: descriptors, and a text, which is the keeper_order as
 * JSON. One that is too long for a packet lies in a file, and the text is empty. */
enum keeper_fd {
	KEEPER_FD_CONTROL,
	KEEPER_FD_INPUT,
	KEEPER_FD_ORDER, /* that file; else any other */
	KEEPER_FD_TASKS, /* may be missing */
	KEEPER_FD_MAX,
};
#define KEEPER_PACKET_MAX ((size_t)32 << 10)

struct keeper_packet {
	const int *fds;
	size_t count;
	const char *text;
	size_t text_bytes;
	const struct sandbox_net *net; /* does not travel: a launcher has it; or NULL */
};

/* Puts the descriptors in their order; returns how many there are. */
size_t keeper_fds_list(const struct keeper_fds *fds, int order, int into[KEEPER_FD_MAX]);

/* keeper_main() for these. */
_Noreturn void keeper_launched(const struct keeper_packet *packet);

/* A keeper that stands by: its box is there before its command is known. It has one command at a
 * time. After one that left nothing in its namespaces it stands by for another. */
struct keeper_ready {
	int orders;     /* a packet as above, and a NUL, comes here; or the connection of a starter,
	                   which is greeted with a byte and sends that packet; end of file: none will */
	int again;      /* its pid is sent here when it stands by once more */
	int init;       /* packets from and to an init that waits for a plan */
	int their_init; /* its end of these: the keeper makes the box, too; -1: there is one */
	const char *workspace;
	struct profile *profile;       /* that the box was made from */
	struct sandbox_plan *plan;     /* that the box was made by */
	const char *state;             /* of the commands that will come */
	const struct room *room;       /* that the box has; or NULL */
	const struct sandbox_net *net; /* that it is in; or NULL */
};
_Noreturn void keeper_wait(const struct keeper_ready *ready);

/* The ports of a network by name, for a kernel that needs a listener for each. */
struct sandbox_ports;
void keeper_network_ports(const struct profile *p, struct sandbox_ports *ret_ports);

/* A keeper for one command that is still being decided about: it makes the box meanwhile. Where no
 * order comes it takes the box down and leaves. */
struct keeper_ahead {
	int orders; /* as above */
	struct profile *profile;
	const char *workspace, *root, *state, *policy_file;
	const char *session, *principal, *profile_name, *agent; /* each may be NULL */
	const char *const *envp;                                /* of the command */
	uint64_t max_processes;                                 /* that the order will have */
};
_Noreturn void keeper_begin(const struct keeper_ahead *ahead);
