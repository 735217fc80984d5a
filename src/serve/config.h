#pragma once
/*
 * The file of a server: what its options say, for a service that is started without any.
 *
 * Each key is the name of an option, with '_' for '-' and, where an option may be repeated, with a
 * list. The file is believed if nobody but its user or root can have written it: it says which
 * directories clients may work in.
 */
#include <stdbool.h>
#include <stdint.h>

struct arena;
struct error;

struct serve_config {
	const char *const *listen, *const *profile, *const *workspace,
							    *const *host; /* up to NULL */
	const char *unix_path, *policy, *public_url;
	bool no_unix, allow_remote;
	uint64_t rate, jobs, queue, tasks;
	uint64_t stop_ms;
};

/* Values that the file does not have stay as they are. "~/" at the start of a path is HOME. All
 * that is read is in the arena. What is wrong is told as "FILE:LINE:COLUMN: ...". */
int serve_config_read(const char *path, const char *home, struct arena *arena,
                      struct serve_config *config, struct error *err);
