#pragma once
/*
 * Network rules: the lists of sandbox.network, and the one place that judges by them.
 *
 * Order: `deny`; then the most specific of `allow` and `ask` (exact name, longer suffix, "*"; then
 * a port, no port, ":*"; a tie is ask); else nothing allows it, and that is a refusal. The
 * runner-up is the rule that would decide if the winner were not there.
 *
 * Plain data that is never changed. Strings and arrays belong to the owner of the rules; to send
 * them to another process, pack them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gateway/destination.h"

struct arena;
struct buffer;
struct error;

#define NETWORK_RULES_MAX   4096 /* of one list */
#define NETWORK_PUBLISH_MAX 64

struct network_rule {
	struct destination to;
	const char *file; /* the layer that has it */
	uint32_t line;
	const char *set;    /* "@packages": the entry that stands there; NULL: the rule itself */
	const char *source; /* of a member of a set: where its name comes from; else NULL */
};

struct network_rule_list {
	const struct network_rule *rules;
	size_t count;
};

struct network_publish {
	uint16_t host; /* on 127.0.0.1 of the host; 0: any free one */
	uint16_t box;  /* on 127.0.0.1 of the box */
};

struct network_via {                      /* the proxy above, reached by CONNECT */
	bool environment;                 /* as https_proxy of nacre's own environment says */
	uint16_t port;                    /* 0: none, or by the environment */
	char host[DESTINATION_NAME_SIZE]; /* a name or an address */
};

struct network_rules {
	struct network_rule_list lists[NETWORK_LIST_MAX];
	struct network_via via;
	const struct network_publish *publish;
	size_t publish_count;
};

enum network_verdict_kind {
	NETWORK_VERDICT_NONE, /* no rule: refused */
	NETWORK_VERDICT_DENY,
	NETWORK_VERDICT_ASK,
	NETWORK_VERDICT_ALLOW,
};

/* Why a connection or a look-up was refused; the words are fixed. */
enum network_reason {
	NETWORK_REASON_NONE, /* it was not */
	NETWORK_REASON_NOT_ALLOWED,
	NETWORK_REASON_DENIED,
	NETWORK_REASON_PORT,
	NETWORK_REASON_ADDRESS,
	NETWORK_REASON_PRIVATE,
	NETWORK_REASON_SNI,
	NETWORK_REASON_HOST,
	NETWORK_REASON_PROXY,
	NETWORK_REASON_PERSON,
	NETWORK_REASON_TIMEOUT,
	NETWORK_REASON_UNRESOLVED,
	NETWORK_REASON_UNREACHABLE,
	NETWORK_REASON_LIMIT,
	NETWORK_REASON_MAX,
};
const char *network_reason_word(enum network_reason reason); /* "not-allowed"; "" for none */
const char *
network_verdict_word(enum network_verdict_kind kind);  /* "allow", "ask", "deny", "none" */
const char *network_list_word(enum network_list list); /* "allow" ... */

struct network_ref { /* a rule, by its place: the same in every copy of the rules */
	enum network_list list;
	int32_t index; /* -1: none */
};

struct network_verdict {
	enum network_verdict_kind kind;
	enum network_reason reason; /* NONE for allow and ask */
	struct network_ref rule, runner_up;
};

/* Read the entries of LIST into *COUNT rules: TEXTS[i] is what rule i names, or NULL if that is
 * known. What names the same as a rule before it is dropped, and *COUNT is what is left; on failure
 * it is the place of the entry that cannot be read. */
int network_rules_read(struct network_rule *rules, const char *const *texts, size_t *count,
                       enum network_list list, struct error *err);

/* The name is canonical (destination_canonical()); port 1 to 65535. */
struct network_verdict network_judge(const struct network_rules *rules, const char *name,
                                     uint16_t port);
/* For a look-up: the best verdict on any port (allow, ask, deny, none in this order). */
struct network_verdict network_judge_name(const struct network_rules *rules, const char *name);
/* A literal: only entries that are addresses or ranges count. Says nothing of fitness (fit.h). */
struct network_verdict network_judge_address(const struct network_rules *rules,
                                             const struct network_address *address, uint16_t port);

/* NULL: none. */
const struct network_rule *network_rule_at(const struct network_rules *rules,
                                           struct network_ref ref);

/* Append the rules as bytes, for network_rules_unpack() of the same build. */
int network_rules_pack(const struct network_rules *rules, struct buffer *into, struct error *err);
/* All memory is the arena's. Bytes that no network_rules_pack() wrote are an error. */
int network_rules_unpack(const void *bytes, size_t n, struct arena *arena,
                         struct network_rules *ret_rules, struct error *err);
