/*
 * How long nacre's analyser takes for a text, beside tree-sitter-bash, and how much memory it uses.
 *
 *     analyse FILE ROUNDS all|ours TEXT-FILE...
 *
 * In each round every reader reads every text, often enough to take about a millisecond. FILE gets
 * lines "READER:TEXT NANOSECONDS", and per text "memory:TEXT BYTES" and "status:TEXT NUMBER": -1 if
 * memory did not suffice. The readers are "parse", and as far as they were compiled in "facts"
 * (parse and facts) and "tree-sitter" (a parse only: it knows no facts). All keep their parser and
 * memory between texts.
 */
#include <malloc.h>
#include "base/arena.h"
#include "shell/parse.h"
#ifdef WITH_FACTS
#include "shell/facts.h"
#define ARENA_MAX    SHELL_FACTS_ARENA_MAX
#define READERS_OURS 2
#else
#define ARENA_MAX    SHELL_ARENA_MAX
#define READERS_OURS 1
#endif
#ifdef WITH_TREE_SITTER
#include <tree_sitter/api.h>
const TSLanguage *tree_sitter_bash(void);
static TSParser *ts_parser;
#endif
#include "harness.h"

#define BATCH_NS    1000000
#define BATCH_MAX   10000
#define READERS_MAX 3

struct text {
	char *bytes;
	size_t n;
	size_t batch[READERS_MAX]; /* repetitions that make up about a millisecond */
};

struct reader {
	const char *name;
	int (*read)(struct arena *arena, const struct text *t);
};

static int read_parse(struct arena *arena, const struct text *t)
{
	struct shell_tree *tree;

	arena_reset(arena);
	if (shell_parse(arena, t->bytes, t->n, NULL, &tree) < 0)
		return -1;
	return (int)tree->status;
}

#ifdef WITH_FACTS
static int read_facts(struct arena *arena, const struct text *t)
{
	struct shell_facts *facts;

	arena_reset(arena);
	if (shell_facts_read(arena, t->bytes, t->n, NULL, &facts) < 0)
		return -1;
	return (int)facts->status;
}
#endif

#ifdef WITH_TREE_SITTER
static int read_tree_sitter(struct arena *arena, const struct text *t)
{
	TSTree *tree;
	bool error;

	(void)arena;
	if (!ts_parser) {
		ts_parser = ts_parser_new();
		ts_parser_set_language(ts_parser, tree_sitter_bash());
	}
	tree = ts_parser_parse_string(ts_parser, NULL, t->bytes, (uint32_t)t->n);
	if (!tree)
		give_up("tree-sitter", 0);
	error = ts_node_has_error(ts_tree_root_node(tree));
	ts_tree_delete(tree);
	return error;
}
#endif

static const struct reader readers[] = {
	{"parse", read_parse},
#ifdef WITH_FACTS
	{"facts", read_facts},
#endif
#ifdef WITH_TREE_SITTER
	{"tree-sitter", read_tree_sitter},
#endif
};
#define READERS (sizeof(readers) / sizeof(readers[0]))

static void load(const char *path, struct text *t)
{
	FILE *f = fopen(path, "re");
	long size;

	if (!f || fseek(f, 0, SEEK_END) < 0 || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET) < 0)
		give_up(path, errno);
	t->bytes = allocate((size_t)size + 1, 1);
	t->n = fread(t->bytes, 1, (size_t)size, f);
	fclose(f);
}

static size_t heap_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* With an arena of its own: what the last of nacre's readers leaves in it. */
static size_t memory_of(const struct text *t)
{
	size_t before = heap_bytes(), after;
	struct arena *arena = arena_new(ARENA_MAX);

	if (!arena)
		give_up("arena", ENOMEM);
#ifdef WITH_FACTS
	(void)read_facts(arena, t);
#else
	(void)read_parse(arena, t);
#endif
	after = heap_bytes();
	arena_free(arena);
	return after - before;
}

static int64_t time_reader(const struct reader *r, struct arena *arena, const struct text *t,
                           size_t times)
{
	int64_t begin = now_ns();

	for (size_t i = 0; i < times; i++)
		(void)r->read(arena, t);
	return (now_ns() - begin) / (int64_t)times;
}

static void prepare(FILE *out, struct arena *arena, struct text *t, size_t number, size_t used)
{
	int64_t once;

	fprintf(out, "status:%zu %d\n", number, readers[READERS_OURS - 1].read(arena, t));
	fprintf(out, "memory:%zu %zu\n", number, memory_of(t));
	for (size_t r = 0; r < used; r++) {
		(void)time_reader(&readers[r], arena, t, 3);
		once = time_reader(&readers[r], arena, t, 3) + 1;
		t->batch[r] = once > BATCH_NS ? 1 : (size_t)(BATCH_NS / once);
		if (t->batch[r] > BATCH_MAX)
			t->batch[r] = BATCH_MAX;
	}
}

int main(int argc, char **argv)
{
	struct arena *arena = arena_new(ARENA_MAX);
	size_t rounds, count, used;
	struct text *texts;
	FILE *out;

	if (argc < 5 || !arena)
		give_up("usage: analyse FILE ROUNDS all|ours TEXT-FILE...", 0);
	rounds = number_argument(argv[2]);
	used = strcmp(argv[3], "all") == 0 ? READERS : READERS_OURS;
	count = (size_t)argc - 4;
	texts = allocate(count, sizeof(*texts));
	out = fopen(argv[1], "we");
	if (!out)
		give_up(argv[1], errno);
	for (size_t i = 0; i < count; i++) {
		load(argv[4 + i], &texts[i]);
		prepare(out, arena, &texts[i], i, used);
	}
	for (size_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < count; i++)
			for (size_t r = 0; r < used; r++)
				fprintf(out, "%s:%zu %lld\n", readers[r].name, i,
				        (long long)time_reader(&readers[r], arena, &texts[i],
				                               texts[i].batch[r]));
	return fclose(out) == 0 ? 0 : 1;
}
