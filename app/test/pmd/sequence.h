/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Random operations, valid and not, on two ports that are wired to each other,
 * and what is expected of each.
 *
 * A step is a function of the seed, its number and the state that the steps
 * before it have left: a run can be repeated, and steps can be left out.
 */

#ifndef SEQUENCE_H
#define SEQUENCE_H

#include "bench.h"

#define SEQ_MAX_QUEUES 8
#define SEQ_MAX_BURST 64
#define SEQ_NB_POOLS 3
/* Mbufs of a pool that a step has taken away. */
#define SEQ_MAX_HELD BENCH_NB_MBUFS

/* What an operation shall do. */
enum seq_verdict {
	SEQ_OK,
	SEQ_REFUSED,
	SEQ_EITHER, /* both are good; a refusal must change nothing */
};

/* A queue, as it should be. */
struct seq_queue {
	bool is_set;
	bool is_deferred; /* does not start with the port */
	bool is_on;	  /* while the port runs */
	bool can_scatter; /* frames that do not fit, as its port could at the set-up */
	uint16_t nb_desc;
	struct rte_mempool *pool; /* of a receive queue */
	/* Buffer split: so many bytes of a frame go to a buffer of another; or 0. */
	uint16_t split_bytes;
	struct rte_mempool *split_pool;
};

/* A port, as it should be. */
struct seq_port {
	bool is_open;
	bool is_configured;
	bool is_started;
	bool has_rss;
	bool is_scattered; /* while it runs: its bursts take several buffers a frame */
	uint16_t nb_rxq, nb_txq;
	uint16_t mtu;
	uint64_t rx_offloads, tx_offloads;
	struct seq_queue rxq[SEQ_MAX_QUEUES], txq[SEQ_MAX_QUEUES];

	/* Limits of the device. */
	uint16_t max_rxq, max_txq, min_desc, max_rxd, max_txd, min_mtu, max_mtu;

	/* Packets and bytes that passed the bursts, since the last reset. */
	uint64_t nb_sent, sent_bytes, nb_received, received_bytes;
	/* The same since the port was probed, and what was lost by stopping. */
	uint64_t all_sent, all_received, unsent, unread;
	uint64_t dropped_before_reset;
	struct mana_model_port wire; /* when the port was probed */
};

struct seq {
	struct bench *bench;
	struct rte_mempool *pools[SEQ_NB_POOLS];
	struct seq_port port[BENCH_NB_PORTS];
	struct bench_holdings bare; /* without the device */

	/* Mbufs that are held back from a pool. */
	struct rte_mbuf *held[SEQ_MAX_HELD];
	unsigned int nb_held;
	struct rte_mempool *held_pool;
	/* Completions that commands keep back. */
	bool is_stalled;
	bool is_threaded; /* the device works beside the program */
	bool is_netdev_up[BENCH_NB_PORTS];

	uint64_t seed, step;
	uint64_t random; /* state of the step's numbers */
};

/* ---- test_sequence.c ------------------------------------------------------ */

/* A number below n, which is not 0. */
uint32_t seq_random(struct seq *seq, uint32_t n);
/* True in one of n cases. */
bool seq_one_in(struct seq *seq, uint32_t n);
/* Adds to the line of this step. */
void seq_note(struct seq *seq, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Notes what came of an operation; ends the test when it is not the verdict. */
bool seq_judge(struct seq *seq, enum seq_verdict verdict, int ret);

/* An operation: index is the port that chance has chosen. */
struct seq_operation {
	const char *name;
	unsigned int weight;
	void (*run)(struct seq *seq, unsigned int index);
};
extern const struct seq_operation seq_control[];
extern const unsigned int seq_nb_control;
extern const struct seq_operation seq_traffic[];
extern const unsigned int seq_nb_traffic;

/* ---- sequence_rules.c: what is valid, and what then holds ------------------- */

/* A configuration that chance has made. */
struct seq_conf {
	uint16_t nb_rxq, nb_txq;
	bool has_rss;
	uint32_t mtu;
	uint64_t rx_offloads, tx_offloads;
	const char *wrong; /* what is wrong of it by intent, or NULL */
};

enum seq_verdict seq_may_configure(const struct seq_port *port,
				   const struct seq_conf *conf);
void seq_configured(struct seq_port *port, const struct seq_conf *conf);
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
/* What a receive queue that is set up now can do. */
bool seq_scatters(const struct seq_port *port);
/* Whether frames of the MTU fit the queue's buffers. */
bool seq_fits(const struct rte_mempool *pool, uint32_t mtu);

/* ---- sequence_traffic.c ------------------------------------------------------- */

/* What the driver says it has received and not delivered. */
uint64_t seq_dropped(uint16_t id);

/* Lets all that is held back come, receives it, and compares with the wire. */
void seq_settle(struct seq *seq);
/*
 * After a stop: what the device had not sent yet, and what nobody had received,
 * is gone; nothing where all was settled before.
 */
void seq_write_off(struct seq *seq, unsigned int index, bool was_settled);
/* After a send queue has stopped: what a stalled one had not sent is gone. */
void seq_write_off_unsent(struct seq *seq, unsigned int index);
/* Gives back what a step has taken from a pool. */
void seq_release_held(struct seq *seq);

#endif /* SEQUENCE_H */
