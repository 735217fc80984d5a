/*
 * The files of profiles: whether they have changed, and which there are.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "profile/profile.h"
#include "profile/store.h"

static bool is_as_it_was(const struct profile_store *store, const struct profile_file *f)
{
	bool project = f->directory >= 0;
	int dir = project ? store->directories[f->directory] : AT_FDCWD;
	struct stat st;

	if (fstatat(dir, project ? PROFILE_PROJECT_FILE : f->path, &st,
	            project ? AT_SYMLINK_NOFOLLOW : 0) < 0)
		return !f->exists && (errno == ENOENT || errno == ENOTDIR);
	return f->exists && st.st_dev == f->dev && st.st_ino == f->ino && st.st_size == f->size &&
	       st.st_ctim.tv_sec == f->changed.tv_sec && st.st_ctim.tv_nsec == f->changed.tv_nsec;
}

bool profile_is_current(const struct profile *p)
{
	for (const struct profile_file *f = p->store->files; f; f = f->next)
		if (!is_as_it_was(p->store, f))
			return false;
	return true;
}

static void visit_directory(const char *dir, const char *sub, profile_visit *visit, void *context)
{
	char path[4096], name[65];
	struct dirent *entry;
	DIR *open_dir;

	if (!dir || snprintf(path, sizeof(path), "%s%s", dir, sub) >= (int)sizeof(path))
		return;
	open_dir = opendir(path);
	while (open_dir && (entry = readdir(open_dir))) {
		size_t n = strlen(entry->d_name);

		if (n <= 5 || n > 69 || strcmp(entry->d_name + n - 5, ".yaml") != 0 ||
		    entry->d_name[0] == '.' || (!*sub && strcmp(entry->d_name, "nacre.yaml") == 0))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(n - 5), entry->d_name);
		if (snprintf(path, sizeof(path), "%s%s/%s", dir, sub, entry->d_name) <
		    (int)sizeof(path))
			visit(context, name, path, *sub != '\0');
	}
	if (open_dir)
		closedir(open_dir);
}

void profile_names(const struct profile_request *request, profile_visit *visit, void *context)
{
	for (size_t i = 0; i < profile_builtin_count; i++)
		if (profile_builtin_runs(&profile_builtins[i]))
			visit(context, profile_builtins[i].name, NULL, profile_builtins[i].agent);
	visit_directory(request->system_dir, "", visit, context);
	visit_directory(request->user_dir, "", visit, context);
	visit_directory(request->system_dir, "/agents", visit, context);
	visit_directory(request->user_dir, "/agents", visit, context);
}
