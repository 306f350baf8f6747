/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The fault sweep. In each operation, each kernel call, and each call of the driver that
 * allocates or can fail otherwise, fails in turn: once, and from there on. After each
 * failure the process holds the same resources as before, a second attempt succeeds, and
 * packets pass.
 *
 * usage: test-fault [operation, or a pattern with * and ?]
 * MANA_FAULT_SWEEP=all: each kernel call fails with each of the errors; else with one.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>

#include "fixture.h"
#include "fixture_log.h"
#include "calls.h"

/* More calls than any operation makes. */
#define MAX_CALLS 2000
/* With sanitizers, which make it slow, each fifth call fails. */
#ifdef __SANITIZE_ADDRESS__
#define CALL_STEP 5u
#else
#define CALL_STEP 1u
#endif
/* With the calls of the interrupt thread, two runs may have different numbers of calls. */
#define MAX_TRIES 3

/*
 * Not EIO: when an object is destroyed, libibverbs takes it for the removal of the device
 * (verbs_is_destroy_err()), which test_loss_points.c lets happen.
 */
static const int errors[] = { ENOMEM, EINVAL, EBUSY, EPROTO };

static const struct fx_config several = {
	.nb_rxq = 4,
	.nb_txq = 3,
	.nb_rxd = 64,
	.nb_txd = 64,
	.rss_hf = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP,
};

/* All interrupts enabled. */
static const struct fx_config woken = {
	.nb_rxq = 3,
	.nb_txq = 1,
	.nb_rxd = 64,
	.nb_txd = 64,
	.rss_hf = RTE_ETH_RSS_IPV4,
	.intr = { .lsc = 1, .rxq = 1, .rmv = 1 },
};

struct operation {
	const char *name;
	/* makes the initial state */
	void (*before)(struct fixture *fx);
	int (*run)(struct fixture *fx);
	/* undoes the operation, also a refused one */
	void (*undo)(struct fixture *fx);
	/*
	 * Succeeds, and frees what it can: the removal of the device frees what the kernel
	 * refused to destroy.
	 */
	bool is_teardown;
	/* Destroys objects first: a refused one leaves the port without them. */
	bool destroys_first;
	/* makes no calls in some build or state */
	bool may_be_empty;
	/* Repeats what fails for ever until a time limit, which takes long. */
	bool waits;
};

/* Where a call fails. */
enum source { KERNEL, DRIVER };

struct fault {
	enum source source;
	unsigned int nth;
	bool and_later;
	int error; /* of a kernel call */
};

static bool is_for_ever; /* the fault that is armed */
static unsigned int nb_points_total, nb_calls_total, nb_kept;

static bool
is_complete(void)
{
	const char *text = getenv("MANA_FAULT_SWEEP");

	return text != NULL && strcmp(text, "all") == 0;
}

static void
check_mbufs(struct fixture *fx, const char *when)
{
	unsigned int nb = rte_mempool_avail_count(fx->pool);

	if (nb != FX_NB_MBUFS)
		fail_msg("%s: lacks %u mbufs", when, FX_NB_MBUFS - nb);
}

static void
undo_probe(struct fixture *fx)
{
	fx_stop(fx);
	if (fx->is_probed)
		fx_remove(fx);
}

/* ---- Mempools that fail for the driver -------------------------------------------- */

static rte_mempool_dequeue_t ring_dequeue;

static int
dequeue(struct rte_mempool *mp, void **objects, unsigned int nb)
{
	return calls_pool_get(__builtin_return_address(0), nb) ?
		       -ENOBUFS : ring_dequeue(mp, objects, nb);
}

/* Mempools that are created from now on. */
static void
pools_can_fail(void)
{
	struct rte_mempool_ops ops = { .name = "" };

	if (ring_dequeue != NULL)
		return;
	for (uint32_t i = 0; i < rte_mempool_ops_table.num_ops; i++)
		if (strcmp(rte_mempool_ops_table.ops[i].name, "ring_mp_mc") == 0)
			ops = rte_mempool_ops_table.ops[i];
	assert_non_null(ops.dequeue);
	ring_dequeue = ops.dequeue;
	strcpy(ops.name, "ring_that_fails");
	ops.dequeue = dequeue;
	assert_true(rte_mempool_register_ops(&ops) >= 0);
	assert_int_equal(rte_mbuf_set_user_mempool_ops(ops.name), 0);
}

/* ---- A fault ------------------------------------------------------------------------ */

/* The ports work. */
static void
works(struct fixture *fx, const char *when)
{
	struct mana_model_port wire[FX_NB_PORTS], now;
	const uint64_t end = fx_deadline();

	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(fx_model.port(0, i, &wire[i]), 0);
	/* After a recovery that was given up at once, the device may not be back. */
	while (!fx->is_probed && fx_probe(fx, "") != 0) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(1000);
	}
	fx_start(fx, &several);
	fx_send(fx->port[0], 0,
		(struct rte_mbuf *[]){ fx_frame(fx->pool, 64, 1) }, 1);
	fx_send(fx->port[1], 0,
		(struct rte_mbuf *[]){ fx_frame(fx->pool, 64, 1) }, 1);
	fx_drain(fx);
	fx_stop(fx);
	check_mbufs(fx, when);
	fx_remove(fx);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		assert_int_equal(fx_model.port(0, i, &now), 0);
		assert_true(now.rx_packets > wire[i].rx_packets);
	}
}

static void
arm(const struct fault *fault)
{
	int (*arm_kernel)(const char *, unsigned int, int) =
		fault->and_later ? fx_model.fault_arm_from : fx_model.fault_arm;

	is_for_ever = fault->and_later;
	if (fault->source == DRIVER)
		calls_arm(fault->nth, fault->and_later);
	else
		assert_int_equal(arm_kernel("any", fault->nth, fault->error), 0);
}

/* Returns the number of calls that failed. */
static unsigned int
disarm(const struct fault *fault)
{
	const unsigned int nb = fault->source == DRIVER ? calls_failed() :
							  fx_model.fault_hits();

	calls_disarm();
	fx_model.fault_disarm();
	is_for_ever = false;
	return nb;
}

static const char *
describe(const struct operation *operation, const struct fault *fault)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s: %s %u%s%s%s", operation->name,
		 fault->source == DRIVER ? "call" : "kernel call", fault->nth,
		 fault->and_later ? " and later" : "",
		 fault->source == DRIVER ? "" : ": ",
		 fault->source == DRIVER ? "" : strerrorname_np(fault->error));
	return text;
}

/* The driver has reported this. */
static bool
needs_restart(void)
{
	return fx_nb_logged(RTE_LOG_ERR, "Rx is down") +
		fx_nb_logged(RTE_LOG_ERR, "until the port is restarted") > 0;
}

/* The driver has reported this: they remain until it closes the device's context. */
static bool
kernel_keeps_objects(void)
{
	return fx_nb_logged(RTE_LOG_WARNING, "the kernel does not destroy") +
		fx_nb_logged(RTE_LOG_WARNING, "cannot deregister key") > 0;
}

/* A queue that the kernel does not destroy keeps its packets: the device may use them. */
static void
pool_renew(struct fixture *fx)
{
	nb_kept += FX_NB_MBUFS - rte_mempool_avail_count(fx->pool);
	rte_mempool_free(fx->pool);
	fx->pools[0] = NULL;
	fx->pool = fx_pool(fx, FX_NB_MBUFS, RTE_MBUF_DEFAULT_BUF_SIZE);
}

/* Returns false if the operation makes fewer than fault->nth calls. */
static bool
run_with_fault(struct fixture *fx, const struct operation *operation,
	       const struct fault *fault)
{
	const char *when = describe(operation, fault);
	bool keeps_objects;
	struct fx_holdings before, empty;
	unsigned int nb_failed;
	int ret;

	fx_log_reset();
	/* any error text is expected */
	fx_expect_error("");
	fx_holdings_get(&empty);
	operation->before(fx);
	fx_holdings_get(&before);
	arm(fault);
	ret = operation->run(fx);
	nb_failed = disarm(fault);
	printf("%s: %s%s%s\n", when, fault->source == DRIVER ? calls_first_failed() : "",
	       fault->source == DRIVER ? ": " : "",
	       nb_failed == 0 ? "not reached" : ret == 0 ? "done" : strerrorname_np(-ret));
	if (ret != 0) {
		assert_true(ret < 0 && nb_failed > 0);
		assert_false(operation->is_teardown);
	}
	keeps_objects = kernel_keeps_objects();
	assert_false(keeps_objects && fault->source == DRIVER);
	if (ret != 0 && !keeps_objects && !needs_restart()) {
		if (!operation->destroys_first)
			fx_check_holdings(&before, when);
		/* without fault the same operation succeeds */
		assert_int_equal(operation->run(fx), 0);
	}
	operation->undo(fx);
	if (keeps_objects) {
		undo_probe(fx);
		pool_renew(fx);
	}
	works(fx, when);
	fx_check_holdings(&empty, when);
	return nb_failed > 0;
}

static unsigned int
count_calls(struct fixture *fx, const struct operation *operation, enum source source)
{
	uint64_t nb_kernel_calls;
	unsigned int nb;

	operation->before(fx);
	nb_kernel_calls = fx_model.kernel_calls();
	calls_arm(0, false);
	assert_int_equal(operation->run(fx), 0);
	nb = source == DRIVER ? calls_made() : fx_model.kernel_calls() - nb_kernel_calls;
	operation->undo(fx);
	works(fx, operation->name);
	return nb;
}

/* Returns the number of faults. */
static unsigned int
walk(struct fixture *fx, const struct operation *operation, struct fault *fault,
     unsigned int nb_calls)
{
	const bool rotates = fault->source == KERNEL && !is_complete();
	unsigned int nb = 0, tries;

	fault->nth = 1;
	do {
		assert_true(fault->nth < MAX_CALLS);
		if (rotates)
			fault->error = errors[fault->nth / CALL_STEP % RTE_DIM(errors)];
		tries = 0;
		while (!run_with_fault(fx, operation, fault) && ++tries < MAX_TRIES)
			;
		nb += tries < MAX_TRIES;
		fault->nth += CALL_STEP;
	} while (tries < MAX_TRIES || fault->nth <= nb_calls);
	return nb;
}

static void
walk_source(struct fixture *fx, const struct operation *operation, enum source source)
{
	const unsigned int nb_errors = source == KERNEL && is_complete() ? RTE_DIM(errors) : 1;
	const unsigned int nb_modes = operation->waits && !is_complete() ? 1 : 2;
	unsigned int nb_calls = count_calls(fx, operation, source);
	unsigned int nb_points = 0;

	for (unsigned int i = 0; i < nb_errors; i++) {
		for (unsigned int later = 0; later < nb_modes; later++) {
			struct fault fault = { .source = source, .error = errors[i],
					       .and_later = later != 0 };
			unsigned int nb = walk(fx, operation, &fault, nb_calls);

			/* The interrupt thread may have made some of these calls. */
			for (unsigned int t = 0; nb * CALL_STEP < nb_calls && t < MAX_TRIES; t++)
				nb_calls = RTE_MIN(nb_calls,
						   count_calls(fx, operation, source));
			if (nb * CALL_STEP < nb_calls)
				fail_msg("%s: %u faults, %u calls in a clean run",
					 operation->name, nb, nb_calls);
			nb_points += nb;
		}
	}
	printf("sweep: %s, %s: %u calls in a clean run, %u faults, 0 leaks\n",
	       operation->name, source == DRIVER ? "driver" : "kernel", nb_calls, nb_points);
	nb_points_total += nb_points;
	nb_calls_total += nb_calls;
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

static void
undo_netdev_down(struct fixture *fx)
{
	undo_probe(fx);
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
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(fx_dev_start(fx, i), 0);
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
	struct rte_eth_dev_info info;

	assert_int_equal(rte_eth_dev_info_get(fx->port[0], &info), 0);
	return info.device;
}

static int
run_dma_map(struct fixture *fx)
{
	int ret = rte_dev_dma_map(device_of(fx), memory, 0, sizeof(memory));

	/* ethdev's result of any failure */
	return ret == -1 ? -rte_errno : ret;
}

static void
undo_dma_map(struct fixture *fx)
{
	fx_stop(fx);
	/* Not mapped if the operation was refused. */
	(void)rte_dev_dma_unmap(device_of(fx), memory, 0, sizeof(memory));
	assert_int_equal(rte_extmem_unregister(memory, sizeof(memory)), 0);
}

/* ---- Queries -------------------------------------------------------------------------- */

static int
run_link(struct fixture *fx)
{
	struct rte_eth_link link;

	return rte_eth_link_get_nowait(fx->port[0], &link);
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
running_for_loss(struct fixture *fx)
{
	assert_int_equal(fx_probe(fx, "recovery_timeout=1"), 0);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		assert_int_equal(fx_configure(fx, fx->port[i], &several), 0);
		assert_int_equal(fx_dev_start(fx, i), 0);
	}
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
	const uint64_t before = fx_xstat(fx->port[side], "queue_repairs");
	const uint64_t end = fx_deadline();
	unsigned int nb_sent = 0;

	fx_command(command);
	while (fx_xstat(fx->port[side], "queue_repairs") == before) {
		struct rte_mbuf *m = fx_frame(fx->pool, 64, 1);
		uint16_t nb = nb_sent < NB_REPAIR_PACKETS;

		if (rte_eth_tx_burst(fx->port[0], 0, &m, nb) == 0)
			rte_pktmbuf_free(m);
		else
			nb_sent++;
		for (unsigned int queue = 0; queue < several.nb_rxq; queue++)
			(void)fx_receive_all(fx->port[1], queue);
		/* The driver tries again, in vain while the fault remains. */
		if (needs_restart() ||
		    (is_for_ever && fx_nb_logged(RTE_LOG_ERR, "cannot rebuild") > 0))
			return -EIO;
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(200);
	}
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

/* ---- The sweep ------------------------------------------------------------------------- */

static const struct operation operations[] = {
	{ "probe", check_not_probed, run_probe, undo_probe },
	{ "probe with netdev_down=1", netdevs_up, run_netdev_down, undo_netdev_down },
	{ "stop and remove", running, run_remove, no_undo, .is_teardown = true },
	{ "configure", probed, run_configure, no_undo },
	{ "Rx queue setup", one_configured, run_rx_setup, no_undo },
	{ "Tx queue setup", one_configured, run_tx_setup, no_undo },
	{ "start", configured, run_start, fx_stop },
	{ "second start", first_started, run_second_start, fx_stop },
	{ "start with interrupts", configured_to_wake, run_start, fx_stop },
	{ "stop", running, run_stop, fx_stop, .is_teardown = true },
	{ "Rx queue start", one_queue_each_stopped, run_rxq_start, fx_stop,
	  .may_be_empty = true },
	{ "Tx queue start", one_queue_each_stopped, run_txq_start, fx_stop },
	{ "Rx queue stop", running, run_rxq_stop, fx_stop, .may_be_empty = true },
	{ "Tx queue stop", running, run_txq_stop, fx_stop, .is_teardown = true },
	{ "RSS key", running, run_key, fx_stop },
	{ "RSS table", running, run_reta, fx_stop, .may_be_empty = true },
	{ "MTU", configured, run_mtu, no_undo, .may_be_empty = true },
	{ "VLAN stripping", configured, run_vlan_strip, no_undo, .may_be_empty = true },
	{ "Rx interrupt", running_to_wake, run_rx_interrupt, fx_stop,
	  .may_be_empty = true },
	{ "DMA map", memory_registered, run_dma_map, undo_dma_map },
	{ "link", running, run_link, fx_stop },
	{ "information", running, run_info, fx_stop, .may_be_empty = true },
	{ "statistics", running, run_stats, fx_stop, .may_be_empty = true },
	{ "dumps", running, run_dump, fx_stop, .may_be_empty = true },
	{ "telemetry", running, run_telemetry, fx_stop, .is_teardown = true },
	{ "reset", configured, run_reset, no_undo, .destroys_first = true },
	{ "recovery", running_for_loss, run_recovery, undo_probe,
	  .is_teardown = true, .waits = true },
	{ "Tx queue repair", running, run_tx_repair, fx_stop, .destroys_first = true },
	{ "Rx queue repair", running, run_rx_repair, fx_stop, .destroys_first = true },
};

/* Start fails without leaks for every pool that is too small. */
static void
test_mbufs_run_out_at_start(void **state)
{
	struct fixture *fx = *state;
	unsigned int needed = several.nb_rxq * several.nb_rxd;

	fx_expect_error("");
	fx->ignore_counters = true;
	for (unsigned int nb = 1; nb <= needed + 1; nb += nb < needed - 2 ? 31 : 1) {
		struct fx_config config = several;
		struct fx_holdings before;
		int ret;

		assert_int_equal(fx_probe(fx, ""), 0);
		config.rx_pool = fx_pool(fx, nb, RTE_MBUF_DEFAULT_BUF_SIZE);
		assert_int_equal(fx_configure(fx, fx->port[0], &config), 0);
		fx_holdings_get(&before);
		ret = fx_dev_start(fx, 0);
		assert_true(ret == 0 || ret == -ENOMEM);
		assert_true(nb >= needed || ret != 0);
		if (ret == 0)
			fx_stop(fx);
		fx_check_holdings(&before, "after start with few mbufs");
		fx_pool_free(fx, config.rx_pool);
		works(fx, "few mbufs");
	}
}

static const struct operation *current;

static int
setup(void **state)
{
	current = *state;
	pools_can_fail();
	return fx_setup_bare(state);
}

static void
test_sweep(void **state)
{
	const unsigned int nb_before = nb_points_total;
	struct fixture *fx = *state;

	fx->ignore_counters = true;
	walk_source(fx, current, KERNEL);
	walk_source(fx, current, DRIVER);
	assert_true(nb_points_total > nb_before || current->may_be_empty);
}

int
main(int argc, char **argv)
{
	struct CMUnitTest tests[RTE_DIM(operations) + 1];
	int ret;

	fx_has_telemetry = true;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	for (unsigned int i = 0; i < RTE_DIM(operations); i++)
		tests[i] = (struct CMUnitTest){ operations[i].name, test_sweep, setup,
						fx_teardown, (void *)(uintptr_t)&operations[i] };
	tests[RTE_DIM(operations)] =
		(struct CMUnitTest)FX_TEST_BARE(test_mbufs_run_out_at_start);
	ret = FX_RUN("fault", tests);
	printf("sweep: %u calls in clean runs, %u faults, %u mbufs in queues that the kernel kept\n",
	       nb_calls_total, nb_points_total, nb_kept);
	return ret;
}
