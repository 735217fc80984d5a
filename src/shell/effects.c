/*
 * Effects of one command: its words compared with the rows of the knowledge table.
 *
 * Nothing here proves that a command is harmless: rules that allow must say which words they allow.
 */
#include "shell/effects.h"

#include <errno.h>
#include <fnmatch.h>
#include <strings.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/name.h"

/* KEY= of ssh -o: in any case, with blanks in front, and a blank will do for the equals sign. */
static enum match keyword_matches(const struct shell_fact_word *value, const char *filter)
{
	size_t n = strlen(filter) - 1, from = 0, left;
	const char *s = value->text.bytes;

	while (from < value->text.len && strchr(" \t", s[from]))
		from++;
	left = value->text.len - from;
	if (strncasecmp(s + from, filter, left < n ? left : n) != 0)
		return MATCH_NO;
	if (left <= n)
		return known(value) ? MATCH_NO : MATCH_MAYBE;
	return strchr("= \t\"", s[from + n]) ? MATCH_YES : MATCH_NO;
}

static enum match value_matches(const struct found *f, const char *filter)
{
	enum match m;
	size_t n;

	if (!filter)
		return f->maybe ? MATCH_MAYBE : MATCH_YES;
	if (!f->has_value)
		return MATCH_MAYBE;
	n = strlen(filter);
	if (filter[n - 1] == '=') {
		m = keyword_matches(&f->value, filter);
		return m == MATCH_YES && f->maybe ? MATCH_MAYBE : m;
	}
	if (f->value.text.len >= n)
		return memcmp(f->value.text.bytes, filter, n) != 0 ? MATCH_NO
		       : f->maybe                                  ? MATCH_MAYBE
		                                                   : MATCH_YES;
	if (known(&f->value) || memcmp(f->value.text.bytes, filter, f->value.text.len) != 0)
		return MATCH_NO;
	return MATCH_MAYBE;
}

static enum match sub_matches(const struct reading *r, const char *sub)
{
	if (!r->operand_count)
		return MATCH_NO;
	if (!known(r->operands[0]))
		return MATCH_MAYBE;
	return text_is(r->operands[0]->text, sub) ? MATCH_YES : MATCH_NO;
}

static enum match option_matches(const struct reading *r, const struct knowledge_item *item)
{
	enum match best = r->cut ? MATCH_MAYBE : MATCH_NO, m, sub = MATCH_YES;

	for (size_t i = 0; i < r->found_count; i++) {
		if (r->found[i].item != item)
			continue;
		m = value_matches(&r->found[i], item->filter);
		best = m > best ? m : best;
	}
	if (item->sub)
		sub = sub_matches(r, item->sub);
	return sub < best ? sub : best;
}

static enum match text_matches(const struct shell_fact_word *w, const char *name, bool prefix)
{
	size_t n = strlen(name);

	if (!prefix && memmem(w->text.bytes, w->text.len, name, n))
		return MATCH_YES;
	if (prefix && w->text.len >= n)
		return memcmp(w->text.bytes, name, n) == 0 ? MATCH_YES : MATCH_NO;
	if (known(w))
		return MATCH_NO;
	return !prefix || memcmp(w->text.bytes, name, w->text.len) == 0 ? MATCH_MAYBE : MATCH_NO;
}

static enum match operand_matches(const struct reading *r, const struct knowledge_item *item,
                                  bool prefix, size_t from)
{
	enum match best = r->cut ? MATCH_MAYBE : MATCH_NO, m;

	for (size_t i = from; i < r->operand_count; i++) {
		m = text_matches(r->operands[i], item->name, prefix);
		best = m > best ? m : best;
	}
	return best;
}

static enum match no_operand(const struct reading *r)
{
	size_t needed = effects_first_is_script(r) ? 1 : 0;

	for (size_t i = 0; i < r->command->redirect_count; i++)
		if (r->command->redirects[i].fd == 0)
			return MATCH_NO;
	if (strstr(r->command->via, "pipe"))
		return MATCH_NO;
	if (r->operand_count > needed)
		return r->many ? MATCH_MAYBE : MATCH_NO;
	return MATCH_YES;
}

static enum match env_matches(const struct reading *r, const char *name)
{
	for (size_t i = 0; i < r->command->assign_count; i++)
		if (knowledge_is_variable(name, r->command->assigns[i].name.bytes))
			return MATCH_YES;
	return MATCH_NO;
}

/* git -c KEY=VALUE, git config KEY VALUE. */
static enum match config_matches(const struct reading *r, const char *name)
{
	enum match best = r->cut ? MATCH_MAYBE : MATCH_NO;
	char key[128];

	for (size_t i = 0; i < r->found_count + r->operand_count; i++) {
		const struct shell_fact_word *w =
			i < r->found_count ? &r->found[i].value : r->operands[i - r->found_count];
		size_t n;

		if (i < r->found_count ? !r->found[i].has_value
		                       : sub_matches(r, "config") == MATCH_NO)
			continue;
		n = strcspn(w->text.bytes, "=");
		if (n > w->text.len)
			n = w->text.len;
		if (!known(w) && n == w->text.len)
			best = best ? best : MATCH_MAYBE;
		if (n >= sizeof(key)) { /* no such key is known, but its middle can be any name */
			best = best ? best : MATCH_MAYBE;
			continue;
		}
		memcpy(key, w->text.bytes, n);
		key[n] = '\0';
		if (fnmatch(name, key, FNM_CASEFOLD) == 0)
			return MATCH_YES;
	}
	return best;
}

static enum match digits_match(const struct reading *r)
{
	for (size_t i = 0; i < r->operand_count; i++)
		if (r->operands[i]->text.len &&
		    strspn(r->operands[i]->text.bytes, "0123456789.") == r->operands[i]->text.len)
			return MATCH_YES;
	return MATCH_NO;
}

static enum match operand_number(const struct reading *r, const char *number)
{
	if (r->operand_count >= (size_t)(number[0] - '0'))
		return MATCH_YES;
	return r->many ? MATCH_MAYBE : MATCH_NO;
}

static enum match no_option(const struct reading *r, const char *name)
{
	const struct shell_fact_command *c = r->command;

	for (size_t i = 1; i < c->word_count; i++)
		if (c->words[i].text.len > 1 && c->words[i].text.bytes[0] == '-' &&
		    c->words[i].text.bytes[1] != '-' && strchr(c->words[i].text.bytes, name[1]))
			return MATCH_NO;
	return MATCH_YES;
}

static enum match item_matches(const struct reading *r, const struct knowledge_item *item)
{
	enum match m;

	switch ((enum knowledge_kind)item->kind) {
	case KNOWLEDGE_ALWAYS:
		return MATCH_YES;
	case KNOWLEDGE_OPTION:
		return option_matches(r, item);
	case KNOWLEDGE_NO_OPTION:
		return no_option(r, item->name);
	case KNOWLEDGE_OPTION_EQUALS:
		return r->equals ? MATCH_YES : MATCH_NO;
	case KNOWLEDGE_OPERAND:
		return r->operand_count ? MATCH_YES : MATCH_NO;
	case KNOWLEDGE_OPERAND_NUMBER:
		return operand_number(r, item->name);
	case KNOWLEDGE_OPERAND_PREFIX:
		return operand_matches(r, item, true, 0);
	case KNOWLEDGE_OPERAND_CONTAINS:
		return operand_matches(r, item, false, 0);
	case KNOWLEDGE_OPERAND_DIGITS:
		return digits_match(r);
	case KNOWLEDGE_NO_OPERAND:
		return no_operand(r);
	case KNOWLEDGE_SUB:
		return sub_matches(r, item->name);
	case KNOWLEDGE_SUB_OPERAND:
	case KNOWLEDGE_SUB_OPERAND_PREFIX:
		m = operand_matches(r, item, true, 1);
		return m < sub_matches(r, item->sub) ? m : sub_matches(r, item->sub);
	case KNOWLEDGE_SCRIPT:
		return effects_script_matches(r, item->name);
	case KNOWLEDGE_ENV:
		return env_matches(r, item->name);
	case KNOWLEDGE_CONFIG:
		return config_matches(r, item->name);
	case KNOWLEDGE_TERMINAL:
		return MATCH_NO; /* there is none unless a request asks for it */
	case KNOWLEDGE_TAIL:
		return MATCH_NO; /* another row says what it does */
	}
	return MATCH_NO;
}

static const char *describe(const struct knowledge_item *item)
{
	switch ((enum knowledge_kind)item->kind) {
	case KNOWLEDGE_ALWAYS:
		return "always";
	case KNOWLEDGE_NO_OPERAND:
		return "no operand";
	case KNOWLEDGE_OPERAND:
	case KNOWLEDGE_OPERAND_NUMBER:
	case KNOWLEDGE_OPERAND_DIGITS:
		return "operand";
	case KNOWLEDGE_OPTION_EQUALS:
		return "-X=Y";
	case KNOWLEDGE_SUB_OPERAND:
	case KNOWLEDGE_SUB_OPERAND_PREFIX:
		return item->sub;
	case KNOWLEDGE_OPTION:
	case KNOWLEDGE_NO_OPTION:
	case KNOWLEDGE_OPERAND_PREFIX:
	case KNOWLEDGE_OPERAND_CONTAINS:
	case KNOWLEDGE_SUB:
	case KNOWLEDGE_SCRIPT:
	case KNOWLEDGE_ENV:
	case KNOWLEDGE_CONFIG:
	case KNOWLEDGE_TERMINAL:
	case KNOWLEDGE_TAIL:
		break;
	}
	return item->name;
}

static bool row_matches(const struct reading *r, const struct knowledge_row *row,
                        struct shell_fact_does *ret)
{
	enum match best = MATCH_NO, m;

	for (size_t i = 0; i < row->count; i++) {
		m = item_matches(r, &row->items[i]);
		if (m <= best)
			continue;
		best = m;
		*ret = (struct shell_fact_does){knowledge_class_name(row->effect),
		                                describe(&row->items[i]), row->note,
		                                m == MATCH_MAYBE};
	}
	return best != MATCH_NO;
}

/* The rows that options have led to are known; adds all others that could match. */
static void reach_all(struct reading *r)
{
	const struct knowledge_command *c = r->known;
	const struct knowledge_index *subs = c->index + c->option_count;
	const struct knowledge_index *needs = subs + c->sub_count;

	effects_reach(r, needs, c->need_count, KNOWLEDGE_NEED_NOTHING);
	if (r->command->assign_count)
		effects_reach(r, needs, c->need_count, KNOWLEDGE_NEED_ENV);
	if (r->found_count || sub_matches(r, "config") != MATCH_NO)
		effects_reach(r, needs, c->need_count, KNOWLEDGE_NEED_CONFIG);
	if (!r->operand_count)
		return;
	effects_reach(r, needs, c->need_count, KNOWLEDGE_NEED_OPERAND);
	if (!known(r->operands[0]))
		effects_reach(r, needs, c->need_count, KNOWLEDGE_NEED_SUB);
	else
		effects_reach(
			r, subs, c->sub_count,
			knowledge_sub_key(r->operands[0]->text.bytes, r->operands[0]->text.len));
}

static int add_does(struct arena *arena, struct shell_fact_command *command,
                    const struct shell_fact_does *one)
{
	struct shell_fact_does *list =
		arena_new_array(arena, struct shell_fact_does, command->does_count + 1);

	if (!list)
		return -ENOMEM;
	if (command->does_count)
		memcpy(list, command->does, command->does_count * sizeof(*list));
	list[command->does_count++] = *one;
	command->does = list;
	return 0;
}

static int apply(struct arena *arena, struct shell_fact_command *command,
                 const struct knowledge_command *rows)
{
	struct reading r; /* large, and filled only as far as it is used */
	struct shell_fact_does one;

	r.command = command;
	r.known = rows;
	r.found_count = r.operand_count = 0;
	r.cut = r.equals = r.many = false;
	memset(r.hit, 0, sizeof(r.hit));
	effects_read_words(&r);
	reach_all(&r);
	for (size_t i = 0; i < array_size(r.hit); i++) {
		for (uint64_t left = r.hit[i]; left; left &= left - 1) {
			size_t row = i * 64 + (size_t)__builtin_ctzll(left);

			if (row_matches(&r, &rows->rows[row], &one) &&
			    add_does(arena, command, &one) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

const char *knowledge_other_name(const char *name)
{
	static const char *const names[][2] = {
		{"gawk", "awk"},   {"mawk", "awk"},    {"nawk", "awk"},      {"egrep", "grep"},
		{"fgrep", "grep"}, {"rgrep", "grep"},  {"g++", "gcc"},       {"c++", "gcc"},
		{"bsdtar", "tar"}, {"gtar", "tar"},    {"gsed", "sed"},      {"clang++", "clang"},
		{"pip3", "pip"},   {"vimdiff", "vim"}, {"ripgrep", "rg"},    {"nodejs", "node"},
		{"ash", "dash"},   {"unxz", "xz"},     {"bunzip2", "bzip2"},
	};

	for (size_t i = 0; i < array_size(names); i++)
		if (name_is(names[i][0], name))
			return names[i][1];
	return NULL;
}

int knowledge_apply(struct arena *arena, struct shell_fact_command *command)
{
	const struct knowledge_command *rows, *more = NULL;
	const char *name, *slash, *other;

	if (!command->word_count || !known(&command->words[0]))
		return 0;
	name = command->words[0].text.bytes;
	slash = strrchr(name, '/');
	rows = knowledge_find(name);
	other = knowledge_other_name(slash ? slash + 1 : name);
	if (other)
		more = knowledge_find(other);
	if (rows && apply(arena, command, rows) < 0)
		return -ENOMEM;
	return more ? apply(arena, command, more) : 0;
}
