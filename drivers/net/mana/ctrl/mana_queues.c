/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The queues of ethdev: setup and release, start and stop of all, the buffers of Rx queues,
 * and the kernel objects of Tx queues. Those of Rx queues are in mana_rx_set.c.
 *
 * A WQE of an RQ usually has one buffer, of the queue's pool, behind the usual headroom. It has
 * several if a frame of the MTU does not fit one and the application allows this
 * (RTE_ETH_RX_OFFLOAD_SCATTER), or if the application splits frames by length
 * (RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT). Buffers beyond the first one, or beyond the last one of a
 * split, are whole buffers of the last pool, as ethdev defines for struct rte_eth_rxseg_split. A
 * layout is valid from a start of the queue to its stop.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mempool.h>
#include <rte_string_fns.h>

#include "mana_locks.h"
#include "mana_log.h"
#include "mana_queues.h"

/* How long a stopping queue waits for completions, and how often it checks. */
#define WAIT_MS 20
#define WAIT_END (rte_get_timer_cycles() + rte_get_timer_hz() / 1000 * WAIT_MS)
#define WAIT_STEP_US 50

/* Mbufs that are freed in bulk, per WQE: without and with multi-segment Tx. */
#define MBUFS_PER_WQE 2
#define MBUFS_PER_WQE_CHAINS 4

/* SGEs of a packet without multi-segment Tx: its segment and a copied header. */
#define SGES_OF_ONE_SEG 2u

/* ---- For Tx and Rx queues ---------------------------------------------------- */

#define FIRST_WAIT_US 20000
#define NB_WAITS 6

uint32_t
mana_queue_nb_cqe(const struct mana_priv *priv, uint16_t nb_desc, uint32_t nb_spare)
{
	uint32_t nb = RTE_MAX(nb_desc + nb_spare, (uint32_t)MANA_MIN_CQE);

	return RTE_MIN(rte_align32pow2(nb), priv->limits.max_cqe);
}

bool
mana_queue_wait(const struct mana_priv *priv, unsigned int tries)
{
	if (priv->is_running || tries > NB_WAITS)
		return false;
	rte_delay_us_sleep(FIRST_WAIT_US << (tries - 1));
	return true;
}

void *
mana_queue_alloc(const char *what, size_t size, int socket_id)
{
	void *memory = rte_zmalloc_socket(what, size, RTE_CACHE_LINE_SIZE, socket_id);

	return memory != NULL ? memory : rte_zmalloc(what, size, RTE_CACHE_LINE_SIZE);
}

static void
retired_free(struct mana_priv *priv)
{
	while (priv->nb_retired != 0)
		rte_free(priv->retired[--priv->nb_retired]);
	free(priv->retired);
	priv->retired = NULL;
}

/*
 * Frees what ethdev's queue pointer points to. While there are secondary processes, only
 * when the port is closed: a thread there may have read the pointer before.
 */
static void
queue_retire(struct mana_priv *priv, void *queue)
{
	void **retired;

	if (!mana_peers_exist()) {
		retired_free(priv);
		rte_free(queue);
		return;
	}
	retired = realloc(priv->retired, (priv->nb_retired + 1) * sizeof(*retired));
	/* It is leaked: a thread of another process may still read it. */
	if (retired == NULL)
		return;
	retired[priv->nb_retired++] = queue;
	priv->retired = retired;
}

const char *
mana_queue_failure_name(uint8_t failure)
{
	static const char *const names[] = {
		[MANA_FAILURE_NONE] = "none",
		[MANA_FAILURE_OVERRUN] = "overrun",
		[MANA_FAILURE_UNKNOWN_CQE] = "unknown_cqe",
		[MANA_FAILURE_DISABLED] = "disabled",
		[MANA_FAILURE_KILLED] = "killed",
	};

	return failure < RTE_DIM(names) ? names[failure] : "unknown";
}

bool
mana_queue_is_gone(const struct mana_priv *priv, const char *what, int error)
{
	if (error == 0 || mana_is_gone(priv))
		return true;
	MANA_PORT_LOG(WARNING, priv->data->name, "the kernel does not destroy a %s: %s", what,
		      strerror(-error));
	/* A device that was reset or removed: it does nothing any more. */
	return error == -EIO || error == -ENODEV;
}

/* ---- Rx queues: layouts ------------------------------------------------------ */

uint16_t
mana_rx_max_segs(const struct mana_priv *priv)
{
	return RTE_MIN(priv->limits.caps.max_sge, (uint32_t)GDMA_RQ_WQE_MAX_SGE);
}

/*
 * The buffers that the application gives a queue: of mp, or the split in conf, of which
 * ethdev has checked all but what follows from an offset without a length.
 */
static int
layout_take(const struct mana_priv *priv, const struct rte_eth_rxconf *conf,
	    uint64_t offloads, struct rte_mempool *mp, struct mana_rx_layout *layout)
{
	layout->is_split = mp == NULL;
	layout->can_grow = layout->is_split || (offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
	layout->nb_segs = layout->is_split ? conf->rx_nseg : 1;
	for (uint16_t i = 0; i < layout->nb_segs; i++) {
		struct rte_eth_rxseg_split split = { .mp = mp };
		struct mana_rx_seg *seg = &layout->segs[i];
		uint32_t room, offset;

		if (layout->is_split) {
			split = conf->rx_seg[i].split;
			layout->rx_seg[i] = conf->rx_seg[i];
		}
		room = rte_pktmbuf_data_room_size(split.mp);
		offset = split.offset + (i == 0 ? RTE_PKTMBUF_HEADROOM : 0);
		if (layout->is_split && offset + RTE_MAX(split.length, 1) > room)
			return MANA_PORT_ERR(-EINVAL, priv->data->name,
					     "segment %u of the buffer split: offset %u and length %u do not fit the %u bytes of mempool %s",
					     i, offset, split.length, room, split.mp->name);
		seg->mp = split.mp;
		seg->offset = offset;
		seg->bytes = split.length != 0 ? split.length : room > offset ? room - offset : 0;
	}
	return 0;
}

/* The frame needs more buffers than a WQE may have. */
static int
refuse_many(const struct mana_priv *priv, const struct mana_rx_layout *layout,
	    uint16_t mtu, uint32_t frame_bytes)
{
	struct rte_mempool *mp = layout->segs[layout->nb_segs - 1].mp;
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
			     mtu, max, rte_pktmbuf_data_room_size(mp), mp->name,
			     (frame_bytes - given + nb_more - 1) / nb_more);
}

int
mana_rx_layout_check(const struct mana_priv *priv, const struct mana_rx_layout *layout,
		     uint16_t mtu, struct mana_rx_scatter *scatter)
{
	struct mana_rx_seg *segs = scatter->segs;
	uint32_t frame_bytes = (uint32_t)mtu + MANA_FRAME_OVERHEAD;
	uint32_t bytes = 0;
	uint16_t i;

	scatter->nb_segs = 0;
	segs[0] = layout->segs[0];
	if (!layout->is_split && layout->segs[0].bytes >= frame_bytes)
		return 0;
	if (!layout->can_grow)
		return MANA_PORT_ERR(-EINVAL, priv->data->name,
				     "MTU %u needs buffers of %u bytes, those of mempool %s have %u: make the pool with data_room_size %u or more, or enable RTE_ETH_RX_OFFLOAD_SCATTER",
				     mtu, frame_bytes, layout->segs[0].mp->name,
				     layout->segs[0].bytes, frame_bytes + RTE_PKTMBUF_HEADROOM);
	for (i = 0; i < layout->nb_segs || bytes < frame_bytes; i++) {
		if (i == mana_rx_max_segs(priv))
			return refuse_many(priv, layout, mtu, frame_bytes);
		if (i < layout->nb_segs)
			segs[i] = layout->segs[i];
		else
			segs[i] = (struct mana_rx_seg){
				.mp = segs[i - 1].mp,
				.bytes = rte_pktmbuf_data_room_size(segs[i - 1].mp),
			};
		bytes += segs[i].bytes;
	}
	scatter->nb_segs = i;
	return 0;
}

/* ---- Rx queues: setup and release -------------------------------------------- */

/* mana_rx_pool_delta(), once for a pool: a queue takes it from another one, of any port. */
static uint64_t
pool_delta(struct rte_mempool *mp)
{
	const uint64_t usual = sizeof(struct rte_mbuf) + rte_pktmbuf_priv_size(mp) +
			       RTE_PKTMBUF_HEADROOM;
	/* Not if the address may be that of a newer pool of another kind. */
	const bool is_usual = mp->populated_size == mp->size &&
		(rte_pktmbuf_priv_flags(mp) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) == 0;
	const struct mana_priv *port;
	const struct mana_rxq *rxq;
	bool is_known = false;
	uint32_t port_id = 0;

	mana_registry_lock();
	/* ethdev may free the array of another port meanwhile. */
	while ((port = mana_registry_next(&port_id)) != NULL)
		for (uint32_t i = 0; i < MANA_MAX_QUEUES; i++) {
			rxq = port->rxqs[i];
			is_known |= rxq != NULL && rxq->layout.segs[0].mp == mp &&
				    rxq->data_delta == usual;
		}
	mana_registry_unlock();
	return is_usual && is_known ? usual : mana_rx_pool_delta(mp);
}

int
mana_rxq_setup(struct mana_priv *priv, uint16_t queue_id, uint16_t nb_desc,
	       unsigned int socket_id, const struct rte_eth_rxconf *conf, struct rte_mempool *mp)
{
	uint64_t offloads = conf->offloads | priv->data->dev_conf.rxmode.offloads;
	struct mana_rxq *rxq = mana_queue_alloc("mana_rxq", sizeof(*rxq), socket_id);
	const struct mana_rx_seg *segs;
	int ret;

	if (rxq == NULL)
		return -ENOMEM;
	segs = rxq->layout.segs;
	ret = layout_take(priv, conf, offloads, mp, &rxq->layout);
	if (ret == 0)
		ret = mana_rx_layout_check(priv, &rxq->layout, priv->data->mtu, &rxq->scatter);
	for (uint16_t i = 0; ret == 0 && i < rxq->layout.nb_segs; i++)
		ret = mana_mr_add_pool(priv, segs[i].mp);
	if (ret != 0) {
		rte_free(rxq);
		return ret;
	}
	rxq->queue_id = queue_id;
	rxq->data_delta = pool_delta(segs[0].mp);
	rxq->asked_desc = nb_desc;
	rxq->asked_thresh = conf->rx_free_thresh;
	mana_rxq_resize(priv, rxq, nb_desc);
	rxq->socket_id = socket_id;
	rxq->is_deferred = conf->rx_deferred_start;
	rxq->offloads = offloads;
	mana_rxq_init(rxq, &priv->stand_in);
	(void)rte_strscpy(rxq->mempool, segs[0].mp->name, sizeof(rxq->mempool));
	mana_registry_lock();
	priv->rxqs[queue_id] = rxq;
	mana_atomic_release(&priv->burst_queues->rxqs[queue_id], rxq);
	mana_registry_unlock();
	priv->data->rx_queues[queue_id] = rxq;
	return 0;
}

void
mana_rxq_release(struct mana_priv *priv, uint16_t queue_id)
{
	struct mana_rxq *rxq = priv->rxqs[queue_id];

	if (rxq == NULL)
		return;
	mana_rx_set_queue_release(priv, queue_id);
	/* The application may free the pool now, which the driver does not notice. */
	if (!priv->data->dev_started)
		mana_mr_remove_unknown(priv);
	priv->data->rx_queues[queue_id] = NULL;
	mana_registry_lock();
	/* In one step, so that no reader counts it twice or not at all. */
	mana_stats_fold_queue(priv, true, queue_id);
	priv->rxqs[queue_id] = NULL;
	mana_atomic_release(&priv->burst_queues->rxqs[queue_id], NULL);
	mana_registry_unlock();
	queue_retire(priv, rxq);
}

/* ---- Tx queues: setup and release ------------------------------------------ */

/* The pool for copies of frames that the adapter cannot send as they are. */
static int
bounce_pool_make(struct mana_priv *priv)
{
	/* The error for a node without memory depends on the kind of memory. */
	const int sockets[] = { priv->data->numa_node, SOCKET_ID_ANY };
	char name[RTE_MEMPOOL_NAMESIZE];
	uint32_t frame = MANA_FRAME_OVERHEAD + RTE_VLAN_HLEN + priv->limits.max_mtu;
	/*
	 * A copy of 64 KiB for segmentation has to fit a WQE, the header of
	 * which takes one more SGE than its segments.
	 */
	uint32_t min_copy = UINT16_MAX / (priv->options.max_send_sge - 1u) + 1;
	uint32_t room = RTE_PKTMBUF_HEADROOM + RTE_MAX(frame, min_copy);

	snprintf(name, sizeof(name), "mana_copy_%u", priv->data->port_id);
	room = RTE_MIN(room, (uint32_t)UINT16_MAX);
	/* All Tx queues use it, whatever operations the application has chosen for its pools. */
	for (unsigned int i = 0; i < RTE_DIM(sockets) && priv->bounce_mp == NULL; i++)
		priv->bounce_mp = rte_pktmbuf_pool_create_by_ops(name, 255, 0, 0, room, sockets[i],
								 RTE_MBUF_DEFAULT_MEMPOOL_OPS);
	if (priv->bounce_mp == NULL)
		return MANA_PORT_ERR(-ENOMEM, priv->data->name,
				     "no memory for the pool of copies: %s", rte_strerror(rte_errno));
	return 0;
}

/* The arrays of a queue, in one block of memory that begins at bounce. */
static int
txq_alloc(struct mana_txq *txq)
{
	const size_t nb_wqes = rte_align32pow2(txq->asked_desc);
	/* Chains that exceed this are freed by their heads, which is slower. */
	const size_t nb_mbufs = nb_wqes *
		((txq->offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0 ?
			 MBUFS_PER_WQE_CHAINS : MBUFS_PER_WQE);
	size_t bounce_bytes = nb_wqes * MANA_TX_BOUNCE_BYTES;
	size_t groups_bytes = nb_wqes * sizeof(*txq->groups);
	size_t mbufs_bytes = nb_mbufs * sizeof(*txq->mbufs);

	txq->bounce = mana_queue_alloc("mana_txq", bounce_bytes + groups_bytes +
				       2 * mbufs_bytes + nb_wqes * sizeof(*txq->info),
				       txq->socket_id);
	if (txq->bounce == NULL)
		return -ENOMEM;
	txq->groups = RTE_PTR_ADD(txq->bounce, bounce_bytes);
	txq->mbufs = RTE_PTR_ADD(txq->groups, groups_bytes);
	txq->pools = RTE_PTR_ADD(txq->mbufs, mbufs_bytes);
	txq->info = RTE_PTR_ADD(txq->pools, mbufs_bytes);
	txq->mask = nb_wqes - 1;
	txq->mbuf_mask = nb_mbufs - 1;
	return 0;
}

static void
txq_resize(struct mana_txq *txq, uint16_t nb_desc)
{
	/* Other threads read it. */
	mana_registry_lock();
	txq->nb_desc = nb_desc;
	mana_registry_unlock();
}

int
mana_txq_setup(struct mana_priv *priv, uint16_t queue_id, uint16_t nb_desc,
	       unsigned int socket_id, const struct rte_eth_txconf *conf)
{
	struct mana_txq *txq = mana_queue_alloc("mana_txq", sizeof(*txq), socket_id);
	int ret;

	if (txq == NULL)
		return -ENOMEM;
	txq->queue_id = queue_id;
	mana_txq_close(txq);
	mana_mr_cache_init(&txq->mr, &priv->mr_table);
	txq->asked_desc = txq->nb_desc = nb_desc;
	txq->free_thresh = conf->tx_free_thresh;
	txq->is_deferred = conf->tx_deferred_start;
	txq->offloads = conf->offloads | priv->data->dev_conf.txmode.offloads;
	txq->socket_id = socket_id;
	txq->mtu = priv->limits.max_mtu;
	ret = txq_alloc(txq);
	/* The pool belongs to the port, so it is made last: a refused setup leaves nothing. */
	if (ret == 0)
		ret = bounce_pool_make(priv);
	if (ret != 0) {
		rte_free(txq->bounce);
		rte_free(txq);
		return ret;
	}
	txq->bounce_mp = priv->bounce_mp;
	mana_registry_lock();
	priv->txqs[queue_id] = txq;
	mana_atomic_release(&priv->burst_queues->txqs[queue_id], txq);
	mana_registry_unlock();
	priv->data->tx_queues[queue_id] = txq;
	return 0;
}

void
mana_txq_release(struct mana_priv *priv, uint16_t queue_id)
{
	struct mana_txq *txq = priv->txqs[queue_id];

	if (txq == NULL)
		return;
	priv->data->tx_queues[queue_id] = NULL;
	mana_registry_lock();
	mana_stats_fold_queue(priv, false, queue_id);
	priv->txqs[queue_id] = NULL;
	mana_atomic_release(&priv->burst_queues->txqs[queue_id], NULL);
	mana_registry_unlock();
	mana_txq_release_mbufs(txq);
	rte_free(txq->bounce);
	queue_retire(priv, txq);
}

/* ---- Tx queues: kernel objects ----------------------------------------------- */

/* Returns whether the device no longer accesses the packets. */
static bool
sq_destroy(struct mana_priv *priv, struct mana_txq *txq)
{
	int ret = MANA_VERBS_DESTROY(ibv_destroy_qp, txq->qp);
	bool is_gone = mana_queue_is_gone(priv, "Tx queue", ret);

	/* At once after the QP: until then the kernel keeps the CQ's id. */
	(void)mana_queue_is_gone(priv, "CQ", MANA_VERBS_DESTROY(ibv_destroy_cq, txq->ibv_cq));
	txq->qp = NULL;
	txq->ibv_cq = NULL;
	return is_gone;
}

/* Whether another try may succeed after this error. Adapts sizes, or waits. */
static bool
sq_retry(struct mana_priv *priv, struct mana_txq *txq, int error, unsigned int tries)
{
	struct mana_netdev_state state;

	switch (error) {
	case -EINVAL:
		if (mana_queue_wait(priv, tries))
			return true;
		/*
		 * Or the kernel accepts fewer segments than the device. The next
		 * start requests all again: the cause may be another.
		 */
		if (priv->limits.caps.max_sge >= txq->max_sge)
			return false;
		txq->max_sge = priv->limits.caps.max_sge;
		MANA_PORT_LOG(INFO, priv->data->name,
			      "Tx queue %u: trying with %u segments a packet",
			      txq->queue_id, txq->max_sge);
		return true;
	case -EPROTO:
		/* The device's answer; its limits are not known. */
		if (txq->nb_desc <= MANA_MIN_DESC)
			return false;
		txq_resize(txq, RTE_MAX(txq->nb_desc / 2, MANA_MIN_DESC));
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "the device refused Tx queue %u: trying with %u descriptors instead of %u",
			      txq->queue_id, txq->nb_desc, txq->asked_desc);
		return true;
	case -EBUSY:
	case -ENODEV:
		/* The last owner, a killed process, may still be exiting. */
		return mana_netdev_state_get(&priv->netdev, &state) == 0 &&
		       !state.is_up && mana_queue_wait(priv, tries);
	default:
		return false;
	}
}

/*
 * The first QP of a parent domain takes the vPort. After a failure there are no objects.
 *
 * The ring has room for max_sge segments in each packet. Packets walk through the whole
 * ring, so without multi-segment Tx a small ring stays in the cache. A packet with more
 * segments is copied.
 */
static int
sq_create(struct mana_priv *priv, struct mana_txq *txq)
{
	const uint64_t several = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_TCP_TSO;
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RAW_PACKET };
	unsigned int tries = 0;
	int ret;

	/* What an earlier start had to accept is forgotten. */
	txq_resize(txq, txq->asked_desc);
	txq->max_sge = (txq->offloads & several) != 0 ? priv->options.max_send_sge :
				RTE_MIN(priv->options.max_send_sge, SGES_OF_ONE_SEG);
	priv->rings.socket_id = txq->socket_id;
	do {
		ret = MANA_VERBS_CREATE(txq->ibv_cq,
			ibv_create_cq(priv->ctx, mana_queue_nb_cqe(priv, txq->nb_desc, 0),
				      NULL, NULL, 0));
		attr.send_cq = txq->ibv_cq;
		attr.recv_cq = txq->ibv_cq;
		attr.cap.max_send_wr = txq->nb_desc;
		attr.cap.max_send_sge = txq->max_sge;
		if (ret == 0)
			ret = MANA_VERBS_CREATE(txq->qp, ibv_create_qp(priv->parent, &attr));
		if (ret != 0)
			(void)sq_destroy(priv, txq);
		/* All smaller sizes are tried. */
		tries += ret != -EPROTO;
	} while (ret != 0 && sq_retry(priv, txq, ret, tries));
	return ret;
}

static int
txq_objects_start(struct mana_priv *priv, struct mana_txq *txq)
{
	struct mana_queue_rings rings;
	int ret;

	/* Its stalls are forgotten. */
	mana_registry_lock();
	txq->progress = (struct mana_tx_progress){ .since_ns = 0 };
	mana_registry_unlock();
	/* If one queue of the port needs the long form, all start with it. */
	mana_tx_form_report(priv);
	ret = sq_create(priv, txq);
	if (ret == 0)
		ret = mana_verbs_rings_get(&priv->rings, txq->qp, NULL, txq->ibv_cq,
					   mana_queue_nb_cqe(priv, txq->nb_desc, 0), &rings);
	if (ret == 0)
		ret = mana_txq_init(txq, &rings, &priv->options.tx);
	if (ret == 0) {
		(void)sq_destroy(priv, &priv->vport_txq);
		return 0;
	}
	if (ret == -ERANGE)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "the vPort's offset does not fit the short field of a descriptor; leave tx_oob=short and tx_vport=short out");
	else
		mana_diag_object(priv, "Tx queue", txq->queue_id, ret);
	(void)sq_destroy(priv, txq);
	txq_resize(txq, txq->asked_desc);
	return ret;
}

/* Waits until the device has sent the posted packets; the caller frees what it has not. */
static void
txq_wait(struct mana_txq *txq, uint64_t end)
{
	while (mana_txq_nb_posted(txq) != 0 && !mana_cq_is_closed(&txq->cq)) {
		(void)mana_txq_settle(txq, 0);
		if (rte_get_timer_cycles() >= end)
			break;
		rte_delay_us_sleep(WAIT_STEP_US);
	}
}

/* keeps: the driver's own thread frees no mbuf; the next burst does. */
static void
txq_objects_stop(struct mana_priv *priv, struct mana_txq *txq, bool keeps)
{
	mana_tx_form_report(priv);
	txq->runs = false;
	/* No burst runs, but a status function may run in another thread. */
	mana_query_wait(&txq->query_lock);
	mana_txq_close(txq);
	txq->stats.unfinished += mana_txq_nb_posted(txq);
	if (!sq_destroy(priv, txq))
		mana_txq_forget_mbufs(txq);
	else if (keeps)
		mana_txq_keep_mbufs(txq);
	else
		mana_txq_release_mbufs(txq);
}

void
mana_tx_form_report(struct mana_priv *priv)
{
	const struct mana_txq *txq;

	MANA_FOREACH_TXQ(priv, txq) {
		if (!txq->is_form_changed || priv->options.tx.form == MANA_TX_FORM_LONG)
			continue;
		priv->options.tx.form = MANA_TX_FORM_LONG;
		MANA_PORT_LOG(WARNING, priv->data->name,
			      "the device refused the first %u packets of Tx queue %u (TX_INVALID_OOB): using the long form of descriptors; tx_oob=long uses it from the start",
			      MANA_TX_FORM_TRIES, txq->queue_id);
	}
}

/* ---- Internal Tx queues, which send nothing --------------------------------- */

/* After a failure it has no objects. */
static int
vport_txq_create(struct mana_priv *priv, struct mana_txq *txq)
{
	*txq = (struct mana_txq){ .asked_desc = MANA_MIN_DESC, .socket_id = priv->data->numa_node };
	return sq_create(priv, txq);
}

/*
 * The first Tx queue configures the vPort, which Rx needs. Without a Tx queue, a running port
 * would lose the vPort to its netdev. Therefore an internal one exists while the application has
 * none but one that will stop.
 */
static int
vport_keep(struct mana_priv *priv, const struct mana_txq *stopping)
{
	const struct mana_txq *txq;
	int ret = 0;

	MANA_FOREACH_TXQ(priv, txq)
		if (txq != stopping && txq->qp != NULL)
			return 0;
	if (priv->vport_txq.qp == NULL)
		ret = vport_txq_create(priv, &priv->vport_txq);
	if (ret != 0)
		mana_diag_object(priv, "internal Tx queue", MANA_DIAG_NO_ID, ret);
	return ret;
}

/*
 * The kernel checks CAP_NET_RAW first when a program creates a raw QP (Linux
 * core/uverbs_std_types_qp.c), and in a user namespace for which the program's own capability
 * bits are no evidence. So this creates one. Any other error means that the program has the
 * permission; the adapter may have no Tx queue left.
 */
int
mana_txq_permission_check(struct mana_priv *priv)
{
	struct mana_txq trial;
	int ret = vport_txq_create(priv, &trial);

	if (ret == 0)
		(void)sq_destroy(priv, &trial);
	if (ret != -EPERM)
		return 0;
	mana_diag_object(priv, "change of the Rx queues", MANA_DIAG_NO_ID, ret);
	return ret;
}

/* ---- Tx queues: start and stop ----------------------------------------------- */

int
mana_txq_start(struct mana_priv *priv, uint16_t queue_id)
{
	int ret = txq_objects_start(priv, priv->txqs[queue_id]);

	if (ret != 0)
		return ret;
	mana_resume(priv, MANA_PAUSE_TXQ(queue_id));
	priv->data->tx_queue_state[queue_id] = RTE_ETH_QUEUE_STATE_STARTED;
	return 0;
}

int
mana_txq_stop(struct mana_priv *priv, uint16_t queue_id)
{
	struct mana_txq *txq = priv->txqs[queue_id];
	int ret = vport_keep(priv, txq);

	if (ret != 0)
		return ret;
	/* No Tx burst runs here (ethdev's contract); a process that joins finds it paused. */
	txq->runs = false;
	if (mana_peers_exist())
		ret = mana_pause(priv, MANA_PAUSE_TXQ(queue_id), MANA_PATIENCE_MS);
	if (ret != 0)
		return ret;
	txq_wait(txq, WAIT_END);
	txq_objects_stop(priv, txq, false);
	priv->data->tx_queue_state[queue_id] = RTE_ETH_QUEUE_STATE_STOPPED;
	return 0;
}

int
mana_txq_repair(struct mana_priv *priv, struct mana_txq *txq)
{
	const unsigned int what = MANA_PAUSE_TXQ(txq->queue_id);
	int ret;

	if (priv->data->tx_queue_state[txq->queue_id] != RTE_ETH_QUEUE_STATE_STARTED ||
	    (txq->qp != NULL && mana_txq_failure(txq) == MANA_FAILURE_NONE))
		return 0;
	ret = vport_keep(priv, txq);
	if (ret == 0)
		ret = mana_pause(priv, what, MANA_REPAIR_PATIENCE_MS);
	if (ret != 0)
		return ret;
	txq_objects_stop(priv, txq, true);
	ret = txq_objects_start(priv, txq);
	mana_resume(priv, what);
	return ret == 0 ? 1 : ret;
}

/* ---- Start and stop of all queues -------------------------------------------- */

/*
 * Whether all queues are set up, and frames of the MTU fit their buffers: both may have
 * changed. A port that recovers may have a stopped queue that is not set up. Sets
 * scattered_rx of the port, which telemetry of ethdev shows.
 */
static int
queues_check(struct mana_priv *priv)
{
	struct rte_eth_dev_data *data = priv->data;
	uint8_t scattered_rx = 0;
	struct mana_rxq *rxq;
	int ret = 0;

	for (uint16_t i = 0;
	     !priv->is_running && i < RTE_MAX(data->nb_tx_queues, data->nb_rx_queues); i++)
		if ((i < data->nb_tx_queues && data->tx_queues[i] == NULL) ||
		    (i < data->nb_rx_queues && data->rx_queues[i] == NULL))
			return MANA_PORT_ERR(-EINVAL, data->name,
					     "queue %u is configured, but was not set up", i);
	MANA_FOREACH_RXQ(priv, rxq) {
		if (ret == 0)
			ret = mana_rx_layout_check(priv, &rxq->layout, data->mtu, &rxq->scatter);
		scattered_rx |= rxq->scatter.nb_segs != 0;
	}
	/* A bit of a byte that other threads read, and write. */
	if (data->scattered_rx != scattered_rx)
		data->scattered_rx = scattered_rx;
	return ret;
}

int
mana_queues_start(struct mana_priv *priv)
{
	int ret = queues_check(priv);
	struct mana_txq *txq;

	if (ret != 0)
		return ret;
	/* The first QP takes the vPort, which the RSS QP needs to exist. */
	MANA_FOREACH_TXQ(priv, txq)
		if (ret == 0 && priv->data->tx_queue_state[txq->queue_id] ==
				RTE_ETH_QUEUE_STATE_STARTED)
			ret = txq_objects_start(priv, txq);
	if (ret == 0)
		ret = vport_keep(priv, NULL);
	if (ret == 0)
		ret = mana_rx_set_start(priv);
	if (ret != 0)
		mana_queues_stop(priv);
	return ret;
}

void
mana_queues_stop(struct mana_priv *priv)
{
	struct mana_txq *txq;
	uint64_t end;

	mana_rx_set_stop(priv);
	end = WAIT_END;
	MANA_FOREACH_TXQ(priv, txq) {
		if (txq->qp != NULL && !priv->is_running && !mana_is_gone(priv))
			txq_wait(txq, end);
		txq_objects_stop(priv, txq, priv->is_running);
	}
	(void)sq_destroy(priv, &priv->vport_txq);
}

void
mana_queues_release(struct mana_priv *priv)
{
	const struct mana_rxq *rxq;
	const struct mana_txq *txq;

	MANA_FOREACH_RXQ(priv, rxq)
		mana_rxq_release(priv, rxq->queue_id);
	MANA_FOREACH_TXQ(priv, txq)
		mana_txq_release(priv, txq->queue_id);
	retired_free(priv);
	rte_mempool_free(priv->bounce_mp);
}
