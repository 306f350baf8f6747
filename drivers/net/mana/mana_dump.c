/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Dumps for the reader who looks for a fault: descriptors as they lie in the
 * rings, and what the driver knows of a port. Their form may change.
 *
 * All is written into memory first: nobody is kept waiting by a file.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "mana.h"
#include "mana_decode.h"
#include "mana_ethdev.h"

#define NB_EVENTS 16 /* the last ones that a dump of a port shows */

/* Text in the making. */
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

/* Writes it out, if error is 0. */
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

static int
rx_write(struct mana_rxq *rxq, uint16_t offset, uint16_t num, FILE *file)
{
	uint32_t waiting, posted, idx, i;

	if (rxq->cq.ring == NULL || mana_cq_is_closed(&rxq->cq))
		return -EINVAL;
	waiting = mana_rxq_nb_waiting(rxq);
	posted = mana_rxq_look_posted(rxq);
	idx = rxq->rq.ci;
	for (i = 0; i < (uint32_t)offset + num; i++) {
		if (i < offset && i < posted) {
			idx += mana_decode_wqe_bu(&rxq->rq, idx);
			continue;
		}
		if (i < offset)
			continue;
		fprintf(file, "rx queue %u descriptor %u: %s\n", rxq->queue_id,
			i, i < waiting ? "done" : i < posted ? "posted" : "free");
		if (i < posted) {
			mana_decode_wqe(&rxq->rq, idx, false, file);
			idx += mana_decode_wqe_bu(&rxq->rq, idx);
		}
		if (i < mana_cq_size(&rxq->cq))
			mana_decode_cqe(&rxq->cq, rxq->cq.ci + i, file);
	}
	return 0;
}

int
mana_rx_descriptor_dump(const struct rte_eth_dev *dev, uint16_t queue_id,
			uint16_t offset, uint16_t num, FILE *file)
{
	struct mana_rxq_ctl *ctl = mana_rxq_ctl_of(dev->data->rx_queues[queue_id]);
	struct text text;
	int ret;

	if (ctl == NULL || (uint32_t)offset + num > ctl->nb_desc)
		return -EINVAL;
	ret = text_begin(&text);
	if (ret != 0)
		return ret;
	if (mana_rxq_look_begin(&ctl->rxq)) {
		ret = rx_write(&ctl->rxq, offset, num, text.file);
		mana_rxq_look_end(&ctl->rxq);
	} else {
		ret = -EBUSY;
	}
	return text_end(&text, file, ret);
}

/* The free ones come first, then those outstanding, the oldest first. */
static void
tx_write(const struct mana_txq *txq, uint16_t offset, uint16_t num, FILE *file)
{
	uint32_t posted = mana_txq_look_posted(txq);
	/* A dead queue takes none. */
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
			/* That of the group, unless one in it fails. */
			mana_decode_cqe(&txq->cq, txq->cq.ci + group -
					txq->group_ci, file);
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
	struct mana_txq_ctl *ctl = mana_txq_ctl_of(dev->data->tx_queues[queue_id]);
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

static void
wq_write(const char *name, const struct mana_wq *wq, FILE *file)
{
	fprintf(file, "    %s: id %u, %u BU, pi %u ci %u\n", name, wq->id,
		wq->mask_bu + 1, wq->pi, wq->ci);
}

static void
cq_write(const struct mana_cq *cq, FILE *file)
{
	fprintf(file, "    CQ: id %u, %u CQEs, ci %u rung %u%s\n", cq->id,
		mana_cq_size(cq), cq->ci, cq->rung,
		mana_cq_is_closed(cq) ? ", closed" : "");
}

static void
rxq_write(struct mana_rxq_ctl *ctl, FILE *file)
{
	static const char *const kinds[] = {
		[MANA_RXQ_ETHDEV] = "rx queue",
		[MANA_RXQ_HIDDEN] = "work queue polled with rx queue",
		[MANA_RXQ_SINK] = "sink of stopped rx queue",
	};
	struct mana_rxq *rxq = &ctl->rxq;

	fprintf(file, "  %s %u: %s, %s, %u descriptors, mempool %s\n",
		kinds[ctl->kind], ctl->owner,
		mana_cq_is_closed(&rxq->cq) ? "closed" : "open",
		mana_queue_fate_name(rxq->fate), ctl->nb_desc, ctl->mp->name);
	fprintf(file,
		"    posted %u of %u, buffers of %u bytes, refill at %u, offloads 0x%" PRIx64 "\n",
		mana_rxq_look_posted(rxq), rxq->limit, rxq->buf_bytes,
		ctl->free_thresh, ctl->offloads);
	wq_write("RQ", &rxq->rq, file);
	cq_write(&rxq->cq, file);
}

static void
txq_write(const struct mana_txq_ctl *ctl, FILE *file)
{
	const struct mana_txq *txq = &ctl->txq;

	fprintf(file, "  tx queue %u: %s, %s, %u descriptors\n", txq->queue_id,
		mana_cq_is_closed(&txq->cq) ? "closed" : "open",
		mana_queue_fate_name(txq->fate), ctl->nb_desc);
	fprintf(file,
		"    posted %u of %u, %u segments, %s OOB, offloads 0x%" PRIx64 "\n",
		mana_txq_look_posted(txq), txq->limit, txq->max_sge,
		txq->is_long ? "long" : "short", ctl->offloads);
	wq_write("SQ", &txq->sq, file);
	cq_write(&txq->cq, file);
}

static void
events_write(struct mana_event_log *log, FILE *file)
{
	struct mana_event *events = calloc(MANA_EVENT_LOG_N, sizeof(*events));
	uint32_t nb, i, k;

	if (events == NULL)
		return;
	nb = mana_event_log_copy(log, events);
	for (i = nb > NB_EVENTS ? nb - NB_EVENTS : 0; i < nb; i++) {
		fprintf(file, "  event %" PRIu64 " at %" PRIu64 ".%06" PRIu64 " s: %s",
			events[i].number, events[i].mono_ns / 1000000000,
			events[i].mono_ns / 1000 % 1000000,
			mana_event_name(events[i].kind));
		for (k = 0; k < RTE_DIM(events[i].arg); k++)
			if (mana_event_arg_name(events[i].kind, k) != NULL)
				fprintf(file, " %s %u",
					mana_event_arg_name(events[i].kind, k),
					events[i].arg[k]);
		fprintf(file, " (%d)\n", events[i].error);
	}
	free(events);
}

static void
port_write(struct rte_eth_dev *dev, FILE *file)
{
	struct mana_priv *priv = dev->data->dev_private;
	const struct mana_port_counters counters = mana_stats_port(priv);
	struct mana_rxq_ctl *rxq;
	uint32_t i;

	fprintf(file, "%s: netdev %s, verbs port %u, %s%s\n", dev->data->name,
		priv->netdev.name, priv->port,
		dev->data->dev_started ? "started" : "stopped",
		mana_is_gone(priv) ? ", the device is gone" : "");
	fprintf(file,
		"  limits: %u queues, %u rx and %u tx descriptors, MTU %u, %u segments\n",
		priv->max_queues, priv->max_rx_desc, priv->max_tx_desc,
		priv->max_mtu, priv->tx_max_sge);
	fprintf(file, "  MTU %u, RSS %s, %u work queues\n", dev->data->mtu,
		priv->has_rss ? "on" : "off", priv->nb_wqs);
	fprintf(file,
		"  since the last reset of statistics: %" PRIu64 " memory regions registered, %" PRIu64 " deregistered, %" PRIu64 " resets\n",
		counters.mr_registrations, counters.mr_deregistrations,
		counters.resets);
	for (i = 0; (rxq = mana_rxq_next(priv, &i)) != NULL; )
		rxq_write(rxq, file);
	for (i = 0; i < dev->data->nb_tx_queues; i++)
		if (dev->data->tx_queues[i] != NULL)
			txq_write(mana_txq_ctl_of(dev->data->tx_queues[i]), file);
	events_write(&priv->events, file);
}

int
mana_dev_priv_dump(struct rte_eth_dev *dev, FILE *file)
{
	struct text text;
	int ret;

	ret = text_begin(&text);
	if (ret != 0)
		return ret;
	port_write(dev, text.file);
	return text_end(&text, file, 0);
}
