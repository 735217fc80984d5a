#include "shell/options.h"

#include <string.h>

void shell_option_start(struct shell_option_scan *s, const struct shell_option_grammar *grammar,
                        const struct shell_fact_word *words, size_t count)
{
	*s = (struct shell_option_scan){
		.grammar = grammar, .words = words, .count = count, .at = count ? 1 : 0};
}

static const struct shell_option *option_short(const struct shell_option_grammar *g, char c)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->options[i].name[0] == '-' && g->options[i].name[1] == c &&
		    g->options[i].name[2] == '\0')
			return &g->options[i];
	return NULL;
}

/* The long option that the N bytes name, whole or by a unique beginning; NULL: none, or several. */
static const struct shell_option *find_long(const struct shell_option_grammar *g, const char *name,
                                            size_t n)
{
	const struct shell_option *found = NULL;
	bool several = false;

	for (size_t i = 0; i < g->count; i++) {
		const char *candidate = g->options[i].name;

		if (strncmp(candidate, name, n) != 0 || n < 3 || candidate[1] != '-')
			continue;
		if (candidate[n] == '\0')
			return &g->options[i];
		/* Two spellings of one meaning are still two names to getopt. */
		several = found != NULL;
		found = &g->options[i];
	}
	return several ? NULL : found;
}

/* The bytes from FROM on, as a value with the certainty of the word. */
static void value_glued(struct shell_option_scan *s, const struct shell_fact_word *w, size_t from)
{
	s->has_value = true;
	s->value = *w;
	s->value.text.bytes += from;
	s->value.text.len -= from;
	s->value.node = NULL; /* the node is the whole word */
}

/* The next word as the value; it must be exactly one word. */
static enum shell_option_event value_next(struct shell_option_scan *s)
{
	if (s->at >= s->count)
		return SHELL_OPTION_UNKNOWN;
	if (s->words[s->at].kind != SHELL_VALUE_KNOWN && s->words[s->at].kind != SHELL_VALUE_ONE)
		return SHELL_OPTION_UNCERTAIN;
	s->has_value = true;
	s->value = s->words[s->at++];
	return SHELL_OPTION_FOUND;
}

static enum shell_option_event next_long(struct shell_option_scan *s,
                                         const struct shell_fact_word *w)
{
	static const struct shell_option any = {"--*", SHELL_OPTION_OPTIONAL,
	                                        SHELL_OPTION_MARK_NONE};
	const char *equals = memchr(w->text.bytes, '=', w->text.len);
	size_t n = equals ? (size_t)(equals - w->text.bytes) : w->text.len;

	if (!equals && w->kind != SHELL_VALUE_KNOWN)
		return SHELL_OPTION_UNCERTAIN; /* the name may go on */
	if (w->kind == SHELL_VALUE_MANY || w->kind == SHELL_VALUE_GLOB)
		return SHELL_OPTION_UNCERTAIN;
	s->option = find_long(s->grammar, w->text.bytes, n);
	if (!s->option && s->grammar->any_long)
		s->option = &any;
	if (!s->option || (equals && s->option->value == SHELL_OPTION_FLAG))
		return SHELL_OPTION_UNKNOWN;
	if (equals)
		value_glued(s, w, n + 1);
	else if (s->option->value == SHELL_OPTION_VALUE)
		return value_next(s);
	return SHELL_OPTION_FOUND;
}

static bool is_number(const struct shell_fact_word *w)
{
	size_t i = 1;

	if (w->kind != SHELL_VALUE_KNOWN)
		return false;
	if (i < w->text.len && (w->text.bytes[i] == '-' || w->text.bytes[i] == '+'))
		i++;
	if (i == w->text.len)
		return false;
	for (; i < w->text.len; i++)
		if (w->text.bytes[i] < '0' || w->text.bytes[i] > '9')
			return false;
	return true;
}

static enum shell_option_event next_short(struct shell_option_scan *s,
                                          const struct shell_fact_word *w)
{
	size_t i = s->cluster;

	s->word = s->at - 1;
	s->cluster = 0;
	s->option = option_short(s->grammar, w->text.bytes[i]);
	if (!s->option)
		return SHELL_OPTION_UNKNOWN;
	if ((s->option->value == SHELL_OPTION_VALUE && i + 1 < w->text.len) ||
	    (s->option->value == SHELL_OPTION_OPTIONAL &&
	     (i + 1 < w->text.len || w->kind != SHELL_VALUE_KNOWN))) {
		if (w->kind == SHELL_VALUE_MANY || w->kind == SHELL_VALUE_GLOB)
			return SHELL_OPTION_UNCERTAIN;
		value_glued(s, w, i + 1);
		return SHELL_OPTION_FOUND;
	}
	if (w->kind != SHELL_VALUE_KNOWN && i + 1 == w->text.len) {
		/* -n"$x": the rest is the value, unless it is empty; then the next word would be.
		 */
		return SHELL_OPTION_UNCERTAIN;
	}
	if (s->option->value == SHELL_OPTION_VALUE)
		return value_next(s);
	if (i + 1 < w->text.len)
		s->cluster = i + 1;
	return SHELL_OPTION_FOUND;
}

enum shell_option_event shell_option_next(struct shell_option_scan *s)
{
	const struct shell_fact_word *w;

	s->option = NULL;
	s->has_value = false;
	if (s->cluster)
		return next_short(s, &s->words[s->at - 1]);
	if (s->at >= s->count)
		return SHELL_OPTION_END;

	w = &s->words[s->at];
	s->word = s->at++;
	if (s->ended)
		return SHELL_OPTION_OPERAND;
	if (w->kind != SHELL_VALUE_KNOWN && w->text.len == 0)
		return SHELL_OPTION_UNCERTAIN;
	if (w->text.len == 0 || w->text.bytes[0] != '-' ||
	    (w->text.len == 1 && w->kind == SHELL_VALUE_KNOWN)) {
		if (!s->grammar->permute)
			s->ended = true;
		return SHELL_OPTION_OPERAND;
	}
	if (w->text.len == 1)
		return SHELL_OPTION_UNCERTAIN;
	if (w->text.len == 2 && w->text.bytes[1] == '-' && w->kind == SHELL_VALUE_KNOWN) {
		s->ended = true;
		return shell_option_next(s);
	}
	if (s->grammar->numbers && is_number(w)) {
		static const struct shell_option number = {"-NUM", SHELL_OPTION_FLAG,
		                                           SHELL_OPTION_MARK_NONE};

		s->option = &number;
		return SHELL_OPTION_FOUND;
	}
	if (w->text.bytes[1] == '-')
		return next_long(s, w);
	s->cluster = 1;
	return next_short(s, w);
}
