/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Queues fail, and the driver rebuilds them while the port runs. In the last tests, time
 * passes faster for the driver: this program has its own clock_gettime() and
 * rte_eal_alarm_set().
 */

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <rte_alarm.h>
#include <rte_cycles.h>

#include "fixture.h"

#define NB_FAILURES 3
#define SPEED 20 /* of the driver's time in test_no_progress() */
/* In test_wait_is_logged(), which comes last: the driver's clock must not go back. */
#define WAIT_SPEED 2000

static const struct fx_config one;
static const struct fx_config two = { .nb_txq = 2 };

static uint64_t speed = 1;

/* The driver's clock counts speed times the nanoseconds; other callers have the real one. */
int
clock_gettime(clockid_t clock, struct timespec *ts)
{
	static int (*real)(clockid_t clock, struct timespec *ts);
	uint64_t ns;
	Dl_info caller;

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	if (real(clock, ts) != 0)
		return -1;
	if (dladdr(__builtin_return_address(0), &caller) != 0 &&
	    strstr(caller.dli_fname, "rte_net_mana") != NULL) {
		ns = speed * ((uint64_t)ts->tv_sec * NS_PER_S + (uint64_t)ts->tv_nsec);
		ts->tv_sec = (time_t)(ns / NS_PER_S);
		ts->tv_nsec = (long)(ns % NS_PER_S);
	}
	return 0;
}

/* Only the driver has alarms. */
int
rte_eal_alarm_set(uint64_t us, rte_eal_alarm_callback callback, void *arg)
{
	static int (*real)(uint64_t us, rte_eal_alarm_callback callback, void *arg);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "rte_eal_alarm_set");
	return real(RTE_MAX(us / speed, UINT64_C(1)), callback, arg);
}

/* One frame of port 0 on this Tx queue that port 1 has received, before the limit. */
static void
send_until_received(struct fixture *fx, uint16_t queue)
{
	uint64_t end = fx_deadline();
	unsigned int nb = 0;

	while (nb == 0) {
		struct rte_mbuf *m = fx_frame(fx->pool, 100, 1);

		if (rte_eth_tx_burst(fx->port[0], queue, &m, 1) == 0)
			rte_pktmbuf_free(m);
		nb = fx_receive_all(fx->port[1], 0);
		assert_true(rte_get_timer_cycles() < end);
	}
}

static void
wait_repaired(const struct fixture *fx, unsigned int side, uint64_t nb)
{
	uint64_t end = fx_deadline();

	while (fx_xstat(fx->port[side], "queue_repairs") < nb) {
		struct rte_mbuf *m;

		/* a queue learns of its failure in a burst */
		(void)rte_eth_tx_burst(fx->port[side], 0, NULL, 0);
		if (rte_eth_rx_burst(fx->port[side], 0, &m, 1) == 1)
			rte_pktmbuf_free(m);
		assert_true(rte_get_timer_cycles() < end);
	}
}

/* The only Tx queue of a port: Rx needs the vPort that it holds. */
FX_TEST(test_tx_queue)
{
	fx_expect_error("Tx queue 0 has failed (disabled)");
	fx->ignore_counters = true; /* the wire has not seen the failed packets */
	fx_start(fx, &one);
	fx_pass_one(fx);
	for (unsigned int i = 1; i <= NB_FAILURES; i++) {
		fx_command("cqe port=1 tx type=42");
		fx_send_one(fx, i);
		wait_repaired(fx, 0, i);
		assert_int_equal(fx_xstat(fx->port[0], "tx_failed"), i);
		fx_drain(fx);
		fx_pass_one(fx);
	}
	assert_int_equal(fx_xstat(fx->port[0], "rx_outages"), 0);
	fx_stop(fx);
	assert_int_equal(rte_mempool_avail_count(fx->pool), FX_NB_MBUFS);
}

FX_TEST(test_rx_queue)
{
	fx_expect_error("Rx queue 0 has failed (overrun)");
	fx->ignore_counters = true;
	fx_start(fx, &one);
	fx_pass_one(fx);
	for (unsigned int i = 1; i <= NB_FAILURES; i++) {
		fx_command("bogus port=2 rx what=wrong-owner");
		fx_send_one(fx, i);
		wait_repaired(fx, 1, i);
		fx_drain(fx);
		fx_pass_one(fx);
		assert_int_equal(fx_xstat(fx->port[1], "rx_outages"), i);
	}
	fx_stop(fx);
	assert_int_equal(rte_mempool_avail_count(fx->pool), FX_NB_MBUFS);
}

/* Sends on queue 1 without end. */
struct sender {
	const struct fixture *fx;
	uint64_t nb_sent;
	bool is_over;
};

static void *
send_all(void *arg)
{
	struct sender *sender = arg;
	struct rte_mbuf *m = NULL;

	while (!__atomic_load_n(&sender->is_over, __ATOMIC_ACQUIRE)) {
		if (m == NULL)
			m = rte_pktmbuf_alloc(sender->fx->pool);
		if (m == NULL)
			continue;
		m->data_len = 64;
		m->pkt_len = 64;
		if (rte_eth_tx_burst(sender->fx->port[0], 1, &m, 1) == 0)
			continue;
		m = NULL;
		__atomic_add_fetch(&sender->nb_sent, 1, __ATOMIC_RELEASE);
	}
	rte_pktmbuf_free(m);
	return NULL;
}

/* Another queue sends meanwhile, and loses nothing. */
FX_TEST(test_other_queue_goes_on)
{
	struct sender sender = { .fx = fx };
	struct rte_mbuf *m;
	pthread_t thread;
	uint64_t before;

	fx_expect_error("Tx queue 0 has failed (disabled)");
	fx->ignore_counters = true;
	fx_start(fx, &two);
	fx_command("cqe port=1 tx type=42 queue=0");
	assert_int_equal(pthread_create(&thread, NULL, send_all, &sender), 0);
	m = fx_frame(fx->pool, 100, 1);
	while (rte_eth_tx_burst(fx->port[0], 0, &m, 1) == 0)
		(void)fx_receive_all(fx->port[1], 0);
	wait_repaired(fx, 0, 1);
	send_until_received(fx, 0);
	before = __atomic_load_n(&sender.nb_sent, __ATOMIC_ACQUIRE);
	while (__atomic_load_n(&sender.nb_sent, __ATOMIC_ACQUIRE) == before)
		(void)fx_receive_all(fx->port[1], 0);
	__atomic_store_n(&sender.is_over, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, NULL), 0);
	fx_drain(fx);
	assert_int_equal(fx_xstat(fx->port[0], "tx_q1_failed"), 0);
	assert_int_equal(fx_xstat(fx->port[0], "tx_q1_unfinished"), 0);
	assert_int_equal(fx_xstat(fx->port[0], "tx_q0_failed"), 1);
	fx_stop(fx);
	assert_int_equal(rte_mempool_avail_count(fx->pool), FX_NB_MBUFS);
}

/* The kernel refuses the new objects at first: the driver tries again. */
FX_TEST(test_kernel_refuses)
{
	static const char *const calls[] = { "create_cq", "create_qp" };

	fx_expect_error("");
	fx->ignore_counters = true;
	fx_start(fx, &one);
	for (unsigned int i = 0; i < RTE_DIM(calls); i++) {
		assert_int_equal(fx_model.fault_arm(calls[i], 1, ENOMEM), 0);
		fx_command("cqe port=1 tx type=42");
		fx_send_one(fx, i);
		wait_repaired(fx, 0, i + 1);
		assert_true(fx_model.fault_hits() > 0);
		fx_model.fault_disarm();
		fx_drain(fx);
		fx_pass_one(fx);
	}
	assert_true(fx_nb_logged(RTE_LOG_WARNING, "cannot rebuild Tx queue 0") > 0);
}

/* While the kernel refuses a new set of Rx queues the link is down. */
FX_TEST(test_link_of_a_port_without_rx)
{
	uint64_t end = fx_deadline();
	struct rte_eth_link link;

	fx_expect_error("");
	fx->ignore_counters = true;
	fx_start(fx, &one);
	assert_int_equal(fx_model.fault_arm_from("create_qp", 1, ENOMEM), 0);
	fx_command("bogus port=2 rx what=type type=20");
	do {
		assert_true(rte_get_timer_cycles() < end);
		fx_send_one(fx, 0);
		(void)fx_receive_all(fx->port[1], 0);
		assert_int_equal(rte_eth_link_get_nowait(fx->port[1], &link), 0);
	} while (link.link_status == RTE_ETH_LINK_UP);
	fx_model.fault_disarm();
	while (link.link_status != RTE_ETH_LINK_UP) {
		assert_true(rte_get_timer_cycles() < end);
		assert_int_equal(rte_eth_link_get_nowait(fx->port[1], &link), 0);
	}
	fx_drain(fx);
	fx_pass_one(fx);
}

/* The Tx queue does not move, for the nb_stalled-th time, and moves again. */
static void
stall(struct fixture *fx, unsigned int nb_stalled, unsigned int nb_logged)
{
	uint64_t end = fx_deadline();

	fx_command("stall port=1 tx");
	fx_send_one(fx, nb_stalled);
	while (fx_xstat(fx->port[0], "tx_stalled") < nb_stalled) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(10000);
	}
	rte_delay_us_sleep(4000000 / SPEED);
	assert_int_equal(fx_xstat(fx->port[0], "tx_stalled"), nb_stalled);
	assert_int_equal(fx_nb_logged(RTE_LOG_WARNING, "completed none"), nb_logged);
	fx_command("inject off");
	fx_drain(fx);
}

/*
 * A Tx queue that does not move is counted each time, and logged once until it is
 * started again, or was without a stall for a while.
 */
FX_TEST(test_no_progress)
{
	speed = SPEED;
	fx_expect_error("completed none of its packets");
	fx_start(fx, &one);
	stall(fx, 1, 1);
	stall(fx, 2, 1);
	assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[0], 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(fx->port[0], 0), 0);
	stall(fx, 3, 2);
	/* more than 10 seconds of the driver, and a look at the queue */
	rte_delay_us_sleep(12000000 / SPEED);
	stall(fx, 4, 3);
}

static void
wait_logged(const char *what, unsigned int nb)
{
	uint64_t end = fx_deadline();

	while (fx_nb_logged(RTE_LOG_WARNING, what) < nb) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(1000);
	}
}

/* net_failsafe keeps its port without a limit: a line each minute says what it waits for. */
FX_TEST(test_wait_is_logged)
{
	struct rte_eth_dev_owner owner = { .name = "Fail-safe" };
	uint64_t end = fx_deadline();

	fx_expect_error("");
	assert_int_equal(rte_eth_dev_owner_new(&owner.id), 0);
	assert_int_equal(rte_eth_dev_owner_set(fx->port[0], &owner), 0);
	fx_command("fatal fn=0");
	speed = WAIT_SPEED;
	wait_logged("is there, but has no such device: `modprobe", 2);
	assert_int_equal(fx_nb_logged(RTE_LOG_WARNING, "is gone or was replaced"), 0);
	fx_command("remove fn=0");
	wait_logged("is gone or was replaced, and its device is not back", 2);
	fx_command("return fn=0");
	while (fx_xstat(fx->port[0], "recoveries") == 0) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(1000);
	}
	assert_int_equal(rte_eth_dev_owner_delete(owner.id), 0);
}
