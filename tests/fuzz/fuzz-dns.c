/*
 * A query for a name: any bytes. Whatever is asked, the answers fit, repeat the question and are
 * answers; a name that is read is one that the rules can judge.
 */
#include <stdlib.h>
#include <string.h>
#include "gateway/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const struct dns_query *q, const uint8_t *answer, size_t n)
{
	if (n < 12 || n > DNS_ANSWER_MAX || !(answer[2] & 0x80))
		abort();
	if (answer[0] != q->id >> 8 || answer[1] != (q->id & 0xff))
		abort();
	if (n < 12U + q->question_size || memcmp(answer + 12, q->question, q->question_size) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct network_address fake = network_address_v4(0xc6120203);
	uint8_t answer[DNS_ANSWER_MAX];
	char again[DESTINATION_NAME_SIZE];
	struct dns_query q;

	dns_tcp_size(data, size);
	dns_read(data, size, &q);
	if (q.ask == DNS_ASK_NOTHING)
		return 0;
	if (q.question_size > sizeof(q.question))
		abort();
	if (q.ask != DNS_ASK_REFUSED &&
	    (!destination_canonical(q.name, strlen(q.name), again) || strcmp(q.name, again) != 0))
		abort();
	check_answer(&q, answer, dns_write_address(&q, &fake, answer, sizeof(answer)));
	check_answer(&q, answer, dns_write_localhost(&q, answer, sizeof(answer)));
	check_answer(&q, answer, dns_write_no_data(&q, answer, sizeof(answer)));
	check_answer(&q, answer, dns_write_pointer(&q, q.name, answer, sizeof(answer)));
	check_answer(&q, answer, dns_write_error(&q, DNS_NXDOMAIN, true, answer, sizeof(answer)));
	return 0;
}
