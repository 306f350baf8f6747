/* SPDX-License-Identifier: BSD-3-Clause */

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "ledger.h"
#include "segment.h"

static_assert(sizeof(struct fault_plan) <= SEGMENT_FAULT_BYTES, "fault plan");

#define FAULT_MAX_ERRNO 133 /* Linux errno.h: EHWPOISON */

static const char *const fault_names[] = {
#define FAULT_NAME(name) #name,
	MODEL_FAULT_CALLS(FAULT_NAME)
#undef FAULT_NAME
};

const char *
fault_call_name(enum fault_call call)
{
	return fault_names[call];
}

int
fault_check(enum fault_call call)
{
	struct fault_plan *plan = segment_fault_plan();
	uint64_t nth = ++plan->nb_calls[call];
	uint64_t nth_any = ++plan->nb_calls[FAULT_any];
	uint32_t i;

	for (i = 0; i < plan->nb_rules; i++) {
		const struct fault_rule *rule = &plan->rules[i];
		uint64_t n = rule->call == FAULT_any ? nth_any : nth;

		if (rule->call != call && rule->call != FAULT_any)
			continue;
		if (n != rule->nth && !(rule->and_later && n > rule->nth))
			continue;
		plan->nb_fired++;
		ledger_trace("fault %s call %llu errno %d", fault_names[call],
			     (unsigned long long)n, rule->error);
		return -rule->error;
	}
	return 0;
}

static int
fault_parse_call(const char *text, size_t len, enum fault_call *call)
{
	int i;

	for (i = 0; i < NB_FAULT_CALLS; i++) {
		if (strlen(fault_names[i]) == len &&
		    memcmp(fault_names[i], text, len) == 0) {
			*call = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int
fault_parse_errno(const char *text, int *error)
{
	char *end;
	long n = strtol(text, &end, 10);
	int i;

	if (text[0] != '\0' && *end == '\0' && n > 0 && n <= FAULT_MAX_ERRNO) {
		*error = (int)n;
		return 0;
	}
	for (i = 1; i <= FAULT_MAX_ERRNO; i++) {
		const char *name = strerrorname_np(i);

		if (name != NULL && strcmp(name, text) == 0) {
			*error = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* NULL, or what is wrong with the text. */
static const char *
fault_parse(const char *text, struct fault_rule *rule)
{
	const char *colon = strchr(text, ':');
	char *end;

	*rule = (struct fault_rule){ .error = ENOMEM };
	if (colon == NULL)
		return "the form is CALL:N[+][:ERRNO]";
	if (fault_parse_call(text, colon - text, &rule->call) < 0)
		return "no such call";
	if (colon[1] < '0' || colon[1] > '9')
		return "N is a number from 1";
	rule->nth = strtoull(colon + 1, &end, 10);
	if (rule->nth == 0)
		return "N is a number from 1";
	if (*end == '+') {
		rule->and_later = true;
		end++;
	}
	if (*end == '\0')
		return NULL;
	if (*end != ':' || fault_parse_errno(end + 1, &rule->error) < 0)
		return "ERRNO is a name such as ENOMEM or a number";
	return NULL;
}

int
fault_plan_add(const char *text, char *message, size_t message_bytes)
{
	struct fault_plan *plan = segment_fault_plan();
	struct fault_rule rule;
	const char *wrong = fault_parse(text, &rule);

	if (wrong != NULL) {
		snprintf(message, message_bytes, "fault \"%s\": %s", text, wrong);
		return -EINVAL;
	}
	if (plan->nb_rules == FAULT_MAX_RULES) {
		snprintf(message, message_bytes,
			 "fault \"%s\": more than %d rules", text,
			 FAULT_MAX_RULES);
		return -ENOSPC;
	}
	plan->rules[plan->nb_rules++] = rule;
	return 0;
}

void
fault_plan_clear(void)
{
	memset(segment_fault_plan(), 0, sizeof(struct fault_plan));
}
