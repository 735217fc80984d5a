/*
 * What a line writes: targets of redirections, and the words of commands that name files to be
 * written.
 *
 * The knowledge table says that a command writes, not always which of its words it writes: cp reads
 * all operands but the last. So ordinary writers have a row here; of others the values of those
 * options count that the table calls written.
 */
#include "policy/inside.h"

#include <string.h>
#include "base/cleanup.h"

enum {
	ALL = 1 << 0, /* each operand */
	FIRST = 1 << 1,
	SECOND = 1 << 2,
	LAST = 1 << 3,   /* if there are two at least */
	BEHIND = 1 << 4, /* of=FILE */
	SCRIPT = 1 << 5, /* names in a program that is an operand */
};

struct writer {
	const char *name;
	unsigned operands;
	const char *needs;  /* only with one of these options */
	const char *unless; /* not with one of these */
	const char *values; /* options whose value is written */
};

static const struct writer writers[] = {
	{"tee", ALL, 0, 0, 0},
	{"touch", ALL, 0, 0, 0},
	{"sponge", ALL, 0, 0, 0},
	{"rm", ALL, 0, 0, 0},
	{"rmdir", ALL, 0, 0, 0},
	{"unlink", ALL, 0, 0, 0},
	{"mkdir", ALL, 0, 0, 0},
	{"mkfifo", ALL, 0, 0, 0},
	{"mknod", ALL, 0, 0, 0},
	{"truncate", ALL, 0, 0, 0},
	{"shred", ALL, 0, 0, 0},
	{"mv", ALL, 0, 0, "-t|--target-directory"},
	{"chmod", ALL, 0, 0, 0},
	{"chown", ALL, 0, 0, 0},
	{"chgrp", ALL, 0, 0, 0},
	{"chattr", ALL, 0, 0, 0},
	{"setfacl", ALL, 0, 0, 0},
	{"setfattr", ALL, 0, 0, 0},
	{"setcap", ALL, 0, 0, 0},
	{"visudo", ALL, 0, 0, "-f|--file"},
	{"vi", ALL, 0, "-R", 0},
	{"vim", ALL, 0, "-R", 0},
	{"nvim", ALL, 0, "-R", 0},
	{"nano", ALL, 0, "-v|--view", 0},
	{"emacs", ALL, 0, 0, 0},
	{"ed", ALL, 0, 0, 0},
	{"ex", ALL, 0, "-R", 0},
	{"patch", FIRST, 0, "--dry-run", "-o|--output|-d|--directory"},
	{"cp", LAST, 0, 0, "-t|--target-directory"},
	{"install", LAST, 0, 0, "-t|--target-directory"},
	{"ln", LAST, 0, 0, "-t|--target-directory"},
	{"link", LAST, 0, 0, 0},
	{"rsync", LAST, 0, "-n|--dry-run", 0},
	{"scp", LAST, 0, 0, 0},
	{"ffmpeg", LAST, 0, 0, 0},
	{"convert", LAST, 0, 0, 0},
	{"objcopy", LAST, 0, 0, 0},
	{"split", SECOND, 0, 0, 0},
	{"uniq", SECOND, 0, 0, 0},
	{"xxd", SECOND, 0, 0, 0},
	{"ar", SECOND, 0, 0, 0},
	{"zip", FIRST, 0, 0, 0},
	{"sqlite3", FIRST, 0, "-readonly", 0},
	{"dd", BEHIND, 0, 0, 0},
	{"sed", ALL, "-i|--in-place", 0, 0},
	{"sed", SCRIPT, 0, 0, 0},
	{"awk", SCRIPT, 0, 0, 0},
	{"gawk", SCRIPT, 0, 0, 0},
	{"mawk", SCRIPT, 0, 0, 0},
	{"perl", ALL, "-i", 0, 0},
	{"ruby", ALL, "-i", 0, 0},
	{"find", ALL, "-delete", 0, "-fprint|-fprint0|-fprintf|-fls"},
	{"gzip", ALL, 0, "-c|--stdout|-l|--list|-t|--test", 0},
	{"gunzip", ALL, 0, "-c|--stdout|-l|--list|-t|--test", 0},
	{"bzip2", ALL, 0, "-c|--stdout|-t|--test", 0},
	{"xz", ALL, 0, "-c|--stdout|-l|--list|-t|--test", 0},
	{"zstd", 0, 0, 0, "-o"},
	{"unzip", 0, 0, "-l|-t|-p|-v", "-d"},
	{"curl", 0, 0, 0, "-o|--output|--output-dir|-D|--dump-header|-c|--cookie-jar|--trace"},
	{"wget", 0, 0, 0, "-O|-P|-o|-a|--output-document|--directory-prefix|--output-file"},
	{"sort", 0, 0, 0, "-o|--output"},
	{"tar", 0, 0, 0, 0},    /* as its letters say */
	{"docker", 0, 0, 0, 0}, /* paths of another machine */
	{"podman", 0, 0, 0, 0},
};

/* Names of what is open already. */
static bool is_stream(const struct shell_fact_word *w)
{
	static const char *const names[] = {"/dev/null",   "/dev/zero",   "/dev/full", "/dev/stdin",
	                                    "/dev/stdout", "/dev/stderr", "/dev/tty",  NULL};

	return w->pipe ||
	       (w->kind == SHELL_VALUE_KNOWN &&
	        (word_in_list(names, w->text.bytes) ||
	         (strncmp(w->text.bytes, "/dev/fd/", 8) == 0 && !strstr(w->text.bytes, ".."))));
}

struct hunt { /* for a word that is written */
	struct look *l;
	struct subject *s;
	const struct word_role *roles;
	const char *const *globs;
	const char *text;
	enum match best;
};

static void hold(struct hunt *h, const struct shell_fact_word *w)
{
	const char *text = NULL;
	enum match m;

	if (is_stream(w))
		return;
	m = word_meets(h->l, w, h->globs, &text);
	if (m > h->best) {
		h->best = m;
		h->text = text;
	}
}

/* A part of a word, with the certainty of the whole. */
static void hold_part(struct hunt *h, const struct shell_fact_word *w, struct shell_text part)
{
	struct shell_fact_word one = *w;

	one.text = part;
	one.node = NULL;
	hold(h, &one);
}

/* Operands */

/* Names in a program of sed or awk that writes files: wherever a path could begin. */
static void hold_script(struct hunt *h, const struct shell_fact_word *w)
{
	static const char path_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789_./-";

	for (const char *at = strchr(w->text.bytes, '/'); at; at = strchr(at + 1, '/')) {
		const char *folded = path_fold(h->l, "/", at, strspn(at, path_bytes));

		for (const char *const *g = h->globs; folded && *g; g++) {
			if (h->best < MATCH_LIKELY && glob_matches(*g, folded, false)) {
				h->best = MATCH_LIKELY;
				h->text = folded;
			}
		}
	}
}

static bool writes_by_script(const struct subject *s)
{
	for (size_t i = 0; i < s->command->does_count; i++)
		if (strcmp(s->command->does[i].effect, "write") == 0 &&
		    s->command->does[i].by[0] != '-')
			return true;
	return false;
}

static void hold_operands(struct hunt *h, unsigned which)
{
	const struct shell_fact_command *c = h->s->command;
	size_t number = 0, last = 0;

	for (size_t i = 1; i < c->word_count; i++)
		if (h->roles[i].role == ROLE_OPERAND || h->roles[i].role == ROLE_OPEN)
			last = i;
	for (size_t i = 1; i < c->word_count; i++) {
		const struct shell_fact_word *w = &c->words[i];

		if (which & SCRIPT && h->roles[i].role != ROLE_OPTION && writes_by_script(h->s))
			hold_script(h, w);
		if (h->roles[i].role != ROLE_OPERAND && h->roles[i].role != ROLE_OPEN)
			continue;
		number++;
		if (which & BEHIND) {
			if (w->text.len > 3 && memcmp(w->text.bytes, "of=", 3) == 0)
				hold_part(h, w,
				          (struct shell_text){w->text.bytes + 3, w->text.len - 3});
			else if (w->kind != SHELL_VALUE_KNOWN &&
			         (!w->text.len || w->text.bytes[0] == 'o'))
				hold(h, w);
		}
		if (which & ALL || (which & FIRST && number == 1) ||
		    (which & SECOND && number == 2) || (which & LAST && i == last && number > 1) ||
		    (which & (SECOND | LAST) && h->roles[i].role == ROLE_OPEN))
			hold(h, w);
	}
}

/* Options */

static bool spec_has(const char *spec, const char *option, size_t n)
{
	for (const char *at = spec;; at++) {
		size_t len = strcspn(at, "|");

		if (len == n && memcmp(at, option, n) == 0)
			return true;
		at += len;
		if (!*at)
			return false;
	}
}

/* -oFILE, -xoFILE, --output=FILE, --outp FILE, -o FILE */
static void hold_values(struct hunt *h, const char *spec)
{
	const struct shell_fact_command *c = h->s->command;

	for (size_t i = 1; i < c->word_count; i++) {
		const struct shell_fact_word *w = &c->words[i];
		const char *equals = memchr(w->text.bytes, '=', w->text.len);
		size_t n = equals ? (size_t)(equals - w->text.bytes) : w->text.len;
		bool fits = false;

		if (h->roles[i].role != ROLE_OPTION || n < 2)
			continue;
		if (w->text.bytes[1] == '-') {
			for (const char *at = spec; *at;
			     at += strcspn(at, "|") + (at[strcspn(at, "|")] != 0))
				fits |= n > 3 && strncmp(at, w->text.bytes, n) == 0;
		} else {
			fits = spec_has(spec, w->text.bytes, n);
			for (size_t k = 1; !fits && k < w->text.len; k++) {
				char one[2] = {'-', w->text.bytes[k]};

				if (!spec_has(spec, one, 2))
					continue;
				fits = true;
				if (k + 1 < w->text.len)
					hold_part(h, w,
					          (struct shell_text){w->text.bytes + k + 1,
					                              w->text.len - k - 1});
			}
		}
		if (fits && equals)
			hold_part(h, w, (struct shell_text){equals + 1, w->text.len - n - 1});
		else if (fits && i + 1 < c->word_count)
			hold(h, &c->words[i + 1]);
	}
}

/* tar cf FILE, tar -xf x -C DIR: the letters say which of them is written. */
static void hold_tar(struct hunt *h)
{
	const struct shell_fact_command *c = h->s->command;
	bool old = c->word_count > 1 && c->words[1].text.len && c->words[1].text.bytes[0] != '-';
	bool makes, takes;

	makes = operand_option(h->l, h->s,
	                       "-c|-r|-u|-A|--create|--append|--update|--concatenate") >=
	        MATCH_LIKELY;
	takes = operand_option(h->l, h->s, "-x|--extract|--get") >= MATCH_LIKELY;
	if (old) {
		makes |= strpbrk(c->words[1].text.bytes, "cruA") != NULL;
		takes |= strchr(c->words[1].text.bytes, 'x') != NULL;
	}
	if (makes && old && strchr(c->words[1].text.bytes, 'f') && c->word_count > 2)
		hold(h, &c->words[2]);
	if (makes)
		hold_values(h, "-f|--file");
	if (takes)
		hold_values(h, "-C|--directory");
}

static void hold_git_clone(struct hunt *h)
{
	const struct shell_fact_command *c = h->s->command;
	const char *const clone[] = {"clone", NULL};

	if (operand_args_match(h->l, h->s, clone) >= MATCH_LIKELY && c->word_count > 3)
		hold(h, &c->words[c->word_count - 1]);
}

static bool fits(struct hunt *h, const struct writer *w)
{
	if (w->needs && operand_option(h->l, h->s, w->needs) < MATCH_LIKELY)
		return false;
	return !w->unless || operand_option(h->l, h->s, w->unless) < MATCH_LIKELY;
}

static void hold_command(struct hunt *h)
{
	bool listed = false;

	h->roles = subject_roles(h->l, h->s);
	if (!h->roles) {
		h->best = MATCH_MAYBE;
		return;
	}
	for (size_t i = 0; i < array_size(writers); i++) {
		const struct writer *w = &writers[i];

		if (w->name[0] != h->s->name[0] || strcmp(w->name, h->s->name) != 0)
			continue;
		listed = true;
		if (w->values)
			hold_values(h, w->values);
		if (w->operands && fits(h, w))
			hold_operands(h, w->operands);
	}
	if (strcmp(h->s->name, "tar") == 0)
		hold_tar(h);
	if (strcmp(h->s->name, "git") == 0)
		hold_git_clone(h);
	for (size_t i = 0; !listed && i < h->s->command->does_count; i++) {
		const struct shell_fact_does *d = &h->s->command->does[i];

		if (strcmp(d->effect, "write") == 0 && d->by[0] == '-')
			hold_values(h, d->by);
	}
}

static bool writes(const char *op)
{
	return (op[0] == '>' && strcmp(op, ">&") != 0) || op[0] == '&' || strcmp(op, "<>") == 0;
}

enum match write_match(struct look *l, const struct policy_rule *rule, const char **ret_operand)
{
	struct hunt h = {.l = l, .globs = rule->write_to};

	for (size_t i = 0; i < l->facts->command_count && h.best != MATCH_YES; i++) {
		const struct shell_fact_command *c = &l->facts->commands[i];

		h.s = &l->subjects[i];
		for (size_t k = 0; k < c->redirect_count; k++)
			if (!c->redirects[k].heredoc && writes(c->redirects[k].op))
				hold(&h, &c->redirects[k].target);
		if (h.s->name && h.s->runs && c->word_count > 1)
			hold_command(&h);
	}
	*ret_operand = h.text;
	return h.best;
}
