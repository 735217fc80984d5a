#include "cli/profile-options.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/options.h"

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
	const struct cli_option options[] = {
		{"profile", .text = &o->request.name},
		{"agent", .text = &o->request.agent},
		{"policy", .text = &o->request.policy_file},
		{"workspace", .text = &o->workspace},
		{"json", .flag = &o->json},
		{"strict", .flag = &o->strict},
		{"doc", .flag = &o->doc},
		{"help", 'h', .flag = &o->help},
	};
	int r;

	*o = (struct profile_options){.workspace_fd = -1};
	profile_request_init(&o->request, o->user_dir, sizeof(o->user_dir));
	r = cli_options_read(argc, argv, options, array_size(options));
	if (r < 0)
		return r;
	return open_workspace(o);
}

void profile_options_done(struct profile_options *o)
{
	fd_close(o->workspace_fd);
	o->workspace_fd = -1;
}
