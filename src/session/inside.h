#pragma once
/*
 * What the files about sessions share.
 */
#include "session/session.h"

/* How the file of a session of a principal begins. */
#define SESSION_PRINCIPAL_TEXT "{\n \"principal\": \""

/* The directory of all sessions, which is made if it is not there. */
int session_open_all(const char *state);

/* Room for one more session of the principal ("": who runs nacre), under the lock of the directory.
 * -ENOSPC: all that it may have are in use. */
int session_make_room(int dir_fd, const char *principal);
