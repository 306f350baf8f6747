/* SPDX-License-Identifier: BSD-3-Clause */

/* What was done to the machine on purpose. With the machine's lock held. */

#include "config.h"
#include "fault.h"
#include "inject.h"
#include "report_parts.h"
#include "segment.h"

json_t *
report_failed_calls(void)
{
	const struct fault_plan *plan = segment_fault_plan();
	json_t *object = json_object();

	for (int call = 0; call < NB_FAULT_CALLS; call++)
		if (plan->nb_failed[call] != 0)
			json_object_set_new(
				object, fault_call_name((enum fault_call)call),
				report_number(plan->nb_failed[call]));
	return object;
}

json_t *
report_injected(uint32_t fn, uint32_t port, bool is_tx)
{
	json_t *object = json_object();

	for (int kind = 0; kind < NB_INJECT_KINDS; kind++) {
		uint64_t n = inject_count(fn, port, is_tx,
					  (enum inject_kind)kind);

		if (n != 0)
			json_object_set_new(
				object, inject_kind_name((enum inject_kind)kind),
				report_number(n));
	}
	return object;
}
