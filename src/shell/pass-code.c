/*
 * Nested code: what sh -c, eval, trap and shells that read standard input are given.
 *
 * Code that is known is read and walked like the text itself; all else is opaque. Other shells than
 * bash read some constructs differently (dash takes (( )) as two subshells and &> as & and >), so
 * code for them is known only as far as all of them agree.
 */
#include "shell/pass.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"

static bool any_of(struct shell_text name, const char *const *names, size_t n)
{
	char first = name.bytes[0]; /* the NUL behind it, if there is none */

	for (size_t i = 0; i < n; i++)
		if (names[i][0] == first && pass_text_is(name, names[i]))
			return true;
	return false;
}

/* Whether the letters stand there, perhaps with continuations between them. */
static bool has_letters(const char *s, const char *letters)
{
	for (; (s = strchr(s, letters[0])); s++) {
		const char *at = s + 1, *next = letters + 1;

		for (; *next; next++) {
			at += strspn(at, "\\\n");
			if (*at++ != *next)
				break;
		}
		if (!*next)
			return true;
	}
	return false;
}

/* What the tree does not show any more. */
static void check_dialect(struct shell_pass *p, const struct shell_tree *tree,
                          struct shell_range range)
{
	struct shell_text code = tree->text;

	if (tree->braces || has_letters(code.bytes, "$'") || has_letters(code.bytes, "$\"") ||
	    has_letters(code.bytes, "function"))
		pass_opaque(p, range, "not every shell reads it so", "shell-dialect");
}

static void walk_code(struct shell_pass *p, const struct shell_tree *tree, bool script)
{
	const struct shell_list *outer_script = p->script;
	const struct shell_tree *outer = p->tree;

	p->tree = tree;
	p->script = script ? tree->list : NULL;
	pass_list(p, tree->list);
	p->script = outer_script;
	p->tree = outer;
}

static void code_in(struct shell_pass *p, struct shell_text code, bool posix,
                    enum pass_process process, struct shell_range range, bool script)
{
	const struct shell_command *feeder = p->feeder, *fed = p->fed;
	struct shell_range outer_at = p->nested_at;
	bool outer_nested = p->nested, outer_posix = p->posix, may_fail = p->may_fail;
	size_t base = p->sure_base, sure = p->sure_count;
	struct shell_tree *tree;

	if (code.len > p->code_left) {
		p->full = true;
		return;
	}
	p->code_left -= code.len;
	if (shell_parse(p->arena, code.bytes, code.len, p->options, &tree) < 0) {
		p->error = -ENOMEM;
		return;
	}
	pass_note_code(p, tree);
	p->nested_at = pass_range(p, range);
	p->nested = true;
	p->posix = posix;
	if (process == PASS_NEW_PROCESS) {
		p->sure_base = p->sure_count;
		p->may_fail = false;
		p->feeder = p->fed = NULL;
	}
	if (tree->status != SHELL_OK)
		pass_opaque(p, range, tree->message, "code-unreadable");
	else
		walk_code(p, tree, script);
	if (posix)
		check_dialect(p, tree, range);
	if (process == PASS_NEW_PROCESS) {
		p->sure_count = sure;
		p->may_fail = may_fail;
	}
	p->sure_base = base;
	p->feeder = feeder;
	p->fed = fed;
	p->nested = outer_nested;
	p->nested_at = outer_at;
	p->posix = outer_posix;
}

void pass_code(struct shell_pass *p, struct shell_text code, const char *step, bool posix,
               enum pass_process process, struct shell_range range)
{
	struct pass_place here = pass_here(p);

	if (pass_enter(p, step))
		code_in(p, code, posix, process, range, false);
	pass_back(p, here);
}

/* Code for /bin/sh, in a process of its own. */
void pass_code_word(struct shell_pass *p, const struct shell_fact_word *code, const char *step,
                    const char *effect)
{
	if (pass_word_known(code)) {
		pass_code(p, code->text, step, true, PASS_NEW_PROCESS, code->range);
		return;
	}
	pass_opaque(p, code->range, "code that is not known is run", "%s", effect);
	pass_download(p, code);
}

bool pass_join(struct shell_pass *p, const struct pass_call *call, size_t from,
               struct shell_text *ret)
{
	size_t n = 0, used = 0;
	char *joined;

	for (size_t i = from; i < call->word_count; i++) {
		if (!pass_word_known(&call->words[i]))
			return false;
		n += call->words[i].text.len + 1;
	}
	joined = pass_alloc(p, 1, n + 1);
	for (size_t i = from; joined && i < call->word_count; i++) {
		if (i > from)
			joined[used++] = ' ';
		memcpy(joined + used, call->words[i].text.bytes, call->words[i].text.len);
		used += call->words[i].text.len;
	}
	*ret = (struct shell_text){joined, used};
	return joined;
}

void pass_eval(struct shell_pass *p, const struct pass_call *call, size_t from)
{
	struct shell_text joined;

	if (pass_join(p, call, from, &joined)) {
		pass_code(p, joined, "eval", p->posix, PASS_SAME_PROCESS, call->range);
		return;
	}
	if (!pass_ok(p))
		return;
	pass_opaque(p, call->range, "code that is not known is run", "eval-dynamic");
	for (size_t i = from; i < call->word_count; i++)
		pass_download(p, &call->words[i]);
}

/* Downloads */

static const char *const downloaders[] = {"curl",  "wget",  "fetch", "aria2c", "axel",
                                          "http",  "https", "lynx",  "nc",     "ncat",
                                          "socat", "ftp",   "scp"};

static void note_downloader(struct shell_pass *p, const struct shell_command *c)
{
	struct shell_fact_word w;

	if (c->kind != SHELL_SIMPLE || !c->simple.words)
		return;
	w = pass_word(p, c->simple.words);
	if (pass_word_known(&w) &&
	    any_of(pass_basename(w.text), downloaders, array_size(downloaders)))
		pass_effect(p, c->range, "download:%s", pass_basename(w.text).bytes);
}

static void note_list(struct shell_pass *p, const struct shell_list *list)
{
	for (const struct shell_statement *st = list->statements; st; st = st->next)
		for (const struct shell_pipeline *line = st->pipelines; line; line = line->next)
			for (const struct shell_command *c = line->commands; c; c = c->next)
				note_downloader(p, c);
}

static void note_parts(struct shell_pass *p, const struct shell_part *part)
{
	for (; part; part = part->next) {
		if (part->kind == SHELL_PART_DOUBLE)
			note_parts(p, part->parts);
		else if (part->kind == SHELL_PART_COMMAND || part->kind == SHELL_PART_PROCESS_IN)
			note_list(p, part->list);
	}
}

void pass_download(struct shell_pass *p, const struct shell_fact_word *w)
{
	if (w->node)
		note_parts(p, w->node->parts);
}

/* Scripts on standard input */

/* Commands that never read standard input, and those that do so only without operands. The shell
 * and its commands read from the same place: what a command takes, the shell does not see, and the
 * rest is then other code than the text shows. */
static const char *const never_read[] = {
	"basename", "chmod",  "chown",    "cp",       "date",     "df",       "dirname", "du",
	"env",      "expr",   "hostname", "id",       "ln",       "ls",       "mkdir",   "mktemp",
	"mv",       "nproc",  "pgrep",    "ps",       "readlink", "realpath", "rm",      "rmdir",
	"seq",      "sleep",  "stat",     "sync",     "touch",    "tree",     "true",    "tty",
	"uname",    "uptime", "whereis",  "which",    "whoami",   "who",      "arch",    "false",
	"free",     "groups", "logname",  "printenv",
};
static const char *const read_without_operand[] = {"cat",    "head",      "tail", "wc", "sort",
                                                   "md5sum", "sha256sum", "file", "nl", "od"};

static bool leaves_input_alone(const struct shell_fact_command *c)
{
	struct shell_text name;

	for (size_t i = 0; i < c->redirect_count; i++)
		if (c->redirects[i].fd == 0 && !c->redirects[i].variable.bytes)
			return true;
	if (c->kind == SHELL_KIND_NONE || c->kind == SHELL_KIND_FUNCTION)
		return true;
	if (!c->word_count || !pass_word_known(&c->words[0]))
		return false;
	name = pass_basename(c->words[0].text);
	if (c->kind == SHELL_KIND_BUILTIN)
		return !pass_text_is(name, "read") && !pass_text_is(name, "mapfile") &&
		       !pass_text_is(name, "readarray");
	if (any_of(name, never_read, array_size(never_read)))
		return true;
	return any_of(name, read_without_operand, array_size(read_without_operand)) &&
	       c->word_count > 1 && pass_word_known(&c->words[c->word_count - 1]) &&
	       c->words[c->word_count - 1].text.len &&
	       c->words[c->word_count - 1].text.bytes[0] != '-' && c->word_count == 2;
}

static void run_script(struct shell_pass *p, struct shell_text code, const char *name, bool posix,
                       struct shell_range range)
{
	struct pass_place here = pass_here(p);
	size_t first = p->facts->command_count, last = p->script_last;

	p->script_last = first;
	if (pass_enter(p, "stdin-script"))
		code_in(p, code, posix, PASS_NEW_PROCESS, range, true);
	pass_back(p, here);
	for (size_t i = first; i < p->script_last && i < p->facts->command_count; i++) {
		if (leaves_input_alone(&p->facts->commands[i]))
			continue;
		pass_opaque(p, range, "a command of the script may read the rest of the script",
		            "stdin-script:%s", name);
		break;
	}
	p->script_last = last;
}

static bool is_input(const struct shell_redirect *r)
{
	return !r->fd_variable.bytes && shell_redirect_fd(r) == 0;
}

/* bash puts a newline behind a here-string: a backslash at its end has something to quote. */
static struct shell_fact_word with_newline(struct shell_pass *p, struct shell_fact_word word)
{
	char *text = pass_word_known(&word) ? pass_alloc(p, 1, word.text.len + 1) : NULL;

	if (text) {
		memcpy(text, word.text.bytes, word.text.len);
		text[word.text.len] = '\n';
		word.text = (struct shell_text){text, word.text.len + 1};
	}
	return word;
}

static bool is_simple_text(struct shell_text code)
{
	for (size_t i = 0; i < code.len; i++) {
		char c = code.bytes[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      strchr(" ./_:,@%+-", c)))
			return false;
	}
	return true;
}

/* zsh and ksh are further from bash than dash is: only the plainest code is the same. */
static bool is_foreign(const char *name, struct shell_text code)
{
	static const char *const words[] = {"noglob ", "nocorrect ", "repeat ",  "foreach ",
	                                    "- ",      "always ",    "builtin ", "command ",
	                                    "exec ",   "eval "};

	if (strcmp(name, "zsh") != 0 && strcmp(name, "ksh") != 0 && strcmp(name, "mksh") != 0 &&
	    strcmp(name, "ksh93") != 0)
		return false;
	for (size_t i = 0; i < array_size(words); i++)
		if (strstr(code.bytes, words[i]))
			return true;
	return !is_simple_text(code);
}

static void script_from_input(struct shell_pass *p, const struct pass_call *call, const char *name,
                              bool posix)
{
	const struct shell_redirect *input = NULL;
	struct shell_fact_word body = {.kind = SHELL_VALUE_MANY, .text = {"", 0}};

	for (const struct shell_redirect *r = call->redirects; r; r = r->next)
		if (is_input(r))
			input = r;
	if (input && input->op == SHELL_REDIRECT_HEREDOC)
		body = pass_word(p, input->body);
	else if (input && input->op == SHELL_REDIRECT_STRING)
		body = with_newline(p, pass_word(p, input->target));
	if (pass_word_known(&body) && !is_foreign(name, body.text)) {
		run_script(p, body.text, name, posix, input->range);
		return;
	}
	pass_opaque(p, call->range, "commands come from standard input", "stdin-script:%s", name);
	if (input && input->target)
		note_parts(p, input->target->parts);
	for (const struct shell_command *c = p->feeder; !input && c && c != p->fed; c = c->next)
		note_downloader(p, c);
}

void pass_interactive(struct shell_pass *p, const struct pass_call *call, const char *name)
{
	script_from_input(p, call, name, true);
}

/* Shells */

struct shell_reading {
	const char *name;
	bool bash, code, input, query;
	size_t operand;
};

static bool is_long(struct shell_text option, const char *name)
{
	size_t dashes = strspn(option.bytes, "-");

	return dashes <= 2 && strcmp(option.bytes + dashes, name) == 0;
}

/* One of bash's long options; 0: it is none, -1: it ends the reading. */
static int read_long(struct shell_pass *p, const struct pass_call *call, size_t *i,
                     struct shell_reading *r)
{
	static const char *const plain[] = {"norc",       "noprofile", "login",
	                                    "restricted", "verbose",   "noediting",
	                                    "debugger",   "protected", "wordexp"};
	struct shell_text w = call->words[*i].text;

	if (is_long(w, "version") || is_long(w, "help")) {
		r->query = true;
		return -1;
	}
	if (is_long(w, "posix")) {
		p->alias_on = p->posix_mode = true;
		return 1;
	}
	if (is_long(w, "rcfile") || is_long(w, "init-file")) {
		pass_opaque(p, call->range, "a start-up file is named", "startup-code");
		++*i;
		return 1;
	}
	if (is_long(w, "login"))
		pass_effect(p, call->range, "startup-files:%s", r->name);
	for (size_t k = 0; k < array_size(plain); k++)
		if (is_long(w, plain[k]))
			return 1;
	return 0;
}

static void option_unknown(struct shell_pass *p, const struct pass_call *call, const char *name)
{
	pass_opaque(p, call->range, "an option that is not known may change what runs",
	            "wrapper-option:%s", name);
}

/* The name behind -o or -O; false: it may change how the code is read. */
static bool read_option_name(struct shell_pass *p, struct shell_text name)
{
	static const char *const plain[] = {
		"allexport", "checkjobs",   "dotglob",  "errexit",         "errtrace", "failglob",
		"functrace", "globstar",    "hashall",  "inherit_errexit", "lastpipe", "monitor",
		"noclobber", "nocasematch", "noexec",   "noglob",          "notify",   "nounset",
		"nullglob",  "physical",    "pipefail", "verbose",         "xpg_echo",
	};

	if (pass_text_is(name, "posix") || pass_text_is(name, "expand_aliases"))
		p->alias_on = p->posix_mode = true;
	else if (pass_text_is(name, "xtrace"))
		p->trace = true;
	else if (pass_text_is(name, "extglob"))
		p->extglob = true;
	else if (pass_text_is(name, "nocaseglob"))
		p->nocaseglob = true;
	else
		return any_of(name, plain, array_size(plain));
	return true;
}

/* -x, -ec, +o; false: it cannot be told. */
static bool read_letters(struct shell_pass *p, const struct pass_call *call, size_t *i,
                         struct shell_reading *r)
{
	struct shell_text w = call->words[*i].text;
	bool on = w.bytes[0] == '-';

	for (size_t k = 1; k < w.len; k++) {
		char c = w.bytes[k];

		r->code |= c == 'c' && on;
		r->input |= c == 's';
		p->trace |= c == 'x' && on;
		if (c == 'i')
			pass_opaque(p, call->range, "start-up files and aliases are used",
			            "interactive-shell");
		if (c == 'l')
			pass_effect(p, call->range, "startup-files:%s", r->name);
		if (c == 'o' || c == 'O') {
			const struct shell_fact_word *name =
				*i + 1 < call->word_count ? &call->words[*i + 1] : NULL;

			if (!name || !pass_word_known(name) || !read_option_name(p, name->text))
				return false;
			++*i;
		} else if (!memchr("abcefhilmnprstuvxCEPT", c, 21)) {
			return false;
		}
	}
	return true;
}

/* False: it cannot be told, and has been said. */
static bool read_shell_options(struct shell_pass *p, const struct pass_call *call,
                               struct shell_reading *r)
{
	size_t i;

	for (i = 1; i < call->word_count; i++) {
		const struct shell_fact_word *w = &call->words[i];

		if (!pass_word_known(w) || w->text.len < 2 ||
		    (w->text.bytes[0] != '-' && w->text.bytes[0] != '+')) {
			if (pass_word_known(w) && pass_text_is(w->text, "-"))
				i++;
			break;
		}
		if (pass_text_is(w->text, "--")) {
			i++;
			break;
		}
		if (r->bash) {
			int found = read_long(p, call, &i, r);

			if (found < 0)
				return true;
			if (found)
				continue;
		}
		if (w->text.bytes[1] == '-' || !read_letters(p, call, &i, r)) {
			option_unknown(p, call, r->name);
			return false;
		}
	}
	r->operand = i;
	return true;
}

static void run_shell(struct shell_pass *p, const struct pass_call *call, struct shell_reading *r)
{
	const struct shell_fact_word *w =
		r->operand < call->word_count ? &call->words[r->operand] : NULL;

	if (r->code) {
		if (!w)
			return;           /* it refuses to start */
		if (r->input && !r->bash) /* dash goes on with its input */
			script_from_input(p, call, r->name, true);
		if (pass_word_known(w) && !is_foreign(r->name, w->text)) {
			pass_code(p, w->text, "shell-c", !r->bash, PASS_NEW_PROCESS, w->range);
			return;
		}
		pass_opaque(p, w->range, "code that is not known is run", "shell-c-dynamic");
		pass_download(p, w);
	} else if (w && !r->input) {
		if (pass_word_known(w))
			pass_opaque(p, w->range, "a script file is run", "script:%s",
			            w->text.bytes);
		else
			pass_opaque(p, w->range, "a script file is run", "script-dynamic");
		pass_download(p, w);
	} else {
		script_from_input(p, call, r->name, !r->bash);
	}
}

static const char *const like_sh[] = {"sh",  "bash", "dash",  "ash", "rbash",
                                      "ksh", "mksh", "ksh93", "zsh"};
static const char *const other[] = {"csh",  "tcsh", "fish", "elvish", "nu",  "xonsh",
                                    "pwsh", "rc",   "es",   "yash",   "osh", "ysh",
                                    "oksh", "lksh", "posh", "hush"};

bool pass_is_shell(struct shell_text base)
{
	return any_of(base, like_sh, array_size(like_sh)) || any_of(base, other, array_size(other));
}

bool pass_shell(struct shell_pass *p, const struct pass_call *call)
{
	struct shell_text base = pass_basename(call->words[0].text);
	struct shell_reading r = {.name = base.bytes};

	if (any_of(base, other, array_size(other))) {
		if (call->word_count < 2 || !pass_word_known(&call->words[1]) ||
		    strncmp(call->words[1].text.bytes, "--", 2) != 0)
			pass_opaque(p, call->range, "code of another language is run",
			            "shell-other:%s", base.bytes);
		return true;
	}
	if (!any_of(base, like_sh, array_size(like_sh)))
		return false;
	r.bash = pass_text_is(base, "bash") || pass_text_is(base, "rbash");
	p->bash_starts = true;
	if (read_shell_options(p, call, &r) && !r.query)
		run_shell(p, call, &r);
	/* It reads a start-up file in any case, and has more words that run others. */
	if (pass_text_is(base, "zsh"))
		pass_opaque(p, call->range, "code of another language is run", "shell-other:zsh");
	return true;
}
