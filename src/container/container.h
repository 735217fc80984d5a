#pragma once
/*
 * Container: the words by which the engine's own client makes, starts, asks about and removes the
 * container of one command.
 *
 * The client is used instead of the engine's interface since podman needs no service then, and
 * since docker and podman take the same words. A container is made first and started then, so that
 * what the engine has to say about an image or an option is not mixed with what the command writes,
 * and it stays after its end until it was asked how it ended.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;

enum container_mount_kind {
	CONTAINER_MOUNT_WRITABLE, /* of the host, at its own path */
	CONTAINER_MOUNT_READONLY,
	CONTAINER_MOUNT_HIDDEN_FILE, /* nothing is there */
	CONTAINER_MOUNT_HIDDEN_DIRECTORY,
};

struct container_mount {
	const char *path;
	enum container_mount_kind kind;
};

struct container_limits { /* 0: none */
	uint64_t memory_bytes, processes, cpu_seconds, file_bytes, open_files, tmp_bytes;
};

/* How the client is called, for every call. */
struct container_client {
	const char *program;  /* "docker", "podman" */
	const char *endpoint; /* "unix:///..."; NULL: the client finds it, or needs none */
	bool podman;
};

struct container_wish {
	const char *name; /* nacre-TASK */
	const char *task,
		*state; /* labels, by which what was left over is found; STATE may be NULL */
	const char *image;
	const char *user; /* UID:GID */
	bool keep_id;     /* podman without root: the user's own id is the same inside */
	bool network;     /* the host's; else none */
	bool terminal;
	const char *cwd; /* absolute, in a mount */
	const struct container_mount *mounts;
	size_t mount_count;
	struct container_limits limits;
	const char *env_file;    /* variables that fit into such a file; NULL: none */
	const char *const *envp; /* the others */
	const char *const *argv;
};

/* ERROR_INPUT: a word or a path that cannot be handed over unchanged. */
int container_create_words(const struct container_client *c, const struct container_wish *w,
                           struct arena *arena, const char *const **ret_argv, struct error *err);
int container_start_words(const struct container_client *c, const char *name, struct arena *arena,
                          const char *const **ret_argv);
int container_state_words(const struct container_client *c, const char *name, struct arena *arena,
                          const char *const **ret_argv);
int container_remove_words(const struct container_client *c, const char *name, struct arena *arena,
                           const char *const **ret_argv);
int container_image_words(const struct container_client *c, const char *image, struct arena *arena,
                          const char *const **ret_argv);
/* Prints the names of all containers of a state directory, one per line. */
int container_list_words(const struct container_client *c, const char *state, struct arena *arena,
                         const char *const **ret_argv);

/* Whether "NAME=VALUE" means the same as a line of a file for --env-file. */
bool container_env_fits_file(const char *entry);

struct container_state {
	bool started; /* its command was executed, or tini's was */
	bool running;
	bool oom_killed;
	int exit_code;
	char error[160]; /* of the engine, why it did not start; may be empty */
};

/* What container_state_words() prints. */
int container_state_read(const char *bytes, size_t n, struct container_state *ret_state,
                         struct error *err);
