#pragma once
/*
 * Refusal: what a client is told in its own language before its connection is closed.
 *     tls    alert access_denied (49)
 *     http   403 with one line of text
 *     ssh    banner and SSH_MSG_DISCONNECT with the text
 *     other  nothing: reset the connection
 */
#include <stddef.h>
#include <stdint.h>
#include "gateway/first.h"

#define REFUSAL_MAX 1024

/* One sentence for NAME:PORT; WHAT is the kind of the address or the other name, or NULL. */
void refusal_text(char *into, size_t size, const char *name, uint16_t port,
                  enum network_reason reason, const char *what);

/* The bytes for the client; 0: reset the connection. TEXT is one line. */
size_t refusal_write(enum first_protocol protocol, const char *text, uint8_t into[REFUSAL_MAX]);
