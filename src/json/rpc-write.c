#include "json/rpc-write.h"

#include "base/buffer.h"
#include "json/write.h"

static void begin(struct json_writer *w)
{
	json_object_begin(w);
	json_member_string(w, "jsonrpc", "2.0");
}

void rpc_begin_result(struct json_writer *w, const char *id)
{
	begin(w);
	json_member_raw(w, "id", id ? id : "null");
	json_put_key(w, "result");
}

void rpc_begin_request(struct json_writer *w, const char *id, const char *method)
{
	begin(w);
	json_member_raw(w, "id", id);
	json_member_string(w, "method", method);
	json_put_key(w, "params");
}

void rpc_begin_notification(struct json_writer *w, const char *method)
{
	begin(w);
	json_member_string(w, "method", method);
	json_put_key(w, "params");
}

void rpc_end(struct json_writer *w)
{
	json_object_end(w);
}

void rpc_write_error(struct buffer *into, const char *id, int code, const char *message,
                     const char *data)
{
	struct json_writer w = {.out = into};

	begin(&w);
	json_member_raw(&w, "id", id ? id : "null");
	json_member_object(&w, "error");
	json_member_int(&w, "code", code);
	json_member_string(&w, "message", message);
	if (data)
		json_member_raw(&w, "data", data);
	json_object_end(&w);
	json_object_end(&w);
}
