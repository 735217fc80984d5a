#include "mcp/appetite.h"

#include <string.h>
#include <strings.h>
#include "base/cleanup.h"

/* By the beginning of the name. Seen with real clients on loopback, but for what is in their
 * sources: Qwen Code keeps 25,000 characters and 1,000 lines, OpenCode 2,000 lines. */
static const struct {
	const char *name;
	struct mcp_appetite appetite;
} clients[] = {
	{"claude", {30000, 0}},      {"codex", {10240, 0}},  {"gemini-cli", {30000, 0}},
	{"opencode", {30000, 1900}}, {"qwen", {24000, 950}},
};

static const struct mcp_appetite unknown = {10240, 1900};

struct mcp_appetite mcp_appetite_of(json_t *info)
{
	const char *name = json_string_value(json_object_get(info, "name"));

	for (size_t i = 0; name && i < array_size(clients); i++)
		if (strncasecmp(name, clients[i].name, strlen(clients[i].name)) == 0)
			return clients[i].appetite;
	return unknown;
}
