/*
 * What is read was written by a keeper in a fixed form: it is scanned, not parsed, and a file that
 * does not look like that tells nothing.
 */
#include "task/find-inside.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "json/write.h"
#include "process/living.h"
#include "task/home.h"
#include "base/utf8.h"

#define SPEC_BYTES    (6 * PATH_MAX + 4096) /* command and description stand behind three paths */
#define ID_BEGINNING  "bash-"
#define DETAILS_BYTES ((size_t)1 << 20)

int64_t find_stat_ms(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

enum find_state find_look_at_lock(int dir_fd, int64_t *ret_started)
{
	struct stat st;

	if (fstatat(dir_fd, "spec.json", &st, AT_SYMLINK_NOFOLLOW) == 0 || fstat(dir_fd, &st) == 0)
		*ret_started = find_stat_ms(&st);
	return store_task_is_running(dir_fd) ? FIND_RUNNING : FIND_LOST;
}

enum find_state find_state(int dir_fd)
{
	int64_t started;
	struct stat st;
	enum find_state state;

	if (fstatat(dir_fd, "state.json", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return FIND_ENDED;
	state = find_look_at_lock(dir_fd, &started);
	/* It may have ended between the two looks. */
	if (state == FIND_LOST && fstatat(dir_fd, "state.json", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return FIND_ENDED;
	return state;
}

/* Reads the beginning of a file, as a string. */
static bool read_beginning(int dir_fd, const char *name, char *into, size_t size)
{
	scoped(fd_closep) int fd = fd_open_regular(dir_fd, name);
	ssize_t n = fd < 0 ? -1 : read(fd, into, size - 1);

	into[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static unsigned hex4(const char *p)
{
	char digits[5] = {0};

	memcpy(digits, p, strnlen(p, 4));
	return (unsigned)strtoul(digits, NULL, 16);
}

/* One character of a JSON string at *p, which is moved on; as it is shown in one line. */
static void scan_char(const char **p, char *into, size_t size, size_t *len)
{
	char c = *(*p)++;

	if (c == '\\' && **p) {
		c = *(*p)++;
		if (c == 'u') {
			unsigned code = hex4(*p);

			*p += strnlen(*p, 4);
			c = (char)(code < 0x80 ? code : '?'); /* others are written as they are */
		} else if (c == 'n' || c == 't' || c == 'r') {
			c = ' ';
		}
	}
	if (*len + 1 < size)
		into[(*len)++] = c;
}

/* The value of KEY, which is `"key":"` with its quotes; behind TEXT, or NULL: there is none. */
static const char *scan_string(const char *text, const char *key, char *into, size_t size)
{
	const char *p = strstr(text, key);
	size_t len = 0;

	into[0] = '\0';
	if (!p)
		return NULL;
	for (p += strlen(key); *p && *p != '"';)
		scan_char(&p, into, size, &len);
	into[utf8_valid_prefix(into, len)] = '\0';
	return p;
}

/* One byte of a string as keeper_order_write() has it, at *p, which is moved on; -1: that is not
 * one. */
static int exact_byte(const char **p)
{
	static const char letters[] = "bfnrt\"\\", bytes[] = "\b\f\n\r\t\"\\";
	const char *letter;
	char c = *(*p)++;

	if (c != '\\')
		return (unsigned char)c;
	c = *(*p)++;
	letter = c ? strchr(letters, c) : NULL;
	if (letter)
		return bytes[letter - letters];
	if (c != 'u' || strnlen(*p, 4) < 4)
		return -1;
	*p += 4;
	return (int)hex4(*p - 4);
}

/* Two digits for each byte: a path that is not text. */
static bool hex_bytes(const char *p, char *into, size_t size)
{
	char digits[3] = {0};
	size_t len = 0;

	for (; isxdigit((unsigned char)p[0]) && isxdigit((unsigned char)p[1]) && len + 1 < size;
	     p += 2) {
		memcpy(digits, p, 2);
		into[len++] = (char)strtoul(digits, NULL, 16);
	}
	into[*p == '"' ? len : 0] = '\0';
	return *p == '"';
}

/* The path behind KEY (`"key":`) at TEXT, byte by byte: others are compared with it. Behind it, or
 * TEXT and an empty string: it is not there as a whole. */
static const char *scan_path(const char *text, const char *key, char into[PATH_MAX])
{
	static const char hex[] = "{\"hex\":\"";
	const char *p = text + strlen(key);
	size_t len = 0;
	int c = 0;

	into[0] = '\0';
	if (strncmp(text, key, strlen(key)) != 0)
		return text;
	if (strncmp(p, hex, strlen(hex)) == 0) {
		p += strlen(hex);
		return hex_bytes(p, into, PATH_MAX) ? strchr(p, '}') + 1 : text;
	}
	for (p++; *p && *p != '"' && c >= 0 && len + 1 < PATH_MAX;)
		into[len++] = (char)(c = exact_byte(&p));
	into[*p == '"' && c >= 0 ? len : 0] = '\0';
	return into[0] ? p + 1 : text;
}

/* What stands before the command: nothing that a caller has written can look like it. */
static const char *scan_origin(const char *text, struct find_origin *o)
{
	const char *p = strstr(text, ",\""), *next;

	*o = (struct find_origin){0};
	if (p && strncmp(p, ",\"principal\":\"", 14) == 0) {
		next = scan_string(p, "\"principal\":\"", o->principal, sizeof(o->principal));
		p = next ? next + (*next == '"') : NULL;
	}
	if (p && strncmp(p, ",\"door\":\"", 9) == 0) {
		next = scan_string(p, "\"door\":\"", o->door, sizeof(o->door));
		p = next ? next + (*next == '"') : NULL;
	}
	if (!p)
		return text;
	next = scan_path(p, ",\"root\":", o->root);
	p = scan_path(next, ",\"base\":", o->base);
	if (p == next) /* nothing is written twice */
		memcpy(o->base, o->root, sizeof(o->root));
	next = p;
	p = scan_path(next, ",\"workspace\":", o->workspace);
	if (p == next)
		memcpy(o->workspace, o->root, sizeof(o->root));
	return p;
}

void find_origin(int dir_fd, struct find_origin *ret_origin)
{
	char text[SPEC_BYTES];

	(void)read_beginning(dir_fd, "spec.json", text, sizeof(text));
	(void)scan_origin(text, ret_origin);
}

static void look_at_spec(int dir_fd, struct find_entry *e)
{
	char text[SPEC_BYTES];
	const char *p;

	if (!read_beginning(dir_fd, "spec.json", text, sizeof(text)))
		return;
	p = scan_origin(text, &e->origin);
	p = scan_string(p, "\"command\":\"", e->command, sizeof(e->command));
	if (p && strncmp(p, "\",\"description\":\"", 17) == 0)
		p = scan_string(p, "\"description\":\"", e->description, sizeof(e->description));
	if (!p)
		return;
	e->background = strstr(p, "\"background\":true") != NULL;
	e->merged = strstr(p, "\"merged\":true") != NULL;
	p = strstr(p, "\"timeout_ms\":");
	e->timeout_ms = p ? strtoull(p + 13, NULL, 10) : 0;
}

static void look_at_sizes(int dir_fd, struct find_entry *e)
{
	static const char *const names[2] = {"out", "err"};
	struct stat st;

	for (int i = 0; i < 2; i++)
		if (fstatat(dir_fd, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0) {
			e->bytes[i] = (uint64_t)st.st_size;
			if (e->state == FIND_LOST && find_stat_ms(&st) > e->ended_ms)
				e->ended_ms = find_stat_ms(&st);
		}
}

static bool look_at_report(int dir_fd, struct find_entry *e)
{
	char text[REPORT_BYTES_MAX];

	if (!read_beginning(dir_fd, "state.json", text, sizeof(text)) ||
	    keeper_report_read(text, strlen(text), &e->report, NULL) < 0)
		return false;
	e->started_ms = e->report.started_ms;
	e->ended_ms = e->report.started_ms + e->report.duration_ms;
	for (int i = 0; i < 2; i++)
		e->bytes[i] = e->report.streams[i].bytes;
	return true;
}

static void add_port(struct find_entry *e, uint16_t port)
{
	for (int i = 0; i < e->port_count; i++)
		if (e->ports[i] == port)
			return;
	if (e->port_count < FIND_PORTS_MAX)
		e->ports[e->port_count++] = port;
}

/* The keeper has told below which process all of the command are. */
bool find_living(int dir_fd, struct living *ret_living)
{
	unsigned long long start;
	char text[64], *end;
	pid_t root;

	if (!read_beginning(dir_fd, HOME_ROOT, text, sizeof(text)))
		return false;
	root = (pid_t)strtol(text, &end, 10);
	start = strtoull(end, NULL, 10);
	if (root <= 0 || start == 0 || living_start(root) != start)
		return false;
	living_look(root, ret_living);
	return true;
}

static void look_at_ports(int dir_fd, struct find_entry *e)
{
	struct living l;

	if (!find_living(dir_fd, &l))
		return;
	e->processes = l.count;
	for (int i = 0; i < l.count; i++)
		for (int k = 0; k < l.list[i].port_count; k++)
			add_port(e, l.list[i].ports[k]);
}

/* Only what leads somewhere: in a session another task may listen on the rest. */
static void look_at_published(int dir_fd, struct find_entry *e)
{
	char text[1024], *at = text, *end;

	if (e->port_count == 0 || !read_beginning(dir_fd, HOME_PUBLISHED, text, sizeof(text)))
		return;
	while (*at && e->published_count < FIND_PORTS_MAX) {
		unsigned long host = strtoul(at, &end, 10), box = strtoul(end, &end, 10);

		for (int i = 0; i < e->port_count; i++)
			if (e->ports[i] == box && host > 0 && host < 65536) {
				e->published[e->published_count].host = (uint16_t)host;
				e->published[e->published_count++].box = (uint16_t)box;
				break;
			}
		at = end + strcspn(end, "\n");
		at += *at == '\n';
	}
}

void find_look(int dir_fd, const char *id, struct find_entry *ret_entry)
{
	struct find_entry e = {0};

	snprintf(e.id, sizeof(e.id), "%s", id);
	e.state = find_state(dir_fd);
	if (e.state != FIND_ENDED)
		(void)find_look_at_lock(dir_fd, &e.started_ms);
	look_at_spec(dir_fd, &e);
	if (e.state == FIND_ENDED && !look_at_report(dir_fd, &e)) {
		(void)find_look_at_lock(dir_fd, &e.started_ms);
		e.state = FIND_LOST;
	}
	if (e.state == FIND_LOST)
		e.ended_ms = e.started_ms;
	if (e.state != FIND_ENDED)
		look_at_sizes(dir_fd, &e);
	if (e.state == FIND_RUNNING && read_beginning(dir_fd, "quiet", e.quiet, sizeof(e.quiet)))
		e.quiet[strcspn(e.quiet, "\n")] = '\0';
	if (e.state == FIND_RUNNING)
		look_at_ports(dir_fd, &e);
	if (e.state == FIND_RUNNING)
		look_at_published(dir_fd, &e);
	*ret_entry = e;
}

/* The last whole line: offset, rows, columns. */
static void look_at_terminal(int dir_fd, struct find_details *d)
{
	scoped(fd_closep) int fd = fd_open_regular(dir_fd, "sizes");
	unsigned long long offset;
	struct stat st;
	char text[160];
	unsigned rows, cols;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	n = pread(fd, text, sizeof(text) - 1,
	          st.st_size > (off_t)sizeof(text) - 1 ? st.st_size - (off_t)sizeof(text) + 1 : 0);
	while (n > 0 && text[n - 1] != '\n')
		n--;
	if (n <= 1)
		return;
	text[--n] = '\0';
	while (n > 0 && text[n - 1] != '\n')
		n--;
	if (sscanf(text + n, "%llu %u %u", &offset, &rows, &cols) == 3 && rows <= UINT16_MAX &&
	    cols <= UINT16_MAX) {
		d->rows = (uint16_t)rows;
		d->cols = (uint16_t)cols;
	}
}

/* The request stands last. No text of a caller can look like its beginning: quotes in a string have
 * a backslash before them. */
void find_details(int dir_fd, struct find_details *ret_details)
{
	scoped(buffer_donep) struct buffer spec = {.max = DETAILS_BYTES};
	scoped(fd_closep) int fd = fd_open_regular(dir_fd, "spec.json");
	struct find_details d = {0};
	struct find_origin origin;
	const char *text, *p;

	if (fd >= 0 && fd_read_all(fd, &spec) == 0) {
		text = buffer_str(&spec);
		(void)scan_origin(text, &origin);
		p = strstr(text, ",\"cwd\":\"");
		if (p)
			(void)scan_path(p, ",\"cwd\":", d.cwd);
		p = strstr(text, ",\"request\":{");
		if (p) {
			(void)scan_string(p, "\"profile\":\"", d.profile, sizeof(d.profile));
			(void)scan_string(p, "\"session\":\"", d.session, sizeof(d.session));
			(void)scan_string(p, "\"approval\":\"", d.approval, sizeof(d.approval));
		}
	}
	look_at_terminal(dir_fd, &d);
	*ret_details = d;
}

void find_put_ports(const struct find_entry *e, struct json_writer *w)
{
	json_member_array(w, "ports");
	for (int i = 0; i < e->port_count; i++)
		json_put_int(w, e->ports[i]);
	json_array_end(w);
	json_member_array(w, "published");
	for (int i = 0; i < e->published_count; i++) {
		char text[16];

		snprintf(text, sizeof(text), "%u:%u", e->published[i].host, e->published[i].box);
		json_put_string(w, text);
	}
	json_array_end(w);
}

DIR *find_open_dir(struct store *s)
{
	int fd =
		s->tasks_fd < 0 ? -1 : openat(s->tasks_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d)
		fd_close(fd);
	return d;
}

bool find_is_id(const char *name)
{
	return strncmp(name, ID_BEGINNING, strlen(ID_BEGINNING)) == 0 &&
	       strlen(name) < STORE_ID_MAX;
}

bool find_is_task(const char *name)
{
	return find_is_id(name);
}

bool find_is_wanted(int tasks_fd, const char *id, const struct find_query *q)
{
	char path[STORE_ID_MAX + sizeof("/spec.json")], text[SPEC_BYTES];
	struct find_origin origin;

	if (!q->principal && !q->wants)
		return true;
	snprintf(path, sizeof(path), "%s/spec.json", id);
	(void)read_beginning(tasks_fd, path, text, sizeof(text));
	(void)scan_origin(text, &origin);
	return (!q->principal || strcmp(origin.principal, q->principal) == 0) &&
	       (!q->wants || q->wants(q->owner, &origin));
}

int find_id(struct store *s, const char *prefix, char ret_id[STORE_ID_MAX], struct error *err)
{
	size_t n = strlen(prefix), skip = find_is_id(prefix) ? 0 : strlen(ID_BEGINNING);
	DIR *d = find_open_dir(s);
	struct dirent *file;
	char id[STORE_ID_MAX];
	int found = 0;

	while (d && n > 0 && found < 2 && (file = readdir(d)))
		if (find_is_id(file->d_name) && strncmp(file->d_name + skip, prefix, n) == 0 &&
		    ++found)
			snprintf(id, sizeof(id), "%.*s", STORE_ID_MAX - 1, file->d_name);
	if (d)
		closedir(d);
	if (found == 0)
		return error_set(err, ERROR_INPUT, ENOENT, "there is no task '%.60s'", prefix);
	if (found > 1)
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "more than one task begins with '%.60s'; give more of its id",
		                 prefix);
	memcpy(ret_id, id, sizeof(id));
	return 0;
}

int find_open(struct store *s, const char *id, struct error *err)
{
	int fd = -1;

	if (s->tasks_fd >= 0 && find_is_id(id) && !strchr(id, '/'))
		fd = openat(s->tasks_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? error_set(err, ERROR_INPUT, ENOENT, "there is no task '%.60s'", id) : fd;
}

const char *find_state_name(const struct find_entry *e)
{
	if (e->state != FIND_ENDED)
		return e->state == FIND_RUNNING ? "running" : "lost";
	switch (e->report.end) {
	case KEEPER_END_EXITED:
		if (WIFSIGNALED(e->report.status))
			return "killed";
		return WEXITSTATUS(e->report.status) == 0 ? "finished" : "failed";
	case KEEPER_END_TIMEOUT:
	case KEEPER_END_IDLE:
		return "timed out";
	case KEEPER_END_STOPPED:
		return "stopped";
	case KEEPER_END_CROWDED:
		return "killed";
	case KEEPER_END_FAILED:
		return "failed";
	case KEEPER_END_REFUSED:
		return "refused";
	case KEEPER_END_LOST:
	case KEEPER_END_MAX:
		break;
	}
	return "lost";
}

int find_signal(const struct find_entry *e)
{
	if (e->state != FIND_ENDED || e->report.end == KEEPER_END_FAILED ||
	    e->report.end == KEEPER_END_REFUSED)
		return 0;
	if (e->report.end == KEEPER_END_CROWDED)
		return SIGKILL;
	return WIFSIGNALED(e->report.status) ? WTERMSIG(e->report.status) : 0;
}

int find_exit_code(const struct find_entry *e)
{
	if (e->state != FIND_ENDED)
		return -1;
	switch (e->report.end) {
	case KEEPER_END_EXITED:
		return WIFSIGNALED(e->report.status) ? 128 + WTERMSIG(e->report.status)
		                                     : WEXITSTATUS(e->report.status);
	case KEEPER_END_TIMEOUT:
	case KEEPER_END_IDLE:
		return 124;
	case KEEPER_END_STOPPED:
		return 128 + SIGTERM;
	case KEEPER_END_CROWDED:
		return 128 + SIGKILL;
	case KEEPER_END_FAILED:
		if (e->report.step != CHILD_EXEC || e->report.why[0])
			return 125;
		return e->report.sys == ENOENT ? 127 : 126;
	case KEEPER_END_REFUSED:
		return 126;
	case KEEPER_END_LOST:
	case KEEPER_END_MAX:
		break;
	}
	return -1;
}
