/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Dumps for a person who looks for a fault: descriptors as they are in the rings,
 * and the facts of a port. Their form may change.
 *
 * A dump is written to memory first: no lock is held while a file blocks.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "mana.h"
#include "mana_dump.h"

#define NB_EVENTS 16 /* the last ones that a dump of a port shows */

struct text {
	char *bytes;
	size_t size;
	FILE *file;
};

static int
text_begin(struct text *text)
{
	*text = (struct text){0};
	text->file = open_memstream(&text->bytes, &text->size);
	return text->file != NULL ? 0 : -ENOMEM;
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
	uint32_t waiting, posted, idx, i;

	if (mana_cq_is_closed(&rxq->cq))
		return;
	waiting = mana_rxq_nb_waiting(rxq);
	posted = mana_rxq_look_posted(rxq);
	idx = rxq->rq.ci * rxq->scatter.wqe_bu;
	for (i = 0; i < (uint32_t)offset + num; i++) {
		bool is_shown = i >= offset;

		if (is_shown)
			fprintf(file, "rx queue %u descriptor %u: %s\n",
				rxq->queue_id, i, i < waiting ? "done" :
				i < posted ? "posted" : "free");
		if (is_shown && i < posted)
			mana_decode_wqe(&rxq->rq, idx, false, file);
		if (i < posted)
			idx += mana_decode_wqe_bu(&rxq->rq, idx);
		if (is_shown && i < mana_cq_size(&rxq->cq))
			mana_decode_cqe(&rxq->cq, rxq->cq.ci + i, file);
	}
}

int
mana_rx_descriptor_dump(const struct rte_eth_dev *dev, uint16_t queue_id,
			uint16_t offset, uint16_t num, FILE *file)
{
	struct mana_eth_rxq *ctl = mana_eth_rxq_of(dev->data->rx_queues[queue_id]);
	struct mana_rxq *first, *at;
	struct text text;
	int ret;

	if (ctl == NULL || !dev->data->dev_started ||
	    (uint32_t)offset + num > ctl->nb_desc)
		return -EINVAL;
	ret = text_begin(&text);
	if (ret != 0)
		return ret;
	if (!mana_rx_list_lock(&ctl->list))
		return text_end(&text, file, -EBUSY);
	/* Of each hardware queue in its list. */
	first = at = ctl->list.first;
	while (at != NULL) {
		rx_write(at, offset, num, text.file);
		at = at->next != first ? at->next : NULL;
	}
	mana_rx_list_unlock(&ctl->list);
	return text_end(&text, file, ret);
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
	uint32_t i;

	for (i = 0; i < (uint32_t)offset + num; i++) {
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
	struct mana_eth_txq *ctl = mana_eth_txq_of(dev->data->tx_queues[queue_id]);
	struct text text;
	int ret;

	if (ctl == NULL || (uint32_t)offset + num > ctl->nb_desc ||
	    ctl->txq.cq.ring == NULL || mana_cq_is_closed(&ctl->txq.cq))
		return -EINVAL;
	ret = text_begin(&text);
	if (ret != 0)
		return ret;
	tx_write(&ctl->txq, offset, num, text.file);
	return text_end(&text, file, 0);
}

/* ---- The port ---------------------------------------------------------------------- */

/* before: printed before each name. */
static void
facts_write(const struct mana_facts *facts, const char *before, FILE *file)
{
	const struct mana_fact *fact;

	for (fact = facts->list; fact < facts->list + facts->nb; fact++)
		if (fact->is_text)
			fprintf(file, "%s%s %s", before, fact->name, fact->text);
		else
			fprintf(file, "%s%s %" PRId64, before, fact->name,
				fact->number);
	fputc('\n', file);
}

/* The ethdev queues and the hardware queues of this number. */
static void
queues_write(const struct mana_priv *priv, uint16_t i, FILE *file)
{
	static const char *const titles[] = { "rx", "hardware rx", "tx" };
	struct mana_facts facts[RTE_DIM(titles)] = { 0 };
	unsigned int kind;

	mana_facts_queue(&facts[0], priv, true, i);
	mana_facts_hwq(&facts[1], priv, i);
	mana_facts_queue(&facts[2], priv, false, i);
	for (kind = 0; kind < RTE_DIM(titles); kind++) {
		if (facts[kind].nb == 0)
			continue;
		fprintf(file, "  %s queue %u:", titles[kind], i);
		facts_write(&facts[kind], "\n    ", file);
	}
}

static void
events_write(struct mana_event_log *log, FILE *file)
{
	struct mana_event events[MANA_EVENT_LOG_N];
	uint32_t nb = mana_event_log_copy(log, events);
	uint32_t i;

	for (i = nb > NB_EVENTS ? nb - NB_EVENTS : 0; i < nb; i++) {
		struct mana_facts facts = { .nb = 0 };

		mana_facts_event(&facts, &events[i]);
		fprintf(file, "  event %" PRIu64 ":", events[i].number);
		facts_write(&facts, " ", file);
	}
}

int
mana_dev_priv_dump(struct rte_eth_dev *dev, FILE *file)
{
	struct mana_facts facts = { .nb = 0 };
	struct mana_netdev netdev;
	struct mana_priv *priv;
	struct text text;
	uint16_t i;
	int ret = text_begin(&text);

	if (ret != 0)
		return ret;
	priv = mana_registry_hold(dev);
	if (priv == NULL)
		return text_end(&text, file, -ENODEV);
	mana_facts_port(&facts, priv);
	netdev = priv->netdev;
	for (i = 0; i < MANA_MAX_QUEUES; i++)
		queues_write(priv, i, text.file);
	events_write(&priv->events, text.file);
	mana_registry_unlock();
	mana_facts_netdev(&facts, &netdev);
	fprintf(text.file, "  port:");
	facts_write(&facts, "\n    ", text.file);
	return text_end(&text, file, 0);
}
