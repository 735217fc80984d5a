#pragma once
/*
 * Server: nacre behind HTTP. It joins the doors (POST /shell, /v1, /mcp) to engines, and knows who
 * may pass which.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "http/server.h"
#include "serve/rate.h"

struct error;
struct launcher;
struct dialect;
struct loop;
struct serve;

struct serve_options {
	const char *const *profiles; /* that are offered, up to NULL; the first is the default */
	const struct dialect *const *dialects; /* the tool that each of them is over MCP */
	const char *const *workspaces; /* roots of those who have none of their own, likewise */
	const char *const *hosts;      /* names that Host and Origin may have beside ours */
	const char *policy_file;       /* may be NULL */
	const char *web;               /* a directory with the files of the page; NULL: our own */
	const char *public_url;        /* of the page, behind a proxy; NULL: as it is listened on */
	const char *const *environment;
	const char *state; /* the state directory */
	int state_fd;
	struct http_limits http;
	struct rate_limit rate; /* of each principal */
	size_t running_max;     /* commands at a time */
	size_t queued_max;      /* that may wait for that */
	size_t running_each;    /* of one principal */
	size_t background_each; /* tasks of one principal that nobody waits for */
	int64_t stop_ms;        /* at the end: for running calls to end by themselves */
	void (*log)(const char *line);
};

extern const struct serve_options serve_options_default;

/* The options and what they name stay the caller's, and so does the launcher. */
int serve_new(struct loop *l, struct launcher *launcher, const struct serve_options *options,
              struct serve **ret_serve, struct error *err);
struct serve *serve_free(struct serve *s);
DEFINE_CLEANUP(struct serve *, serve_free);

enum serve_door { SERVE_TCP, SERVE_UNIX };

/* FD listens, and becomes the server's if this succeeds. ADDRESS is "127.0.0.1:80" or a path. */
int serve_listen(struct serve *s, int fd, enum serve_door door, const char *address,
                 struct error *err);

/* An address that logs a browser in as who runs nacre, once, within two minutes. The caller frees
 * it. -ENOENT: no browser can reach this server. */
int serve_link(struct serve *s, char **ret_url, struct error *err);

/* No new requests; what runs gets its time, then it is let go on as tasks; the loop is stopped when
 * nothing is left. A second call does not wait. */
void serve_stop(struct serve *s);
