#include "cli/terminal.h"

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
#include "task/report.h"

#define QUIET_MS      600
#define CATCH_UP_MAX  ((off_t)4 << 20) /* further behind than this, the middle is not shown live */
#define CATCH_UP_KEEP ((off_t)256 << 10)
#define STEP_BYTES                                                                                 \
	((size_t)64 << 10) /* shown at a time: signals and the end are seen in between             \
	                    */

static bool terminal_is_able(void)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 &&
	       !(no_color && *no_color);
}

void terminal_init(struct terminal *t, bool wanted, bool quiet, enum output_mode mode)
{
	*t = (struct terminal){.files = {-1, -1}, .mode = mode};
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

void terminal_clear(struct terminal *t)
{
	if (t->spinning)
		fputs("\r\033[K", stderr);
	t->spinning = false;
}

/* Moves on to OFFSET and says what is passed over. */
static void skip_to(struct terminal *t, int i, off_t offset)
{
	if (offset <= t->shown[i])
		return;
	if (!t->raw)
		fprintf(stderr, "\n[%lld bytes not shown]\n", (long long)(offset - t->shown[i]));
	t->shown[i] = offset;
}

/* Copies up to BUDGET bytes from where we are, which lies SHIFT further on in the stream than in
 * the file. Whether there is more. */
static bool copy_bytes(struct terminal *t, int i, off_t shift, size_t budget)
{
	int to = i == 0 || t->mode == OUTPUT_STDERR ? STDOUT_FILENO : STDERR_FILENO;
	char bytes[16384];
	ssize_t n = 0;

	while (budget > 0 &&
	       (n = pread(t->files[i], bytes, sizeof(bytes), t->shown[i] - shift)) > 0) {
		t->shown[i] += n;
		budget -= (size_t)n < budget ? (size_t)n : budget;
		if (fd_write_all(to, bytes, (size_t)n) < 0)
			return false;
	}
	return n > 0;
}

/* Whether there is a file for this stream, and it has more than was shown. */
static bool has_more(struct terminal *t, int i, int task_dir_fd, off_t *ret_size)
{
	static const char *const names[2] = {"out", "err"};
	struct stat st;

	if (!output_mode_shows(t->mode, i))
		return false;
	if (t->files[i] < 0 && task_dir_fd >= 0)
		t->files[i] = fd_open_regular(task_dir_fd, names[i]);
	if (t->files[i] < 0 || fstat(t->files[i], &st) < 0)
		return false;
	*ret_size = st.st_size;
	return true;
}

bool terminal_follow(struct terminal *t, int task_dir_fd, int64_t now_ms)
{
	bool more = false;
	off_t size, data;

	t->last_output = now_ms;
	for (int i = 0; t->live && i < 2; i++) {
		if (!has_more(t, i, task_dir_fd, &size) || size <= t->shown[i])
			continue;
		terminal_clear(t);
		if (size - t->shown[i] > CATCH_UP_MAX && !t->raw)
			skip_to(t, i, size - CATCH_UP_KEEP);
		data = lseek(t->files[i], t->shown[i],
		             SEEK_DATA); /* past the cap there is a hole */
		if (data > 0)
			skip_to(t, i, data);
		more |= copy_bytes(t, i, 0, STEP_BYTES);
	}
	return more;
}

void terminal_follow_end(struct terminal *t, int task_dir_fd, const struct keeper_stream *streams)
{
	off_t size, shift, end;

	for (int i = 0; t->live && i < 2; i++) {
		if (!has_more(t, i, task_dir_fd, &size))
			continue;
		terminal_clear(t);
		/* The middle that was dropped is gone from the file, too, and the rest moved up. */
		shift = (off_t)streams[i].dropped_bytes;
		end = size + shift;
		if (shift > 0)
			skip_to(t, i, (off_t)streams[i].dropped_at + shift);
		if (end - t->shown[i] > CATCH_UP_MAX && !t->raw)
			skip_to(t, i, end - CATCH_UP_KEEP);
		(void)copy_bytes(t, i, shift, SIZE_MAX);
	}
}

void terminal_note(struct terminal *t, const char *text)
{
	if (!t->status || t->raw)
		return;
	terminal_clear(t);
	fprintf(stderr, "%s\n", text); /* nacre's own words */
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

void terminal_show_task(const struct terminal *t, const struct result *r)
{
	const char *on = t->fancy ? "\033[1m" : "", *off = t->fancy ? "\033[0m" : "";

	fprintf(stderr,
	        "┌─ %s%s%s\n│ Task    %s\n│ Output  %s\n│ Follow  nacre output --follow %s\n"
	        "│ Stop    nacre stop %s\n└─\n",
	        on, r->timed_out ? "Continues in the background" : "Background task", off,
	        r->task_id, r->output_files[0], r->task_id, r->task_id);
}

void terminal_end(struct terminal *t, const struct result *r)
{
	char duration[32], what[64] = "";

	terminal_clear(t);
	if (!t->status || r->background)
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
