/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The test bed of the data path: queues laid over plain memory, and a device
 * that is played by hand. It reads WQEs and writes CQEs with the model's own
 * transcription of the hardware (model/hw.h), not with the driver's.
 *
 * Every bed counts the mbufs of its pools when it is made and when it is torn
 * down: one that is lost or freed twice fails the test, whatever it is about.
 */

#ifndef BED_H
#define BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "hw.h"
#include "mana_rxtx.h"

/* assert_true() gives cmocka no value to print; these do. */
#define assert_eq(a, b) assert_int_equal((uint64_t)(a), (uint64_t)(b))

#define BED_RQ_ID 0x234u
#define BED_RX_CQ_ID 0x135u
#define BED_SQ_ID 0x1042u
#define BED_TX_CQ_ID 0x55u
#define BED_PORT_ID 7
#define BED_ROOM_BYTES 2048u /* of an mbuf, without headroom */
#define BED_MAX_SEGS 15u /* of a receive WQE */

/* ---- Memory regions: what mana_mr_miss() knows. ---- */

extern uint32_t bed_mr_generation;
extern uint32_t bed_mr_calls; /* of mana_mr_miss() */
extern bool bed_mr_deny; /* every call fails */

void bed_mr_clear(void);
void bed_mr_add(const void *base, size_t len_bytes, uint32_t lkey);
/* The chunks of a pool, with keys lkey, lkey + 1, ... */
void bed_mr_add_pool(struct rte_mempool *mp, uint32_t lkey);
/* The key that an address must have; 0 if none. */
uint32_t bed_mr_expect(uint64_t addr, uint32_t len_bytes);

/* ---- Start-up and pools ---- */

/* EAL without huge pages or devices; once a program. */
void bed_eal_init(void);
int bed_group_setup(void **state); /* of cmocka: the same */
struct rte_mempool *bed_pool(const char *name, uint32_t nb, uint32_t room_bytes);
/* With a cache for each lcore, and by these ops (NULL: the usual ones). */
struct rte_mempool *bed_pool_cached(const char *name, uint32_t nb,
				    uint32_t nb_cache, const char *ops);
/* Its buffers lie outside of the mbufs, which are EXTERNAL for ever. */
struct rte_mempool *bed_pool_pinned(const char *name, uint32_t nb);
void bed_pool_free(struct rte_mempool *mp);
/* Mbufs that are not in the pool (or in this lcore's cache). */
uint32_t bed_pool_missing(const struct rte_mempool *mp, uint32_t nb);

void *bed_ring_alloc(size_t bytes, int fill);

/* ---- A completion queue as the device sees it ---- */

struct bed_cq {
	uint8_t *ring;
	uint32_t nb_cqe;
	uint32_t pi; /* free running, starts in lap 1 */
};

/* Writes data, then the trailer with the owner bits of this lap. */
void bed_cqe_write(struct bed_cq *cq, const uint32_t data[15], uint32_t trailer);
void bed_cqe_write_owner(struct bed_cq *cq, const uint32_t data[15],
			 uint32_t trailer, uint32_t owner);

/* ---- Receive ---- */

struct bed_rx {
	struct mana_rxq *rxq;
	struct mana_rxq_conf conf;
	struct rte_mbuf **mbufs;
	uint8_t *rq_ring;
	uint8_t *db_page;
	struct bed_cq cq;
	struct rte_mempool *mp; /* = seg_mp[0] */
	struct rte_mempool *seg_mp[BED_MAX_SEGS];
	uint32_t nb_pools;
	uint32_t nb_mbufs; /* of each pool */
	/* What each WQE must bring: its buffers, and their sum. */
	struct mana_rx_seg segs[BED_MAX_SEGS];
	uint32_t nb_segs; /* 1 when the queue has no segs in its conf */
	uint32_t room_bytes;
	uint32_t wqe_bu;
	uint32_t ci; /* BUs the device has taken */
	uint32_t rx_seq; /* packets made so far */
	uint32_t check_seq; /* packets checked so far */
};

struct bed_rx_opts {
	uint32_t nb_desc; /* 0: 64 */
	uint32_t nb_pool; /* 0: 512 */
	uint32_t nb_cache; /* mbufs that the pool keeps for an lcore */
	const char *ops; /* of the pool; NULL: the usual ones */
	uint32_t nb_cqe; /* 0: 128 */
	uint32_t free_thresh;
	uint32_t start; /* where the indices start */
	bool pinned;
	bool vlan_keep;
	bool no_csum;
	bool no_open;
	/* Several buffers a WQE: their sizes and, from the start, offsets. */
	uint32_t nb_segs;
	uint16_t seg_bytes[BED_MAX_SEGS];
	uint16_t seg_offset[BED_MAX_SEGS]; /* the first: beside the headroom */
	bool seg_pools; /* a pool for each, every second one pinned */
};

struct bed_rx *bed_rx_new(const struct bed_rx_opts *opts);
/* One more: what the first one has registered stays. */
struct bed_rx *bed_rx_new_beside(const struct bed_rx_opts *opts);
void bed_rx_delete(struct bed_rx *bed);
/* WQEs that the doorbell has given to the device and it has not used. */
uint32_t bed_rx_available(const struct bed_rx *bed);
/*
 * The device takes the oldest WQE, checks it and writes a frame of len_bytes
 * there, numbered and recognizable. Returns the hash to put into the CQE.
 */
uint32_t bed_rx_frame(struct bed_rx *bed, uint32_t len_bytes);
void bed_rx_okay(struct bed_rx *bed, uint32_t len_bytes, uint32_t flags);
/* nb 1..4 packets of these lengths in one CQE. */
void bed_rx_coalesced(struct bed_rx *bed, const uint32_t *len_bytes,
		      uint32_t nb, uint32_t flags);
/* A CQE without frame: type and the length that it claims. */
void bed_rx_cqe(struct bed_rx *bed, uint32_t type, uint32_t len_bytes);
/* The next packet in order: every mbuf field and the contents. Frees it. */
void bed_rx_check(struct bed_rx *bed, struct rte_mbuf *m, uint32_t len_bytes,
		  uint64_t ol_flags, uint32_t ptype);
/* This one was dropped: the next in order is the one behind. */
void bed_rx_skip(struct bed_rx *bed);

/* ---- Transmit ---- */

struct bed_tx {
	struct mana_txq *txq;
	struct mana_txq_conf conf;
	uint8_t *sq_ring;
	uint8_t *db_page;
	struct bed_cq cq;
	struct rte_mempool *mp;
	struct rte_mempool *bounce_mp;
	uint32_t nb_mbufs; /* of mp */
	uint32_t nb_bounce; /* of bounce_mp */
	uint32_t ci; /* BUs the device has read */
	uint32_t done_bu; /* where the oldest WQE without completion lies */
	uint32_t silent_bu; /* read since one that asks for a CQE */
	bool zero_position; /* CQEs do not tell the position */
	mana_burst_t burst;
};

struct bed_tx_opts {
	uint32_t nb_desc; /* 0: 64 */
	uint32_t nb_cqe; /* 0: 128 */
	uint32_t sq_bytes; /* 0: nb_desc * 512 */
	uint32_t max_sge; /* 0: 30 */
	uint32_t vp_offset; /* 0: 3 */
	uint32_t start; /* where the indices start */
	uint32_t nb_bounce; /* 0: 64 */
	uint32_t mbufs_per_wqe; /* 0: 4 */
	bool zero_position; /* CQEs do not tell the position */
	bool no_bounce_slots;
	bool no_bounce_pool;
};

struct bed_tx *bed_tx_new(const struct bed_tx_opts *opts);
void bed_tx_delete(struct bed_tx *bed);

/* A WQE, read and checked by the device. */
struct bed_tx_wqe {
	struct hw_wqe header;
	struct hw_tx_oob oob;
	struct hw_sge sge[32];
	uint32_t nb_sge;
	uint32_t bytes; /* sum of the SGEs */
	uint32_t nb_bu;
	uint8_t frame[65536];
};

/* False when the doorbell has given nothing more. */
bool bed_tx_fetch(struct bed_tx *bed, struct bed_tx_wqe *wqe);
/* Fetch and complete; the number of WQEs. */
uint32_t bed_tx_complete_all(struct bed_tx *bed);
/*
 * The oldest WQE completes: with a CQE unless it is well and asked for none.
 * A CQE, too, when there is no WQE.
 */
void bed_tx_cqe(struct bed_tx *bed, uint32_t type);
/* A CQE that tells this position, beside all WQEs. */
void bed_tx_cqe_at(struct bed_tx *bed, uint32_t type, uint32_t position);
/* The oldest WQE completes without a word; whether it asked for a CQE. */
bool bed_tx_silent(struct bed_tx *bed);
/* Send and complete packets until WQEs go without request. */
void bed_tx_earn_trust(struct bed_tx *bed);
struct rte_mbuf *bed_mbuf(struct rte_mempool *mp, uint32_t len_bytes,
			  uint8_t seed);
/* nb segments of len_bytes each. */
struct rte_mbuf *bed_chain(struct rte_mempool *mp, uint32_t nb,
			   uint32_t len_bytes, uint8_t seed);

#endif /* BED_H */
