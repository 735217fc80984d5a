#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "change/inside.h"

#define BINARY_LOOK 8000 /* as git has it: a NUL in the first bytes */

struct side {
	struct buffer bytes;
	bool text;
};

/* A short text, or the text of a link. */
static void read_side(struct side *s, int root, const char *path, const struct change_meta *m)
{
	struct change_walk walk;
	const char *name;
	int dir, fd;

	s->text = !m->inode;
	if (!m->inode || S_ISDIR(m->mode))
		return;
	change_walk_init(&walk, root);
	dir = change_walk_above(&walk, path, &name);
	if (dir >= 0 && S_ISLNK(m->mode)) {
		char target[PATH_MAX];
		ssize_t n = readlinkat(dir, name, target, sizeof(target));

		if (n >= 0)
			buffer_printf(&s->bytes, "link to %.*s\n", (int)n, target);
		s->text = n >= 0;
	} else if (dir >= 0 && S_ISREG(m->mode) && m->size <= CHANGE_DIFF_FILE_MAX) {
		s->bytes.max = CHANGE_DIFF_FILE_MAX;
		fd = fd_open_regular(dir, name);
		s->text = fd >= 0 && fd_read_all(fd, &s->bytes) == 0 &&
		          (s->bytes.len == 0 ||
		           !memchr(s->bytes.data, 0,
		                   s->bytes.len < BINARY_LOOK ? s->bytes.len : BINARY_LOOK));
		if (fd >= 0)
			close(fd);
	}
	change_walk_done(&walk);
}

bool change_put_diff(const struct change_place *at, const struct change *c, bool applied,
                     struct buffer *into)
{
	scoped(fd_closep) int upper =
		openat(at->store, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char before[PATH_MAX + 8], after[PATH_MAX + 8];
	struct side a = {0}, b = {0};
	size_t had = into->len;
	bool text;

	if (upper < 0 || c->kind == CHANGE_META || c->kind == CHANGE_DIRECTORY)
		return false;
	read_side(&a, applied ? upper : at->directory, c->from ? c->from : c->path,
	          c->from ? &c->after : &c->before);
	read_side(&b, applied ? at->directory : upper, c->path, &c->after);
	text = a.text && b.text;
	if (text) {
		snprintf(before, sizeof(before), c->before.inode || c->from ? "a/%s" : "/dev/null",
		         c->from ? c->from : c->path);
		snprintf(after, sizeof(after), c->after.inode ? "b/%s" : "/dev/null", c->path);
		change_text_diff(&(struct change_text){before, buffer_str(&a.bytes), a.bytes.len},
		                 &(struct change_text){after, buffer_str(&b.bytes), b.bytes.len},
		                 into);
	}
	buffer_done(&a.bytes);
	buffer_done(&b.bytes);
	return text && into->len > had;
}
