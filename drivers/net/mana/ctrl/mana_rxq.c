/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An ethdev Rx queue: setup, release, the layout of its WQEs, and the hardware Rx
 * queues that are built for it (mana_rx_set.h).
 *
 * A WQE of an RQ usually has one buffer, of the queue's pool, behind the usual
 * headroom. It has several if a frame of the MTU does not fit one and the
 * application allows this (RTE_ETH_RX_OFFLOAD_SCATTER), or if the application
 * splits frames by length (RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT). Buffers beyond the
 * first one, or beyond the last one of a split, are whole buffers of the last pool,
 * as ethdev defines for struct rte_eth_rxseg_split. A layout is valid from a start
 * of the queue to its stop.
 */

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include <rte_malloc.h>
#include <rte_mempool.h>
#include <rte_string_fns.h>

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
	return RTE_MIN(priv->limits.caps.max_sge, (uint32_t)GDMA_RQ_WQE_MAX_SGE);
}

static int
split_take(const struct mana_priv *priv, const struct rte_eth_rxconf *conf,
	   struct mana_rx_layout *layout)
{
	const char *name = priv->data->name;

	if (conf->rx_seg == NULL || conf->rx_nseg == 0 ||
	    conf->rx_nseg > mana_rx_max_segs(priv))
		return MANA_PORT_ERR(-EINVAL, name,
				     "an Rx queue needs a mempool, or a buffer split into 1 to %u segments",
				     mana_rx_max_segs(priv));
	for (uint16_t i = 0; i < conf->rx_nseg; i++) {
		const struct rte_eth_rxseg_split *split = &conf->rx_seg[i].split;
		uint32_t offset = split->offset + (i == 0 ? RTE_PKTMBUF_HEADROOM : 0);
		uint32_t room;

		if (split->mp == NULL)
			return MANA_PORT_ERR(-EINVAL, name,
					     "segment %u of the buffer split has no mempool; give each one",
					     i);
		if (split->proto_hdr != 0)
			return MANA_PORT_ERR(-ENOTSUP, name,
					     "segment %u of the buffer split: the adapter splits by length only, give proto_hdr 0 and a length",
					     i);
		room = data_room(split->mp);
		if (offset + RTE_MAX(split->length, 1) > room)
			return MANA_PORT_ERR(-EINVAL, name,
					     "segment %u of the buffer split: offset %u and length %u do not fit the %u bytes of mempool %s",
					     i, offset, split->length, room,
					     split->mp->name);
		layout->segs[i].mp = split->mp;
		layout->segs[i].offset = offset;
		layout->segs[i].bytes = split->length != 0 ? split->length :
							     room - offset;
		layout->rx_seg[i] = conf->rx_seg[i];
	}
	layout->nb_segs = conf->rx_nseg;
	layout->is_split = true;
	layout->can_grow = true;
	return 0;
}

/* The buffers that the application gives a queue: of mp, or the split in conf. */
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

/* The frame needs more buffers than a WQE may have. */
static int
refuse_many(const struct mana_priv *priv, const struct mana_rx_layout *layout,
	    uint16_t mtu, uint32_t frame_bytes)
{
	const struct rte_mempool *mp = layout->segs[layout->nb_segs - 1].mp;
	uint16_t max = mana_rx_max_segs(priv), nb_given = 0;
	uint32_t given = 0, nb_more;

	if (layout->is_split) {
		nb_given = layout->nb_segs;
		for (uint16_t i = 0; i < layout->nb_segs; i++)
			given += layout->segs[i].bytes;
	} else {
		/* A larger pool also makes the first buffer larger. */
		frame_bytes += RTE_PKTMBUF_HEADROOM;
	}
	/* Fewer than given: after a recovery, on an adapter with another limit. */
	if (max <= nb_given)
		return MANA_PORT_ERR(-EINVAL, priv->data->name,
				     "MTU %u: the %u segments of the buffer split hold %u bytes, a frame has %u, and the adapter takes %u segments at most: make them longer",
				     mtu, nb_given, given, frame_bytes, max);
	nb_more = max - nb_given;
	return MANA_PORT_ERR(-EINVAL, priv->data->name,
			     "MTU %u needs more than the %u buffers that the adapter takes for a packet, with %u bytes in those of mempool %s: make the pool with data_room_size %u or more",
			     mtu, max, data_room(mp), mp->name,
			     (frame_bytes - given + nb_more - 1) / nb_more);
}

/*
 * The buffers of a WQE for frames of this MTU. segs has room for
 * GDMA_RQ_WQE_MAX_SGE; *nb_segs is 0 if the WQE has one buffer of the pool, as in
 * struct mana_rxq_conf. -EINVAL after a message if no WQE can hold the frames.
 */
static int
layout_get(const struct mana_priv *priv,
	   const struct mana_rx_layout *layout, uint16_t mtu,
	   struct mana_rx_seg *segs, uint16_t *nb_segs)
{
	uint32_t frame_bytes = (uint32_t)mtu + MANA_FRAME_OVERHEAD;
	uint32_t bytes = 0;
	uint16_t i;

	*nb_segs = 0;
	if (!layout->is_split && layout->segs[0].bytes >= frame_bytes)
		return 0;
	if (!layout->can_grow)
		return MANA_PORT_ERR(-EINVAL, priv->data->name,
				     "MTU %u needs buffers of %u bytes, those of mempool %s have %u: make the pool with data_room_size %u or more, or enable RTE_ETH_RX_OFFLOAD_SCATTER",
				     mtu, frame_bytes, layout->segs[0].mp->name,
				     layout->segs[0].bytes,
				     frame_bytes + RTE_PKTMBUF_HEADROOM);
	for (i = 0; i < layout->nb_segs || bytes < frame_bytes; i++) {
		if (i == mana_rx_max_segs(priv))
			return refuse_many(priv, layout, mtu, frame_bytes);
		if (i < layout->nb_segs)
			segs[i] = layout->segs[i];
		else
			segs[i] = (struct mana_rx_seg){
				.mp = segs[i - 1].mp,
				.bytes = data_room(segs[i - 1].mp),
			};
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
	int ret = layout_get(priv, layout, mtu, segs, &nb_segs);

	if (ret == 0 && nb_segs != 0 && priv->data->dev_started &&
	    !priv->data->scattered_rx)
		return MANA_PORT_ERR(-EBUSY, priv->data->name,
				     "MTU %u takes several buffers of mempool %s a packet, and the receive function of the running port does not; stop the port before and start it after",
				     mtu, layout->segs[0].mp->name);
	return ret;
}

/* Whether only one thread at a time may use the pool. */
static bool
is_single(const struct rte_mempool *mp)
{
	const char *ops = rte_mempool_get_ops(mp->ops_index)->name;

	return (mp->flags & (RTE_MEMPOOL_F_SP_PUT | RTE_MEMPOOL_F_SC_GET)) != 0 ||
	       strcmp(ops, "ring_sp_sc") == 0 || strcmp(ops, "ring_sp_mc") == 0 ||
	       strcmp(ops, "ring_mp_sc") == 0;
}

static bool
has_single_pool(const struct mana_eth_rxq *ctl)
{
	for (uint16_t i = 0; i < ctl->layout.nb_segs; i++)
		if (is_single(ctl->layout.segs[i].mp))
			return true;
	return false;
}

/* Whether some Rx queue's WQEs have several buffers: bursts differ. */
int
mana_rx_layouts_check(struct mana_priv *priv)
{
	struct rte_eth_dev_data *data = priv->data;
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
	uint16_t nb_segs;
	int ret = 0;

	data->scattered_rx = 0;
	mana_atomic_store(&priv->has_single_pool, 0);
	for (uint16_t i = 0; ret == 0 && i < data->nb_rx_queues; i++) {
		const struct mana_eth_rxq *ctl = priv->rxqs[i];

		if (ctl == NULL)
			continue;
		ret = layout_get(priv, &ctl->layout, data->mtu, segs, &nb_segs);
		data->scattered_rx |= ret == 0 && nb_segs != 0;
		if (has_single_pool(ctl))
			mana_atomic_store(&priv->has_single_pool, 1);
	}
	return ret;
}

/* ---- Setup and release ---------------------------------------------------- */

struct mana_eth_rxq *
mana_rxq_next(const struct mana_priv *priv, uint32_t *at)
{
	while (*at < priv->data->nb_rx_queues) {
		void *queue = priv->data->rx_queues[(*at)++];

		if (queue != NULL)
			return queue;
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
	int ret = layout_take(priv, conf, offloads, mp, &layout);

	if (ret == 0)
		ret = mana_rx_layout_check(priv, &layout, priv->data->mtu);
	if (ret != 0)
		return ret;
	ctl = mana_queue_alloc("mana_rxq", sizeof(*ctl), socket_id);
	if (ctl == NULL)
		return -ENOMEM;
	for (uint16_t i = 0; ret == 0 && i < layout.nb_segs; i++)
		ret = mana_mr_add_pool(priv, layout.segs[i].mp);
	if (ret != 0) {
		rte_free(ctl);
		return ret;
	}
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
	mana_rx_list_init(&ctl->list, &priv->stand_in);
	(void)rte_strscpy(ctl->mempool, ctl->mp->name, sizeof(ctl->mempool));
	if (has_single_pool(ctl))
		mana_atomic_store(&priv->has_single_pool, 1);
	mana_registry_lock();
	priv->rxqs[queue_id] = ctl;
	mana_registry_unlock();
	priv->data->rx_queues[queue_id] = &ctl->list;
	return 0;
}

void
mana_rxq_release(struct mana_priv *priv, uint16_t queue_id)
{
	struct mana_eth_rxq *ctl = priv->rxqs[queue_id];

	if (ctl == NULL)
		return;
	mana_rx_set_queue_release(priv, queue_id);
	/* The application may free the pool now, which the driver does not notice. */
	if (!priv->data->dev_started)
		mana_mr_remove_foreign(priv);
	priv->data->rx_queues[queue_id] = NULL;
	mana_registry_lock();
	/* In one step, so that no reader counts it twice or not at all. */
	mana_stats_fold_queue(priv, true, queue_id);
	priv->rxqs[queue_id] = NULL;
	mana_registry_unlock();
	mana_queue_retire(priv, ctl);
}

/* ---- Hardware queues: kernel objects and buffers ---------------------------- */

int
mana_rx_hwq_intr(const struct mana_priv *priv, const struct mana_rx_hwq *hwq,
		 uint16_t queue_id, int op)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (hwq->channel == NULL || priv->rx_intrs == NULL ||
	    epoll_ctl(priv->rx_intrs[queue_id].sources_fd, op,
		      hwq->channel->fd, &event) == 0 ||
	    errno == EEXIST)
		return 0;
	return -errno;
}

/* ctl: NULL if the owner was released. */
static int
objects_create(struct mana_priv *priv, struct mana_rx_hwq *hwq,
	       const struct mana_eth_rxq *ctl, uint32_t nb_sge)
{
	uint32_t vectors = RTE_MAX(priv->limits.caps.nb_comp_vectors, 1u);
	int ret = 0;

	/* A CQ's channel is fixed when the CQ is created, so each CQ has its own. */
	if (priv->rx_intrs != NULL)
		ret = mana_verbs_channel_create(priv->ctx, &hwq->channel);
	/* A stopped queue is woken from its start on. */
	if (ret == 0 && priv->data->rx_queue_state[hwq->owner] ==
				RTE_ETH_QUEUE_STATE_STARTED)
		ret = mana_rx_hwq_intr(priv, hwq, hwq->owner, EPOLL_CTL_ADD);
	priv->rings.socket_id = ctl != NULL ? ctl->socket_id : SOCKET_ID_ANY;
	if (ret == 0)
		ret = mana_verbs_cq_create(priv->ctx,
					   ctl != NULL ? ctl->nb_cqe :
							 MANA_MIN_CQE,
					   hwq->channel, hwq->owner % vectors,
					   &hwq->cq);
	if (ret == 0)
		ret = mana_verbs_wq_create(priv->parent, hwq->cq, hwq->nb_desc,
					   nb_sge, &hwq->wq);
	return ret;
}

static int
rings_init(const struct mana_priv *priv, struct mana_rx_hwq *hwq,
	   const struct mana_eth_rxq *ctl, const struct mana_rx_seg *segs,
	   uint16_t nb_segs)
{
	struct mana_verbs_queue queue;
	int ret = mana_verbs_rq_get(hwq->wq, hwq->cq, ctl->nb_cqe, &queue);

	if (ret != 0)
		return ret;
	return mana_rxq_init(&hwq->rxq, &(struct mana_rxq_conf){
		.rq_ring = queue.ring,
		.rq_bytes = queue.ring_bytes,
		.cq_ring = queue.cq_ring,
		.nb_cqe = ctl->nb_cqe,
		.db_page = mana_db_page(priv->data->port_id),
		.mp = ctl->mp,
		.data_delta = ctl->data_delta,
		.segs = segs,
		.nb_segs = nb_segs,
		.mbufs = hwq->mbufs,
		.nb_mbufs = rte_align32pow2(hwq->nb_desc),
		.nb_desc = hwq->nb_desc,
		.free_thresh = ctl->free_thresh,
		.port_id = hwq->rxq.port_id,
		.queue_id = hwq->owner,
		.vlan_strip = (ctl->offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0,
		.csum = (ctl->offloads & RTE_ETH_RX_OFFLOAD_CHECKSUM) != 0,
		.ptypes = priv->wants_ptypes,
		.scrub = priv->options.rx_scrub,
	});
}

int
mana_rx_hwq_create(struct mana_priv *priv, struct mana_rx_hwq *hwq,
		   uint16_t owner, bool is_polled, bool may_lack, bool *lacks)
{
	const struct mana_eth_rxq *ctl = priv->rxqs[owner];
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
	uint16_t nb_segs = 0;
	int ret;

	hwq->owner = owner;
	hwq->rxq.port_id = priv->data->port_id;
	hwq->nb_desc = MANA_MIN_DESC;
	mana_mr_cache_init(&hwq->rxq.mr, &priv->mr_generation, priv);
	if (ctl == NULL || ctl->is_released) {
		/* The queue gets no buffers, so the device drops its packets. */
		ret = objects_create(priv, hwq, NULL, 1);
		goto end;
	}
	hwq->nb_desc = ctl->nb_desc;
	hwq->offloads = ctl->offloads;
	ret = layout_get(priv, &ctl->layout, priv->data->mtu, segs, &nb_segs);
	if (ret == 0)
		ret = objects_create(priv, hwq, ctl, RTE_MAX(nb_segs, 1));
	if (ret == 0) {
		hwq->mbufs = mana_queue_alloc("mana_rxq",
			(size_t)rte_align32pow2(hwq->nb_desc) *
				RTE_MAX(nb_segs, 1) * sizeof(*hwq->mbufs),
			ctl->socket_id);
		ret = hwq->mbufs == NULL ? -ENOMEM :
		      rings_init(priv, hwq, ctl, segs, nb_segs);
	}
	if (ret != 0)
		goto end;
	hwq->has_buffers = true;
	/* Bursts use the pool now: the ring is filled in the pause. */
	if (is_polled && has_single_pool(ctl)) {
		*lacks = true;
		return 0;
	}
	/* Now, so that a lack of mbufs is found before traffic flows. */
	ret = mana_rxq_fill(&hwq->rxq);
	if (ret == -ENOMEM && may_lack) {
		*lacks = true;
		ret = 0;
	}
end:
	/* -EPROTO: perhaps it is only too large. */
	if (ret != 0 && ret != -EPROTO)
		mana_rx_hwq_diag(priv, hwq, ret);
	return ret;
}

void
mana_rx_hwq_objects_destroy(const struct mana_priv *priv, struct mana_rx_hwq *hwq)
{
	(void)mana_queue_is_gone(priv, "Rx queue",
				 mana_verbs_wq_destroy(hwq->wq));
	(void)mana_queue_is_gone(priv, "CQ", mana_verbs_cq_destroy(hwq->cq));
	hwq->wq = NULL;
	hwq->cq = NULL;
	mana_rxq_close(&hwq->rxq);
}

void
mana_rx_hwq_destroy(struct mana_priv *priv, struct mana_rx_hwq *hwq, bool is_gone)
{
	mana_rx_hwq_objects_destroy(priv, hwq);
	/* A child may have inherited the channel: its close removes nothing. */
	(void)mana_rx_hwq_intr(priv, hwq, hwq->owner, EPOLL_CTL_DEL);
	mana_verbs_channel_destroy(hwq->channel);
	hwq->channel = NULL;
	if (hwq->has_buffers)
		mana_rxq_release_mbufs(&hwq->rxq, is_gone);
	hwq->has_buffers = false;
	rte_free(hwq->mbufs);
	hwq->mbufs = NULL;
}

void
mana_rx_hwq_diag(const struct mana_priv *priv, const struct mana_rx_hwq *hwq,
		 int error)
{
	const struct mana_rx_scatter *scatter = &hwq->rxq.scatter;
	struct rte_mempool *mp = hwq->rxq.mp;
	uint32_t per_wqe = scatter->nb_segs == 0;

	if (!hwq->has_buffers || error != -ENOMEM) {
		mana_diag_object(priv, "Rx queue", hwq->owner, error);
		return;
	}
	/* The pool with the fewest mbufs left. */
	for (uint16_t i = 0; i < scatter->nb_segs; i++)
		if (i == 0 || rte_mempool_avail_count(scatter->segs[i].mp) <
				      rte_mempool_avail_count(mp))
			mp = scatter->segs[i].mp;
	for (uint16_t i = 0; i < scatter->nb_segs; i++)
		per_wqe += scatter->segs[i].mp == mp;
	MANA_PORT_LOG(ERR, priv->data->name,
		      "Rx queue %u: mempool %s has too few mbufs: needs %u, %u available",
		      hwq->owner, mp->name, hwq->nb_desc * per_wqe,
		      mana_rxq_nb_posted(&hwq->rxq) * per_wqe +
			      rte_mempool_avail_count(mp));
}

/* ---- Moves -------------------------------------------------------------------- */

/* Two pools of which posted and fresh mbufs may be mixed. */
static bool
can_mix(struct rte_mempool *from, struct rte_mempool *to)
{
	return from == to ||
	       (!is_single(from) && !is_single(to) &&
		rte_pktmbuf_priv_flags(from) == rte_pktmbuf_priv_flags(to));
}

bool
mana_rx_hwq_can_move(const struct mana_priv *priv, const struct mana_rx_hwq *hwq,
		     const struct mana_eth_rxq *to)
{
	const uint64_t fixed = ~(uint64_t)RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	const struct mana_rxq *rxq = &hwq->rxq;
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
	uint16_t nb_segs;

	if (!hwq->has_buffers || mana_rxq_failure(rxq) != MANA_FAILURE_NONE ||
	    ((hwq->offloads ^ to->offloads) & fixed) != 0 ||
	    hwq->nb_desc != to->nb_desc ||
	    rxq->refill_thresh != to->free_thresh ||
	    layout_get(priv, &to->layout, priv->data->mtu, segs, &nb_segs) != 0 ||
	    nb_segs != rxq->scatter.nb_segs)
		return false;
	if (nb_segs == 0)
		return to->layout.segs[0].bytes == rxq->buf_bytes &&
		       can_mix(rxq->mp, to->mp);
	for (uint16_t i = 0; i < nb_segs; i++)
		if (segs[i].mp != rxq->scatter.segs[i].mp ||
		    segs[i].offset != rxq->scatter.segs[i].offset ||
		    segs[i].bytes != rxq->scatter.segs[i].bytes)
			return false;
	return true;
}

void
mana_rx_hwq_move(struct mana_rx_hwq *hwq, struct mana_eth_rxq *from,
		 const struct mana_eth_rxq *to, uint16_t owner)
{
	hwq->owner = owner;
	if (from != NULL)
		mana_stats_fold_hwq(from, &hwq->rxq);
	if (to == NULL || !hwq->has_buffers)
		return;
	hwq->offloads = to->offloads;
	hwq->is_mixed |= hwq->rxq.mp != to->mp;
	mana_rxq_assign(&hwq->rxq, to->owner, to->mp, to->data_delta,
			(to->offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0);
}
