#include "session/room-inside.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "json/fields.h"
#include "json/read.h"
#include "json/write.h"

#define OF struct room_record
static const struct json_field record_fields[] = {
	JSON_TEXT("principal", OF, principal, JSON_OPTIONAL),
	JSON_TEXT("session", OF, session, JSON_OPTIONAL),
	JSON_TEXT("profile", OF, profile, JSON_OPTIONAL),
	JSON_TEXT("agent", OF, agent, JSON_OPTIONAL),
	JSON_BYTES("policy_file", OF, policy_file, JSON_OPTIONAL),
	JSON_BYTES("workspace", OF, workspace, JSON_REQUIRED),
	JSON_TEXT("digest", OF, digest, JSON_REQUIRED),
	JSON_NUMBER("generation", OF, generation, JSON_REQUIRED, 1, INT64_MAX - 1),
	JSON_NUMBER("made_ms", OF, made_ms, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("idle_ms", OF, idle_ms, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("age_ms", OF, age_ms, JSON_REQUIRED, 0, INT64_MAX),
	JSON_BOOL("audited", OF, audited, JSON_OPTIONAL),
	{0},
};
#undef OF

void room_record_name(const char *id, char into[ROOM_NAME_SIZE])
{
	snprintf(into, ROOM_NAME_SIZE, "%.32s.json", id);
}

int room_record_read(int rooms, const char *id, struct arena *arena, struct room_record *ret,
                     int64_t *ret_used_ms)
{
	scoped(buffer_donep) struct buffer text = {.max = ROOM_RECORD_MAX};
	scoped(json_decrefp) json_t *root = NULL;
	scoped(fd_closep) int fd = -1;
	struct room_record found = {0};
	char name[ROOM_NAME_SIZE];
	struct stat st;

	room_record_name(id, name);
	fd = fd_open_regular(rooms, name);
	if (fd < 0 || fstat(fd, &st) < 0 || fd_read_all(fd, &text) < 0 ||
	    json_read(buffer_str(&text), text.len, ROOM_RECORD_MAX, "room", &root, NULL) < 0 ||
	    json_fields_read(root, "room", record_fields, arena, &found, NULL) < 0)
		return -ENOENT;
	*ret = found;
	*ret_used_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
	return 0;
}

int room_record_write(int rooms, const char *id, const struct room_record *record)
{
	scoped(buffer_donep) struct buffer text = {.max = ROOM_RECORD_MAX};
	struct json_writer w = {.out = &text};
	char name[ROOM_NAME_SIZE];

	json_fields_write(&w, record_fields, record);
	buffer_putc(&text, '\n');
	if (buffer_error(&text) < 0)
		return buffer_error(&text);
	room_record_name(id, name);
	return fd_replace_file(rooms, name, text.data, text.len);
}
