#pragma once
/*
 * Rehearsal: a keeper that stands by goes once through what an order will need of its memory.
 */
struct profile;

/* Writes and reads an order and a report, and decides about a command. Nothing is run, and what
 * comes of it is forgotten. */
void keeper_rehearse(const struct profile *profile, const char *workspace);
