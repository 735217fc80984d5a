#include "keeper/inside.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "keeper/control.h"
#include "output/capture.h"
#include "sandbox/plan.h"
#include "sandbox/protect.h"

/* Both captures in one anonymous file: it needs no disk, and no reader to be ready. */
static int pack_captures(struct keeper *k)
{
	scoped(fd_closep) int fd = memfd_create("nacre-captures", MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		if (k->streams[i].capture && capture_write(k->streams[i].capture, fd, NULL) < 0)
			return -1;
	return lseek(fd, 0, SEEK_SET) < 0 ? -1 : take_fd(&fd);
}

void keeper_judge_box(struct keeper *k)
{
	bool exited = k->report.end == KEEPER_END_EXITED; /* else the signal was ours */
	struct limits_evidence evidence = {
		.wait_status = exited ? k->report.status : 0,
		.cpu_us = (uint64_t)k->report.cpu_ms * 1000,
		.oom_kills = k->watch.memory_kills,
		.forks_denied = k->watch.crowded || k->report.end == KEEPER_END_CROWDED,
		.tmp_full = k->tmp_full,
	};
	scoped(buffer_donep) struct buffer planted = {.max = REPORT_PLANTED_MAX - 1};

	if (!k->plan || k->report.end == KEEPER_END_FAILED)
		return;
	k->report.limit_hit = sandbox_plan_judge(k->plan, &evidence);
	(void)sandbox_protect_check(k->plan, k->fds.task, k->order.task_id, &planted);
	snprintf(k->report.planted, sizeof(k->report.planted), "%s", buffer_str(&planted));
}

void keeper_publish(struct keeper *k)
{
	scoped(buffer_donep) struct buffer text = {0};
	scoped(fd_closep) int captures = -1;

	k->report.duration_ms = clock_now_ms() - k->started_at;
	if (keeper_report_write(&k->report, &text) < 0)
		return;
	/* Before the starter hears of the end: should it die in this moment, the state is there. A
	 * disk that refuses it leaves the packet as the only copy. */
	if (k->fds.task >= 0)
		(void)fd_replace_file(k->fds.task, "state.json", text.data, text.len);
	if (k->starter_gone)
		return;
	captures = pack_captures(k);
	/* OUTPUT packets may fill the socket; the starter is owed this one. */
	while (control_send(k->fds.control, CONTROL_REPORT, text.data, text.len, captures) ==
	       -EAGAIN) {
		struct pollfd p = {.fd = k->fds.control, .events = POLLOUT};

		if (poll(&p, 1, 10000) <= 0)
			return;
	}
}
