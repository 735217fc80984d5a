#pragma once
/*
 * Clients of a container engine, as a keeper sees them: which ones the command's line runs, and
 * what is to be reported about their engines. container/access.h does the rest.
 */
#include "container/access.h"

struct arena;
struct error;
struct keeper;

/* What the container room wants to know about this keeper's command. The starter can end the wait
 * for an engine; then the end of the report says so. */
struct engine_need keeper_engine_need(struct keeper *k);
/* For the report; "" is not noted. */
void keeper_note_engine(struct keeper *k, const char *notice);

/* Before the box is made: readies the engines that the line needs, and adds their sockets to the
 * spec of the box and their addresses to the environment. */
int keeper_ready_clients(struct keeper *k, struct arena *arena, struct error *err);

/* After the end: what a client that failed may have lacked, or may have left when it was ended. */
void keeper_explain_client(struct keeper *k);
