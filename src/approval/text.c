#include "approval/text.h"

#include <string.h>
#include "approval/approval.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/number.h"
#include "base/utf8.h"

#define LONG_LINES  15
#define LONG_BYTES  1000
#define FILES_BYTES 200 /* about: of the names that stand in one line */

void approval_escape(const char *bytes, size_t n, bool lines, struct buffer *out)
{
	for (size_t i = 0, len; i < n; i += len) {
		uint32_t code = 0;

		len = utf8_char(bytes + i, n - i, &code);
		if (!len) {
			buffer_printf(out, "<0x%02X>", (unsigned char)bytes[i]);
			len = 1;
		} else if (utf8_is_hidden(code) && !(lines && code == '\n')) {
			buffer_printf(out, "<U+%04X>", (unsigned)code);
		} else {
			buffer_append(out, bytes + i, len);
		}
	}
}

const char *approval_escaped(struct arena *arena, const char *text, bool lines)
{
	scoped(buffer_donep) struct buffer b = {.max = APPROVAL_SHOWN_MAX};

	if (!text)
		return NULL;
	approval_escape(text, strlen(text), lines, &b);
	return buffer_error(&b) < 0 ? NULL : arena_strndup(arena, buffer_str(&b), b.len);
}

void approval_print_lines(const char *text, struct buffer *out)
{
	const char *end;

	for (;; text = end + 1) {
		end = strchrnul(text, '\n');
		buffer_puts(out, "    ");
		approval_escape(text, (size_t)(end - text), false, out);
		buffer_putc(out, '\n');
		if (!*end || !end[1])
			return;
	}
}

static void print_field(const char *name, const char *text, struct buffer *out)
{
	if (!text || !*text)
		return;
	buffer_printf(out, "  %-10s ", name);
	approval_escape(text, strlen(text), false, out);
	buffer_putc(out, '\n');
}

void approval_print_box(const struct approval *a, struct buffer *out)
{
	if (!a->sandbox || !a->network || !a->engine) {
		buffer_puts(out, "not known");
		return;
	}
	approval_escape(a->sandbox, strlen(a->sandbox), false, out);
	buffer_puts(out, ", network ");
	if (strcmp(a->network, "names") == 0)
		buffer_puts(out, "by name");
	else
		approval_escape(a->network, strlen(a->network), false, out);
	if (strcmp(a->engine, "off") != 0 && strcmp(a->sandbox, "none") != 0)
		buffer_puts(out, ", container engine within reach");
	buffer_puts(out, ", as profile ");
	approval_escape(a->profile, strlen(a->profile), false, out);
	buffer_puts(out, " asks");
}

static void print_asker(const struct approval *a, struct buffer *out)
{
	buffer_printf(out, "  %-10s ", "Asked by");
	approval_escape(a->principal, strlen(a->principal), false, out);
	if (!*a->principal)
		buffer_puts(out, "you");
	if (a->door)
		buffer_printf(out, " (%s)", a->door);
	if (a->session) {
		buffer_puts(out, ", session ");
		approval_escape(a->session, strlen(a->session), false, out);
	}
	buffer_putc(out, '\n');
}

/* What does not fit on a screen is said to be long, below, where it is seen. */
static void print_length(const char *command, struct buffer *out)
{
	size_t lines = 1;

	for (const char *p = command; *p; p++)
		lines += *p == '\n';
	if (lines > LONG_LINES || strlen(command) > LONG_BYTES)
		buffer_printf(out,
		              "  %-10s the command has %zu lines, %zu bytes: look at all of it\n",
		              "Long", lines, strlen(command));
}

const char *approval_names_text(const struct approval *a)
{
	static const char *const texts[OBJECT_NAMES_MAX] = {
		[OBJECT_NAMES_KNOWN] = "",
		[OBJECT_NAMES_TREE] = "it may run any file of the workspace: a yes holds while all "
				      "of them stay as they are",
		[OBJECT_NAMES_UNKNOWN] = "it may run files that cannot be named: a yes covers "
					 "whatever they hold",
	};

	return texts[a->object.names];
}

void approval_print_files(const struct approval *a, struct buffer *out)
{
	const struct object_file *f = a->object.files + a->object.program_count;
	size_t count = a->object.file_count - a->object.program_count, shown = 0;
	size_t begin = out->len;

	for (; shown < count && out->len - begin < FILES_BYTES; shown++) {
		buffer_puts(out, shown ? ", " : "");
		approval_escape(f[shown].path, strnlen(f[shown].path, FILES_BYTES), false, out);
	}
	if (shown < count)
		buffer_printf(out, " and %zu more", count - shown);
}

static void print_asked(const struct approval *a, struct buffer *out)
{
	approval_print_lines(a->command, out);
	print_field("In", a->cwd, out);
	if (a->held) {
		print_field("For", a->description, out);
		print_field("Because", a->reason, out);
		return;
	}
	if (!approval_is_connection(a)) {
		buffer_printf(out, "  %-10s ", "Sandbox");
		approval_print_box(a, out);
		buffer_putc(out, '\n');
	}
	if (!approval_is_connection(a))
		print_field("Reaches", a->reaches, out);
	if (a->input) {
		buffer_puts(out, "  Its standard input:\n");
		approval_print_lines(a->input, out);
	}
	if (a->terminal)
		buffer_printf(out, "  %-10s %s\n", "Terminal", APPROVAL_TERMINAL_TEXT);
	print_field("Files", approval_names_text(a), out);
	print_length(a->command, out);
	print_field("For", a->description, out);
	print_field("Because", a->reason, out);
	if (a->rule_id) {
		buffer_printf(out, "  %-10s ", "Rule");
		approval_escape(a->rule_id, strlen(a->rule_id), false, out);
		if (a->rule_file) {
			buffer_puts(out, " (");
			approval_escape(a->rule_file, strlen(a->rule_file), false, out);
			buffer_printf(out, ":%u)", a->rule_line);
		}
		buffer_putc(out, '\n');
	}
}

void approval_print(const struct approval *a, struct buffer *out)
{
	print_asked(a, out);
	if (a->object.file_count == a->object.program_count)
		return;
	buffer_printf(out, "  %-10s ", "With");
	approval_print_files(a, out);
	buffer_putc(out, '\n');
}

void approval_print_scope(const struct approval *a, struct buffer *out)
{
	if (a->held) {
		buffer_puts(out, "Approved, the file gets this content, unless it has changed "
		                 "since. Denied, the content is dropped.\n");
		return;
	}
	if (!a->session) {
		buffer_puts(out, "It can be approved for once only: the request is part of no "
		                 "session.\n");
		return;
	}
	if (approval_is_connection(a)) {
		buffer_puts(out, "Approved once, this command may connect there. Approved for the "
		                 "session, each command of it may.\n");
		return;
	}
	if (a->terminal) {
		buffer_puts(out, "It can be approved for once only: it runs on a terminal.\n");
		return;
	}
	if (!a->exact.count) {
		buffer_puts(out, "It can be approved for once only: it runs other commands, reads "
		                 "an input, or not all of it is known before it runs.\n");
		return;
	}
	buffer_puts(out, "Approved for the session, exactly these words may run again, in this "
	                 "directory and with these\nvariables, also when the files they name have "
	                 "changed; not when the program itself has.\n");
	if (a->sub.count)
		buffer_puts(out, "Approved with --session=sub, the same program and sub-command "
		                 "may run with any other words.\n");
}

void approval_print_details(const struct approval *a, int64_t now_ms, struct buffer *out)
{
	char text[32];

	print_asked(a, out);
	print_asker(a, out);
	print_field("Profile", a->profile, out);
	print_field("Workspace", a->workspace, out);
	for (const char *const *e = a->env; *e; e++)
		print_field(e == a->env ? "Sets" : "", *e, out);
	for (size_t i = 0; i < a->object.file_count; i++) {
		print_field(i == 0                         ? "Programs"
		            : i == a->object.program_count ? "Files"
		                                           : "",
		            a->object.files[i].path, out);
	}
	if (a->state == APPROVAL_OPEN && a->expires_ms > now_ms) {
		number_format_duration(a->expires_ms - now_ms, text);
		print_field("Open for", text, out);
	}
	approval_print_scope(a, out);
}
