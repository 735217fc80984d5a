#pragma once
/*
 * Wait: words in a file that processes sleep on, so that one wakes another without knowing it.
 *
 * The file belongs to whoever may write there, and may be cut short at any moment. Touching such a
 * mapped page is a SIGBUS; so the words are read and written by system calls, and the map is only
 * the address that the kernel knows a futex by: there a page that is gone is an error. It is made
 * when somebody has to sleep or to be woken, which most writers never see.
 *
 * Nothing depends on a wake but time: every sleep has an end, and who wakes looks again.
 */
#include <stdbool.h>
#include <stdint.h>

#define WAIT_ANY UINT32_MAX /* of the bits */

struct wait_page {
	int fd;    /* borrowed */
	void *map; /* NULL: not needed so far */
};

void wait_done(struct wait_page *p);

/* A word at this offset, which is a multiple of four within the first page; 0 where there is none.
 */
uint32_t wait_read(const struct wait_page *p, int at);
void wait_write(const struct wait_page *p, int at, uint32_t value);

/* Sleeps while the word has this value, until a wake with one of these bits. False: neither came.
 */
bool wait_sleep(struct wait_page *p, int at, uint32_t value, uint32_t bits, int64_t limit_ns);
/* How many were woken. */
int wait_wake(struct wait_page *p, int at, uint32_t bits, int most);
