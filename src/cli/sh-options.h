#pragma once
/*
 * The words after `nsh`, read as bash reads its own: which line or script is to be run, with which
 * name and operands, and under which options of the shell.
 *
 * Options of the shell that change how the text runs (-e, -o pipefail, -O nullglob) become a text
 * before the line, so that they are judged and recorded with it. Options that choose start-up files
 * (-l, --norc, --rcfile) choose nothing: no start-up file is read in a room.
 */
#include <stdbool.h>
#include <stddef.h>

struct arena;
struct error;

enum sh_kind {
	SH_LINE,        /* text */
	SH_SCRIPT,      /* the file: name */
	SH_STDIN,       /* a script on standard input */
	SH_INTERACTIVE, /* a person at a terminal */
	SH_VERSION,
	SH_HELP,
};

struct sh_options {
	enum sh_kind kind;
	const char *text;         /* of a line, without PREFIX */
	const char *prefix;       /* options as text to stand before the line; "" */
	const char *name;         /* $0; NULL: none was given */
	const char *const *words; /* $1 and so on, up to NULL */
	bool login;               /* -l or --login */
	bool lone;                /* a line without -c; it may be the name of a file */
	bool plain;               /* exactly -c, perhaps -l, and one text */
};

/* Strings live in the arena or are those of ARGV. IS_TERMINAL: standard input and error are one.
 * -EINVAL: bash would not take it either. */
int sh_options_read(int argc, char *const *argv, bool is_terminal, struct arena *arena,
                    struct sh_options *ret, struct error *err);
