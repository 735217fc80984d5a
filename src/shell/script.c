#include "shell/script.h"

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

/* Behind the next DELIMITER that is neither escaped nor in a bracket expression. */
static bool skip_part(struct reader *r, char delimiter, bool regex)
{
	bool bracket = false;

	while (r->at < r->n) {
		char c = r->s[r->at++];

		if (c == '\\' && r->at < r->n)
			r->at++;
		else if (regex && c == '[' && !bracket) {
			bracket = true;
			if (peek(r) == '^')
				r->at++;
			if (peek(r) == ']')
				r->at++;
		} else if (c == ']' && bracket)
			bracket = false;
		else if (c == delimiter && !bracket)
			return true;
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

/* The text of a, i and c goes on behind a backslash at the end of a line. */
static void sed_text(struct reader *r)
{
	for (;;) {
		size_t start = r->at;

		skip_line(r);
		if (r->at >= r->n || r->at == start || r->s[r->at - 1] != '\\')
			return;
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
		sed_text(r);
		return true;
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

static void awk_string(struct reader *r)
{
	for (r->at++; r->at < r->n && r->s[r->at] != '"'; r->at++)
		if (r->s[r->at] == '\\')
			r->at++;
}

static unsigned awk_pipe(struct reader *r)
{
	if (r->at + 1 < r->n && r->s[r->at + 1] == '|') {
		r->at++;
		return 0;
	}
	return SHELL_SCRIPT_RUN;
}

/* Outside strings only; a regular expression is read as program text, which errs to the safe side.
 */
unsigned shell_script_awk(struct shell_text script)
{
	struct reader r = {.s = script.bytes, .n = script.len};

	if (memmem(r.s, r.n, "/inet", 5))
		r.can |= SHELL_SCRIPT_NET;
	for (; r.at < r.n; r.at++) {
		char c = r.s[r.at];

		if (c == '"')
			awk_string(&r);
		else if (c == '#')
			skip_line(&r);
		else if (c == '|')
			r.can |= awk_pipe(&r);
		else if (c == '>' && !(r.at + 1 < r.n && r.s[r.at + 1] == '='))
			r.can |= SHELL_SCRIPT_WRITE;
		else if (c == '@') /* @f(x) calls whatever f names */
			r.can |= SHELL_SCRIPT_LOAD | SHELL_SCRIPT_RUN;
		else if (word_at(&r, "system"))
			r.can |= SHELL_SCRIPT_RUN;
		else if (word_at(&r, "getline"))
			r.can |= SHELL_SCRIPT_READ;
		else if (word_at(&r, "ARGV"))
			r.can |= SHELL_SCRIPT_FILES;
	}
	return r.can;
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
			return names[i][0] == 's' ? 'e' : names[i][0] == 'f' ? 'f' : 'v';
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
