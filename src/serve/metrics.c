#include "serve/metrics.h"

#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "engine/network.h"
#include "engine/result.h"

static const char *const verdict_names[METRICS_VERDICT_MAX] = {
	[METRICS_ALLOW] = "allow", [METRICS_ASK] = "ask",   [METRICS_DENY] = "deny",
	[METRICS_NUDGE] = "nudge", [METRICS_NONE] = "none",
};

static const int64_t bucket_ms[METRICS_BUCKETS] = {1,   2,    5,    10,    50,     100,
                                                   500, 1000, 5000, 30000, 120000, 600000};

static struct metrics_profile *profile_of(struct metrics *m, const char *name)
{
	struct metrics_profile *p = m->profiles;

	for (size_t i = 0; i < m->profile_count; i++, p++)
		if (strcmp(p->name, name) == 0)
			return p;
	if (m->profile_count == METRICS_PROFILES_MAX)
		return &m->profiles[METRICS_PROFILES_MAX - 1];
	m->profile_count++;
	snprintf(p->name, sizeof(p->name), "%s", name);
	return p;
}

static enum metrics_verdict verdict_of(const struct result *r)
{
	for (int i = 0; r->verdict && i < METRICS_NONE; i++)
		if (strcmp(r->verdict, verdict_names[i]) == 0)
			return (enum metrics_verdict)i;
	return METRICS_NONE;
}

static void count_network(struct metrics *m, const struct keeper_network_report *n)
{
	const char *at = n->list;
	struct network_refusal r;
	uint64_t left = n->refused;

	m->network.connections += n->connections;
	m->network.sent += n->sent;
	m->network.received += n->received;
	m->network.held += n->held;
	m->network.questions += n->questions;
	while ((at = network_refusal_next(at, &r)))
		for (int i = 0; i < NETWORK_REASON_MAX; i++)
			if (strcmp(r.reason, network_reason_word((enum network_reason)i)) == 0) {
				m->network.refused[i] += r.count;
				left -= r.count < left ? r.count : left;
			}
	m->network.refused[NETWORK_REASON_MAX] += left;
}

void metrics_count(struct metrics *m, const char *profile, const struct result *r)
{
	size_t i = 0;

	profile_of(m, profile)->commands[verdict_of(r)]++;
	if (!r->ran || r->background)
		return;
	while (i < METRICS_BUCKETS && r->report.duration_ms > bucket_ms[i])
		i++;
	m->buckets[i]++;
	m->durations++;
	m->duration_ms += r->report.duration_ms > 0 ? (uint64_t)r->report.duration_ms : 0;
	for (int s = 0; s < 2; s++)
		m->bytes[s] += r->report.streams[s].bytes;
	count_network(m, &r->report.network);
	m->timed_out += r->timed_out;
	m->stopped += r->stopped;
}

void metrics_count_answer(struct metrics *m, int status)
{
	if (status >= 100 && status < 100 * METRICS_STATUSES)
		m->answers[status / 100]++;
	m->unauthorized += status == 401;
	m->limited += status == 429;
	m->full += status == 503;
}

uint32_t metrics_percentile(const struct metrics *m, unsigned percent)
{
	uint64_t sum = 0, wanted = (m->durations * percent + 99) / 100;

	if (m->durations == 0)
		return 0;
	for (size_t i = 0; i < METRICS_BUCKETS; i++) {
		sum += m->buckets[i];
		if (sum >= wanted)
			return (uint32_t)bucket_ms[i];
	}
	return (uint32_t)(2 * bucket_ms[METRICS_BUCKETS - 1]);
}

static void head(struct buffer *b, const char *name, const char *type, const char *help)
{
	buffer_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void one(struct buffer *b, const char *name, const char *type, const char *help,
                uint64_t value)
{
	head(b, name, type, help);
	buffer_printf(b, "%s %llu\n", name, (unsigned long long)value);
}

static void write_durations(const struct metrics *m, struct buffer *b)
{
	static const char name[] = "nacre_command_duration_seconds";
	uint64_t sum = 0;

	head(b, name, "histogram", "How long commands ran.");
	for (size_t i = 0; i <= METRICS_BUCKETS; i++) {
		sum += m->buckets[i];
		if (i < METRICS_BUCKETS)
			buffer_printf(b, "%s_bucket{le=\"%g\"} %llu\n", name,
			              (double)bucket_ms[i] / 1000, (unsigned long long)sum);
		else
			buffer_printf(b, "%s_bucket{le=\"+Inf\"} %llu\n", name,
			              (unsigned long long)sum);
	}
	buffer_printf(b, "%s_sum %.3f\n%s_count %llu\n", name, (double)m->duration_ms / 1000, name,
	              (unsigned long long)m->durations);
}

/* Names of profiles are of letters, digits, '-', '_' and '.': nothing has to be escaped. */
static void write_commands(const struct metrics *m, struct buffer *b)
{
	head(b, "nacre_commands_total", "counter", "Requests by the policy's answer.");
	for (size_t i = 0; i < m->profile_count; i++)
		for (int v = 0; v < METRICS_VERDICT_MAX; v++)
			buffer_printf(b,
			              "nacre_commands_total{profile=\"%s\",verdict=\"%s\"} %llu\n",
			              m->profiles[i].name, verdict_names[v],
			              (unsigned long long)m->profiles[i].commands[v]);
}

static void write_network(const struct metrics *m, const struct metrics_now *now, struct buffer *b)
{
	one(b, "nacre_network_connections_total", "counter", "Connections that were dialled.",
	    m->network.connections);
	head(b, "nacre_network_refused_total", "counter",
	     "Connections and look-ups that were refused, by reason.");
	for (int i = 0; i <= NETWORK_REASON_MAX; i++) {
		const char *word = i == NETWORK_REASON_MAX
		                           ? "more"
		                           : network_reason_word((enum network_reason)i);

		if (*word)
			buffer_printf(b, "nacre_network_refused_total{reason=\"%s\"} %llu\n", word,
			              (unsigned long long)m->network.refused[i]);
	}
	head(b, "nacre_network_bytes_total", "counter", "Bytes of connections.");
	buffer_printf(b,
	              "nacre_network_bytes_total{direction=\"sent\"} %llu\n"
	              "nacre_network_bytes_total{direction=\"received\"} %llu\n",
	              (unsigned long long)m->network.sent, (unsigned long long)m->network.received);
	one(b, "nacre_network_held_total", "counter", "Connections that waited for a person.",
	    m->network.held);
	one(b, "nacre_network_questions_total", "counter", "Questions that were put for them.",
	    m->network.questions);
	one(b, "nacre_network_gateways", "gauge", "Gateways of this user that are alive.",
	    now->gateways);
}

void metrics_write(const struct metrics *m, const struct metrics_now *now, struct buffer *b)
{
	write_commands(m, b);
	write_durations(m, b);
	head(b, "nacre_output_bytes_total", "counter", "Bytes that commands have printed.");
	for (int s = 0; s < 2; s++)
		buffer_printf(b, "nacre_output_bytes_total{stream=\"%s\"} %llu\n",
		              s ? "stderr" : "stdout", (unsigned long long)m->bytes[s]);
	head(b, "nacre_http_responses_total", "counter", "Answers by their status.");
	for (int i = 1; i < METRICS_STATUSES; i++)
		buffer_printf(b, "nacre_http_responses_total{status=\"%dxx\"} %llu\n", i,
		              (unsigned long long)m->answers[i]);
	one(b, "nacre_timeouts_total", "counter", "Commands ended by their time limit.",
	    m->timed_out);
	one(b, "nacre_stopped_total", "counter", "Commands that were stopped.", m->stopped);
	one(b, "nacre_unauthorized_total", "counter", "Requests without a valid token.",
	    m->unauthorized);
	one(b, "nacre_limited_total", "counter", "Requests beyond the rate of a principal.",
	    m->limited);
	one(b, "nacre_full_total", "counter", "Requests for which there was no place.", m->full);
	write_network(m, now, b);
	one(b, "nacre_running", "gauge", "Commands that run now.", now->running);
	one(b, "nacre_queued", "gauge", "Commands that wait for a place.", now->queued);
	one(b, "nacre_connections", "gauge", "Open connections.", now->connections);
	one(b, "nacre_streams", "gauge", "Requests under way, followers included.", now->streams);
	head(b, "nacre_uptime_seconds", "gauge", "Since the server has started.");
	buffer_printf(b, "nacre_uptime_seconds %.3f\n", (double)now->up_ms / 1000);
}
