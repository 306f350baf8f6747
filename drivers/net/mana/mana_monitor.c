/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Where a core may wait for the next packet: the word of the next CQE that
 * the device writes last (rte_power, monitor mode).
 *
 * The address is good for one wait, right after a poll that brought nothing:
 * every packet moves it on, and each lap of the ring has other owner bits.
 */

#include <errno.h>

#include <rte_power_intrinsics.h>

#include "mana.h"
#include "mana_ethdev.h"

/* The owner bits of a CQE not yet written. */
#define OPAQUE_EMPTY 0
/* No owner bits are like this: never wait. */
#define NOT_EMPTY UINT64_MAX

/* 0: nothing there, wait. -1: there is, do not. */
static int
trailer_check(const uint64_t val, const uint64_t opaque[RTE_POWER_MONITOR_OPAQUE_SZ])
{
	uint32_t trailer = rte_le_to_cpu_32((uint32_t)val);

	return (trailer & MANA_CQ_OWNER_M) == opaque[OPAQUE_EMPTY] ? 0 : -1;
}

int
mana_get_monitor_addr(void *queue, struct rte_power_monitor_cond *pmc)
{
	struct mana_rxq *rxq = queue;
	const struct mana_cq *cq;
	uint64_t empty;

	if (rxq == NULL)
		return -EINVAL;
	/* One address cannot stand for several CQs. */
	if (mana_rxq_has_chain(rxq))
		return -ENOTSUP;
	if (!mana_rxq_look_begin(rxq))
		return -EBUSY;
	cq = &rxq->cq;
	if (cq->ring == NULL || mana_cq_is_closed(cq)) {
		mana_rxq_look_end(rxq);
		return -EINVAL;
	}
	/*
	 * What waits elsewhere writes nothing there, nor does a device
	 * without a buffer, which the next poll may give it.
	 */
	if (rxq->odd.any != 0 || mana_rxq_nb_posted(rxq) == 0)
		empty = NOT_EMPTY;
	else
		empty = mana_cq_owner(cq, cq->ci - mana_cq_size(cq));
	pmc->addr = (void *)(uintptr_t)&mana_cq_cqe(cq, cq->ci)->trailer;
	pmc->size = sizeof(uint32_t);
	pmc->fn = trailer_check;
	pmc->opaque[OPAQUE_EMPTY] = empty;
	mana_rxq_look_end(rxq);
	return 0;
}
