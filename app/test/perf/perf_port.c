/* SPDX-License-Identifier: BSD-3-Clause */

/* From a plug-in to a running port, through public interfaces. */

#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <bus_pci_driver.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_vect.h>

#include "perf.h"

#define TX_OFFLOADS \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM)

static uint16_t simd_bits; /* EAL's start-up setting */

static void
check(const struct perf_sut *sut, const char *what, int ret)
{
	if (ret < 0)
		hand_fail("%s: %s: %s", sut->name, what, rte_strerror(-ret));
}

uint16_t
perf_port_max_ring(const struct perf_sut *sut)
{
	struct rte_eth_dev_info info;

	check(sut, "info", rte_eth_dev_info_get(sut->port, &info));
	return RTE_MIN(info.rx_desc_lim.nb_max, info.tx_desc_lim.nb_max);
}

/* One queue each way: the baseline of memory use. */
static void
shrink(const struct perf_sut *sut)
{
	const struct rte_eth_conf conf = { 0 };

	check(sut, "configure", rte_eth_dev_configure(sut->port, 1, 1, &conf));
	check(sut, "Rx queue",
	      rte_eth_rx_queue_setup(sut->port, 0, 64, SOCKET_ID_ANY, NULL, sut->pool));
	check(sut, "Tx queue",
	      rte_eth_tx_queue_setup(sut->port, 0, 64, SOCKET_ID_ANY, NULL));
}

static void
find_port(struct perf_sut *sut, const char *address)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	uint16_t port;

	sut->port = RTE_MAX_ETHPORTS;
	RTE_ETH_FOREACH_DEV(port)
		if (rte_eth_dev_get_name_by_port(port, name) == 0 &&
		    strncmp(name, address, strlen(address)) == 0)
			sut->port = port;
}

static struct rte_pci_driver *
port_driver(const struct perf_sut *sut)
{
	struct rte_eth_dev_info info;

	check(sut, "port", rte_eth_dev_info_get(sut->port, &info));
	return (struct rte_pci_driver *)((uintptr_t)info.device->driver -
		offsetof(struct rte_pci_driver, driver));
}

static bool
is_of_plugin(const struct rte_pci_driver *driver, const struct perf_sut *sut)
{
	struct stat of_driver, of_plugin;
	Dl_info file;

	return dladdr(driver, &file) != 0 && stat(file.dli_fname, &of_driver) == 0 &&
		stat(sut->plugin, &of_plugin) == 0 &&
		of_driver.st_dev == of_plugin.st_dev && of_driver.st_ino == of_plugin.st_ino;
}

/*
 * Drivers that EAL has loaded from its folder, as Debian 13's, come first: they give the
 * function back, and get no other.
 */
static void
load_and_probe(struct perf_sut *sut, const char *address)
{
	struct rte_pci_driver *driver;

	if (dlopen(sut->plugin, RTLD_NOW | RTLD_LOCAL) == NULL)
		hand_fail("%s: %s", sut->name, dlerror());
	for (;;) {
		check(sut, "probe", rte_eal_hotplug_add("pci", address, ""));
		find_port(sut, address);
		driver = port_driver(sut);
		if (is_of_plugin(driver, sut))
			break;
		check(sut, "removal", rte_eal_hotplug_remove("pci", address));
		rte_pci_unregister(driver);
	}
}

void
perf_port_probe(struct perf_sut *sut)
{
	char address[32], name[RTE_ETH_NAME_MAX_LEN];

	snprintf(address, sizeof(address), "%04x:00:00.0", 0x7870 + sut->fn);
	/* EAL of a secondary process has loaded and probed it: perf_secondary.c. */
	if (perf_is_secondary())
		find_port(sut, address);
	else
		load_and_probe(sut, address);
	if (simd_bits == 0)
		simd_bits = rte_vect_get_max_simd_bitwidth();
	/* Its port stays; the next driver gets the next function. */
	rte_pci_unregister(port_driver(sut));

	snprintf(name, sizeof(name), "perf_%s", sut->name);
	sut->own_pool = perf_pool_create(name, PERF_NB_MBUFS, PERF_CACHE_MBUFS);
	sut->pool = sut->own_pool;
	if (!perf_is_secondary())
		shrink(sut);
}

static struct rte_eth_conf
port_conf(const struct perf_sut *sut, const struct perf_row *row)
{
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_dev_info info;

	check(sut, "info", rte_eth_dev_info_get(sut->port, &info));
	if (row->offload) {
		conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM &
			info.rx_offload_capa;
		conf.txmode.offloads = TX_OFFLOADS & info.tx_offload_capa;
	}
	/* testpmd: one queue and packet types, or a hash. */
	if (row->offload && !row->ptypes)
		conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_RSS_HASH &
			info.rx_offload_capa;
	if (row->nb_queues > 1 || (row->offload && !row->ptypes)) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads;
	}
	if (row->tso_segsz != 0)
		conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_TCP_TSO &
			info.tx_offload_capa;
	if (row->vlan_insert)
		conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_VLAN_INSERT &
			info.tx_offload_capa;
	if (row->rx_segs > 1) {
		conf.rxmode.mtu = row->len_bytes - RTE_ETHER_HDR_LEN;
		conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_SCATTER &
			info.rx_offload_capa;
	}
	if (row->is_stripped)
		conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP &
			info.rx_offload_capa;
	if (row->nb_segs > 1)
		conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS &
			info.tx_offload_capa;
	return conf;
}

static void
configure(struct perf_sut *sut, const struct perf_row *row)
{
	const struct rte_eth_conf conf = port_conf(sut, row);

	check(sut, "configure", 
	      rte_eth_dev_configure(sut->port, row->nb_queues, row->nb_queues, &conf));
	/* Like testpmd. */
	check(sut, "packet types",
	      rte_eth_dev_set_ptypes(sut->port, row->ptypes ? RTE_PTYPE_ALL_MASK :
				     RTE_PTYPE_UNKNOWN, NULL, 0));
}

/*
 * The table i % nb_queues, as applications write it that compute a flow's queue. The
 * new rings hold only the buffers of the old ones; the next burst fills them.
 */
static void
make_lists(struct perf_sut *sut, const struct perf_row *row)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };
	struct rte_mbuf *m;

	for (uint16_t i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
		reta.reta[i] = i % row->nb_queues;
	check(sut, "RSS table",
	      rte_eth_dev_rss_reta_update(sut->port, &reta, RTE_ETH_RETA_GROUP_SIZE));
	for (uint16_t q = 0; q < row->nb_queues; q++)
		if (rte_eth_rx_burst(sut->port, q, &m, 1) != 0)
			hand_fail("%s: a burst returned a packet, but no CQE was written", sut->name);
}

/* Allocated in the heaps of DPDK and the C library. */
static uint64_t
heap_bytes(void)
{
	const struct mallinfo2 c = mallinfo2();
	uint64_t bytes = c.uordblks + c.hblkhd;
	struct rte_malloc_socket_stats stats;

	for (unsigned int i = 0; i < rte_socket_count(); i++)
		if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats) == 0)
			bytes += stats.heap_allocsz_bytes;
	return bytes;
}

static void
start_port(struct perf_sut *sut, const struct perf_row *row)
{
	struct rte_eth_dev_info info;
	struct rte_eth_rxconf rxconf;

	check(sut, "info", rte_eth_dev_info_get(sut->port, &info));
	rxconf = info.default_rxconf;
	rxconf.rx_free_thresh = row->rx_thresh;
	check(sut, "SIMD width", rte_vect_set_max_simd_bitwidth(
		row->simd_bits != 0 ? row->simd_bits : simd_bits));
	sut->heap_bytes = 0 - heap_bytes();
	configure(sut, row);
	for (uint16_t q = 0; q < row->nb_queues; q++) {
		check(sut, "Rx queue",
		      rte_eth_rx_queue_setup(sut->port, q, row->ring, SOCKET_ID_ANY,
					     &rxconf, sut->pool));
		check(sut, "Tx queue",
		      rte_eth_tx_queue_setup(sut->port, q, row->ring, SOCKET_ID_ANY,
					     NULL));
	}
	check(sut, "start", rte_eth_dev_start(sut->port));
	sut->heap_bytes += heap_bytes();
	if (row->has_lists)
		make_lists(sut, row);
}

void
perf_port_start(struct perf_sut *sut, const struct perf_row *row, bool is_watched)
{
	const struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[sut->port];

	sut->pool = perf_pool_of_row(sut, row);
	if (!perf_is_secondary())
		start_port(sut, row);
	sut->rx_burst = ops->rx_pkt_burst;
	sut->tx_burst = ops->tx_pkt_burst;
	sut->nb_queues = row->nb_queues;
	for (uint16_t q = 0; q < row->nb_queues; q++) {
		struct perf_queue *queue = &sut->queues[q];

		queue->rxq = ops->rxq.data[q];
		queue->txq = ops->txq.data[q];
		hand_start(&queue->rx, sut->name, sut->fn, false, q,
			   RTE_MAX(row->rx_segs, 1));
		hand_start(&queue->tx, sut->name, sut->fn, true, q, 1);
		if (row->is_stripped)
			queue->rx.rx_flags |= HW_RX_F_VLAN | PERF_RX_VLAN;
		if (row->no_hash)
			queue->rx.rx_flags &= HW_RX_F_IP_OK | HW_RX_F_TCP_OK;
		queue->tx.no_offsets = row->no_offsets;
	}
	sut->seen = hand_registers(&sut->queues[0].rx);
	sut->is_watched = is_watched || row->nb_queues > 1;
}

uint64_t
perf_port_misses(const struct perf_sut *sut)
{
	static const char *const names[] = { "rx_mr_misses", "tx_mr_misses" };
	uint64_t id, value, sum = 0;

	for (unsigned int i = 0; i < RTE_DIM(names) && sut->plugin != NULL; i++)
		if (rte_eth_xstats_get_id_by_name(sut->port, names[i], &id) == 0 &&
		    rte_eth_xstats_get_by_id(sut->port, &id, &value, 1) == 1)
			sum += value;
	return sum;
}

/*
 * DPDK's driver of 22.11 never frees posted Rx buffers. The harness checks that
 * exactly these are missing, and frees them.
 */
static void
take_back_posted(struct perf_sut *sut)
{
	uint32_t nb_posted = 0;

	for (uint16_t q = 0; q < sut->nb_queues; q++)
		nb_posted += hand_nb_posted(&sut->queues[q].rx);
	if (perf_pool_nb_away(sut->pool) != nb_posted)
		return;
	for (uint16_t q = 0; q < sut->nb_queues; q++) {
		struct hand *rx = &sut->queues[q].rx;

		for (; rx->first != rx->last; rx->first++)
			rte_pktmbuf_free_seg(perf_mbuf_at(sut,
				rx->wqes[rx->first % HAND_MAX_WQES].addr));
	}
}

void
perf_port_stop(struct perf_sut *sut)
{
	struct rte_mempool *pool;

	for (uint16_t q = 0; q < sut->nb_queues; q++)
		hand_take_rx(&sut->queues[q].rx, 0);
	check(sut, "stop", rte_eth_dev_stop(sut->port));
	if (sut->leaves_posted)
		take_back_posted(sut);
	perf_pool_check(sut, sut->pool);
	pool = sut->pool;
	sut->pool = sut->own_pool;
	shrink(sut);
	perf_pools_free(sut, pool);
}

void
perf_port_close(struct perf_sut *sut)
{
	check(sut, "close", rte_eth_dev_close(sut->port));
	perf_pool_check(sut, sut->pool);
}

void
perf_port_path(const struct perf_sut *sut, enum perf_kind kind, char *path,
	       size_t path_bytes)
{
	struct rte_eth_burst_mode rx = { 0 }, tx = { 0 };

	if (rte_eth_rx_burst_mode_get(sut->port, 0, &rx) != 0)
		snprintf(rx.info, sizeof(rx.info), "?");
	if (rte_eth_tx_burst_mode_get(sut->port, 0, &tx) != 0)
		snprintf(tx.info, sizeof(tx.info), "?");
	if (kind == PERF_FWD)
		snprintf(path, path_bytes, "%s + %s", rx.info, tx.info);
	else
		snprintf(path, path_bytes, "%s", kind == PERF_TX ? tx.info : rx.info);
}

void
perf_port_testpmd(const struct perf_sut *sut, const struct perf_row *row, char *words,
		  size_t words_bytes)
{
	const struct rte_eth_conf conf = port_conf(sut, row);
	const unsigned int nb_queues = conf.rxmode.mq_mode == RTE_ETH_MQ_RX_RSS ?
		RTE_MAX(row->nb_queues, 2) : row->nb_queues;

	snprintf(words, words_bytes, "--force-max-simd-bitwidth=%u -- --rxq=%u --txq=%u "
		 "--rxd=%u --txd=%u --rx-offloads=%#" PRIx64 " --tx-offloads=%#" PRIx64
		 " --rxfreet=%u%s", rte_vect_get_max_simd_bitwidth(), nb_queues,
		 nb_queues, row->ring, row->ring, conf.rxmode.offloads,
		 conf.txmode.offloads, row->rx_thresh, row->ptypes ? " types" : "");
}
