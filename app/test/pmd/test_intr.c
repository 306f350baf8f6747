/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive interrupts: who sleeps is woken, once, by its own queue. */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_interrupts.h>

#include "bench.h"

#define LIMIT_MS 20000 /* of a sleep that must end; only a defect waits for it */
#define QUIET_MS 30    /* of one that must not */
#define NB_FRAMES 64

static const struct bench_config plain;
static const struct bench_config woken = { .intr = { .rxq = 1 } };

static void *
data_of(uint16_t port, uint16_t queue)
{
	return (void *)(((uintptr_t)port << 16) + queue + 1);
}

static void
listen_to(uint16_t port, uint16_t queue, int epfd)
{
	assert_int_equal(rte_eth_dev_rx_intr_ctl_q(port, queue, epfd,
			 RTE_INTR_EVENT_ADD, data_of(port, queue)), 0);
}

/* The queue, as data_of(), that ends the sleep; NULL: none did. */
static void *
sleep_on(int epfd, int ms)
{
	struct rte_epoll_event event;
	int nb = rte_epoll_wait(epfd, &event, 1, ms);

	assert_true(nb >= 0);
	return nb == 0 ? NULL : event.epdata.data;
}

static void
send_one(struct bench *bench, uint32_t seed)
{
	struct rte_mbuf *m = bench_frame(bench->pool, 100, seed);

	bench_send(bench->port[0], 0, &m, 1);
}

/* Until the device has written the CQE, that an arming finds. */
static void
wait_waiting(const struct bench *bench, uint64_t nb)
{
	uint64_t end = bench_deadline();

	while (bench_wire(bench, 1).rx_packets < nb)
		assert_true(rte_get_timer_cycles() < end);
}

static unsigned int
take_all(uint16_t port, uint16_t queue)
{
	struct rte_mbuf *pkts[BENCH_BURST];
	unsigned int total = 0;
	uint16_t nb;

	while ((nb = rte_eth_rx_burst(port, queue, pkts, RTE_DIM(pkts))) != 0) {
		rte_pktmbuf_free_bulk(pkts, nb);
		total += nb;
	}
	return total;
}

static void
enable(uint16_t port, uint16_t queue)
{
	assert_int_equal(rte_eth_dev_rx_intr_enable(port, queue), 0);
}

static void
disable(uint16_t port, uint16_t queue)
{
	assert_int_equal(rte_eth_dev_rx_intr_disable(port, queue), 0);
}

/* Takes the event that a CQ gives without being asked: it is created armed. */
static void
settle_down(struct bench *bench, uint16_t port, uint16_t queue, int epfd)
{
	struct rte_mbuf *m;

	send_one(bench, 0);
	assert_int_equal(bench_receive(port, queue, &m, 1), 1);
	rte_pktmbuf_free(m);
	enable(port, queue);
	disable(port, queue);
	while (sleep_on(epfd, 0) != NULL)
		disable(port, queue);
}

static void
test_frame_after_arming(void **state)
{
	struct bench *bench = *state;
	uint16_t port = bench->port[1];

	bench_start(bench, &woken);
	listen_to(port, 0, RTE_EPOLL_PER_THREAD);
	settle_down(bench, port, 0, RTE_EPOLL_PER_THREAD);
	for (unsigned int i = 0; i < NB_FRAMES; i++) {
		enable(port, 0);
		assert_null(sleep_on(RTE_EPOLL_PER_THREAD, 0));
		send_one(bench, i);
		assert_ptr_equal(sleep_on(RTE_EPOLL_PER_THREAD, LIMIT_MS),
				 data_of(port, 0));
		disable(port, 0);
		assert_int_equal(take_all(port, 0), 1);
	}
}

static void
test_frame_before_arming(void **state)
{
	struct bench *bench = *state;
	uint16_t port = bench->port[1];

	bench_start(bench, &woken);
	listen_to(port, 0, RTE_EPOLL_PER_THREAD);
	settle_down(bench, port, 0, RTE_EPOLL_PER_THREAD);
	for (unsigned int i = 0; i < NB_FRAMES; i++) {
		send_one(bench, i);
		wait_waiting(bench, i + 2);
		enable(port, 0);
		assert_ptr_equal(sleep_on(RTE_EPOLL_PER_THREAD, LIMIT_MS),
				 data_of(port, 0));
		disable(port, 0);
		assert_int_equal(take_all(port, 0), 1);
	}
}

/* Disabled: frames come and nobody is woken, until it is enabled again. */
static void
test_disabled_is_quiet(void **state)
{
	struct bench *bench = *state;
	uint16_t port = bench->port[1];

	bench_start(bench, &woken);
	listen_to(port, 0, RTE_EPOLL_PER_THREAD);
	settle_down(bench, port, 0, RTE_EPOLL_PER_THREAD);
	enable(port, 0);
	disable(port, 0);
	send_one(bench, 1);
	wait_waiting(bench, 2);
	assert_null(sleep_on(RTE_EPOLL_PER_THREAD, QUIET_MS));
	enable(port, 0);
	enable(port, 0);
	assert_ptr_equal(sleep_on(RTE_EPOLL_PER_THREAD, LIMIT_MS), data_of(port, 0));
	disable(port, 0);
	disable(port, 0);
	assert_int_equal(take_all(port, 0), 1);
	assert_null(sleep_on(RTE_EPOLL_PER_THREAD, QUIET_MS));
}

/* A frame that goes to this work queue of four: by entry of the table, hash & 3. */
static uint32_t
seed_of(struct bench *bench, uint16_t port, uint32_t entry)
{
	struct rte_mbuf *m;
	uint64_t end = bench_deadline();
	uint32_t seed, hash;

	for (seed = 0;; seed++) {
		send_one(bench, seed);
		for (uint16_t q = 0; rte_eth_rx_burst(port, q, &m, 1) == 0; q = (q + 1) % 3)
			assert_true(rte_get_timer_cycles() < end);
		hash = m->hash.rss;
		rte_pktmbuf_free(m);
		if (hash % 4 == entry)
			return seed;
	}
}

/*
 * Queue 0 of three has two of the device's four work queues. One of them has
 * made the event; disabled, the other one makes none.
 */
static void
test_disabled_is_quiet_for_all(void **state)
{
	static const struct bench_config config = {
		.nb_rxq = 3, .nb_txq = 1, .nb_rxd = 64, .rss_hf = BENCH_RSS,
		.rx_offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH,
		.intr = { .rxq = 1 },
	};
	struct bench *bench = *state;
	uint16_t port = bench->port[1];
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };
	uint32_t seeds[2], nb = 0, before;

	bench_start(bench, &config);
	assert_int_equal(rte_eth_dev_rss_reta_query(port, &reta, 4), 0);
	for (uint32_t entry = 0; entry < 4; entry++) {
		if (reta.reta[entry] != 0)
			continue;
		assert_true(nb < RTE_DIM(seeds));
		seeds[nb++] = seed_of(bench, port, entry);
	}
	assert_int_equal(nb, 2);
	listen_to(port, 0, RTE_EPOLL_PER_THREAD);
	/* Both CQs are created armed: their events are taken before. */
	for (unsigned int i = 0; i < 2; i++) {
		enable(port, 0);
		disable(port, 0);
	}
	while (sleep_on(RTE_EPOLL_PER_THREAD, 0) != NULL)
		disable(port, 0);
	for (unsigned int first = 0; first < 2; first++) {
		enable(port, 0);
		send_one(bench, seeds[first]);
		assert_ptr_equal(sleep_on(RTE_EPOLL_PER_THREAD, LIMIT_MS),
				 data_of(port, 0));
		disable(port, 0);
		assert_int_equal(take_all(port, 0), 1);
		before = bench_wire(bench, 1).rx_packets;
		send_one(bench, seeds[!first]);
		wait_waiting(bench, before + 1);
		assert_null(sleep_on(RTE_EPOLL_PER_THREAD, QUIET_MS));
		assert_int_equal(take_all(port, 0), 1);
	}
}

/* A burst smaller than what waits: the rest makes the event, too. */
static void
test_arming_with_packets_left(void **state)
{
	struct rte_mbuf *pkts[8];
	struct bench *bench = *state;
	uint16_t port = bench->port[1];

	bench_start(bench, &woken);
	listen_to(port, 0, RTE_EPOLL_PER_THREAD);
	settle_down(bench, port, 0, RTE_EPOLL_PER_THREAD);
	for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
		pkts[i] = bench_frame(bench->pool, 64, 7);
	bench_send(bench->port[0], 0, pkts, RTE_DIM(pkts));
	wait_waiting(bench, 1 + RTE_DIM(pkts));
	for (unsigned int i = 0; i < RTE_DIM(pkts); i++) {
		enable(port, 0);
		assert_ptr_equal(sleep_on(RTE_EPOLL_PER_THREAD, LIMIT_MS),
				 data_of(port, 0));
		disable(port, 0);
		assert_int_equal(rte_eth_rx_burst(port, 0, pkts, 1), 1);
		rte_pktmbuf_free(pkts[0]);
	}
	assert_int_equal(take_all(port, 0), 0);
}

/* Three queues over four work queues, all in one epoll set. */
static void
test_queues_in_one_set(void **state)
{
	static const struct bench_config config = {
		.nb_rxq = 3, .nb_txq = 1, .nb_rxd = 64, .rss_hf = BENCH_RSS,
		.intr = { .rxq = 1 },
	};
	struct bench *bench = *state;
	uint16_t port = bench->port[1];
	unsigned int by_queue[3] = { 0 };
	int epfd = epoll_create1(EPOLL_CLOEXEC);

	assert_true(epfd >= 0);
	bench_start(bench, &config);
	for (uint16_t q = 0; q < 3; q++) {
		listen_to(port, q, epfd);
		enable(port, q);
	}
	for (unsigned int i = 0; i < 3 * NB_FRAMES; i++) {
		unsigned int nb = 0;

		send_one(bench, i);
		while (nb == 0) {
			void *data = sleep_on(epfd, LIMIT_MS);
			uint16_t q = (uintptr_t)data - (uintptr_t)data_of(port, 0);

			assert_true(data != NULL && q < 3);
			disable(port, q);
			nb = take_all(port, q);
			by_queue[q] += nb;
			enable(port, q);
		}
		assert_int_equal(nb, 1);
	}
	for (uint16_t q = 0; q < 3; q++)
		assert_true(by_queue[q] > 0);
	bench_stop(bench);
	close(epfd);
}

/* The descriptor itself, for the application's own poll(). */
static void
test_descriptor(void **state)
{
	struct bench *bench = *state;
	uint16_t port = bench->port[1];
	struct pollfd fd = { .events = POLLIN };

	bench_start(bench, &woken);
	fd.fd = rte_eth_dev_rx_intr_ctl_q_get_fd(port, 0);
	assert_true(fd.fd >= 0);
	send_one(bench, 1);
	enable(port, 0);
	assert_int_equal(poll(&fd, 1, LIMIT_MS), 1);
	assert_int_equal(fd.revents, POLLIN);
	disable(port, 0);
	assert_int_equal(poll(&fd, 1, 0), 0);
	assert_int_equal(take_all(port, 0), 1);
}

/* Events that nobody has read, and sets that nobody has left, at stop. */
static void
test_stop_with_events(void **state)
{
	struct bench *bench = *state;
	struct bench_holdings before;
	uint16_t port = bench->port[1];

	bench_start(bench, &woken);
	bench_stop(bench);
	bench_hold(&before);
	for (unsigned int i = 0; i < 20; i++) {
		for (unsigned int p = 0; p < BENCH_NB_PORTS; p++)
			assert_int_equal(bench_dev_start(bench, p), 0);
		listen_to(port, 0, RTE_EPOLL_PER_THREAD);
		enable(port, 0);
		send_one(bench, i);
		assert_ptr_equal(sleep_on(RTE_EPOLL_PER_THREAD, LIMIT_MS),
				 data_of(port, 0));
		if (i % 2 == 0)
			disable(port, 0);
		assert_int_equal(take_all(port, 0), 1);
		bench_stop(bench);
		bench_check_held(&before, "after a stop with events");
	}
}

static void
test_without_interrupts(void **state)
{
	struct bench *bench = *state;
	uint16_t port = bench->port[0];

	bench_expect_error("");
	bench_start(bench, &plain);
	assert_int_equal(rte_eth_dev_rx_intr_enable(port, 0), -EINVAL);
	assert_int_equal(rte_eth_dev_rx_intr_disable(port, 0), -EINVAL);
	assert_int_equal(bench_nb_logged(RTE_LOG_ERR, "intr_conf.rxq"), 2);
	assert_true(rte_eth_dev_rx_intr_ctl_q(port, 0, RTE_EPOLL_PER_THREAD,
					      RTE_INTR_EVENT_ADD, NULL) < 0);
	bench_stop(bench);
	assert_int_equal(bench_configure(bench, port, &woken), 0);
	assert_int_equal(rte_eth_dev_rx_intr_enable(port, 0), -EINVAL);
	assert_int_equal(bench_nb_logged(RTE_LOG_ERR, "not started"), 1);
}

/* Each queue takes a descriptor: there may be too few. */
static void
test_no_descriptor_left(void **state)
{
	struct bench *bench = *state;

	bench_expect_error("");
	assert_int_equal(bench_configure(bench, bench->port[0], &woken), 0);
	assert_int_equal(bench_model.fault_arm("alloc_channel", 1, EMFILE), 0);
	assert_int_equal(bench_dev_start(bench, 0), -EMFILE);
	assert_int_equal(bench_nb_logged(RTE_LOG_ERR, "ulimit -n"), 1);
	bench_model.fault_disarm();
	bench_start(bench, &woken);
	bench_pass_one(bench);
}

/* A queue without traffic: it can be slept on all the same. */
static void
test_queue_without_traffic(void **state)
{
	static const struct bench_config config = { .nb_rxq = 2, .nb_txq = 1,
						    .intr = { .rxq = 1 } };
	struct bench *bench = *state;
	uint16_t port = bench->port[1];

	bench_start(bench, &config);
	for (uint16_t q = 0; q < 2; q++) {
		listen_to(port, q, RTE_EPOLL_PER_THREAD);
		enable(port, q);
	}
	send_one(bench, 1);
	assert_ptr_equal(sleep_on(RTE_EPOLL_PER_THREAD, LIMIT_MS), data_of(port, 0));
	assert_null(sleep_on(RTE_EPOLL_PER_THREAD, QUIET_MS));
	disable(port, 1);
	disable(port, 0);
	assert_int_equal(take_all(port, 0), 1);
}

/* Nothing can come: who would sleep is told, and can give buffers back. */
static void
test_no_buffer_left(void **state)
{
	struct rte_mbuf *held[128], *m;
	struct bench *bench = *state;
	struct bench_config config = woken;
	uint16_t port = bench->port[1];
	unsigned int nb = 0;

	config.nb_rxd = 64;
	config.rx_pool = bench_pool(bench, 64, RTE_MBUF_DEFAULT_BUF_SIZE);
	assert_int_equal(bench_configure(bench, bench->port[0], &plain), 0);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(bench_configure(bench, port, &config), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	/* the application keeps all that it receives */
	for (unsigned int i = 0; i < 64; i++) {
		send_one(bench, i);
		wait_waiting(bench, i + 1 < 63 ? i + 1 : 63);
	}
	while (nb < 64 && bench_receive(port, 0, &m, 1) == 1)
		held[nb++] = m;
	assert_int_equal(rte_mempool_avail_count(config.rx_pool), 0);
	if (rte_eth_dev_rx_intr_enable(port, 0) != -ENOMEM)
		fail_msg("%u packets are held, and it sleeps", nb);
	rte_pktmbuf_free_bulk(held, nb);
	enable(port, 0);
	send_one(bench, 1);
	disable(port, 0);
	assert_int_equal(bench_receive(port, 0, &m, 1), 1);
	rte_pktmbuf_free(m);
	bench->ignore_counters = true; /* the wire dropped some */
}

struct sleeper {
	uint16_t port;
	int epfd; /* EAL never closes that of a thread */
	bool is_ready;
};

static void *
sleep_in_thread(void *arg)
{
	struct sleeper *sleeper = arg;

	listen_to(sleeper->port, 0, sleeper->epfd);
	enable(sleeper->port, 0);
	__atomic_store_n(&sleeper->is_ready, true, __ATOMIC_RELEASE);
	return sleep_on(sleeper->epfd, LIMIT_MS);
}

/* The device goes while a thread sleeps. */
static void
test_removal_wakes(void **state)
{
	struct bench *bench = *state;
	uint16_t port = bench->port[1];
	struct sleeper sleeper = { .port = port,
				   .epfd = epoll_create1(EPOLL_CLOEXEC) };
	pthread_t thread;
	void *data;

	bench_expect_error("");
	bench_start(bench, &woken);
	assert_int_equal(pthread_create(&thread, NULL, sleep_in_thread, &sleeper), 0);
	while (!__atomic_load_n(&sleeper.is_ready, __ATOMIC_ACQUIRE))
		rte_delay_us_sleep(1000);
	bench_tell("fatal fn=0");
	assert_int_equal(pthread_join(thread, &data), 0);
	assert_ptr_equal(data, data_of(port, 0));
	while (rte_eth_dev_is_removed(port) == 0)
		rte_delay_us_sleep(1000);
	assert_int_equal(rte_eth_dev_rx_intr_enable(port, 0), -EIO);
	assert_int_equal(rte_eth_dev_rx_intr_disable(port, 0), -EIO);
	bench_stop(bench);
	close(sleeper.epfd);
	bench_remove(bench);
	bench_tell("return fn=0");
	assert_int_equal(bench_probe(bench, ""), 0);
}

/* A change of reception while somebody sleeps: new CQs, the same wake-ups. */
static void
test_change_while_asleep(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = woken;
	uint16_t port = bench->port[1];
	uint8_t key[40] = { 0 };
	struct rte_eth_rss_conf conf = { .rss_key = key, .rss_key_len = sizeof(key),
					 .rss_hf = BENCH_RSS };

	config.rss_hf = BENCH_RSS;
	bench_start(bench, &config);
	listen_to(port, 0, RTE_EPOLL_PER_THREAD);
	settle_down(bench, port, 0, RTE_EPOLL_PER_THREAD);
	for (unsigned int i = 0; i < 8; i++) {
		/* armed before the change */
		enable(port, 0);
		key[0]++;
		assert_int_equal(rte_eth_dev_rss_hash_update(port, &conf), 0);
		send_one(bench, i);
		assert_ptr_equal(sleep_on(RTE_EPOLL_PER_THREAD, LIMIT_MS),
				 data_of(port, 0));
		disable(port, 0);
		assert_int_equal(take_all(port, 0), 1);
		/* received before the change, waited for after it */
		send_one(bench, i);
		wait_waiting(bench, 2 * i + 3);
		key[1]++;
		assert_int_equal(rte_eth_dev_rss_hash_update(port, &conf), 0);
		enable(port, 0);
		assert_ptr_equal(sleep_on(RTE_EPOLL_PER_THREAD, LIMIT_MS),
				 data_of(port, 0));
		disable(port, 0);
		assert_int_equal(take_all(port, 0), 1);
	}
}

struct toggler {
	uint16_t port;
	bool is_ending;
};

/* Stops and starts queue 1; returns NULL, or what was refused. */
static void *
toggle_in_thread(void *arg)
{
	struct toggler *toggler = arg;

	while (!__atomic_load_n(&toggler->is_ending, __ATOMIC_ACQUIRE)) {
		if (rte_eth_dev_rx_queue_stop(toggler->port, 1) != 0)
			return (void *)(uintptr_t)"stop";
		if (rte_eth_dev_rx_queue_start(toggler->port, 1) != 0)
			return (void *)(uintptr_t)"start";
	}
	return NULL;
}

/*
 * A queue without traffic stops and starts, which holds the others for a moment
 * and leaves their CQs: who enables just then is woken.
 */
static void
test_enabled_while_held(void **state)
{
	static const struct bench_config config = { .nb_rxq = 2, .nb_txq = 1,
						    .intr = { .rxq = 1 } };
	struct bench *bench = *state;
	uint16_t port = bench->port[1];
	struct toggler toggler = { .port = port };
	pthread_t thread;
	void *refused;

	bench_start(bench, &config);
	listen_to(port, 0, RTE_EPOLL_PER_THREAD);
	settle_down(bench, port, 0, RTE_EPOLL_PER_THREAD);
	assert_int_equal(pthread_create(&thread, NULL, toggle_in_thread, &toggler), 0);
	for (unsigned int i = 0; i < 10 * NB_FRAMES; i++) {
		unsigned int nb = 0;

		send_one(bench, i);
		while (nb == 0) {
			enable(port, 0);
			if (sleep_on(RTE_EPOLL_PER_THREAD, LIMIT_MS) == NULL)
				fail_msg("frame %u woke nobody", i);
			disable(port, 0);
			nb = take_all(port, 0);
		}
		assert_int_equal(nb, 1);
	}
	__atomic_store_n(&toggler.is_ending, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, &refused), 0);
	assert_null(refused);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_frame_after_arming),
		BENCH_TEST(test_frame_before_arming),
		BENCH_TEST(test_change_while_asleep),
		BENCH_TEST(test_enabled_while_held),
		BENCH_TEST(test_disabled_is_quiet),
		BENCH_TEST(test_disabled_is_quiet_for_all),
		BENCH_TEST(test_arming_with_packets_left),
		BENCH_TEST(test_queues_in_one_set),
		BENCH_TEST(test_descriptor),
		BENCH_TEST(test_stop_with_events),
		BENCH_TEST(test_without_interrupts),
		BENCH_TEST(test_no_descriptor_left),
		BENCH_TEST(test_queue_without_traffic),
		BENCH_TEST(test_no_buffer_left),
		BENCH_TEST(test_removal_wakes),
	};

	return BENCH_RUN("intr", tests);
}
