#include "profile/test-support.h"

#include "base/fd.h"
#include "profile/trust.h"

struct tree {
	char root[64], file[128];
	struct error err;
};

static int tree_make(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));
	char dir[96];

	assert_non_null(t);
	test_directory_make(t->root);
	snprintf(dir, sizeof(dir), "%s/d", t->root);
	snprintf(t->file, sizeof(t->file), "%s/d/f.yaml", t->root);
	assert_int_equal(mkdir(dir, 0700), 0);
	place_write(dir, "f.yaml", "deny: []\n");
	*state = t;
	return 0;
}

static int tree_remove(void **state)
{
	struct tree *t = *state;

	test_directory_remove(t->root);
	free(t);
	return 0;
}

static void accept(struct tree *t, const char *path)
{
	scoped(fd_closep) int fd = trust_open(path, geteuid(), -1, &t->err);

	if (fd < 0)
		fail_msg("%s", t->err.text);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void refuse(struct tree *t, const char *path, const char *words)
{
	int before = test_open_fds();

	assert_true(trust_open(path, geteuid(), -1, &t->err) < 0);
	assert_non_null(strstr(t->err.text, words));
	assert_int_equal(test_open_fds(), before);
}

/* What a test makes has that group then, and its group is nobody else. */
static bool has_private_group(void)
{
	return trust_group(geteuid(), getegid());
}

static void a_file_in_the_workspace_is_not_trusted(void **state)
{
	struct tree *t = *state;
	scoped(fd_closep) int inside = open(t->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	scoped(fd_closep) int elsewhere = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
	scoped(fd_closep) int fd = -1;

	assert_int_equal(trust_open(t->file, geteuid(), inside, &t->err), -EPERM);
	assert_non_null(strstr(t->err.text, "lies in the workspace"));
	fd = trust_open(t->file, geteuid(), elsewhere, &t->err);
	assert_true(fd >= 0);
}

static void a_file_of_ones_own_is_opened(void **state)
{
	struct tree *t = *state;
	char path[160];

	accept(t, t->file);
	snprintf(path, sizeof(path), "%s//d/./../d/f.yaml", t->root);
	accept(t, path);
	assert_int_equal(chdir(t->root), 0);
	accept(t, "d/f.yaml");
	assert_int_equal(chdir("/"), 0);
}

static void a_file_that_others_can_write_is_refused(void **state)
{
	struct tree *t = *state;

	if (!has_private_group()) {
		assert_int_equal(chmod(t->file, 0620), 0);
		refuse(t, t->file, "others can write 'f.yaml' (mode 0620)");
	}
	assert_int_equal(chmod(t->file, 0602), 0);
	refuse(t, t->file, "others can write 'f.yaml' (mode 0602)");
	assert_int_equal(chmod(t->file, 0644), 0);
	accept(t, t->file);
}

static void a_directory_that_others_can_write_is_refused(void **state)
{
	struct tree *t = *state;
	char dir[96];

	snprintf(dir, sizeof(dir), "%s/d", t->root);
	assert_int_equal(chmod(dir, 0777), 0);
	refuse(t, t->file, "others can write 'd'");
	assert_int_equal(chmod(dir, 01777), 0); /* only owners rename there */
	accept(t, t->file);
	assert_int_equal(chmod(dir, 0700), 0);
	assert_int_equal(chmod(t->root, has_private_group() ? 0777 : 0770), 0);
	refuse(t, t->file, "others can write");
	assert_int_equal(chmod(t->root, 0700), 0);
}

static void what_belongs_to_another_user_is_refused(void **state)
{
	scoped(fd_closep) int fd = -1;
	struct tree *t = *state;

	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(t->file, 12345, (gid_t)-1), 0);
	refuse(t, t->file, "'f.yaml' belongs to another user (12345)");
	assert_int_equal(chown(t->file, 0, (gid_t)-1), 0);
	assert_int_equal(chown(t->root, 12345, (gid_t)-1), 0);
	refuse(t, t->file, "belongs to another user (12345)");
	assert_int_equal(chown(t->root, 0, (gid_t)-1), 0);
	/* What root has made is trusted by everybody. */
	fd = trust_open(t->file, 12345, -1, &t->err);
	assert_true(fd >= 0);
}

static void links_are_followed_and_looked_at(void **state)
{
	struct tree *t = *state;
	char link[96], open_dir[96], inside[128];

	snprintf(link, sizeof(link), "%s/link", t->root);
	assert_int_equal(symlink("d/f.yaml", link), 0);
	accept(t, link);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink(t->file, link), 0);
	accept(t, link);
	/* A link in a directory where others can put another one is not. */
	snprintf(open_dir, sizeof(open_dir), "%s/open", t->root);
	snprintf(inside, sizeof(inside), "%s/open/link", t->root);
	assert_int_equal(mkdir(open_dir, 0700), 0);
	assert_int_equal(symlink(t->file, inside), 0);
	accept(t, inside);
	assert_int_equal(chmod(open_dir, 0777), 0);
	refuse(t, inside, "others can write 'open'");
	assert_int_equal(chmod(open_dir, 0700), 0);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("link", link), 0);
	refuse(t, link, "Too many levels of symbolic links");
}

static void only_regular_files_are_opened(void **state)
{
	struct tree *t = *state;
	char path[96];

	snprintf(path, sizeof(path), "%s/fifo", t->root);
	assert_int_equal(mkfifo(path, 0600), 0);
	refuse(t, path, "no regular file");
	snprintf(path, sizeof(path), "%s/d", t->root);
	refuse(t, path, "no regular file");
	refuse(t, "/", "a directory");
	snprintf(path, sizeof(path), "%s/none", t->root);
	assert_int_equal(trust_open(path, geteuid(), -1, &t->err), -ENOENT);
	snprintf(path, sizeof(path), "%s/d/f.yaml/x", t->root);
	assert_int_equal(trust_open(path, geteuid(), -1, &t->err), -ENOTDIR);
}

#define ROOT_USER "root:x:0:0:root:/root:/bin/bash\n"
#define ANN       "ann:x:1000:1000:Ann:/home/ann:/bin/bash\n"
#define BOB       "bob:x:1001:1001::/home/bob:/bin/bash\n"

static void a_private_group_is_the_users_alone(void **state)
{
	static const struct {
		const char *users, *groups;
		bool is_private;
	} rows[] = {
		{ROOT_USER ANN BOB, "root:x:0:\nann:x:1000:\nbob:x:1001:\n", true},
		{ROOT_USER ANN, "ann:x:1000:ann\n", true},
		{ROOT_USER ANN, "ann:x:1000:ann,\n", true},
		{ROOT_USER ANN, "ann:x:1000:", true},
		/* another member */
		{ROOT_USER ANN BOB, "ann:x:1000:bob\n", false},
		{ROOT_USER ANN BOB, "ann:x:1000:ann,bob\n", false},
		{ROOT_USER ANN BOB, "ann:x:1000:annex\n", false},
		/* the first group of somebody else */
		{ROOT_USER ANN "eve:x:1002:1000::/:/bin/sh\n", "ann:x:1000:\n", false},
		/* another name, and none */
		{ROOT_USER ANN, "users:x:1000:\n", false},
		{ROOT_USER ANN, "an:x:1000:\n", false},
		{ROOT_USER ANN, "annex:x:1000:\n", false},
		{ROOT_USER ANN, "ann:x:100:\n", false},
		{ROOT_USER ANN, "ann:x:10000:\n", false},
		{ROOT_USER ANN, "", false},
		/* a second entry with the same number */
		{ROOT_USER ANN, "ann:x:1000:\nstaff:x:1000:bob\n", false},
		{ROOT_USER ANN, "ann:x:1000:\nann:x:1000:bob\n", false},
		/* a user that is not there, and names that are kept elsewhere */
		{ROOT_USER, "ann:x:1000:\n", false},
		{ROOT_USER ANN "+::::::\n", "ann:x:1000:\n", false},
		{ROOT_USER ANN, "ann:x:1000:\n+:::\n", false},
		{"", "", false},
		{"::::\n:\n", ":::\n", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (trust_group_is_private(rows[i].users, rows[i].groups, 1000, 1000) !=
		    rows[i].is_private)
			fail_msg("row %zu", i);
	assert_false(trust_group_is_private(ROOT_USER ANN BOB, "bob:x:1001:\n", 1000, 1001));
	assert_false(trust_group_is_private(ROOT_USER ANN, "root:x:0:\n", 1000, 0));
}

static void a_private_group_may_write_and_others_may_not(void **state)
{
	struct tree *t = *state;
	char dir[96];

	if (!has_private_group())
		skip();
	snprintf(dir, sizeof(dir), "%s/d", t->root);
	assert_int_equal(chmod(dir, 0775), 0);
	assert_int_equal(chmod(t->file, 0664), 0);
	accept(t, t->file);
	assert_int_equal(chmod(t->file, 0666), 0);
	refuse(t, t->file, "others can write 'f.yaml' (mode 0666)");
	assert_int_equal(chmod(t->file, 0664), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_of_ones_own_is_opened),
		TEST(a_file_in_the_workspace_is_not_trusted),
		TEST(a_file_that_others_can_write_is_refused),
		TEST(a_directory_that_others_can_write_is_refused),
		TEST(what_belongs_to_another_user_is_refused),
		TEST(links_are_followed_and_looked_at),
		TEST(only_regular_files_are_opened),
		TEST(a_private_group_is_the_users_alone),
		TEST(a_private_group_may_write_and_others_may_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
