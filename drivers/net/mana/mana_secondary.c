/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A port in a secondary process. Its bursts use the queues of the primary process, which
 * are in memory that processes share, and a doorbell page of its own. The primary process
 * says when they may (mana_peers.c). Between these times the port has empty burst
 * functions; a burst that began before finds its queue paused (mana_pause.c).
 *
 * All else reads memory that processes share, under the lock of mana_registry.c. Verbs
 * objects, file descriptors and function pointers belong to the primary process: no
 * operation here uses them.
 *
 * ethdev changes the shared data of the port before it calls some operations
 * (configure, stop, setup and release of queues). Those are absent here, so ethdev
 * returns -ENOTSUP before it changes anything. Others refuse with a message.
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <bus_pci_driver.h>
#include <ethdev_driver.h>
#include <rte_cycles.h>

#include "mana.h"
#include "mana_ethdev.h"
#include "mana_log.h"

/*
 * What this process has of a port. It is never freed: a burst may still read it. A burst
 * that has read a queue before the port started may run with it afterwards, so where there
 * is no queue the arrays have one that is always paused.
 */
struct port {
	/* Copies of ethdev's arrays, which the primary process allocates and frees. */
	MANA_ATOMIC(void *) rxqs[RTE_MAX_QUEUES_PER_PORT];
	MANA_ATOMIC(void *) txqs[RTE_MAX_QUEUES_PER_PORT];
	struct mana_news news; /* as far as it was followed */
	enum mana_state noted; /* the state that the application was notified of */
	bool is_attached;
	bool has_device; /* its doorbell page is mapped */
	bool is_lost; /* with the primary process */
};

static struct port *ports[RTE_MAX_ETHPORTS];
static unsigned int nb_attached;
static MANA_ATOMIC(mana_burst_t) path_burst; /* of all ports */
static struct mana_eth_rxq no_rxq;
static struct mana_eth_txq no_txq = { .txq.is_paused = true };
/* Protects these, and follows news in order. */
static pthread_mutex_t ports_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- Operations ------------------------------------------------------------------ */

static int
refuse(const struct rte_eth_dev *dev, const char *what)
{
	return MANA_PORT_ERR(-ENOTSUP, dev->data->name,
			     "only the primary process can %s", what);
}

static int
refuse_start(struct rte_eth_dev *dev)
{
	return refuse(dev, "start the port");
}

static int
refuse_queue(struct rte_eth_dev *dev, uint16_t queue_id __rte_unused)
{
	return refuse(dev, "start and stop its queues");
}

static int
refuse_mtu(struct rte_eth_dev *dev, uint16_t mtu __rte_unused)
{
	return refuse(dev, "set the MTU");
}

static int
refuse_rss_hash(struct rte_eth_dev *dev,
		struct rte_eth_rss_conf *conf __rte_unused)
{
	return refuse(dev, "set the RSS key");
}

static int
refuse_reta(struct rte_eth_dev *dev,
	    struct rte_eth_rss_reta_entry64 *conf __rte_unused,
	    uint16_t size __rte_unused)
{
	return refuse(dev, "set the RETA");
}

/* The primary process updates the link in the shared data. */
static int
link_keep(struct rte_eth_dev *dev __rte_unused,
	  int wait_to_complete __rte_unused)
{
	return 0;
}

/*
 * The events of a pool are those of the process that creates or destroys it: the primary
 * process does not learn of this one. Another pool may get its address.
 */
static void
on_pool_event(enum rte_mempool_event event, struct rte_mempool *mp __rte_unused,
	      void *arg __rte_unused)
{
	struct mana_priv *priv;
	uint32_t at = 0;

	if (event != RTE_MEMPOOL_EVENT_DESTROY)
		return;
	mana_registry_lock();
	while ((priv = mana_registry_next(at)) != NULL) {
		at = priv->data->port_id + 1;
		mana_atomic_add(&priv->mr_generation, 1);
	}
	mana_registry_unlock();
}

/*
 * The primary process may detach a port that this one polls. It frees the queues when this
 * process has left, so bursts that run now end first.
 */
static void
bursts_await(const struct port *port)
{
	const uint32_t id = mana_atomic_load(&mana_process_id);
	const uint64_t end = rte_get_timer_cycles() +
			     rte_get_timer_hz() / 1000 * MANA_PATIENCE_MS;

	/* From now on this thread sees the marks of all bursts that began before. */
	(void)mana_pause_check();
	for (uint32_t i = 0; i < MANA_MAX_QUEUES; i++) {
		const struct mana_rx_list *list = mana_atomic_load(&port->rxqs[i]);
		const struct mana_txq *txq = mana_atomic_load(&port->txqs[i]);

		while ((mana_atomic_load(&list->user) == id ||
			mana_atomic_load(&txq->user) == id) && rte_get_timer_cycles() < end)
			rte_delay_us_sleep(20);
	}
}

/* Releases what this process has: ethdev then detaches the port here. */
static int
secondary_close(struct rte_eth_dev *dev)
{
	struct port *port;
	bool is_last, runs;

	/*
	 * When the primary process has closed the port, ethdev has zeroed its
	 * data, and rte_eth_dev_release_port() would reset the burst functions
	 * of port 0.
	 */
	if (dev->data->name[0] == '\0')
		dev->data->port_id = dev - rte_eth_devices;
	port = ports[dev->data->port_id];
	pthread_mutex_lock(&ports_lock);
	mana_bursts_stop(dev);
	mana_db_unmap(dev->data->port_id);
	port->is_attached = false;
	port->has_device = false;
	runs = (port->news.flags & MANA_NEWS_RUNS) != 0 && !port->is_lost;
	/* Another attachment begins with the same news. */
	port->news.nr = 0;
	is_last = --nb_attached == 0;
	pthread_mutex_unlock(&ports_lock);
	/* Unlocked: these wait for bursts, the interrupt thread, or EAL. */
	if (runs)
		bursts_await(port);
	if (is_last) {
		mana_peers_leave();
		(void)rte_mempool_event_callback_unregister(on_pool_event, NULL);
	}
	mana_registry_close();
	return 0;
}

static int
secondary_is_removed(struct rte_eth_dev *dev)
{
	const struct port *port = ports[dev->data->port_id];

	return port != NULL && port->is_lost ? 1 : mana_is_removed(dev);
}

static uint16_t rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb);
static uint16_t tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb);

static int
rx_burst_mode_get(struct rte_eth_dev *dev, uint16_t queue_id __rte_unused,
		  struct rte_eth_burst_mode *mode)
{
	return mana_rx_burst_mode_set(mode, dev->rx_pkt_burst == rx_burst ?
						    mana_atomic_load(&path_burst) : NULL);
}

static int
tx_burst_mode_get(struct rte_eth_dev *dev, uint16_t queue_id __rte_unused,
		  struct rte_eth_burst_mode *mode)
{
	return mana_tx_burst_mode_set(mode, dev->tx_pkt_burst == tx_burst ?
						    mana_tx_burst : NULL);
}

/*
 * The queue knows its user before and after the burst accesses it, so the primary process
 * finds the queue in whose burst this process was killed. The driver's own bursts have no
 * time for that. A queue with the mark of another process is left alone: that one has
 * ended in a burst, and the primary process will rebuild the queue.
 */
static bool
burst_enter(MANA_ATOMIC(uint32_t) *user)
{
	if (mana_atomic_load(user) != 0)
		return false;
	mana_atomic_store(user, mana_atomic_load(&mana_process_id));
	rte_compiler_barrier();
	return true;
}

/* Whether bursts of this process may use the queue. */
static bool
has_bursts(const struct mana_txq *txq)
{
	for (uint32_t i = 0; i < RTE_MAX_ETHPORTS; i++)
		if (rte_eth_devices[i].tx_pkt_burst == tx_burst &&
		    mana_atomic_load(&ports[i]->txqs[txq->queue_id]) == txq)
			return true;
	return false;
}

static int
tx_done_cleanup(void *queue, uint32_t max)
{
	struct mana_txq *txq = queue;
	uint32_t nb;

	if (txq == NULL)
		return -EINVAL;
	if (!has_bursts(txq) || !burst_enter(&txq->user))
		return 0;
	nb = mana_txq_done_cleanup(txq, max);
	mana_burst_leave(&txq->user);
	return nb;
}

static const struct eth_dev_ops secondary_ops = {
	.dev_start = refuse_start,
	.dev_close = secondary_close,
	.is_removed = secondary_is_removed,
	.dev_infos_get = mana_dev_infos_get,
	.dev_supported_ptypes_get = mana_supported_ptypes_get,
	.link_update = link_keep,
	.mtu_set = refuse_mtu,
	/* Programs that capture packets enable and disable these. */
	.promiscuous_enable = mana_promisc_keep,
	.promiscuous_disable = mana_promisc_keep,
	.allmulticast_enable = mana_promisc_keep,
	.allmulticast_disable = mana_promisc_keep,
	.flow_ops_get = mana_flow_ops_get,
	.rx_queue_start = refuse_queue,
	.rx_queue_stop = refuse_queue,
	.tx_queue_start = refuse_queue,
	.tx_queue_stop = refuse_queue,
	.tx_done_cleanup = tx_done_cleanup,
	.rxq_info_get = mana_rxq_info_get,
	.txq_info_get = mana_txq_info_get,
	.rx_burst_mode_get = rx_burst_mode_get,
	.tx_burst_mode_get = tx_burst_mode_get,
	.rss_hash_update = refuse_rss_hash,
	.rss_hash_conf_get = mana_rss_hash_conf_get,
	.reta_update = refuse_reta,
	.reta_query = mana_reta_query,
	.stats_get = mana_stats_get,
	.stats_reset = mana_stats_reset,
	.xstats_get = mana_xstats_get,
	.xstats_get_names = mana_xstats_get_names,
	.xstats_reset = mana_stats_reset,
};

/* ---- News ----------------------------------------------------------------------- */

static void
device_set(struct port *port, const struct mana_news *news, int fd)
{
	struct rte_eth_dev *dev = &rte_eth_devices[news->port_id];
	int ret;

	if ((news->flags & MANA_NEWS_DEVICE) == 0) {
		mana_db_unmap(news->port_id);
		port->has_device = false;
	} else if (!port->has_device || port->news.device_nr != news->device_nr) {
		ret = mana_db_map(news->port_id, fd);
		if (ret != 0)
			MANA_PORT_LOG(ERR, dev->data->name,
				      "cannot map the doorbell page: %s; this process passes no packets of the port",
				      strerror(-ret));
		port->has_device = ret == 0;
	}
}

static uint16_t
rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb)
{
	struct mana_rx_list *list = queue;

	if (unlikely(!burst_enter(&list->user)))
		return 0;
	nb = mana_atomic_load(&path_burst)(queue, pkts, nb);
	mana_burst_leave(&list->user);
	return nb;
}

static uint16_t
tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb)
{
	struct mana_txq *txq = queue;

	if (unlikely(!burst_enter(&txq->user)))
		return 0;
	nb = mana_tx_burst(queue, pkts, nb);
	mana_burst_leave(&txq->user);
	return nb;
}

static void
bursts_start(struct rte_eth_dev *dev, struct port *port)
{
	const struct mana_priv *priv = mana_registry_hold(dev);

	if (priv == NULL)
		return;
	/* Bursts may read them meanwhile. */
	for (uint32_t i = 0; i < MANA_MAX_QUEUES; i++) {
		mana_atomic_store(&port->rxqs[i], priv->rxqs[i] != NULL ?
				  (void *)priv->rxqs[i] : &no_rxq);
		mana_atomic_store(&port->txqs[i], priv->txqs[i] != NULL ?
				  (void *)priv->txqs[i] : &no_txq);
	}
	mana_registry_unlock();
	mana_bursts_set(dev, rx_burst, tx_burst, mana_tx_pkt_prepare);
}

static bool
is_attached(const struct rte_eth_dev *dev)
{
	return dev->state != RTE_ETH_DEV_UNUSED &&
	       dev->rx_pkt_burst != NULL && dev->dev_ops == &secondary_ops;
}

static void
news_follow(const struct mana_news *news, int fd)
{
	struct rte_eth_dev *dev;
	struct port *port;

	if (news->port_id >= RTE_MAX_ETHPORTS)
		return;
	pthread_mutex_lock(&ports_lock);
	dev = &rte_eth_devices[news->port_id];
	port = ports[news->port_id];
	/* Not for a port that is being closed: it would keep the page. */
	if (port != NULL && port->is_attached && is_attached(dev) && !port->is_lost &&
	    news->nr > port->news.nr) {
		if ((news->flags & MANA_NEWS_RUNS) == 0)
			mana_bursts_stop(dev);
		device_set(port, news, fd);
		port->news = *news;
		if ((news->flags & MANA_NEWS_RUNS) != 0 && port->has_device)
			bursts_start(dev, port);
		/* As in mana_dev_reset(). */
		if (news->state == MANA_STATE_READY && dev->state == RTE_ETH_DEV_REMOVED)
			dev->state = RTE_ETH_DEV_ATTACHED;
	}
	pthread_mutex_unlock(&ports_lock);
}

/* The callback may detach the port. */
static void
event_notify(uint32_t port_id, enum rte_eth_event_type event)
{
	struct rte_eth_dev *dev = &rte_eth_devices[port_id];

	if (is_attached(dev))
		(void)rte_eth_dev_callback_process(dev, event, NULL);
}

static void
news_notify(uint32_t port_id)
{
	enum mana_state before, now;
	struct port *port;
	bool has_link;

	if (port_id >= RTE_MAX_ETHPORTS || ports[port_id] == NULL)
		return;
	port = ports[port_id];
	pthread_mutex_lock(&ports_lock);
	before = port->noted;
	now = port->is_lost ? MANA_STATE_GONE : (enum mana_state)port->news.state;
	port->noted = now;
	has_link = (port->news.flags & MANA_NEWS_LINK) != 0;
	port->news.flags &= ~MANA_NEWS_LINK;
	pthread_mutex_unlock(&ports_lock);
	if (has_link)
		event_notify(port_id, RTE_ETH_EVENT_INTR_LSC);
	if (before == now)
		return;
	if (now == MANA_STATE_RECOVERING)
		event_notify(port_id, RTE_ETH_EVENT_ERR_RECOVERING);
	if (before == MANA_STATE_RECOVERING)
		event_notify(port_id, now == MANA_STATE_READY ?
					      RTE_ETH_EVENT_RECOVERY_SUCCESS :
					      RTE_ETH_EVENT_RECOVERY_FAILED);
	if (now == MANA_STATE_GONE)
		event_notify(port_id, RTE_ETH_EVENT_INTR_RMV);
}

static void
primary_lost(void)
{
	pthread_mutex_lock(&ports_lock);
	for (uint32_t i = 0; i < RTE_MAX_ETHPORTS; i++) {
		if (ports[i] == NULL || !is_attached(&rte_eth_devices[i]))
			continue;
		ports[i]->is_lost = true;
		ports[i]->has_device = false;
		mana_bursts_stop(&rte_eth_devices[i]);
		/* While a process has the page, the kernel keeps the dead one's queues. */
		mana_db_unmap(i);
	}
	pthread_mutex_unlock(&ports_lock);
	for (uint32_t i = 0; i < RTE_MAX_ETHPORTS; i++)
		news_notify(i);
}

static const struct mana_peers_ops peers_ops = {
	.follow = news_follow,
	.notify = news_notify,
	.lost = primary_lost,
};

/* ---- Attach --------------------------------------------------------------------------- */

/* NULL: no memory. */
static struct port *
port_get(uint16_t port_id)
{
	static struct mana_rxq stand_in;
	struct port *port = ports[port_id];

	if (port != NULL)
		return port;
	port = calloc(1, sizeof(*port));
	if (port == NULL)
		return NULL;
	if (no_rxq.list.stand_in == NULL)
		mana_rx_list_init(&no_rxq.list, &stand_in);
	for (uint32_t i = 0; i < RTE_MAX_QUEUES_PER_PORT; i++) {
		port->rxqs[i] = &no_rxq;
		port->txqs[i] = &no_txq;
	}
	/* News of another port may come at this moment. */
	pthread_mutex_lock(&ports_lock);
	ports[port_id] = port;
	pthread_mutex_unlock(&ports_lock);
	return port;
}

/* Without it the port has all reports, and passes no packets. */
static void
port_join(const struct rte_eth_dev *dev, const char *rx_path)
{
	struct port *port = ports[dev->data->port_id];
	int ret;

	pthread_mutex_lock(&ports_lock);
	mana_atomic_store(&path_burst, mana_rx_path_select(rx_path)->burst);
	port->is_lost = false;
	port->noted = MANA_STATE_READY;
	pthread_mutex_unlock(&ports_lock);
	ret = mana_peers_join(dev->data->port_id, &peers_ops);
	if (ret == -ENOTSUP)
		MANA_PORT_LOG(WARNING, dev->data->name,
			      "this kernel does not let processes pause each other's queues (membarrier, Linux 4.16): this process passes no packets of the port");
	else if (ret != 0)
		MANA_PORT_LOG(WARNING, dev->data->name,
			      "the primary process does not let this one join the port: %s; it passes no packets of the port",
			      strerror(-ret));
}

/* Attaches the primary's port of this name, unless it is attached. */
int
mana_secondary_attach(struct rte_device *device, const char *name, const char *rx_path)
{
	struct rte_eth_dev *dev = rte_eth_dev_allocated(name);
	struct port *port;
	int ret;

	/* ethdev also finds ports that were detached here. */
	if (dev != NULL && is_attached(dev) && dev->device == device) {
		port_join(dev, rx_path);
		return 0;
	}
	ret = mana_registry_open();
	if (ret != 0)
		return ret;
	dev = rte_eth_dev_attach_secondary(name);
	port = dev != NULL ? port_get(dev->data->port_id) : NULL;
	if (port == NULL) {
		if (dev != NULL)
			rte_eth_dev_release_port(dev);
		mana_registry_close();
		return dev != NULL ? -ENOMEM : -ENODEV;
	}
	dev->device = device;
	dev->dev_ops = &secondary_ops;
	dev->rx_pkt_burst = rte_eth_pkt_burst_dummy;
	dev->tx_pkt_burst = rte_eth_pkt_burst_dummy;
	mana_bursts_stop(dev);
	mana_status_ops_set(dev);
	pthread_mutex_lock(&ports_lock);
	if (!port->is_attached && nb_attached++ == 0)
		(void)rte_mempool_event_callback_register(on_pool_event, NULL);
	port->is_attached = true;
	pthread_mutex_unlock(&ports_lock);
	rte_eth_dev_probing_finish(dev);
	/*
	 * The primary's arrays of queues appear when it configures the port, and are
	 * freed when it closes the port.
	 */
	rte_eth_fp_ops[dev->data->port_id].rxq.data = (void **)(uintptr_t)port->rxqs;
	rte_eth_fp_ops[dev->data->port_id].txq.data = (void **)(uintptr_t)port->txqs;
	port_join(dev, rx_path);
	return 0;
}
