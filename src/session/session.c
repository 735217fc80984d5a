/*
 * The trap writes one record: a mark, what `export -p` prints, what `pwd -P` prints, a mark. All
 * that the command starts inherits the descriptor, so anything may come beside; the last whole
 * record counts. A command that writes one itself could have called cd and export as well.
 *
 * The line may have traps, functions, options of its own:
 *	- `builtin` goes past functions that bear the name of a builtin;
 *	- a function `trap`, put in only where the line speaks of traps, keeps a handler for EXIT
 *	  that the line sets beside ours. It is left out where ERR, DEBUG or RETURN are spoken of:
 *	  bash has these per function. Such a line, if it sets EXIT too, leaves the session as it
 *was;
 *	- so do `exec PROGRAM` and a death by SIGKILL.
 *
 * Where the line ended with a pipeline, a record of its own tells the status of each stage. bash
 * keeps these for the handler as it keeps $?. The parts are joined by the line's own IFS.
 */
#include "session/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "json/read.h"
#include "session/away.h"
#include "session/variables.h"

#define FILE_BYTES_MAX ((size_t)1 << 20) /* JSON may need six bytes for one */

#define NUMBER_TEXT(n) #n
#define NUMBER(n)      NUMBER_TEXT(n)

/* "&& :" lets a status pass that "set -e" would end the handler for. */
#define HANDLER "{ __nacre_save && :; } >/dev/null 2>&1"

static const char save_text[] =
	"__nacre_save() { builtin local __nacre_s=$? __nacre_n=${#PIPESTATUS[@]} "
	"__nacre_p=\"${PIPESTATUS[*]}\" -; builtin set +eux; "
	"{ [[ $__nacre_n == 1 ]] || builtin printf '\\0nacre-stages %s %s\\0' \"$__nacre_n\" "
	"\"$__nacre_p\"; builtin printf '\\0nacre-session 1\\0'; builtin export -p; builtin printf "
	"'\\0'; "
	"builtin pwd -P; builtin printf '\\0end\\0'; } >&" NUMBER(
		SESSION_FD) "; builtin return $__nacre_s; }; "
			    "builtin trap '" HANDLER "' EXIT; ";

static const char trap_text[] =
	"__nacre_h='" HANDLER "'; trap() { "
	"if [[ $BASHPID != \"$$\" ]]; then builtin trap \"$@\"; builtin return; fi; "
	"{ builtin local - __nacre_s __nacre_t; builtin set +eux; } 2>/dev/null; "
	"if [[ -v __nacre_u ]]; then builtin trap -- \"$__nacre_u\" EXIT; "
	"else builtin trap - EXIT; fi; "
	"builtin trap \"$@\"; __nacre_s=$?; __nacre_t=$(builtin trap -p EXIT); "
	"if [[ $__nacre_t ]]; then __nacre_t=${__nacre_t#trap -- }; "
	"builtin eval \"__nacre_u=${__nacre_t% EXIT}\"; "
	"builtin trap -- \"$__nacre_h\"$'\\n'\"$__nacre_u\"$'\\n'\"$__nacre_h\" EXIT; "
	"else builtin unset __nacre_u; builtin trap -- \"$__nacre_h\" EXIT; fi; "
	"builtin return $__nacre_s; }; ";

static const char record_begin[] = "\0nacre-session 1";
static const char record_end[] = "end";

bool session_id_is_valid(const char *id)
{
	size_t n = strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");

	return n > 0 && n <= SESSION_ID_MAX && !id[n] && id[0] != '.';
}

bool session_keeps(const char *name, size_t n)
{
	/* bash, or every start, sets these anew. */
	static const char *const own[] = {"_",       "PWD",     "SHLVL",           "BASH*",
	                                  "TMPDIR",  "COLUMNS", "LINES",           "PPID",
	                                  "UID",     "EUID",    "RANDOM",          "SECONDS",
	                                  "SRANDOM", "EPOCH*",  "POSIXLY_CORRECT", "__nacre*"};

	if (!variable_is_name(name, n) || variable_is_refused(name, n))
		return false;
	for (size_t i = 0; i < array_size(own); i++)
		if (variable_matches(own[i], name, n))
			return false;
	return true;
}

void session_wrap(const char *line, struct buffer *into)
{
	buffer_puts(into, save_text);
	if (strstr(line, "trap") && !strstr(line, "ERR") && !strstr(line, "DEBUG") &&
	    !strstr(line, "RETURN"))
		buffer_puts(into, trap_text);
	buffer_puts(into, line);
}

const char *session_unwrap(const char *text)
{
	size_t n = strlen(save_text), more = strlen(trap_text);

	if (strncmp(text, save_text, n) != 0)
		return text;
	text += n;
	return strncmp(text, trap_text, more) == 0 ? text + more : text;
}

/* Reading what bash wrote */

/* The exports and the directory of the last whole record. */
static bool find_record(const char *bytes, size_t n, const char **ret_exports, const char **ret_cwd)
{
	const char *end = bytes + n, *at = bytes;
	bool found = false;

	while ((at = memmem(at, (size_t)(end - at), record_begin, sizeof(record_begin)))) {
		const char *exports = at + sizeof(record_begin), *cwd, *mark;

		at++;
		cwd = memchr(exports, '\0', (size_t)(end - exports));
		mark = cwd ? memchr(cwd + 1, '\0', (size_t)(end - cwd - 1)) : NULL;
		if (!mark || (size_t)(end - mark - 1) < sizeof(record_end) ||
		    memcmp(mark + 1, record_end, sizeof(record_end)) != 0)
			continue;
		*ret_exports = exports;
		*ret_cwd = cwd + 1;
		found = true;
	}
	return found;
}

void session_read_stages(const char *bytes, size_t n, char into[SESSION_STAGES_MAX])
{
	static const char begin[] = "\0nacre-stages ";
	const char *at = memmem(bytes, n, begin, sizeof(begin) - 1), *end;
	size_t used = 0;
	long count, found = 0;
	char *next;

	into[0] = '\0';
	at = at ? at + sizeof(begin) - 1 : NULL;
	end = at ? memchr(at, '\0', n - (size_t)(at - bytes)) : NULL;
	if (!end)
		return;
	count = strtol(at, &next, 10);
	for (at = next; at < end && found < count; found++) {
		unsigned long status;

		while (at < end && (*at < '0' || *at > '9'))
			at++;
		if (at == end)
			break;
		status = strtoul(at, &next, 10);
		at = next;
		if (status > 255 || used + 5 > SESSION_STAGES_MAX) /* the IFS is a digit, or none */
			break;
		used += (size_t)snprintf(into + used, SESSION_STAGES_MAX - used, "%s%lu",
		                         found ? " " : "", status);
	}
	if (found != count || at != end)
		into[0] = '\0';
}

/* One character behind a backslash in $'...'; *AT is moved to the last character of it. */
static char ansi_escape(const char **at)
{
	static const char names[] = "abeEfnrtv", values[] = "\a\b\033\033\f\n\r\t\v";
	const char *p = strchr(names, **at);
	int value = 0, digits = 0;

	if (p && *p)
		return values[p - names];
	if (**at < '0' || **at > '7')
		return **at; /* \\, \', \" and \? */
	while (digits < 3 && **at >= '0' && **at <= '7') {
		value = value * 8 + (**at - '0');
		(*at)++;
		digits++;
	}
	(*at)--;
	return (char)value;
}

/* Reads a word as bash quotes it, up to the end of its line, which *AT is moved behind. */
static int read_word(const char **at, struct buffer *into)
{
	const char *p = *at;
	char quote = 0;

	for (; *p && (quote || *p != '\n'); p++) {
		char c = *p;

		if (quote && c == (quote == 'a' ? '\'' : quote)) {
			quote = 0;
			continue;
		}
		if (!quote && (c == '"' || c == '\'')) {
			quote = c;
			continue;
		}
		if (!quote && c == '$' && p[1] == '\'') {
			quote = 'a';
			p++;
			continue;
		}
		if (c == '\\' && quote != '\'') {
			if (!*++p)
				return -EBADMSG;
			c = (char)(quote == 'a' ? ansi_escape(&p) : *p);
			if (!c) /* no variable holds it */
				return -EBADMSG;
		}
		buffer_putc(into, c);
	}
	if (quote)
		return -EBADMSG;
	*at = *p ? p + 1 : p;
	return buffer_error(into);
}

/* One line of `export -p`: `declare -x NAME="VALUE"`, or in POSIX mode `export NAME="VALUE"`.
 * *ret_text stays NULL for what has no value or is an array. */
static int read_export(const char **at, struct arena *arena, char **ret_text)
{
	scoped(buffer_donep) struct buffer word = {.max = SESSION_RECORD_MAX};
	const char *p = *at, *name;
	bool array = false;
	size_t n;
	int r;

	*ret_text = NULL;
	if (strncmp(p, "declare -", 9) == 0) {
		n = strcspn(p + 9, " \n");
		array = strcspn(p + 9, "aA") < n;
		p += 9 + n;
	} else if (strncmp(p, "export", 6) == 0) {
		p += 6;
	} else {
		return -EBADMSG;
	}
	if (*p++ != ' ')
		return -EBADMSG;
	name = p;
	n = strcspn(p, "=\n");
	if (!variable_is_name(name, n))
		return -EBADMSG;
	p += n;
	if (*p != '=') {
		*at = *p ? p + 1 : p;
		return 0;
	}
	buffer_append(&word, name, n + 1);
	p++;
	r = read_word(&p, &word);
	if (r < 0)
		return r;
	*at = p;
	if (array)
		return 0;
	*ret_text = arena_strndup(arena, word.data, word.len);
	return *ret_text ? 0 : -ENOMEM;
}

int session_read_record(const char *bytes, size_t n, struct arena *arena,
                        struct session_record *ret_record)
{
	const char *exports, *cwd;
	size_t count = 0, lines = 1;
	char **set, *own;
	int r;

	if (!find_record(bytes, n, &exports, &cwd))
		return -ENODATA;
	for (const char *p = exports; *p; p++)
		lines += *p == '\n';
	set = arena_new_array(arena, char *, lines + 1);
	own = arena_strdup(arena, cwd);
	if (!set || !own)
		return -ENOMEM;
	while (*exports) {
		r = read_export(&exports, arena, &set[count]);
		if (r < 0)
			return r;
		count += set[count] != NULL;
	}
	if (*own && own[strlen(own) - 1] == '\n')
		own[strlen(own) - 1] = '\0';
	*ret_record = (struct session_record){
		.set = (const char *const *)set, .count = count, .cwd = own};
	return 0;
}

/* The file */

int session_open_all(const char *state)
{
	scoped(fd_closep) int state_fd = fd_open_private(AT_FDCWD, state);

	if (state_fd < 0)
		return state_fd;
	if (mkdirat(state_fd, "sessions", 0700) < 0 && errno != EEXIST)
		return -errno;
	return fd_open_private(state_fd, "sessions");
}

static void file_name(const char *id, char into[SESSION_ID_MAX + 8])
{
	snprintf(into, SESSION_ID_MAX + 8, "%.64s.json", id);
}

/* An object, also where there is none yet. */
static int read_file(int dir_fd, const char *id, json_t **ret_root, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = FILE_BYTES_MAX};
	scoped(fd_closep) int fd = -1;
	char name[SESSION_ID_MAX + 8];
	struct stat st;
	int r;

	file_name(id, name);
	fd = fd_open_regular(dir_fd, name);
	if (fd == -ENOENT) {
		*ret_root = json_object();
		return *ret_root ? 0 : error_nomem(err);
	}
	if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_uid != geteuid() || (st.st_mode & 077)))
		return error_set(err, ERROR_INPUT, EPERM, "session '%s': its file is not private",
		                 id);
	r = fd < 0 ? fd : fd_read_all(fd, &text);
	if (r < 0)
		return error_set(err, ERROR_SYSTEM, -r, "session '%s': %s", id,
		                 strerrordesc_np(-r));
	r = json_read(buffer_str(&text), text.len, FILE_BYTES_MAX, "session", ret_root, err);
	if (r == 0 && !json_is_object(*ret_root)) {
		json_decref(*ret_root);
		*ret_root = NULL;
		return error_set(err, ERROR_INPUT, EINVAL, "session '%s': no object", id);
	}
	return r;
}

static const char *copy_of(struct arena *arena, const json_t *value)
{
	return json_is_string(value)
	               ? arena_strndup(arena, json_string_value(value), json_string_length(value))
	               : NULL;
}

static int take_variables(json_t *root, struct arena *arena, struct session *s)
{
	json_t *set = json_object_get(root, "set"), *unset = json_object_get(root, "unset"), *v;
	const char **sets = arena_new_array(arena, const char *, json_object_size(set) + 1);
	const char **unsets = arena_new_array(arena, const char *, json_array_size(unset) + 1);
	const char *name;
	size_t n = 0, i;

	if (!sets || !unsets)
		return -ENOMEM;
	s->set = sets;
	s->unset = unsets;
	json_object_foreach (set, name, v) {
		if (!json_is_string(v) || !session_keeps(name, strlen(name)) ||
		    n == SESSION_VARIABLES_MAX)
			continue;
		sets[n] = arena_printf(arena, "%s=%s", name, json_string_value(v));
		if (!sets[n++])
			return -ENOMEM;
	}
	n = 0;
	json_array_foreach (unset, i, v) {
		if (!json_is_string(v) ||
		    !session_keeps(json_string_value(v), json_string_length(v)))
			continue;
		unsets[n] = copy_of(arena, v);
		if (!unsets[n++])
			return -ENOMEM;
	}
	return 0;
}

int session_load(const char *state, const char *id, struct arena *arena,
                 struct session *ret_session, struct error *err)
{
	scoped(fd_closep) int dir_fd = session_open_all(state);
	scoped(json_decrefp) json_t *root = NULL;
	struct session s = {0};
	int r;

	if (dir_fd < 0)
		return error_set(err, ERROR_SYSTEM, -dir_fd, "sessions: %s",
		                 strerrordesc_np(-dir_fd));
	r = read_file(dir_fd, id, &root, err);
	if (r < 0)
		return r;
	s.workspace = copy_of(arena, json_object_get(root, "workspace"));
	s.cwd = copy_of(arena, json_object_get(root, "cwd"));
	s.away = copy_of(arena, json_object_get(root, "away"));
	if (s.away && !session_away_is_valid(s.away))
		s.away = NULL;
	if (take_variables(root, arena, &s) < 0)
		return error_nomem(err);
	*ret_session = s;
	return 0;
}

/* Changing it */

static void __attribute__((format(printf, 2, 3)))
say(char notice[SESSION_NOTICE_MAX], const char *format, ...)
{
	size_t n = strlen(notice);
	va_list args;

	if (n > 0 && n + 3 < SESSION_NOTICE_MAX) {
		memcpy(notice + n, "; ", 3);
		n += 2;
	}
	va_start(args, format);
	vsnprintf(notice + n, SESSION_NOTICE_MAX - n, format, args);
	va_end(args);
}

/* A name from inside the box, made fit to be shown. */
static const char *shown(const char *text, char into[80])
{
	size_t n = 0;

	for (; text[n] && n < 76; n++)
		into[n] = (char)(text[n] >= ' ' && text[n] <= '~' ? text[n] : '?');
	into[n] = '\0';
	if (text[n])
		strcpy(into + n, "...");
	return into;
}

/* The entry of the environment with this name, or NULL. */
static const char *entry_of(const char *const *env, size_t count, const char *name, size_t n)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(env[i], name, n) == 0 && env[i][n] == '=')
			return env[i];
	return NULL;
}

static void forget_unset(json_t *unset, const char *name)
{
	for (size_t i = json_array_size(unset); i-- > 0;)
		if (strcmp(json_string_value(json_array_get(unset, i)), name) == 0)
			(void)json_array_remove(unset, i);
}

/* Members that are not as they should be are made anew. */
static json_t *member(json_t *root, const char *key, bool array)
{
	json_t *value = json_object_get(root, key);
	size_t i;
	json_t *v;

	if (array ? json_is_array(value) : json_is_object(value)) {
		bool fine = true;

		if (array)
			json_array_foreach (value, i, v)
				fine &= json_is_string(v);
		if (fine)
			return value;
	}
	if (json_object_set_new(root, key, array ? json_array() : json_object()) < 0)
		return NULL;
	return json_object_get(root, key);
}

static int set_one(json_t *set, json_t *unset, const char *entry, size_t n,
                   char notice[SESSION_NOTICE_MAX])
{
	const char *value = entry + n + 1;
	char name[256], text[80];

	if (n >= sizeof(name) || utf8_valid_prefix(value, strlen(value)) != strlen(value)) {
		say(notice, "the variable %s is not kept: it is no text", shown(entry, text));
		return 0;
	}
	memcpy(name, entry, n);
	name[n] = '\0';
	forget_unset(unset, name);
	return json_object_set_new(set, name, json_string(value));
}

static int merge_variables(json_t *root, const struct session_start *start,
                           const struct session_record *record, char notice[SESSION_NOTICE_MAX])
{
	json_t *set = member(root, "set", false), *unset = member(root, "unset", true);
	const char *const *now = record->set;
	size_t before = 0;
	char text[80];

	if (!set || !unset)
		return -ENOMEM;
	while (start->envp[before])
		before++;
	for (size_t i = 0; i < record->count; i++) {
		size_t n = strcspn(now[i], "=");
		const char *old = entry_of(start->envp, before, now[i], n);

		if (old && strcmp(old, now[i]) == 0)
			continue;
		if (variable_is_refused(now[i], n)) {
			snprintf(text, sizeof(text), "%.*s", (int)(n < 60 ? n : 60), now[i]);
			say(notice, "the variable %s is not kept between calls", text);
		}
		if (!session_keeps(now[i], n))
			continue;
		if (set_one(set, unset, now[i], n, notice) < 0)
			return -ENOMEM;
		if (json_object_size(set) > SESSION_VARIABLES_MAX)
			return -E2BIG;
	}
	for (size_t i = 0; i < before; i++) {
		size_t n = strcspn(start->envp[i], "=");

		if (n >= sizeof(text) || !session_keeps(start->envp[i], n) ||
		    entry_of(now, record->count, start->envp[i], n))
			continue;
		memcpy(text, start->envp[i], n);
		text[n] = '\0';
		(void)json_object_del(set, text);
		forget_unset(unset, text);
		if (json_array_append_new(unset, json_string(text)) < 0)
			return -ENOMEM;
	}
	return json_array_size(unset) > SESSION_VARIABLES_MAX ? -E2BIG : 0;
}

/* "": PATH is no directory inside the workspace. "." is its root. */
static const char *inside(const char *workspace, const char *path)
{
	scoped(fd_closep) int fd = -1;
	char link[64], real[PATH_MAX];
	size_t n = strlen(workspace);
	ssize_t len;

	if (n == 1) /* "/" */
		n = 0;
	if (strncmp(path, workspace, n) != 0 || (path[n] && path[n] != '/') || *path != '/')
		return "";
	/* Found by the kernel, and where its path says: no link leads out. */
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = fd < 0 ? -1 : readlink(link, real, sizeof(real));
	if (len < 0 || (size_t)len != strlen(path) || memcmp(real, path, (size_t)len) != 0)
		return "";
	return path[n] && path[n + 1] ? path + n + 1 : ".";
}

/* Whether the directory of the file can be used. One that cannot was replaced at the start. */
static bool still_there(json_t *root, const char *workspace)
{
	const char *kept = json_string_value(json_object_get(root, "cwd"));
	const char *of = json_string_value(json_object_get(root, "workspace"));
	char path[PATH_MAX];

	if (!kept || strcmp(kept, ".") == 0)
		return true;
	return of && strcmp(of, workspace) == 0 &&
	       snprintf(path, sizeof(path), "%s/%s", workspace, kept) < (int)sizeof(path) &&
	       *inside(workspace, path);
}

static int merge_cwd(json_t *root, const struct session_start *start, const char *cwd,
                     char notice[SESSION_NOTICE_MAX])
{
	const char *relative = inside(start->workspace, cwd);
	bool away = start->roams && !*relative && session_away_is_valid(cwd);
	json_t *value;
	char text[80];

	if (strcmp(cwd, start->cwd) == 0 && !json_object_get(root, "away") &&
	    still_there(root, start->workspace))
		return 0;
	(void)json_object_del(root, "away");
	if (away && json_object_set_new(root, "away", json_string(cwd)) < 0)
		return -ENOMEM;
	if (!*cwd)
		say(notice, "the working directory is gone: the session goes back to the "
		            "workspace");
	else if (!*relative && !away)
		say(notice, "%s is not in the workspace: the session goes back to the workspace",
		    shown(cwd, text));
	value = json_string(*relative ? relative : ".");
	if (!value) {
		say(notice, "the working directory is not kept: its name is no text");
		value = json_string(".");
	}
	if (json_object_set_new(root, "workspace", json_string(start->workspace)) < 0)
		return -ENOMEM;
	return json_object_set_new(root, "cwd", value) < 0 ? -ENOMEM : 0;
}

static size_t bytes_of(json_t *set)
{
	const char *name;
	size_t sum = 0;
	json_t *v;

	json_object_foreach (set, name, v)
		sum += strlen(name) + json_string_length(v) + 2;
	return sum;
}

/* The principal comes first: who sweeps reads no more. A file that is there already is replaced, a
 * new one needs room. */
static int write_file(int dir_fd, const struct session_start *start, json_t *changed)
{
	const char *principal = start->principal ? start->principal : "";
	scoped(json_decrefp) json_t *root = json_object();
	scoped(freep) char *text = NULL;
	char name[SESSION_ID_MAX + 8];
	int r = 0;

	if (!root ||
	    (*principal && json_object_set_new(root, "principal", json_string(principal)) < 0))
		return -ENOMEM;
	if (json_object_update_missing(root, changed) < 0 ||
	    !(text = json_dumps(root, JSON_INDENT(1))))
		return -ENOMEM;
	file_name(start->id, name);
	if (faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		r = session_make_room(dir_fd, principal);
	return r < 0 ? r : fd_replace_file(dir_fd, name, text, strlen(text));
}

static int change_file(int dir_fd, const struct session_start *start,
                       const struct session_record *record, char notice[SESSION_NOTICE_MAX])
{
	scoped(json_decrefp) json_t *root = NULL;
	scoped(json_decrefp) json_t *changed = NULL;
	int r;

	if (read_file(dir_fd, start->id, &root, NULL) < 0)
		root = json_object(); /* what cannot be read is of no use to anybody */
	changed = json_deep_copy(root);
	if (!changed)
		return -ENOMEM;
	r = merge_variables(changed, start, record, notice);
	if (r == -E2BIG ||
	    (r == 0 && bytes_of(json_object_get(changed, "set")) > SESSION_BYTES_MAX)) {
		say(notice, "the variables are too many or too long to be kept");
		json_decref(changed);
		changed = json_deep_copy(root);
		r = changed ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = merge_cwd(changed, start, record->cwd, notice);
	if (r < 0)
		return r;
	return json_equal(root, changed) ? 0 : write_file(dir_fd, start, changed);
}

int session_commit(const struct session_start *start, const char *bytes, size_t n,
                   char notice[SESSION_NOTICE_MAX])
{
	scoped(arena_freep) struct arena *arena = arena_new(8 * SESSION_RECORD_MAX);
	scoped(fd_closep) int dir_fd = -1;
	struct session_record record;
	int r;

	notice[0] = '\0';
	if (!arena)
		return -ENOMEM;
	r = session_read_record(bytes, n, arena, &record);
	if (r == -ENODATA) /* killed, or replaced by another program */
		return 0;
	if (r == 0)
		r = dir_fd = session_open_all(start->state);
	if (r >= 0)
		r = fd_lock(dir_fd);
	if (r >= 0)
		r = change_file(dir_fd, start, &record, notice);
	if (r == -ENOSPC)
		snprintf(notice, SESSION_NOTICE_MAX,
		         "the session could not be kept: the disk is full, or %d others are in use",
		         SESSION_EACH_MAX);
	else if (r < 0)
		snprintf(notice, SESSION_NOTICE_MAX, "the session could not be kept: %s",
		         strerrordesc_np(-r));
	return r;
}
