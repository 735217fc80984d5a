#include "base/test-support.h"

#include <limits.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "sandbox/elf.h"

static bool has(const struct elf_needs *needs, const char *part)
{
	for (size_t i = 0; i < needs->count; i++)
		if (strstr(needs->paths[i], part))
			return true;
	return false;
}

static void a_program_needs_its_loader_and_its_libraries(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct elf_needs needs = {.arena = arena};
	char real[PATH_MAX];

	assert_non_null(realpath("/bin/sh", real));
	assert_int_equal(elf_collect(&needs, real, NULL), ELF_PROGRAM);
	assert_true(has(&needs, "/ld-"));
	assert_true(has(&needs, "/libc"));
	for (size_t i = 0; i < needs.count; i++) {
		char again[PATH_MAX];

		assert_string_equal(realpath(needs.paths[i], again), needs.paths[i]);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(needs.paths[i], needs.paths[j]);
	}
	elf_needs_done(&needs);
}

static void libraries_of_libraries_are_found(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct elf_needs needs = {.arena = arena};
	char real[PATH_MAX];

	if (!realpath("/usr/bin/git", real))
		skip();
	assert_int_equal(elf_collect(&needs, real, NULL), ELF_PROGRAM);
	assert_true(has(&needs, "/libz.so"));
	assert_true(has(&needs, "/libpcre2-8.so"));
	elf_needs_done(&needs);
}

static void write_bytes(const char *path, const char *bytes, size_t n)
{
	scoped(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, bytes, n), 0);
}

static void a_script_names_its_interpreter(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct elf_needs needs = {.arena = arena};
	const char *interpreter = NULL;
	char directory[64], path[80];

	test_directory_make(directory);
	snprintf(path, sizeof(path), "%s/script", directory);
	write_bytes(path, "#! /bin/sh -e\necho\n", 19);
	assert_int_equal(elf_collect(&needs, path, &interpreter), ELF_SCRIPT);
	assert_string_equal(interpreter, "/bin/sh");
	write_bytes(path, "#!/bin/x", 8);
	assert_int_equal(elf_collect(&needs, path, &interpreter), ELF_SCRIPT);
	assert_string_equal(interpreter, "/bin/x");
	write_bytes(path, "text", 4);
	assert_int_equal(elf_collect(&needs, path, &interpreter), ELF_NONE);
	assert_int_equal(needs.count, 0);
	assert_true(elf_collect(&needs, directory, NULL) < 0);
	test_directory_remove(directory);
}

static void damaged_files_only_need_less(void **state)
{
	scoped(buffer_donep) struct buffer whole = {0};
	scoped(fd_closep) int fd = -1;
	char directory[64], path[80], real[PATH_MAX];
	uint64_t seed = 42;

	assert_non_null(realpath("/bin/true", real));
	fd = open(real, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fd_read_all(fd, &whole), 0);
	test_directory_make(directory);
	snprintf(path, sizeof(path), "%s/damaged", directory);
	for (int i = 0; i < 400; i++) {
		scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
		struct elf_needs needs = {.arena = arena};
		size_t n = i % 2 ? whole.len : 4 + test_random(&seed) % (whole.len - 4);
		size_t places[8];
		char kept[8];

		for (int k = 0; k < 8; k++) { /* mostly in the tables at the beginning */
			places[k] = 4 + test_random(&seed) % (k < 6 ? 1000 : whole.len - 4);
			kept[k] = whole.data[places[k]];
			whole.data[places[k]] = (char)test_random(&seed);
		}
		write_bytes(path, whole.data, n);
		assert_true(elf_collect(&needs, path, NULL) >= 0);
		elf_needs_done(&needs);
		for (int k = 7; k >= 0; k--)
			whole.data[places[k]] = kept[k];
	}
	test_directory_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_needs_its_loader_and_its_libraries),
		cmocka_unit_test(libraries_of_libraries_are_found),
		cmocka_unit_test(a_script_names_its_interpreter),
		cmocka_unit_test(damaged_files_only_need_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
