/*
 * An entry of sandbox.network: any text, in each list. What is read can be written, and is read as
 * the same again.
 */
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "gateway/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[512], shown[DESTINATION_TEXT_SIZE];
	struct destination d, again;
	struct error err;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (enum network_list list = 0; list < NETWORK_LIST_MAX; list++) {
		struct network_rule rule = {0};
		struct network_rules rules = {0};

		if (destination_parse(text, list, &d, &err) < 0)
			continue;
		destination_format(&d, list, shown);
		if (destination_parse(shown, list, &again, &err) < 0 ||
		    !destination_equal(&d, &again))
			abort();
		rule.to = d;
		rules.lists[list] = (struct network_rule_list){.rules = &rule, .count = 1};
		network_judge_name(&rules, "a.x.test");
		if (network_judge(&rules, DESTINATION_HOST, 80).kind >= NETWORK_VERDICT_ASK &&
		    strcmp(shown, DESTINATION_HOST ":80") != 0)
			abort();
	}
	return 0;
}
