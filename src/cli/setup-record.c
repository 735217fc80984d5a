/*
 * What `nacre init` has written, so that it can be taken back and checked again.
 *
 *	<state>/clients/NAME.json        a record
 *	<state>/clients/NAME.N.old       the text of file N from before
 *	<state>/clients/CLIENT           when its hook was called last (cli/hook.c)
 *
 * The old files lie here, and not beside the new ones: what an agent can write, it could change
 * before it is put back.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"
#include "cli/setup.h"
#include "json/fields.h"
#include "json/read.h"
#include "json/write.h"
#include "task/store.h"

#define RECORD_MAX ((size_t)64 << 10)

static const struct json_field record_fields[] = {
	JSON_TEXT("client", struct setup_record, client, JSON_REQUIRED),
	JSON_TEXT("project", struct setup_record, project, JSON_REQUIRED),
	JSON_TEXT("profile", struct setup_record, profile, JSON_REQUIRED),
	JSON_TEXT("shell", struct setup_record, shell, JSON_REQUIRED),
	JSON_BOOL("mcp", struct setup_record, mcp, JSON_OPTIONAL),
	JSON_BOOL("no_shell", struct setup_record, no_shell, JSON_OPTIONAL),
	JSON_TEXT("program", struct setup_record, program, JSON_REQUIRED),
	JSON_NUMBER("program_ms", struct setup_record, program_ms, JSON_OPTIONAL, -1, INT64_MAX),
	{0},
};

static const struct json_field file_fields[] = {
	JSON_TEXT("base", struct setup_record_file, base, JSON_REQUIRED),
	JSON_TEXT("rel", struct setup_record_file, rel, JSON_REQUIRED),
	JSON_BOOL("existed", struct setup_record_file, existed, JSON_OPTIONAL),
	JSON_TEXT("old", struct setup_record_file, old, JSON_REQUIRED),
	JSON_TEXT("written", struct setup_record_file, written, JSON_REQUIRED),
	{0},
};

int setup_record_open(bool make, struct error *err)
{
	struct store store;
	int fd;

	if (make)
		store_open(&store);
	else
		store_look(&store);
	if (store.tasks_fd < 0 || store.temporary) {
		error_set(err, ERROR_SYSTEM, EACCES, "%.200s", store.notice);
		store_done(&store);
		return -EACCES;
	}
	if (make)
		(void)mkdirat(store.tasks_fd, "../clients", 0700);
	fd = fd_open_private(store.tasks_fd, "../clients");
	store_done(&store);
	if (fd < 0 && !(fd == -ENOENT && !make))
		return error_sys(err, -fd, "clients in the state directory");
	return fd;
}

void setup_digest(const char *bytes, size_t n, char into[2 * DIGEST_BYTES + 1])
{
	struct digest d;

	digest_make(bytes, n, &d);
	for (size_t i = 0; i < DIGEST_BYTES; i++)
		snprintf(into + 2 * i, 3, "%02x", d.bytes[i]);
}

int64_t setup_program_ms(const char *path)
{
	struct stat st;

	if (!path || !*path || stat(path, &st) < 0)
		return -1;
	return (int64_t)st.st_ctim.tv_sec * 1000 + st.st_ctim.tv_nsec / 1000000;
}

void setup_record_name(const char *client, const char *project, char into[SETUP_NAME_MAX])
{
	char hash[2 * DIGEST_BYTES + 1];

	if (project && *project) {
		setup_digest(project, strlen(project), hash);
		snprintf(into, SETUP_NAME_MAX, "%s-%.16s.json", client, hash);
	} else {
		snprintf(into, SETUP_NAME_MAX, "%s-user.json", client);
	}
}

int setup_record_write(int dir, const char *name, const struct setup_record *record,
                       struct error *err)
{
	scoped(buffer_donep) struct buffer text = {0};
	struct json_writer w = {.out = &text};
	int r;

	json_object_begin(&w);
	json_fields_write_part(&w, record_fields, record);
	json_member_array(&w, "files");
	for (size_t i = 0; i < record->count; i++)
		json_fields_write(&w, file_fields, &record->files[i]);
	json_array_end(&w);
	json_object_end(&w);
	buffer_putc(&text, '\n');
	r = buffer_error(&text);
	if (r == 0)
		r = fd_replace_file_synced(dir, name, text.data, text.len);
	return r < 0 ? error_sys(err, -r, "record of '%s'", name) : 0;
}

int setup_record_read(int dir, const char *name, struct arena *arena, struct setup_record *ret,
                      struct error *err)
{
	scoped(json_decrefp) json_t *object = NULL;
	scoped(buffer_donep) struct buffer text = {.max = RECORD_MAX};
	scoped(fd_closep) int fd = fd_open_regular(dir, name);
	struct setup_record record = {0};
	json_t *files;
	int r;

	if (fd < 0)
		return fd;
	r = fd_read_all(fd, &text);
	if (r < 0)
		return error_sys(err, -r, "record '%s'", name);
	r = json_read(buffer_str(&text), text.len, RECORD_MAX, name, &object, err);
	if (r == 0)
		r = json_fields_read_part(object, name, record_fields, arena, &record, err);
	files = json_object_get(object, "files");
	if (r == 0 && json_array_size(files) > SETUP_TARGETS_MAX)
		r = error_set(err, ERROR_INPUT, E2BIG, "record '%s'", name);
	for (size_t i = 0; r == 0 && i < json_array_size(files); i++)
		r = json_fields_read(json_array_get(files, i), name, file_fields, arena,
		                     &record.files[record.count++], err);
	if (r == 0)
		*ret = record;
	return r;
}

int setup_record_each(int dir, struct arena *arena, setup_record_visit *visit, void *context)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *all = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *entry;

	if (!all) {
		fd_close(copy);
		return -errno;
	}
	while (r == 0 && (entry = readdir(all))) {
		const char *end = strrchr(entry->d_name, '.');
		struct setup_record record;

		if (end && strcmp(end, ".json") == 0 && entry->d_name[0] != '.' &&
		    setup_record_read(dir, entry->d_name, arena, &record, NULL) == 0)
			r = visit(context, dir, entry->d_name, &record);
	}
	closedir(all);
	return r;
}
