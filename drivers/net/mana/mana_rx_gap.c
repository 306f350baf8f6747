/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The gap in reception: old rings and objects give way to new ones, with bursts
 * held off. See mana_rx_change.c.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>

#include "mana.h"
#include "mana_log.h"
#include "mana_queue.h"
#include "mana_quiesce.h"
#include "mana_rx_gap.h"

static uint64_t
now_ns(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- In the gap ------------------------------------------------------------- */

/* Reception ends. On failure nothing has changed. */
static int
gap_begin(struct mana_rx_rebuild *change)
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
slot_take(const struct mana_priv *priv, struct mana_rx_slot_change *slot)
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
slots_lay(struct mana_rx_rebuild *change, bool newcomers_too)
{
	uint32_t i;
	int ret;

	for (i = 0; i < change->priv->nb_wqs; i++) {
		struct mana_rx_slot_change *slot = &change->slots[i];

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
rss_make(struct mana_rx_rebuild *change)
{
	struct mana_priv *priv = change->priv;
	uint32_t i;
	int ret;

	ret = mana_verbs_rss_create(priv->parent, change->ind, priv->rss_key,
				    &change->rss_qp);
	for (i = 0; i < priv->nb_wqs && ret == 0; i++) {
		struct mana_rx_slot_change *slot = &change->slots[i];

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
rss_make_again(struct mana_rx_rebuild *change)
{
	int ret;

	mana_rx_objects_destroy(change);
	ret = mana_rx_objects_create(change);
	if (ret == 0)
		ret = slots_lay(change, true);
	return ret != 0 ? ret : rss_make(change);
}

/* ---- After it -------------------------------------------------------------- */

void
mana_rx_release_armed(struct mana_priv *priv)
{
	uint16_t i;

	for (i = 0; priv->rx_intrs != NULL && i < priv->data->nb_rx_queues; i++)
		if (mana_atomic_load(&priv->rx_intrs[i].is_armed) != 0 &&
		    priv->data->rx_queues[i] != NULL)
			mana_rxq_arm_held(priv->data->rx_queues[i]);
	mana_quiesce_end(priv);
}

/* What the old queue had received: for its next polls, unless nobody wants it. */
static void
taken_give(struct mana_rx_slot_change *slot)
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
slot_commit(struct mana_priv *priv, struct mana_rx_slot_change *slot, uint32_t index)
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
change_commit(struct mana_rx_rebuild *change)
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
	mana_rx_release_armed(priv);
	for (i = 0; i < priv->nb_wqs; i++) {
		struct mana_rx_slot_change *slot = &change->slots[i];

		/* The old queue is what the end shall drop now. */
		if (slot->new != slot->old)
			mana_rx_slot_drop(priv, slot->old);
		slot->old = slot->new;
	}
}

/* Neither the new nor the old way: no packet comes until the next change. */
static void
change_give_up(struct mana_rx_rebuild *change)
{
	struct mana_priv *priv = change->priv;
	uint32_t i;

	MANA_PORT_LOG(ERR, priv->data->name,
		      "reception has ended: stop the port and start it again");
	for (i = 0; i < priv->nb_wqs; i++) {
		struct mana_rx_slot_change *slot = &change->slots[i];

		mana_rxq_release_mbufs(slot->rxq, true);
		mana_rxq_backlog(&slot->old->rxq, NULL, 0);
		taken_give(slot);
	}
	mana_rx_slots_chain(priv);
	mana_quiesce_end(priv);
}

static void
gap_note(struct mana_rx_rebuild *change)
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

/* ---- All of it --------------------------------------------------------------- */

/* The new way, or the old one. Returns why not the new one. */
static int
gap_cross(struct mana_rx_rebuild *change, const struct mana_rx_setting *before)
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
		mana_rx_setting_apply(priv, before);
		for (i = 0; i < priv->nb_wqs; i++) {
			struct mana_rx_slot_change *slot = &change->slots[i];

			if (slot->new == slot->old)
				continue;
			mana_rx_newcomer_drop(priv, slot);
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

int
mana_rx_gap(struct mana_rx_rebuild *change, const struct mana_rx_setting *before)
{
	int ret = gap_begin(change);

	if (ret == 0)
		return gap_cross(change, before);
	mana_rx_release_armed(change->priv);
	return ret;
}
