/*
 * What is known of a word. The known beginning ends where the first part stands that is not known;
 * how many words it can become is the worst that any part allows.
 */
#include "shell/word.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"

struct build {
	char *text, *pattern;
	size_t text_len, pattern_len;
	bool unknown; /* the beginning has ended */
	bool one, many, glob;
	bool bracket; /* a [ has begun a set: ] means more than itself */
	bool split;
};

/* An upper bound of the bytes of the value and of its pattern. */
static size_t parts_size(const struct shell_part *part)
{
	size_t n = 0;

	for (; part; part = part->next) {
		switch (part->kind) {
		case SHELL_PART_LITERAL:
		case SHELL_PART_GLOB:
		case SHELL_PART_TILDE:
			n += part->text.len;
			break;
		case SHELL_PART_DOUBLE:
			n += parts_size(part->parts);
			break;
		case SHELL_PART_EXTGLOB:
		case SHELL_PART_PARAM:
		case SHELL_PART_COMMAND:
		case SHELL_PART_ARITH:
		case SHELL_PART_PROCESS_IN:
		case SHELL_PART_PROCESS_OUT:
		case SHELL_PART_ARRAY:
		default:
			break;
		}
	}
	return n;
}

static void add_literal(struct build *b, const struct shell_part *part)
{
	for (size_t i = 0; i < part->text.len; i++) {
		char c = part->text.bytes[i];

		if (!b->unknown)
			b->text[b->text_len++] = c;
		if (part->kind == SHELL_PART_GLOB && c == '[')
			b->bracket = true;
		else if (part->kind == SHELL_PART_LITERAL && strchr("*?[]\\", c) &&
		         (part->quote != SHELL_QUOTE_NONE || c == '[') && (c != ']' || b->bracket))
			b->pattern[b->pattern_len++] = '\\';
		b->pattern[b->pattern_len++] = c;
	}
}

/* "$@" and its kin are any number of words, quoted or not. */
static bool is_list(const struct shell_param *p)
{
	if (p->op == SHELL_PARAM_LENGTH)
		return false;
	if (p->op == SHELL_PARAM_NAMES)
		return p->letter == '@';
	/* The operand of a default can have a "$@" of its own. */
	if (p->word && p->op >= SHELL_PARAM_DEFAULT && p->op <= SHELL_PARAM_ALTERNATE)
		for (const struct shell_part *part = p->word->parts; part; part = part->next)
			if (part->kind == SHELL_PART_PARAM && is_list(part->param))
				return true;
	return p->subscript == SHELL_SUBSCRIPT_AT || p->indirect ||
	       (p->name.len == 1 && p->name.bytes[0] == '@');
}

/* Whether what stands in an extended glob can become more words than one. */
static bool extglob_splits(const struct shell_extglob *glob);

static bool parts_split(const struct shell_part *part, bool quoted)
{
	for (; part; part = part->next) {
		if (part->kind == SHELL_PART_PARAM && (!quoted || is_list(part->param)))
			return true;
		if (part->kind == SHELL_PART_COMMAND && !quoted)
			return true;
		if (part->kind == SHELL_PART_DOUBLE && parts_split(part->parts, true))
			return true;
		if (part->kind == SHELL_PART_EXTGLOB && extglob_splits(part->extglob))
			return true;
	}
	return false;
}

static bool extglob_splits(const struct shell_extglob *glob)
{
	for (const struct shell_word *w = glob->alternatives; w; w = w->next)
		if (parts_split(w->parts, false))
			return true;
	return false;
}

static void add_parts(struct build *b, const struct shell_part *part, bool quoted)
{
	for (; part; part = part->next) {
		switch (part->kind) {
		case SHELL_PART_LITERAL:
			add_literal(b, part);
			continue;
		case SHELL_PART_GLOB:
			b->unknown = b->glob = true;
			add_literal(b, part);
			continue;
		case SHELL_PART_DOUBLE:
			add_parts(b, part->parts, true);
			continue;
		case SHELL_PART_PARAM:
			b->many = b->many || (b->split && (!quoted || is_list(part->param)));
			break;
		case SHELL_PART_COMMAND:
			b->many = b->many || (b->split && !quoted);
			break;
		case SHELL_PART_EXTGLOB:
			b->glob = b->glob || b->split;
			b->many = b->many || (b->split && extglob_splits(part->extglob));
			break;
		case SHELL_PART_TILDE:
		case SHELL_PART_ARITH:
		case SHELL_PART_PROCESS_IN:
		case SHELL_PART_PROCESS_OUT:
		case SHELL_PART_ARRAY:
		default:
			break;
		}
		b->unknown = b->one = true;
	}
}

int shell_word_value(struct arena *arena, const struct shell_word *word, struct shell_value *ret)
{
	struct build b = {.split = word && word->split};
	size_t n = word ? parts_size(word->parts) : 0;

	b.text = arena_alloc(arena, n + 1);
	b.pattern = arena_alloc(arena, 2 * n + 1);
	if (!b.text || !b.pattern)
		return -ENOMEM;
	if (word)
		add_parts(&b, word->parts, false);
	*ret = (struct shell_value){
		.kind = b.many            ? SHELL_VALUE_MANY
	                : b.glob && b.one ? SHELL_VALUE_MANY
	                : b.glob          ? SHELL_VALUE_GLOB
	                : b.one           ? SHELL_VALUE_ONE
	                                  : SHELL_VALUE_KNOWN,
		.text = {b.text, b.text_len},
	};
	/* With nullglob the first of the words that it is split into can be gone. */
	if (b.many && b.glob)
		ret->text = (struct shell_text){"", 0};
	/* bash drops slashes of what it finds for such a pattern, so that it does not match it. */
	if (ret->kind == SHELL_VALUE_GLOB && memmem(b.pattern, b.pattern_len, "//", 2))
		ret->kind = SHELL_VALUE_MANY;
	if (ret->kind == SHELL_VALUE_GLOB)
		ret->pattern = (struct shell_text){b.pattern, b.pattern_len};
	else
		ret->pattern = (struct shell_text){"", 0};
	return 0;
}

bool shell_word_is(const struct shell_word *word, const char *text)
{
	if (!word)
		return false;
	for (const struct shell_part *p = word->parts; p; p = p->next) {
		if (p->kind != SHELL_PART_LITERAL || strncmp(p->text.bytes, text, p->text.len) != 0)
			return false;
		text += p->text.len;
	}
	return !*text;
}
