/*
 * The end of a task, told twice. A task with a directory has its end on the disk before the starter
 * hears of it, so a crash between the two loses nothing. A task without a directory sends one
 * packet; if the starter does not take it, the directory is made after all.
 *
 * Room for the report is taken on the disk while the command runs: its output may fill the disk.
 */
#include "keeper/inside.h"

#include <errno.h>
#include <string.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/packet.h"
#include "decide/check.h"
#include "task/control.h"
#include "profile/profile.h"
#include "session/away.h"
#include "session/session.h"
#include "process/spawn.h"
#include "output/capture.h"
#include "sandbox/plan.h"
#include "protect/protect.h"

#define TAKE_MS        10000 /* how long a starter may take over a report */
#define STATE_RESERVED ".state.json.new"
#define STATE_BYTES    4096 /* a report is shorter, but for many words about what went wrong */

/* What both captures take in a packet: their headers are short. */
static size_t packed_bytes(const struct keeper *k)
{
	size_t n = 0;

	for (int i = 0; i < 2; i++)
		if (k->streams[i].capture)
			n += (size_t)(capture_counts(k->streams[i].capture)->bytes -
			              capture_omitted(k->streams[i].capture)) +
			     CAPTURE_HEADER_MAX;
	return n;
}

/* Both captures: behind the report itself, or in an anonymous file, whose descriptor is returned:
 * it needs no disk, and no reader to be ready. */
static int pack_captures(struct keeper *k, struct buffer *packet)
{
	scoped(fd_closep) int fd = -1;

	buffer_putc(packet, '\0');
	if (packed_bytes(k) < CONTROL_CAPTURE_MAX) {
		for (int i = 0; i < 2; i++)
			if (k->streams[i].capture)
				capture_put(k->streams[i].capture, packet);
		return -1;
	}
	fd = memfd_create("nacre-captures", MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		if (k->streams[i].capture && capture_write(k->streams[i].capture, fd, NULL) < 0)
			return -1;
	return lseek(fd, 0, SEEK_SET) < 0 ? -1 : take_fd(&fd);
}

int keeper_open_home(void *owner)
{
	struct keeper *k = owner;

	return home_make(&k->home);
}

/* The Nth line is about what would have been moved to the Nth file. */
static void hold_planted(struct keeper *k)
{
	const char *line = k->report.planted, *end;

	for (int i = 0; *line; i++, line = end + (*end == '\n')) {
		char path[REPORT_PLANTED_MAX], name[32];

		end = strchrnul(line, '\n');
		if (memchr(line, '\t', (size_t)(end - line)) || k->home.fd < 0)
			continue;
		snprintf(path, sizeof(path), "%.*s", (int)(end - line), line);
		snprintf(name, sizeof(name), "planted-%d", i);
		keeper_hold_planted(k, path, name);
	}
}

void keeper_look_for_planted(struct keeper *k, struct sandbox_plan *plan)
{
	struct protect *protect = sandbox_plan_protect(plan);
	scoped(buffer_donep) struct buffer planted = {.max = REPORT_PLANTED_MAX - 1};
	scoped(buffer_donep) struct buffer replaced = {.max = REPORT_PLANTED_MAX - 1};
	const struct protect_aside aside = {.open = keeper_open_home,
	                                    .history = keeper_history,
	                                    .owner = k,
	                                    .id = k->order.task_id,
	                                    .first = k->planted};

	keeper_finish_checkout(k, protect);
	if (k->report.planted[0]) /* of a look before, when the command had ended */
		buffer_puts(&planted, k->report.planted);
	k->planted += protect_check(protect, &aside, &planted, &replaced);
	snprintf(k->report.planted, sizeof(k->report.planted), "%s", buffer_str(&planted));
	snprintf(k->report.replaced, sizeof(k->report.replaced), "%s", buffer_str(&replaced));
	hold_planted(k);
	if (planted.len > 0) /* its directory stays, and is looked at: the output belongs there */
		keeper_settle(k);
	keeper_ask_held(k);
}

/* What was to be watched and could not be seen was not bounded. A plan tries it before; a /proc can
 * be mounted anew meanwhile. */
static void note_blindness(struct keeper *k)
{
	uint32_t lost = 0;

	if (!k->watch.blind)
		return;
	if (k->watch.memory_max)
		lost |= SANDBOX_LAYER_MEMORY;
	if (k->watch.tasks_max && sandbox_plan_clone_flags(k->plan) == 0)
		lost |= SANDBOX_LAYER_PROCESSES;
	k->report.sandbox.missing |= k->report.sandbox.layers & lost;
	k->report.sandbox.layers &= ~lost;
}

void keeper_judge_box(struct keeper *k)
{
	bool exited = k->report.end == KEEPER_END_EXITED; /* else the signal was ours */
	struct limits_evidence evidence = {
		.wait_status = exited ? k->report.status : 0,
		.cpu_us = (uint64_t)k->report.cpu_ms * 1000,
		.oom_kills = k->watch.memory_kills,
		.forks_denied = k->watch.crowded || k->report.end == KEEPER_END_CROWDED,
		.cpu_spent = k->watch.cpu_spent,
		.tmp_full = k->tmp_full,
		.room_full = k->room_watch.full || k->cache_watch.full,
		.workspace_full = k->job_watch.full,
	};

	if (!k->plan || k->report.end == KEEPER_END_FAILED)
		return;
	note_blindness(k);
	k->report.limit_hit = sandbox_plan_judge(k->plan, &evidence);
	/* The kernel may take init when memory runs out, and with it goes the command. */
	if (k->report.end == KEEPER_END_LOST && k->report.limit_hit == LIMIT_HIT_MEMORY) {
		k->report.end = KEEPER_END_EXITED;
		k->report.status = SIGKILL;
	}
	snprintf(k->report.ungranted, sizeof(k->report.ungranted), "%s",
	         sandbox_plan_ungranted(k->plan));
	keeper_look_for_planted(k, k->plan);
}

void keeper_settle(struct keeper *k)
{
	for (int i = 0; i < 2; i++) {
		struct stream *s = &k->streams[i];

		s->patience = 0;
		if (s->begun || !s->capture || capture_counts(s->capture)->bytes == 0)
			continue;
		stream_begin_file(s);
		if (k->state == DONE)
			stream_close(s, &k->report.streams[i]);
	}
}

void keeper_read_notes(struct keeper *k)
{
	char bytes[4096];
	ssize_t n;

	while (k->process && k->process->notes >= 0) {
		n = read(k->process->notes, bytes, sizeof(bytes));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			fd_close(take_fd(&k->process->notes));
			return;
		}
		if (k->notes.len + (size_t)n > SESSION_RECORD_MAX)
			k->notes_cut = true;
		if (!k->notes_cut)
			buffer_append(&k->notes, bytes, (size_t)n);
	}
}

/* It comes from inside the box; who reads it believes nothing of it. */
static void tell_cwd(struct keeper *k)
{
	struct session_record record;

	if (session_read_record(buffer_str(&k->notes), k->notes.len, k->arena, &record) == 0 &&
	    strlen(record.cwd) < sizeof(k->report.cwd) && session_away_is_valid(record.cwd))
		snprintf(k->report.cwd, sizeof(k->report.cwd), "%s", record.cwd);
}

void keeper_commit_session(struct keeper *k)
{
	const struct keeper_request *rq = &k->order.request;
	const struct session_start start = {
		.state = rq->state,
		.id = rq->session,
		.principal = k->order.principal,
		.workspace = rq->workspace,
		.cwd = k->order.cwd,
		.envp = k->order.envp,
		.roams = k->profile && k->profile->room.share == PROFILE_SHARE_ALL &&
	                 k->report.room.id[0],
	};

	if (!k->process || !check_tells(rq) || k->order.background || k->order.dry_run || k->committed)
		return;
	k->committed = true;
	keeper_read_notes(k);
	if (rq->tells_cwd && !k->notes_cut && buffer_error(&k->notes) == 0)
		tell_cwd(k);
	if (!rq->session || rq->passing)
		return;
	if (k->notes_cut)
		snprintf(k->report.session, sizeof(k->report.session),
		         "the session is as it was: its variables are too long to be kept");
	if (!k->notes_cut && buffer_error(&k->notes) == 0)
		session_read_stages(buffer_str(&k->notes), k->notes.len, k->report.stages);
	if (!k->notes_cut && rq->state && buffer_error(&k->notes) == 0)
		(void)session_commit(&start, buffer_str(&k->notes), k->notes.len,
		                     k->report.session);
}

void keeper_reserve_state(struct keeper *k)
{
	scoped(fd_closep) int fd = -1;
	char blank[STATE_BYTES];

	if (home_make(&k->home) < 0 || k->state_file >= 0)
		return;
	fd = openat(k->home.fd, STATE_RESERVED,
	            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	memset(blank, ' ', sizeof(blank));
	if (fd_write_all(fd, blank, sizeof(blank)) < 0)
		(void)unlinkat(k->home.fd, STATE_RESERVED, 0);
	else
		k->state_file = take_fd(&fd);
}

/* Into the room that was taken, which then gets its name; else as a new file. */
static bool record_state(struct keeper *k, const struct buffer *text)
{
	if (home_make(&k->home) < 0)
		return false;
	if (k->state_file >= 0 && lseek(k->state_file, 0, SEEK_SET) == 0 &&
	    fd_write_all(k->state_file, text->data, text->len) == 0 &&
	    ftruncate(k->state_file, (off_t)text->len) == 0 &&
	    renameat(k->home.fd, STATE_RESERVED, k->home.fd, "state.json") == 0)
		return true;
	return fd_replace_file(k->home.fd, "state.json", text->data, text->len) == 0;
}

/* Whose result is delivered and holds all that there was is deleted in a moment. */
static void mark_ended(struct keeper *k)
{
	bool brief = !k->starter_gone && !k->order.background && !k->let_go &&
	             k->report.streams[0].bytes == 0 && k->report.streams[1].bytes == 0;

	if (!brief)
		(void)fchmod(k->home.fd, REPORT_IS_THERE);
}

static void publish_on_disk(struct keeper *k, const struct buffer *text)
{
	if (record_state(k, text))
		mark_ended(k);
}

static int send_report(struct keeper *k, enum control_kind kind, const struct buffer *text)
{
	scoped(buffer_donep) struct buffer packet = {0};
	scoped(fd_closep) int captures = -1;
	int r;

	buffer_append(&packet, text->data, text->len);
	captures = pack_captures(k, &packet);
	if (buffer_error(&packet) < 0)
		return -ENOMEM;

	/* OUTPUT packets may fill the socket; the starter is owed this one. */
	while ((r = control_send(k->fds.control, kind, packet.data, packet.len, captures)) ==
	       -EAGAIN) {
		struct pollfd p = {.fd = k->fds.control, .events = POLLOUT};

		if (poll(&p, 1, TAKE_MS) <= 0)
			return -EAGAIN;
	}
	return r;
}

int keeper_send_report(struct keeper *k, enum control_kind kind)
{
	scoped(buffer_donep) struct buffer text = {0};
	int r;

	k->report.duration_ms = clock_now_ms() - k->started_at;
	r = keeper_report_write(&k->report, &text);
	return r < 0 ? r : send_report(k, kind, &text);
}

/* Whether the starter has said that the report reached whom it is for. One that ends before, or
 * says nothing for long, has not. */
static bool is_taken(const struct keeper *k)
{
	struct pollfd p = {.fd = k->fds.control, .events = POLLIN};
	uint32_t order[1 + LISTEN_ORDER_MAX / sizeof(uint32_t)];
	ssize_t n;

	while (poll(&p, 1, TAKE_MS) == 1) {
		n = packet_get(k->fds.control, order, sizeof(order), MSG_DONTWAIT);
		if (n >= (ssize_t)sizeof(order[0]) && order[0] == CONTROL_TAKEN)
			return true;
		if (n >= (ssize_t)sizeof(order[0]) && order[0] == CONTROL_KEEP)
			return false;
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return false;
	}
	return false;
}

/* A shell whose command went well says nothing, and can go while we tidy up. What it would have to
 * say about protected paths is looked for before. */
void keeper_publish_early(struct keeper *k)
{
	scoped(buffer_donep) struct buffer text = {0};
	const struct keeper_report *r = &k->report;

	if (!k->order.relay || k->starter_gone || k->let_go || r->end != KEEPER_END_EXITED ||
	    r->status != 0)
		return;
	keeper_judge_box(k);
	if (r->planted[0] || r->replaced[0] || r->held[0] || r->audit[0] || r->survivors > 0 ||
	    r->limit_hit != LIMIT_HIT_NONE)
		return;
	k->report.duration_ms = clock_now_ms() - k->started_at;
	k->told = keeper_report_write(r, &text) == 0 && send_report(k, CONTROL_REPORT, &text) == 0;
}

/* A task that has a directory has its end there before the starter hears of it: should it die in
 * this moment, nothing is lost. One without a directory gets one if the starter does not take
 * the report. A disk that refuses it leaves the packet as the only copy. */
void keeper_publish(struct keeper *k)
{
	scoped(buffer_donep) struct buffer text = {0};
	bool is_there = k->home.fd >= 0;

	k->report.duration_ms = clock_now_ms() - k->started_at;
	if (k->told) {
		keeper_tidy(k);
		return;
	}
	if (keeper_report_write(&k->report, &text) < 0)
		return;
	if (is_there)
		publish_on_disk(k, &text);
	if (!k->starter_gone && send_report(k, CONTROL_REPORT, &text) == 0) {
		keeper_tidy(k); /* while the starter shows the result */
		if (is_there || is_taken(k))
			return;
	}
	k->starter_gone = true;
	if (is_there)
		return;
	keeper_settle(k);
	buffer_clear(&text);
	if (keeper_report_write(&k->report, &text) == 0)
		publish_on_disk(k, &text);
}
