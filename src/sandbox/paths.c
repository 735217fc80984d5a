/*
 * Real paths, for a plan that asks for a hundred of them in a few directories: the directory part
 * is resolved once, and a name in it costs one system call unless it is a link.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/arena.h"
#include "base/path.h"
#include "sandbox/box.h"

/* For what could not be looked at. Where we may not look, the box may not either. */
static const char *none(struct sandbox_plan *p, const char *path)
{
	int r = -errno;

	if (!path_is_absent(r) && r != -EACCES && r != -ENAMETOOLONG && p->unknown == 0) {
		p->unknown = r;
		p->refusal = arena_printf(p->arena, "'%.150s' cannot be looked at: %s", path,
		                          strerrordesc_np(-r));
	}
	return NULL;
}

/* The real path of the first N bytes of PATH, a directory; NULL: it is not there. */
static const char *real_directory(struct sandbox_plan *p, const char *path, size_t n)
{
	char name[PATH_MAX], real[PATH_MAX];
	struct box_directory *d;

	for (size_t i = 0; i < p->directory_count; i++) {
		d = &p->directories[i];
		if (strncmp(d->path, path, n) == 0 && d->path[n] == '\0')
			return d->real;
	}
	if (n >= sizeof(name))
		return NULL;
	memcpy(name, path, n);
	name[n] = '\0';
	if (p->directory_count == BOX_DIRECTORIES_MAX)
		p->directory_count = 0;
	d = &p->directories[p->directory_count];
	d->path = arena_strndup(p->arena, name, n);
	d->real = realpath(n ? name : "/", real) ? arena_strdup(p->arena, real) : none(p, path);
	if (!d->path)
		return NULL;
	p->directory_count++;
	return d->real;
}

const char *box_real(struct sandbox_plan *p, const char *path, struct stat *ret_stat)
{
	const char *slash = strrchr(path, '/'), *directory;
	char real[PATH_MAX], *plain;

	if (!slash)
		return NULL;
	directory = real_directory(p, path, (size_t)(slash - path));
	if (!directory)
		return NULL;
	if (!slash[1] || strcmp(slash, "/.") == 0 || strcmp(slash, "/..") == 0) {
		if (!realpath(path, real) || stat(real, ret_stat) < 0)
			return none(p, path);
		return arena_strdup(p->arena, real);
	}
	if ((size_t)snprintf(real, sizeof(real), "%s%s", directory[1] ? directory : "", slash) >=
	    sizeof(real))
		return NULL;
	if (lstat(real, ret_stat) < 0)
		return none(p, path);
	if (!S_ISLNK(ret_stat->st_mode))
		return arena_strdup(p->arena, real);
	plain = realpath(path, NULL);
	directory =
		plain && stat(plain, ret_stat) == 0 ? arena_strdup(p->arena, plain) : none(p, path);
	free(plain);
	return directory;
}
