#pragma once
/*
 * Landlock: which files a command may touch, told to the kernel as a set of rules.
 *
 * A wall says what is governed, if the running kernel can do it; everything governed is forbidden
 * but for the grants. Every call here is a few system calls and nothing else, so that all of it may
 * be used in a process that was just cloned.
 *
 *	struct landlock_wall wall = landlock_wall(probe.landlock_abi, true);
 *	int rules = landlock_begin(&wall);
 *	landlock_grant(rules, &wall, usr_fd, LANDLOCK_READ_EXEC);
 *	landlock_enforce(rules);
 */
#include <stdbool.h>
#include <stdint.h>

struct landlock_wall {
	int abi; /* as the kernel says; 0: no Landlock */
	uint64_t files;
	uint64_t net;
	uint64_t scoped;
};

enum landlock_right {
	LANDLOCK_READ,       /* files and directories; nothing runs */
	LANDLOCK_READ_EXEC,  /* system directories */
	LANDLOCK_EXEC_FILE,  /* one program, or one library: read and run */
	LANDLOCK_WRITE,      /* read, write, make, rename, remove; nothing runs */
	LANDLOCK_WRITE_EXEC, /* a workspace whose programs may run */
	LANDLOCK_DEVICE,     /* a device such as /dev/tty: read, write, ioctl */
	LANDLOCK_WALK,       /* list a directory and all below it, read no file */
	LANDLOCK_RIGHT_MAX,
};

/* The ABI of the running kernel, 0 without Landlock; one system call. */
int landlock_abi(void);

/* What this ABI can govern. NO_NETWORK: TCP connections and listeners are refused, too. */
struct landlock_wall landlock_wall(int abi, bool no_network);

/* A new set of rules, close-on-exec, or a negative errno. */
int landlock_begin(const struct landlock_wall *wall);

/* PATH_FD may be O_PATH. A right that only directories have is left out for a file. */
int landlock_grant(int rules, const struct landlock_wall *wall, int path_fd,
                   enum landlock_right right);

/* The same by a name below DIR_FD (AT_FDCWD); symbolic links are followed. */
int landlock_grant_at(int rules, const struct landlock_wall *wall, int dir_fd, const char *path,
                      enum landlock_right right);

/* Confines the calling thread and what it will start; no_new_privs must be set before. */
int landlock_enforce(int rules);
