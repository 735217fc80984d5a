#pragma once
/*
 * Via: the proxy above, as the rules and the environment of nacre say. A value that cannot be used
 * closes the way: nothing goes out by another one than the operator's.
 */
#include <stdbool.h>
#include <stdint.h>
#include "gateway/destination.h"

#define VIA_SECRET_MAX 512
#define VIA_DIRECT_MAX 2048

struct network_rules;

struct via {
	const char *broken;               /* why no name can go up; NULL: it can */
	uint16_t port;                    /* 0: there is no proxy */
	char host[DESTINATION_NAME_SIZE]; /* a name or an address */
	char secret[VIA_SECRET_MAX];      /* user and password, as Basic wants them; or "" */
	char direct[VIA_DIRECT_MAX];      /* no_proxy */
};

/* GET is getenv(), or one of a test. Only `via: environment` asks it. */
void via_read(const struct network_rules *rules, char *(*get)(const char *name),
              struct via *ret_via);
/* Whether a connection to this name goes by the proxy, or has to be refused with it. */
bool via_takes(const struct via *v, const struct network_rules *rules, const char *name,
               uint16_t port);
