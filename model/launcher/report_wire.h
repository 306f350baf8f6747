/* SPDX-License-Identifier: BSD-3-Clause */

/* The report of wires. */

#ifndef MODEL_REPORT_WIRE_H
#define MODEL_REPORT_WIRE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* Of one port; with the machine's lock held. */
json_t *report_wire(uint32_t fn, uint32_t port);
/* Frames lost with a program that was killed amid its work on the wires. */
json_t *report_swept(void);
/* Streams of generated frames; with the lock held. */
json_t *report_streams(void);
/* What is worth a line of it. */
void report_wire_summary(const json_t *wire, FILE *stream);

#endif /* MODEL_REPORT_WIRE_H */
