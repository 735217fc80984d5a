#include "keeper/quiet-inside.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"

bool quiet_link(pid_t pid, int fd, char into[PATH_MAX])
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	n = readlink(path, into, PATH_MAX - 1);
	into[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool is_terminal(const char *link)
{
	return strncmp(link, "/dev/pts/", 9) == 0 || strncmp(link, "/dev/tty", 8) == 0 ||
	       strcmp(link, "/dev/console") == 0 || strcmp(link, "/dev/ptmx") == 0;
}

/* Whether the process has LINK open, if WRITING for that. */
bool quiet_has_open(pid_t pid, const char *link, bool writing)
{
	char path[64], file[64], other[PATH_MAX], text[TEXT_MAX];
	bool found = false;
	struct dirent *d;
	const char *flags;
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && n++ < FDS_MAX && (d = readdir(dir))) {
		int fd = (int)strtol(d->d_name, NULL, 10);

		if (!isdigit((unsigned char)d->d_name[0]) || !quiet_link(pid, fd, other) ||
		    strcmp(other, link) != 0)
			continue;
		snprintf(file, sizeof(file), "fdinfo/%d", fd);
		found = !writing;
		if (found || quiet_read(pid, file, text) <= 0 || !(flags = strstr(text, "flags:")))
			continue;
		found = (strtoul(flags + 6, NULL, 8) & O_ACCMODE) != O_RDONLY;
	}
	closedir(dir);
	return found;
}

/* "A:P" from the hexadecimal words of /proc/net/tcp. */
static void address_text(const char *hex, char *into, size_t size)
{
	const char *colon = strchr(hex, ':');
	unsigned port = colon ? (unsigned)strtoul(colon + 1, NULL, 16) : 0;
	char host[INET6_ADDRSTRLEN] = "?", word[9] = "";
	uint32_t words[4] = {0};
	size_t n = colon ? (size_t)(colon - hex) / 8 : 0;

	for (size_t i = 0; i < n && i < 4; i++) {
		memcpy(word, hex + 8 * i, 8);
		words[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	if (n > 0)
		inet_ntop(n == 1 ? AF_INET : AF_INET6, words, host, sizeof(host));
	snprintf(into, size, n > 1 ? "[%s]:%u" : "%s:%u", host, port);
}

/* What a line of a table of sockets says; false: it is another one's. */
static bool read_socket_line(const char *line, const char *inode, bool stream,
                             char detail[DETAIL_MAX])
{
	char local[48], remote[48], found[32], state[8], at[80];

	if (sscanf(line, " %*s %47s %47s %7s %*s %*s %*s %*s %*s %31s", local, remote, state,
	           found) != 4 ||
	    strcmp(found, inode) != 0)
		return false;
	if (stream && strcmp(state, "0A") == 0) {
		address_text(local, at, sizeof(at));
		snprintf(detail, DETAIL_MAX, "waits for somebody to connect to %s", at);
	} else if (stream && strcmp(state, "02") == 0) {
		address_text(remote, at, sizeof(at));
		snprintf(detail, DETAIL_MAX, "cannot reach %s so far", at);
	} else if (stream || strncmp(remote, "00000000", 8) != 0) {
		address_text(remote, at, sizeof(at));
		snprintf(detail, DETAIL_MAX, "has no answer from %s", at);
	} else {
		snprintf(detail, DETAIL_MAX, "waits for a packet");
	}
	return true;
}

/* Whether the socket is one of the network. */
static bool network_socket(pid_t pid, const char *link, char detail[DETAIL_MAX])
{
	static const char *const tables[] = {"tcp", "tcp6", "udp", "udp6"};
	char path[64], inode[32] = "", line[512];

	if (sscanf(link, "socket:[%31[0-9]", inode) != 1)
		return false;
	for (size_t i = 0; i < array_size(tables); i++) {
		bool found = false;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, tables[i]);
		f = fopen(path, "re");
		if (!f)
			continue;
		for (int n = 0; !found && n < LINES_MAX && fgets(line, sizeof(line), f); n++)
			found = read_socket_line(line, inode, i < 2, detail);
		fclose(f);
		if (found)
			return true;
	}
	return false;
}

void quiet_note(struct process_view *p, enum doing doing, const char *detail)
{
	if (doing <= p->doing)
		return;
	p->doing = doing;
	if (detail != p->detail)
		snprintf(p->detail, sizeof(p->detail), "%s", detail);
}

/* The thread waits for FD. */
void quiet_note_fd(struct thread_look *l, int fd)
{
	char link[PATH_MAX], first[PATH_MAX], detail[DETAIL_MAX] = "";
	struct process_view *p = l->process;
	bool is_stdin;

	if (quiet_is_late(l->tree))
		return;
	if (!quiet_link(p->pid, fd, link)) {
		quiet_note(p, fd == 0 ? DOING_STDIN : DOING_OTHER, "");
		return;
	}
	is_stdin = fd == 0 || (quiet_link(p->pid, 0, first) && strcmp(first, link) == 0);
	if (is_terminal(link)) {
		quiet_note(p, DOING_TERMINAL, "");
	} else if (network_socket(p->pid, link, detail)) {
		quiet_note(p, DOING_NETWORK, detail);
	} else if (is_stdin && (strncmp(link, "pipe:", 5) == 0 ||
	                        strncmp(link, "socket:", 7) == 0 || link[0] == '/')) {
		for (int i = 0; i < l->tree->count && !quiet_is_late(l->tree); i++)
			if (&l->tree->list[i] != p &&
			    quiet_has_open(l->tree->list[i].pid, link, true)) {
				quiet_note(p, DOING_INTERNAL, "");
				return;
			}
		quiet_note(p, DOING_STDIN, "");
	} else {
		quiet_note(p, DOING_INTERNAL, "");
	}
}
