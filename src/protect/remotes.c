#include "protect/remotes.h"

#include <string.h>
#include "protect/git.h"

struct search {
	int (*visit)(void *context, const char *url);
	void *context;
};

static int look_at(void *context, const struct git_key *key)
{
	const struct search *s = context;

	if (strcmp(key->section, "remote") != 0 || !key->value ||
	    (strcmp(key->key, "url") != 0 && strcmp(key->key, "pushurl") != 0))
		return 0;
	return s->visit(s->context, key->value);
}

int git_remotes_visit(const char *bytes, size_t n, int (*visit)(void *context, const char *url),
                      void *context)
{
	struct search s = {.visit = visit, .context = context};

	return git_config_parse(bytes, n, look_at, &s);
}
