/*
 * One row for each thing worth knowing: a function that looks at the keys of the profile and may
 * add a sentence. To tell of another key, add a row.
 */
#include "mcp/about.h"

#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/number.h"
#include "decide/check.h"
#include "engine/dialect.h"
#include "engine/engine.h"
#include "engine/explain.h"
#include "task/request.h"
#include "mcp/server.h"
#include "shell/facts.h"

#define NAMED_MAX   3 /* protected paths */
#define ALLOWED_MAX 60

/* What an agent is for, if it is one. A client that is offered several is none of them itself. */
static void tell_role(const struct mcp_offer *o, const struct profile *p, struct buffer *into)
{
	bool several = strcmp(o->tool, dialect_tool(o->dialect)) != 0;

	if (strcmp(p->name, p->base) != 0 && p->description[0])
		buffer_printf(into, " %s '%s': %s", several ? "This is the tool of" : "You are",
		              p->name, p->description);
}

/* Only where all others are refused. */
static void tell_allowed(const struct profile *p, struct buffer *into, bool session)
{
	size_t n = 0;

	if (p->rules.fallback != POLICY_VERDICT_DENY)
		return;
	for (size_t i = 0; i < p->rules.rule_count; i++) {
		const struct policy_rule *r = &p->rules.rules[i];

		for (const char *const *c = r->commands; r->list == POLICY_ALLOW && c && *c; c++)
			if (n++ < ALLOWED_MAX)
				buffer_printf(into, "%s%s", n == 1 ? " Allowed commands: " : ", ",
				              *c);
	}
	if (n > ALLOWED_MAX)
		buffer_printf(into, " and %zu more", n - ALLOWED_MAX);
	if (n > 0)
		buffer_putc(into, '.');
}

static void tell_practice(const struct profile *p, struct buffer *into, bool session)
{
	if (p->shell != PROFILE_SHELL_BASH)
		return;
	buffer_puts(into,
	            " Quote paths with blanks. Chain with && what depends on the step before, "
	            "with ; what does not. Prefer dedicated tools, if you have them, to find, "
	            "grep, cat, head and tail.");
	if (session)
		buffer_puts(into, " The working directory and exported variables persist.");
}

static void tell_output(const struct profile *p, struct buffer *into, bool session)
{
	size_t limit = view_limit(&p->output.view);

	switch (p->output.view.style) {
	case VIEW_HALVES:
		buffer_printf(into,
		              " Of output longer than %zu characters both halves come back, "
		              "without the middle.",
		              limit);
		break;
	case VIEW_TAIL_CHARS:
		buffer_printf(into, " Of long output the last %zu characters come back.", limit);
		break;
	case VIEW_EDGES:
		buffer_printf(into,
		              " Of output longer than %zu bytes the beginning and the end "
		              "come back.",
		              limit);
		break;
	case VIEW_BYTES:
		buffer_printf(into, " Of long output the first %zu bytes come back.", limit);
		break;
	case VIEW_AUTO:
	case VIEW_SALIENT:
		buffer_puts(into, " Of long output the beginning, the end and the lines that "
		                  "matter come back.");
		break;
	case VIEW_ALL:
	case VIEW_STYLE_MAX:
		break;
	}
}

static void tell_wall(const struct profile *p, struct buffer *into, bool session)
{
	if (p->mode == PROFILE_MODE_NONE)
		buffer_puts(into, " There is no sandbox.");
	else if (p->container)
		buffer_puts(into, " Commands run in a container.");
	else
		buffer_puts(into, " Commands run in a sandbox, without sudo.");
}

/* What commands of one client share, if it has a session; as the room itself does (keeper/room.c).
 */
static enum profile_share share_of(const struct profile *p, bool session)
{
	return session && p->mode == PROFILE_MODE_STRICT ? p->room.share : PROFILE_SHARE_NONE;
}

static bool has_set(const struct network_rules *n, enum network_list list, const char *set)
{
	for (size_t i = 0; i < n->lists[list].count; i++)
		if (n->lists[list].rules[i].set && strcmp(n->lists[list].rules[i].set, set) == 0)
			return true;
	return false;
}

/* Which names there are is for `nacre explain`; here, what an agent may expect of any other. */
static void tell_names(const struct profile *p, struct buffer *into, bool shared)
{
	const struct network_rules *n = &p->network;
	bool some = n->lists[NETWORK_ALLOW].count > 0, asks = n->lists[NETWORK_ASK].count > 0;

	if (some)
		buffer_puts(into, has_set(n, NETWORK_ALLOW, "@packages")
		                          ? " Network: package registries"
		                          : " Network: listed hosts");
	if (some)
		buffer_puts(into, asks ? "; others need a person." : ", no others.");
	else
		buffer_puts(into, " Network: every host needs a person.");
	buffer_puts(into, shared ? " Commands share one loopback."
	                         : " A command has a loopback of its own.");
}

static void tell_network(const struct profile *p, struct buffer *into, bool session)
{
	if (p->mode == PROFILE_MODE_NONE)
		return;
	if (p->sandbox.network == SANDBOX_NETWORK_HOST)
		buffer_puts(into, " The network is the host's.");
	else if (p->sandbox.network == SANDBOX_NETWORK_NAMES && p->mode == PROFILE_MODE_STRICT)
		tell_names(p, into, share_of(p, session) != PROFILE_SHARE_NONE && p->room.network);
	else if (share_of(p, session) != PROFILE_SHARE_NONE && p->room.network)
		buffer_puts(into, " There is no network: your commands share one loopback.");
	else if (p->mode == PROFILE_MODE_STRICT)
		buffer_puts(into, " There is no network: a command has a loopback of its own.");
	else
		buffer_puts(into, " There is no network.");
}

static void tell_what_stays(const struct profile *p, struct buffer *into, bool session)
{
	if (p->mode == PROFILE_MODE_NONE)
		return;
	if (p->sandbox.workspace_readonly)
		buffer_puts(into, " The workspace is read-only, and nothing stays.");
	else if (share_of(p, session) == PROFILE_SHARE_ALL)
		buffer_puts(into, " Files in the workspace stay, and in /tmp and home for this "
		                  "session.");
	else if (share_of(p, session) == PROFILE_SHARE_TMP)
		buffer_puts(into,
		            " Files in the workspace stay, and in /tmp for this session; home "
		            "is empty for each command.");
	else if (p->mode == PROFILE_MODE_STRICT)
		buffer_puts(into, " Files in the workspace stay; /tmp and home are empty for each "
		                  "command.");
	else
		buffer_puts(into, " Files in the workspace stay, temporary ones do not.");
}

static void tell_leftovers(const struct profile *p, struct buffer *into, bool session)
{
	if (p->room.keep_leftover)
		buffer_puts(into, " What a command leaves running continues as a task.");
}

static void tell_protected(const struct profile *p, struct buffer *into, bool session)
{
	const char *const *list = p->sandbox.protected_;
	size_t n = 0;

	if (p->mode == PROFILE_MODE_NONE || p->sandbox.workspace_readonly || !list || !list[0])
		return;
	buffer_puts(into, " Protected:");
	for (; list[n]; n++)
		if (n < NAMED_MAX && strlen(list[n]) < 40)
			buffer_printf(into, "%s %s", n > 0 ? "," : "", list[n]);
	if (n > NAMED_MAX)
		buffer_printf(into, " and %zu more", n - NAMED_MAX);
	buffer_puts(into, "; changes there are refused or held.");
}

static void tell_debugging(const struct profile *p, struct buffer *into, bool session)
{
	if (p->sandbox.debug && p->mode == PROFILE_MODE_STRICT &&
	    p->sandbox.exec == SANDBOX_EXEC_ANY && !p->sandbox.workspace_noexec)
		buffer_puts(into, " gdb and strace reach processes of their own command.");
}

/* In seconds, but for what is shorter. */
static void put_time(int64_t ms, struct buffer *into)
{
	if (ms % 1000 == 0)
		buffer_printf(into, "%lld s", (long long)ms / 1000);
	else
		buffer_printf(into, "%lld ms", (long long)ms);
}

static void tell_limits(const struct profile *p, struct buffer *into, bool session)
{
	const struct sandbox_limits *l = &p->sandbox.limits;
	char text[32];

	buffer_puts(into, " Limits: ");
	put_time(p->timeout.default_ms, into);
	buffer_puts(into, " a command (at most ");
	put_time(p->timeout.max_ms, into);
	buffer_putc(into, ')');
	if (p->mode != PROFILE_MODE_NONE && l->memory_bytes > 0) {
		number_format_bytes(l->memory_bytes, text);
		buffer_printf(into, ", %s of memory", text);
	}
	if (p->mode != PROFILE_MODE_NONE && l->processes > 0)
		buffer_printf(into, ", %llu processes", (unsigned long long)l->processes);
	if (p->mode != PROFILE_MODE_NONE && l->tmp_bytes > 0 &&
	    share_of(p, session) == PROFILE_SHARE_NONE) {
		number_format_bytes(l->tmp_bytes, text);
		buffer_printf(into, ", %s of temporary files", text);
	}
	buffer_putc(into, '.');
}

static void tell_refusals(const struct profile *p, struct buffer *into, bool session)
{
	buffer_puts(into, " A refusal says why, and what to do instead.");
}

/* Appends sentences, each with a blank before it. */
static void tell_all(const struct profile *p, bool session, struct buffer *into)
{
	static void (*const rows[])(const struct profile *p, struct buffer *into, bool session) = {
		tell_allowed,   tell_practice,   tell_output,    tell_wall,
		tell_network,   tell_what_stays, tell_leftovers, tell_protected,
		tell_debugging, tell_limits,     tell_refusals,
	};

	for (size_t i = 0; i < array_size(rows); i++)
		rows[i](p, into, session);
}

/* The profile is loaded as for a command; deciding about one is how that is done. */
void about_offer(const struct mcp_offer *offer, struct buffer *into)
{
	static const char *const argv[] = {"true", NULL};
	scoped(arena_freep) struct arena *arena = arena_new(SHELL_FACTS_ARENA_MAX);
	struct request rq = {.input_fd = -1, .argv = argv};
	const struct profile *p;
	struct check check;

	if (!arena || engine_explain(offer->engine, &rq, arena, &check, NULL) < 0 ||
	    !offer->engine->profile)
		return;
	p = offer->engine->profile;
	tell_role(offer, p, into);
	tell_all(p, dialect_keeps_session(offer->dialect), into);
}
