/*
 * Examples: what a file says will come of some commands. They follow from no other key and change
 * nothing, so they are read only for those who want to try them.
 */
#include <string.h>
#include "base/arena.h"
#include "profile/bind.h"
#include "profile/profile.h"
#include "yaml/yaml.h"

static int read_example(struct binder *b, const struct yaml_node *node, struct profile_example *to)
{
	int r;

	if (node->kind != YAML_MAP)
		return bind_wrong_type(b, node, "examples", "a map");
	r = bind_map(b, example_keys, "examples", node, to);
	if (r < 0)
		return r;
	if (!to->command == !to->argv)
		return bind_fail(b, node, "an example has either 'command' or 'argv'");
	if (to->argv && !to->argv[0])
		return bind_fail(b, node, "an example whose 'argv' is empty");
	if (!yaml_map_get(node, "verdict"))
		return bind_fail(b, node, "an example has a 'verdict'");
	to->place = bind_place(b, node);
	return 0;
}

int bind_examples(struct binder *b, const struct yaml_node *node)
{
	struct profile *p = b->profile;
	struct profile_example *all;
	size_t n = p->example_count;
	int r;

	if (node->kind != YAML_LIST)
		return bind_wrong_type(b, node, "examples", "a list");
	all = arena_new_array(b->arena, struct profile_example, n + node->count + 1);
	if (!all)
		return bind_no_memory(b);
	if (n)
		memcpy(all, p->examples, n * sizeof(*all));
	for (const struct yaml_node *e = node->first; e; e = e->next) {
		r = read_example(b, e, &all[n++]);
		if (r < 0)
			return r;
	}
	if (b->examples) {
		p->examples = all;
		p->example_count = n;
	}
	return 0;
}
