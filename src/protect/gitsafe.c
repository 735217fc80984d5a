/*
 * Whether a configuration makes git run or read anything by itself that an older one did not.
 *
 * Keys that name no program are listed. All others must be the same as before, in the same order:
 * the operator has put them there, and what stands last often counts.
 */
#include "protect/git.h"

#include <string.h>
#include <strings.h>
#include "base/buffer.h"
#include "base/cleanup.h"

#define PAGE 4096 /* a reader sees the old or the new content of it */

struct judge {
	const char *worktree;
	struct buffer others; /* what is not harmless, in order */
};

/* Keys of a section, each with a space on both sides. A "*" is any key, "@" before one means that
 * its value is the address of a repository, or the name of one. */
static const struct {
	const char *section, *keys;
} harmless[] = {
	{"advice", " * "},
	{"apply", " whitespace ignorewhitespace "},
	{"author", " name email "},
	{"branch", " @remote merge rebase @pushremote description autosetupmerge autosetuprebase "
                   "sort vscode-merge-base github-pr-owner-number gh-merge-base "},
	{"color", " * "},
	{"column", " * "},
	{"commit", " gpgsign verbose status cleanup "},
	{"committer", " name email "},
	{"core",
         " repositoryformatversion filemode bare logallrefupdates ignorecase symlinks "
         "precomposeunicode autocrlf eol safecrlf quotepath abbrev untrackedcache preloadindex "
         "compression whitespace commentchar checkstat trustctime sparsecheckout "
         "sparsecheckoutcone commitgraph multipackindex bigfilethreshold longpaths "},
	{"diff", " algorithm colormoved colormovedws context interhunkcontext ignoresubmodules "
                 "indentheuristic mnemonicprefix noprefix relative renamelimit renames "
                 "statgraphwidth statnamewidth submodule suppressblankempty wserrorhighlight "
                 "binary cachetextconv wordregex xfuncname funcname "},
	{"extensions", " objectformat "},
	{"feature", " manyfiles "},
	{"fetch", " prune prunetags parallel output showforcedupdates writecommitgraph "
                  "recursesubmodules "},
	{"gc", " auto autodetach autopacklimit pruneexpire reflogexpire reflogexpireunreachable "},
	{"index", " version threads "},
	{"init", " defaultbranch "},
	{"log", " abbrevcommit date decorate follow showroot mailmap "},
	{"maintenance", " auto "},
	{"merge", " ff conflictstyle renames renamelimit log stat autostash directoryrenames "
                  "suppressdest branchdesc defaulttoupstream "},
	{"pack", " threads window depth compression "},
	{"pull", " rebase ff "},
	{"push", " default autosetupremote followtags useforceifincludes "},
	{"rebase", " autosquash autostash stat updaterefs missingcommitscheck abbreviatecommands "},
	{"remote", " @url @pushurl fetch push tagopt prune prunetags skipdefaultupdate "
                   "skipfetchall @pushdefault gh-resolved "},
	{"rerere", " enabled autoupdate "},
	{"stash", " showpatch showstat showincludeuntracked "},
	{"status", " * "},
	{"submodule", " @url active branch ignore path shallow fetchrecursesubmodules recurse "},
	{"tag", " sort gpgsign "},
	{"user", " name email useconfigonly signingkey "},
};

static bool is_one_of(const char *word, const char *list)
{
	size_t n = strlen(word);

	for (const char *at = list; n > 0 && (at = strcasestr(at, word)); at++)
		if (at > list && at[-1] == ' ' && at[n] == ' ')
			return true;
	return false;
}

/* A scheme or a "::" that git does not know is the name of a program. */
static bool is_address(const char *value)
{
	const char *colon = value ? strstr(value, "://") : NULL;
	char scheme[16];

	if (!value || !*value || *value == '-' || strstr(value, "::"))
		return false;
	for (const char *c = value; *c; c++)
		if ((unsigned char)*c < ' ')
			return false;
	if (!colon)
		return true;
	if ((size_t)(colon - value) >= sizeof(scheme))
		return false;
	memcpy(scheme, value, (size_t)(colon - value));
	scheme[colon - value] = '\0';
	return !strchr(scheme, ' ') && is_one_of(scheme, " http https ssh git file ");
}

/* What a submodule does when it is updated; git also takes "!" and a program. */
static bool is_update(const struct git_key *k)
{
	return strcmp(k->section, "submodule") == 0 && strcmp(k->key, "update") == 0 && k->value &&
	       is_one_of(k->value, " checkout rebase merge none ");
}

/* An alias for looking. One for anything else would walk around a rule about that command, and git
 * runs a program for "!", for -c and for some options. */
static bool is_alias(const struct git_key *k)
{
	static const char looks[] = " status log diff show shortlog blame describe reflog ";
	static const char options[] =
		" -s -b -sb --short --branch --oneline --graph --all --decorate --stat --shortstat "
		"--cached --staged --name-only --name-status --abbrev-commit --word-diff -p "
		"--patch "
		"--tags --always -n -1 -2 -3 -5 -10 -20 --no-merges --reverse --date=short "
		"--date=relative --date=iso HEAD ";
	char word[32];
	size_t n;

	if (strcmp(k->section, "alias") != 0 || k->name[0] || !k->value || !*k->value)
		return false;
	for (const char *at = k->value; *at; at += n + (at[n] == ' ')) {
		n = strcspn(at, " ");
		if (n == 0 || n >= sizeof(word))
			return false;
		memcpy(word, at, n);
		word[n] = '\0';
		if (strpbrk(word, "\t\n") || !is_one_of(word, at == k->value ? looks : options))
			return false;
	}
	return true;
}

static bool is_harmless_key(const struct judge *j, const struct git_key *k)
{
	char address[40] = "@";

	if (j->worktree && k->value && strcmp(k->section, "core") == 0 &&
	    strcmp(k->key, "worktree") == 0)
		return strcmp(k->value, j->worktree) == 0;
	if (is_update(k) || is_alias(k))
		return true;
	strncat(address, k->key, sizeof(address) - 2);
	for (size_t i = 0; i < array_size(harmless); i++) {
		if (strcmp(k->section, harmless[i].section) != 0)
			continue;
		if (is_one_of(address, harmless[i].keys))
			return is_address(k->value);
		return is_one_of("*", harmless[i].keys) || is_one_of(k->key, harmless[i].keys);
	}
	return false;
}

static int take_key(void *context, const struct git_key *k)
{
	struct judge *j = context;
	const char *const parts[] = {k->section, k->name, k->key, k->value ? "=" : "",
	                             k->value ? k->value : ""};

	if (is_harmless_key(j, k))
		return 0;
	for (size_t i = 0; i < array_size(parts); i++) {
		buffer_puts(&j->others, parts[i]);
		buffer_putc(&j->others, '\0');
	}
	return buffer_error(&j->others);
}

static void judge_done(struct judge *j)
{
	buffer_done(&j->others);
}

/* WHOLE: all that is not harmless in WAS is there; else a first part of it may be all. */
static bool adds_nothing(const struct judge *was, const char *bytes, size_t n, bool whole)
{
	scoped(judge_done) struct judge j = {.worktree = was->worktree};

	if (git_config_parse(bytes, n, take_key, &j) < 0 || j.others.len > was->others.len ||
	    (whole && j.others.len != was->others.len))
		return false;
	return j.others.len == 0 || memcmp(j.others.data, was->others.data, j.others.len) == 0;
}

bool git_config_is_harmless(const struct git_text *now, const struct git_text *was,
                            const char *worktree)
{
	scoped(judge_done) struct judge j = {.worktree = worktree};

	if (memchr(now->bytes, 0, now->n)) /* our strings end there, and git's do not */
		return false;
	if (was && git_config_parse(was->bytes, was->n, take_key, &j) < 0)
		return false;
	return adds_nothing(&j, now->bytes, now->n, true);
}

/* While a file is written over, who reads it may see the beginning of the new content, or an old
 * beginning and the rest of the new: at the borders of pages. */
bool git_config_may_replace(const struct git_text *now, const struct git_text *was)
{
	scoped(judge_done) struct judge j = {0};
	scoped(buffer_donep) struct buffer mixed = {0};

	if (!git_config_is_harmless(now, was, NULL) ||
	    git_config_parse(was->bytes, was->n, take_key, &j) < 0)
		return false;
	for (size_t at = PAGE; at < now->n; at += PAGE) {
		if (!adds_nothing(&j, now->bytes, at, false))
			return false;
		if (at > was->n || memcmp(now->bytes, was->bytes, at) == 0)
			continue;
		buffer_clear(&mixed);
		buffer_append(&mixed, was->bytes, at);
		buffer_append(&mixed, now->bytes + at, now->n - at);
		if (buffer_error(&mixed) < 0 || !adds_nothing(&j, mixed.data, mixed.len, false))
			return false;
	}
	return true;
}
