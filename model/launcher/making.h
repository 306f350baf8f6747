/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * From options to a machine on which a program can be started.
 */

#ifndef MODEL_MAKING_H
#define MODEL_MAKING_H

#include <stdbool.h>

#include "guardian.h"
#include "options.h"

/* What a machine is made of outside of its segment; zero is "not there". */
struct making {
	char run_dir[MODEL_MAX_PATH];
	bool has_run_dir;
	struct recording_file *recording; /* to be replayed */
	struct guardian guardian;
	int kick_fd;
};

/* The recording, if one is to be replayed. 0, or -1 after a complaint. */
int making_read(struct making *making, const struct options *options);

/* 0, or -1 after a complaint; the half-made one is left to making_undo(). */
int making_machine(struct making *making, const struct options *options);

/* Takes a half-made one too. */
void making_undo(struct making *making);

#endif /* MODEL_MAKING_H */
