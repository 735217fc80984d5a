#include "base/id.h"

#include <errno.h>
#include <stdio.h>
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

int id_uuid(char into[ID_UUID_SIZE])
{
	unsigned char b[16];

	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		return -EIO;
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40); /* version 4 */
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80); /* the variant of RFC 9562 */
	snprintf(into, ID_UUID_SIZE,
	         "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
	         b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
	         b[15]);
	return 0;
}
