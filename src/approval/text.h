#pragma once
/*
 * Text: what people see of an approval. Whatever comes from the asker is made visible: control,
 * bidirectional, invisible and private characters and broken bytes are shown as <U+202E> or <0x9B>.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct approval;
struct arena;
struct buffer;

/* Of a command on a terminal, at every place. */
#define APPROVAL_TERMINAL_TEXT                                                                     \
	"the agent will type into this program: a yes covers whatever it types"

/* What is said where not all files that decide have a name; "": they have. */
const char *approval_names_text(const struct approval *a);

/* The files that it names beside its programs, in one line: the first of them, and how many more.
 */
void approval_print_files(const struct approval *a, struct buffer *out);

/* LINES: a newline stays one; else it is shown as well. */
void approval_escape(const char *bytes, size_t n, bool lines, struct buffer *out);
/* The same into an arena; NULL stays NULL. */
const char *approval_escaped(struct arena *arena, const char *text, bool lines);

/* Each line behind the same mark, so that none of them can pass for one of ours. */
void approval_print_lines(const char *text, struct buffer *out);

/* "strict, network none, as profile bash asks": what is asked for, not what the kernel has. */
void approval_print_box(const struct approval *a, struct buffer *out);

/* What is asked, in a few lines: the command, where, why. */
void approval_print(const struct approval *a, struct buffer *out);
/* All that there is to know: the files, the variables, what an answer covers. */
void approval_print_details(const struct approval *a, int64_t now_ms, struct buffer *out);
/* A sentence about what an answer for the session would cover, or why there is none. */
void approval_print_scope(const struct approval *a, struct buffer *out);
