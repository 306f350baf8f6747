/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive queues that start, stop and are set up while the port runs. */

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_cycles.h>

#include "bench.h"

#define NB_RXQ 4
#define NB_RXD 64

static const struct bench_config four = {
	.nb_rxq = NB_RXQ, .nb_rxd = NB_RXD, .rss_hf = BENCH_RSS,
};

/* Frames that were received, by queue. */
struct arrivals {
	unsigned int nb[8];
};

static uint64_t
xstat(uint16_t port, const char *name)
{
	uint64_t id, value;

	assert_int_equal(rte_eth_xstats_get_id_by_name(port, name, &id), 0);
	assert_int_equal(rte_eth_xstats_get_by_id(port, &id, &value, 1), 1);
	return value;
}

static void
send_many(struct bench *bench, unsigned int nb)
{
	for (unsigned int seed = 0; seed < nb; seed++) {
		struct rte_mbuf *m = bench_frame(bench->pool, 100, seed);

		bench_send(bench->port[0], 0, &m, 1);
	}
	bench_settle(bench);
}

/* Polls all queues that run until nothing comes; checks what came. */
static struct arrivals
receive_all(struct bench *bench, uint16_t nb_rxq)
{
	struct arrivals arrivals = { 0 };
	unsigned int nb_empty = 0;

	bench_settle(bench);
	while (nb_empty < 3) {
		unsigned int nb_now = 0;

		for (uint16_t q = 0; q < nb_rxq; q++) {
			struct rte_mbuf *pkts[BENCH_BURST];
			uint16_t nb = rte_eth_rx_burst(bench->port[1], q, pkts,
						       RTE_DIM(pkts));

			for (uint16_t i = 0; i < nb; i++)
				assert_int_equal(pkts[i]->port, bench->port[1]);
			rte_pktmbuf_free_bulk(pkts, nb);
			arrivals.nb[q] += nb;
			nb_now += nb;
		}
		nb_empty = nb_now == 0 ? nb_empty + 1 : 0;
		rte_delay_us_block(200);
	}
	return arrivals;
}

static unsigned int
sum(const struct arrivals *arrivals)
{
	unsigned int nb = 0;

	for (unsigned int i = 0; i < RTE_DIM(arrivals->nb); i++)
		nb += arrivals->nb[i];
	return nb;
}

/* The driver's counters, with the stopped queues' packets, are the wire's. */
static void
check_wire(struct bench *bench)
{
	struct rte_eth_stats stats;

	assert_int_equal(rte_eth_stats_get(bench->port[1], &stats), 0);
	assert_int_equal(stats.ipackets + xstat(bench->port[1], "rx_drop_stopped"),
			 bench_wire(bench, 1).rx_packets);
	assert_int_equal(stats.ierrors, 0);
}

static void
check_state(struct bench *bench, uint16_t queue, uint8_t state)
{
	struct rte_eth_rxq_info info;

	assert_int_equal(rte_eth_rx_queue_info_get(bench->port[1], queue, &info), 0);
	assert_int_equal(info.queue_state, state);
}

static void
stop(struct bench *bench, uint16_t queue)
{
	assert_int_equal(rte_eth_dev_rx_queue_stop(bench->port[1], queue), 0);
	check_state(bench, queue, RTE_ETH_QUEUE_STATE_STOPPED);
}

static void
start(struct bench *bench, uint16_t queue)
{
	assert_int_equal(rte_eth_dev_rx_queue_start(bench->port[1], queue), 0);
	check_state(bench, queue, RTE_ETH_QUEUE_STATE_STARTED);
}

/* As much as before; an element of the heap may be a little larger than asked for. */
static void
check_held(const struct bench_holdings *before, const char *when)
{
	struct bench_holdings now, same = *before;

	bench_hold(&now);
	same.heap_bytes = now.heap_bytes;
	bench_check_held(&same, when);
}

/* Each queue alone: the others go on, its packets are dropped by name. */
static void
check_each(struct bench *bench, uint16_t nb_rxq)
{
	struct bench_config config = four;
	struct bench_holdings running;
	struct arrivals all;

	config.nb_rxq = nb_rxq;
	bench_start(bench, &config);
	bench_hold(&running);
	send_many(bench, 100);
	all = receive_all(bench, nb_rxq);
	assert_int_equal(sum(&all), 100);
	for (uint16_t q = 0; q < nb_rxq; q++) {
		uint64_t before = xstat(bench->port[1], "rx_drop_stopped");
		struct arrivals now;

		stop(bench, q);
		send_many(bench, 100);
		now = receive_all(bench, nb_rxq);
		assert_int_equal(now.nb[q], 0);
		for (uint16_t other = 0; other < nb_rxq; other++)
			if (other != q)
				assert_int_equal(now.nb[other], all.nb[other]);
		/* all running: none is polled when the only one has stopped */
		if (nb_rxq > 1)
			assert_int_equal(xstat(bench->port[1], "rx_drop_stopped") - before,
					 all.nb[q]);
		start(bench, q);
		check_held(&running, "after stop and start");
		send_many(bench, 100);
		now = receive_all(bench, nb_rxq);
		assert_memory_equal(&now, &all, sizeof(all));
		check_wire(bench);
	}
	bench_stop(bench);
}

static void
test_stop_and_start(void **state)
{
	struct bench *bench = *state;

	bench->ignore_counters = true;
	check_each(bench, 4);
	check_each(bench, 2);
	check_each(bench, 3);
	check_each(bench, 5);
}

/* Nobody polls then: a few wait, the rest has no buffer; control sees to them. */
static void
test_all_stopped(void **state)
{
	struct bench *bench = *state;
	struct mana_model_port wire;
	struct arrivals all;

	bench->ignore_counters = true;
	bench_start(bench, &four);
	for (uint16_t q = 0; q < NB_RXQ; q++)
		stop(bench, q);
	send_many(bench, 1000);
	wire = bench_wire(bench, 1);
	assert_true(wire.rx_packets > 0 && wire.rx_no_wqe > 0);
	assert_int_equal(wire.rx_packets + wire.rx_no_wqe, 1000);
	for (uint16_t q = 0; q < NB_RXQ; q++)
		start(bench, q);
	assert_int_equal(xstat(bench->port[1], "rx_drop_stopped"), wire.rx_packets);
	send_many(bench, 100);
	all = receive_all(bench, NB_RXQ);
	assert_int_equal(sum(&all), 100);
	check_wire(bench);
}

/* No RSS: all packets go to queue 0, which stops. */
static void
test_queue_0_without_rss(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxq = 3, .nb_rxd = NB_RXD };
	struct arrivals now;

	bench->ignore_counters = true;
	bench_start(bench, &config);
	stop(bench, 0);
	/* also the one that polls for it */
	stop(bench, 1);
	send_many(bench, 200);
	now = receive_all(bench, 3);
	assert_int_equal(sum(&now), 0);
	start(bench, 1);
	stop(bench, 2);
	send_many(bench, 50);
	now = receive_all(bench, 3);
	assert_int_equal(sum(&now), 0);
	start(bench, 2);
	start(bench, 0);
	send_many(bench, 50);
	now = receive_all(bench, 3);
	assert_int_equal(now.nb[0], 50);
	check_wire(bench);
}

/* What waits when a queue stops: its own is freed, the others' delivered. */
static void
test_stop_with_packets_waiting(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = four;
	struct arrivals all, now;
	struct rte_mempool *pool = bench_pool(bench, 1023, RTE_MBUF_DEFAULT_BUF_SIZE);

	bench->ignore_counters = true;
	config.rx_pool = pool;
	bench_start(bench, &config);
	send_many(bench, 100);
	all = receive_all(bench, NB_RXQ);
	send_many(bench, 100);
	stop(bench, 2);
	now = receive_all(bench, NB_RXQ);
	assert_int_equal(now.nb[2], 0);
	assert_int_equal(sum(&now), 100 - all.nb[2]);
	assert_int_equal(xstat(bench->port[1], "rx_drop_stopped"), all.nb[2]);
	check_wire(bench);
	/* its mbufs are back: port 0 has 4 rings, this one 3 */
	assert_int_equal(rte_mempool_in_use_count(pool), 7 * NB_RXD);
	start(bench, 2);
	/* a backlog that nobody has looked at, twice, and to the end */
	send_many(bench, 100);
	stop(bench, 1);
	send_many(bench, 100);
	stop(bench, 0);
	now = receive_all(bench, NB_RXQ);
	assert_int_equal(now.nb[2], 2 * all.nb[2]);
	assert_int_equal(now.nb[3], 2 * all.nb[3]);
	start(bench, 0);
	start(bench, 1);
	send_many(bench, 100);
	stop(bench, 1);
	bench_stop(bench);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
}

static uint16_t
seed_of(const struct rte_mbuf *m)
{
	const rte_be16_t *port = rte_pktmbuf_mtod_offset(m, const rte_be16_t *, 34);

	return rte_be_to_cpu_16(*port) - 1024;
}

/* Packets of a queue come in the order of the wire, and unharmed. */
static void
test_order_across_a_change(void **state)
{
	struct bench *bench = *state;
	int last[NB_RXQ] = { -1, -1, -1, -1 };
	unsigned int nb_got = 0;

	bench->ignore_counters = true;
	bench_start(bench, &four);
	stop(bench, 3);
	for (unsigned int part = 0; part < 3; part++) {
		for (unsigned int seed = part * 50; seed < part * 50 + 50; seed++) {
			struct rte_mbuf *m = bench_frame(bench->pool, 100, seed);

			bench_send(bench->port[0], 0, &m, 1);
		}
		bench_settle(bench);
		if (part == 0)
			start(bench, 3);
		if (part == 1)
			stop(bench, 3);
		for (uint16_t q = 0; q < 3; q++) {
			struct rte_mbuf *m;

			/* leaves some for the next change */
			for (unsigned int i = 0; i < 7; i++) {
				uint8_t bytes[100];

				if (rte_eth_rx_burst(bench->port[1], q, &m, 1) == 0)
					break;
				bench_frame_bytes(bytes, sizeof(bytes), seed_of(m));
				bench_check_bytes(m, bytes, sizeof(bytes));
				assert_true(seed_of(m) > last[q]);
				last[q] = seed_of(m);
				rte_pktmbuf_free(m);
				nb_got++;
			}
		}
	}
	for (uint16_t q = 0; q < 3; q++) {
		struct rte_mbuf *m;

		while (rte_eth_rx_burst(bench->port[1], q, &m, 1) != 0) {
			assert_true(seed_of(m) > last[q]);
			last[q] = seed_of(m);
			rte_pktmbuf_free(m);
			nb_got++;
		}
	}
	assert_int_equal(nb_got + xstat(bench->port[1], "rx_drop_stopped"), 150);
}

static void
test_deferred_start(void **state)
{
	const struct rte_eth_rxconf deferred = { .rx_deferred_start = 1 };
	struct bench *bench = *state;
	struct arrivals all, now;

	bench->ignore_counters = true;
	assert_int_equal(bench_configure(bench, bench->port[0], &four), 0);
	assert_int_equal(bench_configure(bench, bench->port[1], &four), 0);
	assert_int_equal(rte_eth_rx_queue_setup(bench->port[1], 1, NB_RXD, SOCKET_ID_ANY,
						&deferred, bench->pool), 0);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(bench_dev_start(bench, 1), 0);
		check_state(bench, 1, RTE_ETH_QUEUE_STATE_STOPPED);
		check_state(bench, 0, RTE_ETH_QUEUE_STATE_STARTED);
		send_many(bench, 100);
		now = receive_all(bench, NB_RXQ);
		assert_int_equal(now.nb[1], 0);
		start(bench, 1);
		send_many(bench, 100);
		all = receive_all(bench, NB_RXQ);
		assert_int_equal(sum(&all), 100);
		assert_int_equal(sum(&now), 100 - all.nb[1]);
		check_wire(bench);
		/* deferred again at the next start */
		assert_int_equal(bench_dev_stop(bench, 1), 0);
	}
	for (uint16_t q = 0; q < NB_RXQ; q++)
		assert_int_equal(rte_eth_rx_queue_setup(bench->port[1], q, NB_RXD,
							SOCKET_ID_ANY, &deferred,
							bench->pool), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	for (uint16_t q = 0; q < NB_RXQ; q++)
		start(bench, q);
	send_many(bench, 100);
	now = receive_all(bench, NB_RXQ);
	assert_memory_equal(&now, &all, sizeof(all));
}

/* Another pool, another size; the old pool may go. */
static void
test_set_up_at_run_time(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = four;
	struct rte_mempool *pool = bench_pool(bench, 2047, RTE_MBUF_DEFAULT_BUF_SIZE);
	struct arrivals all, now;

	bench->ignore_counters = true;
	assert_int_equal(bench_configure(bench, bench->port[0], &four), 0);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	config.rx_pool = pool;
	assert_int_equal(bench_configure(bench, bench->port[1], &config), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	send_many(bench, 100);
	all = receive_all(bench, NB_RXQ);
	assert_int_equal(rte_eth_rx_queue_setup(bench->port[1], 0, NB_RXD, SOCKET_ID_ANY,
						NULL, pool), -EBUSY);
	for (uint16_t q = 0; q < NB_RXQ; q++) {
		struct rte_eth_rxq_info info;

		stop(bench, q);
		send_many(bench, 100);
		now = receive_all(bench, NB_RXQ);
		assert_int_equal(sum(&now), 100 - all.nb[q]);
		assert_int_equal(rte_eth_rx_queue_setup(bench->port[1], q, 200,
							SOCKET_ID_ANY, NULL,
							bench->pool), 0);
		start(bench, q);
		assert_int_equal(rte_eth_rx_queue_info_get(bench->port[1], q, &info), 0);
		assert_int_equal(info.nb_desc, 200);
		assert_ptr_equal(info.mp, bench->pool);
		send_many(bench, 100);
		now = receive_all(bench, NB_RXQ);
		assert_memory_equal(&now, &all, sizeof(all));
		check_wire(bench);
	}
	bench_pool_free(bench, pool);
	send_many(bench, 100);
	now = receive_all(bench, NB_RXQ);
	assert_memory_equal(&now, &all, sizeof(all));
}

static void
test_wrong_states(void **state)
{
	struct bench *bench = *state;
	struct arrivals all;

	bench_expect_error("");
	assert_int_equal(bench_configure(bench, bench->port[1], &four), 0);
	assert_int_equal(rte_eth_dev_rx_queue_start(bench->port[1], 0), -EINVAL);
	bench_start(bench, &four);
	assert_int_equal(rte_eth_dev_rx_queue_start(bench->port[1], NB_RXQ), -EINVAL);
	assert_int_equal(rte_eth_dev_rx_queue_stop(bench->port[1], NB_RXQ), -EINVAL);
	/* twice is once */
	assert_int_equal(rte_eth_dev_rx_queue_start(bench->port[1], 0), 0);
	assert_int_equal(rte_eth_dev_rx_queue_stop(bench->port[1], 0), 0);
	assert_int_equal(rte_eth_dev_rx_queue_stop(bench->port[1], 0), 0);
	/* a port that stops and starts with a stopped queue starts it */
	bench_stop(bench);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	check_state(bench, 0, RTE_ETH_QUEUE_STATE_STARTED);
	send_many(bench, 100);
	all = receive_all(bench, NB_RXQ);
	assert_int_equal(sum(&all), 100);
}

/* The pool has too few mbufs for another queue: it stays stopped. */
static void
test_start_without_mbufs(void **state)
{
	struct bench *bench = *state;
	struct rte_mempool *pool = bench_pool(bench, NB_RXD - 1, RTE_MBUF_DEFAULT_BUF_SIZE);
	struct bench_holdings stopped;
	struct arrivals all, now;

	bench->ignore_counters = true;
	bench_start(bench, &four);
	send_many(bench, 100);
	all = receive_all(bench, NB_RXQ);
	stop(bench, 1);
	assert_int_equal(rte_eth_rx_queue_setup(bench->port[1], 1, NB_RXD, SOCKET_ID_ANY,
						NULL, pool), 0);
	bench_hold(&stopped);
	bench_expect_error("too few mbufs");
	assert_int_equal(rte_eth_dev_rx_queue_start(bench->port[1], 1), -ENOMEM);
	check_held(&stopped, "after the refused start");
	check_state(bench, 1, RTE_ETH_QUEUE_STATE_STOPPED);
	send_many(bench, 100);
	now = receive_all(bench, NB_RXQ);
	assert_int_equal(sum(&now), 100 - all.nb[1]);
	check_wire(bench);
}

/*
 * Each kernel call on the way fails once: the state is the one before, packets
 * that waited are there, and the next try succeeds.
 */
static void
check_refused(struct bench *bench, const char *call, unsigned int nth, int error,
	      bool is_start)
{
	struct bench_holdings before;
	struct arrivals all, now;
	int ret;

	send_many(bench, 100);
	all = receive_all(bench, NB_RXQ);
	assert_int_equal(sum(&all), 100);
	/* a backlog takes memory */
	if (is_start)
		stop(bench, 2);
	else
		send_many(bench, 50);
	bench_hold(&before);
	assert_int_equal(bench_model.fault_arm(call, nth, error), 0);
	ret = is_start ? rte_eth_dev_rx_queue_start(bench->port[1], 2) :
			 rte_eth_dev_rx_queue_stop(bench->port[1], 2);
	assert_int_equal(bench_model.fault_hits(), 1);
	bench_model.fault_disarm();
	/* an id may be taken for a moment: that is tried again */
	assert_true(ret == -error || (error == EINVAL && ret == 0));
	if (ret != 0)
		check_state(bench, 2, is_start ? RTE_ETH_QUEUE_STATE_STOPPED :
						 RTE_ETH_QUEUE_STATE_STARTED);
	if (ret != 0 && !is_start) {
		now = receive_all(bench, NB_RXQ);
		assert_int_equal(sum(&now), 50);
		/* what had waited was in a backlog, which is gone only now */
		stop(bench, 2);
		start(bench, 2);
	} else if (ret != 0) {
		check_held(&before, call);
		receive_all(bench, NB_RXQ);
		start(bench, 2);
	} else {
		receive_all(bench, NB_RXQ);
		start(bench, 2);
	}
	send_many(bench, 100);
	now = receive_all(bench, NB_RXQ);
	assert_memory_equal(&now, &all, sizeof(all));
	check_wire(bench);
}

static void
test_kernel_refuses(void **state)
{
	static const int errors[] = { ENOMEM, EINVAL, EBUSY, EPROTO };
	struct bench *bench = *state;

	bench->ignore_counters = true;
	bench_expect_error("");
	bench_start(bench, &four);
	for (unsigned int i = 0; i < RTE_DIM(errors); i++) {
		for (unsigned int is_start = 0; is_start < 2; is_start++) {
			check_refused(bench, "create_qp", 1, errors[i], is_start);
			if (errors[i] == EINVAL)
				continue; /* before the gap nothing is tried again */
			check_refused(bench, "create_ind", 1, errors[i], is_start);
			for (unsigned int nth = 1; nth <= NB_RXQ; nth++) {
				check_refused(bench, "create_cq", nth, errors[i], is_start);
				check_refused(bench, "create_wq", nth, errors[i], is_start);
			}
		}
	}
}

/* Polls as an application does that knows nothing of the changes. */
struct poller {
	pthread_t thread;
	uint16_t port;
	atomic_bool is_over;
	atomic_uint nb_got;
	atomic_uint nb_bad;
};

static void *
poll_all(void *arg)
{
	struct poller *poller = arg;

	while (!atomic_load(&poller->is_over)) {
		for (uint16_t q = 0; q < NB_RXQ; q++) {
			struct rte_mbuf *pkts[BENCH_BURST];
			uint16_t nb = rte_eth_rx_burst(poller->port, q, pkts,
						       RTE_DIM(pkts));

			for (uint16_t i = 0; i < nb; i++) {
				uint8_t bytes[100];

				bench_frame_bytes(bytes, sizeof(bytes), seed_of(pkts[i]));
				if (pkts[i]->pkt_len != sizeof(bytes) ||
				    memcmp(rte_pktmbuf_mtod(pkts[i], void *), bytes,
					   sizeof(bytes)) != 0)
					atomic_fetch_add(&poller->nb_bad, 1);
			}
			rte_pktmbuf_free_bulk(pkts, nb);
			atomic_fetch_add(&poller->nb_got, nb);
		}
		sched_yield();
	}
	return NULL;
}

static void
change_something(struct bench *bench, unsigned int i)
{
	static uint8_t key[40];
	struct rte_eth_rss_conf conf = { .rss_key = key, .rss_key_len = sizeof(key),
					 .rss_hf = BENCH_RSS };
	struct rte_eth_rss_reta_entry64 reta = { .mask = 0xf };
	uint16_t queue = i / 4 % NB_RXQ;

	switch (i % 4) {
	case 0:
		stop(bench, queue);
		break;
	case 1:
		start(bench, queue);
		break;
	case 2:
		key[i % sizeof(key)] += 0x35;
		assert_int_equal(rte_eth_dev_rss_hash_update(bench->port[1], &conf), 0);
		break;
	default:
		for (uint16_t q = 0; q < NB_RXQ; q++)
			reta.reta[q] = (q + i / 4) % NB_RXQ;
		assert_int_equal(rte_eth_dev_rss_reta_update(bench->port[1], &reta,
							     NB_RXQ), 0);
	}
}

/* All queues, the stopped one too, are polled by a thread all the time. */
static void
test_changes_under_polls(void **state)
{
	struct bench *bench = *state;
	struct poller poller = { .port = bench->port[1] };
	struct arrivals rest;

	bench->ignore_counters = true;
	bench_start(bench, &four);
	assert_int_equal(pthread_create(&poller.thread, NULL, poll_all, &poller), 0);
	for (unsigned int i = 0; i < 200; i++) {
		for (unsigned int n = 0; n < 20; n++) {
			struct rte_mbuf *m = bench_frame(bench->pool, 100, i * 20 + n);

			bench_send(bench->port[0], 0, &m, 1);
		}
		change_something(bench, i);
	}
	bench_settle(bench);
	atomic_store(&poller.is_over, true);
	assert_int_equal(pthread_join(poller.thread, NULL), 0);
	rest = receive_all(bench, NB_RXQ);
	assert_int_equal(poller.nb_bad, 0);
	assert_int_equal(poller.nb_got + sum(&rest) +
				 xstat(bench->port[1], "rx_drop_stopped"),
			 bench_wire(bench, 1).rx_packets);
	check_wire(bench);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_stop_and_start),
		BENCH_TEST(test_all_stopped),
		BENCH_TEST(test_queue_0_without_rss),
		BENCH_TEST(test_stop_with_packets_waiting),
		BENCH_TEST(test_order_across_a_change),
		BENCH_TEST(test_deferred_start),
		BENCH_TEST(test_set_up_at_run_time),
		BENCH_TEST(test_wrong_states),
		BENCH_TEST(test_start_without_mbufs),
		BENCH_TEST(test_kernel_refuses),
		BENCH_TEST(test_changes_under_polls),
	};

	return BENCH_RUN("rxq", tests);
}
