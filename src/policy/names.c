/*
 * Which rules have the name of a command.
 *
 * A program has many names: the word, the links that it leads through, the file at the end, names
 * with a version, hard links. Rules that refuse are found by each of them, rules that allow only by
 * the word itself.
 */
#include "policy/inside.h"

#include <string.h>
#include "base/arena.h"
#include "base/cleanup.h"

void fitting_init(struct look *l, struct fitting *f)
{
	f->count = 0;
	f->rules = look_alloc(l, (l->policy->count + 1) * sizeof(*f->rules));
}

static void add_fitting(struct fitting *f, uint32_t rule)
{
	size_t at = f->count;

	if (!f->rules)
		return; /* the decision has failed */
	for (size_t i = 0; i < f->count; i++)
		if (f->rules[i] == rule)
			return;
	for (; at && f->rules[at - 1] > rule; at--)
		f->rules[at] = f->rules[at - 1];
	f->rules[at] = rule;
	f->count++;
}

/* An allow rule names a program of the system: what is named by a relative path is another. */
static bool names_system(const struct subject *s)
{
	return s->word[0] == '/' || !strchr(s->word, '/');
}

void fitting_add_name(const struct look *l, struct fitting *f, const char *name, bool allow)
{
	for (const struct name_entry *e = policy_name_first(l->policy, name); e;
	     e = policy_name_next(l->policy, e))
		if (allow || l->policy->compiled[e->rule].rule->list != POLICY_ALLOW)
			add_fitting(f, e->rule);
}

/* Names that the same program has elsewhere: python3.11 is python3 and python, vim.basic is vim. */
static void add_variants(const struct look *l, struct fitting *f, const char *name)
{
	static const char *const others[][2] = {
		{"mke2fs", "mkfs"},
		{"mkdosfs", "mkfs"},
		{"mawk", "awk"},
		{"gawk", "awk"},
		{"nawk", "awk"},
		{"original-awk", "awk"},
		{"xtables-nft-multi", "iptables"},
		{"xtables-legacy-multi", "iptables"},
		{"iptables-nft", "iptables"},
		{"iptables-legacy", "iptables"},
		{"ip6tables-nft", "ip6tables"},
		{"ip6tables-legacy", "ip6tables"},
		{"sudo-rs", "sudo"},
		{"su-rs", "su"},
		{"sudoedit", "sudo"},
		{"sudo.ws", "sudo"},
		{"nodejs", "node"},
		{"rbash", "bash"},
		{"telinit", "init"},
		{"systemd", "init"},
		{"batcat", "bat"},
		{"fdfind", "fd"},
	};
	char cut[64], *dot;
	size_t n = strlen(name);

	for (size_t i = 0; i < array_size(others); i++)
		if (strcmp(others[i][0], name) == 0)
			fitting_add_name(l, f, others[i][1], false);
	if (n >= sizeof(cut))
		return;
	memcpy(cut, name, n + 1);
	/* Versions: python3.11, python3, python; then vim.basic, nc.openbsd. */
	while (n > 1 && ((cut[n - 1] >= '0' && cut[n - 1] <= '9') || cut[n - 1] == '.')) {
		cut[--n] = '\0';
		fitting_add_name(l, f, cut, false);
	}
	dot = n > 1 ? strchr(cut, '.') : NULL;
	if (dot) {
		static const char *const kinds[] = {".basic",   ".tiny",        ".nox",     ".gtk3",
		                                    ".openbsd", ".traditional", ".distrib", NULL};

		if (word_in_list(kinds, dot)) {
			*dot = '\0';
			fitting_add_name(l, f, cut, false);
		}
	}
}

static bool is_multi_call(const char *base)
{
	static const char *const names[] = {"busybox",   "toybox", "coreutils", "pgrep", "snap",
	                                    "systemctl", "kmod",   "ccache",    NULL};

	return word_in_list(names, base);
}

/* Every command is looked for in every directory; past these numbers the line is not decided. */
#define NEW_DIRS_MAX      1024
#define NEW_DIR_LOOKS_MAX 65536

static void add_new_dir(struct look *l, const char *dir)
{
	for (size_t i = 0; i < l->new_dir_count; i++)
		if (strcmp(l->new_dirs[i], dir) == 0)
			return;
	if (l->new_dir_count == NEW_DIRS_MAX)
		l->failed = l->too_many_dirs = true;
	else
		l->new_dirs[l->new_dir_count++] = dir;
}

static void read_new_dirs(struct look *l, const struct shell_fact_command *c)
{
	for (size_t k = 0; k < c->assign_count + c->word_count; k++) {
		const struct shell_fact_word *w =
			k < c->assign_count ? &c->assigns[k].value : &c->words[k - c->assign_count];
		const char *at = w->text.bytes;

		if (k < c->assign_count ? !word_text_is(c->assigns[k].name, "PATH")
		                        : strncmp(at, "PATH=", 5) != 0)
			continue;
		at += k < c->assign_count ? 0 : 5;
		for (; *at && !l->failed; at += strspn(at, ":")) {
			size_t n = strcspn(at, ":");
			const char *dir = path_fold(l, l->base, at, n);

			at += n;
			if (dir)
				add_new_dir(l, dir);
		}
	}
}

/* PATH=.:$PATH x: the directories that are known are looked into, too. */
static void add_new_path(struct look *l, struct subject *s, struct fitting *f)
{
	if (!l->new_dirs) {
		l->new_dirs = look_alloc(l, NEW_DIRS_MAX * sizeof(*l->new_dirs));
		for (size_t i = 0; !l->failed && i < l->facts->command_count; i++)
			read_new_dirs(l, &l->facts->commands[i]);
	}
	for (size_t i = 0; !l->failed && i < l->new_dir_count; i++) {
		struct subject there = {.command = s->command, .name = s->name, .runs = true};

		there.word = arena_printf(l->arena, "%s/%s", l->new_dirs[i], s->name);
		if (++l->new_dir_looks > NEW_DIR_LOOKS_MAX)
			l->failed = l->too_many_dirs = true;
		if (!there.word)
			l->failed = true;
		if (l->failed)
			return;
		if (!subject_file(l, &there)->found)
			continue;
		fitting_add_name(l, f, there.file.base, false);
		for (size_t j = 0; j < there.file.link_count; j++)
			fitting_add_name(l, f, there.file.links[j], false);
	}
}

static void add_file(struct look *l, struct subject *s, struct fitting *f)
{
	const struct policy_file *file = subject_file(l, s);

	if (l->sets_path && !strchr(s->word, '/'))
		add_new_path(l, s, f);
	if (!file->found)
		return;
	/* A name of the system's own that leads to a program of many names is that name. */
	if (!(file->trusted && !file->in_place && is_multi_call(file->base)))
		fitting_add_name(l, f, file->base, false);
	for (size_t i = 0; i < file->link_count; i++)
		if (!(file->trusted && is_multi_call(file->links[i])))
			fitting_add_name(l, f, file->links[i], false);
	if (file->trusted)
		add_variants(l, f, s->name);
	if (file->nlink < 2)
		return;
	for (size_t i = 0; i < l->policy->name_count; i++) {
		const struct name_entry *e = &l->policy->names[i];

		if (l->policy->compiled[e->rule].rule->list != POLICY_ALLOW &&
		    strcmp(e->name, s->name) != 0 && file_is_that_of(l, file, e->name))
			fitting_add_name(l, f, e->name, false);
	}
}

static bool path_glob_fits(struct look *l, struct subject *s, const char *glob, bool allow)
{
	const char *folded;

	if (!strchr(s->word, '/'))
		return false;
	if (glob[0] == '/') {
		folded = path_fold(l, l->base, s->word, strlen(s->word));
		return folded && glob_matches(glob, folded, true);
	}
	if (s->word[0] == '/')
		return false;
	/* Relative to the directory of the command; to be allowed it must stay in the workspace. */
	folded = path_fold(l, "", s->word, strlen(s->word));
	if (!folded ||
	    !glob_matches(glob[0] == '.' && glob[1] == '/' ? glob + 2 : glob, folded + 1, true))
		return false;
	if (!allow)
		return true;
	/* What is not there yet may be built by the line; a directory is no program. */
	return s->word[0] != '~' && (subject_file(l, s)->found || s->file.missing) &&
	       path_is_inside(l, s->word);
}

static bool glob_fits(struct look *l, struct subject *s, const struct policy_rule *rule)
{
	bool allow = rule->list == POLICY_ALLOW;

	if (!rule->commands) /* any command */
		return true;
	for (const char *const *c = rule->commands; *c; c++) {
		const struct policy_file *file;

		if (!policy_name_is_glob(*c))
			continue;
		if (strchr(*c, '/')) {
			if (path_glob_fits(l, s, *c, allow))
				return true;
			continue;
		}
		if (glob_matches(*c, s->name, true))
			return true;
		file = allow ? NULL : subject_file(l, s);
		if (file && file->found && glob_matches(*c, file->base, true) &&
		    !(file->trusted && is_multi_call(file->base)))
			return true;
	}
	return false;
}

void fitting_find(struct look *l, struct subject *s, struct fitting *f)
{
	fitting_init(l, f);
	fitting_add_name(l, f, s->name, names_system(s));
	if (s->command->kind != SHELL_KIND_BUILTIN)
		add_file(l, s, f);
	for (size_t i = 0; i < l->policy->glob_count; i++)
		if (glob_fits(l, s, l->policy->compiled[l->policy->globs[i]].rule))
			add_fitting(f, l->policy->globs[i]);
}
