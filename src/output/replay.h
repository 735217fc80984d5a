#pragma once
/*
 * Replay: the screen of a command's terminal, built again from what its task has on disk.
 *
 * Two files take part: the raw log, and the sizes that the terminal had, one line for each: the
 * offset in the log from which it holds, rows, columns. Emulation is slow beside a pipe, so nothing
 * of it happens while the command runs; who wants to see the screen pays for it, and for no more
 * than the end of the log.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct screen;

/* Appends a size to the record; ANEW begins the record again. What cannot be written is missing:
 * the command goes on. DIR_FD -1: there is no record. */
void replay_record_size(int dir_fd, uint64_t offset, unsigned rows, unsigned cols, bool anew);

/* DROPPED_BYTES are missing in the log at DROPPED_AT; 0: none. The caller owns *ret_screen. A task
 * without a terminal is -ENOTTY. */
int replay_screen(int dir_fd, uint64_t dropped_at, uint64_t dropped_bytes,
                  struct screen **ret_screen, struct error *err);
