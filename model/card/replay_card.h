/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completions that come from a recording: see replay.h. Called only when they
 * are replayed, with the machine's lock.
 */

#ifndef MODEL_REPLAY_CARD_H
#define MODEL_REPLAY_CARD_H

#include "card.h"
#include "replay.h"

void replay_queue_created(struct wq *wq);
void replay_queue_destroyed(struct wq *wq);
/* An accepted doorbell moved its producer index from old_pi. */
void replay_posted(struct wq *wq, uint32_t old_pi);

#endif /* MODEL_REPLAY_CARD_H */
