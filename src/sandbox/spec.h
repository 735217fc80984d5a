#pragma once
/*
 * Spec: the wanted box, as plain data. A profile fills it; a request cannot.
 *
 * An empty list never means "everything": with SANDBOX_EXEC_LISTED and no programs nothing can be
 * executed. Strings belong to the owner of the spec.
 */
#include <stdbool.h>
#include <stdint.h>

enum sandbox_tier {
	SANDBOX_TIER_STRICT,    /* namespaces, Landlock, seccomp: whatever the kernel has */
	SANDBOX_TIER_LANDLOCK,  /* no namespaces: Landlock and seccomp are the wall */
	SANDBOX_TIER_NONE,      /* only by the operator's configuration */
	SANDBOX_TIER_CONTAINER, /* an engine makes the box; there is no plan for it here */
	SANDBOX_TIER_MAX,
};

/* Layers, as bits: those in force, those missing, those required. */
enum sandbox_layer {
	SANDBOX_LAYER_NAMESPACES = 1 << 0, /* user, mount, pid, ipc, uts */
	SANDBOX_LAYER_NETWORK = 1 << 1,    /* no way to the host's network */
	SANDBOX_LAYER_PROGRAMS = 1 << 2,   /* the program lists are compiled into the box */
	SANDBOX_LAYER_LANDLOCK = 1 << 3,
	SANDBOX_LAYER_SECCOMP = 1 << 4,
	SANDBOX_LAYER_MEMORY = 1 << 5,    /* a bound on memory */
	SANDBOX_LAYER_PROCESSES = 1 << 6, /* a bound on processes */
	SANDBOX_LAYER_NO_NEW_PRIVS = 1 << 7,
	SANDBOX_LAYER_UNPRIVILEGED = 1 << 8,   /* the kernel's uid 0 is not in the box */
	SANDBOX_LAYER_CONTAINER = 1 << 9,      /* of docker or podman */
	SANDBOX_LAYER_NETWORK_NAMES = 1 << 10, /* the lists of names are served by a gateway */
	SANDBOX_LAYER_COUNT = 11,
	/* No layer of a box, but something that a profile can require like one: the keeper sees to
	 * that (keeper/room.c). */
	SANDBOX_REQUIRE_ROOM = 1 << 16,
};

enum sandbox_network {
	SANDBOX_NETWORK_NONE,  /* loopback of the box's own */
	SANDBOX_NETWORK_NAMES, /* the same, and the names that its rules let through */
	SANDBOX_NETWORK_HOST,
	SANDBOX_NETWORK_MAX,
};

/* Whether boxes of this build serve names. While not, SANDBOX_NETWORK_NAMES acts as NONE. */
#define SANDBOX_NETWORK_NAMES_SERVED true

enum sandbox_exec {
	SANDBOX_EXEC_ANY,    /* what is installed, but for the denied */
	SANDBOX_EXEC_LISTED, /* only the listed programs exist */
	SANDBOX_EXEC_MAX,
};

struct sandbox_limits { /* 0: no limit */
	uint64_t memory_bytes;
	uint64_t processes;
	uint64_t file_bytes; /* of one file */
	uint64_t open_files;
	uint64_t cpu_seconds;
	uint64_t tmp_bytes; /* private /tmp, /dev/shm and home together */
};

struct sandbox_spec {
	enum sandbox_tier tier; /* the best that may be used; a weaker one only if not required */
	uint32_t require;       /* enum sandbox_layer; one that is missing: nothing runs */
	enum sandbox_network network;
	enum sandbox_exec exec;
	const char *const *programs; /* names or absolute paths: the only ones (LISTED) */
	const char *const *denied;   /* names or absolute paths that must not run (ANY) */
	bool etc_minimal; /* of /etc only what programs cannot do without; users of its own */
	bool workspace_readonly;
	bool workspace_noexec; /* no program of the workspace runs */
	bool debug; /* a command may trace its own processes; needs namespaces, and a box that runs
	               any program */
	const char *const *readable;   /* more paths, read-only; "~/" is the home directory */
	const char *const *writable;   /* more paths, writable: sockets such as docker's too */
	const char *const *sockets;    /* unix sockets that a command may connect to */
	const char *const *secrets;    /* masked wherever granted trees contain them; "~/" too */
	const char *const *protected_; /* relative to the workspace: not writable, not to be made */
	struct sandbox_limits limits;
};

/* "namespaces", "network" ... for one bit. */
const char *sandbox_layer_name(enum sandbox_layer layer);
