/*
 * declare, typeset, local, readonly, export: assignments in the form of arguments.
 *
 * Their operands are looked at as text: declare 'a[$(id)]=1' evaluates the subscript, declare -i
 * the value, and a value in parentheses that was quoted is expanded when the variable is an array.
 */
#include "shell/pass.h"

#include <string.h>
#include "base/name.h"

struct flags {
	bool display; /* -p, -f, -F: shows, or is about functions */
	bool array, assoc, integer, reference;
	bool unsure;      /* +A, or an option that bash does not know or that is rarely used */
	bool export_only; /* export and readonly do not expand quoted array values again */
	bool local, readonly, global;
	bool readonly_only; /* readonly makes no array without a value */
};

static void unknown_name(struct shell_pass *p, struct shell_range range)
{
	pass_opaque(p, range, "it is not known which variable is set", "set-dynamic");
}

/* False: an option that cannot be told, and has been said. */
static bool read_flags(struct shell_pass *p, const struct pass_call *call, size_t *at,
                       struct flags *f)
{
	for (; *at < call->word_count; ++*at) {
		const struct shell_fact_word *w = &call->words[*at];

		if (!pass_word_known(w) && !w->text.len) {
			unknown_name(p, w->range);
			return false;
		}
		if (w->text.len < 2 || (w->text.bytes[0] != '-' && w->text.bytes[0] != '+'))
			return true;
		if (!pass_word_known(w)) {
			unknown_name(p, w->range);
			return false;
		}
		if (pass_text_is(w->text, "--")) {
			++*at;
			return true;
		}
		for (size_t k = 1; k < w->text.len; k++) {
			f->display |= memchr("pfF", w->text.bytes[k], 3) != NULL;
			f->array |= w->text.bytes[k] == 'a';
			f->assoc |= w->text.bytes[k] == 'A';
			f->integer |= w->text.bytes[k] == 'i';
			f->readonly |= w->text.bytes[k] == 'r';
			f->reference |= w->text.bytes[k] == 'n' && !f->export_only;
			f->global |= w->text.bytes[k] == 'g';
			f->unsure |= !strchr("aAfFgilnprtux", w->text.bytes[k]) ||
			             (w->text.bytes[k] == 'A' && w->text.bytes[0] == '+');
		}
	}
	return true;
}

/* A value that bash might read as ( ... ) once more. */
static void check_array_text(struct shell_pass *p, struct shell_text name,
                             const struct shell_fact_word *value, const struct flags *f)
{
	static const char effect[] = "eval-subscript";
	bool maybe = value->text.len ? value->text.bytes[0] == '(' : !pass_word_known(value);

	if (!maybe)
		return;
	if (f->array || f->assoc ||
	    (!f->export_only && !pass_need(p, name, PASS_CHECK_SCALAR, effect, value->range)))
		pass_opaque(p, value->range, "a value in parentheses is expanded again", "%s",
		            effect);
}

static bool has_array(const struct shell_fact_word *w)
{
	return w->node && w->node->assign && w->node->assign->value->parts &&
	       w->node->assign->value->parts->kind == SHELL_PART_ARRAY;
}

static enum pass_worth worth_of(struct shell_pass *p, const struct shell_fact_word *w,
                                const struct shell_fact_word *value)
{
	const struct shell_assign *a = w->node ? w->node->assign : NULL;

	if (has_array(w) || (a && a->append))
		return PASS_WORTH_OTHER;
	if (a)
		return pass_worth_of(p, a->value);
	return pass_word_known(value) ? pass_worth_of_text(value->text) : PASS_WORTH_OTHER;
}

static bool makes_assoc(const struct shell_pass *p, const struct shell_fact_word *w,
                        const struct flags *f)
{
	if (!f->assoc || f->unsure || f->export_only || (f->global && p->functions))
		return false;
	return f->readonly_only ? has_array(w) : !f->local || p->functions;
}

static void operand(struct shell_pass *p, const struct shell_fact_word *w, const struct flags *f)
{
	const char *equals = memchr(w->text.bytes, '=', w->text.len);
	size_t n = equals ? (size_t)(equals - w->text.bytes) : w->text.len;
	struct shell_fact_word value = *w;
	struct shell_text full, name;
	struct pass_variable *v;
	bool assoc;

	if ((!equals && !pass_word_known(w)) ||
	    (w->kind != SHELL_VALUE_KNOWN && w->kind != SHELL_VALUE_ONE)) {
		unknown_name(p, w->range);
		return;
	}
	full = pass_text(p, w->text.bytes, equals && n && w->text.bytes[n - 1] == '+' ? n - 1 : n);
	if (!pass_name_is_safe(full)) {
		if (memchr(full.bytes, '[', full.len))
			pass_opaque(p, w->range, "a subscript is evaluated", "eval-subscript");
		return; /* bash refuses any other name */
	}
	name = pass_text(p, full.bytes, strcspn(full.bytes, "["));
	if (!f->local)
		pass_effect(p, w->range, "set:%s", name.bytes);
	assoc = makes_assoc(p, w, f);
	v = pass_variable(p, name);
	if (v) {
		v->array |= f->array || f->assoc || has_array(w) || full.len > name.len;
		v->integer |= f->integer;
		v->indexed |= v->array && !assoc && !pass_is_sure(p, name, PASS_SURE_ASSOC);
		/* In a function it hides one that may be associative. */
		v->indexed |= p->functions && !assoc && !f->export_only && !f->readonly_only;
	}
	if (assoc)
		pass_sure(p, name, PASS_SURE_ASSOC);
	if (!equals) {
		if (f->readonly) /* whatever it is, it stays */
			pass_write(p, name, PASS_WORTH_OTHER);
		return;
	}
	value.text = (struct shell_text){w->text.bytes + n + 1, w->text.len - n - 1};
	value.node = NULL;
	pass_write(p, name, worth_of(p, w, &value));
	if (!f->assoc && !f->array && full.len == name.len && (!f->local || p->functions))
		pass_sure(p, name, PASS_SURE_VARIABLE);
	pass_assigned(p, name, &value, w->range);
	if (!has_array(w))
		check_array_text(p, name, &value, f);
}

bool pass_declare(struct shell_pass *p, const struct pass_call *call)
{
	const char *name = call->words[0].text.bytes;
	struct flags f = {0};
	size_t at = 1;

	f.export_only = name_is(name, "export");
	f.local = name_is(name, "local");
	f.readonly = f.readonly_only = name_is(name, "readonly");
	if (!f.export_only && !f.local && !name_is(name, "declare") && !name_is(name, "typeset") &&
	    !f.readonly)
		return false;

	if (read_flags(p, call, &at, &f)) {
		if (f.reference)
			pass_opaque(p, call->range, "a reference to another variable is evaluated",
			            "nameref");
		for (size_t i = at; i < call->word_count && !f.display && pass_ok(p); i++)
			operand(p, &call->words[i], &f);
	}
	return true;
}
