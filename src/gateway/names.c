/*
 * Places are given one after the other, from a random one on: a client that kept an address of
 * another session meets no name rather than another one, as a rule. The place of a name in the
 * table is its address, so only the way from the name to its place needs an index.
 */
#include "gateway/names.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include "gateway/destination.h"
#include "sandbox/doors.h"

#define SLOTS    8192 /* a power of two, at least twice as many as names */
#define RESERVED 256U /* addresses at the beginning of the range that name nothing */

struct names {
	uint32_t count;
	uint32_t start;        /* of the addresses */
	uint16_t slots[SLOTS]; /* 1 + place; 0: free */
	char items[NAMES_MAX][DESTINATION_NAME_SIZE];
};

static uint32_t hash(const char *name)
{
	uint32_t h = 2166136261U;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 16777619U;
	return h;
}

static uint32_t usable(void)
{
	return SANDBOX_DOORS_SPAN - RESERVED;
}

struct names *names_new(void)
{
	struct names *n =
		mmap(NULL, sizeof(*n), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (n == MAP_FAILED)
		return NULL;
	if (getrandom(&n->start, sizeof(n->start), 0) != (ssize_t)sizeof(n->start))
		n->start = 0; /* any will do */
	n->start %= usable();
	return n;
}

void names_free(struct names *n)
{
	if (n)
		(void)munmap(n, sizeof(*n));
}

/* Where the name is in the index, or where it would be. */
static uint32_t slot_of(const struct names *n, const char *name)
{
	uint32_t at = hash(name) % SLOTS;

	for (uint32_t tries = 0; tries < SLOTS; tries++, at = (at + 1) % SLOTS) {
		uint16_t place = n->slots[at];

		if (place == 0 || (place <= NAMES_MAX && strcmp(n->items[place - 1], name) == 0))
			break;
	}
	return at;
}

void names_check(struct names *n)
{
	uint32_t good = 0;
	char name[DESTINATION_NAME_SIZE];

	memset(n->slots, 0, sizeof(n->slots));
	n->start %= usable();
	if (n->count > NAMES_MAX)
		n->count = NAMES_MAX;
	for (; good < n->count; good++) {
		char *item = n->items[good];

		item[DESTINATION_NAME_SIZE - 1] = '\0';
		/* From one that is none on, none is believed. */
		if (!destination_canonical(item, strlen(item), name) || strcmp(name, item) != 0 ||
		    n->slots[slot_of(n, item)] != 0)
			break;
		n->slots[slot_of(n, item)] = (uint16_t)(good + 1);
	}
	n->count = good;
}

static struct network_address address_of(const struct names *n, uint32_t place)
{
	return network_address_v4(SANDBOX_DOORS_NET + RESERVED + (n->start + place) % usable());
}

bool names_address(struct names *n, const char *name, struct network_address *ret_address)
{
	uint32_t slot = slot_of(n, name);

	if (n->slots[slot] == 0) {
		if (n->count >= NAMES_MAX)
			return false;
		memset(n->items[n->count], 0, DESTINATION_NAME_SIZE);
		strncpy(n->items[n->count], name, DESTINATION_NAME_SIZE - 1);
		n->slots[slot] = (uint16_t)++n->count; /* last: before that it is not there */
	}
	*ret_address = address_of(n, n->slots[slot] - 1U);
	return true;
}

const char *names_find(const struct names *n, const struct network_address *a)
{
	uint32_t host, place;

	if (a->family != 4)
		return NULL;
	host = (uint32_t)a->bytes[0] << 24 | (uint32_t)a->bytes[1] << 16 |
	       (uint32_t)a->bytes[2] << 8 | a->bytes[3];
	if (host < SANDBOX_DOORS_NET + RESERVED || host - SANDBOX_DOORS_NET >= SANDBOX_DOORS_SPAN)
		return NULL;
	place = (host - SANDBOX_DOORS_NET - RESERVED + usable() - n->start) % usable();
	return place < n->count && place < NAMES_MAX ? n->items[place] : NULL;
}
