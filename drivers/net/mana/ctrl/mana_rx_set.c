/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include <rte_malloc.h>

#include "mana_log.h"
#include "mana_rx_set.h"

uint32_t
mana_rx_nb_hwqs(const struct mana_priv *priv)
{
	uint32_t nb_rxq = priv->data->nb_rx_queues;

	/* A port that runs keeps them when RSS of its one queue is switched. */
	if (priv->rx_set != NULL)
		return priv->rx_set->nb;
	if (!priv->has_rss || nb_rxq == 0)
		return RTE_MIN(nb_rxq, 1u);
	return RTE_MAX(rte_align32pow2(nb_rxq), priv->options.hw_rxq);
}

static bool
is_running(const struct mana_priv *priv, uint16_t queue_id)
{
	return priv->data->rx_queue_state[queue_id] ==
	       RTE_ETH_QUEUE_STATE_STARTED;
}

/* Why the device or the kernel refused the RSS object. */
static void
rss_diag(const struct mana_priv *priv, int error)
{
	mana_diag_object(priv, "RSS over the Rx queues", MANA_DIAG_NO_ID, error);
}

static const char *
down_remedy(const struct mana_priv *priv)
{
	return mana_recovers(priv) ? "the driver tries again, or stop and start the port" :
				     "stop and start the port";
}

/* ---- Build and free --------------------------------------------------------- */

/* Ends reception. Returns why not; then nothing has changed. */
static int
set_close(struct mana_priv *priv, struct mana_rx_set *set)
{
	int ret = mana_verbs_qp_destroy(set->rss_qp);

	priv->keeps_raw_qp |= ret != 0;
	if (!mana_queue_is_gone(priv, "RSS object", ret))
		return ret;
	set->rss_qp = NULL;
	(void)mana_queue_is_gone(priv, "RSS table",
				 mana_verbs_ind_destroy(set->ind));
	set->ind = NULL;
	return 0;
}

/*
 * After set_close(). If that failed the device may still write to the buffers, which
 * are lost.
 */
static void
set_free(struct mana_priv *priv, struct mana_rx_set *set)
{
	(void)mana_verbs_ind_destroy(set->ind);
	for (uint32_t i = 0; i < set->nb; i++)
		mana_rx_hwq_destroy(priv, &set->hwqs[i], set->rss_qp == NULL);
	rte_free(set);
}

/* Frees a set that is not the port's, if there is one. */
static void
set_drop(struct mana_priv *priv, struct mana_rx_set **set)
{
	if (*set == NULL)
		return;
	(void)set_close(priv, *set);
	set_free(priv, *set);
	*set = NULL;
}

/*
 * Whether hardware queue i may start with too few buffers: the queue is stopped, or the
 * old set will return buffers to the same pool.
 */
static bool
may_lack(const struct mana_priv *priv, const struct mana_rx_set *old, uint32_t i)
{
	const struct mana_eth_rxq *ctl = priv->rxqs[priv->rss.reta[i]];

	return ctl == NULL || !is_running(priv, priv->rss.reta[i]) ||
	       (old != NULL && i < old->nb && old->hwqs[i].has_buffers &&
		old->hwqs[i].rxq.mp == ctl->mp);
}

/* Those that need all their buffers get them first. */
static int
hwqs_create(struct mana_priv *priv, const struct mana_rx_set *old,
	    struct mana_rx_set *set)
{
	/* Other lcores have mbufs in caches and packets; bursts fill the rings later. */
	const bool recovers = mana_state(priv) != MANA_STATE_READY;
	int ret = 0;

	for (uint32_t k = 0; ret == 0 && k < 2 * set->nb; k++) {
		uint32_t i = k % set->nb;

		if (may_lack(priv, old, i) == (k >= set->nb))
			ret = mana_rx_hwq_create(priv, &set->hwqs[i],
						 priv->rss.reta[i], old != NULL,
						 recovers || k >= set->nb,
						 &set->is_short);
	}
	return ret;
}

/*
 * old: the set before it, or NULL. A failure is logged unless it is -EPROTO: the queues
 * may only be too large.
 */
static int
set_build(struct mana_priv *priv, const struct mana_rx_set *old,
	  struct mana_rx_set **out)
{
	uint32_t nb = old != NULL ? old->nb : mana_rx_nb_hwqs(priv);
	struct ibv_wq *wqs[MANA_MAX_QUEUES];
	struct mana_rx_set *set;
	int ret;

	set = mana_queue_alloc("mana_rx_set", sizeof(*set) +
			       nb * sizeof(set->hwqs[0]), priv->data->numa_node);
	if (set == NULL)
		return MANA_PORT_ERR(-ENOMEM, priv->data->name,
				     "no memory for %u hardware Rx queues", nb);
	*out = set;
	set->nb = nb;
	ret = hwqs_create(priv, old, set);
	if (ret == 0) {
		for (uint32_t i = 0; i < nb; i++) {
			wqs[i] = set->hwqs[i].wq;
			/* The device hashes nothing when it receives into one queue. */
			set->hwqs[i].rxq.parse = priv->wants_ptypes && nb == 1;
		}
		ret = mana_verbs_ind_create(priv->ctx, wqs, nb, &set->ind);
		if (ret != 0 && ret != -EPROTO)
			mana_diag_object(priv, "RSS table", MANA_DIAG_NO_ID, ret);
	}
	if (ret != 0)
		set_drop(priv, out);
	return ret;
}

/*
 * Reception begins: with the RSS object the queues get ids, accept completions and
 * ring for their buffers. Gives no message, the caller may try again.
 */
static int
set_open(struct mana_priv *priv, struct mana_rx_set *set)
{
	struct mana_verbs_queue queue;
	int ret = mana_verbs_rss_create(priv->parent, set->ind, priv->rss.key,
					&set->rss_qp);

	for (uint32_t i = 0; i < set->nb && ret == 0; i++) {
		struct mana_rx_hwq *hwq = &set->hwqs[i];

		if (!hwq->has_buffers)
			continue;
		ret = mana_verbs_rq_get(hwq->wq, hwq->cq,
					mana_cq_size(&hwq->rxq.cq), &queue);
		if (ret == 0)
			mana_rxq_open(&hwq->rxq, queue.id, queue.cq_id);
	}
	return ret;
}

/*
 * Whether a ring needs more mbufs than the old one, or mbufs of other pools. The old
 * one's may be released.
 */
static bool
needs_more(const struct mana_rx_hwq *hwq, const struct mana_rx_hwq *old)
{
	const struct mana_rx_scatter *now = &hwq->rxq.scatter;
	const struct mana_rx_scatter *before = &old->rxq.scatter;

	if (hwq->nb_desc > old->nb_desc || now->nb_segs > before->nb_segs ||
	    hwq->rxq.mp != old->rxq.mp)
		return true;
	for (uint16_t i = 0; i < now->nb_segs; i++)
		if (now->segs[i].mp != before->segs[i].mp)
			return true;
	return false;
}

/*
 * Gives the buffers of the old rings to the new ones that lack some. is_back: the new
 * set restores the old one, with as many buffers as there are. A failure is logged.
 */
static int
set_refill(struct mana_priv *priv, struct mana_rx_set *old,
	   struct mana_rx_set *set, bool is_back)
{
	int ret;

	for (uint32_t i = 0; i < old->nb; i++)
		if (old->hwqs[i].has_buffers)
			mana_rxq_release_mbufs(&old->hwqs[i].rxq, true);
	for (uint32_t i = 0; i < set->nb; i++) {
		struct mana_rx_hwq *hwq = &set->hwqs[i];

		ret = hwq->has_buffers ? mana_rxq_fill(&hwq->rxq) : 0;
		/* Other lcores have the rest, in caches or packets. */
		if (ret == -ENOMEM &&
		    (is_back || !is_running(priv, hwq->owner) ||
		     !needs_more(hwq, &old->hwqs[i])))
			ret = 0;
		if (ret != 0) {
			mana_rx_hwq_diag(priv, hwq, ret);
			return ret;
		}
	}
	return 0;
}

/*
 * Builds a set, unless *set is built already, and opens it. After a failure *set is NULL;
 * the failure is logged unless it is -EPROTO.
 */
static int
set_go(struct mana_priv *priv, struct mana_rx_set *old, struct mana_rx_set **set,
       bool is_back)
{
	unsigned int tries = 0;
	bool is_logged;
	int ret;

	do {
		ret = *set == NULL ? set_build(priv, old, set) : 0;
		if (ret == 0 && old != NULL && (*set)->is_short)
			ret = set_refill(priv, old, *set, is_back);
		is_logged = ret != 0;
		if (ret == 0)
			ret = set_open(priv, *set);
		if (ret == 0)
			return 0;
		/* A CQ or WQ that was part of a failed attempt is used up. */
		set_drop(priv, set);
	} while (!is_logged && ret == -EINVAL && mana_queue_id_wait(++tries));
	if (!is_logged && ret != -EPROTO)
		rss_diag(priv, ret);
	return ret;
}

/* ---- Lists -------------------------------------------------------------------- */

/* Each running ethdev queue polls the hardware queues that it owns. */
static void
lists_make(struct mana_priv *priv)
{
	struct mana_eth_rxq *ctl;
	uint32_t at = 0;

	while ((ctl = mana_rxq_next(priv, &at)) != NULL)
		mana_rx_list_clear(&ctl->list);
	for (uint32_t i = 0; priv->rx_set != NULL && i < priv->rx_set->nb; i++) {
		struct mana_rx_hwq *hwq = &priv->rx_set->hwqs[i];

		ctl = priv->rxqs[hwq->owner];
		if (ctl != NULL && is_running(priv, hwq->owner))
			mana_rx_list_add(&ctl->list, &hwq->rxq);
	}
}

static void
set_install(struct mana_priv *priv, struct mana_rx_set *set)
{
	mana_registry_lock();
	priv->rx_set = set;
	mana_registry_unlock();
	lists_make(priv);
}

/* The ethdev queues keep what the set has counted. */
static void
set_remove(struct mana_priv *priv)
{
	struct mana_rx_set *set = priv->rx_set;

	mana_registry_lock();
	for (uint32_t i = 0; i < set->nb; i++)
		if (priv->rxqs[set->hwqs[i].owner] != NULL)
			mana_stats_fold_hwq(priv->rxqs[set->hwqs[i].owner],
					    &set->hwqs[i].rxq);
	priv->rx_set = NULL;
	mana_registry_unlock();
	lists_make(priv);
}

/*
 * Frees the packets of the ring and counts them: as those of a stopped queue when no
 * list has the ring. Bursts are paused. Locked, as the counters of packets go back.
 */
static void
hwq_drain(struct mana_priv *priv, struct mana_rx_hwq *hwq, bool is_stop,
	  bool is_gone)
{
	struct mana_rxq *rxq = &hwq->rxq;
	uint32_t nb;

	if (!hwq->has_buffers || priv->rx_poll == NULL)
		return;
	mana_registry_lock();
	nb = mana_rxq_drain(rxq, priv->rx_poll, is_gone);
	if (is_stop || rxq->next == NULL)
		rxq->stats.stopped += nb;
	else
		rxq->stats.reconfig += nb;
	mana_registry_unlock();
}

/* The device no longer uses the rings: frees their packets. */
static void
set_drain(struct mana_priv *priv, struct mana_rx_set *set, bool is_stop)
{
	for (uint32_t i = 0; i < set->nb; i++)
		hwq_drain(priv, &set->hwqs[i], is_stop, true);
}

/* ---- Start and stop of the port ----------------------------------------------- */

/*
 * Gives each queue as many descriptors as were asked for, but at most max. Returns the
 * largest number that a queue has now.
 */
static uint16_t
rxqs_resize(struct mana_priv *priv, uint16_t max)
{
	struct mana_eth_rxq *ctl;
	uint16_t largest = 0;
	uint32_t at = 0;

	priv->rx_desc_taken = max;
	while ((ctl = mana_rxq_next(priv, &at)) != NULL) {
		mana_rxq_resize(priv, ctl, RTE_MIN(max, ctl->asked_desc));
		largest = RTE_MAX(largest, ctl->nb_desc);
	}
	return largest;
}

/*
 * The device has refused the queues. It does not report which of them, and its limits
 * are unknown. Returns false when they cannot be smaller.
 */
static bool
rxqs_halve(struct mana_priv *priv, uint16_t *max)
{
	if (*max <= MANA_MIN_DESC)
		return false;
	*max = RTE_MAX(*max / 2, MANA_MIN_DESC);
	MANA_PORT_LOG(NOTICE, priv->data->name,
		      "the device refused the Rx queues: trying with %u descriptors each at most",
		      *max);
	(void)rxqs_resize(priv, *max);
	return true;
}

int
mana_rx_set_start(struct mana_priv *priv)
{
	struct mana_rx_set *set = NULL;
	uint16_t max;
	int ret;

	if (priv->data->nb_rx_queues == 0)
		return 0;
	max = rxqs_resize(priv, UINT16_MAX);
	do {
		ret = set_go(priv, NULL, &set, false);
	} while (ret == -EPROTO && rxqs_halve(priv, &max));
	if (ret != 0) {
		(void)rxqs_resize(priv, UINT16_MAX);
		if (ret == -EPROTO)
			rss_diag(priv, ret);
		return ret;
	}
	set_install(priv, set);
	return 0;
}

void
mana_rx_set_stop(struct mana_priv *priv)
{
	struct mana_rx_set *set = priv->rx_set;
	struct mana_eth_rxq *ctl;
	uint32_t at = 0;

	if (set == NULL)
		return;
	mana_pause_set(priv, MANA_PAUSE_RX, true);
	/* No burst runs, but rx_queue_count() may run in another thread. */
	while ((ctl = mana_rxq_next(priv, &at)) != NULL) {
		mana_look_wait(&ctl->list.look);
	}
	(void)set_close(priv, set);
	set_drain(priv, set, true);
	set_remove(priv);
	set_free(priv, set);
}

/* ---- A pause of all Rx queues ----------------------------------------------------- */

static int
rx_pause(struct mana_priv *priv, uint32_t patience_ms)
{
	int ret = mana_pause(priv, MANA_PAUSE_RX, patience_ms);

	if (ret == -EBUSY && patience_ms == MANA_PATIENCE_MS)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "an Rx burst has not ended for %d s: try again",
			      MANA_PATIENCE_MS / 1000);
	else if (ret != -EBUSY && ret != 0)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "the kernel refuses membarrier(2), but did not when the first port was probed (seccomp): stop the port to change its Rx queues");
	return ret;
}

/* ---- A rebuild under traffic ----------------------------------------------------- */

static void
table_put(struct mana_priv *priv, const struct mana_rx_table *table)
{
	mana_registry_lock();
	priv->rss = *table;
	mana_registry_unlock();
}

static void
outage_note(struct mana_priv *priv, uint64_t began_ns)
{
	uint64_t ns = mana_now_ns(CLOCK_MONOTONIC) - began_ns;

	priv->counters.rss_gaps++;
	priv->counters.rss_gap_ns += ns;
	priv->counters.rss_gap_max_ns = RTE_MAX(priv->counters.rss_gap_max_ns, ns);
	MANA_PORT_LOG(INFO, priv->data->name,
		      "RSS rebuild: %" PRIu64 " ns without reception, at most %" PRIu64 " ns so far",
		      ns, priv->counters.rss_gap_max_ns);
}

/* The queues get no more descriptors than the set had: the device may refuse more. */
static void
rxqs_restore(struct mana_priv *priv, const struct mana_rx_set *set)
{
	for (uint32_t i = 0; i < set->nb; i++) {
		struct mana_eth_rxq *ctl = priv->rxqs[set->hwqs[i].owner];

		if (ctl != NULL && ctl->nb_desc > set->hwqs[i].nb_desc)
			mana_rxq_resize(priv, ctl, set->hwqs[i].nb_desc);
	}
}

/*
 * Opens the new set in place of the port's, which is closed, and resumes bursts. After a
 * failure the port has a set by the table before, or none.
 */
static int
set_swap(struct mana_priv *priv, struct mana_rx_set *set,
	 const struct mana_rx_table *before, uint64_t began_ns)
{
	struct mana_rx_set *old = priv->rx_set;
	int ret;

	set_drain(priv, old, false);
	/*
	 * The kernel keeps a CQ's id until the CQ is destroyed, and refuses an RSS
	 * object for which the device reuses the id (mana_ib_install_cq_cb).
	 */
	for (uint32_t i = 0; i < old->nb; i++)
		mana_rx_hwq_objects_destroy(priv, &old->hwqs[i]);
	set_remove(priv);
	ret = set_go(priv, old, &set, false);
	if (ret != 0) {
		if (ret == -EPROTO)
			rss_diag(priv, ret);
		table_put(priv, before);
		rxqs_restore(priv, old);
		(void)set_go(priv, old, &set, true);
	}
	if (set != NULL) {
		set_install(priv, set);
		outage_note(priv, began_ns);
	} else {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "RSS rebuild failed, Rx is down: %s", down_remedy(priv));
	}
	mana_resume(priv, MANA_PAUSE_RX);
	set_free(priv, old);
	return ret;
}

/*
 * Stores the table, builds a set by it and swaps it in if the port runs. A failed build
 * changes nothing.
 */
static int
set_rebuild(struct mana_priv *priv, const struct mana_rx_table *table,
	    uint32_t patience_ms)
{
	const struct mana_rx_table before = priv->rss;
	struct mana_rx_set *set = NULL;
	uint64_t began_ns;
	int ret;

	if (priv->rx_set == NULL && priv->data->dev_started)
		return MANA_PORT_ERR(-EIO, priv->data->name,
				     "Rx is down since an RSS rebuild failed: %s",
				     down_remedy(priv));
	table_put(priv, table);
	if (priv->rx_set == NULL)
		return 0;
	/* Without the permission reception would end with the old RSS object. */
	ret = mana_txq_permission_check(priv);
	if (ret == 0)
		ret = set_build(priv, priv->rx_set, &set);
	if (ret == -EPROTO)
		rss_diag(priv, ret);
	if (ret == 0)
		ret = rx_pause(priv, patience_ms);
	if (ret == 0) {
		began_ns = mana_now_ns(CLOCK_MONOTONIC);
		ret = set_close(priv, priv->rx_set);
		if (ret == 0)
			return set_swap(priv, set, &before, began_ns);
		mana_resume(priv, MANA_PAUSE_RX);
	}
	set_drop(priv, &set);
	table_put(priv, &before);
	return ret;
}

int
mana_rx_set_key(struct mana_priv *priv, const uint8_t *key)
{
	struct mana_rx_table table = priv->rss;

	if (memcmp(table.key, key, sizeof(table.key)) == 0)
		return 0;
	memcpy(table.key, key, sizeof(table.key));
	return set_rebuild(priv, &table, MANA_PATIENCE_MS);
}

static bool
set_is_good(const struct mana_priv *priv)
{
	const struct mana_rx_set *set = priv->rx_set;

	for (uint32_t i = 0; set != NULL && i < set->nb; i++)
		if (mana_rxq_failure(&set->hwqs[i].rxq) != MANA_FAILURE_NONE)
			return false;
	return set != NULL || priv->data->nb_rx_queues == 0;
}

int
mana_rx_set_repair(struct mana_priv *priv, uint32_t patience_ms)
{
	int ret;

	if (set_is_good(priv))
		return 0;
	if (priv->rx_set != NULL) {
		ret = set_rebuild(priv, &priv->rss, patience_ms);
	} else {
		ret = rx_pause(priv, patience_ms);
		if (ret == 0) {
			ret = mana_rx_set_start(priv);
			mana_resume(priv, MANA_PAUSE_RX);
		}
	}
	/* Where the new set failed, one as before was built. */
	return set_is_good(priv) ? 1 : ret;
}

/* ---- Hardware queues move between lists ------------------------------------ */

/*
 * Whether the ethdev queues of reta can poll the hardware queues as they are. Checked are
 * those that move, and those of a queue that starts: since they were built the queue may
 * have been set up anew, or the MTU may have changed.
 */
static bool
can_poll(const struct mana_priv *priv, const uint8_t *reta, uint32_t started)
{
	for (uint32_t i = 0; i < priv->rx_set->nb; i++) {
		const struct mana_rx_hwq *hwq = &priv->rx_set->hwqs[i];
		const struct mana_eth_rxq *to = priv->rxqs[reta[i]];

		if (hwq->owner == reta[i] && reta[i] != started)
			continue;
		if (to == NULL ? hwq->has_buffers :
				 !mana_rx_hwq_can_move(priv, hwq, to))
			return false;
	}
	return true;
}

/*
 * The channels also wake the ethdev queues of reta that run. A stopped queue takes no
 * event, so an event would wake it again and again.
 */
static int
intrs_add(struct mana_priv *priv, const uint8_t *reta)
{
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && i < priv->rx_set->nb; i++)
		if (is_running(priv, reta[i]))
			ret = mana_rx_hwq_intr(priv, &priv->rx_set->hwqs[i],
					       reta[i], EPOLL_CTL_ADD);
	if (ret != 0)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "no Rx interrupts for the new order of queues: %s",
			      strerror(-ret));
	return ret;
}

/* The channels wake the running owners and no other ethdev queue. */
static void
intrs_tidy(struct mana_priv *priv)
{
	const struct mana_rx_set *set = priv->rx_set;

	for (uint32_t i = 0; set != NULL && i < set->nb; i++)
		for (uint16_t q = 0; q < priv->data->nb_rx_queues; q++)
			if (q != set->hwqs[i].owner || !is_running(priv, q))
				(void)mana_rx_hwq_intr(priv, &set->hwqs[i], q,
						       EPOLL_CTL_DEL);
}

/* Bursts are paused. Packets that came for a stopped owner are not for a running one. */
static void
hwqs_move(struct mana_priv *priv, const uint8_t *reta)
{
	for (uint32_t i = 0; i < priv->rx_set->nb; i++) {
		struct mana_rx_hwq *hwq = &priv->rx_set->hwqs[i];

		if (hwq->rxq.next == NULL && is_running(priv, reta[i]))
			hwq_drain(priv, hwq, true, false);
	}
	mana_registry_lock();
	for (uint32_t i = 0; i < priv->rx_set->nb; i++) {
		struct mana_rx_hwq *hwq = &priv->rx_set->hwqs[i];

		if (hwq->owner != reta[i])
			mana_rx_hwq_move(hwq, priv->rxqs[hwq->owner],
					 priv->rxqs[reta[i]], reta[i]);
	}
	memmove(priv->rss.reta, reta, sizeof(priv->rss.reta));
	mana_registry_unlock();
	lists_make(priv);
}

/* New lists, by reta and the queues' states. After a failure all is as before. */
static int
lists_change(struct mana_priv *priv, const uint8_t *reta)
{
	int ret = intrs_add(priv, reta);

	if (ret == 0)
		ret = rx_pause(priv, MANA_PATIENCE_MS);
	if (ret == 0) {
		hwqs_move(priv, reta);
		mana_resume(priv, MANA_PAUSE_RX);
	}
	return ret;
}

int
mana_rx_set_assign(struct mana_priv *priv, const uint8_t *reta)
{
	struct mana_rx_table table = priv->rss;
	int ret;

	if (memcmp(table.reta, reta, sizeof(table.reta)) == 0)
		return 0;
	if (priv->rx_set == NULL || !can_poll(priv, reta, UINT32_MAX)) {
		memcpy(table.reta, reta, sizeof(table.reta));
		return set_rebuild(priv, &table, MANA_PATIENCE_MS);
	}
	ret = lists_change(priv, reta);
	intrs_tidy(priv);
	return ret;
}

/* ---- Ethdev queues that start, stop and go ---------------------------------------- */

int
mana_rx_set_queue_start(struct mana_priv *priv, uint16_t queue_id)
{
	uint8_t *state = &priv->data->rx_queue_state[queue_id];
	struct mana_eth_rxq *ctl = priv->rxqs[queue_id];
	int ret = mana_rx_layout_check(priv, &ctl->layout, priv->data->mtu);

	if (ret != 0)
		return ret;
	/* The device may have refused larger ones. */
	mana_rxq_resize(priv, ctl, RTE_MIN(ctl->asked_desc, priv->rx_desc_taken));
	*state = RTE_ETH_QUEUE_STATE_STARTED;
	if (priv->rx_set != NULL && can_poll(priv, priv->rss.reta, queue_id))
		ret = lists_change(priv, priv->rss.reta);
	else
		ret = set_rebuild(priv, &priv->rss, MANA_PATIENCE_MS);
	if (ret == 0)
		return 0;
	*state = RTE_ETH_QUEUE_STATE_STOPPED;
	/* A set as before was built, for the queue as started. */
	if (ctl->list.first != NULL)
		(void)lists_change(priv, priv->rss.reta);
	intrs_tidy(priv);
	return ret;
}

int
mana_rx_set_queue_stop(struct mana_priv *priv, uint16_t queue_id)
{
	uint8_t *state = &priv->data->rx_queue_state[queue_id];
	int ret = 0;

	*state = RTE_ETH_QUEUE_STATE_STOPPED;
	if (priv->rx_set != NULL)
		ret = lists_change(priv, priv->rss.reta);
	if (ret != 0)
		*state = RTE_ETH_QUEUE_STATE_STARTED;
	intrs_tidy(priv);
	return ret;
}

void
mana_rx_set_queue_release(struct mana_priv *priv, uint16_t queue_id)
{
	struct mana_eth_rxq *ctl = priv->rxqs[queue_id];
	struct mana_rx_set *set = priv->rx_set;
	bool is_used = false;

	/* A ring that was moved may hold mbufs of this queue's pool. */
	for (uint32_t i = 0; set != NULL && i < set->nb; i++)
		is_used |= set->hwqs[i].is_mixed ||
			   (set->hwqs[i].owner == queue_id &&
			    set->hwqs[i].has_buffers);
	if (!is_used)
		return;
	ctl->is_released = true;
	(void)set_rebuild(priv, &priv->rss, MANA_PATIENCE_MS);
	if (priv->rx_set != set)
		return;
	if (!mana_is_gone(priv))
		MANA_PORT_LOG(ERR, priv->data->name,
			      "Rx queue %u: the adapter keeps its mbufs; they are lost",
			      queue_id);
	for (uint32_t i = 0; i < set->nb; i++) {
		if (set->hwqs[i].owner != queue_id)
			continue;
		mana_registry_lock();
		mana_stats_fold_hwq(ctl, &set->hwqs[i].rxq);
		mana_registry_unlock();
		mana_rxq_release_mbufs(&set->hwqs[i].rxq, mana_is_gone(priv));
		set->hwqs[i].has_buffers = false;
	}
}

/* ---- Queries ------------------------------------------------------------------------ */

uint32_t
mana_rx_set_room_bytes(const struct mana_priv *priv, uint16_t queue_id)
{
	const struct mana_rx_set *set = priv->rx_set;
	uint32_t room = UINT32_MAX;

	for (uint32_t i = 0; set != NULL && i < set->nb; i++)
		if (set->hwqs[i].owner == queue_id && set->hwqs[i].has_buffers &&
		    is_running(priv, queue_id))
			room = RTE_MIN(room, set->hwqs[i].rxq.scatter.bytes);
	return room;
}

uint8_t
mana_rx_set_bad_cqes(const struct mana_priv *priv, struct mana_eth_rxq *ctl)
{
	const struct mana_rx_set *set = priv->rx_set;
	uint8_t failure, any = MANA_FAILURE_NONE;

	for (uint32_t i = 0; set != NULL && i < set->nb; i++) {
		const struct mana_rxq *rxq = &set->hwqs[i].rxq;

		if (set->hwqs[i].owner != ctl->owner)
			continue;
		mana_bad_cqes_merge(&ctl->bad_cqes, &rxq->bad_cqes);
		failure = mana_rxq_failure(rxq);
		if (failure != MANA_FAILURE_NONE)
			any = failure;
	}
	return any;
}
