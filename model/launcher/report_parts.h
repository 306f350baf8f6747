/* SPDX-License-Identifier: BSD-3-Clause */

/* Parts of the report that have a file of their own. */

#ifndef MODEL_REPORT_PARTS_H
#define MODEL_REPORT_PARTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What all of them are made of. */
json_t *report_number(uint64_t n);
json_t *report_pci_name(uint32_t fn);

/* report_ports.c: one moment for each port, not for all. */
json_t *report_ports(void);

/* report_functions.c: what became of each function. */
json_t *report_functions(void);

/* report_faults.c: by name of the call, and by kind. */
json_t *report_failed_calls(void);
json_t *report_injected(uint32_t fn, uint32_t port, bool is_tx);

/* report_scenario.c: its lines. */
json_t *report_scenario(void);

#endif /* MODEL_REPORT_PARTS_H */
