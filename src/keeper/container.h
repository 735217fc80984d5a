#pragma once
/*
 * Container mode: the box of the command is a container (container/box.h). Here a keeper's order
 * becomes its wishes, and its end the report.
 */
struct arena;
struct error;
struct keeper;
struct process_command;

/* Readies the engine and makes the container. */
int keeper_container_make(struct keeper *k, struct arena *arena, struct error *err);

/* The client instead of the command. */
void keeper_container_fill(const struct keeper *k, struct process_command *c);

/* After the end: how the container ended, for the report, and its removal. */
void keeper_container_end(struct keeper *k);

/* Once the starter has its answer: remove containers that other keepers left. */
void keeper_container_sweep(struct keeper *k);
