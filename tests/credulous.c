/*
 * A nacre whose first check says yes to everything, as one with a fault there, or in the hands of
 * somebody else, would: for tests, never installed. Keepers are the same binary and check as
 * always; by their name they are told apart.
 */
#include <string.h>
#include <sys/prctl.h>
#include "base/arena.h"
#include "decide/check.h"
#include "decide/consent.h"
#include "task/order.h"

int __real_consent_check(struct arena *arena, struct question *q, struct check *ret_check,
                         struct error *err);
int __wrap_consent_check(struct arena *arena, struct question *q, struct check *ret_check,
                         struct error *err);

int __wrap_consent_check(struct arena *arena, struct question *q, struct check *ret_check,
                         struct error *err)
{
	int r = __real_consent_check(arena, q, ret_check, err);
	const struct keeper_request *rq = &q->order->request;
	char name[16] = "";
	const char **argv;

	(void)prctl(PR_GET_NAME, name, 0, 0, 0);
	if (r < 0 || strcmp(name, "nacre-keeper") == 0)
		return r;
	ret_check->answer.line.verdict = POLICY_VERDICT_ALLOW;
	if (ret_check->argv)
		return 0;
	if (rq->argv) {
		ret_check->argv = rq->argv;
		return 0;
	}
	argv = arena_new_array(arena, const char *, 4);
	if (!argv)
		return -1;
	argv[0] = "/bin/bash";
	argv[1] = "-c";
	argv[2] = rq->command;
	ret_check->argv = argv;
	return 0;
}
