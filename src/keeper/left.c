/*
 * What a command leaves running: `server &`, nohup, setsid, a daemon. Where the profile keeps it,
 * the keeper goes on with it as a background task: the same id, namespaces and limits. The starter
 * gets the result of the command, with what came of its output so far; what comes later goes into
 * the files of the task. Nothing goes on that nobody could find and end.
 */
#include "keeper/inside.h"

#include "keeper/record.h"
#include "process/living.h"
#include "process/spawn.h"
#include "profile/profile.h"

bool keeper_keeps_leftover(const struct keeper *k)
{
	return k->profile->room.keep_leftover && k->order.keep_leftover;
}

static void look(struct keeper *k, struct living *ret_living)
{
	pid_t root = watch_pid(k->process->init_pidfd);

	*ret_living = (struct living){0};
	if (root > 0)
		living_look(root, ret_living);
}

bool keeper_leftover_is_starting(struct keeper *k)
{
	uint64_t work = 0, before = k->left_work;
	struct living l;

	look(k, &l);
	for (int i = 0; i < l.count; i++) {
		work += l.list[i].work;
		if (l.list[i].port_count > 0)
			return false;
	}
	k->left_work = work;
	return work != before;
}

int keeper_keep_leftover(struct keeper *k)
{
	struct living l;

	if (keeper_listen(k) < 0 || k->home.fd < 0 || k->listen.fd < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		if (k->streams[i].capture)
			stream_begin_file(&k->streams[i]);
		stream_measure(&k->streams[i], &k->report.streams[i]);
	}
	/* From now on what it writes goes into its files alone. */
	for (int i = 0; i < 2; i++)
		relay_close(&k->streams[i].relay);
	look(k, &l);
	living_print(&l, k->report.left, sizeof(k->report.left));
	keeper_commit_session(k);
	(void)keeper_room_look(k);
	keeper_judge_box(k);
	keeper_record_left(k);
	if (!k->order.background && !k->let_go && !k->starter_gone)
		(void)keeper_send_report(k, CONTROL_LEFT);
	k->let_go = true;
	return 0;
}
