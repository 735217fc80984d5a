/*
 * Programs name the path before or after the reason, in quotes or not, among other words:
 *
 *	/bin/bash: line 1: .git/config: Read-only file system
 *	touch: cannot touch '/usr/x': Read-only file system
 *	Error: EACCES: permission denied, open '/srv/data/x'
 *
 * So a line is split at everything that is rarely part of a path, and each word with a slash or a
 * leading dot is tried in turn. A word that is long or not plain ASCII is none: it may be shown.
 */
#include "engine/hint-path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/path.h"
#include "engine/hint.h"
#include "task/report.h"
#include "sandbox/spec.h"

#define BETWEEN " \t\n'\"`:;,=()[]{}<>|&*?$\\"

/* PATH is absolute and without "." and ".."; WRITTEN is how the line has it. */
typedef bool path_fits(const struct hint_facts *f, const char *path, const char *written,
                       char ret_path[HINT_PATH_MAX]);

/* Appends the components of PATH to what is in INTO. False: there is no room. */
static bool append(char into[PATH_MAX], const char *path)
{
	size_t len = strlen(into), n;

	for (; *path; path += n + (path[n] == '/')) {
		n = strcspn(path, "/");
		if (n == 0 || (n == 1 && *path == '.'))
			continue;
		if (n == 2 && strncmp(path, "..", 2) == 0) {
			while (len > 0 && into[--len] != '/')
				;
			into[len] = '\0';
			continue;
		}
		if (len + n + 2 > PATH_MAX)
			return false;
		into[len++] = '/';
		memcpy(into + len, path, n);
		len += n;
		into[len] = '\0';
	}
	return true;
}

static bool join(const char *directory, const char *path, char into[PATH_MAX])
{
	into[0] = '\0';
	return (!directory || append(into, directory)) && append(into, path) && into[0];
}

/* The next word of the line that may be a path. False: there is none. */
static bool next_word(const char **at, const char *end, char word[HINT_PATH_MAX])
{
	const char *p = *at, *from;

	while (p < end) {
		for (; p < end && (*p <= ' ' || *p > '~' || strchr(BETWEEN, *p)); p++)
			;
		for (from = p; p<end && * p> ' ' && *p <= '~' && !strchr(BETWEEN, *p); p++)
			;
		size_t n = (size_t)(p - from);

		if (n > 1 && from[n - 1] == '.' && from[n - 2] != '.' && from[n - 2] != '/')
			n--; /* the end of a sentence */
		/* Half a word may be another path. */
		if ((p < end && (*p > '~' || *p < ' ') && *p != '\n') || n == 0 ||
		    n >= HINT_PATH_MAX)
			continue;
		if (*from != '.' && !memchr(from, '/', n))
			continue;
		memcpy(word, from, n);
		word[n] = '\0';
		*at = p;
		return true;
	}
	return false;
}

static bool is_in_workspace(const struct hint_facts *f, const char *path)
{
	return f->workspace && path_is_in(path, f->workspace);
}

/* An entry of the spec, "~/" expanded. */
static bool is_in_entry(const struct hint_facts *f, const char *path, const char *entry)
{
	char place[PATH_MAX];

	if (*entry == '~')
		return f->home && join(f->home, entry + 1, place) && path_is_in(path, place);
	return path_is_in(path, entry);
}

static const char *find_entry(const struct hint_facts *f, const char *path,
                              const char *const *entries)
{
	for (; entries && *entries; entries++)
		if (is_in_entry(f, path, *entries))
			return *entries;
	return NULL;
}

/* The entry of sandbox.protected that PATH is in, or that is in PATH. */
static bool find_protected(const struct hint_facts *f, const char *path, bool around,
                           char ret_path[HINT_PATH_MAX])
{
	const char *const tops[] = {f->workspace, f->root};
	char place[PATH_MAX];

	for (const char *const *e = f->spec->protected_; e && *e; e++)
		for (size_t i = 0; i < array_size(tops); i++)
			if (tops[i] && join(tops[i], *e, place) &&
			    (around ? path_is_in(place, path) && !path_is_in(tops[i], path)
			            : path_is_in(path, place))) {
				snprintf(ret_path, HINT_PATH_MAX, "%s", *e);
				return true;
			}
	return false;
}

/* Then a notice of its own says what became of it. */
static bool is_held(const struct hint_facts *f, const char *entry)
{
	size_t n = strlen(entry);

	for (const char *line = f->report->held; *line;
	     line = strchrnul(line, '\n'), line += !!*line)
		if (strncmp(line, entry, n) == 0 && line[n] == '\t')
			return true;
	return false;
}

static bool fits_protected(const struct hint_facts *f, const char *path, const char *written,
                           char ret_path[HINT_PATH_MAX])
{
	return find_protected(f, path, false, ret_path) && !is_held(f, ret_path);
}

static bool fits_around(const struct hint_facts *f, const char *path, const char *written,
                        char ret_path[HINT_PATH_MAX])
{
	return find_protected(f, path, true, ret_path);
}

static bool fits_secret(const struct hint_facts *f, const char *path, const char *written,
                        char ret_path[HINT_PATH_MAX])
{
	const char *entry = find_entry(f, path, f->spec->secrets);

	if (entry)
		snprintf(ret_path, HINT_PATH_MAX, "%s", entry);
	return entry;
}

static bool fits_workspace(const struct hint_facts *f, const char *path, const char *written,
                           char ret_path[HINT_PATH_MAX])
{
	snprintf(ret_path, HINT_PATH_MAX, "%s", written);
	return is_in_workspace(f, path);
}

static bool is_in_any(const char *path, const char *const *directories, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (path_is_in(path, directories[i]))
			return true;
	return false;
}

static bool is_tmp(const struct hint_facts *f, const char *path)
{
	static const char *const places[] = {"/tmp", "/var/tmp", "/dev/shm"};

	return !is_in_workspace(f, path) && is_in_any(path, places, array_size(places));
}

static bool is_temporary(const struct hint_facts *f, const char *path)
{
	return is_tmp(f, path) ||
	       (f->home && path_is_in(path, f->home) && !is_in_workspace(f, path));
}

/* Other words are a path only by their look. */
static bool leaves(const char *written)
{
	return *written == '/' || strncmp(written, "../", 3) == 0;
}

/* What the sandbox shows of every host, or has of its own. */
static bool fits_hidden(const struct hint_facts *f, const char *path, const char *written,
                        char ret_path[HINT_PATH_MAX])
{
	static const char *const shown[] = {"/usr",  "/etc",  "/opt", "/nix",     "/gnu",
	                                    "/bin",  "/sbin", "/lib", "/lib32",   "/lib64",
	                                    "/proc", "/dev",  "/tmp", "/var/tmp", "/libx32"};

	snprintf(ret_path, HINT_PATH_MAX, "%s", written);
	return leaves(written) && !is_in_workspace(f, path) &&
	       !is_in_any(path, shown, array_size(shown)) &&
	       !find_entry(f, path, f->spec->readable) && !find_entry(f, path, f->spec->writable) &&
	       !find_entry(f, path, f->spec->sockets) &&
	       !(f->workspace && path_is_in(f->workspace, path));
}

static bool fits_outside(const struct hint_facts *f, const char *path, const char *written,
                         char ret_path[HINT_PATH_MAX])
{
	snprintf(ret_path, HINT_PATH_MAX, "%s", written);
	return leaves(written) && !is_in_workspace(f, path) && !is_temporary(f, path) &&
	       !path_is_in(path, "/dev") && !path_is_in(path, "/proc") &&
	       !find_entry(f, path, f->spec->writable);
}

static bool fits_temporary(const struct hint_facts *f, const char *path, const char *written,
                           char ret_path[HINT_PATH_MAX])
{
	snprintf(ret_path, HINT_PATH_MAX, "%s", written);
	return is_temporary(f, path);
}

static bool fits_tmp(const struct hint_facts *f, const char *path, const char *written,
                     char ret_path[HINT_PATH_MAX])
{
	snprintf(ret_path, HINT_PATH_MAX, "%s", written);
	return is_tmp(f, path) && !find_entry(f, path, f->spec->readable) &&
	       !find_entry(f, path, f->spec->writable);
}

static bool fits_unshared(const struct hint_facts *f, const char *path, const char *written,
                          char ret_path[HINT_PATH_MAX])
{
	snprintf(ret_path, HINT_PATH_MAX, "%s", written);
	return is_temporary(f, path) && !find_entry(f, path, f->spec->readable) &&
	       !find_entry(f, path, f->spec->writable) &&
	       !(f->workspace && path_is_in(f->workspace, path));
}

/* A command that went deeper writes the way back before the path. */
static const char *skip_up(const char *path)
{
	while (strncmp(path, "../", 3) == 0)
		path += 3;
	return path;
}

/* Behind the name of the program that complains: "/bin/bash: line 1: x: Permission denied". */
static const char *skip_program(const char *line, size_t n)
{
	const char *colon = memchr(line, ':', n);
	size_t left = colon ? n - (size_t)(colon + 1 - line) : 0;

	return colon && memchr(colon + 1, ':', left) ? colon : line;
}

bool hint_path_find(const struct hint_facts *f, enum hint_path kind, const char *line, size_t n,
                    char ret_path[HINT_PATH_MAX])
{
	static path_fits *const fits[HINT_PATH_KINDS] = {
		[HINT_PATH_PROTECTED] = fits_protected, [HINT_PATH_AROUND] = fits_around,
		[HINT_PATH_SECRET] = fits_secret,       [HINT_PATH_WORKSPACE] = fits_workspace,
		[HINT_PATH_HIDDEN] = fits_hidden,       [HINT_PATH_OUTSIDE] = fits_outside,
		[HINT_PATH_TEMPORARY] = fits_temporary, [HINT_PATH_TMP] = fits_tmp,
		[HINT_PATH_UNSHARED] = fits_unshared,
	};
	const char *const places[] = {f->cwd, f->workspace};
	/* Programs are where nothing is written. */
	const char *at = kind == HINT_PATH_OUTSIDE ? skip_program(line, n) : line, *end = line + n;
	char word[HINT_PATH_MAX], path[PATH_MAX];

	while (f->spec && fits[kind] && next_word(&at, end, word))
		for (size_t i = 0; i < (*word == '/' ? 1 : array_size(places)); i++)
			if (join(*word == '/' ? NULL : places[i], i ? skip_up(word) : word, path) &&
			    fits[kind](f, path, word, ret_path))
				return true;
	return false;
}
