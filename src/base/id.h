#pragma once
/*
 * Ids: names that cannot be guessed, safe in file names and on the wire.
 */
#include <stddef.h>

#define ID_RANDOM_CHARS 16 /* of 32 letters each: 80 bits */

/* Writes PREFIX, ID_RANDOM_CHARS random characters and a NUL; -ENOSPC if SIZE is too small. */
int id_new(const char *prefix, char *into, size_t size);

#define ID_UUID_SIZE 37 /* with the NUL */

/* A random UUID (version 4). */
int id_uuid(char into[ID_UUID_SIZE]);
