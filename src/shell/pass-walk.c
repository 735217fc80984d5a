/*
 * The walk: lists, pipelines, compound commands, redirections. Branches are all taken, loops once.
 */
#include "shell/pass.h"

#include <string.h>

static void command(struct shell_pass *p, const struct shell_command *c, bool pipe_stderr);

/* Another shell may read this construct as something else. */
static void bash_only(struct shell_pass *p, struct shell_range range)
{
	if (p->posix)
		pass_opaque(p, range, "not every shell reads it so", "shell-dialect");
}

/* What is assigned inside is not sure afterwards. */
static void branch(struct shell_pass *p, const struct shell_list *list)
{
	size_t sure = p->sure_count;

	pass_list(p, list);
	p->sure_count = sure;
}

static void inside(struct shell_pass *p, const char *step, const struct shell_list *list)
{
	struct pass_place here = pass_here(p);

	if (pass_enter(p, step))
		pass_list(p, list);
	pass_back(p, here);
}

/* Redirections */

static const struct shell_text number_one = {"1", 1};

/* bash expands the word behind >& (or 1>&) twice when it is no descriptor: echo >&'$(id)' runs id.
 */
static void check_dup(struct shell_pass *p, const struct shell_redirect *r,
                      const struct shell_fact_word *target)
{
	if (!r->written_dup && !(r->op == SHELL_REDIRECT_DUP_OUT && r->fd <= 1))
		return;
	if (pass_word_known(target)) {
		if (!strpbrk(target->text.bytes, "$`\\\"'<>*?[~{"))
			return;
	} else if (pass_word_is_plain(p, r->target, "redirect-expansion")) {
		return;
	}
	pass_opaque(p, r->range, "the word behind >& is expanded twice", "redirect-expansion");
}

static void fill_redirect(struct shell_pass *p, const struct shell_redirect *r,
                          struct shell_fact_redirect *f)
{
	f->op = shell_redirect_name(r);
	f->fd = shell_redirect_fd(r);
	f->variable = r->fd_variable;
	if (r->op == SHELL_REDIRECT_HEREDOC) {
		f->heredoc = true;
		f->expand = r->expand;
		f->delimiter = r->delimiter;
		f->body = r->body;
	} else {
		pass_word_read(p, r->target, &f->target);
		check_dup(p, r, &f->target);
	}
	if (r->op == SHELL_REDIRECT_BOTH || r->op == SHELL_REDIRECT_BOTH_APPEND ||
	    r->op == SHELL_REDIRECT_STRING || r->fd > 9) /* dash takes 10> for a word and > */
		bash_only(p, r->range);
	if (r->fd_variable.bytes) {
		bash_only(p, r->range);
		if (!pass_name_is_safe(r->fd_variable))
			pass_opaque(p, r->range, "a subscript is evaluated", "eval-subscript");
		pass_write(p, r->fd_variable, PASS_WORTH_NUMBER);
	}
}

static struct shell_fact_redirect *read_redirects(struct shell_pass *p,
                                                  const struct shell_redirect *first,
                                                  bool pipe_stderr, size_t *ret_count)
{
	struct shell_fact_redirect *list;
	size_t n = pipe_stderr ? 1 : 0, i = 0;

	*ret_count = 0;
	for (const struct shell_redirect *r = first; r; r = r->next)
		n++;
	if (!n)
		return NULL;
	list = pass_alloc(p, sizeof(*list), n);
	if (!list)
		return NULL;
	for (const struct shell_redirect *r = first; r; r = r->next)
		fill_redirect(p, r, &list[i++]);
	if (pipe_stderr) /* |& is 2>&1 | */
		list[i] = (struct shell_fact_redirect){
			.fd = 2,
			.op = ">&",
			.target = {.kind = SHELL_VALUE_KNOWN, .text = number_one}};
	*ret_count = n;
	return list;
}

static void redirects_inside(struct shell_pass *p, const struct shell_redirect *first)
{
	size_t sure = p->sure_count;

	for (const struct shell_redirect *r = first; r && pass_ok(p); r = r->next) {
		struct pass_place here = pass_here(p);

		pass_word_inside(p, r->target);
		if (r->body && r->expand && pass_enter(p, "heredoc"))
			pass_word_inside(p, r->body);
		pass_back(p, here);
	}
	p->sure_count = sure; /* one that fails leaves the others out */
}

/* The redirections of a compound command: a command without words. */
static void compound_redirects(struct shell_pass *p, const struct shell_command *c,
                               bool pipe_stderr)
{
	struct pass_call call = {.range = c->range};
	struct pass_place here = pass_here(p);

	call.listed = read_redirects(p, c->redirects, pipe_stderr, &call.listed_count);
	if (!call.listed_count)
		return;
	redirects_inside(p, c->redirects);
	if (pass_enter(p, "compound"))
		pass_list_command(p, &call, SHELL_KIND_NONE);
	pass_back(p, here);
}

/* Simple commands */

static struct shell_text assign_name(struct shell_pass *p, const struct shell_assign *a)
{
	struct shell_fact_word index;
	struct shell_text name = a->name;
	char *joined;

	if (!a->index)
		return name;
	index = pass_word(p, a->index);
	if (!pass_word_known(&index))
		return name;
	joined = arena_printf(p->arena, "%s[%s]", name.bytes, index.text.bytes);
	return joined ? (struct shell_text){joined, strlen(joined)} : name;
}

static bool is_array(const struct shell_assign *a)
{
	return a->value->parts && a->value->parts->kind == SHELL_PART_ARRAY;
}

static void assigned_inside(struct shell_pass *p, const struct shell_assign *a)
{
	if (a->index)
		pass_index(p, a->name, a->index);
	if (is_array(a))
		pass_array(p, a->value->parts->items, pass_is_kept(p, a->name, a->range));
	else
		pass_word_inside(p, a->value);
}

static void walk_assign(struct shell_pass *p, const struct shell_assign *a,
                        const struct shell_fact_word *value)
{
	struct pass_variable *v = pass_variable(p, a->name);

	if (a->append || is_array(a) || a->index)
		bash_only(p, a->range);
	assigned_inside(p, a);
	/* Appending text to a number does not always give one. */
	pass_write(p, a->name,
	           is_array(a) || a->append ? PASS_WORTH_OTHER : pass_worth_of(p, a->value));
	if (v && (is_array(a) || a->index)) {
		v->array = true;
		v->indexed |= !pass_is_sure(p, a->name, PASS_SURE_ASSOC);
	}
	pass_assigned(p, a->name, value, a->range);
}

/* m=1 f: while f runs it hides an m that may be an associative array. */
static void hides(struct shell_pass *p, struct shell_text name)
{
	struct pass_variable *v = pass_variable(p, name);

	if (v)
		v->indexed = true;
}

static void simple_assigns(struct shell_pass *p, const struct shell_command *c,
                           struct pass_call *call)
{
	size_t n = 0;

	for (const struct shell_assign *a = c->simple.assigns; a; a = a->next)
		n++;
	if (!n)
		return;
	call->assigns = pass_alloc(p, sizeof(*call->assigns), n);
	if (!call->assigns)
		return;
	for (const struct shell_assign *a = c->simple.assigns; a; a = a->next)
		call->assigns[call->assign_count++] = (struct shell_fact_assign){
			assign_name(p, a), pass_word(p, a->value), a->append};
}

static void simple_words(struct shell_pass *p, const struct shell_command *c,
                         struct pass_call *call)
{
	if (!c->simple.word_count)
		return;
	call->words = pass_alloc(p, sizeof(*call->words), c->simple.word_count);
	if (!call->words)
		return;
	for (const struct shell_word *w = c->simple.words; w && pass_ok(p); w = w->next)
		pass_word_read(p, w, &call->words[call->word_count++]);
}

/* declare -A m=([key]=value): the keys are not evaluated. */
static bool becomes_assoc(const struct shell_assign *a, const struct pass_sure *made, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (made[i].kind == PASS_SURE_ASSOC && pass_text_equal(made[i].name, a->name))
			return true;
	return false;
}

static void arguments_inside(struct shell_pass *p, const struct shell_command *c,
                             const struct pass_sure *made, size_t n)
{
	for (const struct shell_word *w = c->simple.words; w && pass_ok(p); w = w->next) {
		if (!w->assign)
			pass_word_inside(p, w);
		else if (is_array(w->assign) && becomes_assoc(w->assign, made, n))
			pass_array(p, w->assign->value->parts->items, true);
		else
			assigned_inside(p, w->assign);
	}
}

/*
 * What is inside the words of a command is expanded before the command does anything: in
 * declare i=0 j=$((i)) the i of before is read. So what the command makes sure is put aside.
 */
static void simple_inside(struct shell_pass *p, const struct shell_command *c,
                          const struct pass_call *call, size_t before)
{
	size_t n = p->sure_count - before, i = 0;
	struct pass_sure *made = n ? pass_alloc(p, sizeof(*made), n) : NULL;

	if (made)
		memcpy(made, p->sure + before, n * sizeof(*made));
	p->sure_count = before;
	arguments_inside(p, c, made, made ? n : 0);
	for (const struct shell_assign *a = c->simple.assigns; a && pass_ok(p); a = a->next) {
		walk_assign(p, a, &call->assigns[i++].value);
		if (c->simple.words)
			hides(p, a->name);
		else if (!a->index)
			pass_sure(p, a->name, PASS_SURE_VARIABLE);
	}
	redirects_inside(p, c->redirects);
	for (i = 0; made && i < n; i++)
		pass_sure(p, made[i].name, made[i].kind);
	if (c->redirects || p->may_fail)
		p->sure_count = before; /* perhaps nothing of it happens */
}

static void simple(struct shell_pass *p, const struct shell_command *c, bool pipe_stderr)
{
	struct pass_call call = {.range = c->range, .redirects = c->redirects};
	size_t before = p->sure_count;

	simple_words(p, c, &call);
	simple_assigns(p, c, &call);
	call.listed = read_redirects(p, c->redirects, pipe_stderr, &call.listed_count);
	if (!pass_ok(p))
		return;
	pass_call(p, &call);
	simple_inside(p, c, &call, before);
}

/* Compound commands */

static void clauses(struct shell_pass *p, const struct shell_command *c, const char *step)
{
	struct pass_place here = pass_here(p);
	size_t sure = p->sure_count;
	bool first = true;

	if (pass_enter(p, step)) {
		for (const struct shell_clause *k = c->clauses; k && pass_ok(p); k = k->next) {
			if (k->condition)
				pass_list(p, k->condition);
			if (first) /* the first condition runs in any case */
				sure = p->sure_count;
			first = false;
			branch(p, k->body);
			p->sure_count = sure;
		}
	}
	pass_back(p, here);
}

static void loop(struct shell_pass *p, const struct shell_command *c, const char *step)
{
	static const struct shell_text reply = {"REPLY", 5};
	struct pass_place here = pass_here(p);
	struct shell_fact_word any = {.kind = SHELL_VALUE_ONE, .text = {"", 0}};
	size_t sure = p->sure_count;
	enum pass_worth worth = PASS_WORTH_NUMBER;
	bool runs = false; /* once at least */

	for (const struct shell_word *w = c->loop.words; w && pass_ok(p); w = w->next) {
		enum pass_worth one = pass_worth_of(p, w);

		worth = one > worth ? one : worth;
		runs |= c->kind == SHELL_FOR && w->parts && !w->parts->next &&
		        w->parts->kind == SHELL_PART_LITERAL;
		pass_word_inside(p, w);
	}
	if (!c->loop.has_in)
		worth = PASS_WORTH_OTHER;
	pass_write(p, c->loop.name, worth);
	pass_assigned(p, c->loop.name, &any, c->range);
	if (c->kind == SHELL_SELECT) {
		bash_only(p, c->range);
		pass_write(p, c->loop.name, PASS_WORTH_OTHER);
		pass_write(p, reply, PASS_WORTH_OTHER);
	}
	pass_sure(p, c->loop.name, PASS_SURE_VARIABLE);
	if (runs)
		sure = p->sure_count; /* it has a value afterwards, too */
	if (pass_enter(p, step))
		pass_list(p, c->loop.body);
	pass_back(p, here);
	p->sure_count = sure;
}

static void loop_arith(struct shell_pass *p, const struct shell_command *c)
{
	struct pass_place here = pass_here(p);
	size_t sure;

	bash_only(p, c->range);
	pass_word_inside(p, c->arith_loop.init);
	pass_arith(p, c->arith_loop.init);
	pass_word_inside(p, c->arith_loop.condition);
	pass_arith(p, c->arith_loop.condition);
	sure = p->sure_count;
	if (pass_enter(p, "for"))
		pass_list(p, c->arith_loop.body);
	pass_back(p, here);
	p->sure_count = sure; /* the body may be left early, by continue */
	pass_word_inside(p, c->arith_loop.step);
	pass_arith(p, c->arith_loop.step);
	p->sure_count = sure;
}

static void cases(struct shell_pass *p, const struct shell_command *c)
{
	struct pass_place here = pass_here(p);

	size_t sure;

	pass_word_inside(p, c->cases.word);
	sure = p->sure_count;
	for (const struct shell_case_item *k = c->cases.items; k && pass_ok(p); k = k->next)
		for (const struct shell_word *w = k->patterns; w; w = w->next)
			pass_word_inside(p, w);
	p->sure_count = sure; /* patterns behind the one that fits are not looked at */
	if (pass_enter(p, "case"))
		for (const struct shell_case_item *k = c->cases.items; k && pass_ok(p); k = k->next)
			branch(p, k->body);
	pass_back(p, here);
}

static bool is_arith_test(struct shell_text op)
{
	return pass_text_is(op, "-eq") || pass_text_is(op, "-ne") || pass_text_is(op, "-lt") ||
	       pass_text_is(op, "-le") || pass_text_is(op, "-gt") || pass_text_is(op, "-ge");
}

static void test_expression(struct shell_pass *p, const struct shell_test *t)
{
	struct pass_place here = pass_here(p);
	struct shell_fact_word name;
	size_t sure = p->sure_count;

	if (!t || !pass_enter(p, NULL))
		return;
	pass_word_inside(p, t->left);
	pass_word_inside(p, t->right);
	if (t->kind == SHELL_TEST_BINARY && is_arith_test(t->op)) {
		pass_arith(p, t->left);
		pass_arith(p, t->right);
	}
	if (t->kind == SHELL_TEST_UNARY &&
	    (pass_text_is(t->op, "-v") || pass_text_is(t->op, "-R"))) {
		name = pass_word(p, t->left);
		if (!pass_word_known(&name) || !pass_name_is_safe(name.text))
			pass_opaque(p, t->range, "a subscript is evaluated", "eval-subscript");
	}
	test_expression(p, t->a);
	test_expression(p, t->b);
	p->sure_count = sure; /* && and || leave parts out */
	pass_back(p, here);
}

static void function(struct shell_pass *p, const struct shell_command *c)
{
	struct pass_place here = pass_here(p);
	const char *step = arena_printf(p->arena, "func:%s", c->name.bytes);
	const struct shell_command *feeder = p->feeder, *fed = p->fed;
	size_t sure;

	pass_effect(p, c->range, "func:%s", c->name.bytes);
	p->counts_other |= pass_prints_number(c->name);
	pass_sure(p, c->name, PASS_SURE_FUNCTION);
	sure = p->sure_count;
	p->functions++;
	p->feeder = p->fed = NULL; /* who feeds it is not known before it is called */
	if (step && pass_enter(p, step)) {
		/* { } are part of a function, not a group of its own. */
		if (c->body->kind == SHELL_GROUP)
			pass_list(p, c->body->list);
		else
			command(p, c->body, false);
	}
	pass_back(p, here);
	if (c->body->kind == SHELL_GROUP)
		compound_redirects(p, c->body, false);
	p->functions--;
	p->sure_count = sure;
	p->feeder = feeder;
	p->fed = fed;
}

static void subshell(struct shell_pass *p, const char *step, const struct shell_list *list)
{
	size_t sure = p->sure_count;
	bool may_fail = p->may_fail;

	inside(p, step, list);
	p->sure_count = sure;
	p->may_fail = may_fail;
}

static void coproc(struct shell_pass *p, const struct shell_command *c)
{
	struct pass_place here = pass_here(p);
	size_t sure = p->sure_count;
	struct shell_text name = c->name.bytes ? c->name : (struct shell_text){"COPROC", 6};
	struct pass_variable *v = pass_variable(p, name);

	bash_only(p, c->range);
	if (v)
		v->array = v->indexed = true;
	pass_write(p, name, PASS_WORTH_OTHER);
	if (pass_enter(p, "coproc"))
		command(p, c->body, false);
	pass_back(p, here);
	p->sure_count = sure;
}

static void compound(struct shell_pass *p, const struct shell_command *c)
{
	switch (c->kind) {
	case SHELL_SIMPLE:
		break;
	case SHELL_GROUP:
		inside(p, "group", c->list);
		break;
	case SHELL_SUBSHELL:
		subshell(p, "subshell", c->list);
		break;
	case SHELL_IF:
		clauses(p, c, "if");
		break;
	case SHELL_WHILE:
		clauses(p, c, "while");
		break;
	case SHELL_UNTIL:
		clauses(p, c, "until");
		break;
	case SHELL_FOR:
		loop(p, c, "for");
		break;
	case SHELL_SELECT:
		loop(p, c, "select");
		break;
	case SHELL_FOR_ARITH:
		loop_arith(p, c);
		break;
	case SHELL_CASE:
		cases(p, c);
		break;
	case SHELL_ARITH:
		bash_only(p, c->range);
		pass_word_inside(p, c->arith);
		pass_arith(p, c->arith);
		break;
	case SHELL_TEST:
		bash_only(p, c->range);
		test_expression(p, c->test);
		break;
	case SHELL_FUNCTION:
		function(p, c);
		break;
	case SHELL_COPROC:
		coproc(p, c);
		break;
	}
}

static void command(struct shell_pass *p, const struct shell_command *c, bool pipe_stderr)
{
	size_t sure = p->sure_count;

	if (c->kind == SHELL_SIMPLE) {
		simple(p, c, pipe_stderr);
		return;
	}
	compound(p, c);
	compound_redirects(p, c, pipe_stderr);
	if (c->redirects && c->kind != SHELL_FUNCTION)
		p->sure_count = sure; /* if one fails, nothing of it happens */
}

static void pipeline(struct shell_pass *p, const struct shell_pipeline *line)
{
	const struct shell_command *feeder = p->feeder, *fed = p->fed;
	struct pass_place here = pass_here(p);
	size_t sure = p->sure_count;

	p->timed |= line->timed;
	if (line->timed)
		bash_only(p, line->range);
	if (line->command_count < 2) {
		if (line->commands)
			command(p, line->commands, false);
		return;
	}
	if (pass_enter(p, "pipe")) {
		for (const struct shell_command *c = line->commands; c && pass_ok(p); c = c->next) {
			if (c->pipe_stderr)
				bash_only(p, c->range);
			p->feeder = line->commands;
			p->fed = c;
			command(p, c, c->pipe_stderr);
			p->sure_count = sure; /* each runs in a subshell */
		}
	}
	pass_back(p, here);
	p->feeder = feeder;
	p->fed = fed;
}

static void statement(struct shell_pass *p, const struct shell_statement *st)
{
	struct pass_place here = pass_here(p);
	size_t before = p->sure_count, first = before;

	if (!pass_enter(p, st->background ? "bg" : NULL))
		return;
	for (const struct shell_pipeline *line = st->pipelines; line && pass_ok(p);
	     line = line->next) {
		if (line->join == SHELL_JOIN_OR)
			p->sure_count = first;
		pipeline(p, line);
		if (line == st->pipelines)
			first = p->sure_count;
		if (line->join == SHELL_JOIN_OR)
			p->sure_count = first; /* a || b && c runs c without b */
	}
	p->sure_count = st->background ? before : first;
	pass_back(p, here);
}

void pass_list(struct shell_pass *p, const struct shell_list *list)
{
	struct pass_place here = pass_here(p);

	if (!list || !pass_enter(p, NULL))
		return;
	for (const struct shell_statement *st = list->statements; st && pass_ok(p); st = st->next) {
		if (list == p->script && !st->next)
			p->script_last = p->facts->command_count;
		statement(p, st);
	}
	pass_back(p, here);
}
