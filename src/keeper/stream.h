#pragma once
/*
 * Stream: one pipe from the command, and where its bytes go: a capture in memory, a spool on disk.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "keeper/relay.h"

struct capture;
struct capture_limits;
struct error;
struct home;
struct index;
struct keeper_stream;
struct spool;

struct stream {
	int fd; /* -1: ended, or never there */
	struct relay relay;
	const char *name;
	struct capture *capture;
	struct spool *spool;
	struct home *home;    /* where the file is made */
	struct stream *other; /* of the same command */
	bool begun;           /* the file was made, or it was tried */
	size_t patience;      /* so many bytes may wait in memory before one is made */
	uint64_t spool_cap;
	int spool_errno;
	int full_reads;
	struct index *index; /* NULL: it stands alone */
	unsigned number;     /* in the index */
};

/* Takes FD; -1 makes a stream that has ended. The file is made by the first byte that may not wait
 * in memory: what comes while few bytes have come and none of the other stream. */
int stream_open(struct stream *s, int fd, const struct capture_limits *kept, struct error *err);

/* Make the file now, with the output so far: a caller knows its name. */
void stream_begin_file(struct stream *s);

/* One bounded read into BUFFER and on, so that no stream starves the other. How many bytes came; at
 * the end of the stream fd becomes -1. */
size_t stream_read(struct stream *s, char *buffer, size_t size);

/* Forgets a stream from which nothing came. */
void stream_done(struct stream *s);

/* What became of the stream so far; it goes on. */
void stream_measure(const struct stream *s, struct keeper_stream *ret_facts);

/* Ends the stream, brings its file into its last form and says what became of it. */
void stream_close(struct stream *s, struct keeper_stream *ret_facts);

/* Whether all of it is in memory, and is text that every reader takes as it is. */
bool stream_is_plain(const struct stream *s);
