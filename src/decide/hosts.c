#include "decide/hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "gateway/url.h"
#include "shell/facts.h"

enum way {
	WAY_URL,    /* only what looks like a URL */
	WAY_FETCH,  /* operands are URLs, with or without a scheme */
	WAY_SSH,    /* the first operand is a host */
	WAY_COPY,   /* operands with a colon are remotes */
	WAY_GIT,    /* the same */
	WAY_CLIENT, /* -h, --host */
	WAY_PAIR,   /* HOST PORT */
};

static const struct program {
	const char *name;
	enum way way;
	uint16_t port;
	const char *flags; /* letters of options without a value */
} programs[] = {
	{"curl", WAY_FETCH, 80, "sSfLvkiIOgqN46#jJnaRBpZ0123l"},
	{"wget", WAY_FETCH, 80, "qvcNSrkKmpHLxd46FnbhE"},
	{"ssh", WAY_SSH, 22, "46AaCfGgKkMNnqsTtVvXxYy"},
	{"sftp", WAY_SSH, 22, "46AaCfNpqrv"},
	{"scp", WAY_COPY, 22, ""},
	{"rsync", WAY_COPY, 22, ""},
	{"git", WAY_GIT, 22, ""},
	{"psql", WAY_CLIENT, 5432, ""},
	{"pg_dump", WAY_CLIENT, 5432, ""},
	{"mysql", WAY_CLIENT, 3306, ""},
	{"redis-cli", WAY_CLIENT, 6379, ""},
	{"nc", WAY_PAIR, 0, "46bCDdFhklMNnrStUuvz"},
	{"ncat", WAY_PAIR, 0, "46Cklnuvz"},
	{"telnet", WAY_PAIR, 23, "468EFKLadr"},
};

struct search {
	struct arena *arena;
	struct host_seen *hosts;
	size_t count;
	bool failed;
};

static void add(struct search *s, const struct url_host *h, bool sure)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->hosts[i].port == h->port && strcmp(s->hosts[i].name, h->name) == 0) {
			s->hosts[i].sure |= sure;
			return;
		}
	if (s->count == HOSTS_MAX || (!h->literal && destination_is_localhost(h->name)))
		return;
	s->hosts[s->count] = (struct host_seen){.name = arena_strdup(s->arena, h->name),
	                                        .literal = h->literal,
	                                        .sure = sure,
	                                        .port = h->port};
	s->failed |= !s->hosts[s->count].name;
	s->count++;
}

static const char *text_of(const struct shell_fact_word *word)
{
	return word->kind == SHELL_VALUE_KNOWN ? word->text.bytes : NULL;
}

/* URLs anywhere in the text, and host=NAME with its port=. */
static void look_for_urls(struct search *s, const char *text)
{
	const char *at = text, *host, *port;
	struct url_host h;
	size_t n;

	for (; (n = url_find(at, strlen(at), &h)) > 0; at += n)
		add(s, &h, false);
	host = strstr(text, "host=");
	if (!host || !url_authority(host + 5, strcspn(host + 5, " ;&\t\n"), &h))
		return;
	port = strstr(text, "port=");
	if (port && !h.written)
		h.port = (uint16_t)strtoul(port + 5, NULL, 10);
	add(s, &h, false);
}

static const struct program *find_program(const char *name)
{
	const char *slash = strrchr(name, '/');

	name = slash ? slash + 1 : name;
	for (size_t i = 0; i < array_size(programs); i++)
		if (strcmp(programs[i].name, name) == 0)
			return &programs[i];
	return NULL;
}

/* Whether the option takes the next word with it. */
static bool takes_value(const struct program *p, const char *option)
{
	static const char *const plain[] = {"--silent",
	                                    "--fail",
	                                    "--location",
	                                    "--verbose",
	                                    "--insecure",
	                                    "--head",
	                                    "--include",
	                                    "--show-error",
	                                    "--quiet",
	                                    "--compressed",
	                                    "--no-check-certificate",
	                                    "--remote-name",
	                                    "--fail-with-body",
	                                    "--no-verbose"};

	if (option[1] == '-') {
		for (size_t i = 0; i < array_size(plain); i++)
			if (strcmp(option, plain[i]) == 0)
				return false;
		return !strchr(option, '=');
	}
	return option[1] && !option[1 + strspn(option + 1, p->flags)] ? false : !option[2];
}

/* A URL that begins the text. */
static void look_at_url(struct search *s, const char *text)
{
	struct url_host h;
	size_t scheme = strcspn(text, ":/?#");

	if (strncmp(text + scheme, "://", 3) == 0 && url_find(text, strlen(text), &h) > 0)
		add(s, &h, true);
}

/* HOST/path without a scheme: curl and wget take it. */
static void look_at_operand(struct search *s, const struct program *p, const char *text)
{
	struct url_host h;

	look_at_url(s, text);
	if (strstr(text, "://") || !url_authority(text, strcspn(text, "/?#"), &h))
		return;
	if (!h.written)
		h.port = p->port;
	add(s, &h, true);
}

static void look_at_operands(struct search *s, const struct program *p,
                             const struct shell_fact_command *c)
{
	const char *text, *next;
	struct url_host h;
	bool ended = false;

	for (size_t i = 1; i < c->word_count; i++) {
		text = text_of(&c->words[i]);
		if (!text)
			continue;
		if (!ended && text[0] == '-' && text[1]) {
			ended = strcmp(text, "--") == 0;
			if (strncmp(text, "--url=", 6) == 0)
				look_at_url(s, text + 6);
			if (strcmp(text, "--url") == 0) /* the next one is an operand */
				continue;
			i += !ended && takes_value(p, text);
			continue;
		}
		if (p->way == WAY_FETCH) {
			look_at_operand(s, p, text);
			continue;
		}
		if (strstr(text, "://")) {
			if (p->way == WAY_SSH)
				return;
			continue;
		}
		next = i + 1 < c->word_count ? text_of(&c->words[i + 1]) : NULL;
		if (!url_remote(text, &h))
			return;
		h.port = p->port;
		if (p->way == WAY_PAIR && next && strtoul(next, NULL, 10) < 65536)
			h.port = (uint16_t)strtoul(next, NULL, 10);
		add(s, &h, true);
		return; /* what follows is a command, or a port */
	}
}

/* Others name remotes, too, and connect to none: `git remote add`, `git commit -m`. */
static bool connects(const struct program *p, const struct shell_fact_command *c)
{
	static const char *const verbs[] = {"clone", "fetch", "pull", "push", "ls-remote"};

	if (p->way != WAY_GIT)
		return true;
	for (size_t i = 1; i < c->word_count; i++)
		for (size_t j = 0; j < array_size(verbs) && text_of(&c->words[i]); j++)
			if (strcmp(text_of(&c->words[i]), verbs[j]) == 0)
				return true;
	return false;
}

/* USER@HOST:PATH, HOST:PATH. */
static void look_at_remotes(struct search *s, const struct program *p,
                            const struct shell_fact_command *c)
{
	bool sure = connects(p, c);
	struct url_host h;

	for (size_t i = 1; i < c->word_count; i++) {
		const char *text = text_of(&c->words[i]), *colon = text ? strchr(text, ':') : NULL;

		if (text && sure)
			look_at_url(s, text);
		if (colon && colon[1] != ':' && text[0] != '-' && !strstr(text, "://") &&
		    (memchr(text, '@', (size_t)(colon - text)) ||
		     memchr(text, '.', (size_t)(colon - text))) &&
		    url_remote(text, &h))
			add(s, &h, sure);
	}
}

static void look_at_client(struct search *s, const struct program *p,
                           const struct shell_fact_command *c)
{
	struct url_host h = {0};
	bool found = false;
	unsigned long port = 0;

	for (size_t i = 1; i < c->word_count; i++) {
		const char *text = text_of(&c->words[i]);
		const char *next = i + 1 < c->word_count ? text_of(&c->words[i + 1]) : NULL;

		if (!text)
			continue;
		if (strncmp(text, "--host=", 7) == 0)
			found |= url_authority(text + 7, strlen(text + 7), &h);
		else if ((strcmp(text, "-h") == 0 || strcmp(text, "--host") == 0) && next)
			found |= url_authority(next, strlen(next), &h);
		else if ((strcmp(text, "-p") == 0 || strcmp(text, "-P") == 0 ||
		          strcmp(text, "--port") == 0) &&
		         next)
			port = strtoul(next, NULL, 10);
	}
	if (!found)
		return;
	h.port = port > 0 && port < 65536 ? (uint16_t)port : p->port;
	add(s, &h, true);
}

static void look_at_command(struct search *s, const struct shell_fact_command *c)
{
	const char *name = c->word_count ? text_of(&c->words[0]) : NULL;
	const struct program *p = name ? find_program(name) : NULL;

	for (size_t i = 0; i < c->word_count; i++)
		if (text_of(&c->words[i]))
			look_for_urls(s, text_of(&c->words[i]));
	for (size_t i = 0; i < c->assign_count; i++)
		if (text_of(&c->assigns[i].value))
			look_for_urls(s, text_of(&c->assigns[i].value));
	if (!p)
		return;
	if (p->way == WAY_COPY || p->way == WAY_GIT)
		look_at_remotes(s, p, c);
	else if (p->way == WAY_CLIENT)
		look_at_client(s, p, c);
	else if (p->way != WAY_URL)
		look_at_operands(s, p, c);
}

int hosts_seen(struct arena *arena, const struct shell_facts *facts,
               const struct host_seen **ret_hosts, size_t *ret_count)
{
	struct search s = {.arena = arena};

	s.hosts = arena_new_array(arena, struct host_seen, HOSTS_MAX);
	if (!s.hosts)
		return -ENOMEM;
	for (size_t i = 0; i < facts->command_count; i++)
		look_at_command(&s, &facts->commands[i]);
	if (s.failed)
		return -ENOMEM;
	*ret_hosts = s.hosts;
	*ret_count = s.count;
	return 0;
}
