#pragma once
/*
 * Keys: the one table of what may stand in a profile. The loader, its messages, the JSON schema,
 * the reference page and `nacre policy show` all read it, so that none of them can differ.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum key_type {
	KEY_TEXT,
	KEY_BOOL,
	KEY_CHOICE,   /* one of some words, stored as a number */
	KEY_WORD,     /* one of some words, stored as text */
	KEY_COUNT,    /* a whole number */
	KEY_SIZE,     /* bytes or characters: 4096, 64K, 2G */
	KEY_DURATION, /* milliseconds; written with a unit */
	KEY_SECONDS,  /* a whole number of seconds, or with a unit */
	KEY_TEXTS,    /* a list */
	KEY_WORDS,    /* a list of some words, stored as texts */
	KEY_FLAGS,    /* a list of some words, stored as bits */
	KEY_PAIRS,    /* a map of names and texts, stored as NAME=VALUE */
	KEY_RULES,
	KEY_SETS,
	KEY_REMOVE, /* ids of rules of lower layers */
	KEY_EXAMPLES,
	KEY_GROUP,           /* a map of the keys in SUB */
	KEY_CHOICE_OR_GROUP, /* shell: a word in profiles, a map in the files of agents */
	KEY_NETWORK,         /* a word, or the map of the network by name */
	KEY_DESTINATIONS,    /* a list of names and addresses with ports; min is the list */
	KEY_VIA,             /* the URL of a proxy */
	KEY_PUBLISH,         /* a list of ports */
};

/* What the file of a project may do with a key. */
enum key_tighten {
	KEY_FREE,    /* anything: it weakens nothing */
	KEY_NOBODY,  /* nothing: only the layers of the operator set it */
	KEY_LOWER,   /* make a number smaller */
	KEY_LIMIT,   /* the same, where 0 means no limit */
	KEY_USUAL,   /* the same, where 0 means the usual number */
	KEY_TRUE,    /* switch on */
	KEY_FALSE,   /* switch off */
	KEY_BY_RANK, /* choose a word of a higher rank */
	KEY_ADD,     /* lengthen a list; all layers add to it */
	KEY_REDUCE,  /* shorten a list; layers replace it */
	KEY_TURN,    /* of what is allowed, say that a person is asked; layers replace it */
	KEY_RULE,    /* decided rule by rule */
};

enum key_check {
	KEY_CHECK_NONE,
	KEY_CHECK_NAME,     /* letters, digits, - _ . */
	KEY_CHECK_ABSOLUTE, /* a path that begins with / or ~/ */
	KEY_CHECK_RELATIVE, /* a path below the workspace */
	KEY_CHECK_VARIABLE, /* the name of a variable, * at its end */
	KEY_CHECK_SETS,     /* "@name" stands for the members of a set */
	KEY_CHECK_IMAGE,    /* a name of an image, no option */
	KEY_CHECK_OWNER,    /* UID or UID:GID */
	KEY_CHECK_REGEX,    /* a pattern of PCRE2 */
	KEY_CHECK_CACHE,    /* a directory of caches below home: cache-path.c */
};

struct key_choice {
	const char *name;
	uint32_t value;
	int rank; /* the higher the tighter; -1: not to be compared */
};

struct key {
	const char *name;
	enum key_type type;
	enum key_tighten tighten;
	enum key_check check;
	bool invert; /* BOOL: stored the other way round */
	size_t offset, width;
	uint64_t min, max; /* of numbers, TEXT: bytes; RULES: min is the list */
	uint32_t divisor;  /* SECONDS: milliseconds of the unit that is stored */
	uint32_t lists;    /* of a key of a rule: bits of the lists where it may stand; 0: all */
	const struct key_choice *choices;
	const struct key *sub;
	const char *fallback; /* as it would be written; of lists: words; NULL: nothing */
	const char *doc;
};

extern const struct key profile_keys[]; /* a table ends with a name that is NULL */
extern const struct key rule_keys[];
extern const struct key example_keys[];

const struct key *key_find(const struct key *table, const char *name);
const struct key_choice *key_choice_find(const struct key_choice *choices, const char *name);
const struct key_choice *key_choice_by_value(const struct key_choice *choices, uint32_t value);
