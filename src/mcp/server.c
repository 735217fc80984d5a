#include "mcp/server.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "mcp/inside.h"
#include "mcp/state.h"

const struct mcp_options mcp_options_default = {
	.foreground_max_ms = 50000, /* many clients give up after a minute */
	.task_after_ms = 10000,
	.approval_timeout_ms = 300000,
	.running_max = 16,
	.queued_max = MCP_PEER_CALLS, /* all that one client may ask for waits */
};

int mcp_server_new(const struct mcp_options *options, struct mcp_server **ret_server,
                   struct error *err)
{
	struct mcp_server *s = calloc(1, sizeof(*s));

	if (s)
		s->nonces = nonces_new();
	if (!s || !s->nonces) {
		free(s);
		return error_nomem(err);
	}
	s->options = *options;
	s->permits = (struct permits){.running_max = options->running_max,
	                              .queued_max = options->queued_max};
	s->share.permits = &s->permits;
	*ret_server = s;
	return 0;
}

struct mcp_server *mcp_server_free(struct mcp_server *s)
{
	if (!s)
		return NULL;
	assert(!s->peers && s->permits.running == 0 && s->permits.queued == 0);
	nonces_free(s->nonces);
	explicit_bzero(s->options.key, sizeof(s->options.key));
	free(s);
	return NULL;
}

size_t mcp_server_running(const struct mcp_server *s)
{
	return s->permits.running;
}

size_t mcp_server_queued(const struct mcp_server *s)
{
	return s->permits.queued;
}
