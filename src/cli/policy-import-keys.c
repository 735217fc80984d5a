/*
 * The keys that other shell tools have in their configuration, and what each becomes in a policy.
 *
 * The table at the end knows them by their last words, without regard to case, "_" and "-":
 * CommandPolicy.Deny, command_policy.deny and `deny` are one key.
 */
#include "cli/policy-import.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/cleanup.h"
#include "yaml/yaml.h"

void import_tell(struct import *m, const struct yaml_node *node, const char *key,
                 const char *format, ...)
{
	char words[512];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	buffer_printf(&m->report, "%s:%u:%u: %s: %s\n", m->file, node->line, node->column, key,
	              words);
}

static void took(struct import *m, const struct yaml_node *node, const char *key, const char *what)
{
	m->taken++;
	import_tell(m, node, key, "%s", what);
}

/* A scalar in double quotes, which any text can stand in. */
void import_put_text(struct buffer *out, const char *text)
{
	buffer_putc(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buffer_printf(out, "\\%c", *text);
		else if (*text == '\n')
			buffer_puts(out, "\\n");
		else if ((unsigned char)*text < 0x20)
			buffer_printf(out, "\\x%02x", *text);
		else
			buffer_putc(out, *text);
	}
	buffer_putc(out, '"');
}

static void put_item(struct buffer *out, const char *text)
{
	buffer_puts(out, out->len > 0 ? ", " : "");
	import_put_text(out, text);
}

/* Calls VISIT with each text of a list, or with the one text that stands in its place. */
static void each(struct import *m, const struct yaml_node *node, const char *key,
                 void (*visit)(struct import *m, const struct yaml_node *item, void *to), void *to)
{
	if (node->kind == YAML_SCALAR && node->len > 0)
		visit(m, node, to);
	for (const struct yaml_node *i = node->kind == YAML_LIST ? node->first : NULL; i;
	     i = i->next) {
		if (i->kind == YAML_SCALAR && i->len > 0)
			visit(m, i, to);
		else
			import_tell(m, i, key, "left out: %s, and a text was expected",
			            yaml_node_describe(i));
	}
}

/* The tools that nacre knows by the names of others, and the profile that has each. */
static const struct {
	const char *tool, *profile;
} tools[] = {
	{"run_command", "universal"}, {"safe_shell", "verify"},  {"safe.shell", "verify"},
	{"shell", "workspace"},       {"run_shell", "readonly"}, {"Bash", "bash"},
};

static void take_tool(struct import *m, const struct yaml_node *item, void *to)
{
	const char *key = to;

	for (size_t i = 0; i < array_size(tools); i++) {
		if (strcmp(tools[i].tool, item->text) != 0)
			continue;
		m->taken++;
		import_tell(m, item, key, "'%s' is the tool of the profile '%s'%s", item->text,
		            tools[i].profile,
		            strcmp(m->base, tools[i].profile) == 0
		                    ? ", which is inherited"
		                    : ", and a profile has one tool: left out");
		return;
	}
	import_tell(m, item, key, "'%s' is no tool that runs commands: left out", item->text);
}

static void on_tools(struct import *m, const struct yaml_node *node, const char *key)
{
	char copy[IMPORT_KEY_MAX];

	snprintf(copy, sizeof(copy), "%s", key);
	each(m, node, key, take_tool, copy);
}

static void add_item(struct import *m, const struct yaml_node *item, void *to)
{
	put_item(to, item->text);
}

/* The lists of `shell` stand as they are. */
static void on_shell_list(struct import *m, const struct yaml_node *node, const char *key)
{
	scoped(buffer_donep) struct buffer list = {0};
	const char *which = strcasecmp(node->key->text, "deny") == 0 ? "deny" : "allow";

	if (node->kind == YAML_SCALAR && yaml_scalar_type(node) == YAML_TYPE_NULL)
		return took(m, node, key, "nothing is set");
	each(m, node, key, add_item, &list);
	buffer_printf(&m->shell, "%s%s: [%s]", m->shell.len > 0 ? ", " : "", which,
	              buffer_str(&list));
	took(m, node, key,
	     strcmp(which, "deny") == 0 ? "shell.deny, as it stands" : "shell.allow, as it stands");
}

static bool read_number(const struct yaml_node *node, uint64_t *ret)
{
	char *end;

	if (node->kind != YAML_SCALAR || yaml_scalar_type(node) != YAML_TYPE_INTEGER ||
	    node->text[0] == '-')
		return false;
	errno = 0;
	*ret = strtoull(node->text, &end, 10);
	return *end == '\0' && errno == 0;
}

static void on_shell_time(struct import *m, const struct yaml_node *node, const char *key)
{
	bool most = strncasecmp(node->key->text, "max", 3) == 0;
	uint64_t seconds;

	if (!read_number(node, &seconds))
		return import_tell(m, node, key, "left out: a number of seconds was expected");
	buffer_printf(&m->shell, "%s%s: %llu", m->shell.len > 0 ? ", " : "",
	              most ? "max_timeout" : "default_timeout", (unsigned long long)seconds);
	took(m, node, key,
	     most ? "shell.max_timeout, in seconds" : "shell.default_timeout, in seconds");
}

/* Whole names of programs make a rule about these. Anything else is a text that a line must not
 * have in it. */
static bool is_name(const char *text)
{
	return text[strcspn(text, " \t/|&;<>(){}$'\"`\\=:")] == '\0';
}

/* What the profile `bash` refuses in every spelling; as a text it would refuse more than is meant.
 */
static bool is_covered(const struct import *m, const char *text)
{
	static const char *const covered[] = {"rm -rf /", "mkfs", "dd if=/dev/zero",
	                                      ":(){:|:&};:", ":(){ :|:& };:"};

	for (size_t i = 0; m->base && strcmp(m->base, "bash") == 0 && i < array_size(covered); i++)
		if (strcmp(covered[i], text) == 0)
			return true;
	return false;
}

static void take_denied(struct import *m, const struct yaml_node *item, void *to)
{
	if (is_covered(m, item->text))
		return import_tell(m, item, to,
		                   "'%.100s' is refused by the profile 'bash' in every spelling",
		                   item->text);
	if (is_name(item->text))
		return put_item(&m->deny, item->text);
	buffer_puts(&m->danger, "  - {literal: ");
	import_put_text(&m->danger, item->text);
	buffer_puts(&m->danger, "}\n");
	import_tell(m, item, to, "'%.100s' is a text in the line: danger, literal", item->text);
}

static void on_denied(struct import *m, const struct yaml_node *node, const char *key)
{
	char copy[IMPORT_KEY_MAX];

	snprintf(copy, sizeof(copy), "%s", key);
	each(m, node, key, take_denied, copy);
	took(m, node, key, "deny: also in pipes, substitutions and behind wrappers");
}

#define LIST_HANDLER(function, member, words)                                                      \
	static void function(struct import *m, const struct yaml_node *node, const char *key)      \
	{                                                                                          \
		each(m, node, key, add_item, &m->member);                                          \
		took(m, node, key, words);                                                         \
	}
LIST_HANDLER(on_allowed, allow, "allow")
LIST_HANDLER(on_never, never, "never: no layer and no force overrides it")
LIST_HANDLER(on_asked, ask, "ask: a person decides")
LIST_HANDLER(on_banned, ban, "syntax.ban")

static void on_default(struct import *m, const struct yaml_node *node, const char *key)
{
	static const char *const verdicts[] = {"allow", "ask", "deny"};

	for (size_t i = 0; node->kind == YAML_SCALAR && i < array_size(verdicts); i++)
		if (strcasecmp(verdicts[i], node->text) == 0) {
			buffer_printf(&m->other, "default: %s\n", verdicts[i]);
			m->has_default = true;
			return took(m, node, key, "default");
		}
	import_tell(m, node, key, "left out: allow, ask or deny was expected");
}

static bool has_word(const char *key, const char *word)
{
	return strcasestr(key, word) != NULL;
}

/* The unit is in the name, or else in the size: nobody gives a command a thousand seconds. */
static bool is_milliseconds(const char *name, uint64_t n)
{
	size_t len = strlen(name);

	if (has_word(name, "milli") || (len > 2 && strcasecmp(name + len - 2, "ms") == 0))
		return true;
	return !has_word(name, "sec") && n >= 1000;
}

static void on_time(struct import *m, const struct yaml_node *node, const char *key)
{
	const char *name = node->key->text;
	bool most = has_word(name, "max");
	uint64_t n;
	bool ms;

	if (!read_number(node, &n) || n == 0)
		return import_tell(m, node, key, "left out: a number above 0 was expected");
	ms = is_milliseconds(name, n);
	buffer_printf(&m->timeout, "%s%s: %llu%s", m->timeout.len > 0 ? ", " : "",
	              most ? "max" : "default", (unsigned long long)n, ms ? "ms" : "s");
	m->taken++;
	import_tell(m, node, key, "timeout.%s, read as %s", most ? "max" : "default",
	            ms ? "milliseconds" : "seconds");
}

static void on_output(struct import *m, const struct yaml_node *node, const char *key)
{
	uint64_t n;

	if (!read_number(node, &n) || n == 0)
		return import_tell(m, node, key, "left out: a number above 0 was expected");
	buffer_printf(&m->output, "limit: %llu", (unsigned long long)n);
	took(m, node, key, "output.limit");
}

static bool read_flag(const struct yaml_node *node, bool *ret)
{
	*ret = node->kind == YAML_SCALAR && strcasecmp(node->text, "true") == 0;
	return *ret || (node->kind == YAML_SCALAR && strcasecmp(node->text, "false") == 0);
}

static void on_require_description(struct import *m, const struct yaml_node *node, const char *key)
{
	bool flag;

	if (!read_flag(node, &flag))
		return import_tell(m, node, key, "left out: true or false was expected");
	buffer_printf(&m->other, "require_description: %s\n", flag ? "true" : "false");
	took(m, node, key, "require_description");
}

/* Nobody loses the sandbox by a conversion. */
static void on_sandbox_mode(struct import *m, const struct yaml_node *node, const char *key)
{
	bool flag;

	if (read_flag(node, &flag) && !flag)
		return took(m, node, key,
		            "the sandbox stays on; to do without, write sandbox: {mode: none} "
		            "yourself");
	took(m, node, key, "sandbox.mode: strict, which holds from the start");
}

static void on_root(struct import *m, const struct yaml_node *node, const char *key)
{
	if (node->kind != YAML_SCALAR || node->text[0] != '/')
		return import_tell(m, node, key, "left out: an absolute path was expected");
	buffer_puts(&m->workspace, m->workspace.len > 0 ? ", roots: [" : "roots: [");
	import_put_text(&m->workspace, node->text);
	buffer_putc(&m->workspace, ']');
	took(m, node, key, "workspace.roots");
}

static void on_docker_start(struct import *m, const struct yaml_node *node, const char *key)
{
	scoped(buffer_donep) struct buffer words = {0};
	const char *at = node->kind == YAML_SCALAR ? node->text : "";

	if (node->kind == YAML_LIST)
		each(m, node, key, add_item, &words);
	for (size_t n; *at; at += n) {
		char word[IMPORT_KEY_MAX];

		at += strspn(at, " ");
		n = strcspn(at, " ");
		snprintf(word, sizeof(word), "%.*s", (int)n, at);
		if (n > 0)
			put_item(&words, word);
	}
	buffer_printf(&m->docker, "%sstart: [%s]", m->docker.len > 0 ? ", " : "",
	              buffer_str(&words));
	took(m, node, key, "docker.start; commands reach the engine only with docker.allow: true");
}

static void on_docker_time(struct import *m, const struct yaml_node *node, const char *key)
{
	const char *name = node->key->text;
	bool start = has_word(name, "start");
	uint64_t n;

	if (!read_number(node, &n) || n == 0)
		return import_tell(m, node, key, "left out: a number above 0 was expected");
	buffer_printf(&m->docker, "%s%s: %llu%s", m->docker.len > 0 ? ", " : "",
	              start ? "start_timeout" : "ping_timeout", (unsigned long long)n,
	              is_milliseconds(name, n) ? "ms" : "s");
	took(m, node, key, start ? "docker.start_timeout" : "docker.ping_timeout");
}

static void on_name(struct import *m, const struct yaml_node *node, const char *key)
{
	if (m->name || node->kind != YAML_SCALAR)
		return import_tell(m, node, key, "left out");
	m->name = node->text;
	took(m, node, key, "the profile's name");
}

static void on_description(struct import *m, const struct yaml_node *node, const char *key)
{
	if (node->kind != YAML_SCALAR)
		return import_tell(m, node, key, "left out");
	m->description = node->text;
	took(m, node, key, "description: models read it as their role");
}

static void on_session_allow(struct import *m, const struct yaml_node *node, const char *key)
{
	took(m, node, key, "a person's answer 'for the session' is that list: nacre keeps it");
}

/* The longest key that fits comes first. In small letters, without "_" and "-". */
static const struct {
	const char *key;
	void (*take)(struct import *m, const struct yaml_node *node, const char *key);
} keys[] = {
	{"tools.shell", on_tools},
	{"tools.coding", on_tools},
	{"tools", on_tools},
	{"shell.allow", on_shell_list},
	{"shell.deny", on_shell_list},
	{"shell.defaulttimeout", on_shell_time},
	{"shell.maxtimeout", on_shell_time},
	{"coding.allow", on_shell_list},
	{"coding.deny", on_shell_list},
	{"coding.defaulttimeout", on_shell_time},
	{"coding.maxtimeout", on_shell_time},
	{"dockerconfig.startcommand", on_docker_start},
	{"dockerconfig.starttimeout", on_docker_time},
	{"dockerconfig.starttimeoutseconds", on_docker_time},
	{"dockerconfig.starttimeoutms", on_docker_time},
	{"dockerconfig.checktimeoutms", on_docker_time},
	{"dockerconfig.checktimeout", on_docker_time},
	{"dockerconfig.checktimeoutseconds", on_docker_time},
	{"commandpolicy.default", on_default},
	{"tool", on_tools},
	{"profile", on_name},
	{"name", on_name},
	{"description", on_description},
	{"workspaceroot", on_root},
	{"allowlist", on_allowed},
	{"whitelist", on_allowed},
	{"allowedcommands", on_allowed},
	{"allow", on_allowed},
	{"sessionallow", on_session_allow},
	{"strictblocklist", on_never},
	{"never", on_never},
	{"blocklist", on_denied},
	{"denylist", on_denied},
	{"blockedcommands", on_denied},
	{"deny", on_denied},
	{"ask", on_asked},
	{"default", on_default},
	{"dangerouschars", on_banned},
	{"metacharacters", on_banned},
	{"defaulttimeout", on_time},
	{"maxtimeout", on_time},
	{"timeout", on_time},
	{"timeoutseconds", on_time},
	{"timeoutmillis", on_time},
	{"timeoutms", on_time},
	{"maxoutputsize", on_output},
	{"maxoutput", on_output},
	{"maxbytes", on_output},
	{"outputlimit", on_output},
	{"requiredescription", on_require_description},
	{"sandboxmode", on_sandbox_mode},
};

/* Whether KEY is one of the table, alone or behind other words. */
static bool ends_in(const char *key, const char *known)
{
	size_t n = strlen(key), k = strlen(known);

	return n >= k && strcmp(key + n - k, known) == 0 && (n == k || key[n - k - 1] == '.');
}

static void plain_key(const char *key, char into[IMPORT_KEY_MAX])
{
	size_t n = 0;

	for (; *key && n + 1 < IMPORT_KEY_MAX; key++)
		if (*key != '_' && *key != '-')
			into[n++] = *key >= 'A' && *key <= 'Z' ? (char)(*key | 0x20) : *key;
	into[n] = '\0';
}

bool import_take(struct import *m, const struct yaml_node *node, const char *key)
{
	char plain[IMPORT_KEY_MAX];

	plain_key(key, plain);
	for (size_t i = 0; i < array_size(keys); i++)
		if (node->kind != YAML_MAP && ends_in(plain, keys[i].key)) {
			keys[i].take(m, node, key);
			return true;
		}
	return false;
}

const char *import_profile_of(const struct yaml_node *node)
{
	const char *found = NULL;

	for (size_t i = 0; node->kind == YAML_SCALAR && i < array_size(tools); i++)
		if (strcmp(tools[i].tool, node->text) == 0)
			return tools[i].profile;
	for (const struct yaml_node *n = node->kind == YAML_SCALAR ? NULL : node->first;
	     n && !found; n = n->next)
		found = import_profile_of(n);
	return found;
}
