/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tables of violations with code that causes exactly them.
 */

#ifndef MODEL_TEST_VIOLATION_CASES_H
#define MODEL_TEST_VIOLATION_CASES_H

#include "nic.h"
#include "fixture.h"

#define TX_OK	HW_CQE_TX_OKAY
#define TX_OOB	HW_CQE_TX_INVALID_OOB
#define TX_DEAD HW_CQE_TX_GDMA_ERR

struct violation_case {
	enum violation violation;
	enum violation_queue kind; /* kind of the queue in the record */
	void (*provoke)(void);
};
#define VIOLATION_CASE(name, kind)                        \
	{                                                 \
		VIOLATION_##name, VIOLATION_QUEUE_##kind, v_##name \
	}

/* One case per violation, and further cases. */
extern const struct violation_case ring_cases[], tx_cases[], more_cases[];
extern const uint32_t nb_ring_cases, nb_tx_cases, nb_more_cases;

/* The machine of the current case, and its two ports. */
extern struct fixture *fx;
extern struct fx_port *a, *b;
void case_use(struct fixture *fixture);

/*
 * Send from a and expect this CQE type; after TX_DEAD the queue writes no CQE
 * any more.
 */
void send_expect(const struct fx_wqe *wqe, int type);

/*
 * A correct frame with a checksum request, and a correct LSO of 3 x 1000 bytes.
 */
static inline struct fx_wqe
csum_wqe(uint8_t proto)
{
	return fx_csum_wqe(a, proto, false);
}

static inline struct fx_wqe
lso_wqe(void)
{
	return fx_lso_wqe(a, false, 3000);
}

#endif /* MODEL_TEST_VIOLATION_CASES_H */
