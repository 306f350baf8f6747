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
#define FAULT_NAME(name, code) #name,
	MODEL_FAULT_REQUESTS(FAULT_NAME)
#undef FAULT_NAME
};

static const uint32_t request_codes[] = {
#define FAULT_CODE(name, code) code,
	MODEL_FAULT_REQUESTS(FAULT_CODE)
#undef FAULT_CODE
};

const char *
fault_call_name(enum fault_call call)
{
	return fault_names[call];
}

static __thread uint64_t slow_ns __attribute__((tls_model("initial-exec")));

uint64_t
fault_slow_take(void)
{
	const uint64_t ns = slow_ns;

	slow_ns = 0;
	return ns;
}

/* Count a call. Returns the rule that makes it fail, or NULL. */
static const struct fault_rule *
count(enum fault_call call, uint64_t *nth_call)
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
		plan->nb_failed[call]++;
		*nth_call = n;
		return rule;
	}
	return NULL;
}

int
fault_check(enum fault_call call)
{
	const struct fault_plan *plan = segment_fault_plan();
	const struct fault_rule *rule;
	uint64_t nth;
	int error;

	slow_ns += plan->slow_ns[call] + plan->slow_ns[FAULT_any];
	rule = count(call, &nth);
	if (rule == NULL)
		return 0;
	error = -(int)rule->error;
	trace_event("kind=fault call=%s n=%llu errno=%s", fault_names[call],
		    (unsigned long long)nth, trace_result(error));
	return error;
}

enum fault_call
fault_request(uint32_t code)
{
	uint32_t i;

	for (i = 0; i < NB_FAULT_REQUESTS; i++)
		if (request_codes[i] == code)
			return (enum fault_call)(FAULT_FIRST_REQUEST + i);
	return FAULT_REQUEST_other;
}

uint32_t
fault_request_check(uint32_t code)
{
	const enum fault_call request = fault_request(code);
	uint64_t nth;
	const struct fault_rule *rule = count(request, &nth);

	if (rule == NULL)
		return 0;
	trace_event("kind=fault request=%s n=%llu status=0x%x",
		    fault_names[request], (unsigned long long)nth,
		    rule->error);
	return rule->error;
}

enum fault_call
fault_first(bool is_pci)
{
	return is_pci ? FAULT_FIRST_REQUEST : FAULT_any + 1;
}

enum fault_call
fault_end(bool is_pci)
{
	return is_pci ? NB_FAULT_CALLS : NB_FAULT_KERNEL_CALLS;
}

int
fault_call_read(const char *text, enum fault_call *call)
{
	const bool is_pci = segment_config()->is_pci;
	enum fault_call i;

	*call = FAULT_any;
	if (strcmp(fault_names[FAULT_any], text) == 0)
		return 0;
	for (i = fault_first(is_pci); i < fault_end(is_pci); i++) {
		if (strcmp(fault_names[i], text) == 0) {
			*call = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* An errno by name or number; 0 or -EINVAL. */
static int
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

uint32_t
fault_default_error(void)
{
	return segment_config()->is_pci ? FAULT_DEFAULT_STATUS : ENOMEM;
}

int
fault_error_read(const char *text, uint32_t *error)
{
	unsigned long long status;
	char *end;
	int number;

	if (!segment_config()->is_pci) {
		if (fault_errno_read(text, &number) < 0)
			return -EINVAL;
		*error = (uint32_t)number;
		return 0;
	}
	errno = 0;
	status = strtoull(text, &end, 0);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 ||
	    status == 0 || status > UINT32_MAX)
		return -EINVAL;
	*error = (uint32_t)status;
	return 0;
}

int
fault_add(enum fault_call call, uint64_t nth, bool and_later, uint32_t error)
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

	*rule = (struct fault_rule){ .error = fault_default_error() };
	if (colon == NULL)
		return segment_config()->is_pci ?
			       "the form is REQUEST:N[+][:STATUS]" :
			       "the form is CALL:N[+][:ERRNO]";
	snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
	if (fault_call_read(name, &rule->call) < 0)
		return segment_config()->is_pci ? "no such request" :
						  "no such call";
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
	if (*end != ':' || fault_error_read(end + 1, &rule->error) < 0)
		return segment_config()->is_pci ?
			       "STATUS is a number from 1 to 0xffffffff" :
			       "ERRNO is a name such as ENOMEM or a number";
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
