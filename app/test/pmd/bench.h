/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The fixture of the ethdev tests: two ports of one modelled function, wired
 * to each other, in this very process.
 *
 * Every test starts without the device and ends without it. What must hold
 * in any test is checked here when it ends: mbufs are all back, kernel
 * objects, heap and descriptors are as before, the driver's counters equal
 * the wire's, there was no violation, and nothing was logged as an error
 * that the test did not announce.
 */

#ifndef BENCH_H
#define BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "mana_model.h"

#define BENCH_PCI "7870:00:00.0"
#define BENCH_NB_PORTS 2
#define BENCH_MAX_POOLS 8
#define BENCH_NB_MBUFS 4095
#define BENCH_BURST 32
/* All that the device can hash. */
#define BENCH_RSS                                                             \
	(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP |                    \
	 RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_IPV6 |                    \
	 RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP)

/* The tests look at the model through these; all of them are there. */
struct bench_model {
	int (*objects)(struct mana_model_objects *objects);
	int (*leaks)(struct mana_model_objects *leaks);
	int (*fault_arm)(const char *call, unsigned int nth, int err);
	void (*fault_disarm)(void);
	unsigned int (*fault_hits)(void);
	int (*port)(uint32_t fn, uint32_t port, struct mana_model_port *counters);
	uint64_t (*violations)(const char *name_or_null);
	int (*netdev_set)(const char *name, bool up);
	int (*privileges)(bool net_raw, bool ipc_lock);
	int (*command)(const char *line, char *message, size_t message_bytes);
};
extern struct bench_model bench_model;

/* What a program holds; taken before and after. */
struct bench_holdings {
	struct mana_model_objects objects;
	size_t heap_bytes;
	unsigned int heap_allocs;
	unsigned int nb_fds;
};

struct bench {
	uint16_t port[BENCH_NB_PORTS];
	struct rte_mempool *pools[BENCH_MAX_POOLS]; /* [0] is made by setup */
	struct rte_mempool *pool;		     /* = pools[0] */
	struct bench_holdings before;
	struct mana_model_port wire_before[BENCH_NB_PORTS];
	bool is_probed;
	bool is_started[BENCH_NB_PORTS];
	/* Tags inserted by the device, by sender: the driver's counters leave them out. */
	unsigned int nb_tags[BENCH_NB_PORTS];
	/* Bytes of frames that a test makes the device refuse, by sender. */
	uint64_t refused_bytes[BENCH_NB_PORTS];
	/* A test may say that counters must not be compared when it ends. */
	bool ignore_counters;
};

/* main() of a test program: starts EAL, runs the group. */
int bench_main(const char *name, const struct CMUnitTest *tests, size_t nb_tests);

#define BENCH_TEST(fn) cmocka_unit_test_setup_teardown(fn, bench_setup, bench_teardown)
/* As BENCH_TEST, but the test probes by itself. */
#define BENCH_TEST_BARE(fn) \
	cmocka_unit_test_setup_teardown(fn, bench_setup_bare, bench_teardown)
#define BENCH_RUN(name, tests) bench_main(name, tests, RTE_DIM(tests))

int bench_setup(void **state);
int bench_setup_bare(void **state);
int bench_teardown(void **state);

int bench_probe(struct bench *bench, const char *devargs);
void bench_remove(struct bench *bench);

/* A pool that the fixture watches and frees. */
struct rte_mempool *bench_pool(struct bench *bench, unsigned int nb_mbufs,
			       uint16_t data_room);
/* Frees it now; all of its mbufs must be back. */
void bench_pool_free(struct bench *bench, struct rte_mempool *pool);

void bench_hold(struct bench_holdings *holdings);
/* Fails the test, naming what differs. */
void bench_check_held(const struct bench_holdings *before, const char *when);

/* One command to the model, as mana-model ctl has them; fails the test if refused. */
void bench_tell(const char *line);

/* How ports are brought up; zero means the plain default. */
struct bench_config {
	uint16_t nb_rxq, nb_txq;	     /* 0: 1 */
	uint16_t nb_rxd, nb_txd;	     /* 0: 256 */
	uint64_t rx_offloads, tx_offloads;
	uint32_t mtu;			     /* 0: 1500 */
	uint64_t rss_hf;		     /* not 0: mq_mode RSS */
	uint8_t *rss_key;		     /* 40 bytes or NULL */
	struct rte_mempool *rx_pool;	     /* NULL: the bench's */
	struct rte_eth_intr_conf intr;
};

int bench_configure(struct bench *bench, uint16_t port,
		    const struct bench_config *config);
/* configure + start of both ports; fails the test if refused. */
void bench_start(struct bench *bench, const struct bench_config *config);
void bench_stop(struct bench *bench);
/* rte_eth_dev_start() and _stop() of one port, remembered for the end. */
int bench_dev_start(struct bench *bench, unsigned int index);
int bench_dev_stop(struct bench *bench, unsigned int index);

/* Announces error lines that contain this text (NULL: none any more). */
void bench_expect_error(const char *text);
/* How many lines of this level or worse contained the text since setup. */
unsigned int bench_nb_logged(uint32_t level, const char *text);

/* A frame: Ethernet + IPv4 + UDP, then a pattern that depends on seed. */
struct rte_mbuf *bench_frame(struct rte_mempool *pool, uint32_t len_bytes,
			     uint32_t seed);
/* The bytes of that frame. */
void bench_frame_bytes(uint8_t *bytes, uint32_t len_bytes, uint32_t seed);
/* A frame of given bytes cut into segments of at most seg_bytes. */
struct rte_mbuf *bench_chain(struct rte_mempool *pool, const uint8_t *bytes,
			     uint32_t len_bytes, uint32_t seg_bytes);
/* The mbuf holds exactly these bytes. */
void bench_check_bytes(const struct rte_mbuf *m, const uint8_t *bytes,
		       uint32_t len_bytes);

/* Sends all, in as many bursts as it takes; fails the test if stuck. */
void bench_send(uint16_t port, uint16_t queue, struct rte_mbuf **pkts,
		unsigned int nb);
/* Receives nb packets of a queue; returns how many came. */
unsigned int bench_receive(uint16_t port, uint16_t queue, struct rte_mbuf **pkts,
			   unsigned int nb);
/* When patience with the device ends, in rte_get_timer_cycles(). */
uint64_t bench_deadline(void);
/* Waits until the device has sent all that was given to it. */
void bench_settle(const struct bench *bench);
/*
 * Receives and frees whatever waits on all queues of all ports, once the
 * device has sent all that was given to it.
 */
void bench_drain(struct bench *bench);
/* One frame from port 0 to port 1 and one back, compared byte by byte. */
void bench_pass_one(struct bench *bench);

/* Counters of the wire since setup. */
struct mana_model_port bench_wire(const struct bench *bench, unsigned int port);

#endif /* BENCH_H */
