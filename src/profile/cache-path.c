/*
 * Which directories of home may persist across sessions (`room.caches`). A command of one session
 * fills them and one of the next reads them, so nothing may be among them that decides what a line
 * means: programs that PATH finds, what git reads, configuration that names programs. Only the
 * operator's files can name a cache; this is a guard against naming too much.
 */
#include <string.h>
#include "base/cleanup.h"
#include "profile/bind.h"
#include "profile/profile.h"

/* At the top of home there are dot files, and directories with programs or configuration in them:
 * only these few hold nothing but what can be fetched or built again. */
static const char *const whole[] = {".cache", ".npm", ".ccache", ".sccache", ".pub-cache"};

/* Of these, only the one directory, or what lies in it. */
static const struct {
	const char *top, *parts[3];
} partly[] = {
	{".cargo", {"registry"}},
	{".gradle", {"caches", "wrapper"}}, /* init.d and init.gradle are programs */
	{".m2", {"repository"}},            /* settings.xml names mirrors and passwords */
	{"go", {"pkg"}},
	{".local", {"share"}},
};

static const char *const never_in[] = {".config", ".ssh",    ".gnupg", ".aws",
                                       ".azure",  ".docker", ".kube",  ".git"};
static const char *const never_named[] = {"bin", "sbin", "shims", "libexec",
                                          "git", ".git", "hooks"};

static bool is_one(const char *const *list, size_t count, const char *part, size_t n)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(list[i]) == n && memcmp(list[i], part, n) == 0)
			return true;
	return false;
}

/* Each name of the path: not empty, no dots, not that of a directory of programs. */
static const char *fault_of_names(const char *rest)
{
	for (const char *p = rest, *end;; p = end + 1) {
		size_t n;

		end = strchrnul(p, '/');
		n = (size_t)(end - p);
		if (n == 0 || (n == 1 && *p == '.'))
			return "has an empty part or a '.'";
		if (n == 2 && memcmp(p, "..", 2) == 0)
			return "holds '..'";
		if (n > 255)
			return "has a name that is too long";
		if (is_one(never_named, array_size(never_named), p, n))
			return "is where programs or git's files lie; these never persist across "
			       "sessions";
		if (!*end)
			return NULL;
	}
}

const char *bind_cache_fault(const char *path)
{
	const char *rest = path + 2, *slash, *fault;
	size_t n;

	if (strcmp(path, "~") == 0 || strcmp(path, "~/") == 0)
		return "is the whole home; name directories of caches in it, like ~/.npm";
	if (strncmp(path, "~/", 2) != 0)
		return "is no directory of home: it must begin with ~/";
	fault = fault_of_names(rest);
	if (fault)
		return fault;
	slash = strchrnul(rest, '/');
	n = (size_t)(slash - rest);
	if (is_one(never_in, array_size(never_in), rest, n))
		return "is configuration or a secret, which never persists across sessions";
	for (size_t i = 0; i < array_size(partly); i++) {
		const char *part = *slash ? slash + 1 : "";

		if (strlen(partly[i].top) != n || memcmp(partly[i].top, rest, n) != 0)
			continue;
		/* ~/.local/share is a home of many programs, a directory of it is one's. */
		if (strcmp(part, "share") == 0)
			return "is not a directory of caches alone; name a directory in it";
		for (size_t j = 0; j < array_size(partly[i].parts) && partly[i].parts[j]; j++)
			if (strcspn(part, "/") == strlen(partly[i].parts[j]) &&
			    strncmp(part, partly[i].parts[j], strlen(partly[i].parts[j])) == 0)
				return NULL;
		return "has programs or configuration in it; name only the caches, like "
		       "~/.cargo/registry, ~/.gradle/caches, ~/.m2/repository, ~/go/pkg";
	}
	if (!*slash && !is_one(whole, array_size(whole), rest, n))
		return "is a file or directory at the top of home; name the directory of caches in "
		       "it";
	return NULL;
}

static bool is_within(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return strncmp(path, directory, n) == 0 && (!path[n] || path[n] == '/');
}

int bind_caches(struct binder *b, const char *name, const struct yaml_node *node,
                const char *const *list)
{
	size_t count = bind_texts_count(list);

	if (count > PROFILE_CACHES_MAX)
		return bind_fail(b, node, "'%s': more than %d directories", name,
		                 PROFILE_CACHES_MAX);
	/* What lies in another one would be for commands to fill: a link there leads anywhere. */
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			if (i != j && is_within(list[i], list[j]))
				return bind_fail(b, node, "'%s': '%.60s' lies in '%.60s'", name,
				                 list[i], list[j]);
	return 0;
}
