/*
 * Only commands of a short list that only read, whatever their options are, as long as the table of
 * what options do (shell/knowledge) names no effect that matters here. Everything else may write:
 * functions, names that are not known, code in words, redirections into files.
 */
#include "decide/harmless.h"

#include <string.h>
#include "base/cleanup.h"
#include "shell/facts.h"

static const char *const readers[] = {
	":",       "[",         "basename",  "cat",      "cd",       "cksum",   "cmp",   "comm",
	"cut",     "date",      "df",        "diff",     "dirname",  "du",      "echo",  "egrep",
	"expr",    "false",     "fgrep",     "file",     "find",     "fold",    "free",  "grep",
	"groups",  "head",      "hexdump",   "hostname", "id",       "join",    "jq",    "locale",
	"ls",      "md5sum",    "nl",        "nproc",    "od",       "paste",   "pgrep", "printenv",
	"printf",  "ps",        "pwd",       "readlink", "realpath", "rev",     "rg",    "seq",
	"sha1sum", "sha256sum", "sha512sum", "sleep",    "stat",     "strings", "tac",   "tail",
	"test",    "tr",        "tree",      "true",     "tty",      "type",    "uname", "uptime",
	"wc",      "which",     "whoami",    "xxd",
};
/* Of git those that write nothing but what they look up again. */
static const char *const git_readers[] = {
	"blame",   "cat-file", "describe",  "diff",     "grep", "log",    "ls-files",
	"ls-tree", "rev-list", "rev-parse", "shortlog", "show", "status", "version",
};

static bool is(const struct shell_text *t, const char *name)
{
	return t->len == strlen(name) && memcmp(t->bytes, name, t->len) == 0;
}

static bool is_one_of(const struct shell_fact_word *w, const char *const *list, size_t n)
{
	for (size_t i = 0; w->kind == SHELL_VALUE_KNOWN && i < n; i++)
		if (is(&w->text, list[i]))
			return true;
	return false;
}

/* An output file as an operand or option that the table may not have. */
static bool names_an_output(const struct shell_fact_command *c)
{
	for (size_t i = 1; i < c->word_count; i++) {
		const struct shell_text *t = &c->words[i].text;

		if (c->words[i].kind != SHELL_VALUE_KNOWN)
			return true; /* it may be an option */
		if (t->len >= 8 && memcmp(t->bytes, "--output", 8) == 0)
			return true;
	}
	return false;
}

static bool only_reads(const struct shell_fact_command *c)
{
	static const char *const effects[] = {"write", "exec", "priv"};
	const struct shell_fact_word *w = c->words;

	for (size_t i = 0; i < c->does_count; i++)
		for (size_t j = 0; j < array_size(effects); j++)
			if (strcmp(c->does[i].effect, effects[j]) == 0)
				return false;
	if (c->kind == SHELL_KIND_NONE)
		return true;
	if ((c->kind != SHELL_KIND_EXTERNAL && c->kind != SHELL_KIND_BUILTIN) ||
	    c->word_count == 0 || c->assign_count > 0)
		return false;
	/* xxd has an output file as its second operand, and file writes one with -C. */
	if (is_one_of(w, (const char *const[]){"xxd", "file"}, 2) && c->word_count > 2)
		return false;
	if (is_one_of(w, (const char *const[]){"tree", "date", "hostname", "rg"}, 4) &&
	    names_an_output(c))
		return false;
	if (is_one_of(w, (const char *const[]){"date", "hostname", "tree"}, 3) && c->word_count > 1)
		return false;
	if (is_one_of(w, (const char *const[]){"git"}, 1))
		return c->word_count > 1 && !names_an_output(c) &&
		       is_one_of(&w[1], git_readers, array_size(git_readers));
	if (c->open && is_one_of(w, (const char *const[]){"find"}, 1))
		return false;
	return is_one_of(w, readers, array_size(readers));
}

static bool redirects_only_read(const struct shell_fact_command *c)
{
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_fact_redirect *r = &c->redirects[i];
		const struct shell_fact_word *to = &r->target;

		if (r->heredoc || strcmp(r->op, "<") == 0 || strcmp(r->op, "<<<") == 0 ||
		    strcmp(r->op, "<&") == 0)
			continue;
		if (to->kind != SHELL_VALUE_KNOWN)
			return false;
		if (is(&to->text, "/dev/null") || is(&to->text, "/dev/stdout") ||
		    is(&to->text, "/dev/stderr"))
			continue;
		/* A copy of another descriptor. */
		if (strcmp(r->op, ">&") == 0 && to->text.len > 0 && to->text.bytes[0] >= '0' &&
		    to->text.bytes[0] <= '9')
			continue;
		return false;
	}
	return true;
}

bool check_writes_nothing(const struct shell_facts *f)
{
	if (!f || (f->status != SHELL_FACTS_STATIC && f->status != SHELL_FACTS_DYNAMIC) ||
	    f->changes_reading)
		return false;
	for (size_t i = 0; i < f->effect_count; i++)
		if (f->effects[i].opaque)
			return false;
	for (size_t i = 0; i < f->command_count; i++)
		if (!only_reads(&f->commands[i]) || !redirects_only_read(&f->commands[i]))
			return false;
	return f->command_count > 0;
}
