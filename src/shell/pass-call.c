/*
 * One simple command: what kind it is, and which rules know what it runs.
 */
#include "shell/pass.h"

#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "shell/wrappers.h"

static const char *const builtin_names[] = {
	".",      ":",       "[",         "alias",    "bg",       "bind",    "break",    "builtin",
	"caller", "cd",      "command",   "compgen",  "complete", "compopt", "continue", "declare",
	"dirs",   "disown",  "echo",      "enable",   "eval",     "exec",    "exit",     "export",
	"false",  "fc",      "fg",        "getopts",  "hash",     "help",    "history",  "jobs",
	"kill",   "let",     "local",     "logout",   "mapfile",  "popd",    "printf",   "pushd",
	"pwd",    "read",    "readarray", "readonly", "return",   "set",     "shift",    "shopt",
	"source", "suspend", "test",      "times",    "trap",     "true",    "type",     "typeset",
	"ulimit", "umask",   "unalias",   "unset",    "wait",
};

static int compare(const void *key, const void *item)
{
	const char *a = key, *b = *(const char *const *)item;

	return *a != *b ? (unsigned char)*a - (unsigned char)*b : strcmp(a, b);
}

static bool is_builtin(const char *name)
{
	return bsearch(name, builtin_names, array_size(builtin_names), sizeof(builtin_names[0]),
	               compare);
}

struct shell_text pass_basename(struct shell_text path)
{
	const char *slash = memrchr(path.bytes, '/', path.len);
	size_t skip = slash ? (size_t)(slash + 1 - path.bytes) : 0;

	return (struct shell_text){path.bytes + skip, path.len - skip};
}

static void external(struct shell_pass *p, const struct pass_call *call)
{
	struct shell_text name = pass_basename(call->words[0].text);

	if (!pass_shell(p, call))
		pass_wrapper(p, call, name.bytes);
}

/* Whether the name would mean something to the pass if it were no function. */
static bool has_rules(struct shell_text name)
{
	return is_builtin(name.bytes) || shell_wrapper_find(name.bytes) ||
	       pass_is_shell(pass_basename(name));
}

void pass_call(struct shell_pass *p, const struct pass_call *call)
{
	const struct shell_fact_word *first = call->words;
	struct pass_place here = pass_here(p);
	bool builtin;

	if (!call->word_count) {
		pass_list_command(p, call, SHELL_KIND_NONE);
		return;
	}
	if (!pass_word_known(first)) {
		pass_list_command(p, call, SHELL_KIND_DYNAMIC);
		pass_opaque(p, call->range, "the name of a command is not known",
		            "dynamic-command");
		return;
	}
	if (call->lookup == PASS_LOOKUP_ALL && !p->function_unset &&
	    pass_is_sure(p, first->text, PASS_SURE_FUNCTION)) {
		pass_list_command(p, call, SHELL_KIND_FUNCTION);
		p->function_stands_in |= has_rules(first->text);
		return;
	}
	builtin = call->lookup != PASS_LOOKUP_EXTERNAL && is_builtin(first->text.bytes);
	pass_list_command(p, call, builtin ? SHELL_KIND_BUILTIN : SHELL_KIND_EXTERNAL);
	if (!pass_enter(p, NULL))
		return;
	if (builtin)
		pass_builtin(p, call);
	else if (call->lookup != PASS_LOOKUP_BUILTIN)
		external(p, call);
	pass_back(p, here);
}
