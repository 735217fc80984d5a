#pragma once
/*
 * Container mode: the box of the command is a container that docker or podman makes.
 *
 * The engine's client takes the place of the command below init: its streams are the command's, and
 * a signal to it goes on to the container. The container itself lives elsewhere, so it has a name,
 * and is removed by that at every end: by the keeper, else by its guard.
 */
#include <stdbool.h>

struct arena;
struct error;
struct keeper;
struct keeper_container;
struct process_command;

/* Readies the engine and makes the container. */
int keeper_container_make(struct keeper *k, struct arena *arena, struct error *err);

/* The client instead of the command. */
void keeper_container_fill(const struct keeper *k, struct process_command *c);

/* After the end: how the container ended, for the report, and its removal. */
void keeper_container_end(struct keeper *k);

/* When the starter has its answer: containers of others that nobody removed. */
void keeper_container_sweep(struct keeper *k);
