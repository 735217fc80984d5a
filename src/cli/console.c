/*
 * `nacre console`: a link that logs a browser in, once; and where one is logged in.
 *
 * The server of this user is asked on its socket. If none runs, one is started, which goes on after
 * this command; how to stop it is said.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/ask-server.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/desk.h"
#include "engine/result.h"
#include "json/read.h"
#include "json/write.h"
#include "serve/listen.h"

#define USUAL_ADDRESS "127.0.0.1:7878"
#define START_MS      15000
#define LOOK_MS       20

struct console {
	bool open, sessions, json;
	const char *as, *server, *end;
};

static int complain(const struct error *err)
{
	cli_complain("console: %s", err->text);
	return EXIT_NACRE_FAILED;
}

/* Start a server */

/* It must outlive this command and its terminal, and says what it has to say in a file. */
static _Noreturn void become_server(const char *address, int log)
{
	(void)setsid();
	fd_null_standard();
	if (dup2(log, STDERR_FILENO) < 0)
		_exit(127);
	execl("/proc/self/exe", "nacre", "serve", "--listen", address, (char *)NULL);
	_exit(127);
}

static int open_log(const struct server_place *at, char path[PATH_MAX])
{
	const char *slash = strrchr(at->path, '/');
	int n = snprintf(path, PATH_MAX, "%.*s/serve.log", slash ? (int)(slash - at->path) : 1,
	                 slash ? at->path : ".");

	if (n < 0 || n >= PATH_MAX)
		return -ENAMETOOLONG;
	n = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	return n < 0 ? -errno : n;
}

/* The usual one where it is free: a page that is open finds the next server again. */
static const char *free_address(void)
{
	char address[LISTEN_ADDRESS_MAX];
	int fd = listen_tcp(USUAL_ADDRESS, false, address, NULL);

	if (fd < 0)
		return "127.0.0.1:0";
	fd_close(fd);
	return USUAL_ADDRESS;
}

static int start_server(const struct server_place *at, char log_path[PATH_MAX], struct error *err)
{
	const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
	const char *address = free_address();
	scoped(fd_closep) int log = -1;
	scoped(json_decrefp) json_t *health = NULL;
	int64_t end = clock_now_ms() + START_MS;
	struct error why = {0};
	pid_t pid;

	log = open_log(at, log_path);
	if (log < 0)
		return error_sys(err, -log, "the log of a new server");
	pid = fork();
	if (pid < 0)
		return error_sys(err, errno, "starting a server");
	if (pid == 0)
		become_server(address, log);
	while (clock_now_ms() < end && kill(pid, 0) == 0) {
		int r = server_ask(at, "GET", "/v1/health", NULL, &health, NULL, &why);

		if (r != -ECONNREFUSED)
			return r < 0 ? error_set(err, ERROR_SYSTEM, -r, "%s", why.text) : 0;
		(void)nanosleep(&pause, NULL);
	}
	return error_set(err, ERROR_SYSTEM, ECHILD, "no server could be started; %.120s tells why",
	                 log_path);
}

/* Links */

static char *body_of(const struct console *o)
{
	struct buffer json = {0};
	struct json_writer w = {.out = &json};

	json_object_begin(&w);
	if (o->as)
		json_member_string(&w, "as", o->as);
	json_object_end(&w);
	return buffer_take(&json);
}

static void show_in_browser(const char *url)
{
	pid_t pid = fork();

	if (pid != 0)
		return;
	(void)setsid();
	fd_null_standard();
	execlp("xdg-open", "xdg-open", url, (char *)NULL);
	execlp("sensible-browser", "sensible-browser", url, (char *)NULL);
	_exit(127);
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static int print_link(const struct console *o, json_t *link)
{
	scoped(buffer_donep) struct buffer out = {0};
	const char *who = text_of(link, "principal");
	bool approve = json_is_true(json_object_get(link, "approve"));

	if (o->json) {
		scoped(freep) char *text = json_dumps(link, JSON_COMPACT);

		buffer_puts(&out, text ? text : "");
		buffer_putc(&out, '\n');
		return cli_print(&out);
	}
	cli_put_clean(text_of(link, "url"), &out);
	buffer_putc(&out, '\n');
	if (cli_print(&out))
		return EXIT_NACRE_FAILED;
	fprintf(stderr,
	        "nacre: open it in a browser on this machine within 2 minutes; it works once. "
	        "It comes in as %s%s%s, who may %s%s.\n",
	        *who ? "the token '" : "you", who, *who ? "'" : "",
	        approve ? "answer approvals" : "look, and not answer approvals",
	        json_is_true(json_object_get(link, "audit")) ? ", and read the whole audit log"
	                                                     : "");
	return 0;
}

static int make_link(const struct console *o, const struct server_place *at)
{
	scoped(json_decrefp) json_t *link = NULL;
	scoped(freep) char *body = body_of(o);
	struct error err = {0};
	char log[PATH_MAX];
	bool started = false;
	pid_t pid = 0;
	int r;

	r = server_ask(at, "POST", "/v1/console/link", body, &link, &pid, &err);
	if (r == -ECONNREFUSED && !o->server) {
		r = start_server(at, log, &err);
		started = r == 0;
		if (r == 0)
			r = server_ask(at, "POST", "/v1/console/link", body, &link, &pid, &err);
	}
	if (r < 0)
		return complain(&err);
	r = print_link(o, link);
	if (started)
		fprintf(stderr,
		        "nacre: a server was started for it. Stop it with: kill %d (its log: %s)\n",
		        (int)pid, log);
	if (r == 0 && o->open)
		show_in_browser(text_of(link, "url"));
	return r;
}

/* Logins */

static int print_logins(const struct console *o, json_t *answer)
{
	scoped(buffer_donep) struct buffer out = {0};
	json_t *list = json_object_get(answer, "logins"), *l;
	size_t i;

	if (o->json) {
		scoped(freep) char *text = json_dumps(answer, JSON_COMPACT);

		buffer_puts(&out, text ? text : "");
		buffer_putc(&out, '\n');
		return cli_print(&out);
	}
	if (json_array_size(list) > 0)
		buffer_printf(&out, "%-20s  %-20s  %-20s  %s\n", "LOGIN", "SINCE", "UNTIL", "WHO");
	json_array_foreach (list, i, l) {
		static const char *const keys[] = {"created_ms", "expires_ms"};

		buffer_printf(&out, "%-20.20s", text_of(l, "id"));
		for (int k = 0; k < 2; k++) {
			time_t at =
				(time_t)(json_integer_value(json_object_get(l, keys[k])) / 1000);
			char text[32] = "";
			struct tm tm;

			if (gmtime_r(&at, &tm))
				(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
			buffer_printf(&out, "  %s", text);
		}
		buffer_puts(&out, "  ");
		cli_put_clean(*text_of(l, "principal") ? text_of(l, "principal") : "you", &out);
		buffer_putc(&out, '\n');
	}
	return out.len ? cli_print(&out) : 0;
}

static int show_logins(const struct console *o, const struct server_place *at)
{
	scoped(json_decrefp) json_t *answer = NULL;
	struct error err = {0};
	char path[80] = "/v1/console/logins";

	if (o->end && (strlen(o->end) > 40 ||
	               strspn(o->end, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(o->end))) {
		cli_complain("console: '%s' is no id of a login; --sessions lists them", o->end);
		return EXIT_NACRE_FAILED;
	}
	if (o->end)
		snprintf(path, sizeof(path), "/v1/console/logins/%s", o->end);
	if (server_ask(at, o->end ? "DELETE" : "GET", path, NULL, &answer, NULL, &err) < 0)
		return complain(&err);
	return o->end && !o->json ? 0 : print_logins(o, answer);
}

static int console(void *options, int argc, char **argv)
{
	const struct console *o = options;
	struct server_place at;
	struct error err = {0};

	if (cli_is_inside()) {
		cli_complain("a command that nacre runs cannot log anybody in");
		return EXIT_NACRE_FAILED;
	}
	if (server_place_read(o->server, &at, &err) < 0)
		return complain(&err);
	return o->sessions || o->end ? show_logins(o, &at) : make_link(o, &at);
}

#define CONSOLE struct console
static const struct cli_option options[] = {
	{"open", NULL, "open it in a browser, too", CLI_FLAG(CONSOLE, open)},
	{"as", "NAME", "with the rights of this token (default: yours)", CLI_TEXT(CONSOLE, as)},
	{"server", "URL", "the server: http://HOST:PORT, or a socket (default: that of this user)",
         CLI_TEXT(CONSOLE, server)},
	{"sessions", NULL, "list where a browser is logged in", CLI_FLAG(CONSOLE, sessions)},
	{"end", "ID", "end this login", CLI_TEXT(CONSOLE, end)},
	{"json", NULL, "print one JSON object", CLI_FLAG(CONSOLE, json)},
	{0},
};
#undef CONSOLE

const struct cli_command cli_console = {
	.name = "console",
	.summary = "open the page where a person sees and answers what agents do",
	.usage = "[OPTIONS]",
	.about =
		"Prints a link to the page of the server. The link logs a browser in: once, within "
		"two minutes. If no server of this user runs, one is started, and how to stop it "
		"is printed. The page lists tasks and approvals, shows terminals, sessions, the "
		"audit log, the policy and the machine.",
	.notes = "A login lasts 12 hours, or until its token is revoked. With --server http://... "
		 "the token of $NACRE_TOKEN is used.",
	.options = options,
	.size = sizeof(struct console),
	.main = console,
};
