#pragma once
/*
 * Events: one stream for all that a page shows. A browser opens few connections to a host, so a
 * page has one, and says by POST what it wants to hear of.
 *
 * feed.c looks at the directories of tasks, approvals and records, once for all streams, and only
 * while there is a stream; events.c is the stream: what it follows, and its way to the client.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "audit/query.h"
#include "base/cleanup.h"
#include "base/loop.h"
#include "serve/tail.h"
#include "task/store.h"

struct buffer;
struct call;
struct error;
struct feed;
struct json_writer;
struct serve;
struct show;

#define STREAM_OUTPUTS_MAX 8
#define STREAM_SCREENS_MAX 4
#define STREAMS_MAX        256
#define STREAM_ID_SIZE     24

enum stream_topic { TOPIC_TASKS, TOPIC_APPROVALS, TOPIC_AUDIT, TOPIC_METRICS, TOPIC_MAX };

struct stream {
	struct stream *next, **back;
	struct call *call;
	char id[STREAM_ID_SIZE];
	bool topics[TOPIC_MAX];
	struct stream_output {
		struct stream *stream;
		char task[STORE_ID_MAX]; /* "": free */
		struct tail *tail;
	} outputs[STREAM_OUTPUTS_MAX];
	struct stream_screen {
		struct stream *stream;
		char task[STORE_ID_MAX]; /* "": free */
		struct show *show;
	} screens[STREAM_SCREENS_MAX];
	size_t turn; /* which output is pumped first */
	struct audit_follow audit;
	struct loop_timer more;
};

/* events.c: the doors */
void events_open(struct call *c);
void events_change(struct call *c);
void events_put_schema(struct json_writer *w);
void events_drained(struct call *c);
void events_gone(struct call *c);
/* Says why ("login", "stopping"), and ends it. */
void events_bye(struct call *c, const char *reason);
bool stream_send(struct stream *s, const char *id, const char *name, struct buffer *json);
/* Fills in who the caller is now; false: nobody any more. */
bool stream_who(struct stream *s);

/* feed.c */
int feed_new(struct serve *s, struct feed **ret_feed, struct error *err);
struct feed *feed_free(struct feed *f);
DEFINE_CLEANUP(struct feed *, feed_free);
struct stream *feed_streams(struct feed *f); /* the first of them */
size_t feed_count(const struct feed *f);
void feed_add(struct feed *f, struct stream *s);
void feed_remove(struct feed *f, struct stream *s);
/* The topics of some stream have changed. */
void feed_look(struct feed *f);
/* Sends what is there of these topics. */
void feed_snapshot(struct feed *f, struct stream *s, const bool topics[TOPIC_MAX]);
/* Records from the place of the stream on. */
void feed_audit(struct feed *f, struct stream *s, bool send);
