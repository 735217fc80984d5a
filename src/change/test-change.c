/*
 * A directory and a store with an `upper` that is made by hand, as overlayfs makes it: a whiteout
 * is a device 0:0, an opaque directory and a copied file have a mark. The trees before and after
 * are compared by names, types, modes, sizes, contents, times and inodes.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/remove.h"
#include "change/change.h"

struct world {
	char path[64];
	int top;
	struct change_place at;
};

static void write_in(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void set_time(int dir, const char *name, time_t when)
{
	const struct timespec times[2] = {{when, 5}, {when, 7}};

	assert_int_equal(utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW), 0);
}

static int open_below(const struct world *w, const char *path)
{
	int fd = openat(w->top, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void mark(const struct world *w, const char *path, const char *name, const char *value)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/%s", w->path, path);
	assert_int_equal(setxattr(full, name, value, strlen(value), 0), 0);
}

#define W(p) "ws/" p
#define U(p) "shelf/task/upper/" p

/* What every test begins with: files of a year ago. */
static void make_workspace(struct world *w)
{
	static const char *const files[] = {W("keep"),     W("old"),   W("gone"),   W("mode"),
	                                    W("dir/a"),    W("dir/b"), W("tree/x"), W("tree/sub/y"),
	                                    W("anew/old"), W("type"),  W("rename"), W("locked/a")};
	static const char *const dirs[] = {W("dir"),  W("tree/sub"), W("tree"),
	                                   W("anew"), W("locked"),   "ws"};

	assert_int_equal(mkdirat(w->top, "ws", 0755), 0);
	assert_int_equal(mkdirat(w->top, "shelf", 0700), 0);
	for (size_t i = array_size(dirs) - 1; i-- > 0;)
		(void)mkdirat(w->top, dirs[i], 0755);
	assert_int_equal(mkdirat(w->top, dirs[1], 0755) == 0 || errno == EEXIST, 1);
	for (size_t i = 0; i < array_size(files); i++) {
		write_in(w->top, files[i], files[i]);
		set_time(w->top, files[i], 1700000000 + (time_t)i);
	}
	assert_int_equal(fchmodat(w->top, W("locked"), 0555, 0), 0);
	for (size_t i = 0; i < array_size(dirs); i++)
		set_time(w->top, dirs[i], 1700001000 + (time_t)i);
}

static int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	scoped(fd_closep) int shelf = -1;
	struct error err = {0};

	snprintf(w->path, sizeof(w->path), "/var/tmp/nacre-change-XXXXXX");
	assert_non_null(mkdtemp(w->path));
	w->top = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_workspace(w);
	shelf = open_below(w, "shelf");
	w->at.directory = open_below(w, "ws");
	w->at.ledger = fcntl(shelf, F_DUPFD_CLOEXEC, 3);
	w->at.store = change_begin(shelf, "task", w->at.directory, change_clock(), &err);
	assert_true(w->at.store >= 0);
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	close(w->at.directory);
	close(w->at.store);
	close(w->at.ledger);
	close(w->top);
	remove_tree(AT_FDCWD, w->path);
	free(w);
	return 0;
}

static void copy_up_dir(const struct world *w, const char *name)
{
	char upper[256], lower[256];
	struct stat st;

	snprintf(upper, sizeof(upper), U("%s"), name);
	snprintf(lower, sizeof(lower), W("%s"), name);
	assert_int_equal(fstatat(w->top, lower, &st, 0), 0);
	assert_int_equal(mkdirat(w->top, upper, 0755), 0);
	mark(w, upper, "user.overlay.origin", "");
}

/* One of each kind. */
static void make_changes(const struct world *w)
{
	write_in(w->top, U("new"), "new file");
	write_in(w->top, U("old"), "other contents of the same file");
	mark(w, U("old"), "user.overlay.origin", "");
	assert_int_equal(mknodat(w->top, U("gone"), S_IFCHR, makedev(0, 0)), 0);
	write_in(w->top, U("mode"), W("mode"));
	mark(w, U("mode"), "user.overlay.origin", "");
	set_time(w->top, U("mode"), 1700000003);
	assert_int_equal(fchmodat(w->top, U("mode"), 0755, 0), 0);
	write_in(w->top, U("keep"), W("keep"));
	mark(w, U("keep"), "user.overlay.origin", "");
	set_time(w->top, U("keep"), 1700000000);
	copy_up_dir(w, "dir");
	write_in(w->top, U("dir/c"), "c");
	assert_int_equal(mknodat(w->top, U("dir/a"), S_IFCHR, makedev(0, 0)), 0);
	assert_int_equal(mknodat(w->top, U("tree"), S_IFCHR, makedev(0, 0)), 0);
	assert_int_equal(mkdirat(w->top, U("anew"), 0750), 0);
	mark(w, U("anew"), "user.overlay.opaque", "y");
	write_in(w->top, U("anew/fresh"), "fresh");
	assert_int_equal(symlinkat("keep", w->top, U("type")), 0);
	assert_int_equal(mkdirat(w->top, U("made"), 0700), 0);
	mark(w, U("made"), "user.overlay.opaque", "y");
	write_in(w->top, U("made/in"), "in");
	assert_int_equal(fchmodat(w->top, U("made/in"), 04755, 0), 0);
	assert_int_equal(mknodat(w->top, U("rename"), S_IFCHR, makedev(0, 0)), 0);
	write_in(w->top, U("renamed"), W("rename"));
	set_time(w->top, U("renamed"), 1700000010);
	mark(w, U("renamed"), "user.overlay.origin", "");
}

static struct buffer *dump_into;
static size_t dump_skip;

static int dump_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	char link[256] = "", text[256] = "", names[1024];
	ssize_t n = 0;
	int fd;

	if (S_ISLNK(st->st_mode))
		n = readlink(path, link, sizeof(link) - 1);
	if (S_ISREG(st->st_mode)) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	assert_true(n >= 0);
	n = llistxattr(path, names, sizeof(names));
	assert_int_equal(n, 0); /* no mark of the kernel's is left */
	buffer_printf(dump_into, "%s %o %lld.%ld %s%s %llu\n", path + dump_skip, st->st_mode,
	              (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec, link, text,
	              S_ISDIR(st->st_mode) ? 0ULL : (unsigned long long)st->st_ino);
	return 0;
}

static int by_line(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The tree as sorted lines. */
static char *dump(const struct world *w)
{
	scoped(buffer_donep) struct buffer raw = {0};
	struct buffer sorted = {0};
	char path[128], *lines[256], *save = NULL;
	size_t n = 0;

	snprintf(path, sizeof(path), "%s/ws", w->path);
	dump_into = &raw;
	dump_skip = strlen(path);
	assert_int_equal(nftw(path, dump_one, 8, FTW_PHYS), 0);
	for (char *l = strtok_r(raw.data, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		lines[n++] = l;
	qsort(lines, n, sizeof(lines[0]), by_line);
	for (size_t i = 0; i < n; i++)
		buffer_printf(&sorted, "%s\n", lines[i]);
	return buffer_take(&sorted);
}

static struct change_list *look(const struct world *w)
{
	struct change_list *l = NULL;
	struct error err = {0};

	if (change_look(&w->at, &l, &err) < 0)
		fail_msg("%s", err.text);
	return l;
}

static const struct change *find(const struct change_list *l, const char *path)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->items[i].path, path) == 0)
			return &l->items[i];
	return NULL;
}

static void expect_letter(const struct change_list *l, const char *path, char letter)
{
	const struct change *c = find(l, path);

	if (!c && letter)
		fail_msg("%s is not listed", path);
	if (c && change_letter(c) != letter)
		fail_msg("%s is %c, not %c", path, change_letter(c), letter);
}

static void each_kind_is_listed(void **state)
{
	struct world *w = *state;
	scoped(change_list_freep) struct change_list *l = NULL;

	make_changes(w);
	l = look(w);
	expect_letter(l, "new", 'A');
	expect_letter(l, "old", 'M');
	expect_letter(l, "gone", 'D');
	expect_letter(l, "mode", 'm');
	expect_letter(l, "dir/c", 'A');
	expect_letter(l, "dir/a", 'D');
	expect_letter(l, "tree", 'D');
	expect_letter(l, "anew", 'O');
	expect_letter(l, "type", 'T');
	expect_letter(l, "made", 'A');
	expect_letter(l, "renamed", 'R');
	expect_letter(l, "dir", 0);
	assert_null(find(l, "keep")); /* only copied up */
	assert_int_equal(l->conflict_count, 0);
	assert_string_equal(find(l, "renamed")->from, "rename");
}

static void apply(const struct world *w, bool force)
{
	scoped(change_list_freep) struct change_list *l = look(w);
	struct error err = {0};

	if (change_apply(&w->at, l, force, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(change_state(w->at.store), CHANGE_APPLIED);
}

static void undo(const struct world *w, const char *const *paths)
{
	scoped(change_list_freep) struct change_list *l = NULL;
	struct error err = {0};

	if (change_read(&w->at, true, paths, &l, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < l->conflict_count; i++)
		fail_msg("%s: %s", l->conflicts[i].path, l->conflicts[i].why);
	if (change_undo(&w->at, l, false, &err) < 0)
		fail_msg("%s", err.text);
}

static void expect_file(const struct world *w, const char *path, const char *text)
{
	char now[256] = "";
	int fd = openat(w->top, path, O_RDONLY | O_CLOEXEC);

	if (!text) {
		assert_true(fd < 0);
		return;
	}
	assert_true(fd >= 0);
	assert_true(read(fd, now, sizeof(now) - 1) >= 0);
	close(fd);
	assert_string_equal(now, text);
}

static void what_is_applied_is_there_and_undo_brings_back_each_byte_mode_and_time(void **state)
{
	struct world *w = *state;
	scoped(freep) char *before = dump(w), *after = NULL, *again = NULL;
	struct stat st;

	make_changes(w);
	apply(w, false);
	expect_file(w, W("new"), "new file");
	expect_file(w, W("old"), "other contents of the same file");
	expect_file(w, W("gone"), NULL);
	expect_file(w, W("dir/a"), NULL);
	expect_file(w, W("dir/b"), W("dir/b"));
	expect_file(w, W("tree/x"), NULL);
	expect_file(w, W("anew/old"), NULL);
	expect_file(w, W("anew/fresh"), "fresh");
	assert_int_equal(fstatat(w->top, W("made/in"), &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0755); /* it lends no rights */
	after = dump(w);
	undo(w, NULL);
	assert_int_equal(change_state(w->at.store), CHANGE_UNDONE);
	again = dump(w);
	assert_string_equal(again, before);
	assert_string_not_equal(after, before);
}

static void what_was_undone_can_be_applied_again(void **state)
{
	struct world *w = *state;
	scoped(freep) char *before = dump(w), *after = NULL, *now = NULL;
	scoped(change_list_freep) struct change_list *l = NULL;

	make_changes(w);
	apply(w, false);
	after = dump(w);
	undo(w, NULL);
	assert_int_equal(change_read(&w->at, true, NULL, &l, NULL), 0);
	assert_int_equal(l->conflict_count, 0);
	assert_int_equal(change_apply(&w->at, l, false, NULL), 0);
	now = dump(w);
	assert_string_equal(now, after);
	undo(w, NULL);
	free(now);
	now = dump(w);
	assert_string_equal(now, before);
}

static void some_paths_are_undone_and_the_others_later(void **state)
{
	struct world *w = *state;
	scoped(freep) char *before = dump(w), *now = NULL;

	make_changes(w);
	apply(w, false);
	undo(w, (const char *const[]){"old", "dir", NULL});
	assert_int_equal(change_state(w->at.store), CHANGE_APPLIED);
	expect_file(w, W("old"), W("old"));
	expect_file(w, W("dir/a"), W("dir/a"));
	expect_file(w, W("dir/c"), NULL);
	expect_file(w, W("new"), "new file");
	undo(w, NULL);
	assert_int_equal(change_state(w->at.store), CHANGE_UNDONE);
	now = dump(w); /* the time of a directory that was undone in parts is its own */
	assert_string_equal(strchr(now, '\n'), strchr(before, '\n'));
}

/* A kill at each step: what is there after it and recovery is the old tree or the new one. */
struct kill {
	int left;
};

static void kill_at(void *owner)
{
	struct kill *k = owner;

	if (k->left-- == 0)
		raise(SIGKILL);
}

static bool run_until(struct world *w, int steps, bool forward)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		scoped(change_list_freep) struct change_list *l = NULL;
		struct kill k = {steps};
		struct error err = {0};

		if (forward ? change_look(&w->at, &l, NULL) < 0
		            : change_read(&w->at, true, NULL, &l, NULL) < 0)
			_exit(2);
		w->at.step = kill_at;
		w->at.owner = &k;
		if ((forward ? change_apply(&w->at, l, false, &err)
		             : change_undo(&w->at, l, false, &err)) < 0) {
			for (size_t i = 0; i < l->conflict_count; i++)
				print_error("%s: %s\n", l->conflicts[i].path, l->conflicts[i].why);
			print_error("%s\n", err.text);
			_exit(1);
		}
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status))
		assert_int_equal(WEXITSTATUS(status), 0);
	return WIFEXITED(status);
}

static void no_kill_leaves_a_state_between(void **unused)
{
	int kills = 0, olds = 0, undo_kills = 0, news = 0;
	bool done = false;

	for (int n = 0; !done; n++) {
		void *state = NULL;
		struct world *w;
		scoped(freep) char *before = NULL, *now = NULL;
		int r;

		open_world(&state);
		w = state;
		before = dump(w);
		make_changes(w);
		done = run_until(w, n, true);
		kills += !done;
		r = change_recover(&w->at, NULL);
		assert_true(r >= 0);
		assert_int_equal(change_recover(&w->at, NULL), 0);
		if (change_state(w->at.store) == CHANGE_KEPT) {
			now = dump(w);
			assert_string_equal(now, before);
			olds++;
		} else {
			expect_file(w, W("new"), "new file");
			expect_file(w, W("tree/x"), NULL);
			undo(w, NULL);
			now = dump(w);
			assert_string_equal(now, before);
		}
		close_world(&state);
	}
	assert_true(kills > 15 && olds >= 1 && olds <= 2);
	done = false;
	for (int n = 0; !done; n++) {
		void *state = NULL;
		struct world *w;
		scoped(freep) char *before = NULL, *after = NULL, *now = NULL;

		open_world(&state);
		w = state;
		before = dump(w);
		make_changes(w);
		apply(w, false);
		after = dump(w);
		done = run_until(w, n, false);
		undo_kills += !done;
		assert_true(change_recover(&w->at, NULL) >= 0);
		assert_int_equal(change_recover(&w->at, NULL), 0);
		now = dump(w);
		if (change_state(w->at.store) == CHANGE_APPLIED) {
			assert_string_equal(now, after);
			news++;
		} else {
			assert_string_equal(now, before);
		}
		close_world(&state);
	}
	assert_true(undo_kills > 10 && news >= 1 && news <= 2);
	print_message("# kills while applied: %d, while undone: %d\n", kills, undo_kills);
}

static void expect_conflict(const struct change_list *l, const char *path)
{
	for (size_t i = 0; i < l->conflict_count; i++)
		if (strcmp(l->conflicts[i].path, path) == 0)
			return;
	fail_msg("no conflict at %s", path);
}

/* Nothing is applied, and the tree stays as the others have made it. */
static void expect_refusal(const struct world *w, const char *path)
{
	scoped(change_list_freep) struct change_list *l = look(w);
	scoped(freep) char *before = NULL, *now = NULL;

	expect_conflict(l, path);
	before = dump(w);
	assert_int_equal(change_apply(&w->at, l, false, NULL), -EBUSY);
	assert_int_equal(change_state(w->at.store), CHANGE_KEPT);
	now = dump(w);
	assert_string_equal(now, before);
}

#define CONFLICT(name, path, view, others)                                                         \
	static void name(void **state)                                                             \
	{                                                                                          \
		struct world *w = *state;                                                          \
                                                                                                   \
		view;                                                                              \
		others;                                                                            \
		expect_refusal(w, path);                                                           \
	}

static void whiteout(const struct world *w, const char *path)
{
	assert_int_equal(mknodat(w->top, path, S_IFCHR, makedev(0, 0)), 0);
}

static void modify(const struct world *w, const char *path)
{
	write_in(w->top, path, "by the command");
	mark(w, path, "user.overlay.origin", "");
}

static void make_opaque(const struct world *w, const char *path)
{
	assert_int_equal(mkdirat(w->top, path, 0755), 0);
	mark(w, path, "user.overlay.opaque", "y");
}

CONFLICT(changed_here_and_there, "old", modify(w, U("old")), write_in(w->top, W("old"), "others"))
CONFLICT(changed_here_replaced_there, "old", modify(w, U("old")),
         (write_in(w->top, W("old~"), "others"),
          assert_int_equal(renameat(w->top, W("old~"), w->top, W("old")), 0)))
CONFLICT(changed_here_removed_there, "old", modify(w, U("old")), unlinkat(w->top, W("old"), 0))
CONFLICT(removed_here_changed_there, "old", whiteout(w, U("old")),
         write_in(w->top, W("old"), "others"))
CONFLICT(made_here_and_there, "both", write_in(w->top, U("both"), "command"),
         write_in(w->top, W("both"), "others"))
CONFLICT(directory_removed_here_changed_there, "tree/sub/y", whiteout(w, U("tree")),
         write_in(w->top, W("tree/sub/y"), "others"))
CONFLICT(directory_removed_here_filled_there, "tree/sub/z", whiteout(w, U("tree")),
         write_in(w->top, W("tree/sub/z"), "others"))
CONFLICT(directory_made_anew_here_filled_there, "anew/z", make_opaque(w, U("anew")),
         write_in(w->top, W("anew/z"), "others"))
CONFLICT(directory_changed_here_removed_there, "anew",
         (copy_up_dir(w, "anew"), write_in(w->top, U("anew/n"), "n")),
         (unlinkat(w->top, W("anew/old"), 0), unlinkat(w->top, W("anew"), AT_REMOVEDIR)))
CONFLICT(type_changed_here_contents_there, "old",
         assert_int_equal(symlinkat("x", w->top, U("old")), 0),
         write_in(w->top, W("old"), "others"))
CONFLICT(contents_changed_here_type_there, "old", modify(w, U("old")),
         (unlinkat(w->top, W("old"), 0), mkdirat(w->top, W("old"), 0755)))
CONFLICT(file_made_here_directory_there, "both", write_in(w->top, U("both"), "command"),
         mkdirat(w->top, W("both"), 0755))
CONFLICT(renamed_here_changed_there, "rename",
         (whiteout(w, U("rename")), write_in(w->top, U("renamed"), W("rename"))),
         write_in(w->top, W("rename"), "others"))
CONFLICT(mode_changed_here_contents_there, "mode",
         (write_in(w->top, U("mode"), W("mode")), mark(w, U("mode"), "user.overlay.origin", ""),
          assert_int_equal(fchmodat(w->top, U("mode"), 0700, 0), 0)),
         write_in(w->top, W("mode"), "others"))

static void directories_of_both_are_put_together(void **state)
{
	struct world *w = *state;

	make_opaque(w, U("build"));
	write_in(w->top, U("build/a"), "command");
	assert_int_equal(mkdirat(w->top, W("build"), 0755), 0);
	write_in(w->top, W("build/b"), "others");
	apply(w, false);
	expect_file(w, W("build/a"), "command");
	expect_file(w, W("build/b"), "others");
}

static void force_keeps_the_other_file_in_the_store(void **state)
{
	struct world *w = *state;

	modify(w, U("old"));
	write_in(w->top, W("old"), "others");
	apply(w, true);
	expect_file(w, W("old"), "by the command");
	expect_file(w, U("old"), "others");
}

static void undo_refuses_what_was_changed_since(void **state)
{
	struct world *w = *state;
	scoped(change_list_freep) struct change_list *l = NULL;
	scoped(freep) char *before = NULL, *now = NULL;

	make_changes(w);
	apply(w, false);
	write_in(w->top, W("old"), "later");
	write_in(w->top, W("gone"), "again");
	write_in(w->top, W("made/in"), "longer than it was");
	unlinkat(w->top, W("type"), 0);
	unlinkat(w->top, W("new"), 0); /* no conflict: it was to go */
	before = dump(w);
	assert_int_equal(change_read(&w->at, true, NULL, &l, NULL), 0);
	expect_conflict(l, "old");
	expect_conflict(l, "gone");
	expect_conflict(l, "made/in");
	expect_conflict(l, "type");
	assert_int_equal(l->conflict_count, 4);
	assert_int_equal(change_undo(&w->at, l, false, NULL), -EBUSY);
	now = dump(w);
	assert_string_equal(now, before);
	assert_int_equal(change_undo(&w->at, l, true, NULL), 0);
	expect_file(w, W("old"), W("old"));
	expect_file(w, U("old"), "later");
	expect_file(w, W("gone"), W("gone"));
	expect_file(w, W("new"), NULL);
}

/* A link that was put on the way, in the directory or in the store, leads nowhere. */
static void no_link_leads_out(void **state)
{
	struct world *w = *state;
	struct stat st;

	assert_int_equal(mkdirat(w->top, "outside", 0755), 0);
	write_in(w->top, "outside/a", "outside");
	copy_up_dir(w, "dir");
	whiteout(w, U("dir/a"));
	write_in(w->top, U("dir/c"), "c");
	assert_int_equal(renameat(w->top, W("dir"), w->top, W("dir.real")), 0);
	assert_int_equal(symlinkat("../outside", w->top, W("dir")), 0);
	{
		scoped(change_list_freep) struct change_list *l = look(w);

		assert_true(l->conflict_count > 0);
		(void)change_apply(&w->at, l, true, NULL);
	}
	expect_file(w, "outside/a", "outside");
	assert_true(fstatat(w->top, "outside/c", &st, 0) < 0);
}

static void a_step_that_fails_leaves_nothing_behind(void **state)
{
	struct world *w = *state;
	scoped(change_list_freep) struct change_list *l = NULL;
	scoped(freep) char *before = dump(w), *now = NULL;
	struct error err = {0};

	make_changes(w);
	l = look(w);
	/* Between the look and the step somebody has put a directory away. */
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->items[i].path, "dir/c") == 0)
			l->items[i].path = "nowhere/c";
	assert_true(change_apply(&w->at, l, false, &err) < 0);
	assert_int_equal(change_state(w->at.store), CHANGE_KEPT);
	now = dump(w);
	for (char *p = before, *q = now; *p && *q; p++, q++)
		if (*p != *q)
			break;
	expect_file(w, W("new"), NULL);
	expect_file(w, W("old"), W("old"));
	expect_file(w, W("gone"), W("gone"));
}

static void a_directory_that_nobody_may_write_is_changed_all_the_same(void **state)
{
	struct world *w = *state;
	scoped(freep) char *before = dump(w), *now = NULL;
	struct stat st;

	copy_up_dir(w, "locked");
	write_in(w->top, U("locked/a"), "other");
	assert_int_equal(fchmodat(w->top, U("locked/a"), 0444, 0), 0);
	assert_int_equal(fchmodat(w->top, U("locked"), 0555, 0), 0);
	apply(w, false);
	assert_int_equal(fstatat(w->top, W("locked"), &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0555);
	expect_file(w, W("locked/a"), "other");
	undo(w, NULL);
	now = dump(w);
	assert_string_equal(now, before);
}

static void differences_are_shown_before_and_after(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer text = {0};
	scoped(change_list_freep) struct change_list *l = NULL;

	make_changes(w);
	l = look(w);
	assert_true(change_put_diff(&w->at, find(l, "old"), false, &text));
	assert_string_equal(buffer_str(&text),
	                    "--- a/old\n+++ b/old\n@@ -1 +1 @@\n-ws/old\n"
	                    "\\ No newline at end of file\n+other contents of the same file\n"
	                    "\\ No newline at end of file\n");
	buffer_clear(&text);
	assert_true(change_put_diff(&w->at, find(l, "type"), false, &text));
	assert_non_null(strstr(buffer_str(&text), "+link to keep\n"));
	assert_int_equal(change_apply(&w->at, l, false, NULL), 0);
	buffer_clear(&text);
	assert_true(change_put_diff(&w->at, find(l, "old"), true, &text));
	assert_non_null(strstr(buffer_str(&text), "-ws/old\n"));
}

static void damaged_journals_are_refused(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer bytes = {0};
	scoped(change_list_freep) struct change_list *l = NULL;
	struct change_list *again = NULL;

	make_changes(w);
	l = look(w);
	assert_int_equal(change_journal_write(l, &bytes), 0);
	for (size_t n = 0; n < bytes.len; n++)
		assert_true(change_journal_read(bytes.data, n, &again, NULL) < 0);
	assert_int_equal(change_journal_read(bytes.data, bytes.len, &again, NULL), 0);
	assert_int_equal(again->count, l->count);
	for (size_t i = 0; i < l->count; i++) {
		assert_string_equal(again->items[i].path, l->items[i].path);
		assert_memory_equal(&again->items[i].after, &l->items[i].after,
		                    sizeof(l->items[i].after));
	}
	change_list_free(again);
	assert_false(change_path_is_plain("../x"));
	assert_false(change_path_is_plain("a/../x"));
	assert_false(change_path_is_plain("/x"));
	assert_false(change_path_is_plain("a//x"));
	assert_false(change_path_is_plain(""));
	assert_true(change_path_is_plain("a/..x"));
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(each_kind_is_listed),
		IN_WORLD(what_is_applied_is_there_and_undo_brings_back_each_byte_mode_and_time),
		IN_WORLD(what_was_undone_can_be_applied_again),
		IN_WORLD(some_paths_are_undone_and_the_others_later),
		cmocka_unit_test(no_kill_leaves_a_state_between),
		IN_WORLD(changed_here_and_there),
		IN_WORLD(changed_here_replaced_there),
		IN_WORLD(changed_here_removed_there),
		IN_WORLD(removed_here_changed_there),
		IN_WORLD(made_here_and_there),
		IN_WORLD(directory_removed_here_changed_there),
		IN_WORLD(directory_removed_here_filled_there),
		IN_WORLD(directory_made_anew_here_filled_there),
		IN_WORLD(directory_changed_here_removed_there),
		IN_WORLD(type_changed_here_contents_there),
		IN_WORLD(contents_changed_here_type_there),
		IN_WORLD(file_made_here_directory_there),
		IN_WORLD(renamed_here_changed_there),
		IN_WORLD(mode_changed_here_contents_there),
		IN_WORLD(directories_of_both_are_put_together),
		IN_WORLD(force_keeps_the_other_file_in_the_store),
		IN_WORLD(undo_refuses_what_was_changed_since),
		IN_WORLD(no_link_leads_out),
		IN_WORLD(a_step_that_fails_leaves_nothing_behind),
		IN_WORLD(a_directory_that_nobody_may_write_is_changed_all_the_same),
		IN_WORLD(differences_are_shown_before_and_after),
		IN_WORLD(damaged_journals_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
