/*
 * A list of ten thousand tasks has to be quick, so each costs one look at its directory, whose mode
 * tells that it has ended, and only those that are shown are read; of those of others, for who may
 * see only their own, no more than whose they are.
 */
#include "task/find-inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/error.h"
#include "base/fd.h"

/* What is known of each task before it is decided which are shown. */
struct glance {
	char id[STORE_ID_MAX];
	enum find_state state;
	int64_t at; /* start of a running one, else its end */
};

struct glances {
	struct glance *list;
	size_t count, capacity;
};

/* Nobody has marked it: it runs, was lost, or its report could not be written as usual. */
static bool look_closer(int tasks_fd, struct glance *g)
{
	scoped(fd_closep) int dir_fd =
		openat(tasks_fd, g->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (dir_fd < 0)
		return false;
	g->state = find_state(dir_fd);
	if (g->state != FIND_ENDED)
		(void)find_look_at_lock(dir_fd, &g->at);
	else if (fstatat(dir_fd, "state.json", &st, AT_SYMLINK_NOFOLLOW) == 0)
		g->at = find_stat_ms(&st);
	return true;
}

static bool take_glance(int tasks_fd, const char *id, struct glance *ret_glance)
{
	size_t n = strlen(id);
	struct stat st;

	*ret_glance = (struct glance){.state = FIND_ENDED};
	memcpy(ret_glance->id, id, n + 1); /* find_is_id() has looked at its length */
	if (fstatat(tasks_fd, id, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return false;
	if ((st.st_mode & 07777) != REPORT_IS_THERE)
		return look_closer(tasks_fd, ret_glance);
	ret_glance->at = find_stat_ms(&st);
	return true;
}

static int by_age(const void *a, const void *b)
{
	const struct glance *x = a, *y = b;
	bool x_runs = x->state == FIND_RUNNING, y_runs = y->state == FIND_RUNNING;

	if (x_runs != y_runs)
		return y_runs - x_runs;
	return x->at != y->at ? (x->at < y->at) - (x->at > y->at) : strcmp(x->id, y->id);
}

static struct glance *add(struct glances *g)
{
	struct glance *more;

	if (g->count == g->capacity) {
		size_t capacity = g->capacity ? g->capacity * 2 : 256;

		more = realloc(g->list, capacity * sizeof(*more));
		if (!more)
			return NULL;
		g->list = more;
		g->capacity = capacity;
	}
	return &g->list[g->count++];
}

void find_list_done(struct find_list *l)
{
	free(take_ptr(&l->entries));
	l->count = 0;
}

static int glance_at_all(struct store *s, bool only_running, struct glances *g,
                         struct find_list *list)
{
	DIR *d = find_open_dir(s);
	struct dirent *file;
	int r = 0;

	while (d && (file = readdir(d))) {
		struct glance *e;

		if (!find_is_id(file->d_name))
			continue;
		e = add(g);
		if (!e) {
			r = -ENOMEM;
			break;
		}
		if (!take_glance(s->tasks_fd, file->d_name, e)) {
			g->count--;
			continue;
		}
		list->running += e->state == FIND_RUNNING;
		list->ended += e->state != FIND_RUNNING;
		if (only_running && e->state != FIND_RUNNING)
			g->count--;
	}
	if (d)
		closedir(d);
	return r;
}

/* "r" or "e" with the time that it is sorted by, and the id. */
static void write_cursor(const struct glance *g, char into[FIND_CURSOR_MAX])
{
	snprintf(into, FIND_CURSOR_MAX, "%c%" PRId64 ".%s", g->state == FIND_RUNNING ? 'r' : 'e',
	         g->at, g->id);
}

static int read_cursor(const char *text, struct glance *ret, struct error *err)
{
	char *end = NULL;

	*ret = (struct glance){.state = *text == 'r' ? FIND_RUNNING : FIND_ENDED};
	if ((*text == 'r' || *text == 'e') && text[1] >= '0' && text[1] <= '9')
		ret->at = strtoll(text + 1, &end, 10);
	if (!end || *end != '.' || !find_is_id(end + 1))
		return error_set(err, ERROR_INPUT, EINVAL, "there is no such cursor");
	strncpy(ret->id, end + 1, sizeof(ret->id) - 1);
	return 0;
}

static struct find_entry *add_entry(struct find_list *l, size_t *capacity)
{
	struct find_entry *more;

	if (l->count == *capacity) {
		more = realloc(l->entries, 2 * (*capacity + 8) * sizeof(*more));
		if (!more)
			return NULL;
		l->entries = more;
		*capacity = 2 * (*capacity + 8);
	}
	return &l->entries[l->count++];
}

/* From the youngest on, until there are enough: what lies behind is not looked at. */
static int look_at_some(struct store *s, const struct find_query *q, const struct glances *g,
                        const struct glance *after, struct find_list *list)
{
	size_t capacity = 0, counted = 0;

	for (size_t i = 0; i < g->count; i++) {
		const struct glance *at = &g->list[i];
		bool counts = !(q->beside_running && at->state == FIND_RUNNING);
		scoped(fd_closep) int dir_fd = -1;
		struct find_entry *e;

		if ((after && by_age(at, after) <= 0) || !find_is_wanted(s->tasks_fd, at->id, q))
			continue;
		if (counts && q->limit > 0 && counted == q->limit) {
			list->more = true;
			break;
		}
		dir_fd = find_open(s, at->id, NULL);
		if (dir_fd < 0) /* it was deleted meanwhile */
			continue;
		e = add_entry(list, &capacity);
		if (!e)
			return -ENOMEM;
		find_look(dir_fd, at->id, e);
		write_cursor(at, e->cursor);
		counted += counts;
	}
	return 0;
}

int find_tasks(struct store *s, const struct find_query *q, struct find_list *ret_list,
               struct error *err)
{
	scoped(find_list_donep) struct find_list list = {0};
	struct glances g = {0};
	struct glance after;
	int r = q->after ? read_cursor(q->after, &after, err) : 0;

	if (r < 0)
		return r;
	r = glance_at_all(s, q->only_running, &g, &list);
	if (r == 0 && g.count > 0)
		qsort(g.list, g.count, sizeof(*g.list), by_age);
	if (r == 0)
		r = look_at_some(s, q, &g, q->after ? &after : NULL, &list);
	free(g.list);
	if (r < 0)
		return error_set(err, ERROR_SYSTEM, -r, "out of memory");
	*ret_list = list;
	list.entries = NULL;
	return 0;
}
