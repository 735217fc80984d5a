#include "cli/terminal.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "base/number.h"
#include "cli/cli.h"
#include "engine/result.h"

#define QUIET_MS      600
#define CATCH_UP_MAX  ((off_t)4 << 20) /* further behind than this, the middle is not shown live */
#define CATCH_UP_KEEP ((off_t)256 << 10)
#define STEP_BYTES    ((size_t)64 << 10) /* shown at a time: signals and the end are seen in between \
	                                  */

static bool terminal_is_able(void)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 &&
	       !(no_color && *no_color);
}

void terminal_init(struct terminal *t, bool wanted, bool quiet)
{
	*t = (struct terminal){.files = {-1, -1}};
	t->live = wanted && isatty(STDOUT_FILENO);
	t->status = wanted && !quiet && isatty(STDERR_FILENO);
	t->fancy = t->status && terminal_is_able();
}

void terminal_done(struct terminal *t)
{
	fd_close(take_fd(&t->files[0]));
	fd_close(take_fd(&t->files[1]));
}

void terminal_begin(struct terminal *t, const char *description, int64_t now_ms)
{
	scoped(buffer_donep) struct buffer clean = {0};

	t->started = t->last_output = now_ms;
	if (!t->status || !description)
		return;
	cli_put_clean(description, &clean);
	fprintf(stderr, t->fancy ? "\033[1mRunning: %s\033[0m\n" : "Running: %s\n",
	        buffer_str(&clean));
}

static void clear_spinner(struct terminal *t)
{
	if (t->spinning)
		fputs("\r\033[K", stderr);
	t->spinning = false;
}

static bool follow_one(struct terminal *t, int i, int task_dir_fd, bool last)
{
	static const char *const names[2] = {"out", "err"};
	size_t budget = last ? SIZE_MAX : STEP_BYTES;
	char bytes[16384];
	struct stat st;
	ssize_t n = 0;

	if (t->files[i] < 0 && task_dir_fd >= 0)
		t->files[i] = openat(task_dir_fd, names[i], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (t->files[i] < 0 || fstat(t->files[i], &st) < 0 || st.st_size <= t->shown[i])
		return false;
	clear_spinner(t);
	if (st.st_size - t->shown[i] > CATCH_UP_MAX) {
		fprintf(stderr, "\n[%lld bytes are not shown here]\n",
		        (long long)(st.st_size - t->shown[i] - CATCH_UP_KEEP));
		t->shown[i] = st.st_size - CATCH_UP_KEEP;
	}
	while (budget > 0 && (n = pread(t->files[i], bytes, sizeof(bytes), t->shown[i])) > 0) {
		t->shown[i] += n;
		budget -= (size_t)n < budget ? (size_t)n : budget;
		if (fd_write_all(i == 0 ? STDOUT_FILENO : STDERR_FILENO, bytes, (size_t)n) < 0)
			return false;
	}
	return n > 0;
}

bool terminal_follow(struct terminal *t, int task_dir_fd, bool last, int64_t now_ms)
{
	bool more;

	if (!t->live)
		return false;
	t->last_output = now_ms;
	more = follow_one(t, 0, task_dir_fd, last);
	return follow_one(t, 1, task_dir_fd, last) || more;
}

void terminal_tick(struct terminal *t, int64_t now_ms)
{
	static const char *const frames[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
	char duration[32];

	if (!t->fancy || now_ms - t->last_output < QUIET_MS)
		return;
	snprintf(duration, sizeof(duration), "%llds", (long long)((now_ms - t->started) / 1000));
	fprintf(stderr, "\r\033[K\033[2m%s %s\033[0m", frames[now_ms / 80 % 10], duration);
	t->spinning = true;
}

void terminal_end(struct terminal *t, const struct result *r)
{
	char duration[32], what[64] = "";

	clear_spinner(t);
	if (!t->status)
		return;
	number_format_duration(r->report.duration_ms, duration);
	if (r->timed_out)
		snprintf(what, sizeof(what), "timed out, ");
	else if (!r->success)
		snprintf(what, sizeof(what), "exit code %d, ", r->exit_code);
	if (t->fancy)
		fprintf(stderr, "%s \033[2m%s%s\033[0m\n",
		        r->success ? "\033[32m✓\033[0m" : "\033[31m✗\033[0m", what, duration);
	else
		fprintf(stderr, "%s %s%s\n", r->success ? "✓" : "✗", what, duration);
}
