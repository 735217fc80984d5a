#include "audit/chain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sodium.h>
#include "base/buffer.h"
#include "base/hex.h"
#include "json/read.h"

#define HEX        ((size_t)(2 * AUDIT_HASH_BYTES))
#define HASH_KEY   ",\"hash\":\""
#define HASH_TAIL  (sizeof(HASH_KEY) - 1 + HEX + 2) /* and "} */
#define SEQ_KEY    "{\"seq\":"
#define PREV_KEY   ",\"prev\":\""
#define TIME_KEY   "\",\"time\":\""
#define EVENT_KEY  "\",\"event\":\""
#define TIME_CHARS 24

const char *audit_cause_name(enum audit_cause cause)
{
	static const char *const names[AUDIT_CAUSE_MAX] = {
		[AUDIT_INTERRUPTED] = "interrupted",
		[AUDIT_CRASHED] = "crashed",
		[AUDIT_DAMAGED] = "damaged",
	};

	return names[cause];
}

void audit_link_write(struct audit_link *link, uint64_t seq, const char *body, size_t n,
                      struct buffer *into)
{
	char hex[HEX + 1];
	size_t begin = into->len;

	hex_write(link->hash, AUDIT_HASH_BYTES, hex);
	buffer_puts(into, SEQ_KEY);
	buffer_put_uint(into, seq);
	buffer_puts(into, PREV_KEY);
	buffer_append(into, hex, HEX);
	buffer_puts(into, "\",");
	buffer_append(into, body, n);
	if (buffer_error(into) < 0)
		return;
	(void)crypto_generichash(link->hash, AUDIT_HASH_BYTES,
	                         (const unsigned char *)into->data + begin, into->len - begin, NULL,
	                         0);
	link->seq = seq;
	hex_write(link->hash, AUDIT_HASH_BYTES, hex);
	buffer_puts(into, HASH_KEY);
	buffer_append(into, hex, HEX);
	buffer_puts(into, "\"}\n");
}

/* Steps over TEXT. */
static bool skip(const char **at, const char *end, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(end - *at) < n || memcmp(*at, text, n) != 0)
		return false;
	*at += n;
	return true;
}

/* As the writer writes it: no sign, no leading zero. */
static bool read_seq(const char **at, const char *end, uint64_t *ret_seq)
{
	const char *begin = *at;
	uint64_t value = 0;

	for (; *at < end && **at >= '0' && **at <= '9' && *at - begin < 19; (*at)++)
		value = value * 10 + (uint64_t)(**at - '0');
	*ret_seq = value;
	return *at > begin && *begin != '0';
}

static bool read_kind(const char **at, const char *end, enum audit_kind *ret_kind)
{
	for (int i = 0; i < AUDIT_KIND_MAX; i++) {
		const char *p = *at;

		if (skip(&p, end, audit_kind_name((enum audit_kind)i)) && p < end && *p == '"') {
			*ret_kind = (enum audit_kind)i;
			return true;
		}
	}
	return false;
}

const char *audit_line_read(const char *line, size_t n, struct audit_line *ret_line)
{
	const char *at = line, *end = line + n, *tail;
	unsigned char hash[AUDIT_HASH_BYTES];
	struct audit_line l = {0};
	char time[TIME_CHARS + 1];

	if (n > AUDIT_LINE_MAX)
		return "the line is longer than any record";
	if (n < HASH_TAIL || line[n - 1] != '}' || line[n - 2] != '"')
		return "the line has no hash at its end";
	tail = end - HASH_TAIL;
	if (memcmp(tail, HASH_KEY, sizeof(HASH_KEY) - 1) != 0 ||
	    !hex_read(tail + sizeof(HASH_KEY) - 1, l.hash, AUDIT_HASH_BYTES))
		return "the line has no hash at its end";
	(void)crypto_generichash(hash, sizeof(hash), (const unsigned char *)line,
	                         (size_t)(tail - line), NULL, 0);
	if (memcmp(hash, l.hash, sizeof(hash)) != 0)
		return "the record was changed: its hash is another";
	if (!skip(&at, tail, SEQ_KEY) || !read_seq(&at, tail, &l.seq) ||
	    !skip(&at, tail, PREV_KEY) || (size_t)(tail - at) < HEX ||
	    !hex_read(at, l.prev, AUDIT_HASH_BYTES))
		return "the line does not begin as a record does";
	at += HEX;
	if (!skip(&at, tail, TIME_KEY) || tail - at < TIME_CHARS)
		return "the record has no time";
	memcpy(time, at, TIME_CHARS);
	time[TIME_CHARS] = '\0';
	at += TIME_CHARS;
	if (audit_time_parse(time, &l.wall_ms) < 0 || !skip(&at, tail, EVENT_KEY) ||
	    !read_kind(&at, tail, &l.kind))
		return "the record has no event that is known";
	*ret_line = l;
	return NULL;
}

size_t audit_statement(uint64_t seq, const unsigned char prev[AUDIT_HASH_BYTES],
                       char into[AUDIT_STATEMENT_MAX])
{
	char hex[HEX + 1];

	hex_write(prev, AUDIT_HASH_BYTES, hex);
	return (size_t)snprintf(into, AUDIT_STATEMENT_MAX, "nacre audit %" PRIu64 " %s\n", seq,
	                        hex);
}

static int problem(struct audit_chain *c, const char *text)
{
	snprintf(c->problem, sizeof(c->problem), "%s", text);
	return -EBADMSG;
}

static int feed_signed(struct audit_chain *c, const struct audit_line *l, const json_t *record)
{
	const char *key = json_string_value(json_object_get(record, "key"));
	const char *signature = json_string_value(json_object_get(record, "signature"));
	unsigned char key_bytes[AUDIT_KEY_BYTES], signature_bytes[AUDIT_SIGN_BYTES];
	char statement[AUDIT_STATEMENT_MAX];
	size_t n = audit_statement(l->seq, l->prev, statement);

	if (!key || strlen(key) != 2 * sizeof(key_bytes) || !signature ||
	    strlen(signature) != 2 * sizeof(signature_bytes) ||
	    !hex_read(key, key_bytes, sizeof(key_bytes)) ||
	    !hex_read(signature, signature_bytes, sizeof(signature_bytes)))
		return problem(c, "the checkpoint has no signature");
	if ((c->key_given || c->key_known) && memcmp(key_bytes, c->key, sizeof(key_bytes)) != 0)
		return problem(c, c->key_given
		                          ? "the checkpoint was not signed with the given key"
		                          : "the checkpoint was signed with another key than those "
		                            "before it");
	if (crypto_sign_verify_detached(signature_bytes, (const unsigned char *)statement, n,
	                                key_bytes) != 0)
		return problem(c, "the signature of the checkpoint is wrong");
	memcpy(c->key, key_bytes, sizeof(key_bytes));
	c->key_known = true;
	c->last_signed = l->seq;
	c->checkpoints++;
	return 0;
}

/* A gap in the numbers is a finding unless the machine lost what nobody had been promised. */
static int feed_break(struct audit_chain *c, const struct audit_line *l, const json_t *record)
{
	const char *cause = json_string_value(json_object_get(record, "cause"));
	const char *text = json_string_value(json_object_get(record, "text"));
	uint64_t gap = c->begun ? l->seq - c->link.seq - 1 : 0;

	c->breaks++;
	if (!cause || strcmp(cause, audit_cause_name(AUDIT_DAMAGED)) == 0) {
		snprintf(c->problem, sizeof(c->problem), "nacre found here: %.200s",
		         text ? text : "damage");
		return -EBADMSG;
	}
	if (strcmp(cause, audit_cause_name(AUDIT_CRASHED)) == 0)
		c->lost += gap;
	else if (gap > 0)
		return problem(c, "records are missing in front of this one");
	return 0;
}

static int feed_special(struct audit_chain *c, const struct audit_line *l, const char *line,
                        size_t n)
{
	scoped(json_decrefp) json_t *record = NULL;
	int r;

	if (json_read(line, n, AUDIT_LINE_MAX, "record", &record, NULL) < 0)
		return problem(c, "the record is no JSON");
	if (l->kind == AUDIT_BREAK)
		return feed_break(c, l, record);
	r = feed_signed(c, l, record);
	if (r == 0 && l->kind == AUDIT_OPENED) {
		c->file = (uint64_t)json_integer_value(json_object_get(record, "file"));
		c->oldest = (uint64_t)json_integer_value(json_object_get(record, "oldest"));
	}
	return r;
}

int audit_chain_feed(struct audit_chain *c, const char *line, size_t n)
{
	const char *wrong = audit_line_read(line, n, &c->line);
	const struct audit_line *l = &c->line;
	int r = 0;

	if (wrong)
		return problem(c, wrong);
	if (c->begun && l->kind == AUDIT_BREAK ? l->seq <= c->link.seq
	                                       : c->begun && l->seq != c->link.seq + 1) {
		snprintf(c->problem, sizeof(c->problem),
		         "record %" PRIu64 " stands where %" PRIu64 " should be", l->seq,
		         c->link.seq + 1);
		return -EBADMSG;
	}
	if (c->begun && memcmp(l->prev, c->link.hash, AUDIT_HASH_BYTES) != 0)
		return problem(c, "the record does not follow the one in front of it");
	if (!c->begun)
		c->first_seq = l->seq;
	if (l->kind == AUDIT_OPENED || l->kind == AUDIT_CHECKPOINT || l->kind == AUDIT_BREAK)
		r = feed_special(c, l, line, n);
	c->begun = true;
	c->records++;
	c->link.seq = l->seq;
	memcpy(c->link.hash, l->hash, AUDIT_HASH_BYTES);
	return r;
}
