/*
 * How long a decision takes, and how long the profiles take to load.
 *
 *     decide FILE ROUNDS WORKSPACE LINE...
 *
 * FILE gets lines "load:PROFILE NANOSECONDS", "load:all NANOSECONDS" and, per profile and line,
 * "facts:N NANOSECONDS" (parse and facts) and "decide:PROFILE:N NANOSECONDS" (parse, facts and
 * decision). A profile is loaded from its shipped text alone.
 */
#include <fcntl.h>
#include "base/arena.h"
#include "base/error.h"
#include "policy/policy.h"
#include "profile/profile.h"
#include "shell/facts.h"
#include "harness.h"

#define BATCH      100
#define PATH_VALUE "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static struct profile *load(const char *name, bool agent)
{
	struct profile_request rq = {.workspace_fd = -1, .uid = 0};
	struct profile *p = NULL;
	struct error err = {0};

	if (agent)
		rq.agent = name;
	else
		rq.name = name;
	if (profile_load(&rq, &p, &err) < 0)
		give_up(err.text, 0);
	return p;
}

static void time_loads(FILE *out, size_t rounds)
{
	for (size_t round = 0; round < rounds; round++) {
		int64_t all = 0;

		for (size_t i = 0; i < profile_builtin_count; i++) {
			const struct profile_builtin *b = &profile_builtins[i];
			int64_t begin = now_ns(), taken;
			struct profile *p;

			if (!profile_builtin_runs(b))
				continue;
			p = load(b->name, b->agent);
			taken = now_ns() - begin;
			profile_free(p);
			all += taken;
			fprintf(out, "load:%s %lld\n", b->name, (long long)taken);
		}
		fprintf(out, "load:all %lld\n", (long long)all);
	}
}

static int64_t time_line(struct arena *arena, const struct profile *p, struct policy_question *q)
{
	int64_t begin = now_ns();

	for (int i = 0; i < BATCH; i++) {
		struct policy_answer answer;
		struct shell_facts *facts;

		arena_reset(arena);
		if (shell_facts_read(arena, q->text, q->text_len, NULL, &facts) < 0)
			give_up("facts", 0);
		q->facts = facts;
		if (p && policy_decide(p->policy, arena, q, &answer, NULL) < 0)
			give_up("decision", 0);
	}
	return (now_ns() - begin) / BATCH;
}

int main(int argc, char **argv)
{
	struct arena *arena = arena_new(SHELL_FACTS_ARENA_MAX);
	struct policy_question q = {.cwd = ".", .path = PATH_VALUE, .home = "/home/somebody"};
	size_t rounds;
	FILE *out;

	if (argc < 5 || !arena)
		give_up("usage: decide FILE ROUNDS WORKSPACE LINE...", 0);
	rounds = number_argument(argv[2]);
	out = fopen(argv[1], "we");
	if (!out)
		give_up(argv[1], errno);
	q.workspace = argv[3];
	q.workspace_fd = open(argv[3], O_PATH | O_DIRECTORY | O_CLOEXEC);
	time_loads(out, rounds);
	for (size_t i = 0; i < profile_builtin_count; i++) {
		const struct profile_builtin *b = &profile_builtins[i];
		bool alone = !b->agent && profile_builtin_runs(b);
		struct profile *p = alone ? load(b->name, false) : NULL;

		for (size_t round = 0; p && round < rounds; round++) {
			for (int n = 4; n < argc; n++) {
				q.text = argv[n];
				q.text_len = strlen(argv[n]);
				fprintf(out, "facts:%d %lld\n", n - 4,
				        (long long)time_line(arena, NULL, &q));
				fprintf(out, "decide:%s:%d %lld\n", b->name, n - 4,
				        (long long)time_line(arena, p, &q));
			}
		}
		profile_free(p);
	}
	return fclose(out) == 0 ? 0 : 1;
}
