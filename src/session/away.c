#include "session/away.h"

#include <limits.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/utf8.h"

bool session_away_is_valid(const char *path)
{
	size_t n = strlen(path);

	if (path[0] != '/' || n >= PATH_MAX || utf8_valid_prefix(path, n) != n)
		return false;
	for (; *path; path++)
		if ((unsigned char)*path < ' ' || *path == 0x7f)
			return false;
	return true;
}

const char *session_away_line(struct arena *arena, const char *path, const char *line)
{
	scoped(buffer_donep) struct buffer text = {0};

	/* On the line's own first line: numbers of lines stay right. */
	buffer_puts(&text, "cd -- '");
	for (; *path; path++)
		if (*path == '\'')
			buffer_puts(&text, "'\\''");
		else
			buffer_putc(&text, *path);
	buffer_puts(&text, "' || exit; ");
	buffer_puts(&text, line);
	return buffer_error(&text) < 0 ? NULL : arena_strndup(arena, buffer_str(&text), text.len);
}
