/* SPDX-License-Identifier: BSD-3-Clause */

/* What the files of the transmit path share among themselves. */

#ifndef MANA_TX_H
#define MANA_TX_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "mana_rxtx.h"
#include "mana_tx_csum.h"

/*
 * Shortest frame that has a meaning. Not padded: no driver does (Linux posts
 * skb->len as it is).
 */
#define MANA_TX_MIN_BYTES RTE_ETHER_HDR_LEN

/*
 * May the driver write into the first segment? ethdev: not when anyone else
 * holds a reference. An external buffer may even be read-only memory, unless
 * it is the pool's own.
 */
static inline bool
mana_tx_hdr_is_private(const struct rte_mbuf *m)
{
	return rte_mbuf_refcnt_read(m) == 1 &&
	       (likely(RTE_MBUF_DIRECT(m)) || RTE_MBUF_HAS_PINNED_EXTBUF(m));
}

/*
 * An mbuf that is alone, direct and only ours needs no look when its
 * completion comes: whoever does not hold a reference now cannot get one. It
 * goes back to its pool as it is.
 */
static inline bool
mana_tx_is_plain(const struct rte_mbuf *m)
{
	return m->nb_segs == 1 && rte_mbuf_refcnt_read(m) == 1 &&
	       RTE_MBUF_DIRECT(m);
}

/*
 * A word of a WQE. A plain store: paired in vectors by the compiler they cost
 * more.
 */
static inline void
mana_wqe_set(uint64_t *word, uint64_t value)
{
	*(volatile uint64_t *)word = rte_cpu_to_le_64(value);
}

/* Half a word of a WQE. */
typedef uint32_t mana_u32 __attribute__((may_alias));

/* An SGE. Key and size are stored each: putting them together costs more. */
static inline void
mana_sge_set(uint64_t *sge, uint64_t addr, uint32_t key, uint32_t size_bytes)
{
	volatile mana_u32 *halves = (volatile mana_u32 *)&sge[1];

	mana_wqe_set(sge, addr);
	halves[0] = rte_cpu_to_le_32(key);
	halves[1] = rte_cpu_to_le_32(size_bytes);
}

/* The only reference is ours; a plain load. */
static inline bool
mana_tx_is_ours(const struct rte_mbuf *m)
{
	uint16_t refcnt;

	memcpy(&refcnt, RTE_PTR_ADD(m, offsetof(struct rte_mbuf, refcnt)),
	       sizeof(refcnt));
	return refcnt == 1;
}

/* RTE_MBUF_DIRECT() by one byte. */
static inline bool
mana_tx_is_direct(const struct rte_mbuf *m)
{
	return ((uint8_t)(m->ol_flags >> 56) & MANA_TX_OL_NOT_DIRECT >> 56) == 0;
}

/* One reference, one segment: two halves of a word. */
static inline void
mana_tx_set_alone(struct rte_mbuf *m)
{
	uint32_t word = 0x00010001;

	memcpy(RTE_PTR_ADD(m, offsetof(struct rte_mbuf, refcnt)), &word,
	       sizeof(word));
}

static inline bool
mana_tx_is_alone(const struct rte_mbuf *m)
{
	uint32_t word;

	memcpy(&word, RTE_PTR_ADD(m, offsetof(struct rte_mbuf, refcnt)),
	       sizeof(word));
	return word == 0x00010001;
}
static_assert(offsetof(struct rte_mbuf, nb_segs) ==
	      offsetof(struct rte_mbuf, refcnt) + sizeof(uint16_t), "rte_mbuf");

/* The WQE at bu, which is not the device's yet, asks for a CQE. */
static inline void
mana_tx_want_cqe(struct mana_txq *txq, uint32_t bu)
{
	mana_wq_bu(&txq->sq, bu)[1] &=
		~rte_cpu_to_le_64(UINT64_C(1) << MANA_TX_OOB_NO_CQE_S);
}

/*
 * The group that is being filled is full, or the burst ends: its last WQE
 * asks for a CQE.
 */
static inline void
mana_tx_group_close(struct mana_txq *txq)
{
	struct mana_tx_group *group =
		&txq->groups[txq->group_pi++ & txq->mask];

	mana_tx_want_cqe(txq, txq->last_bu);
	group->mp = txq->open_mp;
	group->wqe_end = txq->pi;
	group->mbuf_end = txq->mbuf_pi;
	group->bu_end = txq->sq.pi;
	group->bu_at = txq->last_bu;
	txq->open_pi = txq->pi;
	txq->open_bu = txq->sq.pi;
}

/*
 * A WQE of nb_bu has been written at sq.pi, with txq->no_cqe in its OOB, and
 * nb_mbufs entries behind the last one of the mbuf ring: it is posted.
 *
 * @param mp
 *   The pool of all these mbufs, each of them plain; NULL: look at them.
 */
static inline void
mana_tx_post(struct mana_txq *txq, uint32_t nb_bu, uint32_t nb_mbufs,
	     struct rte_mempool *mp)
{
	uint32_t pi = txq->pi;

	if (pi == txq->open_pi)
		txq->open_mp = mp;
	else if (txq->open_mp != mp)
		txq->open_mp = NULL;
	txq->info[pi & txq->mask] = MANA_TX_INFO(nb_bu, nb_mbufs);
	txq->last_bu = txq->sq.pi;
	txq->sq.pi += nb_bu;
	txq->mbuf_pi += nb_mbufs;
	txq->pi++;
	if (pi + 1 - txq->open_pi >= txq->group_wqes ||
	    txq->sq.pi - txq->open_bu >= txq->group_bu)
		mana_tx_group_close(txq);
}

/*
 * Post a WQE of nb_bu that has been written at sq.pi, with txq->no_cqe in its
 * OOB: sq.pi and pi move. The packet is freed when it has completed, as
 * rte_pktmbuf_free() does.
 */
static inline void
mana_tx_record(struct mana_txq *txq, struct rte_mbuf *m, uint32_t nb_bu)
{
	txq->mbufs[txq->mbuf_pi & txq->mbuf_mask] = m;
	mana_tx_post(txq, nb_bu, 1, mana_tx_is_plain(m) ? m->pool : NULL);
}

/**
 * Make this pool that of the run and of the wide way: txq->mp, txq->lkey.
 *
 * @return
 *   False when the pool is not in one memory region, or too many of them take
 *   turns.
 */
bool mana_tx_pool_use(struct mana_txq *txq, struct rte_mempool *mp);
/* A region has gone: no key is known any more. */
void mana_tx_pools_forget(struct mana_txq *txq);

/**
 * Post packets whose segments are plain mbufs of txq->mp, with VLAN tag and
 * checksum request, in the short or the long OOB, or with segmentation in the
 * short one, as long as there is room. Each chain is undone: each segment is
 * freed for itself, with the pool's others.
 *
 * @param nb
 *   Packets at most; the queue has room for one WQE at least.
 * @return
 *   Packets posted. The next one is as it was.
 */
uint32_t mana_tx_wide_run(struct mana_txq *txq, struct rte_mbuf **pkts,
			  uint32_t nb);

/**
 * Post one packet of any shape: the general way.
 *
 * @return
 *   Bytes posted: sq.pi and pi have moved. 0: the packet can never be sent; it
 *   has been freed and counted. -EAGAIN: no room in the ring; nothing has
 *   changed, the packet is still the caller's.
 */
int mana_tx_put_any(struct mana_txq *txq, struct rte_mbuf *m);

#endif /* MANA_TX_H */
