/* SPDX-License-Identifier: BSD-3-Clause */

/* Doorbells, and the work they start. The caller holds the machine's lock. */

#ifndef MODEL_ENGINE_H
#define MODEL_ENGINE_H

#include "card_state.h"
#include "replay.h"

/* Remove an SQ from its process's pending list before it is destroyed. */
void engine_forget(struct wq *sq);

/* Rebuild the pending lists after the lock's holder was killed. */
void engine_recover(void);

/* Count a sent packet, while card->is_watched. True: stop the card now. */
bool watch_packet(const struct wq *sq);

/* Process the posted WQEs of an SQ, or leave them to its device thread. */
void engine_start(struct card_function *f, struct wq *sq);

/* Recorded completions, see replay.h; only while replaying them. */
void replay_queue_created(struct wq *wq);
void replay_queue_destroyed(struct wq *wq);
/* An accepted doorbell moved its producer index from old_pi. */
void replay_posted(struct wq *wq, uint32_t old_pi);

#endif /* MODEL_ENGINE_H */
