/* SPDX-License-Identifier: BSD-3-Clause */

/* Reading a trace, to replay it. The functions log errors. */

#ifndef MODEL_REPLAY_READ_H
#define MODEL_REPLAY_READ_H

#include <stdint.h>

#include "config.h"

struct recording_file;

/*
 * Read a trace that must contain parts (REPLAY_*), and set config to the traced
 * machine. NULL after logging an error.
 */
struct recording_file *replay_read(const char *path, uint32_t parts,
				   struct model_config *config);
/* Write the recording into the run folder. 0 or a negative errno. */
int replay_write(const struct recording_file *file, const char *run_dir);
void replay_free(struct recording_file *file);

#endif /* MODEL_REPLAY_READ_H */
