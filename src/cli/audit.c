/*
 * `nacre audit`: what was run, by whom, and whether the log of it is intact.
 */
#include "cli/audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/audit.h"
#include "audit/verify.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "engine/result.h"
#include "json/write.h"
#include "task/store.h"

int cli_audit_directory(const char *directory, char into[PATH_MAX])
{
	struct store store;
	int n = -1;

	if (directory) {
		n = snprintf(into, PATH_MAX, "%s", directory);
	} else {
		store_look(&store);
		if (store.path[0]) {
			*strrchr(store.path, '/') = '\0';
			n = snprintf(into, PATH_MAX, "%s/" AUDIT_DIRECTORY, store.path);
		}
		fd_close(store.tasks_fd);
	}
	return n >= 0 && n < PATH_MAX ? 0 : -1;
}

int cli_audit_none(void)
{
	cli_complain("there is no state directory, and so no audit log");
	return EXIT_NACRE_FAILED;
}

static void put_verdict_json(const struct audit_verdict *v, struct buffer *out)
{
	struct json_writer w = {.out = out};

	json_object_begin(&w);
	json_member_bool(&w, "good", v->good);
	json_member_uint(&w, "files", v->files);
	json_member_uint(&w, "records", v->records);
	json_member_uint(&w, "first_seq", v->first_seq);
	json_member_uint(&w, "last_seq", v->last_seq);
	json_member_text(&w, "last_hash", v->last_hash);
	json_member_uint(&w, "checkpoints", v->checkpoints);
	json_member_uint(&w, "last_signed", v->last_signed);
	json_member_uint(&w, "breaks", v->breaks);
	json_member_uint(&w, "lost_records", v->lost);
	json_member_text(&w, "note", v->note);
	json_put_key(&w, "first_bad");
	if (v->good) {
		json_put_null(&w);
	} else {
		json_object_begin(&w);
		json_member_text(&w, "file", v->file);
		json_member_uint(&w, "line", v->line);
		json_member_uint(&w, "seq", v->seq);
		json_member_text(&w, "problem", v->problem);
		json_object_end(&w);
	}
	json_object_end(&w);
	buffer_putc(out, '\n');
}

static void put_verdict(const struct audit_verdict *v, struct buffer *out)
{
	if (!v->good) {
		buffer_puts(out, v->file);
		if (v->line > 0)
			buffer_printf(out, ":%" PRIu64, v->line);
		if (v->seq > 0)
			buffer_printf(out, ": record %" PRIu64, v->seq);
		buffer_printf(out, ": %s\n", v->problem);
		if (v->note[0])
			buffer_printf(out, "%s\n", v->note);
		return;
	}
	buffer_printf(out,
	              "intact: %" PRIu64 " records in %" PRIu64 " files, %" PRIu64 " to %" PRIu64
	              "; %" PRIu64 " signed checkpoints, the last is record %" PRIu64 "\n",
	              v->records, v->files, v->first_seq, v->last_seq, v->checkpoints,
	              v->last_signed);
	if (v->breaks > 0)
		buffer_printf(out,
		              "%" PRIu64
		              " times a writer or the machine died while writing; %" PRIu64
		              " records were lost before they reached the disk\n",
		              v->breaks, v->lost);
	if (v->note[0])
		buffer_printf(out, "%s\n", v->note);
	buffer_printf(out, "last hash: %s\n", v->last_hash);
}

struct audit_options {
	const char *directory;
	struct audit_verify_options verify;
	bool json, progress;
};

/* One line for each file: for programs that show how far it is. */
static void print_progress(void *context, uint64_t files, uint64_t of)
{
	scoped(buffer_donep) struct buffer out = {0};

	buffer_printf(&out, "{\"files\":%" PRIu64 ",\"of\":%" PRIu64 "}\n", files, of);
	(void)cli_print(&out);
}

static int verify(void *options, int argc, char **argv)
{
	scoped(buffer_donep) struct buffer out = {0};
	struct audit_options *o = options;
	struct audit_verdict v;
	struct error err = {0};
	char directory[PATH_MAX];

	if (cli_audit_directory(o->directory, directory) < 0)
		return cli_audit_none();
	if (o->progress)
		o->verify.progress = print_progress;
	if (audit_verify(directory, &o->verify, &v, &err) < 0) {
		cli_complain("%s", err.text);
		return EXIT_NACRE_FAILED;
	}
	if (o->json)
		put_verdict_json(&v, &out);
	else
		put_verdict(&v, &out);
	if (cli_print(&out))
		return EXIT_NACRE_FAILED;
	return v.good ? 0 : 1;
}

static int checkpoint(void *options, int argc, char **argv)
{
	const struct audit_options *o = options;
	scoped(audit_freep) struct audit *a = NULL;
	struct error err = {0};
	char directory[PATH_MAX], hash[2 * AUDIT_HASH_BYTES + 1] = "";
	uint64_t seq = 0;
	int r;

	if (cli_audit_directory(NULL, directory) < 0)
		return cli_audit_none();
	*strrchr(directory, '/') = '\0'; /* the state directory */
	r = audit_open(directory, NULL, &a, &err);
	if (r == 0)
		r = audit_checkpoint(a, &seq, hash, &err);
	if (r < 0) {
		cli_complain("%s", err.text);
		return EXIT_NACRE_FAILED;
	}
	printf(o->json ? "{\"seq\":%" PRIu64 ",\"hash\":\"%s\"}\n" : "%" PRIu64 " %s\n", seq, hash);
	return fflush(stdout) == 0 ? 0 : EXIT_NACRE_FAILED;
}

const struct cli_command cli_audit = {
	.name = "audit",
	.summary = "show and verify the log of what was requested, decided and run",
	.about =
		"Shows and verifies the audit log: what was requested, decided, started and ended.",
};

static const struct cli_option verify_options[] = {
	{"public-key", "FILE", "only this key may have signed; a copy kept elsewhere",
         CLI_TEXT(struct audit_options, verify.public_key)},
	{"contains", "HASH", "the log must contain a record with this hash",
         CLI_TEXT(struct audit_options, verify.contains)},
	{"dir", "DIR", "verify a log in another directory",
         CLI_TEXT(struct audit_options, directory)},
	{"json", NULL, "print one JSON object", CLI_FLAG(struct audit_options, json)},
	{"progress", NULL, "print a JSON line for each file that is done, before the result",
         CLI_FLAG(struct audit_options, progress)},
	{0},
};

const struct cli_command cli_audit_verify = {
	.name = "audit verify",
	.summary = "check that the log is as it was written",
	.usage = "[OPTIONS]",
	.about = "Checks the whole log. If it was changed, names the first bad record and exits "
		 "with 1.",
	.options = verify_options,
	.size = sizeof(struct audit_options),
	.main = verify,
};

static const struct cli_option checkpoint_options[] = {
	{"json", NULL, "print one JSON object", CLI_FLAG(struct audit_options, json)},
	{0},
};

const struct cli_command cli_audit_checkpoint = {
	.name = "audit checkpoint",
	.summary = "sign the log, and print what to keep elsewhere",
	.usage = "[OPTIONS]",
	.about = "Signs the log as it is, and prints the number and hash of the last record. Keep "
		 "them elsewhere: 'nacre audit verify --contains HASH' then proves that nothing "
		 "was cut off.",
	.options = checkpoint_options,
	.size = sizeof(struct audit_options),
	.main = checkpoint,
};
