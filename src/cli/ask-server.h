#pragma once
/*
 * Ask a server: one request to a `nacre serve` from a command, and its answer.
 */
#include <jansson.h>
#include <sys/types.h>

struct error;

struct server_place {
	char path[4096]; /* of a unix socket; empty: */
	char host[256];
	unsigned port;
	const char *token; /* may be NULL */
};

/* "http://HOST:PORT", or the path of a socket; NULL: the socket in the state directory. */
int server_place_read(const char *text, struct server_place *ret, struct error *err);

/* BODY may be NULL. The caller owns *ret_json (an object); *ret_pid (may be NULL) is the server's,
 * 0: not known. -ECONNREFUSED: nobody listens there. What the server refuses is -EPROTO, in its
 * words. */
int server_ask(const struct server_place *at, const char *method, const char *path,
               const char *body, json_t **ret_json, pid_t *ret_pid, struct error *err);
