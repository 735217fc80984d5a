/*
 * What a container engine or its client answers may come from anything that listens at the socket.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "container/container.h"
#include "container/left.h"
#include "container/ping.h"
#include "container/tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct docker_answer answer;
	struct container_state state;
	static const char *const words[] = {"docker", "run", "a/b:1", NULL};
	struct docker_left left;
	char *text, line[64];

	if (size > 65536)
		return 0;
	docker_ping_read((const char *)data, size, &answer);
	if (answer.state >= DOCKER_STATE_MAX || strlen(answer.engine) >= sizeof(answer.engine) ||
	    strlen(answer.api) >= sizeof(answer.api) ||
	    (answer.state == DOCKER_READY && !answer.api[0]))
		abort();
	if (container_state_read((const char *)data, size, &state, NULL) == 0 &&
	    strlen(state.error) >= sizeof(state.error))
		abort();
	(void)docker_left_read((const char *)data, size, &(struct docker_line){.words = words},
	                       &left, NULL);
	text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	tool_last_line(text, line, sizeof(line));
	for (const char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			abort();
	free(text);
	return 0;
}
