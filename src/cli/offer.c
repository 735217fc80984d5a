#include "cli/offer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include "base/error.h"
#include "base/fd.h"
#include "engine/dialect.h"
#include "engine/engine.h"
#include "profile/profile.h"

const struct dialect *cli_offer_find(const struct engine_wishes *w, struct error *err)
{
	scoped(fd_closep) int workspace = -1;
	scoped(profile_freep) struct profile *profile = NULL;
	struct profile_request rq;
	const struct dialect *d;
	char buffer[PATH_MAX];

	workspace = open(w->workspace ? w->workspace : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (workspace < 0) {
		error_set(err, ERROR_INPUT, errno, "workspace '%.150s': %s",
		          w->workspace ? w->workspace : ".", strerrordesc_np(errno));
		return NULL;
	}
	profile_request_init(&rq, buffer, sizeof(buffer));
	rq.name = w->profile;
	rq.agent = w->agent;
	rq.policy_file = w->policy_file;
	rq.workspace_fd = workspace;
	if (profile_load(&rq, &profile, err) < 0)
		return NULL;
	d = dialect_find(profile->tool);
	if (!d)
		error_set(err, ERROR_INPUT, EINVAL, "profile '%s' has no tool", profile->name);
	return d;
}
