#pragma once
/*
 * Mute: the smallest box. A process that works on hostile bytes with code that is not ours gives up
 * all but its memory and the descriptors it holds.
 */

/* From here on only read, write and exit; anything else ends the process. 0, or a negative errno.
 */
int sandbox_mute(void);
