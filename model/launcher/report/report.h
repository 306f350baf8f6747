/* SPDX-License-Identifier: BSD-3-Clause */

/* The machine's report, as JSON and as summary. */

#ifndef MODEL_REPORT_H
#define MODEL_REPORT_H

#include <stdio.h>

/* The report as JSON text, which the caller frees; NULL: no memory. */
char *report_text(void);

/* Check that report_write() should work. 0, or -1 after logging an error. */
int report_check(const char *path);

/* Write text to a file, all or nothing. 0, or -1 after logging an error. */
int report_write(const char *text, const char *path);

/* Print a summary of a report from report_text(). */
void report_summary(const char *text, FILE *stream);

#endif /* MODEL_REPORT_H */
