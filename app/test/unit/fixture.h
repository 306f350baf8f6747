/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fixture (fx) of the data path: queues in plain memory, and a device that the
 * test plays. The device reads WQEs and writes CQEs with the model's
 * transcription of the hardware (model/base/hw.h), not with the driver's.
 *
 * Each fixture counts the mbufs of its pools at creation and at deletion: a
 * lost or twice freed mbuf fails every test.
 */

#ifndef FIXTURE_H
#define FIXTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "../../../model/test/test.h"
#include "hw.h"
#include "mana_hwq.h"
#include "mana_txq.h"

/* Unlike assert_true() these print the values. */
#define assert_eq(a, b) assert_int_equal((uint64_t)(a), (uint64_t)(b))

#define FX_RQ_ID 0x234u
#define FX_RX_CQ_ID 0x135u
#define FX_SQ_ID 0x1042u
#define FX_TX_CQ_ID 0x55u
#define FX_PORT_ID 7
#define FX_ROOM_BYTES 2048u /* data room of an mbuf */
#define FX_MAX_SEGS 15u /* per Rx WQE */

/* The next number of a random sequence (xorshift); the seed is not 0. */
uint64_t fx_random(uint64_t *seed);

/* ---- Memory regions that mana_mr_miss() finds ---- */

extern struct mana_mr_table fx_mr_table;
extern uint32_t fx_mr_calls; /* number of mana_mr_miss() calls */
extern bool fx_mr_deny; /* every call fails */
extern bool fx_mr_later; /* every call returns -EAGAIN, as in a secondary process */

void fx_mr_clear(void);
/* Writes the table again, as its other version. */
void fx_mr_publish(void);
/* All regions have to be registered again. */
void fx_mr_forget(void);
void fx_mr_add(const void *base, size_t len_bytes, uint32_t lkey);
/* Adds a region that is registered. */
void fx_mr_register(const void *base, size_t len_bytes, uint32_t lkey);
/* The same of memory that only the primary process has. */
void fx_mr_register_private(const void *base, size_t len_bytes, uint32_t lkey);
/* Adds the chunks of a pool, with keys lkey, lkey + 1, ... */
void fx_mr_add_pool(struct rte_mempool *mp, uint32_t lkey);
/* The key of this address; 0 if no region has it. */
uint32_t fx_mr_expect(uint64_t addr, uint32_t len_bytes);

/* ---- Start-up and pools ---- */

/* Starts EAL without huge pages or devices, once per program. */
void fx_eal_init(void);
int fx_group_setup(void **state); /* as a cmocka group setup */
struct rte_mempool *fx_pool(const char *name, uint32_t nb, uint32_t room_bytes);
/* With a cache per lcore; ops NULL: default mempool ops. */
struct rte_mempool *fx_pool_cached(const char *name, uint32_t nb,
				   uint32_t nb_cache, const char *ops);
/* A pool with pinned external buffers. */
struct rte_mempool *fx_pool_pinned(const char *name, uint32_t nb);
void fx_pool_free(struct rte_mempool *mp);
/* Mbufs that are neither in the pool nor in this lcore's cache. */
uint32_t fx_pool_missing(const struct rte_mempool *mp, uint32_t nb);

void *fx_ring_alloc(size_t bytes, int fill);

/* Of a member of options. */
static inline uint32_t
fx_or_default(uint32_t value, uint32_t def)
{
	return value != 0 ? value : def;
}

/* ---- A completion queue as the device sees it ---- */

struct fx_cq {
	uint8_t *ring;
	uint32_t nb_cqe;
	uint32_t pi; /* free running, starts in lap 1 */
};

/* Writes data and the trailer with this lap's owner bits. */
void fx_cqe_write(struct fx_cq *cq, const uint32_t data[15], uint32_t trailer);
void fx_cqe_write_owner(struct fx_cq *cq, const uint32_t data[15],
			uint32_t trailer, uint32_t owner);

/* ---- Rx ---- */

struct fx_rx {
	struct mana_rxq *rxq; /* contains hwq only */
	struct mana_hwq *hwq;
	struct mana_hwq fresh; /* before mana_hwq_init() */
	struct mana_queue_rings rings;
	struct rte_mbuf **mbufs;
	uint8_t *rq_ring;
	uint8_t *db_page;
	struct fx_cq cq;
	struct rte_mempool *mp; /* = seg_mp[0] */
	struct rte_mempool *seg_mp[FX_MAX_SEGS];
	uint32_t nb_pools;
	uint32_t nb_mbufs; /* in each pool */
	/* Expected segments of each WQE, and the sum of their sizes. */
	struct mana_rx_seg segs[FX_MAX_SEGS];
	uint32_t nb_segs; /* at least 1 */
	uint32_t room_bytes;
	uint32_t wqe_bu;
	uint32_t ci; /* BUs consumed by the device */
	uint32_t last_bu; /* start of the last frame's WQE */
	uint32_t rx_seq; /* frames written */
	uint32_t check_seq; /* frames checked */
};

struct fx_rx_opts {
	uint32_t nb_desc; /* default 64 */
	uint32_t nb_pool; /* default 512 */
	uint32_t nb_cache; /* cache size per lcore */
	const char *ops; /* mempool ops; NULL: default */
	uint32_t nb_cqe; /* default 128 */
	uint32_t free_thresh;
	uint32_t start; /* initial value of the indices */
	bool pinned;
	bool vlan_keep;
	bool no_csum;
	bool no_ptypes;
	bool parse;
	bool scrub;
	bool no_open;
	/*
	 * Scattered Rx: buffer sizes, by default small and each another one, and offsets from
	 * the buffer's start.
	 */
	uint32_t nb_segs;
	uint16_t seg_bytes[FX_MAX_SEGS];
	uint16_t seg_offset[FX_MAX_SEGS]; /* [0] is added to the headroom */
	bool seg_pools; /* one pool per segment, every second one pinned */
};

struct fx_rx *fx_rx_new(const struct fx_rx_opts *opts);
/* An empty rxq. */
void fx_rxq_init(struct mana_rxq *rxq);
/* A second fixture: keeps the memory regions of the first. */
struct fx_rx *fx_rx_new_beside(const struct fx_rx_opts *opts);
/*
 * Make an empty queue of fx->fresh and fx->rings, with these indices, and a device that has
 * forgotten it; fx->rxq is empty before, and contains the queue after.
 */
void fx_rx_begin(struct fx_rx *fx, uint32_t start);
/* Fill and open the queue. */
void fx_rx_open(struct fx_rx *fx);
/* Return all mbufs of a queue to their pools; may be repeated. */
void fx_hwq_release(struct mana_hwq *hwq, bool is_gone);
/* Free the queue's mbufs; fx_rx_begin() may follow. */
void fx_rx_end(struct fx_rx *fx);
/* All mbufs are in their pools. */
void fx_rx_check_pools(const struct fx_rx *fx);
void fx_rx_delete(struct fx_rx *fx);
/* WQEs that the doorbell has published and the device has not consumed. */
uint32_t fx_rx_available(const struct fx_rx *fx);
/*
 * The device consumes the oldest WQE, checks it and writes a numbered frame of
 * len_bytes. Returns the hash for the CQE.
 */
uint32_t fx_rx_frame(struct fx_rx *fx, uint32_t len_bytes);
/* Byte i of the frame with this number. */
uint8_t fx_rx_byte(uint32_t seq, uint32_t i);
void fx_rx_okay(struct fx_rx *fx, uint32_t len_bytes, uint32_t flags);
/* One CQE with nb (1 to 4) packets of these lengths. */
void fx_rx_coalesced(struct fx_rx *fx, const uint32_t *len_bytes,
		     uint32_t nb, uint32_t flags);
/* One CQE with nb (1 to 8) packets, two in each of its four entries. */
void fx_rx_coalesced_8(struct fx_rx *fx, const uint32_t *len_bytes,
		       uint32_t nb, uint32_t flags);
/*
 * A CQE of this type and length without a frame; its offset is that of the last
 * frame's WQE.
 */
void fx_rx_cqe(struct fx_rx *fx, uint32_t type, uint32_t len_bytes);
/* Checks every field and the data of the next packet. Frees it. */
void fx_rx_check(struct fx_rx *fx, struct rte_mbuf *m, uint32_t len_bytes,
		 uint64_t ol_flags, uint32_t ptype);
/* The same, but accepts any flags and packet type. */
void fx_rx_check_data(struct fx_rx *fx, struct rte_mbuf *m, uint32_t len_bytes);
/* Skips a frame that the driver dropped. */
void fx_rx_skip(struct fx_rx *fx);

/* Runs a test on each Rx path of this processor; fx_rx_burst is its burst. */
extern mana_burst_t fx_rx_burst;
void fx_rx_on_each_path(void (*test)(void));
#define FX_RX_ON_EACH_PATH(name) \
static void \
name(void **state) \
{ \
	fx_rx_on_each_path(name##_test); \
} \
TEST_ADD(name, name, NULL, NULL)

/*
 * Tests with a queue that is created with these members of struct fx_rx_opts before them, and
 * deleted after: on one Rx path, and on each. The body, which uses fx, follows.
 */
#define FX_RX_TEST(name, ...) FX_RX_TEST_EACH(name, nr, 0, 1, __VA_ARGS__)
/* With one queue after the other: for each value of the variable from first to end - 1. */
#define FX_RX_TEST_EACH(name, variable, first, end, ...) \
static void name##_test(struct fx_rx *fx, uint32_t variable); \
static void \
name(void **state) \
{ \
	for (uint32_t variable = first; variable < (end); variable++) { \
		struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ __VA_ARGS__ }); \
		name##_test(fx, variable); \
		fx_rx_delete(fx); \
	} \
} \
TEST_ADD(name, name, NULL, NULL) \
static void name##_test(struct fx_rx *fx, uint32_t variable)

#define FX_RX_TEST_ON_EACH_PATH(name, ...) \
static void name##_with(struct fx_rx *fx); \
static void \
name##_test(void) \
{ \
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ __VA_ARGS__ }); \
	name##_with(fx); \
	fx_rx_delete(fx); \
} \
FX_RX_ON_EACH_PATH(name) \
static void name##_with(struct fx_rx *fx)

/* ---- Tx ---- */

struct fx_tx {
	struct mana_txq *txq;
	struct mana_txq fresh; /* before its first start, with its arrays */
	struct mana_queue_rings rings;
	struct mana_txq_conf conf;
	uint8_t *sq_ring;
	uint8_t *db_page;
	struct fx_cq cq;
	struct rte_mempool *mp;
	struct rte_mempool *bounce_mp;
	uint32_t nb_mbufs; /* in mp */
	uint32_t nb_bounce; /* in bounce_mp */
	uint32_t ci; /* BUs fetched by the device */
	uint32_t done_bu; /* start of the oldest outstanding WQE */
	uint32_t silent_bu; /* BUs fetched since the last CQE request */
	bool zero_position; /* CQEs have a WQE offset of 0 */
	mana_burst_t burst;
};

struct fx_tx_opts {
	bool no_suppress;
	uint32_t mtu; /* 0: no limit */
	enum mana_tx_form form;
	enum mana_tx_vport vport;
	uint32_t nb_desc; /* default 64 */
	uint32_t nb_cqe; /* default 128 */
	uint32_t sq_bytes; /* default nb_desc * 512 */
	uint32_t max_sge; /* default 30 */
	uint32_t vp_offset; /* default 3 */
	uint32_t start; /* initial value of the indices */
	uint32_t nb_pool; /* default 2048 */
	uint32_t nb_bounce; /* default 64 */
	const char *ops; /* mempool ops; NULL: default */
	uint32_t mbufs_per_wqe; /* default 4 */
	bool zero_position; /* CQEs have a WQE offset of 0 */
};

struct fx_tx *fx_tx_new(const struct fx_tx_opts *opts);
void fx_tx_delete(struct fx_tx *fx);
/* Tests with a queue with these members of struct fx_tx_opts, or another one. */
#define FX_TX_TEST(name, ...) \
FX_TX_TEST_OF(name, fx_tx_new(&(struct fx_tx_opts){ __VA_ARGS__ }))
#define FX_TX_TEST_OF(name, queue) FX_TX_TEST_EACH_OF(name, nr, 0, 1, queue)
/* With one queue after the other: for each value of the variable from first to end - 1. */
#define FX_TX_TEST_EACH(name, variable, first, end, ...) \
FX_TX_TEST_EACH_OF(name, variable, first, end, fx_tx_new(&(struct fx_tx_opts){ __VA_ARGS__ }))
#define FX_TX_TEST_EACH_OF(name, variable, first, end, queue) \
static void name##_test(struct fx_tx *fx, uint32_t variable); \
static void \
name(void **state) \
{ \
	for (uint32_t variable = first; variable < (end); variable++) { \
		struct fx_tx *fx = queue; \
		name##_test(fx, variable); \
		fx_tx_delete(fx); \
	} \
} \
TEST_ADD(name, name, NULL, NULL) \
static void name##_test(struct fx_tx *fx, uint32_t variable)
/* Initialise a closed or fresh queue with fx->conf, and a device that has forgotten it. */
void fx_tx_restart(struct fx_tx *fx);
/* Sets all indices of an empty queue, as after a long run. */
void fx_tx_start_at(struct fx_tx *fx, uint32_t start);

/* A WQE as the device fetched and checked it. */
struct fx_tx_wqe {
	struct hw_wqe header;
	struct hw_tx_oob oob;
	struct hw_sge sge[32];
	uint32_t nb_sge;
	uint32_t bytes; /* sum of the SGE lengths */
	uint32_t nb_bu;
	uint8_t frame[65536];
};

/* Returns false if the doorbell has published no further WQE. */
bool fx_tx_fetch(struct fx_tx *fx, struct fx_tx_wqe *wqe);
/* Fetches and completes all WQEs. Returns their number. */
uint32_t fx_tx_complete_all(struct fx_tx *fx);
/*
 * Completes the oldest WQE. It gets a CQE if it failed or has asked for one.
 * Without an outstanding WQE the device writes a spurious CQE.
 */
void fx_tx_cqe(struct fx_tx *fx, uint32_t type);
/* Completes the nb oldest WQEs. */
void fx_tx_complete(struct fx_tx *fx, uint32_t nb);
/* Writes an additional CQE with this WQE offset. */
void fx_tx_cqe_at(struct fx_tx *fx, uint32_t type, uint32_t position);
/* Completes the oldest WQE without CQE. Returns whether it asked for one. */
bool fx_tx_silent(struct fx_tx *fx);
/* Sends packets until the driver trusts WQE offsets. */
void fx_tx_pass_offset_check(struct fx_tx *fx);
/* Sends nb chains of nb_segs segments with 60 bytes each. Returns how many were taken. */
uint16_t fx_tx_post(struct fx_tx *fx, uint32_t nb, uint32_t nb_segs);
/* Mbufs of fx->mp that the queue holds. */
uint32_t fx_tx_missing(const struct fx_tx *fx);
struct rte_mbuf *fx_mbuf(struct rte_mempool *mp, uint32_t len_bytes,
			 uint8_t seed);
/* A chain of these bytes: first of them, then piece in each further segment. */
struct rte_mbuf *fx_pieces(struct rte_mempool *mp, const uint8_t *bytes, uint32_t len,
			   uint32_t first, uint32_t piece);
/* The free callback of an external buffer that the test owns. */
void fx_ext_free(void *addr, void *opaque);
/* A chain of nb segments with len_bytes each. */
struct rte_mbuf *fx_chain(struct rte_mempool *mp, uint32_t nb,
			  uint32_t len_bytes, uint8_t seed);

#endif /* FIXTURE_H */
