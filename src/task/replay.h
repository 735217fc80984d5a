#pragma once
/*
 * Replay: the screen of a command's terminal, built again from what its task has on disk: the raw
 * log, and the sizes that the terminal had, one line for each: the offset in the log from which it
 * holds, rows, columns.
 *
 * Emulation is slow beside a pipe, so nothing of it happens while the command runs; who wants to
 * see the screen pays for it, and for no more than the end of the log.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "output/screen.h"

struct error;

struct picture {
	struct screen_facts facts;
	struct buffer text; /* used_rows lines, each with its newline */
};

static inline void picture_donep(struct picture *p)
{
	buffer_done(&p->text);
}

/* DROPPED_BYTES are missing in the log at DROPPED_AT; 0: none. The caller releases *ret_picture. A
 * task without a terminal is -ENOTTY; bytes that no emulator survives are -EBADMSG. */
int replay_screen(int dir_fd, uint64_t dropped_at, uint64_t dropped_bytes,
                  struct picture *ret_picture, struct error *err);

/* Whether the task has a terminal. */
bool replay_has_terminal(int dir_fd);

/* Whether the running program has asked for the other form of the cursor keys. */
bool replay_wants_application_keys(int dir_fd);
