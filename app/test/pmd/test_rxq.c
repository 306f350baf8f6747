/* SPDX-License-Identifier: BSD-3-Clause */

/* Rx queue start, stop and setup on a running port. */

#include <dlfcn.h>
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

static unsigned int nb_walks;

/* The driver's calls come here, too. */
uint32_t
rte_mempool_obj_iter(struct rte_mempool *mp, rte_mempool_obj_cb_t *each, void *arg)
{
	uint32_t (*next)(struct rte_mempool *, rte_mempool_obj_cb_t *, void *);

	*(void **)&next = dlsym(RTLD_NEXT, "rte_mempool_obj_iter");
	assert_non_null(next);
	nb_walks++;
	return next(mp, each, arg);
}

/* Received frames per queue. */
struct arrivals {
	unsigned int nb[8];
};

static void
send_many(struct fixture *fx, unsigned int nb)
{
	for (unsigned int seed = 0; seed < nb; seed++)
		fx_send_one(fx, seed);
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

/* What 100 frames become. */
static struct arrivals
pass(struct fixture *fx, uint16_t nb_rxq)
{
	send_many(fx, 100);
	return receive_all(fx, nb_rxq);
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

/* 100 frames arrive on their queues. */
static void
check_reception(struct fixture *fx, const struct arrivals *expected)
{
	struct arrivals now = pass(fx, NB_RXQ);

	assert_memory_equal(&now, expected, sizeof(now));
	check_wire(fx);
}

static void
check_state(struct fixture *fx, uint16_t queue, uint8_t state)
{
	assert_int_equal(fx_rxq_info(fx->port[1], queue).queue_state, state);
}

static void
rxq_stop(struct fixture *fx, uint16_t queue)
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
	all = pass(fx, nb_rxq);
	assert_int_equal(sum(&all), 100);
	for (uint16_t q = 0; q < nb_rxq; q++) {
		uint64_t before = fx_xstat(fx->port[1], "rx_drop_stopped");
		struct arrivals now;

		rxq_stop(fx, q);
		now = pass(fx, nb_rxq);
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
		now = pass(fx, nb_rxq);
		assert_memory_equal(&now, &all, sizeof(all));
		check_wire(fx);
	}
	fx_stop(fx);
}

FX_TEST(test_stop_and_start)
{
	fx->ignore_counters = true;
	check_each(fx, 4);
	check_each(fx, 2);
	check_each(fx, 3);
	check_each(fx, 5);
}

/* The rings fill, the adapter drops the rest; the starts drain them. */
FX_TEST(test_all_stopped)
{
	struct mana_model_port wire;
	struct arrivals all;

	fx->ignore_counters = true;
	fx_start(fx, &four);
	for (uint16_t q = 0; q < NB_RXQ; q++)
		rxq_stop(fx, q);
	send_many(fx, 1000);
	wire = fx_wire(fx, 1);
	assert_true(wire.rx_packets > 0 && wire.rx_no_wqe > 0);
	assert_int_equal(wire.rx_packets + wire.rx_no_wqe, 1000);
	for (uint16_t q = 0; q < NB_RXQ; q++)
		start(fx, q);
	assert_int_equal(fx_xstat(fx->port[1], "rx_drop_stopped"), wire.rx_packets);
	all = pass(fx, NB_RXQ);
	assert_int_equal(sum(&all), 100);
	check_wire(fx);
}

/* Without RSS all packets go to queue 0, which stops. */
FX_TEST(test_queue_0_without_rss)
{
	struct fx_config config = { .nb_rxq = 3, .nb_rxd = NB_RXD };
	struct arrivals now;

	fx->ignore_counters = true;
	fx_start(fx, &config);
	rxq_stop(fx, 0);
	/* also the queue that polls two hardware queues */
	rxq_stop(fx, 1);
	send_many(fx, 200);
	now = receive_all(fx, 3);
	assert_int_equal(sum(&now), 0);
	start(fx, 1);
	rxq_stop(fx, 2);
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
FX_TEST(test_stop_with_packets_waiting)
{
	struct fx_config config = four;
	struct arrivals all, now;
	struct rte_mempool *pool = fx_pool(fx, 1023, RTE_MBUF_DEFAULT_BUF_SIZE);

	fx->ignore_counters = true;
	config.rx_pool = pool;
	fx_start(fx, &config);
	all = pass(fx, NB_RXQ);
	send_many(fx, 100);
	rxq_stop(fx, 2);
	now = receive_all(fx, NB_RXQ);
	assert_int_equal(now.nb[2], 0);
	assert_int_equal(sum(&now), 100 - all.nb[2]);
	assert_int_equal(nb_dropped(fx), 0);
	start(fx, 2);
	assert_int_equal(fx_xstat(fx->port[1], "rx_drop_stopped"), all.nb[2]);
	check_wire(fx);
	send_many(fx, 100);
	rxq_stop(fx, 1);
	send_many(fx, 100);
	rxq_stop(fx, 0);
	now = receive_all(fx, NB_RXQ);
	assert_int_equal(now.nb[2], 2 * all.nb[2]);
	assert_int_equal(now.nb[3], 2 * all.nb[3]);
	start(fx, 0);
	start(fx, 1);
	send_many(fx, 100);
	rxq_stop(fx, 1);
	fx_stop(fx);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	/* a port restart starts a stopped queue */
	fx_restart(fx);
	check_reception(fx, &all);
}

/* fx_frame() numbers the UDP ports by the seed. */
static uint16_t
seed_of(const struct rte_mbuf *m)
{
	const rte_be16_t *port = rte_pktmbuf_mtod_offset(m, const rte_be16_t *, 34);

	return rte_be_to_cpu_16(*port) - 1024;
}

/* Receives a packet, if there is one, behind the last of this queue. */
static bool
take_next(struct fixture *fx, uint16_t queue, int *last)
{
	uint8_t bytes[100];
	struct rte_mbuf *m;

	if (rte_eth_rx_burst(fx->port[1], queue, &m, 1) == 0)
		return false;
	fx_frame_bytes(bytes, sizeof(bytes), seed_of(m));
	fx_check_bytes(m, bytes, sizeof(bytes));
	assert_true(seed_of(m) > *last);
	*last = seed_of(m);
	rte_pktmbuf_free(m);
	return true;
}

/* Packets of a queue stay in order and intact. */
FX_TEST(test_changes_keep_order)
{
	int last[NB_RXQ] = { -1, -1, -1, -1 };
	unsigned int nb_got = 0;

	fx->ignore_counters = true;
	fx_start(fx, &four);
	rxq_stop(fx, 3);
	for (unsigned int part = 0; part < 3; part++) {
		for (unsigned int seed = part * 50; seed < part * 50 + 50; seed++)
			fx_send_one(fx, seed);
		fx_settle(fx);
		if (part == 0)
			start(fx, 3);
		if (part == 1)
			rxq_stop(fx, 3);
		/* leave some for the next rebuild */
		for (uint16_t q = 0; q < 3; q++)
			for (unsigned int i = 0; i < 7; i++)
				nb_got += take_next(fx, q, &last[q]);
	}
	for (uint16_t q = 0; q < 3; q++)
		while (take_next(fx, q, &last[q]))
			nb_got++;
	start(fx, 3);
	assert_int_equal(nb_got + nb_dropped(fx), 150);
}

FX_TEST(test_deferred_start)
{
	const struct rte_eth_rxconf deferred = { .rx_deferred_start = 1 };
	struct arrivals all, now;

	fx->ignore_counters = true;
	assert_int_equal(fx_configure(fx, fx->port[0], &four), 0);
	assert_int_equal(fx_configure(fx, fx->port[1], &four), 0);
	fx_rx_setup(fx->port[1], 1, NB_RXD, &deferred, fx->pool);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(fx_dev_start(fx, 1), 0);
		check_state(fx, 1, RTE_ETH_QUEUE_STATE_STOPPED);
		check_state(fx, 0, RTE_ETH_QUEUE_STATE_STARTED);
		now = pass(fx, NB_RXQ);
		assert_int_equal(now.nb[1], 0);
		start(fx, 1);
		all = pass(fx, NB_RXQ);
		assert_int_equal(sum(&all), 100);
		assert_int_equal(sum(&now), 100 - all.nb[1]);
		check_wire(fx);
		/* deferred again at the next start */
		assert_int_equal(fx_dev_stop(fx, 1), 0);
	}
	for (uint16_t q = 0; q < NB_RXQ; q++)
		fx_rx_setup(fx->port[1], q, NB_RXD, &deferred, fx->pool);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	for (uint16_t q = 0; q < NB_RXQ; q++)
		start(fx, q);
	check_reception(fx, &all);
}

/* Another pool and size; the old pool can be freed. */
FX_TEST(test_set_up_at_run_time)
{
	struct fx_config config = four;
	struct rte_mempool *pool = fx_pool(fx, 2047, RTE_MBUF_DEFAULT_BUF_SIZE);
	struct arrivals all, now;

	fx->ignore_counters = true;
	assert_int_equal(fx_configure(fx, fx->port[0], &four), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	config.rx_pool = pool;
	assert_int_equal(fx_configure(fx, fx->port[1], &config), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	all = pass(fx, NB_RXQ);
	assert_int_equal(rte_eth_rx_queue_setup(fx->port[1], 0, NB_RXD, SOCKET_ID_ANY,
						NULL, pool), -EBUSY);
	for (uint16_t q = 0; q < NB_RXQ; q++) {
		struct rte_eth_rxq_info info;

		rxq_stop(fx, q);
		now = pass(fx, NB_RXQ);
		assert_int_equal(sum(&now), 100 - all.nb[q]);
		fx_rx_setup(fx->port[1], q, 200, NULL, fx->pool);
		start(fx, q);
		assert_int_equal(rte_eth_rx_queue_info_get(fx->port[1], q, &info), 0);
		assert_int_equal(info.nb_desc, 200);
		assert_ptr_equal(info.mp, fx->pool);
		check_reception(fx, &all);
	}
	fx_pool_free(fx, pool);
	check_reception(fx, &all);
}

/* Too few mbufs for the queue: it stays stopped. */
FX_TEST(test_start_without_mbufs)
{
	struct rte_mempool *pool = fx_pool(fx, NB_RXD - 1, RTE_MBUF_DEFAULT_BUF_SIZE);
	struct fx_holdings stopped;
	struct arrivals all, now;

	fx->ignore_counters = true;
	fx_start(fx, &four);
	all = pass(fx, NB_RXQ);
	rxq_stop(fx, 1);
	fx_rx_setup(fx->port[1], 1, NB_RXD, NULL, pool);
	fx_holdings_get(&stopped);
	fx_expect_error("too few mbufs");
	assert_int_equal(rte_eth_dev_rx_queue_start(fx->port[1], 1), -ENOMEM);
	check_holdings(&stopped, "after the refused start");
	check_state(fx, 1, RTE_ETH_QUEUE_STATE_STOPPED);
	now = pass(fx, NB_RXQ);
	assert_int_equal(sum(&now), 100 - all.nb[1]);
	check_wire(fx);
}

/*
 * Each kernel call fails once: the state is as before, waiting packets are
 * counted, and the next attempt succeeds.
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

	all = pass(fx, NB_RXQ);
	assert_int_equal(sum(&all), 100);
	if (is_start) {
		rxq_stop(fx, 2);
		/* the start rebuilds its hardware queues */
		fx_rx_setup(fx->port[1], 2, NB_RXD, NULL, fx->pool);
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
	assert_int_equal(ret, -error);
	check_state(fx, 2, is_start ? RTE_ETH_QUEUE_STATE_STOPPED :
					 RTE_ETH_QUEUE_STATE_STARTED);
	/* Rx is down: the next change starts it again, unless the driver does before */
	if (!is_start)
		assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &rss), 0);
	now = receive_all(fx, NB_RXQ);
	if (!is_start) {
		assert_int_equal(sum(&now) + nb_dropped(fx) - dropped, 50);
	} else {
		/* the rollback uses it, too */
		if (strcmp(call, "create_qp") != 0)
			check_holdings(&before, call);
		start(fx, 2);
	}
	check_reception(fx, &all);
}

FX_TEST(test_kernel_errors)
{
	static const int errors[] = { ENOMEM, EINVAL, EBUSY, EPROTO };

	fx->ignore_counters = true;
	fx_expect_error("");
	fx_start(fx, &four);
	for (unsigned int i = 0; i < RTE_DIM(errors); i++) {
		for (unsigned int is_start = 0; is_start < 2; is_start++) {
			/* the first QP and CQ are the internal Tx queue's */
			check_refused(fx, "create_qp", 2, errors[i], is_start);
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
FX_TEST(test_cq_id_in_use)
{
	const unsigned int nb_tries = 4;
	struct rte_eth_dev_info before, after;

	fx_start(fx, &four);
	assert_int_equal(rte_eth_dev_info_get(fx->port[1], &before), 0);
	/* a Tx queue's QP, then the RSS QP */
	for (unsigned int nb_before = 0; nb_before < 2; nb_before++) {
		assert_int_equal(fx_dev_stop(fx, 1), 0);
		refuse_ids(nb_before, nb_tries);
		assert_int_equal(fx_dev_start(fx, 1), 0);
	}
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

/*
 * An operation on a running port does not wait for the id: it fails, and the driver
 * rebuilds later what is missing.
 */
FX_TEST(test_cq_id_in_use_under_traffic)
{
	uint8_t key[40] = { 1, 2, 3 };
	uint16_t port = fx->port[1];

	fx->ignore_counters = true;
	fx_start(fx, &four);
	fx_expect_error("");
	/* the RSS QP, after the internal Tx queue's */
	refuse_ids(1, 1);
	assert_int_equal(fx_key_set(port, key), -EINVAL);
	assert_true(fx_nb_logged(RTE_LOG_ERR, "may still have the id of its CQ") > 0);
	fx_await_xstat(port, "queue_repairs", 1);
	send_many(fx, 100);
	fx_drain(fx);
	assert_int_equal(fx_key_set(port, key), 0);
	/* the Tx queue that keeps the vPort, and the one that is started */
	refuse_ids(0, 1);
	assert_int_equal(rte_eth_dev_tx_queue_stop(port, 0), -EINVAL);
	assert_int_equal(rte_eth_dev_tx_queue_stop(port, 0), 0);
	refuse_ids(0, 1);
	assert_int_equal(rte_eth_dev_tx_queue_start(port, 0), -EINVAL);
	assert_int_equal(rte_eth_dev_tx_queue_start(port, 0), 0);
	send_many(fx, 100);
	fx_drain(fx);
}

/*
 * The program drops CAP_NET_RAW after the start: operations that need kernel
 * objects fail, and Rx continues; the table, queue stop and start work.
 */
FX_TEST(test_privilege_dropped)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX }, before;
	struct rte_eth_rss_conf rss = { .rss_hf = FX_RSS };
	uint8_t key[40], kept[40];
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
	all = pass(fx, NB_RXQ);
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
	now = pass(fx, NB_RXQ);
	for (uint16_t q = 0; q < NB_RXQ; q++)
		assert_int_equal(now.nb[q], all.nb[NB_RXQ - 1 - q]);
	assert_int_equal(rte_eth_dev_rss_reta_update(port, &before, 64), 0);
	rxq_stop(fx, 2);
	start(fx, 2);
	check_reception(fx, &all);
	assert_int_equal(fx_model.privileges(true, true), 0);
}

/* Without an internal Tx queue the adapter may fail for another reason. */
FX_TEST(test_no_spare_queue)
{
	uint8_t key[40] = { 1, 2, 3 };

	fx_start(fx, &four);
	assert_int_equal(fx_model.fault_arm("create_qp", 1, EPROTO), 0);
	assert_int_equal(fx_key_set(fx->port[1], key), 0);
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
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };
	uint16_t queue = i / 4 % NB_RXQ;

	switch (i % 4) {
	case 0:
		rxq_stop(fx, queue);
		break;
	case 1:
		start(fx, queue);
		break;
	case 2:
		key[i % sizeof(key)] += 0x35;
		assert_int_equal(fx_key_set(fx->port[1], key), 0);
		break;
	default:
		for (uint16_t e = 0; e < RTE_ETH_RETA_GROUP_SIZE; e++)
			reta.reta[e] = (e + i / 4) % NB_RXQ;
		assert_int_equal(rte_eth_dev_rss_reta_update(fx->port[1], &reta,
							     RTE_ETH_RETA_GROUP_SIZE), 0);
	}
}

/* A thread polls all queues all the time, also stopped ones. */
FX_TEST(test_changes_during_polls)
{
	struct poller poller = { .port = fx->port[1] };
	struct arrivals rest;

	fx->ignore_counters = true;
	fx_start(fx, &four);
	assert_int_equal(pthread_create(&poller.thread, NULL, poll_all, &poller), 0);
	for (unsigned int i = 0; i < 200; i++) {
		for (unsigned int n = 0; n < 20; n++)
			fx_send_one(fx, i * 20 + n);
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

/*
 * An RSS rebuild posts what the old rings had, and accesses no mempool: the pool has no
 * mbuf left.
 */
static void
check_posted_again(struct fixture *fx, const struct fx_config *config, bool is_lacking)
{
	static struct posted before, after;
	static struct rte_mbuf *taken[FX_NB_MBUFS];
	uint16_t room = RTE_PKTMBUF_HEADROOM +
			(config->rx_offloads != 0 ? 1024 : 2048);
	uint8_t key[40] = { 3, 2, 1 };
	struct fx_config its = *config;
	unsigned int nb_taken = 0;

	its.rx_pool = rte_pktmbuf_pool_create("posted", FX_NB_MBUFS, 0, 0, room,
					      SOCKET_ID_ANY);
	assert_non_null(its.rx_pool);
	assert_int_equal(fx_configure(fx, 1, &its), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	find_posted(its.rx_pool, &before);
	while (is_lacking &&
	       rte_mempool_get(its.rx_pool, (void **)&taken[nb_taken]) == 0)
		nb_taken++;
	assert_int_equal(fx_key_set(fx->port[1], key), 0);
	for (unsigned int i = 0; i < nb_taken; i++)
		rte_mempool_put(its.rx_pool, taken[i]);
	find_posted(its.rx_pool, &after);
	assert_int_equal(after.nb_held, before.nb_held);
	assert_memory_equal(after.is_held, before.is_held,
			    before.nb_all * sizeof(before.is_held[0]));
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	assert_int_equal(rte_mempool_avail_count(its.rx_pool), FX_NB_MBUFS);
	/* afterwards no queue refers to the pool */
	assert_int_equal(fx_configure(fx, 1, config), 0);
	rte_mempool_free(its.rx_pool);
}

FX_TEST(test_old_buffers_are_posted_again)
{
	const struct fx_config scattering = {
		.nb_rxq = NB_RXQ, .nb_rxd = NB_RXD, .rss_hf = FX_RSS,
		.rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER,
	};
	const struct fx_config *configs[] = { &four, &scattering };

	for (unsigned int i = 0; i < 2 * RTE_DIM(configs); i++)
		check_posted_again(fx, configs[i / 2], i % 2 != 0);
}

static struct rte_mempool *
pool_of(uint16_t priv_bytes)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create("walked", 1023, 0, priv_bytes,
							   RTE_MBUF_DEFAULT_BUF_SIZE,
							   SOCKET_ID_ANY);

	assert_non_null(pool);
	return pool;
}

/* Receives frames of send_many(), from any queue, and checks their bytes. */
static void
check_frames(struct fixture *fx, unsigned int nb)
{
	uint64_t end = fx_deadline();

	for (uint16_t q = 0; nb > 0; q = (q + 1) % NB_RXQ) {
		int any = -1;

		assert_true(rte_get_timer_cycles() < end);
		nb -= take_next(fx, q, &any);
	}
}

/* Setup of queues reads the mbufs of a pool once: a pool may have millions. */
FX_TEST(test_pool_is_read_once)
{
	/* The second pool may be where the first one was. */
	static const uint16_t priv_bytes[] = { 0, 64, 64, 0 };
	struct rte_mempool *pools[] = { NULL, fx_pool(fx, 1023, 2 * RTE_MBUF_DEFAULT_BUF_SIZE) };

	assert_int_equal(fx_configure(fx, fx->port[0], &(struct fx_config){ 0 }), 0);
	assert_int_equal(fx_configure(fx, fx->port[1], &four), 0);
	for (unsigned int i = 0; i < RTE_DIM(priv_bytes); i++) {
		/* The queues that are set up still name the pool that was freed. */
		pools[0] = pool_of(priv_bytes[i]);
		nb_walks = 0;
		for (uint16_t q = 0; q < NB_RXQ; q++)
			fx_rx_setup(fx->port[1], q, NB_RXD, NULL, pools[q / 3]);
		/* The other port, too. */
		fx_rx_setup(fx->port[0], 0, NB_RXD, NULL, pools[1]);
		assert_uint_in_range(nb_walks, i == 0, RTE_DIM(pools));
		fx_restart(fx);
		/* several laps of the rings */
		for (unsigned int lap = 0; lap < 10; lap++) {
			send_many(fx, 100);
			check_frames(fx, 100);
		}
		fx_stop(fx);
		rte_mempool_free(pools[0]);
	}
	assert_int_equal(fx_configure(fx, fx->port[1], &(struct fx_config){ 0 }), 0);
}

/* A kernel that lacks memory for a moment: nothing is left behind, nothing is in use. */
FX_TEST(test_destroy_fails_once)
{
	static const char *const calls[] = { "destroy_cq", "destroy_wq", "destroy_qp",
					     "dereg_mr" };

	fx_start(fx, &four);
	for (unsigned int i = 0; i < RTE_DIM(calls); i++) {
		assert_int_equal(fx_model.fault_arm(calls[i], 1, ENOMEM), 0);
		if (i == RTE_DIM(calls) - 1)
			fx_remove(fx);
		else
			assert_int_equal(fx_dev_stop(fx, 1), 0);
		assert_int_equal(fx_model.fault_hits(), 1);
		fx_model.fault_disarm();
		if (i != RTE_DIM(calls) - 1)
			assert_int_equal(fx_dev_start(fx, 1), 0);
	}
}
