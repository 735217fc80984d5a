#include "cli/table.h"

#include <sys/ioctl.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/utf8.h"

int table_width(void)
{
	struct winsize size;

	return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col
	                                                                             : 0;
}

void table_end_row(struct buffer *out, size_t begin, struct buffer *last, int width)
{
	size_t n = last->len, used = out->len - begin;

	if (width > 0 && used + n > (size_t)width) {
		n = used < (size_t)width ? (size_t)width - used : 0;
		n = utf8_valid_prefix(buffer_str(last), n);
	}
	buffer_append(out, buffer_str(last), n);
	buffer_putc(out, '\n');
}
