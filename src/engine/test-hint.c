#include "base/test-support.h"

#include <signal.h>
#include "engine/hint.h"
#include "task/report.h"
#include "sandbox/spec.h"

#define STRICT                                                                                     \
	(SANDBOX_LAYER_NAMESPACES | SANDBOX_LAYER_NETWORK | SANDBOX_LAYER_LANDLOCK |               \
	 SANDBOX_LAYER_SECCOMP | SANDBOX_LAYER_MEMORY | SANDBOX_LAYER_PROCESSES |                  \
	 SANDBOX_LAYER_NO_NEW_PRIVS)

static const char *const guarded[] = {".git/config", ".git/hooks", ".vscode", NULL};
static const char *const secrets[] = {"~/.ssh", "/srv/keys", NULL};
static const char *const readable[] = {"~/.pyenv", "/srv/shown", NULL};

/* A failed command in a box with all layers. A test changes what it is about. */
struct end {
	struct keeper_report report;
	struct sandbox_spec spec;
	struct hint_facts facts;
	char hints[HINTS_MAX][HINT_TEXT_MAX];
	int count;
};

static int setup(void **state)
{
	struct end *e = calloc(1, sizeof(*e));

	e->report = (struct keeper_report){.end = KEEPER_END_EXITED, .sandbox = {.layers = STRICT}};
	e->spec = (struct sandbox_spec){.protected_ = guarded,
	                                .secrets = secrets,
	                                .readable = readable,
	                                .limits = {.memory_bytes = (uint64_t)4 << 30,
	                                           .processes = 512,
	                                           .file_bytes = (uint64_t)2 << 30,
	                                           .open_files = 4096,
	                                           .tmp_bytes = (uint64_t)1 << 30}};
	e->facts = (struct hint_facts){.report = &e->report,
	                               .spec = &e->spec,
	                               .command = "make",
	                               .workspace = "/home/u/project",
	                               .root = "/home/u/project",
	                               .cwd = "/home/u/project/src",
	                               .home = "/home/u",
	                               .exit_code = 1,
	                               .timeout_ms = 1000,
	                               .timeout_max_ms = 600000,
	                               .cli = true};
	*state = e;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void find(struct end *e, const char *output)
{
	e->facts.streams[1] = (struct hint_stream){output, output ? strlen(output) : 0};
	e->count = hint_find(&e->facts, e->hints);
	for (int i = 0; i < e->count; i++) { /* whole sentences, every field filled */
		assert_true(strlen(e->hints[i]) < HINT_TEXT_MAX - 1);
		assert_null(strpbrk(e->hints[i], "{}"));
	}
}

/* Exactly one hint, with these words. */
static void expect(struct end *e, const char *output, const char *words)
{
	find(e, output);
	if (e->count != 1 || !strstr(e->hints[0], words))
		fail_msg("'%s': %d hints, '%s'; expected '%s'", output ? output : "", e->count,
		         e->count ? e->hints[0] : "", words);
}

static void expect_none(struct end *e, const char *output)
{
	find(e, output);
	if (e->count)
		fail_msg("'%s': '%s'", output ? output : "", e->hints[0]);
}

/* What programs really print, and a word of the hint that it earns. */
static const struct {
	const char *output, *words;
} known[] = {
	{"curl: (6) Could not resolve host: example.com\n", "sandbox.network: none"},
	{"urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
         "has no network"},
	{"npm ERR! request to https://registry.example.org/x failed, reason: getaddrinfo EAI_AGAIN "
         "registry.example.org",
         "has no network"},
	{"dial tcp: lookup proxy.golang.org: no such host", "has no network"},
	{"\x1b[31mfatal\x1b[0m: unable to access: Couldn't resolve host 'github.com'",
         "has no network"},
	{"curl: (7) Failed to connect to 10.1.2.3 port 80 after 1 ms: Couldn't connect to server",
         "has no network"},
	{"curl: (7) Failed to connect to 127.0.0.1 port 80 after 1 ms: Couldn't connect to server",
         "loopback network of its own"},
	{"ConnectionRefusedError: [Errno 111] Connection refused", "loopback network of its own"},
	{"error: could not write config file .git/config: Device or resource busy\n",
         ".git/config is protected"},
	{"/bin/bash: line 1: ../../.git/hooks/pre-commit: Read-only file system\n",
         "remove: [\"sandbox.protected:.git/hooks\"]"},
	{"PermissionError: [Errno 1] Operation not permitted: '/home/u/project/.vscode/x'",
         ".vscode is protected"},
	{"mv: cannot move '.git' to 'x': Device or resource busy", "is protected"},
	{"cat: /home/u/.ssh/id_rsa: No such file or directory", "~/.ssh is hidden"},
	{"cat: /srv/keys/a: Permission denied", "sandbox.secrets"},
	{"ls: cannot access '/srv/data': No such file or directory",
         "/srv/data is outside of the workspace, and the sandbox does not show it"},
	{"Error: ENOENT: no such file or directory, open '/home/u/other/x.json'",
         "/home/u/other/x.json is outside"},
	{"bash: line 1: cd: /srv/data: No such file or directory", "sandbox.readable"},
	{"cat: ../../other/../../../srv/x/../data: No such file or directory",
         "../../other/../../../srv/x/../data is outside"},
	{"cat: /home/u/project/../b: No such file or directory", "/home/u/project/../b is outside"},
	{"touch: cannot touch '/usr/x': Read-only file system", "sandbox.writable"},
	{"warning: ptrace: Operation not permitted", "refuses ptrace"},
	{"strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted", "sandbox.debug"},
	{"==3==LeakSanitizer has encountered a fatal error.", "detect_leaks=0"},
	{"==3==ReserveShadowMemoryRange failed while trying to map 0xdfff0001000 bytes.",
         "Delegate=yes"},
	{"==3==ERROR: AddressSanitizer failed to allocate 0x2000 (8192) bytes", "Sanitizers map"},
	{"sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.",
         "without sudo"},
	{"sudo: effective uid is not 0, is /usr/bin/sudo on a file system with the 'nosuid' option",
         "no_new_privs"},
	{"unshare: unshare failed: Operation not permitted", "sandbox of its own"},
	{"bash: fork: retry: Resource temporarily unavailable", "sandbox.limits.processes"},
	{"RuntimeError: can't start new thread", "limits the number of processes (512)"},
	{"OSError: [Errno 24] Too many open files", "sandbox.limits.open_files"},
	{"OSError: [Errno 27] File too large", "sandbox.limits.file"},
	{"dd: error writing '/tmp/x': No space left on device", "sandbox.limits.tmp"},
	{"OSError: [Errno 28] No space left on device: '/home/u/.cache/x'", "sandbox.limits.tmp"},
	{"cat: /tmp/x: No such file or directory", "a /tmp of its own"},
	{"fork: Cannot allocate memory", "sandbox.limits.memory"},
};

static void what_programs_print_earns_its_hint(void **state)
{
	for (size_t i = 0; i < array_size(known); i++)
		expect(*state, known[i].output, known[i].words);
}

static void a_command_that_succeeded_or_was_stopped_earns_none(void **state)
{
	struct end *e = *state;

	e->facts.exit_code = 0;
	for (size_t i = 0; i < array_size(known); i++)
		expect_none(e, known[i].output);
	e->facts.exit_code = 143;
	e->report.end = KEEPER_END_STOPPED;
	for (size_t i = 0; i < array_size(known); i++)
		expect_none(e, known[i].output);
}

static void without_a_sandbox_it_is_not_blamed(void **state)
{
	struct end *e = *state;

	e->report.sandbox = (struct sandbox_standing){.tier = SANDBOX_TIER_NONE};
	for (size_t i = 0; i < array_size(known); i++)
		if (!strstr(known[i].output, "sudo")) /* this holds without a wall, too */
			expect_none(e, known[i].output);
	expect(e, "sudo: effective uid is not 0", "no_new_privs");
}

static void a_layer_that_was_missing_is_not_claimed(void **state)
{
	struct end *e = *state;

	e->report.sandbox.layers = STRICT & ~(uint32_t)SANDBOX_LAYER_NETWORK;
	expect_none(e, "curl: (6) Could not resolve host: example.com");
	expect_none(e, "connect: Connection refused");
	e->report.sandbox.layers = STRICT & ~(uint32_t)SANDBOX_LAYER_SECCOMP;
	expect_none(e, "warning: ptrace: Operation not permitted");
	e->report.sandbox.layers = STRICT & ~(uint32_t)SANDBOX_LAYER_PROCESSES;
	expect_none(e, "bash: fork: retry: Resource temporarily unavailable");
	e->report.sandbox.layers = STRICT;
	e->spec.limits = (struct sandbox_limits){0};
	expect_none(e, "OSError: [Errno 24] Too many open files");
	expect_none(e, "dd: error writing '/tmp/x': No space left on device");
	expect_none(e, "OSError: [Errno 27] File too large");
}

static void other_failures_earn_none(void **state)
{
	static const char *const outputs[] = {
		"",
		"make: *** [all] Error 1",
		"cat: x: No such file or directory",
		"cat: src/.git/config: Read-only file system", /* of another directory */
		"cat: /etc/x: No such file or directory",
		"/usr/bin/env: 'x': No such file or directory",
		"cat: /srv/shown/x: No such file or directory",
		"/home/u/.pyenv/bin/python: No such file or directory",
		"cat: /home/u/project/x: No such file or directory",
		"recv: Resource temporarily unavailable",         /* of a socket, not of a fork */
		"dd: error writing 'x': No space left on device", /* of the workspace's disk */
		"ls: cannot open directory '/home': Permission denied",
		"cat: .gitignore: Permission denied",
		"FileNotFoundError: [Errno 2] x",
		"/bin/bash: line 1: x: Read-only file system",
		"foo: command not found",
	};

	for (size_t i = 0; i < array_size(outputs); i++)
		expect_none(*state, outputs[i]);
	expect_none(*state, NULL);
}

static void in_a_room_the_host_has_other_files(void **state)
{
	struct end *e = *state;

	snprintf(e->report.room.id, sizeof(e->report.room.id), "r");
	e->facts.home = "/home/u";
	expect(e, "cat: /tmp/other/note: No such file or directory", "/tmp/other/note is outside");
	expect(e, "bash: line 1: /home/u/tools/x: No such file or directory",
	       "/home/u/tools/x is outside");
	expect(e, "cat: .vscode/settings.json: No such file or directory", "`nacre approvals`");
}

static void what_was_done_for_nothing_is_told(void **state)
{
	static const char *const lost[] = {"echo a > /tmp/x", "date >>/dev/shm/y",
	                                   "ls >~/list; true"};
	static const char *const kept[] = {"echo a > x",         "echo a > /tmp/x; cat /tmp/x",
	                                   "echo a > /dev/null", "echo '> /tmp/x'",
	                                   "cat /tmp/x",         "echo a > /tmp/",
	                                   "echo a >/srv/x"};
	static const char *const open[] = {"/tmp", NULL};
	struct end *e = *state;

	e->facts.exit_code = 0;
	for (size_t i = 0; i < array_size(lost); i++) {
		e->facts.command = lost[i];
		expect(e, NULL, "was of this command alone and is gone with it");
	}
	for (size_t i = 0; i < array_size(kept); i++) {
		e->facts.command = kept[i];
		expect_none(e, NULL);
	}
	e->facts.command = lost[0];
	e->spec.writable = open;
	expect_none(e, NULL);
	e->spec.writable = NULL;
	e->facts.scratch_stays = true;
	expect_none(e, NULL);
	e->facts.command = "cd src";
	expect(e, NULL, "The working directory is not kept for the next command.");
	e->facts.has_session = true;
	expect_none(e, NULL);
	e->facts.has_session = false;
	e->facts.command = "cd src; make";
	expect_none(e, NULL);
}

static void what_goes_on_is_named_with_the_tools_of_the_door(void **state)
{
	static const struct {
		const char *door, *tool, *words;
	} doors[] = {
		{"cli", "Bash",
	         "python3 (pid 3, ports 80, 8080), sleep (pid 9) are still running and go on as "
	         "task "
	         "bash-1. `nacre output bash-1` shows its output, `nacre stop bash-1` ends it."},
		{"mcp", "Bash", "TaskOutput shows its output, TaskStop ends it."},
		{"mcp", "shell", "shell_output shows its output, shell_kill ends it."},
		{"mcp", NULL, "shell_output shows its output, shell_kill ends it."},
		{"http", "Bash", "TaskStop (REST: POST /v1/tasks/bash-1/stop) ends it."},
		{"library", "Bash", "nacre_stop() ends it."},
	};
	struct end *e = *state;

	e->facts.exit_code = 0;
	e->facts.left_running = true;
	e->facts.task_id = "bash-1";
	strcpy(e->report.left, "3 python3 80 8080\n9 sleep\n");
	for (size_t i = 0; i < array_size(doors); i++) {
		e->facts.door = doors[i].door;
		e->facts.tool = doors[i].tool;
		expect(e, NULL, doors[i].words);
	}
	e->facts.timeout_asked = true;
	expect(e, NULL, "Its time limit stays 1s.");
	strcpy(e->report.left, "3 a\n3 b\n3 c\n3 d\n3 e\n");
	expect(e, NULL, "d (pid 3) and 1 more are still running");
	e->report.left[0] = '\0';
	expect(e, NULL, "A process of the command is still running and goes on as task bash-1.");
}

static void who_looks_for_processes_is_sent_to_the_tasks_that_run(void **state)
{
	struct end *e = *state;

	e->facts.exit_code = 0;
	e->facts.other_tasks = true;
	e->facts.task_id = "bash-1";
	e->facts.door = "cli";
	e->facts.command = "ps aux | grep server";
	expect(e, NULL, "`nacre tasks` lists the tasks that run, `nacre stop ID` ends one.");
	e->facts.command = "kill 12";
	expect_none(e, NULL); /* it has found one of its own */
	e->facts.exit_code = 1;
	expect(e, NULL, "not those of other tasks");
	e->facts.other_tasks = false;
	expect_none(e, NULL);
	e->facts.other_tasks = true;
	e->report.sandbox.layers &= ~(uint32_t)SANDBOX_LAYER_NAMESPACES;
	expect_none(e, NULL); /* it sees them all */
	e->facts.command = "echo steps";
	assert_false(hint_wants_tasks(&e->facts));
}

static void what_the_keeper_saw_is_told_first_and_of_success_too(void **state)
{
	struct end *e = *state;

	e->facts.exit_code = 0;
	e->report.limit_hit = LIMIT_HIT_TMP;
	expect(e, NULL, "the limit on temporary files was reached (1.0 GiB)");
	e->report.limit_hit = LIMIT_HIT_NONE;
	strcpy(e->report.ended, "sleep\nsleep\nwatch\nx\ny");
	expect(e, NULL, "sleep, sleep, watch and 2 more were still running at the end");
	assert_non_null(strstr(e->hints[0], "--background"));
	strcpy(e->report.ended, "a\x1b[31m b");
	expect(e, NULL, "a?[31m?b was still running");
	e->facts.exit_code = 137;
	e->report.limit_hit = LIMIT_HIT_MEMORY;
	find(e, "curl: (6) Could not resolve host: x\n.git/config: Read-only file system");
	assert_int_equal(e->count, HINTS_MAX);
	assert_non_null(strstr(e->hints[0], "the limit on memory was reached (4.0 GiB)"));
	assert_non_null(strstr(e->hints[1], "still running"));
}

static void each_limit_names_its_key(void **state)
{
	static const struct {
		enum limit_hit hit;
		const char *key;
	} limits[] = {{LIMIT_HIT_MEMORY, "sandbox.limits.memory"},
	              {LIMIT_HIT_PROCESSES, "sandbox.limits.processes"},
	              {LIMIT_HIT_FILE_SIZE, "sandbox.limits.file"},
	              {LIMIT_HIT_CPU, "sandbox.limits.cpu"},
	              {LIMIT_HIT_TMP, "sandbox.limits.tmp"},
	              {LIMIT_HIT_ROOM, "room.size"},
	              {LIMIT_HIT_WORKSPACE, "workspace.size"}};
	struct end *e = *state;

	for (size_t i = 0; i < array_size(limits); i++) {
		e->report.limit_hit = limits[i].hit;
		expect(e, NULL, limits[i].key);
	}
	assert_int_equal(array_size(limits), LIMIT_HIT_MAX - 1);
	e->facts.spec = NULL; /* the number is not known any more */
	e->report.limit_hit = LIMIT_HIT_MEMORY;
	expect(e, NULL, "the limit on memory was reached. Work on less");
	e->facts.max_processes = 20;
	e->report.limit_hit = LIMIT_HIT_PROCESSES;
	expect(e, NULL, "(20). Start fewer at a time, or raise --max-processes.");
}

static void a_timeout_says_what_to_do(void **state)
{
	struct end *e = *state;

	e->facts.exit_code = 124;
	e->report.end = KEEPER_END_TIMEOUT;
	strcpy(e->report.ended, "sleep"); /* the caller knows why */
	expect(e, NULL, "--timeout, at most 10m 0s");
	e->facts.timeout_ms = e->facts.timeout_max_ms;
	expect(e, NULL, "raise timeout.max");
	e->facts.cli = false;
	expect(e, NULL, "Run the command in the background, or");
	e->facts.timeout_max_ms = 0; /* not known any more */
	expect_none(e, NULL);
	e->report.end = KEEPER_END_IDLE;
	expect(e, NULL, "timeout.idle");
}

static void silent_clients_are_known_by_their_exit_code(void **state)
{
	struct end *e = *state;

	e->facts.command = "curl -s https://example.com | jq .";
	e->facts.exit_code = 6;
	expect(e, NULL, "has no network");
	e->facts.exit_code = 22;
	expect_none(e, NULL);
	e->facts.exit_code = 2;
	e->facts.command = "getent hosts example.com";
	expect(e, NULL, "has no network");
	e->facts.command = "getent passwd nobody";
	expect_none(e, NULL);
	e->facts.exit_code = 6;
	e->facts.command = "./mycurl2";
	expect_none(e, NULL);
}

static void profiles_that_take_more_away_say_so(void **state)
{
	struct end *e = *state;

	e->spec.workspace_readonly = true;
	expect(e, "touch: cannot touch './x': Read-only file system",
	       "sandbox.workspace: readonly");
	e->spec.workspace_noexec = true;
	e->facts.exit_code = 126;
	expect(e, "bash: line 1: ./x: Permission denied", "sandbox.workspace_exec: false");
	expect(e, "./x: cannot be executed: Permission denied", "sandbox.workspace_exec: false");
	e->facts.exit_code = 1;
	e->spec.debug = true;
	expect(e, "ptrace: Operation not permitted.", "sandbox.debug: true");
	e->spec.workspace_noexec = false;
	expect(e, "ptrace: Operation not permitted.", "its own command only");
	expect_none(e, "==3==LeakSanitizer has encountered a fatal error.");
	e->report.sandbox.layers &= ~(uint32_t)SANDBOX_LAYER_NAMESPACES;
	expect(e, "ptrace: Operation not permitted.", "sandbox.debug: true");
	e->report.sandbox.layers |= SANDBOX_LAYER_NAMESPACES;
	e->spec.exec = SANDBOX_EXEC_LISTED;
	e->facts.exit_code = 127;
	expect(e, "bash: line 1: foo: command not found", "sandbox.exec: listed");
}

static void a_caller_from_elsewhere_learns_nothing_of_this_host(void **state)
{
	struct end *e = *state;

	e->facts.discreet = true;
	expect_none(e, "cat: /srv/keys/a: Permission denied");
	expect_none(e, "ls: cannot access '/srv/data': No such file or directory");
	expect_none(e, "touch: cannot touch '/usr/x': Read-only file system");
	expect(e, "bash: .git/config: Read-only file system", ".git/config is protected");
}

static void what_is_written_into_a_hint_is_short_and_plain(void **state)
{
	struct end *e = *state;
	char text[600];

	expect_none(e, "cat: /srv/\xe2\x80\xae"
	               "evil: No such file or directory");
	expect(e, "cat: /srv/a b: No such file or directory", "/srv/a is outside");
	expect(e, "cat: '/srv/<b>[x](y)`z`': No such file or directory", "/srv/ is outside");
	strcpy(text, "cat: /srv/");
	memset(text + 10, 'a', 500);
	strcpy(text + 510, ": No such file or directory");
	expect_none(e, text);
	strcpy(text + 10 + 116, ": No such file or directory");
	expect(e, text, "is outside of the workspace");
}

static void only_the_end_of_much_output_is_looked_at(void **state)
{
	const size_t n = (size_t)1 << 20;
	scoped(freep) char *text = malloc(n + 1);
	struct end *e = *state;

	memset(text, '/', n); /* one line, full of paths */
	text[n] = '\0';
	memcpy(text, "Could not resolve host\n", 23);
	expect_none(e, text);
	memcpy(text + n - 24, "\nCould not resolve host\n", 24);
	expect(e, text, "has no network");
	for (size_t i = 0; i + 26 < n; i += 26) /* every line is worth a look */
		memcpy(text + i, "/usr/x: permission denied\n", 26);
	expect_none(e, text);
}

static void without_namespaces_the_words_are_those_of_landlock(void **state)
{
	struct end *e = *state;

	e->report.sandbox =
		(struct sandbox_standing){.tier = SANDBOX_TIER_LANDLOCK,
	                                  .layers = STRICT & ~(uint32_t)SANDBOX_LAYER_NAMESPACES};
	expect(e, "touch: cannot touch '/usr/x': Permission denied", "sandbox.writable");
	expect(e, "ls: cannot open directory '/srv/data': Permission denied", "does not show it");
	/* Protected files are compared afterwards, and the loopback is the host's. */
	expect_none(e, ".git/config: Permission denied");
	expect_none(e, "connect: Connection refused");
}

static void a_session_without_a_room_is_told_where_that_matters(void **state)
{
	struct end *e = *state;

	e->report.sandbox =
		(struct sandbox_standing){.tier = SANDBOX_TIER_LANDLOCK,
	                                  .layers = STRICT & ~(uint32_t)SANDBOX_LAYER_NAMESPACES};
	e->facts.exit_code = 0;
	e->facts.command = "curl http://localhost:8000";
	expect_none(e, "");
	e->facts.has_session = e->facts.wants_room = true;
	expect(e, "", "rooms need namespaces");
	e->facts.command = "make";
	expect_none(e, "");
	e->facts.command = "cat ~/x";
	e->report.sandbox.tier = SANDBOX_TIER_CONTAINER;
	expect(e, "", "rooms need namespaces");
	e->report.sandbox.tier = SANDBOX_TIER_STRICT;
	expect_none(e, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_programs_print_earns_its_hint),
		TEST(a_command_that_succeeded_or_was_stopped_earns_none),
		TEST(without_a_sandbox_it_is_not_blamed),
		TEST(a_layer_that_was_missing_is_not_claimed),
		TEST(other_failures_earn_none),
		TEST(in_a_room_the_host_has_other_files),
		TEST(what_was_done_for_nothing_is_told),
		TEST(who_looks_for_processes_is_sent_to_the_tasks_that_run),
		TEST(what_goes_on_is_named_with_the_tools_of_the_door),
		TEST(what_the_keeper_saw_is_told_first_and_of_success_too),
		TEST(each_limit_names_its_key),
		TEST(a_timeout_says_what_to_do),
		TEST(silent_clients_are_known_by_their_exit_code),
		TEST(profiles_that_take_more_away_say_so),
		TEST(a_caller_from_elsewhere_learns_nothing_of_this_host),
		TEST(what_is_written_into_a_hint_is_short_and_plain),
		TEST(only_the_end_of_much_output_is_looked_at),
		TEST(without_namespaces_the_words_are_those_of_landlock),
		TEST(a_session_without_a_room_is_told_where_that_matters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
