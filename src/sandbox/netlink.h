#pragma once
/*
 * Netlink: messages for the kernel, written one after the other into a buffer and sent as one, and
 * the answers to those that ask for one. As much of it as the network of a box needs.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NETLINK_BYTES_MAX 4096

struct netlink {
	_Alignas(8) uint8_t bytes[NETLINK_BYTES_MAX];
	size_t n;
	size_t message; /* where the last one begins */
	int asked;      /* how many want an answer */
	bool full;
};

/* HEADER is what the kind of message has before its attributes. */
void netlink_begin(struct netlink *l, uint16_t type, uint16_t flags, const void *header, size_t n);
void netlink_end(struct netlink *l);

void netlink_put(struct netlink *l, uint16_t type, const void *bytes, size_t n);
void netlink_put_text(struct netlink *l, uint16_t type, const char *text);
void netlink_put_be32(struct netlink *l, uint16_t type, uint32_t value); /* in network order */
/* An attribute with attributes in it: where it begins, for the end. */
size_t netlink_nest(struct netlink *l, uint16_t type);
void netlink_unnest(struct netlink *l, size_t at);

/* Sends all of it, waits for the answers, and empties the buffer. 0, or the first negative errno.
 */
int netlink_talk(struct netlink *l, int protocol);
