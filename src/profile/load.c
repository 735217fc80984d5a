/*
 * Loading: which files make a profile, and in which order they are read.
 *
 *	built-in NAME < /etc/nacre/NAME.yaml < ~/.config/nacre/NAME.yaml
 *	      < what inherits it, in the same three places (agents/NAME.yaml for agents)
 *	      < nacre.yaml of the system < nacre.yaml of the user   (for every profile)
 *	      < .nacre.yaml of the root, of each directory below it, and of the workspace, which may
 *	        only tighten
 *	      < the file of the command line
 *
 * Each file is opened once and read once, from the descriptor that was checked. A file that is not
 * there is no layer; one that cannot be read is an error, since it may be the one that forbids.
 */
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"
#include "base/path.h"
#include "base/suggest.h"
#include "policy/policy.h"
#include "profile/bind.h"
#include "profile/store.h"
#include "profile/trust.h"
#include "yaml/pack.h"
#include "yaml/yaml.h"

#define INHERIT_MAX 8
#define COMMON_FILE "nacre.yaml" /* for every profile */
#define ARENA_MAX   (YAML_ARENA_MAX * 4)

struct loader {
	const struct profile_request *request;
	struct binder binder;
	struct profile_store *store;
	struct error *err;
	const char *chain[INHERIT_MAX]; /* names that are being loaded */
	size_t depth;
	const struct yaml_node *policy_root; /* of the file of the command line */
	const char *root;                    /* the topmost directory of the project */
	int project_result;                  /* of the last of its files */
};

static int no_memory(struct loader *l)
{
	return error_set(l->err, ERROR_SYSTEM, ENOMEM, "no memory for the profile");
}

/* DIRECTORY: of the store, for a file of the project; else -1. */
static int remember(struct loader *l, const char *path, const struct stat *st, int directory)
{
	struct profile_file *f = arena_new_object(l->store->arena, struct profile_file);

	if (!f)
		return no_memory(l);
	f->path = path;
	f->directory = directory;
	f->exists = st != NULL;
	if (st) {
		f->dev = st->st_dev;
		f->ino = st->st_ino;
		f->size = st->st_size;
		f->changed = st->st_ctim;
	}
	f->next = l->store->files;
	l->store->files = f;
	return 0;
}

/* One text more; the order of the files counts. */
static void mix_digest(struct profile_store *store, const struct buffer *bytes)
{
	struct digest both[2] = {store->digest};

	digest_make(buffer_str(bytes), bytes->len, &both[1]);
	digest_make(both, sizeof(both), &store->digest);
}

void profile_digest(const struct profile *p, char into[PROFILE_DIGEST_SIZE])
{
	struct digest all;
	struct {
		struct digest files, names;
	} both = {.files = p->store->digest};
	char names[512];
	int n = snprintf(names, sizeof(names), "%s %s %s", NACRE_VERSION, p->base ? p->base : "",
	                 p->name ? p->name : "");

	digest_make(names, n < (int)sizeof(names) ? (size_t)n : sizeof(names) - 1, &both.names);
	digest_make(&both, sizeof(both), &all);
	hex_write(all.bytes, (PROFILE_DIGEST_SIZE - 1) / 2, into);
}

/* Reads an open file into a tree; NAME is for messages and lives as long as the profile. */
static int read_file(struct loader *l, int fd, const char *name, int directory,
                     const struct yaml_node **ret_root)
{
	scoped(buffer_donep) struct buffer bytes = {.max = YAML_BYTES_MAX};
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return error_sys(l->err, errno, "%s", name);
	r = fd_read_all(fd, &bytes);
	if (r == -E2BIG)
		return error_set(l->err, ERROR_LIMIT, EFBIG,
		                 "%s:1:1: the file is larger than 1 MiB", name);
	if (r < 0)
		return error_sys(l->err, -r, "%s", name);
	r = remember(l, name, &st, directory);
	if (r < 0)
		return r;
	mix_digest(l->store, &bytes);
	return yaml_read(l->store->arena, name, buffer_str(&bytes), bytes.len, ret_root, l->err);
}

/* A file of the system or of the user; *ret_root stays NULL if there is none. */
static int read_trusted(struct loader *l, const char *dir, const char *sub, const char *name,
                        const struct yaml_node **ret_root, const char **ret_path)
{
	scoped(fd_closep) int fd = -1;
	char *path;

	if (!dir)
		return 0;
	path = arena_printf(l->store->arena, "%s/%s%s%s", dir, sub, name,
	                    strcmp(name, COMMON_FILE) == 0 ? "" : ".yaml");
	if (!path)
		return no_memory(l);
	/* Most often there is nothing; the way to it need not be walked then. */
	if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    (errno == ENOENT || errno == ENOTDIR))
		return remember(l, path, NULL, -1);
	fd = trust_open(path, l->request->uid, l->request->workspace_fd, l->err);
	if (fd == -ENOENT)
		return remember(l, path, NULL, -1);
	if (fd < 0)
		return fd;
	*ret_path = path;
	return read_file(l, fd, path, -1, ret_root);
}

static int apply(struct loader *l, const char *file, const struct yaml_node *root)
{
	struct profile_layer *layer = arena_new_object(l->store->arena, struct profile_layer);

	if (!layer)
		return no_memory(l);
	layer->name = file;
	if (l->store->last_layer)
		l->store->last_layer->next = layer;
	else
		l->store->layers = layer;
	l->store->last_layer = layer;
	l->binder.file = file;
	/* Those of a profile that is inherited may hold no more, and that is as it should be. */
	l->binder.examples = l->request->examples && l->depth <= 1;
	return bind_layer(&l->binder, root);
}

static const struct yaml_node *text_of(const struct yaml_node *root, const char *key)
{
	const struct yaml_node *node = yaml_map_get(root, key);

	return node && node->kind == YAML_SCALAR && node->len ? node : NULL;
}

static int check_name(struct loader *l, const char *file, const struct yaml_node *root,
                      const char *name)
{
	const struct yaml_node *node = text_of(root, "profile");

	if (!node || strcmp(node->text, name) == 0)
		return 0;
	return error_set(l->err, ERROR_INPUT, EINVAL,
	                 "%s:%u:%u: this file is for the profile '%.60s', not for '%.60s'", file,
	                 node->line, node->column, node->text, name);
}

static bool exists(struct loader *l, const char *name, bool agent)
{
	const char *dirs[] = {l->request->system_dir, l->request->user_dir};
	char path[4096];

	if (profile_builtin_find(name, agent))
		return true;
	for (size_t i = 0; i < array_size(dirs); i++) {
		if (!dirs[i])
			continue;
		snprintf(path, sizeof(path), "%s/%s%s.yaml", dirs[i], agent ? "agents/" : "", name);
		if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	}
	return false;
}

static int load_named(struct loader *l, const char *name, bool agent);

/* The profile that the lowest file of another one starts from. */
static int load_inherited(struct loader *l, const char *file, const struct yaml_node *root,
                          const char *name)
{
	const struct yaml_node *node = text_of(root, "inherits");
	const char *parent;
	bool agent;
	int r;

	if (!node) {
		l->binder.profile->base = name;
		return 0;
	}
	parent = strcmp(node->text, "defaults") == 0 ? "universal" : node->text;
	for (size_t i = 0; i < l->depth; i++)
		if (strcmp(l->chain[i], parent) == 0)
			return error_set(l->err, ERROR_INPUT, ELOOP,
			                 "%s:%u:%u: '%.60s' inherits itself", file, node->line,
			                 node->column, parent);
	if (l->depth == INHERIT_MAX)
		return error_set(l->err, ERROR_INPUT, ELOOP,
		                 "%s:%u:%u: more than %d profiles inherit each other", file,
		                 node->line, node->column, INHERIT_MAX);
	agent = !exists(l, parent, false) && exists(l, parent, true);
	r = load_named(l, parent, agent);
	if (strcmp(parent, PROFILE_COMMON) == 0)
		l->binder.profile->base = name;
	if (r == -ENOENT) /* what is wrong in another file has its place there */
		return error_wrap(l->err, "%s:%u:%u", yaml_name_shown(file), node->line,
		                  node->column);
	return r;
}

struct source {
	const struct yaml_node *root;
	const char *file;
};

/* The three places of one profile, the lowest first. */
static int read_sources(struct loader *l, const char *name, bool agent, struct source sources[3])
{
	const struct profile_request *q = l->request;
	const struct profile_builtin *shipped = profile_builtin_find(name, agent);
	const char *sub = agent ? "agents/" : "";
	int r;

	if (shipped) {
		sources[0].file = arena_printf(l->store->arena, "built-in:%s", name);
		if (!sources[0].file)
			return no_memory(l);
		r = q->examples ? yaml_read(l->store->arena, sources[0].file, shipped->text,
		                            shipped->len, &sources[0].root, l->err)
		                : yaml_unpack(l->store->arena, shipped->tree, shipped->tree_len,
		                              &sources[0].root);
		if (r < 0)
			return q->examples ? r : no_memory(l);
	}
	r = read_trusted(l, q->system_dir, sub, name, &sources[1].root, &sources[1].file);
	if (r == 0)
		r = read_trusted(l, q->user_dir, sub, name, &sources[2].root, &sources[2].file);
	return r;
}

static bool is_plain_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') && strlen(name) <= 64;
}

struct nearest {
	const char *written;
	bool agent;
	unsigned best;
	char name[SUGGEST_MAX + 1]; /* empty: none */
};

static void look_at_name(void *context, const char *name, const char *path, bool agent)
{
	struct nearest *n = context;

	if (agent == n->agent && suggest_is_near(n->written, name, &n->best))
		snprintf(n->name, sizeof(n->name), "%s", name);
}

static int not_found(struct loader *l, const char *name, bool agent)
{
	struct nearest near = {.written = name, .agent = agent, .best = SUGGEST_NONE};
	char words[SUGGEST_WORDS_MAX];

	profile_names(l->request, look_at_name, &near);
	return error_set(l->err, ERROR_INPUT, ENOENT, "there is no %s '%.60s'%s",
	                 agent ? "agent" : "profile", name,
	                 suggest_words(near.name[0] ? near.name : NULL, words));
}

static int load_named(struct loader *l, const char *name, bool agent)
{
	struct source sources[3] = {0};
	bool lowest = true;
	int r;

	if (!is_plain_name(name))
		return not_found(l, name, agent);
	r = read_sources(l, name, agent, sources);
	if (r < 0)
		return r;
	if (!sources[0].root && !sources[1].root && !sources[2].root)
		return not_found(l, name, agent);
	l->chain[l->depth++] = name;
	for (int i = 0; i < 3; i++) {
		if (!sources[i].root)
			continue;
		r = check_name(l, sources[i].file, sources[i].root, name);
		if (r == 0 && lowest)
			r = load_inherited(l, sources[i].file, sources[i].root, name);
		else if (r == 0 && text_of(sources[i].root, "inherits"))
			r = error_set(l->err, ERROR_INPUT, EINVAL,
			              "%s:%u:1: '%s' exists below: this file is a layer of it and "
			              "cannot inherit",
			              sources[i].file, text_of(sources[i].root, "inherits")->line,
			              name);
		if (r == 0)
			r = apply(l, sources[i].file, sources[i].root);
		if (r < 0)
			return r;
		lowest = false;
	}
	l->depth--;
	l->binder.profile->name = name;
	return 0;
}

static int load_common(struct loader *l)
{
	const char *dirs[] = {l->request->system_dir, l->request->user_dir};

	for (size_t i = 0; i < array_size(dirs); i++) {
		const struct yaml_node *root = NULL;
		const char *path, *name = l->binder.profile->name;
		int r = read_trusted(l, dirs[i], "", COMMON_FILE, &root, &path);

		if (r == 0 && root && text_of(root, "profile"))
			r = error_set(l->err, ERROR_INPUT, EINVAL,
			              "%s:%u:1: this file is for every profile and cannot name one",
			              path, text_of(root, "profile")->line);
		if (r == 0 && root && text_of(root, "inherits"))
			r = error_set(l->err, ERROR_INPUT, EINVAL,
			              "%s:%u:1: this file is for every profile and cannot inherit",
			              path, text_of(root, "inherits")->line);
		if (r == 0 && root)
			r = apply(l, path, root);
		if (r < 0)
			return r;
		l->binder.profile->name = name;
	}
	return 0;
}

/* How a file of the project is called: where it lies below the root. */
static const char *project_name(struct loader *l, const char *path)
{
	size_t n = strlen(l->root);

	path += n == 1 ? 0 : n;
	if (!*path || strcmp(path, "/") == 0)
		return PROFILE_PROJECT_FILE;
	return arena_printf(l->store->arena, ".%s/" PROFILE_PROJECT_FILE, path);
}

bool profile_blames_project(const char *message)
{
	return strncmp(message, PROFILE_PROJECT_FILE, strlen(PROFILE_PROJECT_FILE)) == 0 ||
	       strncmp(message, "./", 2) == 0;
}

static int load_project_file(struct loader *l, int dir, const char *path)
{
	scoped(fd_closep) int fd = -1;
	const char *name = l->binder.profile->name, *file = project_name(l, path);
	const struct yaml_node *root = NULL;
	int r, at = l->store->directory_count;

	l->store->directories[at] = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	if (l->store->directories[at] < 0)
		return error_sys(l->err, errno, "workspace");
	l->store->directory_count++;
	if (!file)
		return no_memory(l);
	fd = fd_open_regular(dir, PROFILE_PROJECT_FILE);
	if (fd == -ENOENT)
		return remember(l, file, NULL, at);
	if (fd == -ELOOP || fd == -EINVAL)
		return error_set(l->err, ERROR_INPUT, EINVAL, "%s: this is no regular file", file);
	if (fd < 0) /* a socket, or somebody else's */
		return error_set(l->err, ERROR_INPUT, -fd, "%s: this file cannot be read: %s", file,
		                 strerrordesc_np(-fd));
	r = read_file(l, fd, file, at, &root);
	if (r == 0)
		r = check_name(l, file, root, name);
	if (r < 0)
		return r;
	l->binder.tighten = true;
	r = apply(l, file, root);
	l->binder.tighten = false;
	return r;
}

static int visit_project(void *context, int dir, const char *path)
{
	struct loader *l = context;

	l->project_result = load_project_file(l, dir, path);
	return l->project_result;
}

/* What the root forbids holds in every directory below it, whichever of them a caller chooses. */
static int load_project(struct loader *l)
{
	scoped(fd_closep) int root_fd = -1;
	int workspace_fd = l->request->workspace_fd, r;
	char workspace[PATH_MAX];
	struct stat wanted, found;

	if (workspace_fd < 0)
		return 0;
	l->root = l->request->root ? l->request->root : "";
	if (!l->request->root)
		return load_project_file(l, workspace_fd, "");
	r = path_of_fd(workspace_fd, workspace);
	if (r < 0)
		return error_sys(l->err, -r, "/proc: where the workspace lies cannot be read");
	root_fd = open(l->root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (root_fd < 0)
		return error_sys(l->err, errno, "root of the workspace");
	r = path_descend(root_fd, l->root, workspace, visit_project, l);
	if (r < 0)
		return l->project_result < 0
		               ? r
		               : error_sys(l->err, -r, "the way from the root to the workspace");
	/* Somebody may have put another directory there meanwhile. */
	if (fstat(workspace_fd, &wanted) < 0 ||
	    fstat(l->store->directories[l->store->directory_count - 1], &found) < 0 ||
	    wanted.st_ino != found.st_ino || wanted.st_dev != found.st_dev)
		return error_set(l->err, ERROR_INPUT, ESTALE, "the workspace has been moved");
	return 0;
}

static int read_policy_file(struct loader *l)
{
	scoped(fd_closep) int fd = -1;
	const char *path = l->request->policy_file;

	if (!path)
		return 0;
	path = arena_strdup(l->store->arena, path);
	if (!path)
		return no_memory(l);
	if (l->request->unchecked) {
		fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd < 0)
			return error_sys(l->err, errno, "%s", path);
	} else {
		/* The operator may name a file of the workspace; the box does not let it be
		 * changed. */
		fd = trust_open(path, l->request->uid, -1, l->err);
	}
	if (fd < 0)
		return fd;
	return read_file(l, fd, path, -1, &l->policy_root);
}

/* A policy file that names a profile of its own, or inherits, is no layer but the profile. */
static int load_own(struct loader *l, bool *ret_done)
{
	const struct yaml_node *name = NULL, *parent = NULL;
	const char *file = l->request->policy_file;
	int r;

	if (l->policy_root) {
		name = text_of(l->policy_root, "profile");
		parent = text_of(l->policy_root, "inherits");
	}
	*ret_done = false;
	if (!parent && (!name || exists(l, name->text, false) || exists(l, name->text, true)))
		return 0;
	if (l->request->agent ||
	    (l->request->name && (!name || strcmp(l->request->name, name->text) != 0)))
		return error_set(
			l->err, ERROR_INPUT, EINVAL,
			"%s:%u:1: this file is a profile of its own: use it without another "
			"profile or agent",
			file, (parent ? parent : name)->line);
	l->chain[l->depth++] = name ? name->text : "";
	r = load_inherited(l, file, l->policy_root, name ? name->text : "");
	if (r == 0)
		r = apply(l, file, l->policy_root);
	if (r < 0)
		return r;
	l->binder.profile->name = name ? name->text : l->binder.profile->name;
	l->policy_root = NULL;
	*ret_done = true;
	return 0;
}

/* The profile that is asked for by name. */
static int load_top(struct loader *l, const char *name)
{
	if (strcmp(name, PROFILE_COMMON) == 0 && !l->request->unchecked)
		return error_set(l->err, ERROR_INPUT, EINVAL,
		                 "the profile '%s' is only there to be inherited: name another",
		                 name);
	return load_named(l, name, !exists(l, name, false) && exists(l, name, true));
}

static int load_chain(struct loader *l)
{
	const struct profile_request *q = l->request;
	const struct yaml_node *named = l->policy_root ? text_of(l->policy_root, "profile") : NULL;
	const char *otherwise = q->fallback ? q->fallback : PROFILE_DEFAULT;
	const char *name = q->name ? q->name : named ? named->text : otherwise;
	struct profile *p = l->binder.profile;
	int r;

	p->by_fallback = !q->agent && !q->name && !named;
	if (!q->agent)
		return load_top(l, name);
	r = load_named(l, q->agent, true);
	if (r < 0)
		return r;
	if (q->name && strcmp(q->name, p->base) != 0 && strcmp(q->name, q->agent) != 0)
		return error_set(l->err, ERROR_INPUT, EINVAL,
		                 "the agent '%.60s' belongs to the profile '%.60s', not to '%.60s'",
		                 q->agent, p->base, q->name);
	return 0;
}

static int load_layers(struct loader *l)
{
	const char *name;
	bool own;
	int r;

	r = bind_defaults(&l->binder);
	if (r == 0)
		r = read_policy_file(l);
	if (r == 0)
		r = load_own(l, &own);
	if (r == 0 && !own)
		r = load_chain(l);
	if (r == 0)
		r = load_common(l);
	if (r == 0)
		r = load_project(l);
	if (r < 0)
		return r;
	name = l->binder.profile->name;
	if (l->policy_root) {
		r = check_name(l, l->request->policy_file, l->policy_root, name);
		if (r == 0)
			r = apply(l, l->request->policy_file, l->policy_root);
	}
	return r < 0 ? r : bind_finish(&l->binder);
}

int profile_load(const struct profile_request *request, struct profile **ret_profile,
                 struct error *err)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	scoped(profile_freep) struct profile *p = NULL;
	struct profile_store *store;
	struct loader l = {.request = request, .err = err};
	int r;

	p = arena ? arena_new_object(arena, struct profile) : NULL;
	store = p ? arena_new_object(arena, struct profile_store) : NULL;
	if (!store) {
		p = NULL;
		return no_memory(&l);
	}
	store->arena = take_ptr(&arena); /* from here on all hangs on p */
	p->store = l.store = store;
	l.binder = (struct binder){.arena = store->arena,
	                           .profile = p,
	                           .err = err,
	                           .request = request,
	                           .examples = request->examples};
	r = load_layers(&l);
	if (r < 0)
		return r;
	store->origins = l.binder.origins;
	r = policy_new(&p->rules, &p->policy, err);
	if (r < 0)
		return r;
	*ret_profile = take_ptr(&p);
	return 0;
}

struct profile *profile_free(struct profile *p)
{
	if (!p)
		return NULL;
	policy_free(p->policy);
	for (int i = 0; i < p->store->directory_count; i++)
		fd_close(p->store->directories[i]);
	arena_free(p->store->arena); /* the profile itself is in it */
	return NULL;
}

void profile_request_init(struct profile_request *request, char *buffer, size_t size)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int n = -1;

	*request = (struct profile_request){
		.workspace_fd = -1, .system_dir = "/etc/nacre", .uid = geteuid(), .machine = ""};
	if (home && home[0] == '/')
		request->home = home;
	/* Relative ones are to be ignored, says the specification of these directories. */
	if (config && config[0] == '/')
		n = snprintf(buffer, size, "%s/nacre", config);
	else if (home && home[0] == '/')
		n = snprintf(buffer, size, "%s/.config/nacre", home);
	if (n > 0 && (size_t)n < size)
		request->user_dir = buffer;
}

bool profile_builtin_runs(const struct profile_builtin *b)
{
	return strcmp(b->name, PROFILE_COMMON) != 0;
}

const struct profile_builtin *profile_builtin_find(const char *name, bool agent)
{
	for (size_t i = 0; i < profile_builtin_count; i++)
		if (profile_builtins[i].agent == agent &&
		    strcmp(profile_builtins[i].name, name) == 0)
			return &profile_builtins[i];
	return NULL;
}
