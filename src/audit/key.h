#pragma once
/*
 * Key: what signs the checkpoints of one log. Made on first use, readable by its user alone.
 */
#include <stdint.h>
#include "audit/chain.h"

struct buffer;
struct error;

/* Appends "key":...,"signature":... to the body of the record that will be number SEQ behind a
 * record with hash PREV. Under the lock of the writers: two must not make the key at once. */
int key_sign(int dir_fd, uint64_t seq, const unsigned char prev[AUDIT_HASH_BYTES],
             struct buffer *body, struct error *err);

/* The public half out of a file such as audit/key.pub. */
int key_read_public(int dir_fd, const char *path, unsigned char ret_key[AUDIT_KEY_BYTES],
                    struct error *err);
