/*
 * Whether operands stay in the workspace.
 *
 * The kernel resolves them, from the directory that is held open: openat2() with RESOLVE_BENEATH
 * refuses whatever leaves it, by "..", by a link, or by an absolute name. What does not exist yet
 * is judged by the deepest directory of it that does, and the rest must go down from there.
 * Absolute names and links are resolved without that flag, and compared by where they end.
 */
#include "policy/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/fd.h"
#include "base/path.h"

/* Without RESOLVE_BENEATH. Places that have no openat2() follow links of /proc, too: what counts is
 * where the path ends. */
static int open_path(int dir, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(dir, path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static char *real_path(struct look *l, int fd)
{
	char real[PATH_MAX];

	return path_of_fd(fd, real) == 0 ? look_string(l, real, strlen(real)) : NULL;
}

const char *paths_workspace(struct look *l)
{
	if (!l->workspace_real && l->q->workspace_fd >= 0)
		l->workspace_real = real_path(l, l->q->workspace_fd);
	return l->workspace_real;
}

static bool ends_inside(struct look *l, int fd)
{
	const char *top = paths_workspace(l), *real = real_path(l, fd);
	size_t n = top ? strlen(top) : 0;

	return n && real && strncmp(real, top, n) == 0 &&
	       (!real[n] || real[n] == '/' || strcmp(top, "/") == 0);
}

/* Cuts the last part off; false: there is none, or it goes up. */
static bool cut_last(char *path)
{
	size_t n = strlen(path);
	char *last;

	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	last = strrchr(path, '/');
	last = last ? last + 1 : path;
	if (!*last || strcmp(last, "..") == 0)
		return false;
	if (last == path)
		strcpy(path, ".");
	else if (last == path + 1)
		*last = '\0';
	else
		last[-1] = '\0';
	return true;
}

bool path_is_inside(struct look *l, const char *path)
{
	int dir = path[0] == '/' ? AT_FDCWD : l->q->workspace_fd;
	const char *cwd = l->q->cwd ? l->q->cwd : ".";
	char *at;

	if (l->q->workspace_fd < 0 || !*path)
		return false;
	at = path[0] == '/' ? look_string(l, path, strlen(path))
	                    : arena_printf(l->arena, "%s/%s", cwd, path);
	if (!at || strlen(at) >= PATH_MAX)
		return false;
	for (;;) {
		scoped(fd_closep) int fd = -1;

		if (dir != AT_FDCWD) {
			fd = path_open_beneath(dir, at, O_PATH);
			if (fd >= 0)
				return true;
		}
		if (fd != -ENOENT)
			fd = open_path(dir, at);
		if (fd >= 0)
			return ends_inside(l, fd);
		if ((fd != -ENOENT && fd != -ENOTDIR && fd != -ENAMETOOLONG) ||
		    strcmp(at, ".") == 0 || !cut_last(at))
			return false;
	}
}

/* Operands of one command */

#define START_MAX  32   /* where the value of an option could begin in its word */
#define STARTS_MAX 1024 /* in all words of a command */

struct walk {
	struct look *l;
	const char **ret_operand;
	bool relative;
	bool removes; /* the words are removed: then the workspace itself is not inside */
	size_t starts;
	enum match inside; /* all of them so far */
};

static bool is_workspace(struct look *l, const char *path)
{
	int dir = path[0] == '/' ? AT_FDCWD : l->q->workspace_fd;
	const char *cwd = l->q->cwd ? l->q->cwd : ".", *top = paths_workspace(l), *real;
	char *at = path[0] == '/' ? look_string(l, path, strlen(path))
	                          : arena_printf(l->arena, "%s/%s", cwd, path);
	scoped(fd_closep) int fd = at ? open_path(dir, at) : -ENOMEM;

	real = fd >= 0 ? real_path(l, fd) : NULL;
	return real && top && strcmp(real, top) == 0;
}

static void judge(struct walk *w, const struct shell_fact_word *word, const char *text)
{
	bool in;

	if (!text) {
		if (w->inside > MATCH_MAYBE)
			*w->ret_operand = word->node ? word->text.bytes : NULL;
		w->inside = match_least(w->inside, MATCH_MAYBE);
		return;
	}
	in = !(w->relative && text[0] == '/') && text[0] != '~' && path_is_inside(w->l, text) &&
	     !(w->removes && is_workspace(w->l, text));
	if (in && w->l->moves && text[0] != '/') {
		w->inside = match_least(w->inside, MATCH_MAYBE);
	} else if (!in) {
		w->inside = MATCH_NO;
		*w->ret_operand = text;
	}
}

/* A word that may be a path, or hold one: if=FILE, @FILE, name=@FILE, file:///FILE. */
static void judge_text(struct walk *w, const struct shell_fact_word *word, const char *text)
{
	const char *equals = strchr(text, '='), *url = strstr(text, "://");

	if (!*text)
		return;
	if (strncmp(text, "file:", 5) == 0) {
		text += 5 + (strncmp(text + 5, "//", 2) == 0 ? 2 : 0);
		equals = url = NULL;
	}
	judge(w, word, text);
	if (url && equals > url)
		equals = NULL;
	for (size_t i = 0; equals && equals[1] && w->inside; equals = strchr(text, '=')) {
		text = equals + 1;
		judge(w, word, ++i < START_MAX ? text : NULL);
	}
	if (text[0] == '@' && text[1] && w->inside)
		judge(w, word, text + 1);
}

static void judge_word(struct walk *w, const struct shell_fact_word *word)
{
	struct candidates c;

	if (word->kind == SHELL_VALUE_KNOWN) {
		judge_text(w, word, word->text.bytes);
		return;
	}
	word_candidates(w->l, word, &c);
	for (size_t i = 0; i < c.count && w->inside; i++) {
		/* A pattern leaves the workspace only if its fixed beginning does, or a link. */
		if (word->kind == SHELL_VALUE_GLOB) {
			size_t n = strcspn(c.text[i], "*?[");
			const char *slash = memrchr(c.text[i], '/', n);
			char *fixed = slash ? look_string(w->l, c.text[i],
			                                  (size_t)(slash + 1 - c.text[i]))
			                    : look_string(w->l, ".", 1);

			if (fixed)
				judge(w, word, fixed);
			w->inside = match_least(w->inside, MATCH_LIKELY);
		} else {
			judge_text(w, word, c.text[i]);
		}
	}
	if (!c.all && w->inside)
		judge(w, word, NULL);
}

/* What an option could name: --file=../x, -I/usr, -t... */
static void judge_option(struct walk *w, const struct shell_fact_word *word,
                         const struct word_role *r)
{
	const char *text = word->text.bytes;
	size_t n = word->text.len;

	if (word->kind != SHELL_VALUE_KNOWN) {
		if (n > 2)
			w->inside = match_least(w->inside, MATCH_MAYBE);
		return;
	}
	if (!r->glued)
		return;
	if (!r->loose) {
		judge_text(w, word, text + r->glued);
		return;
	}
	for (size_t i = r->glued; i < n && w->inside; i++) {
		if (i >= r->glued + START_MAX || w->starts++ >= STARTS_MAX) {
			judge(w, word, NULL);
			return;
		}
		judge_text(w, word, text + i);
	}
}

/* Programs that take away what they name; mv leaves its last word in place. */
static bool removes_word(const struct subject *s, size_t at)
{
	static const char *const names[] = {"rm", "rmdir", "unlink", "shred", NULL};

	if (word_in_list(names, s->name))
		return true;
	if (strcmp(s->name, "mv") != 0)
		return false;
	for (size_t i = at + 1; i < s->command->word_count; i++)
		if (s->roles[i].role == ROLE_OPERAND || s->roles[i].role == ROLE_OPEN)
			return true;
	return false;
}

enum match paths_match(struct look *l, struct subject *s, enum policy_paths paths,
                       const char **ret_operand)
{
	const struct shell_fact_command *c = s->command;
	const struct word_role *roles = subject_roles(l, s);
	struct walk w = {.l = l,
	                 .ret_operand = ret_operand,
	                 .relative = paths == POLICY_PATHS_RELATIVE_INSIDE,
	                 .inside = MATCH_YES};

	if (!roles)
		return MATCH_MAYBE;
	look_words_read(l);
	/* The program itself is a path, if it is written as one. */
	if (strchr(s->word, '/') && s->word[0] != '/' && paths == POLICY_PATHS_OUTSIDE)
		judge(&w, &c->words[0], s->word);
	for (size_t i = 1; i < c->word_count && w.inside; i++) {
		w.removes = paths != POLICY_PATHS_OUTSIDE && removes_word(s, i);
		if (roles[i].role == ROLE_OPTION)
			judge_option(&w, &c->words[i], &roles[i]);
		else if (roles[i].role != ROLE_END && !roles[i].text)
			judge_word(&w, &c->words[i]);
	}
	if (paths != POLICY_PATHS_OUTSIDE)
		return w.inside;
	if (w.inside == MATCH_NO)
		return MATCH_YES;
	return w.inside == MATCH_MAYBE ? MATCH_MAYBE : MATCH_NO;
}

/* Suspicions */

/* By its look alone: absolute, going up, or unknown. */
static bool looks_outside(const struct shell_fact_word *w)
{
	const char *t = w->text.bytes;

	if (w->kind == SHELL_VALUE_GLOB)
		return t[0] == '/' || t[0] == '~' || strstr(t, "..");
	if (w->kind != SHELL_VALUE_KNOWN)
		return !w->pipe;
	return t[0] == '/' || t[0] == '~' || strstr(t, "..") || strstr(t, "=/") ||
	       strstr(t, "@/") || strncmp(t, "file:", 5) == 0 || (t[0] == '-' && strchr(t, '/'));
}

/* A link in the workspace may lead out of it. What does not exist leads nowhere. */
static bool leads_out(struct look *l, const struct shell_fact_word *w)
{
	scoped(fd_closep) int fd = -1;
	const char *cwd = l->q->cwd ? l->q->cwd : ".";
	size_t n = w->text.len;
	char path[PATH_MAX];

	if (w->kind == SHELL_VALUE_GLOB) { /* the directories in front of the pattern */
		const char *slash = memrchr(w->text.bytes, '/', strcspn(w->text.bytes, "*?["));

		n = slash ? (size_t)(slash - w->text.bytes) : 0;
	} else if (w->kind != SHELL_VALUE_KNOWN) {
		return false;
	}
	if (!n || w->text.bytes[0] == '-' || l->q->workspace_fd < 0)
		return false;
	if (strcmp(cwd, ".") == 0 && n == w->text.len) {
		fd = path_open_beneath(l->q->workspace_fd, w->text.bytes, O_PATH);
	} else {
		if ((size_t)snprintf(path, sizeof(path), "%s/%.*s", cwd, (int)n, w->text.bytes) >=
		    sizeof(path))
			return true;
		fd = path_open_beneath(l->q->workspace_fd, path, O_PATH);
	}
	return fd < 0 && fd != -ENOENT && fd != -ENOTDIR && fd != -ENAMETOOLONG;
}

static bool is_open_already(const struct shell_fact_word *w)
{
	static const char *const names[] = {"/dev/null",   "/dev/stdin", "/dev/stdout",
	                                    "/dev/stderr", "/dev/tty",   NULL};

	return w->pipe || (w->kind == SHELL_VALUE_KNOWN && word_in_list(names, w->text.bytes));
}

bool paths_redirects_leave(struct look *l, const struct shell_fact_command *c)
{
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_fact_redirect *r = &c->redirects[i];
		size_t n = strlen(r->op);

		if (r->heredoc || r->op[n - 1] == '&' || strcmp(r->op, "<<<") == 0 ||
		    is_open_already(&r->target))
			continue;
		if (looks_outside(&r->target) || leads_out(l, &r->target))
			return true;
	}
	return false;
}

bool paths_words_leave(struct look *l, struct subject *s)
{
	const struct shell_fact_command *c = s->command;
	const struct word_role *roles = subject_roles(l, s);

	for (size_t i = 0; i < c->does_count; i++)
		if (strcmp(c->does[i].effect, "read-outside") == 0 &&
		    strcmp(c->does[i].by, "operand") != 0)
			return true;
	for (size_t i = 1; roles && i < c->word_count; i++) {
		if (roles[i].text || is_open_already(&c->words[i]) ||
		    (roles[i].role == ROLE_OPTION && roles[i].sure && !roles[i].glued &&
		     c->words[i].kind == SHELL_VALUE_KNOWN))
			continue;
		if (looks_outside(&c->words[i]) || leads_out(l, &c->words[i]))
			return true;
	}
	return !roles;
}
