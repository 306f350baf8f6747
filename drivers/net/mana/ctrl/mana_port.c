/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A port from probe to close: its objects, its limits, its netdev.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_ether.h>

#include "mana_locks.h"
#include "mana_log.h"
#include "mana_queues.h"

/* A ring is at most 1 MiB (Linux mana_eth_query_adapter_caps). */
#define MAX_RING_BYTES (UINT32_C(1) << 20)
/* More CQEs the kernel has never taken (mana_ib_create_cq: max_qp_wr). */
#define MAX_CQE UINT32_C(2048)

/* The largest CQ or Rx queue that kernel and rdma-core accept, by trial: nb, half of it, ... */
static int
find_max(struct mana_priv *priv, bool is_rxq, uint32_t nb, uint32_t *max)
{
	const char *what = is_rxq ? "Rx queue" : "first CQ";
	struct ibv_wq *wq = NULL;
	struct ibv_cq *cq = NULL;
	int ret = -EINVAL, error;

	for (; nb >= MANA_MIN_CQE && ret == -EINVAL; nb /= 2) {
		ret = MANA_VERBS_CREATE(cq, ibv_create_cq(priv->ctx, is_rxq ? MANA_MIN_CQE : nb,
							  NULL, NULL, 0));
		if (ret == -EINVAL && is_rxq)
			ret = -EIO; /* not for the size of the WQ */
		if (ret == 0 && is_rxq)
			ret = mana_verbs_wq_create(priv->parent, cq, nb, 1, &wq);
		error = MANA_VERBS_DESTROY(ibv_destroy_wq, wq);
		if (error == 0)
			error = MANA_VERBS_DESTROY(ibv_destroy_cq, cq);
		ret = ret != 0 ? ret : error;
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
 * Azure's arrangement: hv_netvsc switches the host to its own path when the netdev of the port is
 * set down (Linux netvsc_drv.c netvsc_vf_changed()), and DPDK needs it down. Under net_netvsc,
 * which has hv_netvsc's device, the netdev has no such master.
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
		limits->max_mtu = RTE_MIN(state.max_mtu, UINT16_MAX - RTE_ETHER_HDR_LEN -
							 (uint32_t)RTE_VLAN_HLEN);
	netvsc_warn(priv, &state);
	if (state.is_up)
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "netdev %s is up and owns the port; before the start: `ip link set dev %s down`",
			      state.name, state.name);
}

/* ---- netdev_down=1: the port is the kernel's until the probe, and after the close */

int
mana_port_netdev_start(struct mana_priv *priv)
{
	struct mana_netdev_state state;
	int ret;

	if (!priv->options.netdev_down)
		return 0;
	ret = mana_netdev_up_set(&priv->netdev, false, &state);
	/* The answer may be lost: if in doubt the close sets the netdev up. */
	if (state.is_up)
		priv->is_netdev_taken = ret == 0 || ret == -EIO;
	if (ret != 0)
		mana_diag_netdev_down(priv->data->name, state.name, ret);
	else if (state.is_up)
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "netdev_down=1: netdev %s is down until the port is closed",
			      state.name);
	return ret;
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
	ret = mana_netdev_up_set(&priv->netdev, true, &state);
	(void)MANA_PORT_RESULT(ret, priv->data->name, "netdev_down=1: netdev %s up again",
			       state.name);
	/* After a removal there is no netdev to set up. */
	if (ret != 0 && ret != -ENODEV)
		MANA_PORT_LOG(WARNING, priv->data->name,
			      "netdev_down=1: cannot set netdev %s up again: %s; `ip link set dev %s up`",
			      state.name, strerror(-ret), state.name);
}

/* ---- Life ---------------------------------------------------------------- */

static int
open_objects(struct mana_priv *priv, struct ibv_device *device, struct mana_verbs_caps *caps)
{
	static uint16_t nb_opens;
	struct ibv_context *ctx;
	int ret = mana_verbs_open(device, &ctx);

	if (ret != 0) {
		mana_diag_open(priv->data->name, device->name, device->dev_name, ret);
		return ret;
	}
	mana_registry_lock();
	priv->ctx = ctx;
	mana_registry_unlock();
	mana_atomic_store(&priv->is_lost, 0);
	priv->device = mana_device_id(priv->data->port_id,
				      __atomic_add_fetch(&nb_opens, 1, __ATOMIC_RELAXED));
	priv->rings.db_page = mana_db_page(priv->data->port_id);
	priv->rings.socket_id = priv->data->numa_node;
	ret = mana_db_map(priv->data->port_id, ctx->cmd_fd);
	if (ret == 0)
		ret = mana_verbs_query(ctx, caps);
	if (ret == 0)
		ret = mana_verbs_rings_from(ctx, &priv->rings);
	if (ret == 0)
		ret = mana_mr_table_attach(priv);
	if (ret != 0)
		MANA_PORT_LOG(ERR, priv->data->name, "cannot prepare RDMA device %s: %s",
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

/*
 * Opens the device, finds the limits: the largest CQ, Rx queue and Tx queue among them. The
 * kernel reports its limit for a CQ; rdma-core 44 to 48 refuse more than 256 CQEs, and as
 * many WQEs of a Tx queue. A Tx queue is not tried, because this would take the vPort from
 * its owner. ASSUMED: ring-size
 */
int
mana_port_attach(struct mana_priv *priv, struct ibv_device *device,
		 const struct mana_netdev *netdev)
{
	uint32_t wqe_bytes = mana_wqe_bu(GDMA_BU_BYTES, priv->options.max_send_sge) * GDMA_BU_BYTES;
	uint32_t max = priv->options.max_desc != 0 ? priv->options.max_desc : UINT32_MAX;
	struct mana_limits limits = { .max_queues = 0 };
	uint32_t max_hw_rxq; /* a power of two, as the option is */
	uint32_t nb;
	int ret;

	/* The interface of a device that returns may have another number and name. */
	mana_registry_lock();
	priv->netdev = *netdev;
	mana_registry_unlock();
	ret = open_objects(priv, device, &limits.caps);
	if (ret == 0)
		ret = mana_port_netdev_start(priv);
	if (ret == 0) {
		nb = RTE_MIN(limits.caps.max_qp_wr, limits.caps.max_cqe);
		nb = rte_align32prevpow2(RTE_MIN(nb, MAX_CQE));
		ret = find_max(priv, false, nb, &limits.max_cqe);
	}
	if (ret == 0) {
		max = RTE_MIN(max, limits.max_cqe);
		limits.max_tx_desc = RTE_MIN(max, rte_align32prevpow2(MAX_RING_BYTES / wqe_bytes));
		ret = find_max(priv, true, max, &limits.max_rx_desc);
	}
	if (ret != 0)
		return ret;
	find_netdev_limits(priv, &limits);
	/* In one step: other threads ask for them, also in a recovery. */
	mana_registry_lock();
	priv->limits = limits;
	mana_registry_unlock();
	max_hw_rxq = rte_align32prevpow2(limits.max_queues);
	if (priv->options.hw_rxq <= max_hw_rxq)
		return 0;
	return MANA_PORT_ERR(-EINVAL, priv->data->name,
			     "hw_rxq=%u: the port has at most %u hardware Rx queues (`ethtool -l %s`); give a power of two up to that",
			     priv->options.hw_rxq, max_hw_rxq, priv->netdev.name);
}

/* Once: ethdev's answer to an application that asks for larger rings names no cause. */
static void
rings_report(const char *name, const struct mana_limits *limits)
{
	static bool is_reported;
	char version[32];

	mana_verbs_provider_version(version, sizeof(version));
	if (is_reported || limits->max_cqe >= limits->caps.max_qp_wr ||
	    strtoul(version, NULL, 10) >= 49)
		return;
	is_reported = true;
	MANA_PORT_LOG(NOTICE, name,
		      "queues have at most %u descriptors, as rdma-core %s accepts no more: reduce the application's rings, or install rdma-core 49 or later",
		      limits->max_cqe, version);
}

int
mana_port_open(struct mana_priv *priv, struct ibv_device *device, uint32_t port,
	       const struct mana_netdev *netdev)
{
	int ret;

	mana_mutex_init(&priv->control, MANA_LOCK_PORT);
	priv->port = port;
	priv->wants_ptypes = true;
	ret = mana_mr_table_create(priv);
	if (ret == 0)
		ret = mana_port_attach(priv, device, netdev);
	if (ret == 0)
		ret = mana_registry_add(priv);
	if (ret == 0)
		rings_report(priv->data->name, &priv->limits);
	return MANA_PORT_RESULT(ret, priv->data->name, "probe of port %u", port);
}

void
mana_port_detach(struct mana_priv *priv)
{
	/* ethdev may be changing the queues of a stopped port. */
	if (priv->is_running)
		mana_queues_stop(priv);
	(void)close_objects(priv);
}

void
mana_port_close(struct mana_priv *priv)
{
	int error;

	MANA_PORT_LOG(INFO, priv->data->name, "close");
	mana_queues_release(priv);
	error = close_objects(priv);
	mana_mr_table_destroy(priv);
	netdev_up_again(priv);
	if (error != 0 && !mana_is_gone(priv))
		MANA_PORT_LOG(WARNING, priv->data->name, "the kernel did not close the device: %s",
			      strerror(-error));
}
