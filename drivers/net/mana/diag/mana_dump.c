/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Dumps for a person who looks for a fault: descriptors as they are in the rings,
 * and the facts of a port. Their form may change.
 *
 * A dump that takes a lock is written to memory first: a file may block.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "mana.h"
#include "mana_dump.h"
#include "mana_rx_set.h"

#define NB_EVENTS 16 /* the last ones that a dump of a port shows */

struct text {
	char *bytes;
	size_t size;
	FILE *file;
};

static bool
text_begin(struct text *text)
{
	*text = (struct text){0};
	text->file = open_memstream(&text->bytes, &text->size);
	return text->file != NULL;
}

/* Copies the text to the file if error is 0. */
static int
text_end(struct text *text, FILE *to, int error)
{
	if (fclose(text->file) != 0 && error == 0)
		error = -ENOMEM;
	if (error == 0 && fwrite(text->bytes, 1, text->size, to) != text->size)
		error = -EIO;
	free(text->bytes);
	return error;
}

/* ---- Descriptors --------------------------------------------------------------- */

static void
rx_write(struct mana_rxq *rxq, uint16_t offset, uint16_t num, FILE *file)
{
	uint32_t waiting, posted, idx;

	if (mana_cq_is_closed(&rxq->cq))
		return;
	waiting = mana_rxq_nb_waiting(rxq, UINT32_MAX);
	posted = mana_rxq_look_posted(rxq);
	idx = rxq->rq.ci * rxq->scatter.wqe_bu;
	for (uint32_t i = 0; i < (uint32_t)offset + num; i++) {
		if (i >= offset) {
			fprintf(file, "rx queue %u descriptor %u: %s\n",
				rxq->queue_id, i, i < waiting ? "done" :
				i < posted ? "posted" : "free");
			if (i < posted)
				mana_decode_wqe(&rxq->rq, idx, false, file);
			if (i < mana_cq_size(&rxq->cq))
				mana_decode_cqe(&rxq->cq, rxq->cq.ci + i, file);
		}
		if (i < posted)
			idx += mana_decode_wqe_bu(&rxq->rq, idx);
	}
}

int
mana_rx_descriptor_dump(const struct rte_eth_dev *dev, uint16_t queue_id,
			uint16_t offset, uint16_t num, FILE *file)
{
	struct mana_eth_rxq *ctl = dev->data->rx_queues[queue_id];
	struct mana_rxq *first, *at;
	struct text text;

	if (ctl == NULL || !dev->data->dev_started ||
	    (uint32_t)offset + num > ctl->nb_desc)
		return -EINVAL;
	if (!text_begin(&text))
		return -ENOMEM;
	if (!mana_rx_list_lock(&ctl->list))
		return text_end(&text, file, -EBUSY);
	/* Of each hardware queue in its list. */
	first = at = ctl->list.first;
	while (at != NULL) {
		rx_write(at, offset, num, text.file);
		at = at->next != first ? at->next : NULL;
	}
	mana_rx_list_unlock(&ctl->list);
	return text_end(&text, file, 0);
}

/* Free descriptors come first, then the outstanding ones, the oldest first. */
static void
tx_write(const struct mana_txq *txq, uint16_t offset, uint16_t num, FILE *file)
{
	uint32_t posted = mana_txq_look_posted(txq);
	/* A failed queue has no free descriptor. */
	uint32_t nb_free = txq->limit > posted ? txq->limit - posted : 0;
	uint32_t done = mana_txq_nb_done(txq);
	uint32_t idx = txq->sq.ci;
	uint32_t group = txq->group_ci;

	for (uint32_t i = 0; i < (uint32_t)offset + num; i++) {
		bool is_out = i >= nb_free && i - nb_free < posted;

		if (i >= offset)
			fprintf(file, "tx queue %u descriptor %u: %s\n",
				txq->queue_id, i,
				!is_out ? "free" :
				i - nb_free < done ? "done" : "posted");
		if (!is_out)
			continue;
		if (i >= offset) {
			mana_decode_wqe(&txq->sq, idx, true, file);
			/* That of the group, unless a WQE in it fails, or its own. */
			mana_decode_cqe(&txq->cq, txq->cq.ci +
					(txq->offset_check != MANA_TX_OFFSET_UNUSED ?
						 group - txq->group_ci :
						 i - nb_free), file);
		}
		if (txq->groups[group & txq->mask].wqe_end ==
		    txq->ci + i - nb_free + 1)
			group++;
		idx += mana_decode_wqe_bu(&txq->sq, idx);
	}
}

int
mana_tx_descriptor_dump(const struct rte_eth_dev *dev, uint16_t queue_id,
			uint16_t offset, uint16_t num, FILE *file)
{
	struct mana_eth_txq *ctl = dev->data->tx_queues[queue_id];
	struct text text;

	if (ctl == NULL || (uint32_t)offset + num > ctl->nb_desc ||
	    ctl->txq.cq.ring == NULL || mana_cq_is_closed(&ctl->txq.cq))
		return -EINVAL;
	if (!text_begin(&text))
		return -ENOMEM;
	if (!mana_txq_lock(&ctl->txq))
		return text_end(&text, file, -EBUSY);
	tx_write(&ctl->txq, offset, num, text.file);
	mana_txq_unlock(&ctl->txq);
	return text_end(&text, file, 0);
}

/* ---- The port ---------------------------------------------------------------------- */

static void
queues_write(const struct mana_priv *priv, const struct mana_facts *facts)
{
	const struct mana_rx_set *set = priv->rx_set;

	for (uint32_t i = 0; i < MANA_MAX_QUEUES; i++) {
		if (priv->rxqs[i] != NULL) {
			fprintf(facts->file, "  rx queue %u:\n", i);
			mana_facts_rxq(facts, priv, priv->rxqs[i]);
		}
		if (set != NULL && i < set->nb) {
			fprintf(facts->file, "  hardware rx queue %u:\n", i);
			mana_facts_hwq(facts, &set->hwqs[i]);
		}
		if (priv->txqs[i] != NULL) {
			fprintf(facts->file, "  tx queue %u:\n", i);
			mana_facts_txq(facts, priv, priv->txqs[i]);
		}
	}
}

static void
events_write(struct mana_event_log *log, FILE *file)
{
	const struct mana_facts facts = { .file = file, .before = " ", .after = "" };
	struct mana_event events[MANA_EVENT_LOG_N];
	uint32_t nb = mana_event_log_copy(log, events);

	for (uint32_t i = nb > NB_EVENTS ? nb - NB_EVENTS : 0; i < nb; i++) {
		fprintf(file, "  event %" PRIu64 ":", events[i].number);
		mana_facts_event(&facts, &events[i]);
		fputc('\n', file);
	}
}

int
mana_dev_priv_dump(struct rte_eth_dev *dev, FILE *file)
{
	struct mana_facts facts = { .before = "    ", .after = "\n" };
	struct mana_netdev netdev;
	struct mana_priv *priv;
	struct text text;

	if (!text_begin(&text))
		return -ENOMEM;
	priv = mana_registry_hold(dev);
	if (priv == NULL)
		return text_end(&text, file, -ENODEV);
	facts.file = text.file;
	queues_write(priv, &facts);
	events_write(&priv->events, text.file);
	fprintf(text.file, "  port:\n");
	mana_facts_port(&facts, priv);
	netdev = priv->netdev;
	mana_registry_unlock();
	mana_facts_netdev(&facts, &netdev);
	return text_end(&text, file, 0);
}
