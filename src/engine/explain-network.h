#pragma once
/*
 * Explain network: what a profile says about a host and a port, and by which rule. Looks nothing
 * up.
 */
#include <stdbool.h>

struct buffer;
struct error;
struct host_seen;
struct json_writer;
struct profile;

/* NAME:PORT, NAME, ADDRESS:PORT, [ADDRESS]:PORT. Without a port: 443. */
struct network_wish {
	char name[256];
	bool literal;
	unsigned short port;
};
int network_wish_parse(const char *text, struct network_wish *ret_wish, struct error *err);
/* The same as a host that was seen; it borrows the name. */
struct host_seen network_wish_host(const struct network_wish *wish);

/* The members of one JSON object: name, port, verdict, reason, rule, runner_up, in_force. HIDE: of
 * files only their names. */
void explain_network_put_json(const struct profile *p, const struct host_seen *host, bool hide,
                              struct json_writer *w);
/* For people; INDENT stands before each line. */
void explain_network_put_text(const struct profile *p, const struct host_seen *host,
                              const char *indent, struct buffer *out);
