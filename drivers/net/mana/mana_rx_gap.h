/* SPDX-License-Identifier: BSD-3-Clause */

/* Between the two files of a change of reception: mana_rx_change.c tells of it. */

#ifndef MANA_RX_GAP_H
#define MANA_RX_GAP_H

#include "mana.h"

/* What becomes of one slot. */
struct mana_rx_slot_change {
	struct mana_rxq_ctl *old; /* never NULL */
	struct mana_rxq_ctl *new; /* never NULL, may be the old one */
	/* New objects, and the queue as it will be with them. */
	struct ibv_cq *cq;
	struct ibv_wq *wq;
	struct mana_rxq *rxq;
	/* What the old one had received. */
	struct rte_mbuf **taken;
	uint32_t nb_taken;
};

/* All of a change. */
struct mana_rx_rebuild {
	struct mana_priv *priv;
	struct mana_rx_slot_change *slots;
	struct ibv_rwq_ind_table *ind;
	struct ibv_qp *rss_qp;
	uint64_t began_ns;
};

/* ---- mana_rx_change.c -------------------------------------------------------- */

/* CQs, WQs and table of all slots; what there is of them is destroyed. */
int mana_rx_objects_create(struct mana_rx_rebuild *change);
void mana_rx_objects_destroy(struct mana_rx_rebuild *change);
/* The slot goes on with its old queue. */
void mana_rx_newcomer_drop(struct mana_priv *priv,
			   struct mana_rx_slot_change *slot);
void mana_rx_setting_apply(struct mana_priv *priv,
			   const struct mana_rx_setting *setting);

/* ---- mana_rx_gap.c ------------------------------------------------------------ */

/*
 * From the old objects to the prepared ones, or to such as before. The queues
 * are held, and not any more on return. 0, or why reception is as before; or has
 * ended, after a message.
 */
int mana_rx_gap(struct mana_rx_rebuild *change,
		const struct mana_rx_setting *before);
/*
 * Lets bursts in again, the CQs of queues whose interrupt is enabled being
 * armed: they may be new ones.
 */
void mana_rx_release_armed(struct mana_priv *priv);

#endif /* MANA_RX_GAP_H */
