/*
 * c-ares in our loop: it tells which of its sockets it waits for, and a timer stands for its
 * time-outs. A look-up cannot be taken back, so one whose owner is gone ends for nobody.
 */
#include "gateway/resolve.h"

#include <ares.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/loop.h"
#include "gateway/destination.h"

#define SOCKETS_MAX 64
#define TIMEOUT_MS  3000 /* of one try */
#define TRIES       2
#define HOSTS_MAX   ((size_t)256 << 10)
#define NO_TIMER_MS 3600000

struct resolve { /* one who waits for a look-up */
	struct resolve *next;
	resolve_handler handler;
	void *owner; /* NULL: forgotten */
};

struct lookup {
	struct lookup *next;
	struct resolver *resolver;
	char name[DESTINATION_NAME_SIZE];
	struct resolve *waiting;
};

struct watched {
	struct loop_source source;
	struct resolver *resolver;
	int fd; /* -1: free */
	uint32_t events;
};

struct resolver {
	struct loop *loop;
	ares_channel channel;
	struct loop_timer timer;
	struct watched sockets[SOCKETS_MAX];
	struct buffer hosts; /* the text of the file */
	struct lookup *lookups;
	int under_way;
};

static void set_timer(struct resolver *r);

static int on_socket(struct loop_source *s, uint32_t events)
{
	struct watched *w = container_of(s, struct watched, source);
	struct resolver *r = w->resolver;
	bool in = (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0, out = (events & EPOLLOUT) != 0;
	int fd = w->fd;

	ares_process_fd(r->channel, in ? fd : ARES_SOCKET_BAD, out ? fd : ARES_SOCKET_BAD);
	set_timer(r);
	return 0;
}

static int on_timer(struct loop_timer *t)
{
	struct resolver *r = container_of(t, struct resolver, timer);

	ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	set_timer(r);
	return 0;
}

static void set_timer(struct resolver *r)
{
	struct timeval most = {.tv_sec = NO_TIMER_MS / 1000}, wait;
	struct timeval *due = ares_timeout(r->channel, &most, &wait);

	if (r->under_way == 0) {
		loop_timer_clear(&r->timer);
		return;
	}
	(void)loop_timer_set(r->loop, &r->timer,
	                     loop_now(r->loop) + due->tv_sec * 1000 + due->tv_usec / 1000 + 1,
	                     on_timer);
}

/* The library closes a socket right after it said that it waits for nothing there. */
static void on_state(void *data, ares_socket_t fd, int readable, int writable)
{
	struct resolver *r = data;
	uint32_t events = (readable ? EPOLLIN : 0U) | (writable ? EPOLLOUT : 0U);
	struct watched *free_one = NULL, *w = NULL;

	for (size_t i = 0; i < SOCKETS_MAX; i++) {
		if (r->sockets[i].fd == fd)
			w = &r->sockets[i];
		else if (r->sockets[i].fd < 0 && !free_one)
			free_one = &r->sockets[i];
	}
	if (w && w->events == events)
		return;
	if (w) {
		loop_remove(&w->source);
		w->fd = -1;
	} else {
		w = free_one;
	}
	/* What finds no place is not heard, and its look-up ends by its time. */
	if (events && w && loop_add(r->loop, &w->source, fd, events, on_socket, NULL) == 0) {
		w->resolver = r;
		w->fd = fd;
		w->events = events;
	}
}

static void read_hosts(struct resolver *r)
{
	scoped(fd_closep) int fd = fd_open_regular(AT_FDCWD, "/etc/hosts");

	r->hosts.max = HOSTS_MAX;
	if (fd < 0 || fd_read_all(fd, &r->hosts) < 0)
		buffer_clear(&r->hosts);
}

int resolver_new(struct loop *loop, struct resolver **ret_resolver, struct error *err)
{
	struct resolver *r = calloc(1, sizeof(*r));
	char lookups[] = "b"; /* name servers; the hosts file is read here */
	struct ares_options options = {.timeout = TIMEOUT_MS,
	                               .tries = TRIES,
	                               .lookups = lookups,
	                               .sock_state_cb = on_state,
	                               .sock_state_cb_data = r};
	int code;

	if (!r)
		return error_nomem(err);
	r->loop = loop;
	for (size_t i = 0; i < SOCKETS_MAX; i++)
		r->sockets[i].fd = r->sockets[i].source.fd = -1;
	code = ares_library_init(ARES_LIB_INIT_ALL);
	if (code == ARES_SUCCESS)
		code = ares_init_options(&r->channel, &options,
		                         ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
		                                 ARES_OPT_SOCK_STATE_CB);
	if (code != ARES_SUCCESS) {
		free(r);
		return error_set(err, ERROR_SYSTEM, EIO, "name servers: %s", ares_strerror(code));
	}
	read_hosts(r);
	*ret_resolver = r;
	return 0;
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	ares_destroy(r->channel);
	ares_library_cleanup();
	loop_timer_clear(&r->timer);
	buffer_done(&r->hosts);
	free(r);
}

static void add(struct resolve_answer *a, const struct network_address *address)
{
	if (a->count < RESOLVE_ADDRESSES_MAX)
		a->addresses[a->count++] = *address;
	else
		a->more++;
}

static void add_family(struct resolve_answer *a, const struct ares_addrinfo *info, int family)
{
	for (const struct ares_addrinfo_node *n = info->nodes; n; n = n->ai_next) {
		struct network_address address = {.family = family == AF_INET ? 4 : 6};

		if (n->ai_family != family)
			continue;
		if (family == AF_INET) {
			struct sockaddr_in in;

			memcpy(&in, n->ai_addr, sizeof(in));
			memcpy(address.bytes, &in.sin_addr, 4);
		} else {
			struct sockaddr_in6 in;

			memcpy(&in, n->ai_addr, sizeof(in));
			memcpy(address.bytes, &in.sin6_addr, 16);
		}
		add(a, &address);
	}
}

/* Whoever asks from now on gets an answer of his own. */
static void unlink_lookup(struct lookup *l)
{
	struct resolver *r = l->resolver;

	for (struct lookup **at = &r->lookups; *at; at = &(*at)->next)
		if (*at == l) {
			*at = l->next;
			break;
		}
	r->under_way--;
}

static void on_answer(void *data, int status, int timeouts, struct ares_addrinfo *info)
{
	struct lookup *l = data;
	struct resolve_answer answer = {.end = RESOLVE_FAILED};

	(void)timeouts;
	unlink_lookup(l);
	if (status == ARES_SUCCESS && info) {
		add_family(&answer, info, AF_INET);
		add_family(&answer, info, AF_INET6);
		answer.end = answer.count > 0 ? RESOLVE_FOUND : RESOLVE_UNKNOWN;
	} else if (status == ARES_ENOTFOUND || status == ARES_ENODATA) {
		answer.end = RESOLVE_UNKNOWN;
	}
	if (info)
		ares_freeaddrinfo(info);
	while (l->waiting) {
		struct resolve *q = l->waiting;

		l->waiting = q->next;
		if (q->owner)
			q->handler(q->owner, &answer);
		free(q);
	}
	free(l);
}

/* Lines of an address and names, with comments. */
static bool find_in_hosts(const struct resolver *r, const char *name, struct resolve_answer *answer)
{
	const char *text = r->hosts.len > 0 ? r->hosts.data : "", *end = text + r->hosts.len;

	for (const char *line = text; line < end;) {
		const char *stop = memchr(line, '\n', (size_t)(end - line)), *hash, *at = line;
		struct network_address address = {.family = 0};
		bool first = true;

		stop = stop ? stop : end;
		hash = memchr(line, '#', (size_t)(stop - line));
		line = stop + 1;
		for (stop = hash ? hash : stop; at < stop;) {
			char known[DESTINATION_NAME_SIZE];
			const char *word;

			while (at < stop && (*at == ' ' || *at == '\t' || *at == '\r'))
				at++;
			for (word = at; at < stop && *at != ' ' && *at != '\t' && *at != '\r';)
				at++;
			if (at == word)
				break;
			if (first && !network_address_parse(word, (size_t)(at - word), &address))
				break;
			if (!first && destination_canonical(word, (size_t)(at - word), known) &&
			    strcmp(known, name) == 0)
				add(answer, &address);
			first = false;
		}
	}
	return answer->count > 0;
}

/* Begins it; it may be over, and freed, when this returns. */
static void begin(struct resolver *r, struct lookup *l)
{
	const struct ares_addrinfo_hints hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = ARES_AI_NOSORT};
	char whole[DESTINATION_NAME_SIZE + 1];

	l->resolver = r;
	l->next = r->lookups;
	r->lookups = l;
	r->under_way++;
	/* A final dot: the search list is for short names, and must not make others of this. */
	snprintf(whole, sizeof(whole), "%s%s", l->name, strchr(l->name, '.') ? "." : "");
	ares_getaddrinfo(r->channel, whole, NULL, &hints, on_answer, l);
	set_timer(r);
}

static bool is_there(const struct resolver *r, const struct lookup *l)
{
	for (const struct lookup *at = r->lookups; at; at = at->next)
		if (at == l)
			return true;
	return false;
}

int resolver_ask(struct resolver *r, const char *name, resolve_handler handler, void *owner,
                 struct resolve **ret_resolve)
{
	struct resolve_answer answer = {.end = RESOLVE_FOUND};
	struct lookup *l = r->lookups;
	struct resolve *q;

	*ret_resolve = NULL;
	if (find_in_hosts(r, name, &answer)) {
		handler(owner, &answer);
		return 0;
	}
	while (l && strcmp(l->name, name) != 0)
		l = l->next;
	if (!l && r->under_way >= RESOLVE_UNDER_WAY_MAX)
		return -EAGAIN;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	*q = (struct resolve){.handler = handler, .owner = owner};
	*ret_resolve = q;
	if (l) { /* the same is looked up at this moment */
		q->next = l->waiting;
		l->waiting = q;
		return 0;
	}
	l = calloc(1, sizeof(*l));
	if (!l) {
		free(q);
		*ret_resolve = NULL;
		return -ENOMEM;
	}
	snprintf(l->name, sizeof(l->name), "%s", name);
	l->waiting = q;
	begin(r, l);
	if (!is_there(r, l))
		*ret_resolve = NULL;
	return 0;
}

void resolve_forget(struct resolve *q)
{
	if (q)
		q->owner = NULL;
}
