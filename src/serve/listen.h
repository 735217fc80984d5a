#pragma once
/*
 * Sockets to listen on: addresses of this machine, paths, and what a service manager hands over;
 * and what that wants to hear.
 */
#include <stdbool.h>
#include "serve/server.h"

struct error;

#define LISTEN_ADDRESS_MAX 128

/* "127.0.0.1:8080", "[::1]:8080" or "8080"; port 0: any. REMOTE: addresses that others can reach
 * are fine. *ret_address gets the address with its real port. Returns a descriptor. */
int listen_tcp(const char *text, bool remote, char ret_address[LISTEN_ADDRESS_MAX],
               struct error *err);

/* A socket of mode 0600. A file that nobody listens on is replaced. *ret_lock holds the place: it
 * must stay open as long as the socket. Returns a descriptor. */
int listen_unix(const char *path, int *ret_lock, struct error *err);

/* How many sockets a service manager has opened for us, from descriptor 3 on; each is then
 * close-on-exec. */
int listen_inherited(void);
/* What an inherited one is. */
int listen_look(int fd, enum serve_door *ret_door, char ret_address[LISTEN_ADDRESS_MAX],
                struct error *err);

/* Tells the service manager, if there is one: "READY=1", "STOPPING=1". */
void listen_notify(const char *state);
