#include "sandbox/afresh.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "sandbox/box.h"

/* A directory that was made among the temporary files. Entries are counted with those of the file
 * system; its own mode and times are the command's to change. One that something is mounted on is
 * out of reach. */
static bool look_at_part(const char *path, dev_t scratch, struct box_traces *t)
{
	struct stat st;

	if (t->part_count == BOX_PARTS_MAX || stat(path, &st) < 0)
		return false;
	if (st.st_dev == scratch)
		t->parts[t->part_count] = (struct box_part){
			.mode = st.st_mode, .modified = st.st_mtim, .changed = st.st_ctim};
	t->part_count++;
	return true;
}

/* Where the command's own temporary files are; NULL: all are the session's. */
static const char *scratch_of(const struct sandbox_plan *p)
{
	if (!p->room.path)
		return "/dev/shm";
	for (size_t i = 0; i < p->ground_count; i++)
		if (p->grounds[i].kind == BOX_GROUND_SCRATCH)
			return p->grounds[i].path;
	return NULL;
}

static bool look_at_parts(const struct sandbox_plan *p, const char *scratch, struct box_traces *t)
{
	static const char hidden[] = "dev/shm/"; /* where the parts are made, and then bound */
	char path[PATH_MAX];
	struct stat st;

	if (stat(scratch, &st) < 0 || (!p->room.path && !look_at_part(scratch, st.st_dev, t)))
		return false;
	for (size_t i = 0; i < p->ground_count; i++)
		if (p->grounds[i].kind == BOX_GROUND_SCRATCH &&
		    !look_at_part(p->grounds[i].path, st.st_dev, t))
			return false;
	for (size_t i = 0; i < p->steps.count; i++) {
		const struct box_step *s = &p->steps.items[i];

		if (!s->each || (s->kind != BOX_DIRECTORY && s->kind != BOX_FILE) ||
		    strncmp(s->path, hidden, strlen(hidden)) == 0)
			continue;
		snprintf(path, sizeof(path), "/%s", s->path);
		if (!look_at_part(path, st.st_dev, t))
			return false;
	}
	return true;
}

/* Kernels without one of these kinds have none of it. */
static bool look_at_objects(struct box_traces *t)
{
	struct shm_info memory = {0};
	struct msginfo messages = {0};
	struct seminfo semaphores = {0};
	union {
		struct seminfo *info;
	} argument = {&semaphores};

	if ((shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&memory) < 0 && errno != ENOSYS) ||
	    (msgctl(0, MSG_INFO, (struct msqid_ds *)(void *)&messages) < 0 && errno != ENOSYS) ||
	    (semctl(0, 0, SEM_INFO, argument) < 0 && errno != ENOSYS))
		return false;
	t->objects = memory.used_ids + messages.msgpool + semaphores.semusz;
	return true;
}

/* The root of their file system is longer by each queue. */
static bool look_at_queues(const struct sandbox_plan *p, struct box_traces *t)
{
	struct stat st;

	if (p->queues_fd == -ENODEV)
		return true;
	if (p->queues_fd < 0 || fstat(p->queues_fd, &st) < 0)
		return false;
	t->queues = st.st_size;
	return true;
}

/* A command may lower init, which is of its own user, and with it all that init starts later. */
static bool look_at_ranks(struct box_traces *t)
{
	errno = 0;
	t->nice = getpriority(PRIO_PROCESS, 0);
	t->scheduler = sched_getscheduler(0);
	t->disk = (int)syscall(SYS_ioprio_get, 1 /* a process */, 0);
	return errno == 0 && sched_getaffinity(0, sizeof(t->processors), &t->processors) == 0;
}

/* What lies in a room is there for the next command. */
static bool look_at_scratch(const struct sandbox_plan *p, struct box_traces *t)
{
	const char *path = scratch_of(p);
	struct statfs scratch;

	if (!path)
		return true;
	if (statfs(path, &scratch) < 0 || scratch.f_files == 0)
		return false;
	t->files = scratch.f_files - scratch.f_ffree;
	t->blocks = scratch.f_blocks - scratch.f_bfree;
	return look_at_parts(p, path, t);
}

static bool look(const struct sandbox_plan *p, struct box_traces *t)
{
	*t = (struct box_traces){0};
	return look_at_scratch(p, t) && look_at_objects(t) && look_at_queues(p, t) &&
	       look_at_ranks(t);
}

void sandbox_afresh_begin(struct sandbox_plan *p)
{
	p->traces_known = look(p, &p->traces);
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool are_same(const struct box_traces *a, const struct box_traces *b)
{
	if (a->files != b->files || a->blocks != b->blocks || a->objects != b->objects ||
	    a->queues != b->queues || a->part_count != b->part_count || a->nice != b->nice ||
	    a->scheduler != b->scheduler || a->disk != b->disk ||
	    !CPU_EQUAL(&a->processors, &b->processors))
		return false;
	for (size_t i = 0; i < a->part_count; i++)
		if (a->parts[i].mode != b->parts[i].mode ||
		    !is_same_time(&a->parts[i].modified, &b->parts[i].modified) ||
		    !is_same_time(&a->parts[i].changed, &b->parts[i].changed))
			return false;
	return true;
}

bool sandbox_is_afresh(const struct sandbox_plan *p)
{
	struct box_traces now;

	return p->traces_known && look(p, &now) && are_same(&p->traces, &now);
}
