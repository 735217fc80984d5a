#include "json/rpc-write.h"

#include "base/buffer.h"
#include "json/write.h"

static void begin(struct json_writer *w)
{
	json_object_begin(w);
	json_put_key(w, "jsonrpc");
	json_put_string(w, "2.0");
}

void rpc_begin_result(struct json_writer *w, const char *id)
{
	begin(w);
	json_put_key(w, "id");
	json_put_raw(w, id ? id : "null");
	json_put_key(w, "result");
}

void rpc_begin_request(struct json_writer *w, const char *id, const char *method)
{
	begin(w);
	json_put_key(w, "id");
	json_put_raw(w, id);
	json_put_key(w, "method");
	json_put_string(w, method);
	json_put_key(w, "params");
}

void rpc_begin_notification(struct json_writer *w, const char *method)
{
	begin(w);
	json_put_key(w, "method");
	json_put_string(w, method);
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
	json_put_key(&w, "id");
	json_put_raw(&w, id ? id : "null");
	json_put_key(&w, "error");
	json_object_begin(&w);
	json_put_key(&w, "code");
	json_put_int(&w, code);
	json_put_key(&w, "message");
	json_put_string(&w, message);
	if (data) {
		json_put_key(&w, "data");
		json_put_raw(&w, data);
	}
	json_object_end(&w);
	json_object_end(&w);
}
