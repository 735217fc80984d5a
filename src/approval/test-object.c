#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "approval/object.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "policy/policy.h"
#include "shell/facts.h"

/* A workspace with some files, and a subject in it. */
struct bench {
	char dir[64], sub[96];
	struct arena *arena;
	struct object_subject subject;
	struct policy_answer answer;
	struct policy_finding findings[8];
	struct shell_facts *facts;
};

static const char *const bash_words[] = {"/bin/bash", "-c", "x", NULL};
static const char *const environment[] = {"PATH=/bin", "A=1", NULL};
static const char *const terms[] = {"bash", "strict", NULL};

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static void put(struct bench *b, const char *name, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", b->dir, name);
	test_file_write(path, text);
}

static void line(struct bench *b, const char *text)
{
	assert_int_equal(shell_facts_read(b->arena, text, strlen(text), NULL, &b->facts), 0);
	assert_true(b->facts->command_count <= array_size(b->findings));
	b->answer.command_count = b->facts->command_count;
	b->subject.facts = b->facts;
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	test_directory_make(b->dir);
	snprintf(b->sub, sizeof(b->sub), "%s/sub", b->dir);
	assert_int_equal(mkdir(b->sub, 0700), 0);
	put(b, "run.sh", "echo 1\n");
	put(b, "data", "x\n");
	put(b, "sub/deep.sh", "echo 2\n");
	b->arena = arena_new(SHELL_FACTS_ARENA_MAX);
	b->answer.commands = b->findings;
	b->subject = (struct object_subject){
		.argv = bash_words,
		.envp = environment,
		.input_fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
		.workspace_fd = open(b->dir, O_PATH | O_CLOEXEC),
		.cwd_fd = open(b->dir, O_PATH | O_CLOEXEC),
		.workspace = b->dir,
		.cwd = b->dir,
		.answer = &b->answer,
		.terms = terms,
	};
	line(b, "./run.sh data");
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	fd_close(b->subject.input_fd);
	fd_close(b->subject.workspace_fd);
	fd_close(b->subject.cwd_fd);
	arena_free(b->arena);
	test_directory_remove(b->dir);
	free(b);
	return 0;
}

static struct approval_object make(struct bench *b)
{
	struct approval_object o;

	assert_int_equal(object_make(&b->subject, b->arena, &o, NULL), 0);
	return o;
}

static void expect_differs(const struct approval_object *was, struct bench *b, const char *words)
{
	struct approval_object now = make(b);
	struct error err = {0};

	assert_int_equal(object_compare(was, &now, &err), -ESTALE);
	if (!strstr(err.text, words))
		fail_msg("'%s' does not say '%s'", err.text, words);
}

static void expect_same(const struct approval_object *was, struct bench *b)
{
	struct approval_object now = make(b);

	assert_int_equal(object_compare(was, &now, NULL), 0);
}

static void the_same_again_is_the_same(void **state)
{
	struct approval_object was = make(*state);

	expect_same(&was, *state);
	put(*state, "other", "new\n"); /* a file that no word names */
	expect_same(&was, *state);
}

static void words_environment_and_terms_count(void **state)
{
	struct bench *b = *state;
	struct approval_object was = make(b);

	b->subject.argv = LIST("/bin/bash", "-c", "xy");
	expect_differs(&was, b, "words");
	b->subject.argv = LIST("/bin/bash", "-cx");
	expect_differs(&was, b, "words");
	b->subject.argv = bash_words;
	b->subject.envp = LIST("PATH=/bin", "A=2");
	expect_differs(&was, b, "environment");
	b->subject.envp = LIST("PATH=/bin", "A=1", "B=");
	expect_differs(&was, b, "environment");
	b->subject.envp = environment;
	b->subject.terms = LIST("bash", "none");
	expect_differs(&was, b, "profile");
}

static void a_changed_file_is_named(void **state)
{
	struct bench *b = *state;
	struct approval_object was = make(b);
	char from[160], to[160];

	assert_int_equal(was.file_count, 3); /* bash, the script, its operand */
	assert_int_equal(was.program_count, 2);
	put(b, "run.sh", "echo 3\n"); /* as long as it was */
	expect_differs(&was, b, "/run.sh'");
	was = make(b);
	put(b, "data", "y\n");
	expect_differs(&was, b, "/data'");
	was = make(b);
	snprintf(from, sizeof(from), "%s/data", b->dir);
	snprintf(to, sizeof(to), "%s/data.old", b->dir);
	assert_int_equal(rename(from, to), 0);
	expect_differs(&was, b, "/data'");
	assert_int_equal(symlink("data.old", from), 0); /* the same file, by another way */
	expect_differs(&was, b, "/data'");
}

static void times_that_are_set_back_do_not_help(void **state)
{
	struct bench *b = *state;
	struct approval_object was = make(b);
	struct timespec times[2];
	struct stat st;
	char path[160];

	snprintf(path, sizeof(path), "%s/run.sh", b->dir);
	assert_int_equal(stat(path, &st), 0);
	put(b, "run.sh", "echo 4\n");
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	expect_differs(&was, b, "/run.sh'");
}

/* A page that is mapped and was written to already: no later write to it changes a time. */
static void a_mapping_that_was_there_before_does_not_help(void **state)
{
	struct bench *b = *state;
	struct approval_object was;
	char path[160], *page;
	int fd;

	snprintf(path, sizeof(path), "%s/run.sh", b->dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	page = mmap(NULL, 7, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(page != MAP_FAILED);
	page[5] = '1'; /* as it was */
	was = make(b);
	expect_same(&was, b);
	page[5] = '2';
	expect_differs(&was, b, "/run.sh'");
	page[5] = '1';
	assert_int_equal(munmap(page, 7), 0);
	fd_close(fd);
}

static void too_much_to_read_is_refused(void **state)
{
	struct bench *b = *state;
	char text[512] = "rm", name[16], path[160];
	struct approval_object o;

	for (int i = 0; i < 17; i++) {
		snprintf(name, sizeof(name), " f%d", i);
		strcat(text, name);
		put(b, name + 1, "");
		snprintf(path, sizeof(path), "%s/%s", b->dir, name + 1);
		assert_int_equal(truncate(path, OBJECT_CONTENT_MAX), 0);
	}
	line(b, text);
	assert_int_equal(object_make(&b->subject, b->arena, &o, NULL), -E2BIG);
	assert_int_equal(truncate(path, OBJECT_CONTENT_MAX + 1), 0); /* is not read */
	line(b, "rm f1 f2 f3 f16");
	assert_int_equal(object_make(&b->subject, b->arena, &o, NULL), 0);
}

static void options_redirections_and_directories_lead_to_files(void **state)
{
	static const struct {
		const char *line;
		size_t files; /* beside bash */
	} cases[] = {
		{"docker build --file=data .", 1},
		{"docker build -fdata .", 1},
		{"curl -d @data x", 1},
		{"dd if=data of=none", 1},
		{"cat <data", 1},
		{"echo x >data", 0},
		{"cd sub && ./deep.sh", 1},
		{"cd . && cd sub && ./deep.sh", 1},
		{"cd .; cd .; cd .; cd .; cd .; cd sub; ./deep.sh", 1},
		{"env -C sub sh deep.sh", 1},
		{"env -Csub sh deep.sh", 1},
		{"env --chdir=sub sh deep.sh", 1},
		{"sh <>data", 1},
		{"(cd sub; bash deep.sh)", 1},
		{"ls sub", 0},
		{"bash data data data", 1},
	};
	struct bench *b = *state;

	for (size_t i = 0; i < array_size(cases); i++) {
		struct approval_object o;

		line(b, cases[i].line);
		o = make(b);
		if (o.file_count != cases[i].files + 1)
			fail_msg("%s: %zu files", cases[i].line, o.file_count);
	}
}

/* The words that are executed say more than those that are known. */
static void where_words_are_not_known_all_that_could_be_files_are(void **state)
{
	static const char *const lines[] = {"x=deep.sh; cd sub; sh $x",
	                                    "sh \"$PWD/sub/deep.sh\"",
	                                    "sh ${PWD}/sub/deep.sh",
	                                    "d=sub; cd $d; sh deep.sh",
	                                    "cd \"$PWD/sub\"; sh deep.sh",
	                                    "for f in sub/deep.sh; do sh \"$f\"; done",
	                                    "$A; d=sub; env -C \"$d\" sh deep.sh"};
	struct bench *b = *state;
	struct approval_object was;

	for (size_t i = 0; i < array_size(lines); i++) {
		line(b, lines[i]);
		b->subject.argv = LIST("/bin/bash", "-c", lines[i]);
		was = make(b);
		expect_same(&was, b);
		put(b, "sub/deep.sh", i % 2 ? "echo 2\n" : "echo 3\n");
		expect_differs(&was, b, "deep.sh'");
	}
}

/* A name that nobody can know may be that of any file. */
static void where_a_name_cannot_be_known_all_files_are_bound(void **state)
{
	static const struct {
		const char *line;
		enum object_names names;
	} cases[] = {
		{"sh d*.sh", OBJECT_NAMES_TREE},
		{"a=de; sh sub/${a}ep.sh", OBJECT_NAMES_TREE},
		{"python3 -m deep", OBJECT_NAMES_TREE},
		{"PATH=$X:$PATH deep", OBJECT_NAMES_TREE},
		{"cd $X; ./deep.sh", OBJECT_NAMES_TREE},
		{"PATH=sub:$PATH deep", OBJECT_NAMES_KNOWN},
		{"git push origin $X", OBJECT_NAMES_KNOWN},
		{"rm -f *.sh", OBJECT_NAMES_KNOWN},
		{"sh run.sh", OBJECT_NAMES_KNOWN},
		{"python3 data x", OBJECT_NAMES_KNOWN},
	};
	struct bench *b = *state;

	for (size_t i = 0; i < array_size(cases); i++) {
		struct approval_object was, now;

		line(b, cases[i].line);
		b->subject.argv = LIST("/bin/bash", "-c", cases[i].line);
		was = make(b);
		if (was.names != cases[i].names)
			fail_msg("%s: %d", cases[i].line, (int)was.names);
		expect_same(&was, b);
		put(b, "sub/other", i % 2 ? "1" : "2"); /* which the line does not name */
		now = make(b);
		assert_int_equal(object_compare(&was, &now, NULL),
		                 was.names == OBJECT_NAMES_TREE ? -ESTALE : 0);
	}
}

static void what_runs_a_script_belongs_to_it(void **state)
{
	struct bench *b = *state;
	struct approval_object was;
	char text[160];

	snprintf(text, sizeof(text), "#! %s/tool -x\n", b->dir);
	put(b, "run.sh", text);
	snprintf(text, sizeof(text), "#!%s/deeper\n", b->dir);
	put(b, "tool", text);
	put(b, "deeper", "\177ELF");
	was = make(b);
	assert_int_equal(was.file_count, 5); /* bash, the script, data, and these two */
	put(b, "tool", text);
	expect_differs(&was, b, "/tool'");
	was = make(b);
	put(b, "deeper", "\177elf");
	expect_differs(&was, b, "/deeper'");
	snprintf(text, sizeof(text), "%s/link.sh", b->dir);
	assert_int_equal(symlink("run.sh", text), 0); /* also where a link leads to it */
	line(b, "./link.sh");
	was = make(b);
	put(b, "deeper", "\177Elf");
	expect_differs(&was, b, "/deeper'");
}

static void a_directory_made_anew_is_another_one(void **state)
{
	struct bench *b = *state;
	struct approval_object was;
	char path[160];

	snprintf(path, sizeof(path), "%s/deep.sh", b->sub);
	assert_int_equal(unlink(path), 0);
	fd_close(b->subject.cwd_fd);
	b->subject.cwd = b->sub;
	/* Often enough for the number of the inode to come again, on most file systems. */
	for (int i = 0; i < 50; i++) {
		b->subject.cwd_fd = open(b->sub, O_PATH | O_CLOEXEC);
		was = make(b);
		fd_close(b->subject.cwd_fd); /* what is held open keeps its number */
		assert_int_equal(rmdir(b->sub), 0);
		assert_int_equal(mkdir(b->sub, 0700), 0);
		b->subject.cwd_fd = open(b->sub, O_PATH | O_CLOEXEC);
		expect_differs(&was, b, "working directory");
		fd_close(take_fd(&b->subject.cwd_fd));
	}
}

static int memory(const char *text, unsigned seals)
{
	int fd = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void the_input_counts(void **state)
{
	struct bench *b = *state;
	unsigned seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
	struct approval_object none = make(b), text;
	int ends[2];

	fd_close(b->subject.input_fd);
	b->subject.input_fd = memory("print(1)", seals);
	expect_differs(&none, b, "input");
	text = make(b);
	fd_close(b->subject.input_fd);
	b->subject.input_fd = memory("print(1)", seals);
	expect_same(&text, b);
	fd_close(b->subject.input_fd);
	b->subject.input_fd = memory("print(2)", seals);
	expect_differs(&text, b, "input");
	fd_close(b->subject.input_fd);
	b->subject.input_fd = memory("print(1)", 0); /* which can still be changed */
	expect_differs(&text, b, "input");
	fd_close(b->subject.input_fd);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	b->subject.input_fd = ends[0];
	expect_differs(&text, b, "input");
	expect_differs(&none, b, "input");
	fd_close(ends[1]);
}

static void too_many_files_are_refused(void **state)
{
	struct bench *b = *state;
	static char text[65536];
	size_t n = (size_t)snprintf(text, sizeof(text), "rm");
	struct approval_object o;
	char name[32];

	for (int i = 0; i <= OBJECT_FILES_MAX; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		put(b, name, "");
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %s", name);
	}
	line(b, text);
	assert_int_equal(object_make(&b->subject, b->arena, &o, NULL), -E2BIG);
	n = (size_t)snprintf(text, sizeof(text), "cd . ; cd sub/.. ; rm");
	while (n + 3 < sizeof(text))
		n += (size_t)snprintf(text + n, sizeof(text) - n, " -");
	line(b, text);
	assert_int_equal(object_make(&b->subject, b->arena, &o, NULL), -E2BIG);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_same_again_is_the_same),
		TEST(words_environment_and_terms_count),
		TEST(a_changed_file_is_named),
		TEST(times_that_are_set_back_do_not_help),
		TEST(a_mapping_that_was_there_before_does_not_help),
		TEST(too_much_to_read_is_refused),
		TEST(options_redirections_and_directories_lead_to_files),
		TEST(where_words_are_not_known_all_that_could_be_files_are),
		TEST(where_a_name_cannot_be_known_all_files_are_bound),
		TEST(what_runs_a_script_belongs_to_it),
		TEST(a_directory_made_anew_is_another_one),
		TEST(the_input_counts),
		TEST(too_many_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
