#pragma once
/*
 * State that a client carries for us from a question to its answer: signed, bound to what was
 * called and by whom, short-lived, and good for one use.
 */
#include <stdbool.h>
#include <stdint.h>
#include "approval/approval.h"
#include "base/cleanup.h"
#include "base/digest.h"

#define STATE_NONCE_BYTES 16
#define STATE_TEXT_MAX    256

struct nonces; /* those that were used */

struct nonces *nonces_new(void); /* NULL: no memory */
void nonces_free(struct nonces *n);

struct state {
	int64_t expires_ms; /* wall clock */
	uint8_t nonce[STATE_NONCE_BYTES];
	char approval[APPROVAL_ID_MAX];
	struct digest call; /* of method, name, arguments, principal, workspace */
};

enum state_verdict { STATE_GOOD, STATE_EXPIRED, STATE_BAD };

/* Gives it a nonce and writes it signed. */
int state_write(struct state *s, const uint8_t key[32], char ret_text[STATE_TEXT_MAX]);
enum state_verdict state_read(const char *text, const uint8_t key[32], const struct digest *call,
                              int64_t now_ms, struct state *ret_state);

/* False: it was used before. */
bool nonces_use(struct nonces *n, const struct state *s, int64_t now_ms);
