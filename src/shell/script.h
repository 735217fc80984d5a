#pragma once
/*
 * Scripts of sed and awk: whether the program text can run commands, write or read files. The
 * readers are simple: what they do not understand they report as possible.
 */
#include "shell/ast.h"

enum shell_script_can {
	SHELL_SCRIPT_NOTHING = 0,
	SHELL_SCRIPT_RUN = 1 << 0,   /* sed e; awk system(), pipes */
	SHELL_SCRIPT_WRITE = 1 << 1, /* sed w; awk > */
	SHELL_SCRIPT_READ = 1 << 2,  /* sed r; awk getline < */
	SHELL_SCRIPT_LOAD = 1 << 3,  /* awk @load, @include */
	SHELL_SCRIPT_NET = 1 << 4,   /* awk /inet/ */
	SHELL_SCRIPT_FILES = 1 << 5, /* awk ARGV[ */
};

unsigned shell_script_sed(struct shell_text script);
unsigned shell_script_awk(struct shell_text script);

/*
 * An option word of awk: the letter of its option that takes a value, or 0; the value begins at
 * *ret_at in the word, or is the next word if that is the end of it. Long options may be cut short.
 */
char shell_awk_option(struct shell_text word, size_t *ret_at);
