/*
 * The table itself, group by group; the last group is the top of a file. An entry names the key,
 * its type, who may change it in a higher layer, its words for people, and the field of struct
 * profile that it sets. A new setting is one entry here and one field there.
 */
#include "profile/keys.h"

#include <string.h>
#include "profile/profile.h"
#include "policy/policy.h"

#define IN(type, member)                                                                           \
	.offset = offsetof(type, member), .width = sizeof(((const type *)NULL)->member)
#define TO(member)   IN(struct profile, member)
#define RULE(member) IN(struct policy_rule, member)
#define BIT(list)    (1U << (list))
#define KEY(key, kind, way, words, ...)                                                            \
	{                                                                                          \
		.name = key, .type = kind, .tighten = way, .doc = words, __VA_ARGS__               \
	}

static const struct key_choice shells[] = {
	{"bash", PROFILE_SHELL_BASH, 0}, {"none", PROFILE_SHELL_NONE, 1}, {0}};
static const struct key_choice verdicts[] = {
	{"allow", POLICY_VERDICT_ALLOW, 0},
	{"ask", POLICY_VERDICT_ASK, 1},
	{"deny", POLICY_VERDICT_DENY, 2},
	{0},
};
static const struct key_choice example_verdicts[] = {
	{"allow", POLICY_VERDICT_ALLOW, 0},
	{"ask", POLICY_VERDICT_ASK, 0},
	{"nudge", POLICY_VERDICT_NUDGE, 0},
	{"deny", POLICY_VERDICT_DENY, 0},
	{0},
};
static const struct key_choice unknowns[] = {
	{"sandbox", POLICY_UNKNOWN_SANDBOX, 0},
	{"ask", POLICY_UNKNOWN_ASK, 1},
	{"deny", POLICY_UNKNOWN_DENY, 2},
	{0},
};
static const struct key_choice tools[] = {{"Bash", 0, 0},       {"run_command", 0, 0},
                                          {"shell", 0, 0},      {"run_shell", 0, 0},
                                          {"safe_shell", 0, 0}, {0}};
static const struct key_choice timeout_acts[] = {
	{"kill", PROFILE_TIMEOUT_KILL, 1}, {"background", PROFILE_TIMEOUT_BACKGROUND, 0}, {0}};
static const struct key_choice styles[] = {
	{"halves", VIEW_HALVES, -1}, {"tail", VIEW_TAIL_CHARS, -1},
	{"edges", VIEW_EDGES, -1},   {"bytes", VIEW_BYTES, -1},
	{"all", VIEW_ALL, -1},       {"salient", VIEW_SALIENT, -1},
	{"auto", VIEW_AUTO, -1},     {0}};
static const struct key_choice output_modes[] = {{"separate", 0, 0}, {"merged", 0, 0},
                                                 {"auto", 0, 0},     {"stdout", 0, 0},
                                                 {"stderr", 0, 0},   {0}};
static const struct key_choice roles[] = {
	{"search", POLICY_ROLE_SEARCH, 0},
	{"list", POLICY_ROLE_LIST, 0},
	{"read", POLICY_ROLE_READ, 0},
	{"edit", POLICY_ROLE_EDIT, 0},
	{"build", POLICY_ROLE_BUILD, 0},
	{"test", POLICY_ROLE_TEST, 0},
	{"dependencies", POLICY_ROLE_DEPENDENCIES, 0},
	{"docs", POLICY_ROLE_DOCS, 0},
	{"versions", POLICY_ROLE_VERSIONS, 0},
	{0},
};
static const struct key_choice syntax_places[] = {{"command", true, 0}, {"line", false, 1}, {0}};
static const struct key_choice effects[] = {
	{"exec", 0, 0},
	{"write", 0, 0},
	{"network", 0, 0},
	{"read-outside", 0, 0},
	{"priv", 0, 0},
	{"hang", 0, 0},
	{0},
};
static const struct key_choice modes[] = {
	{"strict", PROFILE_MODE_STRICT, 2},
	{"landlock", PROFILE_MODE_LANDLOCK, 1},
	{"container", PROFILE_MODE_CONTAINER, -1},
	{"none", PROFILE_MODE_NONE, 0},
	{0},
};
static const struct key_choice layers[] = {
	{"namespaces", SANDBOX_LAYER_NAMESPACES, 0},
	{"network", SANDBOX_LAYER_NETWORK, 0},
	{"programs", SANDBOX_LAYER_PROGRAMS, 0},
	{"landlock", SANDBOX_LAYER_LANDLOCK, 0},
	{"seccomp", SANDBOX_LAYER_SECCOMP, 0},
	{"memory", SANDBOX_LAYER_MEMORY, 0},
	{"processes", SANDBOX_LAYER_PROCESSES, 0},
	{"no_new_privs", SANDBOX_LAYER_NO_NEW_PRIVS, 0},
	{"unprivileged", SANDBOX_LAYER_UNPRIVILEGED, 0},
	{"container", SANDBOX_LAYER_CONTAINER, 0},
	{"room", SANDBOX_REQUIRE_ROOM, 0},
	{"network-names", SANDBOX_LAYER_NETWORK_NAMES, 0},
	{0},
};
static const struct key_choice networks[] = {
	{"none", SANDBOX_NETWORK_NONE, 1}, {"host", SANDBOX_NETWORK_HOST, 0}, {0}};
static const struct key_choice execs[] = {
	{"any", SANDBOX_EXEC_ANY, 0}, {"listed", SANDBOX_EXEC_LISTED, 1}, {0}};
static const struct key_choice etcs[] = {{"host", false, 0}, {"minimal", true, 1}, {0}};
static const struct key_choice workspaces[] = {{"readwrite", false, 0}, {"readonly", true, 1}, {0}};
static const struct key_choice leftovers[] = {{"end", false, 1}, {"keep", true, 0}, {0}};
static const struct key_choice audits[] = {{"refuse", false, 1}, {"notice", true, 0}, {0}};
static const struct key_choice engines[] = {{"auto", CONTAINER_ENGINE_AUTO, 0},
                                            {"docker", CONTAINER_ENGINE_DOCKER, 0},
                                            {"podman", CONTAINER_ENGINE_PODMAN, 0},
                                            {0}};
static const struct key_choice ask_answers[] = {{"wait", false, 0}, {"deny", true, 1}, {0}};
static const struct key_choice switches[] = {{"off", false, 0}, {"on", true, 1}, {0}};
static const struct key_choice appliers[] = {{"allow", false, 0}, {"ask", true, 1}, {0}};
static const struct key_choice audit_modes[] = {{"on", false, 1}, {"off", true, 0}, {0}};
static const struct key_choice paths[] = {
	{"inside", POLICY_PATHS_INSIDE, 0},
	{"relative-inside", POLICY_PATHS_RELATIVE_INSIDE, 0},
	{"outside", POLICY_PATHS_OUTSIDE, 0},
	{0},
};
static const struct key_choice shares[] = {{"none", PROFILE_SHARE_NONE, 2},
                                           {"tmp", PROFILE_SHARE_TMP, 1},
                                           {"all", PROFILE_SHARE_ALL, 0},
                                           {0}};
static const struct key_choice enforcers[] = {{"box", false, 0}, {"line", true, 0}, {0}};

static const struct key timeout_keys[] = {
	KEY("default", KEY_DURATION, KEY_LOWER, "Time limit of a command that asks for none.",
            TO(timeout.default_ms), .min = 1, .max = 86400000, .fallback = "120s"),
	KEY("max", KEY_DURATION, KEY_LOWER,
            "The most that a request can ask for; a larger wish is lowered to it.",
            TO(timeout.max_ms), .min = 1, .max = 86400000, .fallback = "600s"),
	KEY("idle", KEY_DURATION, KEY_LIMIT,
            "How long a command may be without output before it is ended; 0: as long as it "
            "likes. A request can only ask for less.",
            TO(timeout.idle_ms), .max = 86400000, .fallback = "0ms"),
	KEY("grace", KEY_DURATION, KEY_LOWER, "Time between SIGTERM and SIGKILL.",
            TO(timeout.grace_ms), .max = 60000, .fallback = "2s"),
	KEY("on_timeout", KEY_CHOICE, KEY_BY_RANK, "What becomes of a command whose time is over.",
            TO(timeout.act), .choices = timeout_acts, .fallback = "kill"),
	{0},
};

static const struct key output_keys[] = {
	KEY("style", KEY_CHOICE, KEY_NOBODY,
            "Which part of long output is shown: both `halves`, the `tail`, both `edges`, the "
            "first `bytes`, `all`, or `salient`: the beginning, the end and the lines between that "
            "matter. `auto` is `salient` over MCP, else `halves`.",
            TO(output.view.style), .choices = styles, .fallback = "halves"),
	KEY("limit", KEY_SIZE, KEY_USUAL,
            "Characters (`halves`, `tail`) or bytes (`edges`, `bytes`, `salient`) of each stream; "
            "0: the "
            "usual number of the style.",
            TO(output.view.limit), .max = 16 << 20, .fallback = "0"),
	KEY("edge", KEY_SIZE, KEY_USUAL,
            "With `edges`: bytes of the beginning, and as many of the end; 0: the usual number.",
            TO(output.view.edge), .max = 8 << 20, .fallback = "0"),
	KEY("answer", KEY_SIZE, KEY_USUAL,
            "Bytes of an answer over MCP; 0: what the client takes, at most `limit` of output.",
            TO(output.answer), .max = 16 << 20, .fallback = "0"),
	KEY("mode", KEY_WORD, KEY_FREE,
            "Which streams are returned, and how, where the request does not say.", TO(output.mode),
            .choices = output_modes, .fallback = "separate"),
	KEY("file_cap", KEY_SIZE, KEY_LOWER,
            "Bytes of each stream in the output file; then its middle is dropped.",
            TO(output.file_cap), .min = 4096, .max = (uint64_t)1 << 40, .fallback = "256M"),
	{0},
};

static const struct key syntax_keys[] = {
	KEY("ban", KEY_TEXTS, KEY_ADD,
            "Characters or sequences that must not stand in the text, quoted or not.",
            TO(rules.syntax.banned)),
	KEY("in", KEY_CHOICE, KEY_BY_RANK,
            "Whether the whole `line` is looked at, or only the `command` of a list of words.",
            TO(rules.syntax.in_command), .choices = syntax_places, .fallback = "line"),
	KEY("reason", KEY_TEXT, KEY_FREE, "Said with the refusal; `{char}` is what was found.",
            TO(rules.syntax.reason)),
	{0},
};

static const struct key effect_keys[] = {
	KEY("deny", KEY_WORDS, KEY_ADD,
            "Effects of options and operands, by the table of commands that nacre knows, that "
            "refuse a command.",
            TO(rules.denied_effects), .choices = effects),
	KEY("ask", KEY_WORDS, KEY_ADD, "Effects that need the consent of a person.",
            TO(rules.asked_effects), .choices = effects),
	{0},
};

static const struct key environment_keys[] = {
	KEY("pass", KEY_TEXTS, KEY_REDUCE,
            "Variables of nacre's own environment that a command gets; a `*` at the end fits any "
            "rest.",
            .check = KEY_CHECK_VARIABLE, TO(environment_pass)),
	KEY("set", KEY_PAIRS, KEY_NOBODY, "Variables that every command gets.",
            .check = KEY_CHECK_VARIABLE, TO(environment_set)),
	{0},
};

static const struct key limit_keys[] = {
	KEY("memory", KEY_SIZE, KEY_LIMIT,
            "Memory of all processes of a command; 0: no limit, as with the other limits.",
            TO(sandbox.limits.memory_bytes), .max = (uint64_t)1 << 44, .fallback = "2G"),
	KEY("processes", KEY_COUNT, KEY_LIMIT, "Processes and threads at a time.",
            TO(sandbox.limits.processes), .max = 1 << 22, .fallback = "512"),
	KEY("file", KEY_SIZE, KEY_LIMIT, "Size of one file that is written.",
            TO(sandbox.limits.file_bytes), .max = (uint64_t)1 << 44, .fallback = "2G"),
	KEY("tmp", KEY_SIZE, KEY_LIMIT, "The private /tmp, /dev/shm and home together.",
            TO(sandbox.limits.tmp_bytes), .max = (uint64_t)1 << 44, .fallback = "1G"),
	KEY("cpu", KEY_SECONDS, KEY_LIMIT, "Processor time.", TO(sandbox.limits.cpu_seconds),
            .max = 86400000, .divisor = 1000, .fallback = "0"),
	KEY("open_files", KEY_COUNT, KEY_LIMIT, "Open files of one process.",
            TO(sandbox.limits.open_files), .max = 1 << 20, .fallback = "4096"),
	{0},
};

static const struct key container_keys[] = {
	KEY("engine", KEY_CHOICE, KEY_NOBODY,
            "What runs the container: `docker`, `podman`, or `auto`: docker where its socket is "
            "there, else podman.",
            TO(in_container.engine), .choices = engines, .fallback = "auto"),
	KEY("image", KEY_TEXT, KEY_NOBODY,
            "The image, which must be there already: nothing is pulled. A line for bash needs "
            "/bin/bash in it.",
            TO(in_container.image), .max = 255, .check = KEY_CHECK_IMAGE),
	KEY("user", KEY_TEXT, KEY_NOBODY,
            "`UID` or `UID:GID` of the command; unset: the owner of the workspace.",
            TO(in_container.user), .max = 32, .check = KEY_CHECK_OWNER),
	{0},
};

static const struct key network_keys[] = {
	KEY("allow", KEY_DESTINATIONS, KEY_REDUCE,
            "What a command reaches: `NAME`, `NAME:PORT`, `NAME:*`, `*.NAME`, `*`, "
            "`ADDRESS:PORT`, `RANGE:PORT`, `@SET`. Without a port: 80 and 443.",
            TO(network.lists[NETWORK_ALLOW]), .min = NETWORK_ALLOW),
	KEY("ask", KEY_DESTINATIONS, KEY_TURN,
            "What a person decides about. The most specific entry of `allow` and `ask` decides; "
            "of equals `ask`.",
            TO(network.lists[NETWORK_ASK]), .min = NETWORK_ASK),
	KEY("deny", KEY_DESTINATIONS, KEY_ADD,
            "What is refused, whatever the other lists say. Without a port: every port.",
            TO(network.lists[NETWORK_DENY]), .min = NETWORK_DENY),
	KEY("private", KEY_DESTINATIONS, KEY_NOBODY,
            "Names that may lead to private addresses, and private addresses and ranges that "
            "`allow` or `ask` name. No ports.",
            TO(network.lists[NETWORK_PRIVATE]), .min = NETWORK_PRIVATE),
	KEY("via", KEY_VIA, KEY_NOBODY,
            "The proxy above: `http://HOST:PORT`, or `environment`: what `https_proxy` and "
            "`no_proxy` of nacre's own environment say.",
            TO(network.via)),
	KEY("publish", KEY_PUBLISH, KEY_REDUCE,
            "Ports of the box that 127.0.0.1 of the host reaches: `PORT`, or `HOST:BOX`.",
            TO(network.publish)),
	{0},
};

static const struct key sandbox_keys[] = {
	KEY("mode", KEY_CHOICE, KEY_BY_RANK,
            "The wall: `strict` uses every layer that the kernel has, `landlock` none that needs "
            "namespaces, `container` runs in docker or podman, `none` has no wall.",
            TO(mode), .choices = modes, .fallback = "strict"),
	KEY("require", KEY_FLAGS, KEY_ADD,
            "Layers without which nothing runs; `room`: what the calls of a session share "
            "(`room.share`), "
            "without which a call would run alone, with a notice.",
            TO(sandbox.require), .choices = layers),
	KEY("network", KEY_NETWORK, KEY_BY_RANK,
            "`none`: a loopback of its own; `host`: as nacre itself; a map: the network by name, "
            "see docs/network.md.",
            TO(sandbox.network), .choices = networks, .sub = network_keys, .fallback = "none"),
	KEY("exec", KEY_CHOICE, KEY_BY_RANK,
            "`listed`: only the programs of the `allow` list exist in the box.", TO(sandbox.exec),
            .choices = execs, .fallback = "any"),
	KEY("etc", KEY_CHOICE, KEY_BY_RANK,
            "What is in /etc: `host`, all that every user may read; `minimal`, what programs need "
            "to run, and users of the sandbox's own.",
            TO(sandbox.etc_minimal), .choices = etcs, .fallback = "host"),
	KEY("workspace", KEY_CHOICE, KEY_BY_RANK,
            "What a command may do with the files of the workspace.",
            TO(sandbox.workspace_readonly), .choices = workspaces, .fallback = "readwrite"),
	KEY("workspace_exec", KEY_BOOL, KEY_FALSE, "Whether programs of the workspace can run.",
            .invert = true, TO(sandbox.workspace_noexec), .fallback = "true"),
	KEY("debug", KEY_BOOL, KEY_FALSE,
            "Whether a command may trace its own processes: gdb, strace, LeakSanitizer. It needs "
            "namespaces, `exec: any` and `workspace_exec: true`.",
            TO(sandbox.debug), .fallback = "false"),
	KEY("readable", KEY_TEXTS, KEY_REDUCE, "More paths that can be read.",
            .check = KEY_CHECK_ABSOLUTE, TO(sandbox.readable)),
	KEY("writable", KEY_TEXTS, KEY_REDUCE,
            "More paths that can be written, sockets such as docker's too.",
            .check = KEY_CHECK_ABSOLUTE, TO(sandbox.writable)),
	KEY("secrets", KEY_TEXTS, KEY_ADD,
            "Paths that are never there, also below what can be read.", .check = KEY_CHECK_ABSOLUTE,
            TO(sandbox.secrets),
            .fallback = "~/.ssh ~/.aws ~/.gnupg ~/.kube ~/.docker ~/.netrc ~/.config/gcloud "
                        "~/.azure ~/.config/nacre /etc/shadow /etc/gshadow"),
	KEY("protected", KEY_TEXTS, KEY_ADD,
            "Paths below the workspace that cannot be written or made.",
            .check = KEY_CHECK_RELATIVE, TO(sandbox.protected_),
            .fallback = ".nacre.yaml .git/hooks .git/config"),
	KEY("limits", KEY_GROUP, KEY_FREE, "Bounds that the kernel enforces.", .sub = limit_keys),
	KEY("container", KEY_GROUP, KEY_FREE, "The container of the mode `container`.",
            .sub = container_keys),
	{0},
};

static const struct key workspace_keys[] = {
	KEY("root", KEY_TEXT, KEY_NOBODY, "Directory below which workspaces are made.",
            .check = KEY_CHECK_ABSOLUTE, TO(workspace.root)),
	KEY("per_job", KEY_BOOL, KEY_NOBODY,
            "Whether each job has a directory of its own below the root. The calls of a session "
            "are one job; a call without a session is one by itself.",
            TO(workspace.per_job), .fallback = "false"),
	KEY("size", KEY_SIZE, KEY_LIMIT,
            "Bytes of all files of the workspace; 0: no limit. It is looked at while a command "
            "runs, which ends if there are more.",
            TO(workspace.size), .max = (uint64_t)1 << 44, .fallback = "0"),
	KEY("roots", KEY_TEXTS, KEY_NOBODY,
            "A workspace that a caller names must lie below one of these.",
            .check = KEY_CHECK_ABSOLUTE, TO(workspace.roots)),
	{0},
};

static const struct key room_keys[] = {
	KEY("share", KEY_CHOICE, KEY_BY_RANK,
            "What persists between the calls of a session: `none`; `tmp`: /tmp, /dev/shm and the "
            "loopback interface; `all`: home as well. A profile with `exec: listed` or `default: "
            "deny` never shares home.",
            TO(room.share), .choices = shares, .fallback = "none"),
	KEY("network", KEY_BOOL, KEY_FALSE,
            "Whether the calls of a session have one loopback interface. No effect with "
            "`sandbox.network: host`.",
            TO(room.network), .fallback = "true"),
	KEY("size", KEY_SIZE, KEY_LIMIT, "Bytes of all files of the room; 0: no limit.",
            TO(room.size), .max = (uint64_t)1 << 44, .fallback = "2G"),
	KEY("files", KEY_COUNT, KEY_LIMIT, "And how many there may be; 0: no limit.",
            TO(room.files), .max = (uint64_t)1 << 32, .fallback = "200000"),
	KEY("idle", KEY_DURATION, KEY_LOWER,
            "The room ends if nothing runs in it and nobody called for so long.", TO(room.idle_ms),
            .min = 1, .max = (uint64_t)30 * 86400000, .fallback = "30m"),
	KEY("age", KEY_DURATION, KEY_LOWER, "And when it is this old and nothing runs in it.",
            TO(room.age_ms), .min = 1, .max = (uint64_t)30 * 86400000, .fallback = "24h"),
	KEY("warm", KEY_DURATION, KEY_LOWER,
            "So long after a call of `nacre run --session` a launcher with ready sandboxes waits "
            "for the next one, but not longer than `room.idle`; 0: none does.",
            TO(room.warm_ms), .max = (uint64_t)86400000, .fallback = "10m"),
	KEY("caches", KEY_TEXTS, KEY_REDUCE,
            "Directories of home, each as `~/...`, that persist across sessions: for one "
            "principal, profile and workspace. Only with `share: all`, at most 16. Directories of "
            "programs or configuration are refused.",
            .check = KEY_CHECK_CACHE, TO(room.caches)),
	KEY("cache_size", KEY_SIZE, KEY_LIMIT,
            "Bytes of these directories together; 0: no limit. With more they are emptied after "
            "the call, and at twice as much the call is ended.",
            TO(room.cache_size), .max = (uint64_t)1 << 44, .fallback = "4G"),
	KEY("cache_files", KEY_COUNT, KEY_LIMIT, "And how many files; 0: no limit.",
            TO(room.cache_files), .max = (uint64_t)1 << 32, .fallback = "500000"),
	KEY("leftover", KEY_CHOICE, KEY_BY_RANK,
            "What becomes of processes that a command leaves running: `end`: they end with it; "
            "`keep`: they go on as a task with the command's id.",
            TO(room.keep_leftover), .choices = leftovers, .fallback = "end"),
	{0},
};

static const struct key undo_keys[] = {
	KEY("mode", KEY_CHOICE, KEY_BY_RANK,
            "`on`: a command that may write works in a copy-on-write view of the workspace; what "
            "it has changed is applied at its end, and `nacre undo` takes it back. Not for "
            "background commands.",
            TO(undo.on), .choices = switches, .fallback = "off"),
	KEY("keep", KEY_DURATION, KEY_NOBODY,
            "How long a command can be undone, and what was tried be applied.", TO(undo.keep_ms),
            .min = 1, .max = (uint64_t)365 * 86400000, .fallback = "24h"),
	KEY("size", KEY_SIZE, KEY_NOBODY,
            "Bytes of all that is kept for it; the oldest goes first. 0: no limit.", TO(undo.size),
            .max = (uint64_t)1 << 44, .fallback = "2G"),
	KEY("store", KEY_TEXT, KEY_NOBODY,
            "Where it is kept if nacre's state directory lies on another file system than the "
            "workspace: a directory outside of the workspace, on its file system.",
            .check = KEY_CHECK_ABSOLUTE, TO(undo.store)),
	KEY("durable", KEY_BOOL, KEY_TRUE,
            "Whether the contents are on the disk before anything is applied: then the workspace "
            "is as before or as after, also when the machine goes down.",
            TO(undo.durable), .fallback = "false"),
	KEY("apply", KEY_CHOICE, KEY_BY_RANK,
            "Whether an agent may apply what was tried: `allow`, or `ask`: a person sees the "
            "changes and runs `nacre apply`.",
            TO(undo.asks), .choices = appliers, .fallback = "allow"),
	{0},
};

static const struct key audit_keys[] = {
	KEY("mode", KEY_CHOICE, KEY_NOBODY,
            "`off`: nothing is recorded, and every result says so. For measurements.",
            TO(audit.off), .choices = audit_modes, .fallback = "on"),
	KEY("on_failure", KEY_CHOICE, KEY_BY_RANK,
            "What happens when the record of a command cannot be written.", TO(audit.optional),
            .choices = audits, .fallback = "refuse"),
	KEY("mask", KEY_TEXTS, KEY_NOBODY,
            "Patterns (PCRE2) of secrets that are masked beside the built-in ones; of a pattern "
            "with a group the group.",
            .check = KEY_CHECK_REGEX, TO(audit.log.mask)),
	KEY("max_bytes", KEY_SIZE, KEY_NOBODY, "The log goes on in a new file at this size.",
            TO(audit.log.max_bytes), .min = 65536, .max = (uint64_t)1 << 40, .fallback = "16M"),
	KEY("max_age", KEY_DURATION, KEY_NOBODY,
            "And when the first record of its file is this old; 0: however old.",
            TO(audit.log.max_age_ms), .max = (uint64_t)3650 * 86400000, .fallback = "0ms"),
	KEY("keep", KEY_COUNT, KEY_NOBODY,
            "How many older files are kept; 0: all. The oldest go when a new one is begun.",
            TO(audit.log.keep), .max = 1000000, .fallback = "0"),
	{0},
};

static const struct key docker_keys[] = {
	KEY("allow", KEY_BOOL, KEY_FALSE,
            "Whether commands get the socket of the container engine. It reaches outside of the "
            "box: who can start containers can read and write the whole machine.",
            TO(docker.allow), .fallback = "false"),
	KEY("endpoint", KEY_TEXT, KEY_NOBODY,
            "Where the engine listens: `unix:///PATH`; unset: DOCKER_HOST, docker's context, the "
            "usual sockets; for podman CONTAINER_HOST and its usual sockets.",
            TO(docker.endpoint), .max = 200),
	KEY("start", KEY_TEXTS, KEY_NOBODY,
            "Words of a command that starts the engine where it is not running. It runs outside "
            "of the box, with the rights of who runs nacre, once for all who wait.",
            TO(docker.start)),
	KEY("start_timeout", KEY_DURATION, KEY_LOWER,
            "How long an engine that is starting is waited for.", TO(docker.start_timeout_ms),
            .min = 1, .max = 600000, .fallback = "30s"),
	KEY("ping_timeout", KEY_DURATION, KEY_LOWER,
            "How long it may take to answer before it is said to hang.", TO(docker.ping_timeout_ms),
            .min = 1, .max = 60000, .fallback = "2s"),
	{0},
};

static const struct key approval_keys[] = {
	KEY("timeout", KEY_DURATION, KEY_LOWER,
            "How long a request waits for a person who can be reached; then it is refused.",
            TO(ask.timeout_ms), .min = 1, .max = 86400000, .fallback = "5m"),
	KEY("keep", KEY_DURATION, KEY_LOWER,
            "How long the question can be answered, and how long an answer that nothing has run "
            "by is good.",
            TO(ask.keep_ms), .min = 1, .max = 86400000, .fallback = "1h"),
	KEY("answer", KEY_CHOICE, KEY_BY_RANK,
            "`wait`: a person is asked; `deny`: what would be asked about is refused at once.",
            TO(ask.refused), .choices = ask_answers, .fallback = "wait"),
	{0},
};

/* As the agents of the universal profile have always had it. */
static const struct key agent_shell_keys[] = {
	KEY("allow", KEY_RULES, KEY_RULE, "The only commands: as `allow`, with `default: deny`.",
            .min = POLICY_ALLOW),
	KEY("deny", KEY_RULES, KEY_RULE, "As `deny`.", .min = POLICY_DENY),
	KEY("default_timeout", KEY_SECONDS, KEY_LOWER,
            "As `timeout.default`; a bare number is seconds.", TO(timeout.default_ms), .min = 1,
            .max = 86400000, .divisor = 1),
	KEY("max_timeout", KEY_SECONDS, KEY_LOWER, "As `timeout.max`; a bare number is seconds.",
            TO(timeout.max_ms), .min = 1, .max = 86400000, .divisor = 1),
	{0},
};

#define LIST(key, list, words) KEY(key, KEY_RULES, KEY_RULE, words, .min = list)

#define TOOL(key, role, words) KEY(key, KEY_TEXTS, KEY_FREE, words, TO(tools.of[role]))

static const struct key nudge_tool_keys[] = {
	TOOL("search", POLICY_ROLE_SEARCH, "Search of code and text."),
	TOOL("list", POLICY_ROLE_LIST, "Listing of files."),
	TOOL("read", POLICY_ROLE_READ, "Reading of files."),
	TOOL("edit", POLICY_ROLE_EDIT, "Editing of files."),
	TOOL("build", POLICY_ROLE_BUILD, "Builds."),
	TOOL("test", POLICY_ROLE_TEST, "Tests."),
	TOOL("dependencies", POLICY_ROLE_DEPENDENCIES, "Modules and packages."),
	TOOL("docs", POLICY_ROLE_DOCS, "Documentation and analysis of code."),
	TOOL("versions", POLICY_ROLE_VERSIONS, "Version control."),
	{0},
};

static const struct key nudge_keys[] = {
	KEY("tools", KEY_GROUP, KEY_FREE,
            "Names of the application's own tools. Rules with the `role` recommend them.",
            .sub = nudge_tool_keys),
	LIST("rules", POLICY_NUDGE, "The rules."),
	{0},
};

const struct key profile_keys[] = {
	KEY("profile", KEY_TEXT, KEY_FREE,
            "The name. A file for a profile that exists below stands above it as a layer.",
            .check = KEY_CHECK_NAME, TO(name)),
	KEY("description", KEY_TEXT, KEY_FREE, "One sentence for people.", TO(description),
            .fallback = ""),
	KEY("inherits", KEY_TEXT, KEY_NOBODY,
            "The profile that this one starts from; `defaults` is another name of `universal`.",
            .check = KEY_CHECK_NAME, TO(inherits)),
	KEY("tool", KEY_WORD, KEY_NOBODY,
            "The tool that callers see: its name, parameters and results.", TO(tool),
            .choices = tools, .fallback = "run_command"),
	KEY("shell", KEY_CHOICE_OR_GROUP, KEY_NOBODY,
            "`bash`: a string is a line for bash; `none`: it is split into words, and these are "
            "executed. In the file of an agent: a map with the limits of the agent.",
            TO(shell), .choices = shells, .sub = agent_shell_keys, .fallback = "bash"),
	KEY("coding", KEY_GROUP, KEY_FREE, "Older name of the map `shell`.",
            .sub = agent_shell_keys),
	KEY("default", KEY_CHOICE, KEY_BY_RANK, "What becomes of a command that no rule names.",
            TO(rules.fallback), .choices = verdicts, .fallback = "deny"),
	KEY("default_reason", KEY_TEXT, KEY_FREE,
            "Said with that verdict; `{name}` is the command, `{allowed}` the list of what is "
            "allowed.",
            TO(rules.fallback_reason)),
	KEY("unknown", KEY_CHOICE, KEY_BY_RANK,
            "What becomes of a line that cannot be known before it runs: it is refused, a person "
            "is asked, or it is left to the sandbox to stop it.",
            TO(rules.unknown), .choices = unknowns, .fallback = "deny"),
	KEY("absolute_paths", KEY_BOOL, KEY_FALSE,
            "Whether a command may be named by an absolute path.", TO(rules.absolute_paths),
            .fallback = "true"),
	KEY("require_description", KEY_BOOL, KEY_TRUE,
            "Whether a request must tell what its command is for.", TO(require_description),
            .fallback = "false"),
	KEY("timeout", KEY_GROUP, KEY_FREE, "Limits of time.", .sub = timeout_keys),
	KEY("output", KEY_GROUP, KEY_FREE, "How much of the output is returned and kept.",
            .sub = output_keys),
	KEY("syntax", KEY_GROUP, KEY_FREE, "Texts that are refused before anything is parsed.",
            .sub = syntax_keys),
	KEY("effects", KEY_GROUP, KEY_FREE,
            "Verdicts by what the options and operands of a command do: `exec`, `write`, "
            "`network`, `read-outside`, `priv`, `hang`.",
            .sub = effect_keys),
	KEY("sets", KEY_SETS, KEY_FREE,
            "Lists with a name, used as `@name` in rules of this file and of files above."),
	LIST("never", POLICY_NEVER, "Refused, and no layer above can take it back."),
	LIST("deny", POLICY_DENY, "Refused."),
	LIST("danger", POLICY_DANGER,
             "Refused because of what a line means: by its text, its pipes, its targets."),
	KEY("nudge", KEY_RULES, KEY_RULE,
            "Sent back with a better tool; `force` overrides it. A list of rules, or a map with "
            "`tools` and `rules`.",
            .min = POLICY_NUDGE, .sub = nudge_keys),
	LIST("ask", POLICY_ASK, "A person is asked."),
	LIST("allow", POLICY_ALLOW,
             "Runs. A layer replaces the list of those below; `@inherited` stands for it."),
	KEY("remove", KEY_REMOVE, KEY_NOBODY,
            "Ids of rules of lower layers that shall not hold any more, not of `never`; or "
            "`KEY:ENTRY` of a list that layers add to (`sandbox.secrets:~/.docker`)."),
	KEY("environment", KEY_GROUP, KEY_FREE, "The environment of commands.",
            .sub = environment_keys),
	KEY("sandbox", KEY_GROUP, KEY_FREE, "The box.", .sub = sandbox_keys),
	KEY("room", KEY_GROUP, KEY_FREE, "What calls of one session share and leave behind.",
            .sub = room_keys),
	KEY("undo", KEY_GROUP, KEY_FREE, "Trying commands, and taking them back.",
            .sub = undo_keys),
	KEY("workspace", KEY_GROUP, KEY_FREE, "Where commands work.", .sub = workspace_keys),
	KEY("docker", KEY_GROUP, KEY_FREE, "Clients of a container engine (docker, podman).",
            .sub = docker_keys),
	KEY("approval", KEY_GROUP, KEY_FREE, "How a person is asked.", .sub = approval_keys),
	KEY("audit", KEY_GROUP, KEY_FREE, "The audit log.", .sub = audit_keys),
	KEY("examples", KEY_EXAMPLES, KEY_FREE,
            "Commands and their verdicts, which `nacre policy test` tries."),
	{0},
};

#define REFUSING (BIT(POLICY_NEVER) | BIT(POLICY_DENY) | BIT(POLICY_DANGER))

static const struct key pipe_keys[] = {
	KEY("from", KEY_TEXTS, KEY_FREE, "Commands whose output flows", .check = KEY_CHECK_SETS,
            RULE(pipe_from)),
	KEY("to", KEY_TEXTS, KEY_FREE, "into one of these.", .check = KEY_CHECK_SETS,
            RULE(pipe_to)),
	{0},
};

const struct key rule_keys[] = {
	KEY("id", KEY_TEXT, KEY_FREE, "Name of the rule; it becomes LIST:NAME.",
            .check = KEY_CHECK_NAME, RULE(id)),
	KEY("commands", KEY_TEXTS, KEY_FREE,
            "Names, globs on names, or globs on paths (`./*`); any of them.",
            .check = KEY_CHECK_SETS, RULE(commands)),
	KEY("args", KEY_TEXTS, KEY_FREE, "The first operands, in order; globs.",
            .check = KEY_CHECK_SETS, RULE(args)),
	KEY("with", KEY_TEXTS, KEY_FREE,
            "Options, all of them present; an entry can be `-r|-R|--recursive`.",
            .check = KEY_CHECK_SETS, RULE(with)),
	KEY("without", KEY_TEXTS, KEY_FREE, "Options, none of them present.",
            .check = KEY_CHECK_SETS, RULE(without)),
	KEY("only", KEY_TEXTS, KEY_FREE, "No option but these.", .check = KEY_CHECK_SETS,
            RULE(only)),
	KEY("operands", KEY_TEXTS, KEY_FREE,
            "Globs on paths, `**` crosses slashes; some operand fits.", .check = KEY_CHECK_SETS,
            RULE(operands)),
	KEY("paths", KEY_CHOICE, KEY_FREE,
            "Where the operands lead to, links resolved: all `inside` the workspace, all inside "
            "and written as relative paths (`relative-inside`), or some `outside`.",
            RULE(paths), .choices = paths),
	KEY("effects", KEY_WORDS, KEY_FREE, "Effects of options or operands; some one is there.",
            RULE(effects), .choices = effects),
	KEY("literal", KEY_TEXT, KEY_FREE, "Stands in the line.", RULE(literal), .max = 4096,
            .lists = BIT(POLICY_DANGER)),
	KEY("regex", KEY_TEXT, KEY_FREE, "Fits the line (PCRE2).", RULE(regex), .max = 4096,
            .lists = BIT(POLICY_DANGER)),
	KEY("pipe", KEY_GROUP, KEY_FREE, "Output of one command into another.", .sub = pipe_keys,
            .lists = BIT(POLICY_DANGER)),
	KEY("write", KEY_TEXTS, KEY_FREE,
            "Globs on paths that are written to, by redirections or operands.",
            .check = KEY_CHECK_SETS, RULE(write_to), .lists = BIT(POLICY_DANGER)),
	KEY("reason", KEY_TEXT, KEY_FREE, "Said to the caller.", RULE(reason)),
	KEY("use", KEY_TEXTS, KEY_FREE, "Tools or commands to use instead.", RULE(use)),
	KEY("role", KEY_CHOICE, KEY_FREE,
            "Recommends the application's tools for this (`nudge.tools`) in place of those of "
            "`use`.",
            RULE(role), .choices = roles),
	KEY("force", KEY_BOOL, KEY_FREE,
            "Whether `force` overrides the rule; it does unless this says `false`.",
            RULE(forceable), .lists = BIT(POLICY_NUDGE)),
	KEY("enforce", KEY_CHOICE, KEY_FREE,
            "`line`: the program stays in the box, since allowed programs need it.",
            RULE(line_only), .choices = enforcers, .lists = REFUSING),
	{0},
};

const struct key example_keys[] = {
	KEY("command", KEY_TEXT, KEY_FREE, "A line.", IN(struct profile_example, command)),
	KEY("argv", KEY_TEXTS, KEY_FREE, "Or a list of words.", IN(struct profile_example, argv)),
	KEY("files", KEY_TEXTS, KEY_FREE,
            "Programs that are in the workspace, which is empty otherwise.",
            .check = KEY_CHECK_RELATIVE, IN(struct profile_example, files)),
	KEY("verdict", KEY_CHOICE, KEY_FREE, "What must come of it.",
            IN(struct profile_example, verdict), .choices = example_verdicts),
	KEY("rule", KEY_TEXT, KEY_FREE, "Id of the rule that must have decided.",
            IN(struct profile_example, rule)),
	KEY("force", KEY_BOOL, KEY_FREE, "Whether the request says `force`.",
            IN(struct profile_example, force)),
	{0},
};

const struct key *key_find(const struct key *table, const char *name)
{
	for (; table->name; table++)
		if (*table->name == *name && strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

const struct key_choice *key_choice_find(const struct key_choice *choices, const char *name)
{
	for (; choices->name; choices++)
		if (strcmp(choices->name, name) == 0)
			return choices;
	return NULL;
}

const struct key_choice *key_choice_by_value(const struct key_choice *choices, uint32_t value)
{
	for (; choices->name; choices++)
		if (choices->value == value)
			return choices;
	return NULL;
}
