/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A port: what the control path knows of it, and what the files of the object
 * layer offer to the ethdev layer.
 *
 * Unless said otherwise functions belong to the control path of the primary
 * process, which ethdev does not call concurrently for one port, and return 0
 * or a negative errno after a message.
 */

#ifndef MANA_H
#define MANA_H

#include <stdbool.h>
#include <stdint.h>

#include <ethdev_driver.h>
#include <rte_mempool.h>

#include "mana_compat.h"
#include "mana_netdev.h"
#include "mana_rxtx.h"
#include "mana_verbs.h"

struct mana_mr_table;

/* A vPort has no more receive queues (Linux mana.h, indirection table). */
#define MANA_MAX_RXQ 64
/* A CQ is at least a page (Linux mana_gd_create_dma_region). */
#define MANA_MIN_CQE 64
#define MANA_MIN_DESC 64
#define MANA_DEFAULT_DESC 256
/* Ethernet header of the largest frame; tags are added and removed by the NIC. */
#define MANA_FRAME_OVERHEAD RTE_ETHER_HDR_LEN

/* Hash types of the device, fixed (Linux mana_ib ignores what is asked). */
#define MANA_RSS_TYPES \
	(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | \
	 RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_IPV6 | \
	 RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP | \
	 RTE_ETH_RSS_IPV6_EX | RTE_ETH_RSS_IPV6_TCP_EX | \
	 RTE_ETH_RSS_IPV6_UDP_EX)

/* All that a queue counts: arrays of uint64_t, see mana_stats.c. */
struct mana_rx_counters {
	uint64_t packets;
	uint64_t bytes;
	struct mana_rxq_stats rare;
};

struct mana_tx_counters {
	uint64_t packets;
	uint64_t bytes;
	struct mana_txq_stats rare;
};

/* A receive queue. ethdev's queue pointer points to rxq, the first member. */
struct mana_rxq_ctl {
	struct mana_rxq rxq;

	/* Chosen at setup. */
	struct rte_mempool *mp;
	struct rte_mbuf **mbufs;
	uint32_t nb_mbufs; /* entries of mbufs, a power of two */
	uint32_t nb_cqe;
	uint16_t nb_desc;
	uint16_t free_thresh;
	int socket_id;
	uint64_t offloads;

	void *idle_ring; /* where it looks when it gets no traffic */

	/* Exists while the port runs; NULL on a queue without traffic. */
	struct ibv_cq *cq;
	struct ibv_wq *wq;

	struct mana_rx_counters base; /* what it had counted at the last reset */
};

/* A send queue. ethdev's queue pointer points to txq, the first member. */
struct mana_txq_ctl {
	struct mana_txq txq;

	struct rte_mbuf **mbufs;
	uint8_t *info;
	uint8_t *bounce;
	uint32_t nb_mbufs;
	uint32_t nb_cqe;
	uint16_t nb_desc;
	uint16_t free_thresh;
	int socket_id;
	uint64_t offloads;

	struct ibv_cq *cq;
	struct ibv_qp *qp;

	struct mana_tx_counters base;
};

/* dev_private. Verbs objects and mrs mean something in the primary only. */
struct mana_priv {
	struct rte_eth_dev_data *data;
	uint32_t port; /* verbs port, from 1 */
	struct mana_netdev netdev;

	struct ibv_context *ctx;
	struct mana_verbs_rings rings;
	struct ibv_pd *pd;
	struct ibv_pd *parent; /* of pd; names the port */
	struct mana_mr_table *mrs;
	/* Bumped before a region is deregistered: see struct mana_mr_cache. */
	MANA_ATOMIC(uint32_t) mr_generation;

	/* Limits. */
	struct mana_verbs_caps caps;
	uint32_t max_queues; /* of each direction */
	uint32_t max_desc; /* a power of two */
	uint32_t max_mtu;
	uint16_t tx_max_sge;

	/* Configuration. */
	bool has_rss; /* else all traffic goes to queue 0 */
	uint8_t rss_key[MANA_RSS_KEY_BYTES];
	bool wants_ptypes;
	/* Messages that are given once. */
	bool is_promisc_noted;
	bool is_rss_types_noted;

	/* While running. */
	uint32_t nb_wqs; /* entries of the verbs table, a power of two */
	struct ibv_rwq_ind_table *ind;
	struct ibv_qp *rss_qp;
	/* Takes the vPort when the application has no Tx queue. */
	struct mana_txq_ctl *hidden_txq;
	struct rte_mempool *bounce_mp; /* for copies of frames to send */

	/* Whether the kernel tells the carrier of an interface that is down. */
	bool has_carrier;
	/* Counters of queues that were released since the last reset. */
	struct mana_rx_counters rx_released;
	struct mana_tx_counters tx_released;
};

static inline struct mana_rxq_ctl *
mana_rxq_ctl_of(void *rxq)
{
	return rxq; /* the first member */
}

static inline struct mana_txq_ctl *
mana_txq_ctl_of(void *txq)
{
	return txq;
}

/* ---- mana_port.c: what lives from probe to close ----------------------- */

/*
 * Opens the device and finds the limits. priv is zeroed but for data. After a
 * failure mana_port_close() takes what has been made.
 */
int mana_port_open(struct mana_priv *priv, struct ibv_device *device,
		   uint32_t port, const struct mana_netdev *netdev);
/* Destroys everything, running or not; may be called again. */
void mana_port_close(struct mana_priv *priv);

/* ---- mana_rxq.c, mana_txq.c, mana_queue.c ------------------------------------------------------ */

int mana_rxq_setup(struct mana_priv *priv, uint16_t queue_id, uint16_t nb_desc,
		   unsigned int socket_id, const struct rte_eth_rxconf *conf,
		   struct rte_mempool *mp);
/* Frees the memory of a stopped queue; queue may be NULL. */
void mana_rxq_release(struct mana_priv *priv, struct mana_rxq_ctl *ctl);
int mana_txq_setup(struct mana_priv *priv, uint16_t queue_id, uint16_t nb_desc,
		   unsigned int socket_id, const struct rte_eth_txconf *conf);
void mana_txq_release(struct mana_priv *priv, struct mana_txq_ctl *ctl);

/*
 * Makes every queue's kernel objects and starts traffic. After a failure
 * nothing remains.
 */
int mana_queues_start(struct mana_priv *priv);
/* Destroys the kernel objects and frees the mbufs; may be called again. */
void mana_queues_stop(struct mana_priv *priv);

/* The buffer that a receive queue's pool gives to a packet. */
uint32_t mana_rx_buf_bytes(const struct rte_mempool *mp);
/* -EINVAL when a frame of this MTU does not fit the pool's buffers. */
int mana_rx_mtu_check(const struct mana_priv *priv, uint16_t mtu,
		      const struct rte_mempool *mp);

/* ---- mana_rss.c -------------------------------------------------------- */

/* Checks and takes the receive mode of the configuration. */
int mana_rss_configure(struct mana_priv *priv);
/* Receive queues that get a work queue of the device. */
uint32_t mana_rss_nb_wqs(const struct mana_priv *priv);
/* The ethdev queue behind an entry of the verbs table. */
uint16_t mana_rss_queue_of(uint32_t entry, uint32_t nb_wqs);
/*
 * Makes table and RSS QP over the queues' WQs: reception starts.
 * Gives no message, the caller may try again.
 */
int mana_rss_create(struct mana_priv *priv);
/* Returns whether the device has let go of the receive buffers. */
bool mana_rss_destroy(struct mana_priv *priv);

/* ---- mana_mr.c --------------------------------------------------------- */

/* Every struct mana_mr_cache of the port has priv as its ctx. */
int mana_mr_table_create(struct mana_priv *priv);
void mana_mr_table_destroy(struct mana_priv *priv);
/* Registers all memory that the pool's packets live in. */
int mana_mr_add_pool(struct mana_priv *priv, struct rte_mempool *mp);
/*
 * From now on registers the packet pools there are and those that are made;
 * what fails is left to the first packet that needs it.
 */
void mana_mr_track_pools(struct mana_priv *priv);
/* What the application itself maps for the device (rte_dev_dma_map). */
int mana_mr_add_range(struct mana_priv *priv, uintptr_t addr, size_t len);
/* -ENOENT when just this range was not added. */
int mana_mr_remove_range(struct mana_priv *priv, uintptr_t addr, size_t len);
/* Forgets memory that nobody would tell us the end of. Port stopped. */
void mana_mr_remove_foreign(struct mana_priv *priv);

/* ---- mana_stats.c ------------------------------------------------------ */

int mana_stats_get(struct rte_eth_dev *dev, struct rte_eth_stats *stats
		   MANA_QSTATS_PARAM);
int mana_stats_reset(struct rte_eth_dev *dev);
/* Keeps the port's sums when a queue goes. */
void mana_stats_fold_rxq(struct mana_priv *priv,
			 const struct mana_rxq_ctl *ctl);
void mana_stats_fold_txq(struct mana_priv *priv,
			 const struct mana_txq_ctl *ctl);

#endif /* MANA_H */
