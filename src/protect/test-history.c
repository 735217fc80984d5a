/*
 * Objects, histories and the record of refs, with repositories that git itself has made; and with
 * what a command could do to their files.
 */
#include "base/test-support.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "protect/git.h"
#include "protect/history.h"
#include "protect/refs.h"
#include "protect/sha1.h"

struct place {
	char path[64], work[96], state[96];
};

/* In the work tree; what it prints, without the end of the line. */
__attribute__((format(printf, 2, 3))) static const char *sh(const struct place *p,
                                                            const char *format, ...)
{
	static char answer[4096];
	char line[4096], whole[8192];
	va_list args;
	FILE *f;
	size_t n;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	snprintf(whole, sizeof(whole),
	         "export HOME=%s GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@y "
	         "GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@y; exec 2>&1; cd %s && set -e; %s",
	         p->path, p->work, line);
	f = popen(whole, "r");
	assert_non_null(f);
	n = fread(answer, 1, sizeof(answer) - 1, f);
	answer[n] = '\0';
	answer[strcspn(answer, "\n")] = '\0';
	if (pclose(f) != 0)
		fail_msg("%s: %s", line, answer);
	return answer;
}

static void place_make_as(struct place *p, const char *format)
{
	snprintf(p->path, sizeof(p->path), "/tmp/nacre-history-XXXXXX");
	assert_non_null(mkdtemp(p->path));
	snprintf(p->work, sizeof(p->work), "%s/work", p->path);
	snprintf(p->state, sizeof(p->state), "%s/state", p->path);
	assert_int_equal(mkdir(p->work, 0700), 0);
	assert_int_equal(mkdir(p->state, 0700), 0);
	sh(p,
	   "git init -q -b main --object-format=%s; git config gc.auto 0; "
	   "for i in 1 2 3 4 5 6 7 8 9; do mkdir -p d; seq 200 >d/x; "
	   "echo $i >>d/x; echo $i >.envrc; git add .; git commit -qm $i; done",
	   format);
}

static int place_make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	place_make_as(p, "sha1");
	*state = p;
	return 0;
}

static int place_remove(void **state)
{
	struct place *p = *state;
	char line[128];

	snprintf(line, sizeof(line), "rm -rf '%s'", p->path);
	assert_int_equal(system(line), 0);
	free(p);
	return 0;
}

static struct git_id id_of(const struct place *p, const char *name)
{
	const char *digits = sh(p, "git rev-parse '%s'", name);
	struct git_id id;

	assert_true(git_id_read(digits, strlen(digits), &id));
	return id;
}

static struct history *history_of(const struct place *p, const char *tip)
{
	struct git_id id = id_of(p, tip);
	struct history *h = NULL;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/.git", p->work);
	fd = open(path, O_PATH | O_DIRECTORY);
	assert_int_equal(history_new(fd, &id, 1, &h), 0);
	fd_close(fd);
	return h;
}

static bool has(const struct place *p, const char *tip, const char *path, unsigned mode,
                const char *text)
{
	scoped(history_freep) struct history *h = history_of(p, tip);
	struct git_id blob;

	git_id_of(GIT_BLOB, text, strlen(text), history_id_bytes(h), &blob);
	return history_has(h, path, mode, &blob);
}

static void names_are_gits_own(void **state)
{
	const struct place *p = *state;
	static const char *const texts[] = {
		"", "abc", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlm",
		"55 bytes: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		"56 bytes: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"};
	char digits[2 * GIT_ID_MAX + 1];

	for (size_t i = 0; i < array_size(texts); i++) {
		struct git_id id;

		git_id_of(GIT_BLOB, texts[i], strlen(texts[i]), 20, &id);
		git_id_write(&id, digits);
		assert_string_equal(digits,
		                    sh(p, "printf '%%s' '%s' | git hash-object --stdin", texts[i]));
	}
	assert_false(git_id_read("abc", 3, &(struct git_id){0}));
	assert_false(
		git_id_read("zz00000000000000000000000000000000000000", 40, &(struct git_id){0}));
}

static void expect_history(const struct place *p)
{
	assert_true(has(p, "main", ".envrc", GIT_MODE_FILE, "9\n"));
	assert_true(has(p, "main", ".envrc", GIT_MODE_FILE, "1\n"));
	assert_false(has(p, "main~1", ".envrc", GIT_MODE_FILE, "9\n"));
	assert_false(has(p, "main", ".envrc", GIT_MODE_PROGRAM, "9\n"));
	assert_false(has(p, "main", ".envrc", GIT_MODE_LINK, "9\n"));
	assert_false(has(p, "main", ".envrc/x", GIT_MODE_FILE, "9\n"));
	assert_false(has(p, "main", "d/.envrc", GIT_MODE_FILE, "9\n"));
	assert_false(has(p, "main", "d", GIT_MODE_FILE, "9\n"));
	assert_false(has(p, "main", "", GIT_MODE_FILE, "9\n"));
	assert_false(has(p, "main", "envrc", GIT_MODE_FILE, "9\n"));
	assert_false(has(p, "main", ".envrc", GIT_MODE_FILE, "10\n"));
}

static void loose_objects_are_read(void **state)
{
	expect_history(*state);
}

static void packs_are_read(void **state)
{
	const struct place *p = *state;

	sh(p, "git repack -adq --depth=50 --window=50");
	assert_string_equal(sh(p, "find .git/objects -type f | grep -vc pack || true"), "0");
	expect_history(p);
	sh(p, "git tag -a v1 -m v1; git repack -adq; git multi-pack-index write");
	expect_history(p);
	assert_true(has(p, "v1", ".envrc", GIT_MODE_FILE, "9\n"));
}

static void deltas_of_other_objects_are_read(void **state)
{
	const struct place *p = *state;

	/* A thin pack that is kept as it came: bases by their names. */
	sh(p, "git rev-list --objects --all | git pack-objects -q --no-reuse-delta "
	      "--depth=50 --window=50 .git/objects/pack/pack >/dev/null; git prune-packed -q");
	expect_history(p);
}

static void longer_names_are_read(void **state)
{
	struct place p;
	void *at = &p;

	place_make_as(&p, "sha256");
	expect_history(at);
	sh(&p, "git repack -adq");
	expect_history(at);
	sh(&p, "rm -rf %s/state", p.path);
	sh(&p, "cd ..; rm -rf work; cd /; rmdir %s || true", p.path);
}

static void objects_elsewhere_are_read(void **state)
{
	const struct place *p = *state;

	sh(p, "cp -r .git/objects ../store; rm -rf .git/objects; mkdir -p .git/objects/info; "
	      "echo ../../../store >.git/objects/info/alternates");
	expect_history(p);
	sh(p, "cd ../store; mkdir -p info; echo ../work/.git/objects >info/alternates");
	expect_history(p);
}

static void other_content_is_not_believed(void **state)
{
	const struct place *p = *state;

	/* The tree of the last commit gets the content of one that has another file. */
	sh(p, "git checkout -q --orphan o; echo evil >.envrc; git add .; git commit -qm o; "
	      "git checkout -q main; e=$(git rev-parse o^{tree}); t=$(git rev-parse main^{tree}); "
	      "f() { echo .git/objects/$(echo $1 | cut -c1-2)/$(echo $1 | cut -c3-); }; "
	      "chmod 644 $(f $t); cat $(f $e) >$(f $t)");
	assert_false(has(p, "main", ".envrc", GIT_MODE_FILE, "evil\n"));
	assert_false(has(p, "main", ".envrc", GIT_MODE_FILE, "9\n"));
	assert_true(has(p, "main", ".envrc", GIT_MODE_FILE, "8\n"));
}

/* Each byte of the file is another one, one after the other: nothing false is found. */
static void damage(const struct place *p, const char *path)
{
	scoped(fd_closep) int fd = open(path, O_RDWR);
	struct stat st;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	for (off_t at = 0; at < st.st_size; at += 1 + st.st_size / 300) {
		scoped(history_freep) struct history *h = NULL;
		struct git_id blob;
		char was, now;

		assert_int_equal(pread(fd, &was, 1, at), 1);
		now = (char)(was ^ (1 << at % 8));
		assert_int_equal(pwrite(fd, &now, 1, at), 1);
		h = history_of(p, "refs/heads/main");
		git_id_of(GIT_BLOB, "evil\n", 5, 20, &blob);
		assert_false(history_has(h, ".envrc", GIT_MODE_FILE, &blob));
		assert_false(history_lacks(h, &blob, ".envrc"));
		assert_int_equal(pwrite(fd, &was, 1, at), 1);
	}
}

static void damage_is_survived(void **state)
{
	const struct place *p = *state;
	char path[512];

	sh(p, "git repack -adq; chmod 644 .git/objects/pack/*");
	snprintf(path, sizeof(path), "%s/%s", p->work, sh(p, "echo .git/objects/pack/*.idx"));
	damage(p, path);
	snprintf(path, sizeof(path), "%s/%s", p->work, sh(p, "echo .git/objects/pack/*.pack"));
	damage(p, path);
	sh(p, "truncate -s 100 .git/objects/pack/*.pack");
	assert_false(has(p, "main", ".envrc", GIT_MODE_FILE, "evil\n"));
	sh(p,
	   "rm -f .git/objects/pack/*; for i in pack idx; do mkfifo .git/objects/pack/pack-1.$i; "
	   "done; mkfifo .git/objects/info/alternates");
	assert_false(git_id_is(&(struct git_id){.n = 20}, &(struct git_id){.n = 32}));
}

static void what_a_commit_lacks_is_known(void **state)
{
	const struct place *p = *state;
	scoped(history_freep) struct history *h = NULL;
	struct git_id main, own, orphan;

	sh(p, "git checkout -q -b gone; git rm -q .envrc; git commit -qm gone; git checkout -q -b "
	      "own; "
	      "echo o >o; git add o; git commit -qm own; git checkout -q --orphan orphan; "
	      "git commit -qm orphan");
	h = history_of(p, "gone");
	main = id_of(p, "main");
	own = id_of(p, "own");
	orphan = id_of(p, "orphan");
	assert_false(history_lacks(h, &main, ".envrc"));
	assert_true(history_lacks(h, &own, ".envrc"));     /* its parent is in the history */
	assert_false(history_lacks(h, &orphan, ".envrc")); /* nothing of it is */
	assert_true(history_lacks(h, &main, "nothing/at/all"));
	sh(p,
	   "t=$(git rev-parse main^{tree}); rm -f .git/objects/$(echo $t | cut -c1-2)/$(echo $t | "
	   "cut -c3-)");
	assert_false(history_lacks(h, &main, "nothing/at/all"));
}

/* Whether a call that begins now trusts this content. */
static bool is_trusted(const struct place *p, const char *text, const char *meanwhile)
{
	struct refs *r = refs_begin(p->state, p->work);
	struct history *h;
	struct git_id blob;
	bool trusted;

	assert_non_null(r);
	if (meanwhile)
		sh(p, "%s", meanwhile);
	h = refs_history(r);
	git_id_of(GIT_BLOB, text, strlen(text), 20, &blob);
	trusted = h && history_has(h, ".envrc", GIT_MODE_FILE, &blob);
	refs_end(r);
	return trusted;
}

static void what_changes_between_commands_is_the_persons(void **state)
{
	const struct place *p = *state;

	assert_true(is_trusted(p, "9\n", NULL));
	assert_false(is_trusted(p, "command\n", "echo command >.envrc; git commit -qam x"));
	assert_false(is_trusted(p, "command\n", NULL));
	sh(p, "git checkout -q -b p main~1; echo person >.envrc; git commit -qam person");
	assert_true(is_trusted(p, "person\n", NULL));
	assert_false(is_trusted(p, "command\n", NULL));
	sh(p, "git pack-refs --all; git gc -q");
	assert_false(is_trusted(p, "command\n", NULL));
	assert_true(is_trusted(p, "person\n", NULL));
	assert_false(is_trusted(p, "stash\n", "echo stash >.envrc; git stash -q"));
	assert_false(is_trusted(p, "stash\n", NULL));
}

/* Names of both sizes are in the record then, and the longer ones came last. */
static void a_repository_that_comes_back_is_known(void **state)
{
	const struct place *p = *state;

	assert_true(is_trusted(p, "9\n", NULL));
	sh(p, "mv .git ../aside; git init -q --object-format=sha256; git add -A; git commit -qm x");
	assert_false(is_trusted(p, "9\n", NULL)); /* by its shorter name */
	sh(p, "rm -rf .git; mv ../aside .git");
	assert_true(is_trusted(p, "9\n", NULL));
}

static void what_changes_beside_another_command_is_not(void **state)
{
	const struct place *p = *state;
	struct refs *first = refs_begin(p->state, p->work);

	sh(p, "echo either >.envrc; git commit -qam either");
	assert_false(is_trusted(p, "either\n", NULL));
	refs_end(first);
	assert_false(is_trusted(p, "either\n", NULL));
	sh(p, "echo person >.envrc; git commit -qam person");
	assert_true(is_trusted(p, "person\n", NULL));
}

static void a_ref_that_is_written_in_place_is_seen(void **state)
{
	const struct place *p = *state;

	sh(p, "git branch b main~3");
	assert_true(is_trusted(p, "9\n", NULL));
	assert_false(
		is_trusted(p, "command\n",
	                   "git checkout -q --detach; echo command >.envrc; git commit -qam x; "
	                   "git rev-parse HEAD >.git/refs/heads/b; git checkout -q main"));
	sh(p, "git branch another main");
	assert_false(is_trusted(p, "command\n", NULL));
}

static void a_lost_list_trusts_nothing(void **state)
{
	const struct place *p = *state;

	assert_true(is_trusted(p, "9\n", NULL));
	sh(p, "rm $(ls -d ../state/refs/* | grep -v use); git branch b");
	assert_false(is_trusted(p, "9\n", NULL));
	sh(p, "echo person >.envrc; git commit -qam person");
	assert_true(is_trusted(p, "person\n", NULL));
	sh(p, "chmod 1700 ../state");
	assert_null(refs_begin(p->state, p->work));
}

static void too_many_refs_trust_nothing_ever(void **state)
{
	const struct place *p = *state;

	sh(p, "i=$(git rev-parse HEAD); for n in $(seq 9000); do echo \"$i refs/tags/$n\"; done "
	      ">.git/packed-refs; chmod 600 .git/packed-refs");
	assert_null(refs_begin(p->state, p->work));
	sh(p, "rm .git/packed-refs; echo command >.envrc; git commit -qam command");
	assert_false(is_trusted(p, "command\n", NULL));
	assert_false(is_trusted(p, "9\n", NULL));
}

static void records_of_what_is_gone_go(void **state)
{
	const struct place *p = *state;

	assert_true(is_trusted(p, "9\n", NULL));
	refs_sweep(p->state);
	assert_string_equal(sh(p, "ls ../state/refs | wc -l"), "2");
	sh(p, "touch -d '40 days ago' ../state/refs/*.use");
	refs_sweep(p->state);
	assert_string_equal(sh(p, "ls ../state/refs | wc -l"), "2");
	sh(p, "mv ../work ../other; mkdir ../work; rmdir ../work");
	refs_sweep(p->state);
	snprintf(((struct place *)*state)->work, sizeof(p->work), "%s/other", p->path);
	assert_string_equal(sh(p, "ls ../state/refs | wc -l"), "0");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_are_gits_own, place_make, place_remove),
		cmocka_unit_test_setup_teardown(loose_objects_are_read, place_make, place_remove),
		cmocka_unit_test_setup_teardown(packs_are_read, place_make, place_remove),
		cmocka_unit_test_setup_teardown(deltas_of_other_objects_are_read, place_make,
	                                        place_remove),
		cmocka_unit_test(longer_names_are_read),
		cmocka_unit_test_setup_teardown(objects_elsewhere_are_read, place_make,
	                                        place_remove),
		cmocka_unit_test_setup_teardown(other_content_is_not_believed, place_make,
	                                        place_remove),
		cmocka_unit_test_setup_teardown(damage_is_survived, place_make, place_remove),
		cmocka_unit_test_setup_teardown(what_a_commit_lacks_is_known, place_make,
	                                        place_remove),
		cmocka_unit_test_setup_teardown(what_changes_between_commands_is_the_persons,
	                                        place_make, place_remove),
		cmocka_unit_test_setup_teardown(a_repository_that_comes_back_is_known, place_make,
	                                        place_remove),
		cmocka_unit_test_setup_teardown(what_changes_beside_another_command_is_not,
	                                        place_make, place_remove),
		cmocka_unit_test_setup_teardown(a_ref_that_is_written_in_place_is_seen, place_make,
	                                        place_remove),
		cmocka_unit_test_setup_teardown(a_lost_list_trusts_nothing, place_make,
	                                        place_remove),
		cmocka_unit_test_setup_teardown(too_many_refs_trust_nothing_ever, place_make,
	                                        place_remove),
		cmocka_unit_test_setup_teardown(records_of_what_is_gone_go, place_make,
	                                        place_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
