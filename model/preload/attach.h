/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How a program becomes part of the machine: when it first touches something
 * modelled, not before.
 */

#ifndef MODEL_ATTACH_H
#define MODEL_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Attach this process if it is not yet. False: there is no machine, or it is
 * full; then everything is left to the real kernel. Cheap once attached. Not
 * in signal handlers.
 */
bool attach_machine(void);
/* Whether it is attached; async-signal-safe. */
bool attach_is_attached(void);
/*
 * Whether a file could be one of the machine's, by its device: asked for
 * descriptors that another process may have passed to this one.
 */
bool attach_is_candidate(dev_t dev);

#endif /* MODEL_ATTACH_H */
