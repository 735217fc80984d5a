#pragma once
/*
 * Recent: the end of the log once more, in a file whose bytes have been written before.
 *
 * A log that grows is dear to sync: each time the filesystem has to note its new size and blocks,
 * in its own journal and on the disk. A file of which only bytes change has nothing to be noted. So
 * a sync copies what is new in the log to this file, and syncs that one: half the time, and less
 * for the processor to do. The log itself is synced once in as many bytes as there are here.
 *
 * It is needed only after the machine has gone down: while it runs, the log has everything. The
 * byte at N of the log is at N modulo the size here, with nothing around it; what belongs to the
 * end of the log is told by the chain, record by record.
 *
 * Where this file cannot be had, the log is synced itself.
 */
#include <stdbool.h>
#include <stdint.h>
#include "audit/audit.h"

struct error;
struct head_place;

#define RECENT_BYTES ((uint64_t)512 << 10)

/* Makes the file if it is not there; under the lock of the writers, who sync the directory then.
 * Nothing is lost without it. */
void recent_make(struct audit *a);

/* With the lock of who syncs, the current file of the log open: everything up to PLACE is on the
 * disk then. */
int recent_sync(struct audit *a, const struct head_place *place, struct error *err);

/* What is in the log from here on is not what was copied: by a recovery, when it has cut what is to
 * be cut, and before it writes a place. */
int recent_forget(struct audit *a);

/* After the machine went down: appends to the current file of the log, whose chain ends at PLACE,
 * the records that follow, and moves the place behind them. */
int recent_restore(struct audit *a, struct head_place *place, struct error *err);
