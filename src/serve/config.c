#include "serve/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "profile/bind.h"
#include "profile/trust.h"
#include "yaml/yaml.h"

#define NUMBER_MAX 100000
#define TO(member)                                                                                 \
	.offset = offsetof(struct serve_config, member),                                           \
	.width = sizeof(((const struct serve_config *)NULL)->member)

static const struct key keys[] = {
	{"listen", KEY_TEXTS, TO(listen)},
	{"allow_remote", KEY_BOOL, TO(allow_remote)},
	{"unix", KEY_TEXT, .check = KEY_CHECK_ABSOLUTE, TO(unix_path)},
	{"no_unix", KEY_BOOL, TO(no_unix)},
	{"profile", KEY_TEXTS, .check = KEY_CHECK_NAME, TO(profile)},
	{"public_url", KEY_TEXT, TO(public_url)},
	{"policy", KEY_TEXT, .check = KEY_CHECK_ABSOLUTE, TO(policy)},
	{"workspace", KEY_TEXTS, .check = KEY_CHECK_ABSOLUTE, TO(workspace)},
	{"host", KEY_TEXTS, TO(host)},
	{"rate", KEY_COUNT, TO(rate), .max = NUMBER_MAX},
	{"jobs", KEY_COUNT, TO(jobs), .min = 1, .max = NUMBER_MAX},
	{"queue", KEY_COUNT, TO(queue), .max = NUMBER_MAX},
	{"tasks", KEY_COUNT, TO(tasks), .min = 1, .max = NUMBER_MAX},
	{"stop_time", KEY_DURATION, TO(stop_ms), .max = 3600000},
	{0},
};

static int expand(const char *home, struct arena *arena, const char **path, struct error *err)
{
	if (!*path || (*path)[0] != '~')
		return 0;
	if (!home || !*home)
		return error_set(err, ERROR_INPUT, EINVAL, "'%.80s': there is no HOME", *path);
	*path = arena_printf(arena, "%s%s", home, *path + 1);
	return *path ? 0 : error_nomem(err);
}

static int expand_all(const char *home, struct arena *arena, struct serve_config *c,
                      struct error *err)
{
	const char **list;
	size_t n = bind_texts_count(c->workspace);
	int r;

	r = expand(home, arena, &c->unix_path, err);
	if (r == 0)
		r = expand(home, arena, &c->policy, err);
	if (r < 0 || n == 0)
		return r;
	list = arena_new_array(arena, const char *, n + 1);
	if (!list)
		return error_nomem(err);
	memcpy(list, c->workspace, n * sizeof(*list));
	for (size_t i = 0; i < n && r == 0; i++)
		r = expand(home, arena, &list[i], err);
	c->workspace = list;
	return r;
}

int serve_config_read(const char *path, const char *home, struct arena *arena,
                      struct serve_config *config, struct error *err)
{
	struct binder b = {.arena = arena, .err = err, .file = path};
	scoped(buffer_donep) struct buffer bytes = {.max = YAML_BYTES_MAX};
	scoped(fd_closep) int fd = trust_open(path, geteuid(), -1, err);
	const struct yaml_node *root;
	int r;

	if (fd == -ENOENT)
		return error_set(err, ERROR_INPUT, ENOENT, "%s: there is no such file",
		                 yaml_name_shown(path));
	if (fd < 0)
		return fd;
	r = fd_read_all(fd, &bytes);
	if (r == -E2BIG)
		return error_set(err, ERROR_LIMIT, EFBIG, "%s:1:1: the file is larger than 1 MiB",
		                 yaml_name_shown(path));
	if (r < 0)
		return error_sys(err, -r, "%s", yaml_name_shown(path));
	r = yaml_read(arena, path, buffer_str(&bytes), bytes.len, &root, err);
	if (r == 0)
		r = bind_map(&b, keys, "", root, config);
	return r == 0 ? expand_all(home, arena, config, err) : r;
}
