/* SPDX-License-Identifier: BSD-3-Clause */

/* The machine's report, as JSON and as summary. */

#ifndef MODEL_REPORT_H
#define MODEL_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The report as JSON text, which the caller frees; NULL: no memory. */
char *report_text(void);

/*
 * Parts of the report of a PCI machine: its functions; what drivers left on the
 * card, or what exists. With the machine's lock held.
 */
json_t *report_pci_functions(void);
json_t *report_pci_objects(bool is_left);

/* The PCI address of a function, as sysfs.c has it. */
json_t *report_pci_name(uint32_t fn);

void report_add_unless_zero(json_t *object, const char *name, uint64_t n);

/* Check that report_write() should work. 0, or -1 after logging an error. */
int report_check(const char *path);

/* Write text to a file, all or nothing. 0, or -1 after logging an error. */
int report_write(const char *text, const char *path);

/* Print a summary of a report from report_text(). */
void report_summary(const char *text, FILE *stream);

/*
 * Make the checks of OPTIONS_CHECKS, a bit for each, of a report from report_text(),
 * and print a line for each that finds something. Returns whether none does.
 */
bool report_verdict(const char *text, uint32_t checks, FILE *stream);

/* A count of a part of the report; 0 if it has none of this name. */
uint64_t report_number(const json_t *object, const char *name);

/* The counts in "rx" of frames that a port has dropped; ended by NULL. */
extern const char *const report_rx_drops[];

#endif /* MODEL_REPORT_H */
