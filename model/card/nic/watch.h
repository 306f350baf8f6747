/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Count packets and stop the card after the n-th one, for commands that wait
 * for it. The card stops between two packets, until card_go() is called. A
 * packet is a WQE of an SQ. Call these with the machine's lock held; they are
 * async-signal-safe.
 */

#ifndef MODEL_WATCH_H
#define MODEL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

struct watch {
	bool is_paused;
	/* Stop after packet number next; 0: do not stop. */
	uint64_t nb, next;
	struct {
		uint64_t nb, next;
	} port[MODEL_MAX_FUNCTIONS][MODEL_MAX_PORTS_PER_FUNCTION];
};

/* Packets counted so far; the card counts only while a watch is set. */
uint64_t watch_count_all(void);
uint64_t watch_count(uint32_t fn, uint32_t port);

/* Stop after the nth packet. Of several requests the earliest applies. */
void watch_all(uint64_t nth);
void watch_port(uint32_t fn, uint32_t port, uint64_t nth);
/* Cancel all requests. */
void watch_nothing(void);

/* Count a sent packet, while card->is_watched. True: stop the card now. */
struct wq;
bool watch_packet(const struct wq *sq);

#endif /* MODEL_WATCH_H */
