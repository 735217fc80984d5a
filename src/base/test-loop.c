#include "base/test-support.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/loop.h"

/* A source that counts its turns and, when told so, does one more thing. */
struct probe {
	struct loop_source source;
	struct probe *removes; /* this one is removed by the first turn */
	int turns, stop_after, fail_with;
	uint32_t events;
};

static int on_probe(struct loop_source *s, uint32_t events)
{
	struct probe *p = container_of(s, struct probe, source);

	p->turns++;
	p->events = events;
	if (p->removes)
		loop_remove(&p->removes->source);
	if (p->turns == p->stop_after)
		loop_stop(s->loop);
	return p->fail_with;
}

static struct loop *make(void)
{
	struct loop *l = NULL;

	assert_int_equal(loop_new(&l, NULL), 0);
	return l;
}

static int ready_fd(void)
{
	int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);

	assert_true(fd >= 0);
	return fd;
}

static void a_ready_descriptor_has_its_handler_called_until_stopped(void **state)
{
	scoped(loop_freep) struct loop *l = make();
	scoped(fd_closep) int fd = ready_fd();
	struct probe p = {.stop_after = 3};

	assert_int_equal(loop_add(l, &p.source, fd, EPOLLIN, on_probe, NULL), 0);
	assert_int_equal(loop_run(l), 0);
	assert_int_equal(p.turns, 3);
	assert_int_equal(p.events, EPOLLIN);
	p.stop_after = 4;
	assert_int_equal(loop_run(l), 0); /* a stopped loop can run again */
	assert_int_equal(p.turns, 4);
	loop_remove(&p.source);
}

static void a_failing_handler_ends_the_loop_with_its_value(void **state)
{
	scoped(loop_freep) struct loop *l = make();
	scoped(fd_closep) int fd = ready_fd();
	struct probe p = {.fail_with = -ENODATA};

	assert_int_equal(loop_add(l, &p.source, fd, EPOLLIN, on_probe, NULL), 0);
	assert_int_equal(loop_run(l), -ENODATA);
	assert_int_equal(p.turns, 1);
	loop_remove(&p.source);
}

/* Whichever comes first removes the other: exactly one of them is ever called. */
static void a_source_removed_by_another_of_the_same_turn_is_not_called(void **state)
{
	scoped(loop_freep) struct loop *l = make();
	scoped(fd_closep) int one = ready_fd();
	scoped(fd_closep) int two = ready_fd();
	struct probe a = {.stop_after = 2}, b = {.stop_after = 2};

	a.removes = &b;
	b.removes = &a;
	assert_int_equal(loop_add(l, &a.source, one, EPOLLIN, on_probe, NULL), 0);
	assert_int_equal(loop_add(l, &b.source, two, EPOLLIN, on_probe, NULL), 0);
	assert_int_equal(loop_run(l), 0);
	assert_int_equal(a.turns + b.turns, 2);
	assert_int_equal(a.turns * b.turns, 0);
	loop_remove(&a.source);
	loop_remove(&b.source);
}

static void a_handler_may_remove_its_own_source(void **state)
{
	scoped(loop_freep) struct loop *l = make();
	scoped(fd_closep) int one = ready_fd();
	scoped(fd_closep) int two = ready_fd();
	struct probe a = {.turns = 0}, b = {.stop_after = 5};

	a.removes = &a;
	assert_int_equal(loop_add(l, &a.source, one, EPOLLIN, on_probe, NULL), 0);
	assert_int_equal(loop_add(l, &b.source, two, EPOLLIN, on_probe, NULL), 0);
	assert_int_equal(loop_run(l), 0);
	assert_int_equal(a.turns, 1);
	assert_int_equal(a.source.fd, -1);
	loop_remove(&b.source);
}

static void removing_what_is_not_in_a_loop_is_fine(void **state)
{
	scoped(loop_freep) struct loop *l = make();
	struct loop_source never = {0}, failed;
	struct error err;

	loop_remove(&never);
	assert_int_equal(loop_add(l, &failed, -1, EPOLLIN, on_probe, &err), -EBADF);
	assert_int_equal(err.sys, EBADF);
	loop_remove(&failed);
	loop_remove(&failed);
}

static void the_end_of_a_peer_is_an_event(void **state)
{
	scoped(loop_freep) struct loop *l = make();
	struct probe p = {.stop_after = 1};
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	close(ends[1]);
	assert_int_equal(loop_add(l, &p.source, ends[0], EPOLLIN, on_probe, NULL), 0);
	assert_int_equal(loop_run(l), 0);
	assert_true(p.events & EPOLLHUP);
	loop_remove(&p.source);
	close(ends[0]);
}

static void a_regular_file_is_always_ready(void **state)
{
	scoped(loop_freep) struct loop *l = make();
	scoped(fd_closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	scoped(fd_closep) int other = ready_fd();
	struct probe file = {.stop_after = 3}, beside = {.turns = 0};

	assert_int_equal(loop_add(l, &file.source, fd, EPOLLIN, on_probe, NULL), 0);
	assert_int_equal(loop_add(l, &beside.source, other, EPOLLIN, on_probe, NULL), 0);
	assert_int_equal(loop_run(l), 0);
	assert_int_equal(file.turns, 3);
	assert_int_equal(beside.turns, 3); /* it starves nobody */
	loop_remove(&file.source);
	loop_remove(&beside.source);
}

static void regular_files_may_remove_each_other_and_themselves(void **state)
{
	scoped(loop_freep) struct loop *l = make();
	scoped(fd_closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct probe files[4] = {{.removes = NULL}};

	files[3].stop_after = 4;
	files[0].removes = &files[1];
	files[2].removes = &files[2];
	for (int i = 0; i < 4; i++)
		assert_int_equal(loop_add(l, &files[i].source, fd, EPOLLIN, on_probe, NULL), 0);
	assert_int_equal(loop_run(l), 0);
	assert_int_equal(files[1].turns, 0);
	assert_int_equal(files[2].turns, 1);
	assert_int_equal(files[3].turns, 4);
	loop_remove(&files[0].source);
	loop_remove(&files[3].source);
}

static void too_many_regular_files_are_refused(void **state)
{
	scoped(loop_freep) struct loop *l = make();
	scoped(fd_closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	static struct probe files[100];
	int added = 0;

	while (added < 100 && loop_add(l, &files[added].source, fd, EPOLLIN, on_probe, NULL) == 0)
		added++;
	assert_in_range(added, 1, 99);
	loop_remove(&files[added].source);
	while (added--)
		loop_remove(&files[added].source);
}

struct clock {
	struct loop_timer timer;
	int64_t *last; /* of all that have run before */
	int *left;
};

static int on_clock(struct loop_timer *t)
{
	struct clock *c = container_of(t, struct clock, timer);

	if (t->at < *c->last || loop_now(t->loop) < t->at)
		return -ERANGE; /* out of order, or early */
	*c->last = t->at;
	if (--*c->left == 0)
		loop_stop(t->loop);
	return 0;
}

static void timers_run_in_order_and_never_early(void **state)
{
	enum { COUNT = 500 };
	scoped(loop_freep) struct loop *l = make();
	static struct clock clocks[COUNT];
	int64_t last = 0, start = clock_now_ms();
	int left = COUNT;
	uint64_t seed = 9;

	for (int i = 0; i < COUNT; i++) {
		clocks[i] = (struct clock){.last = &last, .left = &left};
		assert_int_equal(loop_timer_set(l, &clocks[i].timer,
		                                start + (int64_t)(test_random(&seed) % 40),
		                                on_clock),
		                 0);
	}
	/* Some are set anew, earlier and later, and some are cleared. */
	for (int i = 0; i < COUNT; i += 3)
		assert_int_equal(loop_timer_set(l, &clocks[i].timer,
		                                start + (int64_t)(test_random(&seed) % 40),
		                                on_clock),
		                 0);
	for (int i = 1; i < COUNT; i += 5) {
		loop_timer_clear(&clocks[i].timer);
		loop_timer_clear(&clocks[i].timer);
		left--;
	}
	assert_int_equal(loop_run(l), 0);
	assert_int_equal(left, 0);
}

static int fail_timer(struct loop_timer *t)
{
	return -EDOM;
}

static void a_failing_timer_ends_the_loop_and_is_not_armed_any_more(void **state)
{
	scoped(loop_freep) struct loop *l = make();
	struct loop_timer t = {0};

	assert_int_equal(loop_timer_set(l, &t, loop_now(l) - 1000, fail_timer), 0);
	assert_int_equal(loop_run(l), -EDOM);
	assert_int_equal(t.slot, 0);
}

static int stop_timer(struct loop_timer *t)
{
	loop_stop(t->loop);
	return 0;
}

static void timers_are_bounded(void **state)
{
	enum { MOST = 65536 };
	scoped(loop_freep) struct loop *l = make();
	scoped(freep) struct loop_timer *timers = calloc(MOST + 1, sizeof(*timers));

	for (int i = 0; i < MOST; i++)
		assert_int_equal(loop_timer_set(l, &timers[i], i, stop_timer), 0);
	assert_int_equal(loop_timer_set(l, &timers[MOST], 0, stop_timer), -E2BIG);
	assert_int_equal(timers[MOST].slot, 0);
	for (int i = 0; i < MOST; i++)
		loop_timer_clear(&timers[i]);
}

static void signals_come_as_descriptors(void **state)
{
	scoped(loop_freep) struct loop *l = make();
	scoped(fd_closep) int fd = -1;
	struct probe p = {.stop_after = 1};
	struct signalfd_siginfo info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	fd = loop_signal_fd(&set);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(loop_add(l, &p.source, fd, EPOLLIN, on_probe, NULL), 0);
	kill(getpid(), SIGUSR1);
	assert_int_equal(loop_run(l), 0);
	assert_int_equal(read(fd, &info, sizeof(info)), sizeof(info));
	assert_int_equal(info.ssi_signo, SIGUSR1);
	loop_remove(&p.source);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int on_due(struct loop_timer *t)
{
	return 0;
}

/* As a host with a loop of its own uses it: nothing waits but the host. */
static void a_loop_can_be_turned_from_another(void **state)
{
	scoped(loop_freep) struct loop *l = make();
	scoped(fd_closep) int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct pollfd outside = {.fd = loop_fd(l), .events = POLLIN};
	struct loop_timer timer = {0};
	struct probe p = {0};
	uint64_t one = 1;

	assert_int_equal(loop_add(l, &p.source, fd, EPOLLIN, on_probe, NULL), 0);
	assert_int_equal(loop_wait_ms(l), -1);
	assert_int_equal(loop_turn(l), 0); /* there is nothing to do, and it does not wait */
	assert_int_equal(p.turns, 0);
	assert_int_equal(poll(&outside, 1, 0), 0);
	assert_int_equal(fd_write_all(fd, &one, sizeof(one)), 0);
	assert_int_equal(poll(&outside, 1, 0), 1);
	assert_int_equal(loop_turn(l), 0);
	assert_int_equal(p.turns, 1);
	assert_int_equal(loop_timer_set(l, &timer, clock_now_ms() - 1, on_due), 0);
	assert_int_equal(loop_wait_ms(l), 0);
	assert_int_equal(loop_turn(l), 0);
	assert_int_equal(loop_wait_ms(l), -1);
	p.fail_with = -ENODATA;
	assert_int_equal(loop_turn(l), -ENODATA);
	loop_remove(&p.source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ready_descriptor_has_its_handler_called_until_stopped),
		cmocka_unit_test(a_failing_handler_ends_the_loop_with_its_value),
		cmocka_unit_test(a_source_removed_by_another_of_the_same_turn_is_not_called),
		cmocka_unit_test(a_handler_may_remove_its_own_source),
		cmocka_unit_test(removing_what_is_not_in_a_loop_is_fine),
		cmocka_unit_test(the_end_of_a_peer_is_an_event),
		cmocka_unit_test(a_regular_file_is_always_ready),
		cmocka_unit_test(regular_files_may_remove_each_other_and_themselves),
		cmocka_unit_test(too_many_regular_files_are_refused),
		cmocka_unit_test(timers_run_in_order_and_never_early),
		cmocka_unit_test(a_failing_timer_ends_the_loop_and_is_not_armed_any_more),
		cmocka_unit_test(timers_are_bounded),
		cmocka_unit_test(a_loop_can_be_turned_from_another),
		cmocka_unit_test(signals_come_as_descriptors),
	};

	alarm(TEST_PATIENCE_MS / 1000); /* a loop that waits for nothing ends here */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
