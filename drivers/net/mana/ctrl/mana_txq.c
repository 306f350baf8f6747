/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tx queues: their memory (setup, release) and their kernel objects (start,
 * stop).
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_malloc.h>

#include "mana.h"
#include "mana_log.h"

/* Tries while the last owner of the vPort, a killed process, still exits. */
#define NB_BUSY_TRIES 5

/* How long a stopping queue waits for completions, and how often it checks. */
#define WAIT_MS 20
#define WAIT_STEP_US 50

/* Mbufs that are freed in bulk, per WQE: without and with multi-segment Tx. */
#define MBUFS_PER_WQE 2
#define MBUFS_PER_WQE_CHAINS 4

/* SGEs of a packet without multi-segment Tx: its segment and a copied header. */
#define SGES_OF_ONE_SEG 2

/* ---- Setup and release -------------------------------------------------- */

/* The pool for copies of frames that the adapter cannot send as they are. */
static int
bounce_pool_make(struct mana_priv *priv)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *mp;
	uint32_t frame = MANA_FRAME_OVERHEAD + RTE_VLAN_HLEN + priv->limits.max_mtu;
	/*
	 * A copy of 64 KiB for segmentation has to fit a WQE, the header of
	 * which takes one more SGE than its segments.
	 */
	uint32_t min_copy = UINT16_MAX / (priv->tx_max_sge - 1u) + 1;
	uint32_t room = RTE_PKTMBUF_HEADROOM + RTE_MAX(frame, min_copy);

	if (priv->bounce_mp != NULL)
		return 0;
	snprintf(name, sizeof(name), "mana_copy_%u", priv->data->port_id);
	room = RTE_MIN(room, (uint32_t)UINT16_MAX);
	mp = rte_pktmbuf_pool_create(name, 255, 0, 0, room,
				     priv->data->numa_node);
	if (mp == NULL && rte_errno == ENOMEM)
		mp = rte_pktmbuf_pool_create(name, 255, 0, 0, room,
					     SOCKET_ID_ANY);
	priv->bounce_mp = mp;
	if (mp == NULL)
		return MANA_PORT_ERR(-ENOMEM, priv->data->name,
				     "no memory for the pool of copies: %s",
				     rte_strerror(rte_errno));
	return 0;
}

/* The arrays of a queue, in one block of memory. */
static int
txq_alloc(struct mana_eth_txq *ctl)
{
	struct mana_txq_conf *conf = &ctl->conf;
	size_t bounce_bytes = (size_t)conf->nb_wqes * MANA_TX_BOUNCE_BYTES;
	size_t groups_bytes = conf->nb_wqes * sizeof(*conf->groups);
	size_t mbufs_bytes = conf->nb_mbufs * sizeof(*conf->mbufs);

	conf->bounce = mana_queue_alloc("mana_txq",
					bounce_bytes + groups_bytes + mbufs_bytes +
					conf->nb_wqes * sizeof(*conf->info),
					ctl->socket_id);
	if (conf->bounce == NULL)
		return -ENOMEM;
	conf->groups = RTE_PTR_ADD(conf->bounce, bounce_bytes);
	conf->mbufs = RTE_PTR_ADD(conf->groups, groups_bytes);
	conf->info = RTE_PTR_ADD(conf->mbufs, mbufs_bytes);
	return 0;
}

static void
txq_resize(const struct mana_priv *priv, struct mana_eth_txq *ctl,
	   uint16_t nb_desc)
{
	/* Other threads read it. */
	mana_registry_lock();
	ctl->nb_desc = nb_desc;
	mana_registry_unlock();
	ctl->nb_cqe = mana_queue_nb_cqe(priv, nb_desc, 0);
}

int
mana_txq_setup(struct mana_priv *priv, uint16_t queue_id, uint16_t nb_desc,
	       unsigned int socket_id, const struct rte_eth_txconf *conf)
{
	struct mana_eth_txq *ctl = mana_queue_alloc("mana_txq", sizeof(*ctl), socket_id);
	int ret;

	if (ctl == NULL)
		return -ENOMEM;
	ctl->txq.queue_id = queue_id;
	ctl->txq.is_paused = true;
	mana_txq_close(&ctl->txq);
	mana_mr_cache_init(&ctl->txq.mr, &priv->mr_generation, priv);
	ctl->asked_desc = nb_desc;
	txq_resize(priv, ctl, nb_desc);
	ctl->free_thresh = conf->tx_free_thresh;
	ctl->is_deferred = conf->tx_deferred_start;
	ctl->offloads = conf->offloads | priv->data->dev_conf.txmode.offloads;
	ctl->socket_id = socket_id;
	ctl->conf = (struct mana_txq_conf){
		.nb_wqes = rte_align32pow2(nb_desc),
		.no_suppress = !priv->options.tx_suppress,
		.vport = priv->options.tx_vport,
		.mtu = priv->limits.max_mtu,
	};
	/* Chains that exceed this are freed by their heads, which is slower. */
	ctl->conf.nb_mbufs = ctl->conf.nb_wqes *
		((ctl->offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0 ?
			 MBUFS_PER_WQE_CHAINS : MBUFS_PER_WQE);
	ret = txq_alloc(ctl);
	/* Of the port: last, because a refused setup leaves nothing. */
	if (ret == 0)
		ret = bounce_pool_make(priv);
	if (ret != 0) {
		mana_txq_release(priv, ctl);
		return ret;
	}
	ctl->conf.bounce_mp = priv->bounce_mp;
	mana_mr_track_pools(priv);
	mana_registry_lock();
	priv->txqs[queue_id] = ctl;
	mana_registry_unlock();
	priv->data->tx_queues[queue_id] = &ctl->txq;
	return 0;
}

void
mana_txq_release(struct mana_priv *priv, struct mana_eth_txq *ctl)
{
	if (ctl == NULL)
		return;
	mana_registry_lock();
	if (priv->txqs[ctl->txq.queue_id] == ctl) {
		mana_stats_fold_queue(priv, false, ctl->txq.queue_id);
		priv->txqs[ctl->txq.queue_id] = NULL;
	}
	mana_registry_unlock();
	rte_free(ctl->conf.bounce);
	mana_queue_retire(priv, ctl);
}

/* ---- Start and stop ------------------------------------------------------ */

struct mana_eth_txq *
mana_txq_next(const struct mana_priv *priv, uint32_t *at)
{
	while (*at < priv->data->nb_tx_queues) {
		void *queue = priv->data->tx_queues[(*at)++];

		if (queue != NULL)
			return queue;
	}
	return NULL;
}

/* Returns whether the device no longer accesses the packets. */
static bool
sq_destroy(struct mana_priv *priv, struct mana_eth_txq *ctl)
{
	int ret = mana_verbs_qp_destroy(ctl->qp);
	bool is_gone = mana_queue_is_gone(priv, "Tx queue", ret);

	priv->keeps_raw_qp |= ret != 0;
	/* At once after the QP: until then the kernel keeps the CQ's id. */
	(void)mana_queue_is_gone(priv, "CQ", mana_verbs_cq_destroy(ctl->cq));
	ctl->qp = NULL;
	ctl->cq = NULL;
	return is_gone;
}

/*
 * The ring has room for this many segments in each packet. Packets walk through
 * the whole ring, so without multi-segment Tx a small ring stays in the cache. A
 * packet with more segments is copied.
 */
static uint16_t
sq_max_sge(const struct mana_priv *priv, const struct mana_eth_txq *ctl)
{
	if (ctl->max_sge != 0)
		return ctl->max_sge;
	if ((ctl->offloads & (RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
			      RTE_ETH_TX_OFFLOAD_TCP_TSO)) != 0)
		return priv->tx_max_sge;
	return RTE_MIN(priv->tx_max_sge, SGES_OF_ONE_SEG);
}

static int
sq_create(struct mana_priv *priv, struct mana_eth_txq *ctl)
{
	int ret;

	priv->rings.socket_id = ctl->socket_id;
	ret = mana_verbs_cq_create(priv->ctx, ctl->nb_cqe, NULL, 0, &ctl->cq);
	if (ret == 0)
		ret = mana_verbs_sq_create(priv->parent, ctl->cq, ctl->nb_desc,
					   sq_max_sge(priv, ctl), &ctl->qp);
	if (ret != 0)
		(void)sq_destroy(priv, ctl);
	return ret;
}

/* Whether another try may succeed after this error. Waits or adapts sizes. */
static bool
sq_retry(struct mana_priv *priv, struct mana_eth_txq *ctl, int error,
	 unsigned int tries)
{
	struct mana_netdev_state state;

	switch (error) {
	case -EINVAL:
		if (mana_queue_id_wait(tries))
			return true;
		/*
		 * Or the kernel accepts fewer segments than the device. The next
		 * start requests all again: the cause may be another.
		 */
		if (priv->limits.caps.max_sge >= sq_max_sge(priv, ctl))
			return false;
		ctl->max_sge = priv->limits.caps.max_sge;
		MANA_PORT_LOG(INFO, priv->data->name,
			      "Tx queue %u: trying with %u segments a packet",
			      ctl->txq.queue_id, ctl->max_sge);
		break;
	case -EPROTO:
		/* The device's answer; its limits are not known. */
		if (ctl->nb_desc <= MANA_MIN_DESC)
			return false;
		txq_resize(priv, ctl, RTE_MAX(ctl->nb_desc / 2, MANA_MIN_DESC));
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "the device refused Tx queue %u: trying with %u descriptors instead of %u",
			      ctl->txq.queue_id, ctl->nb_desc, ctl->asked_desc);
		return true;
	case -EBUSY:
	case -ENODEV:
		/* The last owner, a killed process, may still be exiting. */
		if (tries >= NB_BUSY_TRIES ||
		    mana_netdev_state_get(&priv->netdev, &state) != 0 ||
		    state.is_up)
			return false;
		break;
	default:
		return false;
	}
	rte_delay_us_sleep(MANA_QUEUE_RETRY_US);
	return true;
}

static int
sq_create_retried(struct mana_priv *priv, struct mana_eth_txq *ctl)
{
	unsigned int tries = 0;
	int ret;

	do {
		ret = sq_create(priv, ctl);
		/* All smaller sizes are tried. */
		tries += ret != -EPROTO;
	} while (ret != 0 && sq_retry(priv, ctl, ret, tries));
	return ret;
}

static int
txq_init(struct mana_priv *priv, struct mana_eth_txq *ctl)
{
	struct mana_txq_conf *conf = &ctl->conf;
	struct mana_verbs_queue sq;
	int ret = mana_verbs_sq_get(ctl->qp, ctl->cq, ctl->nb_cqe, &sq);

	if (ret != 0)
		return ret;
	conf->sq_ring = sq.ring;
	conf->sq_bytes = sq.ring_bytes;
	conf->cq_ring = sq.cq_ring;
	conf->nb_cqe = ctl->nb_cqe;
	conf->db_page = mana_db_page(priv->data->port_id);
	conf->sq_id = sq.id;
	conf->cq_id = sq.cq_id;
	conf->vp_offset = sq.vp_offset;
	conf->nb_desc = ctl->nb_desc;
	conf->max_sge = sq_max_sge(priv, ctl);
	/* If one queue of the port needs the long form, all start with it. */
	mana_tx_form_report(priv);
	conf->form = priv->is_tx_form_changed ? MANA_TX_FORM_LONG :
						priv->options.tx_oob;
	return mana_txq_init(&ctl->txq, conf);
}

static int
txq_objects_start(struct mana_priv *priv, struct mana_eth_txq *ctl)
{
	int ret;

	/* Forget what an earlier start had to accept, and its stalls. */
	ctl->max_sge = 0;
	mana_registry_lock();
	ctl->progress = (struct mana_tx_progress){ .since_ns = 0 };
	mana_registry_unlock();
	txq_resize(priv, ctl, ctl->asked_desc);
	ret = sq_create_retried(priv, ctl);
	if (ret == 0)
		ret = txq_init(priv, ctl);
	if (ret == 0)
		return 0;
	if (ret == -ERANGE)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "the vPort's offset does not fit the short field of a descriptor; leave tx_oob=short and tx_vport=short out");
	else
		mana_diag_object(priv, "Tx queue", ctl->txq.queue_id, ret);
	(void)sq_destroy(priv, ctl);
	txq_resize(priv, ctl, ctl->asked_desc);
	return ret;
}

/*
 * Wait until the device has sent the posted packets. If it is stuck, the caller
 * frees the others, sent or not.
 */
static void
txq_wait(struct mana_txq *txq, uint64_t end)
{
	while (mana_txq_nb_posted(txq) != 0 &&
	       mana_txq_failure(txq) == MANA_FAILURE_NONE && !mana_cq_is_closed(&txq->cq)) {
		(void)mana_txq_settle(txq, 0);
		if (rte_get_timer_cycles() >= end)
			break;
		rte_delay_us_sleep(WAIT_STEP_US);
	}
}

static uint64_t
wait_end(void)
{
	return rte_get_timer_cycles() + rte_get_timer_hz() / 1000 * WAIT_MS;
}

static void
txq_objects_stop(struct mana_priv *priv, struct mana_eth_txq *ctl)
{
	mana_tx_form_report(priv);
	ctl->txq.is_paused = true;
	/* No burst runs, but a status function may run in another thread. */
	mana_look_wait(&ctl->txq.look);
	mana_txq_close(&ctl->txq);
	ctl->txq.stats.unfinished += mana_txq_nb_posted(&ctl->txq);
	if (sq_destroy(priv, ctl))
		mana_txq_release_mbufs(&ctl->txq);
	else
		mana_txq_forget_mbufs(&ctl->txq);
}

void
mana_tx_form_report(struct mana_priv *priv)
{
	bool is_new;
	uint16_t i;

	/* priv->txqs, because another thread may release a queue in ethdev's array. */
	mana_registry_lock();
	for (i = 0; i < MANA_MAX_QUEUES; i++)
		if (priv->txqs[i] != NULL && priv->txqs[i]->txq.is_form_changed)
			break;
	is_new = i < MANA_MAX_QUEUES && !priv->is_tx_form_changed;
	if (is_new)
		priv->is_tx_form_changed = true;
	mana_registry_unlock();
	if (is_new)
		MANA_PORT_LOG(WARNING, priv->data->name,
			      "the device refused the first %u packets of Tx queue %u (TX_INVALID_OOB): using the long form of descriptors; tx_oob=long uses it from the start",
			      MANA_TX_FORM_TRIES, i);
}

/* ---- The vPort without a Tx queue ------------------------------------- */

/* A Tx queue that sends nothing. After a failure it has no objects. */
static int
spare_create(struct mana_priv *priv, struct mana_eth_txq *ctl)
{
	*ctl = (struct mana_eth_txq){
		.nb_desc = MANA_MIN_DESC,
		.nb_cqe = MANA_MIN_CQE,
		.socket_id = priv->data->numa_node,
	};
	return sq_create_retried(priv, ctl);
}

/*
 * The first Tx queue configures the vPort, which Rx needs. Without a Tx queue, a
 * running port would lose the vPort to its netdev. Therefore a hidden Tx queue,
 * which sends nothing, exists while the application has none.
 */
static int
hidden_txq_start(struct mana_priv *priv)
{
	int ret = 0;

	if (priv->hidden_txq.qp == NULL)
		ret = spare_create(priv, &priv->hidden_txq);
	if (ret != 0)
		mana_diag_object(priv, "internal Tx queue", MANA_DIAG_NO_ID, ret);
	return ret;
}

static uint16_t
nb_with_objects(const struct mana_priv *priv)
{
	const struct mana_eth_txq *ctl;
	uint32_t at = 0;
	uint16_t nb = 0;

	while ((ctl = mana_txq_next(priv, &at)) != NULL)
		nb += ctl->qp != NULL;
	return nb;
}

/* ---- A spare Tx queue asks the kernel -------------------------------------- */

int
mana_txq_spare_try(struct mana_priv *priv)
{
	struct mana_eth_txq spare;
	int ret = spare_create(priv, &spare);

	if (ret == 0 && !sq_destroy(priv, &spare))
		ret = -EBUSY;
	return ret;
}

/*
 * The kernel checks CAP_NET_RAW first when a program creates a raw QP (Linux
 * core/uverbs_std_types_qp.c), and in a user namespace for which the program's
 * own capability bits are no evidence. So create one. Any other error means that
 * the program has the permission; the adapter may have no Tx queue left.
 */
int
mana_txq_permission_check(struct mana_priv *priv)
{
	int ret = mana_txq_spare_try(priv);

	if (ret != -EPERM)
		return 0;
	mana_diag_object(priv, "change of the Rx queues", MANA_DIAG_NO_ID, ret);
	return ret;
}

/* ---- Start and stop of queues ------------------------------------------- */

int
mana_txq_start(struct mana_priv *priv, uint16_t queue_id)
{
	int ret;

	if (priv->data->tx_queues[queue_id] == NULL)
		return MANA_PORT_ERR(-EINVAL, priv->data->name,
				     "Tx queue %u was not set up", queue_id);
	ret = txq_objects_start(priv, priv->txqs[queue_id]);
	if (ret != 0)
		return ret;
	(void)sq_destroy(priv, &priv->hidden_txq);
	mana_txq_resume(priv->txqs[queue_id]);
	priv->data->tx_queue_state[queue_id] = RTE_ETH_QUEUE_STATE_STARTED;
	return 0;
}

int
mana_txq_stop(struct mana_priv *priv, uint16_t queue_id)
{
	struct mana_eth_txq *ctl = priv->data->tx_queues[queue_id];
	int ret = 0;

	if (ctl == NULL)
		return -EINVAL;
	/* Without a Tx queue the port would lose the vPort, and so Rx. */
	if (nb_with_objects(priv) == 1)
		ret = hidden_txq_start(priv);
	if (ret != 0)
		return ret;
	/* The application sends nothing from this process, and no process that joins. */
	ctl->txq.is_paused = true;
	if (mana_peers_exist())
		ret = mana_txq_pause(ctl, MANA_PATIENCE_MS);
	if (ret != 0)
		return MANA_PORT_ERR(ret, priv->data->name,
				     "Tx queue %u: the burst of a secondary process does not end: continue or end that process, and try again",
				     queue_id);
	txq_wait(&ctl->txq, wait_end());
	txq_objects_stop(priv, ctl);
	priv->data->tx_queue_state[queue_id] = RTE_ETH_QUEUE_STATE_STOPPED;
	return 0;
}

int
mana_txq_rebuild(struct mana_priv *priv, struct mana_eth_txq *ctl,
		 uint32_t patience_ms)
{
	const struct mana_eth_txq before = { .cq = ctl->cq, .qp = ctl->qp };
	struct mana_eth_txq after = { .qp = NULL };
	int ret;

	/* First: without a QP the port would lose the vPort, and so Rx. */
	ctl->cq = NULL;
	ctl->qp = NULL;
	ret = sq_create(priv, ctl);
	if (ret == 0)
		after = (struct mana_eth_txq){ .cq = ctl->cq, .qp = ctl->qp };
	ctl->cq = before.cq;
	ctl->qp = before.qp;
	/* The adapter may have no other queue. Another one holds the vPort, maybe. */
	if (ret != 0 && (ctl->qp == NULL || nb_with_objects(priv) == 1))
		return ret;
	ret = mana_txq_pause(ctl, patience_ms);
	if (ret != 0) {
		(void)sq_destroy(priv, &after);
		return ret;
	}
	txq_objects_stop(priv, ctl);
	ctl->cq = after.cq;
	ctl->qp = after.qp;
	if (ctl->qp == NULL)
		ret = sq_create(priv, ctl);
	if (ret == 0)
		ret = txq_init(priv, ctl);
	mana_txq_resume(ctl);
	return ret;
}

int
mana_txqs_start(struct mana_priv *priv)
{
	const struct rte_eth_dev_data *data = priv->data;
	int ret = 0;

	for (uint16_t i = 0; ret == 0 && i < data->nb_tx_queues; i++)
		if (data->tx_queue_state[i] == RTE_ETH_QUEUE_STATE_STARTED)
			ret = txq_objects_start(priv, priv->txqs[i]);
	if (ret == 0 && nb_with_objects(priv) == 0)
		ret = hidden_txq_start(priv);
	return ret;
}

void
mana_txqs_stop(struct mana_priv *priv)
{
	uint64_t end = wait_end();
	struct mana_eth_txq *ctl;
	uint32_t at = 0;

	while ((ctl = mana_txq_next(priv, &at)) != NULL) {
		if (ctl->qp != NULL && !mana_is_gone(priv))
			txq_wait(&ctl->txq, end);
		txq_objects_stop(priv, ctl);
	}
	(void)sq_destroy(priv, &priv->hidden_txq);
}
