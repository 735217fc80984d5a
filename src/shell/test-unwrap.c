#include "shell/unwrap.h"

#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/test-support.h"

static void expect(const char *text, enum unwrap_shape shape, const char *command)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct unwrap u;

	assert_int_equal(unwrap_text(text, arena, &u), 0);
	assert_int_equal(u.shape, shape);
	if (command)
		assert_string_equal(u.command, command);
	else
		assert_null(u.command);
}

static void expect_whole(const char *text)
{
	expect(text, UNWRAP_NONE, text);
}

#define SOURCE "source /home/u/.claude/shell-snapshots/snapshot-bash-1-a.sh 2>/dev/null || true && "
#define SHOPT  "shopt -u extglob 2>/dev/null || true && "
#define END    " && pwd -P >| /tmp/claude-1a2b-cwd"

static void the_command_of_claude_is_found(void **state)
{
	expect(SOURCE SHOPT "eval 'ls -la' < /dev/null" END, UNWRAP_CLAUDE, "ls -la");
	expect(SHOPT "eval 'ls -la' \\< /dev/null" END, UNWRAP_CLAUDE, "ls -la");
	expect(SOURCE "eval ls" END, UNWRAP_CLAUDE, "ls");
	expect("eval 'a'\\''b'" END, UNWRAP_CLAUDE, "a'b");
	expect("eval 'a'\"'\"'b \"c\" $d `e`'" END, UNWRAP_CLAUDE, "a'b \"c\" $d `e`");
	expect("eval \"a \\\"b\\\" \\$c \\\\ d\"" END, UNWRAP_CLAUDE, "a \"b\" $c \\ d");
	expect("eval 'one\ntwo && three'" END, UNWRAP_CLAUDE, "one\ntwo && three");
	expect("eval 'echo && pwd -P >| /tmp/claude-0-cwd'" END, UNWRAP_CLAUDE,
	       "echo && pwd -P >| /tmp/claude-0-cwd");
}

static void the_files_of_claude_are_told(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct unwrap u;

	assert_int_equal(unwrap_text(SOURCE "eval 'ls' < /dev/null" END, arena, &u), 0);
	assert_string_equal(u.cwd_file, "/tmp/claude-1a2b-cwd");
	assert_string_equal(u.snapshot, "/home/u/.claude/shell-snapshots/snapshot-bash-1-a.sh");
	assert_true(u.empty_input);
	assert_int_equal(unwrap_text("eval 'cat < /dev/null'" END, arena, &u), 0);
	assert_null(u.snapshot);
	assert_false(u.empty_input);
}

/* Each would lose or add words if it were taken for the shape that it is near to. */
static void what_is_only_near_is_a_command_as_a_whole(void **state)
{
	static const char *const texts[] = {
		"",
		"ls",
		"eval 'ls'",
		"eval 'ls' && pwd -P",
		"eval 'ls'; pwd -P >| /tmp/claude-1-cwd",
		"eval 'ls'" END "; rm x",
		"eval 'ls'" END " ",
		"eval 'ls'" END "\nrm x",
		"eval 'ls'" END " & rm x",
		"eval 'ls' 'x'" END,
		"eval 'ls' > file" END,
		"eval 'ls' < /dev/null < other" END,
		"eval 'ls' || rm x" END,
		"eval $x" END,
		"eval \"$x\"" END,
		"eval \"`x`\"" END,
		"eval 'ls'$(x)" END,
		"eval 'ls' && pwd -P >| \"$HOME\"/x",
		"eval 'ls' && pwd -P >| $HOME",
		"eval 'ls' && pwd -P >| $(x)",
		"eval 'ls' && pwd -P > /tmp/claude-1-cwd",
		"eval 'ls && pwd -P >| /tmp/claude-1-cwd",
		"rm x && eval 'ls'" END,
		"x=1 eval 'ls'" END,
		" eval 'ls'" END,
		SOURCE SOURCE "eval 'ls'" END,
		"source $x 2>/dev/null || true && eval 'ls'" END,
		"source a b 2>/dev/null || true && eval 'ls'" END,
		"source a 2>/dev/null || rm x && eval 'ls'" END,
		"source a 2>/dev/null || true; eval 'ls'" END,
		"shopt -s extglob 2>/dev/null || true && eval 'ls'" END,
		"eval" END,
		"eval ;ls" END,
		"eval l\ns" END,
		"eval ls#" END,
		"eval ~/x" END,
		"eval *" END,
		"eval {a,b}" END,
		"SNAPSHOT_FILE=/x",
		"SNAPSHOT_FILE=/x\nrm y",
		"SNAPSHOT_FILE=$x\necho \"# Snapshot file\" >| \"$SNAPSHOT_FILE\"",
		"SNAPSHOT_FILE=/x; rm y\necho \"# Snapshot file\" >| \"$SNAPSHOT_FILE\"",
		"SNAPSHOT_FILE=/x rm y\necho \"# Snapshot file\" >| \"$SNAPSHOT_FILE\"",
		"_bgpids_file='/tmp/a'\n(\n  trap 'jobs -p > \"$_bgpids_file\"' EXIT\nls\n)",
		"_bgpids_file=$x\n(\n  trap 'jobs -p > \"$_bgpids_file\"' EXIT\nls\n)\n__code=$?\n"
		"exit $__code",
		"_bgpids_file='/tmp/a'\n(\n  trap 'rm y' EXIT\nls\n)\n__code=$?\nexit $__code",
		"_bgpids_file='/tmp/a'\n(\n  trap 'jobs -p > \"$_bgpids_file\"' EXIT\nls\n)\n"
		"__code=$?\nexit $__code; rm y",
		"shopt -u promptvars; ls",
	};

	for (size_t i = 0; i < array_size(texts); i++)
		expect_whole(texts[i]);
}

static void a_start_up_call_has_no_command(void **state)
{
	expect("SNAPSHOT_FILE='/home/u/.claude/shell-snapshots/snapshot-bash-1-a.sh'\n"
	       "      source \"/home/u/.bashrc\" < /dev/null\n"
	       "      echo \"# Snapshot file\" >| \"$SNAPSHOT_FILE\"\n",
	       UNWRAP_SNAPSHOT, NULL);
}

#define GUARD "shopt -u promptvars nullglob extglob nocaseglob dotglob; "
#define BEGIN                                                                                      \
	"_bgpids_file='/tmp/gemini-shell-x/bgpids.tmp'\n(\n  trap 'jobs -p > \"$_bgpids_file\"' "  \
	"EXIT\n"
#define CLOSE "\n)\n__code=$?\nexit $__code"

static void the_command_of_gemini_is_found(void **state)
{
	expect(GUARD BEGIN "ls -la" CLOSE, UNWRAP_GEMINI, "ls -la");
	expect(BEGIN "cat <<E\nx\nE" CLOSE, UNWRAP_GEMINI, "cat <<E\nx\nE");
	expect(GUARD "ls -la", UNWRAP_GEMINI, "ls -la");
	/* The last words are the client's, whatever the command repeats of them. */
	expect(BEGIN "ls" CLOSE "\necho x" CLOSE, UNWRAP_GEMINI, "ls" CLOSE "\necho x");
}

static void memory_that_runs_out_is_told(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1);
	struct unwrap u;

	assert_int_equal(unwrap_text("eval 'ls'" END, arena, &u), -ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_command_of_claude_is_found),
		cmocka_unit_test(the_files_of_claude_are_told),
		cmocka_unit_test(what_is_only_near_is_a_command_as_a_whole),
		cmocka_unit_test(a_start_up_call_has_no_command),
		cmocka_unit_test(the_command_of_gemini_is_found),
		cmocka_unit_test(memory_that_runs_out_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
