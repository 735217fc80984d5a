#include "mcp/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define VERSION    1
#define BLOCK      128 /* of the hash */
#define MAC_BYTES  DIGEST_BYTES
#define ID_BYTES   16
#define BODY_BYTES (1 + 8 + STATE_NONCE_BYTES + ID_BYTES + DIGEST_BYTES)
#define RAW_BYTES  (BODY_BYTES + MAC_BYTES)
#define TEXT_CHARS ((RAW_BYTES * 8 + 5) / 6)
#define NONCES_MAX 4096

_Static_assert(APPROVAL_ID_MAX <= ID_BYTES, "an id has its place");
_Static_assert(TEXT_CHARS < STATE_TEXT_MAX, "the text has its place");

struct nonces {
	struct {
		uint8_t nonce[STATE_NONCE_BYTES];
		int64_t expires_ms;
	} used[NONCES_MAX];
	size_t next;
};

struct nonces *nonces_new(void)
{
	return calloc(1, sizeof(struct nonces));
}

void nonces_free(struct nonces *n)
{
	free(n);
}

/* Of too many the oldest is forgotten. That is no way around: what the state stands for, an answer
 * for once, is used up on disk. */
bool nonces_use(struct nonces *n, const struct state *s, int64_t now_ms)
{
	for (size_t i = 0; i < NONCES_MAX; i++)
		if (n->used[i].expires_ms > now_ms &&
		    memcmp(n->used[i].nonce, s->nonce, sizeof(s->nonce)) == 0)
			return false;
	memcpy(n->used[n->next].nonce, s->nonce, sizeof(s->nonce));
	n->used[n->next].expires_ms = s->expires_ms;
	n->next = (n->next + 1) % NONCES_MAX;
	return true;
}

/* HMAC (RFC 2104) with the one hash that we have. */
static void sign(const uint8_t key[32], const uint8_t *bytes, uint8_t mac[MAC_BYTES])
{
	uint8_t inner[BLOCK + BODY_BYTES], outer[BLOCK + DIGEST_BYTES];
	struct digest digest;

	memset(inner, 0x36, BLOCK);
	memset(outer, 0x5c, BLOCK);
	for (int i = 0; i < 32; i++) {
		inner[i] ^= key[i];
		outer[i] ^= key[i];
	}
	memcpy(inner + BLOCK, bytes, BODY_BYTES);
	digest_make(inner, sizeof(inner), &digest);
	memcpy(outer + BLOCK, digest.bytes, sizeof(digest.bytes));
	digest_make(outer, sizeof(outer), &digest);
	memcpy(mac, digest.bytes, MAC_BYTES);
	explicit_bzero(inner, sizeof(inner));
	explicit_bzero(outer, sizeof(outer));
}

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void encode(const uint8_t raw[RAW_BYTES], char text[TEXT_CHARS + 1])
{
	uint32_t bits = 0;
	int have = 0;
	size_t n = 0;

	for (size_t i = 0; i < RAW_BYTES; i++) {
		bits = bits << 8 | raw[i];
		for (have += 8; have >= 6; have -= 6)
			text[n++] = letters[bits >> (have - 6) & 63];
	}
	if (have > 0)
		text[n++] = letters[bits << (6 - have) & 63];
	text[n] = '\0';
}

static bool decode(const char *text, uint8_t raw[RAW_BYTES])
{
	char again[TEXT_CHARS + 1];
	uint32_t bits = 0;
	int have = 0;
	size_t n = 0;

	if (strlen(text) != TEXT_CHARS)
		return false;
	for (; *text; text++) {
		const char *at = strchr(letters, *text);

		if (!at)
			return false;
		bits = bits << 6 | (uint32_t)(at - letters);
		have += 6;
		if (have >= 8 && n < RAW_BYTES) {
			have -= 8;
			raw[n++] = (uint8_t)(bits >> have);
		}
	}
	/* One spelling for each: the bits behind the last byte are zero. */
	encode(raw, again);
	return n == RAW_BYTES && strcmp(again, text - TEXT_CHARS) == 0;
}

int state_write(struct state *s, const uint8_t key[32], char ret_text[STATE_TEXT_MAX])
{
	uint8_t raw[RAW_BYTES] = {VERSION}, *at = raw + 1;

	if (getrandom(s->nonce, sizeof(s->nonce), 0) != (ssize_t)sizeof(s->nonce))
		return -EIO;
	for (int i = 7; i >= 0; i--)
		*at++ = (uint8_t)((uint64_t)s->expires_ms >> 8 * i);
	memcpy(at, s->nonce, sizeof(s->nonce));
	at += sizeof(s->nonce);
	memcpy(at, s->approval, strnlen(s->approval, sizeof(s->approval)));
	at += ID_BYTES;
	memcpy(at, s->call.bytes, sizeof(s->call.bytes));
	sign(key, raw, raw + BODY_BYTES);
	encode(raw, ret_text);
	return 0;
}

static bool is_equal(const uint8_t *a, const uint8_t *b, size_t n)
{
	uint8_t differ = 0;

	for (size_t i = 0; i < n; i++) /* in the same time for all */
		differ |= a[i] ^ b[i];
	return differ == 0;
}

enum state_verdict state_read(const char *text, const uint8_t key[32], const struct digest *call,
                              int64_t now_ms, struct state *ret_state)
{
	uint8_t raw[RAW_BYTES] = {0}, mac[MAC_BYTES];
	struct state *s = ret_state;
	const uint8_t *at = raw + 1;
	uint64_t expires = 0;

	*s = (struct state){0};
	if (!decode(text, raw) || raw[0] != VERSION)
		return STATE_BAD;
	sign(key, raw, mac);
	if (!is_equal(mac, raw + BODY_BYTES, MAC_BYTES))
		return STATE_BAD;
	for (int i = 0; i < 8; i++)
		expires = expires << 8 | *at++;
	s->expires_ms = (int64_t)expires;
	memcpy(s->nonce, at, sizeof(s->nonce));
	at += sizeof(s->nonce);
	memcpy(s->approval, at, sizeof(s->approval) - 1);
	at += ID_BYTES;
	memcpy(s->call.bytes, at, sizeof(s->call.bytes));
	if (!is_equal(s->call.bytes, call->bytes, sizeof(call->bytes)))
		return STATE_BAD;
	return now_ms < s->expires_ms ? STATE_GOOD : STATE_EXPIRED;
}
