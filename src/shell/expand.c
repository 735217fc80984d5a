/*
 * What stands behind a $: which expansion it is, and $x itself.
 */
#include "shell/reader.h"

/* $x $1 $@: at the first character of the name. */
static bool read_bare_param(struct shell_reader *r, struct part_list *list, uint32_t start)
{
	struct shell_param *param = shell_alloc(r, sizeof(*param));
	struct shell_part *part;
	uint32_t p = r->pos;

	if (!param)
		return false;
	if (shell_is_name_start(r->s[p])) {
		while (shell_is(shell_at(r, p), CLASS_NAME)) {
			p++;
		}
		/* A continuation can stand inside the name. */
		param->name = shell_copy(r, r->s + r->pos, p - r->pos);
		while (shell_past(r, p) != p &&
		       shell_is(shell_at(r, shell_past(r, p)), CLASS_NAME)) {
			uint32_t from = shell_past(r, p);

			for (p = from; shell_is(shell_at(r, p), CLASS_NAME);)
				p++;
			param->name.bytes = arena_printf(r->arena, "%s%.*s", param->name.bytes,
			                                 (int)(p - from), r->s + from);
			if (!param->name.bytes)
				return shell_fail(r, SHELL_LIMIT, start, p, "out of memory");
			param->name.len += p - from;
		}
	} else {
		p++;
		param->name = shell_copy(r, r->s + r->pos, 1);
	}
	param->bare = true;
	r->pos = p;
	part = shell_part_add(r, list, SHELL_PART_PARAM, start);
	if (part)
		part->param = param;
	return part != NULL;
}

bool shell_read_expansion(struct shell_reader *r, struct part_list *list, bool in_double,
                          enum shell_quote quote)
{
	uint32_t start = r->pos, next;
	char c;

	if (r->s[start] == '`') {
		shell_literal_flush(r, list);
		return shell_read_backtick(r, list, in_double);
	}
	next = shell_after(r, start);
	c = shell_at(r, next);
	if (!in_double && (c == '\'' || c == '"')) {
		/* Between double quotes bash puts the value in its place without any quotes. */
		if (r->in_message)
			return shell_fail(r, SHELL_UNSUPPORTED, start, next + 1,
			                  "$' in a quoted expansion");
		r->pos = next;
		return c == '"' ? shell_read_double(r, list) : shell_read_ansi(r, list);
	}
	/* Where bash looks for braces, or the end of quotes or an operand, it sees $( or ${. */
	if (c == '$') {
		uint32_t behind = shell_after(r, next);

		if (shell_at(r, behind) == '(' || shell_at(r, behind) == '{')
			return shell_fail(r, SHELL_UNSUPPORTED, start, behind + 1,
			                  "$$ before a parenthesis or brace");
	}
	if (c && (shell_is(c, CLASS_NAME) || strchr("@*#?-$!({[", c))) {
		shell_literal_flush(r, list);
		r->pos = next;
		if (c == '(' && shell_at(r, shell_after(r, next)) == '(')
			return shell_read_double_paren(r, list, start);
		if (c == '(')
			return shell_add_command(r, list, start, shell_read_substitution(r));
		if (c == '{')
			return shell_read_param(r, list, in_double, start);
		if (c == '[')
			return shell_read_bracket_arith(r, list, start);
		return read_bare_param(r, list, start);
	}
	/* Backticks are printed as $( ), which would turn this into $$. */
	if (c == '`' && quote == SHELL_QUOTE_NONE)
		return shell_fail(r, SHELL_UNSUPPORTED, start, next + 1, "$ before a backtick");
	r->pos++;
	shell_literal_put(r, list, quote, start, "$", 1);
	return true;
}
