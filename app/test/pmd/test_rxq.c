/* SPDX-License-Identifier: BSD-3-Clause */

/* Rx queue start, stop and setup on a running port. */

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_cycles.h>

#include "fixture.h"

#define NB_RXQ 4
#define NB_RXD 64

static const struct fx_config four = {
	.nb_rxq = NB_RXQ, .nb_rxd = NB_RXD, .rss_hf = FX_RSS,
};

/* Received frames per queue. */
struct arrivals {
	unsigned int nb[8];
};

static void
send_many(struct fixture *fx, unsigned int nb)
{
	for (unsigned int seed = 0; seed < nb; seed++) {
		struct rte_mbuf *m = fx_frame(fx->pool, 100, seed);

		fx_send(fx->port[0], 0, &m, 1);
	}
	fx_settle(fx);
}

/* Polls all started queues until no packet arrives, and checks the packets. */
static struct arrivals
receive_all(struct fixture *fx, uint16_t nb_rxq)
{
	struct arrivals arrivals = { 0 };
	unsigned int nb_empty = 0;

	fx_settle(fx);
	while (nb_empty < 3) {
		unsigned int nb_now = 0;

		for (uint16_t q = 0; q < nb_rxq; q++) {
			struct rte_mbuf *pkts[FX_BURST];
			uint16_t nb = rte_eth_rx_burst(fx->port[1], q, pkts,
						       RTE_DIM(pkts));

			for (uint16_t i = 0; i < nb; i++)
				assert_int_equal(pkts[i]->port, fx->port[1]);
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

/* Dropped packets of stopped queues and replaced rings. */
static uint64_t
nb_dropped(struct fixture *fx)
{
	return fx_xstat(fx->port[1], "rx_drop_stopped") +
	       fx_xstat(fx->port[1], "rx_drop_reconfig");
}

/* Driver counters and drops add up to the wire's counters. */
static void
check_wire(struct fixture *fx)
{
	struct rte_eth_stats stats;

	assert_int_equal(rte_eth_stats_get(fx->port[1], &stats), 0);
	assert_int_equal(stats.ipackets + nb_dropped(fx),
			 fx_wire(fx, 1).rx_packets);
	assert_int_equal(stats.ierrors, 0);
}

static void
check_state(struct fixture *fx, uint16_t queue, uint8_t state)
{
	struct rte_eth_rxq_info info;

	assert_int_equal(rte_eth_rx_queue_info_get(fx->port[1], queue, &info), 0);
	assert_int_equal(info.queue_state, state);
}

static void
stop(struct fixture *fx, uint16_t queue)
{
	assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[1], queue), 0);
	check_state(fx, queue, RTE_ETH_QUEUE_STATE_STOPPED);
}

static void
start(struct fixture *fx, uint16_t queue)
{
	assert_int_equal(rte_eth_dev_rx_queue_start(fx->port[1], queue), 0);
	check_state(fx, queue, RTE_ETH_QUEUE_STATE_STARTED);
}

/* Equal, except for the rounding of heap elements. */
static void
check_holdings(const struct fx_holdings *before, const char *when)
{
	struct fx_holdings now, same = *before;

	fx_holdings_get(&now);
	same.heap_bytes = now.heap_bytes;
	fx_check_holdings(&same, when);
}

/* Stops each queue alone: the others continue, its start drops its packets. */
static void
check_each(struct fixture *fx, uint16_t nb_rxq)
{
	struct fx_config config = four;
	struct fx_holdings running;
	struct arrivals all;

	config.nb_rxq = nb_rxq;
	fx_start(fx, &config);
	fx_holdings_get(&running);
	send_many(fx, 100);
	all = receive_all(fx, nb_rxq);
	assert_int_equal(sum(&all), 100);
	for (uint16_t q = 0; q < nb_rxq; q++) {
		uint64_t before = fx_xstat(fx->port[1], "rx_drop_stopped");
		struct arrivals now;

		stop(fx, q);
		send_many(fx, 100);
		now = receive_all(fx, nb_rxq);
		assert_int_equal(now.nb[q], 0);
		for (uint16_t other = 0; other < nb_rxq; other++)
			if (other != q)
				assert_int_equal(now.nb[other], all.nb[other]);
		/* packets wait in its rings until it starts */
		assert_int_equal(fx_xstat(fx->port[1], "rx_drop_stopped"), before);
		start(fx, q);
		assert_int_equal(fx_xstat(fx->port[1], "rx_drop_stopped") - before,
				 all.nb[q]);
		check_holdings(&running, "after stop and start");
		send_many(fx, 100);
		now = receive_all(fx, nb_rxq);
		assert_memory_equal(&now, &all, sizeof(all));
		check_wire(fx);
	}
	fx_stop(fx);
}

static void
test_stop_and_start(void **state)
{
	struct fixture *fx = *state;

	fx->ignore_counters = true;
	check_each(fx, 4);
	check_each(fx, 2);
	check_each(fx, 3);
	check_each(fx, 5);
}

/* The rings fill, the adapter drops the rest; the starts drain them. */
static void
test_all_stopped(void **state)
{
	struct fixture *fx = *state;
	struct mana_model_port wire;
	struct arrivals all;

	fx->ignore_counters = true;
	fx_start(fx, &four);
	for (uint16_t q = 0; q < NB_RXQ; q++)
		stop(fx, q);
	send_many(fx, 1000);
	wire = fx_wire(fx, 1);
	assert_true(wire.rx_packets > 0 && wire.rx_no_wqe > 0);
	assert_int_equal(wire.rx_packets + wire.rx_no_wqe, 1000);
	for (uint16_t q = 0; q < NB_RXQ; q++)
		start(fx, q);
	assert_int_equal(fx_xstat(fx->port[1], "rx_drop_stopped"), wire.rx_packets);
	send_many(fx, 100);
	all = receive_all(fx, NB_RXQ);
	assert_int_equal(sum(&all), 100);
	check_wire(fx);
}

/* Without RSS all packets go to queue 0, which stops. */
static void
test_queue_0_without_rss(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxq = 3, .nb_rxd = NB_RXD };
	struct arrivals now;

	fx->ignore_counters = true;
	fx_start(fx, &config);
	stop(fx, 0);
	/* also the queue that polls two hardware queues */
	stop(fx, 1);
	send_many(fx, 200);
	now = receive_all(fx, 3);
	assert_int_equal(sum(&now), 0);
	start(fx, 1);
	stop(fx, 2);
	send_many(fx, 50);
	now = receive_all(fx, 3);
	assert_int_equal(sum(&now), 0);
	start(fx, 2);
	start(fx, 0);
	send_many(fx, 50);
	now = receive_all(fx, 3);
	assert_int_equal(now.nb[0], 50);
	check_wire(fx);
}

/* The start frees and counts packets that waited at the stop. */
static void
test_stop_with_packets_waiting(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = four;
	struct arrivals all, now;
	struct rte_mempool *pool = fx_pool(fx, 1023, RTE_MBUF_DEFAULT_BUF_SIZE);

	fx->ignore_counters = true;
	config.rx_pool = pool;
	fx_start(fx, &config);
	send_many(fx, 100);
	all = receive_all(fx, NB_RXQ);
	send_many(fx, 100);
	stop(fx, 2);
	now = receive_all(fx, NB_RXQ);
	assert_int_equal(now.nb[2], 0);
	assert_int_equal(sum(&now), 100 - all.nb[2]);
	assert_int_equal(nb_dropped(fx), 0);
	start(fx, 2);
	assert_int_equal(fx_xstat(fx->port[1], "rx_drop_stopped"), all.nb[2]);
	check_wire(fx);
	send_many(fx, 100);
	stop(fx, 1);
	send_many(fx, 100);
	stop(fx, 0);
	now = receive_all(fx, NB_RXQ);
	assert_int_equal(now.nb[2], 2 * all.nb[2]);
	assert_int_equal(now.nb[3], 2 * all.nb[3]);
	start(fx, 0);
	start(fx, 1);
	send_many(fx, 100);
	stop(fx, 1);
	fx_stop(fx);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
}

static uint16_t
seed_of(const struct rte_mbuf *m)
{
	const rte_be16_t *port = rte_pktmbuf_mtod_offset(m, const rte_be16_t *, 34);

	return rte_be_to_cpu_16(*port) - 1024;
}

/* Packets of a queue stay in order and intact. */
static void
test_changes_keep_order(void **state)
{
	struct fixture *fx = *state;
	int last[NB_RXQ] = { -1, -1, -1, -1 };
	unsigned int nb_got = 0;

	fx->ignore_counters = true;
	fx_start(fx, &four);
	stop(fx, 3);
	for (unsigned int part = 0; part < 3; part++) {
		for (unsigned int seed = part * 50; seed < part * 50 + 50; seed++) {
			struct rte_mbuf *m = fx_frame(fx->pool, 100, seed);

			fx_send(fx->port[0], 0, &m, 1);
		}
		fx_settle(fx);
		if (part == 0)
			start(fx, 3);
		if (part == 1)
			stop(fx, 3);
		for (uint16_t q = 0; q < 3; q++) {
			struct rte_mbuf *m;

			/* leave some for the next rebuild */
			for (unsigned int i = 0; i < 7; i++) {
				uint8_t bytes[100];

				if (rte_eth_rx_burst(fx->port[1], q, &m, 1) == 0)
					break;
				fx_frame_bytes(bytes, sizeof(bytes), seed_of(m));
				fx_check_bytes(m, bytes, sizeof(bytes));
				assert_true(seed_of(m) > last[q]);
				last[q] = seed_of(m);
				rte_pktmbuf_free(m);
				nb_got++;
			}
		}
	}
	for (uint16_t q = 0; q < 3; q++) {
		struct rte_mbuf *m;

		while (rte_eth_rx_burst(fx->port[1], q, &m, 1) != 0) {
			assert_true(seed_of(m) > last[q]);
			last[q] = seed_of(m);
			rte_pktmbuf_free(m);
			nb_got++;
		}
	}
	start(fx, 3);
	assert_int_equal(nb_got + nb_dropped(fx), 150);
}

static void
test_deferred_start(void **state)
{
	const struct rte_eth_rxconf deferred = { .rx_deferred_start = 1 };
	struct fixture *fx = *state;
	struct arrivals all, now;

	fx->ignore_counters = true;
	assert_int_equal(fx_configure(fx, fx->port[0], &four), 0);
	assert_int_equal(fx_configure(fx, fx->port[1], &four), 0);
	assert_int_equal(rte_eth_rx_queue_setup(fx->port[1], 1, NB_RXD, SOCKET_ID_ANY,
						&deferred, fx->pool), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(fx_dev_start(fx, 1), 0);
		check_state(fx, 1, RTE_ETH_QUEUE_STATE_STOPPED);
		check_state(fx, 0, RTE_ETH_QUEUE_STATE_STARTED);
		send_many(fx, 100);
		now = receive_all(fx, NB_RXQ);
		assert_int_equal(now.nb[1], 0);
		start(fx, 1);
		send_many(fx, 100);
		all = receive_all(fx, NB_RXQ);
		assert_int_equal(sum(&all), 100);
		assert_int_equal(sum(&now), 100 - all.nb[1]);
		check_wire(fx);
		/* deferred again at the next start */
		assert_int_equal(fx_dev_stop(fx, 1), 0);
	}
	for (uint16_t q = 0; q < NB_RXQ; q++)
		assert_int_equal(rte_eth_rx_queue_setup(fx->port[1], q, NB_RXD,
							SOCKET_ID_ANY, &deferred,
							fx->pool), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	for (uint16_t q = 0; q < NB_RXQ; q++)
		start(fx, q);
	send_many(fx, 100);
	now = receive_all(fx, NB_RXQ);
	assert_memory_equal(&now, &all, sizeof(all));
}

/* Another pool and size; the old pool can be freed. */
static void
test_set_up_at_run_time(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = four;
	struct rte_mempool *pool = fx_pool(fx, 2047, RTE_MBUF_DEFAULT_BUF_SIZE);
	struct arrivals all, now;

	fx->ignore_counters = true;
	assert_int_equal(fx_configure(fx, fx->port[0], &four), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	config.rx_pool = pool;
	assert_int_equal(fx_configure(fx, fx->port[1], &config), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	send_many(fx, 100);
	all = receive_all(fx, NB_RXQ);
	assert_int_equal(rte_eth_rx_queue_setup(fx->port[1], 0, NB_RXD, SOCKET_ID_ANY,
						NULL, pool), -EBUSY);
	for (uint16_t q = 0; q < NB_RXQ; q++) {
		struct rte_eth_rxq_info info;

		stop(fx, q);
		send_many(fx, 100);
		now = receive_all(fx, NB_RXQ);
		assert_int_equal(sum(&now), 100 - all.nb[q]);
		assert_int_equal(rte_eth_rx_queue_setup(fx->port[1], q, 200,
							SOCKET_ID_ANY, NULL,
							fx->pool), 0);
		start(fx, q);
		assert_int_equal(rte_eth_rx_queue_info_get(fx->port[1], q, &info), 0);
		assert_int_equal(info.nb_desc, 200);
		assert_ptr_equal(info.mp, fx->pool);
		send_many(fx, 100);
		now = receive_all(fx, NB_RXQ);
		assert_memory_equal(&now, &all, sizeof(all));
		check_wire(fx);
	}
	fx_pool_free(fx, pool);
	send_many(fx, 100);
	now = receive_all(fx, NB_RXQ);
	assert_memory_equal(&now, &all, sizeof(all));
}

static void
test_wrong_states(void **state)
{
	struct fixture *fx = *state;
	struct arrivals all;

	fx_expect_error("");
	assert_int_equal(fx_configure(fx, fx->port[1], &four), 0);
	assert_int_equal(rte_eth_dev_rx_queue_start(fx->port[1], 0), -EINVAL);
	fx_start(fx, &four);
	assert_int_equal(rte_eth_dev_rx_queue_start(fx->port[1], NB_RXQ), -EINVAL);
	assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[1], NB_RXQ), -EINVAL);
	/* a second call changes nothing */
	assert_int_equal(rte_eth_dev_rx_queue_start(fx->port[1], 0), 0);
	assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[1], 0), 0);
	assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[1], 0), 0);
	/* a port restart starts a stopped queue */
	fx_stop(fx);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	check_state(fx, 0, RTE_ETH_QUEUE_STATE_STARTED);
	send_many(fx, 100);
	all = receive_all(fx, NB_RXQ);
	assert_int_equal(sum(&all), 100);
}

/* Too few mbufs for the queue: it stays stopped. */
static void
test_start_without_mbufs(void **state)
{
	struct fixture *fx = *state;
	struct rte_mempool *pool = fx_pool(fx, NB_RXD - 1, RTE_MBUF_DEFAULT_BUF_SIZE);
	struct fx_holdings stopped;
	struct arrivals all, now;

	fx->ignore_counters = true;
	fx_start(fx, &four);
	send_many(fx, 100);
	all = receive_all(fx, NB_RXQ);
	stop(fx, 1);
	assert_int_equal(rte_eth_rx_queue_setup(fx->port[1], 1, NB_RXD, SOCKET_ID_ANY,
						NULL, pool), 0);
	fx_holdings_get(&stopped);
	fx_expect_error("too few mbufs");
	assert_int_equal(rte_eth_dev_rx_queue_start(fx->port[1], 1), -ENOMEM);
	check_holdings(&stopped, "after the refused start");
	check_state(fx, 1, RTE_ETH_QUEUE_STATE_STOPPED);
	send_many(fx, 100);
	now = receive_all(fx, NB_RXQ);
	assert_int_equal(sum(&now), 100 - all.nb[1]);
	check_wire(fx);
}

/*
 * Each kernel call fails once: the state is as before, waiting packets are
 * kept, and the next attempt succeeds.
 */
static void
check_refused(struct fixture *fx, const char *call, unsigned int nth, int error,
	      bool is_start)
{
	struct fx_holdings before;
	uint8_t key[40];
	struct rte_eth_rss_conf rss = { .rss_hf = FX_RSS, .rss_key = key,
					.rss_key_len = sizeof(key) };
	struct arrivals all, now;
	uint64_t dropped;
	int ret;

	send_many(fx, 100);
	all = receive_all(fx, NB_RXQ);
	assert_int_equal(sum(&all), 100);
	if (is_start) {
		stop(fx, 2);
		/* the start rebuilds its hardware queues */
		assert_int_equal(rte_eth_rx_queue_setup(fx->port[1], 2, NB_RXD,
							SOCKET_ID_ANY, NULL,
							fx->pool), 0);
	} else {
		send_many(fx, 50);
	}
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(fx->port[1], &rss), 0);
	key[sizeof(key) - 1] ^= 1; /* unused for IPv4: same queues */
	dropped = nb_dropped(fx);
	fx_holdings_get(&before);
	assert_int_equal(fx_model.fault_arm(call, nth, error), 0);
	ret = is_start ? rte_eth_dev_rx_queue_start(fx->port[1], 2) :
			 rte_eth_dev_rss_hash_update(fx->port[1], &rss);
	assert_int_equal(fx_model.fault_hits(), 1);
	fx_model.fault_disarm();
	/* an id may be in use for a moment: retried */
	assert_true(ret == -error || (error == EINVAL && ret == 0));
	if (ret != 0)
		check_state(fx, 2, is_start ? RTE_ETH_QUEUE_STATE_STOPPED :
						 RTE_ETH_QUEUE_STATE_STARTED);
	now = receive_all(fx, NB_RXQ);
	if (!is_start)
		assert_int_equal(sum(&now) + nb_dropped(fx) - dropped, 50);
	else if (ret != 0) {
		/* the rollback uses it, too */
		if (strcmp(call, "create_qp") != 0)
			check_holdings(&before, call);
		start(fx, 2);
	}
	send_many(fx, 100);
	now = receive_all(fx, NB_RXQ);
	assert_memory_equal(&now, &all, sizeof(all));
	check_wire(fx);
}

static void
test_kernel_errors(void **state)
{
	static const int errors[] = { ENOMEM, EINVAL, EBUSY, EPROTO };
	struct fixture *fx = *state;

	fx->ignore_counters = true;
	fx_expect_error("");
	fx_start(fx, &four);
	for (unsigned int i = 0; i < RTE_DIM(errors); i++) {
		for (unsigned int is_start = 0; is_start < 2; is_start++) {
			/* the first QP and CQ are a spare Tx queue's */
			check_refused(fx, "create_qp", 2, errors[i], is_start);
			if (errors[i] == EINVAL)
				continue; /* no retry before the pause */
			check_refused(fx, "create_ind", 1, errors[i], is_start);
			for (unsigned int nth = 1; nth <= NB_RXQ; nth++) {
				check_refused(fx, "create_cq", nth + 1, errors[i], is_start);
				check_refused(fx, "create_wq", nth, errors[i], is_start);
			}
		}
	}
}

/* Lets nb QP creations fail after nb_before good ones. */
static void
refuse_ids(unsigned int nb_before, unsigned int nb)
{
	char line[64];

	for (unsigned int i = 1; i <= nb; i++) {
		snprintf(line, sizeof(line), "fail call=create_qp nth=%u errno=EINVAL",
			 nb_before + i);
		fx_command(line);
	}
}

/*
 * The kernel holds the id of a CQ until a neighbour that stops many queues
 * destroys it: one retry is not enough.
 */
static void
test_cq_id_in_use(void **state)
{
	const unsigned int nb_tries = 4;
	struct fixture *fx = *state;
	uint8_t key[40] = { 1, 2, 3 };
	struct rte_eth_rss_conf rss = { .rss_hf = FX_RSS, .rss_key = key,
					.rss_key_len = sizeof(key) };
	struct rte_eth_dev_info before, after;

	fx_start(fx, &four);
	assert_int_equal(rte_eth_dev_info_get(fx->port[1], &before), 0);
	/* a Tx queue's QP, then the RSS QP */
	for (unsigned int nb_before = 0; nb_before < 2; nb_before++) {
		assert_int_equal(fx_dev_stop(fx, 1), 0);
		refuse_ids(nb_before, nb_tries);
		assert_int_equal(fx_dev_start(fx, 1), 0);
	}
	/* the RSS QP of a running port, after a spare Tx queue's */
	refuse_ids(1, nb_tries);
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &rss), 0);
	refuse_ids(0, nb_tries);
	assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[1], 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(fx->port[1], 0), 0);
	/* the driver did not lower a limit */
	assert_int_equal(rte_eth_dev_info_get(fx->port[1], &after), 0);
	assert_memory_equal(&after.tx_desc_lim, &before.tx_desc_lim,
			    sizeof(after.tx_desc_lim));
	send_many(fx, 100);
	fx_drain(fx);
	/* a permanent failure ends the retries */
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	fx_expect_error("");
	fx_command("fail call=create_qp later errno=EINVAL");
	assert_int_equal(fx_dev_start(fx, 1), -EINVAL);
	fx_command("fail off");
	assert_int_equal(fx_dev_start(fx, 1), 0);
}

static void
check_reception(struct fixture *fx, const struct arrivals *expected)
{
	struct arrivals now;

	send_many(fx, 100);
	now = receive_all(fx, NB_RXQ);
	assert_memory_equal(&now, expected, sizeof(now));
	check_wire(fx);
}

/*
 * The program drops CAP_NET_RAW after the start: operations that need kernel
 * objects fail, and Rx continues; the table, queue stop and start work.
 */
static void
test_privilege_dropped(void **state)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX }, before;
	struct rte_eth_rss_conf rss = { .rss_hf = FX_RSS };
	uint8_t key[40], kept[40];
	struct fixture *fx = *state;
	uint16_t port = fx->port[1];
	struct arrivals all, now;

	memset(key, 0x5a, sizeof(key));
	fx_start(fx, &four);
	assert_int_equal(rte_eth_dev_rss_reta_query(port, &reta, 64), 0);
	before = reta;
	for (unsigned int i = 0; i < 64; i++)
		reta.reta[i] = NB_RXQ - 1 - before.reta[i];
	rss.rss_key = kept;
	rss.rss_key_len = sizeof(kept);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(port, &rss), 0);
	send_many(fx, 100);
	all = receive_all(fx, NB_RXQ);
	assert_int_equal(sum(&all), 100);

	assert_int_equal(fx_model.privileges(false, true), 0);
	fx_expect_error("CAP_NET_RAW");
	rss.rss_key = key;
	assert_int_equal(rte_eth_dev_rss_hash_update(port, &rss), -EPERM);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "CAP_NET_RAW"), 1);
	fx_expect_error(NULL);
	/* queries report what is in effect */
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(port, &rss), 0);
	assert_memory_equal(key, kept, sizeof(kept));
	check_reception(fx, &all);
	assert_int_equal(rte_eth_dev_rss_reta_update(port, &reta, 64), 0);
	send_many(fx, 100);
	now = receive_all(fx, NB_RXQ);
	for (uint16_t q = 0; q < NB_RXQ; q++)
		assert_int_equal(now.nb[q], all.nb[NB_RXQ - 1 - q]);
	assert_int_equal(rte_eth_dev_rss_reta_update(port, &before, 64), 0);
	stop(fx, 2);
	start(fx, 2);
	check_reception(fx, &all);
	assert_int_equal(fx_model.privileges(true, true), 0);
}

/* Without a spare Tx queue the adapter may fail for another reason. */
static void
test_no_spare_queue(void **state)
{
	uint8_t key[40] = { 1, 2, 3 };
	struct rte_eth_rss_conf rss = { .rss_hf = FX_RSS, .rss_key = key,
					.rss_key_len = sizeof(key) };
	struct fixture *fx = *state;

	fx_start(fx, &four);
	assert_int_equal(fx_model.fault_arm("create_qp", 1, EPROTO), 0);
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &rss), 0);
	assert_int_equal(fx_model.fault_hits(), 1);
	fx_model.fault_disarm();
}

/* Polls like an application unaware of the changes. */
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
			struct rte_mbuf *pkts[FX_BURST];
			uint16_t nb = rte_eth_rx_burst(poller->port, q, pkts,
						       RTE_DIM(pkts));

			for (uint16_t i = 0; i < nb; i++) {
				uint8_t bytes[100];

				fx_frame_bytes(bytes, sizeof(bytes), seed_of(pkts[i]));
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
change_any(struct fixture *fx, unsigned int i)
{
	static uint8_t key[40];
	struct rte_eth_rss_conf conf = { .rss_key = key, .rss_key_len = sizeof(key),
					 .rss_hf = FX_RSS };
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };
	uint16_t queue = i / 4 % NB_RXQ;

	switch (i % 4) {
	case 0:
		stop(fx, queue);
		break;
	case 1:
		start(fx, queue);
		break;
	case 2:
		key[i % sizeof(key)] += 0x35;
		assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &conf), 0);
		break;
	default:
		for (uint16_t e = 0; e < RTE_ETH_RETA_GROUP_SIZE; e++)
			reta.reta[e] = (e + i / 4) % NB_RXQ;
		assert_int_equal(rte_eth_dev_rss_reta_update(fx->port[1], &reta,
							     RTE_ETH_RETA_GROUP_SIZE), 0);
	}
}

/* A thread polls all queues all the time, also stopped ones. */
static void
test_changes_during_polls(void **state)
{
	struct fixture *fx = *state;
	struct poller poller = { .port = fx->port[1] };
	struct arrivals rest;

	fx->ignore_counters = true;
	fx_start(fx, &four);
	assert_int_equal(pthread_create(&poller.thread, NULL, poll_all, &poller), 0);
	for (unsigned int i = 0; i < 200; i++) {
		for (unsigned int n = 0; n < 20; n++) {
			struct rte_mbuf *m = fx_frame(fx->pool, 100, i * 20 + n);

			fx_send(fx->port[0], 0, &m, 1);
		}
		change_any(fx, i);
	}
	fx_settle(fx);
	atomic_store(&poller.is_over, true);
	assert_int_equal(pthread_join(poller.thread, NULL), 0);
	rest = receive_all(fx, NB_RXQ);
	assert_int_equal(poller.nb_bad, 0);
	assert_int_equal(poller.nb_got + sum(&rest) +
				 nb_dropped(fx),
			 fx_wire(fx, 1).rx_packets);
	check_wire(fx);
}

/* All mbufs of a pool, and those that queues hold. */
struct posted {
	struct rte_mempool *pool;
	unsigned int nb_all, nb_held;
	struct rte_mbuf *all[FX_NB_MBUFS];
	bool is_held[FX_NB_MBUFS];
};

static void
list_mbuf(struct rte_mempool *pool, void *arg, void *m, unsigned int index)
{
	struct posted *posted = arg;

	(void)pool;
	assert_true(index < RTE_DIM(posted->all));
	posted->all[index] = m;
	posted->is_held[index] = true;
}

/* The queues hold what the pool cannot allocate. */
static void
find_posted(struct rte_mempool *pool, struct posted *posted)
{
	static struct rte_mbuf *free_ones[FX_NB_MBUFS];
	unsigned int nb = 0;

	posted->pool = pool;
	posted->nb_all = rte_mempool_obj_iter(pool, list_mbuf, posted);
	while (rte_mempool_get(pool, (void **)&free_ones[nb]) == 0)
		nb++;
	posted->nb_held = posted->nb_all - nb;
	for (unsigned int i = 0; i < posted->nb_all; i++)
		for (unsigned int k = 0; k < nb && posted->is_held[i]; k++)
			posted->is_held[i] = posted->all[i] != free_ones[k];
	for (unsigned int i = 0; i < nb; i++)
		rte_mempool_put(pool, free_ones[i]);
}

struct posting {
	unsigned int nb_mbufs, cache;
	unsigned int nb_other_cache; /* in another lcore's cache */
};

struct other_cache {
	struct rte_mempool *pool;
	unsigned int nb;
};

static void *
use_other_cache(void *arg)
{
	struct other_cache *cache = arg;
	void *mbufs[FX_NB_MBUFS];

	assert_int_equal(rte_thread_register(), 0);
	for (unsigned int i = 0; i < cache->nb; i++)
		assert_int_equal(rte_mempool_get(cache->pool, &mbufs[i]), 0);
	for (unsigned int i = 0; i < cache->nb; i++)
		rte_mempool_put(cache->pool, mbufs[i]);
	rte_thread_unregister();
	return NULL;
}

/*
 * An RSS rebuild with this pool: the new rings are full. Returns how many
 * buffers of the old rings they reuse.
 */
static unsigned int
nb_posted_again(struct fixture *fx, const struct fx_config *config,
		struct posting posting, unsigned int *nb_held)
{
	static struct posted before, after;
	uint16_t room = RTE_PKTMBUF_HEADROOM +
			(config->rx_offloads != 0 ? 1024 : 2048);
	uint8_t key[40] = { 3, 2, 1 };
	struct rte_eth_rss_conf rss = { .rss_hf = FX_RSS, .rss_key = key,
					.rss_key_len = sizeof(key) };
	struct fx_config its = *config;
	struct other_cache cache = { .nb = posting.nb_other_cache };
	unsigned int nb = 0;
	pthread_t thread;

	its.rx_pool = rte_pktmbuf_pool_create("posted", posting.nb_mbufs,
					      posting.cache, 0, room,
					      SOCKET_ID_ANY);
	assert_non_null(its.rx_pool);
	cache.pool = its.rx_pool;
	assert_int_equal(fx_configure(fx, 1, &its), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, use_other_cache, &cache), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	find_posted(its.rx_pool, &before);
	*nb_held = before.nb_held;
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &rss), 0);
	find_posted(its.rx_pool, &after);
	assert_int_equal(after.nb_held, before.nb_held);
	for (unsigned int i = 0; i < before.nb_all; i++)
		nb += before.is_held[i] && after.is_held[i];
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	assert_int_equal(rte_mempool_avail_count(its.rx_pool), posting.nb_mbufs);
	/* afterwards no queue refers to the pool */
	assert_int_equal(fx_configure(fx, 1, config), 0);
	rte_mempool_free(its.rx_pool);
	return nb;
}

/*
 * The adapter may write to buffers of a destroyed RSS object for a moment: new
 * rings do not use them if the pool has others.
 */
static void
test_old_buffers_are_posted_last(void **state)
{
	struct fixture *fx = *state;
	const struct fx_config scattering = {
		.nb_rxq = NB_RXQ, .nb_rxd = NB_RXD, .rss_hf = FX_RSS,
		.rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER,
	};
	const struct fx_config *configs[] = { &four, &scattering };
	unsigned int nb_held, nb_full, again;

	for (unsigned int i = 0; i < RTE_DIM(configs); i++) {
		/* A cache returns the last freed mbuf first. */
		again = nb_posted_again(fx, configs[i],
			(struct posting){ FX_NB_MBUFS, 512, 0 }, &nb_held);
		assert_int_equal(again, 0);
		nb_full = nb_held;
		again = nb_posted_again(fx, configs[i],
			(struct posting){ 2 * nb_full, 0, 0 }, &nb_held);
		assert_int_equal(again, 0);
		/* All available mbufs, then the old ones. */
		again = nb_posted_again(fx, configs[i],
			(struct posting){ 2 * nb_full, nb_full, nb_full / 2 }, &nb_held);
		assert_int_equal(nb_held, nb_full + nb_full / 2);
		assert_in_range(again, nb_full / 2 + 1, nb_held - 1);
		again = nb_posted_again(fx, configs[i],
			(struct posting){ nb_full + 1, 0, 0 }, &nb_held);
		assert_int_equal(again, nb_full - 1);
		again = nb_posted_again(fx, configs[i],
			(struct posting){ nb_full, 0, 0 }, &nb_held);
		assert_int_equal(again, nb_full);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		FX_TEST(test_stop_and_start),
		FX_TEST(test_all_stopped),
		FX_TEST(test_queue_0_without_rss),
		FX_TEST(test_stop_with_packets_waiting),
		FX_TEST(test_changes_keep_order),
		FX_TEST(test_deferred_start),
		FX_TEST(test_set_up_at_run_time),
		FX_TEST(test_wrong_states),
		FX_TEST(test_start_without_mbufs),
		FX_TEST(test_kernel_errors),
		FX_TEST(test_cq_id_in_use),
		FX_TEST(test_privilege_dropped),
		FX_TEST(test_no_spare_queue),
		FX_TEST(test_changes_during_polls),
		FX_TEST(test_old_buffers_are_posted_last),
	};

	return FX_RUN("rxq", tests);
}
