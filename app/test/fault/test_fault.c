/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Lets every kernel call and every allocation of every operation fail once.
 * After each failure the process holds the same resources as before, a second
 * attempt succeeds, and packets pass.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "allocations.h"

/* More kernel calls than any operation makes. */
#define MAX_CALLS 2000

/* An allocation fails instead of a kernel call. */
#define ALLOCATION 0

static const int errors[] = { ALLOCATION, EIO, ENOMEM, EINVAL, EBUSY, EPROTO };

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
	/* undoes a successful operation */
	void (*undo)(struct fixture *fx);
};

static void
check_mbufs(struct fixture *fx, const struct operation *operation)
{
	unsigned int nb = rte_mempool_avail_count(fx->pool);

	if (nb != FX_NB_MBUFS)
		fail_msg("%s: lacks %u mbufs", operation->name, FX_NB_MBUFS - nb);
}

/* The port works. */
static void
works(struct fixture *fx, const struct operation *operation)
{
	if (!fx->is_probed)
		assert_int_equal(fx_probe(fx, ""), 0);
	fx_start(fx, &several);
	fx_send(fx->port[0], 0,
		(struct rte_mbuf *[]){ fx_frame(fx->pool, 64, 1) }, 1);
	fx_send(fx->port[1], 0,
		(struct rte_mbuf *[]){ fx_frame(fx->pool, 64, 1) }, 1);
	fx_drain(fx);
	fx_stop(fx);
	check_mbufs(fx, operation);
	fx_remove(fx);
}

/* Lets the n-th call of the operation fail; *hits: whether it was made. */
static int
run_with_fault(struct fixture *fx, const struct operation *operation, unsigned int n,
	       int error, unsigned int *hits)
{
	int ret;

	if (error == ALLOCATION) {
		allocations_arm(n);
		ret = operation->run(fx);
		*hits = allocations_hits();
		allocations_disarm();
	} else {
		assert_int_equal(fx_model.fault_arm("any", n, error), 0);
		ret = operation->run(fx);
		*hits = fx_model.fault_hits();
		fx_model.fault_disarm();
	}
	printf("%s: %s %u: %s\n", operation->name,
	       error == ALLOCATION ? "allocation" : strerrorname_np(error), n,
	       *hits == 0 ? "not reached" : ret == 0 ? "done without it" : "refused");
	return ret;
}

/* Returns false if the operation makes fewer than n calls. */
static bool
fail_nth_call(struct fixture *fx, const struct operation *operation, unsigned int n,
	      int error)
{
	struct mana_model_port wire[FX_NB_PORTS];
	struct fx_holdings before, empty;
	unsigned int hits;
	int ret;

	fx_holdings_get(&empty);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(fx_model.port(0, i, &wire[i]), 0);
	operation->before(fx);
	fx_holdings_get(&before);

	ret = run_with_fault(fx, operation, n, error, &hits);
	if (ret != 0) {
		assert_true(hits > 0);
		fx_check_holdings(&before, operation->name);
		/* without fault the same operation succeeds */
		assert_int_equal(operation->run(fx), 0);
	}
	operation->undo(fx);
	works(fx, operation);
	fx_check_holdings(&empty, operation->name);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		struct mana_model_port now;

		assert_int_equal(fx_model.port(0, i, &now), 0);
		assert_true(now.rx_packets > wire[i].rx_packets);
	}
	return hits > 0;
}

static void
walk(struct fixture *fx, const struct operation *operation)
{
	/* any error text is expected */
	fx_expect_error("");
	fx->ignore_counters = true;
	for (unsigned int i = 0; i < RTE_DIM(errors); i++) {
		unsigned int n = 1;

		while (fail_nth_call(fx, operation, n, errors[i]))
			assert_true(++n < MAX_CALLS);
		assert_true(n > 1); /* else the operation is not tested */
	}
}

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
test_probe(void **state)
{
	static const struct operation operation = {
		"probe", check_not_probed, run_probe, fx_remove,
	};

	walk(*state, &operation);
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
	fx_remove(fx);
	assert_int_equal(fx_model.netdev_set("mana0p0", false), 0);
	assert_int_equal(fx_model.netdev_set("mana0p1", false), 0);
}

static void
test_netdev_down(void **state)
{
	static const struct operation operation = {
		"netdev down", netdevs_up, run_netdev_down, undo_netdev_down,
	};

	walk(*state, &operation);
}

static void
probed(struct fixture *fx)
{
	struct rte_eth_conf conf = {
		.rxmode = { .mq_mode = RTE_ETH_MQ_RX_RSS },
		.rx_adv_conf = { .rss_conf = { .rss_hf = RTE_ETH_RSS_IPV4 } },
	};

	assert_int_equal(fx_probe(fx, ""), 0);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(rte_eth_dev_configure(fx->port[i], 1, 1, &conf), 0);
}

static int
run_rx_setup(struct fixture *fx)
{
	return rte_eth_rx_queue_setup(fx->port[0], 0, 64, SOCKET_ID_ANY, NULL,
				      fx->pool);
}

static void
no_undo(struct fixture *fx __rte_unused)
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
configured(struct fixture *fx)
{
	assert_int_equal(fx_probe(fx, ""), 0);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(fx_configure(fx, fx->port[i], &several), 0);
}

static int
run_start(struct fixture *fx)
{
	return fx_dev_start(fx, 0);
}

static void
test_start(void **state)
{
	static const struct operation operation = {
		"start", configured, run_start, fx_stop,
	};

	walk(*state, &operation);
}

/* Tx queues of a running port. */
static void
one_txq_stopped(struct fixture *fx)
{
	configured(fx);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], 1), 0);
}

static int
run_txq_start(struct fixture *fx)
{
	return rte_eth_dev_tx_queue_start(fx->port[0], 1);
}

static void
test_txq_start(void **state)
{
	static const struct operation operation = {
		"Tx queue start", one_txq_stopped, run_txq_start, fx_stop,
	};

	walk(*state, &operation);
}

static void
configured_to_wake(struct fixture *fx)
{
	assert_int_equal(fx_probe(fx, ""), 0);
	assert_int_equal(fx_configure(fx, fx->port[0], &woken), 0);
}

static void
test_start_with_interrupts(void **state)
{
	static const struct operation operation = {
		"start with interrupts", configured_to_wake, run_start, fx_stop,
	};

	walk(*state, &operation);
}

/* Rx queues of a running port: each allocation of an RSS rebuild fails once. */
/* An RSS rebuild. */
static int
change_key(struct fixture *fx)
{
	static uint8_t key[40];
	struct rte_eth_rss_conf rss = { .rss_hf = RTE_ETH_RSS_IPV4, .rss_key = key,
					.rss_key_len = sizeof(key) };

	key[0]++;
	return rte_eth_dev_rss_hash_update(fx->port[0], &rss);
}

/* Returns false if the operation makes fewer than n allocations. */
static bool
fail_nth_allocation(struct fixture *fx, int (*run)(struct fixture *fx), unsigned int n)
{
	struct fx_holdings before, now;
	unsigned int hits;
	int ret;

	fx_holdings_get(&before);
	allocations_arm(n);
	ret = run(fx);
	hits = allocations_hits();
	allocations_disarm();
	if (ret == 0)
		return hits > 0;
	assert_true(hits > 0);
	fx_holdings_get(&now);
	/* the heap may round an element up */
	before.heap_bytes = now.heap_bytes;
	fx_check_holdings(&before, "after the refused change");
	assert_int_equal(run(fx), 0);
	return true;
}

static void
test_rss_rebuild(void **state)
{
	struct fixture *fx = *state;
	unsigned int nb_done = 0;

	fx_expect_error("");
	fx->ignore_counters = true;
	configured(fx);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	for (bool is_any = true; is_any; nb_done++) {
		assert_true(nb_done < MAX_CALLS);
		is_any = fail_nth_allocation(fx, change_key, nb_done + 1);
	}
	assert_true(nb_done > 10);
	fx_stop(fx);
	works(fx, &(struct operation){ .name = "an RSS rebuild" });
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
test_second_start(void **state)
{
	static const struct operation operation = {
		"second start", first_started, run_second_start, fx_stop,
	};
	struct fixture *fx = *state;

	fx_expect_error("");
	fx->ignore_counters = true;
	for (unsigned int n = 1; n < 12; n++) {
		struct fx_holdings before;

		operation.before(fx);
		fx_holdings_get(&before);
		assert_int_equal(fx_model.fault_arm("any", n, EIO), 0);
		if (operation.run(fx) != 0)
			fx_check_holdings(&before, operation.name);
		fx_model.fault_disarm();
		fx_stop(fx);
		works(fx, &operation);
	}
}

/* Stop and close free everything that they can when kernel calls fail. */
static void
test_stop_and_close(void **state)
{
	struct fixture *fx = *state;
	struct fx_holdings bare;

	fx_holdings_get(&bare);
	fx_expect_error("");
	fx->ignore_counters = true;
	for (unsigned int n = 1; n < 40; n++) {
		assert_int_equal(fx_probe(fx, ""), 0);
		fx_start(fx, &several);
		fx_drain(fx);
		assert_int_equal(fx_model.fault_arm("any", n, EIO), 0);
		fx_stop(fx);
		check_mbufs(fx, &(struct operation){ .name = "stop" });
		fx_remove(fx);
		fx_model.fault_disarm();
	}
	/* closing the context freed objects whose destruction failed */
	fx_check_holdings(&bare, "after faults at stop");
	assert_int_equal(fx_probe(fx, ""), 0);
	fx_start(fx, &several);
	fx_drain(fx);
}

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
		works(fx, &(struct operation){ .name = "few mbufs" });
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		FX_TEST_BARE(test_probe),
		FX_TEST_BARE(test_netdev_down),
		FX_TEST_BARE(test_rx_queue_setup),
		FX_TEST_BARE(test_start),
		FX_TEST_BARE(test_txq_start),
		FX_TEST_BARE(test_start_with_interrupts),
		FX_TEST_BARE(test_rss_rebuild),
		FX_TEST_BARE(test_second_start),
		FX_TEST_BARE(test_stop_and_close),
		FX_TEST_BARE(test_mbufs_run_out_at_start),
	};

	return FX_RUN("fault", tests);
}
