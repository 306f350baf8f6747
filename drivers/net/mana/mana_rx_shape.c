/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which buffers a receive WQE has.
 *
 * The ordinary case is one, of the queue's pool, behind the usual headroom. It
 * is several where a frame of the MTU does not fit one and the application
 * allows for it (RTE_ETH_RX_OFFLOAD_SCATTER), or where it splits frames by
 * length (RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT). Buffers beyond the first one, or
 * beyond the last one of a split, come whole from the last pool, as ethdev
 * defines for struct rte_eth_rxseg_split. What is chosen holds from a start of
 * the queue to its stop.
 */

#include <errno.h>

#include <rte_mempool.h>

#include "mana.h"
#include "mana_log.h"

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
	   struct mana_rx_shape *shape)
{
	uint16_t i;
	int ret;

	if (conf->rx_seg == NULL || conf->rx_nseg == 0 ||
	    conf->rx_nseg > mana_rx_max_segs(priv)) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "a receive queue needs a mempool, or a buffer split into 1 to %u segments",
			      mana_rx_max_segs(priv));
		return -EINVAL;
	}
	for (i = 0; i < conf->rx_nseg; i++) {
		ret = seg_take(priv, &conf->rx_seg[i].split, i, &shape->segs[i]);
		if (ret != 0)
			return ret;
		shape->rx_seg[i] = conf->rx_seg[i];
	}
	shape->nb_segs = conf->rx_nseg;
	shape->is_split = true;
	shape->can_grow = true;
	return 0;
}

int
mana_rx_shape_take(const struct mana_priv *priv,
		   const struct rte_eth_rxconf *conf, uint64_t offloads,
		   struct rte_mempool *mp, struct mana_rx_shape *shape)
{
	uint32_t room;

	*shape = (struct mana_rx_shape){ .nb_segs = 1 };
	if (mp == NULL)
		return split_take(priv, conf, shape);
	room = data_room(mp);
	shape->can_grow = (offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
	shape->segs[0].mp = mp;
	shape->segs[0].offset = RTE_PKTMBUF_HEADROOM;
	shape->segs[0].bytes = room > RTE_PKTMBUF_HEADROOM ?
				       room - RTE_PKTMBUF_HEADROOM : 0;
	return 0;
}

uint16_t
mana_rx_shape_max_segs(const struct mana_priv *priv,
		       const struct mana_rx_shape *shape)
{
	return shape->can_grow ? mana_rx_max_segs(priv) : 1;
}

/* Too small, for want of the offload. */
static int
refuse_small(const struct mana_priv *priv, const struct mana_rx_shape *shape,
	     uint16_t mtu)
{
	uint32_t frame_bytes = (uint32_t)mtu + MANA_FRAME_OVERHEAD;

	MANA_PORT_LOG(ERR, priv->data->name,
		      "MTU %u needs buffers of %u bytes, those of mempool %s have %u: make the pool with data_room_size %u or more, or enable RTE_ETH_RX_OFFLOAD_SCATTER",
		      mtu, frame_bytes, shape->segs[0].mp->name,
		      shape->segs[0].bytes, frame_bytes + RTE_PKTMBUF_HEADROOM);
	return -EINVAL;
}

/* Too many buffers, even with it. */
static int
refuse_many(const struct mana_priv *priv, const struct mana_rx_shape *shape,
	    uint16_t mtu)
{
	uint32_t frame_bytes = (uint32_t)mtu + MANA_FRAME_OVERHEAD;
	uint16_t max = mana_rx_max_segs(priv);
	const struct rte_mempool *mp = shape->segs[shape->nb_segs - 1].mp;
	uint32_t given = 0, nb_more = max - shape->nb_segs;
	uint16_t i;

	for (i = 0; i < shape->nb_segs; i++)
		given += shape->segs[i].bytes;
	if (!shape->is_split) {
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
mana_rx_shape_get(const struct mana_priv *priv,
		  const struct mana_rx_shape *shape, uint16_t mtu,
		  struct mana_rx_seg *segs, uint16_t *nb_segs)
{
	uint32_t frame_bytes = (uint32_t)mtu + MANA_FRAME_OVERHEAD;
	uint16_t max = mana_rx_max_segs(priv);
	uint32_t bytes = 0;
	uint16_t i;

	*nb_segs = 0;
	if (!shape->is_split && shape->segs[0].bytes >= frame_bytes)
		return 0;
	if (!shape->can_grow)
		return refuse_small(priv, shape, mtu);
	for (i = 0; i < shape->nb_segs || bytes < frame_bytes; i++) {
		if (i == max)
			return refuse_many(priv, shape, mtu);
		if (i < shape->nb_segs) {
			segs[i] = shape->segs[i];
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
mana_rx_shape_check(const struct mana_priv *priv,
		    const struct mana_rx_shape *shape, uint16_t mtu)
{
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
	uint16_t nb_segs;
	int ret;

	ret = mana_rx_shape_get(priv, shape, mtu, segs, &nb_segs);
	if (ret == 0 && nb_segs != 0 && priv->data->dev_started &&
	    !priv->data->scattered_rx) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "MTU %u takes several buffers of mempool %s a packet, and the receive function of the running port does not; stop the port before and start it after",
			      mtu, shape->segs[0].mp->name);
		return -EBUSY;
	}
	return ret;
}

int
mana_rx_shape_add_pools(struct mana_priv *priv,
			const struct mana_rx_shape *shape)
{
	int ret = 0;
	uint16_t i;

	for (i = 0; i < shape->nb_segs && ret == 0; i++)
		if (i == 0 || shape->segs[i].mp != shape->segs[i - 1].mp)
			ret = mana_mr_add_pool(priv, shape->segs[i].mp);
	return ret;
}

/* Whether some receive queue's WQEs have several buffers: bursts differ. */
int
mana_rx_shapes_check(struct mana_priv *priv)
{
	struct rte_eth_dev_data *data = priv->data;
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
	uint16_t nb_segs, i;
	int ret;

	data->scattered_rx = 0;
	for (i = 0; i < data->nb_rx_queues; i++) {
		ret = mana_rx_shape_get(
			priv, &mana_rxq_ctl_of(data->rx_queues[i])->shape,
			data->mtu, segs, &nb_segs);
		if (ret != 0)
			return ret;
		if (nb_segs != 0)
			data->scattered_rx = 1;
	}
	return 0;
}
