/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Changes of reception while the port runs: queues that start and stop, another
 * key, another table.
 *
 * The kernel can change nothing of an RSS object, allows one of them, and a CQ
 * or WQ that was part of one is used up (Linux mana_ib_create_qp_rss). So all
 * is made anew. What can be made before is; then, with bursts kept off
 * (mana_quiesce.h):
 *
 *   the RSS object is destroyed               the gap begins
 *   what has arrived is taken off the CQs     a backlog, for the next polls
 *   the buffers go from the old rings, by
 *   way of the pool, to the new ones
 *   the old objects go, and the new RSS
 *   object is made; doorbells                 the gap ends
 *   the queues get their new rings
 *
 * What arrives in the gap is dropped by the device; nothing else is lost. When
 * the kernel refuses the new object, one as before is made. Here is what is done
 * with bursts running, mana_rx_gap.c has the rest.
 */

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "mana.h"
#include "mana_diag.h"
#include "mana_queue.h"
#include "mana_quiesce.h"
#include "mana_rx_gap.h"

/* ---- New objects --------------------------------------------------------- */

void
mana_rx_objects_destroy(struct mana_rx_rebuild *change)
{
	const struct mana_priv *priv = change->priv;
	uint32_t i;

	(void)mana_queue_is_gone(priv, "RSS object",
				 mana_verbs_qp_destroy(change->rss_qp));
	(void)mana_queue_is_gone(priv, "RSS table",
				 mana_verbs_ind_destroy(change->ind));
	change->rss_qp = NULL;
	change->ind = NULL;
	for (i = 0; i < priv->nb_wqs; i++) {
		struct mana_rx_slot_change *slot = &change->slots[i];

		mana_rxq_destroy(priv, slot->cq, slot->wq);
		slot->cq = NULL;
		slot->wq = NULL;
	}
}

int
mana_rx_objects_create(struct mana_rx_rebuild *change)
{
	struct mana_priv *priv = change->priv;
	struct ibv_wq *wqs[MANA_MAX_RXQ];
	uint32_t i;
	int ret;

	for (i = 0; i < priv->nb_wqs; i++) {
		struct mana_rx_slot_change *slot = &change->slots[i];

		ret = mana_rxq_create(priv, slot->new, &slot->cq, &slot->wq);
		if (ret != 0) {
			mana_rxq_diag(priv, slot->new, 0, false, ret);
			return ret;
		}
		wqs[i] = slot->wq;
	}
	ret = mana_rss_table_create(priv, wqs, &change->ind);
	if (ret != 0)
		mana_diag_object(priv->data->name, &priv->netdev, "RSS table",
				 MANA_DIAG_NO_ID, ret);
	return ret;
}

/* ---- Before the gap ------------------------------------------------------ */

/* A queue that is not yet there: its mbufs are found now, or else nothing is done. */
static int
newcomer_lay(struct mana_priv *priv, struct mana_rx_slot_change *slot)
{
	int ret;

	ret = mana_rxq_lay(priv, slot->new, slot->rxq, slot->cq, slot->wq);
	if (ret != 0)
		mana_rxq_diag(priv, slot->new, mana_rxq_nb_posted(slot->rxq),
			      true, ret);
	return ret;
}

static int
slot_prepare(struct mana_priv *priv, struct mana_rx_slot_change *slot, uint32_t index)
{
	uint32_t nb;

	slot->old = priv->slots[index];
	slot->new = mana_rx_slot_queue(priv, index, slot->old);
	if (slot->new == NULL)
		return -ENOMEM;
	/* It can only shrink, and no more than all posted can arrive. */
	nb = mana_rxq_nb_backlog(&slot->old->rxq) + slot->old->nb_desc +
	     MANA_RX_TAKE_BURST;
	slot->taken = mana_queue_alloc("mana_rxq", nb * sizeof(*slot->taken),
				       slot->old->socket_id);
	slot->rxq = mana_queue_alloc("mana_rxq", sizeof(*slot->rxq),
				     slot->new->socket_id);
	if (slot->taken == NULL || slot->rxq == NULL)
		return -ENOMEM;
	memcpy(slot->rxq, &slot->new->rxq, sizeof(*slot->rxq));
	return 0;
}

static int
change_prepare(struct mana_rx_rebuild *change)
{
	struct mana_priv *priv = change->priv;
	int ret = 0;
	uint32_t i;

	change->slots = mana_queue_alloc("mana_rxq", priv->nb_wqs *
						     sizeof(*change->slots),
					 priv->data->numa_node);
	if (change->slots == NULL)
		return -ENOMEM;
	for (i = 0; i < priv->nb_wqs && ret == 0; i++)
		ret = slot_prepare(priv, &change->slots[i], i);
	if (ret == 0)
		ret = mana_rx_objects_create(change);
	for (i = 0; i < priv->nb_wqs && ret == 0; i++)
		if (change->slots[i].new != change->slots[i].old)
			ret = newcomer_lay(priv, &change->slots[i]);
	return ret;
}

/* Nothing of the new queue has been seen by anybody. */
void
mana_rx_newcomer_drop(struct mana_priv *priv, struct mana_rx_slot_change *slot)
{
	if (slot->new == NULL || slot->new == slot->old)
		return;
	if (slot->rxq != NULL)
		mana_rxq_release_mbufs(slot->rxq, true);
	mana_rx_slot_drop(priv, slot->new);
	slot->new = slot->old;
}

static void
change_end(struct mana_rx_rebuild *change)
{
	struct mana_priv *priv = change->priv;
	uint32_t i;

	if (change->slots == NULL)
		return;
	mana_rx_objects_destroy(change);
	for (i = 0; i < priv->nb_wqs; i++) {
		mana_rx_newcomer_drop(priv, &change->slots[i]);
		rte_free(change->slots[i].taken);
		rte_free(change->slots[i].rxq);
	}
	rte_free(change->slots);
	change->slots = NULL;
	mana_rx_sinks_end(priv);
}

/* ---- All together ---------------------------------------------------------- */

void
mana_rx_setting_get(const struct mana_priv *priv,
		    struct mana_rx_setting *setting)
{
	memcpy(setting->key, priv->rss_key, sizeof(setting->key));
	memcpy(setting->reta, priv->reta, sizeof(setting->reta));
	memcpy(setting->states, priv->data->rx_queue_state,
	       sizeof(setting->states));
}

void
mana_rx_setting_apply(struct mana_priv *priv, const struct mana_rx_setting *setting)
{
	memcpy(priv->rss_key, setting->key, sizeof(setting->key));
	memcpy(priv->reta, setting->reta, sizeof(setting->reta));
	memcpy(priv->data->rx_queue_state, setting->states,
	       sizeof(setting->states));
}

/* Whether it is more than queues without a work queue that differ. */
static bool
is_slot_concerned(const struct mana_priv *priv, const struct mana_rx_setting *now,
		  const struct mana_rx_setting *before)
{
	return memcmp(now->key, before->key, sizeof(now->key)) != 0 ||
	       memcmp(now->reta, before->reta, sizeof(now->reta)) != 0 ||
	       memcmp(now->states, before->states,
		      RTE_MIN(priv->nb_wqs, RTE_DIM(now->states))) != 0;
}

/* Such a queue may be the one that polls a sink. */
static int
chain_anew(struct mana_priv *priv, const struct mana_rx_setting *before)
{
	int ret;

	ret = mana_quiesce_rx(priv);
	if (ret != 0) {
		mana_rx_setting_apply(priv, before);
		return ret;
	}
	mana_rx_slots_chain(priv);
	mana_rx_release_armed(priv);
	return 0;
}

int
mana_rx_change(struct mana_priv *priv, const struct mana_rx_setting *setting)
{
	struct mana_rx_rebuild change = { .priv = priv };
	struct mana_rx_setting before;
	int ret;

	mana_rx_setting_get(priv, &before);
	if (memcmp(&before, setting, sizeof(before)) == 0)
		return 0;
	mana_rx_setting_apply(priv, setting);
	if (!priv->data->dev_started || priv->nb_wqs == 0)
		return 0;
	if (!is_slot_concerned(priv, setting, &before))
		return chain_anew(priv, &before);
	ret = change_prepare(&change);
	if (ret == 0)
		ret = mana_quiesce_rx(priv);
	if (ret == 0) {
		ret = mana_rx_gap(&change, &before);
		if (ret != 0)
			mana_diag_object(priv->data->name, &priv->netdev,
					 "RSS over the receive queues",
					 MANA_DIAG_NO_ID, ret);
	}
	if (ret != 0)
		mana_rx_setting_apply(priv, &before);
	change_end(&change);
	return ret;
}
