#include "cli/lines.h"

#include <errno.h>
#include "base/buffer.h"

int cli_line_read(FILE *in, struct buffer *line)
{
	int c;

	buffer_clear(line);
	while ((c = getc_unlocked(in)) != EOF && c != '\n')
		buffer_putc(line, (char)c);
	if (c == EOF && !line->len && !buffer_error(line))
		return 0;
	return buffer_error(line) ? -E2BIG : 1;
}
