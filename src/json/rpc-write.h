#pragma once
/*
 * JSON-RPC 2.0 messages to a peer. The functions that begin a message leave the writer where the
 * one value belongs that fills it; rpc_end() closes.
 */
struct buffer;
struct json_writer;

/* ID is JSON text; NULL is written as null. */
void rpc_begin_result(struct json_writer *w, const char *id);
void rpc_begin_request(struct json_writer *w, const char *id, const char *method);
void rpc_begin_notification(struct json_writer *w, const char *method);
void rpc_end(struct json_writer *w);

/* A whole error response; DATA is JSON text, or NULL. */
void rpc_write_error(struct buffer *into, const char *id, int code, const char *message,
                     const char *data);
