#pragma once
/*
 * A place for the tests of this room: a directory for each layer, and a request that reads them.
 */
#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "base/error.h"
#include "profile/profile.h"

struct place {
	char root[64];
	char system[96], user[96], workspace[96];
	struct profile_request request;
	struct error err;
};

static inline int place_make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	test_directory_make(p->root);
	snprintf(p->system, sizeof(p->system), "%s/etc", p->root);
	snprintf(p->user, sizeof(p->user), "%s/user", p->root);
	snprintf(p->workspace, sizeof(p->workspace), "%s/work", p->root);
	assert_int_equal(mkdir(p->system, 0700), 0);
	assert_int_equal(mkdir(p->user, 0700), 0);
	assert_int_equal(mkdir(p->workspace, 0700), 0);
	p->request = (struct profile_request){
		.system_dir = p->system, .user_dir = p->user, .uid = geteuid()};
	p->request.workspace_fd = open(p->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*state = p;
	return 0;
}

static inline int place_remove(void **state)
{
	struct place *p = *state;

	close(p->request.workspace_fd);
	test_directory_remove(p->root);
	free(p);
	return 0;
}

static inline void place_write(const char *dir, const char *name, const char *text)
{
	char path[256], *slash;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	slash = strrchr(path, '/');
	*slash = '\0';
	(void)mkdir(path, 0700);
	*slash = '/';
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0600), 0);
}

static inline struct profile *place_load(struct place *p)
{
	struct profile *profile = NULL;

	p->err = (struct error){0};
	if (profile_load(&p->request, &profile, &p->err) < 0)
		fail_msg("%s", p->err.text);
	return profile;
}

/* The load fails with words that begin and end like this; the directory's name is left out. */
static inline void place_refuse(struct place *p, const char *words)
{
	struct profile *profile = NULL;
	const char *text = p->err.text;

	p->err = (struct error){0};
	assert_true(profile_load(&p->request, &profile, &p->err) < 0);
	assert_null(profile);
	if (strncmp(text, p->root, strlen(p->root)) == 0)
		text += strlen(p->root) + 1;
	assert_string_equal(text, words);
}
