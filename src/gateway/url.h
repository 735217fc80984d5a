#pragma once
/*
 * URL: the hosts that a text names, in URLs and in the words that ssh and git take.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gateway/destination.h"

struct url_host {
	char name[DESTINATION_NAME_SIZE]; /* canonical, or an address as text */
	bool literal;                     /* it is an address */
	uint16_t port;                    /* as written, or the scheme's; 0: nobody says */
	bool written;                     /* the port is */
};

/* The first SCHEME://HOST in the text: the number of bytes up to its end, or 0: there is none. A
 * user and a password before the host are skipped and not kept. */
size_t url_find(const char *text, size_t n, struct url_host *ret_host);
/* HOST or HOST:PORT, the whole of it. */
bool url_authority(const char *text, size_t n, struct url_host *ret_host);
/* What git takes for a remote: a URL, or [USER@]HOST:PATH; and what ssh takes: [USER@]HOST. */
bool url_remote(const char *text, struct url_host *ret_host);
/* NAME:PORT, as an entry of sandbox.network would be written; the usual ports are left out.
 * False: no list can name it, as localhost, which is the box's own. */
bool url_entry(const struct url_host *h, char into[DESTINATION_TEXT_SIZE]);
