/* SPDX-License-Identifier: BSD-3-Clause */

/* The part of the report that tells what became of each function. */

#include "kernel.h"
#include "report_parts.h"
#include "segment.h"

json_t *
report_functions(void)
{
	json_t *list = json_array();

	for (uint32_t fn = 0; fn < segment_config()->nb_functions; fn++) {
		struct kernel_function_status status;
		json_t *one = json_object();

		kernel_function_status(fn, &status);
		json_object_set_new(one, "pci", report_pci_name(fn));
		json_object_set_new(one, "present",
				    json_boolean(status.has_pci));
		json_object_set_new(one, "rdma",
				    !status.has_rdma ? json_null() :
				    report_number(status.rdma_number));
		json_object_set_new(one, "fatal",
				    report_number(status.life.nb_fatal));
		json_object_set_new(one, "removed",
				    report_number(status.life.nb_removed));
		json_object_set_new(one, "reset",
				    report_number(status.life.nb_reset));
		json_object_set_new(one, "returned",
				    report_number(status.life.nb_returned));
		json_object_set_new(one, "link_changes",
				    report_number(status.life.nb_link_changes));
		json_array_append_new(list, one);
	}
	return list;
}
