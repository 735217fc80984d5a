/*
 * The lowest level of reading: characters, blanks, operators, reserved words, failures.
 *
 * bash removes \<newline> at the level of characters, wherever it is not quoted: inside operators,
 * names and reserved words too. shell_peek() and shell_after() do that; code that wants the raw
 * bytes (single quotes, comments, here-documents) uses r->s directly.
 */
#include "shell/reader.h"

#define M CLASS_META
#define S CLASS_SPECIAL
#define G CLASS_GLOB
#define B CLASS_BARE
#define N (CLASS_NAME | CLASS_BARE)
#define D (CLASS_NAME | CLASS_DIGIT | CLASS_BARE)

const unsigned char shell_class[256] = {
	['\t'] = M,        ['\n'] = M, [' '] = M,     ['|'] = M,           ['&'] = M,
	[';'] = M,         ['('] = M,  [')'] = M,     ['<'] = M,           ['>'] = M,
	['\''] = S,        ['"'] = S,  ['\\'] = S,    ['$'] = S,           ['`'] = S,
	['*'] = G,         ['?'] = G,  ['['] = G | B, ['{'] = CLASS_BRACE, ['~'] = CLASS_TILDE,
	['.'] = B,         ['/'] = B,  [':'] = B,     ['='] = B,           [','] = B,
	['+'] = B,         ['@'] = B,  ['%'] = B,     ['^'] = B,           ['!'] = B,
	[']'] = B,         ['-'] = B,  ['_'] = N,     ['0' ... '9'] = D,   ['A' ... 'Z'] = N,
	['a' ... 'z'] = N,
};

#undef M
#undef S
#undef G
#undef B
#undef N
#undef D

bool shell_fail(struct shell_reader *r, enum shell_status status, uint32_t start, uint32_t end,
                const char *message)
{
	struct shell_tree *t = r->tree;

	if (t->status == SHELL_OK) {
		t->status = status;
		t->at = shell_span(r, start, end > start ? end : start);
		t->message = message;
	}
	return false;
}

/* How long the token at P is, in bytes, for a message. */
static uint32_t token_end(const struct shell_reader *r, uint32_t p)
{
	static const char *const operators[] = {";;&", "<<-", "<<<", "&>>", ";;", ";&", "&&", "||",
	                                        "|&",  "&>",  "<<",  ">>",  "<&", ">&", "<>", ">|"};
	uint32_t start = p;

	if (p < r->end && shell_is(r->s[p], CLASS_META)) {
		for (size_t i = 0; i < array_size(operators); i++)
			if (!strncmp(r->s + p, operators[i], strlen(operators[i])))
				return p + (uint32_t)strlen(operators[i]);
		return p + 1;
	}
	while (p < r->end && p - start < 40 && !shell_is(r->s[p], CLASS_META))
		p++;
	return p;
}

/* An extended pattern, which bash takes behind a line that switches them on. */
static bool at_extended(const struct shell_reader *r)
{
	const char *on;

	if (r->extglob_until && r->tree->negated_parenthesis)
		return true; /* what it was taken for does not go on as it should */
	if (r->pos == 0 || shell_at(r, r->pos) != '(' || !strchr("?*+@!", r->s[r->pos - 1]))
		return false;
	on = memmem(r->s, r->pos, "extglob", 7);
	return on && memchr(on, '\n', r->pos - (size_t)(on - r->s));
}

bool shell_unexpected(struct shell_reader *r)
{
	struct shell_tree *t = r->tree;
	uint32_t end;

	if (t->status != SHELL_OK)
		return false;
	if (at_extended(r))
		return shell_fail(r, SHELL_UNSUPPORTED, r->pos ? r->pos - 1 : 0, r->pos,
		                  "extended pattern");
	if (!shell_peek(r))
		return shell_fail(r, SHELL_ERROR, r->end, r->end, "unexpected end of text");
	end = token_end(r, r->pos);
	if (r->s[r->pos] == '\n')
		t->token = shell_copy(r, "newline", 7);
	else
		t->token = shell_copy(r, r->s + r->pos, end - r->pos);
	return shell_fail(r, SHELL_ERROR, r->pos, end, "unexpected token");
}

void shell_negated(struct shell_reader *r)
{
	r->tree->negated_parenthesis |= shell_peek(r) == '(';
}

bool shell_enter(struct shell_reader *r)
{
	if (r->depth >= SHELL_DEPTH_MAX)
		return shell_fail(r, SHELL_LIMIT, r->pos, r->pos, "nested too deeply");
	r->depth++;
	if (r->depth > r->tree->depth)
		r->tree->depth = r->depth;
	return shell_ok(r);
}

void shell_leave(struct shell_reader *r)
{
	r->depth--;
}

void *shell_alloc(struct shell_reader *r, size_t n)
{
	void *p = arena_alloc(r->arena, n);

	/* Without memory the text counts as beyond a limit until shell_parse() tells the caller. */
	if (!p)
		shell_fail(r, SHELL_LIMIT, r->pos, r->pos, "out of memory");
	return p;
}

struct shell_text shell_copy(struct shell_reader *r, const char *bytes, size_t n)
{
	char *copy = shell_alloc(r, n + 1);

	if (!copy)
		return (struct shell_text){"", 0};
	if (n)
		memcpy(copy, bytes, n);
	return (struct shell_text){copy, n};
}

bool shell_sub_reader(struct shell_reader *r, struct shell_reader *sub, struct shell_text text,
                      uint32_t start, uint32_t end)
{
	*sub = (struct shell_reader){
		.arena = r->arena,
		.tree = r->tree,
		.s = text.bytes,
		.end = (uint32_t)text.len,
		.size = (uint32_t)text.len,
		.depth = r->depth,
		.derived = true,
		.origin = shell_span(r, start, end),
		.control_ok = r->control_ok,
		.extglob_until = r->pos < r->extglob_until ? UINT32_MAX : 0,
	};
	sub->heredocs_tail = &sub->heredocs;
	sub->scratch = shell_alloc(r, text.len + 1);
	return sub->scratch != NULL;
}

void shell_skip_blanks(struct shell_reader *r)
{
	char c;

	while ((c = shell_peek(r)) == ' ' || c == '\t')
		r->pos++;
	if (c == '#') {
		const char *nl = memchr(r->s + r->pos, '\n', r->end - r->pos);

		r->pos = nl ? (uint32_t)(nl - r->s) : r->end;
	}
}

bool shell_skip_newlines(struct shell_reader *r)
{
	for (;;) {
		shell_skip_blanks(r);
		if (shell_peek(r) != '\n')
			return shell_ok(r);
		r->pos++;
		if (r->heredocs && !shell_heredoc_read(r))
			return false;
	}
}

bool shell_take(struct shell_reader *r, const char *op)
{
	uint32_t p;

	shell_peek(r);
	p = r->pos;
	for (; *op; op++) {
		if (shell_at(r, p) != *op)
			return false;
		p = shell_after(r, p);
	}
	r->pos = p;
	return true;
}

static const char reserved_words[][10] = {
	[RESERVED_IF] = "if",         [RESERVED_THEN] = "then",   [RESERVED_ELIF] = "elif",
	[RESERVED_ELSE] = "else",     [RESERVED_FI] = "fi",       [RESERVED_DO] = "do",
	[RESERVED_DONE] = "done",     [RESERVED_CASE] = "case",   [RESERVED_ESAC] = "esac",
	[RESERVED_WHILE] = "while",   [RESERVED_UNTIL] = "until", [RESERVED_FOR] = "for",
	[RESERVED_SELECT] = "select", [RESERVED_IN] = "in",       [RESERVED_FUNCTION] = "function",
	[RESERVED_COPROC] = "coproc", [RESERVED_TIME] = "time",   [RESERVED_BANG] = "!",
	[RESERVED_OPEN] = "{",        [RESERVED_CLOSE] = "}",     [RESERVED_TEST] = "[[",
	[RESERVED_TEST_END] = "]]",
};

/* The reserved words that begin with the character, up to three; RESERVED_NONE fills the rest. */
static const unsigned char reserved_by_start[128][3] = {
	['i'] = {RESERVED_IF, RESERVED_IN},
	['t'] = {RESERVED_THEN, RESERVED_TIME},
	['e'] = {RESERVED_ELIF, RESERVED_ELSE, RESERVED_ESAC},
	['f'] = {RESERVED_FI, RESERVED_FOR, RESERVED_FUNCTION},
	['d'] = {RESERVED_DO, RESERVED_DONE},
	['c'] = {RESERVED_CASE, RESERVED_COPROC},
	['w'] = {RESERVED_WHILE},
	['u'] = {RESERVED_UNTIL},
	['s'] = {RESERVED_SELECT},
	['!'] = {RESERVED_BANG},
	['{'] = {RESERVED_OPEN},
	['}'] = {RESERVED_CLOSE},
	['['] = {RESERVED_TEST},
	[']'] = {RESERVED_TEST_END},
};

/* Whether the word that seems to end at P goes on with a process substitution. */
static bool goes_on(const struct shell_reader *r, uint32_t p)
{
	return (shell_at(r, p) == '<' || shell_at(r, p) == '>') &&
	       shell_at(r, shell_after(r, p)) == '(';
}

enum reserved shell_reserved(struct shell_reader *r, uint32_t *ret_end)
{
	const unsigned char *words;
	char name[10] = "";
	size_t n = 0;
	uint32_t p;
	char c = shell_peek(r);

	words = reserved_by_start[c & 0x7f];
	if ((c & 0x80) || !words[0])
		return RESERVED_NONE;
	for (p = r->pos; (c = shell_at(r, p)) && !shell_is(c, CLASS_META); p = shell_after(r, p)) {
		if (n == sizeof(name) - 1)
			return RESERVED_NONE;
		name[n++] = c;
	}
	name[n] = '\0';
	for (size_t i = 0; i < array_size(reserved_by_start[0]) && words[i]; i++)
		if (name[1] == reserved_words[words[i]][1] &&
		    !strcmp(name, reserved_words[words[i]]) && !goes_on(r, p)) {
			*ret_end = p;
			return (enum reserved)words[i];
		}
	return RESERVED_NONE;
}

bool shell_take_reserved(struct shell_reader *r, enum reserved word)
{
	uint32_t end = 0;

	if (!shell_ok(r) || shell_peek(r) != reserved_words[word][0] ||
	    shell_reserved(r, &end) != word)
		return false;
	r->pos = end;
	return true;
}

bool shell_at_word(struct shell_reader *r, const char *word, uint32_t *ret_end)
{
	uint32_t p;
	char c;

	shell_peek(r);
	for (p = r->pos; (c = shell_at(r, p)) && !shell_is(c, CLASS_META); p = shell_after(r, p))
		if (*word++ != c)
			return false;
	*ret_end = p;
	return !*word && !goes_on(r, p);
}
