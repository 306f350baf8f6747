/* SPDX-License-Identifier: BSD-3-Clause */

/* An Rx interrupt wakes the thread of its queue once. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <ethdev_driver.h>
#include <rte_cycles.h>
#include <rte_interrupts.h>

#include "fixture.h"

#define LIMIT_MS 20000 /* limit of a sleep that must end */
#define QUIET_MS 30    /* limit of one that must not */
#define NB_FRAMES 64

static const struct fx_config defaults;
static const struct fx_config woken = { .intr = { .rxq = 1 } };
static const struct fx_config two_woken = { .nb_rxq = 2, .nb_txq = 1, .intr = { .rxq = 1 } };
static const struct fx_config three_woken = {
	.nb_rxq = 3, .nb_txq = 1, .nb_rxd = 64, .rss_hf = FX_RSS, .intr = { .rxq = 1 },
};

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

/* data_of() the queue that woke the thread; NULL: none. */
static void *
sleep_on(int epfd, int ms)
{
	struct rte_epoll_event event;
	int nb = rte_epoll_wait(epfd, &event, 1, ms);

	assert_true(nb >= 0);
	return nb == 0 ? NULL : event.epdata.data;
}

/* Waits until the device has written the CQE that arming finds. */
static void
wait_waiting(const struct fixture *fx, uint64_t nb)
{
	uint64_t end = fx_deadline();

	while (fx_wire(fx, 1).rx_packets < nb)
		assert_true(rte_get_timer_cycles() < end);
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

/* Consumes the event of a new CQ, which is created armed. */
static void
consume_first_event(struct fixture *fx, uint16_t port, uint16_t queue, int epfd)
{
	fx_send_one(fx, 0);
	rte_pktmbuf_free(fx_receive_one(port, queue));
	enable(port, queue);
	disable(port, queue);
	while (sleep_on(epfd, 0) != NULL)
		disable(port, queue);
}

/* Starts both ports; this thread sleeps on queue 0 of port 1. */
static void
start_listening(struct fixture *fx, const struct fx_config *config)
{
	uint16_t port = fx->port[1];

	fx_start(fx, config);
	listen_to(port, 0, RTE_EPOLL_PER_THREAD);
	consume_first_event(fx, port, 0, RTE_EPOLL_PER_THREAD);
}

/* Sleeps until the queue wakes this thread. */
static void
await_wake(uint16_t port, uint16_t queue)
{
	assert_ptr_equal(sleep_on(RTE_EPOLL_PER_THREAD, LIMIT_MS),
			 data_of(port, queue));
	disable(port, queue);
}

/* Sleeps until queue 0 wakes this thread, for one packet. */
static void
take_after_wake(uint16_t port)
{
	await_wake(port, 0);
	assert_int_equal(fx_receive_all(port, 0), 1);
}

FX_TEST(test_frame_after_arming)
{
	uint16_t port = fx->port[1];

	start_listening(fx, &woken);
	for (unsigned int i = 0; i < NB_FRAMES; i++) {
		enable(port, 0);
		assert_null(sleep_on(RTE_EPOLL_PER_THREAD, 0));
		fx_send_one(fx, i);
		take_after_wake(port);
	}
}

FX_TEST(test_frame_before_arming)
{
	uint16_t port = fx->port[1];

	start_listening(fx, &woken);
	for (unsigned int i = 0; i < NB_FRAMES; i++) {
		fx_send_one(fx, i);
		wait_waiting(fx, i + 2);
		enable(port, 0);
		take_after_wake(port);
	}
}

/*
 * Enable and disable without a poll between them arm the same index again.
 * Frames arrive before, between and after.
 */
FX_TEST(test_enabled_again_without_poll)
{
	uint16_t port = fx->port[1];

	start_listening(fx, &woken);
	for (unsigned int i = 0; i < NB_FRAMES; i++) {
		for (unsigned int again = 0; again < 3; again++) {
			enable(port, 0);
			assert_null(sleep_on(RTE_EPOLL_PER_THREAD, 0));
			disable(port, 0);
		}
		/* While armed, and while disabled. */
		if (i % 2 == 0)
			enable(port, 0);
		fx_send_one(fx, i);
		wait_waiting(fx, i + 2);
		for (unsigned int again = 0; again < 3; again++) {
			enable(port, 0);
			await_wake(port, 0);
		}
		assert_int_equal(fx_receive_all(port, 0), 1);
		/* Each enable withdraws the previous wake-up. */
		do {
			enable(port, 0);
			disable(port, 0);
			enable(port, 0);
			disable(port, 0);
		} while (sleep_on(RTE_EPOLL_PER_THREAD, 0) != NULL);
	}
}

/* Disabled: no frame wakes a thread until the next enable. */
FX_TEST(test_disabled_queue_causes_no_wakeup)
{
	uint16_t port = fx->port[1];

	start_listening(fx, &woken);
	enable(port, 0);
	disable(port, 0);
	fx_send_one(fx, 1);
	wait_waiting(fx, 2);
	assert_null(sleep_on(RTE_EPOLL_PER_THREAD, QUIET_MS));
	enable(port, 0);
	enable(port, 0);
	await_wake(port, 0);
	disable(port, 0);
	assert_int_equal(fx_receive_all(port, 0), 1);
	assert_null(sleep_on(RTE_EPOLL_PER_THREAD, QUIET_MS));
}

/* A seed whose frame has this RETA entry (hash & 3). */
static uint32_t
seed_of(struct fixture *fx, uint16_t port, uint32_t entry)
{
	struct rte_mbuf *m;
	uint64_t end = fx_deadline();
	uint32_t seed, hash;

	for (seed = 0;; seed++) {
		fx_send_one(fx, seed);
		for (uint16_t q = 0; rte_eth_rx_burst(port, q, &m, 1) == 0; q = (q + 1) % 3)
			assert_true(rte_get_timer_cycles() < end);
		hash = m->hash.rss;
		rte_pktmbuf_free(m);
		if (hash % 4 == entry)
			return seed;
	}
}

/*
 * Queue 0 of three polls two of four hardware queues. One of them has caused
 * the event; after disable the other causes none.
 */
FX_TEST(test_disabled_list_causes_no_wakeup)
{
	static const struct fx_config config = {
		.nb_rxq = 3, .nb_txq = 1, .nb_rxd = 64, .rss_hf = FX_RSS,
		.rx_offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH,
		.intr = { .rxq = 1 },
	};
	uint16_t port = fx->port[1];
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };
	uint32_t seeds[2], nb = 0, before;

	fx_start(fx, &config);
	assert_int_equal(rte_eth_dev_rss_reta_query(port, &reta, 64), 0);
	for (uint32_t entry = 0; entry < 4; entry++) {
		if (reta.reta[entry] != 0)
			continue;
		assert_true(nb < RTE_DIM(seeds));
		seeds[nb++] = seed_of(fx, port, entry);
	}
	assert_int_equal(nb, 2);
	listen_to(port, 0, RTE_EPOLL_PER_THREAD);
	/* Both CQs are created armed: consume their events. */
	for (unsigned int i = 0; i < 2; i++) {
		enable(port, 0);
		disable(port, 0);
	}
	while (sleep_on(RTE_EPOLL_PER_THREAD, 0) != NULL)
		disable(port, 0);
	for (unsigned int first = 0; first < 2; first++) {
		enable(port, 0);
		fx_send_one(fx, seeds[first]);
		take_after_wake(port);
		before = fx_wire(fx, 1).rx_packets;
		fx_send_one(fx, seeds[!first]);
		wait_waiting(fx, before + 1);
		assert_null(sleep_on(RTE_EPOLL_PER_THREAD, QUIET_MS));
		assert_int_equal(fx_receive_all(port, 0), 1);
	}
}

/* A burst leaves packets in the ring: arming reports a wake-up. */
FX_TEST(test_arming_with_packets_left)
{
	struct rte_mbuf *pkts[8];
	uint16_t port = fx->port[1];

	start_listening(fx, &woken);
	for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
		pkts[i] = fx_frame(fx->pool, 64, 7);
	fx_send(fx->port[0], 0, pkts, RTE_DIM(pkts));
	wait_waiting(fx, 1 + RTE_DIM(pkts));
	for (unsigned int i = 0; i < RTE_DIM(pkts); i++) {
		enable(port, 0);
		await_wake(port, 0);
		assert_int_equal(rte_eth_rx_burst(port, 0, pkts, 1), 1);
		rte_pktmbuf_free(pkts[0]);
	}
	assert_int_equal(fx_receive_all(port, 0), 0);
}

/* Three queues on four hardware queues in one epoll set. */
FX_TEST(test_queues_in_one_set)
{
	uint16_t port = fx->port[1];
	unsigned int by_queue[3] = { 0 };
	int epfd = epoll_create1(EPOLL_CLOEXEC);

	assert_true(epfd >= 0);
	fx_start(fx, &three_woken);
	for (uint16_t q = 0; q < 3; q++) {
		listen_to(port, q, epfd);
		enable(port, q);
	}
	for (unsigned int i = 0; i < 3 * NB_FRAMES; i++) {
		unsigned int nb = 0;

		fx_send_one(fx, i);
		while (nb == 0) {
			void *data = sleep_on(epfd, LIMIT_MS);
			uint16_t q = (uintptr_t)data - (uintptr_t)data_of(port, 0);

			assert_true(data != NULL && q < 3);
			disable(port, q);
			nb = fx_receive_all(port, q);
			by_queue[q] += nb;
			enable(port, q);
		}
		assert_int_equal(nb, 1);
	}
	for (uint16_t q = 0; q < 3; q++)
		assert_true(by_queue[q] > 0);
	fx_stop(fx);
	close(epfd);
}

/* An application may poll() the descriptor. */
FX_TEST(test_descriptor)
{
	uint16_t port = fx->port[1];
	struct pollfd fd = { .events = POLLIN };

	fx_start(fx, &woken);
	fd.fd = rte_eth_dev_rx_intr_ctl_q_get_fd(port, 0);
	assert_true(fd.fd >= 0);
	fx_send_one(fx, 1);
	enable(port, 0);
	assert_int_equal(poll(&fd, 1, LIMIT_MS), 1);
	assert_int_equal(fd.revents, POLLIN);
	disable(port, 0);
	assert_int_equal(poll(&fd, 1, 0), 0);
	assert_int_equal(fx_receive_all(port, 0), 1);
}

/*
 * Some programs read 8 bytes from a ready descriptor, as from an eventfd. The
 * read fails and changes nothing: the descriptor stays ready until the
 * interrupt is disabled, and the port can stop.
 */
FX_TEST(test_descriptor_is_read)
{
	uint16_t port = fx->port[1];
	struct pollfd fd = { .events = POLLIN };
	uint64_t counter;

	fx_start(fx, &woken);
	fd.fd = rte_eth_dev_rx_intr_ctl_q_get_fd(port, 0);
	assert_true(fd.fd >= 0);
	for (unsigned int i = 0; i < NB_FRAMES; i++) {
		fx_send_one(fx, i);
		enable(port, 0);
		assert_int_equal(poll(&fd, 1, LIMIT_MS), 1);
		assert_int_equal(read(fd.fd, &counter, sizeof(counter)), -1);
		assert_int_equal(errno, EINVAL);
		assert_int_equal(poll(&fd, 1, 0), 1);
		disable(port, 0);
		assert_int_equal(poll(&fd, 1, 0), 0);
		assert_int_equal(fx_receive_all(port, 0), 1);
	}
	/* A stop ignores such reads, too. */
	fx_send_one(fx, 0);
	enable(port, 0);
	assert_int_equal(poll(&fd, 1, LIMIT_MS), 1);
	assert_int_equal(read(fd.fd, &counter, sizeof(counter)), -1);
	assert_int_equal(fx_receive_all(port, 0), 1);
	fx_stop(fx);
}

/* Unread events and registered epoll sets at a stop. */
FX_TEST(test_stop_with_events)
{
	struct fx_holdings before;
	uint16_t port = fx->port[1];

	fx_start(fx, &woken);
	fx_stop(fx);
	fx_holdings_get(&before);
	for (unsigned int i = 0; i < 20; i++) {
		fx_restart(fx);
		listen_to(port, 0, RTE_EPOLL_PER_THREAD);
		enable(port, 0);
		fx_send_one(fx, i);
		assert_ptr_equal(sleep_on(RTE_EPOLL_PER_THREAD, LIMIT_MS),
				 data_of(port, 0));
		if (i % 2 == 0)
			disable(port, 0);
		assert_int_equal(fx_receive_all(port, 0), 1);
		fx_stop(fx);
		fx_check_holdings(&before, "after a stop with events");
	}
}

FX_TEST(test_without_interrupts)
{
	uint16_t port = fx->port[0];

	fx_expect_error("");
	fx_start(fx, &defaults);
	assert_int_equal(rte_eth_dev_rx_intr_enable(port, 0), -EINVAL);
	assert_int_equal(rte_eth_dev_rx_intr_disable(port, 0), -EINVAL);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "intr_conf.rxq"), 2);
	assert_true(rte_eth_dev_rx_intr_ctl_q(port, 0, RTE_EPOLL_PER_THREAD,
					      RTE_INTR_EVENT_ADD, NULL) < 0);
	fx_stop(fx);
	assert_int_equal(fx_configure(fx, port, &woken), 0);
	assert_int_equal(rte_eth_dev_rx_intr_enable(port, 0), -EINVAL);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "not started"), 1);
}

/* rx_intr=0: configure rejects interrupts, everything else works. */
FX_TEST_BARE(test_refused_by_argument)
{
	fx_expect_error("");
	assert_int_equal(fx_probe(fx, "rx_intr=0"), 0);
	assert_int_equal(fx_configure(fx, fx->port[1], &woken), -ENOTSUP);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "rx_intr=0"), 1);
	fx_start(fx, &defaults);
	fx_stop(fx);
	fx_reprobe(fx, "rx_intr=1");
	fx_start(fx, &woken);
	fx_pass_one(fx);
}

/* Each queue needs a descriptor: too few remain. */
FX_TEST(test_no_descriptor_left)
{
	fx_expect_error("");
	assert_int_equal(fx_configure(fx, fx->port[0], &woken), 0);
	assert_int_equal(fx_model.fault_arm("alloc_channel", 1, EMFILE), 0);
	assert_int_equal(fx_dev_start(fx, 0), -EMFILE);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "ulimit -n"), 1);
	fx_model.fault_disarm();
	fx_start(fx, &woken);
	fx_pass_one(fx);
}

/*
 * Three ethdev queues poll four hardware queues. Each hardware queue has its
 * own completion channel, so the fourth is rejected.
 */
FX_TEST(test_channel_of_each_device_queue)
{
	fx_expect_error("");
	assert_int_equal(fx_configure(fx, fx->port[0], &three_woken), 0);
	assert_int_equal(fx_model.fault_arm("alloc_channel", 4, EMFILE), 0);
	assert_int_equal(fx_dev_start(fx, 0), -EMFILE);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "ulimit -n"), 1);
	fx_model.fault_disarm();
	assert_int_equal(fx_model.fault_arm("alloc_channel", 5, EMFILE), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	fx_model.fault_disarm();
}

/* A thread can sleep on a queue without traffic. */
FX_TEST(test_queue_without_traffic)
{
	uint16_t port = fx->port[1];

	fx_start(fx, &two_woken);
	for (uint16_t q = 0; q < 2; q++) {
		listen_to(port, q, RTE_EPOLL_PER_THREAD);
		enable(port, q);
	}
	fx_send_one(fx, 1);
	assert_ptr_equal(sleep_on(RTE_EPOLL_PER_THREAD, LIMIT_MS), data_of(port, 0));
	assert_null(sleep_on(RTE_EPOLL_PER_THREAD, QUIET_MS));
	disable(port, 1);
	disable(port, 0);
	assert_int_equal(fx_receive_all(port, 0), 1);
}

/* The ring has no buffer: enabling fails, and works after mbufs are freed. */
FX_TEST(test_no_buffer_left)
{
	struct rte_mbuf *held[128], *m;
	struct fx_config config = woken;
	uint16_t port = fx->port[1];
	unsigned int nb = 0;

	config.nb_rxd = 64;
	config.rx_pool = fx_pool(fx, 64, RTE_MBUF_DEFAULT_BUF_SIZE);
	assert_int_equal(fx_configure(fx, fx->port[0], &defaults), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(fx_configure(fx, port, &config), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	/* the application holds all received mbufs */
	for (unsigned int i = 0; i < 64; i++) {
		fx_send_one(fx, i);
		wait_waiting(fx, i + 1 < 63 ? i + 1 : 63);
	}
	while (nb < 64 && fx_receive(port, 0, &m, 1) == 1)
		held[nb++] = m;
	assert_int_equal(rte_mempool_avail_count(config.rx_pool), 0);
	if (rte_eth_dev_rx_intr_enable(port, 0) != -ENOMEM)
		fail_msg("%u mbufs are held, and enabling succeeds", nb);
	rte_pktmbuf_free_bulk(held, nb);
	enable(port, 0);
	fx_send_one(fx, 1);
	disable(port, 0);
	rte_pktmbuf_free(fx_receive_one(port, 0));
	fx->ignore_counters = true; /* the wire dropped some */
}

struct sleeper {
	uint16_t port;
	int epfd; /* EAL never closes the epoll descriptor of a thread */
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

/* The device is removed while a thread sleeps. */
FX_TEST(test_removal_wakes)
{
	uint16_t port = fx->port[1];
	struct sleeper sleeper = { .port = port,
				   .epfd = epoll_create1(EPOLL_CLOEXEC) };
	pthread_t thread;
	void *data;

	fx_expect_error("");
	fx_reprobe(fx, "recovery_timeout=0");
	fx_start(fx, &woken);
	assert_int_equal(pthread_create(&thread, NULL, sleep_in_thread, &sleeper), 0);
	while (!__atomic_load_n(&sleeper.is_ready, __ATOMIC_ACQUIRE))
		rte_delay_us_sleep(1000);
	fx_command("fatal fn=0");
	assert_int_equal(pthread_join(thread, &data), 0);
	assert_ptr_equal(data, data_of(port, 0));
	while (rte_eth_dev_is_removed(port) == 0)
		rte_delay_us_sleep(1000);
	assert_int_equal(rte_eth_dev_rx_intr_enable(port, 0), -EIO);
	assert_int_equal(rte_eth_dev_rx_intr_disable(port, 0), -EIO);
	fx_stop(fx);
	close(sleeper.epfd);
	fx_remove(fx);
	fx_command("return fn=0");
	assert_int_equal(fx_probe(fx, ""), 0);
}

/* The device is lost and returns while a thread sleeps: it receives the next frame. */
FX_TEST(test_recovery_wakes)
{
	uint16_t port = fx->port[1];

	start_listening(fx, &woken);
	enable(port, 0);
	fx_command("reset fn=0 outage=5ms");
	while (fx_xstat(port, "recoveries") == 0 ||
	       fx_xstat(fx->port[0], "recoveries") == 0) {
		if (sleep_on(RTE_EPOLL_PER_THREAD, 1) == NULL)
			continue;
		disable(port, 0);
		assert_int_equal(fx_receive_all(port, 0), 0);
		enable(port, 0);
	}
	fx_send_one(fx, 1);
	do {
		await_wake(port, 0);
		enable(port, 0);
	} while (fx_receive_all(port, 0) == 0);
	disable(port, 0);
}

/* An RSS rebuild while a thread sleeps: new CQs, same wake-ups. */
FX_TEST(test_rebuild_while_asleep)
{
	struct fx_config config = woken;
	uint16_t port = fx->port[1];
	uint8_t key[40] = { 0 };
	struct rte_eth_rss_conf conf = { .rss_key = key, .rss_key_len = sizeof(key),
					 .rss_hf = FX_RSS };

	config.rss_hf = FX_RSS;
	start_listening(fx, &config);
	for (unsigned int i = 0; i < 8; i++) {
		/* armed before the rebuild */
		enable(port, 0);
		key[0]++;
		assert_int_equal(rte_eth_dev_rss_hash_update(port, &conf), 0);
		fx_send_one(fx, i);
		take_after_wake(port);
		/* received before the rebuild, awaited after it */
		fx_send_one(fx, i);
		wait_waiting(fx, 2 * i + 3);
		key[1]++;
		assert_int_equal(rte_eth_dev_rss_hash_update(port, &conf), 0);
		enable(port, 0);
		take_after_wake(port);
	}
}

/*
 * After a rebuild an enabled queue is armed again and wakes its application; a
 * disabled queue does not.
 */
FX_TEST(test_rebuild_arms_enabled_queues)
{
	uint16_t port = fx->port[1];
	uint8_t key[40] = { 0 };
	struct rte_eth_rss_conf conf = { .rss_key = key, .rss_key_len = sizeof(key),
					 .rss_hf = FX_RSS };
	uint32_t seed = 0;
	uint64_t end;

	/* Not all zeros, which gives all frames the same hash. */
	for (unsigned int i = 0; i < sizeof(key); i++)
		key[i] = 37 * i + 1;
	fx_start(fx, &three_woken);
	for (uint16_t q = 0; q < 3; q++)
		listen_to(port, q, RTE_EPOLL_PER_THREAD);
	for (unsigned int i = 0; i < 9; i++) {
		uint16_t q = i % 3;

		end = fx_deadline();
		enable(port, q);
		key[0]++;
		assert_int_equal(rte_eth_dev_rss_hash_update(port, &conf), 0);
		await_wake(port, q);
		assert_null(sleep_on(RTE_EPOLL_PER_THREAD, QUIET_MS));
		assert_int_equal(fx_receive_all(port, q), 0);
		enable(port, q);
		assert_null(sleep_on(RTE_EPOLL_PER_THREAD, 0));
		/* Send until a frame reaches this queue. */
		while (rte_eth_rx_queue_count(port, q) == 0) {
			assert_true(rte_get_timer_cycles() < end);
			fx_send_one(fx, seed++);
			fx_settle(fx);
		}
		await_wake(port, q);
		assert_true(fx_receive_all(port, q) > 0);
		fx_drain(fx);
	}
}

struct toggler {
	uint16_t port;
	bool is_ending;
};

/* Stops and starts queue 1. Returns NULL, or the name of the failed call. */
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
 * Stop and start of a queue without traffic pause the other queues and keep
 * their CQs: an interrupt enabled meanwhile causes a wake-up.
 */
FX_TEST(test_enabled_while_paused)
{
	uint16_t port = fx->port[1];
	struct toggler toggler = { .port = port };
	pthread_t thread;
	void *refused;

	start_listening(fx, &two_woken);
	assert_int_equal(pthread_create(&thread, NULL, toggle_in_thread, &toggler), 0);
	for (unsigned int i = 0; i < 10 * NB_FRAMES; i++) {
		unsigned int nb = 0;

		fx_send_one(fx, i);
		while (nb == 0) {
			enable(port, 0);
			if (sleep_on(RTE_EPOLL_PER_THREAD, LIMIT_MS) == NULL)
				fail_msg("no wake-up by frame %u", i);
			disable(port, 0);
			nb = fx_receive_all(port, 0);
		}
		assert_int_equal(nb, 1);
	}
	__atomic_store_n(&toggler.is_ending, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, &refused), 0);
	assert_null(refused);
}

/*
 * A signal handler that stops the port at the end of ethdev's start, and does not return, finds it
 * stopped, and the driver's port runs. With more queues it starts, and it closes.
 */
FX_TEST(test_start_that_ethdev_forgets)
{
	const struct fx_config four_woken = {
		.nb_rxq = 4, .nb_txq = 1, .rss_hf = FX_RSS, .intr = { .rxq = 1 },
	};
	struct rte_eth_dev *dev = &rte_eth_devices[fx->port[0]];
	struct rte_mbuf *m;

	fx_start(fx, &two_woken);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(fx_dev_stop(fx, 0), 0);
		assert_int_equal(dev->dev_ops->dev_start(dev), 0);
		if (i == 0) {
			assert_int_equal(fx_configure(fx, fx->port[0], &four_woken), 0);
			assert_int_equal(fx_dev_start(fx, 0), 0);
			/* The descriptor of zeros behind the array of the two queues. */
			assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
			m = fx_frame(fx->pool, 100, 1);
			fx_send(fx->port[1], 0, &m, 1);
			fx_drain(fx);
			assert_int_equal(fx_stats(fx->port[0]).ipackets, 1);
		}
	}
	fx_remove(fx);
	assert_int_equal(fx_probe(fx, ""), 0);
	fx->ignore_counters = true;
}
