/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The port under net_netvsc, as usual in Azure, where net_mana is the VF of a
 * synthetic port. The calls are those of DPDK's net_netvsc to its VF port, in
 * the same order (drivers/net/netvsc hn_vf.c, hn_ethdev.c and hn_rxtx.c of
 * 22.11 and later). Several call driver operations without ethdev's checks.
 */

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <ethdev_driver.h>
#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_dev.h>

#include "fixture.h"

#define NDIS_HASH_INDCNT 128 /* hn_var.h */
#define KEY_BYTES 40
#define NB_DESC 64

static struct {
	uint16_t port;
	struct rte_eth_dev *dev;
	struct rte_eth_dev_owner owner;
	unsigned int nb_removed;
} vf;

static int
on_removal(uint16_t port __rte_unused, enum rte_eth_event_type type __rte_unused,
	   void *arg __rte_unused, void *ret_param __rte_unused)
{
	vf.nb_removed++;
	return 0;
}

/* hn_vf_attach() and hn_vf_info_merge(). */
static void
vf_attach(struct fixture *fx)
{
	struct rte_eth_dev_owner owner = { 0 };
	struct rte_eth_dev_info info;

	memset(&vf, 0, sizeof(vf));
	vf.port = fx->port[1];
	vf.dev = &rte_eth_devices[vf.port];
	assert_int_equal(rte_eth_dev_owner_new(&vf.owner.id), 0);
	snprintf(vf.owner.name, sizeof(vf.owner.name), "netvsc");
	assert_int_equal(rte_eth_dev_owner_get(vf.port, &owner), 0);
	assert_int_equal(owner.id, RTE_ETH_DEV_NO_OWNER);
	assert_int_equal(rte_eth_dev_owner_set(vf.port, &vf.owner), 0);
	assert_int_equal(rte_eth_dev_callback_register(vf.port, RTE_ETH_EVENT_INTR_RMV,
						       on_removal, NULL), 0);
	assert_int_equal(rte_eth_dev_info_get(vf.port, &info), 0);
	assert_true(info.max_rx_queues > 0 && info.rx_desc_lim.nb_max > 0);
}

/* hn_vf_close(); the fixture closes the port. */
static void
vf_detach(void)
{
	assert_int_equal(rte_eth_dev_callback_unregister(vf.port, RTE_ETH_EVENT_INTR_RMV,
							 on_removal, NULL), 0);
	assert_int_equal(rte_eth_dev_owner_unset(vf.port, vf.owner.id), 0);
	assert_int_equal(vf.nb_removed, 0);
}

static struct rte_eth_conf
conf_of(uint64_t rss_hf)
{
	/* hn_vf_configure() */
	struct rte_eth_conf conf = { .intr_conf = { .lsc = 0, .rmv = 1 } };

	conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.rx_adv_conf.rss_conf.rss_hf = rss_hf;
	/* hn_dev_configure() */
	conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH;
	return conf;
}

static int
vf_configure(uint16_t port, uint16_t nb_queues, uint64_t rss_hf)
{
	struct rte_eth_conf conf = conf_of(rss_hf);

	return rte_eth_dev_configure(port, nb_queues, nb_queues, &conf);
}

/* hn_setup_vf_queues(): socket 0, not the device's. */
static void
vf_setup_queues(struct fixture *fx, uint16_t port, uint16_t nb_queues)
{
	struct rte_eth_txconf txconf = { 0 };
	struct rte_eth_rxconf rxconf = { 0 };

	for (uint16_t q = 0; q < nb_queues; q++)
		assert_int_equal(rte_eth_tx_queue_setup(port, q, NB_DESC, 0, &txconf), 0);
	for (uint16_t q = 0; q < nb_queues; q++)
		assert_int_equal(rte_eth_rx_queue_setup(port, q, NB_DESC, 0, &rxconf,
							fx->pool), 0);
}

/* The other end of the wire, which the application uses alone. */
static void
sender_start(struct fixture *fx)
{
	static const struct fx_config sender;

	if (fx->is_started[0])
		return;
	assert_int_equal(fx_configure(fx, fx->port[0], &sender), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
}

/* hn_vf_add(): the VF appears while the synthetic port runs. */
static void
vf_bring_up(struct fixture *fx, uint16_t nb_queues, uint64_t rss_hf)
{
	assert_int_equal(vf_configure(vf.port, nb_queues, rss_hf), 0);
	vf_setup_queues(fx, vf.port, nb_queues);
	assert_int_equal(rte_eth_dev_set_mtu(vf.port, 1500), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	sender_start(fx);
}

/* hn_vf_reta_hash_update(), hn_vf_rss_hash_update(): no ethdev checks. */
static int
vf_reta_update(const uint16_t *queues, uint16_t period)
{
	struct rte_eth_rss_reta_entry64 reta[NDIS_HASH_INDCNT / RTE_ETH_RETA_GROUP_SIZE];

	for (uint16_t i = 0; i < NDIS_HASH_INDCNT; i++)
		reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] =
			queues[i % period];
	for (unsigned int i = 0; i < RTE_DIM(reta); i++)
		reta[i].mask = UINT64_MAX;
	return vf.dev->dev_ops->reta_update(vf.dev, reta, NDIS_HASH_INDCNT);
}

static int
vf_hash_update(uint8_t *key, uint64_t rss_hf)
{
	struct rte_eth_rss_conf conf = { .rss_key = key, .rss_hf = rss_hf,
					 .rss_key_len = key != NULL ? KEY_BYTES : 0 };

	return vf.dev->dev_ops->rss_hash_update(vf.dev, &conf);
}

/* hn_xmit_pkts() and hn_recv_vf(): each queue sends, all packets arrive. */
static void
check_traffic_of(struct fixture *fx, uint16_t port, uint16_t nb_queues)
{
	struct rte_eth_dev *dev = &rte_eth_devices[port];
	unsigned int nb = 0, nb_received;
	uint16_t ended = 0;

	for (uint32_t seed = 0; seed < 50; seed++) {
		struct rte_mbuf *m = fx_frame(fx->pool, 100, seed);

		fx_send(fx->port[0], 0, &m, 1);
	}
	fx_settle(fx);
	for (uint16_t q = 0; q < nb_queues; q++) {
		struct rte_mbuf *pkts[FX_BURST];

		nb_received = rte_eth_rx_burst(port, q, pkts, RTE_DIM(pkts));
		for (unsigned int i = 0; i < nb_received; i++)
			pkts[i]->port = 0;
		ended += dev->tx_pkt_burst(dev->data->tx_queues[q], pkts, nb_received);
		nb += nb_received;
		if (nb_received != 0)
			q--;
	}
	assert_int_equal(nb, 50);
	assert_int_equal(ended, nb);
	fx_drain(fx);
}

static void
check_traffic(struct fixture *fx, uint16_t nb_queues)
{
	check_traffic_of(fx, vf.port, nb_queues);
}

/* The host's table; netvsc sets it in the host before the VF. */
static void
test_table_of_ndis(void **state)
{
	static const uint16_t orders[][4] = { { 0, 1, 2, 3 }, { 3, 1, 2, 0 } };
	uint8_t key[KEY_BYTES];
	struct fixture *fx = *state;

	memset(key, 0x5a, sizeof(key));
	vf_attach(fx);
	vf_bring_up(fx, 4, FX_RSS);
	check_traffic(fx, 4);
	for (unsigned int i = 0; i < RTE_DIM(orders); i++) {
		assert_int_equal(vf_reta_update(orders[i], 4), 0);
		check_traffic(fx, 4);
		assert_int_equal(vf_hash_update(i == 0 ? key : NULL, FX_RSS), 0);
		check_traffic(fx, 4);
	}
	/* hn_dev_stop(), hn_dev_start() */
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	assert_int_equal(vf_reta_update(orders[0], 4), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	check_traffic(fx, 4);
	vf_detach();
}

/* 3 queues: netvsc's initial table is i % 3 over 128 entries. */
static void
test_table_of_three(void **state)
{
	static const uint16_t order[] = { 0, 1, 2 };
	struct fixture *fx = *state;

	vf_attach(fx);
	vf_bring_up(fx, 3, FX_RSS);
	assert_int_equal(vf_reta_update(order, 3), 0);
	check_traffic(fx, 3);
	vf_detach();
}

/* An unsupported table: error, and the old table stays in effect. */
static void
test_table_refused(void **state)
{
	static const uint16_t of_eight[] = { 0, 1, 2, 3, 1, 0, 3, 2 };
	static const uint16_t out_of_range[] = { 0, 1, 2, 4 };
	static const uint16_t order[] = { 0, 1, 2, 3 };
	struct fixture *fx = *state;

	vf_attach(fx);
	fx_expect_error("the port has no Rx queues");
	assert_int_equal(vf_reta_update(order, 4), -EINVAL);
	fx_expect_error("repeats its first 4 entries");
	vf_bring_up(fx, 4, FX_RSS);
	assert_int_equal(vf_reta_update(of_eight, 8), -ENOTSUP);
	check_traffic(fx, 4);
	fx_expect_error("is Rx queue 4, but the port has 4 Rx queues");
	assert_int_equal(vf_reta_update(out_of_range, 4), -EINVAL);
	fx_expect_error("hash types");
	assert_int_equal(vf_hash_update(NULL, RTE_ETH_RSS_L2_PAYLOAD), -EINVAL);
	fx_expect_error("rte_eth_dev_configure");
	assert_int_equal(vf_hash_update(NULL, 0), -ENOTSUP);
	check_traffic(fx, 4);
	vf_detach();
}

/* One queue receives all packets: updates are accepted without an outage. */
static void
test_one_queue(void **state)
{
	static const uint64_t at_first[] = { FX_RSS, 0 };
	static const uint16_t order[] = { 0 };
	uint8_t key[KEY_BYTES], got[KEY_BYTES];
	struct rte_eth_rss_conf conf = { .rss_key = got, .rss_key_len = sizeof(got) };
	struct fixture *fx = *state;

	vf_attach(fx);
	for (unsigned int i = 0; i < RTE_DIM(at_first); i++) {
		memset(key, 0x33 + i, sizeof(key));
		vf_bring_up(fx, 1, at_first[i]);
		assert_int_equal(vf_reta_update(order, 1), 0);
		assert_int_equal(vf_hash_update(NULL, FX_RSS), 0);
		assert_int_equal(vf_hash_update(key, FX_RSS), 0);
		check_traffic(fx, 1);
		assert_int_equal(rte_eth_dev_rss_hash_conf_get(vf.port, &conf), 0);
		assert_memory_equal(got, key, sizeof(key));
		assert_true(conf.rss_hf & RTE_ETH_RSS_NONFRAG_IPV4_UDP);
		assert_int_equal(vf_hash_update(NULL, 0), 0);
		assert_int_equal(rte_eth_dev_rss_hash_conf_get(vf.port, &conf), 0);
		assert_int_equal(conf.rss_hf, 0);
		check_traffic(fx, 1);
		assert_int_equal(fx_xstat(vf.port, "rx_outages"), 0);
		assert_int_equal(fx_dev_stop(fx, 1), 0);
	}
	vf_detach();
}

/*
 * hn_dev_rx_queue_release(): netvsc releases queues of its synthetic port, even
 * if the VF was never configured.
 */
static void
test_release_by_netvsc(void **state)
{
	struct fixture *fx = *state;

	vf_attach(fx);
	vf.dev->dev_ops->rx_queue_release(vf.dev, 0);
	vf.dev->dev_ops->tx_queue_release(vf.dev, 0);
	vf_bring_up(fx, 4, FX_RSS);
	check_traffic(fx, 4);
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	for (uint16_t q = 2; q < 4; q++)
		vf.dev->dev_ops->rx_queue_release(vf.dev, q);
	vf_bring_up(fx, 2, FX_RSS);
	check_traffic(fx, 2);
	vf_detach();
}

/* Modes and statistics that netvsc passes to the VF, in its order. */
static void
test_modes_and_statistics(void **state)
{
	struct rte_ether_addr group = { .addr_bytes = { 1, 0, 0x5e, 0, 0, 1 } };
	struct rte_eth_xstat_name names[512];
	struct rte_eth_xstat xstats[512];
	struct rte_eth_stats stats;
	struct fixture *fx = *state;
	int nb;

	vf_attach(fx);
	vf_bring_up(fx, 2, FX_RSS);
	assert_int_equal(rte_eth_promiscuous_enable(vf.port), 0);
	assert_int_equal(rte_eth_promiscuous_disable(vf.port), 0);
	assert_int_equal(rte_eth_allmulticast_enable(vf.port), 0);
	assert_int_equal(rte_eth_allmulticast_disable(vf.port), 0);
	/* no filter: all multicast packets arrive */
	assert_int_equal(rte_eth_dev_set_mc_addr_list(vf.port, &group, 1), -ENOTSUP);
	check_traffic(fx, 2);
	assert_int_equal(rte_eth_stats_get(vf.port, &stats), 0);
	assert_int_equal(stats.ipackets, 50);
	assert_int_equal(stats.opackets, 50);
	nb = rte_eth_xstats_get_names(vf.port, NULL, 0);
	assert_in_range(nb, 1, RTE_DIM(names));
	assert_int_equal(rte_eth_xstats_get_names(vf.port, names, RTE_DIM(names)), nb);
	assert_int_equal(rte_eth_xstats_get(vf.port, xstats, RTE_DIM(xstats)), nb);
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	/* hn_dev_mtu_set() on a stopped port */
	assert_int_equal(rte_eth_dev_set_mtu(vf.port, 1400), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	check_traffic(fx, 2);
	vf_detach();
}

/* ---- Loss and return of the device ------------------------------------------ */

#define NB_QUEUES 2
#define RETRY_US 10000 /* 1 s in net_netvsc */

/* A synthetic port (struct hn_data), and its VF port. */
struct netvsc {
	struct fixture *fx;
	unsigned int index; /* of the VF port in the fixture */
	const char *devargs;
	struct rte_ether_addr mac;
	struct rte_eth_dev_owner owner;
	bool is_started;
	bool is_reported; /* by the host: vf_vsp_reported */
	bool holds_removal; /* the test begins the delayed removal */
	/* Of the data path; under lock (vf_lock). */
	pthread_mutex_t lock;
	uint16_t port;
	bool is_attached;
	bool is_switched; /* vf_vsc_switched: the host delivers to the VF */
	enum { VF_UNKNOWN, VF_REMOVED, VF_CONFIGURED, VF_STARTED } state;
	/* Counters, atomic. */
	unsigned int nb_lost; /* RTE_ETH_EVENT_INTR_RMV */
	unsigned int nb_replaced; /* delayed removals that have ended */
	unsigned int nb_devices; /* rte_dev_remove() by them */
	unsigned int nb_added; /* hot-add probes */
	unsigned int nb_added_up; /* VFs that came up while the port ran */
	unsigned int nb_left; /* "VF already started on hot add" */
};

static void
count(unsigned int *nb)
{
	__atomic_add_fetch(nb, 1, __ATOMIC_RELEASE);
}

static void
wait_for(const unsigned int *nb, unsigned int wanted)
{
	uint64_t end = fx_deadline();

	while (__atomic_load_n(nb, __ATOMIC_ACQUIRE) < wanted) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(100);
	}
	assert_int_equal(__atomic_load_n(nb, __ATOMIC_ACQUIRE), wanted);
}

static void
wait_for_xstat(uint16_t port, const char *name, uint64_t nb)
{
	uint64_t end = fx_deadline();

	while (fx_xstat(port, name) < nb) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(100);
	}
}

/* hn_vf_match() and hn_vf_attach() */
static int
netvsc_attach(struct netvsc *nv)
{
	uint16_t port;

	if (nv->is_attached)
		return 0;
	RTE_ETH_FOREACH_DEV(port) {
		if (!rte_is_same_ether_addr(rte_eth_devices[port].data->mac_addrs,
					    &nv->mac))
			continue;
		assert_int_equal(rte_eth_dev_owner_set(port, &nv->owner), 0);
		nv->port = port;
		nv->is_attached = true;
		return 0;
	}
	return -ENOENT;
}

static void
remove_path(struct netvsc *nv)
{
	pthread_mutex_lock(&nv->lock);
	nv->is_switched = false;
	pthread_mutex_unlock(&nv->lock);
}

static int on_loss(uint16_t port, enum rte_eth_event_type type, void *arg,
		   void *ret_param);

/* hn_remove_delayed() */
static void
remove_delayed(void *arg)
{
	struct netvsc *nv = arg;
	struct rte_device *device = rte_eth_devices[nv->port].device;
	uint16_t port_id = nv->port;

	remove_path(nv);
	pthread_mutex_lock(&nv->lock);
	assert_int_equal(rte_eth_dev_owner_unset(port_id, nv->owner.id), 0);
	nv->is_attached = false;
	/* A failed configuration has unregistered it. */
	(void)rte_eth_dev_callback_unregister(port_id, RTE_ETH_EVENT_INTR_RMV, on_loss,
					      nv);
	assert_int_equal(fx_dev_stop(nv->fx, nv->index), 0);
	assert_int_equal(rte_eth_dev_close(port_id), 0);
	RTE_ETH_FOREACH_DEV_OF(port_id, device)
		if (rte_eth_devices[port_id].state != RTE_ETH_DEV_UNUSED)
			break;
	if (port_id >= RTE_MAX_ETHPORTS) {
		assert_int_equal(rte_dev_remove(device), 0);
		nv->fx->is_probed = false;
		count(&nv->nb_devices);
	}
	nv->state = VF_REMOVED;
	pthread_mutex_unlock(&nv->lock);
	count(&nv->nb_replaced);
}

/* hn_eth_rmv_event_callback() */
static int
on_loss(uint16_t port, enum rte_eth_event_type type __rte_unused, void *arg,
	void *ret_param __rte_unused)
{
	struct netvsc *nv = arg;

	/* Until then the driver neither sends nor receives. */
	assert_int_equal(rte_eth_dev_is_removed(port), 1);
	count(&nv->nb_lost);
	if (!nv->holds_removal)
		assert_int_equal(rte_eal_alarm_set(1, remove_delayed, nv), 0);
	return 0;
}

/* hn_vf_configure() */
static int
netvsc_configure(struct netvsc *nv)
{
	int ret;

	assert_int_equal(rte_eth_dev_callback_register(nv->port, RTE_ETH_EVENT_INTR_RMV,
						       on_loss, nv), 0);
	ret = vf_configure(nv->port, NB_QUEUES, FX_RSS);
	if (ret == 0)
		nv->state = VF_CONFIGURED;
	else
		assert_int_equal(rte_eth_dev_callback_unregister(
			nv->port, RTE_ETH_EVENT_INTR_RMV, on_loss, nv), 0);
	return ret;
}

static int netvsc_add(struct netvsc *nv);

/* hn_vf_add_retry() */
static void
add_retry(void *arg)
{
	(void)netvsc_add(arg);
}

/* hn_vf_add() */
static int
netvsc_add(struct netvsc *nv)
{
	int ret;

	if (!nv->is_reported || nv->is_switched)
		return 0;
	pthread_mutex_lock(&nv->lock);
	ret = netvsc_attach(nv);
	if (ret != 0) {
		assert_int_equal(rte_eal_alarm_set(RETRY_US, add_retry, nv), 0);
	} else if (nv->is_started && rte_eth_devices[nv->port].data->dev_started) {
		count(&nv->nb_left);
		pthread_mutex_unlock(&nv->lock);
		return 0;
	} else if (nv->is_started) {
		ret = netvsc_configure(nv);
		if (ret == 0) {
			vf_setup_queues(nv->fx, nv->port, NB_QUEUES);
			ret = fx_dev_start(nv->fx, nv->index);
		}
		if (ret == 0) {
			nv->state = VF_STARTED;
			count(&nv->nb_added_up);
		}
	}
	/* hn_nvs_set_datapath() */
	if (ret == 0)
		nv->is_switched = true;
	pthread_mutex_unlock(&nv->lock);
	return ret;
}

/* hn_nvs_handle_vfassoc(): a message from the host. */
static void
associate(struct netvsc *nv, bool has_vf)
{
	nv->is_reported = has_vf;
	if (has_vf)
		(void)netvsc_add(nv);
	else
		remove_path(nv);
}

/* netvsc_hotplug_retry(): the first of two ports of a function probes both. */
static void
hotplug_retry(void *arg)
{
	struct netvsc *nv = arg;
	int ret = fx_probe(nv->fx, nv->devargs);

	assert_true(ret == 0 || ret == -EEXIST);
	/* The new port counts from 0. */
	assert_int_equal(fx_model.port(0, nv->index, &nv->fx->wire_before[nv->index]), 0);
	count(&nv->nb_added);
}

/* netvsc_hotadd_callback() */
static void
on_hot_add(const char *name, enum rte_dev_event_type type, void *arg)
{
	struct netvsc *nv = arg;

	if (type != RTE_DEV_EVENT_ADD || nv->state > VF_REMOVED)
		return;
	assert_string_equal(name, FX_PCI);
	assert_int_equal(rte_eal_alarm_set(RETRY_US, hotplug_retry, nv), 0);
}

/* eth_hn_dev_init(), with a VF that the host has reported. */
static void
netvsc_open(struct netvsc *nv, struct fixture *fx, unsigned int index,
	    const char *devargs)
{
	*nv = (struct netvsc){ .fx = fx, .index = index, .devargs = devargs,
			       .lock = PTHREAD_MUTEX_INITIALIZER };
	assert_int_equal(rte_eth_macaddr_get(fx->port[index], &nv->mac), 0);
	assert_int_equal(rte_eth_dev_owner_new(&nv->owner.id), 0);
	snprintf(nv->owner.name, sizeof(nv->owner.name), "netvsc%u", index);
	assert_int_equal(rte_dev_event_monitor_start(), 0);
	associate(nv, true);
	assert_true(nv->is_attached && nv->is_switched);
}

/* hn_dev_start() */
static int
netvsc_start(struct netvsc *nv)
{
	int ret = 0;

	assert_int_equal(rte_dev_event_callback_register(NULL, on_hot_add, nv), 0);
	if (nv->is_attached)
		ret = fx_dev_start(nv->fx, nv->index);
	nv->is_started = ret == 0;
	return ret;
}

/* hn_dev_stop() */
static void
netvsc_stop(struct netvsc *nv)
{
	nv->is_started = false;
	while (rte_dev_event_callback_unregister(NULL, on_hot_add, nv) == -EAGAIN)
		rte_delay_us_sleep(100);
	if (nv->is_attached)
		assert_int_equal(fx_dev_stop(nv->fx, nv->index), 0);
}

static void
netvsc_up(struct netvsc *nv, struct fixture *fx, unsigned int index, const char *devargs)
{
	netvsc_open(nv, fx, index, devargs);
	assert_int_equal(netvsc_configure(nv), 0);
	vf_setup_queues(fx, nv->port, NB_QUEUES);
	assert_int_equal(netvsc_start(nv), 0);
	nv->state = VF_STARTED;
}

/* hn_dev_close(); the fixture closes the VF port. */
static void
netvsc_close(struct netvsc *nv)
{
	netvsc_stop(nv);
	rte_eal_alarm_cancel(add_retry, nv);
	rte_eal_alarm_cancel(hotplug_retry, nv);
	rte_eal_alarm_cancel(remove_delayed, nv);
	if (nv->is_attached) {
		(void)rte_eth_dev_callback_unregister(nv->port, RTE_ETH_EVENT_INTR_RMV,
						      on_loss, nv);
		assert_int_equal(rte_eth_dev_owner_unset(nv->port, nv->owner.id), 0);
	}
	while (rte_dev_event_monitor_stop() == -EAGAIN)
		rte_delay_us_sleep(100);
}

static void
check_switched(struct fixture *fx, const struct netvsc *nv)
{
	assert_true(nv->is_attached && nv->is_switched);
	check_traffic_of(fx, nv->port, NB_QUEUES);
}

/*
 * A hot removal, as Hyper-V services the adapter: netvsc gets the removal at once, and
 * attaches the VF again. The application uses the other port of the function, which stays
 * and recovers.
 */
static void
test_service(void **state)
{
	struct fixture *fx = *state;
	struct rte_eth_dev_info info;
	struct netvsc nv;
	uint16_t port;

	netvsc_up(&nv, fx, 1, "");
	sender_start(fx);
	assert_int_equal(rte_eth_dev_info_get(nv.port, &info), 0);
	assert_int_equal(info.err_handle_mode, RTE_ETH_ERROR_HANDLE_MODE_NONE);
	check_switched(fx, &nv);
	for (unsigned int i = 1; i <= 3; i++) {
		associate(&nv, false);
		assert_false(nv.is_switched);
		fx_command("remove fn=0");
		wait_for(&nv.nb_replaced, i);
		assert_int_equal(nv.nb_lost, i);
		assert_true(rte_eth_dev_is_valid_port(fx->port[0]));
		assert_int_equal(rte_eth_dev_get_port_by_name(FX_PCI "_port2", &port), -ENODEV);
		fx_command("return fn=0");
		wait_for(&nv.nb_added, i);
		wait_for_xstat(fx->port[0], "recoveries", i);
		associate(&nv, true);
		check_switched(fx, &nv);
	}
	assert_int_equal(nv.nb_devices, 0);
	assert_int_equal(nv.nb_left, 0);
	netvsc_close(&nv);
}

/* Two ports of net_netvsc with VFs of one function. */
static void
both_up(struct netvsc nv[FX_NB_PORTS], struct fixture *fx, const char *devargs)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		netvsc_up(&nv[i], fx, i, devargs);
	check_switched(fx, &nv[1]);
}

static void
both_wait_replaced(struct netvsc nv[FX_NB_PORTS], unsigned int nb)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		wait_for(&nv[i].nb_replaced, nb);
}

/* The function is back. */
static void
both_wait_added(struct netvsc nv[FX_NB_PORTS], unsigned int nb)
{
	fx_command("return fn=0");
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		wait_for(&nv[i].nb_added, nb);
}

static void
both_associate(struct netvsc nv[FX_NB_PORTS], bool has_vf)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		associate(&nv[i], has_vf);
}

static void
both_close(struct netvsc nv[FX_NB_PORTS])
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		netvsc_close(&nv[i]);
}

/* The last one removes the device. */
static void
test_service_of_two(void **state)
{
	struct fixture *fx = *state;
	struct netvsc nv[FX_NB_PORTS];

	fx_expect_error(""); /* the second one probes what is probed */
	both_up(nv, fx, "");
	for (unsigned int n = 1; n <= 3; n++) {
		both_associate(nv, false);
		fx_command("remove fn=0");
		both_wait_replaced(nv, n);
		assert_int_equal(nv[0].nb_devices + nv[1].nb_devices, n);
		assert_int_equal(rte_eth_dev_count_total(), 0);
		both_wait_added(nv, n);
		both_associate(nv, true);
		check_switched(fx, &nv[1]);
	}
	both_close(nv);
}

/*
 * The PCI function stays, so there is no hot-add event: the application probes the device,
 * and netvsc, which the host has told of the VF, finds it.
 */
static void
test_service_in_place(void **state)
{
	struct fixture *fx = *state;
	struct netvsc nv;

	netvsc_up(&nv, fx, 1, "");
	sender_start(fx);
	check_switched(fx, &nv);
	associate(&nv, false);
	fx_command("reset fn=0 outage=5ms");
	wait_for(&nv.nb_replaced, 1);
	associate(&nv, true);
	assert_false(nv.is_attached);
	wait_for_xstat(fx->port[0], "recoveries", 1);
	assert_int_equal(fx_model.port(0, 1, &fx->wire_before[1]), 0);
	assert_int_equal(fx_probe(fx, ""), 0);
	wait_for(&nv.nb_added_up, 1);
	check_switched(fx, &nv);
	assert_int_equal(nv.nb_added, 0);
	netvsc_close(&nv);
}

/* The host sends no association: the removal alone makes netvsc leave the VF. */
static void
test_service_without_message(void **state)
{
	struct fixture *fx = *state;
	struct netvsc nv;

	netvsc_up(&nv, fx, 1, "");
	sender_start(fx);
	check_switched(fx, &nv);
	fx_command("remove fn=0");
	wait_for(&nv.nb_replaced, 1);
	assert_false(nv.is_switched);
	fx_command("return fn=0");
	wait_for(&nv.nb_added, 1);
	wait_for_xstat(fx->port[0], "recoveries", 1);
	associate(&nv, true);
	check_switched(fx, &nv);
	netvsc_close(&nv);
}

/*
 * recovery_timeout is given: the VF recovers. netvsc cannot start it meanwhile, and leaves
 * one that has recovered to itself when the host reports it.
 */
static void
test_given_timeout(void **state)
{
	static const char devargs[] = "recovery_timeout=60";
	struct fixture *fx = *state;
	struct rte_eth_dev_info info;
	struct netvsc nv;

	fx_remove(fx);
	assert_int_equal(fx_probe(fx, devargs), 0);
	netvsc_up(&nv, fx, 1, devargs);
	sender_start(fx);
	assert_int_equal(rte_eth_dev_info_get(nv.port, &info), 0);
	assert_int_equal(info.err_handle_mode, RTE_ETH_ERROR_HANDLE_MODE_PROACTIVE);
	check_switched(fx, &nv);
	/* No message: netvsc keeps the VF. */
	fx_command("reset fn=0 outage=5ms");
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		wait_for_xstat(fx->port[i], "recoveries", 1);
	check_switched(fx, &nv);
	/* hn_dev_stop() and hn_dev_start() while the device is away */
	fx_command("remove fn=0");
	wait_for_xstat(nv.port, "resets", 2);
	fx_expect_error("the port recovers from the loss of its RDMA device");
	netvsc_stop(&nv);
	assert_int_equal(netvsc_start(&nv), -EBUSY);
	fx_command("return fn=0");
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		wait_for_xstat(fx->port[i], "recoveries", 2);
	netvsc_stop(&nv);
	assert_int_equal(netvsc_start(&nv), 0);
	check_switched(fx, &nv);
	/* Messages: netvsc does not switch back. */
	associate(&nv, false);
	fx_command("reset fn=0 outage=5ms");
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		wait_for_xstat(fx->port[i], "recoveries", 3);
	associate(&nv, true);
	assert_int_equal(nv.nb_left, 1);
	assert_false(nv.is_switched);
	assert_int_equal(nv.nb_lost, 0);
	netvsc_close(&nv);
}

/* The device does not return in time: netvsc removes the VF, and attaches the next one. */
static void
test_given_timeout_passes(void **state)
{
	static const char devargs[] = "recovery_timeout=1";
	struct fixture *fx = *state;
	struct netvsc nv[FX_NB_PORTS];

	fx_expect_error("");
	fx_remove(fx);
	assert_int_equal(fx_probe(fx, devargs), 0);
	both_up(nv, fx, devargs);
	fx_command("remove fn=0");
	wait_for_xstat(nv[1].port, "resets", 1);
	assert_int_equal(rte_eth_dev_is_removed(nv[1].port), 0);
	both_wait_replaced(nv, 1);
	both_wait_added(nv, 1);
	both_associate(nv, false);
	both_associate(nv, true);
	check_switched(fx, &nv[1]);
	both_close(nv);
}

/*
 * The port of netvsc is stopped: between the removal event and the delayed removal its
 * configuration and start fail, and after it they concern the synthetic path alone.
 */
static void
test_loss_of_stopped_port(void **state)
{
	struct fixture *fx = *state;
	struct netvsc nv;

	netvsc_up(&nv, fx, 1, "");
	sender_start(fx);
	check_switched(fx, &nv);
	netvsc_stop(&nv);
	nv.holds_removal = true;
	fx_command("remove fn=0");
	wait_for(&nv.nb_lost, 1);
	fx_expect_error(""); /* of the driver and of ethdev */
	assert_int_equal(netvsc_start(&nv), -EIO);
	netvsc_stop(&nv);
	assert_int_equal(netvsc_configure(&nv), -EIO);
	assert_int_equal(rte_eal_alarm_set(1, remove_delayed, &nv), 0);
	wait_for(&nv.nb_replaced, 1);
	nv.holds_removal = false;
	assert_int_equal(netvsc_start(&nv), 0);
	associate(&nv, false);
	fx_command("return fn=0");
	wait_for(&nv.nb_added, 1);
	wait_for_xstat(fx->port[0], "recoveries", 1);
	associate(&nv, true);
	check_switched(fx, &nv);
	netvsc_close(&nv);
}

/* netvsc has the VF, but gets no removal event yet: the VF recovers. */
static void
test_loss_before_configure(void **state)
{
	struct fixture *fx = *state;
	struct netvsc nv;

	netvsc_open(&nv, fx, 1, "");
	fx_command("remove fn=0");
	wait_for_xstat(nv.port, "resets", 1);
	fx_expect_error(""); /* of the driver and of ethdev */
	assert_int_equal(netvsc_configure(&nv), -EBUSY);
	fx_command("return fn=0");
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		wait_for_xstat(fx->port[i], "recoveries", 1);
	assert_int_equal(netvsc_configure(&nv), 0);
	vf_setup_queues(fx, nv.port, NB_QUEUES);
	assert_int_equal(netvsc_start(&nv), 0);
	nv.state = VF_STARTED;
	sender_start(fx);
	check_switched(fx, &nv);
	assert_int_equal(nv.nb_lost, 0);
	netvsc_close(&nv);
}

/* The driver rebuilds failed queues of an owned port, too. */
static void
test_failed_queue(void **state)
{
	struct fixture *fx = *state;
	uint64_t end = fx_deadline();
	struct rte_mbuf *m;
	struct netvsc nv;

	fx_expect_error("Tx queue 0 has failed (disabled)");
	fx->ignore_counters = true; /* the wire has not seen the failed packets */
	netvsc_up(&nv, fx, 1, "");
	sender_start(fx);
	check_switched(fx, &nv);
	fx_command("cqe port=2 tx type=42 queue=0");
	m = fx_frame(fx->pool, 100, 1);
	fx_send(nv.port, 0, &m, 1);
	while (fx_xstat(nv.port, "queue_repairs") == 0) {
		/* a queue learns of its failure in a burst */
		(void)rte_eth_tx_burst(nv.port, 0, NULL, 0);
		assert_true(rte_get_timer_cycles() < end);
	}
	fx_drain(fx);
	check_switched(fx, &nv);
	assert_int_equal(nv.nb_lost, 0);
	netvsc_close(&nv);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		FX_TEST(test_service),
		FX_TEST(test_service_of_two),
		FX_TEST(test_service_in_place),
		FX_TEST(test_service_without_message),
		FX_TEST(test_given_timeout),
		FX_TEST(test_given_timeout_passes),
		FX_TEST(test_loss_of_stopped_port),
		FX_TEST(test_loss_before_configure),
		FX_TEST(test_failed_queue),
		FX_TEST(test_table_of_ndis),
		FX_TEST(test_table_of_three),
		FX_TEST(test_table_refused),
		FX_TEST(test_one_queue),
		FX_TEST(test_release_by_netvsc),
		FX_TEST(test_modes_and_statistics),
	};

	return FX_RUN("netvsc", tests);
}
