#pragma once
/*
 * Resolve: the addresses of a name, as the host sees it: its hosts file, then its name servers.
 *
 * Both files are read once, by resolver_new(): the caller gives up the right to open files after
 * it. Never getaddrinfo(), which loads whatever the host's nsswitch.conf names.
 */
#include <stddef.h>
#include <stdint.h>
#include "gateway/address.h"

struct error;
struct loop;
struct resolver; /* opaque */

#define RESOLVE_ADDRESSES_MAX 16
#define RESOLVE_UNDER_WAY_MAX 64

enum resolve_end {
	RESOLVE_FOUND,
	RESOLVE_UNKNOWN, /* there is no such name, or it has no address */
	RESOLVE_FAILED,  /* no name server has answered */
};

struct resolve_answer {
	enum resolve_end end;
	struct network_address addresses[RESOLVE_ADDRESSES_MAX]; /* IPv4 first */
	size_t count;
	size_t more; /* how many did not fit */
};

struct resolve; /* one look-up under way */
typedef void (*resolve_handler)(void *owner, const struct resolve_answer *answer);

int resolver_new(struct loop *loop, struct resolver **ret_resolver, struct error *err);
void resolver_free(struct resolver *r); /* NULL is fine */

/* The handler may be called before this returns. 0, or -EAGAIN: too many are under way. Where the
 * handler was not called yet, *ret_resolve is not NULL. */
int resolver_ask(struct resolver *r, const char *name, resolve_handler handler, void *owner,
                 struct resolve **ret_resolve);
/* The handler is not called any more. */
void resolve_forget(struct resolve *q);
