#include "container/box-inside.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/strings.h"
#include "container/access.h"
#include "sandbox/covers.h"
#include "sandbox/plan.h"

static int add_cover(void *context, const struct sandbox_cover *cover)
{
	static const enum container_mount_kind kinds[] = {
		[SANDBOX_COVER_WRITABLE] = CONTAINER_MOUNT_WRITABLE,
		[SANDBOX_COVER_READONLY] = CONTAINER_MOUNT_READONLY,
		[SANDBOX_COVER_PINNED] = CONTAINER_MOUNT_WRITABLE,
		[SANDBOX_COVER_FILE] = CONTAINER_MOUNT_HIDDEN_FILE,
		[SANDBOX_COVER_DIRECTORY] = CONTAINER_MOUNT_HIDDEN_DIRECTORY,
	};
	struct container_box *b = context;
	struct stat st;
	const char *path;

	/* The engine would mount what a link leads to, and leave the link to whoever comes. */
	if (lstat(cover->path, &st) < 0 || S_ISLNK(st.st_mode))
		return -ELOOP;
	for (size_t i = 0; i < b->mount_count; i++)
		if (strcmp(b->mounts[i].path, cover->path) == 0) {
			b->mounts[i].kind = kinds[cover->kind]; /* what hides comes last */
			return 0;
		}
	if (b->mount_count == CONTAINER_MOUNTS_MAX)
		return -E2BIG;
	path = arena_strdup(b->arena, cover->path);
	if (!path)
		return -ENOMEM;
	b->mounts[b->mount_count++] =
		(struct container_mount){.path = path, .kind = kinds[cover->kind]};
	return 0;
}

/* An engine that listens inside of what the container has of the host would be a way out of it. */
static int hide_engine(struct container_box *b)
{
	char real[PATH_MAX];
	size_t n;

	if (!b->endpoint.path[0] || !realpath(b->endpoint.path, real))
		return 0;
	for (size_t i = 0; i < b->mount_count; i++) {
		n = strlen(b->mounts[i].path);
		if (strncmp(real, b->mounts[i].path, n) == 0 && (real[n] == '/' || !real[n]))
			return add_cover(b, &(struct sandbox_cover){.path = real,
			                                            .kind = SANDBOX_COVER_FILE});
	}
	return 0;
}

/* What a box of our own would have of the host, and what it would hold and hide in it. */
int container_plan_mounts(struct container_box *b, const struct container_command *c,
                          struct error *err)
{
	int r;

	b->spec = *c->box;
	b->spec.tier = SANDBOX_TIER_STRICT;
	b->spec.require = 0;
	b->spec.network = SANDBOX_NETWORK_NONE; /* no file of name servers, which is the image's */
	b->spec.programs = b->spec.denied = NULL;
	b->spec.limits = (struct sandbox_limits){0};
	r = sandbox_plan_new(&b->spec, c->place, &b->plan, err);
	if (r < 0)
		return r;
	r = sandbox_plan_covers(b->plan, add_cover, b);
	if (r == 0)
		r = hide_engine(b);
	if (r == -ELOOP)
		return error_set(
			err, ERROR_UNSUPPORTED, ELOOP,
			"a protected path of the workspace is a symbolic link, or goes away "
			"just now: a container cannot hold it");
	return r < 0 ? error_sys(err, -r, "mounts of the container") : 0;
}

static bool is_own(const struct container_command *c, const char *entry)
{
	size_t n = strcspn(entry, "=") + 1;

	for (size_t i = 0; i < array_size(c->own); i++)
		for (const char *const *e = c->own[i]; e && *e; e++)
			if (strncmp(*e, entry, n) == 0)
				return true;
	return false;
}

/* These describe the host, unless somebody has set them for the command. */
static bool is_hosts(const struct container_command *c, const char *entry)
{
	static const char *const names[] = {"PATH=", "HOME=", "TMPDIR=", "SHELL="};

	for (size_t i = 0; i < array_size(names); i++)
		if (strncmp(entry, names[i], strlen(names[i])) == 0)
			return !is_own(c, entry);
	return false;
}

/* Values may be secret, and words of a program are not: what can go into a file goes there. */
int container_split_environment(struct container_box *b, const struct container_command *c,
                                const char *const **ret_rest)
{
	scoped(buffer_donep) struct buffer text = {0};
	const char **rest = arena_new_array(b->arena, const char *, strings_count(c->envp) + 2);
	char path[PATH_MAX];
	size_t n = 0;
	int home_fd = c->open_home(c->owner);
	bool has_file = home_fd >= 0 && path_of_fd(home_fd, path) == 0;

	if (!rest)
		return -ENOMEM;
	for (const char *const *e = c->envp; *e; e++) {
		if (is_hosts(c, *e))
			continue;
		if (has_file && container_env_fits_file(*e)) {
			buffer_puts(&text, *e);
			buffer_putc(&text, '\n');
		} else {
			rest[n++] = *e;
		}
	}
	if (!is_own(c, "HOME="))
		rest[n++] = "HOME=/tmp";
	*ret_rest = rest;
	if (buffer_error(&text) < 0)
		return -ENOMEM;
	if (!has_file)
		return 0;
	b->env_file = arena_printf(b->arena, "%s/" CONTAINER_ENV_FILE, path);
	return b->env_file
	               ? fd_replace_file(home_fd, CONTAINER_ENV_FILE, buffer_str(&text), text.len)
	               : -ENOMEM;
}
