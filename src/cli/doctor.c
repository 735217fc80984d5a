/*
 * nacre doctor: what the sandbox can use here, what each profile would get, and what to change.
 *
 * Every statement comes from a trial: namespaces and mounts are tried in children, by the calls
 * that a sandbox is made with. Nothing on the machine is changed, and the network is not used. Text
 * and JSON are written from one examination, so they cannot disagree.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/doctor-clients.h"
#include "cli/doctor-engines.h"
#include "engine/result.h"
#include "json/write.h"
#include "profile/profile.h"
#include "sandbox/doors.h"
#include "sandbox/layers.h"
#include "sandbox/plan.h"
#include "sandbox/probe.h"

#define PROFILES_MAX    64
#define EXIT_IS_LACKING 1

struct patient { /* one profile */
	const char *name;
	int r; /* negative: it cannot be loaded, and why */
	char why[248];
	struct sandbox_standing standing;
	uint32_t lacking;    /* required, and missing: nothing would run */
	const char *stopped; /* by the machine, whatever the profile requires; NULL: it runs */
};

struct doctor {
	struct sandbox_survey survey;
	struct doctor_engine engines[DOCKER_CLIENT_MAX];
	struct patient patients[PROFILES_MAX];
	size_t count;
	int broken;       /* clients */
	uint32_t missing; /* in any profile */
};

static void examine(struct doctor *d, const char *name)
{
	scoped(profile_freep) struct profile *profile = NULL;
	struct patient *p = &d->patients[d->count++];
	struct profile_request request;
	struct error err = {0};
	char buffer[4096];

	profile_request_init(&request, buffer, sizeof(buffer));
	request.name = name;
	*p = (struct patient){.name = name};
	p->r = profile_load(&request, &profile, &err);
	if (p->r < 0) {
		memcpy(p->why, err.text, sizeof(p->why));
		return;
	}
	sandbox_survey_stand(&d->survey, &profile->sandbox, &p->standing);
	p->lacking = p->standing.missing & profile->sandbox.require;
	p->stopped = sandbox_survey_obstacle(&d->survey);
	if (!p->stopped && p->standing.tier == SANDBOX_TIER_NONE &&
	    profile->sandbox.tier != SANDBOX_TIER_NONE)
		p->stopped = "this kernel offers neither namespaces nor Landlock";
	d->missing |= p->standing.missing;
}

static bool is_lacking(const struct doctor *d)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->patients[i].r < 0 || d->patients[i].lacking || d->patients[i].stopped)
			return true;
	return false;
}

/* JSON. */

static void put_layers(struct json_writer *w, const char *key, uint32_t bits)
{
	json_member_array(w, key);
	for (int i = 0; i < SANDBOX_LAYER_COUNT; i++)
		if (bits & (1U << i))
			json_put_string(w, sandbox_layer_name((enum sandbox_layer)(1 << i)));
	json_array_end(w);
}

static void put_trials(struct json_writer *w, const struct sandbox_survey *s)
{
	json_member_object(w, "trials");
	for (enum sandbox_trial_kind k = 0; k < SANDBOX_TRIAL_MAX; k++) {
		const struct sandbox_trial *t = &s->trials[k];

		json_put_key(w, sandbox_trial_name(k));
		if (!t->tried) {
			json_put_null(w);
			continue;
		}
		json_object_begin(w);
		json_member_bool(w, "works", t->sys == 0);
		if (t->sys)
			json_member_string(w, "error", strerrorname_np(t->sys));
		if (t->remedy)
			json_member_string(w, "remedy", t->remedy);
		json_object_end(w);
	}
	json_object_end(w);
}

static const char *cgroup_name(enum cgroup_kind kind)
{
	static const char *const names[CGROUP_KIND_MAX] = {
		[CGROUP_NONE] = "none", [CGROUP_V1] = "v1", [CGROUP_V2] = "v2"};

	return names[kind];
}

/* What the calls of a session can share here: files need a tree for each call, as root with owners
 * mapped; a network is tried. */
static bool shares_files(const struct sandbox_survey *s)
{
	return sandbox_survey_tier(s) == SANDBOX_TIER_STRICT &&
	       (!s->root || s->trials[SANDBOX_TRIAL_IDMAP].sys == 0);
}

static bool shares_network(const struct sandbox_survey *s)
{
	struct sandbox_net net = SANDBOX_NET_NONE;
	bool works = shares_files(s) && sandbox_net_make(".", NULL, &net, NULL) == 0;

	sandbox_net_done(&net);
	return works;
}

/* How names are reached, by the way that a box would take; NULL: not at all. It also makes the
 * kernel load what the first box would wait for. */
static const char *names_way(const struct sandbox_survey *s)
{
	const struct sandbox_ports ports = {.count = 0};
	struct sandbox_doors doors = {.way = SANDBOX_WAY_NONE};
	struct sandbox_net net = SANDBOX_NET_NONE;
	const char *way = NULL;

	if (sandbox_survey_tier(s) == SANDBOX_TIER_STRICT &&
	    sandbox_net_make(".", &ports, &net, &doors) == 0)
		way = sandbox_way_name(doors.way);
	doors_close(&doors);
	sandbox_net_done(&net);
	return way;
}

static void put_machine(struct json_writer *w, const struct sandbox_survey *s)
{
	json_member_object(w, "kernel");
	json_member_string(w, "release", s->kernel.release);
	json_member_string(w, "machine", s->kernel.machine);
	json_object_end(w);
	json_member_bool(w, "root", s->root);
	json_member_bool(w, "container", s->container);
	json_member_int(w, "landlock_abi", s->probe.landlock_abi);
	json_member_bool(w, "seccomp", s->probe.seccomp);
	put_trials(w, s);
	json_member_object(w, "cgroup");
	json_member_string(w, "kind", cgroup_name(s->cgroup.kind));
	json_member_bool(w, "memory", *s->cgroup.path[CGROUP_MEMORY]);
	json_member_bool(w, "processes", *s->cgroup.path[CGROUP_PIDS]);
	if (s->cgroup_remedy)
		json_member_string(w, "remedy", s->cgroup_remedy);
	json_object_end(w);
	json_member_object(w, "rooms");
	json_member_bool(w, "files", shares_files(s));
	json_member_bool(w, "network", shares_network(s));
	json_object_end(w);
	json_member_text(w, "network_names", names_way(s));
	json_member_string(w, "tier", sandbox_tier_name(sandbox_survey_tier(s)));
}

static void put_patient(struct json_writer *w, const struct patient *p)
{
	json_object_begin(w);
	json_member_string(w, "profile", p->name);
	json_member_bool(w, "runs", p->r == 0 && !p->lacking && !p->stopped);
	if (p->r < 0) {
		json_member_string(w, "error", p->why);
	} else {
		if (p->stopped)
			json_member_string(w, "error", p->stopped);
		json_member_string(w, "tier", sandbox_tier_name(p->standing.tier));
		put_layers(w, "layers", p->standing.layers);
		put_layers(w, "missing", p->standing.missing);
		put_layers(w, "required_missing", p->lacking);
	}
	json_object_end(w);
}

static void write_json(struct doctor *d, struct buffer *out)
{
	struct json_writer w = {.out = out};

	json_object_begin(&w);
	put_machine(&w, &d->survey);
	json_put_key(&w, "engines");
	doctor_engines_put(d->engines, &w);
	json_member_array(&w, "profiles");
	for (size_t i = 0; i < d->count; i++)
		put_patient(&w, &d->patients[i]);
	json_array_end(&w);
	json_member_array(&w, "clients");
	d->broken = doctor_clients(&w, NULL);
	json_array_end(&w);
	json_member_object(&w, "remedies");
	for (int i = 0; i < SANDBOX_LAYER_COUNT; i++)
		if (d->missing & (1U << i))
			json_member_string(&w, sandbox_layer_name((enum sandbox_layer)(1 << i)),
			                   sandbox_layer_remedy((enum sandbox_layer)(1 << i)));
	json_object_end(&w);
	json_object_end(&w);
	buffer_putc(out, '\n');
}

/* Text for people. */

static void print_trial(const struct sandbox_trial *t, const char *title, struct buffer *out)
{
	buffer_printf(out, "%-20s", title);
	if (!t->tried)
		buffer_puts(out, "not needed: only sandboxes of root use them\n");
	else if (t->sys == 0)
		buffer_puts(out, "yes\n");
	else
		buffer_printf(out, "no (%s)\n", strerrordesc_np(t->sys));
}

static void print_landlock(const struct sandbox_survey *s, struct buffer *out)
{
	buffer_printf(out, "%-20s", "Landlock");
	if (s->probe.landlock_abi > 0)
		buffer_printf(out, "yes, ABI %d\n", s->probe.landlock_abi);
	else if (s->landlock_sys == EOPNOTSUPP)
		buffer_puts(out, "no: the kernel has it, but was booted without it (lsm=)\n");
	else
		buffer_puts(out, "no: the kernel does not have it (needs Linux 5.13)\n");
}

static void print_cgroup(const struct cgroup_place *c, struct buffer *out)
{
	buffer_printf(out, "%-20s", "control groups");
	if (c->kind == CGROUP_NONE)
		buffer_puts(out,
		            "none that nacre may use: memory is limited per process and watched\n");
	else
		buffer_printf(out, "version %d: %s%s%s\n", c->kind == CGROUP_V1 ? 1 : 2,
		              *c->path[CGROUP_MEMORY] ? "memory" : "",
		              *c->path[CGROUP_MEMORY] && *c->path[CGROUP_PIDS] ? ", " : "",
		              *c->path[CGROUP_PIDS] ? "processes" : "");
}

static void print_machine(const struct sandbox_survey *s, struct buffer *out)
{
	static const char *const titles[SANDBOX_TRIAL_MAX] = {
		[SANDBOX_TRIAL_USER] = "user namespaces",
		[SANDBOX_TRIAL_MOUNTS] = "private file tree",
		[SANDBOX_TRIAL_PROC] = "private /proc",
		[SANDBOX_TRIAL_NETWORK] = "network namespaces",
		[SANDBOX_TRIAL_IDMAP] = "idmapped mounts",
		[SANDBOX_TRIAL_CLONE3] = "clone3",
		[SANDBOX_TRIAL_OPENAT2] = "openat2",
		[SANDBOX_TRIAL_CLOSE] = "close_range",
	};
	const char *way = names_way(s);

	buffer_printf(out, "%-20s%s %s, %s\n", "kernel", s->kernel.sysname, s->kernel.release,
	              s->kernel.machine);
	buffer_printf(out, "%-20s%s%s\n", "running as", s->root ? "root" : "an ordinary user",
	              s->container ? ", in a container" : "");
	for (enum sandbox_trial_kind k = 0; k < SANDBOX_TRIAL_MAX; k++)
		print_trial(&s->trials[k], titles[k], out);
	print_landlock(s, out);
	buffer_printf(out, "%-20s%s\n", "seccomp", s->probe.seccomp ? "yes" : "no");
	print_cgroup(&s->cgroup, out);
	buffer_printf(out, "%-20s%s\n", "network by name", way ? way : "not possible");
	buffer_printf(out, "%-20s%s\n", "rooms of sessions",
	              !shares_files(s)    ? "no: they need the tier strict"
	              : shares_network(s) ? "files on disk, and a loopback interface"
	                                  : "files on disk; each call has its own loopback");
	buffer_printf(out, "%-20s%s\n", "best tier", sandbox_tier_name(sandbox_survey_tier(s)));
}

static void print_patient(const struct patient *p, struct buffer *out)
{
	buffer_printf(out, "\nprofile %s: ", p->name);
	if (p->r < 0) {
		buffer_puts(out, "cannot be used: ");
		cli_put_clean(p->why, out);
		buffer_putc(out, '\n');
		return;
	}
	buffer_printf(out, "tier %s\n  in force: ", sandbox_tier_name(p->standing.tier));
	sandbox_layers_print(p->standing.layers, out);
	if (p->standing.missing) {
		buffer_puts(out, "\n  missing:  ");
		sandbox_layers_print(p->standing.missing, out);
	}
	if (p->stopped)
		buffer_printf(out, "\n  nothing runs: %s", p->stopped);
	if (p->lacking) {
		buffer_puts(out, "\n  nothing runs: the profile requires ");
		sandbox_layers_print(p->lacking, out);
	}
	buffer_putc(out, '\n');
}

static void print_advice(const struct doctor *d, struct buffer *out)
{
	const char *said = NULL;

	if (d->missing)
		buffer_puts(out, "\nTo get the missing layers:\n");
	for (int i = 0; i < SANDBOX_LAYER_COUNT; i++)
		if (d->missing & (1U << i))
			buffer_printf(out, "  %-13s %s\n",
			              sandbox_layer_name((enum sandbox_layer)(1 << i)),
			              sandbox_layer_remedy((enum sandbox_layer)(1 << i)));
	for (enum sandbox_trial_kind k = 0; k < SANDBOX_TRIAL_MAX; k++) {
		const char *remedy = d->survey.trials[k].remedy;

		if (!remedy || remedy == said) /* one knob stops several things */
			continue;
		buffer_printf(out, "%s  %s\n", said ? "" : "\nHere:\n", remedy);
		said = remedy;
	}
	if (!d->survey.has_proc)
		buffer_printf(out, "%s  %s\n", said ? "" : "\nHere:\n",
		              sandbox_survey_obstacle(&d->survey));
	if (d->survey.cgroup_remedy)
		buffer_printf(out, "\nFor limits by control groups:\n  %s\n",
		              d->survey.cgroup_remedy);
}

static void write_text(struct doctor *d, struct buffer *out)
{
	print_machine(&d->survey, out);
	doctor_engines_print(d->engines, out);
	for (size_t i = 0; i < d->count; i++)
		print_patient(&d->patients[i], out);
	d->broken = doctor_clients(NULL, out);
	print_advice(d, out);
}

struct doctor_options {
	bool json, quiet;
};

static int doctor(void *options, int argc, char **argv)
{
	const struct doctor_options *o = options;
	scoped(buffer_donep) struct buffer out = {0};
	struct doctor d = {0};

	sandbox_survey_read(".", &d.survey);
	doctor_engines_read(d.engines);
	for (size_t i = 0; i < profile_builtin_count && d.count < PROFILES_MAX; i++)
		if (!profile_builtins[i].agent && profile_builtin_runs(&profile_builtins[i]))
			examine(&d, profile_builtins[i].name);
	if (o->quiet)
		return is_lacking(&d) ? EXIT_IS_LACKING : 0;
	if (o->json)
		write_json(&d, &out);
	else
		write_text(&d, &out);
	if (cli_print(&out))
		return EXIT_NACRE_FAILED;
	return is_lacking(&d) || d.broken ? EXIT_IS_LACKING : 0;
}

static const struct cli_option options[] = {
	{"json", NULL, "print one JSON object", CLI_FLAG(struct doctor_options, json)},
	{"quiet", NULL, "print nothing: the exit code is the answer",
         CLI_FLAG(struct doctor_options, quiet)},
	{0},
};

const struct cli_command cli_doctor = {
	.name = "doctor",
	.summary = "check the sandbox on this machine, and show what to change",
	.usage = "[OPTIONS]",
	.about =
		"Shows what the sandbox can use on this machine, what each profile would get, and "
		"what to change to get more. Proves again that the clients work that `nacre init` "
		"has set up. The exit code is 1 if a profile cannot run here, or a client does not "
		"work.",
	.options = options,
	.size = sizeof(struct doctor_options),
	.main = doctor,
};
