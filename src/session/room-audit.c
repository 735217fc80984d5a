/*
 * Records of making and ending rooms. Nothing waits for them, and none is synced: a log that cannot
 * be written refuses the command itself (keeper/record.c), which stands behind the record of its
 * room. They are never written under the lock of all rooms.
 */
#include <stdio.h>
#include "audit/audit.h"
#include "audit/event.h"
#include "session/room-inside.h"

void room_audit(const char *state, enum audit_kind kind, const char *id,
                const struct room_record *record, const char *reason)
{
	char room[ROOM_ID_SIZE + 24];
	struct audit_event e = {.kind = kind,
	                        .principal = record->principal,
	                        .profile = record->profile,
	                        .agent = record->agent,
	                        .session = record->session,
	                        .workspace = record->workspace,
	                        .room = room,
	                        .reason = reason};

	if (!record->audited || !record->session)
		return;
	snprintf(room, sizeof(room), "%s/%lld", id, (long long)record->generation);
	(void)audit_event(state, NULL, &e, false, NULL);
}
