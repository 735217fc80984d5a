#include "output/keys.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/utf8.h"

enum {
	SHIFT = 1,
	ALT = 2,
	CONTROL = 4,
};

/* As xterm sends them. */
static const struct {
	const char *name;
	char plain;  /* a control character; or 0 and */
	char letter; /* CSI letter, in application mode SS3 letter; or 0 and */
	char number; /* CSI number ~ */
	bool ss3;    /* SS3 in either mode */
} table[] = {
	{.name = "Enter", .plain = '\r'},
	{.name = "Return", .plain = '\r'},
	{.name = "Tab", .plain = '\t'},
	{.name = "Escape", .plain = '\033'},
	{.name = "Esc", .plain = '\033'},
	{.name = "Space", .plain = ' '},
	{.name = "Backspace", .plain = 0x7f},
	{.name = "Up", .letter = 'A'},
	{.name = "Down", .letter = 'B'},
	{.name = "Right", .letter = 'C'},
	{.name = "Left", .letter = 'D'},
	{.name = "Home", .letter = 'H'},
	{.name = "End", .letter = 'F'},
	{.name = "Insert", .number = 2},
	{.name = "Delete", .number = 3},
	{.name = "PageUp", .number = 5},
	{.name = "PageDown", .number = 6},
	{.name = "F1", .letter = 'P', .ss3 = true},
	{.name = "F2", .letter = 'Q', .ss3 = true},
	{.name = "F3", .letter = 'R', .ss3 = true},
	{.name = "F4", .letter = 'S', .ss3 = true},
	{.name = "F5", .number = 15},
	{.name = "F6", .number = 17},
	{.name = "F7", .number = 18},
	{.name = "F8", .number = 19},
	{.name = "F9", .number = 20},
	{.name = "F10", .number = 21},
	{.name = "F11", .number = 23},
	{.name = "F12", .number = 24},
};

/* What Control makes of a character; -1: nothing that a terminal could send. */
static int control_of(unsigned char c)
{
	if ((c >= 'a' && c <= 'z') || (c >= '@' && c <= '_'))
		return c & 0x1f;
	return c == ' ' ? 0 : c == '?' ? 0x7f : -1;
}

static int write_character(const char *name, unsigned modifiers, struct buffer *into)
{
	int control;

	if (modifiers & CONTROL) {
		control = name[1] ? -1 : control_of((unsigned char)name[0]);
		if (control < 0)
			return -EINVAL;
	}
	if (modifiers & SHIFT) /* then it is another character: write that one */
		return -EINVAL;
	if (modifiers & ALT)
		buffer_putc(into, '\033');
	if (modifiers & CONTROL)
		buffer_putc(into, (char)control);
	else
		buffer_puts(into, name);
	return 0;
}

static int write_named(size_t i, unsigned modifiers, bool application, struct buffer *into)
{
	if (table[i].plain) {
		if (modifiers & CONTROL)
			return table[i].plain == ' ' ? write_character(" ", modifiers, into)
			                             : -EINVAL;
		if (modifiers & ALT)
			buffer_putc(into, '\033');
		if (modifiers & SHIFT && table[i].plain == '\t')
			buffer_puts(into, "\033[Z");
		else
			buffer_putc(into, table[i].plain);
		return 0;
	}
	if (table[i].letter && modifiers)
		buffer_printf(into, "\033[1;%u%c", 1 + modifiers, table[i].letter);
	else if (table[i].letter)
		buffer_printf(into, "\033%c%c", application || table[i].ss3 ? 'O' : '[',
		              table[i].letter);
	else if (modifiers)
		buffer_printf(into, "\033[%d;%u~", table[i].number, 1 + modifiers);
	else
		buffer_printf(into, "\033[%d~", table[i].number);
	return 0;
}

int keys_write(const char *name, bool application, struct buffer *into)
{
	static const struct {
		char letter;
		unsigned modifier;
	} prefixes[] = {{'C', CONTROL}, {'M', ALT}, {'S', SHIFT}};
	unsigned modifiers = 0;
	bool found = true;
	size_t n;

	while (found && name[0] && name[1] == '-' && name[2]) {
		found = false;
		for (size_t i = 0; i < array_size(prefixes) && !found; i++)
			if (name[0] == prefixes[i].letter) {
				modifiers |= prefixes[i].modifier;
				found = true;
			}
		name += found ? 2 : 0;
	}
	n = strlen(name);
	if (n > 0 && utf8_char(name, n, NULL) == n)
		return write_character(name, modifiers, into);
	for (size_t i = 0; i < array_size(table); i++)
		if (strcasecmp(name, table[i].name) == 0)
			return write_named(i, modifiers, application, into);
	return -EINVAL;
}
