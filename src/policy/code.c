/*
 * Commands in the words of other commands: git -c alias.x='!CMD', tar -I CMD, npm exec CMD,
 * GIT_PAGER=CMD, python3 -c 'os.system("CMD")'.
 *
 * The knowledge table says where they stand. A rule that refuses such a command refuses the line:
 * the box cannot do it where a rule says `enforce: line`, and elsewhere the program would only be
 * missing. What is found here is a suspicion and proves nothing, so it never allows; and a word is
 * looked at only if it holds the name of a program that some rule refuses. Code of other languages
 * is not read as such: a name counts where it follows something that starts programs.
 */
#include "policy/inside.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "shell/knowledge.h"
#include "shell/wrappers.h"

#define LINE_MAX_WORDS 64
#define GLUED_MAX      8
#define CODE_BYTES_MAX (32 << 10)

struct code {
	struct look *l;
	struct subject *s;
	void (*try)(struct look *l, const char *line, size_t n, void *data);
	void *data;
	bool values; /* some variable holds the name of a refused program */
	bool more;   /* than are tried */
};

static bool is_refused(const struct look *l, const char *name, size_t n)
{
	char copy[64];

	if (!n || n >= sizeof(copy))
		return false;
	memcpy(copy, name, n);
	copy[n] = '\0';
	for (const struct name_entry *e = policy_name_first(l->policy, copy); e;
	     e = policy_name_next(l->policy, e))
		if (l->policy->compiled[e->rule].rule->list <= POLICY_DANGER)
			return true;
	return false;
}

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '+' || c == '-';
}

/* Where the first name of a refused program begins from AT on; N: nowhere. */
static size_t next_refused(const struct look *l, const char *text, size_t n, size_t at)
{
	while (at < n) {
		size_t from = at;

		while (at < n && is_name_byte(text[at]))
			at++;
		if (is_refused(l, text + from, at - from))
			return from;
		at += at < n;
	}
	return n;
}

static bool has_refused(const struct look *l, const char *text, size_t n)
{
	return next_refused(l, text, n, 0) < n;
}

/* A command line. */
static void shell_line(struct code *c, const char *text, size_t n)
{
	char *copy;

	while (n && strchr(" \t|!:", *text))
		text++, n--;
	if (n > 5 && strncmp(text, "exec=", 5) == 0) /* tar's action */
		text += 5, n -= 5;
	if (!n || !has_refused(c->l, text, n))
		return;
	if (c->l->code->count == GUESS_MAX || n > CODE_BYTES_MAX - c->l->code->bytes) {
		c->more = true;
		return;
	}
	c->l->code->count++;
	c->l->code->bytes += n;
	copy = look_string(c->l, text, n);
	if (copy)
		c->try(c->l, copy, n, c->data);
}

static void shell_word(struct code *c, const struct shell_fact_word *w, size_t from)
{
	if (w->text.len > from)
		shell_line(c, w->text.bytes + from, w->text.len - from);
}

/* The words from AT on, as a command, and as the line that they make when they are joined. */
static void word_line(struct code *c, size_t at)
{
	const struct shell_fact_command *f = c->s->command;
	scoped(buffer_donep) struct buffer line = {0}, joined = {0};

	for (size_t i = at; i < f->word_count && i < at + LINE_MAX_WORDS; i++) {
		buffer_puts(&line, i > at ? " '" : "'");
		for (size_t k = 0; k < f->words[i].text.len; k++) {
			if (f->words[i].text.bytes[k] == '\'')
				buffer_puts(&line, "'\\''");
			else
				buffer_putc(&line, f->words[i].text.bytes[k]);
		}
		buffer_puts(&line, f->words[i].kind == SHELL_VALUE_KNOWN ? "'" : "'$_");
		buffer_puts(&joined, i > at ? " " : "");
		buffer_append(&joined, f->words[i].text.bytes, f->words[i].text.len);
	}
	if (buffer_error(&line) || buffer_error(&joined)) {
		c->l->failed = true;
		return;
	}
	shell_line(c, buffer_str(&line), line.len);
	if (strpbrk(buffer_str(&joined), " ;&|$`("))
		shell_line(c, buffer_str(&joined), joined.len);
}

/* Code of other languages */

/* Whether the word of N bytes names something that starts programs: os.system, execSync, spawn. */
static bool starts_some(const char *word, size_t n)
{
	static const char *const parts[] = {"system", "exec",       "spawn", "popen",
	                                    "run",    "call",       "shell", "command",
	                                    "cmd",    "subprocess", "qx",    "passthru",
	                                    "syscmd", "check_out",  "proc"};

	for (size_t i = 0; i < array_size(parts); i++) {
		size_t len = strlen(parts[i]);

		for (size_t k = 0; k + len <= n; k++)
			if (strncasecmp(word + k, parts[i], len) == 0)
				return true;
	}
	return false;
}

/* Whether what stands in front of AT starts the program that is named there. */
static bool is_started(const struct code *c, const char *text, size_t at)
{
	bool make = strstr(c->s->name, "make") != NULL, recipe = false;
	size_t end;

	if (strstr(c->s->name, "sed"))
		return true; /* the command e, or a replacement that is run */
	if (at && text[at - 1] == '/')
		while (at && (is_name_byte(text[at - 1]) || text[at - 1] == '/'))
			at--;
	for (; at && strchr(" \t([{,\"'\\=@", text[at - 1]); at--)
		recipe |= text[at - 1] == '\t';
	if (!at || strchr(";{}\n", text[at - 1]))
		return strncmp(c->s->name, "perl", 4) == 0 ||
		       (make && at && (recipe || text[at - 1] == ';'));
	if (strchr("!|`", text[at - 1]))
		return true;
	for (end = at; at && (is_name_byte(text[at - 1]) || text[at - 1] == ':'); at--)
		;
	return starts_some(text + at, end - at) ||
	       (end - at == 1 && text[at] == 'x' && at && text[at - 1] == '%');
}

/* Behind the quoted text that begins at AT; AT: it has no end. */
static size_t quoted_end(const char *text, size_t n, size_t at)
{
	for (size_t i = at + 1; i < n; i++) {
		if (text[i] == '\\')
			i++;
		else if (text[i] == text[at])
			return i + 1;
	}
	return at;
}

/* Of the line, or of the parenthesis that AT stands in: $(shell CMD). */
static size_t line_end(const char *text, size_t n, size_t at)
{
	for (size_t depth = 0; at < n && text[at] != '\n'; at++) {
		if (text[at] == ')' && depth == 0)
			return at;
		depth += text[at] == '(';
		depth -= text[at] == ')';
	}
	return at;
}

static void own_code(struct code *c, const char *text, size_t n)
{
	size_t refused = next_refused(c->l, text, n, 0), end;

	for (size_t i = 0; i < n && refused < n && !c->more;) {
		end = strchr("'\"`", text[i]) && text[i] ? quoted_end(text, n, i) : i;
		if (end > i) {
			size_t behind = end + strspn(text + end, " \t");

			if (refused < end && (text[i] == '`' || is_started(c, text, i) ||
			                      (behind < n && text[behind] == '|')))
				shell_line(c, text + i + 1, end - i - 2);
			i = end;
		} else if (i == refused) {
			if (is_started(c, text, i))
				shell_line(c, text + i, line_end(text, n, i) - i);
			i++;
		} else {
			i++;
		}
		if (refused < i)
			refused = next_refused(c->l, text, n, i);
	}
}

static void value_code(struct code *c, const struct knowledge_item *item, const char *text,
                       size_t n)
{
	size_t skip = item->filter ? strcspn(item->filter, "=") : 0;

	if (skip) { /* -o ProxyCommand=CMD, -o "ProxyCommand CMD" */
		if (n <= skip || strncasecmp(text, item->filter, skip) != 0)
			return;
		skip += strspn(text + skip, " =");
	}
	if (skip >= n)
		return;
	if (strcmp(item->name, "-wrapper") == 0) { /* of gcc: CMD,ARG,... */
		char *words = look_string(c->l, text, n);

		for (char *comma = words; comma && (comma = strchr(comma, ','));)
			*comma = ' ';
		if (words)
			shell_line(c, words, n);
	} else if (item->code == KNOWLEDGE_CODE_SHELL)
		shell_line(c, text + skip, n - skip);
	else
		own_code(c, text + skip, n - skip);
}

size_t option_value_at(const char *option, struct shell_text w)
{
	size_t n = strlen(option), name = strcspn(w.bytes, "=");

	if (w.len < 2 || w.bytes[0] != '-')
		return 0;
	name = name < w.len ? name : w.len;
	if (option[1] == '-' || n > 2) { /* --long, cut short or not; -long */
		if (name > n || name < 3 || strncmp(option, w.bytes, name) != 0 ||
		    (option[1] != '-' && name != n))
			return 0;
		return name < w.len ? name + 1 : w.len;
	}
	if (w.bytes[1] == '-')
		return 0;
	for (size_t i = 1; i < w.len; i++)
		if (w.bytes[i] == option[1])
			return i + 1;
	return 0;
}

static void option_code(struct code *c, const struct knowledge_item *item)
{
	const struct shell_fact_command *f = c->s->command;

	for (size_t i = 1; i < f->word_count; i++) {
		const struct shell_fact_word *w = &f->words[i];
		size_t at = option_value_at(item->name, w->text);

		if (!at)
			continue;
		if (at < w->text.len) {
			value_code(c, item, w->text.bytes + at, w->text.len - at);
		} else if (i + 1 < f->word_count) {
			value_code(c, item, f->words[i + 1].text.bytes, f->words[i + 1].text.len);
			if (item->code == KNOWLEDGE_CODE_SHELL && !item->filter)
				word_line(c, i + 1); /* fd -x CMD ARG... */
		}
	}
}

/* git -c KEY=VALUE, git config KEY VALUE; an alias is a command line only behind a ! */
static void config_code(struct code *c, const char *pattern)
{
	const struct shell_fact_command *f = c->s->command;
	char key[128];

	for (size_t i = 1; i < f->word_count; i++) {
		struct shell_text t = f->words[i].text;
		const char *start = strncmp(t.bytes, "-c", 2) == 0 ? t.bytes + 2 : t.bytes, *value;
		size_t n = strcspn(start, "=");

		if (!n || n >= sizeof(key))
			continue;
		memcpy(key, start, n);
		key[n] = '\0';
		if (fnmatch(pattern, key, FNM_CASEFOLD) != 0)
			continue;
		value = start[n]                ? start + n + 1
		        : i + 1 < f->word_count ? f->words[i + 1].text.bytes
		                                : "";
		if (strncasecmp(key, "alias.", 6) != 0 || value[0] == '!')
			shell_line(c, value, strlen(value));
	}
}

static void variable_code(struct code *c, const char *pattern)
{
	const struct shell_fact_command *f = c->s->command;

	for (size_t i = 0; i < f->assign_count; i++)
		if (knowledge_is_variable(pattern, f->assigns[i].name.bytes))
			shell_word(c, &f->assigns[i].value, 0);
	for (size_t i = 0; c->values && i < c->l->value_count; i++) {
		const struct value *v = &c->l->values[i];
		const char *name = has_refused(c->l, v->text.bytes, v->text.len)
		                           ? look_string(c->l, v->name.bytes, v->name.len)
		                           : NULL;

		if (name && knowledge_is_variable(pattern, name))
			shell_line(c, v->text.bytes, v->text.len);
	}
}

static void operand_code(struct code *c, const struct knowledge_item *item)
{
	const struct shell_fact_command *f = c->s->command;
	size_t n = strlen(item->name);

	for (size_t i = 1; i < f->word_count; i++)
		if (f->words[i].text.len > n &&
		    strncasecmp(f->words[i].text.bytes, item->name, n) == 0)
			value_code(c, item, f->words[i].text.bytes + n, f->words[i].text.len - n);
}

/* Commands behind the words of the program itself */

/* Where the words behind it begin; 0: it is not there. */
static size_t tail_from(const struct code *c, const char *name)
{
	const struct shell_fact_command *f = c->s->command;

	if (strcmp(name, "*") == 0)
		return 1;
	if (name[0] != '-')
		return c->s->sub_at && word_text_is(f->words[c->s->sub_at].text, name)
		               ? c->s->sub_at + 1
		               : 0;
	for (size_t i = 1; i < f->word_count; i++)
		if (word_text_is(f->words[i].text, name))
			return i + 1;
	return 0;
}

/* Up to the first word that is surely the command; what may be the value of an option is tried. */
static void tail_code(struct code *c, const struct knowledge_item *item)
{
	const struct shell_fact_command *f = c->s->command;
	const struct word_role *roles = subject_roles(c->l, c->s);
	size_t from = tail_from(c, item->name),
	       skip = item->filter ? (size_t)(item->filter[0] - '0') : 0;

	for (size_t i = from; roles && from && i < f->word_count; i++) {
		bool operand = roles[i].role == ROLE_OPERAND || roles[i].role == ROLE_OPEN;
		struct shell_text t = f->words[i].text;

		if (!operand || (skip && roles[i].maybe_value))
			continue;
		if (skip) {
			skip--;
			continue;
		}
		if (word_text_is(t, "chdir")) { /* cmake -E chdir DIR CMD */
			skip = 1;
			continue;
		}
		word_line(c, i);
		if (memchr(t.bytes, ' ', t.len))
			shell_word(c, &f->words[i], 0);
		else if (!roles[i].maybe_value && !memchr(t.bytes, '=', t.len))
			return;
	}
}

/* What the program reads from standard input, if the line gives it. */
static void input_code(struct code *c)
{
	const struct shell_fact_command *f = c->s->command;

	for (size_t i = 0; i < f->redirect_count; i++) {
		const struct shell_fact_redirect *r = &f->redirects[i];
		const struct shell_part *part = r->body ? r->body->parts : NULL;

		if (r->fd != 0)
			continue;
		for (; part; part = part->next)
			if (part->kind == SHELL_PART_LITERAL)
				own_code(c, part->text.bytes, part->text.len);
		if (strcmp(r->op, "<<<") == 0)
			own_code(c, r->target.text.bytes, r->target.text.len);
	}
}

static void item_code(struct code *c, const struct knowledge_item *item)
{
	const struct shell_fact_command *f = c->s->command;

	switch ((enum knowledge_kind)item->kind) {
	case KNOWLEDGE_OPTION:
		/* What git takes for a command line of its -c is in rows of their own. */
		if (item->code == KNOWLEDGE_CODE_SHELL ||
		    (item->code == KNOWLEDGE_CODE_OWN && strcmp(c->s->name, "git") != 0))
			option_code(c, item);
		break;
	case KNOWLEDGE_CONFIG:
		config_code(c, item->name);
		break;
	case KNOWLEDGE_ENV:
		variable_code(c, item->name);
		break;
	case KNOWLEDGE_OPERAND_PREFIX:
	case KNOWLEDGE_SUB_OPERAND_PREFIX:
		operand_code(c, item);
		break;
	case KNOWLEDGE_TAIL:
		tail_code(c, item);
		break;
	case KNOWLEDGE_SCRIPT:
		for (size_t i = 1; i < f->word_count; i++)
			own_code(c, f->words[i].text.bytes, f->words[i].text.len);
		break;
	case KNOWLEDGE_OPERAND_CONTAINS: /* make SHELL=CMD */
		for (size_t i = 1; i < f->word_count; i++)
			if (strncmp(f->words[i].text.bytes, "SHELL=", 6) == 0)
				shell_word(c, &f->words[i], 6);
		break;
	case KNOWLEDGE_ALWAYS:
	case KNOWLEDGE_NO_OPTION:
	case KNOWLEDGE_OPTION_EQUALS:
	case KNOWLEDGE_OPERAND:
	case KNOWLEDGE_OPERAND_NUMBER:
	case KNOWLEDGE_OPERAND_DIGITS:
	case KNOWLEDGE_NO_OPERAND:
	case KNOWLEDGE_SUB:
	case KNOWLEDGE_SUB_OPERAND:
	case KNOWLEDGE_TERMINAL:
		break;
	}
}

/* A script of sed or awk that runs nothing only speaks of programs. */
static bool script_runs(const struct code *c)
{
	for (size_t i = 0; i < c->s->command->does_count; i++)
		if (strcmp(c->s->command->does[i].effect, "exec") == 0)
			return true;
	return false;
}

static void rows_code(struct code *c, const struct knowledge_command *k)
{
	for (size_t i = 0; k && i < k->count; i++) {
		if (k->rows[i].effect != KNOWLEDGE_CLASS_EXEC)
			continue;
		for (size_t j = 0; j < k->rows[i].count; j++)
			if (k->rows[i].items[j].kind != KNOWLEDGE_SCRIPT || script_runs(c))
				item_code(c, &k->rows[i].items[j]);
	}
}

/* Most commands hold no such name, and are not looked at. */
static bool mentions_refused(const struct look *l, const struct shell_fact_command *f)
{
	for (size_t i = 1; i < f->word_count; i++) {
		struct shell_text t = f->words[i].text;

		/* -OCMD, -nOCMD: the name may begin behind each of the first letters. */
		for (size_t k = 0; k < t.len && k < (t.bytes[0] == '-' ? GLUED_MAX : 1); k++)
			if (has_refused(l, t.bytes + k, k ? strcspn(t.bytes + k, " =") : t.len))
				return true;
	}
	for (size_t i = 0; i < f->assign_count; i++)
		if (has_refused(l, f->assigns[i].value.text.bytes, f->assigns[i].value.text.len))
			return true;
	for (size_t i = 0; i < f->redirect_count; i++)
		if (f->redirects[i].fd == 0)
			return true;
	return false;
}

/* A variable that the line sets, wherever that is. */
static bool values_mention_refused(const struct look *l)
{
	for (size_t i = 0; i < l->value_count; i++)
		if (has_refused(l, l->values[i].text.bytes, l->values[i].text.len))
			return true;
	return false;
}

/* A program that nobody knows may run its words. Where the box does not stop it, a word that is the
 * name of a refused program and has words behind it counts. */
static void unknown_code(struct code *c)
{
	const struct shell_fact_command *f = c->s->command;
	const struct word_role *roles = subject_roles(c->l, c->s);

	for (size_t i = 1; roles && i + 1 < f->word_count; i++) {
		const char *next = f->words[i + 1].text.bytes;
		const struct name_entry *e;

		if (roles[i].role != ROLE_OPERAND || f->words[i].kind != SHELL_VALUE_KNOWN)
			continue;
		/* "tool kill NAME" is an order of its own; signals and numbers are not. */
		if (word_text_is(f->words[i].text, "kill") && !strchr("-%0123456789", *next))
			continue;
		for (e = policy_name_first(c->l->policy, f->words[i].text.bytes); e;
		     e = policy_name_next(c->l->policy, e)) {
			const struct policy_rule *rule = c->l->policy->compiled[e->rule].rule;

			if (rule->line_only && rule->list <= POLICY_DANGER)
				break;
		}
		if (e)
			word_line(c, i);
	}
}

bool code_all(struct look *l, void (*try)(struct look *l, const char *line, size_t n, void *data),
              void *data)
{
	struct code c = {.l = l, .try = try, .data = data};

	c.values = values_mention_refused(l);
	for (size_t i = 0; i < l->facts->command_count && !l->failed; i++) {
		const struct knowledge_command *k;
		const char *other;

		c.s = &l->subjects[i];
		if (!c.s->name || !c.s->runs)
			continue;
		k = knowledge_find(c.s->name);
		other = knowledge_other_name(c.s->name);
		if (!c.values && !mentions_refused(l, c.s->command))
			continue;
		if (!k && !other && !strchr(c.s->word, '/') && !shell_wrapper_find(c.s->name) &&
		    rule_runs_unread(c.s))
			unknown_code(&c);
		rows_code(&c, k);
		rows_code(&c, other ? knowledge_find(other) : NULL);
		if (rule_runs_unread(c.s))
			input_code(&c);
	}
	return !c.more;
}
