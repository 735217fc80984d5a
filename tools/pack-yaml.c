/*
 * pack-yaml NAME BYTES < FILE: the first BYTES of a YAML file as yaml_unpack() reads them; NAME is
 * for messages.
 */
#include <stdio.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "yaml/pack.h"
#include "yaml/yaml.h"

int main(int argc, char **argv)
{
	scoped(arena_freep) struct arena *arena = arena_new(YAML_ARENA_MAX);
	scoped(buffer_donep) struct buffer text = {.max = YAML_BYTES_MAX}, packed = {0};
	const struct yaml_node *root = NULL;
	struct error err = {0};
	size_t n;

	if (argc != 3 || !arena || fd_read_all(0, &text) < 0)
		return 1;
	n = strtoul(argv[2], NULL, 10);
	if (yaml_read(arena, argv[1], buffer_str(&text), n < text.len ? n : text.len, &root, &err) <
	    0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	yaml_pack(root, &packed);
	return buffer_error(&packed) < 0 || fd_write_all(1, packed.data, packed.len) < 0;
}
