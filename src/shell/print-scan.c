/*
 * Looking for here-documents in a tree that is to be printed.
 *
 * Only in the commands themselves: a substitution in one of their words has lines of its own.
 */
#include "shell/printer.h"

static bool has_heredoc(const struct shell_command *c)
{
	for (const struct shell_redirect *d = c->redirects; d; d = d->next)
		if (d->op == SHELL_REDIRECT_HEREDOC)
			return true;
	switch (c->kind) {
	case SHELL_GROUP:
	case SHELL_SUBSHELL:
		return printer_has_heredoc(c->list);
	case SHELL_IF:
	case SHELL_WHILE:
	case SHELL_UNTIL:
		for (const struct shell_clause *clause = c->clauses; clause; clause = clause->next)
			if (printer_has_heredoc(clause->condition) ||
			    printer_has_heredoc(clause->body))
				return true;
		return false;
	case SHELL_FOR:
	case SHELL_SELECT:
		return printer_has_heredoc(c->loop.body);
	case SHELL_FOR_ARITH:
		return printer_has_heredoc(c->arith_loop.body);
	case SHELL_CASE:
		for (const struct shell_case_item *i = c->cases.items; i; i = i->next)
			if (printer_has_heredoc(i->body))
				return true;
		return false;
	case SHELL_FUNCTION:
	case SHELL_COPROC:
		return has_heredoc(c->body);
	case SHELL_SIMPLE:
	case SHELL_ARITH:
	case SHELL_TEST:
	default:
		return false;
	}
}

bool printer_has_heredoc(const struct shell_list *list)
{
	const struct shell_statement *s = list ? list->statements : NULL;

	for (; s; s = s->next)
		for (const struct shell_pipeline *q = s->pipelines; q; q = q->next)
			for (const struct shell_command *c = q->commands; c; c = c->next)
				if (has_heredoc(c))
					return true;
	return false;
}
