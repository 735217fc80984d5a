#pragma once
/*
 * Small contents of the fixtures: a red pixel, and eight samples of silence.
 */
#define FIXTURE_PNG                                                                                \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSu" \
	"QmCC"
#define FIXTURE_WAV "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA=="

#define FIXTURE_IMAGE      "{\"type\":\"image\",\"data\":\"" FIXTURE_PNG "\",\"mimeType\":\"image/png\"}"
#define FIXTURE_TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define FIXTURE_FORM(message, properties, required)                                                \
	"{\"message\":\"" message                                                                  \
	"\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" properties                  \
	"},\"required\":[" required "]}}"
#define FIXTURE_ASK(message, properties, required)                                                 \
	"{\"method\":\"elicitation/create\",\"params\":" FIXTURE_FORM(message, properties,         \
	                                                              required) "}"
#define FIXTURE_SAMPLE(text)                                                                       \
	"{\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[{\"role\":\"user\","     \
	"\"content\":" FIXTURE_TEXT(text) "}],\"maxTokens\":100}}"
#define FIXTURE_ROOTS "{\"method\":\"roots/list\",\"params\":{}}"

struct mcp_call;
struct rpc_message;

/* A result whose content is this JSON array. */
void fixture_answer(struct mcp_call *c, const char *content, int is_error);

/* fixtures-jobs.c */
void fixture_greet(struct mcp_call *c, const struct rpc_message *m);
void fixture_slow_compute(struct mcp_call *c, const struct rpc_message *m);
void fixture_failing_job(struct mcp_call *c, const struct rpc_message *m);

/* fixtures-rounds.c: tools and prompts that want input; 0: it is none of them. */
int fixture_rounds(struct mcp_call *c, const struct rpc_message *m, const char *name, int prompt);
const char *fixture_round_name(unsigned i); /* of the I-th tool; 0: there are no more */
