#pragma once
/*
 * Hint, lost: what a command that succeeded has done for nothing, since it ends with the command.
 * The text of the line tells; a line that is not this plain earns no hint.
 */
#include <stdbool.h>
#include "engine/hint-path.h"

struct hint_facts;

/* A line that only changes the directory, where no session keeps it. */
bool hint_lost_directory(const struct hint_facts *f);
/* The profile would let calls of the session share what the command speaks of; the tier cannot. */
bool hint_lost_room(const struct hint_facts *f);

/* A file that a redirection wrote into a place of the command alone (/tmp, /dev/shm, home), and
 * that the line does not speak of again. */
bool hint_lost_file(const struct hint_facts *f, char path[HINT_PATH_MAX]);
