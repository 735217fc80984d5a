#include "engine/explain-tree.h"

#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "decide/check.h"
#include "engine/look.h"
#include "json/write.h"
#include "profile/profile.h"
#include "shell/facts.h"

#define NODES_MAX 2000
#define DEPTH_MAX 60
#define TEXT_MAX  200
#define BOX_BYTES ((size_t)64 << 10)

struct tree {
	struct json_writer *w;
	const struct shell_facts *facts;
	int nodes, depth;
};

static void put_list(struct tree *t, const struct shell_list *list);
static void put_words(struct tree *t, const struct shell_word *words);

static bool begin(struct tree *t, const char *kind, struct shell_range at, const char *what)
{
	const struct shell_text *text = &t->facts->tree->text;
	size_t n = at.end > at.start && at.end <= text->len ? at.end - at.start : 0;

	if (t->nodes >= NODES_MAX || t->depth >= DEPTH_MAX)
		return false;
	t->nodes++;
	t->depth++;
	if (n > TEXT_MAX)
		n = utf8_valid_prefix(text->bytes + at.start, TEXT_MAX);
	json_object_begin(t->w);
	json_member_string(t->w, "kind", kind);
	json_member_uint(t->w, "start", at.start);
	json_member_uint(t->w, "end", at.end);
	json_member_bytes(t->w, "text", text->bytes + (n ? at.start : 0), n);
	json_member_string(t->w, "what", what);
	return true;
}

static void children(struct tree *t)
{
	json_member_array(t->w, "children");
}

static void end(struct tree *t)
{
	json_array_end(t->w);
	json_object_end(t->w);
	t->depth--;
}

static void put_part(struct tree *t, const struct shell_part *p)
{
	const struct shell_part *inner;

	switch (p->kind) {
	case SHELL_PART_DOUBLE:
		for (inner = p->parts; inner; inner = inner->next)
			put_part(t, inner);
		return;
	case SHELL_PART_COMMAND:
	case SHELL_PART_PROCESS_IN:
	case SHELL_PART_PROCESS_OUT:
		if (!begin(t, "substitution", p->range,
		           p->kind == SHELL_PART_COMMAND ? "its output becomes a word"
		                                         : "a pipe to or from it becomes a word"))
			return;
		children(t);
		put_list(t, p->list);
		end(t);
		return;
	case SHELL_PART_ARITH:
		if (!begin(t, "arithmetic", p->range, "a number is worked out"))
			return;
		children(t);
		put_words(t, p->word);
		end(t);
		return;
	case SHELL_PART_PARAM:
	case SHELL_PART_LITERAL:
	case SHELL_PART_GLOB:
	case SHELL_PART_EXTGLOB:
	case SHELL_PART_TILDE:
	case SHELL_PART_ARRAY:
		return;
	}
}

static const char *what_of_word(const struct shell_word *word)
{
	for (const struct shell_part *p = word->parts; p; p = p->next) {
		if (p->kind == SHELL_PART_GLOB || p->kind == SHELL_PART_EXTGLOB)
			return "a pattern: becomes the names of files that fit";
		if (p->kind == SHELL_PART_PARAM || p->kind == SHELL_PART_DOUBLE ||
		    p->kind == SHELL_PART_COMMAND || p->kind == SHELL_PART_ARITH)
			return "a word that is known only when it runs";
		if (p->kind == SHELL_PART_TILDE)
			return "a home directory";
	}
	return "a word";
}

static void put_words(struct tree *t, const struct shell_word *words)
{
	for (const struct shell_word *word = words; word; word = word->next) {
		if (!begin(t, "word", word->range, what_of_word(word)))
			return;
		children(t);
		for (const struct shell_part *p = word->parts; p; p = p->next)
			put_part(t, p);
		end(t);
	}
}

static void put_redirects(struct tree *t, const struct shell_redirect *r)
{
	for (; r; r = r->next) {
		const char *what =
			r->op == SHELL_REDIRECT_HEREDOC || r->op == SHELL_REDIRECT_STRING
				? "text becomes its input"
			: r->op == SHELL_REDIRECT_IN ? "a file becomes its input"
			: r->op == SHELL_REDIRECT_DUP_IN || r->op == SHELL_REDIRECT_DUP_OUT
				? "a stream goes where another one goes"
				: "its output goes into a file";

		if (!begin(t, "redirect", r->range, what))
			return;
		children(t);
		if (r->target)
			put_words(t, r->target);
		end(t);
	}
}

static void put_assigns(struct tree *t, const struct shell_assign *a)
{
	for (; a; a = a->next) {
		if (!begin(t, "assignment", a->range, "sets a variable"))
			return;
		children(t);
		put_words(t, a->value);
		end(t);
	}
}

static void put_clauses(struct tree *t, const struct shell_clause *c)
{
	for (; c; c = c->next) {
		if (c->condition)
			put_list(t, c->condition);
		put_list(t, c->body);
	}
}

/* The command of the facts that stands here. */
static int index_of(const struct tree *t, const struct shell_command *c)
{
	for (size_t i = 0; i < t->facts->command_count; i++)
		if (t->facts->commands[i].range.start == c->range.start &&
		    t->facts->commands[i].range.end == c->range.end)
			return (int)i;
	return -1;
}

struct meaning {
	const char *kind, *what;
};

static struct meaning meaning_of(const struct shell_command *c)
{
	static const struct meaning meanings[] = {
		[SHELL_SIMPLE] = {"command", "runs a command"},
		[SHELL_GROUP] = {"group", "runs a list of commands"},
		[SHELL_SUBSHELL] = {"subshell", "runs a list in a shell of its own"},
		[SHELL_IF] = {"if", "runs one list or another"},
		[SHELL_WHILE] = {"while", "repeats a list as long as a condition holds"},
		[SHELL_UNTIL] = {"while", "repeats a list until a condition holds"},
		[SHELL_FOR] = {"for", "repeats a list for each word"},
		[SHELL_SELECT] = {"for", "asks for one of the words, again and again"},
		[SHELL_FOR_ARITH] = {"for", "repeats a list, counting"},
		[SHELL_CASE] = {"case", "runs the list whose pattern fits"},
		[SHELL_ARITH] = {"arithmetic", "works out a number"},
		[SHELL_TEST] = {"test", "tests a condition"},
		[SHELL_FUNCTION] = {"function", "defines a function; it runs when it is called"},
		[SHELL_COPROC] = {"command", "runs a command beside the line"},
	};

	return meanings[c->kind];
}

static void put_inside(struct tree *t, const struct shell_command *c);

static void put_command(struct tree *t, const struct shell_command *c)
{
	struct meaning m = meaning_of(c);
	int index = index_of(t, c);

	if (c->kind == SHELL_SIMPLE && !c->simple.words)
		m.what = "sets variables, or opens files";
	if (!begin(t, m.kind, c->range, m.what))
		return;
	if (index >= 0)
		json_member_int(t->w, "command", index);
	children(t);
	put_inside(t, c);
	put_redirects(t, c->redirects);
	end(t);
}

static void put_inside(struct tree *t, const struct shell_command *c)
{
	switch (c->kind) {
	case SHELL_SIMPLE:
		put_assigns(t, c->simple.assigns);
		put_words(t, c->simple.words);
		return;
	case SHELL_GROUP:
	case SHELL_SUBSHELL:
		put_list(t, c->list);
		return;
	case SHELL_IF:
	case SHELL_WHILE:
	case SHELL_UNTIL:
		put_clauses(t, c->clauses);
		return;
	case SHELL_FOR:
	case SHELL_SELECT:
		put_words(t, c->loop.words);
		put_list(t, c->loop.body);
		return;
	case SHELL_FOR_ARITH:
		put_list(t, c->arith_loop.body);
		return;
	case SHELL_CASE:
		put_words(t, c->cases.word);
		for (const struct shell_case_item *i = c->cases.items; i; i = i->next)
			put_list(t, i->body);
		return;
	case SHELL_ARITH:
		put_words(t, c->arith);
		return;
	case SHELL_FUNCTION:
	case SHELL_COPROC:
		put_command(t, c->body);
		return;
	case SHELL_TEST:
		return;
	}
}

static const char *what_of_pipeline(const struct shell_pipeline *p)
{
	return p->join == SHELL_JOIN_AND  ? "runs if what is before it succeeds"
	       : p->join == SHELL_JOIN_OR ? "runs if what is before it fails"
	       : p->command_count > 1     ? "each command reads what the one before it prints"
	                                  : "runs";
}

static void put_statement(struct tree *t, const struct shell_statement *s)
{
	if (!begin(t, "statement", s->range,
	           s->background ? "runs beside what follows" : "runs, then what follows"))
		return;
	children(t);
	for (const struct shell_pipeline *p = s->pipelines; p; p = p->next) {
		if (!begin(t, "pipeline", p->range, what_of_pipeline(p)))
			break;
		children(t);
		for (const struct shell_command *c = p->commands; c; c = c->next)
			put_command(t, c);
		end(t);
	}
	end(t);
}

static void put_list(struct tree *t, const struct shell_list *list)
{
	for (const struct shell_statement *s = list ? list->statements : NULL; s; s = s->next)
		put_statement(t, s);
}

void explain_put_tree(const struct check *c, struct json_writer *w)
{
	const struct shell_tree *tree = c->facts->tree;
	struct tree t = {.w = w, .facts = c->facts};

	json_member_bytes(w, "source", tree->text.bytes ? tree->text.bytes : "", tree->text.len);
	json_member_array(w, "tree");
	put_list(&t, tree->list);
	json_array_end(w);
	json_put_key(w, "error");
	if (tree->list || !tree->message) {
		json_put_null(w);
		return;
	}
	json_object_begin(w);
	json_member_string(w, "message", tree->message);
	json_member_uint(w, "start", tree->at.start);
	json_member_uint(w, "end", tree->at.end);
	json_object_end(w);
}

void explain_put_box(const struct profile *p, const char *workspace, struct json_writer *w)
{
	scoped(arena_freep) struct arena *arena = arena_new(BOX_BYTES);
	struct look_box box = {.tier = NULL};

	if (arena)
		look_at_box(p, arena, &box);
	json_member_object(w, "box");
	json_member_string(w, "tier", box.tier ? box.tier : "none");
	json_member_string(w, "network", box.network ? box.network : "host");
	json_member_string(w, "engine", box.engine ? box.engine : "off");
	json_member_array(w, "limits");
	for (size_t i = 0; i < box.limit_count; i++)
		json_put_string(w, box.limits[i]);
	json_array_end(w);
	json_member_array(w, "writable");
	if (workspace && !p->sandbox.workspace_readonly)
		json_put_string(w, workspace);
	for (const char *const *path = p->sandbox.writable; path && *path; path++)
		json_put_string(w, *path);
	json_array_end(w);
	json_object_end(w);
}
