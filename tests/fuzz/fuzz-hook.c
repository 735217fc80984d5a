/*
 * What a client sends to its hook, and what a hook answers: any bytes. The first byte chooses the
 * client. A call that is read has all that a decision needs; what is written of it reads as the
 * same call.
 */
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "hook/answer.h"
#include "hook/call.h"
#include "hook/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(arena_freep) struct arena *arena = arena_new((size_t)64 << 20);
	scoped(hook_call_done) struct hook_call call = {0}, again = {0};
	scoped(buffer_donep) struct buffer text = {0}, answer = {0};
	struct hook_answer a = {.verdict = HOOK_ALLOW}, seen;
	const struct hook_client *client = hook_clients;

	if (!arena || size == 0)
		return 0;
	for (int i = data[0] % 6; i > 0; i--)
		client++;
	(void)hook_answer_read(client, (const char *)data + 1, size - 1, arena, &seen, NULL);
	if (hook_call_read(client, (const char *)data + 1, size - 1, arena, &call, NULL) < 0)
		return 0;
	must(*call.command && *call.session && call.cwd[0] == '/');
	must(hook_call_write(client, &call, &text) == 0);
	must(hook_call_read(client, text.data, text.len, arena, &again, NULL) == 0);
	must(strcmp(call.command, again.command) == 0 && strcmp(call.cwd, again.cwd) == 0);
	a.input = call.input;
	a.command = client->rewrites ? "nsh" : NULL;
	must(hook_answer_write(client, &a, &answer) == 0);
	must(hook_answer_read(client, answer.data, answer.len, arena, &seen, NULL) == 0 &&
	     seen.verdict == HOOK_ALLOW);
	must(!client->rewrites || (seen.command && strcmp(seen.command, "nsh") == 0));
	return 0;
}
