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
 * the kernel refuses the new object, one as before is made.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "mana.h"
#include "mana_diag.h"
#include "mana_log.h"
#include "mana_queue.h"
#include "mana_quiesce.h"

/* What becomes of one slot. */
struct slot_change {
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

struct rx_change {
	struct mana_priv *priv;
	struct slot_change *slots;
	struct ibv_rwq_ind_table *ind;
	struct ibv_qp *rss_qp;
	uint64_t began_ns;
};

static uint64_t
now_ns(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- New objects --------------------------------------------------------- */

static void
objects_destroy(struct rx_change *change)
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
		struct slot_change *slot = &change->slots[i];

		mana_rxq_destroy(priv, slot->cq, slot->wq);
		slot->cq = NULL;
		slot->wq = NULL;
	}
}

static int
objects_create(struct rx_change *change)
{
	struct mana_priv *priv = change->priv;
	struct ibv_wq *wqs[MANA_MAX_RXQ];
	uint32_t i;
	int ret;

	for (i = 0; i < priv->nb_wqs; i++) {
		struct slot_change *slot = &change->slots[i];

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
newcomer_lay(struct mana_priv *priv, struct slot_change *slot)
{
	int ret;

	ret = mana_rxq_lay(priv, slot->new, slot->rxq, slot->cq, slot->wq);
	if (ret != 0)
		mana_rxq_diag(priv, slot->new, mana_rxq_nb_posted(slot->rxq),
			      true, ret);
	return ret;
}

static int
slot_prepare(struct mana_priv *priv, struct slot_change *slot, uint32_t index)
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
change_prepare(struct rx_change *change)
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
		ret = objects_create(change);
	for (i = 0; i < priv->nb_wqs && ret == 0; i++)
		if (change->slots[i].new != change->slots[i].old)
			ret = newcomer_lay(priv, &change->slots[i]);
	return ret;
}

/* Nothing of the new queue has been seen by anybody. */
static void
newcomer_drop(struct mana_priv *priv, struct slot_change *slot)
{
	if (slot->new == NULL || slot->new == slot->old)
		return;
	if (slot->rxq != NULL)
		mana_rxq_release_mbufs(slot->rxq, true);
	mana_rx_slot_drop(priv, slot->new);
	slot->new = slot->old;
}

static void
change_end(struct rx_change *change)
{
	struct mana_priv *priv = change->priv;
	uint32_t i;

	if (change->slots == NULL)
		return;
	objects_destroy(change);
	for (i = 0; i < priv->nb_wqs; i++) {
		newcomer_drop(priv, &change->slots[i]);
		rte_free(change->slots[i].taken);
		rte_free(change->slots[i].rxq);
	}
	rte_free(change->slots);
	change->slots = NULL;
	mana_rx_sinks_end(priv);
}

/* ---- The gap ------------------------------------------------------------- */

/* Reception ends. On failure nothing has changed. */
static int
gap_begin(struct rx_change *change)
{
	struct mana_priv *priv = change->priv;
	int ret;

	change->began_ns = now_ns();
	ret = mana_verbs_qp_destroy(priv->rss_qp);
	if (!mana_queue_is_gone(priv, "RSS object", ret))
		return ret;
	priv->rss_qp = NULL;
	(void)mana_queue_is_gone(priv, "RSS table",
				 mana_verbs_ind_destroy(priv->ind));
	priv->ind = NULL;
	return 0;
}

/*
 * All packets of the old queue into taken, all its buffers into the pool. Its
 * objects go at once: the kernel keeps a CQ's id till then, and refuses an
 * RSS object to which the device gives the id again (mana_ib_install_cq_cb).
 */
static void
slot_take(const struct mana_priv *priv, struct slot_change *slot)
{
	struct mana_rxq *rxq = &slot->old->rxq;
	uint32_t nb = mana_rxq_nb_backlog(rxq);
	/* Bursts look at held, so all else is done with a copy. */
	struct mana_rxq copy;

	memcpy(&copy, rxq, sizeof(copy));
	if (nb != 0)
		memcpy(slot->taken, rxq->more.backlog + rxq->more.backlog_next,
		       nb * sizeof(*slot->taken));
	rxq->more.backlog_next = rxq->more.backlog_nb;
	nb += mana_rxq_take(&copy, priv->rx_burst, slot->taken + nb);
	slot->nb_taken = nb;
	mana_rxq_release_mbufs(&copy, true);
	mana_rxq_replace(rxq, &copy);
	if (slot->new == slot->old)
		memcpy(slot->rxq, &copy, sizeof(copy));
	mana_rxq_destroy(priv, slot->old->cq, slot->old->wq);
	slot->old->cq = NULL;
	slot->old->wq = NULL;
	mana_rxq_idle(priv, slot->old);
}

/* Fresh rings for all; those that go on do with what mbufs there are. */
static int
slots_lay(struct rx_change *change, bool newcomers_too)
{
	uint32_t i;
	int ret;

	for (i = 0; i < change->priv->nb_wqs; i++) {
		struct slot_change *slot = &change->slots[i];

		if (slot->new != slot->old && !newcomers_too)
			continue;
		mana_rxq_release_mbufs(slot->rxq, true);
		ret = mana_rxq_lay(change->priv, slot->new, slot->rxq, slot->cq,
				   slot->wq);
		if (ret != 0 && ret != -ENOMEM)
			return ret;
	}
	return 0;
}

static int
rss_make(struct rx_change *change)
{
	struct mana_priv *priv = change->priv;
	uint32_t i;
	int ret;

	ret = mana_verbs_rss_create(priv->parent, change->ind, priv->rss_key,
				    &change->rss_qp);
	for (i = 0; i < priv->nb_wqs && ret == 0; i++) {
		struct slot_change *slot = &change->slots[i];

		ret = mana_rxq_enable(slot->rxq, slot->cq, slot->wq);
	}
	if (ret != 0) {
		(void)mana_verbs_qp_destroy(change->rss_qp);
		change->rss_qp = NULL;
	}
	return ret;
}

/* The objects of an attempt are used up. */
static int
rss_make_again(struct rx_change *change)
{
	int ret;

	objects_destroy(change);
	ret = objects_create(change);
	if (ret == 0)
		ret = slots_lay(change, true);
	return ret != 0 ? ret : rss_make(change);
}

/* ---- Interrupts ---------------------------------------------------------- */

/*
 * Lets bursts in again, the CQs of queues whose interrupt is enabled being
 * armed: they may be new ones.
 */
static void
release_armed(struct mana_priv *priv)
{
	uint16_t i;

	for (i = 0; priv->rx_intrs != NULL && i < priv->data->nb_rx_queues; i++)
		if (mana_atomic_load(&priv->rx_intrs[i].is_armed) != 0 &&
		    priv->data->rx_queues[i] != NULL)
			mana_rxq_arm_held(priv->data->rx_queues[i]);
	mana_quiesce_end(priv);
}

/* ---- After it -------------------------------------------------------------- */

/* What the old queue had received: for its next polls, unless nobody wants it. */
static void
taken_give(struct slot_change *slot)
{
	struct mana_rxq *rxq = &slot->old->rxq;

	if (slot->nb_taken == 0)
		return;
	if (slot->old == slot->new && slot->old->kind != MANA_RXQ_SINK) {
		mana_rxq_backlog(rxq, slot->taken, slot->nb_taken);
		slot->taken = NULL;
	} else {
		rte_pktmbuf_free_bulk(slot->taken, slot->nb_taken);
		rxq->stats.stopped += slot->nb_taken;
	}
	slot->nb_taken = 0;
}

static void
slot_commit(struct mana_priv *priv, struct slot_change *slot, uint32_t index)
{
	struct mana_rxq_ctl *ctl = slot->new;

	mana_rxq_backlog(&slot->old->rxq, NULL, 0);
	mana_rxq_replace(&ctl->rxq, slot->rxq);
	ctl->cq = slot->cq;
	ctl->wq = slot->wq;
	slot->cq = NULL;
	slot->wq = NULL;
	priv->slots[index] = ctl;
	taken_give(slot);
}

static void
change_commit(struct rx_change *change)
{
	struct mana_priv *priv = change->priv;
	uint32_t i;

	priv->rss_qp = change->rss_qp;
	priv->ind = change->ind;
	change->rss_qp = NULL;
	change->ind = NULL;
	for (i = 0; i < priv->nb_wqs; i++)
		slot_commit(priv, &change->slots[i], i);
	mana_rx_slots_chain(priv);
	release_armed(priv);
	for (i = 0; i < priv->nb_wqs; i++) {
		struct slot_change *slot = &change->slots[i];

		/* The old queue is what the end shall drop now. */
		if (slot->new != slot->old)
			mana_rx_slot_drop(priv, slot->old);
		slot->old = slot->new;
	}
}

/* Neither the new nor the old way: no packet comes until the next change. */
static void
change_give_up(struct rx_change *change)
{
	struct mana_priv *priv = change->priv;
	uint32_t i;

	MANA_PORT_LOG(ERR, priv->data->name,
		      "reception has ended: stop the port and start it again");
	for (i = 0; i < priv->nb_wqs; i++) {
		struct slot_change *slot = &change->slots[i];

		mana_rxq_release_mbufs(slot->rxq, true);
		mana_rxq_backlog(&slot->old->rxq, NULL, 0);
		taken_give(slot);
	}
	mana_rx_slots_chain(priv);
	mana_quiesce_end(priv);
}

static void
gap_note(struct rx_change *change)
{
	struct mana_priv *priv = change->priv;
	uint64_t gap_ns = now_ns() - change->began_ns;

	priv->counters.rss_gaps++;
	priv->counters.rss_gap_ns += gap_ns;
	priv->counters.rss_gap_max_ns =
		RTE_MAX(priv->counters.rss_gap_max_ns, gap_ns);
	MANA_PORT_LOG(INFO, priv->data->name,
		      "the RSS object was replaced: %" PRIu64
		      " ns without reception, the longest was %" PRIu64 " ns",
		      gap_ns, priv->counters.rss_gap_max_ns);
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

static void
setting_apply(struct mana_priv *priv, const struct mana_rx_setting *setting)
{
	memcpy(priv->rss_key, setting->key, sizeof(setting->key));
	memcpy(priv->reta, setting->reta, sizeof(setting->reta));
	memcpy(priv->data->rx_queue_state, setting->states,
	       sizeof(setting->states));
}

/* In the gap: the new way, or the old one. Returns why not the new one. */
static int
change_switch(struct rx_change *change, const struct mana_rx_setting *before)
{
	struct mana_priv *priv = change->priv;
	uint32_t i;
	int ret, again;

	for (i = 0; i < priv->nb_wqs; i++)
		slot_take(priv, &change->slots[i]);
	ret = slots_lay(change, false);
	if (ret == 0)
		ret = rss_make(change);
	/* As for a send queue: an id may still be taken. */
	if (ret == -EINVAL) {
		rte_delay_us_sleep(MANA_QUEUE_RETRY_US);
		ret = rss_make_again(change);
	}
	again = ret;
	if (ret != 0) {
		setting_apply(priv, before);
		for (i = 0; i < priv->nb_wqs; i++) {
			struct slot_change *slot = &change->slots[i];

			if (slot->new == slot->old)
				continue;
			newcomer_drop(priv, slot);
			memcpy(slot->rxq, &slot->old->rxq, sizeof(*slot->rxq));
		}
		again = rss_make_again(change);
	}
	if (again != 0) {
		change_give_up(change);
		return ret;
	}
	gap_note(change);
	change_commit(change);
	return ret;
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
		setting_apply(priv, before);
		return ret;
	}
	mana_rx_slots_chain(priv);
	release_armed(priv);
	return 0;
}

int
mana_rx_change(struct mana_priv *priv, const struct mana_rx_setting *setting)
{
	struct rx_change change = { .priv = priv };
	struct mana_rx_setting before;
	int ret;

	mana_rx_setting_get(priv, &before);
	if (memcmp(&before, setting, sizeof(before)) == 0)
		return 0;
	setting_apply(priv, setting);
	if (!priv->data->dev_started || priv->nb_wqs == 0)
		return 0;
	if (!is_slot_concerned(priv, setting, &before))
		return chain_anew(priv, &before);
	ret = change_prepare(&change);
	if (ret == 0)
		ret = mana_quiesce_rx(priv);
	if (ret == 0) {
		ret = gap_begin(&change);
		if (ret == 0)
			ret = change_switch(&change, &before);
		else
			release_armed(priv);
		if (ret != 0)
			mana_diag_object(priv->data->name, &priv->netdev,
					 "RSS over the receive queues",
					 MANA_DIAG_NO_ID, ret);
	}
	if (ret != 0)
		setting_apply(priv, &before);
	change_end(&change);
	return ret;
}
