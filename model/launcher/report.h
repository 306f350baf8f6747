/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What happened on the machine, as JSON and in words.
 */

#ifndef MODEL_REPORT_H
#define MODEL_REPORT_H

#include <stdio.h>

/* The report as text of JSON, to be freed; NULL without memory. */
char *report_text(void);

/* Whether report_write() is likely to work. 0, or -1 after a complaint. */
int report_check(const char *path);

/* Put text into a file, all or nothing. 0, or -1 after a complaint. */
int report_write(const char *text, const char *path);

/* A few lines for people. Format: that of report_text(). */
void report_summary(const char *text, FILE *stream);

#endif /* MODEL_REPORT_H */
