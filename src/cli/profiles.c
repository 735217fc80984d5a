/*
 * nacre profiles: which profiles and agents there are, and how one is written.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/policy.h"
#include "cli/policy.h"
#include "engine/result.h"
#include "json/write.h"

#define NAMES_MAX 1024

struct listing {
	const struct policy_options *options;
	struct buffer *out;
	struct json_writer json;
	const char *wanted; /* a name; NULL: all */
	char path[4096];    /* of the wanted one */
	bool found;
	char seen[NAMES_MAX][66]; /* a letter for the kind, then the name */
	size_t count;
};

/* A profile that has several layers is listed once. */
static bool is_new(struct listing *l, const char *name, bool agent)
{
	char id[66];

	snprintf(id, sizeof(id), "%c%.64s", agent ? 'a' : 'p', name);
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->seen[i], id) == 0)
			return false;
	if (l->count == NAMES_MAX)
		return false;
	memcpy(l->seen[l->count++], id, sizeof(id));
	return true;
}

static void put_row(struct listing *l, const char *name, bool agent, const char *path,
                    const struct profile *p, const char *error)
{
	struct json_writer *w = &l->json;

	if (!l->options->json) {
		buffer_printf(l->out, "%-12s %s%s%s%s\n", name, agent ? "(agent) " : "",
		              error ? "cannot be loaded: " : p->description, error ? error : "",
		              path ? " [own]" : "");
		return;
	}
	json_object_begin(w);
	json_member_string(w, "name", name);
	json_member_string(w, "kind", agent ? "agent" : "profile");
	json_member_string(w, "file", path);
	json_member_string(w, "tool", p ? p->tool : NULL);
	json_member_string(w, "base", p ? p->base : NULL);
	json_member_string(w, "description", p ? p->description : NULL);
	json_member_string(w, "error", error);
	json_object_end(w);
}

static void list_one(void *context, const char *name, const char *path, bool agent)
{
	scoped(profile_freep) struct profile *p = NULL;
	struct listing *l = context;
	struct profile_request q = l->options->request;
	struct error err = {0};
	int r;

	if (!is_new(l, name, agent))
		return;
	q.name = agent ? NULL : name;
	q.agent = agent ? name : NULL;
	r = profile_load(&q, &p, &err);
	put_row(l, name, agent, path, p, r < 0 ? err.text : NULL);
}

static void find_one(void *context, const char *name, const char *path, bool agent)
{
	struct listing *l = context;

	if (l->found || strcmp(name, l->wanted) != 0)
		return;
	l->found = true;
	snprintf(l->path, sizeof(l->path), "%s", path ? path : "");
}

/* The text of a shipped profile, or of the file that makes it. */
static int show_text(struct listing *l)
{
	const struct profile_builtin *b = profile_builtin_find(l->wanted, false);
	scoped(profile_freep) struct profile *p = NULL;
	struct profile_request q = l->options->request;
	scoped(fd_closep) int fd = -1;
	struct error err = {0};
	int r;

	if (!b)
		b = profile_builtin_find(l->wanted, true);
	if (b) {
		buffer_append(l->out, b->text, b->len);
		return cli_print(l->out);
	}
	profile_names(&l->options->request, find_one, l);
	if (!l->found) {
		q.name = l->wanted;
		(void)profile_load(&q, &p, &err); /* says which one was probably meant */
		cli_complain("%s%s", err.text,
		             strchr(err.text, '?') ? "" : "; 'nacre profiles' lists them");
		return 1;
	}
	fd = fd_open_regular(AT_FDCWD, l->path);
	r = fd < 0 ? fd : fd_read_all(fd, l->out);
	if (r < 0) {
		cli_complain("%s: %s", l->path, strerrordesc_np(-r));
		return EXIT_NACRE_FAILED;
	}
	return cli_print(l->out);
}

static int profiles(void *options, int argc, char **argv)
{
	scoped(buffer_donep) struct buffer out = {0};
	scoped(freep) struct listing *l = calloc(1, sizeof(*l));
	struct policy_options *o = options;

	if (!l)
		return EXIT_NACRE_FAILED;
	l->options = o;
	l->out = &out;
	l->json.out = &out;
	l->wanted = argv[0];
	if (l->wanted)
		return show_text(l);
	if (o->json) {
		json_object_begin(&l->json);
		json_member_array(&l->json, "profiles");
	}
	profile_names(&o->request, list_one, l);
	if (o->json) {
		json_array_end(&l->json);
		json_object_end(&l->json);
		buffer_putc(&out, '\n');
	}
	return cli_print(&out);
}

static const struct cli_option options[] = {
	{"json", NULL, "print one JSON object", CLI_FLAG(struct policy_options, json)},
	{0},
};

const struct cli_command cli_profiles = {
	.name = "profiles",
	.summary = "list profiles and agents, or print the text of one",
	.usage = "[OPTIONS] [NAME]",
	.operand = "PROFILE",
	.options = options,
	.most = 1,
	.size = sizeof(struct policy_options),
	.prepare = policy_options_prepare,
	.main = profiles,
};
