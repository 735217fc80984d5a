#pragma once
/*
 * Rules for tests, from lists of words.
 */
#include "base/arena.h"
#include "base/error.h"
#include "base/test-support.h"
#include "gateway/rules.h"

static inline struct network_rule_list test_list(struct arena *arena, enum network_list list,
                                                 const char *words)
{
	struct network_rule *rules = arena_new_array(arena, struct network_rule, 64);
	struct network_rule_list l = {.rules = rules};
	struct error err = {0};

	for (const char *p = words; p && *p; p += strcspn(p, " "), p += strspn(p, " ")) {
		char *word = arena_strndup(arena, p, strcspn(p, " "));

		if (destination_parse(word, list, &rules[l.count].to, &err) < 0)
			fail_msg("%s: %s", word, err.text);
		rules[l.count].file = "test";
		rules[l.count].line = (uint32_t)l.count + 1;
		l.count++;
	}
	return l;
}
