/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Every kernel call and every allocation of every operation made to fail
 * once. After each failure the program holds what it held before, and the
 * same operation, tried again, succeeds and packets pass.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "imports.h"

/* More kernel calls than any operation needs. */
#define MAX_CALLS 2000

/* Not a kernel call but an allocation fails. */
#define ALLOCATION 0

static const int errors[] = { ALLOCATION, EIO, ENOMEM, EINVAL, EBUSY, EPROTO };

static const struct bench_config several = {
	.nb_rxq = 4,
	.nb_txq = 3,
	.nb_rxd = 64,
	.nb_txd = 64,
	.rss_hf = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP,
};

/* With all that can be listened to. */
static const struct bench_config woken = {
	.nb_rxq = 3,
	.nb_txq = 1,
	.nb_rxd = 64,
	.nb_txd = 64,
	.rss_hf = RTE_ETH_RSS_IPV4,
	.intr = { .lsc = 1, .rxq = 1, .rmv = 1 },
};

struct operation {
	const char *name;
	/* the state from which the operation starts */
	void (*before)(struct bench *bench);
	int (*run)(struct bench *bench);
	/* the operation's own undoing, when it succeeded */
	void (*undo)(struct bench *bench);
};

static void
check_mbufs(struct bench *bench, const struct operation *operation)
{
	unsigned int nb = rte_mempool_avail_count(bench->pool);

	if (nb != BENCH_NB_MBUFS)
		fail_msg("%s: %u mbufs are missing", operation->name, BENCH_NB_MBUFS - nb);
}

/* Works as if nothing had been. */
static void
works(struct bench *bench, const struct operation *operation)
{
	if (!bench->is_probed)
		assert_int_equal(bench_probe(bench, ""), 0);
	bench_start(bench, &several);
	bench_send(bench->port[0], 0,
		   (struct rte_mbuf *[]){ bench_frame(bench->pool, 64, 1) }, 1);
	bench_send(bench->port[1], 0,
		   (struct rte_mbuf *[]){ bench_frame(bench->pool, 64, 1) }, 1);
	bench_drain(bench);
	bench_stop(bench);
	check_mbufs(bench, operation);
	bench_remove(bench);
}

/* Runs the operation with its n-th call failing; *hits: whether there was one. */
static int
run_with_fault(struct bench *bench, const struct operation *operation, unsigned int n,
	       int error, unsigned int *hits)
{
	int ret;

	if (error == ALLOCATION) {
		imports_arm(n);
		ret = operation->run(bench);
		*hits = imports_hits();
		imports_disarm();
	} else {
		assert_int_equal(bench_model.fault_arm("any", n, error), 0);
		ret = operation->run(bench);
		*hits = bench_model.fault_hits();
		bench_model.fault_disarm();
	}
	printf("%s: %s %u: %s\n", operation->name,
	       error == ALLOCATION ? "allocation" : strerrorname_np(error), n,
	       *hits == 0 ? "not reached" : ret == 0 ? "done without it" : "refused");
	return ret;
}

/* Returns false when the operation made fewer calls than n. */
static bool
fail_nth_call(struct bench *bench, const struct operation *operation, unsigned int n,
	      int error)
{
	struct mana_model_port wire[BENCH_NB_PORTS];
	struct bench_holdings before, empty;
	unsigned int hits;
	int ret;

	bench_hold(&empty);
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++)
		assert_int_equal(bench_model.port(0, i, &wire[i]), 0);
	operation->before(bench);
	bench_hold(&before);

	ret = run_with_fault(bench, operation, n, error, &hits);
	if (ret != 0) {
		assert_true(hits > 0);
		bench_check_held(&before, operation->name);
		/* the very same once more, and now nothing is in its way */
		assert_int_equal(operation->run(bench), 0);
	}
	operation->undo(bench);
	works(bench, operation);
	bench_check_held(&empty, operation->name);
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++) {
		struct mana_model_port now;

		assert_int_equal(bench_model.port(0, i, &now), 0);
		assert_true(now.rx_packets > wire[i].rx_packets);
	}
	return hits > 0;
}

static void
walk(struct bench *bench, const struct operation *operation)
{
	/* what fails is said, as an error: any text is expected here */
	bench_expect_error("");
	bench->ignore_counters = true;
	assert_true(imports_hook(getenv("MANA_PLUGIN")) > 0);
	for (unsigned int i = 0; i < RTE_DIM(errors); i++) {
		unsigned int n = 1;

		while (fail_nth_call(bench, operation, n, errors[i]))
			assert_true(++n < MAX_CALLS);
		assert_true(n > 1); /* or the operation is not tested at all */
	}
}

static void
nothing(struct bench *bench)
{
	assert_false(bench->is_probed);
}

static int
run_probe(struct bench *bench)
{
	return bench_probe(bench, "");
}

static void
test_probe(void **state)
{
	static const struct operation operation = {
		"probe", nothing, run_probe, bench_remove,
	};

	walk(*state, &operation);
}

static void
netdevs_up(struct bench *bench)
{
	nothing(bench);
	assert_int_equal(bench_model.netdev_set("mana0p0", true), 0);
	assert_int_equal(bench_model.netdev_set("mana0p1", true), 0);
}

static int
run_takeover(struct bench *bench)
{
	return bench_probe(bench, "netdev_down=1");
}

static void
undo_takeover(struct bench *bench)
{
	bench_remove(bench);
	assert_int_equal(bench_model.netdev_set("mana0p0", false), 0);
	assert_int_equal(bench_model.netdev_set("mana0p1", false), 0);
}

static void
test_takeover(void **state)
{
	static const struct operation operation = {
		"takeover", netdevs_up, run_takeover, undo_takeover,
	};

	walk(*state, &operation);
}

static void
probed(struct bench *bench)
{
	struct rte_eth_conf conf = {
		.rxmode = { .mq_mode = RTE_ETH_MQ_RX_RSS },
		.rx_adv_conf = { .rss_conf = { .rss_hf = RTE_ETH_RSS_IPV4 } },
	};

	assert_int_equal(bench_probe(bench, ""), 0);
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++)
		assert_int_equal(rte_eth_dev_configure(bench->port[i], 1, 1, &conf), 0);
}

static int
run_rx_setup(struct bench *bench)
{
	return rte_eth_rx_queue_setup(bench->port[0], 0, 64, SOCKET_ID_ANY, NULL,
				      bench->pool);
}

static void
no_undo(struct bench *bench __rte_unused)
{
}

static void
test_rx_queue_setup(void **state)
{
	static const struct operation operation = {
		"Rx queue setup", probed, run_rx_setup, no_undo,
	};

	walk(*state, &operation);
}

static void
configured(struct bench *bench)
{
	assert_int_equal(bench_probe(bench, ""), 0);
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++)
		assert_int_equal(bench_configure(bench, bench->port[i], &several), 0);
}

static int
run_start(struct bench *bench)
{
	return bench_dev_start(bench, 0);
}

static void
test_start(void **state)
{
	static const struct operation operation = {
		"start", configured, run_start, bench_stop,
	};

	walk(*state, &operation);
}

/* Send queues of a running port. */
static void
one_txq_stopped(struct bench *bench)
{
	configured(bench);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_stop(bench->port[0], 1), 0);
}

static int
run_txq_start(struct bench *bench)
{
	return rte_eth_dev_tx_queue_start(bench->port[0], 1);
}

static void
test_txq_start(void **state)
{
	static const struct operation operation = {
		"Tx queue start", one_txq_stopped, run_txq_start, bench_stop,
	};

	walk(*state, &operation);
}

static void
configured_to_wake(struct bench *bench)
{
	assert_int_equal(bench_probe(bench, ""), 0);
	assert_int_equal(bench_configure(bench, bench->port[0], &woken), 0);
}

static void
test_start_with_interrupts(void **state)
{
	static const struct operation operation = {
		"start with interrupts", configured_to_wake, run_start, bench_stop,
	};

	walk(*state, &operation);
}

/* Receive queues of a running port, each allocation of a change failing once. */
static int
stop_rxq(struct bench *bench)
{
	return rte_eth_dev_rx_queue_stop(bench->port[0], 2);
}

static int
start_rxq(struct bench *bench)
{
	return rte_eth_dev_rx_queue_start(bench->port[0], 2);
}

/* Returns false when the operation has fewer allocations than n. */
static bool
fail_nth_allocation(struct bench *bench, int (*run)(struct bench *bench), unsigned int n)
{
	struct bench_holdings before, now;
	unsigned int hits;
	int ret;

	bench_hold(&before);
	imports_arm(n);
	ret = run(bench);
	hits = imports_hits();
	imports_disarm();
	if (ret == 0)
		return hits > 0;
	assert_true(hits > 0);
	bench_hold(&now);
	/* an element of the heap may be a little larger than asked for */
	before.heap_bytes = now.heap_bytes;
	bench_check_held(&before, "after the refused change");
	assert_int_equal(run(bench), 0);
	return true;
}

static void
test_rxq_changes(void **state)
{
	struct bench *bench = *state;
	unsigned int nb_done = 0;

	bench_expect_error("");
	bench->ignore_counters = true;
	assert_true(imports_hook(getenv("MANA_PLUGIN")) > 0);
	configured(bench);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	for (bool is_any = true; is_any; nb_done++) {
		assert_true(nb_done < MAX_CALLS);
		is_any = fail_nth_allocation(bench, stop_rxq, nb_done + 1);
		is_any |= fail_nth_allocation(bench, start_rxq, nb_done + 1);
	}
	assert_true(nb_done > 10);
	bench_stop(bench);
	works(bench, &(struct operation){ .name = "Rx queue changes" });
}

/* The second port of a function starts while the first one runs. */
static void
first_started(struct bench *bench)
{
	configured(bench);
	assert_int_equal(bench_dev_start(bench, 0), 0);
}

static int
run_second_start(struct bench *bench)
{
	return bench_dev_start(bench, 1);
}

static void
test_second_start(void **state)
{
	static const struct operation operation = {
		"second start", first_started, run_second_start, bench_stop,
	};
	struct bench *bench = *state;

	bench_expect_error("");
	bench->ignore_counters = true;
	for (unsigned int n = 1; n < 12; n++) {
		struct bench_holdings before;

		operation.before(bench);
		bench_hold(&before);
		assert_int_equal(bench_model.fault_arm("any", n, EIO), 0);
		if (operation.run(bench) != 0)
			bench_check_held(&before, operation.name);
		bench_model.fault_disarm();
		bench_stop(bench);
		works(bench, &operation);
	}
}

/* Stop and close must free everything that they can, whatever the kernel says. */
static void
test_stop_and_close(void **state)
{
	struct bench *bench = *state;
	struct bench_holdings bare;

	bench_hold(&bare);
	bench_expect_error("");
	bench->ignore_counters = true;
	for (unsigned int n = 1; n < 40; n++) {
		assert_int_equal(bench_probe(bench, ""), 0);
		bench_start(bench, &several);
		bench_drain(bench);
		assert_int_equal(bench_model.fault_arm("any", n, EIO), 0);
		bench_stop(bench);
		check_mbufs(bench, &(struct operation){ .name = "stop" });
		bench_remove(bench);
		bench_model.fault_disarm();
	}
	/* an object that the kernel refused to destroy went with its context */
	bench_check_held(&bare, "after faults at stop");
	assert_int_equal(bench_probe(bench, ""), 0);
	bench_start(bench, &several);
	bench_drain(bench);
}

/* At every size of the pool that is too small, start refuses and gives all back. */
static void
test_mbufs_run_out_at_start(void **state)
{
	struct bench *bench = *state;
	unsigned int needed = several.nb_rxq * several.nb_rxd;

	bench_expect_error("");
	bench->ignore_counters = true;
	for (unsigned int nb = 1; nb <= needed + 1; nb += nb < needed - 2 ? 31 : 1) {
		struct bench_config config = several;
		struct bench_holdings before;
		int ret;

		assert_int_equal(bench_probe(bench, ""), 0);
		config.rx_pool = bench_pool(bench, nb, RTE_MBUF_DEFAULT_BUF_SIZE);
		assert_int_equal(bench_configure(bench, bench->port[0], &config), 0);
		bench_hold(&before);
		ret = bench_dev_start(bench, 0);
		assert_true(ret == 0 || ret == -ENOMEM);
		assert_true(nb >= needed || ret != 0);
		if (ret == 0)
			bench_stop(bench);
		bench_check_held(&before, "after start with few mbufs");
		bench_pool_free(bench, config.rx_pool);
		works(bench, &(struct operation){ .name = "few mbufs" });
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST_BARE(test_probe),
		BENCH_TEST_BARE(test_takeover),
		BENCH_TEST_BARE(test_rx_queue_setup),
		BENCH_TEST_BARE(test_start),
		BENCH_TEST_BARE(test_txq_start),
		BENCH_TEST_BARE(test_start_with_interrupts),
		BENCH_TEST_BARE(test_rxq_changes),
		BENCH_TEST_BARE(test_second_start),
		BENCH_TEST_BARE(test_stop_and_close),
		BENCH_TEST_BARE(test_mbufs_run_out_at_start),
	};

	return BENCH_RUN("fault", tests);
}
