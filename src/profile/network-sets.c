/*
 * The built-in sets of destinations.
 *
 * @packages is what the package managers of this machine use. Their own configurations say it: the
 * files of the system and of the operator's home, never a file of the workspace and never the
 * environment of a request, since an agent writes those. Where no file replaces the public
 * registry, its hosts are taken; hosts that serve the content of a public registry and stand in no
 * configuration are data.
 *
 * @forges is data, and beside it the hosts of the repository's own remotes. An agent can add a
 * remote, so these are never allowed, only asked about.
 *
 * Every file is trusted like a layer (trust.h), and remembered, so that a server notices a change.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "gateway/url.h"
#include "profile/bind.h"
#include "profile/network.h"
#include "profile/profile.h"
#include "profile/store.h"
#include "profile/trust.h"
#include "protect/remotes.h"

#define FILE_MAX_BYTES ((size_t)256 << 10)
#define FILES_MAX      32  /* of one directory */
#define MEMBERS_MAX    256 /* of one set */
#define WORDS(...)     ((const char *const[]){__VA_ARGS__, NULL})

static const struct manager {
	const char *source;       /* of the public hosts */
	const char *const *files; /* "~/": of the operator's home; DIRECTORY/[*]SUFFIX */
	const char *const *words; /* one of them stands in a line that counts; NULL: every line */
	const char *const *replacing; /* a line that begins so is there instead of the public one */
	const char *const *public;    /* where the client looks unless it is told otherwise */
	const char *const *content;   /* where the public one sends it */
} managers[] = {
	{"public npm registry",
         WORDS("/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc", "~/.npmrc", "~/.yarnrc",
               "~/.yarnrc.yml"),
         WORDS("registry"), WORDS("registry", "npmRegistryServer"),
         WORDS("registry.npmjs.org", "registry.yarnpkg.com"), WORDS("nodejs.org")},
	{"public Python index",
         WORDS("/etc/pip.conf", "/etc/xdg/pip/pip.conf", "/etc/uv/uv.toml", "~/.pip/pip.conf",
               "~/.config/pip/pip.conf", "~/.config/uv/uv.toml"),
         NULL, WORDS("index-url", "index_url", "default-index"), WORDS("pypi.org"),
         WORDS("files.pythonhosted.org")},
	{"public crates registry", WORDS("~/.cargo/config.toml", "~/.cargo/config"),
         WORDS("registry", "index"), WORDS("replace-with"), WORDS("index.crates.io", "crates.io"),
         WORDS("static.crates.io")},
	{"public Go proxy", WORDS("/usr/local/go/go.env", "/usr/lib/go/go.env", "~/.config/go/env"),
         WORDS("GOPROXY", "GOSUMDB"), WORDS("GOPROXY"), WORDS("proxy.golang.org"), NULL},
	{"public Go checksums", NULL, NULL, NULL, WORDS("sum.golang.org"), NULL},
	{"public Maven repository", WORDS("/etc/maven/settings.xml", "~/.m2/settings.xml"),
         WORDS("<url>"), WORDS("<mirrorOf>"), WORDS("repo.maven.apache.org", "repo1.maven.org"),
         NULL},
	{"public Gradle services",
         WORDS("~/.gradle/gradle.properties", "~/.gradle/init.gradle", "~/.gradle/init.gradle.kts",
               "~/.gradle/init.d/*.gradle", "~/.gradle/init.d/*.gradle.kts"),
         NULL, NULL, WORDS("plugins.gradle.org", "services.gradle.org"),
         WORDS("downloads.gradle.org", "plugins-artifacts.gradle.org")},
	{"public gem server", WORDS("/etc/gemrc", "~/.gemrc", "~/.bundle/config"), NULL,
         WORDS(":sources:"), WORDS("rubygems.org", "index.rubygems.org"), NULL},
	{"apt",
         WORDS("/etc/apt/sources.list", "/etc/apt/sources.list.d/*.list",
               "/etc/apt/sources.list.d/*.sources"),
         NULL, NULL, NULL, NULL},
};

static const struct {
	const char *source;
	const char *const *hosts;
} forges[] = {
	{"GitHub", WORDS("github.com", "github.com:22", "api.github.com", "codeload.github.com",
                         "uploads.github.com", "ssh.github.com", "*.githubusercontent.com")},
	{"GitLab", WORDS("gitlab.com", "gitlab.com:22", "altssh.gitlab.com")},
	{"Codeberg", WORDS("codeberg.org", "codeberg.org:22")},
	{"Bitbucket",
         WORDS("bitbucket.org", "bitbucket.org:22", "api.bitbucket.org", "altssh.bitbucket.org")},
};

const char *network_set_name(size_t index)
{
	static const char *const names[] = {"packages", "forges"};

	return index < array_size(names) ? names[index] : NULL;
}

struct gathering {
	struct binder *b;
	struct network_member *members;
	size_t count;
	bool failed; /* no memory */
	bool replaced;
};

static void add(struct gathering *g, const char *entry, const char *source)
{
	for (size_t i = 0; i < g->count; i++)
		if (strcmp(g->members[i].entry, entry) == 0)
			return;
	if (g->count == MEMBERS_MAX)
		return;
	g->members[g->count].entry = arena_strdup(g->b->arena, entry);
	g->members[g->count].source = arena_strdup(g->b->arena, source);
	g->failed |= !g->members[g->count].entry || !g->members[g->count].source;
	g->count += !g->failed;
}

static void add_all(struct gathering *g, const char *const *hosts, const char *source)
{
	for (; hosts && *hosts; hosts++)
		add(g, *hosts, source);
}

/* A host that a list can name; localhost is the box's own, and no registry is there. */
static void add_host(struct gathering *g, const struct url_host *h, const char *source)
{
	char entry[DESTINATION_TEXT_SIZE];

	if (url_entry(h, entry))
		add(g, entry, source);
}

static bool has_word(const char *const *words, const char *line)
{
	for (; words && *words; words++)
		if (strcasestr(line, *words))
			return true;
	return false;
}

static bool begins(const char *const *words, const char *line)
{
	line += strspn(line, " \t\"'");
	for (; words && *words; words++)
		if (strncmp(line, *words, strlen(*words)) == 0)
			return true;
	return false;
}

static void scan_line(struct gathering *g, const struct manager *m, const char *line,
                      const char *source)
{
	const char *text = line + strspn(line, " \t");
	struct url_host host;
	size_t n;

	if (*text == '#' || *text == ';' || *text == '!' || strncmp(text, "//", 2) == 0)
		return;
	g->replaced |= begins(m->replacing, line);
	/* What a client reaches its registries through is no registry. */
	if ((m->words && !has_word(m->words, line)) ||
	    (strcasestr(line, "proxy") && !strstr(line, "GOPROXY")))
		return;
	if (!strstr(text, "://"))
		return;
	for (; (n = url_find(text, strlen(text), &host)) > 0; text += n)
		add_host(g, &host, source);
}

/* Comments of XML become blanks; the lines stay. */
static void blank_comments(char *text)
{
	char *from = text, *to;

	while ((from = strstr(from, "<!--"))) {
		to = strstr(from, "-->");
		to = to ? to + 3 : from + strlen(from);
		for (; from < to; from++)
			if (*from != '\n')
				*from = ' ';
	}
}

static void scan_text(struct gathering *g, const struct manager *m, const char *path, char *text)
{
	char source[PATH_MAX + 16], *end;
	unsigned int number = 1;

	blank_comments(text);
	for (char *line = text; *line; line = end, number++) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		snprintf(source, sizeof(source), "%s:%u", path, number);
		scan_line(g, m, line, source);
	}
}

/* As it is now, so that profile_is_current() sees a change. */
static bool remember(struct gathering *g, const char *path)
{
	struct profile_store *store = g->b->profile->store;
	struct profile_file *f = arena_new_object(g->b->arena, struct profile_file);
	struct stat st;

	if (f)
		f->path = arena_strdup(g->b->arena, path);
	if (!f || !f->path) {
		g->failed = true;
		return false;
	}
	f->directory = -1;
	f->exists = stat(path, &st) == 0;
	if (f->exists) {
		f->dev = st.st_dev;
		f->ino = st.st_ino;
		f->size = st.st_size;
		f->changed = st.st_ctim;
	}
	f->next = store->files;
	store->files = f;
	return f->exists;
}

static void scan_file(struct gathering *g, const struct manager *m, const char *path)
{
	const struct profile_request *q = g->b->request;
	scoped(buffer_donep) struct buffer text = {.max = FILE_MAX_BYTES};
	scoped(fd_closep) int fd = -1;

	if (!remember(g, path) || (q->root && path_is_in(path, q->root)))
		return;
	fd = trust_open(path, q->uid, q->workspace_fd, NULL);
	if (fd < 0 || fd_read_all(fd, &text) < 0 || !text.data || memchr(text.data, '\0', text.len))
		return;
	scan_text(g, m, path, text.data);
}

static void scan_directory(struct gathering *g, const struct manager *m, char *path, char *star)
{
	struct dirent **entries = NULL;
	const char *suffix = star + 1;
	char file[PATH_MAX];
	int n;

	star[-1] = '\0';
	if (!remember(g, path))
		return;
	n = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		size_t len = strlen(entries[i]->d_name), tail = strlen(suffix);

		if (i < FILES_MAX && entries[i]->d_name[0] != '.' && len > tail &&
		    strcmp(entries[i]->d_name + len - tail, suffix) == 0 &&
		    snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name) <
		            (int)sizeof(file))
			scan_file(g, m, file);
		free(entries[i]);
	}
	free(entries);
}

static void scan_manager(struct gathering *g, const struct manager *m)
{
	const struct profile_request *q = g->b->request;
	char path[PATH_MAX], *star;
	bool public = false;

	g->replaced = false;
	for (const char *const *f = m->files; q && f && *f; f++) {
		const char *base = **f == '~' ? q->home : q->machine;

		if (!base || snprintf(path, sizeof(path), "%s%s", base, *f + (**f == '~')) >=
		                     (int)sizeof(path))
			continue;
		star = strchr(path, '*');
		if (star)
			scan_directory(g, m, path, star);
		else
			scan_file(g, m, path);
	}
	if (!g->replaced)
		add_all(g, m->public, m->source);
	for (const char *const *h = m->public; h && *h; h++)
		for (size_t i = 0; i < g->count; i++)
	public |= strcmp(g->members[i].entry, *h) == 0;
	if (public)
		add_all(g, m->content, m->source);
}

static int gathered(const struct gathering *g, const struct network_member **ret_members,
                    size_t *ret_count)
{
	if (g->failed)
		return bind_no_memory(g->b);
	*ret_members = g->members;
	*ret_count = g->count;
	return 0;
}

int network_set_members(struct binder *b, const char *name,
                        const struct network_member **ret_members, size_t *ret_count)
{
	struct gathering g = {.b = b};
	bool packages = strcmp(name, "packages") == 0;

	if (!packages && strcmp(name, "forges") != 0)
		return -ENOENT;
	g.members = arena_new_array(b->arena, struct network_member, MEMBERS_MAX);
	if (!g.members)
		return bind_no_memory(b);
	for (size_t i = 0; packages && i < array_size(managers); i++)
		scan_manager(&g, &managers[i]);
	for (size_t i = 0; !packages && i < array_size(forges); i++)
		add_all(&g, forges[i].hosts, forges[i].source);
	return gathered(&g, ret_members, ret_count);
}

#define REMOTES ".git/config"

bool network_source_is_remote(const char *source)
{
	return source && strcmp(source, REMOTES) == 0;
}

static int add_remote(void *context, const char *url)
{
	struct gathering *g = context;
	struct url_host host;

	if (!url_remote(url, &host))
		return 0;
	add_host(g, &host, REMOTES);
	if (!host.written && host.port == 22) { /* the same forge, for who has no key */
		host.port = 443;
		add_host(g, &host, REMOTES);
	}
	return 0;
}

int network_set_remotes(struct binder *b, const struct network_member **ret_members,
                        size_t *ret_count)
{
	struct gathering g = {.b = b};
	scoped(buffer_donep) struct buffer text = {.max = FILE_MAX_BYTES};
	scoped(fd_closep) int git = -1, fd = -1;
	char path[PATH_MAX];
	int workspace = b->request ? b->request->workspace_fd : -1;

	g.members = arena_new_array(b->arena, struct network_member, MEMBERS_MAX);
	if (!g.members)
		return bind_no_memory(b);
	if (workspace >= 0 && path_of_fd(workspace, path) == 0 &&
	    strlen(path) + 13 < sizeof(path)) {
		strcat(path, "/.git/config");
		remember(&g, path);
		git = openat(workspace, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		fd = git >= 0 ? fd_open_regular(git, "config") : -1;
	}
	if (fd >= 0 && fd_read_all(fd, &text) == 0 && text.data)
		git_remotes_visit(text.data, text.len, add_remote, &g);
	return gathered(&g, ret_members, ret_count);
}

static bool lies_in(const char *path, const char *directory)
{
	return strcmp(path, directory) == 0 || path_is_in(path, directory);
}

bool network_source_is_open(const struct binder *b, const char *source)
{
	const char *home = b->request ? b->request->home : NULL;
	size_t n = (size_t)(strrchr(source, ':') - source);
	char path[PATH_MAX], real[PATH_MAX], wide[PATH_MAX], writable[PATH_MAX];

	if (n >= sizeof(path))
		return true;
	memcpy(path, source, n);
	path[n] = '\0';
	if (!realpath(path, real))
		return true; /* it has gone meanwhile */
	for (const char *const *w = b->profile->sandbox.writable; w && *w; w++) {
		bool in_home = **w == '~' && home;

		if (snprintf(wide, sizeof(wide), "%s%s", in_home ? home : "", *w + in_home) >=
		    (int)sizeof(wide))
			return true;
		if (lies_in(path, wide) || lies_in(real, wide) ||
		    (realpath(wide, writable) && lies_in(real, writable)))
			return true;
	}
	return false;
}
