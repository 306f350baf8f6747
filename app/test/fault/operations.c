/* SPDX-License-Identifier: BSD-3-Clause */

/* The operations of the fault sweep, each with its initial state. */

#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sockios.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_malloc.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>

#include "operations.h"

const struct fx_config several = {
	.nb_rxq = 4,
	.nb_txq = 3,
	.nb_rxd = 64,
	.nb_txd = 64,
	.rss_hf = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP,
};

/* One queue in each direction. */
static const struct fx_config single = { .nb_rxd = 64, .nb_txd = 64 };

/* All interrupts enabled. */
static const struct fx_config woken = {
	.nb_rxq = 3,
	.nb_txq = 1,
	.nb_rxd = 64,
	.nb_txd = 64,
	.rss_hf = RTE_ETH_RSS_IPV4,
	.intr = { .lsc = 1, .rxq = 1, .rmv = 1 },
};

void
undo_probe(struct fixture *fx)
{
	fx_stop(fx);
	if (fx->is_probed)
		fx_remove(fx);
}

bool
needs_restart(void)
{
	return fx_nb_logged(RTE_LOG_ERR, "Rx is down") +
		fx_nb_logged(RTE_LOG_ERR, "until the port is restarted") > 0;
}

bool
kernel_keeps_objects(void)
{
	return fx_nb_logged(RTE_LOG_WARNING, "the kernel does not destroy") +
		fx_nb_logged(RTE_LOG_WARNING, "cannot deregister key") > 0;
}

static void
netdev_request(unsigned int i, unsigned long request, struct ifreq *ifr)
{
	int sock = socket(AF_INET, SOCK_DGRAM, 0);

	assert_true(sock >= 0);
	snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "mana0p%u", i);
	assert_int_equal(ioctl(sock, request, ifr), 0);
	close(sock);
}

/* ---- Probe and removal ------------------------------------------------------------ */

static void
check_not_probed(struct fixture *fx)
{
	assert_false(fx->is_probed);
}

static int
run_probe(struct fixture *fx)
{
	return fx_probe(fx, "");
}

static void
netdevs_up(struct fixture *fx)
{
	check_not_probed(fx);
	assert_int_equal(fx_model.netdev_set("mana0p0", true), 0);
	assert_int_equal(fx_model.netdev_set("mana0p1", true), 0);
}

static int
run_netdev_down(struct fixture *fx)
{
	return fx_probe(fx, "netdev_down=1");
}

/* The netdevs are up again, or the driver has reported why not, or was told that none is there. */
static void
undo_netdev_down(struct fixture *fx)
{
	struct ifreq ifr;

	undo_probe(fx);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		netdev_request(i, SIOCGIFFLAGS, &ifr);
		if ((ifr.ifr_flags & IFF_UP) == 0)
			assert_true(fx_nb_logged(RTE_LOG_WARNING, "up again:") +
				    fx_nb_logged(RTE_LOG_WARNING, strerror(ENODEV)) > 0);
	}
	assert_int_equal(fx_model.netdev_set("mana0p0", false), 0);
	assert_int_equal(fx_model.netdev_set("mana0p1", false), 0);
}

static void
no_undo(struct fixture *fx __rte_unused)
{
}

static void
probed(struct fixture *fx)
{
	assert_int_equal(fx_probe(fx, ""), 0);
}

static void
configured(struct fixture *fx)
{
	probed(fx);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(fx_configure(fx, fx->port[i], &several), 0);
}

static void
running(struct fixture *fx)
{
	configured(fx);
	fx_restart(fx);
}

/* One Rx queue is larger than the others: they cannot exchange hardware queues. */
static void
running_uneven(struct fixture *fx)
{
	configured(fx);
	fx_rx_setup(fx->port[0], 3, 128, NULL, fx->pool);
	assert_int_equal(fx_dev_start(fx, 0), 0);
}

static int
run_remove(struct fixture *fx)
{
	fx_stop(fx);
	fx_remove(fx);
	return 0;
}

/* ---- Queues and start ------------------------------------------------------------- */

static int
run_configure(struct fixture *fx)
{
	struct rte_eth_conf conf = {
		.rxmode = { .mq_mode = RTE_ETH_MQ_RX_RSS },
		.rx_adv_conf = { .rss_conf = { .rss_hf = RTE_ETH_RSS_IPV4 } },
	};

	return rte_eth_dev_configure(fx->port[0], 2, 2, &conf);
}

static void
one_configured(struct fixture *fx)
{
	probed(fx);
	assert_int_equal(run_configure(fx), 0);
}

static int
run_rx_setup(struct fixture *fx)
{
	return rte_eth_rx_queue_setup(fx->port[0], 0, 64, SOCKET_ID_ANY, NULL,
				      fx->pool);
}

static int
run_tx_setup(struct fixture *fx)
{
	return rte_eth_tx_queue_setup(fx->port[0], 0, 64, SOCKET_ID_ANY, NULL);
}

static int
run_start(struct fixture *fx)
{
	return fx_dev_start(fx, 0);
}

/* The second port of a function starts while the first one runs. */
static void
first_started(struct fixture *fx)
{
	configured(fx);
	assert_int_equal(fx_dev_start(fx, 0), 0);
}

static int
run_second_start(struct fixture *fx)
{
	return fx_dev_start(fx, 1);
}

static void
configured_to_wake(struct fixture *fx)
{
	probed(fx);
	assert_int_equal(fx_configure(fx, fx->port[0], &woken), 0);
}

static int
run_stop(struct fixture *fx)
{
	return fx_dev_stop(fx, 0);
}

static void
one_queue_each_stopped(struct fixture *fx)
{
	running(fx);
	assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[0], 1), 0);
	assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], 1), 0);
}

static int
run_txq_start(struct fixture *fx)
{
	return rte_eth_dev_tx_queue_start(fx->port[0], 1);
}

static int
run_txq_stop(struct fixture *fx)
{
	return rte_eth_dev_tx_queue_stop(fx->port[0], 1);
}

static int
run_rxq_start(struct fixture *fx)
{
	return rte_eth_dev_rx_queue_start(fx->port[0], 1);
}

static int
run_rxq_stop(struct fixture *fx)
{
	return rte_eth_dev_rx_queue_stop(fx->port[0], 1);
}

static int
run_rxq_setup_running(struct fixture *fx)
{
	return rte_eth_rx_queue_setup(fx->port[0], 1, 64, SOCKET_ID_ANY, NULL, fx->pool);
}

static int
run_txq_setup_running(struct fixture *fx)
{
	return rte_eth_tx_queue_setup(fx->port[0], 1, 64, SOCKET_ID_ANY, NULL);
}

/* A stopped Rx queue that no hardware queue fits. */
static void
one_larger_stopped(struct fixture *fx)
{
	one_queue_each_stopped(fx);
	fx_rx_setup(fx->port[0], 1, 128, NULL, fx->pool);
}

/* ---- Packets in several buffers ------------------------------------------------------ */

/* Of packets besides the fixture's. */
static struct rte_mempool *extra;

static void
scatter_configured(struct fixture *fx)
{
	struct fx_config config = single;

	probed(fx);
	extra = fx_pool(fx, 255, 1152);
	config.rx_pool = extra;
	config.rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	assert_int_equal(fx_configure(fx, fx->port[0], &config), 0);
}

static void
split_configured(struct fixture *fx)
{
	const struct rte_eth_conf conf = {
		.rxmode = { .offloads = RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT },
	};
	union rte_eth_rxseg segs[2] = { { .split = { .length = 64 } } };
	struct rte_eth_rxconf rxconf = { .rx_seg = segs, .rx_nseg = RTE_DIM(segs) };

	probed(fx);
	extra = fx_pool(fx, 127, 256);
	segs[0].split.mp = extra;
	segs[1].split.mp = fx->pool;
	assert_int_equal(rte_eth_dev_configure(fx->port[0], 1, 1, &conf), 0);
	fx_tx_setup(fx->port[0], 0, 64, NULL);
	fx_rx_setup(fx->port[0], 0, 64, &rxconf, NULL);
}

static void
undo_extra(struct fixture *fx)
{
	undo_probe(fx);
	if (!kernel_keeps_objects()) {
		fx_pool_free(fx, extra);
		return;
	}
	for (unsigned int i = 0; i < FX_MAX_POOLS; i++)
		if (fx->pools[i] == extra)
			fx->pools[i] = NULL;
	rte_mempool_free(extra);
}

/* ---- Changes of a running port ------------------------------------------------------ */

static int
run_key(struct fixture *fx)
{
	static uint8_t key[40];
	struct rte_eth_rss_conf rss = { .rss_hf = several.rss_hf, .rss_key = key,
					.rss_key_len = sizeof(key) };

	key[0]++;
	return rte_eth_dev_rss_hash_update(fx->port[0], &rss);
}

static int
run_reta(struct fixture *fx)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };

	for (unsigned int i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
		reta.reta[i] = 3 - i % 4;
	return rte_eth_dev_rss_reta_update(fx->port[0], &reta, RTE_ETH_RETA_GROUP_SIZE);
}

static int
run_mtu(struct fixture *fx)
{
	return rte_eth_dev_set_mtu(fx->port[0], 1400);
}

static int
run_vlan_strip(struct fixture *fx)
{
	return rte_eth_dev_set_vlan_offload(fx->port[0], RTE_ETH_VLAN_STRIP_OFFLOAD);
}

static void
running_to_wake(struct fixture *fx)
{
	configured_to_wake(fx);
	assert_int_equal(fx_dev_start(fx, 0), 0);
}

static int
run_rx_interrupt(struct fixture *fx)
{
	int ret = rte_eth_dev_rx_intr_enable(fx->port[0], 0);

	return ret != 0 ? ret : rte_eth_dev_rx_intr_disable(fx->port[0], 0);
}

/* Memory of the application. */
static char memory[4 * 4096] __rte_aligned(4096);

static void
memory_registered(struct fixture *fx)
{
	running(fx);
	assert_int_equal(rte_extmem_register(memory, sizeof(memory), NULL, 0, 4096), 0);
}

static struct rte_device *
device_of(const struct fixture *fx)
{
	return fx_info(fx->port[0]).device;
}

static int
run_dma_map(struct fixture *fx)
{
	int ret = rte_dev_dma_map(device_of(fx), memory, 0, sizeof(memory));

	/* ethdev's result of any failure */
	return ret == -1 ? -rte_errno : ret;
}

static void
memory_mapped(struct fixture *fx)
{
	memory_registered(fx);
	assert_int_equal(rte_dev_dma_map(device_of(fx), memory, 0, sizeof(memory)), 0);
}

static int
run_dma_unmap(struct fixture *fx)
{
	return rte_dev_dma_unmap(device_of(fx), memory, 0, sizeof(memory));
}

static void
undo_dma_unmap(struct fixture *fx)
{
	fx_stop(fx);
	assert_int_equal(rte_extmem_unregister(memory, sizeof(memory)), 0);
}

static void
undo_dma_map(struct fixture *fx)
{
	fx_stop(fx);
	/* Not mapped if the operation was refused. */
	(void)rte_dev_dma_unmap(device_of(fx), memory, 0, sizeof(memory));
	assert_int_equal(rte_extmem_unregister(memory, sizeof(memory)), 0);
}

/* ---- Packets of new memory ------------------------------------------------------------ */

static void
running_single(struct fixture *fx)
{
	probed(fx);
	fx_start(fx, &single);
}

/* Returns -EFAULT if the driver drops it. */
static int
send_one(struct fixture *fx, struct rte_mbuf *m)
{
	struct rte_eth_stats before;

	assert_int_equal(rte_eth_stats_get(fx->port[0], &before), 0);
	fx_send(fx->port[0], 0, &m, 1);
	return fx_stats(fx->port[0]).oerrors == before.oerrors ? 0 : -EFAULT;
}

/* Frees packets until the condition holds. */
#define FREE_UNTIL(fx, condition) do { \
		const uint64_t end = fx_deadline(); \
		while (!(condition)) { \
			assert_true(rte_get_timer_cycles() < end); \
			assert_true(rte_eth_tx_done_cleanup((fx)->port[0], 0, 0) >= 0); \
			(void)fx_receive_all((fx)->port[1], 0); \
		} \
	} while (0)

static int
run_tx_new_pool(struct fixture *fx)
{
	struct rte_mempool *pool = fx_pool(fx, 31, RTE_MBUF_DEFAULT_BUF_SIZE);
	int ret = send_one(fx, fx_frame(pool, 64, 1));

	FREE_UNTIL(fx, rte_mempool_full(pool));
	fx_pool_free(fx, pool);
	return ret;
}

static void
external_free(void *addr __rte_unused, void *is_free)
{
	*(bool *)is_free = true;
}

static int
run_tx_external(struct fixture *fx)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(fx->pool);
	struct rte_mbuf_ext_shared_info shinfo;
	bool is_free = false;
	int ret;

	assert_non_null(m);
	shinfo.free_cb = external_free;
	shinfo.fcb_opaque = &is_free;
	rte_mbuf_ext_refcnt_set(&shinfo, 1);
	rte_pktmbuf_attach_extbuf(m, memory, RTE_BAD_IOVA, sizeof(memory), &shinfo);
	m->data_off = 0;
	fx_frame_bytes((uint8_t *)rte_pktmbuf_append(m, 64), 64, 1);
	ret = send_one(fx, m);
	FREE_UNTIL(fx, is_free);
	return ret;
}

/* Of more segments than the ring has room for. */
static int
run_tx_copy(struct fixture *fx)
{
	uint8_t bytes[100];

	fx_frame_bytes(bytes, sizeof(bytes), 1);
	return send_one(fx, fx_chain(fx->pool, bytes, sizeof(bytes), 20));
}

static int
run_done_cleanup(struct fixture *fx)
{
	int ret = send_one(fx, fx_frame(fx->pool, 64, 1));

	if (ret == 0)
		ret = rte_eth_tx_done_cleanup(fx->port[0], 0, 0);
	return RTE_MIN(ret, 0);
}

/* The chunks of a mempool that grows, and bursts until mbufs of the second come. */
#define CHUNK_BYTES (1u << 18)
#define NB_REFILL_BURSTS 8

static char *chunks;

static void
extra_grow(char *chunk)
{
	assert_true(rte_mempool_populate_iova(extra, chunk, (uintptr_t)chunk, CHUNK_BYTES,
					      NULL, NULL) > 0);
	rte_mempool_obj_iter(extra, rte_pktmbuf_init, NULL);
}

/* Without an event, because the mempool is not complete. */
static void
running_grown(struct fixture *fx)
{
	const uint32_t room = RTE_MBUF_DEFAULT_BUF_SIZE;
	struct rte_pktmbuf_pool_private private = { .mbuf_data_room_size = room };
	struct fx_config config = single;

	probed(fx);
	chunks = rte_malloc(NULL, 3 * CHUNK_BYTES, 4096);
	assert_non_null(chunks);
	extra = rte_mempool_create_empty("growing", 511, sizeof(struct rte_mbuf) + room, 0,
					 sizeof(private), SOCKET_ID_ANY, 0);
	assert_non_null(extra);
	assert_int_equal(rte_mempool_set_ops_byname(extra, rte_mbuf_best_mempool_ops(), NULL),
			 0);
	rte_pktmbuf_pool_init(extra, &private);
	extra_grow(chunks);
	config.rx_pool = extra;
	fx_start_each(fx, &single, &config);
	extra_grow(chunks + 2 * CHUNK_BYTES);
}

static int
run_refill(struct fixture *fx)
{
	const uint64_t before = fx_xstat(fx->port[1], "rx_refill_mr_failures");

	for (unsigned int i = 0; i < NB_REFILL_BURSTS; i++) {
		struct rte_mbuf *pkts[16];

		for (unsigned int k = 0; k < RTE_DIM(pkts); k++)
			pkts[k] = fx_frame(fx->pool, 64, 1);
		fx_send(fx->port[0], 0, pkts, RTE_DIM(pkts));
		(void)fx_receive_all(fx->port[1], 0);
	}
	return fx_xstat(fx->port[1], "rx_refill_mr_failures") == before ? 0 : -EFAULT;
}

static void
undo_grown(struct fixture *fx)
{
	undo_probe(fx);
	assert_int_equal(rte_mempool_avail_count(extra), extra->populated_size);
	rte_mempool_free(extra);
	rte_free(chunks);
}

/* ---- Queries -------------------------------------------------------------------------- */

static int
run_link(struct fixture *fx)
{
	struct rte_eth_link link;

	return rte_eth_link_get_nowait(fx->port[0], &link);
}

static int
run_firmware(struct fixture *fx)
{
	char text[128];

	return rte_eth_dev_fw_version_get(fx->port[0], text, sizeof(text));
}

static int
run_info(struct fixture *fx)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_info_get(fx->port[0], &info);
}

static int
run_stats(struct fixture *fx)
{
	struct rte_eth_stats stats;
	struct rte_eth_xstat xstats[512];
	int ret = rte_eth_stats_get(fx->port[0], &stats);

	if (ret == 0)
		ret = rte_eth_xstats_get(fx->port[0], xstats, RTE_DIM(xstats));
	assert_true(ret <= (int)RTE_DIM(xstats));
	return ret > 0 ? 0 : ret;
}

static int
run_dump(struct fixture *fx)
{
	FILE *f = fopen("/dev/null", "w");
	int ret;

	assert_non_null(f);
	ret = rte_eth_dev_priv_dump(fx->port[0], f);
	if (ret == 0)
		ret = rte_eth_rx_descriptor_dump(fx->port[0], 0, 0, 1, f);
	if (ret == 0)
		ret = rte_eth_tx_descriptor_dump(fx->port[0], 0, 0, 1, f);
	fclose(f);
	return ret;
}

/* A handler that fails gives a part of its reply. */
static int
run_telemetry(struct fixture *fx)
{
	assert_true(fx_telemetry_ask_all(fx->port[0]));
	return 0;
}

/* ---- Recovery -------------------------------------------------------------------------- */

static int
run_reset(struct fixture *fx)
{
	return rte_eth_dev_reset(fx->port[0]);
}

static void
running_with(struct fixture *fx, const char *devargs)
{
	assert_int_equal(fx_probe(fx, devargs), 0);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		assert_int_equal(fx_configure(fx, fx->port[i], &several), 0);
		assert_int_equal(fx_dev_start(fx, i), 0);
	}
}

static void
running_for_recovery(struct fixture *fx)
{
	running_with(fx, "recovery_timeout=1");
}

static void
running_for_loss(struct fixture *fx)
{
	running_with(fx, "recovery_timeout=0");
}

/* Recovers, or reports that it cannot. */
static int
run_recovery(struct fixture *fx)
{
	const uint64_t end = fx_deadline();
	unsigned int nb;

	fx_command("reset fn=0 outage=1ms");
	do {
		rte_delay_us_sleep(200);
		nb = 0;
		for (unsigned int i = 0; i < FX_NB_PORTS; i++)
			nb += rte_eth_dev_is_removed(fx->port[i]) == 1 ||
			      fx_xstat(fx->port[i], "recoveries") > 0;
		assert_true(rte_get_timer_cycles() < end);
	} while (nb < FX_NB_PORTS);
	return 0;
}

/* Too few packets for a refill: each run makes the same calls. */
#define NB_REPAIR_PACKETS 8

static int
run_repair(struct fixture *fx, unsigned int side, const char *command)
{
	const char *failed = side == 0 ? "tx_failed" : "rx_failed";
	const uint64_t nb_before = fx_xstat(fx->port[side], failed);
	const uint64_t end = fx_deadline();
	unsigned int nb_sent = 0;
	uint64_t nb_failed;
	bool is_whole;

	fx_command(command);
	do {
		struct rte_mbuf *m;

		nb_failed = fx_xstat(fx->port[side], failed);
		/* The repair of an earlier failure may be to come: it would lose the packets. */
		is_whole = fx_xstat(fx->port[side], "queue_repairs") >= nb_failed;
		if (is_whole && nb_sent < NB_REPAIR_PACKETS) {
			m = fx_frame(fx->pool, 64, 1);
			if (rte_eth_tx_burst(fx->port[0], 0, &m, 1) == 0)
				rte_pktmbuf_free(m);
			else
				nb_sent++;
		}
		for (unsigned int queue = 0; queue < several.nb_rxq; queue++)
			(void)fx_receive_all(fx->port[1], queue);
		/* The driver tries again, in vain while the fault remains. */
		if (needs_restart() ||
		    (is_for_ever && fx_nb_logged(RTE_LOG_WARNING, "cannot rebuild") > 0))
			return -EIO;
		if (rte_get_timer_cycles() > end)
			fail_msg("sent %u packets, %s %" PRIu64 ", %" PRIu64 " before: %s",
				 nb_sent, failed, nb_failed, nb_before,
				 is_whole ? "whole" : "to be rebuilt");
		rte_delay_us_sleep(200);
	} while (nb_failed == nb_before || !is_whole);
	return 0;
}

static int
run_tx_repair(struct fixture *fx)
{
	return run_repair(fx, 0, "cqe port=1 tx type=42 queue=0");
}

static int
run_rx_repair(struct fixture *fx)
{
	return run_repair(fx, 1, "bogus port=2 rx what=wrong-owner");
}

/* ---- The list -------------------------------------------------------------------------- */

const struct operation operations[] = {
	{ "probe", check_not_probed, run_probe, undo_probe },
	{ "probe with netdev_down=1", netdevs_up, run_netdev_down, undo_netdev_down },
	{ "stop and remove", running, run_remove, no_undo, .is_teardown = true },
	{ "configure", probed, run_configure, no_undo, .may_be_empty = true },
	{ "Rx queue setup", one_configured, run_rx_setup, no_undo },
	{ "Tx queue setup", one_configured, run_tx_setup, no_undo },
	{ "start", configured, run_start, fx_stop },
	{ "second start", first_started, run_second_start, fx_stop },
	{ "start with interrupts", configured_to_wake, run_start, fx_stop },
	{ "start with scattered packets", scatter_configured, run_start, undo_extra },
	{ "start with a buffer split", split_configured, run_start, undo_extra },
	{ "stop", running, run_stop, fx_stop, .is_teardown = true },
	{ "Rx queue start", one_queue_each_stopped, run_rxq_start, fx_stop,
	  .may_be_empty = true },
	{ "Tx queue start", one_queue_each_stopped, run_txq_start, fx_stop },
	{ "Rx queue stop", running, run_rxq_stop, fx_stop, .may_be_empty = true },
	{ "Tx queue stop", running, run_txq_stop, fx_stop, .is_teardown = true },
	{ "Rx queue setup of a running port", one_queue_each_stopped, run_rxq_setup_running,
	  fx_stop, .destroys_first = true },
	{ "Tx queue setup of a running port", one_queue_each_stopped, run_txq_setup_running,
	  fx_stop, .destroys_first = true },
	{ "Rx queue start with a rebuild", one_larger_stopped, run_rxq_start, fx_stop,
	  .destroys_first = true },
	{ "RSS key", running, run_key, fx_stop },
	{ "RSS table", running, run_reta, fx_stop, .may_be_empty = true },
	{ "RSS table with a rebuild", running_uneven, run_reta, fx_stop },
	{ "MTU", configured, run_mtu, no_undo, .may_be_empty = true },
	{ "MTU of a running port", running, run_mtu, fx_stop, .may_be_empty = true },
	{ "VLAN stripping", configured, run_vlan_strip, no_undo, .may_be_empty = true },
	{ "Rx interrupt", running_to_wake, run_rx_interrupt, fx_stop,
	  .may_be_empty = true },
	{ "DMA map", memory_registered, run_dma_map, undo_dma_map },
	{ "DMA unmap", memory_mapped, run_dma_unmap, undo_dma_unmap, .is_teardown = true },
	{ "Tx from a new mempool", running_single, run_tx_new_pool, fx_stop },
	{ "Tx from an external buffer", running_single, run_tx_external, fx_stop },
	{ "Tx of a copy", running_single, run_tx_copy, fx_stop },
	{ "Tx done cleanup", running_single, run_done_cleanup, fx_stop,
	  .may_be_empty = true },
	{ "link", running, run_link, fx_stop, .may_be_empty = true },
	{ "firmware version", running, run_firmware, fx_stop },
	{ "information", running, run_info, fx_stop, .may_be_empty = true },
	{ "statistics", running, run_stats, fx_stop, .may_be_empty = true },
	{ "dumps", running, run_dump, fx_stop, .may_be_empty = true },
	{ "telemetry", running, run_telemetry, fx_stop, .is_teardown = true },
	{ "reset", configured, run_reset, no_undo, .destroys_first = true },
	{ "recovery", running_for_recovery, run_recovery, undo_probe,
	  .is_teardown = true, .waits = true },
	{ "loss with recovery_timeout=0", running_for_loss, run_recovery, undo_probe,
	  .is_teardown = true },
	{ "Tx queue repair", running, run_tx_repair, fx_stop, .destroys_first = true },
	{ "Rx queue repair", running, run_rx_repair, fx_stop, .destroys_first = true },
	/*
	 * Last: may register all memory of EAL. With that in use libibverbs takes long to read
	 * /proc/self/smaps, as it does for each registration.
	 */
	{ "Rx refill from new memory", running_grown, run_refill, undo_grown },
};

const unsigned int nb_operations = RTE_DIM(operations);
