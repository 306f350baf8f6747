/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The Rx set of a running port: its hardware Rx queues, 2^n of them, the verbs table over them
 * and the RSS object.
 *
 * The kernel can change nothing of an RSS object, allows one of them, and a CQ or WQ that was
 * part of one is used up (Linux mana_ib_create_qp_rss). So there is one way for a change of the
 * key or the queues, for failed queues and for the loss of the device: the set is stopped, and
 * another one is started. A start that fails leaves the port without a set, and the tick starts
 * it again. Packets that wait are counted. Between stop and start each ethdev queue has the mbufs
 * of its rings as spares; the new rings get them, and the bursts return the others. The adapter
 * may write late to a buffer of the old rings: the oldest are posted last (ASSUMED: late-write).
 *
 * Entry i of the RSS table is hardware queue i. Which ethdev queue polls it is up to the driver
 * (struct mana_rxq), so a table is changed without the kernel, unless mempools or the size of
 * rings differ.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rte_malloc.h>

#include "mana_locks.h"
#include "mana_log.h"
#include "mana_queues.h"

static bool
is_running(const struct mana_priv *priv, uint16_t queue_id)
{
	return priv->data->rx_queue_state[queue_id] == RTE_ETH_QUEUE_STATE_STARTED;
}

/* mbufs of the pool in a WQE. */
static uint32_t
nb_of_pool(const struct mana_rx_scatter *scatter, const struct rte_mempool *mp)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < mana_rx_nb_bufs(scatter); i++)
		nb += scatter->segs[i].mp == mp;
	return nb;
}

/* ---- Descriptors of each hardware queue ------------------------------------------ */

/* Hardware queues of the table, from this one on, that the ethdev queue polls. */
static uint32_t
nb_of_owner(const struct mana_rx_table *table, uint16_t owner, uint32_t from)
{
	uint32_t nb = 0;

	for (uint32_t i = from; i < table->nb; i++)
		nb += table->reta[i] == owner;
	return nb;
}

/* Descriptors of each of these: all of the ethdev queue, or a share, at least 64. */
static uint16_t
nb_desc_by(const struct mana_priv *priv, const struct mana_rx_table *table,
	   const struct mana_rxq *rxq)
{
	uint32_t nb_desc = RTE_MIN(rxq->asked_desc, priv->rx_desc_taken);
	uint32_t nb = nb_of_owner(table, rxq->queue_id, 0);

	if (nb == 0 || !table->is_sharing)
		return nb_desc;
	return RTE_MAX(nb_desc / nb, RTE_MIN(nb_desc, (uint32_t)MANA_MIN_DESC));
}

/* mbufs of the pool for the running queues of the table. */
static uint32_t
pool_need(const struct mana_priv *priv, const struct mana_rx_table *table,
	  const struct rte_mempool *mp)
{
	const struct mana_rxq *rxq;
	uint32_t nb = 0;

	MANA_FOREACH_RXQ(priv, rxq)
		if (is_running(priv, rxq->queue_id))
			nb += nb_of_owner(table, rxq->queue_id, 0) *
			      nb_desc_by(priv, table, rxq) * nb_of_pool(&rxq->scatter, mp);
	return nb;
}

/* mbufs in the pool, and at least those of it in the rings that a rebuild replaces. */
static uint32_t
pool_supply(const struct mana_priv *priv, const struct rte_mempool *mp)
{
	uint32_t nb = rte_mempool_avail_count(mp);
	const struct mana_hwq *hwq;

	MANA_FOREACH_HWQ(priv->rx_set, hwq)
		if (hwq->block != NULL)
			nb += mana_hwq_posted_snapshot(hwq) * nb_of_pool(&hwq->scatter, mp);
	return nb;
}

/* A pool with too few mbufs for the running queues of the table, or NULL. */
static const struct rte_mempool *
lacking_pool(const struct mana_priv *priv, const struct mana_rx_table *table)
{
	const struct mana_rxq *rxq;

	MANA_FOREACH_RXQ(priv, rxq)
		for (uint16_t i = 0; i < rxq->layout.nb_segs; i++) {
			const struct rte_mempool *mp = rxq->layout.segs[i].mp;

			if (pool_need(priv, table, mp) > pool_supply(priv, mp))
				return mp;
		}
	return NULL;
}

void
mana_rxq_resize(const struct mana_priv *priv, struct mana_rxq *rxq, uint16_t nb_desc)
{
	rxq->nb_desc = nb_desc;
	rxq->free_thresh = mana_rx_refill_thresh(rxq->asked_thresh, nb_desc,
						 mana_queue_nb_cqe(priv, nb_desc, 1));
}

/* Gives each hardware queue max descriptors at most. Returns the largest number that one has. */
static uint16_t
size_limit(struct mana_priv *priv, uint16_t max)
{
	struct mana_rxq *rxq;
	uint16_t largest = 0;

	priv->rx_desc_taken = max;
	mana_registry_lock();
	MANA_FOREACH_RXQ(priv, rxq) {
		mana_rxq_resize(priv, rxq, nb_desc_by(priv, &priv->rss, rxq));
		largest = RTE_MAX(largest, rxq->nb_desc);
	}
	mana_registry_unlock();
	return largest;
}

/* Chooses, with one notice, to share descriptors if a mempool has too few mbufs for the table. */
static void
size_choose(struct mana_priv *priv, struct mana_rx_table *table)
{
	const struct rte_mempool *mp;
	uint32_t need;

	table->is_sharing = false;
	mp = lacking_pool(priv, table);
	if (mp == NULL)
		return;
	need = pool_need(priv, table, mp);
	table->is_sharing = true;
	if (priv->is_sharing_noted || pool_need(priv, table, mp) == need)
		return;
	priv->is_sharing_noted = true;
	MANA_PORT_LOG(NOTICE, priv->data->name,
		      "mempool %s has %u mbufs for Rx, full rings of %u hardware Rx queues need %u: the hardware queues of an Rx queue share its descriptors; with a power of two of Rx queues each has one",
		      mp->name, pool_supply(priv, mp), table->nb, need);
}

/* ---- A hardware queue: kernel objects and buffers ---------------------------- */

/* op: EPOLL_CTL_ADD, its channel wakes this ethdev queue, too; or EPOLL_CTL_DEL. */
static int
hwq_intr(const struct mana_priv *priv, const struct mana_hwq *hwq, uint16_t queue_id, int op)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (hwq->channel == NULL || priv->rx_intrs == NULL ||
	    epoll_ctl(priv->rx_intrs[queue_id].sources_fd, op, hwq->channel->fd, &event) == 0 ||
	    errno == EEXIST)
		return 0;
	return -errno;
}

/* CQ and WQ. The device drops the packets of a queue without buffers. */
static int
objects_create(struct mana_priv *priv, struct mana_hwq *hwq, int socket_id)
{
	int ret = 0;

	/* A CQ's channel is fixed when the CQ is created, so each CQ has its own. */
	if (priv->rx_intrs != NULL)
		ret = MANA_VERBS_CREATE(hwq->channel, ibv_create_comp_channel(priv->ctx));
	if (hwq->channel != NULL)
		ret = mana_verbs_nonblocking_set(hwq->channel->fd);
	priv->rings.socket_id = socket_id;
	if (ret == 0)
		ret = MANA_VERBS_CREATE(hwq->ibv_cq,
			ibv_create_cq(priv->ctx, mana_queue_nb_cqe(priv, hwq->nb_desc, 1),
				      NULL, hwq->channel,
				      hwq->queue_id % priv->limits.caps.nb_comp_vectors));
	if (ret == 0)
		ret = mana_verbs_wq_create(priv->parent, hwq->ibv_cq, hwq->nb_desc,
					   mana_rx_nb_bufs(&hwq->scatter), &hwq->wq);
	return ret;
}

/* The rings, and an array for the mbufs of their WQEs. */
static int
rings_init(const struct mana_priv *priv, struct mana_hwq *hwq, const struct mana_rxq *rxq)
{
	const size_t head = RTE_CACHE_LINE_ROUNDUP(sizeof(struct mana_rx_spares));
	const size_t nb_wqes = rte_align32pow2(hwq->nb_desc);
	struct mana_queue_rings rings;
	struct mana_rx_spares *block;
	int ret = mana_verbs_rings_get(&priv->rings, NULL, hwq->wq, hwq->ibv_cq,
				       mana_queue_nb_cqe(priv, hwq->nb_desc, 1), &rings);

	if (ret != 0)
		return ret;
	block = mana_queue_alloc("mana_hwq", head + nb_wqes *
				 mana_rx_nb_bufs(&hwq->scatter) * sizeof(*block->mbufs),
				 rxq->socket_id);
	if (block == NULL)
		return -ENOMEM;
	hwq->mbufs = RTE_PTR_ADD(block, head);
	hwq->mbuf_mask = nb_wqes - 1;
	hwq->refill_thresh = rxq->free_thresh;
	hwq->data_delta = rxq->data_delta;
	hwq->vlan_strip = (rxq->offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
	hwq->ptypes = priv->wants_ptypes;
	/* The device hashes nothing when it receives into one queue. */
	hwq->parse = priv->wants_ptypes && priv->rss.nb == 1;
	hwq->scrub = priv->options.rx_scrub;
	ret = mana_hwq_init(hwq, &rings, priv->data->port_id);
	if (ret == 0)
		hwq->block = block;
	else
		rte_free(block);
	return ret;
}

/* Why a hardware queue cannot be made. */
static void
hwq_diag(const struct mana_priv *priv, const struct mana_hwq *hwq, int error)
{
	const struct mana_rx_scatter *scatter = &hwq->scatter;
	struct rte_mempool *mp = hwq->mp;
	uint32_t per_wqe;

	if (hwq->block == NULL || error != -ENOMEM) {
		mana_diag_object(priv, "Rx queue", hwq->queue_id, error);
		return;
	}
	/* The pool with the fewest mbufs left. */
	for (uint16_t i = 1; i < scatter->nb_segs; i++)
		if (rte_mempool_avail_count(scatter->segs[i].mp) < rte_mempool_avail_count(mp))
			mp = scatter->segs[i].mp;
	per_wqe = nb_of_pool(scatter, mp);
	MANA_PORT_LOG(ERR, priv->data->name,
		      "Rx queue %u: mempool %s has too few mbufs: needs %u, %u available",
		      hwq->queue_id, mp->name, hwq->nb_desc * per_wqe,
		      mana_hwq_nb_posted(hwq) * per_wqe + rte_mempool_avail_count(mp));
}

/*
 * CQ, WQ and rings for the owner, with buffers unless it is not set up or will be freed.
 * nb_sharing: hardware queues of that owner that have no buffers yet, with this one. After a
 * failure set_free() takes what was made.
 */
static int
hwq_create(struct mana_priv *priv, struct mana_hwq *hwq, uint16_t owner, uint32_t nb_sharing)
{
	struct mana_rxq *rxq = priv->rxqs[owner];
	uint32_t nb;
	int ret;

	if (rxq != NULL && rxq->is_released)
		rxq = NULL;
	hwq->queue_id = owner;
	hwq->nb_desc = rxq != NULL ? rxq->nb_desc : MANA_MIN_DESC;
	mana_mr_cache_init(&hwq->mr, &priv->mr_table);
	if (rxq != NULL) {
		hwq->offloads = rxq->offloads;
		hwq->scatter = rxq->scatter;
	}
	ret = objects_create(priv, hwq, rxq != NULL ? rxq->socket_id : SOCKET_ID_ANY);
	if (ret == 0 && rxq != NULL)
		ret = rings_init(priv, hwq, rxq);
	if (ret == 0 && rxq != NULL) {
		/* Its part of the spares first. */
		nb = rxq->nb_spares / mana_rx_nb_bufs(&hwq->scatter);
		mana_hwq_repost(hwq, rxq, (nb + nb_sharing - 1) / nb_sharing);
		/* Now, so that a lack of mbufs is found before traffic flows. */
		if (!priv->is_running || rxq->may_fill)
			ret = mana_hwq_fill(hwq);
		/*
		 * The pool may lack mbufs for a queue that is stopped. Or the table of regions
		 * changes all the time, and a burst fills it.
		 */
		if ((ret == -ENOMEM && !is_running(priv, owner)) || ret == -EAGAIN)
			ret = 0;
	}
	/* -EPROTO: perhaps it is only too large. */
	if (ret != 0 && ret != -EPROTO)
		hwq_diag(priv, hwq, ret);
	return ret;
}

/*
 * The owner of an hwq gets its mbufs. Those that are posted are leaked, because the adapter
 * may still write them, unless is_gone: the kernel has destroyed the queue.
 */
static void
hwq_reclaim(const struct mana_priv *priv, struct mana_hwq *hwq, bool is_gone)
{
	if (hwq->block == NULL)
		return;
	mana_hwq_collect(hwq, is_gone, priv->rxqs[hwq->queue_id], hwq->block);
	hwq->block = NULL;
}

/*
 * Frees the empty blocks of an ethdev queue, all of them if is_last: then the spares go back to
 * their pools first. Its bursts, which return spares as well, are paused or have ended.
 */
static void
spares_free(struct mana_rxq *rxq, bool is_last)
{
	struct mana_rx_spares **at = &rxq->spares, *block;

	if (is_last)
		mana_rx_spares_return(rxq, UINT32_MAX);
	while ((block = *at) != NULL) {
		if (block->nb != 0) {
			at = &block->next;
			continue;
		}
		*at = block->next;
		rte_free(block);
	}
}

/*
 * The channels wake the running ethdev queues of reta; is_only: and no others. A stopped
 * queue takes no event, so an event would wake it again and again.
 */
static int
intrs_set(const struct mana_priv *priv, const struct mana_rx_set *set, const uint8_t *reta,
	  bool is_only)
{
	for (uint32_t i = 0; set != NULL && i < set->nb; i++)
		for (uint16_t q = 0; q < priv->data->nb_rx_queues; q++) {
			const bool wakes = q == reta[i] && is_running(priv, q);
			int ret = 0;

			if (wakes || is_only)
				ret = hwq_intr(priv, &set->hwqs[i], q,
					       wakes ? EPOLL_CTL_ADD : EPOLL_CTL_DEL);
			if (wakes && ret != 0)
				return MANA_PORT_ERR(ret, priv->data->name,
						     "no Rx interrupts for the Rx queues: %s",
						     strerror(-ret));
		}
	return 0;
}

/* ---- Build and free --------------------------------------------------------- */

/* Ends reception. Returns why not; then nothing has changed. */
static int
set_close(struct mana_priv *priv, struct mana_rx_set *set)
{
	int ret = MANA_VERBS_DESTROY(ibv_destroy_qp, set->rss_qp);

	if (!mana_queue_is_gone(priv, "RSS object", ret))
		return ret;
	set->rss_qp = NULL;
	return 0;
}

/*
 * After set_close(). If the kernel keeps the RSS object or a WQ, the device may still write to
 * the buffers, which are lost.
 */
static void
set_free(struct mana_priv *priv, struct mana_rx_set *set)
{
	struct mana_hwq *hwq;

	(void)mana_queue_is_gone(priv, "RSS table",
				 MANA_VERBS_DESTROY(ibv_destroy_rwq_ind_table, set->ind));
	MANA_FOREACH_HWQ(set, hwq) {
		int ret = MANA_VERBS_DESTROY(ibv_destroy_wq, hwq->wq);
		bool is_gone = mana_queue_is_gone(priv, "Rx queue", ret);

		(void)mana_queue_is_gone(priv, "CQ",
					 MANA_VERBS_DESTROY(ibv_destroy_cq, hwq->ibv_cq));
		/* A child may have inherited the channel: its close removes nothing. */
		(void)hwq_intr(priv, hwq, hwq->queue_id, EPOLL_CTL_DEL);
		/* Fails when the kernel has kept the CQ. */
		if (hwq->channel != NULL && ibv_destroy_comp_channel(hwq->channel) != 0)
			(void)close(hwq->channel->fd);
		hwq_reclaim(priv, hwq, is_gone && set->rss_qp == NULL);
	}
	rte_free(set);
}

/* A failure is logged unless it is -EPROTO: the queues may only be too large. */
static int
set_build(struct mana_priv *priv, struct mana_rx_set **out)
{
	const uint32_t nb = priv->rss.nb;
	const size_t size = sizeof(struct mana_rx_set) + nb * sizeof(struct mana_hwq);
	struct mana_rx_set *set = mana_queue_alloc("mana_rx_set", size, priv->data->numa_node);
	int ret = 0;

	if (set == NULL)
		return MANA_PORT_ERR(-ENOMEM, priv->data->name,
				     "no memory for %u hardware Rx queues", nb);
	set->nb = nb;
	/* Running queues need all their buffers and get them first. */
	for (uint32_t k = 0; ret == 0 && k < 2 * nb; k++) {
		const uint32_t i = k % nb;
		const uint16_t owner = priv->rss.reta[i];

		if (is_running(priv, owner) == (k < nb))
			ret = hwq_create(priv, &set->hwqs[i], owner,
					 nb_of_owner(&priv->rss, owner, i));
	}
	if (ret == 0)
		ret = intrs_set(priv, set, priv->rss.reta, false);
	if (ret != 0)
		set_free(priv, set);
	else
		*out = set;
	return ret;
}

/* The Tx queue that took the vPort must exist. After a failure set_free() takes the table. */
static int
rss_create(struct mana_priv *priv, struct mana_rx_set *set)
{
	struct ibv_wq *wqs[MANA_MAX_QUEUES];
	struct ibv_rwq_ind_table_init_attr ind_attr = {
		.log_ind_tbl_size = rte_log2_u32(set->nb),
		.ind_tbl = wqs,
	};
	/* Everything not named stays 0: the core refuses it with a table. */
	struct ibv_qp_init_attr_ex attr = {
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH |
			     IBV_QP_INIT_ATTR_IND_TABLE,
		.qp_type = IBV_QPT_RAW_PACKET,
		.pd = priv->parent,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = MANA_RSS_KEY_BYTES,
			.rx_hash_key = priv->rss.key,
			/* The device always hashes these: mana_ib ignores the request. */
			.rx_hash_fields_mask =
				IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 |
				IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6 |
				IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP |
				IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP,
		},
	};
	int ret;

	for (uint32_t i = 0; i < set->nb; i++)
		wqs[i] = set->hwqs[i].wq;
	ret = MANA_VERBS_CREATE(set->ind, ibv_create_rwq_ind_table(priv->ctx, &ind_attr));
	attr.rwq_ind_tbl = set->ind;
	return ret != 0 ? ret : MANA_VERBS_CREATE(set->rss_qp, ibv_create_qp_ex(priv->ctx, &attr));
}

/*
 * Reception begins: with the RSS object the queues get ids, accept completions and ring for their
 * buffers. Gives no message, the caller may try again.
 */
static int
set_open(struct mana_priv *priv, struct mana_rx_set *set)
{
	int ret = rss_create(priv, set);
	struct mana_queue_rings rings;
	struct mana_hwq *hwq;

	MANA_FOREACH_HWQ(set, hwq) {
		if (hwq->block == NULL || ret != 0)
			continue;
		ret = mana_verbs_rings_get(&priv->rings, NULL, hwq->wq, hwq->ibv_cq,
					   mana_cq_size(&hwq->cq), &rings);
		if (ret == 0)
			mana_hwq_open(hwq, rings.id, rings.cq_id);
	}
	return ret;
}

/* ---- The hardware queues of each rxq ------------------------------------------------ */

/* Each running ethdev queue polls the hardware queues that it owns. */
static void
rxqs_fill(struct mana_priv *priv)
{
	struct mana_rxq *rxq;
	struct mana_hwq *hwq;

	MANA_FOREACH_RXQ(priv, rxq)
		rxq->first = NULL;
	MANA_FOREACH_HWQ(priv->rx_set, hwq) {
		hwq->next = NULL;
		rxq = priv->rxqs[hwq->queue_id];
		if (rxq != NULL && is_running(priv, hwq->queue_id))
			mana_rxq_add(rxq, hwq);
	}
}

/*
 * Ends reception, counts the packets that no burst will see, and frees the set, if there is one.
 * If the kernel keeps the RSS object, returns why, and nothing has changed, unless it is the stop
 * of the port.
 */
static int
set_stop(struct mana_priv *priv, bool is_stop)
{
	struct mana_rx_set *set = priv->rx_set;
	int ret = set != NULL ? set_close(priv, set) : 0;
	struct mana_hwq *hwq;

	if (set == NULL || (ret != 0 && !is_stop))
		return ret;
	mana_registry_lock();
	MANA_FOREACH_HWQ(set, hwq) {
		uint32_t nb = mana_hwq_nb_waiting(hwq, UINT32_MAX);

		/* The queue is stopped if no rxq has it. */
		if (is_stop || hwq->next == NULL)
			hwq->stats.stopped += nb;
		else
			hwq->stats.reconfig += nb;
		if (priv->rxqs[hwq->queue_id] != NULL)
			mana_stats_fold_hwq(priv->rxqs[hwq->queue_id], hwq);
	}
	priv->rx_set = NULL;
	mana_registry_unlock();
	rxqs_fill(priv);
	set_free(priv, set);
	return 0;
}

/* ---- Start and stop of the set ------------------------------------------------- */

/* Creates a set with rings of this size. A failure is logged unless it is -EPROTO. */
static int
set_try(struct mana_priv *priv)
{
	unsigned int tries = 0;
	struct mana_rx_set *set;
	int ret;

	do {
		ret = set_build(priv, &set);
		if (ret != 0)
			return ret;
		ret = set_open(priv, set);
		if (ret == 0) {
			mana_registry_lock();
			priv->rx_set = set;
			mana_registry_unlock();
			rxqs_fill(priv);
			return 0;
		}
		/* A CQ or WQ that was part of a failed attempt is used up. */
		(void)set_close(priv, set);
		set_free(priv, set);
	} while (ret == -EINVAL && mana_queue_wait(priv, ++tries));
	if (ret != -EPROTO)
		mana_diag_object(priv, "RSS over the Rx queues", MANA_DIAG_NO_ID, ret);
	return ret;
}

static int
set_start(struct mana_priv *priv)
{
	uint16_t max = size_limit(priv, UINT16_MAX);
	int ret;

	if (priv->data->nb_rx_queues == 0)
		return 0;
	/* The device does not report which queue it refuses, and its limits are unknown. */
	while ((ret = set_try(priv)) == -EPROTO && max > MANA_MIN_DESC) {
		max = RTE_MAX(max / 2, MANA_MIN_DESC);
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "the device refused the Rx queues: trying with %u descriptors each at most",
			      max);
		(void)size_limit(priv, max);
	}
	if (ret != 0)
		(void)size_limit(priv, UINT16_MAX);
	if (ret == -EPROTO)
		mana_diag_object(priv, "RSS over the Rx queues", MANA_DIAG_NO_ID, ret);
	return ret;
}

int
mana_rx_set_start(struct mana_priv *priv)
{
	priv->rx_desc_taken = UINT16_MAX;
	/* A port that recovers keeps its choice: the application has mbufs now. */
	if (!priv->is_running)
		size_choose(priv, &priv->rss);
	return set_start(priv);
}

void
mana_rx_set_stop(struct mana_priv *priv)
{
	struct mana_rxq *rxq;

	mana_pause_set(priv, MANA_PAUSE_RX, true);
	/* No burst runs, but rx_queue_count() may run in another thread. */
	MANA_FOREACH_RXQ(priv, rxq)
		mana_query_wait(&rxq->query_lock);
	(void)set_stop(priv, true);
	MANA_FOREACH_RXQ(priv, rxq)
		spares_free(rxq, !priv->is_running);
}

/* ---- A rebuild under traffic ----------------------------------------------------- */

static void
table_put(struct mana_priv *priv, const struct mana_rx_table *table)
{
	mana_registry_lock();
	priv->rss = *table;
	mana_registry_unlock();
}

/*
 * Stops the set, and starts one by this table, if the port runs; else stores the table.
 * After a failure the table is as before, and there is the set as before, or one without
 * the ethdev queue that starts, or after a message none. starting: that queue, or NULL.
 */
static int
set_rebuild(struct mana_priv *priv, const struct mana_rx_table *table,
	    uint32_t patience_ms, struct mana_rxq *starting)
{
	const struct mana_rx_table before = priv->rss;
	struct mana_port_counters *counters = &priv->counters;
	const bool had_set = priv->rx_set != NULL;
	struct mana_rxq *rxq;
	uint64_t began_ns, ns;
	int ret = 0;

	if (!had_set && !priv->is_running) {
		table_put(priv, table);
		return 0;
	}
	/* Without the permission reception would end with the old RSS object. */
	if (had_set)
		ret = mana_txq_permission_check(priv);
	if (ret == 0)
		ret = mana_pause(priv, MANA_PAUSE_RX, patience_ms);
	if (ret != 0)
		return ret;
	began_ns = mana_now_ns();
	ret = set_stop(priv, false);
	if (ret == 0) {
		table_put(priv, table);
		ret = set_start(priv);
	}
	if (ret != 0) {
		table_put(priv, &before);
	} else if (had_set) {
		ns = mana_now_ns() - began_ns;
		counters->rx_outages++;
		counters->rx_outage_ns += ns;
		counters->rx_outage_max_ns = RTE_MAX(counters->rx_outage_max_ns, ns);
		MANA_PORT_LOG(INFO, priv->data->name,
			      "RSS rebuild: %" PRIu64 " ns without reception, at most %" PRIu64 " ns so far",
			      ns, counters->rx_outage_max_ns);
	}
	/* Its mempool may be too small, say: the others go on without it. */
	if (starting != NULL && ret != 0 && priv->rx_set == NULL) {
		priv->data->rx_queue_state[starting->queue_id] = RTE_ETH_QUEUE_STATE_STOPPED;
		starting->is_released = true;
		(void)set_start(priv);
	}
	MANA_FOREACH_RXQ(priv, rxq)
		spares_free(rxq, rxq->is_released);
	if (starting != NULL)
		starting->is_released = false;
	if (had_set && priv->rx_set == NULL)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "RSS rebuild failed, Rx is down: %s",
			      mana_recovers(priv) ?
				      "the driver tries again, or stop and start the port" :
				      "stop and start the port");
	mana_resume(priv, MANA_PAUSE_RX);
	return ret;
}

int
mana_rx_set_key(struct mana_priv *priv, const uint8_t *key)
{
	struct mana_rx_table table = priv->rss;

	if (memcmp(table.key, key, sizeof(table.key)) == 0)
		return 0;
	memcpy(table.key, key, sizeof(table.key));
	return set_rebuild(priv, &table, MANA_PATIENCE_MS, NULL);
}

int
mana_rx_set_repair(struct mana_priv *priv)
{
	bool is_good = priv->rx_set != NULL || priv->data->nb_rx_queues == 0;
	const struct mana_hwq *hwq;
	int ret;

	MANA_FOREACH_HWQ(priv->rx_set, hwq)
		is_good &= mana_hwq_failure(hwq) == MANA_FAILURE_NONE;
	if (is_good)
		return 0;
	ret = set_rebuild(priv, &priv->rss, MANA_REPAIR_PATIENCE_MS, NULL);
	return ret == 0 ? 1 : ret;
}

/* ---- Hardware queues move between rxqs ------------------------------------- */

/* Whether another ethdev queue can poll it as it is. */
static bool
can_move(const struct mana_hwq *hwq, const struct mana_rxq *to)
{
	const uint64_t fixed = ~(uint64_t)RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	const struct mana_rx_seg *segs = hwq->scatter.segs, *wanted = to->scatter.segs;

	if (hwq->block == NULL || mana_hwq_failure(hwq) != MANA_FAILURE_NONE ||
	    ((hwq->offloads ^ to->offloads) & fixed) != 0 ||
	    hwq->nb_desc != to->nb_desc || hwq->refill_thresh != to->free_thresh ||
	    hwq->scatter.nb_segs != to->scatter.nb_segs)
		return false;
	for (uint32_t i = 0; i < mana_rx_nb_bufs(&to->scatter); i++)
		if (wanted[i].mp != segs[i].mp || wanted[i].offset != segs[i].offset ||
		    wanted[i].bytes != segs[i].bytes)
			return false;
	return true;
}

/*
 * Whether the ethdev queues of reta can poll the hardware queues as they are. Checked are
 * those that move, and those of a queue that starts: since they were built the queue may
 * have been set up anew, or the MTU may have changed.
 */
static bool
can_poll(const struct mana_priv *priv, const uint8_t *reta, uint32_t started)
{
	for (uint32_t i = 0; i < priv->rx_set->nb; i++) {
		const struct mana_hwq *hwq = &priv->rx_set->hwqs[i];
		const struct mana_rxq *to = priv->rxqs[reta[i]];

		if (hwq->queue_id == reta[i] && reta[i] != started)
			continue;
		if (to == NULL ? hwq->block != NULL : !can_move(hwq, to))
			return false;
	}
	return true;
}

/* Bursts are paused. Packets that came for a stopped owner are not for a running one. */
static void
hwqs_move(struct mana_priv *priv, const uint8_t *reta)
{
	mana_registry_lock();
	for (uint32_t i = 0; i < priv->rx_set->nb; i++) {
		struct mana_hwq *hwq = &priv->rx_set->hwqs[i];
		const struct mana_rxq *to = priv->rxqs[reta[i]];

		if (hwq->next == NULL && is_running(priv, reta[i]))
			hwq->stats.stopped += mana_hwq_recycle(hwq);
		if (hwq->queue_id == reta[i])
			continue;
		/* Counters stay with the old owner. */
		if (priv->rxqs[hwq->queue_id] != NULL)
			mana_stats_fold_hwq(priv->rxqs[hwq->queue_id], hwq);
		hwq->queue_id = reta[i];
		if (to == NULL || hwq->block == NULL)
			continue;
		hwq->offloads = to->offloads;
		hwq->vlan_strip = (to->offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
	}
	memmove(priv->rss.reta, reta, sizeof(priv->rss.reta));
	mana_registry_unlock();
	rxqs_fill(priv);
}

/* Fills the rxqs anew, by reta and the queues' states. After a failure all is as before. */
static int
rxqs_change(struct mana_priv *priv, const uint8_t *reta)
{
	int ret = intrs_set(priv, priv->rx_set, reta, false);

	if (ret == 0)
		ret = mana_pause(priv, MANA_PAUSE_RX, MANA_PATIENCE_MS);
	if (ret == 0) {
		hwqs_move(priv, reta);
		mana_resume(priv, MANA_PAUSE_RX);
	}
	return ret;
}

int
mana_rx_set_assign(struct mana_priv *priv, const uint8_t *reta, uint32_t nb)
{
	struct mana_rx_table table = priv->rss;
	const struct rte_mempool *mp;
	int ret;

	if (memcmp(table.reta, reta, sizeof(table.reta)) == 0 && table.nb == nb)
		return 0;
	if (priv->rx_set != NULL && nb == priv->rx_set->nb && can_poll(priv, reta, UINT32_MAX)) {
		ret = rxqs_change(priv, reta);
		(void)intrs_set(priv, priv->rx_set, priv->rss.reta, true);
		return ret;
	}
	memcpy(table.reta, reta, sizeof(table.reta));
	table.nb = nb;
	if (priv->rx_set != NULL) {
		size_choose(priv, &table);
		mp = lacking_pool(priv, &table);
		if (mp != NULL)
			return MANA_PORT_ERR(-ENOTSUP, priv->data->name,
					     "RSS table: it repeats after %u entries, so it needs as many hardware Rx queues, which hw_rxq=%u gives from the start, and %u mbufs of mempool %s, which has %u for Rx: make the mempool larger, or the table repeat earlier",
					     nb, nb, pool_need(priv, &table, mp),
					     mp->name, pool_supply(priv, mp));
	}
	return set_rebuild(priv, &table, MANA_PATIENCE_MS, NULL);
}

/* ---- Ethdev queues that start, stop and go ---------------------------------------- */

int
mana_rx_set_queue_start(struct mana_priv *priv, uint16_t queue_id)
{
	uint8_t *state = &priv->data->rx_queue_state[queue_id];
	struct mana_rxq *rxq = priv->rxqs[queue_id];
	struct mana_rx_table table = priv->rss;
	int ret = mana_rx_layout_check(priv, &rxq->layout, priv->data->mtu, &rxq->scatter);

	if (ret != 0)
		return ret;
	if (rxq->scatter.nb_segs != 0)
		priv->data->scattered_rx = 1; /* a bit of a byte that other threads read */
	*state = RTE_ETH_QUEUE_STATE_STARTED;
	/* The device may have refused larger ones. */
	(void)size_limit(priv, priv->rx_desc_taken);
	rxq->may_fill = true;
	if (priv->rx_set != NULL && can_poll(priv, priv->rss.reta, queue_id)) {
		ret = rxqs_change(priv, priv->rss.reta);
	} else {
		if (priv->rx_set != NULL)
			size_choose(priv, &table);
		ret = set_rebuild(priv, &table, MANA_PATIENCE_MS, rxq);
	}
	rxq->may_fill = false;
	if (ret != 0)
		*state = RTE_ETH_QUEUE_STATE_STOPPED;
	(void)intrs_set(priv, priv->rx_set, priv->rss.reta, true);
	return ret;
}

int
mana_rx_set_queue_stop(struct mana_priv *priv, uint16_t queue_id)
{
	uint8_t *state = &priv->data->rx_queue_state[queue_id];
	int ret = 0;

	*state = RTE_ETH_QUEUE_STATE_STOPPED;
	if (priv->rx_set != NULL)
		ret = rxqs_change(priv, priv->rss.reta);
	if (ret != 0)
		*state = RTE_ETH_QUEUE_STATE_STARTED;
	(void)intrs_set(priv, priv->rx_set, priv->rss.reta, true);
	return ret;
}

void
mana_rx_set_queue_release(struct mana_priv *priv, uint16_t queue_id)
{
	struct mana_rxq *rxq = priv->rxqs[queue_id];
	struct mana_hwq *hwq;
	bool is_used = false;
	int ret = 0;

	MANA_FOREACH_HWQ_OF(priv->rx_set, queue_id, hwq)
		is_used |= hwq->block != NULL;
	rxq->is_released = true;
	if (is_used)
		ret = set_rebuild(priv, &priv->rss, MANA_PATIENCE_MS, NULL);
	if (ret != 0 && priv->rx_set != NULL && !mana_is_gone(priv))
		MANA_PORT_LOG(ERR, priv->data->name,
			      "Rx queue %u: the adapter keeps its mbufs; they are lost", queue_id);
	mana_registry_lock();
	MANA_FOREACH_HWQ_OF(priv->rx_set, queue_id, hwq) {
		mana_stats_fold_hwq(rxq, hwq);
		hwq_reclaim(priv, hwq, mana_is_gone(priv));
	}
	mana_registry_unlock();
	spares_free(rxq, true);
}
