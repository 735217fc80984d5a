/*
 * The order is that of docker's own client: DOCKER_HOST, DOCKER_CONTEXT, the context that
 * config.json says is the current one, the default. podman has CONTAINER_HOST. A context is a
 * directory that is named by a hash of its name; the name stands in its file, too, and is looked
 * for there.
 */
#include "container/endpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/strings.h"
#include "json/read.h"

#define FILE_MAX     ((size_t)256 << 10)
#define CONTEXTS_MAX 256

/* One that is empty is as good as none. */
static const char *variable(const char *const *environment, const char *name)
{
	const char *value = env_value(environment, name);

	return value && *value ? value : NULL;
}

const char *docker_client_name(enum docker_client client)
{
	static const char *const names[DOCKER_CLIENT_MAX] = {
		[DOCKER_CLIENT_DOCKER] = "docker", [DOCKER_CLIENT_PODMAN] = "podman"};

	return names[client];
}

enum docker_client docker_client_of(const char *program, size_t n)
{
	static const struct {
		const char *name;
		enum docker_client client;
	} programs[] = {{"docker", DOCKER_CLIENT_DOCKER},
	                {"docker-compose", DOCKER_CLIENT_DOCKER},
	                {"podman", DOCKER_CLIENT_PODMAN},
	                {"podman-compose", DOCKER_CLIENT_PODMAN},
	                {"podman-remote", DOCKER_CLIENT_PODMAN}};
	const char *slash = memrchr(program, '/', n);
	const char *name = slash ? slash + 1 : program;
	size_t len = n - (size_t)(name - program);

	for (size_t i = 0; i < array_size(programs); i++)
		if (strlen(programs[i].name) == len && memcmp(programs[i].name, name, len) == 0)
			return programs[i].client;
	return DOCKER_CLIENT_MAX;
}

/* What the clients take beside a unix socket; without a scheme it is a host and a port. */
static bool is_elsewhere(const char *url)
{
	static const char *const schemes[] = {"tcp://", "ssh://", "http://", "https://"};

	for (size_t i = 0; i < array_size(schemes); i++)
		if (strncmp(url, schemes[i], strlen(schemes[i])) == 0)
			return true;
	return !strstr(url, "://") && strncmp(url, "unix:", 5) != 0;
}

static int set_url(struct docker_endpoint *e, const char *url, struct error *err)
{
	static const char scheme[] = "unix://";
	const char *path = url + sizeof(scheme) - 1;

	if (strlen(url) >= sizeof(e->url))
		return error_set(err, ERROR_INPUT, ENAMETOOLONG,
		                 "the address of the engine, from %s, is too long", e->source);
	snprintf(e->url, sizeof(e->url), "%s", url);
	e->path[0] = '\0';
	if (is_elsewhere(url))
		return 0;
	if (strncmp(url, scheme, sizeof(scheme) - 1) != 0)
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "'%.120s', from %s, is no address of an engine: unix:///PATH is "
		                 "wanted, or tcp://HOST:PORT",
		                 url, e->source);
	if (*path != '/' || strlen(path) >= sizeof(e->path))
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "'%.120s', from %s, is no socket: an absolute path of up to %d "
		                 "bytes is wanted",
		                 url, e->source, DOCKER_PATH_MAX - 1);
	snprintf(e->path, sizeof(e->path), "%s", path);
	return 0;
}

static int set_path(struct docker_endpoint *e, const char *path, struct error *err)
{
	char url[PATH_MAX];

	snprintf(url, sizeof(url), "unix://%s", path);
	return set_url(e, url, err);
}

static bool is_inside(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return strncmp(path, directory, n) == 0 && (path[n] == '/' || !path[n]);
}

/* The directory of docker's settings, or -1. One that the agent can write names nothing. */
static int open_settings(const struct docker_place *place)
{
	const char *set = variable(place->environment, "DOCKER_CONFIG");
	const char *home = variable(place->environment, "HOME");
	char path[PATH_MAX], real[PATH_MAX];

	if (set)
		snprintf(path, sizeof(path), "%s", set);
	else if (home)
		snprintf(path, sizeof(path), "%s/.docker", home);
	else
		return -1;
	if (*path != '/' || !realpath(path, real))
		return -1;
	if (place->workspace && is_inside(real, place->workspace))
		return -1;
	return open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static json_t *read_json(int dir_fd, const char *name)
{
	scoped(buffer_donep) struct buffer text = {.max = FILE_MAX};
	scoped(fd_closep) int fd = fd_open_regular(dir_fd, name);
	json_t *value = NULL;

	if (fd < 0 || fd_read_all(fd, &text) < 0 ||
	    json_read(buffer_str(&text), text.len, FILE_MAX, name, &value, NULL) < 0)
		return NULL;
	return value;
}

/* The host in the context's file, if this is the file of the context NAME. */
static bool read_context(int meta_fd, const char *directory, const char *name, char *into,
                         size_t size)
{
	scoped(json_decrefp) json_t *meta = NULL;
	const char *is_named, *host;
	char path[NAME_MAX + 16];

	snprintf(path, sizeof(path), "%s/meta.json", directory);
	meta = read_json(meta_fd, path);
	if (!meta || json_unpack(meta, "{s:s, s:{s:{s:s}}}", "Name", &is_named, "Endpoints",
	                         "docker", "Host", &host) < 0)
		return false;
	if (strcmp(is_named, name) != 0 || strlen(host) >= size)
		return false;
	snprintf(into, size, "%s", host);
	return true;
}

static bool find_context(int settings_fd, const char *name, char *into, size_t size)
{
	int fd = openat(settings_fd, "contexts/meta", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	bool found = false;

	if (!dir)
		fd_close(fd);
	for (int i = 0; dir && !found && i < CONTEXTS_MAX && (d = readdir(dir)); i++)
		if (d->d_name[0] != '.')
			found = read_context(fd, d->d_name, name, into, size);
	if (dir)
		closedir(dir);
	return found;
}

/* 1: the endpoint comes from a context; 0: none is chosen. */
static int use_context(const struct docker_place *place, struct docker_endpoint *e,
                       struct error *err)
{
	scoped(fd_closep) int settings = open_settings(place);
	scoped(json_decrefp) json_t *config =
		settings < 0 ? NULL : read_json(settings, "config.json");
	const char *name = variable(place->environment, "DOCKER_CONTEXT");
	char host[DOCKER_URL_MAX];
	int r;

	if (!name && config)
		name = json_string_value(json_object_get(config, "currentContext"));
	if (!name || !*name || strcmp(name, "default") == 0)
		return 0;
	snprintf(e->source, sizeof(e->source), "docker's context '%.60s'", name);
	if (settings < 0 || !find_context(settings, name, host, sizeof(host)))
		return error_set(err, ERROR_INPUT, ENOENT,
		                 "%s cannot be read: choose another with `docker context use`, or "
		                 "set docker.endpoint",
		                 e->source);
	r = set_url(e, host, err);
	return r < 0 ? r : 1;
}

static bool is_socket(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static int use_default(const struct docker_place *place, struct docker_endpoint *e,
                       struct error *err)
{
	const char *runtime = variable(place->environment, "XDG_RUNTIME_DIR");
	char own_docker[PATH_MAX] = "", own_podman[PATH_MAX] = "";
	const char *const for_docker[] = {"/var/run/docker.sock", own_docker, own_podman};
	const char *const for_podman[] = {own_podman, "/run/podman/podman.sock", ""};
	const char *const *paths = e->client == DOCKER_CLIENT_PODMAN ? for_podman : for_docker;
	const char *usual = NULL;

	if (runtime && *runtime == '/') {
		snprintf(own_docker, sizeof(own_docker), "%s/docker.sock", runtime);
		snprintf(own_podman, sizeof(own_podman), "%s/podman/podman.sock", runtime);
	}
	snprintf(e->source, sizeof(e->source), "the default");
	for (int i = 0; i < 3; i++) {
		if (!*paths[i])
			continue;
		if (is_socket(paths[i]))
			return set_path(e, paths[i], err);
		usual = usual ? usual : paths[i];
	}
	return set_path(e, usual, err);
}

int docker_endpoint_find(enum docker_client client, const struct docker_place *place,
                         struct docker_endpoint *ret_endpoint, struct error *err)
{
	const char *name = client == DOCKER_CLIENT_PODMAN ? "CONTAINER_HOST" : "DOCKER_HOST";
	const char *host = variable(place->environment, name);
	struct docker_endpoint e = {.client = client};
	int r;

	if (place->configured && *place->configured) {
		snprintf(e.source, sizeof(e.source), "the profile (docker.endpoint)");
		r = *place->configured == '/' ? set_path(&e, place->configured, err)
		                              : set_url(&e, place->configured, err);
	} else if (host) {
		snprintf(e.source, sizeof(e.source), "%s", name);
		r = set_url(&e, host, err);
	} else {
		r = client == DOCKER_CLIENT_DOCKER ? use_context(place, &e, err) : 0;
		if (r == 0)
			r = use_default(place, &e, err);
	}
	if (r < 0)
		return r;
	*ret_endpoint = e;
	return 0;
}
