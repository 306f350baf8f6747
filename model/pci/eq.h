/* SPDX-License-Identifier: BSD-3-Clause */

/* Event queues: the device writes events and sends an MSI-X interrupt. */

#ifndef MODEL_EQ_H
#define MODEL_EQ_H

#include "messages.h"
#include "queue.h"

#define EQ_FIRST_ID 80u

struct eq {
	bool is_alive;
	bool is_armed; /* the next event sends an interrupt */
	bool is_stopped; /* overflowed, or its memory is unmapped */
	uint32_t fn, id, pdn, page;
	uint32_t vector; /* MSI-X */
	uint64_t region; /* handle; 0: the memory is no DMA region */
	struct ring ring;
	uint32_t nb_eqes; /* N, a power of two */
	uint32_t pi; /* next EQE to write; starts at N, free running */
	uint32_t ci; /* the guest has read up to here, by its doorbell */
	bool owes_events; /* of CQs */
};

/* A new EQ: empty and armed. The caller has set the fields above nb_eqes. */
void eq_start(struct eq *eq);
/* Write an event; detail is details[0]. */
void eq_post(struct eq *eq, enum eqe_type type, uint32_t detail);
/* The doorbell: index modulo 8 N. False, and a violation, if it is wrong. */
bool eq_doorbell(struct eq *eq, uint32_t index, bool arm);

#endif /* MODEL_EQ_H */
