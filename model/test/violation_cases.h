/* SPDX-License-Identifier: BSD-3-Clause */

/* Tables of violations and of what provokes just them. */

#ifndef MODEL_TEST_VIOLATION_CASES_H
#define MODEL_TEST_VIOLATION_CASES_H

#include "nic.h"
#include "rig.h"

#define TX_OK	HW_CQE_TX_OKAY
#define TX_OOB	HW_CQE_TX_INVALID_OOB
#define TX_DEAD HW_CQE_TX_GDMA_ERR

struct violation_case {
	enum violation violation;
	enum ledger_queue kind; /* whose queue is named */
	void (*provoke)(void);
};
#define VIOLATION_CASE(name, kind)                        \
	{                                                 \
		VIOLATION_##name, LEDGER_##kind, v_##name \
	}

/* One for each name; and other ways to them. */
extern const struct violation_case ring_cases[], tx_cases[], more_cases[];
extern const uint32_t nb_ring_cases, nb_tx_cases, nb_more_cases;

/* The machine of the running case, and its two ports. */
extern struct rig *rig;
extern struct rig_port *a, *b;
void case_use(struct rig *bench);

/* Send from a: this CQE comes; after TX_DEAD none comes any more. */
void send_expect(const struct rig_wqe *wqe, int type);

/* A frame with checksum request, and an LSO of 3 x 1000, rightly prepared. */
static inline struct rig_wqe
csum_wqe(uint8_t proto)
{
	return rig_csum_wqe(a, proto, false);
}

static inline struct rig_wqe
lso_wqe(void)
{
	return rig_lso_wqe(a, false, 3000);
}

#endif /* MODEL_TEST_VIOLATION_CASES_H */
