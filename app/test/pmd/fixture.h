/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fixture (fx) of the ethdev tests: two ports of one modelled function,
 * connected to each other, in this process.
 *
 * Each test starts and ends without the device. At its end the fixture checks:
 * mbufs, kernel objects, heap and descriptors are as before, the driver's
 * counters equal those of the wire, the model reports no violation, and the log
 * has no unexpected error.
 */

#ifndef FIXTURE_H
#define FIXTURE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "../../../model/test/test.h"
#include "mana_model.h"

#define FX_PCI "7870:00:00.0"
#define FX_NB_PORTS 2
#define FX_MAX_POOLS 8
#define FX_NB_MBUFS 4095
#define FX_BURST 32
/* All RSS hash types of the device. */
#define FX_RSS                                                                \
	(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP |                    \
	 RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_IPV6 |                    \
	 RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP)

/* The model's functions for tests. */
struct fx_model {
	int (*objects)(struct mana_model_objects *objects);
	int (*leaks)(struct mana_model_objects *leaks);
	int (*fault_arm)(const char *call, unsigned int nth, int err);
	int (*fault_arm_from)(const char *call, unsigned int nth, int err);
	void (*fault_disarm)(void);
	unsigned int (*fault_hits)(void);
	uint64_t (*kernel_calls)(void);
	int (*port)(uint32_t fn, uint32_t port, struct mana_model_port *counters);
	uint64_t (*violations)(const char *name_or_null);
	int (*netdev_set)(const char *name, bool up);
	int (*privileges)(bool net_raw, bool ipc_lock);
	int (*command)(const char *line, char *message, size_t message_bytes);
	int (*queue)(uint32_t fn, uint32_t port, bool is_tx, uint32_t n,
		     struct mana_model_queue *queue);
};
extern struct fx_model fx_model;

/* Resources of the process, to compare before and after. */
struct fx_holdings {
	struct mana_model_objects objects;
	size_t heap_bytes;
	unsigned int heap_allocs;
	unsigned int nb_fds;
};

struct fixture {
	uint16_t port[FX_NB_PORTS];
	struct rte_mempool *pools[FX_MAX_POOLS]; /* [0] is created by setup */
	struct rte_mempool *pool;		     /* = pools[0] */
	struct fx_holdings before;
	struct mana_model_port wire_before[FX_NB_PORTS];
	bool is_probed;
	bool is_started[FX_NB_PORTS];
	/* Tags inserted by the device, by sender; not counted by the driver. */
	unsigned int nb_tags[FX_NB_PORTS];
	/* Bytes of frames that the device rejects, by sender. */
	uint64_t refused_bytes[FX_NB_PORTS];
	/* Disables the comparison of counters at the end of the test. */
	bool ignore_counters;
};

/* A test of this program; the body, which uses fx, follows. */
#define FX_TEST(name) FX_TEST_OF(name, fx_setup, fx_teardown)
/* The test probes the device. */
#define FX_TEST_BARE(name) FX_TEST_OF(name, fx_setup_bare, fx_teardown)
#define FX_TEST_OF(name, setup, teardown) \
static void name(struct fixture *fx); \
static void \
name##_run(void **state) \
{ \
	name(*state); \
} \
TEST_ADD(name, name##_run, setup, teardown) \
static void name(struct fixture *fx __rte_unused)

/* The end of main(): starts EAL, runs the tests. */
#define FX_RUN(name) fx_main(name, test_all, test_nb)
int fx_main(const char *name, const struct CMUnitTest *tests, size_t nb_tests);

int fx_setup(void **state);
int fx_setup_bare(void **state);
int fx_teardown(void **state);

/* Of each probe by the fixture; "" by default. The test program may set it. */
extern const char *fx_devargs;
/* Memory of EAL, if it cannot grow. The test program may set it. */
extern const char *fx_megabytes;
/* Before FX_RUN: EAL has its telemetry socket. */
extern bool fx_has_telemetry;
/*
 * Asks for all that telemetry has of the driver and of a port; false, after a message: a
 * reply is no reply. One thread at a time.
 */
bool fx_telemetry_ask_all(uint16_t port);
int fx_probe(struct fixture *fx, const char *devargs);
void fx_remove(struct fixture *fx);
/* Removes the device and probes it with other arguments. */
void fx_reprobe(struct fixture *fx, const char *devargs);

/* Creates a pool that the fixture checks and frees. */
struct rte_mempool *fx_pool(struct fixture *fx, unsigned int nb_mbufs,
			    uint16_t data_room);
/* Frees a pool; all its mbufs must be in it. */
void fx_pool_free(struct fixture *fx, struct rte_mempool *pool);

void fx_holdings_get(struct fx_holdings *holdings);
/* Memory regions that are registered now. */
unsigned int fx_nb_mrs(void);
/* Fails the test and names each difference. */
void fx_check_holdings(const struct fx_holdings *before, const char *when);

/* Sends one mana-model ctl command; fails the test if it is rejected. */
void fx_command(const char *line);

/* Port configuration; 0 means the default. */
struct fx_config {
	uint16_t nb_rxq, nb_txq;	     /* default 1 */
	uint16_t nb_rxd, nb_txd;	     /* default 256 */
	uint64_t rx_offloads, tx_offloads;
	uint32_t mtu;			     /* default 1500 */
	uint64_t rss_hf;		     /* if not 0: mq_mode RSS */
	uint8_t *rss_key;		     /* 40 bytes or NULL */
	bool has_no_key_length;		     /* rss_key_len is 0 */
	struct rte_mempool *rx_pool;	     /* NULL: the fixture's pool */
	struct rte_eth_intr_conf intr;
};

int fx_configure(struct fixture *fx, uint16_t port,
		 const struct fx_config *config);
/* Configures and starts both ports; fails the test on error. */
void fx_start(struct fixture *fx, const struct fx_config *config);
void fx_start_each(struct fixture *fx, const struct fx_config *first,
		   const struct fx_config *second);
/* Starts both ports as they are configured. */
void fx_restart(struct fixture *fx);
void fx_stop(struct fixture *fx);
/* Setup of a queue, which must succeed; conf: NULL for the default. */
void fx_rx_setup(uint16_t port, uint16_t queue, uint16_t nb_desc,
		 const struct rte_eth_rxconf *conf, struct rte_mempool *pool);
void fx_tx_setup(uint16_t port, uint16_t queue, uint16_t nb_desc,
		 const struct rte_eth_txconf *conf);
/* An RSS key of 40 bytes, with all hash types. */
int fx_key_set(uint16_t port, uint8_t *key);
/* rte_eth_dev_start() and _stop() of one port; the fixture tracks the state. */
int fx_dev_start(struct fixture *fx, unsigned int index);
int fx_dev_stop(struct fixture *fx, unsigned int index);

/* Error lines that contain this are allowed in all tests. The test program may set it. */
extern const char *fx_known_error;
/* Allows error lines that contain text; NULL: none. */
void fx_expect_error(const char *text);
/* Lines of this level or worse that contain text, since setup. */
unsigned int fx_nb_logged(uint32_t level, const char *text);

/* A frame: Ethernet + IPv4 + UDP, then a pattern that depends on seed. */
struct rte_mbuf *fx_frame(struct rte_mempool *pool, uint32_t len_bytes,
			  uint32_t seed);
/* The bytes of that frame. */
void fx_frame_bytes(uint8_t *bytes, uint32_t len_bytes, uint32_t seed);
/* These bytes as a chain of segments of at most seg_bytes. */
struct rte_mbuf *fx_chain(struct rte_mempool *pool, const uint8_t *bytes,
			  uint32_t len_bytes, uint32_t seg_bytes);
/* Checks the data of a packet. */
void fx_check_bytes(const struct rte_mbuf *m, const uint8_t *bytes,
		    uint32_t len_bytes);

/* Sends all packets in bursts; fails the test if the queue stalls. */
void fx_send(uint16_t port, uint16_t queue, struct rte_mbuf **pkts,
	     unsigned int nb);
/* Receives up to nb packets of a queue. Returns their number. */
unsigned int fx_receive(uint16_t port, uint16_t queue, struct rte_mbuf **pkts,
			unsigned int nb);
/* Receives and frees all packets waiting in a queue. Returns their number. */
unsigned int fx_receive_all(uint16_t port, uint16_t queue);
/* Receives one packet, which must come. */
struct rte_mbuf *fx_receive_one(uint16_t port, uint16_t queue);
/* Receives one packet with these bytes, and frees it. */
void fx_expect_bytes(uint16_t port, uint16_t queue, const uint8_t *bytes,
		     uint32_t len_bytes);
/* Receives and frees nb packets, which must come. */
void fx_expect_some(uint16_t port, uint16_t queue, unsigned int nb);
/* Sends fx_frame() of 100 bytes from port 0. */
void fx_send_one(const struct fixture *fx, uint32_t seed);
/* Sends nb frames of these bytes, seeds from 0, in one burst of a queue of port 0. */
void fx_send_burst(const struct fixture *fx, uint16_t queue, uint32_t len_bytes,
		   unsigned int nb);
/* Expects nb such frames on port 1, byte by byte. */
void fx_expect_frames(const struct fixture *fx, uint32_t seed, unsigned int nb);
/* The value of an extended statistic, which must exist. */
uint64_t fx_xstat(uint16_t port, const char *name);
/* Waits until it is nb or more. */
void fx_await_xstat(uint16_t port, const char *name, uint64_t nb);
/* What ethdev reports, which must succeed; the link without a wait. */
struct rte_eth_stats fx_stats(uint16_t port);
struct rte_eth_dev_info fx_info(uint16_t port);
struct rte_eth_rxq_info fx_rxq_info(uint16_t port, uint16_t queue);
struct rte_eth_txq_info fx_txq_info(uint16_t port, uint16_t queue);
struct rte_eth_link fx_link(uint16_t port);
uint16_t fx_mtu(uint16_t port);
/* Changes a netdev in a way that is no link change. */
void fx_set_txqlen(const char *netdev, int nb_packets);
/* MANA_TEST_PART: what is done n times is done n / part times; 1 if it is not set. */
unsigned int fx_part(void);
/* Time limit for the device, in rte_get_timer_cycles(). */
uint64_t fx_deadline(void);
/* Waits until the handler or alarm that EAL's interrupt thread runs now has ended. */
void fx_alarms_await(void);
/* Waits until the device has sent all posted packets. */
void fx_settle(const struct fixture *fx);
/*
 * Waits until all posted packets are sent, then receives and frees all packets
 * on all queues of both ports.
 */
void fx_drain(struct fixture *fx);
/* Sends a frame each way and compares all bytes. */
void fx_pass_one(struct fixture *fx);

/* ---- fixture_pool.c ---- */

/* The name of mempool ops: a stack with a lock. */
extern const char fx_pool_ops[];
/* Likewise: a stack with a lock, and a cache for each thread, without. */
extern const char fx_pool_cache_ops[];
/* Puts the caches of the calling thread into the stacks. */
void fx_pool_caches_flush(void);
/* If not NULL: called before each operation of these ops; is_get: for objects. */
extern void (*fx_pool_hook)(bool is_get);

/* ---- fixture_loss.c ---- */

#define FX_NB_EVENTS 8

/* Events of a port, from the interrupt thread. */
struct fx_events {
	unsigned int nb;
	enum rte_eth_event_type types[FX_NB_EVENTS];
	enum rte_eth_event_type close_in; /* RTE_ETH_EVENT_UNKNOWN: in none */
	int close_error;		  /* of that close */
};
extern struct fx_events fx_events[RTE_MAX_ETHPORTS];

/* Records events of these types on both ports; forgets earlier ones. */
void fx_listen(const struct fixture *fx, const enum rte_eth_event_type *types,
	       unsigned int nb);
void fx_unlisten(const struct fixture *fx, const enum rte_eth_event_type *types,
		 unsigned int nb);
unsigned int fx_nb_events(uint16_t port);
/* Waits until each port has had nth events of a type. */
void fx_wait_event(const struct fixture *fx, enum rte_eth_event_type type,
		   unsigned int nth);
/* The application closes each port in the callback of this event. */
void fx_close_in(const struct fixture *fx, enum rte_eth_event_type type);
/* Each port was closed so. */
void fx_check_closed(struct fixture *fx);

/* A thread that forwards from a port to the other, as a core that does not know of a loss. */
struct fx_forwarder {
	const struct fixture *fx;
	unsigned int from;
	uint16_t nb_queues;
	uint64_t nb_forwarded;
	bool is_over;
	pthread_t thread;
};

/* A forwarder for each port (FX_NB_PORTS), on queues 0 to nb_queues - 1. */
void fx_forward_begin(const struct fixture *fx, struct fx_forwarder *fwd,
		      uint16_t nb_queues);
uint64_t fx_nb_forwarded(const struct fx_forwarder *fwd);
void fx_forward_end(struct fx_forwarder *fwd);

/* Counters of the wire since setup. */
struct mana_model_port fx_wire(const struct fixture *fx, unsigned int port);

#endif /* FIXTURE_H */
