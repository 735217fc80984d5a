/*
 * A TLS hello: any bytes. A hello that is whole stays the same hello if more bytes follow, and is
 * not whole with one byte less.
 */
#include <stdlib.h>
#include <string.h>
#include "gateway/first.h"
#include "gateway/hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hello whole, part;
	enum hello_state state = hello_read(data, size, &whole), less = HELLO_MORE;

	for (size_t n = 1; n < size && n < 600 && less == HELLO_MORE; n++)
		less = hello_read(data, n, &part);
	if (less != HELLO_MORE && (less != state || strcmp(part.name, whole.name) != 0))
		abort();
	if (memchr(whole.name, '\0', sizeof(whole.name)) == NULL)
		abort();
	return 0;
}
