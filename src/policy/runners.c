#include "policy/runners.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "policy/inside.h"
#include "shell/wrappers.h"

const char *const policy_shells[] = {"bash",   "sh",   "dash",  "zsh",  "ksh",   "ksh93", "mksh",
                                     "ash",    "fish", "csh",   "tcsh", "rbash", "yash",  "posh",
                                     "elvish", "nu",   "xonsh", "pwsh", NULL};

const char *const policy_interpreters[] = {
	"python", "python2", "python3",  "python3.*", "pypy",   "pypy3",  "perl",      "perl5.*",
	"ruby",   "node",    "nodejs",   "deno",      "bun",    "php",    "lua",       "lua5.*",
	"luajit", "tclsh",   "tclsh8.*", "wish",      "expect", "guile",  "osascript", "Rscript",
	"R",      "julia",   "groovy",   "scala",     "ghci",   "runghc", "erl",       "elixir",
	"iex",    "clojure", "gdb",      "awk",       "gawk",   "mawk",   "nawk",      NULL};

const char *const policy_editors[] = {"vi",  "vim",  "vimdiff", "view",  "rvim",  "nvim",
                                      "ex",  "ed",   "nano",    "pico",  "emacs", "emacsclient",
                                      "joe", "jed",  "mcedit",  "micro", "helix", "hx",
                                      "kak", "code", "gedit",   "kate",  NULL};

static const char *const others[] = {"eval", "source",  ".",      "exec",  "trap",
                                     "make", "gmake",   "pmake",  "bmake", "ninja",
                                     "ssh",  "busybox", "toybox", NULL};

static const char *const languages[] = {
	"perldoc", "irb",   "ts-node", "tsx",   "jshell", "java",         "dotnet", "mono",
	"octave",  "swipl", "sbcl",    "clisp", "racket", "original-awk", "jimsh",  NULL};

/* The name, or the name with something behind it that is no letter: lua5.4, perl-5.36, luajit-2.1.
 */
static bool is_version_of(const char *name, const char *program)
{
	size_t n = strlen(program);

	return strncmp(name, program, n) == 0 && !isalpha((unsigned char)name[n]);
}

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (glob_matches(*list, name, true) || is_version_of(name, *list))
			return true;
	return false;
}

bool policy_interprets(const char *name)
{
	const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;

	return is_one_of(base, policy_interpreters) || is_one_of(base, languages);
}

bool policy_runs_anything(const char *name)
{
	const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;

	return is_one_of(base, policy_shells) || is_one_of(base, policy_interpreters) ||
	       is_one_of(base, policy_editors) || is_one_of(base, others) ||
	       is_one_of(base, languages) || shell_wrapper_find(base) != NULL;
}

/* A hard link to one has a name of its own; this looks where the system has them. */
static bool is_link_to(const struct stat *st, const char *const *list)
{
	static const char *const dirs[] = {"/usr/bin", "/bin", "/usr/local/bin", NULL};
	char path[PATH_MAX];
	struct stat other;

	for (; *list; list++)
		for (const char *const *d = dirs; *d; d++) {
			snprintf(path, sizeof(path), "%s/%s", *d, *list);
			if (stat(path, &other) == 0 && other.st_dev == st->st_dev &&
			    other.st_ino == st->st_ino)
				return true;
		}
	return false;
}

bool policy_file_runs_anything(const char *path)
{
	struct stat st;

	if (policy_runs_anything(path))
		return true;
	return stat(path, &st) == 0 && st.st_nlink > 1 &&
	       (is_link_to(&st, policy_shells) || is_link_to(&st, policy_interpreters) ||
	        is_link_to(&st, policy_editors) || is_link_to(&st, others) ||
	        is_link_to(&st, languages));
}

static bool is_own_word(const struct shell_fact_command *c, const char *text)
{
	for (size_t i = 1; i < c->word_count; i++)
		if (c->words[i].kind == SHELL_VALUE_KNOWN &&
		    strcmp(c->words[i].text.bytes, text) == 0)
			return true;
	return false;
}

/* sqlite3 x.db '.read y', psql -c '\\i y': what such a program takes from its input, as a word. */
static bool has_dot_command(const struct shell_fact_command *c)
{
	for (size_t i = 1; i < c->word_count; i++)
		if (c->words[i].kind == SHELL_VALUE_KNOWN && c->words[i].text.len > 1 &&
		    strchr(".\\", c->words[i].text.bytes[0]) &&
		    isalpha((unsigned char)c->words[i].text.bytes[1]))
			return true;
	return false;
}

bool policy_words_run(const struct shell_fact_command *c)
{
	for (size_t i = 0; i < c->does_count; i++) {
		const char *by = c->does[i].by;

		if (strcmp(c->does[i].effect, "exec") != 0)
			continue;
		if (strcmp(by, "always") == 0) {
			if (has_dot_command(c))
				return true;
			continue;
		}
		if (by[0] == '-' || !is_own_word(c, by))
			return true;
	}
	return false;
}
