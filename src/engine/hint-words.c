#include "engine/hint-words.h"

#include <ctype.h>
#include <string.h>
#include "base/cleanup.h"
#include "engine/hint.h"
#include "sandbox/spec.h"
#include "task/report.h"

bool hint_has_word(const char *text, size_t n, const char *word)
{
	const char *end = text + n;
	size_t len = strlen(word);

	for (const char *p = text; (p = memmem(p, (size_t)(end - p), word, len)); p++)
		if ((p == text || !isalnum((unsigned char)p[-1]) ||
		     !isalnum((unsigned char)*word)) &&
		    (p + len == end || !isalnum((unsigned char)p[len]) ||
		     !isalnum((unsigned char)word[len - 1])))
			return true;
	return false;
}

/* A kill that has found its process is about one of the same line. */
static bool missed_its_process(const struct hint_facts *f)
{
	if (f->exit_code != 0)
		return true;
	for (int i = 0; i < HINT_STREAMS; i++) {
		const struct hint_stream *s = &f->streams[i];
		size_t n = s->n < HINT_LOOK_MAX ? s->n : HINT_LOOK_MAX;

		if (s->bytes && hint_has_word(s->bytes + s->n - n, n, "No such process"))
			return true;
	}
	return false;
}

bool hint_wants_tasks(const struct hint_facts *f)
{
	/* In a room processes of other tasks are seen, but not what they have open. */
	static const struct {
		const char *word;
		enum { ANYWHERE, WITHOUT_ROOM, MISSED } when;
	} programs[] = {{"lsof", ANYWHERE},        {"fuser", ANYWHERE},     {"ss", ANYWHERE},
	                {"netstat", ANYWHERE},     {"jobs", ANYWHERE},      {"ps", WITHOUT_ROOM},
	                {"pgrep", WITHOUT_ROOM},   {"pkill", WITHOUT_ROOM}, {"pidof", WITHOUT_ROOM},
	                {"killall", WITHOUT_ROOM}, {"top", WITHOUT_ROOM},   {"kill", MISSED}};
	bool room = f->report->room.id[0];

	for (size_t i = 0; f->command && i < array_size(programs); i++)
		if (hint_has_word(f->command, strlen(f->command), programs[i].word) &&
		    (programs[i].when == ANYWHERE || (programs[i].when == WITHOUT_ROOM && !room) ||
		     missed_its_process(f)))
			return true;
	return false;
}

bool hint_is_silent_client(const struct hint_facts *f)
{
	static const struct {
		const char *word;
		int exit_code;
	} clients[] = {
		{"curl", 6}, {"curl", 7}, {"wget", 4}, {"getent hosts", 2}, {"getent ahosts", 2}};

	for (size_t i = 0; f->command && i < array_size(clients); i++)
		if (clients[i].exit_code == f->exit_code &&
		    hint_has_word(f->command, strlen(f->command), clients[i].word))
			return true;
	return false;
}

bool hint_has_lost_names(const struct hint_facts *f)
{
	return f->spec && f->spec->network == SANDBOX_NETWORK_NAMES;
}

bool hint_has_lost_names_silently(const struct hint_facts *f)
{
	return hint_has_lost_names(f) && hint_is_silent_client(f);
}
