/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The table of violations with what causes exactly them.
 */

#ifndef MODEL_TEST_VIOLATION_CASES_H
#define MODEL_TEST_VIOLATION_CASES_H

#include "nic.h"
#include "fixture.h"

#define TX_OK	HW_CQE_TX_OKAY
#define TX_OOB	HW_CQE_TX_INVALID_OOB
#define TX_VP	HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE
#define TX_DEAD HW_CQE_TX_GDMA_ERR

struct violation_case {
	enum violation violation;
	enum violation_queue kind; /* kind of the queue in the record */
	void (*provoke)(void); /* NULL: by what follows */
	/* A WQE, and the type of its CQE; RX: whether a frame has one. */
	enum {
		NO_WQE,
		FRAME,
		LONG,
		UDP,
		TCP,
		LSO,
		RX
	} base;
	int cqe;
	struct fx_edit edits[5];
	/* Without a WQE: a store. */
	uint32_t reg;
	size_t queue; /* offset in struct fx_port */
	uint64_t bits;
	uint32_t nb_bytes;
};
extern const struct violation_case violation_cases[];
extern const uint32_t nb_violation_cases;

/*
 * Send from a and expect this CQE type; after TX_DEAD the queue writes no CQE
 * any more.
 */
void send_expect(const struct fx_wqe *wqe, int type);

/* An Rx WQE of b; a frame of 60 bytes for it, which b receives or not. */
struct fx_wqe rx_wqe(void);
void receive_expect(bool is_received);

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
