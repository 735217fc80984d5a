#pragma once
/*
 * What the files of this room share: the server, its clients, and the call, which is one request on
 * its way from the head to the last byte of the answer.
 */
#include <limits.h>
#include <jansson.h>
#include "base/buffer.h"
#include "engine/engine.h"
#include "engine/permits.h"
#include "base/loop.h"
#include "serve/events.h"
#include "serve/history.h"
#include "serve/logins.h"
#include "serve/metrics.h"
#include "serve/principal.h"
#include "serve/server.h"
#include "task/tasks.h"
#include "serve/watch.h"
#include "task/store.h"

struct arena;
struct errand;
struct helper;
struct http_exchange;
struct job;
struct json_writer;
struct mcp_http;
struct result;
struct route;
struct tail;
struct watch;

/* What is remembered of a principal while the server runs. */
struct client {
	struct client *next;
	char name[PRINCIPAL_NAME_MAX + 1]; /* "": who runs nacre */
	struct rate rate;
	struct permit_share share;
	size_t background_room; /* tasks that may be started before they are counted again */
};

/* A profile in a directory. */
struct bench {
	struct bench *next;
	struct engine engine;
	char *profile, *root, *around;
};

struct serve {
	struct loop *loop;
	struct launcher *launcher;
	struct serve_options options;
	struct http_server *http;
	struct principals principals;
	struct client *clients;
	size_t client_count;
	struct bench *benches;
	size_t bench_count;
	struct logins logins;
	char *hosts[16]; /* of our own addresses */
	size_t host_count;
	char *address; /* of the first TCP socket, as a browser names it; NULL: there is none */
	struct watch *watch;
	struct mcp_http *mcp;
	struct call *calls; /* all */
	struct permits permits;
	struct metrics metrics;
	struct history history;
	struct loop_timer history_timer;
	struct feed *feed;
	struct rate strangers; /* those who are nobody share one */
	struct loop_timer stop_timer;
	int64_t started_ms, stop_at;
	bool stopping, letting_go;
};

struct call {
	struct serve *serve;
	struct http_exchange *x; /* NULL: the client has gone */
	struct call *next, **back;
	const struct route *route;
	struct client *client;
	struct principal who;      /* rights, as long as begin() and request() last */
	char login[LOGIN_ID_MAX];  /* by which it came in; "": by a token, or as the owner */
	char id[STORE_ID_MAX + 8]; /* of a path */
	int retry_s;               /* for an answer that says so; 0: soon */
	const char *allow;         /* for an answer that names methods */
	/* A command */
	struct request *request; /* waits to be started */
	struct bench *bench;
	struct arena *arena;
	bool is_page; /* a file of the console, open to all */
	bool shell, streams;
	bool lost; /* the workspace is not there, or not the caller's */
	struct job *job;
	struct buffer result; /* of a stream: what comes after the output */
	char result_id[STORE_ID_MAX];
	bool keep;
	bool left; /* what follows these bytes is the output of a task: */
	uint64_t left_bytes;
	struct tail *tail;
	struct errand *errand;
	struct loop_timer timer;
	/* A task that is looked at */
	struct watcher watcher;
	struct tasks_query query;
	char grep[256];
	struct reading *reading; /* that waits for more to come */
	int task_fd;             /* -1: none */
	struct stream *stream;   /* of events; NULL: it is none */
	struct show *shot;       /* of a terminal, for one answer */
	struct helper *helper;   /* that works for it */
	void *mcp;               /* what mcp-http.c has for it */
};

/* route.c: the checks before everything else, and the table of what there is. */
struct route {
	const char *method, *path; /* a '*' is one id */
	void (*handle)(struct call *c);
	const char *summary;
	const char *query[9]; /* names, up to NULL */
	bool takes_body;      /* JSON */
	bool bare;            /* which may be missing */
	bool open;            /* without a principal */
	bool free;            /* does not count for the rate */
	bool raw;             /* looks at type and body itself */
	void (*body_schema)(struct json_writer *w);
	const char *gives;   /* the shape of what it answers (see shape.h); NULL: plain text */
	const char *fails;   /* the shape of its failures; NULL: "Error" */
	const char *events;  /* of the stream that it may answer with, too: "name:shape ..." */
	const char *answers; /* statuses beside those of all, for the document */
};

const struct route *route_at(size_t i); /* NULL: there are no more */
void route_begin(void *owner, struct http_exchange *x);
void route_request(void *owner, struct http_exchange *x);
void route_drained(void *owner, struct http_exchange *x);
void route_gone(void *owner, struct http_exchange *x);
void call_free(struct call *c);
/* Reads who is known if that has changed; who is no more loses their streams. */
void route_refresh(struct serve *s);
/* Streams of who has no login or token any more end. */
void route_end_revoked(struct serve *s);

/* Who runs nacre. */
struct principal route_owner(void);

/* answer.c */
/* The object of the body; one that is absent is empty. False: it is wrong, and that is answered. */
bool answer_read_body(struct call *c, json_t **ret);
void answer_json(struct call *c, int status, struct buffer *json);
void answer_error(struct call *c, int status, const char *kind, const char *message);
/* What may be shown of it is; the rest goes to the log. */
void answer_failure(struct call *c, const struct error *err);
void answer_stream(struct call *c);
void serve_log(struct serve *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* bench.c */
/* The engine for a profile and a workspace (may be NULL) that the caller may use. -EACCES, -ENOENT:
 * words are set. */
int bench_find(struct call *c, const char *profile, const char *workspace, struct bench **ret,
               struct error *err);
/* By a root of the principal itself, one of ROOTS: where it lies in another of them, that one's
 * protections hold, too. */
int bench_at(struct serve *s, const char *profile, const char *const *roots, const char *root,
             struct bench **ret, struct error *err);
void bench_free(struct bench *b);
/* The engines have one store among them, this is any of its handles. */
int bench_store(struct serve *s, struct store **ret, struct error *err);
const char *const *bench_roots(const struct call *c);
/* Whether a directory, which need not be there any more, lies in one of them. */
bool bench_is_below(const char *const *roots, const char *directory);
/* The outermost of the roots that holds the directory, or NULL. */
const char *bench_root_of(const char *const *roots, const char *workspace);
/* A session of one principal has a name that no other can give. */
int bench_session(const struct call *c, struct arena *arena, const char **session);

/* run.c */
void run_shell(struct call *c);
void run_any(struct call *c);
void run_explain(struct call *c);
void run_put_schema(struct json_writer *w);
void run_put_shell_schema(struct json_writer *w);
/* The four members of POST /shell, for a request that did not get to a command. */
void run_put_shell_failure(struct json_writer *w, const char *message);
void run_client_gone(struct call *c);
/* Whether the principal may have one more task in the background. */
bool run_may_begin_task(struct serve *s, struct client *c);
void run_pump(struct call *c);

/* task-doors.c, task-output.c */
void tasks_list(struct call *c);
void tasks_one(struct call *c);
void tasks_output(struct call *c);
void tasks_raw(struct call *c);
void tasks_screen(struct call *c);
void tasks_stop_one(struct call *c);
void tasks_input(struct call *c);
void tasks_put_stop_schema(struct json_writer *w);
void tasks_put_input_schema(struct json_writer *w);
void tasks_client_gone(struct call *c);
/* The store, or a negative errno and an answer. */
int tasks_store(struct call *c, struct store **ret);
/* A number of the query, if it is there. False: it is wrong, and that is answered. */
bool tasks_get_number(struct call *c, const char *name, uint64_t *ret);
/* The directory of the task of the path if the caller may see it, else a negative errno and an
 * answer. */
int tasks_open(struct call *c);
/* Whether a task is one of the caller's: of one of its roots. Who runs nacre sees all. */
struct find_entry;
struct find_origin;
bool tasks_may_see(const struct call *c, const struct find_origin *origin);
/* Members of an object about a task, of which this is the directory; -1: it is gone. */
void tasks_put_member(struct json_writer *w, int dir_fd, const struct find_entry *e);

/* checks.c, grants.c, profiles.c */
void checks_doctor(struct call *c);
void checks_verify(struct call *c);
void grants_show(struct call *c);
void grants_end(struct call *c);
void profiles_list(struct call *c);
void profiles_one(struct call *c);

/* console.c */
void console_login(struct call *c);
void console_logout(struct call *c);
void console_link(struct call *c);
void console_logins(struct call *c);
void console_end_login(struct call *c);
void console_me(struct call *c);
void console_put_login_schema(struct json_writer *w);
void console_put_link_schema(struct json_writer *w);
void console_put_empty_schema(struct json_writer *w);
/* The login that this request has both halves of. False: it has none, or a half; or it is not from
 * our own page (then *RET_FOREIGN). */
bool console_find_login(struct call *c, const struct login **ret, bool *ret_foreign);

/* sessions.c */
void sessions_list(struct call *c);
void sessions_one(struct call *c);
void sessions_end(struct call *c);

/* approvals.c, audit.c, about.c */
void approvals_list(struct call *c);
struct approval;
void approvals_put(struct call *c, struct json_writer *w, const struct approval *a);
void approvals_one(struct call *c);
void approvals_answer(struct call *c);
/* Who answers, for other people: "boss, by the console (cl-...)". */
void approvals_name_person(const struct call *c, char *into, size_t size);
void approvals_put_schema(struct json_writer *w);
void audit_show(struct call *c);
/* A record as the caller may see it, which the caller frees; NULL: there is no memory. */
char *audit_record_text(const struct call *c, json_t *record);
void about_health(struct call *c);
void about_metrics(struct call *c);
void about_history(struct call *c);
/* The numbers now. */
void about_point(struct serve *s, struct history_point *ret_point);
void about_openapi(struct call *c);
