/*
 * One walk along all files, from the oldest to the head. Each record must hash to what the next one
 * says, each file must begin with the end of the one before, and the walk must pass the place that
 * the head names. Bytes after that place may be a writer at work, so they are not an error. The
 * first thing that is wrong ends the walk and is the answer.
 */
#include "audit/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sodium.h>
#include "audit/head.h"
#include "audit/inside.h"
#include "audit/key.h"
#include "audit/scan.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"

#define TRIES 5 /* while others write */

struct walk {
	const struct audit_verify_options *options;
	int dir_fd;
	struct audit_chain chain;
	struct audit_verdict *verdict;
	struct head_place place; /* of the head, before the first file was read */
	bool headed, same_boot;
	bool wanted, found; /* a record that must be there */
	unsigned char hash[AUDIT_HASH_BYTES];
	uint64_t file, line, at; /* AT: behind the last line */
	bool at_place;           /* the head's place was passed, and it was as the head says */
};

static int bad(struct walk *w, uint64_t line, uint64_t seq, const char *text)
{
	struct audit_verdict *v = w->verdict;

	v->good = false;
	files_name(w->file, v->file);
	v->line = line;
	v->seq = seq;
	snprintf(v->problem, sizeof(v->problem), "%s", text);
	return -EBADMSG;
}

/* The head and the log have to meet at the end of a line. */
static void meet(struct walk *w, uint64_t at)
{
	if (w->headed && w->file == w->place.file && at == w->place.size &&
	    w->chain.link.seq == w->place.link.seq &&
	    memcmp(w->chain.link.hash, w->place.link.hash, AUDIT_HASH_BYTES) == 0)
		w->at_place = true;
}

/* The first record of a file stands for all that was before it. */
static int check_first(struct walk *w)
{
	static const unsigned char zeros[AUDIT_HASH_BYTES];
	const struct audit_line *l = &w->chain.line;

	if (l->kind != AUDIT_OPENED)
		return bad(w, w->line, l->seq, "the file does not begin with its first record");
	if (w->chain.file != w->file)
		return bad(w, w->line, l->seq, "the record is the first one of another file");
	if (w->chain.records == 1 && w->file == 1 &&
	    (l->seq != 1 || memcmp(l->prev, zeros, sizeof(zeros)) != 0))
		return bad(w, w->line, l->seq, "the log does not begin with its first record");
	return 0;
}

static int take_line(void *context, const char *line, size_t n, uint64_t offset)
{
	struct walk *w = context;

	w->line++;
	w->at = offset + n + 1;
	if (audit_chain_feed(&w->chain, line, n) < 0)
		return bad(w, w->line, w->chain.line.seq, w->chain.problem);
	if (w->wanted && memcmp(w->chain.line.hash, w->hash, AUDIT_HASH_BYTES) == 0)
		w->found = true;
	meet(w, w->at);
	return w->line == 1 ? check_first(w) : 0;
}

/* What has no newline: a writer is at work or was killed, but only behind the head's place. */
static int check_rest(struct walk *w, uint64_t size)
{
	bool last = !w->headed || w->file >= w->place.file;

	if (size <= w->at)
		return 0;
	if (!last || (w->headed && w->file == w->place.file && w->at < w->place.size))
		return bad(w, w->line + 1, 0, "the last line of the file has no end");
	snprintf(w->verdict->note, sizeof(w->verdict->note),
	         "the last record is not written to its end; the next one will mark it as a break");
	return 0;
}

static int walk_file(struct walk *w, uint64_t number, struct error *err)
{
	scoped(fd_closep) int fd = -1;
	char name[FILES_NAME_MAX];
	struct stat st;
	uint64_t rest;
	int r;

	w->file = number;
	w->line = w->at = 0;
	files_name(number, name);
	fd = fd_open_regular(w->dir_fd, name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_sys(err, fd < 0 ? -fd : errno, "%s", name);
	w->verdict->files++;
	meet(w, 0);
	r = scan_lines(fd, 0, UINT64_MAX, take_line, w, &rest, err);
	if (r < 0)
		return r;
	/* The one that follows would begin a chain of its own. */
	if (st.st_size == 0 && w->headed && number < w->place.file)
		return bad(w, 0, 0, "the file is empty");
	return check_rest(w, (uint64_t)st.st_size);
}

/* Whether this can be the first record of the file that follows: of now, or of when its writer was
 * killed, since when others may have gone on in the file before. */
static bool may_be_next(const struct walk *w, const struct audit_link *end)
{
	const struct audit_line *l = &w->chain.line;

	return l->seq <= end->seq ||
	       (l->seq == end->seq + 1 && memcmp(l->prev, end->hash, AUDIT_HASH_BYTES) == 0);
}

/* A file behind the head's is one that was begun when its writer was killed. */
static int walk_begun(struct walk *w, uint64_t number, struct error *err)
{
	struct audit_chain before = w->chain;
	struct audit_verdict kept = *w->verdict;
	struct head_place now;
	bool same_boot;
	uint64_t lines;
	int r;

	w->chain.begun = false; /* its record stands for itself */
	r = walk_file(w, number, err);
	lines = w->line;
	/* Meanwhile it may have become the current one. */
	if (head_look(w->dir_fd, &now, &same_boot) == 0 && now.file >= number)
		return 0;
	if (r == 0 && (number != w->place.file + 1 || lines > 1))
		r = bad(w, lines > 1 ? 2 : 0, 0, "the file is not one of the log");
	if (r == 0 && lines == 1 && !may_be_next(w, &before.link))
		r = bad(w, 1, w->chain.line.seq, "the record does not follow the one before it");
	if (r < 0)
		return r;
	w->chain = before;
	*w->verdict = kept;
	snprintf(w->verdict->note, sizeof(w->verdict->note),
	         "the next file was begun and is not in use yet");
	return 0;
}

static int check_end(struct walk *w)
{
	char text[200];

	if (w->wanted && !w->found) {
		w->file = w->place.file;
		return bad(w, 0, 0, "the record that should be there is not");
	}
	if (!w->headed) {
		if (w->chain.records == 0)
			return 0;
		return bad(w, w->line, w->chain.link.seq,
		           "the head is missing: whether the end was cut off cannot be told");
	}
	if (w->at_place)
		return 0;
	w->file = w->place.file;
	snprintf(text, sizeof(text),
	         "the end is not as it was left: record %" PRIu64
	         " was the last one, and now it is %" PRIu64,
	         w->place.link.seq, w->chain.link.seq);
	return bad(w, w->line, w->chain.link.seq, text);
}

static int walk_all(struct walk *w, struct error *err)
{
	scoped(freep) uint64_t *numbers = NULL;
	uint64_t before = 0;
	size_t count = 0, i;
	int r = files_list(w->dir_fd, &numbers, &count, err);

	for (i = 0; r == 0 && i < count; i++) {
		if (w->headed && numbers[i] > w->place.file)
			break;
		w->file = before + 1;
		if (before > 0 && numbers[i] != before + 1)
			return bad(w, 0, 0, "the file is missing");
		r = walk_file(w, numbers[i], err);
		before = numbers[i];
		if (r == 0 && w->options->progress)
			w->options->progress(w->options->context, i + 1, count);
	}
	if (r < 0)
		return r;
	w->file = w->chain.oldest;
	if (count > 0 && w->chain.oldest > 0 && numbers[0] > w->chain.oldest)
		return bad(w, 0, 0, "the file is missing");
	w->file = before;
	r = check_end(w);
	for (; r == 0 && i < count; i++)
		r = walk_begun(w, numbers[i], err);
	return r;
}

static int prepare(struct walk *w, const struct audit_verify_options *o, struct error *err)
{
	int r = head_look(w->dir_fd, &w->place, &w->same_boot);

	w->headed = r == 0 && w->place.file > 0;
	if (o->contains) {
		w->wanted = strlen(o->contains) == 2 * AUDIT_HASH_BYTES &&
		            hex_read(o->contains, w->hash, AUDIT_HASH_BYTES);
		if (!w->wanted)
			return error_set(err, ERROR_INPUT, EINVAL, "'%.80s' is no hash of a record",
			                 o->contains);
	}
	if (!o->public_key) {
		/* Without this file any key will do, as long as it is one. */
		w->chain.key_given = key_read_public(w->dir_fd, "key.pub", w->chain.key, NULL) == 0;
		return 0;
	}
	w->chain.key_given = true;
	return key_read_public(AT_FDCWD, o->public_key, w->chain.key, err);
}

int audit_verify(const char *directory, const struct audit_verify_options *options,
                 struct audit_verdict *ret_verdict, struct error *err)
{
	static const struct audit_verify_options none;
	scoped(fd_closep) int dir_fd =
		open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct head_place now;
	bool same_boot;
	int r = 0;

	if (dir_fd < 0)
		return error_set(err, ERROR_INPUT, errno, "%.150s: %s", directory,
		                 strerrordesc_np(errno));
	if (sodium_init() < 0)
		return error_set(err, ERROR_SYSTEM, EIO, "no random numbers");
	for (int i = 0; i < TRIES; i++) {
		struct audit_verdict v = {.good = true};
		struct walk w = {
			.dir_fd = dir_fd, .verdict = &v, .options = options ? options : &none};

		r = prepare(&w, options ? options : &none, err);
		if (r < 0)
			return r;
		r = walk_all(&w, err);
		v.records = w.chain.records;
		v.checkpoints = w.chain.checkpoints;
		v.breaks = w.chain.breaks;
		v.lost = w.chain.lost;
		v.first_seq = w.chain.first_seq;
		v.last_seq = w.chain.link.seq;
		v.last_signed = w.chain.last_signed;
		hex_write(w.chain.link.hash, AUDIT_HASH_BYTES, v.last_hash);
		if (r == -EBADMSG && w.headed && !w.same_boot)
			snprintf(v.note, sizeof(v.note),
			         "the machine has been started since the last record: if it went "
			         "down, the next record settles how the log ends");
		*ret_verdict = v;
		/* While others write, a file may go away because it is old, and a torn end be cut
		 * off and written over under our eyes: what is bad stays bad. */
		if (r == 0 || head_look(dir_fd, &now, &same_boot) < 0 ||
		    (w.headed && now.link.seq == w.place.link.seq))
			break;
	}
	return r == -EBADMSG ? 0 : r;
}
