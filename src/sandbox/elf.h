#pragma once
/*
 * Elf: what a program needs to start: its interpreter and its libraries, as the dynamic loader
 * would find them. Reads files, runs nothing; a damaged file only needs less.
 */
#include <stdbool.h>
#include <stddef.h>

struct arena;

/* Paths, each once, in the order in which they were found. */
struct elf_needs {
	const char **paths;
	size_t count, capacity;
	struct arena *arena; /* everything lives there */
	struct elf_cache *cache;
};

#define ELF_NEEDS_MAX 512

enum elf_kind {
	ELF_NONE,    /* neither of these */
	ELF_PROGRAM, /* or a library */
	ELF_SCRIPT,  /* begins with "#!" */
};

/* Adds what the file at PATH needs, and what that needs, to *needs. Returns an enum elf_kind, or a
 * negative errno. For a script *ret_interpreter, if not NULL, is its path, in the arena. */
int elf_collect(struct elf_needs *needs, const char *path, const char **ret_interpreter);
void elf_needs_done(struct elf_needs *needs);
