/*
 * Brace expansion, which bash does on the text of a word before anything else.
 *
 * A word becomes a row of atoms: one for each unquoted character, one for each quoted piece or
 * expansion, which bash steps over as a whole. On these the rules of bash apply: the first brace
 * that has a partner and a comma or .. between them is expanded, alternatives and what follows are
 * expanded the same way, and anything else stays as it is. Because the expansion is textual, a
 * result can join what was apart: $x{a,b} is $xa $xb.
 */
#include "shell/reader.h"

#include <stdio.h>
#include <string.h>

/* Steps for a word of so many atoms: unmatched braces are searched again and again. */
#define WORK_MAX(atoms) (16 * (atoms) + 4096)
#define DIGITS_MAX      18         /* of a number in a sequence */
#define RESULT_MAX      (1u << 18) /* atoms of all results together */

struct atom {
	const struct shell_part *part; /* NULL: a character */
	char c;
	uint32_t index; /* in the original word, from 1; 0: made by a sequence */
};

struct row {
	const struct atom *atoms;
	uint32_t n;
};

struct rows {
	struct row *rows;
	uint32_t n;
};

struct braces {
	struct shell_reader *r;
	uint32_t start;
	uint32_t work, work_max, atoms_made;
	bool changed;
};

static bool limit(struct braces *b, const char *message)
{
	return shell_fail(b->r, SHELL_LIMIT, b->start, b->r->pos, message);
}

static bool is_char(const struct row *t, uint32_t i, char c)
{
	return i < t->n && t->atoms[i].c == c;
}

/* Whether the word begins here for the one who looks for braces: also behind a blank that a
 * backslash quotes. */
static bool is_beginning(const struct row *t, uint32_t i)
{
	const struct shell_part *before = i > 0 ? t->atoms[i - 1].part : NULL;

	if (i == 0)
		return true;
	return before && before->kind == SHELL_PART_LITERAL &&
	       before->quote == SHELL_QUOTE_BACKSLASH && before->text.len > 0 &&
	       strchr(" \t\n", before->text.bytes[before->text.len - 1]);
}

/* Searches from i for the character at level 0; true: found at *i. */
static bool gobble(struct braces *b, const struct row *t, uint32_t *i, char satisfy)
{
	uint32_t level = 0, commas = satisfy != '}';

	for (; *i < t->n; (*i)++) {
		char c = t->atoms[*i].c;

		if (++b->work > b->work_max)
			return limit(b, "too many braces");
		if (c == satisfy && level == 0 && commas) {
			/* {} at the start is not an expansion. */
			if (c == '{' && is_char(t, *i + 1, '}') && is_beginning(t, *i))
				continue;
			return true;
		}
		if (c == '{')
			level++;
		else if (c == '}' && level)
			level--;
		else if (satisfy == '}' && level == 0 &&
		         (c == ',' ||
		          (c == '.' && is_char(t, *i + 1, '.') && !is_char(t, *i + 2, satisfy))))
			commas++;
	}
	return false;
}

static struct row slice(const struct row *t, uint32_t from, uint32_t to)
{
	return (struct row){t->atoms + from, to - from};
}

static bool one_row(struct braces *b, struct row row, struct rows *ret)
{
	ret->rows = shell_alloc(b->r, sizeof(*ret->rows));
	if (!ret->rows)
		return false;
	ret->rows[0] = row;
	ret->n = 1;
	return true;
}

/* Every row of x followed by every row of y, in bash's order. */
static bool concat(struct braces *b, const struct rows *x, const struct rows *y, struct rows *ret)
{
	uint32_t n = 0;

	if (x->n == 1 && x->rows[0].n == 0) {
		*ret = *y;
		return true;
	}
	if (y->n && x->n > SHELL_BRACE_MAX / y->n)
		return limit(b, "too many brace results");
	ret->n = x->n * y->n;
	ret->rows = shell_alloc(b->r, sizeof(*ret->rows) * (ret->n + 1));
	for (uint32_t i = 0; ret->rows && i < x->n; i++) {
		for (uint32_t j = 0; j < y->n; j++) {
			uint32_t nx = x->rows[i].n, ny = y->rows[j].n;
			struct atom *atoms;

			b->atoms_made += nx + ny;
			if (b->atoms_made > RESULT_MAX)
				return limit(b, "too much text from braces");
			atoms = shell_alloc(b->r, sizeof(*atoms) * (nx + ny + 1));
			if (!atoms)
				return false;
			if (nx)
				memcpy(atoms, x->rows[i].atoms, nx * sizeof(*atoms));
			if (ny)
				memcpy(atoms + nx, y->rows[j].atoms, ny * sizeof(*atoms));
			ret->rows[n++] = (struct row){atoms, nx + ny};
		}
	}
	return ret->rows != NULL;
}

static bool append(struct braces *b, struct rows *to, const struct rows *more)
{
	struct row *rows;

	if (to->n + more->n > SHELL_BRACE_MAX)
		return limit(b, "too many brace results");
	rows = shell_alloc(b->r, sizeof(*rows) * (to->n + more->n));
	if (!rows)
		return false;
	if (to->n)
		memcpy(rows, to->rows, to->n * sizeof(*rows));
	memcpy(rows + to->n, more->rows, more->n * sizeof(*rows));
	to->rows = rows;
	to->n += more->n;
	return true;
}

/* Sequences */

struct bound {
	long long value;
	bool letter;
	bool padded; /* has a leading zero */
	int width;   /* as written */
};

static bool read_bound(const char *s, size_t n, struct bound *ret)
{
	size_t i = 0;
	unsigned long long value = 0;

	*ret = (struct bound){0};
	if (n == 1 && ((s[0] >= 'a' && s[0] <= 'z') || (s[0] >= 'A' && s[0] <= 'Z'))) {
		ret->letter = true;
		ret->value = (unsigned char)s[0];
		return true;
	}
	if (n && (s[0] == '-' || s[0] == '+'))
		i++;
	if (i == n || n - i > DIGITS_MAX)
		return false;
	ret->width = (int)n;
	ret->padded = s[i] == '0' && n - i > 1 && s[0] != '+';
	for (; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		value = value * 10 + (unsigned)(s[i] - '0');
	}
	ret->value = s[0] == '-' ? -(long long)value : (long long)value;
	return true;
}

static bool sequence_row(struct braces *b, long long value, bool letter, int width,
                         struct rows *ret)
{
	char text[48];
	int n;
	struct atom *atoms;

	if (letter)
		n = snprintf(text, sizeof(text), "%c", (char)value);
	else
		n = snprintf(text, sizeof(text), "%0*lld", width, value);
	atoms = shell_alloc(b->r, sizeof(*atoms) * (size_t)n);
	if (!atoms)
		return false;
	for (int i = 0; i < n; i++)
		atoms[i].c = text[i];
	ret->rows[ret->n++] = (struct row){atoms, (uint32_t)n};
	return true;
}

/* Whether these could be numbers of a kind that is not read here: with more digits than a bound may
 * have, or behind white space that is no blank. */
static bool is_odd_sequence(const struct row *t)
{
	uint32_t digits = 0, most = 0;
	bool numbers = true, space = false, dots = false;

	for (uint32_t i = 0; i < t->n; i++) {
		char c = t->atoms[i].c;

		if (t->atoms[i].part)
			return false;
		digits = c >= '0' && c <= '9' ? digits + 1 : 0;
		most = digits > most ? digits : most;
		numbers = numbers && (digits || (c && strchr("+-.", c)));
		space = space || (c && strchr("\v\f\r", c));
		dots = dots || (c == '.' && is_char(t, i + 1, '.'));
	}
	return dots && (space || (numbers && most > DIGITS_MAX));
}

/* a..b or a..b..step; *ret_is says whether it is a sequence at all. */
static bool expand_sequence(struct braces *b, const struct row *t, bool *ret_is, struct rows *ret)
{
	struct bound from, to, step = {.value = 1};
	const char *dots, *second;
	long long value, distance, count;
	char text[80];

	*ret_is = false;
	if (is_odd_sequence(t))
		return shell_fail(b->r, SHELL_UNSUPPORTED, b->start, b->r->pos,
		                  "number in a brace sequence");
	if (t->n >= sizeof(text))
		return true;
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->atoms[i].part)
			return true;
		text[i] = t->atoms[i].c;
	}
	text[t->n] = '\0';
	dots = strstr(text, "..");
	if (!dots || !read_bound(text, (size_t)(dots - text), &from))
		return true;
	second = strstr(dots + 2, "..");
	if (!read_bound(dots + 2, second ? (size_t)(second - dots - 2) : strlen(dots + 2), &to))
		return true;
	if (second && (!read_bound(second + 2, strlen(second + 2), &step) || step.letter))
		return true;
	if (from.letter != to.letter)
		return true;
	*ret_is = true;
	if (step.value < 0)
		step.value = -step.value;
	if (step.value == 0)
		step.value = 1;
	distance = from.value < to.value ? to.value - from.value : from.value - to.value;
	count = distance / step.value + 1;
	if (count > SHELL_BRACE_MAX)
		return limit(b, "too many brace results");
	/* Between Z and a there are a backslash and a backtick, which bash then reads. */
	if (from.letter && (from.value < 'a') != (to.value < 'a'))
		return shell_fail(b->r, SHELL_UNSUPPORTED, b->start, b->r->pos,
		                  "sequence from capital to small letters");
	ret->n = 0;
	ret->rows = shell_alloc(b->r, sizeof(*ret->rows) * (size_t)count);
	value = from.value;
	for (long long i = 0; ret->rows && i < count; i++) {
		/* One leading zero pads them all, to the longer of both as they are written. */
		int width = !from.padded && !to.padded ? 0
		            : from.width > to.width    ? from.width
		                                       : to.width;

		if (!sequence_row(b, value, from.letter, width, ret))
			return false;
		value += from.value < to.value ? step.value : -step.value;
	}
	return ret->rows != NULL;
}

static bool expand(struct braces *b, struct row t, struct rows *ret);

static bool expand_alternatives(struct braces *b, const struct row *t, struct rows *ret)
{
	uint32_t start = 0, i = 0;

	ret->n = 0;
	ret->rows = NULL;
	for (;;) {
		bool more = gobble(b, t, &i, ',');
		struct rows one;

		if (!shell_ok(b->r) || !expand(b, slice(t, start, i), &one) ||
		    !append(b, ret, &one))
			return false;
		if (!more)
			return true;
		start = ++i;
	}
}

/* The first { that begins an expansion, and its }. */
static bool find_braces(struct braces *b, const struct row *t, uint32_t *open, uint32_t *close)
{
	for (*open = 0; gobble(b, t, open, '{'); (*open)++) {
		*close = *open + 1;
		if (gobble(b, t, close, '}'))
			return true;
	}
	return false;
}

static bool has_comma(struct braces *b, const struct row *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->atoms[i].c == ',')
			return true;
	return false;
}

/* Whether there is a comma in the text of a part, as far as bash looks at it. */
static bool may_have_comma(const struct shell_reader *r, const struct shell_part *part)
{
	if (part->kind == SHELL_PART_LITERAL)
		return part->quote != SHELL_QUOTE_BACKSLASH &&
		       memchr(part->text.bytes, ',', part->text.len);
	if (part->kind == SHELL_PART_PARAM && part->param->bare)
		return false;
	return r->derived ||
	       memchr(r->s + part->range.start, ',', part->range.end - part->range.start);
}

static bool expand(struct braces *b, struct row t, struct rows *ret)
{
	struct rows middle, rest, front, joined;
	struct row inner = {0};
	uint32_t open, close;
	bool is = true;

	if (!find_braces(b, &t, &open, &close))
		return shell_ok(b->r) && one_row(b, t, ret);
	if (!shell_enter(b->r))
		return false;
	inner = slice(&t, open + 1, close);
	if (has_comma(b, &inner)) {
		if (!expand_alternatives(b, &inner, &middle))
			return false;
	} else {
		/* bash sees a comma in quotes here and drops the braces. */
		for (uint32_t i = 0; i < inner.n; i++)
			if (inner.atoms[i].part && may_have_comma(b->r, inner.atoms[i].part))
				return shell_fail(b->r, SHELL_UNSUPPORTED, b->start, b->r->pos,
				                  "quoting or expansion in {..}");
		if (!expand_sequence(b, &inner, &is, &middle))
			return false;
	}
	if (is)
		b->changed = true;
	else if (!one_row(b, slice(&t, open, close + 1), &middle))
		return false;
	if (!one_row(b, slice(&t, 0, open), &front) || !concat(b, &front, &middle, &joined) ||
	    !expand(b, slice(&t, close + 1, t.n), &rest) || !concat(b, &joined, &rest, ret))
		return false;
	shell_leave(b->r);
	return true;
}

/*
 * What the results will be as text. They share what stands in them, so that they are small here,
 * but whoever walks through them meets a substitution in each: {1..1000}$(echo {1..1000}$( ...
 * would be without end.
 */
static uint64_t bytes_of(const struct rows *rows, const struct shell_word *word)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < rows->n; i++)
		for (uint32_t k = 0; k < rows->rows[i].n; k++) {
			const struct shell_part *part = rows->rows[i].atoms[k].part;

			if (!part)
				bytes++;
			else if (part->kind == SHELL_PART_LITERAL)
				bytes += part->text.len;
			else
				bytes += part->range.end - part->range.start + word->copied;
		}
	return bytes;
}

/* bash looks for braces with simpler rules than those that found the parts; where the two could
 * differ it is not guessed. */
static bool is_opaque(struct shell_reader *r, const struct shell_part *part)
{
	uint32_t quotes = 0, braces = 0;

	if (part->kind == SHELL_PART_LITERAL || part->kind == SHELL_PART_COMMAND ||
	    part->kind == SHELL_PART_PROCESS_IN || part->kind == SHELL_PART_PROCESS_OUT)
		return true;
	if (part->kind == SHELL_PART_PARAM && part->param->bare)
		return true;
	if (r->derived || (part->kind == SHELL_PART_ARITH && part->bracket))
		return false;
	for (uint32_t p = part->range.start; p < part->range.end; p++) {
		quotes += r->s[p] == '"' || r->s[p] == '\'';
		braces += r->s[p] == '{' || r->s[p] == '}';
	}
	if (part->kind == SHELL_PART_DOUBLE)
		return quotes <= 2;
	if (part->kind == SHELL_PART_PARAM)
		return quotes == 0 && braces == 2;
	return quotes == 0 && braces == 0;
}

static bool make_atoms(struct braces *b, const struct shell_word *word, struct row *ret)
{
	struct atom *atoms;
	uint32_t n = 0;

	for (const struct shell_part *p = word->parts; p; p = p->next) {
		bool text = p->kind == SHELL_PART_LITERAL && p->quote == SHELL_QUOTE_NONE;

		if (!is_opaque(b->r, p))
			return shell_fail(b->r, SHELL_UNSUPPORTED, b->start, b->r->pos,
			                  "braces around nested quotes");
		n += text ? (uint32_t)p->text.len : 1;
	}
	atoms = shell_alloc(b->r, sizeof(*atoms) * n);
	if (!atoms)
		return false;
	ret->atoms = atoms;
	ret->n = n;
	n = 0;
	for (const struct shell_part *p = word->parts; p; p = p->next) {
		if (p->kind != SHELL_PART_LITERAL || p->quote != SHELL_QUOTE_NONE) {
			atoms[n] = (struct atom){.part = p, .index = n + 1};
			n++;
			continue;
		}
		for (size_t i = 0; i < p->text.len; i++, n++)
			atoms[n] = (struct atom){.c = p->text.bytes[i], .index = n + 1};
	}
	return true;
}

/* $x and what follows it now: the name goes on. Returns how many atoms it took. */
static uint32_t join_name(struct braces *b, struct shell_part *part, const struct row *row,
                          uint32_t i)
{
	struct shell_param *param;
	uint32_t n = 0;
	char *name;

	if (part->kind != SHELL_PART_PARAM || !part->param->bare ||
	    !shell_is_name_start(part->param->name.bytes[0]))
		return 0;
	while (i + n < row->n && !row->atoms[i + n].part &&
	       shell_is(row->atoms[i + n].c, CLASS_NAME))
		n++;
	if (!n)
		return 0;
	param = shell_alloc(b->r, sizeof(*param));
	name = shell_alloc(b->r, part->param->name.len + n + 1);
	if (!param || !name)
		return 0;
	*param = *part->param;
	memcpy(name, param->name.bytes, param->name.len);
	for (uint32_t k = 0; k < n; k++)
		name[param->name.len + k] = row->atoms[i + k].c;
	param->name = (struct shell_text){name, param->name.len + n};
	part->param = param;
	return n;
}

static bool make_parts(struct braces *b, const struct row *row, struct shell_word *word)
{
	struct shell_reader *r = b->r;
	struct part_list parts;

	shell_parts_init(&parts);
	for (uint32_t i = 0; i < row->n && shell_ok(r); i++) {
		const struct atom *a = &row->atoms[i];

		if (a->part) {
			struct shell_part *part;

			shell_literal_flush(r, &parts);
			part = shell_part_add(r, &parts, a->part->kind, b->start);
			if (!part)
				return false;
			*part = *a->part;
			part->next = NULL;
			i += join_name(b, part, row, i + 1);
			continue;
		}
		if (a->c == '$' && i + 1 < row->n && row->atoms[i + 1].index != a->index + 1)
			return shell_fail(r, SHELL_UNSUPPORTED, b->start, r->pos,
			                  "$ joined to a brace result");
		if (r->scratch_len + 1 >= r->size && r->scratch_open)
			shell_literal_flush(r, &parts);
		shell_literal_put(r, &parts, SHELL_QUOTE_NONE, b->start, &a->c, 1);
	}
	shell_literal_flush(r, &parts);
	for (struct shell_part *p = parts.first; p; p = p->next)
		if (p->kind == SHELL_PART_LITERAL && p->quote == SHELL_QUOTE_NONE)
			p->range = word->range;
	word->parts = parts.first;
	return shell_ok(r);
}

bool shell_expand_braces(struct shell_reader *r, struct shell_word *word, enum word_mode mode,
                         struct shell_word **ret_first, struct shell_word **ret_last)
{
	struct braces b = {.r = r, .start = word->range.start};
	struct shell_word **tail = ret_first;
	struct rows rows;
	struct row row = {0};

	*ret_first = *ret_last = NULL;
	if (shell_word_has_brace(word)) {
		if (!make_atoms(&b, word, &row))
			return false;
		b.work_max = WORK_MAX(row.n);
		if (!expand(&b, row, &rows))
			return false;
	}
	if (!b.changed) {
		shell_word_finish(r, word, mode);
		*ret_first = *ret_last = word;
		return shell_ok(r);
	}
	r->tree->braces = true;
	if (!shell_count_copies(r, bytes_of(&rows, word), true))
		return false;
	for (uint32_t i = 0; i < rows.n; i++) {
		struct shell_word *result;

		if (!rows.rows[i].n) /* an empty unquoted word is none */
			continue;
		result = shell_alloc(r, sizeof(*result));
		if (!result || !shell_count_word(r))
			return false;
		result->range = word->range;
		result->split = word->split;
		result->copied = word->copied;
		result->from_braces = true;
		if (!make_parts(&b, &rows.rows[i], result))
			return false;
		shell_word_finish(r, result, mode);
		*tail = result;
		tail = &result->next;
		*ret_last = result;
	}
	return shell_ok(r);
}
