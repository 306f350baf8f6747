/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An ethdev Rx queue: setup, release, and the layout of its WQEs. Its hardware
 * queues: mana_rx_set.h.
 *
 * A receive WQE usually has one buffer, of the queue's pool, behind the usual
 * headroom. It has several where a frame of the MTU does not fit one and the
 * application allows for it (RTE_ETH_RX_OFFLOAD_SCATTER), or where it splits frames
 * by length (RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT). Buffers beyond the first one, or
 * beyond the last one of a split, come whole from the last pool, as ethdev defines
 * for struct rte_eth_rxseg_split. A layout holds from a start of the queue to its
 * stop.
 */

#include <errno.h>

#include <rte_malloc.h>
#include <rte_string_fns.h>
#include <rte_mempool.h>

#include "mana.h"
#include "mana_log.h"
#include "mana_rx_set.h"

/* ---- Layouts ------------------------------------------------------------- */

static uint32_t
data_room(const struct rte_mempool *mp)
{
	return rte_pktmbuf_data_room_size((struct rte_mempool *)(uintptr_t)mp);
}

uint16_t
mana_rx_max_segs(const struct mana_priv *priv)
{
	uint32_t max = GDMA_RQ_WQE_MAX_SGE;

	if (priv->caps.max_sge != 0)
		max = RTE_MIN(max, priv->caps.max_sge);
	return max;
}

/* One element of the application's split. */
static int
seg_take(const struct mana_priv *priv, const struct rte_eth_rxseg_split *split,
	 uint16_t i, struct mana_rx_seg *seg)
{
	uint32_t offset = split->offset + (i == 0 ? RTE_PKTMBUF_HEADROOM : 0);
	uint32_t room;

	if (split->mp == NULL) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "segment %u of the buffer split has no mempool; give each one",
			      i);
		return -EINVAL;
	}
	if (split->proto_hdr != 0) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "segment %u of the buffer split: the adapter splits by length only, give proto_hdr 0 and a length",
			      i);
		return -ENOTSUP;
	}
	room = data_room(split->mp);
	if (offset + RTE_MAX(split->length, 1) > room) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "segment %u of the buffer split: offset %u and length %u do not fit the %u bytes of mempool %s",
			      i, offset, split->length, room, split->mp->name);
		return -EINVAL;
	}
	seg->mp = split->mp;
	seg->offset = offset;
	seg->bytes = split->length != 0 ? split->length : room - offset;
	return 0;
}

static int
split_take(const struct mana_priv *priv, const struct rte_eth_rxconf *conf,
	   struct mana_rx_layout *layout)
{
	uint16_t i;
	int ret;

	if (conf->rx_seg == NULL || conf->rx_nseg == 0 ||
	    conf->rx_nseg > mana_rx_max_segs(priv)) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "an Rx queue needs a mempool, or a buffer split into 1 to %u segments",
			      mana_rx_max_segs(priv));
		return -EINVAL;
	}
	for (i = 0; i < conf->rx_nseg; i++) {
		ret = seg_take(priv, &conf->rx_seg[i].split, i, &layout->segs[i]);
		if (ret != 0)
			return ret;
		layout->rx_seg[i] = conf->rx_seg[i];
	}
	layout->nb_segs = conf->rx_nseg;
	layout->is_split = true;
	layout->can_grow = true;
	return 0;
}

/* What the application gives a queue: mp, or the split in conf. */
static int
layout_take(const struct mana_priv *priv, const struct rte_eth_rxconf *conf,
	    uint64_t offloads, struct rte_mempool *mp,
	    struct mana_rx_layout *layout)
{
	uint32_t room;

	*layout = (struct mana_rx_layout){ .nb_segs = 1 };
	if (mp == NULL)
		return split_take(priv, conf, layout);
	room = data_room(mp);
	layout->can_grow = (offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
	layout->segs[0].mp = mp;
	layout->segs[0].offset = RTE_PKTMBUF_HEADROOM;
	layout->segs[0].bytes = room > RTE_PKTMBUF_HEADROOM ?
				       room - RTE_PKTMBUF_HEADROOM : 0;
	return 0;
}

/* Too many buffers, even with the offload. */
static int
refuse_many(const struct mana_priv *priv, const struct mana_rx_layout *layout,
	    uint16_t mtu)
{
	uint32_t frame_bytes = (uint32_t)mtu + MANA_FRAME_OVERHEAD;
	uint16_t max = mana_rx_max_segs(priv);
	const struct rte_mempool *mp = layout->segs[layout->nb_segs - 1].mp;
	uint32_t given = 0, nb_more = max - layout->nb_segs;
	uint16_t i;

	for (i = 0; i < layout->nb_segs; i++)
		given += layout->segs[i].bytes;
	if (!layout->is_split) {
		/* They grow with the pool: the first one, too. */
		given = 0;
		frame_bytes += RTE_PKTMBUF_HEADROOM;
		nb_more = max;
	}
	if (nb_more == 0)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "MTU %u: the %u segments of the buffer split hold %u bytes, a frame has %u, and the adapter takes no more segments: make them longer",
			      mtu, max, given, frame_bytes);
	else
		MANA_PORT_LOG(ERR, priv->data->name,
			      "MTU %u needs more than the %u buffers that the adapter takes for a packet, with %u bytes in those of mempool %s: make the pool with data_room_size %u or more",
			      mtu, max, data_room(mp), mp->name,
			      (frame_bytes - given + nb_more - 1) / nb_more);
	return -EINVAL;
}

int
mana_rx_layout_get(const struct mana_priv *priv,
		   const struct mana_rx_layout *layout, uint16_t mtu,
		   struct mana_rx_seg *segs, uint16_t *nb_segs)
{
	uint32_t frame_bytes = (uint32_t)mtu + MANA_FRAME_OVERHEAD;
	uint16_t max = mana_rx_max_segs(priv);
	uint32_t bytes = 0;
	uint16_t i;

	*nb_segs = 0;
	if (!layout->is_split && layout->segs[0].bytes >= frame_bytes)
		return 0;
	if (!layout->can_grow) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "MTU %u needs buffers of %u bytes, those of mempool %s have %u: make the pool with data_room_size %u or more, or enable RTE_ETH_RX_OFFLOAD_SCATTER",
			      mtu, frame_bytes, layout->segs[0].mp->name,
			      layout->segs[0].bytes,
			      frame_bytes + RTE_PKTMBUF_HEADROOM);
		return -EINVAL;
	}
	for (i = 0; i < layout->nb_segs || bytes < frame_bytes; i++) {
		if (i == max)
			return refuse_many(priv, layout, mtu);
		if (i < layout->nb_segs) {
			segs[i] = layout->segs[i];
		} else {
			segs[i] = (struct mana_rx_seg){
				.mp = segs[i - 1].mp,
				.bytes = data_room(segs[i - 1].mp),
			};
		}
		bytes += segs[i].bytes;
	}
	*nb_segs = i;
	return 0;
}

int
mana_rx_layout_check(const struct mana_priv *priv,
		     const struct mana_rx_layout *layout, uint16_t mtu)
{
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
	uint16_t nb_segs;
	int ret;

	ret = mana_rx_layout_get(priv, layout, mtu, segs, &nb_segs);
	if (ret == 0 && nb_segs != 0 && priv->data->dev_started &&
	    !priv->data->scattered_rx) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "MTU %u takes several buffers of mempool %s a packet, and the receive function of the running port does not; stop the port before and start it after",
			      mtu, layout->segs[0].mp->name);
		return -EBUSY;
	}
	return ret;
}

/* Registers the pools' memory. */
static int
layout_add_pools(struct mana_priv *priv, const struct mana_rx_layout *layout)
{
	int ret = 0;
	uint16_t i;

	for (i = 0; i < layout->nb_segs && ret == 0; i++)
		if (i == 0 || layout->segs[i].mp != layout->segs[i - 1].mp)
			ret = mana_mr_add_pool(priv, layout->segs[i].mp);
	return ret;
}

/* Whether some Rx queue's WQEs have several buffers: bursts differ. */
int
mana_rx_layouts_check(struct mana_priv *priv)
{
	struct rte_eth_dev_data *data = priv->data;
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
	uint16_t nb_segs, i;
	int ret;

	data->scattered_rx = 0;
	for (i = 0; i < data->nb_rx_queues; i++) {
		ret = mana_rx_layout_get(
			priv, &mana_eth_rxq_of(data->rx_queues[i])->layout,
			data->mtu, segs, &nb_segs);
		if (ret != 0)
			return ret;
		if (nb_segs != 0)
			data->scattered_rx = 1;
	}
	return 0;
}

/* ---- Setup and release ---------------------------------------------------- */

struct mana_eth_rxq *
mana_rxq_next(const struct mana_priv *priv, uint32_t *at)
{
	while (*at < priv->data->nb_rx_queues) {
		void *queue = priv->data->rx_queues[(*at)++];

		if (queue != NULL)
			return mana_eth_rxq_of(queue);
	}
	return NULL;
}

void
mana_rxq_resize(const struct mana_priv *priv, struct mana_eth_rxq *ctl,
		uint16_t nb_desc)
{
	/* Other threads ask for size and threshold. */
	mana_registry_lock();
	ctl->nb_desc = nb_desc;
	ctl->nb_cqe = mana_queue_nb_cqe(priv, nb_desc, 1);
	ctl->free_thresh = mana_rx_refill_thresh(ctl->asked_thresh, nb_desc,
						 ctl->nb_cqe);
	mana_registry_unlock();
}

int
mana_rxq_setup(struct mana_priv *priv, uint16_t queue_id, uint16_t nb_desc,
	       unsigned int socket_id, const struct rte_eth_rxconf *conf,
	       struct rte_mempool *mp)
{
	uint64_t offloads = conf->offloads |
			    priv->data->dev_conf.rxmode.offloads;
	struct mana_rx_layout layout;
	struct mana_eth_rxq *ctl;
	int ret;

	ret = layout_take(priv, conf, offloads, mp, &layout);
	if (ret == 0)
		ret = mana_rx_layout_check(priv, &layout, priv->data->mtu);
	if (ret == 0)
		ret = layout_add_pools(priv, &layout);
	if (ret != 0)
		return ret;
	ctl = mana_queue_alloc("mana_rxq", sizeof(*ctl), socket_id);
	if (ctl == NULL)
		return -ENOMEM;
	ctl->owner = queue_id;
	ctl->layout = layout;
	ctl->mp = layout.segs[0].mp;
	ctl->data_delta = mana_rx_pool_delta(ctl->mp);
	ctl->asked_desc = nb_desc;
	ctl->asked_thresh = conf->rx_free_thresh;
	mana_rxq_resize(priv, ctl, nb_desc);
	ctl->socket_id = socket_id;
	ctl->is_deferred = conf->rx_deferred_start;
	ctl->offloads = offloads;
	mana_rx_list_resume(&ctl->list);
	(void)rte_strscpy(ctl->mempool, ctl->mp->name, sizeof(ctl->mempool));
	mana_registry_lock();
	priv->rxqs[queue_id] = ctl;
	mana_registry_unlock();
	priv->data->rx_queues[queue_id] = &ctl->list;
	return 0;
}

void
mana_rxq_release(struct mana_priv *priv, uint16_t queue_id)
{
	struct mana_eth_rxq *ctl =
		mana_eth_rxq_of(priv->data->rx_queues[queue_id]);

	if (ctl == NULL)
		return;
	mana_rx_set_queue_release(priv, queue_id);
	/* Its pool may go now, and the driver is not informed of the memory's end. */
	if (!priv->data->dev_started)
		mana_mr_remove_foreign(priv);
	priv->data->rx_queues[queue_id] = NULL;
	mana_registry_lock();
	/* In one step, so that no reader counts it twice or not at all. */
	mana_stats_fold_queue(priv, true, queue_id);
	priv->rxqs[queue_id] = NULL;
	mana_registry_unlock();
	rte_free(ctl);
}
