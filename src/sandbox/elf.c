/*
 * The files are the system's own, not the command's, but nothing is believed about them: every
 * offset is checked against the size of the mapping.
 */
#include "sandbox/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/fd.h"

#if defined(__x86_64__)
#define MACHINE    EM_X86_64
#define CACHE_ARCH 0x0300 /* in the flags of an entry of ld.so.cache */
#elif defined(__aarch64__)
#define MACHINE    EM_AARCH64
#define CACHE_ARCH 0x0a00
#endif

#define CACHE_FILE   "/etc/ld.so.cache"
#define CACHE_MAGIC  "glibc-ld.so.cache1.1"
#define CACHE_HEADER 48
#define CACHE_ENTRY  24

struct mapping {
	const char *bytes;
	size_t size;
};

struct elf_cache {
	struct mapping file;
	bool is_there;
};

static void mapping_done(struct mapping *m)
{
	if (m->bytes)
		munmap((void *)(uintptr_t)m->bytes, m->size);
	*m = (struct mapping){0};
}

static int mapping_open(const char *path, struct mapping *ret_mapping)
{
	scoped(fd_closep) int fd = fd_open_regular(AT_FDCWD, path);
	struct stat st;
	void *bytes;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size <= 0)
		return -ENODATA;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	*ret_mapping = (struct mapping){.bytes = bytes, .size = (size_t)st.st_size};
	return 0;
}

/* N bytes at OFFSET, or NULL. */
static const void *at(const struct mapping *m, uint64_t offset, uint64_t n)
{
	return offset <= m->size && n <= m->size - offset ? m->bytes + offset : NULL;
}

static const char *string_at(const struct mapping *m, uint64_t offset)
{
	const char *text = at(m, offset, 1);

	return text && memchr(text, 0, m->size - (size_t)offset) ? text : NULL;
}

/* Whether the path is new; it must be real: the loader follows links, a bind mount replaces files.
 */
static bool add(struct elf_needs *needs, const char *path)
{
	char real[PATH_MAX];
	const char **larger;

	if (!realpath(path, real))
		return false;
	for (size_t i = 0; i < needs->count; i++)
		if (strcmp(needs->paths[i], real) == 0)
			return false;
	if (needs->count == ELF_NEEDS_MAX)
		return false;
	if (needs->count == needs->capacity) {
		needs->capacity = needs->capacity ? needs->capacity * 2 : 32;
		larger = arena_new_array(needs->arena, const char *, needs->capacity);
		if (!larger)
			return false;
		if (needs->count > 0)
			memcpy(larger, needs->paths, needs->count * sizeof(*larger));
		needs->paths = larger;
	}
	needs->paths[needs->count] = arena_strdup(needs->arena, real);
	return needs->paths[needs->count] && ++needs->count;
}

static void cache_open(struct elf_needs *needs)
{
	struct elf_cache *c;

	if (needs->cache)
		return;
	c = needs->cache = arena_new_object(needs->arena, struct elf_cache);
	if (!c)
		return;
	c->is_there = mapping_open(CACHE_FILE, &c->file) == 0 && at(&c->file, 0, CACHE_HEADER) &&
	              memcmp(c->file.bytes, CACHE_MAGIC, strlen(CACHE_MAGIC)) == 0;
}

/* All entries of that name: variants for newer processors are preferred by the loader. */
static bool find_in_cache(struct elf_needs *needs, const char *name)
{
	uint32_t count, fields[3];
	const struct mapping *m;
	bool found = false;

	cache_open(needs);
	if (!needs->cache || !needs->cache->is_there)
		return false;
	m = &needs->cache->file;
	memcpy(&count, m->bytes + strlen(CACHE_MAGIC), sizeof(count));
	for (uint64_t i = 0; i < count; i++) {
		const void *entry = at(m, CACHE_HEADER + i * CACHE_ENTRY, CACHE_ENTRY);
		const char *key, *value;

		if (!entry)
			break;
		memcpy(fields, entry, sizeof(fields)); /* flags, key, value */
		if ((fields[0] & 0xff00) != CACHE_ARCH)
			continue;
		key = string_at(m, fields[1]);
		value = string_at(m, fields[2]);
		if (key && value && strcmp(key, name) == 0) {
			(void)add(needs, value);
			found = true;
		}
	}
	return found;
}

static bool find_in_directory(struct elf_needs *needs, const char *directory, size_t n,
                              const char *name)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)n, directory, name) >=
	    sizeof(path))
		return false;
	if (access(path, R_OK) < 0)
		return false;
	(void)add(needs, path);
	return true;
}

/* RUNPATH or RPATH: directories with ":" between, $ORIGIN is that of the file itself. */
static bool find_in_list(struct elf_needs *needs, const char *list, const char *file,
                         const char *name)
{
	char path[PATH_MAX];

	while (*list) {
		size_t n = strcspn(list, ":");
		const char *rest = list;
		int dir = 0;

		if (n >= 7 && strncmp(list, "$ORIGIN", 7) == 0) {
			dir = (int)(strrchr(file, '/') - file);
			rest = list + 7;
		} else if (n >= 9 && strncmp(list, "${ORIGIN}", 9) == 0) {
			dir = (int)(strrchr(file, '/') - file);
			rest = list + 9;
		}
		n -= (size_t)(rest - list);
		if ((size_t)snprintf(path, sizeof(path), "%.*s%.*s", dir, file, (int)n, rest) <
		            sizeof(path) &&
		    *path == '/' && find_in_directory(needs, path, strlen(path), name))
			return true;
		list = rest + n;
		list += *list == ':';
	}
	return false;
}

static void find_library(struct elf_needs *needs, const char *name, const char *list,
                         const char *file)
{
	static const char *const directories[] = {"/lib/x86_64-linux-gnu",
	                                          "/usr/lib/x86_64-linux-gnu",
	                                          "/lib/aarch64-linux-gnu",
	                                          "/usr/lib/aarch64-linux-gnu",
	                                          "/lib64",
	                                          "/usr/lib64",
	                                          "/lib",
	                                          "/usr/lib",
	                                          "/usr/local/lib"};

	if (strchr(name, '/')) {
		(void)add(needs, name);
		return;
	}
	if (list && find_in_list(needs, list, file, name))
		return;
	if (find_in_cache(needs, name))
		return;
	for (size_t i = 0; i < array_size(directories); i++)
		if (find_in_directory(needs, directories[i], strlen(directories[i]), name))
			return;
}

/* Where a virtual address of the program lies in its file. */
static uint64_t file_offset(const struct mapping *m, const ElfW(Ehdr) * head, uint64_t address)
{
	for (unsigned i = 0; i < head->e_phnum; i++) {
		const ElfW(Phdr) *p = at(m, head->e_phoff + i * sizeof(*p), sizeof(*p));

		if (p && p->p_type == PT_LOAD && address >= p->p_vaddr &&
		    address - p->p_vaddr < p->p_filesz)
			return p->p_offset + (address - p->p_vaddr);
	}
	return UINT64_MAX;
}

static void collect_dynamic(struct elf_needs *needs, const struct mapping *m,
                            const ElfW(Ehdr) * head, const ElfW(Phdr) * dynamic, const char *path)
{
	uint64_t strings = UINT64_MAX, run = UINT64_MAX;
	size_t count = dynamic->p_filesz / sizeof(ElfW(Dyn));
	const char *list;

	/* Twice: the strings are known only after the whole table was read. */
	for (size_t i = 0; i < count; i++) {
		const ElfW(Dyn) *d = at(m, dynamic->p_offset + i * sizeof(*d), sizeof(*d));

		if (!d || d->d_tag == DT_NULL)
			break;
		if (d->d_tag == DT_STRTAB)
			strings = file_offset(m, head, d->d_un.d_ptr);
		else if (d->d_tag == DT_RUNPATH || (d->d_tag == DT_RPATH && run == UINT64_MAX))
			run = d->d_un.d_val;
	}
	if (strings == UINT64_MAX)
		return;
	list = run == UINT64_MAX ? NULL : string_at(m, strings + run);
	for (size_t i = 0; i < count; i++) {
		const ElfW(Dyn) *d = at(m, dynamic->p_offset + i * sizeof(*d), sizeof(*d));
		const char *name;

		if (!d || d->d_tag == DT_NULL)
			break;
		if (d->d_tag != DT_NEEDED)
			continue;
		name = string_at(m, strings + d->d_un.d_val);
		if (name && *name)
			find_library(needs, name, list, path);
	}
}

static int collect_elf(struct elf_needs *needs, const struct mapping *m, const char *path)
{
	const ElfW(Ehdr) *head = at(m, 0, sizeof(*head));

	if (!head || head->e_machine != MACHINE || head->e_phentsize != sizeof(ElfW(Phdr)) ||
	    head->e_phoff % _Alignof(ElfW(Phdr)))
		return ELF_NONE;
	for (unsigned i = 0; i < head->e_phnum; i++) {
		const ElfW(Phdr) *p = at(m, head->e_phoff + i * sizeof(*p), sizeof(*p));
		const char *interpreter;

		if (!p)
			return ELF_NONE;
		if (p->p_type == PT_INTERP) {
			interpreter = string_at(m, p->p_offset);
			if (interpreter && *interpreter == '/')
				(void)add(needs, interpreter);
		} else if (p->p_type == PT_DYNAMIC && p->p_offset % _Alignof(ElfW(Dyn)) == 0) {
			collect_dynamic(needs, m, head, p, path);
		}
	}
	return ELF_PROGRAM;
}

static int collect_file(struct elf_needs *needs, const char *path, const char **ret_interpreter)
{
	scoped(mapping_done) struct mapping m = {0};
	const char *start, *end;
	int r;

	r = mapping_open(path, &m);
	if (r < 0)
		return r;
	if (m.size >= SELFMAG && memcmp(m.bytes, ELFMAG, SELFMAG) == 0)
		return collect_elf(needs, &m, path);
	if (m.size < 3 || memcmp(m.bytes, "#!", 2) != 0)
		return ELF_NONE;
	for (start = m.bytes + 2; start < m.bytes + m.size && *start == ' '; start++)
		;
	for (end = start; end < m.bytes + m.size && !strchr(" \t\n", *end); end++)
		;
	if (ret_interpreter)
		*ret_interpreter = arena_strndup(needs->arena, start, (size_t)(end - start));
	return ELF_SCRIPT;
}

int elf_collect(struct elf_needs *needs, const char *path, const char **ret_interpreter)
{
	size_t next = needs->count;
	int kind = collect_file(needs, path, ret_interpreter);

	/* What was found needs something itself; the list grows while it is walked. */
	for (; kind == ELF_PROGRAM && next < needs->count; next++)
		(void)collect_file(needs, needs->paths[next], NULL);
	return kind;
}

void elf_needs_done(struct elf_needs *needs)
{
	if (needs->cache)
		mapping_done(&needs->cache->file);
	needs->cache = NULL;
}
