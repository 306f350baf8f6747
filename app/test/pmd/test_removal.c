/* SPDX-License-Identifier: BSD-3-Clause */

/* The kernel takes the device away, and it comes back. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_dev.h>

#include "bench.h"

#define NB_FIRES 30

static const struct bench_config plain;
static const struct bench_config told = { .nb_rxq = 2, .nb_txq = 2,
					  .intr = { .lsc = 1, .rxq = 1, .rmv = 1 } };

/* What the interrupt thread has told, by port. */
static struct {
	unsigned int nb_removed;
	int close_error; /* of a close in the callback; 1: none was tried */
	bool close;
} told_of[RTE_MAX_ETHPORTS];

static int
on_removal(uint16_t port, enum rte_eth_event_type type __rte_unused,
	   void *arg __rte_unused, void *ret_param __rte_unused)
{
	if (told_of[port].close) {
		(void)rte_eth_dev_stop(port);
		told_of[port].close_error = rte_eth_dev_close(port);
	}
	__atomic_add_fetch(&told_of[port].nb_removed, 1, __ATOMIC_RELEASE);
	return 0;
}

static unsigned int
nb_told(uint16_t port)
{
	return __atomic_load_n(&told_of[port].nb_removed, __ATOMIC_ACQUIRE);
}

static void
listen_all(const struct bench *bench)
{
	memset(told_of, 0, sizeof(told_of));
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++)
		assert_int_equal(rte_eth_dev_callback_register(bench->port[i],
					 RTE_ETH_EVENT_INTR_RMV, on_removal, NULL), 0);
}

static void
unlisten_all(const struct bench *bench)
{
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++)
		(void)rte_eth_dev_callback_unregister(bench->port[i],
			RTE_ETH_EVENT_INTR_RMV, on_removal, NULL);
}

static void
wait_told(const struct bench *bench)
{
	uint64_t end = bench_deadline();

	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++)
		while (nb_told(bench->port[i]) == 0) {
			if (rte_get_timer_cycles() > end)
				fail_msg("port %u is not told", bench->port[i]);
			rte_delay_us_sleep(1000);
		}
}

static void
wait_gone(const struct bench *bench)
{
	uint64_t end = bench_deadline();

	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++)
		while (rte_eth_dev_is_removed(bench->port[i]) == 0) {
			if (rte_get_timer_cycles() > end)
				fail_msg("port %u is still there", bench->port[i]);
			rte_delay_us_sleep(1000);
		}
}

/* No burst does anything, though the queues are full size. */
static void
check_bursts_idle(const struct bench *bench)
{
	struct rte_mbuf *m = bench_frame(bench->pool, 64, 1);
	struct rte_mbuf *pkts[BENCH_BURST];

	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++) {
		for (int n = 0; n < 300; n++) {
			assert_int_equal(rte_eth_rx_burst(bench->port[i], 0, pkts,
							  RTE_DIM(pkts)), 0);
			assert_int_equal(rte_eth_tx_burst(bench->port[i], 0, &m, 1), 0);
		}
	}
	rte_pktmbuf_free(m);
}

static void
check_refused(struct bench *bench, unsigned int index)
{
	uint16_t port = bench->port[index];
	struct rte_eth_link link;
	struct rte_eth_stats stats;

	assert_int_equal(rte_eth_dev_start(port), -EIO);
	assert_int_equal(bench_configure(bench, port, &plain), -EIO);
	/* what was counted can still be read */
	assert_int_equal(rte_eth_stats_get(port, &stats), 0);
	assert_int_equal(rte_eth_link_get_nowait(port, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
}

static void
comes_back(struct bench *bench)
{
	bench_tell("return fn=0");
	assert_int_equal(bench_probe(bench, ""), 0);
	bench_start(bench, &plain);
	bench_pass_one(bench);
	bench_stop(bench);
	/* the wire's are of both lives */
	bench->ignore_counters = true;
}

static uint64_t
xstat_of(uint16_t port, const char *name)
{
	uint64_t id, value;

	assert_int_equal(rte_eth_xstats_get_id_by_name(port, name, &id), 0);
	assert_int_equal(rte_eth_xstats_get_by_id(port, &id, &value, 1), 1);
	return value;
}

static void
goes_and_comes_back(struct bench *bench, const char *command)
{
	struct rte_eth_stats stats;

	bench_expect_error("");
	listen_all(bench);
	bench_start(bench, &told);
	bench_pass_one(bench);
	bench_tell(command);
	wait_told(bench);
	check_bursts_idle(bench);
	assert_int_equal(rte_eth_stats_get(bench->port[0], &stats), 0);
	assert_int_equal(stats.opackets, 1);
	assert_int_equal(xstat_of(bench->port[0], "resets"), 1);
	bench_stop(bench);
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++) {
		check_refused(bench, i);
		assert_int_equal(nb_told(bench->port[i]), 1);
	}
	unlisten_all(bench);
	bench_remove(bench);
	comes_back(bench);
}

static void
test_fatal(void **state)
{
	goes_and_comes_back(*state, "fatal fn=0");
	/* what to do is said of each port, and at each refusal */
	assert_true(bench_nb_logged(RTE_LOG_ERR, "probe it again") >= 4);
}

static void
test_hot_removal(void **state)
{
	goes_and_comes_back(*state, "remove fn=0");
}

static void
test_queue_setup_refused(void **state)
{
	struct bench *bench = *state;

	bench_expect_error("");
	assert_int_equal(bench_configure(bench, bench->port[0], &plain), 0);
	bench_tell("fatal fn=0");
	wait_gone(bench);
	assert_int_equal(rte_eth_rx_queue_setup(bench->port[0], 0, 256, SOCKET_ID_ANY,
						NULL, bench->pool), -EIO);
	assert_int_equal(rte_eth_tx_queue_setup(bench->port[0], 0, 256, SOCKET_ID_ANY,
						NULL), -EIO);
	bench_remove(bench);
	comes_back(bench);
}

/* A service of the card: it comes back by itself, the probe has to wait. */
static void
service(struct bench *bench, const char *command)
{
	uint64_t end;

	listen_all(bench);
	bench_start(bench, &told);
	bench_pass_one(bench);
	bench_tell(command);
	wait_told(bench);
	bench_stop(bench);
	unlisten_all(bench);
	bench_remove(bench);
	end = bench_deadline();
	while (bench_probe(bench, "") != 0) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(10000);
	}
	bench_start(bench, &plain);
	bench_pass_one(bench);
	bench_stop(bench);
}

static void
test_service(void **state)
{
	struct bench *bench = *state;

	bench_expect_error("");
	service(bench, "reset fn=0 outage=20ms");
	service(bench, "reset fn=0 outage=20ms pci");
	bench->ignore_counters = true;
}

/* Again and again, and no descriptor or object stays. */
static void
test_removal_many_times(void **state)
{
	struct bench *bench = *state;
	struct bench_holdings before;

	bench_expect_error("");
	bench_hold(&before);
	for (int i = 0; i < 10; i++) {
		bench_start(bench, &plain);
		bench_pass_one(bench);
		bench_tell(i % 2 == 0 ? "fatal fn=0" : "remove fn=0");
		wait_gone(bench);
		bench_stop(bench);
		bench_remove(bench);
		bench_tell("return fn=0");
		assert_int_equal(bench_probe(bench, ""), 0);
	}
	bench_check_held(&before, "after removals");
	bench->ignore_counters = true;
}

/* Nobody has asked to be told: the port is quiet all the same. */
static void
test_removal_untold(void **state)
{
	struct bench *bench = *state;

	bench_expect_error("");
	listen_all(bench);
	bench_start(bench, &plain);
	bench_tell("remove fn=0");
	wait_gone(bench);
	check_bursts_idle(bench);
	/* memory comes and goes, which nobody can be told of */
	bench_pool_free(bench, bench_pool(bench, 100, RTE_MBUF_DEFAULT_BUF_SIZE));
	bench_stop(bench);
	assert_int_equal(nb_told(bench->port[0]), 0);
	unlisten_all(bench);
	bench_remove(bench);
	comes_back(bench);
}

static void
test_removal_of_stopped_port(void **state)
{
	struct bench *bench = *state;

	bench_expect_error("");
	listen_all(bench);
	bench_start(bench, &told);
	bench_stop(bench);
	bench_tell("remove fn=0");
	wait_told(bench);
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++)
		check_refused(bench, i);
	unlisten_all(bench);
	bench_remove(bench);
	comes_back(bench);
}

static void
test_removal_of_unconfigured_port(void **state)
{
	struct bench *bench = *state;

	bench_expect_error("");
	bench_tell("fatal fn=0");
	wait_gone(bench);
	bench_remove(bench);
	comes_back(bench);
}

/* The application closes the port when it is told, in the interrupt thread. */
static void
test_close_when_told(void **state)
{
	struct bench *bench = *state;

	bench_expect_error("");
	listen_all(bench);
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++) {
		told_of[bench->port[i]].close = true;
		told_of[bench->port[i]].close_error = 1;
	}
	bench_start(bench, &told);
	bench_pass_one(bench);
	bench_tell("remove fn=0");
	wait_told(bench);
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++) {
		assert_int_equal(told_of[bench->port[i]].close_error, 0);
		assert_false(rte_eth_dev_is_valid_port(bench->port[i]));
		bench->is_started[i] = false;
	}
	bench_remove(bench);
	comes_back(bench);
	unlisten_all(bench); /* ethdev keeps the callbacks of a closed port */
}

/* As test_close_when_told(), told of the link: by the removal, by the carrier. */
static void
test_close_when_link_told(void **state)
{
	static const struct bench_config config = { .intr = { .lsc = 1, .rmv = 1 } };
	static const char *const causes[] = { "remove fn=0", "link port=1 down" };
	struct bench *bench = *state;
	unsigned int nb_causes = RTE_DIM(causes);
	struct bench_holdings before;

	bench_expect_error("");
	bench_hold(&before);
	for (unsigned int c = 0; c < nb_causes; c++) {
		struct rte_eth_link link;

		memset(told_of, 0, sizeof(told_of));
		bench_start(bench, &config);
		bench_pass_one(bench);
		/* Linux up to 6.12 tells neither the speed nor the carrier. */
		assert_int_equal(rte_eth_link_get(bench->port[0], &link), 0);
		if (link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN)
			nb_causes = 1;
		for (unsigned int i = 0; i < BENCH_NB_PORTS; i++) {
			told_of[bench->port[i]].close = true;
			told_of[bench->port[i]].close_error = 1;
			assert_int_equal(rte_eth_dev_callback_register(bench->port[i],
					 RTE_ETH_EVENT_INTR_LSC, on_removal, NULL), 0);
		}
		bench_tell(causes[c]);
		wait_told(bench);
		for (unsigned int i = 0; i < BENCH_NB_PORTS; i++) {
			assert_int_equal(told_of[bench->port[i]].close_error, 0);
			assert_int_equal(nb_told(bench->port[i]), 1);
			assert_false(rte_eth_dev_is_valid_port(bench->port[i]));
			bench->is_started[i] = false;
		}
		bench_remove(bench);
		bench_tell(c == 0 ? "return fn=0" : "link port=1 up");
		assert_int_equal(bench_probe(bench, ""), 0);
		/* ethdev keeps the callbacks of a closed port */
		for (unsigned int i = 0; i < BENCH_NB_PORTS; i++)
			while (rte_eth_dev_callback_unregister(bench->port[i],
				RTE_ETH_EVENT_INTR_LSC, on_removal, NULL) == -EAGAIN)
				rte_delay_us_sleep(1000);
	}
	bench_check_held(&before, "after closes in the interrupt thread");
	bench->ignore_counters = true;
}

/* Frames that the device has not sent are the driver's until stop. */
static void
test_removal_with_frames_outstanding(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *pkts[100];

	bench_expect_error("");
	bench_start(bench, &plain);
	bench_tell("stall port=1 tx");
	for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
		pkts[i] = bench_frame(bench->pool, 100, i);
	bench_send(bench->port[0], 0, pkts, RTE_DIM(pkts));
	bench_tell("remove fn=0");
	wait_gone(bench);
	check_bursts_idle(bench);
	bench_stop(bench);
	assert_int_equal(rte_mempool_avail_count(bench->pool), BENCH_NB_MBUFS);
	bench_remove(bench);
	bench_tell("inject off");
	comes_back(bench);
}

/* It goes at any point of a start, which fails and leaves nothing. */
static void
test_removal_during_start(void **state)
{
	static const char *const calls[] = { "create_cq:1", "create_qp:1",
					     "create_wq:1", "create_qp:2" };
	struct bench *bench = *state;

	bench_expect_error("");
	for (unsigned int i = 0; i < RTE_DIM(calls); i++) {
		char line[64];

		assert_int_equal(bench_configure(bench, bench->port[0], &told), 0);
		snprintf(line, sizeof(line), "at call=%s fatal fn=0", calls[i]);
		bench_tell(line);
		assert_int_equal(bench_dev_start(bench, 0), -EIO);
		wait_gone(bench);
		assert_int_equal(rte_mempool_avail_count(bench->pool), BENCH_NB_MBUFS);
		bench_remove(bench);
		bench_tell("return fn=0");
		assert_int_equal(bench_probe(bench, ""), 0);
	}
	bench->ignore_counters = true;
}

/* It goes while a send queue starts, behind the last verb that fails. */
static void
test_removal_during_queue_start(void **state)
{
	struct bench *bench = *state;

	bench_expect_error("");
	for (unsigned int i = 0; i < 10; i++) {
		uint16_t port = bench->port[0];

		bench_start(bench, &plain);
		/* an internal one keeps the vPort, and goes when this one is back */
		assert_int_equal(rte_eth_dev_tx_queue_stop(port, 0), 0);
		bench_tell("at call=destroy_qp:1 fatal fn=0");
		(void)rte_eth_dev_tx_queue_start(port, 0);
		wait_gone(bench);
		check_bursts_idle(bench);
		bench_stop(bench);
		bench_remove(bench);
		bench_tell("return fn=0");
		assert_int_equal(bench_probe(bench, ""), 0);
	}
	bench->ignore_counters = true;
}

/* Forwards from one port to the other, as a core does that nobody has told. */
struct forwarder {
	const struct bench *bench;
	unsigned int from;
	uint64_t nb_forwarded;
	bool is_over;
};

static void *
forward(void *arg)
{
	struct forwarder *fwd = arg;
	uint16_t from = fwd->bench->port[fwd->from];
	uint16_t to = fwd->bench->port[fwd->from ^ 1];
	struct rte_mbuf *pkts[BENCH_BURST];
	uint16_t nb, nb_sent;

	while (!__atomic_load_n(&fwd->is_over, __ATOMIC_ACQUIRE)) {
		nb = rte_eth_rx_burst(from, 0, pkts, RTE_DIM(pkts));
		nb_sent = rte_eth_tx_burst(to, 0, pkts, nb);
		if (nb_sent < nb)
			rte_pktmbuf_free_bulk(pkts + nb_sent, nb - nb_sent);
		__atomic_add_fetch(&fwd->nb_forwarded, nb_sent, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Frames that go round and round, each port polled by a thread of its own. */
static void
remove_while_forwarding(struct bench *bench, unsigned int round)
{
	struct forwarder fwd[BENCH_NB_PORTS];
	pthread_t thread[BENCH_NB_PORTS];
	uint64_t end = bench_deadline();

	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++) {
		struct rte_mbuf *m = bench_frame(bench->pool, 100, i);

		bench_send(bench->port[i], 0, &m, 1);
		fwd[i] = (struct forwarder){ .bench = bench, .from = i };
		assert_int_equal(pthread_create(&thread[i], NULL, forward, &fwd[i]), 0);
	}
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++)
		while (__atomic_load_n(&fwd[i].nb_forwarded, __ATOMIC_ACQUIRE) < 50 + round) {
			assert_true(rte_get_timer_cycles() < end);
			rte_delay_us_sleep(10);
		}
	bench_tell(round % 2 == 0 ? "fatal fn=0" : "remove fn=0");
	wait_gone(bench);
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++) {
		__atomic_store_n(&fwd[i].is_over, true, __ATOMIC_RELEASE);
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	}
}

static void
test_removal_under_fire(void **state)
{
	struct bench *bench = *state;

	bench_expect_error("");
	for (unsigned int round = 0; round < NB_FIRES; round++) {
		bench_start(bench, &plain);
		remove_while_forwarding(bench, round);
		bench_stop(bench);
		assert_int_equal(rte_mempool_avail_count(bench->pool), BENCH_NB_MBUFS);
		bench_remove(bench);
		bench_tell("return fn=0");
		assert_int_equal(bench_probe(bench, ""), 0);
	}
	bench->ignore_counters = true;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_fatal),
		BENCH_TEST(test_hot_removal),
		BENCH_TEST(test_service),
		BENCH_TEST(test_queue_setup_refused),
		BENCH_TEST(test_removal_many_times),
		BENCH_TEST(test_removal_untold),
		BENCH_TEST(test_removal_of_stopped_port),
		BENCH_TEST(test_removal_of_unconfigured_port),
		BENCH_TEST(test_close_when_told),
		BENCH_TEST(test_close_when_link_told),
		BENCH_TEST(test_removal_with_frames_outstanding),
		BENCH_TEST(test_removal_during_start),
		BENCH_TEST(test_removal_during_queue_start),
		BENCH_TEST(test_removal_under_fire),
	};

	return BENCH_RUN("removal", tests);
}
