/*
 * A program reads its words in its own way: as names, as options with a name behind the letter,
 * as code that names files in turn. None of that is known here. Whatever could be a name is looked
 * for: what is found too much is bound too much, and harmless.
 */
#include "approval/gather.h"

#include <limits.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"

#define CLUSTER_MAX 16 /* letters of one word */

static const char letters[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+-%~";
static const char separators[] = ":=,@";

static bool is_of_name(char c, bool split)
{
	return strchr(letters, c) || (!split && strchr(separators, c)) || (unsigned char)c >= 0x80;
}

/* Behind a variable's name the name of a file may begin with its slash: $PWD/run.sh. */
static void tell(struct gathering *g, const char *piece, gather_piece *each)
{
	const char *slash = strchr(piece, '/');

	each(g, piece);
	if (slash && slash[1])
		each(g, slash + 1);
}

void gather_pieces(struct gathering *g, const char *text, bool split, gather_piece *each)
{
	bool before = g->guessing;
	char piece[PATH_MAX];

	g->guessing = true;
	while (*text && !g->failed) {
		size_t n = 0;

		while (text[n] && is_of_name(text[n], split))
			n++;
		if (n > 0 && n < sizeof(piece)) {
			memcpy(piece, text, n);
			piece[n] = '\0';
			tell(g, piece, each);
		}
		text += n + (text[n] != '\0');
	}
	g->guessing = before;
}

/* Quotes inside of code are none of a name: '!sh ru""n.sh'. */
static void unquoted_pieces(struct gathering *g, const char *text, gather_piece *each)
{
	scoped(buffer_donep) struct buffer plain = {0};

	gather_pieces(g, text, false, each);
	gather_pieces(g, text, true, each);
	if (!strpbrk(text, "'\"\\"))
		return;
	for (const char *p = text; *p; p++)
		if (!strchr("'\"\\", *p))
			buffer_putc(&plain, *p);
	if (buffer_error(&plain) < 0)
		g->failed = buffer_error(&plain);
	else
		gather_pieces(g, buffer_str(&plain), true, each);
}

void gather_line(struct gathering *g, gather_piece *each)
{
	for (const char *const *a = g->subject->argv; *a && !g->failed; a++)
		unquoted_pieces(g, *a, each);
}

/* "-f" "x", "--file=x", "-fx", "-sfx", "@x" and "dir=x" may all name the file x. */
static void try_word(struct gathering *g, const struct shell_fact_word *w, bool runs)
{
	const char *text = gather_text_of(w), *value;

	if (!*text)
		return;
	gather_try(g, text);
	for (size_t k = 2;
	     text[0] == '-' && text[1] != '-' && k < CLUSTER_MAX && text[k - 1] && text[k]; k++)
		gather_try(g, text + k);
	for (value = strchr(text, '='); value; value = strchr(value + 1, '='))
		gather_try(g, value + 1);
	if (text[0] == '@')
		gather_try(g, text + 1);
	if (runs)
		unquoted_pieces(g, text, gather_try);
}

void gather_operands(struct gathering *g)
{
	const struct shell_facts *facts = g->subject->facts;

	for (size_t i = 0; i < facts->command_count && !g->failed; i++) {
		const struct shell_fact_command *c = &facts->commands[i];
		bool runs = gather_runs(g, i);

		for (size_t k = 1; k < c->word_count && !g->failed; k++)
			try_word(g, &c->words[k], runs);
		/* BASH_ENV=x, GIT_SSH_COMMAND='sh x', BASH_CMDS[ls]=x */
		for (size_t k = 0; k < c->assign_count && !g->failed; k++)
			try_word(g, &c->assigns[k].value, true);
		for (size_t k = 0; k < c->redirect_count && !g->failed; k++)
			if (!c->redirects[k].heredoc && c->redirects[k].op[0] == '<')
				try_word(g, &c->redirects[k].target, false);
	}
	if (!gather_is_known(facts, false))
		gather_line(g, gather_try);
}

/* Names below the workspace alone: what is elsewhere nobody changes. */
static void try_inside(struct gathering *g, const char *piece)
{
	size_t n = strlen(g->subject->workspace);

	if (piece[0] != '/' || (strncmp(piece, g->subject->workspace, n) == 0 && piece[n] == '/'))
		gather_try(g, piece);
}

void gather_environment(struct gathering *g)
{
	static const char *const places[] = {"PATH", "HOME", "PWD", "OLDPWD", "TMPDIR", NULL};

	for (const char *const *e = g->subject->envp; e && *e && !g->failed; e++) {
		size_t n = strcspn(*e, "=");
		bool is_place = !(*e)[n];

		for (const char *const *p = places; *p; p++)
			is_place |= strlen(*p) == n && memcmp(*p, *e, n) == 0;
		if (!is_place)
			unquoted_pieces(g, *e + n + 1, try_inside);
	}
}
