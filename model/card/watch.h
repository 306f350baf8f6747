/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets counted for who waits for the n-th: then the card stops between two
 * packets, until watch_go(). A packet is a WQE of an SQ. With the
 * machine's lock held; async-signal-safe.
 */

#ifndef MODEL_WATCH_H
#define MODEL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

struct watch {
	bool is_paused;
	/* next 0: nobody waits. */
	uint64_t nb, next;
	struct {
		uint64_t nb, next;
	} port[MODEL_MAX_FUNCTIONS][MODEL_MAX_PORTS_PER_FUNCTION];
};

/* Packets so far, as far as anybody watched. */
uint64_t watch_count_all(void);
uint64_t watch_count(uint32_t fn, uint32_t port);

/* Stop after the nth packet: the earliest counts. */
void watch_all(uint64_t nth);
void watch_port(uint32_t fn, uint32_t port, uint64_t nth);
/* Forget what was asked for. */
void watch_nothing(void);

/* Go on if the card has stopped. True: it has stopped again. */
bool watch_go(void);

#endif /* MODEL_WATCH_H */
