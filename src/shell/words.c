/*
 * Unquoted text: words and operands.
 *
 * First the parts are collected with every unquoted character as text, because brace expansion
 * works on that; then shell_word_finish() finds the tildes and globs that are left.
 */
#include "shell/reader.h"

static bool is_operand(enum word_mode mode)
{
	return mode >= WORD_OPERAND;
}

static bool read_process(struct shell_reader *r, struct part_list *list)
{
	uint32_t start = r->pos;
	bool in = r->s[start] == '<';
	struct shell_list *commands;
	struct shell_part *part;

	shell_literal_flush(r, list);
	r->pos = shell_after(r, start);
	commands = shell_read_process(r);
	if (!commands)
		return false;
	part = shell_part_add(r, list, in ? SHELL_PART_PROCESS_IN : SHELL_PART_PROCESS_OUT, start);
	if (part)
		part->list = commands;
	return part != NULL;
}

static bool extglob_has_brace(const struct shell_extglob *glob)
{
	for (const struct shell_word *w = glob->alternatives; w; w = w->next) {
		if (shell_word_has_brace(w))
			return true;
		for (const struct shell_part *p = w->parts; p; p = p->next)
			if (p->kind == SHELL_PART_EXTGLOB && extglob_has_brace(p->extglob))
				return true;
	}
	return false;
}

/* At the letter of an extended glob. */
static bool read_extglob(struct shell_reader *r, struct part_list *list, enum word_mode mode)
{
	struct shell_extglob *glob = shell_alloc(r, sizeof(*glob));
	struct shell_word **tail;
	struct shell_part *part;
	uint32_t start = r->pos;

	shell_literal_flush(r, list);
	if (!glob || !shell_enter(r))
		return false;
	glob->letter = r->s[start];
	tail = &glob->alternatives;
	r->pos = shell_after(r, start);
	do {
		struct shell_word *word;

		r->pos++;
		word = shell_read_operand(r, WORD_ALTERNATIVE, "|)", false);
		if (!word)
			return false;
		*tail = word;
		tail = &word->next;
	} while (shell_peek(r) == '|');
	if (!shell_take(r, ")"))
		return shell_fail(r, SHELL_ERROR, start, r->end, "unmatched (");
	shell_leave(r);
	/* bash looks for braces in an argument first, also inside the parentheses. */
	if (mode == WORD_ARGUMENT && extglob_has_brace(glob))
		return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
		                  "braces in an extended pattern");
	part = shell_part_add(r, list, SHELL_PART_EXTGLOB, start);
	if (part)
		part->extglob = glob;
	return part != NULL;
}

/* A character that ends words where they stand alone; false: it ends this one. */
static bool read_meta(struct shell_reader *r, struct part_list *list, enum word_mode mode,
                      uint32_t *parens)
{
	char c = r->s[r->pos];
	uint32_t start = r->pos;

	if ((c == '<' || c == '>') && shell_peek2(r) == '(' && mode != WORD_ALTERNATIVE) {
		/* Behind another one bash does not see it when it looks for the closing brace. */
		if (is_operand(mode) && start > 0 && strchr("<>", r->s[start - 1]))
			return shell_fail(r, SHELL_UNSUPPORTED, start - 1, start + 2,
			                  "<<( in an expansion");
		return read_process(r, list);
	}
	if (mode == WORD_REGEX && (c == '(' || *parens || c == '|')) {
		*parens += c == '(';
		*parens -= c == ')';
	} else if (mode == WORD_ALTERNATIVE && c == '(') {
		return shell_fail(r, SHELL_UNSUPPORTED, start, start + 1,
		                  "parenthesis in an extended glob");
	} else if (!is_operand(mode)) {
		return false;
	}
	r->pos++;
	shell_literal_put(r, list, SHELL_QUOTE_NONE, start, &c, 1);
	return true;
}

/* A backslash outside quotes; continuations are gone already. */
static bool read_backslash(struct shell_reader *r, struct part_list *list)
{
	uint32_t start = r->pos;

	/* At the very end it stays, but not always behind a newline. */
	if (start + 1 >= r->end) {
		if (memchr(r->s, '\n', r->end))
			return shell_fail(r, SHELL_UNSUPPORTED, start, r->end,
			                  "backslash at the end");
		r->pos++;
		shell_literal_put(r, list, SHELL_QUOTE_BACKSLASH, start, "\\", 1);
		return true;
	}
	/* bash does not see it when it looks for the end of the substitution. */
	if (r->in_array && r->reprinted && strchr(" \t'\"`()|&;<>$", r->s[start + 1])) {
		return shell_fail(r, SHELL_UNSUPPORTED, start, start + 2,
		                  "backslash in an array in a substitution");
	}
	/* bash takes it for an operator when it prints, and leaves out the semicolon. */
	if (r->reprinted && r->s[start + 1] == '&' &&
	    (start + 2 >= r->end || shell_is(r->s[start + 2], CLASS_META)))
		return shell_fail(r, SHELL_UNSUPPORTED, start, start + 2,
		                  "\\& at the end of a word in a substitution");
	r->pos += 2;
	/* It quotes the whole character. */
	while (r->pos < r->end && ((unsigned char)r->s[r->pos] & 0xc0) == 0x80)
		r->pos++;
	shell_literal_put(r, list, SHELL_QUOTE_BACKSLASH, start, r->s + start + 1,
	                  r->pos - start - 1);
	return true;
}

static bool extglob_here(struct shell_reader *r, enum word_mode mode, char c)
{
	bool on = mode == WORD_EXTENDED || mode == WORD_ALTERNATIVE ||
	          ((mode == WORD_ARGUMENT || mode == WORD_PATTERN) && r->pos < r->extglob_until);

	return on && c && strchr("?*+@!", c) && shell_peek2(r) == '(';
}

/* At a $: bash looks for the end of $@(x) as if the glob @(x) stood there, and then expands $@. */
static bool is_glob_in_expansion(struct shell_reader *r, enum word_mode mode)
{
	char next = shell_peek2(r);
	uint32_t name = shell_after(r, r->pos);

	return mode == WORD_EXTENDED && next && strchr("?*@!", next) &&
	       shell_at(r, shell_after(r, name)) == '(';
}

static bool read_unquoted_expansion(struct shell_reader *r, struct part_list *list,
                                    enum word_mode mode)
{
	if (r->s[r->pos] == '$' && is_glob_in_expansion(r, mode))
		return shell_fail(r, SHELL_UNSUPPORTED, r->pos, r->pos + 1,
		                  "expansion in front of a parenthesis");
	return shell_read_expansion(r, list, false, SHELL_QUOTE_NONE);
}

static bool read_parts(struct shell_reader *r, struct part_list *list, enum word_mode mode,
                       const char *stops)
{
	uint32_t parens = 0, from;
	bool ok = true;
	char c;

	while (ok && (c = shell_peek(r))) {
		if (stops && strchr(stops, c))
			break;
		if (extglob_here(r, mode, c)) {
			ok = read_extglob(r, list, mode);
		} else if (shell_is(c, CLASS_META)) {
			uint32_t before = r->pos;

			ok = read_meta(r, list, mode, &parens);
			if (!ok && shell_ok(r) && r->pos == before)
				break;
		} else if (c == '\\') {
			ok = read_backslash(r, list);
		} else if (c == '\'') {
			ok = shell_read_single(r, list);
		} else if (c == '"') {
			ok = shell_read_double(r, list);
		} else if (c == '$' || c == '`') {
			ok = read_unquoted_expansion(r, list, mode);
		} else {
			/* A run of characters that mean nothing here. */
			from = r->pos++;
			if (mode != WORD_EXTENDED && from >= r->extglob_until)
				while (r->pos < r->end &&
				       !shell_is(r->s[r->pos], CLASS_META | CLASS_SPECIAL) &&
				       !(stops && strchr(stops, r->s[r->pos])) &&
				       mode != WORD_ALTERNATIVE)
					r->pos++;
			shell_literal_put(r, list, SHELL_QUOTE_NONE, from, r->s + from,
			                  r->pos - from);
		}
	}
	if (parens)
		shell_fail(r, SHELL_ERROR, r->pos, r->end, "unmatched (");
	shell_literal_flush(r, list);
	return shell_ok(r);
}

bool shell_count_word(struct shell_reader *r)
{
	if (++r->tree->word_count > SHELL_WORD_MAX)
		return shell_fail(r, SHELL_LIMIT, r->pos, r->pos, "too many words");
	return true;
}

bool shell_count_copies(struct shell_reader *r, uint64_t bytes, bool new)
{
	struct shell_tree *t = r->tree;

	if (bytes > SHELL_COPIED_MAX || t->copied_inside + bytes > UINT32_MAX / 2 ||
	    (new && t->copied + bytes > SHELL_COPIED_MAX))
		return shell_fail(r, SHELL_LIMIT, r->pos, r->pos, "too much text from braces");
	t->copied_inside += (uint32_t)bytes;
	if (new)
		t->copied += (uint32_t)bytes;
	return true;
}

/* The word at pos; empty if none stands there. Its braces are not expanded. */
struct shell_word *shell_read_word(struct shell_reader *r, enum word_mode mode)
{
	struct shell_word *word = shell_alloc(r, sizeof(*word));
	struct part_list parts;
	uint32_t start, copied = r->tree->copied_inside;

	if (!word || !shell_count_word(r))
		return NULL;
	shell_peek(r);
	start = r->pos;
	shell_parts_init(&parts);
	if (!read_parts(r, &parts, mode, NULL))
		return NULL;
	word->range = shell_span(r, start, r->pos);
	word->copied = r->tree->copied_inside - copied;
	word->parts = parts.first;
	word->split = mode == WORD_ARGUMENT || mode == WORD_TARGET || mode == WORD_ELEMENT;
	if (word->split)
		return word; /* finished behind brace expansion */
	shell_word_finish(r, word, mode);
	return shell_ok(r) ? word : NULL;
}

struct shell_word *shell_read_operand(struct shell_reader *r, enum word_mode mode,
                                      const char *stops, bool first_is_text)
{
	struct shell_word *word = shell_alloc(r, sizeof(*word));
	struct part_list parts;
	uint32_t start = r->pos;
	bool in_default = r->in_default, in_pattern = r->in_pattern;

	if (!word || !shell_count_word(r))
		return NULL;
	shell_parts_init(&parts);
	if (first_is_text) {
		shell_literal_put(r, &parts, SHELL_QUOTE_NONE, start, r->s + start, 1);
		r->pos++;
	}
	r->in_default = mode == WORD_OPERAND;
	r->in_pattern = in_pattern || mode != WORD_OPERAND;
	if (!read_parts(r, &parts, mode, stops))
		return NULL;
	r->in_default = in_default;
	r->in_pattern = in_pattern;
	word->range = shell_span(r, start, r->pos);
	word->parts = parts.first;
	word->split = mode == WORD_OPERAND;
	shell_word_finish(r, word, mode);
	return shell_ok(r) ? word : NULL;
}

/* Finishing */

static bool has_globs(enum word_mode mode)
{
	switch (mode) {
	case WORD_ARGUMENT:
	case WORD_ELEMENT:
	case WORD_TARGET:
	case WORD_PATTERN:
	case WORD_EXTENDED:
	case WORD_OPERAND:
	case WORD_OPERAND_PATTERN:
	case WORD_ALTERNATIVE:
		return true;
	case WORD_VALUE:
	case WORD_STRING:
	case WORD_SUBJECT:
	case WORD_REGEX:
	case WORD_OPERAND_REPLACE:
	default:
		return false;
	}
}

static bool is_unquoted(const struct shell_part *part)
{
	return part->kind == SHELL_PART_LITERAL && part->quote == SHELL_QUOTE_NONE;
}

/* Cuts a literal in two; the second half, from the offset on, is returned. */
static struct shell_part *split(struct shell_reader *r, struct shell_part *part, size_t offset)
{
	struct shell_part *rest = shell_alloc(r, sizeof(*rest));

	if (!rest)
		return NULL;
	*rest = *part;
	/* The second half shares its memory, so that many cuts cost no more than the text is long.
	 */
	rest->text = (struct shell_text){part->text.bytes + offset, part->text.len - offset};
	part->text = shell_copy(r, part->text.bytes, offset);
	part->next = rest;
	/* Where the literal was written without escapes, its halves can be told apart. */
	if (!r->derived && part->range.end - part->range.start == offset + rest->text.len) {
		part->range.end = part->range.start + (uint32_t)offset;
		rest->range.start = part->range.end;
	}
	return rest;
}

/* Turns LEN characters at OFFSET into a part of their own; returns it. */
static struct shell_part *carve(struct shell_reader *r, struct shell_part *part, size_t offset,
                                size_t len, enum shell_part_kind kind)
{
	if (offset)
		part = split(r, part, offset);
	if (!part)
		return NULL;
	if (part->text.len > len && !split(r, part, len))
		return NULL;
	part->kind = kind;
	return part;
}

/* How long the tilde prefix at OFFSET is; 0: bash does not expand it, as there is no such user. */
static size_t tilde_len(const struct shell_part *part, size_t offset)
{
	size_t n = 0;

	while (offset + n < part->text.len) {
		char c = part->text.bytes[offset + n];

		if (c == '/' || c == ':')
			return n;
		if (n && !shell_is(c, CLASS_NAME) && !strchr(".+-", c))
			return 0;
		n++;
	}
	/* Quoting inside the prefix makes it text; an expansion behind it is left to bash. */
	if (part->next && part->next->kind == SHELL_PART_LITERAL)
		return 0;
	if (part->next && part->next->kind == SHELL_PART_DOUBLE)
		return 0;
	return n;
}

/* The part and the offset behind name=, name+= or name[...]=; NULL: the word has not that form. */
static struct shell_part *assignment_value(struct shell_part *part, size_t *ret_offset)
{
	const char *s = part->text.bytes;
	size_t i = 0, open = 0;

	if (!shell_is_name_start(s[0]))
		return NULL;
	while (shell_is(s[i], CLASS_NAME))
		i++;
	/* Quotes and expansions in the subscript are stepped over. */
	while (part && (s[i] == '[' || open)) {
		for (; is_unquoted(part) && i < part->text.len; i++) {
			open += s[i] == '[';
			if (s[i] == ']' && --open == 0)
				break;
		}
		if (!open) {
			i++;
			break;
		}
		part = part->next;
		s = part && is_unquoted(part) ? part->text.bytes : "";
		i = 0;
	}
	if (!part)
		return NULL;
	i += s[i] == '+';
	*ret_offset = i + 1;
	return s[i] == '=' ? part : NULL;
}

/* Outside assignments bash takes what follows ~: up to a slash by its letters, quotes and
 * expansions too; with plain characters that makes no difference. */
static bool is_plain_behind_tilde(const struct shell_part *part)
{
	if (!is_unquoted(part) || part->text.bytes[0] != ':')
		return true;
	for (size_t i = 0; i < part->text.len; i++)
		if (!shell_is(part->text.bytes[i], CLASS_BARE))
			return false;
	return !part->next;
}

/* A tilde in an assignment. bash takes an expansion right behind it by its letters, sometimes. */
static struct shell_part *inner_tilde(struct shell_reader *r, const struct shell_word *word,
                                      struct shell_part *part, size_t offset, size_t n)
{
	if (offset + n == part->text.len && part->next)
		shell_fail(r, SHELL_UNSUPPORTED, word->range.start, word->range.end,
		           "expansion behind a tilde");
	return carve(r, part, offset, n, SHELL_PART_TILDE);
}

/* Behind a tilde bash takes a = for the end of the user's name, sometimes. */
static bool is_doubtful_tilde(const struct shell_part *part, size_t offset)
{
	const char *tilde = part->text.bytes + offset;

	return offset < part->text.len && *tilde == '~' && tilde[strcspn(tilde, "/:=")] == '=';
}

static void find_tildes(struct shell_reader *r, struct shell_word *word, enum word_mode mode)
{
	struct shell_part *part = word->parts;
	bool colons = mode == WORD_VALUE || mode == WORD_STRING;
	size_t from = 0, n;

	if (!part)
		return;
	if (is_unquoted(part) && part->text.bytes[0] == '~' &&
	    part->text.bytes[strcspn(part->text.bytes, "/=")] == '=')
		shell_fail(r, SHELL_UNSUPPORTED, word->range.start, word->range.end,
		           "= behind a tilde");
	if (!is_unquoted(part)) {
		/* Only what stands behind a colon can be left. */
	} else if (part->text.bytes[0] == '~' && (n = tilde_len(part, 0))) {
		part = colons ? inner_tilde(r, word, part, 0, n)
		              : carve(r, part, 0, n, SHELL_PART_TILDE);
		if (!part || !part->next)
			return;
		part = part->next;
		if (!colons && !is_plain_behind_tilde(part))
			shell_fail(r, SHELL_UNSUPPORTED, word->range.start, word->range.end,
			           "special character behind ~:");
	} else if (!colons && mode != WORD_ELEMENT && !is_operand(mode) && !word->from_braces) {
		part = assignment_value(part, &from);
		if (!part)
			return;
		colons = true;
		if (is_doubtful_tilde(part, from))
			shell_fail(r, SHELL_UNSUPPORTED, word->range.start, word->range.end,
			           "= behind a tilde");
		if (from < part->text.len && part->text.bytes[from] == '~' &&
		    (n = tilde_len(part, from))) {
			part = inner_tilde(r, word, part, from, n);
			if (!part || !part->next)
				return;
			part = part->next;
			from = 0;
		}
	}
	if (!colons)
		return;
	for (; part; part = part->next, from = 0) {
		for (; is_unquoted(part) && from + 1 < part->text.len; from++) {
			if (part->text.bytes[from] != ':' || part->text.bytes[from + 1] != '~')
				continue;
			if (is_doubtful_tilde(part, from + 1))
				shell_fail(r, SHELL_UNSUPPORTED, word->range.start, word->range.end,
				           "= behind a tilde");
			n = tilde_len(part, from + 1);
			if (!n)
				continue;
			part = inner_tilde(r, word, part, from + 1, n);
			if (!part || !part->next)
				return;
			part = part->next;
			from = (size_t)-1;
		}
	}
}

static bool is_unquoted_expansion(const struct shell_part *part)
{
	return part->kind == SHELL_PART_PARAM || part->kind == SHELL_PART_COMMAND;
}

/* * and ? always are patterns; [ only if something behind it can close it. */
static void find_globs(struct shell_reader *r, struct shell_word *word)
{
	size_t closers = 0;
	struct shell_part *part;

	for (part = word->parts; part; part = part->next) {
		closers += is_unquoted_expansion(part);
		for (size_t i = 0; is_unquoted(part) && i < part->text.len; i++)
			closers += part->text.bytes[i] == ']';
	}
	for (part = word->parts; part; part = part->next) {
		closers -= is_unquoted_expansion(part);
		for (size_t i = 0; is_unquoted(part) && i < part->text.len; i++) {
			char c = part->text.bytes[i];

			closers -= c == ']';
			if (c != '*' && c != '?' && (c != '[' || !closers))
				continue;
			part = carve(r, part, i, 1, SHELL_PART_GLOB);
			if (!part)
				return;
		}
	}
}

static bool is_quoted_literal(const struct shell_part *part)
{
	return part && part->kind == SHELL_PART_LITERAL && part->quote != SHELL_QUOTE_NONE;
}

/* Empty quotes beside other quoted text, or behind the last of any, mean nothing. Elsewhere they
 * can keep apart what would mean more together, as in name""[x], or be a word, as in ${x-a ""}. */
static void drop_empty(struct shell_word *word, enum word_mode mode)
{
	struct shell_part **link = &word->parts, *before = NULL;

	while (*link) {
		struct shell_part *part = *link;
		bool last = !part->next && before && before->kind == SHELL_PART_LITERAL &&
		            mode != WORD_OPERAND;

		if (is_quoted_literal(part) && !part->text.len &&
		    (is_quoted_literal(before) || is_quoted_literal(part->next) || last)) {
			*link = part->next;
			continue;
		}
		before = part;
		link = &part->next;
	}
}

/*
 * bash does not split a word in which a bare $ follows an expansion. That can be printed again only
 * where the $ is the last character, or in front of one that needs no quotes; and with $* it
 * depends on how that is written.
 */
static void check_dollars(struct shell_reader *r, const struct shell_word *word)
{
	bool expansion = false, list = false;

	for (const struct shell_part *p = word->parts; p; p = p->next) {
		expansion = expansion || is_unquoted_expansion(p);
		list = list || (p->kind == SHELL_PART_PARAM &&
		                (p->param->subscript > SHELL_SUBSCRIPT_WORD ||
		                 strchr("@*", p->param->name.bytes[0])));
		for (size_t i = 0; expansion && is_unquoted(p) && i < p->text.len; i++) {
			if (p->text.bytes[i] != '$')
				continue;
			if (i + 1 == p->text.len && !p->next && !list)
				continue;
			if (list || i + 1 == p->text.len ||
			    !shell_is_behind_dollar(p->text.bytes[i + 1]))
				shell_fail(r, SHELL_UNSUPPORTED, word->range.start, word->range.end,
				           "$ behind an expansion");
		}
	}
}

void shell_word_finish(struct shell_reader *r, struct shell_word *word, enum word_mode mode)
{
	bool tilde = false, glob = false, dollar = false;

	for (struct shell_part *p = word->parts; p; p = p->next) {
		if (!is_unquoted(p))
			continue;
		tilde = tilde || memchr(p->text.bytes, '~', p->text.len);
		glob = glob || strpbrk(p->text.bytes, "*?[");
		dollar = dollar || memchr(p->text.bytes, '$', p->text.len);
	}
	if (dollar && word->split && mode != WORD_OPERAND)
		check_dollars(r, word);
	if (tilde)
		find_tildes(r, word, mode);
	if (glob && has_globs(mode))
		find_globs(r, word);
	word->plain =
		word->parts && is_unquoted(word->parts) && !word->parts->next && !word->from_braces;
	drop_empty(word, mode);
}

bool shell_word_has_brace(const struct shell_word *word)
{
	for (const struct shell_part *p = word->parts; p; p = p->next) {
		const struct shell_part *q = p;

		/* bash does not step over $[ ] when it looks for braces. */
		if (p->kind == SHELL_PART_ARITH && p->bracket)
			q = p->word->parts;
		for (; q; q = q == p ? NULL : q->next)
			if (is_unquoted(q) && memchr(q->text.bytes, '{', q->text.len))
				return true;
	}
	return false;
}

bool shell_is_declaration(const struct shell_word *word)
{
	static const char *const names[] = {"alias", "declare",  "export",
	                                    "local", "readonly", "typeset"};

	if (!word || !word->plain || !strchr("adelrt", word->parts->text.bytes[0]))
		return false;
	for (size_t i = 0; i < array_size(names); i++)
		if (!strcmp(word->parts->text.bytes, names[i]))
			return true;
	return false;
}
