/*
 * Globs and paths as texts. Nothing here asks the file system.
 */
#include "policy/inside.h"

#include <string.h>
#include "base/arena.h"

/* One bracket expression at [; returns what follows it, or NULL if it is not closed. */
static const char *bracket(const char *g, unsigned char c, bool *ret_match)
{
	bool negated = g[1] == '!' || g[1] == '^', match = false;
	const char *p = g + 1 + negated, *first = p;

	for (; *p && (*p != ']' || p == first); p++) {
		if (p[1] == '-' && p[2] && p[2] != ']') {
			match |= c >= (unsigned char)p[0] && c <= (unsigned char)p[2];
			p += 2;
		} else {
			if (*p == '\\' && p[1])
				p++;
			match |= c == (unsigned char)*p;
		}
	}
	if (!*p)
		return NULL;
	*ret_match = match != negated && c != '/';
	return p + 1;
}

/* Iterative, with one point to go back to for * and one for **: ** swallows all that * could. */
bool glob_matches(const char *glob, const char *text, bool cross)
{
	const char *star = NULL, *star_text = NULL, *deep = NULL, *deep_text = NULL;

	while (*text || *glob) {
		bool match = false;
		const char *next;

		if (glob[0] == '*') {
			bool two = glob[1] == '*';

			while (*glob == '*')
				glob++;
			if (two || cross) {
				deep = glob;
				deep_text = text;
				star = NULL;
			} else {
				star = glob;
				star_text = text;
			}
			continue;
		}
		if (*text && *glob) {
			if (*glob == '[' && (next = bracket(glob, (unsigned char)*text, &match))) {
				if (match) {
					glob = next;
					text++;
					continue;
				}
			} else if ((*glob == '?' && (*text != '/' || cross)) ||
			           (*glob == '\\' && glob[1] == *text) || *glob == *text) {
				glob += *glob == '\\' && glob[1] == *text ? 2 : 1;
				text++;
				continue;
			}
		}
		if (star && *star_text && *star_text != '/') {
			glob = star;
			text = ++star_text;
		} else if (deep && *deep_text) {
			star = NULL;
			glob = deep;
			text = ++deep_text;
		} else {
			return false;
		}
	}
	return true;
}

#define MEET_STEPS 20000

/* One element of a glob: a character, a set of them, or a run of any. */
struct element {
	bool star, deep, any;
	unsigned char c;
	size_t n;
};

static struct element element_at(const char *g)
{
	struct element e = {.n = 1};
	bool ignored;
	const char *end;

	if (g[0] == '*') {
		e.star = true;
		e.deep = g[1] == '*';
		while (g[e.n] == '*')
			e.n++;
	} else if (g[0] == '?') {
		e.any = true;
	} else if (g[0] == '[' && (end = bracket(g, 'a', &ignored))) {
		e.any = true; /* more than it says: meeting is a suspicion only */
		e.n = (size_t)(end - g);
	} else if (g[0] == '\\' && g[1]) {
		e.c = (unsigned char)g[1];
		e.n = 2;
	} else {
		e.c = (unsigned char)g[0];
	}
	return e;
}

static bool one_fits(struct element a, struct element b)
{
	if (a.any && b.any)
		return true;
	if (a.any)
		return b.c != '/';
	return b.any ? a.c != '/' : a.c == b.c;
}

static bool meet(const char *a, const char *b, unsigned *steps)
{
	for (;;) {
		struct element x = element_at(a), y = element_at(b);

		if (++*steps > MEET_STEPS)
			return true;
		if (!*a && !*b)
			return true;
		/* With bash's globstar this is no directory, too. */
		if (y.deep && b[y.n] == '/' && meet(a, b + y.n + 1, steps))
			return true;
		if (x.star && *a) {
			if (meet(a + x.n, b, steps))
				return true;
			if (!*b)
				return false;
			if (!y.star && !x.deep && !y.any && y.c == '/')
				return false;
			b += y.n;
			continue;
		}
		if (y.star && *b) {
			if (meet(a, b + y.n, steps))
				return true;
			if (!*a)
				return false;
			if (!y.deep && !x.any && x.c == '/')
				return false;
			a += x.n;
			continue;
		}
		if (!*a || !*b || !one_fits(x, y))
			return false;
		a += x.n;
		b += y.n;
	}
}

bool globs_meet(const char *a, const char *b)
{
	unsigned steps = 0;

	return meet(a, b, &steps);
}

/* /proc has the root under other names. */
static bool is_root_again(const char *path, size_t n)
{
	static const char *const names[] = {"/proc/self/root", "/proc/thread-self/root"};

	for (size_t i = 0; i < array_size(names); i++)
		if (strlen(names[i]) == n && memcmp(path, names[i], n) == 0)
			return true;
	return false;
}

/* Appends the parts of a path to what is folded already. */
static size_t fold_parts(char *out, size_t used, size_t root, const char *path, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t len = 0;

		while (i < n && path[i] == '/')
			i++;
		while (i + len < n && path[i + len] != '/')
			len++;
		if (len == 2 && path[i] == '.' && path[i + 1] == '.') {
			while (used > root && out[used - 1] != '/')
				used--;
			if (used > root)
				used--;
		} else if (len && !(len == 1 && path[i] == '.')) {
			out[used++] = '/';
			memcpy(out + used, path + i, len);
			used += len;
			if (is_root_again(out, used))
				used = 0;
		}
		i += len;
	}
	return used;
}

char *path_fold(struct look *l, const char *base, const char *path, size_t n)
{
	size_t base_len = base ? strlen(base) : 0, used = 0, root = 0;
	char *out = look_alloc(l, base_len + n + 4);

	if (!out)
		return NULL;
	if (n && path[0] == '~' && (n == 1 || path[1] == '/')) {
		out[used++] = '~';
		root = 1; /* above it is not told apart from it: still a root */
		used = fold_parts(out, used, root, path + 1, n - 1);
	} else {
		if (!n || path[0] != '/') {
			if (base_len && base[0] == '~') {
				out[used++] = '~';
				root = 1;
				used = fold_parts(out, used, root, base + 1, base_len - 1);
			} else {
				used = fold_parts(out, used, root, base ? base : "", base_len);
			}
		}
		used = fold_parts(out, used, root, path, n);
	}
	if (!used)
		out[used++] = '/';
	out[used] = '\0';
	return out;
}
