/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A port from probe to close: its objects, its limits, its netdev, and the start
 * and stop of its queues.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_malloc.h>

#include "mana.h"
#include "mana_log.h"
#include "mana_rx_set.h"

/* A ring is at most 1 MiB (Linux mana_eth_query_adapter_caps). */
#define MAX_RING_BYTES (UINT32_C(1) << 20)
/* More CQEs the kernel has never taken (mana_ib_create_cq: max_qp_wr). */
#define MAX_CQE 2048

/* Creates and destroys a CQ, and with nb_wqe a WQ. */
static int
size_try(struct mana_priv *priv, uint32_t nb_cqe, uint32_t nb_wqe)
{
	struct ibv_cq *cq = NULL;
	struct ibv_wq *wq = NULL;
	int ret, error;

	ret = mana_verbs_cq_create(priv->ctx, nb_cqe, NULL, 0, &cq);
	if (ret == -EINVAL && nb_wqe != 0)
		return -EIO; /* not for the size of the WQ */
	if (ret == 0 && nb_wqe != 0)
		ret = mana_verbs_wq_create(priv->parent, cq, nb_wqe, 1, &wq);
	error = mana_verbs_wq_destroy(wq);
	if (error == 0)
		error = mana_verbs_cq_destroy(cq);
	return ret != 0 ? ret : error;
}

/*
 * The largest CQ or Rx queue that kernel and rdma-core accept, by trial: nb or half of
 * it and so on.
 */
static int
find_max(struct mana_priv *priv, bool is_rxq, uint32_t nb, uint32_t *max)
{
	const char *what = is_rxq ? "Rx queue" : "first CQ";
	int ret = -EINVAL;

	for (; nb >= MANA_MIN_CQE && ret == -EINVAL; nb /= 2) {
		ret = is_rxq ? size_try(priv, MANA_MIN_CQE, nb) :
			       size_try(priv, nb, 0);
		*max = nb;
	}
	/* A failure for another reason than the size is final. */
	if (ret == -EINVAL)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "kernel and rdma-core refuse even the smallest %s, of %d descriptors",
			      what, MANA_MIN_CQE);
	else if (ret != 0)
		mana_diag_object(priv, what, MANA_DIAG_NO_ID, ret);
	return ret;
}

/*
 * The largest CQ, Rx queue and Tx queue. The kernel reports its limit for a CQ;
 * rdma-core 44 to 48 refuse more than 256 CQEs, and as many WQEs of a Tx queue. A Tx
 * queue is not tried, because this would take the vPort from its owner.
 */
static int
find_sizes(struct mana_priv *priv, struct mana_limits *limits)
{
	uint32_t max = priv->options.max_desc != 0 ? priv->options.max_desc : UINT32_MAX;
	uint32_t wqe_bytes = mana_wqe_bu(GDMA_BU_BYTES, priv->tx_max_sge) *
			     GDMA_BU_BYTES;
	uint32_t nb = RTE_MIN(limits->caps.max_qp_wr, limits->caps.max_cqe);
	int ret;

	nb = RTE_MIN(nb, (uint32_t)MAX_CQE);
	ret = find_max(priv, false, rte_align32prevpow2(nb), &limits->max_cqe);
	if (ret != 0)
		return ret;
	max = RTE_MIN(max, limits->max_cqe);
	limits->max_tx_desc = RTE_MIN(max, rte_align32prevpow2(MAX_RING_BYTES / wqe_bytes));
	return find_max(priv, true, max, &limits->max_rx_desc);
}

/*
 * Azure's arrangement: hv_netvsc switches the host to its own path when the
 * netdev of the port is set down (Linux netvsc_drv.c netvsc_vf_changed()), and DPDK
 * needs it down. Under net_netvsc the netdev has no such master, because hv_netvsc
 * has lost its device to net_netvsc.
 */
static void
netvsc_warn(const struct mana_priv *priv, const struct mana_netdev_state *state)
{
	char master[IF_NAMESIZE];

	if (state->master == 0 || !mana_netdev_is_netvsc(state->master, master))
		return;
	MANA_PORT_LOG(WARNING, priv->data->name,
		      "netdev %s is a slave of %s (hv_netvsc): while %s is down, as DPDK needs it, the host delivers to %s and this port receives nothing; bind the device of %s to uio_hv_generic and use the port through net_netvsc (chapter \"Azure\" of the guide)",
		      state->name, master, state->name, master, master);
}

static void
find_netdev_limits(struct mana_priv *priv, struct mana_limits *limits)
{
	struct mana_netdev_state state;
	uint32_t max_queues;
	int ret;

	limits->max_queues = RTE_MIN(limits->caps.max_qp, (uint32_t)MANA_MAX_QUEUES);
	if (mana_netdev_max_queues_get(&priv->netdev, &max_queues) == 0)
		limits->max_queues = RTE_MIN(limits->max_queues, max_queues);

	limits->max_mtu = RTE_ETHER_MTU;
	ret = mana_netdev_state_get(&priv->netdev, &state);
	if (ret == -ENODEV)
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "netdev %s is in another network namespace: set it down there before the start; its largest MTU is unknown, the port assumes %u",
			      state.name, limits->max_mtu);
	if (ret != 0)
		return;
	if (state.max_mtu >= RTE_ETHER_MIN_MTU)
		limits->max_mtu = RTE_MIN(state.max_mtu,
					UINT16_MAX - RTE_ETHER_HDR_LEN -
						(uint32_t)RTE_VLAN_HLEN);
	netvsc_warn(priv, &state);
	/* Only kernels with link events report the carrier of a netdev that is down. */
	priv->has_carrier = !state.is_up && state.carrier;
	if (state.is_up)
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "netdev %s is up and owns the port; before the start: `ip link set dev %s down`",
			      state.name, state.name);
}

/* ---- netdev_down=1: the port is the kernel's until the probe, and after the close */

static int
netdev_down(struct mana_priv *priv)
{
	const char *name = priv->data->name;
	struct mana_netdev_state state;
	int ret;

	if (!priv->options.netdev_down)
		return 0;
	ret = mana_netdev_state_get(&priv->netdev, &state);
	if (ret == 0 && !state.is_up)
		return 0;
	if (ret == 0) {
		ret = mana_netdev_up_set(&priv->netdev, false);
		/* The answer may be lost: if in doubt the close sets the netdev up. */
		priv->is_netdev_taken =
			ret == 0 ||
			mana_netdev_state_get(&priv->netdev, &state) != 0 || !state.is_up;
	}
	mana_event_add(&priv->events, MANA_EVENT_NETDEV, priv->netdev.ifindex,
		       false, ret);
	if (ret != 0) {
		mana_diag_netdev_down(name, state.name, ret);
		return ret;
	}
	MANA_PORT_LOG(NOTICE, name,
		      "netdev_down=1: netdev %s is down until the port is closed",
		      state.name);
	return 0;
}

/* The vPort must be free by now. */
static void
netdev_up_again(struct mana_priv *priv)
{
	struct mana_netdev_state state;
	int ret;

	if (!priv->is_netdev_taken)
		return;
	priv->is_netdev_taken = false;
	ret = mana_netdev_state_get(&priv->netdev, &state);
	if (ret == 0)
		ret = mana_netdev_up_set(&priv->netdev, true);
	mana_event_add(&priv->events, MANA_EVENT_NETDEV, priv->netdev.ifindex,
		       true, ret);
	/* After a removal there is no netdev to set up. */
	if (ret != 0 && ret != -ENODEV)
		MANA_PORT_LOG(WARNING, priv->data->name,
			      "netdev_down=1: cannot set netdev %s up again: %s; `ip link set dev %s up`",
			      state.name, strerror(-ret), state.name);
}

/* ---- netdev_mtu=1: the netdev has the port's MTU until the close ---------- */

/*
 * Linux 7.2 and 7.3 crash later when the MTU of a netdev changes while any
 * program has raw queues of its port: mana_change_mtu() removes the port's
 * debugfs folder (mana_cleanup_port_context), and the destruction of the last
 * raw QP removes the EQs' folder inside it once more (mana_destroy_eq). See
 * doc/guides/known-problems/linux-mtu-with-raw-queues.rst.
 *
 * A spare Tx queue shows whether another program has raw queues of this port, because
 * a vPort has one owner. RDMA netlink does not: mana_ib numbers all raw QPs 0, so
 * restrack (core/restrack.c) knows only one of a device, without its port.
 *
 * Returns why the netdev keeps its MTU, or NULL.
 */
static const char *
netdev_mtu_change(struct mana_priv *priv, uint32_t mtu)
{
	int ret = mana_is_gone(priv) || priv->ctx == NULL ? -EIO : 0;

	if (priv->keeps_raw_qp)
		return "the kernel has not destroyed a queue of the port";
	if (ret == 0)
		ret = mana_txq_spare_try(priv);
	if (ret == 0)
		ret = mana_netdev_mtu_set(&priv->netdev, mtu);
	switch (ret) {
	case 0:
		return NULL;
	case -EPERM:
		return "the program needs CAP_NET_ADMIN and CAP_NET_RAW";
	case -ENODEV:
	case -EBUSY:
		return "another program has raw queues of the port, or the netdev is up";
	default:
		return strerror(-ret);
	}
}

static void
netdev_mtu_set(struct mana_priv *priv)
{
	struct mana_netdev_state state, now;
	uint16_t mtu = priv->data->mtu;
	const char *reason;
	bool is_known;

	if (!priv->options.netdev_mtu ||
	    mana_netdev_state_get(&priv->netdev, &state) != 0 ||
	    state.mtu == 0 || state.mtu == mtu)
		return;
	reason = netdev_mtu_change(priv, mtu);
	/* The answer may be lost: if in doubt the close looks what MTU the netdev has. */
	is_known = reason == NULL || mana_netdev_state_get(&priv->netdev, &now) == 0;
	if (reason == NULL || !is_known || now.mtu == mtu) {
		if (priv->netdev_mtu_before == 0)
			priv->netdev_mtu_before = state.mtu;
		priv->netdev_mtu = mtu;
		return;
	}
	if (!priv->is_mtu_noted)
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "netdev_mtu=1: netdev %s keeps its MTU %u, the port has %u: %s",
			      state.name, state.mtu, mtu, reason);
	priv->is_mtu_noted = true;
}

static void
netdev_mtu_restore(struct mana_priv *priv)
{
	uint32_t before = priv->netdev_mtu_before;
	struct mana_netdev_state state;
	const char *reason = NULL;

	priv->netdev_mtu_before = 0;
	if (before != 0 && mana_netdev_state_get(&priv->netdev, &state) == 0 &&
	    state.mtu == priv->netdev_mtu)
		reason = netdev_mtu_change(priv, before);
	if (reason != NULL)
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "netdev_mtu=1: netdev %s keeps the MTU %u: %s; when no program uses the port, `ip link set dev %s mtu %u`",
			      state.name, state.mtu, reason, state.name, before);
}

int
mana_port_netdev_start(struct mana_priv *priv)
{
	/* The netdev may have been set up since the probe. */
	int ret = netdev_down(priv);

	if (ret == 0)
		netdev_mtu_set(priv);
	return ret;
}

/* ---- For Tx and Rx queues ---------------------------------------------------- */

#define NB_ID_WAITS 6

uint32_t
mana_queue_nb_cqe(const struct mana_priv *priv, uint16_t nb_desc,
		  uint32_t nb_spare)
{
	uint32_t nb = RTE_MAX(nb_desc + nb_spare, (uint32_t)MANA_MIN_CQE);

	return RTE_MIN(rte_align32pow2(nb), priv->limits.max_cqe);
}

bool
mana_queue_id_wait(unsigned int tries)
{
	if (tries > NB_ID_WAITS)
		return false;
	rte_delay_us_sleep(MANA_QUEUE_RETRY_US << (tries - 1));
	return true;
}

void *
mana_queue_alloc(const char *what, size_t size, int socket_id)
{
	void *memory = rte_zmalloc_socket(what, size, RTE_CACHE_LINE_SIZE,
					  socket_id);

	return memory != NULL ? memory :
				rte_zmalloc(what, size, RTE_CACHE_LINE_SIZE);
}

static void
retired_free(struct mana_priv *priv)
{
	while (priv->nb_retired != 0)
		rte_free(priv->retired[--priv->nb_retired]);
	free(priv->retired);
	priv->retired = NULL;
}

void
mana_queue_retire(struct mana_priv *priv, void *queue)
{
	void **retired;

	if (!mana_peers_exist()) {
		retired_free(priv);
		rte_free(queue);
		return;
	}
	retired = realloc(priv->retired, (priv->nb_retired + 1) * sizeof(*retired));
	/* Better lost than used by two. */
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
	MANA_PORT_LOG(WARNING, priv->data->name,
		      "the kernel does not destroy a %s: %s", what,
		      strerror(-error));
	/* A device that was reset or removed: it does nothing any more. */
	return error == -EIO || error == -ENODEV;
}

/* ---- Start and stop of all queues -------------------------------------------- */

/*
 * Whether all queues are set up, and frames of the MTU fit their buffers: both may have
 * changed. A port that recovers may have a stopped queue that is not set up.
 */
static int
queues_check(struct mana_priv *priv)
{
	const struct rte_eth_dev_data *data = priv->data;

	for (uint16_t i = 0; i < RTE_MAX(data->nb_tx_queues, data->nb_rx_queues); i++) {
		if (priv->is_running ||
		    ((i >= data->nb_tx_queues || data->tx_queues[i] != NULL) &&
		     (i >= data->nb_rx_queues || data->rx_queues[i] != NULL)))
			continue;
		return MANA_PORT_ERR(-EINVAL, data->name,
				     "queue %u is configured, but was not set up", i);
	}
	return mana_rx_layouts_check(priv);
}

int
mana_queues_start(struct mana_priv *priv)
{
	int ret = queues_check(priv);

	if (ret != 0)
		return ret;
	/* The first QP takes the vPort, which the RSS QP needs to exist. */
	ret = mana_txqs_start(priv);
	if (ret == 0)
		ret = mana_rx_set_start(priv);
	if (ret != 0)
		mana_queues_stop(priv);
	return ret;
}

void
mana_queues_stop(struct mana_priv *priv)
{
	mana_rx_set_stop(priv);
	mana_txqs_stop(priv);
}

/* ---- Failed queues ----------------------------------------------------------- */

/* For which the rebuild of a Tx queue waits for its burst. */
#define PATIENCE_MS 10

/* Logs what has been done for a failed queue. */
static int
repair_log(struct mana_priv *priv, const char *what, uint32_t queue, int ret)
{
	mana_event_add(&priv->events, MANA_EVENT_REPAIRED, queue, 0, ret);
	if (ret != 0) {
		/* No error: an lcore may have lost its processor in a burst. */
		MANA_PORT_LOG(WARNING, priv->data->name,
			      "cannot rebuild %s: %s; the driver tries again", what,
			      strerror(-ret));
		return ret;
	}
	priv->counters.repairs++;
	MANA_PORT_LOG(NOTICE, priv->data->name, "%s: rebuilt", what);
	return 0;
}

int
mana_queues_repair(struct mana_priv *priv)
{
	const uint8_t *states = priv->data->tx_queue_state;
	struct mana_eth_txq *ctl;
	uint32_t at = 0;
	int error = 0, ret;
	char name[16];

	while ((ctl = mana_txq_next(priv, &at)) != NULL) {
		if (states[ctl->txq.queue_id] != RTE_ETH_QUEUE_STATE_STARTED ||
		    (ctl->qp != NULL && mana_txq_failure(&ctl->txq) == MANA_FAILURE_NONE))
			continue;
		snprintf(name, sizeof(name), "Tx queue %u", ctl->txq.queue_id);
		ret = repair_log(priv, name, ctl->txq.queue_id,
				 mana_txq_rebuild(priv, ctl, PATIENCE_MS));
		if (ret != 0)
			error = ret;
	}
	ret = mana_rx_set_repair(priv, PATIENCE_MS);
	if (ret != 0)
		ret = repair_log(priv, "the Rx queues", UINT32_MAX, RTE_MIN(ret, 0));
	return ret != 0 ? ret : error;
}

/* ---- Life ---------------------------------------------------------------- */

static int
open_objects(struct mana_priv *priv, struct ibv_device *device,
	     struct mana_verbs_caps *caps)
{
	struct ibv_context *ctx;
	int ret = mana_verbs_open(device, &ctx);

	if (ret != 0) {
		mana_diag_open(priv->data->name, device->name,
			       device->dev_name, ret);
		return ret;
	}
	mana_registry_lock();
	priv->ctx = ctx;
	mana_registry_unlock();
	mana_atomic_store(&priv->is_lost, 0);
	priv->keeps_raw_qp = false;
	priv->nb_opens++;
	priv->rings.socket_id = priv->data->numa_node;
	ret = mana_db_map(priv->data->port_id, ctx->cmd_fd);
	if (ret == 0)
		ret = mana_verbs_query(ctx, caps);
	if (ret == 0)
		ret = mana_verbs_rings_from(ctx, &priv->rings);
	if (ret == 0)
		ret = mana_mr_table_attach(priv);
	if (ret != 0)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "cannot prepare RDMA device %s: %s",
			      device->name, strerror(-ret));
	return ret;
}

/* Destroys what open_objects() has made. Returns the kernel's error. */
static int
close_objects(struct mana_priv *priv)
{
	struct ibv_context *ctx = priv->ctx;
	int error = mana_mr_table_detach(priv);
	int ret;

	mana_db_unmap(priv->data->port_id);
	mana_registry_lock();
	priv->ctx = NULL;
	mana_registry_unlock();
	ret = mana_verbs_close(ctx);
	mana_verbs_rings_release(&priv->rings);
	return error != 0 ? error : ret;
}

/* A power of two: struct mana_options. */
static int
hw_rxq_check(const struct mana_priv *priv)
{
	uint32_t max = rte_align32prevpow2(priv->limits.max_queues);

	if (priv->options.hw_rxq <= max)
		return 0;
	return MANA_PORT_ERR(-EINVAL, priv->data->name,
			     "hw_rxq=%u: the port has at most %u hardware Rx queues (`ethtool -l %s`); give a power of two up to that",
			     priv->options.hw_rxq, max, priv->netdev.name);
}

/* Opens the device, finds the limits. */
static int
port_open(struct mana_priv *priv, struct ibv_device *device)
{
	struct mana_limits limits = { .max_queues = 0 };
	int ret = open_objects(priv, device, &limits.caps);

	if (ret == 0)
		ret = netdev_down(priv);
	if (ret == 0)
		ret = find_sizes(priv, &limits);
	if (ret != 0)
		return ret;
	find_netdev_limits(priv, &limits);
	/* In one step: other threads ask for them, also in a recovery. */
	mana_registry_lock();
	priv->limits = limits;
	mana_registry_unlock();
	return hw_rxq_check(priv);
}

int
mana_port_open(struct mana_priv *priv, struct ibv_device *device, uint32_t port,
	       const struct mana_netdev *netdev)
{
	int ret = -pthread_mutex_init(&priv->control, NULL);

	priv->port = port;
	priv->netdev = *netdev;
	/* The kernel accepts 30 whatever it reports (mana_ib_create_qp_raw). */
	priv->tx_max_sge = priv->options.max_send_sge != 0 ?
				   priv->options.max_send_sge :
				   GDMA_SQ_WQE_MAX_SGE;
	priv->wants_ptypes = true;
	if (ret == 0)
		ret = mana_mr_table_create(priv);
	if (ret == 0)
		ret = port_open(priv, device);
	if (ret == 0)
		ret = mana_registry_add(priv);
	if (ret == 0)
		ret = mana_peers_open(priv);
	return mana_event_add(&priv->events, MANA_EVENT_PROBE, port, 0, ret);
}

int
mana_port_attach(struct mana_priv *priv, struct ibv_device *device,
		 const struct mana_netdev *netdev)
{
	int ret;

	/* The interface may have another number and another name. */
	mana_registry_lock();
	priv->netdev = *netdev;
	mana_registry_unlock();
	ret = port_open(priv, device);
	if (ret != 0)
		(void)close_objects(priv);
	return ret;
}

void
mana_port_detach(struct mana_priv *priv)
{
	/* ethdev may be changing the queues of a stopped port. */
	if (priv->is_running)
		mana_queues_stop(priv);
	(void)close_objects(priv);
}

static void
release_queues(struct mana_priv *priv)
{
	struct rte_eth_dev_data *data = priv->data;

	for (uint16_t i = 0; data->rx_queues != NULL && i < data->nb_rx_queues; i++)
		mana_rxq_release(priv, i);
	for (uint16_t i = 0; data->tx_queues != NULL && i < data->nb_tx_queues; i++) {
		mana_txq_release(priv, data->tx_queues[i]);
		data->tx_queues[i] = NULL;
	}
}

void
mana_port_close(struct mana_priv *priv)
{
	int error;

	mana_event_add(&priv->events, MANA_EVENT_CLOSE, 0, 0, 0);
	mana_peers_close(priv);
	mana_registry_remove(priv);
	mana_queues_stop(priv);
	netdev_mtu_restore(priv);
	release_queues(priv);
	rte_mempool_free(priv->bounce_mp);
	priv->bounce_mp = NULL;
	error = close_objects(priv);
	mana_mr_table_destroy(priv);
	retired_free(priv);
	netdev_up_again(priv);
	if (error != 0 && !mana_is_gone(priv))
		MANA_PORT_LOG(WARNING, priv->data->name,
			      "the kernel did not close the device: %s",
			      strerror(-error));
}
