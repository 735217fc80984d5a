#pragma once
/* Network: what commands wanted of the network, a row for each connection. */
#include <stddef.h>
#include <jansson.h>

struct buffer;

struct audit_network; /* rows whose end is not known yet */

struct audit_network *audit_network_new(void);
void audit_network_free(struct audit_network *n);
/* 0, or -ENOMEM. */
int audit_network_add(struct audit_network *n, const json_t *record);
void audit_network_print(const struct audit_network *n, struct buffer *out);

/* One record in a few words, for a list of all kinds. */
void audit_network_put(struct buffer *out, const json_t *record);
