/*
 * What the keeper does about a command without output: after some seconds it looks why, and leaves
 * the answer in the task's directory for whoever lists tasks; after the idle limit it ends it. Each
 * look comes later than the last: a thousand sleeping tasks cost nothing.
 */
#include "keeper/inside.h"

#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fd.h"
#include "keeper/quiet.h"
#include "process/spawn.h"

#define FIRST_LOOK_MS 5000
#define PAUSE_MAX_MS  600000
#define QUIET_MS      300 /* less than this is no silence */

static const char file_name[] = "quiet";

void keeper_heard(struct keeper *k)
{
	int64_t now = clock_now_ms();

	if (k->quiet_pause > FIRST_LOOK_MS && k->home.fd >= 0)
		(void)unlinkat(k->home.fd, file_name, 0);
	k->last_output = now;
	k->quiet_pause = FIRST_LOOK_MS;
	k->quiet_look_at = now + FIRST_LOOK_MS;
}

int64_t keeper_quiet_due(const struct keeper *k)
{
	bool counts = k->order.idle_timeout_ms > 0 && !keeper_network_waits(k);
	int64_t idle = counts ? k->last_output + k->order.idle_timeout_ms : KEEPER_DEADLINE_NONE;

	if (k->state != RUNNING)
		return KEEPER_DEADLINE_NONE;
	return idle < k->quiet_look_at ? idle : k->quiet_look_at;
}

static void look(struct keeper *k, char text[QUIET_TEXT_MAX])
{
	pid_t root = watch_pid(k->process->init_pidfd);

	text[0] = '\0';
	if (root > 0)
		quiet_look(root, text);
}

void keeper_watch_quiet(struct keeper *k)
{
	int64_t now = clock_now_ms();
	char text[QUIET_TEXT_MAX];

	if (now < keeper_quiet_due(k))
		return;
	if (k->order.idle_timeout_ms > 0 && !keeper_network_waits(k) &&
	    now >= k->last_output + k->order.idle_timeout_ms) {
		keeper_step(k, EV_IDLE);
		return;
	}
	look(k, text);
	if (home_make(&k->home) >= 0)
		(void)fd_replace_file(k->home.fd, file_name, text, strlen(text));
	k->quiet_pause = k->quiet_pause * 2 < PAUSE_MAX_MS ? k->quiet_pause * 2 : PAUSE_MAX_MS;
	k->quiet_look_at = clock_now_ms() + k->quiet_pause;
}

void keeper_explain_quiet(struct keeper *k)
{
	if (clock_now_ms() - k->last_output >= QUIET_MS)
		look(k, k->report.quiet);
}

static void note_names(struct keeper *k, char into[REPORT_NAMES_MAX])
{
	pid_t root = into[0] ? 0 : watch_pid(k->process->init_pidfd);

	if (root > 0)
		quiet_names(root, into, REPORT_NAMES_MAX);
}

void keeper_note_living(struct keeper *k)
{
	note_names(k, k->report.ended);
}

void keeper_note_slain(struct keeper *k)
{
	note_names(k, k->report.slain);
	if (!k->report.ended[0])
		memcpy(k->report.ended, k->report.slain, sizeof(k->report.ended));
}
