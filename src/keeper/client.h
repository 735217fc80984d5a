#pragma once
/*
 * Clients of a container engine: before a line that runs docker or podman the engine is made ready,
 * and where the profile allows it the box gets the engine's socket.
 */
#include <stdint.h>
#include "container/endpoint.h"
#include "container/tool.h"

struct arena;
struct error;
struct keeper;

/* Lets the starter and its orders be heard while something is waited for. The watch belongs to the
 * keeper; when it is over the end of the report says why. */
const struct docker_watch *keeper_watch_starter(struct keeper *k);

/* Until the command's time is over; at least a moment. */
int64_t keeper_time_left(const struct keeper *k);

/* Where an engine is, as the operator's world says. */
int keeper_find_engine(const struct keeper *k, enum docker_client client,
                       struct docker_endpoint *ret_endpoint, struct error *err);
/* Waits for it, and starts it if the profile says how. */
int keeper_ready_engine(struct keeper *k, const struct docker_endpoint *e, struct error *err);

/* Before the box is made: readies the engines that the line needs, and adds their sockets to the
 * spec of the box and their addresses to the environment. */
int keeper_ready_clients(struct keeper *k, struct arena *arena, struct error *err);

/* After the end: what a client that failed may have lacked, or may have left when it was ended. */
void keeper_explain_client(struct keeper *k);
