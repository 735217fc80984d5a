/*
 * The clients, and which entries make nacre their shell.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <jansson.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "cli/client-shell.h"
#include "cli/setup.h"
#include "edit/toml.h"
#include "hook/client.h"

static const char *dump(struct setup_plan *p, json_t *value)
{
	char *text = value ? json_dumps(value, JSON_INDENT(1) | JSON_ENCODE_ANY) : NULL;
	const char *kept = text ? arena_strdup(p->arena, text) : NULL;

	free(text);
	json_decref(value);
	return kept;
}

static struct setup_target *add_target(struct setup_plan *p, const char *base, const char *rel)
{
	struct setup_target *t = &p->targets[p->count++];

	t->base = base;
	t->rel = rel;
	return t;
}

/* KEYS: "a/b/c". A value that is NULL tells that memory has run out. */
static int add(struct setup_plan *p, struct setup_target *t, enum setup_kind kind, const char *keys,
               const char *value)
{
	struct setup_edit *e = &t->edits[t->count++];
	char *path = arena_strdup(p->arena, keys), *save = NULL;
	size_t n = 0;

	if (!path || !value)
		return -ENOMEM;
	for (char *part = strtok_r(path, "/", &save); part && n < SETUP_STEPS_MAX;
	     part = strtok_r(NULL, "/", &save))
		e->path[n++] = part;
	e->kind = kind;
	e->value = value;
	return 0;
}

static const char *in_home(const struct setup_plan *p, const char *variable, const char *directory)
{
	const char *set = variable ? getenv(variable) : NULL, *home = getenv("HOME");

	if (set && *set == '/')
		return arena_strdup(p->arena, set);
	return home && *home == '/'
	               ? arena_printf(p->arena, "%s%s%s", home, *directory ? "/" : "", directory)
	               : NULL;
}

/* nacre mcp, with what it was told here. */
static json_t *mcp_words(const struct setup_plan *p, bool with_program)
{
	json_t *words = json_array();

	if (with_program)
		json_array_append_new(words, json_string(p->nacre));
	json_array_append_new(words, json_string("mcp"));
	json_array_append_new(words, json_string("--profile"));
	json_array_append_new(words,
	                      json_string(p->options->profile ? p->options->profile : "bash"));
	return words;
}

static json_t *nested_hook(const struct setup_plan *p, const char *matcher, int limit)
{
	return json_pack("{s:s, s:[{s:s, s:s, s:i}]}", "matcher", matcher, "hooks", "type",
	                 "command", "command", p->command, "timeout", limit);
}

static int done(int r, struct error *err)
{
	return r < 0 ? error_nomem(err) : 0;
}

static int plan_claude(struct setup_plan *p, struct error *err)
{
	const struct setup_options *o = p->options;
	const char *home = o->project ? o->project : in_home(p, "CLAUDE_CONFIG_DIR", ".claude");
	struct setup_target *t =
		add_target(p, home, o->project ? ".claude/settings.local.json" : "settings.json");
	int r = add(p, t, SETUP_SET, "env/CLAUDE_CODE_SHELL", dump(p, json_string(p->nsh_bash)));

	if (r == 0 && o->profile)
		r = add(p, t, SETUP_SET, "env/NACRE_PROFILE", dump(p, json_string(o->profile)));
	if (r == 0)
		r = add(p, t, SETUP_HOOK, "hooks/PreToolUse",
		        dump(p, nested_hook(p, "Bash", CLIENT_HOOK_LIMIT_S)));
	if (r == 0 && o->no_shell)
		r = add(p, t, SETUP_ENTRY, "permissions/deny", dump(p, json_string("Bash")));
	if (r == 0 && o->mcp) {
		t = add_target(p, o->project ? o->project : in_home(p, "CLAUDE_CONFIG_DIR", ""),
		               o->project ? ".mcp.json" : ".claude.json");
		r = add(p, t, SETUP_SET, "mcpServers/nacre",
		        dump(p, json_pack("{s:s, s:s, s:o, s:b}", "type", "stdio", "command",
		                          p->nacre, "args", mcp_words(p, false), "alwaysLoad", 1)));
	}
	p->hint = "Claude Code reads its settings when it starts: start it anew.";
	return done(r, err);
}

/* Codex keeps in config.toml which hooks a person has trusted: by the file, the event and the place
 * in its lists. It runs no other, and does not say so. */
static bool is_trusted_by_codex(const struct setup_plan *p)
{
	const struct setup_target *t = &p->targets[0];
	struct setup_file hooks = {.dir_fd = -1}, config = {.dir_fd = -1};
	const char *path[] = {"hooks", "state", NULL, "trusted_hash", NULL}, *hash = NULL;
	const char *home = in_home(p, "CODEX_HOME", ".codex");
	size_t index[2];
	bool known = false;

	if (home && setup_file_open(t->base, t->rel, false, &hooks, NULL) == 0 &&
	    setup_file_open(home, "config.toml", false, &config, NULL) == 0 &&
	    setup_edit_index(t, buffer_str(&hooks.text), hooks.text.len, p->arena, index) == 0) {
		path[2] = arena_printf(p->arena, "%s/%s:pre_tool_use:%zu:%zu", t->base, t->rel,
		                       index[0], index[1]);
		known = path[2] && toml_find(buffer_str(&config.text), config.text.len, path,
		                             p->arena, &hash, NULL) == 0;
	}
	setup_file_done(&hooks);
	setup_file_done(&config);
	return known && hash;
}

const char *setup_client_doubt(const struct setup_plan *p)
{
	return strcmp(p->client->name, "codex") == 0 && !is_trusted_by_codex(p)
	               ? "Codex does not trust the hook yet, so it runs every command without "
	                 "nacre: start codex, and trust the hook of nacre"
	               : NULL;
}

static const char *toml_text(struct setup_plan *p, const char *text)
{
	json_t *value = json_string(text); /* a basic string of TOML has the same escapes */

	return dump(p, value);
}

static int plan_codex(struct setup_plan *p, struct error *err)
{
	const struct setup_options *o = p->options;
	const char *base = o->project ? o->project : in_home(p, "CODEX_HOME", ".codex");
	struct setup_target *t =
		add_target(p, base, o->project ? ".codex/hooks.json" : "hooks.json");
	json_t *words;
	char *line;
	int r = add(p, t, SETUP_HOOK, "hooks/PreToolUse",
	            dump(p, nested_hook(p, "^Bash$", CLIENT_HOOK_LIMIT_S)));

	if (r == 0 && (o->mcp || o->no_shell))
		t = add_target(p, base, o->project ? ".codex/config.toml" : "config.toml");
	if (r == 0 && o->mcp) {
		words = mcp_words(p, false);
		line = json_dumps(words, 0);
		json_decref(words);
		r = add(p, t, SETUP_TABLE, "mcp_servers/nacre/command", toml_text(p, p->nacre));
		if (r == 0)
			r = add(p, t, SETUP_KEY, "mcp_servers/nacre/args",
			        line ? arena_strdup(p->arena, line) : NULL);
		if (r == 0)
			r = add(p, t, SETUP_KEY, "mcp_servers/nacre/default_tools_approval_mode",
			        "\"approve\"");
		if (r == 0)
			r = add(p, t, SETUP_KEY, "mcp_servers/nacre/tool_timeout_sec", "600");
		free(line);
	}
	if (r == 0 && o->no_shell)
		r = add(p, t, SETUP_KEY, "features/shell_tool", "false");
	p->hint = "Codex runs no hook that it does not trust, and does not say so: start it once "
		  "and choose to trust the hook of nacre.";
	return done(r, err);
}

static int plan_gemini(struct setup_plan *p, struct error *err)
{
	const struct setup_options *o = p->options;
	struct setup_target *t =
		add_target(p, o->project ? o->project : in_home(p, "GEMINI_CLI_HOME", ""),
	                   ".gemini/settings.json");
	int r = add(p, t, SETUP_HOOK, "hooks/BeforeTool",
	            dump(p, nested_hook(p, "run_shell_command", CLIENT_HOOK_LIMIT_S * 1000)));

	if (r == 0 && o->mcp)
		r = add(p, t, SETUP_SET, "mcpServers/nacre",
		        dump(p, json_pack("{s:s, s:o, s:b, s:i}", "command", p->nacre, "args",
		                          mcp_words(p, false), "trust", 1, "timeout", 600000)));
	if (r == 0 && o->no_shell)
		r = add(p, t, SETUP_ENTRY, "tools/exclude",
		        dump(p, json_string("run_shell_command")));
	return done(r, err);
}

static int plan_copilot(struct setup_plan *p, struct error *err)
{
	const struct setup_options *o = p->options;
	const char *home = in_home(p, "COPILOT_HOME", ".copilot");
	struct setup_target *t =
		add_target(p, o->project ? o->project : home,
	                   o->project ? ".github/hooks/nacre.json" : "hooks/nacre.json");
	int r = add(p, t, SETUP_SET, "version", "1");

	if (r == 0)
		r = add(p, t, SETUP_HOOK, "hooks/preToolUse",
		        dump(p,
		             json_pack("{s:s, s:s, s:s, s:i}", "type", "command", "matcher", "bash",
		                       "bash", p->command, "timeoutSec", CLIENT_HOOK_LIMIT_S)));
	if (r == 0 && o->mcp) {
		t = add_target(p, home, "mcp-config.json");
		r = add(p, t, SETUP_SET, "mcpServers/nacre",
		        dump(p, json_pack("{s:s, s:s, s:o, s:[s]}", "type", "local", "command",
		                          p->nacre, "args", mcp_words(p, false), "tools", "*")));
	}
	if (o->no_shell)
		p->hint = "Copilot CLI has no setting that switches its shell off: start it with "
			  "--excluded-tools bash.";
	return done(r, err);
}

int setup_shim_make(const struct setup_plan *p, struct error *err)
{
	scoped(fd_closep) int state = -1, bin = -1;

	if (!*p->shim)
		return 0;
	state = setup_record_open(true, err);
	if (state < 0)
		return state;
	(void)mkdirat(state, "bin", 0755);
	bin = fd_open_private(state, "bin");
	if (bin < 0)
		return error_sys(err, -bin, "%.150s", p->shim);
	(void)unlinkat(bin, "bash", 0);
	return symlinkat(p->nsh, bin, "bash") < 0 ? error_sys(err, errno, "%.150s", p->shim) : 0;
}

static int plan_qwen(struct setup_plan *p, struct error *err)
{
	scoped(fd_closep) int state = setup_record_open(true, err);
	char path[PATH_MAX];
	const struct setup_options *o = p->options;
	struct setup_target *t = add_target(p, o->project ? o->project : in_home(p, NULL, ""),
	                                    ".qwen/settings.json");
	int r = add(p, t, SETUP_HOOK, "hooks/PreToolUse",
	            dump(p, nested_hook(p, "run_shell_command", CLIENT_HOOK_LIMIT_S * 1000)));

	if (r == 0 && o->mcp) {
		r = add(p, t, SETUP_SET, "mcpServers/nacre",
		        dump(p, json_pack("{s:s, s:o, s:b, s:i}", "command", p->nacre, "args",
		                          mcp_words(p, false), "trust", 1, "timeout", 600000)));
		if (r == 0)
			r = add(p, t, SETUP_SET, "tools/toolSearch/enabled", "false");
	}
	if (state < 0 || path_of_fd(state, path) < 0 ||
	    snprintf(p->shim, sizeof(p->shim), "%s/bin", path) >= (int)sizeof(p->shim))
		return error_wrap(err, "no directory for a shell by the name of bash");
	p->hint = arena_printf(p->arena,
	                       "Qwen Code runs the first `bash` of PATH, and ignores a line that a "
	                       "hook changes. Start it like this; the hook refuses every command "
	                       "of one that was started otherwise:\n  PATH=%s:$PATH qwen",
	                       p->shim);
	return done(r < 0 || !p->hint ? -ENOMEM : 0, err);
}

static int plan_opencode(struct setup_plan *p, struct error *err)
{
	const struct setup_options *o = p->options;
	const char *config = in_home(p, "XDG_CONFIG_HOME", ".config");
	struct setup_target *t =
		add_target(p, o->project ? o->project : config,
	                   o->project ? "opencode.json" : "opencode/opencode.json");
	int r = add(p, t, SETUP_SET, "shell", dump(p, json_string(p->nsh)));

	if (r == 0 && o->mcp)
		r = add(p, t, SETUP_SET, "mcp/nacre",
		        dump(p, json_pack("{s:s, s:o, s:b}", "type", "local", "command",
		                          mcp_words(p, true), "enabled", 1)));
	if (r == 0 && o->no_shell)
		r = add(p, t, SETUP_SET, "tools/bash", "false");
	return done(r, err);
}

/* Its hook can only say yes or no, and nobody knows its shell: commands run by the tool of MCP. */
static int plan_cursor(struct setup_plan *p, struct error *err)
{
	const struct setup_options *o = p->options;
	const char *base = o->project ? o->project : in_home(p, NULL, "");
	struct setup_target *t = add_target(p, base, ".cursor/hooks.json");
	int r = add(p, t, SETUP_SET, "version", "1");

	if (r == 0)
		r = add(p, t, SETUP_HOOK, "hooks/beforeShellExecution",
		        dump(p, json_pack("{s:s, s:i, s:b}", "command", p->command, "timeout",
		                          CLIENT_HOOK_LIMIT_S, "failClosed", 1)));
	if (r == 0) {
		t = add_target(p, base, ".cursor/mcp.json");
		r = add(p, t, SETUP_SET, "mcpServers/nacre",
		        dump(p, json_pack("{s:s, s:o}", "command", p->nacre, "args",
		                          mcp_words(p, false))));
	}
	p->hint = "Cursor's own shell cannot be boxed, so the hook refuses it: commands run by "
		  "nacre's tool. The formats are those of Cursor's documents; nobody has run them.";
	return done(r, err);
}

const struct setup_client setup_clients[] = {
	{"claude", "Claude Code", "claude", plan_claude},
	{"codex", "Codex", "codex", plan_codex},
	{"gemini", "Gemini CLI", "gemini", plan_gemini},
	{"opencode", "OpenCode", "opencode", plan_opencode},
	{"copilot", "Copilot CLI", "copilot", plan_copilot},
	{"qwen", "Qwen Code", "qwen", plan_qwen},
	{"cursor", "Cursor", "cursor", plan_cursor},
	{0},
};

const struct setup_client *setup_client_find(const char *name)
{
	for (const struct setup_client *c = setup_clients; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

bool setup_client_program(const struct setup_client *c, char into[PATH_MAX])
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	while (path && *path) {
		size_t n = strcspn(path, ":");

		if (n > 0 && *path == '/' &&
		    snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, c->program) <
		            (int)sizeof(file) &&
		    access(file, X_OK) == 0 && realpath(file, into))
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

static int make_command(struct setup_plan *p)
{
	scoped(buffer_donep) struct buffer line = {0};
	const struct hook_client *hook = hook_client_find(p->client->name);

	client_hook_put(p->nacre, p->client->name, p->options->profile,
	                p->options->shell && hook && hook->rewrites ? p->nsh : NULL, &line);
	p->command = buffer_error(&line) < 0 ? NULL
	                                     : arena_strndup(p->arena, buffer_str(&line), line.len);
	return p->command ? 0 : -ENOMEM;
}

static int find_programs(struct setup_plan *p, struct error *err)
{
	const char *shell = NULL;
	ssize_t n = readlink("/proc/self/exe", p->nacre, sizeof(p->nacre) - 1);

	if (n <= 0)
		return error_set(err, ERROR_SYSTEM, ENOENT, "nacre does not know its own path");
	p->nacre[n] = '\0';
	if (p->options->shell) {
		shell = arena_printf(p->arena, "%s/nsh", p->options->shell);
		if (!shell)
			return error_nomem(err);
	}
	if (client_shell_find(shell, p->nsh, err) < 0)
		return -ENOENT;
	if (snprintf(p->nsh_bash, sizeof(p->nsh_bash), "%s-bash", p->nsh) >=
	            (int)sizeof(p->nsh_bash) ||
	    access(p->nsh_bash, X_OK) < 0)
		return error_set(err, ERROR_SYSTEM, ENOENT,
		                 "there is no nsh-bash beside %.150s. Install nacre anew", p->nsh);
	return 0;
}

int setup_plan(const struct setup_client *c, const struct setup_options *o, struct arena *arena,
               struct setup_plan *ret, struct error *err)
{
	int r;

	*ret = (struct setup_plan){.client = c, .options = o, .arena = arena};
	r = find_programs(ret, err);
	if (r < 0)
		return r;
	if (make_command(ret) < 0)
		return error_nomem(err);
	r = c->plan(ret, err);
	for (size_t i = 0; r == 0 && i < ret->count; i++)
		if (!ret->targets[i].base)
			r = error_set(err, ERROR_INPUT, ENOENT, "HOME is not set");
	return r;
}
