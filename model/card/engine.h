/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The card's loop: doorbells, the work that they start, timers, repair. The caller
 * holds the machine's lock.
 */

#ifndef MODEL_ENGINE_H
#define MODEL_ENGINE_H

#include "card_state.h"

/* Remove an SQ from its process's pending list before it is destroyed. */
void engine_forget(struct wq *sq);

/* Process the posted WQEs of an SQ, or leave them to its device thread. */
void engine_start(struct card_function *f, struct wq *sq);

#endif /* MODEL_ENGINE_H */
