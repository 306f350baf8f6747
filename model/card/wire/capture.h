/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * --capture: the frames on the wire of each port, in pcapng files (IETF
 * draft-ietf-opsawg-pcapng). The process that runs the device writes each frame
 * at once, as one whole block, so that a file stays valid if a process is
 * killed. Call these with the machine's lock held; they are async-signal-safe.
 */

#ifndef MODEL_CAPTURE_H
#define MODEL_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

struct wire;

struct capture {
	bool has_failed; /* an error was logged */
	uint64_t nb_bytes[MODEL_MAX_PORTS]; /* per file, in whole blocks */
	uint64_t nb_lost[MODEL_MAX_PORTS]; /* per port: frames not written */
};

/* Create the files (launcher only). 0, or -errno with the bad file's path. */
int capture_create(char *path, uint32_t path_bytes);
/* For the launcher, at the end: cut off a partial block of a killed process. */
void capture_finish(void);

/* Capture a frame that a port sends or receives. */
void capture_frame(const struct wire *wire, bool is_sent, const uint8_t *frame,
		   uint32_t nb_bytes);

#endif /* MODEL_CAPTURE_H */
