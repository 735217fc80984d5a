/*
 * The first bytes of a client: any bytes. The first one chooses the port, the second one how many
 * come at a time. The verdict does not depend on the pieces, and nothing is sent after a refusal.
 */
#include <stdlib.h>
#include <string.h>
#include "gateway/first.h"
#include "gateway/refusal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(struct first *f, uint16_t port, const uint8_t *data, size_t size, size_t step)
{
	first_init(f, "x.test", false, port);
	for (size_t at = 0; at < size; at += step)
		if (first_feed(f, data + at, size - at < step ? size - at : step) !=
		    FIRST_UNDECIDED)
			break;
	first_end(f);
	first_done(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t ports[] = {443, 80, 22, 5432};
	uint8_t out[REFUSAL_MAX];
	struct first whole, pieces;
	uint16_t port;

	if (size < 3)
		return 0;
	port = ports[data[0] % 4];
	run(&pieces, port, data + 2, size - 2, data[1] + 1U);
	run(&whole, port, data + 2, size - 2, SIZE_MAX);
	if (whole.state != pieces.state || whole.reason != pieces.reason)
		abort();
	if (pieces.state == FIRST_REFUSE &&
	    (pieces.reason == NETWORK_REASON_NONE ||
	     refusal_write(pieces.protocol, pieces.seen, out) > sizeof(out)))
		abort();
	first_guess(data + 2, size - 2, port);
	return 0;
}
