#include "engine/hint-lost.h"

#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"
#include "engine/hint.h"
#include "sandbox/spec.h"
#include "task/report.h"

#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/" /* of a path */

bool hint_lost_directory(const struct hint_facts *f)
{
	return f->command && !f->has_session && f->exit_code == 0 &&
	       strncmp(f->command, "cd ", 3) == 0 && !strpbrk(f->command, ";&|<>()\n");
}

bool hint_lost_room(const struct hint_facts *f)
{
	static const char *const shared[] = {"/tmp",   "/dev/shm",  "~",        "HOME",
	                                     "TMPDIR", "localhost", "127.0.0.1"};
	enum sandbox_tier tier = f->report->sandbox.tier;

	if (!f->wants_room || !f->has_session || f->report->room.id[0] ||
	    (tier != SANDBOX_TIER_LANDLOCK && tier != SANDBOX_TIER_CONTAINER))
		return false;
	for (size_t i = 0; f->command && i < array_size(shared); i++)
		if (strstr(f->command, shared[i]))
			return true;
	return false;
}

/* The operator has opened it: then it stays. */
static bool is_granted(const struct hint_facts *f, const char *path)
{
	for (const char *const *w = f->spec ? f->spec->writable : NULL; w && *w; w++) {
		const char *grant = *w;
		size_t n = strlen(grant);

		if (strncmp(path, grant, n) == 0 && (!path[n] || path[n] == '/'))
			return true;
	}
	return false;
}

/* Whether the path at TEXT is one of a place that ends with the command. */
static bool reads_lost_path(const struct hint_facts *f, const char *text, char path[HINT_PATH_MAX])
{
	static const char *const places[] = {"/tmp/", "/dev/shm/", "~/"};
	size_t n = *text == '~' ? 1 + strspn(text + 1, PLAIN) : strspn(text, PLAIN);
	const char *again;

	if (n + 1 > HINT_PATH_MAX || (text[n] && !strchr(" \n;&|)", text[n])))
		return false;
	snprintf(path, HINT_PATH_MAX, "%.*s", (int)n, text);
	/* What the line reads, moves or removes afterwards was meant for the line. */
	again = strstr(f->command, path);
	if (strstr(again + 1, path) || is_granted(f, path) || strstr(path, ".."))
		return false;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (strncmp(path, places[i], strlen(places[i])) == 0 && path[strlen(places[i])])
			return true;
	return false;
}

bool hint_lost_file(const struct hint_facts *f, char path[HINT_PATH_MAX])
{
	const char *p = f->command;

	if (!p || f->exit_code != 0 || f->scratch_stays || strpbrk(p, "'\"\\`$"))
		return false;
	/* A workspace in /tmp is shown where it lies, and what is in it stays. */
	while ((p = strchr(p, '>'))) {
		p += strspn(p, ">| ");
		if (reads_lost_path(f, p, path) &&
		    strncmp(path, f->workspace, strlen(f->workspace)) != 0)
			return true;
	}
	return false;
}
