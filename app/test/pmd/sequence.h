/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Random operations, valid and invalid, on two connected ports, with the
 * expected result of each.
 *
 * A step depends on the seed, its number and the state that earlier steps have
 * left: runs are reproducible, and steps can be skipped.
 */

#ifndef SEQUENCE_H
#define SEQUENCE_H

#include "fixture.h"

#define SEQ_MAX_QUEUES 8
#define SEQ_MAX_BURST 64
#define SEQ_NB_POOLS 3
/* Mbufs that a step holds. */
#define SEQ_MAX_HELD FX_NB_MBUFS

/* Expected result of an operation. */
enum seq_verdict {
	SEQ_OK,
	SEQ_REFUSED,
	SEQ_EITHER, /* both are valid; a rejection changes nothing */
};

/* Expected state of a queue. */
struct seq_queue {
	bool is_set;
	bool is_deferred; /* not started with the port */
	bool is_on;	  /* while the port is started */
	bool can_scatter; /* port could scatter at queue setup */
	uint16_t nb_desc;
	struct rte_mempool *pool; /* Rx only */
	/* Buffer split: bytes in the first segment; 0: none. */
	uint16_t split_bytes;
	struct rte_mempool *split_pool;
};

/* Expected state of a port. */
struct seq_port {
	bool is_open;
	bool is_configured;
	bool is_started;
	bool has_rss;
	uint16_t nb_rxq, nb_txq;
	uint32_t nb_rings[SEQ_MAX_QUEUES]; /* hardware Rx queues, by Rx queue */
	uint16_t mtu;
	uint64_t rx_offloads, tx_offloads;
	struct seq_queue rxq[SEQ_MAX_QUEUES], txq[SEQ_MAX_QUEUES];

	/* Device limits. */
	uint16_t max_rxq, max_txq, min_desc, max_rxd, max_txd, min_mtu, max_mtu;

	/* Packets and bytes of the bursts since the last reset. */
	uint64_t nb_sent, sent_bytes, nb_received, received_bytes;
	/* The same since the probe, and packets lost by stops. */
	uint64_t all_sent, all_received, unsent, unread;
	uint64_t dropped_before_reset;
	struct mana_model_port wire; /* at the probe */
};

struct seq {
	struct fixture *fx;
	struct rte_mempool *pools[SEQ_NB_POOLS];
	struct seq_port port[FX_NB_PORTS];
	struct fx_holdings bare; /* without the device */

	/* Mbufs held from a pool. */
	struct rte_mbuf *held[SEQ_MAX_HELD];
	unsigned int nb_held;
	struct rte_mempool *held_pool;
	/* A model command holds back completions. */
	bool is_stalled;
	bool is_threaded; /* the device has its own thread */
	bool is_netdev_up[FX_NB_PORTS];

	uint64_t seed, step;
	uint64_t random; /* generator state of the step */
};

/* ---- test_sequence.c ------------------------------------------------------ */

/* A random number below n; n is not 0. */
uint32_t seq_random(struct seq *seq, uint32_t n);
/* True in one of n cases. */
bool seq_one_in(struct seq *seq, uint32_t n);
/* Appends to the line of this step. */
void seq_note(struct seq *seq, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Logs the result of an operation; fails the test if it contradicts verdict. */
bool seq_judge(struct seq *seq, enum seq_verdict verdict, int ret);

/* An operation on a randomly chosen port. */
struct seq_operation {
	const char *name;
	unsigned int weight;
	void (*run)(struct seq *seq, unsigned int index);
};
extern const struct seq_operation seq_control[];
extern const unsigned int seq_nb_control;
extern const struct seq_operation seq_traffic[];
extern const unsigned int seq_nb_traffic;

/* ---- sequence_rules.c: valid operations and their effect ------------------ */

/* A random configuration. */
struct seq_conf {
	uint16_t nb_rxq, nb_txq;
	bool has_rss;
	uint32_t mtu;
	uint64_t rx_offloads, tx_offloads;
	const char *wrong; /* the invalid part, or NULL */
};

enum seq_verdict seq_may_configure(const struct seq_port *port,
				   const struct seq_conf *conf);
void seq_configured(struct seq_port *port, const struct seq_conf *conf);
/* The RSS table has these entries from now on. */
void seq_table_set(struct seq_port *port, const uint16_t *reta);
enum seq_verdict seq_may_setup_rx(const struct seq_port *port, uint16_t queue,
				  const struct seq_queue *wanted);
enum seq_verdict seq_may_setup_tx(const struct seq_port *port, uint16_t queue,
				  uint16_t nb_desc);
enum seq_verdict seq_may_start(const struct seq_port *port);
void seq_started(struct seq_port *port);
void seq_stopped(struct seq_port *port);
enum seq_verdict seq_may_close(const struct seq_port *port);
enum seq_verdict seq_may_set_mtu(const struct seq_port *port, uint16_t mtu);
enum seq_verdict seq_may_update_rss(const struct seq_port *port);
enum seq_verdict seq_may_toggle(const struct seq_port *port, bool is_rx,
				uint16_t queue, bool is_on);
/* Whether an Rx queue that is set up now can scatter. */
bool seq_scatters(const struct seq_port *port);
/* Whether a frame of this MTU fits one buffer of the pool. */
bool seq_fits(const struct rte_mempool *pool, uint32_t mtu);

/* ---- sequence_traffic.c ------------------------------------------------------- */

/* Packets that the driver received and dropped. */
uint64_t seq_dropped(uint16_t id);

/* Releases held-back completions, receives all, compares with the wire. */
void seq_settle(struct seq *seq);
/*
 * After a port stop: unsent and undelivered packets are lost; none, if all were
 * settled before.
 */
void seq_write_off(struct seq *seq, unsigned int index, bool was_settled);
/* After the stop of a Tx queue: unsent packets of a stalled device are lost. */
void seq_write_off_unsent(struct seq *seq, unsigned int index);
/* Returns the held mbufs to their pool. */
void seq_release_held(struct seq *seq);

#endif /* SEQUENCE_H */
