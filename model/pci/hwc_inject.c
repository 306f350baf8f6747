/* SPDX-License-Identifier: BSD-3-Clause */

/* Injected faults of answers (inject.h): wrong ones, late ones, too many. */

#include <string.h>

#include "adapter.h"
#include "clock.h"
#include "fault.h"
#include "inject_card.h"
#include "random.h"

void
hwc_hold(struct hwc *hwc, const struct hwc_answer *answer)
{
	if (hwc->nb_held == HWC_MAX_HELD)
		return;
	hwc->held[hwc->nb_held++] = *answer;
	clock_due(answer->due_ns);
}

bool
hwc_take_held(struct hwc *hwc, struct hwc_answer *answer)
{
	const bool is_idle = wq_posted_bytes(&hwc->sq) == 0;
	uint64_t now_ns;
	uint32_t i;

	if (hwc->nb_held == 0 || wq_posted_bytes(&hwc->rq) == 0)
		return false;
	now_ns = clock_now();
	for (i = 0; i < hwc->nb_held; i++) {
		if (hwc->held[i].due_ns > now_ns)
			clock_due(hwc->held[i].due_ns); /* one shot */
		else if (is_idle || !hwc->held[i].is_unsolicited)
			break;
	}
	if (i == hwc->nb_held)
		return false;
	*answer = hwc->held[i];
	hwc->nb_held--;
	memmove(&hwc->held[i], &hwc->held[i + 1],
		(hwc->nb_held - i) * sizeof(hwc->held[0]));
	return true;
}

/* Change an answer as a bogus rule demands. */
static void
make_bogus(struct hwc_answer *answer, const struct inject_rule *rule)
{
	struct answer_header *hdr = (void *)answer->bytes;

	switch (rule->kind) {
	case INJECT_LONG:
	case INJECT_SHORT:
		answer->told_bytes = rule->value;
		break;
	case INJECT_TYPE:
		hdr->response.msg_type = rule->value;
		break;
	case INJECT_WRONG_ID:
		hdr->response.hwc_msg_id++;
		break;
	case INJECT_RANDOM:
		random_fill(RANDOM_FAULT_BYTES, answer->bytes, answer->nb_bytes);
		break;
	case INJECT_FIELD: /* little-endian, like the hosts of the model */
		memcpy(answer->bytes + rule->at, &rule->value, rule->nb_bytes);
		break;
	case INJECT_SPURIOUS: /* it succeeds, and says nothing else */
		memset(answer->bytes, 0, answer->nb_bytes);
		answer->is_unsolicited = true;
		break;
	default: /* DUPLICATE: unchanged */
		break;
	}
}

/* Hold a changed copy of an answer. */
static void
add_extra(struct hwc *hwc, const struct hwc_answer *answer,
	  const struct inject_rule *rule)
{
	static struct hwc_answer extra;

	extra = *answer;
	extra.due_ns = clock_now() + rule->for_ns;
	make_bogus(&extra, rule);
	hwc_hold(hwc, &extra);
}

void
hwc_inject(uint32_t fn, struct hwc_answer *answer)
{
	const struct answer_header *hdr = (const void *)answer->bytes;
	const uint32_t request = fault_request(hdr->response.msg_type);
	struct hwc *hwc = &adapter(fn)->hwc;
	bool is_lost = false, is_late = false;
	struct inject_hits hits;
	uint32_t i;

	inject_find(INJECT_ANSWERS, fn, request, &hits);
	hwc->was_silent = hwc->was_silent || hits.nb != 0;
	/* Before the answer itself changes. */
	for (i = 0; i < hits.nb; i++)
		if (hits.rule[i].is_extra)
			add_extra(hwc, answer, &hits.rule[i]);
	for (i = 0; i < hits.nb; i++) {
		const struct inject_rule *rule = &hits.rule[i];

		is_lost = is_lost || rule->kind == INJECT_LOSE;
		is_late = is_late || rule->kind == INJECT_DELAY;
		if (rule->kind == INJECT_DELAY)
			answer->due_ns = clock_now() + rule->for_ns;
		if (!rule->is_extra)
			make_bogus(answer, rule);
	}
	if (is_late && !is_lost)
		hwc_hold(hwc, answer);
	if (is_late || is_lost)
		answer->nb_bytes = 0;
}
