/*
 * Words: what they come out as, and what runs while they are expanded.
 */
#include "shell/pass.h"

#include <errno.h>
#include <string.h>
#include "base/cleanup.h"

static void parts_inside(struct shell_pass *p, const struct shell_part *parts);

static bool is_pipe(const struct shell_word *word)
{
	return word && word->parts && !word->parts->next &&
	       (word->parts->kind == SHELL_PART_PROCESS_IN ||
	        word->parts->kind == SHELL_PART_PROCESS_OUT);
}

/* Nearly all words are one literal: there is nothing to join and nothing to walk. */
static bool is_literal(const struct shell_part *parts)
{
	return parts && !parts->next && parts->kind == SHELL_PART_LITERAL;
}

/* The literal that is all of the word, quoted or not; NULL: there is more to it. */
static const struct shell_part *only_literal(const struct shell_word *word)
{
	const struct shell_part *part = word ? word->parts : NULL;

	if (part && !part->next && part->kind == SHELL_PART_DOUBLE)
		part = part->parts;
	return is_literal(part) ? part : NULL;
}

bool pass_names_ifs(struct shell_text text)
{
	static const char name[] = "IFS";
	const char *s = text.bytes;

	for (s = strchr(s, name[0]); s; s = strchr(s + 1, name[0])) {
		size_t seen = 0;

		for (const char *c = s; *c && (*c == name[seen] || strchr("\\\n'\"$", *c)); c++) {
			seen += *c == name[seen];
			if (!name[seen])
				return true;
		}
	}
	return false;
}

/* A number is one word unless IFS has digits; and only the text itself can set IFS. */
static bool is_split_number(const struct shell_pass *p, const struct shell_word *word)
{
	const struct shell_part *part = word && word->split ? word->parts : NULL;

	while (part && part->kind != SHELL_PART_ARITH)
		part = part->next;
	return part && p->names_ifs;
}

void pass_word_read(struct shell_pass *p, const struct shell_word *word,
                    struct shell_fact_word *ret)
{
	const struct shell_part *literal = only_literal(word);
	struct shell_value value;

	if (literal) {
		p->sets_ifs = p->sets_ifs || pass_names_ifs(literal->text);
		*ret = (struct shell_fact_word){
			.kind = SHELL_VALUE_KNOWN,
			.text = literal->text,
			.pattern = {"", 0},
			.range = pass_range(p, word->range),
			.node = word,
		};
		return;
	}
	if (shell_word_value(p->arena, word, &value) < 0) {
		p->error = -ENOMEM;
		*ret = (struct shell_fact_word){.kind = SHELL_VALUE_MANY, .text = {"", 0}};
		return;
	}
	*ret = (struct shell_fact_word){
		.kind = value.kind,
		.pipe = is_pipe(word),
		.text = value.text,
		.pattern = value.pattern,
		.node = word,
	};
	p->sets_ifs = p->sets_ifs || pass_names_ifs(value.text);
	if (ret->kind == SHELL_VALUE_ONE && is_split_number(p, word))
		ret->kind = SHELL_VALUE_MANY;
	if (word)
		ret->range = pass_range(p, word->range);
}

struct shell_fact_word pass_word(struct shell_pass *p, const struct shell_word *word)
{
	struct shell_fact_word w;

	pass_word_read(p, word, &w);
	return w;
}

static void nested_list(struct shell_pass *p, const struct shell_list *list, const char *step)
{
	struct pass_place here = pass_here(p);
	const struct shell_command *feeder = p->feeder, *fed = p->fed;
	size_t sure = p->sure_count;
	bool may_fail = p->may_fail;

	p->feeder = p->fed = NULL;
	if (pass_enter(p, step))
		pass_list(p, list);
	pass_back(p, here);
	p->sure_count = sure; /* a subshell */
	p->may_fail = may_fail;
	p->feeder = feeder;
	p->fed = fed;
}

void pass_index(struct shell_pass *p, struct shell_text name, const struct shell_word *index)
{
	pass_word_inside(p, index);
	/* A key of an associative array is expanded once and used as it is. */
	if (!pass_is_kept(p, name, index->range))
		pass_arith(p, index);
}

static void other_shells(struct shell_pass *p, struct shell_range range)
{
	pass_opaque(p, range, "not every shell reads it so", "shell-dialect");
}

/* ${!x} looks up the value of x as a name; ${!x[@]} and ${!x*} only list names. */
static bool is_indirect(const struct shell_param *param)
{
	bool whole =
		param->subscript == SHELL_SUBSCRIPT_AT || param->subscript == SHELL_SUBSCRIPT_STAR;

	if (!param->indirect || param->op == SHELL_PARAM_NAMES)
		return false;
	return !(whole && param->op == SHELL_PARAM_PLAIN);
}

/* Single quotes in the message of ? quote nothing in dash if there are double quotes around it. */
static bool has_quoted_code(const struct shell_word *word)
{
	for (const struct shell_part *part = word ? word->parts : NULL; part; part = part->next)
		if (part->kind == SHELL_PART_LITERAL && part->quote == SHELL_QUOTE_FULL &&
		    strpbrk(part->text.bytes, "$`\"'}\\"))
			return true;
	return false;
}

static void param_inside(struct shell_pass *p, const struct shell_param *param,
                         struct shell_range range)
{
	size_t sure = p->sure_count;

	if (p->posix && param->op == SHELL_PARAM_ERROR && has_quoted_code(param->word))
		other_shells(p, range);
	if (param->subscript == SHELL_SUBSCRIPT_WORD)
		pass_index(p, param->name, param->index);
	if (is_indirect(param))
		pass_opaque(p, range, "the value of a variable is used as a name, and evaluated",
		            "indirect");
	if (param->op == SHELL_PARAM_TRANSFORM && param->letter == 'P')
		pass_opaque(p, range, "the value is expanded as a prompt string",
		            "prompt-expansion");
	pass_word_inside(p, param->word);
	pass_word_inside(p, param->word2);
	if (param->op == SHELL_PARAM_SUBSTRING) {
		pass_arith(p, param->word);
		pass_arith(p, param->word2);
	}
	if (param->op == SHELL_PARAM_ASSIGN) {
		struct shell_fact_word value = pass_word(p, param->word);

		pass_write(p, param->name, pass_worth_of(p, param->word));
		pass_assigned(p, param->name, &value, range);
	}
	p->sure_count = sure; /* the operands are expanded only if they are needed */
	p->may_fail |= is_indirect(param) || param->subscript == SHELL_SUBSCRIPT_WORD ||
	               param->op == SHELL_PARAM_ERROR || param->op == SHELL_PARAM_ASSIGN ||
	               param->op == SHELL_PARAM_SUBSTRING || param->op == SHELL_PARAM_TRANSFORM;
}

void pass_array(struct shell_pass *p, const struct shell_array_item *item, bool keys)
{
	for (; item && pass_ok(p); item = item->next) {
		if (item->index) {
			pass_word_inside(p, item->index);
			if (!keys)
				pass_arith(p, item->index);
		}
		pass_word_inside(p, item->value);
	}
}

static void part_inside(struct shell_pass *p, const struct shell_part *part)
{
	switch (part->kind) {
	case SHELL_PART_LITERAL:
	case SHELL_PART_GLOB:
	case SHELL_PART_TILDE:
		break;
	case SHELL_PART_EXTGLOB:
		if (p->posix)
			pass_opaque(p, part->range, "not every shell reads it so", "shell-dialect");
		for (const struct shell_word *w = part->extglob->alternatives; w; w = w->next)
			pass_word_inside(p, w);
		break;
	case SHELL_PART_DOUBLE:
		parts_inside(p, part->parts);
		break;
	case SHELL_PART_PARAM:
		param_inside(p, part->param, part->range);
		break;
	case SHELL_PART_COMMAND:
		nested_list(p, part->list, "cmdsub");
		break;
	case SHELL_PART_PROCESS_IN:
	case SHELL_PART_PROCESS_OUT:
		if (p->posix)
			other_shells(p, part->range);
		nested_list(p, part->list, "procsub");
		break;
	case SHELL_PART_ARITH:
		if (p->posix && part->bracket)
			other_shells(p, part->range);
		pass_word_inside(p, part->word);
		pass_arith(p, part->word);
		break;
	case SHELL_PART_ARRAY:
		if (p->posix)
			other_shells(p, part->range);
		pass_array(p, part->items, false);
		break;
	}
}

static void parts_inside(struct shell_pass *p, const struct shell_part *parts)
{
	struct pass_place here = pass_here(p);

	if (!parts || (is_literal(parts) && p->depth < PASS_DEPTH_MAX))
		return;
	if (pass_enter(p, NULL))
		for (; parts && pass_ok(p); parts = parts->next)
			part_inside(p, parts);
	pass_back(p, here);
}

void pass_word_inside(struct shell_pass *p, const struct shell_word *word)
{
	if (word)
		parts_inside(p, word->parts);
}

/* Commands that print nothing but an integer. "1" stands for one known word that is no option, "*"
 * for any number of them. */
static const char *const number_commands[][4] = {
	{"id", "-u", NULL},
	{"id", "-g", NULL},
	{"nproc", NULL},
	{"nproc", "--all", NULL},
	{"wc", "-l", NULL},
	{"wc", "-c", NULL},
	{"wc", "-w", NULL},
	{"wc", "-m", NULL},
	{"date", "+%s", NULL},
	{"date", "+%Y", NULL},
	{"date", "+%s%N", NULL},
	{"date", "-u", "+%s"},
	{"grep", "-c", "1", NULL},
	{"stat", "-c", "%s", "*"},
	{"stat", "-c", "%Y", "*"},
	{"stat", "-c%s", "*", NULL},
	{"tput", "cols", NULL},
	{"tput", "lines", NULL},
	{"pgrep", "-c", "1", NULL},
	{"getconf", "PAGESIZE", NULL},
	{"seq", "1", NULL},
	{"seq", "1", "1", NULL},
	{"seq", "1", "1", "1"},
};

static bool is_known_operand(const struct shell_word *w)
{
	return w && w->parts && !w->parts->next && w->parts->kind == SHELL_PART_LITERAL &&
	       w->parts->text.len && w->parts->text.bytes[0] != '-';
}

static bool fits(const struct shell_word *w, const char *const *row)
{
	for (size_t i = 0; i < array_size(number_commands[0]) && row[i]; i++) {
		if (strcmp(row[i], "*") == 0) {
			while (is_known_operand(w))
				w = w->next;
		} else if (strcmp(row[i], "1") == 0 ? is_known_operand(w)
		                                    : w && shell_word_is(w, row[i])) {
			w = w->next;
		} else {
			return false;
		}
	}
	return !w;
}

/* The only command of the list whose output is taken; NULL: it is not as simple as that. */
static const struct shell_command *printing_command(const struct shell_list *list)
{
	const struct shell_statement *st = list->statements;
	const struct shell_command *c;

	if (!st || st->next || st->background || !st->pipelines || st->pipelines->next)
		return NULL;
	for (c = st->pipelines->commands; c && c->next; c = c->next)
		if (c->pipe_stderr)
			return NULL;
	if (!c || c->kind != SHELL_SIMPLE || c->simple.assigns || !c->simple.words)
		return NULL;
	for (const struct shell_redirect *r = c->redirects; r; r = r->next)
		if (r->op != SHELL_REDIRECT_IN && r->op != SHELL_REDIRECT_STRING &&
		    r->op != SHELL_REDIRECT_HEREDOC && !(r->op == SHELL_REDIRECT_OUT && r->fd == 2))
			return NULL;
	return c;
}

static bool list_is_number(struct shell_pass *p, const struct shell_list *list)
{
	const struct shell_command *c = printing_command(list);

	for (size_t i = 0; c && i < array_size(number_commands); i++) {
		if (fits(c->simple.words, number_commands[i])) {
			p->counts = true;
			return true;
		}
	}
	return false;
}

bool pass_prints_number(struct shell_text name)
{
	for (size_t i = 0; i < array_size(number_commands); i++)
		if (pass_text_is(name, number_commands[i][0]))
			return true;
	return false;
}

static bool is_scalar(const struct shell_param *param)
{
	return param->op == SHELL_PARAM_PLAIN && !param->indirect &&
	       param->subscript == SHELL_SUBSCRIPT_NONE && param->name.len;
}

static bool param_is_number(struct shell_pass *p, const struct shell_param *param,
                            const char *effect, struct shell_range range)
{
	if (param->op == SHELL_PARAM_LENGTH)
		return true;
	if (!is_scalar(param))
		return false;
	if (param->name.len == 1 && strchr("#?$!", param->name.bytes[0]))
		return true;
	return pass_need(p, param->name, PASS_CHECK_NUMBER, effect, range);
}

bool pass_part_is_number(struct shell_pass *p, const struct shell_part *part, const char *effect)
{
	switch (part->kind) {
	case SHELL_PART_LITERAL:
		return pass_worth_of_text(part->text) == PASS_WORTH_NUMBER;
	case SHELL_PART_DOUBLE:
		return part->parts && !part->parts->next &&
		       pass_part_is_number(p, part->parts, effect);
	case SHELL_PART_PARAM:
		return param_is_number(p, part->param, effect, part->range);
	case SHELL_PART_COMMAND:
		return list_is_number(p, part->list);
	case SHELL_PART_ARITH:
		return true; /* what it reads is checked where it is walked */
	case SHELL_PART_GLOB:
	case SHELL_PART_EXTGLOB:
	case SHELL_PART_TILDE:
	case SHELL_PART_PROCESS_IN:
	case SHELL_PART_PROCESS_OUT:
	case SHELL_PART_ARRAY:
		break;
	}
	return false;
}

static bool part_is_plain(struct shell_pass *p, const struct shell_part *part, const char *effect)
{
	if (part->kind == SHELL_PART_LITERAL)
		return pass_worth_of_text(part->text) != PASS_WORTH_OTHER;
	if (part->kind == SHELL_PART_PARAM && is_scalar(part->param) &&
	    !strchr("@*#?-$!0123456789", part->param->name.bytes[0]))
		return pass_need(p, part->param->name, PASS_CHECK_PLAIN, effect, part->range);
	return pass_part_is_number(p, part, effect);
}

bool pass_word_is_plain(struct shell_pass *p, const struct shell_word *word, const char *effect)
{
	if (!word || !word->parts)
		return false;
	for (const struct shell_part *part = word->parts; part; part = part->next)
		if (!part_is_plain(p, part, effect))
			return false;
	return true;
}
