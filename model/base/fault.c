/* SPDX-License-Identifier: BSD-3-Clause */

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "segment.h"
#include "trace.h"

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

/* See fault_force(). */
static __thread int forced_error __attribute__((tls_model("initial-exec")));

void
fault_force(int error)
{
	forced_error = error;
}

static __thread uint64_t slow_ns __attribute__((tls_model("initial-exec")));

uint64_t
fault_slow_take(void)
{
	const uint64_t ns = slow_ns;

	slow_ns = 0;
	return ns;
}

int
fault_check(enum fault_call call)
{
	struct fault_plan *plan = segment_fault_plan();
	uint64_t nth = ++plan->nb_calls[call];
	uint64_t nth_any = ++plan->nb_calls[FAULT_any];
	int forced;
	uint32_t i;

	slow_ns += plan->slow_ns[call] + plan->slow_ns[FAULT_any];
	for (i = 0; i < plan->nb_rules; i++) {
		const struct fault_rule *rule = &plan->rules[i];
		uint64_t n = rule->call == FAULT_any ? nth_any : nth;

		if (rule->call != call && rule->call != FAULT_any)
			continue;
		if (n != rule->nth && !(rule->and_later && n > rule->nth))
			continue;
		plan->nb_fired++;
		plan->nb_failed[call]++;
		trace_event("kind=fault call=%s n=%llu errno=%s",
			    fault_names[call], (unsigned long long)n,
			    trace_result(-rule->error));
		return -rule->error;
	}
	forced = forced_error;
	forced_error = 0;
	return forced;
}

int
fault_call_read(const char *text, enum fault_call *call)
{
	int i;

	for (i = 0; i < NB_FAULT_CALLS; i++) {
		if (strcmp(fault_names[i], text) == 0) {
			*call = (enum fault_call)i;
			return 0;
		}
	}
	return -EINVAL;
}

int
fault_errno_read(const char *text, int *error)
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

int
fault_add(enum fault_call call, uint64_t nth, bool and_later, int error)
{
	struct fault_plan *plan = segment_fault_plan();

	if (plan->nb_rules == FAULT_MAX_RULES)
		return -ENOSPC;
	plan->rules[plan->nb_rules++] = (struct fault_rule){
		.call = call,
		.nth = plan->nb_calls[call] + nth,
		.error = error,
		.and_later = and_later,
	};
	return 0;
}

/* NULL, or what is wrong with the text. rule->nth counts from now on. */
static const char *
fault_parse(const char *text, struct fault_rule *rule)
{
	const char *colon = strchr(text, ':');
	char name[32], *end;

	*rule = (struct fault_rule){ .error = ENOMEM };
	if (colon == NULL)
		return "the form is CALL:N[+][:ERRNO]";
	snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
	if (fault_call_read(name, &rule->call) < 0)
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
	if (*end != ':' || fault_errno_read(end + 1, &rule->error) < 0)
		return "ERRNO is a name such as ENOMEM or a number";
	return NULL;
}

int
fault_plan_add(const char *text, char *message, size_t message_bytes)
{
	struct fault_rule rule;
	const char *wrong = fault_parse(text, &rule);

	if (wrong != NULL) {
		snprintf(message, message_bytes, "fault \"%s\": %s", text, wrong);
		return -EINVAL;
	}
	if (fault_add(rule.call, rule.nth, rule.and_later, rule.error) < 0) {
		snprintf(message, message_bytes,
			 "fault \"%s\": more than %d rules", text,
			 FAULT_MAX_RULES);
		return -ENOSPC;
	}
	return 0;
}

void
fault_plan_clear(void)
{
	struct fault_plan *plan = segment_fault_plan();

	plan->nb_rules = 0;
}
