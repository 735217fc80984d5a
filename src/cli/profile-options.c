#include "cli/profile-options.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <string.h>
#include "cli/cli.h"

static int open_workspace(struct profile_options *o)
{
	if (!o->workspace)
		return 0;
	o->workspace_fd = open(o->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (o->workspace_fd < 0) {
		cli_complain("%s: %s", o->workspace, strerrordesc_np(errno));
		return -EINVAL;
	}
	o->request.workspace_fd = o->workspace_fd;
	return 0;
}

int profile_options_read(int argc, char **argv, struct profile_options *o)
{
	enum { PROFILE = 256, AGENT, POLICY, WORKSPACE, JSON, STRICT, DOC };
	static const struct option options[] = {
		{"profile", required_argument, NULL, PROFILE},
		{"agent", required_argument, NULL, AGENT},
		{"policy", required_argument, NULL, POLICY},
		{"workspace", required_argument, NULL, WORKSPACE},
		{"json", no_argument, NULL, JSON},
		{"strict", no_argument, NULL, STRICT},
		{"doc", no_argument, NULL, DOC},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;

	*o = (struct profile_options){.workspace_fd = -1};
	profile_request_init(&o->request, o->user_dir, sizeof(o->user_dir));
	optind = 0;
	while ((c = getopt_long(argc, argv, "+h", options, NULL)) != -1) {
		if (c == PROFILE)
			o->request.name = optarg;
		else if (c == AGENT)
			o->request.agent = optarg;
		else if (c == POLICY)
			o->request.policy_file = optarg;
		else if (c == WORKSPACE)
			o->workspace = optarg;
		else if (c == JSON)
			o->json = true;
		else if (c == STRICT)
			o->strict = true;
		else if (c == DOC)
			o->doc = true;
		else if (c == 'h')
			o->help = true;
		else
			return -EINVAL;
	}
	return open_workspace(o);
}

void profile_options_done(struct profile_options *o)
{
	fd_close(o->workspace_fd);
	o->workspace_fd = -1;
}
