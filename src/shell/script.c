/*
 * Programs in sed and awk, read only as far as needed to tell whether they run commands or write
 * files. Neither language is parsed. The reader walks over strings, regular expressions and
 * commands that are known to be harmless; at the first thing that is not known it gives up, and the
 * caller takes the program to be capable of all of it.
 */
#include "shell/script.h"

#include <stdint.h>
#include <string.h>
#include "base/cleanup.h"

struct reader {
	const char *s;
	size_t n, at;
	unsigned can;
};

static char peek(const struct reader *r)
{
	if (r->at >= r->n)
		return '\0';
	return r->s[r->at];
}

static void skip(struct reader *r, const char *set)
{
	while (r->at < r->n && strchr(set, r->s[r->at]))
		r->at++;
}

static void skip_line(struct reader *r)
{
	while (r->at < r->n && r->s[r->at] != '\n')
		r->at++;
}

/* Behind a bracket expression whose '[' was read, as GNU sed finds its end: a backslash is a plain
 * character in it, and [:x:], [.x.] and [=x=] may hold a ']'. */
static bool skip_bracket(struct reader *r)
{
	if (peek(r) == '^')
		r->at++;
	if (peek(r) == ']')
		r->at++;
	while (r->at < r->n && r->s[r->at] != '\n') {
		char c = r->s[r->at++], kind = peek(r);

		if (c == ']')
			return true;
		if (c != '[' || !kind || !strchr(":.=", kind))
			continue;
		for (r->at++; r->at + 1 < r->n; r->at++)
			if (r->s[r->at] == kind && r->s[r->at + 1] == ']')
				break;
		r->at += 2;
	}
	return false;
}

/* Behind the next DELIMITER that is neither escaped nor in a bracket expression. An open line ends
 * the program with an error. */
static bool skip_part(struct reader *r, char delimiter, bool regex)
{
	while (r->at < r->n) {
		char c = r->s[r->at++];

		if (c == delimiter)
			return true;
		if (c == '\n')
			return false;
		if (c == '\\' && r->at < r->n)
			r->at++;
		else if (regex && c == '[' && !skip_bracket(r))
			return false;
	}
	return false;
}

static bool sed_address(struct reader *r)
{
	char c = peek(r);

	if (c >= '0' && c <= '9') {
		skip(r, "0123456789~");
	} else if (c == '$') {
		r->at++;
	} else if (c == '/') {
		r->at++;
		if (!skip_part(r, '/', true))
			return false;
		skip(r, "IM");
	} else if (c == '\\') {
		r->at++;
		c = peek(r);
		r->at++;
		if (!skip_part(r, c, true))
			return false;
		skip(r, "IM");
	} else if (c == '+' || c == '~') {
		r->at++;
		skip(r, "0123456789");
	}
	return true;
}

static bool sed_substitute(struct reader *r)
{
	char delimiter = peek(r);

	r->at++;
	if (!skip_part(r, delimiter, true) || !skip_part(r, delimiter, false))
		return false;
	for (; r->at < r->n; r->at++) {
		char c = r->s[r->at];

		if (c == 'e')
			r->can |= SHELL_SCRIPT_RUN;
		else if (c == 'w') {
			r->can |= SHELL_SCRIPT_WRITE;
			skip_line(r);
			return true;
		} else if (!strchr("gpiImM0123456789", c))
			break;
	}
	return true;
}

/* The text of a, i and c goes on behind a backslash at the end of a line. Whether it does behind
 * two depends on what stands before them, so that is left unread: false. */
static bool sed_text(struct reader *r)
{
	for (;;) {
		size_t start = r->at;

		skip_line(r);
		if (r->at >= r->n || r->at == start || r->s[r->at - 1] != '\\')
			return true;
		if (r->at - start > 1 && r->s[r->at - 2] == '\\')
			return false;
		r->at++;
	}
}

static bool sed_command(struct reader *r)
{
	char c = peek(r);

	r->at++;
	switch (c) {
	case 'e':
		r->can |= SHELL_SCRIPT_RUN;
		skip_line(r);
		return true;
	case 'w':
	case 'W':
		r->can |= SHELL_SCRIPT_WRITE;
		skip_line(r);
		return true;
	case 'r':
	case 'R':
		r->can |= SHELL_SCRIPT_READ;
		skip_line(r);
		return true;
	case 's':
		return sed_substitute(r);
	case 'y':
		c = peek(r);
		r->at++;
		if (!skip_part(r, c, false))
			return false;
		return skip_part(r, c, false);
	case 'a':
	case 'i':
	case 'c':
		return sed_text(r);
	case '#':
		skip_line(r);
		return true;
	case ':':
	case 'b':
	case 't':
	case 'T':
	case 'v': /* GNU sed ends a label at a blank, and another command can follow */
		skip(r, " \t");
		while (r->at < r->n && !strchr(" \t\n;}", r->s[r->at]))
			r->at++;
		return true;
	case 'q':
	case 'Q':
	case 'l':
	case 'L':
		skip(r, " \t0123456789");
		return true;
	default:
		return c && strchr("{}=dDgGhHnNpPxFz", c);
	}
}

unsigned shell_script_sed(struct shell_text script)
{
	struct reader r = {.s = script.bytes, .n = script.len};
	const unsigned all = SHELL_SCRIPT_RUN | SHELL_SCRIPT_WRITE | SHELL_SCRIPT_READ;

	for (;;) {
		skip(&r, " \t\n;");
		if (r.at >= r.n)
			return r.can;
		if (!sed_address(&r))
			return all;
		skip(&r, " \t");
		if (peek(&r) == ',') {
			r.at++;
			skip(&r, " \t");
			if (!sed_address(&r))
				return all;
			skip(&r, " \t");
		}
		skip(&r, " \t!");
		if (r.at >= r.n || !sed_command(&r))
			return all;
	}
}

static bool word_at(const struct reader *r, const char *word)
{
	size_t n = strlen(word);
	char before = ' ';

	if (r->at)
		before = r->s[r->at - 1];
	return r->n - r->at >= n && memcmp(r->s + r->at, word, n) == 0 &&
	       !((before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') ||
	         before == '_');
}

static bool awk_string(struct reader *r)
{
	for (r->at++; r->at < r->n && r->s[r->at] != '\n'; r->at++) {
		if (r->s[r->at] == '"')
			return true;
		if (r->s[r->at] == '\\')
			r->at++;
	}
	return false;
}

/* Whether a bracket expression is still open at the end of a regular expression. */
static bool awk_bracket_is_open(struct shell_text regex, bool escapes)
{
	struct reader r = {.s = regex.bytes, .n = regex.len};

	while (r.at < r.n) {
		char c = r.s[r.at++];

		if (c == '\\') {
			r.at++;
			continue;
		}
		if (c != '[')
			continue;
		if (!escapes && !skip_bracket(&r))
			return true;
		if (escapes && (peek(&r) == '^' || peek(&r) == ']'))
			r.at += r.s[r.at] == '^' && r.at + 1 < r.n && r.s[r.at + 1] == ']' ? 2 : 1;
		for (; escapes; r.at++) {
			if (r.at >= r.n)
				return true;
			if (r.s[r.at] == ']')
				break;
			r.at += r.s[r.at] == '\\';
		}
	}
	return false;
}

/* To the slash that ends a regular expression. Not every awk lets a bracket hide that slash, and
 * not every one knows escapes in it, so one that may do so is not read. */
static bool awk_regex(struct reader *r)
{
	size_t start = r->at + 1;
	struct shell_text regex;

	for (r->at++; r->at < r->n && r->s[r->at] != '/' && r->s[r->at] != '\n'; r->at++)
		if (r->s[r->at] == '\\')
			r->at++;
	if (peek(r) != '/')
		return false;
	regex = (struct shell_text){r->s + start, r->at - start};
	return !awk_bracket_is_open(regex, false) && !awk_bracket_is_open(regex, true);
}

static unsigned awk_pipe(struct reader *r)
{
	if (r->at + 1 < r->n && r->s[r->at + 1] == '|') {
		r->at++;
		return 0;
	}
	return SHELL_SCRIPT_RUN;
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* A slash divides behind an operand, and begins a regular expression elsewhere. */
struct awk_reader {
	struct reader r;
	bool operand;         /* what was read last is one */
	bool unsure;          /* behind it, one awk divides and another reads an expression */
	bool head;            /* it is if, while or for: what its parentheses hold is none */
	uint64_t heads;       /* the open parentheses that are such, one bit each */
	unsigned parentheses; /* how many are open */
};

/* Whether the name from START to where the reader stands is this. */
static bool word_is(const struct reader *r, size_t start, const char *word)
{
	size_t n = strlen(word);

	return n == r->at + 1 - start && memcmp(word, r->s + start, n) == 0;
}

static void awk_name(struct awk_reader *a)
{
	static const char *const heads[] = {"if", "while", "for", "switch"};
	static const char *const others[] = {"print", "printf", "return", "in",
	                                     "else",  "do",     "case",   "exit"};
	struct reader *r = &a->r;
	size_t start = r->at;

	if (word_at(r, "system"))
		r->can |= SHELL_SCRIPT_RUN;
	else if (word_at(r, "getline"))
		r->can |= SHELL_SCRIPT_READ;
	else if (word_at(r, "ARGV"))
		r->can |= SHELL_SCRIPT_FILES;
	while (r->at + 1 < r->n && is_name(r->s[r->at + 1]))
		r->at++;
	a->operand = true;
	a->unsure = word_is(r, start, "length") || word_is(r, start, "getline");
	for (size_t i = 0; i < array_size(others); i++)
		if (word_is(r, start, others[i]))
			a->operand = false;
	for (size_t i = 0; i < array_size(heads); i++)
		a->head |= word_is(r, start, heads[i]);
}

/* A name right behind a number is a word of its own, and rare enough not to be read. */
static bool awk_number(struct reader *r)
{
	size_t start = r->at;

	while (r->at + 1 < r->n && is_name(r->s[r->at + 1])) {
		r->at++;
		if (!strchr("0123456789abcdefABCDEF", r->s[r->at]) &&
		    !(r->s[r->at] == 'x' && r->at == start + 1))
			return false;
	}
	return true;
}

/* One token; false: not to be read. */
static bool awk_token(struct awk_reader *a)
{
	struct reader *r = &a->r;
	char c = r->s[r->at], next = '\0';
	bool head = a->head;

	if (r->at + 1 < r->n)
		next = r->s[r->at + 1];
	if (c == ' ' || c == '\t')
		return true;
	if (c == '\\') { /* a line that goes on */
		r->at++;
		return next == '\n';
	}
	a->head = false;
	if (c == '/' && a->unsure)
		return false;
	a->unsure = false;
	if (c == '"') {
		a->operand = true;
		return awk_string(r);
	}
	if (c == '/' && !a->operand) {
		a->operand = true;
		return awk_regex(r);
	}
	if (c >= '0' && c <= '9') {
		a->operand = true;
		return awk_number(r);
	}
	if (is_name(c)) {
		awk_name(a);
		return true;
	}
	if (c == '.')
		return true;
	if ((c == '+' || c == '-') && next == c) {
		r->at++; /* behind an operand it belongs to it */
		a->unsure = true;
		return true;
	}
	a->operand = c == ')' || c == ']';
	if (c == '#')
		skip_line(r);
	else if (c == '|')
		r->can |= awk_pipe(r);
	else if (c == '>' && next != '=')
		r->can |= SHELL_SCRIPT_WRITE;
	else if (c == '@') /* @f(x) calls whatever f names */
		r->can |= SHELL_SCRIPT_LOAD | SHELL_SCRIPT_RUN;
	else if (c == '(') {
		if (a->parentheses++ == 64)
			return false;
		a->heads = a->heads << 1 | head;
	} else if (c == ')') {
		if (!a->parentheses--)
			return false;
		a->operand = !(a->heads & 1);
		a->heads >>= 1;
	}
	return true;
}

unsigned shell_script_awk(struct shell_text script)
{
	struct awk_reader a = {.r = {.s = script.bytes, .n = script.len}};
	const unsigned all = SHELL_SCRIPT_RUN | SHELL_SCRIPT_WRITE | SHELL_SCRIPT_READ |
	                     SHELL_SCRIPT_LOAD | SHELL_SCRIPT_FILES;

	if (memmem(script.bytes, script.len, "/inet", 5))
		a.r.can |= SHELL_SCRIPT_NET;
	for (; a.r.at < a.r.n; a.r.at++)
		if (!awk_token(&a))
			return a.r.can | all;
	return a.r.can;
}

char shell_awk_option(struct shell_text word, size_t *ret_at)
{
	static const char *const names[] = {"assign", "field-separator", "file", "include",
	                                    "load",   "source",          "exec"};
	const char *s = word.bytes;
	size_t n = strcspn(s, "=");

	for (size_t i = 0; s[1] == '-' && i < array_size(names); i++)
		if (n > 2 && strncmp(names[i], s + 2, n - 2) == 0) {
			*ret_at = s[n] ? n + 1 : n;
			return (char)(names[i][0] == 's' ? 'e' : names[i][0] == 'f' ? 'f' : 'v');
		}
	for (size_t i = 1; s[1] != '-' && i < word.len; i++) {
		*ret_at = i + 1;
		if (strchr("FvfeilEW", s[i]))
			return s[i];
		if (strchr("dDLop", s[i]))
			break;
	}
	return 0;
}
