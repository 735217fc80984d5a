#include "cli/doctor-engines.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "cli/cli.h"
#include "container/ready.h"
#include "json/write.h"

#define PING_MS  2000
#define START_MS 30000 /* as docker.start_timeout is unless a profile says otherwise */

static bool is_installed(const char *program)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	for (size_t n; path && *path; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		if (*path == '/' &&
		    (size_t)snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, program) <
		            sizeof(file) &&
		    access(file, X_OK) == 0)
			return true;
	}
	return false;
}

void doctor_engines_read(struct doctor_engine ret_engines[DOCKER_CLIENT_MAX])
{
	const struct docker_place place = {.environment = (const char *const *)environ};

	for (int i = 0; i < DOCKER_CLIENT_MAX; i++) {
		struct doctor_engine *e = &ret_engines[i];
		struct error err = {0};

		*e = (struct doctor_engine){.answer.state = DOCKER_UNCHECKED};
		e->installed = is_installed(docker_client_name((enum docker_client)i));
		e->found = docker_endpoint_find((enum docker_client)i, &place, &e->endpoint,
		                                &err) == 0;
		if (e->found && e->endpoint.path[0])
			docker_ping(e->endpoint.path, PING_MS, START_MS, &e->answer);
		if (e->found && e->answer.state != DOCKER_READY)
			(void)docker_explain(&e->endpoint, e->answer.state, &err);
		memcpy(e->why, err.text, sizeof(e->why));
	}
}

void doctor_engines_put(const struct doctor_engine engines[DOCKER_CLIENT_MAX],
                        struct json_writer *w)
{
	json_array_begin(w);
	for (int i = 0; i < DOCKER_CLIENT_MAX; i++) {
		const struct doctor_engine *e = &engines[i];

		json_object_begin(w);
		json_member_text(w, "client", docker_client_name((enum docker_client)i));
		json_member_bool(w, "installed", e->installed);
		json_member_text(w, "endpoint", e->found ? e->endpoint.url : "");
		json_member_text(w, "named_by", e->found ? e->endpoint.source : "");
		json_member_text(w, "state", e->found ? docker_state_name(e->answer.state) : "");
		json_member_text(w, "engine", e->answer.engine);
		json_member_text(w, "api", e->answer.api);
		json_member_text(w, "problem", e->why);
		json_object_end(w);
	}
	json_array_end(w);
}

void doctor_engines_print(const struct doctor_engine engines[DOCKER_CLIENT_MAX], struct buffer *out)
{
	for (int i = 0; i < DOCKER_CLIENT_MAX; i++) {
		const struct doctor_engine *e = &engines[i];

		buffer_printf(out, "%-20s", docker_client_name((enum docker_client)i));
		if (!e->installed)
			buffer_puts(out, "not installed");
		else if (e->found && e->answer.state == DOCKER_READY)
			buffer_printf(out, "ready: %s, API %s, at ", e->answer.engine,
			              e->answer.api);
		else if (i == DOCKER_CLIENT_PODMAN)
			buffer_puts(
				out,
				"installed: containers work, but its service is not running at ");
		else
			buffer_printf(out, "installed; its engine is %s: ",
			              e->found ? docker_state_name(e->answer.state) : "not known");
		if (e->installed && e->found)
			cli_put_clean(e->endpoint.url, out);
		else if (e->installed)
			cli_put_clean(e->why, out);
		buffer_putc(out, '\n');
	}
}
