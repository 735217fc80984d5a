/*
 * Effects of one command: its words compared with the rows of the knowledge table.
 *
 * The table lists options that matter, not all there are. So a cluster with letters that are not
 * listed (-uo) can be read in more than one way, and what is found behind such a letter is marked
 * as possible. Nothing here proves that a command is harmless: rules that allow must say which
 * words they allow.
 */
#include "shell/knowledge.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "shell/script.h"

#define FOUND_MAX   96
#define OPERAND_MAX 256

struct found {
	const struct knowledge_item *item;
	bool maybe;
	bool has_value;
	struct shell_fact_word value;
};

struct reading {
	struct shell_fact_command *command;
	const struct knowledge_command *known;
	struct found found[FOUND_MAX];
	size_t found_count;
	const struct shell_fact_word *operands[OPERAND_MAX];
	size_t operand_count;
	bool equals;                          /* a word -X=Y */
	bool many;                            /* an unknown number of words */
	uint64_t hit[KNOWLEDGE_ROW_MAX / 64]; /* rows that could match */
};

static bool text_is(struct shell_text t, const char *s)
{
	return t.len && t.bytes[0] == s[0] && strlen(s) == t.len && memcmp(t.bytes, s, t.len) == 0;
}

static bool known(const struct shell_fact_word *w)
{
	return w->kind == SHELL_VALUE_KNOWN;
}

static struct shell_fact_word tail(const struct shell_fact_word *w, size_t from)
{
	struct shell_fact_word t = *w;

	t.text.bytes += from;
	t.text.len -= from;
	return t;
}

static void record(struct reading *r, const struct knowledge_item *item, bool maybe,
                   const struct shell_fact_word *value)
{
	struct found *f;

	if (r->found_count == FOUND_MAX)
		return;
	f = &r->found[r->found_count++];
	*f = (struct found){.item = item, .maybe = maybe, .has_value = value != NULL};
	if (value)
		f->value = *value;
}

static void hit(struct reading *r, size_t row)
{
	r->hit[row / 64] |= UINT64_C(1) << row % 64;
}

/* The first entry of a sorted list whose key is not less. */
static const struct knowledge_index *index_from(const struct knowledge_index *list, size_t count,
                                                unsigned key)
{
	while (count) {
		size_t half = count / 2;

		if (list[half].key < key) {
			list += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return list;
}

struct options { /* what the option items of one name have in common */
	size_t count;
	bool takes_next;  /* one of them took the next word as its value */
	bool takes_value; /* one of them takes a value, glued or not */
};

/* Records every option item whose name is the N bytes, or begins with them and is long. */
static struct options record_all(struct reading *r, const char *name, size_t n, bool maybe,
                                 const struct shell_fact_word *glued,
                                 const struct shell_fact_word *next)
{
	const struct knowledge_command *c = r->known;
	const struct knowledge_index *end = c->index + c->option_count;
	unsigned key = knowledge_option_key(name, n);
	struct options o = {0};

	for (const struct knowledge_index *i = index_from(c->index, c->option_count, key);
	     i < end && i->key == key; i++) {
		const struct knowledge_item *item = &c->rows->items[i->item];
		bool part;

		if (strncmp(item->name, name, n) != 0)
			continue;
		/* A beginning of a long option may mean another one that is not listed. */
		part = item->name[n] != '\0';
		if (part && (n < 3 || item->name[1] != '-'))
			continue;
		o.count++;
		o.takes_value |= item->value != SHELL_OPTION_FLAG;
		hit(r, i->row);
		if (item->value == SHELL_OPTION_VALUE && !glued && next) {
			record(r, item, maybe || part, next);
			o.takes_next = true;
		} else {
			record(r, item, maybe || part,
			       item->value == SHELL_OPTION_FLAG ? NULL : glued);
		}
	}
	return o;
}

/* -abc; returns how many words behind it are values. OLD: tar's way, values follow in order. */
static size_t read_cluster(struct reading *r, size_t at, size_t from, bool old)
{
	const struct shell_fact_command *c = r->command;
	const struct shell_fact_word *w = &c->words[at];
	bool sure = true;
	size_t taken = 0;

	for (size_t i = from; i < w->text.len; i++) {
		char name[3] = {'-', w->text.bytes[i], '\0'};
		bool more = !old && (i + 1 < w->text.len || !known(w));
		struct shell_fact_word glued = tail(w, i + 1 < w->text.len ? i + 1 : w->text.len);
		const struct shell_fact_word *next =
			at + 1 + taken < c->word_count ? &c->words[at + 1 + taken] : NULL;
		struct options o = record_all(r, name, 2, !sure, more ? &glued : NULL, next);

		if (!o.count)
			sure = false;
		taken += o.takes_next;
		if (o.takes_value && !old)
			break;
	}
	return taken;
}

/* --long, --long=value, and -long where the command has such options. */
static size_t read_long(struct reading *r, size_t at)
{
	const struct shell_fact_command *c = r->command;
	const struct shell_fact_word *w = &c->words[at];
	const char *equals = memchr(w->text.bytes, '=', w->text.len);
	size_t n = equals ? (size_t)(equals - w->text.bytes) : w->text.len;
	struct shell_fact_word glued = tail(w, equals ? n + 1 : w->text.len);
	const struct shell_fact_word *next = at + 1 < c->word_count ? &c->words[at + 1] : NULL;
	struct options o;

	r->equals |= equals != NULL && w->text.bytes[1] != '-';
	o = record_all(r, w->text.bytes, n, !known(w) && !equals, equals ? &glued : NULL, next);
	if (!o.count && w->text.bytes[1] != '-' && n > 2) {
		/* -oFILE where clusters are not known */
		struct shell_fact_word rest = tail(w, 2);

		record_all(r, w->text.bytes, 2, true, &rest, NULL);
	}
	return o.takes_next ? 1 : 0;
}

static bool is_option(const struct shell_fact_word *w)
{
	return w->text.len > 1 &&
	       (w->text.bytes[0] == '-' || (w->text.bytes[0] == '+' && w->text.bytes[1] == 'O'));
}

static void read_words(struct reading *r)
{
	const struct shell_fact_command *c = r->command;
	bool old = shell_name_is(r->known->name, "tar") || shell_name_is(r->known->name, "ar");
	bool ended = false;

	for (size_t i = 1; i < c->word_count; i++) {
		const struct shell_fact_word *w = &c->words[i];

		if (w->kind == SHELL_VALUE_MANY)
			r->many = true;
		if (known(w) && text_is(w->text, "--") && !ended)
			ended = !r->known->single_dash; /* find -- . -delete */
		else if (!ended && is_option(w))
			i += r->known->single_dash || w->text.bytes[1] == '-'
			             ? read_long(r, i)
			             : read_cluster(r, i, 1, false);
		else if (i == 1 && old && known(w))
			i += read_cluster(r, i, 0, true);
		else if (r->operand_count < OPERAND_MAX)
			r->operands[r->operand_count++] = w;
	}
}

/* Matching */

enum match { MATCH_NO, MATCH_MAYBE, MATCH_YES };

static enum match value_matches(const struct found *f, const char *filter)
{
	size_t n;

	if (!filter)
		return f->maybe ? MATCH_MAYBE : MATCH_YES;
	if (!f->has_value)
		return MATCH_MAYBE;
	n = strlen(filter);
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
	enum match best = MATCH_NO, m, sub = MATCH_YES;

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
	enum match best = MATCH_NO, m;

	for (size_t i = from; i < r->operand_count; i++) {
		m = text_matches(r->operands[i], item->name, prefix);
		best = m > best ? m : best;
	}
	return best;
}

/* Commands whose first operand is a program or pattern, not a file. */
static bool first_is_script(const struct reading *r)
{
	static const char *const names[] = {"grep", "sed", "awk", "jq", "rg", "ag", "ack"};

	for (size_t i = 0; i < r->found_count; i++)
		if (strcmp(r->found[i].item->name, "-f") == 0 ||
		    strcmp(r->found[i].item->name, "--file") == 0)
			return false;
	for (size_t i = 0; i < array_size(names); i++)
		if (shell_name_is(r->known->name, names[i]))
			return true;
	return false;
}

static enum match no_operand(const struct reading *r)
{
	size_t needed = first_is_script(r) ? 1 : 0;

	for (size_t i = 0; i < r->command->redirect_count; i++)
		if (r->command->redirects[i].fd == 0)
			return MATCH_NO;
	if (strstr(r->command->via, "pipe"))
		return MATCH_NO;
	if (r->operand_count > needed)
		return r->many ? MATCH_MAYBE : MATCH_NO;
	return MATCH_YES;
}

static unsigned script_flag(const char *name)
{
	static const struct {
		const char *name;
		unsigned can;
	} flags[] = {
		{"e", SHELL_SCRIPT_RUN},         {"w", SHELL_SCRIPT_WRITE},
		{"r", SHELL_SCRIPT_READ},        {"system(", SHELL_SCRIPT_RUN},
		{"|\"", SHELL_SCRIPT_RUN},       {"\"|getline", SHELL_SCRIPT_RUN},
		{"|&", SHELL_SCRIPT_RUN},        {"@load", SHELL_SCRIPT_LOAD},
		{"@include", SHELL_SCRIPT_LOAD}, {">", SHELL_SCRIPT_WRITE},
		{"/inet/", SHELL_SCRIPT_NET},    {"getline<", SHELL_SCRIPT_READ},
		{"ARGV[", SHELL_SCRIPT_FILES},
	};

	for (size_t i = 0; i < array_size(flags); i++)
		if (strcmp(flags[i].name, name) == 0)
			return flags[i].can;
	return 0;
}

static enum match script_in(const struct reading *r, const struct shell_fact_word *w,
                            const char *name)
{
	if (!known(w))
		return MATCH_MAYBE;
	if (strcmp(r->known->name, "sed") == 0)
		return shell_script_sed(w->text) & script_flag(name) ? MATCH_YES : MATCH_NO;
	if (strcmp(r->known->name, "awk") == 0)
		return shell_script_awk(w->text) & script_flag(name) ? MATCH_MAYBE : MATCH_NO;
	return strstr(w->text.bytes, name) ? MATCH_YES : MATCH_NO;
}

/* The program: the values of -e and --source, else the first operand unless a file is given. */
static enum match awk_matches(const struct reading *r, const char *name)
{
	const struct shell_fact_command *c = r->command;
	enum match best = MATCH_NO, m;
	bool given = false;

	for (size_t i = 1; i < c->word_count; i++) {
		const struct shell_fact_word *w = &c->words[i];
		struct shell_fact_word value;
		size_t at = 0;
		char option;

		if (w->kind == SHELL_VALUE_MANY || w->kind == SHELL_VALUE_GLOB)
			return MATCH_MAYBE; /* options, or the program itself */
		if (known(w) && text_is(w->text, "--") && i + 1 < c->word_count)
			w = &c->words[++i];
		else if (is_option(w)) {
			option = shell_awk_option(w->text, &at);
			if (!option)
				continue;
			if (at < w->text.len || !known(w))
				value = tail(w, at);
			else if (i + 1 < c->word_count)
				value = c->words[++i];
			else
				break;
			given = given || strchr("efE", option);
			if (option != 'e' && option != 'W')
				continue;
			m = script_in(r, &value, name);
			best = m > best ? m : best;
			continue;
		}
		m = given ? MATCH_NO : script_in(r, w, name);
		return m > best ? m : best;
	}
	return best;
}

/* An option word of sed: where the value of -e or --expression begins, at its end if that is the
 * next word; 0: there is none. */
static size_t sed_expression(struct shell_text word)
{
	const char *s = word.bytes;

	if (word.len < 2 || s[0] != '-')
		return 0;
	if (s[1] == '-') {
		size_t n = strcspn(s, "=");

		if (n < 3 || strncmp("--expression", s, n) != 0)
			return 0;
		return s[n] ? n + 1 : n;
	}
	for (size_t i = 1; i < word.len; i++) {
		if (s[i] == 'e')
			return i + 1;
		if (strchr("fil", s[i])) /* the rest is its value */
			return 0;
	}
	return 0;
}

/* The program text: the values of -e and --expression, else the first operand; for others, any. */
static enum match script_matches(const struct reading *r, const char *name)
{
	bool sed = strcmp(r->known->name, "sed") == 0, given = false;
	const struct shell_fact_command *c = r->command;
	enum match best = MATCH_NO, m;

	if (strcmp(r->known->name, "awk") == 0)
		return awk_matches(r, name);
	for (size_t i = 1; sed && i < c->word_count; i++) {
		const struct shell_fact_word *w = &c->words[i];
		struct shell_fact_word text;
		size_t at;

		if (known(w) && text_is(w->text, "--"))
			break;
		at = sed_expression(w->text);
		if (!at)
			continue;
		if (at < w->text.len || !known(w))
			text = tail(w, at);
		else if (i + 1 < c->word_count)
			text = c->words[++i];
		else
			break;
		given = true;
		m = script_in(r, &text, name);
		best = m > best ? m : best;
	}
	for (size_t i = 0; i < r->operand_count && !(given && sed); i++) {
		m = script_in(r, r->operands[i], name);
		best = m > best ? m : best;
		if (first_is_script(r))
			break;
	}
	return best;
}

static enum match env_matches(const struct reading *r, const char *name)
{
	for (size_t i = 0; i < r->command->assign_count; i++)
		if (fnmatch(name, r->command->assigns[i].name.bytes, 0) == 0)
			return MATCH_YES;
	return MATCH_NO;
}

/* git -c KEY=VALUE, git config KEY VALUE. */
static enum match config_matches(const struct reading *r, const char *name)
{
	enum match best = MATCH_NO;
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
		if (n >= sizeof(key))
			continue;
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
		return script_matches(r, item->name);
	case KNOWLEDGE_ENV:
		return env_matches(r, item->name);
	case KNOWLEDGE_CONFIG:
		return config_matches(r, item->name);
	case KNOWLEDGE_TERMINAL:
		return MATCH_NO; /* there is none unless a request asks for it */
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

/* The rows that the key leads to may match. */
static void reach(struct reading *r, const struct knowledge_index *list, size_t count, unsigned key)
{
	const struct knowledge_index *end = list + count;

	for (list = index_from(list, count, key); list < end && list->key == key; list++)
		hit(r, list->row);
}

/* The rows that options have led to are known; adds all others that could match. */
static void reach_all(struct reading *r)
{
	const struct knowledge_command *c = r->known;
	const struct knowledge_index *subs = c->index + c->option_count;
	const struct knowledge_index *needs = subs + c->sub_count;

	reach(r, needs, c->need_count, KNOWLEDGE_NEED_NOTHING);
	if (r->command->assign_count)
		reach(r, needs, c->need_count, KNOWLEDGE_NEED_ENV);
	if (r->found_count || sub_matches(r, "config") != MATCH_NO)
		reach(r, needs, c->need_count, KNOWLEDGE_NEED_CONFIG);
	if (!r->operand_count)
		return;
	reach(r, needs, c->need_count, KNOWLEDGE_NEED_OPERAND);
	if (!known(r->operands[0]))
		reach(r, needs, c->need_count, KNOWLEDGE_NEED_SUB);
	else
		reach(r, subs, c->sub_count,
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
	r.equals = r.many = false;
	memset(r.hit, 0, sizeof(r.hit));
	read_words(&r);
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

/* Programs that are others by another name. */
static const char *other_name(const char *name)
{
	static const char *const names[][2] = {
		{"gawk", "awk"},   {"mawk", "awk"},    {"nawk", "awk"},      {"egrep", "grep"},
		{"fgrep", "grep"}, {"rgrep", "grep"},  {"g++", "gcc"},       {"c++", "gcc"},
		{"bsdtar", "tar"}, {"gtar", "tar"},    {"gsed", "sed"},      {"clang++", "clang"},
		{"pip3", "pip"},   {"vimdiff", "vim"}, {"ripgrep", "rg"},    {"nodejs", "node"},
		{"ash", "dash"},   {"unxz", "xz"},     {"bunzip2", "bzip2"},
	};

	for (size_t i = 0; i < array_size(names); i++)
		if (shell_name_is(names[i][0], name))
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
	other = other_name(slash ? slash + 1 : name);
	if (other)
		more = knowledge_find(other);
	if (rows && apply(arena, command, rows) < 0)
		return -ENOMEM;
	return more ? apply(arena, command, more) : 0;
}
