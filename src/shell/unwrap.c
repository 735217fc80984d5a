/*
 * Each shape is read from the front by its own words, and what is left must be empty. Words in
 * quotes are read as bash reads them, as far as their value is known: one with an expansion in it
 * ends the reading.
 */
#include "shell/unwrap.h"

#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"

/* Moves *AT past WORDS. */
static bool take(const char **at, const char *words)
{
	size_t n = strlen(words);

	if (strncmp(*at, words, n) != 0)
		return false;
	*at += n;
	return true;
}

/* One part of a word in quotes; *AT is at the opening one. */
static bool take_quoted(const char **at, struct buffer *into)
{
	char quote = *(*at)++;
	const char *p = *at;

	for (; *p && *p != quote; p++) {
		if (quote == '"' && (*p == '$' || *p == '`'))
			return false;
		if (quote == '"' && *p == '\\' && p[1] && strchr("$`\"\\\n", p[1])) {
			if (*++p != '\n')
				buffer_putc(into, *p);
			continue;
		}
		buffer_putc(into, *p);
	}
	if (!*p)
		return false;
	*at = p + 1;
	return true;
}

/* A word whose value is known: in quotes, behind backslashes, or of plain characters. It is not
 * empty, and a blank, a newline, an operator or the end follows. */
static bool take_word(const char **at, struct buffer *into)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "/._-+,:@%=";
	const char *p = *at;

	buffer_clear(into);
	for (;;) {
		if (*p == '\'' || *p == '"') {
			if (!take_quoted(&p, into))
				return false;
		} else if (*p == '\\' && p[1] && p[1] != '\n') {
			buffer_putc(into, p[1]);
			p += 2;
		} else if (*p && strchr(plain, *p)) {
			buffer_putc(into, *p++);
		} else {
			break;
		}
	}
	if (p == *at || (*p && !strchr(" \n;&|", *p)))
		return false;
	*at = p;
	return buffer_error(into) == 0;
}

static const char *keep(struct arena *arena, const struct buffer *b)
{
	return memchr(buffer_str(b), '\0', b->len) ? NULL
	                                           : arena_strndup(arena, buffer_str(b), b->len);
}

/* What stands before eval and does nothing in a room. */
static bool take_preparations(const char **at, struct buffer *word, struct arena *arena,
                              const char **ret_snapshot)
{
	for (;;) {
		const char *p = *at;

		if (take(&p, "shopt -u extglob 2>/dev/null || true && ") ||
		    take(&p, "setopt NO_EXTENDED_GLOB 2>/dev/null || true && ")) {
			*at = p;
			continue;
		}
		if (!*ret_snapshot && take(&p, "source ") && take_word(&p, word) &&
		    take(&p, " 2>/dev/null || true && ")) {
			*ret_snapshot = keep(arena, word);
			*at = p;
			if (!*ret_snapshot)
				return false;
			continue;
		}
		return true;
	}
}

/* [source FILE 2>/dev/null || true && ][shopt ... && ]eval WORD[ < /dev/null] && pwd -P >| FILE */
static bool read_claude(const char *text, struct arena *arena, struct buffer *word,
                        struct unwrap *u)
{
	const char *at = text;

	if (!take_preparations(&at, word, arena, &u->snapshot) || !take(&at, "eval ") ||
	    !take_word(&at, word))
		return false;
	u->command = keep(arena, word);
	u->empty_input = take(&at, " < /dev/null") || take(&at, " \\< /dev/null");
	if (!take(&at, " && pwd -P >| ") || !take_word(&at, word) || *at)
		return false;
	u->cwd_file = keep(arena, word);
	u->shape = UNWRAP_CLAUDE;
	return true;
}

/* The script itself is of no interest: nobody runs it. */
static bool read_snapshot(const char *text, struct arena *arena, struct buffer *word,
                          struct unwrap *u)
{
	const char *at = text;

	if (!take(&at, "SNAPSHOT_FILE=") || !take_word(&at, word) || *at != '\n' ||
	    !strstr(at, "echo \"# Snapshot file\" >| \"$SNAPSHOT_FILE\""))
		return false;
	u->snapshot = keep(arena, word);
	u->shape = UNWRAP_SNAPSHOT;
	return true;
}

static bool ends_with(const char *text, size_t n, const char *end)
{
	size_t m = strlen(end);

	return n >= m && memcmp(text + n - m, end, m) == 0;
}

static bool read_gemini(const char *text, struct arena *arena, struct buffer *word,
                        struct unwrap *u)
{
	static const char guard[] = "shopt -u promptvars nullglob extglob nocaseglob dotglob; ";
	static const char begin[] = "\n(\n  trap 'jobs -p > \"$_bgpids_file\"' EXIT\n";
	static const char end[] = "\n)\n__code=$?\nexit $__code";
	const char *at = text;
	bool guarded = take(&at, guard);
	size_t n;

	if (take(&at, "_bgpids_file=")) {
		if (!take_word(&at, word) || !take(&at, begin) || !ends_with(at, strlen(at), end))
			return false;
		n = strlen(at) - strlen(end);
	} else if (guarded) {
		n = strlen(at);
	} else {
		return false;
	}
	u->command = arena_strndup(arena, at, n);
	u->shape = UNWRAP_GEMINI;
	return true;
}

int unwrap_text(const char *text, struct arena *arena, struct unwrap *ret)
{
	typedef bool reader(const char *, struct arena *, struct buffer *, struct unwrap *);
	static reader *const readers[] = {read_claude, read_snapshot, read_gemini};
	scoped(buffer_donep) struct buffer word = {0};

	for (size_t i = 0; i < array_size(readers); i++) {
		struct unwrap u = {.shape = UNWRAP_NONE};

		if (!readers[i](text, arena, &word, &u))
			continue;
		if ((u.shape == UNWRAP_SNAPSHOT && !u.snapshot) ||
		    (u.shape == UNWRAP_CLAUDE && !(u.command && u.cwd_file)) ||
		    (u.shape == UNWRAP_GEMINI && !u.command))
			return -ENOMEM;
		*ret = u;
		return 0;
	}
	*ret = (struct unwrap){.shape = UNWRAP_NONE, .command = text};
	return 0;
}
