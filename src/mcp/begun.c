#include "mcp/begun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/fd.h"
#include "task/errand.h"
#include "mcp/inside.h"
#include "mcp/tasks.h"

#define BEGUN_MAX 1024 /* of more the oldest are forgotten, and live on */

struct mcp_begun {
	struct mcp_begun *next;
	struct mcp_peer *peer;
	char id[STORE_ID_MAX];
	struct errand *errand; /* NULL: it is not being stopped */
};

void mcp_begun_add(struct mcp_peer *p, const char *id)
{
	struct mcp_begun *b = calloc(1, sizeof(*b)), **last = &p->begun;

	if (!b)
		return;
	b->peer = p;
	snprintf(b->id, sizeof(b->id), "%s", id);
	b->next = p->begun;
	p->begun = b;
	if (++p->begun_count <= BEGUN_MAX)
		return;
	while ((*last)->next)
		last = &(*last)->next;
	if (!(*last)->errand) {
		free(take_ptr(last));
		p->begun_count--;
	}
}

void mcp_begun_free(struct mcp_peer *p)
{
	struct mcp_begun *next;

	for (struct mcp_begun *b = p->begun; b; b = next) {
		next = b->next;
		if (b->errand)
			errand_leave(b->errand);
		free(b);
	}
	p->begun = NULL;
	p->begun_count = p->stopping = 0;
}

static void on_stopped(void *owner, int code)
{
	struct mcp_begun *b = owner;

	b->errand = NULL;
	b->peer->stopping--;
}

void mcp_peer_stop_tasks(struct mcp_peer *p)
{
	struct errand_order order = {.stop = true};
	struct find_entry e;

	for (struct mcp_begun *b = p->begun; b; b = b->next) {
		int fd = b->errand ? -1 : mcp_task_open(p, b->id, &e);

		if (fd < 0)
			continue;
		if (e.state == FIND_RUNNING && errand_start(p->server->options.loop, fd, &order,
		                                            on_stopped, b, &b->errand, NULL) == 0)
			p->stopping++;
		fd_close(fd);
	}
}
