/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Rx interrupts. The application sleeps on a descriptor of each Rx queue, which ethdev hands out
 * by the interrupt handle. It is that of an epoll set, from which a read fails and which stays
 * readable. Programs that wait on descriptors by themselves read from one that is ready: from a
 * completion channel they would take an event without acknowledging it, and ibv_destroy_cq()
 * waits for that.
 *
 * Two sources wake the application: a completion channel, when the device reports an event of an
 * armed CQ (mana_rx_set.c creates a channel for each hardware queue), and an eventfd that the
 * driver writes
 *   - when it has armed the CQs and a ring holds a CQE already: the device may give no event;
 *   - at the end of a pause (mana_pause.c). The CQs may be new ones, and an interrupt that was
 *     enabled during the pause has armed none. The application arms with its next enable.
 * CQs are not disarmed: the epoll set does not watch a disabled interrupt. The next enable
 * drains the events of that time.
 */

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_interrupts.h>
#include <rte_malloc.h>

#include "mana_ethdev.h"
#include "mana_log.h"
#include "mana_queues.h"

/* Whether the inner epoll set makes the application's descriptor readable. */
static int
rx_intr_watch(const struct mana_rx_intr *intr, bool is_watched)
{
	struct epoll_event event = { .events = is_watched ? EPOLLIN : 0 };

	return epoll_ctl(intr->fd, EPOLL_CTL_MOD, intr->sources_fd, &event) == 0 ? 0 : -errno;
}

/* Each descriptor exists or is -1 after this. */
static int
rx_intr_open(struct mana_rx_intr *intr)
{
	struct epoll_event none = { .events = 0 };
	struct epoll_event readable = { .events = EPOLLIN };

	intr->fd = epoll_create1(EPOLL_CLOEXEC);
	intr->sources_fd = epoll_create1(EPOLL_CLOEXEC);
	intr->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (intr->fd < 0 || intr->sources_fd < 0 || intr->wake_fd < 0 ||
	    epoll_ctl(intr->fd, EPOLL_CTL_ADD, intr->sources_fd, &none) != 0 ||
	    epoll_ctl(intr->sources_fd, EPOLL_CTL_ADD, intr->wake_fd, &readable) != 0)
		return -errno;
	return 0;
}

static int
handle_fill(struct rte_eth_dev *dev, uint16_t nb_rxq)
{
	const struct mana_priv *priv = dev->data->dev_private;
	struct rte_intr_handle *handle = dev->intr_handle;
	int ret = rte_intr_vec_list_alloc(handle, "mana_intr", nb_rxq);

	if (ret == 0)
		ret = rte_intr_nb_efd_set(handle, nb_rxq);
	for (uint16_t i = 0; ret == 0 && i < nb_rxq; i++) {
		ret = rte_intr_efds_index_set(handle, i, priv->rx_intrs[i].fd);
		if (ret == 0)
			ret = rte_intr_vec_list_index_set(handle, i, RTE_INTR_VEC_RXTX_OFFSET + i);
	}
	return ret;
}

/*
 * mana_ib before Linux 6.8 reports one completion vector and creates the CQs of raw queues
 * without an event queue (qp.c, GDMA_CQ_NO_EQ): an armed CQ never gives an event. Source:
 * linux-rdma, 15 Dec 2023, "[Patch v4 3/3] RDMA/mana_ib: Add CQ interrupt support for RAW QP".
 * From then on the number of vectors is that of the adapter's queues that Linux uses (device.c,
 * max_num_queues), at most one for each CPU, so one CPU alone looks the same.
 */
int
mana_intr_check(const struct rte_eth_dev *dev)
{
	const struct mana_priv *priv = dev->data->dev_private;

	if (dev->data->dev_conf.intr_conf.rxq == 0)
		return 0;
	if (!priv->options.rx_intr)
		return MANA_PORT_ERR(-ENOTSUP, dev->data->name,
				     "intr_conf.rxq: the device argument rx_intr=0 forbids Rx interrupts; leave it out, or poll");
	if (priv->limits.caps.nb_comp_vectors <= 1)
		return MANA_PORT_ERR(-ENOTSUP, dev->data->name,
				     "intr_conf.rxq: Rx interrupts need Linux 6.8 or later and more than one CPU: this kernel reports one completion vector, so none would be delivered; poll, or run a later kernel");
	return 0;
}

int
mana_intr_start(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;
	uint16_t nb_rxq = dev->data->nb_rx_queues;
	int ret;

	if (dev->data->dev_conf.intr_conf.rxq == 0 || nb_rxq == 0)
		return 0;
	priv->rx_intrs = rte_zmalloc("mana_intr", nb_rxq * sizeof(*priv->rx_intrs), 0);
	priv->nb_rx_intrs = priv->rx_intrs != NULL ? nb_rxq : 0;
	ret = priv->rx_intrs == NULL ? -ENOMEM : 0;
	for (uint16_t i = 0; i < priv->nb_rx_intrs; i++) {
		int error = rx_intr_open(&priv->rx_intrs[i]);

		if (error != 0)
			ret = error;
	}
	if (ret == 0)
		ret = handle_fill(dev, nb_rxq);
	if (ret == 0)
		return 0;
	mana_intr_stop(dev);
	return MANA_PORT_ERR(ret, dev->data->name,
			     "no Rx interrupts (intr_conf.rxq): %s%s", strerror(-ret),
			     ret != -EMFILE ? "" :
			     ": each Rx queue takes several descriptors, see `ulimit -n`");
}

void
mana_intr_stop(struct rte_eth_dev *dev)
{
	struct mana_priv *priv = dev->data->dev_private;

	if (priv->rx_intrs == NULL)
		return;
	/* Removes what the application has left in its epoll sets. */
	rte_intr_free_epoll_fd(dev->intr_handle);
	(void)rte_intr_nb_efd_set(dev->intr_handle, 0);
	rte_intr_vec_list_free(dev->intr_handle);
	for (uint16_t i = 0; i < priv->nb_rx_intrs; i++) {
		(void)close(priv->rx_intrs[i].fd);
		(void)close(priv->rx_intrs[i].sources_fd);
		(void)close(priv->rx_intrs[i].wake_fd);
	}
	rte_free(priv->rx_intrs);
	priv->rx_intrs = NULL;
	priv->nb_rx_intrs = 0;
}

/* NULL after a message when there are none. */
static struct mana_rx_intr *
rx_intr_of(struct rte_eth_dev *dev, uint16_t queue_id)
{
	struct mana_priv *priv = dev->data->dev_private;

	if (queue_id < priv->nb_rx_intrs)
		return &priv->rx_intrs[queue_id];
	MANA_PORT_LOG(ERR, dev->data->name, "Rx interrupts: %s",
		      dev->data->dev_conf.intr_conf.rxq != 0 ? "the port is not started" :
		      "configure the port with intr_conf.rxq");
	return NULL;
}

/*
 * Arms all CQs of the rxq. The caller has cleared wake_fd. If the rxq is paused, the end of the
 * pause wakes the application, and if the device is lost, the end of its recovery.
 */
static int
rx_intr_arm(struct mana_rxq *rxq, bool recovers, bool *wakes)
{
	struct mana_hwq *first, *at;
	sigset_t before;
	int worst = 0;

	if (!mana_rxq_lock(rxq))
		return 0;
	/* A handler that stops the port would wait for the event that is not acknowledged. */
	mana_signals_block(&before);
	first = at = rxq->first;
	while (at != NULL) {
		/* Drained before the arming: a later event must wake. */
		int ret = at->channel != NULL ? mana_verbs_channel_drain(at->channel) : 0;

		if (ret >= 0)
			ret = mana_hwq_arm(at, wakes);
		else if (recovers)
			ret = 0; /* the kernel has closed the channel */
		if (ret != 0)
			worst = ret;
		at = at->next != first ? at->next : NULL;
	}
	mana_query_unlock(&rxq->query_lock);
	mana_signals_restore(&before);
	return worst;
}

/* Datapath of this queue. */
int
mana_rx_queue_intr_enable(struct rte_eth_dev *dev, uint16_t queue_id)
{
	struct mana_priv *priv = dev->data->dev_private;
	struct mana_rx_intr *intr = rx_intr_of(dev, queue_id);
	bool wakes = false;
	eventfd_t nb;
	int ret;

	if (intr == NULL)
		return -EINVAL;
	if (mana_state(priv) == MANA_STATE_GONE)
		return -EIO;
	(void)eventfd_read(intr->wake_fd, &nb);
	ret = rx_intr_watch(intr, true);
	if (ret != 0)
		return ret;
	ret = rx_intr_arm(dev->data->rx_queues[queue_id], mana_recovers(priv), &wakes);
	if (wakes)
		(void)eventfd_write(intr->wake_fd, 1);
	return ret;
}

int
mana_rx_queue_intr_disable(struct rte_eth_dev *dev, uint16_t queue_id)
{
	struct mana_priv *priv = dev->data->dev_private;
	struct mana_rx_intr *intr = rx_intr_of(dev, queue_id);
	int ret;

	if (intr == NULL)
		return -EINVAL;
	ret = rx_intr_watch(intr, false);
	return mana_state(priv) == MANA_STATE_GONE ? -EIO : ret;
}
