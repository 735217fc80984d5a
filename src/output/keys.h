#pragma once
/*
 * Keys: the bytes that a terminal sends for a key with a name.
 *
 * Names are Enter, Tab, Escape, Space, Backspace, Delete, Insert, Up, Down, Left, Right, Home, End,
 * PageUp, PageDown, F1 to F12, or one character; C-, M- and S- in front stand for Control, Alt and
 * Shift. Upper and lower case are the same in names of more than one character.
 */
#include <stdbool.h>

struct buffer;

/* APPLICATION: the program has asked for the other form of the cursor keys (DECCKM). 0, or -EINVAL:
 * there is no such key. */
int keys_write(const char *name, bool application, struct buffer *into);
