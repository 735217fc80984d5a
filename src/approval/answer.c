/*
 * One of many wins:
 *	- an answer is written under a name of its own, brought to the disk, and then linked to
 *	  <id>.answer, which fails if there is one already;
 *	- it is used up by linking it to <id>.used, which fails likewise.
 * So nobody who is killed holds anybody up, and what was begun leaves no more than a file whose
 * name begins with a dot. Who answers has a lock beside that, which decides nothing: it keeps the
 * record of an answer in front of the records of what follows from it. One that was stopped with it
 * costs the others a second and that order.
 */
#include "approval/desk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "approval/grants.h"
#include "approval/held.h"
#include "approval/inside.h"
#include "approval/text.h"
#include "audit/audit.h"
#include "audit/event.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "json/write.h"

#define BY_MAX  200
#define WHY_MAX 1000

static int write_answer(const struct desk_answer *answer, struct buffer *text)
{
	scoped(buffer_donep) struct buffer clean = {0};
	struct json_writer w = {.out = text};
	size_t by = strnlen(answer->by, BY_MAX);

	json_object_begin(&w);
	json_member_string(&w, "answer", approval_answer_name(answer->answer));
	json_put_key(&w, "by");
	approval_escape(answer->by, by, false, &clean);
	json_put_bytes(&w, buffer_str(&clean), clean.len);
	if (answer->why) {
		buffer_clear(&clean);
		approval_escape(answer->why, strnlen(answer->why, WHY_MAX), false, &clean);
		json_member_bytes(&w, "why", buffer_str(&clean), clean.len);
	}
	json_member_int(&w, "at_ms", clock_wall_ms());
	json_object_end(&w);
	buffer_putc(text, '\n');
	return buffer_error(&clean) < 0 ? buffer_error(&clean) : buffer_error(text);
}

/* -EEXIST: there is an answer. */
static int publish_answer(int desk, const char *id, const struct desk_answer *answer)
{
	scoped(buffer_donep) struct buffer text = {.max = DESK_ANSWER_MAX};
	char random[ID_RANDOM_CHARS + 8], temporary[DESK_NAME_SIZE], name[DESK_NAME_SIZE];
	int r = write_answer(answer, &text);

	if (r == 0)
		r = id_new(".", random, sizeof(random));
	if (r < 0)
		return r;
	snprintf(temporary, sizeof(temporary), "%s.answer", random);
	desk_name(id, "answer", name);
	r = desk_write_new(desk, temporary, &text);
	if (r < 0)
		return r;
	if (linkat(desk, temporary, desk, name, 0) < 0)
		r = -errno;
	(void)unlinkat(desk, temporary, 0);
	if (r == 0)
		(void)fsync(desk);
	return r;
}

static int was_answered(const struct approval *a, struct error *err)
{
	if (a->state == APPROVAL_EXPIRED)
		return error_set(err, ERROR_INPUT, ETIME,
		                 "the time for this approval is over: the request has to be "
		                 "repeated");
	return error_set(err, ERROR_INPUT, EALREADY, "already answered: %s, by %.150s",
	                 approval_answer_name(a->answer), a->by);
}

static int may_answer(const struct approval *a, enum approval_answer answer, struct error *err)
{
	const struct approval_grants *g = answer == APPROVAL_SUB ? &a->sub : &a->exact;

	if (answer != APPROVAL_SESSION && answer != APPROVAL_SUB)
		return 0;
	if (!a->session)
		return error_set(err, ERROR_INPUT, EPERM,
		                 "the request is part of no session: approve it for once");
	if (!g->count)
		return error_set(err, ERROR_INPUT, EPERM,
		                 "it cannot be approved for %s: it runs other commands, has no "
		                 "sub-command, or is not wholly known; approve it for once",
		                 answer == APPROVAL_SUB ? "its sub-command" : "a session");
	return 0;
}

/* The log lies beside the desk. What a person has said counts whether it can be written or not:
 * what cannot be recorded is not started. */
static int record_answer(int desk, const struct approval *a, const char *door, struct error *err)
{
	char state[64];
	/* Whoever answers has no profile: a file is begun anew by the one who asks, and what the
	 * asker's profile calls a secret is one here, too. */
	const struct audit_settings settings = {.mask = a->mask};
	const struct audit_event event = {
		.kind = a->answer == APPROVAL_DENY ? AUDIT_REFUSED : AUDIT_APPROVED,
		.principal = *a->principal ? a->principal : NULL,
		.door = door ? door : a->door,
		.profile = a->profile,
		.session = a->session,
		.workspace = a->workspace,
		.cwd = a->cwd,
		.command = a->command,
		.rule = a->rule_id,
		.rule_file = a->rule_file,
		.rule_line = a->rule_line,
		.reason = a->why,
		.approval = a->id,
		.answer = approval_answer_name(a->answer),
		.by = a->by,
	};

	if (!a->audited)
		return 0;
	snprintf(state, sizeof(state), "/proc/self/fd/%d/..", desk);
	return audit_event(state, &settings, &event, 1, err);
}

/* Nobody waits for it: what was approved is done here, and the answer is used up. */
static void put_held(int desk, struct approval *a, struct error *notice)
{
	char answer[DESK_NAME_SIZE], used[DESK_NAME_SIZE];

	desk_name(a->id, "answer", answer);
	desk_name(a->id, "used", used);
	if (linkat(desk, answer, desk, used, 0) == 0 && held_put_in_place(a, notice) == 0)
		a->state = APPROVAL_USED;
}

/* Intent before act: whoever waits for the answer may start its command the moment it is there. */
static int record_and_publish(int desk, const char *id, const struct desk_answer *answer,
                              struct arena *arena, struct approval *ret, struct error *err)
{
	struct error why = {0}, *notice = err ? err : &why;
	struct approval a;
	bool first;
	int r = desk_read(desk, id, arena, &a, err);

	if (r < 0)
		return r;
	*ret = a;
	if (a.state != APPROVAL_OPEN)
		return was_answered(&a, err);
	a.answer = answer->answer;
	a.by = answer->by;
	a.why = answer->why;
	(void)record_answer(desk, &a, answer->door, &why);
	r = publish_answer(desk, a.id, answer);
	if (r < 0 && r != -EEXIST)
		return error_set(err, ERROR_SYSTEM, -r, "the answer cannot be kept: %s",
		                 strerrordesc_np(-r));
	first = r == 0;
	r = desk_read(desk, id, arena, &a, err);
	if (r < 0)
		return r;
	*ret = a;
	if (!first)
		return was_answered(&a, err);
	if (why.text[0] && notice != &why)
		error_set(notice, ERROR_SYSTEM, why.sys,
		          "the answer is not in the audit log: %.150s", why.text);
	if (a.held && answer->answer != APPROVAL_DENY)
		put_held(desk, ret, notice);
	if (answer->answer == APPROVAL_SESSION || answer->answer == APPROVAL_SUB)
		(void)grants_add(desk, &a, answer->answer == APPROVAL_SUB, notice);
	return 0;
}

int desk_answer(int desk, const char *id, const char *principal, const struct desk_answer *answer,
                struct arena *arena, struct approval *ret, struct error *err)
{
	struct approval a;
	bool locked;
	int r = desk_read(desk, id, arena, &a, err);

	if (r < 0)
		return r;
	if (principal && !desk_same_text(principal, a.principal))
		return desk_damaged(err, -ENOENT);
	*ret = a;
	if (a.state != APPROVAL_OPEN)
		return was_answered(&a, err);
	r = may_answer(&a, answer->answer, err);
	if (r < 0)
		return r;
	locked = fd_lock(desk) == 0;
	r = record_and_publish(desk, id, answer, arena, ret, err);
	if (locked)
		(void)flock(desk, LOCK_UN);
	return r;
}

void desk_tell(int desk, const struct approval *a)
{
	char answer[DESK_NAME_SIZE], used[DESK_NAME_SIZE];

	if (a->state != APPROVAL_REFUSED)
		return;
	desk_name(a->id, "answer", answer);
	desk_name(a->id, "used", used);
	/* Where it cannot be noted it is told once more. */
	(void)!linkat(desk, answer, desk, used, 0);
}

int desk_check(int desk, const char *id, const char *principal,
               const struct approval_object *object, struct arena *arena, struct approval *ret,
               struct error *err)
{
	struct approval a;
	int r = desk_read(desk, id, arena, &a, err);

	if (r < 0)
		return r;
	if (!desk_same_text(principal, a.principal))
		return error_set(err, ERROR_INPUT, EACCES, "somebody else has asked for this");
	if (a.state == APPROVAL_USED)
		return error_set(err, ERROR_INPUT, EALREADY,
		                 "the approval %s was for one run, and that has been", a.id);
	if (a.state != APPROVAL_GIVEN)
		return error_set(err, ERROR_INPUT, EACCES, "nobody has approved %s (it is %s)",
		                 a.id, approval_state_name(a.state));
	r = object_compare(&a.object, object, err);
	if (r < 0)
		return r;
	*ret = a;
	return 0;
}

int desk_spend(int desk, const char *id, const char *principal,
               const struct approval_object *object, struct arena *arena, struct approval *ret,
               struct error *err)
{
	char answer[DESK_NAME_SIZE], used[DESK_NAME_SIZE];
	struct approval a;
	int r = desk_check(desk, id, principal, object, arena, &a, err);

	if (r < 0)
		return r;
	desk_name(a.id, "answer", answer);
	desk_name(a.id, "used", used);
	if (linkat(desk, answer, desk, used, 0) < 0)
		return error_set(err, ERROR_INPUT, errno == EEXIST ? EALREADY : errno,
		                 "the approval %s was for one run, and another was first", a.id);
	/* A machine that loses its power now must not give it back. */
	if (fsync(desk) < 0)
		return error_sys(err, errno, "the approval cannot be used up");
	a.state = APPROVAL_USED;
	*ret = a;
	return 0;
}
