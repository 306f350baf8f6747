/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completions that may or may not have used WQEs: those of unknown type (Linux
 * says no, OpenVMM yes) and those of a packet without length (Linux says no). A
 * wrong guess would deliver each later packet in the buffer of another one.
 * Therefore the next completion with a packet decides. The distance of its
 * rx_wqe_offset from that of the last sure completion is compared with distances
 * of earlier completions. If these say nothing, or more WQEs than the doubtful ones
 * may have used, the queue stops.
 *
 * The meaning of rx_wqe_offset is not known either: bytes (OpenVMM's emulator) or
 * BUs (OpenVMM net_mana's trace), of the first or of the last of several WQEs. The
 * driver tries each meaning that earlier completions agree with, and the results
 * must agree. All distances are modulo the ring.
 */

#include <rte_byteorder.h>

#include "mana_rx.h"

/* Meanings of rx_wqe_offset: bits of an index below MANA_RX_NB_MEANINGS. */
#define MANA_RX_MEANS_BU 1u
#define MANA_RX_MEANS_LAST 2u
#define MANA_RX_NB_MEANINGS 4u

#define MANA_RX_NB_EARLIER 64u /* completions that are looked back at */
#define MANA_RX_NO_WQES UINT32_MAX

/* cqe: a private copy. */
static struct mana_rx_mark
mana_rx_mark(const struct gdma_cqe *cqe)
{
	return (struct mana_rx_mark){
		.offset = rte_le_to_cpu_32(cqe->rx.wqe_offset),
		.nb_wqes = mana_rx_cqe_nb_wqes(cqe),
	};
}

/*
 * WQEs, up to max, that lie between those of two completions, by one meaning
 * of the offset; MANA_RX_NO_WQES when no number explains it.
 */
static uint32_t
mana_rx_wqes_between(const struct mana_rxq *rxq, uint32_t meaning,
		     const struct mana_rx_mark *from,
		     const struct mana_rx_mark *to, uint32_t max)
{
	const uint32_t shift = (meaning & MANA_RX_MEANS_BU) != 0 ?
				       0 : GDMA_BU_SHIFT;
	const uint32_t wqe = rxq->scatter.wqe_bu << shift;
	const uint32_t mask = ((rxq->rq.mask_bu + 1) << shift) - 1;
	uint32_t left;

	left = to->offset - from->offset -
	       wqe * ((meaning & MANA_RX_MEANS_LAST) != 0 ? to->nb_wqes :
							    from->nb_wqes);
	for (uint32_t i = 0; i <= max; i++, left -= wqe)
		if ((left & mask) == 0)
			return i;
	return MANA_RX_NO_WQES;
}

/*
 * Find the last sure completion before idx, and the meanings that explain the
 * offsets of all neighbours among the completions that are still in the ring. Of
 * a completion without WQEs, neighbours say nothing. If no two completions can be
 * compared, the meanings that have settled an earlier doubt remain.
 */
static void
mana_rx_look_back(struct mana_rxq *rxq, uint32_t idx)
{
	struct mana_rx_doubt *doubt = &rxq->doubt;
	struct mana_rx_mark next = {0}, mark;
	uint32_t meanings = RTE_BIT32(MANA_RX_NB_MEANINGS) - 1;
	bool is_nearest = true, is_compared = false;
	struct gdma_cqe cqe;

	doubt->before = next;
	for (uint32_t i = 1; i <= MANA_RX_NB_EARLIER; i++) {
		if (!mana_cq_copy(&rxq->cq, idx - i, &cqe) ||
		    mana_rx_cqe_type(&cqe) == MANA_CQE_RX_OBJECT_FENCE)
			continue;
		mark = mana_rx_mark(&cqe);
		if (is_nearest)
			doubt->before = mark;
		is_nearest = false;
		if (mark.nb_wqes != 0 && next.nb_wqes != 0) {
			is_compared = true;
			for (uint32_t k = 0; k < MANA_RX_NB_MEANINGS; k++)
				if (mana_rx_wqes_between(rxq, k, &mark, &next, 0) != 0)
					meanings &= ~RTE_BIT32(k);
		}
		next = mark;
	}
	if (is_compared)
		doubt->meanings = meanings;
	if (doubt->before.nb_wqes == 0)
		doubt->meanings = 0;
}

__rte_noinline __rte_cold void
mana_rx_doubt(struct mana_rxq *rxq, uint32_t max_wqes)
{
	/* The completion was taken already. */
	if (rxq->doubt.nb++ == 0) {
		mana_rx_look_back(rxq, rxq->cq.ci - 1);
		rxq->doubt.max_wqes = 0;
	}
	rxq->doubt.max_wqes += max_wqes;
	/* Without a posted WQE the device would never send the next completion. */
	if (rxq->doubt.meanings == 0 ||
	    rxq->doubt.max_wqes >= mana_rxq_nb_posted(rxq))
		mana_rxq_fail(rxq, MANA_FAILURE_UNKNOWN_CQE);
}

__rte_noinline __rte_cold bool
mana_rx_resync(struct mana_rxq *rxq, const struct gdma_cqe *cqe)
{
	const struct mana_rx_mark next = mana_rx_mark(cqe);
	const uint32_t posted = mana_rxq_nb_posted(rxq);
	struct mana_rx_doubt *doubt = &rxq->doubt;
	uint32_t nb = MANA_RX_NO_WQES, max, found;

	/* A CQE without packets says nothing. */
	if (next.nb_wqes == 0)
		return true;
	max = RTE_MIN(posted - RTE_MIN(posted, next.nb_wqes),
		      doubt->max_wqes);
	for (uint32_t k = 0; k < MANA_RX_NB_MEANINGS; k++) {
		if ((doubt->meanings & RTE_BIT32(k)) == 0)
			continue;
		found = mana_rx_wqes_between(rxq, k, &doubt->before, &next, max);
		if (found == MANA_RX_NO_WQES) {
			doubt->meanings &= ~RTE_BIT32(k);
			continue;
		}
		if (nb != MANA_RX_NO_WQES && nb != found) {
			nb = MANA_RX_NO_WQES;
			break;
		}
		nb = found;
	}
	if (nb == MANA_RX_NO_WQES) {
		mana_bad_cqe_note(&rxq->bad_cqes, cqe, MANA_BAD_CQE_POSITION);
		mana_rxq_fail(rxq, MANA_FAILURE_UNKNOWN_CQE);
		return false;
	}
	doubt->nb = 0;
	for (uint32_t k = 0; k < nb; k++)
		mana_rx_drop(rxq, &rxq->stats.resynced);
	return true;
}
