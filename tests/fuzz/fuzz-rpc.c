/*
 * JSON-RPC: any bytes are a message or an answer that can be read, and an id that is written back
 * is one that could have come.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "json/rpc.h"
#include "json/rpc-write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const struct rpc_message *m)
{
	scoped(buffer_donep) struct buffer answer = {0};
	scoped(rpc_message_donep) struct rpc_message back = {0};

	rpc_write_error(&answer, m->id, m->code, m->problem, NULL);
	rpc_message_read(buffer_str(&answer), answer.len, &back);
	if (m->id && (back.kind != RPC_RESPONSE || strcmp(back.id, m->id) != 0))
		abort();
	if (!m->id && !json_is_object(back.root))
		abort();
}

static void check(const struct rpc_message *m)
{
	switch (m->kind) {
	case RPC_REQUEST:
		if (!m->id || !m->method)
			abort();
		break;
	case RPC_NOTIFICATION:
		if (m->id || !m->method)
			abort();
		break;
	case RPC_RESPONSE:
		if (!m->id || m->method)
			abort();
		break;
	case RPC_BATCH:
		if (rpc_message_count(m) == 0)
			abort();
		return;
	case RPC_INVALID:
		if (!m->code || !m->problem[0])
			abort();
		break;
	}
	check_answer(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(rpc_message_donep) struct rpc_message m = {0}, refused = {0};

	rpc_message_read((const char *)data, size, &m);
	check(&m);
	for (size_t i = 0; m.kind == RPC_BATCH && i < rpc_message_count(&m); i++) {
		scoped(rpc_message_donep) struct rpc_message one = {0};

		rpc_message_element(&m, i, &one);
		if (one.kind == RPC_BATCH)
			abort();
		check(&one);
	}
	rpc_message_refuse((const char *)data, size, RPC_INVALID_REQUEST, "too long", &refused);
	check(&refused);
	return 0;
}
