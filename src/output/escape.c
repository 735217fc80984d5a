#include "output/escape.h"

enum { ESC = 0x1b, BEL = 0x07, CAN = 0x18, SUB = 0x1a };

static bool in(unsigned char c, unsigned char low, unsigned char high)
{
	return c >= low && c <= high;
}

bool escape_begins(const char *bytes, size_t n)
{
	const unsigned char *b = (const unsigned char *)bytes;

	return b[0] == ESC || (n > 1 && b[0] == 0xc2 && in(b[1], 0x80, 0x9f));
}

static struct escape ended(size_t len, enum escape_state state)
{
	return (struct escape){.len = len, .state = state};
}

static struct escape scan_csi(const unsigned char *b, size_t n, size_t i)
{
	struct escape e = {.state = ESCAPE_WHOLE};
	bool plain = true, first = true;

	for (; i < n && in(b[i], 0x30, 0x3f); i++) {
		if (in(b[i], '0', '9') && first) {
			e.number = e.number * 10 + (b[i] - '0');
			if (e.number > 65535)
				e.number = 65535;
		} else {
			first = false;
			plain &= in(b[i], '0', ';');
		}
	}
	for (; i < n && in(b[i], 0x20, 0x2f); i++)
		plain = false;
	if (i == n)
		return ended(n, ESCAPE_CUT);
	if (!in(b[i], 0x40, 0x7e))
		return ended(i, ESCAPE_BROKEN);
	e.final = (char)(plain ? b[i] : 0);
	e.len = i + 1;
	return e;
}

static struct escape scan_string(const unsigned char *b, size_t n, size_t i, bool bell_ends)
{
	for (; i < n; i++) {
		if (b[i] == BEL && bell_ends)
			return ended(i + 1, ESCAPE_WHOLE);
		if (b[i] == 0xc2 && i + 1 < n && b[i + 1] == 0x9c)
			return ended(i + 2, ESCAPE_WHOLE);
		if (b[i] == ESC && i + 1 == n)
			break;
		if (b[i] == ESC && b[i + 1] == '\\')
			return ended(i + 2, ESCAPE_WHOLE);
		if (b[i] == CAN || b[i] == SUB)
			return ended(i + 1, ESCAPE_BROKEN);
		if (b[i] == ESC || b[i] == '\n')
			return ended(i, ESCAPE_BROKEN);
	}
	return ended(n, ESCAPE_CUT);
}

/* ESC, intermediates, final: charset selections and the like. */
static struct escape scan_short(const unsigned char *b, size_t n)
{
	size_t i = 1;

	while (i < n && in(b[i], 0x20, 0x2f))
		i++;
	if (i == n)
		return ended(n, ESCAPE_CUT);
	if (in(b[i], 0x30, 0x7e))
		return ended(i + 1, ESCAPE_WHOLE);
	return ended(i, ESCAPE_BROKEN);
}

struct escape escape_scan(const char *bytes, size_t n)
{
	const unsigned char *b = (const unsigned char *)bytes;
	unsigned char kind;

	if (n < 2)
		return ended(n, ESCAPE_CUT);
	kind = b[0] == ESC ? b[1] : b[1] - 0x40; /* U+009B is ESC [ and so on */
	if (kind == '[')
		return scan_csi(b, n, 2);
	if (kind == ']')
		return scan_string(b, n, 2, true);
	if (kind == 'P' || kind == 'X' || kind == '^' || kind == '_')
		return scan_string(b, n, 2, false);
	if (b[0] != ESC)
		return ended(2, ESCAPE_WHOLE);
	return scan_short(b, n);
}
