/* SPDX-License-Identifier: BSD-3-Clause */

/* From doorbells to work. With the machine's lock held. */

#ifndef MODEL_ENGINE_H
#define MODEL_ENGINE_H

#include "card.h"

/* Take an SQ out of its process's list of work, before it is destroyed. */
void engine_forget(struct wq *sq);

/* List again what has work: who held the lock was killed. */
void engine_recover(void);

/* One more packet sent, while card->is_watched. True: stop here. */
bool watch_packet(const struct wq *sq);

/* Do what an SQ has posted, or have its device thread do it. */
void engine_start(struct card_function *f, struct wq *sq);

#endif /* MODEL_ENGINE_H */
