/*
 * `nacre audit`: what was run, by whom, and whether the record of it is whole.
 */
#include "cli/audit.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "audit/audit.h"
#include "audit/verify.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "engine/result.h"
#include "json/write.h"
#include "task/store.h"

static int help(void)
{
	puts("usage: nacre audit show [OPTIONS]\n"
	     "       nacre audit tail [-f] [OPTIONS]\n"
	     "       nacre audit verify [OPTIONS]\n"
	     "       nacre audit checkpoint [--json]\n\n"
	     "Shows and checks the log of what was asked for, decided, started and ended.\n\n"
	     "show, tail:\n"
	     "  --since T             from then on: 2026-11-16, 2026-11-16T07:24Z, or how long "
	     "ago: 2h, 7d\n"
	     "  --until T             up to then; all times are UTC\n"
	     "  --task TASK           of one task\n"
	     "  --verdict V           allow, ask, deny or nudge\n"
	     "  --profile P           of one profile\n"
	     "  --event E             requested, decided, asked, approved, refused, started, "
	     "typed, "
	     "ended,\n"
	     "                        opened, checkpoint or break\n"
	     "  --principal WHO       of one caller, as its door knows it\n"
	     "  --session ID          of one session\n"
	     "  --grep TEXT           where some text holds this, in capitals or not\n"
	     "  --limit N             the newest N (show: 50, tail: 10)\n"
	     "  --all                 all\n"
	     "  --follow, -f          tail: goes on with what is written from now on\n"
	     "  --json                show: one JSON object; tail: one record per line\n\n"
	     "verify: names the first record that is not as it was written; exit code 1\n"
	     "  --public-key FILE     only this key may have signed: a copy kept elsewhere\n"
	     "  --contains HASH       a record with this hash must be there\n"
	     "  --json                one JSON object\n\n"
	     "checkpoint: signs the log as it stands, and prints what to keep elsewhere\n"
	     "  --json                one JSON object\n\n"
	     "  --dir DIR             show, tail, verify: a log in another directory\n"
	     "  --help                this text");
	return 0;
}

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

static int complain_of_none(void)
{
	cli_complain("there is no state directory, so there is no audit log");
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
		              " times a writer or the machine died in the middle; %" PRIu64
		              " records that were not on the disk yet were lost by that\n",
		              v->breaks, v->lost);
	if (v->note[0])
		buffer_printf(out, "%s\n", v->note);
	buffer_printf(out, "last hash: %s\n", v->last_hash);
}

struct audit_options {
	const char *directory;
	struct audit_verify_options verify;
	bool json;
};

static int read_options(int argc, char **argv, struct audit_options *o)
{
	static const struct option options[] = {{"json", no_argument, NULL, 'j'},
	                                        {"dir", required_argument, NULL, 'd'},
	                                        {"public-key", required_argument, NULL, 'k'},
	                                        {"contains", required_argument, NULL, 'c'},
	                                        {"help", no_argument, NULL, 'h'},
	                                        {0}};
	int id;

	optind = 1;
	while ((id = cli_next_option(argc, argv, "h", options)) != -1)
		switch (id) {
		case 'j':
			o->json = true;
			break;
		case 'd':
			o->directory = optarg;
			break;
		case 'k':
			o->verify.public_key = optarg;
			break;
		case 'c':
			o->verify.contains = optarg;
			break;
		case 'h':
			(void)help();
			return 1;
		default:
			return -1;
		}
	if (optind < argc) {
		cli_complain("'%s' is no option", argv[optind]);
		return -1;
	}
	return 0;
}

static int verify(int argc, char **argv)
{
	scoped(buffer_donep) struct buffer out = {0};
	struct audit_options o = {0};
	struct audit_verdict v;
	struct error err = {0};
	char directory[PATH_MAX];
	int r = read_options(argc, argv, &o);

	if (r != 0)
		return r > 0 ? 0 : EXIT_NACRE_FAILED;
	if (cli_audit_directory(o.directory, directory) < 0)
		return complain_of_none();
	if (audit_verify(directory, &o.verify, &v, &err) < 0) {
		cli_complain("%s", err.text);
		return EXIT_NACRE_FAILED;
	}
	if (o.json)
		put_verdict_json(&v, &out);
	else
		put_verdict(&v, &out);
	if (buffer_error(&out) < 0 || fd_write_all(STDOUT_FILENO, out.data, out.len) < 0)
		return EXIT_NACRE_FAILED;
	return v.good ? 0 : 1;
}

static int checkpoint(int argc, char **argv)
{
	scoped(audit_freep) struct audit *a = NULL;
	struct audit_options o = {0};
	struct error err = {0};
	char directory[PATH_MAX], hash[2 * AUDIT_HASH_BYTES + 1] = "";
	uint64_t seq = 0;
	int r = read_options(argc, argv, &o);

	if (r != 0)
		return r > 0 ? 0 : EXIT_NACRE_FAILED;
	if (o.directory || o.verify.public_key || o.verify.contains) {
		cli_complain(
			"nacre audit checkpoint signs the log of the state directory, and knows "
			"only --json");
		return EXIT_NACRE_FAILED;
	}
	if (cli_audit_directory(NULL, directory) < 0)
		return complain_of_none();
	*strrchr(directory, '/') = '\0'; /* the state directory */
	r = audit_open(directory, NULL, &a, &err);
	if (r == 0)
		r = audit_checkpoint(a, &seq, hash, &err);
	if (r < 0) {
		cli_complain("%s", err.text);
		return EXIT_NACRE_FAILED;
	}
	printf(o.json ? "{\"seq\":%" PRIu64 ",\"hash\":\"%s\"}\n" : "%" PRIu64 " %s\n", seq, hash);
	return fflush(stdout) == 0 ? 0 : EXIT_NACRE_FAILED;
}

int cli_audit(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*main)(int argc, char **argv);
		char shown[24]; /* getopt puts it in front of its messages */
	} verbs[] = {
		{"show", cli_audit_show, "nacre audit show"},
		{"tail", cli_audit_tail, "nacre audit tail"},
		{"verify", verify, "nacre audit verify"},
		{"checkpoint", checkpoint, "nacre audit checkpoint"},
	};
	char shown[24], near[SUGGEST_WORDS_MAX];

	if (argc < 2) {
		cli_complain("nacre audit wants show, tail, verify or checkpoint");
		return EXIT_NACRE_FAILED;
	}
	for (size_t i = 0; i < array_size(verbs); i++)
		if (strcmp(argv[1], verbs[i].name) == 0) {
			memcpy(shown, verbs[i].shown, sizeof(shown));
			argv[1] = shown;
			for (int k = 2; k < argc; k++)
				if (strcmp(argv[k], "--help") == 0 || strcmp(argv[k], "-h") == 0)
					return help();
			return verbs[i].main(argc - 1, argv + 1);
		}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return help();
	cli_complain(
		"nacre audit does not know '%.60s': show, tail, verify or checkpoint%s", argv[1],
		suggest_words(suggest_from(argv[1], verbs, array_size(verbs), sizeof(verbs[0])),
	                      near));
	return EXIT_NACRE_FAILED;
}
