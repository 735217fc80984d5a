#include "base/id.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

int id_new(const char *prefix, char *into, size_t size)
{
	/* No letters that people misread for others: i, l, o, u are left out. */
	static const char letters[] = "0123456789abcdefghjkmnpqrstvwxyz";
	unsigned char random[ID_RANDOM_CHARS];
	size_t prefix_len = strlen(prefix);

	if (size < prefix_len + ID_RANDOM_CHARS + 1)
		return -ENOSPC;
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	memcpy(into, prefix, prefix_len);
	for (size_t i = 0; i < ID_RANDOM_CHARS; i++)
		into[prefix_len + i] = letters[random[i] % 32];
	into[prefix_len + ID_RANDOM_CHARS] = '\0';
	return 0;
}
