/* SPDX-License-Identifier: BSD-3-Clause */

/* All receive queues of a port: start and stop with the port. */

#include <errno.h>

#include <rte_cycles.h>

#include "mana.h"
#include "mana_diag.h"
#include "mana_queue.h"

void
mana_rxqs_stop(struct mana_priv *priv)
{
	struct mana_rxq_ctl *ctl;
	uint32_t at = 0;
	bool is_gone;

	/* Reception ends here; then the objects it stands on. */
	is_gone = mana_rss_destroy(priv);
	while ((ctl = mana_rxq_next(priv, &at)) != NULL) {
		if (ctl->cq != NULL && priv->rx_burst != NULL)
			mana_rxq_discard(&ctl->rxq, priv->rx_burst);
		mana_rxq_close(&ctl->rxq);
		mana_rxq_destroy(priv, ctl->cq, ctl->wq);
		ctl->cq = NULL;
		ctl->wq = NULL;
		mana_rxq_release_mbufs(&ctl->rxq, is_gone);
		mana_rxq_backlog_free(&ctl->rxq);
		mana_rxq_chain(&ctl->rxq, NULL);
	}
	for (at = 0; at < RTE_DIM(priv->slots); at++) {
		mana_rx_slot_drop(priv, priv->slots[at]);
		priv->slots[at] = NULL;
	}
	mana_rx_sinks_end(priv);
	priv->nb_wqs = 0;
}

static int
slot_start(struct mana_priv *priv, uint32_t slot)
{
	struct mana_rxq_ctl *ctl;
	bool is_fill = false;
	int ret;

	ctl = mana_rx_slot_queue(priv, slot, NULL);
	if (ctl == NULL)
		return -ENOMEM;
	priv->slots[slot] = ctl;
	ret = mana_rxq_create(priv, ctl, &ctl->cq, &ctl->wq);
	if (ret == 0) {
		is_fill = true;
		ret = mana_rxq_lay(priv, ctl, &ctl->rxq, ctl->cq,
				   ctl->wq);
	}
	if (ret != 0)
		mana_rxq_diag(priv, ctl, mana_rxq_nb_posted(&ctl->rxq), is_fill,
			      ret);
	return ret;
}

static int
rxqs_try_start(struct mana_priv *priv)
{
	struct mana_rxq_ctl *ctl;
	uint32_t i, at = 0;
	int ret;

	while ((ctl = mana_rxq_next(priv, &at)) != NULL)
		mana_rxq_idle(priv, ctl);
	priv->nb_wqs = mana_rss_nb_wqs(priv);
	for (i = 0; i < priv->nb_wqs; i++) {
		ret = slot_start(priv, i);
		if (ret != 0)
			return ret;
	}
	mana_rx_slots_chain(priv);
	return 0;
}

/* Makes the RSS QP and tells the queues their ids, which it brings. */
static int
rss_start(struct mana_priv *priv)
{
	uint32_t i;
	int ret;

	ret = mana_rss_create(priv);
	for (i = 0; i < priv->nb_wqs && ret == 0; i++) {
		struct mana_rxq_ctl *ctl = priv->slots[i];

		ret = mana_rxq_enable(&ctl->rxq, ctl->cq, ctl->wq);
	}
	return ret;
}

int
mana_rxqs_start(struct mana_priv *priv)
{
	unsigned int tries = 0;
	int ret;

	if (priv->data->nb_rx_queues == 0)
		return 0;
	for (;;) {
		ret = rxqs_try_start(priv);
		if (ret != 0)
			return ret;
		ret = rss_start(priv);
		/*
		 * As for a send queue: an id may still be taken. A CQ or WQ
		 * that was part of a failed attempt is used up.
		 */
		if (ret != -EINVAL || tries++ > 0)
			break;
		mana_rxqs_stop(priv);
		rte_delay_us_sleep(MANA_QUEUE_RETRY_US);
	}
	if (ret != 0)
		mana_diag_object(priv->data->name, &priv->netdev,
				 "RSS over the receive queues", MANA_DIAG_NO_ID,
				 ret);
	return ret;
}
