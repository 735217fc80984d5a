/*
 * Reading the words of a command for its effects: clusters, glued values, beginnings of long
 * options.
 *
 * The table lists options that matter, not all there are. So a cluster with letters that are not
 * listed (-uo) can be read in more than one way, and what is found behind such a letter is marked
 * as possible.
 */
#include "shell/effects.h"
#include "base/name.h"

static void record(struct reading *r, const struct knowledge_item *item, bool maybe,
                   const struct shell_fact_word *value)
{
	struct found *f;

	if (r->found_count == FOUND_MAX) {
		r->cut = true;
		return;
	}
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

void effects_reach(struct reading *r, const struct knowledge_index *list, size_t count,
                   unsigned key)
{
	const struct knowledge_index *end = list + count;

	for (list = index_from(list, count, key); list < end && list->key == key; list++)
		hit(r, list->row);
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
	bool whole = false;

	/* Where the name is an option, it is not taken for the beginning of a longer one. */
	for (const struct knowledge_index *i = index_from(c->index, c->option_count, key);
	     i < end && i->key == key; i++)
		whole |= strlen(c->rows->items[i->item].name) == n &&
		         memcmp(c->rows->items[i->item].name, name, n) == 0;
	for (const struct knowledge_index *i = index_from(c->index, c->option_count, key);
	     i < end && i->key == key; i++) {
		const struct knowledge_item *item = &c->rows->items[i->item];
		bool part;

		if (strncmp(item->name, name, n) != 0)
			continue;
		/* A beginning of a long option may mean another one that is not listed. */
		part = item->name[n] != '\0';
		if (item->name[n] == '=') { /* only with a value: -latex=CMD */
			if (!glued)
				continue;
			part = false;
		}
		if (part && (whole || n < 3 || item->name[1] != '-'))
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
	const struct shell_fact_word whole = c->words[at], one = tail(&whole, 1);
	/* latexmk drops one of two dashes */
	const struct shell_fact_word *w =
		r->known->exact && whole.text.len > 2 && whole.text.bytes[1] == '-' ? &one : &whole;
	const char *equals = memchr(w->text.bytes, '=', w->text.len);
	size_t n = equals ? (size_t)(equals - w->text.bytes) : w->text.len;
	struct shell_fact_word glued = tail(w, equals ? n + 1 : w->text.len);
	const struct shell_fact_word *next = at + 1 < c->word_count ? &c->words[at + 1] : NULL;
	struct options o;

	r->equals |= equals != NULL && w->text.bytes[1] != '-';
	o = record_all(r, w->text.bytes, n, !known(w) && !equals, equals ? &glued : NULL, next);
	if (!o.count && !r->known->exact && w->text.bytes[1] != '-' && n > 2) {
		/* -oFILE where clusters are not known */
		struct shell_fact_word rest = tail(w, 2);

		record_all(r, w->text.bytes, 2, true, &rest, NULL);
	}
	return o.takes_next ? 1 : 0;
}

bool effects_is_option(const struct shell_fact_word *w)
{
	return w->text.len > 1 &&
	       (w->text.bytes[0] == '-' || (w->text.bytes[0] == '+' && w->text.bytes[1] == 'O'));
}

void effects_read_words(struct reading *r)
{
	const struct shell_fact_command *c = r->command;
	bool old = name_is(r->known->name, "tar") || name_is(r->known->name, "ar");
	bool ended = false;

	for (size_t i = 1; i < c->word_count; i++) {
		const struct shell_fact_word *w = &c->words[i];

		if (w->kind == SHELL_VALUE_MANY)
			r->many = true;
		if (known(w) && text_is(w->text, "--") && !ended)
			ended = !r->known->single_dash; /* find -- . -delete */
		else if (!ended && effects_is_option(w))
			i += r->known->single_dash || w->text.bytes[1] == '-'
			             ? read_long(r, i)
			             : read_cluster(r, i, 1, false);
		else if (i == 1 && old && known(w))
			i += read_cluster(r, i, 0, true);
		else if (r->operand_count < OPERAND_MAX)
			r->operands[r->operand_count++] = w;
		else
			r->cut = true;
	}
}
