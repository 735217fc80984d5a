#pragma once
/*
 * Binding: the nodes of one file after the other become values of one profile.
 *
 * The binder knows which layer it reads, so every value gets its place, and a layer that may only
 * tighten is compared with what the layers below have left, key by key.
 */
#include <stdbool.h>
#include <stdint.h>
#include "policy/rules.h"
#include "profile/keys.h"

struct arena;
struct error;
struct profile;
struct profile_request;
struct yaml_node;

#define BIND_RULE_MAX 4096
#define BIND_LIST_MAX 8192   /* entries of one list, sets replaced */
#define BIND_TEXT_MAX 200000 /* entries of all lists */

struct bind_rule {
	struct policy_rule rule;
	uint32_t layer, hash; /* hash of the id */
	uint32_t removed;     /* by this layer; 0: it holds */
	struct bind_rule *next;
};

struct bind_set {
	const char *name;
	const char *const *members;
	struct bind_set *next;
};

/* Where a value was set; a list that layers add to has several. */
struct profile_origin {
	const struct key *key;
	struct policy_place place;
	struct profile_origin *next;
};

struct binder {
	struct arena *arena;
	struct profile *profile;
	struct error *err;
	const struct profile_request *request; /* for the files of sets; NULL: none is read */
	/* The layer that is read: */
	const char *file;
	uint32_t layer;
	bool tighten;     /* it may not loosen */
	bool examples;    /* they are wanted */
	bool default_set; /* the one of the timeout */
	struct policy_place default_place;
	enum policy_verdict fallback_below; /* before this layer */
	/* What has been gathered: */
	struct bind_rule *rules, *last_rule;
	size_t rule_count, text_count;
	struct bind_set *sets;
	struct profile_origin *origins;
};

/* Values that hold where no layer says anything. */
int bind_defaults(struct binder *b);
/* One file, as the topmost layer so far. */
int bind_layer(struct binder *b, const struct yaml_node *root);
/* What follows from all layers together. */
int bind_finish(struct binder *b);

/* "FILE:LINE:COLUMN: ...", and the code. */
int bind_fail(struct binder *b, const struct yaml_node *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int bind_no_memory(struct binder *b);
struct policy_place bind_place(const struct binder *b, const struct yaml_node *at);
int bind_wrong_type(struct binder *b, const struct yaml_node *at, const char *key,
                    const char *wanted);

/* A map of the keys in the table, into BASE; PATH is put in front of the names in messages. */
int bind_map(struct binder *b, const struct key *table, const char *path,
             const struct yaml_node *map, void *base);
/* A text, checked; NAME is for messages. */
int bind_text(struct binder *b, const struct key *key, const char *name,
              const struct yaml_node *node, const char **ret_text);
/* A list of texts, with sets replaced; OLD stands for "@inherited", and NULL forbids it. */
int bind_texts(struct binder *b, const struct key *key, const char *name,
               const struct yaml_node *list, const char *const *old, const char *const **ret_texts);
bool bind_texts_have(const char *const *list, const char *text);
size_t bind_texts_count(const char *const *list);
/* cache-path.c: why a directory of home is not to be kept across sessions; NULL: it may be. */
const char *bind_cache_fault(const char *path);
/* Whether the list is in order: no entry in another one, not too many. */
int bind_caches(struct binder *b, const char *name, const struct yaml_node *node,
                const char *const *list);

bool bind_is_variable(const char *text, bool glob);
int bind_fail_choice(struct binder *b, const struct key *key, const char *name,
                     const struct yaml_node *node);
int bind_loosens(struct binder *b, const struct yaml_node *at, const char *name);

/* "KEY:ENTRY" of a list that layers add to, such as "sandbox.secrets:~/.docker": the entry goes.
 * -ENOENT: the text names no such list. */
int bind_remove_entry(struct binder *b, const struct yaml_node *node);

/* numbers.c */
int bind_number(struct binder *b, const struct key *key, const char *name,
                const struct yaml_node *node, void *base);
int bind_flags(struct binder *b, const struct key *key, const char *name,
               const struct yaml_node *node, void *base);

/* rules.c */
int bind_rules(struct binder *b, enum policy_list list, const struct yaml_node *node);
int bind_removals(struct binder *b, const struct yaml_node *node);
int bind_finish_rules(struct binder *b);

/* sets.c: the members of a set of the file, of lower layers or built in; NULL: there is none. The
 * binder may be NULL. */
int bind_sets(struct binder *b, const struct yaml_node *node);
const char *const *bind_set_find(const struct binder *b, const char *name);
const char *bind_set_builtin(size_t index); /* NULL: there are no more */
const char *bind_set_suggest(const struct binder *b, const char *name);

/* network.c: sandbox.network, a word or a map, and what is in the map. */
int bind_network(struct binder *b, const struct key *key, const char *name,
                 const struct yaml_node *node);
int bind_destinations(struct binder *b, const struct key *key, const char *name,
                      const struct yaml_node *node);
int bind_via(struct binder *b, const char *name, const struct yaml_node *node);
int bind_publish(struct binder *b, const struct key *key, const char *name,
                 const struct yaml_node *node);
/* An entry of `deny` goes. -ENODATA: it is not there. */
int bind_destination_remove(struct binder *b, const struct key *key, const char *text);
int bind_finish_network(struct binder *b);

/* examples.c */
int bind_examples(struct binder *b, const struct yaml_node *node);
