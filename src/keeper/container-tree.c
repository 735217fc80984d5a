#include "keeper/container-parts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "keeper/inside.h"
#include "profile/profile.h"
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
	struct keeper_container *c = context;
	struct stat st;
	const char *path;

	/* The engine would mount what a link leads to, and leave the link to whoever comes. */
	if (lstat(cover->path, &st) < 0 || S_ISLNK(st.st_mode))
		return -ELOOP;
	for (size_t i = 0; i < c->mount_count; i++)
		if (strcmp(c->mounts[i].path, cover->path) == 0) {
			c->mounts[i].kind = kinds[cover->kind]; /* what hides comes last */
			return 0;
		}
	if (c->mount_count == CONTAINER_MOUNTS_MAX)
		return -E2BIG;
	path = arena_strdup(c->arena, cover->path);
	if (!path)
		return -ENOMEM;
	c->mounts[c->mount_count++] =
		(struct container_mount){.path = path, .kind = kinds[cover->kind]};
	return 0;
}

/* An engine that listens inside of what the container has of the host would be a way out of it. */
static int hide_engine(struct keeper_container *c)
{
	char real[PATH_MAX];
	size_t n;

	if (!c->endpoint.path[0] || !realpath(c->endpoint.path, real))
		return 0;
	for (size_t i = 0; i < c->mount_count; i++) {
		n = strlen(c->mounts[i].path);
		if (strncmp(real, c->mounts[i].path, n) == 0 && (real[n] == '/' || !real[n]))
			return add_cover(c, &(struct sandbox_cover){.path = real,
			                                            .kind = SANDBOX_COVER_FILE});
	}
	return 0;
}

/* What a box of our own would have of the host, and what it would hold and hide in it. */
int container_plan_mounts(struct keeper *k, struct keeper_container *c, struct error *err)
{
	int r;

	c->spec = k->spec;
	c->spec.tier = SANDBOX_TIER_STRICT;
	c->spec.require = 0;
	c->spec.network = SANDBOX_NETWORK_NONE; /* no file of name servers, which is the image's */
	c->spec.programs = c->spec.denied = NULL;
	c->spec.limits = (struct sandbox_limits){0};
	r = keeper_box_plan(k, &c->spec, &c->plan, err);
	if (r < 0)
		return r;
	r = sandbox_plan_covers(c->plan, add_cover, c);
	if (r == 0)
		r = hide_engine(c);
	if (r == -ELOOP)
		return error_set(
			err, ERROR_UNSUPPORTED, ELOOP,
			"a protected path of the workspace is a symbolic link, or goes away "
			"just now: a container cannot hold it");
	return r < 0 ? error_sys(err, -r, "mounts of the container") : 0;
}

static bool is_own(const struct keeper *k, const char *entry)
{
	size_t n = strcspn(entry, "=") + 1;

	for (const char *const *e = k->order.request.env; e && *e; e++)
		if (strncmp(*e, entry, n) == 0)
			return true;
	for (const char *const *e = k->profile->environment_set; e && *e; e++)
		if (strncmp(*e, entry, n) == 0)
			return true;
	return false;
}

/* These describe the host, unless somebody has set them for the command. */
static bool is_hosts(const struct keeper *k, const char *entry)
{
	static const char *const names[] = {"PATH=", "HOME=", "TMPDIR=", "SHELL="};

	for (size_t i = 0; i < array_size(names); i++)
		if (strncmp(entry, names[i], strlen(names[i])) == 0)
			return !is_own(k, entry);
	return false;
}

/* Values may be secret, and words of a program are not: what can go into a file goes there. */
int container_split_environment(struct keeper *k, struct keeper_container *c,
                                const char *const **ret_rest)
{
	scoped(buffer_donep) struct buffer text = {0};
	const char **rest;
	char link[64], path[PATH_MAX];
	size_t n = 0, count = 0;
	ssize_t len = -1;

	for (const char *const *e = k->order.envp; *e; e++)
		count++;
	rest = arena_new_array(c->arena, const char *, count + 2);
	if (!rest)
		return -ENOMEM;
	if (home_make(&k->home) >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", k->home.fd);
		len = readlink(link, path, sizeof(path) - 1);
	}
	for (const char *const *e = k->order.envp; *e; e++) {
		if (is_hosts(k, *e))
			continue;
		if (len > 0 && container_env_fits_file(*e)) {
			buffer_puts(&text, *e);
			buffer_putc(&text, '\n');
		} else {
			rest[n++] = *e;
		}
	}
	if (!is_own(k, "HOME="))
		rest[n++] = "HOME=/tmp";
	*ret_rest = rest;
	if (buffer_error(&text) < 0)
		return -ENOMEM;
	if (len <= 0)
		return 0;
	path[len] = '\0';
	c->env_file = arena_printf(c->arena, "%s/" CONTAINER_ENV_FILE, path);
	return c->env_file ? fd_replace_file(k->home.fd, CONTAINER_ENV_FILE, buffer_str(&text),
	                                     text.len)
	                   : -ENOMEM;
}
