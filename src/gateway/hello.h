#pragma once
/*
 * Hello: the first message of a TLS client, put together across records, and the name in it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gateway/destination.h"

enum hello_state {
	HELLO_MORE, /* the bytes so far can still become a hello */
	HELLO_DONE,
	HELLO_BROKEN,
};

struct hello {
	bool named;                       /* it has exactly one server name, and that is a name */
	char name[DESTINATION_NAME_SIZE]; /* canonical */
	bool ech;                         /* an encrypted hello is in it, or grease */
	bool early;                       /* data may follow before the server has answered */
	size_t size;                      /* bytes of its records */
};

/* BYTES are all that the client has sent so far, from the first. */
enum hello_state hello_read(const uint8_t *bytes, size_t n, struct hello *ret_hello);
