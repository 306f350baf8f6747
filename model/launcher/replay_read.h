/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Reading a trace, to replay it. Functions complain themselves.
 */

#ifndef MODEL_REPLAY_READ_H
#define MODEL_REPLAY_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

struct recording_file;

/* The machine that was traced, into config. */
bool replay_read_header(const char *path, struct model_config *config);

/* All of it; parts (REPLAY_*) must be there. NULL after a complaint. */
struct recording_file *replay_read(const char *path, uint32_t parts);
/* For all processes, into the run folder. 0 or a negative errno. */
int replay_write(const struct recording_file *file, const char *run_dir);
void replay_free(struct recording_file *file);

#endif /* MODEL_REPLAY_READ_H */
