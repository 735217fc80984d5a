#include "json/rpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/utf8.h"
#include "json/write.h"
#include "json/rpc-scan.h"

static void refuse(struct rpc_message *m, int code, const char *problem)
{
	m->kind = RPC_INVALID;
	m->code = code;
	snprintf(m->problem, sizeof(m->problem), "%s", problem);
}

/* A string may hold U+0000 in JSON, and nothing else that we touch can: whoever uses one has to
 * know. */
static bool holds_nul(json_t *value)
{
	const char *key;
	json_t *member;
	size_t i;

	if (json_is_string(value))
		return strlen(json_string_value(value)) != json_string_length(value);
	if (json_is_object(value)) {
		json_object_foreach (value, key, member)
			if (holds_nul(member))
				return true;
	}
	json_array_foreach (value, i, member)
		if (holds_nul(member))
			return true;
	return false;
}

char *rpc_token(json_t *value)
{
	scoped(buffer_donep) struct buffer text = {0};
	struct json_writer w = {.out = &text};

	if (json_is_string(value))
		json_put_bytes(&w, json_string_value(value), json_string_length(value));
	else if (json_is_integer(value))
		json_put_int(&w, json_integer_value(value));
	else
		return NULL;
	return buffer_take(&text);
}

static void read_id(struct rpc_message *m, json_t *id, const struct rpc_scan *scan)
{
	if (!json_is_string(id) && !json_is_integer(id))
		return;
	m->id = scan && scan->id ? strndup(scan->id, scan->id_len) : rpc_token(id);
	if (m->id && strlen(m->id) > RPC_ID_MAX) {
		free(take_ptr(&m->id));
		refuse(m, RPC_INVALID_REQUEST, "the id is too long");
	}
}

static void read_shape(struct rpc_message *m, const struct rpc_scan *scan)
{
	json_t *id = json_object_get(m->root, "id");
	json_t *method = json_object_get(m->root, "method");
	json_t *result = json_object_get(m->root, "result");
	json_t *error = json_object_get(m->root, "error");
	const char *version = json_string_value(json_object_get(m->root, "jsonrpc"));
	bool is_2_0 = version && strcmp(version, "2.0") == 0;

	read_id(m, id, scan);
	if (!method && (result || error)) {
		/* Whatever is wrong with an answer is not answered: a peer that does the same would
		 * send us the next one. It is no result, either. */
		m->code = 0;
		m->kind = RPC_RESPONSE;
		m->result = error || !is_2_0 ? NULL : result;
		return;
	}
	if (m->kind == RPC_INVALID && m->code)
		return;
	if (!is_2_0) {
		refuse(m, RPC_INVALID_REQUEST, "'jsonrpc' must be \"2.0\"");
	} else if (id && !m->id) {
		refuse(m, RPC_INVALID_REQUEST, "'id' must be a string or an integer");
	} else if (method && !result && !error) {
		m->method = holds_nul(method) ? NULL : json_string_value(method);
		m->params = json_object_get(m->root, "params");
		m->kind = id ? RPC_REQUEST : RPC_NOTIFICATION;
		if (!m->method)
			refuse(m, RPC_INVALID_REQUEST, "'method' must be a string without U+0000");
	} else {
		refuse(m, RPC_INVALID_REQUEST, "this is neither a request nor a response");
	}
}

static void read_root(struct rpc_message *m, const struct rpc_scan *scan)
{
	m->has_nul = holds_nul(m->root);
	if (json_is_object(m->root)) {
		read_shape(m, scan);
	} else if (json_is_array(m->root) && json_array_size(m->root) > 0) {
		m->kind = RPC_BATCH;
	} else {
		refuse(m, RPC_INVALID_REQUEST, "a message is an object");
	}
}

void rpc_message_refuse(const char *bytes, size_t n, int code, const char *problem,
                        struct rpc_message *ret_message)
{
	struct rpc_scan scan;

	*ret_message = (struct rpc_message){0};
	rpc_scan(bytes, n, &scan);
	if (scan.id_is_safe && scan.id_len <= RPC_ID_MAX)
		ret_message->id = strndup(scan.id, scan.id_len);
	refuse(ret_message, code, problem);
}

/* Half of a character, as JavaScript writes it for a text that was cut within one. The library has
 * only words for that. */
static bool is_half(const json_error_t *e)
{
	return json_error_code(e) == json_error_invalid_syntax &&
	       strncmp(e->text, "invalid Unicode", 15) == 0;
}

/* What is JSON, but not for us, has an id that can be told: somebody waits for an answer under it.
 * Of what is no JSON nobody can say. */
static void refuse_text(const char *bytes, size_t n, const json_error_t *e,
                        struct rpc_message *ret_message)
{
	enum json_error_code why = json_error_code(e);

	if (why == json_error_duplicate_key)
		rpc_message_refuse(bytes, n, RPC_INVALID_REQUEST, "a member is given twice",
		                   ret_message);
	else if (why == json_error_numeric_overflow)
		rpc_message_refuse(bytes, n, RPC_INVALID_REQUEST, "a number is too large",
		                   ret_message);
	else if (why == json_error_null_byte_in_key)
		rpc_message_refuse(bytes, n, RPC_INVALID_REQUEST, "a name holds U+0000",
		                   ret_message);
	else if (is_half(e))
		rpc_message_refuse(bytes, n, RPC_INVALID_REQUEST,
		                   "a text holds half of a character (a lone surrogate)",
		                   ret_message);
	else
		rpc_message_refuse("", 0, RPC_PARSE_ERROR, "the message is not JSON", ret_message);
}

void rpc_message_read(const char *bytes, size_t n, struct rpc_message *ret_message)
{
	struct rpc_scan scan;
	json_error_t e;
	json_t *root;

	rpc_scan(bytes, n, &scan);
	if (scan.depth > RPC_DEPTH_MAX) {
		rpc_message_refuse(bytes, n, RPC_INVALID_REQUEST,
		                   "the message is nested too deeply", ret_message);
		return;
	}
	if (scan.values > RPC_VALUES_MAX) {
		rpc_message_refuse(bytes, n, RPC_INVALID_REQUEST,
		                   "there are too many values in the message", ret_message);
		return;
	}
	root = json_loadb(bytes, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &e);
	if (!root) {
		refuse_text(bytes, n, &e, ret_message);
		return;
	}
	*ret_message = (struct rpc_message){.root = root};
	read_root(ret_message, &scan);
}

void rpc_message_done(struct rpc_message *m)
{
	free(m->id);
	json_decref(m->root);
	*m = (struct rpc_message){.kind = RPC_INVALID};
}

size_t rpc_message_count(const struct rpc_message *batch)
{
	return json_array_size(batch->root);
}

void rpc_message_element(const struct rpc_message *batch, size_t i, struct rpc_message *ret_message)
{
	*ret_message = (struct rpc_message){.root = json_incref(json_array_get(batch->root, i))};
	if (json_is_object(ret_message->root))
		read_root(ret_message, NULL);
	else
		refuse(ret_message, RPC_INVALID_REQUEST, "a message is an object");
}

json_t *rpc_param(const struct rpc_message *m, const char *key)
{
	return json_object_get(m->params, key);
}
