#pragma once
/*
 * Room watch: whether the files of a room are more than they may be.
 *
 * A walk over all files costs time, so it is made when the file system has lost more space than a
 * quarter of what the room has left: since the last walk, or since it had the most. Space that is
 * freed elsewhere could hide what the room takes, so a call that begins counts again if the last
 * walk is some time ago. What was found is written beside the room, for the next call.
 * The bound is a soft one: what is written between two looks is over it.
 *
 * The directory of a job is watched in the same way. It is the command's own, so nothing is written
 * into it, and each call counts.
 */
#include <stdbool.h>
#include <stdint.h>

struct room_watch {
	int dir;    /* of the generation; borrowed; 0 or less: nothing to watch */
	bool whole; /* not a generation: all that is in the directory counts */
	uint64_t max_bytes, max_files;
	uint64_t limit_bytes, limit_files; /* as the profile has them */
	uint64_t bytes, files;             /* as they were counted last, or less than that */
	uint64_t free_bytes, free_files;   /* of the file system then, or more since */
	int64_t walked_ms, walk_cost_ms;   /* when that was, by the wall clock; how long it took */
	int64_t next_look;
	bool full;     /* there is more than may be */
	bool was_full; /* at the beginning: then a little more is allowed, to clear it up */
};

/* DIR is that of a generation, which stays the caller's; less than 0: there is nothing to watch. */
void room_watch_begin(struct room_watch *w, int dir, uint64_t max_bytes, uint64_t max_files,
                      int64_t now_ms);
/* DIR is any directory, of which all counts. */
void room_watch_begin_whole(struct room_watch *w, int dir, uint64_t max_bytes, int64_t now_ms);
/* How long until the next look; INT64_MAX: there is nothing to look for. */
int64_t room_watch_wait_ms(const struct room_watch *w, int64_t now_ms);
void room_watch_look(struct room_watch *w, int64_t now_ms);
/* Whether there is more than this now, which is below what was watched for; 0: any number may be.
 */
bool room_watch_exceeds(struct room_watch *w, uint64_t bytes, uint64_t files);
/* Whether there is more than twice as much as may be: short calls could add to it without end. */
bool room_watch_end(struct room_watch *w);
