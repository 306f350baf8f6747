/* SPDX-License-Identifier: BSD-3-Clause */

/* What a port holds from probe to close, and the limits it finds. */

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_ether.h>

#include "mana.h"
#include "mana_diag.h"
#include "mana_log.h"
#include "mana_registry.h"

/* A ring is at most 1 MiB (Linux mana_eth_query_adapter_caps). */
#define MAX_RING_BYTES (UINT32_C(1) << 20)
/* More CQEs the kernel has never taken (mana_ib_create_cq: max_qp_wr). */
#define MAX_CQE 2048

/* A first CQ: what fails for another reason than its size fails for good. */
static int
limit_diag(const struct mana_priv *priv, const char *what, int error)
{
	if (error != -EINVAL)
		mana_diag_object(priv->data->name, &priv->netdev, what,
				 MANA_DIAG_NO_ID, error);
	else
		MANA_PORT_LOG(ERR, priv->data->name,
			      "kernel and rdma-core accept no %s of %d descriptors",
			      what, MANA_MIN_CQE);
	return error;
}

/*
 * The largest CQ that kernel and rdma-core accept: the kernel says what it
 * does, rdma-core 44 to 48 refuse more than 256 and no one can ask them.
 */
static int
find_max_cqe(struct mana_priv *priv)
{
	struct ibv_cq *cq;
	uint32_t nb = MAX_CQE;
	int ret = -EINVAL;

	if (priv->caps.max_qp_wr != 0)
		nb = RTE_MIN(nb, priv->caps.max_qp_wr);
	if (priv->caps.max_cqe != 0)
		nb = RTE_MIN(nb, priv->caps.max_cqe);
	for (nb = rte_align32prevpow2(nb); nb >= MANA_MIN_CQE; nb /= 2) {
		ret = mana_verbs_cq_create(priv->ctx, nb, NULL, 0, &cq);
		if (ret == 0) {
			priv->max_cqe = nb;
			return mana_verbs_cq_destroy(cq);
		}
		if (ret != -EINVAL)
			break;
	}
	return limit_diag(priv, "first CQ", ret);
}

static int
wq_try(struct mana_priv *priv, uint32_t nb_wqe)
{
	struct ibv_cq *cq = NULL;
	struct ibv_wq *wq = NULL;
	int ret, error;

	ret = mana_verbs_cq_create(priv->ctx, MANA_MIN_CQE, NULL, 0, &cq);
	if (ret != 0)
		return ret == -EINVAL ? -EIO : ret; /* not for the WQ's size */
	ret = mana_verbs_wq_create(priv->parent, cq, nb_wqe, 1, &wq);
	error = mana_verbs_wq_destroy(wq);
	if (error == 0)
		error = mana_verbs_cq_destroy(cq);
	return ret != 0 ? ret : error;
}

/* Of receive queues: a WQ of that size, and a CQE for each of its WQEs. */
static int
find_max_rx_desc(struct mana_priv *priv)
{
	uint32_t nb;
	int ret = -EINVAL;

	for (nb = priv->max_cqe; nb >= MANA_MIN_DESC; nb /= 2) {
		ret = wq_try(priv, nb);
		if (ret != -EINVAL)
			break;
	}
	if (ret != 0)
		return limit_diag(priv, "receive queue", ret);
	priv->max_rx_desc = nb;
	return 0;
}

/*
 * Of send queues: no trial, which would take the vPort from whom it belongs
 * to. rdma-core has the same limit of its own for WQEs as for CQEs.
 */
static void
find_max_tx_desc(struct mana_priv *priv)
{
	uint32_t wqe_bytes = mana_wqe_bu(GDMA_BU_BYTES, priv->tx_max_sge) *
			     GDMA_BU_BYTES;

	priv->max_tx_desc =
		RTE_MIN(priv->max_cqe, rte_align32prevpow2(MAX_RING_BYTES /
							   wqe_bytes));
}

static void
find_netdev_limits(struct mana_priv *priv)
{
	struct mana_netdev_state state;
	uint32_t max_queues;
	int ret;

	priv->max_queues = MANA_MAX_RXQ;
	if (priv->caps.max_qp != 0)
		priv->max_queues = RTE_MIN(priv->max_queues, priv->caps.max_qp);
	if (mana_netdev_max_queues_get(&priv->netdev, &max_queues) == 0)
		priv->max_queues = RTE_MIN(priv->max_queues, max_queues);

	priv->max_mtu = RTE_ETHER_MTU;
	ret = mana_netdev_state_get(&priv->netdev, &state);
	if (ret == -ENODEV)
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "netdev %s is in another network namespace: it must be down there before the start, and its largest MTU is not known (%u is taken)",
			      state.name, priv->max_mtu);
	if (ret != 0)
		return;
	if (state.max_mtu >= RTE_ETHER_MIN_MTU)
		priv->max_mtu = RTE_MIN(state.max_mtu,
					UINT16_MAX - RTE_ETHER_HDR_LEN -
						(uint32_t)RTE_VLAN_HLEN);
	/* Of a netdev that is down, only kernels with link events tell it. */
	priv->has_carrier = !state.is_up && state.carrier;
	if (state.is_up)
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "netdev %s is up and owns the port; before the start: `ip link set dev %s down`",
			      state.name, state.name);
}

static int
open_objects(struct mana_priv *priv, struct ibv_device *device)
{
	int ret;

	ret = mana_verbs_open(device, &priv->ctx);
	if (ret != 0) {
		mana_diag_open(priv->data->name, mana_verbs_device_name(device),
			       ret);
		return ret;
	}
	ret = mana_verbs_query(priv->ctx, &priv->caps);
	if (ret == 0)
		ret = mana_verbs_port_check(priv->ctx, priv->port);
	if (ret == 0)
		ret = mana_verbs_rings_from(priv->ctx, &priv->rings,
					    priv->data->numa_node);
	if (ret == 0)
		ret = mana_verbs_pd_create(priv->ctx, priv->port, &priv->pd,
					   &priv->parent);
	if (ret == 0)
		ret = mana_mr_table_create(priv);
	if (ret != 0)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "cannot prepare RDMA device %s: %s",
			      mana_verbs_device_name(device), strerror(-ret));
	return ret;
}

int
mana_port_open(struct mana_priv *priv, struct ibv_device *device, uint32_t port,
	       const struct mana_netdev *netdev)
{
	int ret;

	priv->port = port;
	priv->netdev = *netdev;
	/* The kernel takes 30 whatever it reports (mana_ib_create_qp_raw). */
	priv->tx_max_sge = GDMA_SQ_WQE_MAX_SGE;
	priv->wants_ptypes = true;
	ret = open_objects(priv, device);
	if (ret == 0)
		ret = mana_takeover(priv);
	if (ret == 0)
		ret = find_max_cqe(priv);
	if (ret == 0)
		ret = find_max_rx_desc(priv);
	if (ret == 0) {
		find_max_tx_desc(priv);
		find_netdev_limits(priv);
		ret = mana_registry_add(priv);
	}
	mana_event_add(&priv->events, MANA_EVENT_PROBE, port, 0, ret);
	return ret;
}

static void
release_queues(struct mana_priv *priv)
{
	struct rte_eth_dev_data *data = priv->data;
	uint16_t i;

	for (i = 0; data->rx_queues != NULL && i < data->nb_rx_queues; i++) {
		mana_rxq_release(priv, data->rx_queues[i]);
		data->rx_queues[i] = NULL;
	}
	for (i = 0; data->tx_queues != NULL && i < data->nb_tx_queues; i++) {
		mana_txq_release(priv, data->tx_queues[i]);
		data->tx_queues[i] = NULL;
	}
}

void
mana_port_close(struct mana_priv *priv)
{
	int ret;

	mana_event_add(&priv->events, MANA_EVENT_CLOSE, 0, 0, 0);
	mana_registry_remove(priv);
	mana_queues_stop(priv);
	release_queues(priv);
	rte_mempool_free(priv->bounce_mp);
	priv->bounce_mp = NULL;
	mana_mr_table_destroy(priv);
	/* The parent domain is libmana's only and stands on the other. */
	ret = mana_verbs_pd_destroy(priv->parent);
	priv->parent = NULL;
	if (ret == 0)
		ret = mana_verbs_pd_destroy(priv->pd);
	priv->pd = NULL;
	if (ret == 0)
		ret = mana_verbs_close(priv->ctx);
	else
		(void)mana_verbs_close(priv->ctx);
	priv->ctx = NULL;
	mana_verbs_rings_release(&priv->rings);
	mana_takeover_end(priv);
	if (ret != 0 && !mana_is_gone(priv))
		MANA_PORT_LOG(WARNING, priv->data->name,
			      "the kernel does not let go of the device: %s",
			      strerror(-ret));
}
