/*
 * Printing words.
 *
 * Known words are printed in single quotes. Where a word has expansions or globs, its unquoted
 * characters stay unquoted as far as they can take part in a pattern, because quoting would change
 * what matches.
 */
#include "shell/printer.h"

#include <string.h>

#include "shell/reader.h"

void printer_put(struct printer *p, const char *text)
{
	buffer_puts(p->out, text);
}

void printer_text(struct printer *p, const struct shell_text *text)
{
	buffer_append(p->out, text->bytes, text->len);
}

/* The pending bodies, behind a newline. */
void printer_flush(struct printer *p)
{
	buffer_putc(p->out, '\n');
	buffer_append(p->out, buffer_str(&p->later), p->later.len);
	buffer_clear(&p->later);
}

/* Opens '...' or $'...', or goes on in the quotes that have just been closed. */
static void open_quote(struct printer *p, bool control)
{
	if (p->quote_end && p->quote_end == p->out->len && p->quote_control == control)
		p->out->len--;
	else
		printer_put(p, control ? "$'" : "'");
}

static void close_quote(struct printer *p, bool control)
{
	printer_put(p, "'");
	p->quote_end = p->out->len;
	p->quote_control = control;
}

/* A newline that is none in the source ($'\\n') would make lines that it does not have. */
static bool is_control(struct printer *p, char c)
{
	return shell_is_control(c) ||
	       (c == '\n' && p->source && !printer_is_behind(p, p->word_end));
}

static void put_quoted(struct printer *p, const char *s, size_t n)
{
	size_t i = 0;

	if (!n && (!p->quote_end || p->quote_end != p->out->len)) {
		open_quote(p, false);
		close_quote(p, false);
	}
	while (i < n) {
		bool control = is_control(p, s[i]);

		open_quote(p, control);
		for (; i < n && is_control(p, s[i]) == control; i++) {
			if (control)
				buffer_printf(p->out, "\\%03o", (unsigned char)s[i]);
			else if (s[i] == '\'') /* bash 5.2 misreads \' in an array in $( ) */
				printer_put(p, "'\"'\"'");
			else if (p->in_body && i && s[i] == '\n' && s[i - 1] == '\\')
				printer_put(p, "''\n");
			else
				buffer_putc(p->out, s[i]);
		}
		close_quote(p, control);
	}
}

/*
 * Whether the unquoted $ at I can stand bare, because nothing follows that it could begin. bash
 * does not split a word in which a bare $ follows an expansion, so quoting it would change the
 * result.
 */
static bool is_lone_dollar(const struct shell_text *text, size_t i, bool last)
{
	if (text->bytes[i] != '$')
		return false;
	return i + 1 < text->len ? shell_is_behind_dollar(text->bytes[i + 1]) : last;
}

/* Unquoted text in the middle of a word: bare as far as it may be. */
static void put_mixed(struct printer *p, const struct shell_text *text, bool raw, bool last)
{
	size_t i = 0, from;

	while (i < text->len) {
		for (from = i; i < text->len; i++) {
			char c = text->bytes[i];

			if ((raw ? c == '$' : !shell_is(c, CLASS_BARE)) &&
			    !is_lone_dollar(text, i, last))
				break;
		}
		buffer_append(p->out, text->bytes + from, i - from);
		for (from = i; i < text->len; i++) {
			char c = text->bytes[i];

			if ((raw ? c != '$' : shell_is(c, CLASS_BARE)) ||
			    is_lone_dollar(text, i, last))
				break;
		}
		if (i > from)
			put_quoted(p, text->bytes + from, i - from);
	}
}

static void put_escaped(struct printer *p, const struct shell_text *text, const char *special)
{
	for (size_t i = 0; i < text->len; i++) {
		if (strchr(special, text->bytes[i]))
			buffer_putc(p->out, '\\');
		buffer_putc(p->out, text->bytes[i]);
	}
}

/* Only here $'...' is known beside double quotes. */
static void put_operand_text(struct printer *p, const struct shell_text *text)
{
	for (size_t i = 0; i < text->len; i++) {
		if (shell_is_control(text->bytes[i]) && !p->in_heredoc) {
			buffer_printf(p->out, "\"$'\\%03o'\"", (unsigned char)text->bytes[i]);
			continue;
		}
		if (strchr("\\$`\"", text->bytes[i]))
			buffer_putc(p->out, '\\');
		buffer_putc(p->out, text->bytes[i]);
	}
}

/* Whether the literal behind empty quotes begins with quotes of its own. */
static bool begins_quoted(const struct shell_part *part, enum place place)
{
	bool last;

	if (!part || part->kind != SHELL_PART_LITERAL || !part->text.len)
		return false;
	last = !part->next && place == PLACE_WORD;
	if (is_lone_dollar(&part->text, 0, last))
		return false;
	return place == PLACE_OPERAND ? part->text.bytes[0] == '$'
	                              : !shell_is(part->text.bytes[0], CLASS_BARE);
}

static void print_literal(struct printer *p, const struct shell_part *part, enum place place)
{
	const struct shell_text *text = &part->text;

	switch (place) {
	case PLACE_DOUBLE:
		put_escaped(p, text, "\\$`\"");
		return;
	case PLACE_QUOTED:
		put_operand_text(p, text);
		return;
	case PLACE_HEREDOC:
		put_escaped(p, text, "\\$`");
		return;
	case PLACE_ARITH:
		printer_text(p, text);
		return;
	case PLACE_REGEX:
		if (part->quote == SHELL_QUOTE_NONE) {
			printer_text(p, text);
			return;
		}
		if (part->quote == SHELL_QUOTE_BACKSLASH) {
			for (size_t i = 0; i < text->len; i++)
				buffer_printf(p->out, "\\%c", text->bytes[i]);
			return;
		}
		put_quoted(p, text->bytes, text->len);
		return;
	case PLACE_WORD:
	case PLACE_OPERAND:
	default:
		if (!text->len && begins_quoted(part->next, place))
			return;
		if (part->quote == SHELL_QUOTE_NONE)
			put_mixed(p, text, place == PLACE_OPERAND,
			          !part->next && place == PLACE_WORD);
		else
			put_quoted(p, text->bytes, text->len);
	}
}

/*
 * $( ... ) and its kin, behind the opening characters.
 *
 * bash 5.2 runs not this text, but one that it prints from what it has read; and there every ;
 * behind a here-document is lost, so that the next two commands become one. A newline is not.
 */
static void print_substitution(struct printer *p, const struct shell_part *part)
{
	const struct shell_list *list = part->list;
	const struct printer_source *source = p->source;
	struct buffer outside = p->later;
	size_t from = p->out->len;
	bool in_heredoc = p->in_heredoc, lines = p->lines;
	uint32_t word_end = p->word_end;

	if (part->backtick) /* its places are not those of the source */
		p->source = NULL;
	p->in_heredoc = false;
	p->lines = printer_has_heredoc(list);
	p->later = (struct buffer){0};
	printer_closed_list(p, list);
	/* $(( would be arithmetic. */
	if (p->out->len > from && p->out->data[from] == '(') {
		buffer_putc(p->out, ' ');
		if (!buffer_error(p->out)) {
			memmove(p->out->data + from + 1, p->out->data + from,
			        p->out->len - from - 1);
			p->out->data[from] = ' ';
			p->counted += p->counted > from;
		}
	}
	if (p->later.len)
		printer_flush(p);
	if (list->statements)
		printer_reach(p, part->range.end, true);
	printer_put(p, ")");
	if (buffer_error(&p->later) && !p->out->failed)
		p->out->failed = buffer_error(&p->later);
	buffer_done(&p->later);
	p->later = outside;
	p->in_heredoc = in_heredoc;
	p->lines = lines;
	p->source = source;
	p->word_end = word_end;
}

/* An operand of ${ }; quoted: the expansion stands in double quotes. */
static void print_operand(struct printer *p, const struct shell_word *word, bool quoted)
{
	const struct shell_part *part = word ? word->parts : NULL;

	while (quoted && part && part->kind == SHELL_PART_LITERAL && !part->text.len)
		part = part->next;
	if (!part)
		return;
	if (quoted)
		printer_put(p, "\"");
	printer_word(p, word, quoted ? PLACE_QUOTED : PLACE_OPERAND);
	if (quoted)
		printer_put(p, "\"");
}

static void print_param(struct printer *p, const struct shell_param *param, bool quoted)
{
	static const char letters[] = {
		[SHELL_PARAM_DEFAULT] = '-',       [SHELL_PARAM_ASSIGN] = '=',
		[SHELL_PARAM_ERROR] = '?',         [SHELL_PARAM_ALTERNATE] = '+',
		[SHELL_PARAM_REMOVE_PREFIX] = '#', [SHELL_PARAM_REMOVE_SUFFIX] = '%',
		[SHELL_PARAM_REPLACE] = '/',       [SHELL_PARAM_SUBSTRING] = ':',
		[SHELL_PARAM_UPPER] = '^',         [SHELL_PARAM_LOWER] = ',',
		[SHELL_PARAM_TOGGLE] = '~',        [SHELL_PARAM_TRANSFORM] = '@',
		[SHELL_PARAM_NAMES] = 0,
	};
	char letter = letters[param->op];
	/* The message of ? is never quoted by its surroundings. */
	bool is_default = param->op == SHELL_PARAM_DEFAULT || param->op == SHELL_PARAM_ASSIGN ||
	                  param->op == SHELL_PARAM_ALTERNATE;

	/* bash does not split a word with $! while there is no such process; with ${!} it does. */
	if (param->bare && param->name.bytes[0] == '!') {
		printer_put(p, "$!");
		return;
	}
	printer_put(p, "${");
	if (param->op == SHELL_PARAM_LENGTH)
		printer_put(p, "#");
	if (param->indirect || param->op == SHELL_PARAM_NAMES)
		printer_put(p, "!");
	printer_text(p, &param->name);
	if (param->subscript != SHELL_SUBSCRIPT_NONE) {
		printer_put(p, "[");
		if (param->subscript == SHELL_SUBSCRIPT_WORD)
			printer_word(p, param->index, PLACE_ARITH);
		else
			printer_put(p, param->subscript == SHELL_SUBSCRIPT_AT ? "@" : "*");
		printer_put(p, "]");
	}
	if (param->colon)
		printer_put(p, ":");
	if (letter)
		buffer_putc(p->out, letter);
	if (param->twice)
		buffer_putc(p->out, letter);
	if (param->letter)
		buffer_putc(p->out, param->letter);
	if (param->op == SHELL_PARAM_SUBSTRING) {
		printer_word(p, param->word, PLACE_ARITH);
		if (param->word2) {
			printer_put(p, ":");
			printer_word(p, param->word2, PLACE_ARITH);
		}
	} else {
		print_operand(p, param->word, quoted && is_default);
		if (param->word2) {
			printer_put(p, "/");
			print_operand(p, param->word2, false);
		}
	}
	printer_put(p, "}");
}

static void print_array(struct printer *p, const struct shell_array_item *item)
{
	printer_put(p, "(");
	for (; item; item = item->next) {
		if (item->index) {
			printer_put(p, "[");
			printer_word(p, item->index, PLACE_ARITH);
			printer_put(p, item->append ? "]+=" : "]=");
		}
		printer_word(p, item->value, PLACE_WORD);
		if (item->next)
			printer_put(p, " ");
	}
	printer_put(p, ")");
}

static void print_extglob(struct printer *p, const struct shell_extglob *glob)
{
	buffer_putc(p->out, glob->letter);
	printer_put(p, "(");
	for (const struct shell_word *w = glob->alternatives; w; w = w->next) {
		if (w->parts)
			printer_word(p, w, PLACE_WORD);
		if (w->next)
			printer_put(p, "|");
	}
	printer_put(p, ")");
}

static void print_part(struct printer *p, const struct shell_part *part, enum place place)
{
	bool quoted = place == PLACE_DOUBLE || place == PLACE_QUOTED || place == PLACE_HEREDOC ||
	              place == PLACE_ARITH;

	switch (part->kind) {
	case SHELL_PART_LITERAL:
		print_literal(p, part, place);
		break;
	case SHELL_PART_GLOB:
	case SHELL_PART_TILDE:
		printer_text(p, &part->text);
		break;
	case SHELL_PART_EXTGLOB:
		print_extglob(p, part->extglob);
		break;
	case SHELL_PART_DOUBLE:
		printer_put(p, "\"");
		for (const struct shell_part *q = part->parts; q; q = q->next)
			print_part(p, q, PLACE_DOUBLE);
		printer_put(p, "\"");
		break;
	case SHELL_PART_PARAM:
		print_param(p, part->param, quoted);
		break;
	case SHELL_PART_COMMAND:
		printer_put(p, "$(");
		print_substitution(p, part);
		break;
	case SHELL_PART_PROCESS_IN:
	case SHELL_PART_PROCESS_OUT:
		printer_put(p, part->kind == SHELL_PART_PROCESS_IN ? "<(" : ">(");
		print_substitution(p, part);
		break;
	case SHELL_PART_ARITH:
		printer_put(p, part->bracket ? "$[" : "$((");
		printer_word(p, part->word, PLACE_ARITH);
		printer_put(p, part->bracket ? "]" : "))");
		break;
	case SHELL_PART_ARRAY:
	default:
		print_array(p, part->items);
		break;
	}
}

static bool is_literal(const struct shell_word *word)
{
	for (const struct shell_part *part = word->parts; part; part = part->next)
		if (part->kind != SHELL_PART_LITERAL)
			return false;
	return true;
}

/* Written without quotes, and read so again. */
static bool is_bare(const struct shell_word *word)
{
	const struct shell_text *text = &word->parts->text;

	if (!word->plain || word->from_braces || !text->len)
		return false;
	for (size_t i = 0; i < text->len; i++)
		if (!shell_is(text->bytes[i], CLASS_BARE) || text->bytes[i] == '[')
			return false;
	return true;
}

void printer_word(struct printer *p, const struct shell_word *word, enum place place)
{
	const struct shell_part *part = word->parts;

	if (place == PLACE_WORD)
		p->word_end = word->range.end;
	if (place == PLACE_WORD && p->bare && part && is_bare(word)) {
		printer_text(p, &part->text);
		return;
	}
	if (place == PLACE_WORD && part && is_literal(word)) {
		for (; part; part = part->next)
			if (part->text.len || !part->next)
				put_quoted(p, part->text.bytes, part->text.len);
		return;
	}
	/* What came out of braces is no assignment, even if it begins like one. */
	if (place == PLACE_WORD && word->from_braces && part && part->kind == SHELL_PART_LITERAL &&
	    (!part->text.len || shell_is_name_start(part->text.bytes[0]))) {
		if (part->text.len || !begins_quoted(part->next, place))
			put_quoted(p, part->text.bytes, part->text.len);
		part = part->next;
	}
	for (; part; part = part->next)
		print_part(p, part, place);
}

/* Whether all parts are literals, the first of which begins with name[ without quotes. */
static bool is_reference(const struct shell_word *word)
{
	const struct shell_part *part = word->parts;
	size_t n = 0;

	if (!part || !is_literal(word) || part->quote != SHELL_QUOTE_NONE ||
	    !shell_is_name_start(part->text.bytes[0]))
		return false;
	while (shell_is(part->text.bytes[n], CLASS_NAME))
		n++;
	if (part->text.bytes[n] != '[')
		return false;
	for (; part; part = part->next) /* $'...' would come out of a $ in front of quotes */
		if (part->quote == SHELL_QUOTE_NONE && part->text.len &&
		    part->text.bytes[part->text.len - 1] == '$')
			return false;
	return true;
}

/* What is not quoted was written like that, and can be again. */
void printer_reference(struct printer *p, const struct shell_word *word)
{
	if (!is_reference(word)) {
		printer_word(p, word, PLACE_WORD);
		return;
	}
	for (const struct shell_part *part = word->parts; part; part = part->next)
		if (part->quote == SHELL_QUOTE_NONE)
			printer_text(p, &part->text);
		else
			put_quoted(p, part->text.bytes, part->text.len);
}

void printer_assign(struct printer *p, const struct shell_assign *a)
{
	printer_text(p, &a->name);
	if (a->index) {
		printer_put(p, "[");
		printer_word(p, a->index, PLACE_ARITH);
		printer_put(p, "]");
	}
	printer_put(p, a->append ? "+=" : "=");
	printer_word(p, a->value, PLACE_WORD);
}
