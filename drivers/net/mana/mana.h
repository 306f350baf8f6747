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
#include "mana_event_log.h"
#include "mana_netdev.h"
#include "mana_rxtx.h"
#include "mana_verbs.h"

struct mana_mr_table;
struct mana_shown_port;

/* A vPort has no more queues of a direction (Linux mana.h MANA_MAX_NUM_QUEUES). */
#define MANA_MAX_RXQ 64
#define MANA_MAX_TXQ 64
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
	uint64_t mr_misses;
	struct mana_rxq_stats rare;
};

struct mana_tx_counters {
	uint64_t packets;
	uint64_t bytes;
	uint64_t sq_doorbells;
	uint64_t mr_misses;
	struct mana_txq_stats rare;
};

/* And what the port counts by itself. */
struct mana_port_counters {
	uint64_t mr_registrations; /* of memory regions, under the table's lock */
	uint64_t mr_deregistrations;
	uint64_t resets;
	uint64_t rss_gaps; /* times the RSS object was replaced under traffic */
	uint64_t rss_gap_ns; /* time without reception, in all of them */
	uint64_t rss_gap_max_ns; /* in the longest since the last reset */
};

enum mana_rxq_kind {
	MANA_RXQ_ETHDEV,
	MANA_RXQ_HIDDEN, /* ethdev does not know it: one of a power of two */
	MANA_RXQ_SINK, /* in the place of a stopped queue: frees and counts */
};

/* Which buffers a receive queue was given: see mana_rx_shape.c. */
struct mana_rx_shape {
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
	uint16_t nb_segs; /* at least 1 */
	bool is_split; /* by the application */
	bool can_grow; /* as many more as a frame takes */
	union rte_eth_rxseg rx_seg[GDMA_RQ_WQE_MAX_SGE]; /* of the split */
};

/* A receive queue. ethdev's queue pointer points to rxq, the first member. */
struct mana_rxq_ctl {
	struct mana_rxq rxq;
	enum mana_rxq_kind kind;
	/* Its counters, and packets unless a sink's, are this ethdev queue's. */
	uint16_t owner;
	bool is_deferred; /* not started with the port */

	/* Chosen at setup. */
	struct rte_mempool *mp; /* of the first buffer of a packet */
	struct mana_rx_shape shape;
	struct rte_mbuf **mbufs; /* mana_rxq_mbufs_alloc() */
	uint32_t nb_mbufs; /* WQEs that mbufs has room for, a power of two */
	uint32_t nb_cqe;
	uint16_t nb_desc;
	uint16_t free_thresh; /* as it is in effect */
	int socket_id;
	uint64_t offloads;

	/* Exists while the port runs; NULL on a queue without traffic. */
	struct ibv_cq *cq;
	struct ibv_wq *wq;

	struct mana_rx_counters base; /* what it had counted at the last reset */
};

/* A send queue. ethdev's queue pointer points to txq, the first member. */
struct mana_txq_ctl {
	struct mana_txq txq;

	struct rte_mbuf **mbufs;
	uint16_t *info;
	struct mana_tx_group *groups;
	uint8_t *bounce;
	uint32_t nb_mbufs;
	uint32_t nb_wqes; /* entries of the other three */
	uint32_t nb_cqe;
	uint16_t nb_desc;
	uint16_t free_thresh;
	int socket_id;
	uint64_t offloads;

	bool is_deferred; /* not started with the port */

	/* Exist while the queue runs. */
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	struct mana_tx_counters base;
};

/* The interrupt of an ethdev receive queue, while the port runs. */
struct mana_rx_intr {
	struct ibv_comp_channel *channel; /* of its CQs, hidden ones too */
	MANA_ATOMIC(uint32_t) is_armed; /* enabled, and not disabled since */
};

/* dev_private. Verbs objects and mrs mean something in the primary only. */
struct mana_priv {
	struct rte_eth_dev_data *data;
	uint32_t port; /* verbs port, from 1 */
	struct mana_netdev netdev;
	bool netdev_down; /* the devarg netdev_down=1 */
	bool is_netdev_taken; /* it was up, and goes up again at the close */

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
	/* Powers of two. */
	uint32_t max_cqe;
	uint32_t max_rx_desc;
	uint32_t max_tx_desc;
	uint32_t max_mtu;
	uint16_t tx_max_sge;

	/* Configuration. */
	bool has_rss; /* else all traffic goes to queue 0 */
	uint8_t rss_key[MANA_RSS_KEY_BYTES];
	uint8_t reta[MANA_MAX_RXQ]; /* the slot of each entry of the table */
	bool wants_ptypes;
	bool reject_promisc; /* the devarg promisc=reject */
	/* Keys of the devargs rx_path= and tx_path=; NULL: free to choose. */
	const char *rx_path;
	const char *tx_path;
	/* Messages that are given once. */
	bool is_promisc_noted;
	bool is_rss_types_noted;
	bool is_mtu_noted;

	/* The netdev's MTU that was set, and that it had before; 0: not set. */
	uint32_t netdev_mtu;
	uint32_t netdev_mtu_before;

	/* While running. */
	uint32_t nb_wqs; /* entries of the verbs table, a power of two */
	/*
	 * The receive queue behind each work queue of the device. Slot i is of
	 * ethdev queue i, and those beyond the last of all of them in turn.
	 */
	struct mana_rxq_ctl *slots[MANA_MAX_RXQ];
	struct rte_mempool *sink_mp;
	mana_burst_t rx_burst; /* of the ordinary way, chosen at start */
	void *idle_ring; /* where queues look that get no traffic */
	struct ibv_rwq_ind_table *ind;
	struct ibv_qp *rss_qp;
	/* Holds the vPort while no Tx queue of the application runs. */
	struct mana_txq_ctl *hidden_txq;
	struct rte_mempool *bounce_mp; /* for copies of frames to send */

	/* Whether the kernel tells the carrier of an interface that is down. */
	bool has_carrier;
	/* Of the queues of this number that were released since the last reset. */
	struct mana_rx_counters rx_released[MANA_MAX_RXQ];
	struct mana_tx_counters tx_released[MANA_MAX_TXQ];
	struct mana_port_counters counters;
	struct mana_port_counters counters_base; /* at the last reset */

	struct mana_event_log events;
	struct mana_shown_port *shown; /* of mana_registry.c, or NULL */

	/* ---- mana_intr.c ---- */
	struct mana_rx_intr *rx_intrs; /* by queue; NULL: no interrupts */

	/* ---- mana_events.c ---- */
	struct rte_intr_handle *device_intr; /* events of the RDMA device; ethdev's */
	struct rte_intr_handle *link_intr; /* changes of netdevs */
	int link_fd; /* means something while there is link_intr */
	/* Set once, by the interrupt thread: no verb and no queue works. */
	MANA_ATOMIC(uint32_t) is_gone;
	MANA_ATOMIC(uint32_t) nb_resets; /* times that the device went */
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

/* Whether the kernel took the device away. Close is all that helps. */
static inline bool
mana_is_gone(const struct mana_priv *priv)
{
	return mana_atomic_load(&priv->is_gone) != 0;
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

/* ---- mana_takeover.c --------------------------------------------------- */

/* Takes the netdev down if it is up and netdev_down=1 was given. */
int mana_takeover(struct mana_priv *priv);
/* Takes it up again if that was done; when the vPort is free. */
void mana_takeover_end(struct mana_priv *priv);

/* ---- mana_rxq.c, mana_txq.c, mana_queue.c ------------------------------------------------------ */

int mana_rxq_setup(struct mana_priv *priv, uint16_t queue_id, uint16_t nb_desc,
		   unsigned int socket_id, const struct rte_eth_rxconf *conf,
		   struct rte_mempool *mp);
/* Frees the memory of a stopped queue; queue may be NULL. */
void mana_rxq_release(struct mana_priv *priv, struct mana_rxq_ctl *ctl);
int mana_txq_setup(struct mana_priv *priv, uint16_t queue_id, uint16_t nb_desc,
		   unsigned int socket_id, const struct rte_eth_txconf *conf);
void mana_txq_release(struct mana_priv *priv, struct mana_txq_ctl *ctl);

/* One send queue of a running port. */
int mana_txq_start(struct mana_priv *priv, uint16_t queue_id);
int mana_txq_stop(struct mana_priv *priv, uint16_t queue_id);

/*
 * Makes every queue's kernel objects and starts traffic. After a failure
 * nothing remains.
 */
int mana_queues_start(struct mana_priv *priv);
/* Destroys the kernel objects and frees the mbufs; may be called again. */
void mana_queues_stop(struct mana_priv *priv);

/*
 * Every receive queue there is, of any kind: give *at 0 first. NULL ends.
 * (uint32_t at = 0; while ((ctl = mana_rxq_next(priv, &at)) != NULL) ...)
 */
struct mana_rxq_ctl *mana_rxq_next(const struct mana_priv *priv, uint32_t *at);

/* The ethdev queue to which a slot's packets belong. */
uint16_t mana_rx_slot_owner(const struct mana_priv *priv, uint32_t slot);

/* "alive"; "unknown" for a number that is none of enum mana_queue_fate. */
const char *mana_queue_fate_name(uint8_t fate);

/* ---- mana_rx_shape.c: which buffers a receive WQE has -------------------- */

/* Buffers of a WQE at most. */
uint16_t mana_rx_max_segs(const struct mana_priv *priv);
/*
 * What the application gives a queue: mp, or the split in conf. offloads: all
 * of the queue. -EINVAL or -ENOTSUP after a message.
 */
int mana_rx_shape_take(const struct mana_priv *priv,
		       const struct rte_eth_rxconf *conf, uint64_t offloads,
		       struct rte_mempool *mp, struct mana_rx_shape *shape);
/* Buffers that a WQE of the queue may ever have. */
uint16_t mana_rx_shape_max_segs(const struct mana_priv *priv,
				const struct mana_rx_shape *shape);
/**
 * The buffers of a WQE that holds frames of this MTU.
 *
 * @param[out] segs
 *   Room for GDMA_RQ_WQE_MAX_SGE.
 * @param[out] nb_segs
 *   0: one buffer of the pool, as struct mana_rxq_conf has it.
 * @return
 *   0, or -EINVAL after a message when no WQE can hold them.
 */
int mana_rx_shape_get(const struct mana_priv *priv,
		      const struct mana_rx_shape *shape, uint16_t mtu,
		      struct mana_rx_seg *segs, uint16_t *nb_segs);
/*
 * Whether there are such, and the port, if it runs, can have them: -EBUSY when
 * its burst function was chosen for one buffer.
 */
int mana_rx_shape_check(const struct mana_priv *priv,
			const struct mana_rx_shape *shape, uint16_t mtu);
/* Registers the pools' memory. */
int mana_rx_shape_add_pools(struct mana_priv *priv,
			    const struct mana_rx_shape *shape);
/*
 * All queues' for the port's MTU: they are set up. Sets scattered_rx of the
 * port, for the choice of the burst function.
 */
int mana_rx_shapes_check(struct mana_priv *priv);

/* ---- mana_rss.c -------------------------------------------------------- */

/* Checks and takes the receive mode of the configuration. */
int mana_rss_configure(struct mana_priv *priv);
/* Whether the device can do this; what it does besides is said once. */
int mana_rss_conf_check(struct mana_priv *priv,
			const struct rte_eth_rss_conf *conf);
/* Work queues of the device that the receive queues get: a power of two. */
uint32_t mana_rss_nb_wqs(const struct mana_priv *priv);
/* The ethdev queue behind an entry of the table. */
uint16_t mana_rss_queue_of(const struct mana_priv *priv, uint32_t entry);
/*
 * Makes table and RSS QP over the slots' WQs: reception starts.
 * Gives no message, the caller may try again.
 */
int mana_rss_create(struct mana_priv *priv);
/* Returns whether the device has let go of the receive buffers. */
bool mana_rss_destroy(struct mana_priv *priv);

/* Of wqs, by slot, in the order of the table. Gives no message. */
int mana_rss_table_create(struct mana_priv *priv, struct ibv_wq *const *wqs,
			  struct ibv_rwq_ind_table **ind);

/* ---- mana_rx_change.c -------------------------------------------------- */

/* What can change while the port runs. */
struct mana_rx_setting {
	uint8_t key[MANA_RSS_KEY_BYTES];
	uint8_t reta[MANA_MAX_RXQ]; /* slot by entry */
	uint8_t states[MANA_MAX_RXQ]; /* ethdev's rx_queue_state */
};

void mana_rx_setting_get(const struct mana_priv *priv,
			 struct mana_rx_setting *setting);
/*
 * Takes a setting; of a running port, without losing a packet that has been
 * received. After a failure all is as before.
 */
int mana_rx_change(struct mana_priv *priv,
		   const struct mana_rx_setting *setting);

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
/*
 * What the queues of this number, or all, have counted since the last reset.
 * Any thread of the control path; a snapshot.
 */
struct mana_rx_counters mana_stats_rx(const struct mana_priv *priv,
				      uint16_t queue_id);
struct mana_tx_counters mana_stats_tx(const struct mana_priv *priv,
				      uint16_t queue_id);
struct mana_rx_counters mana_stats_rx_sum(const struct mana_priv *priv);
struct mana_tx_counters mana_stats_tx_sum(const struct mana_priv *priv);
struct mana_port_counters mana_stats_port(const struct mana_priv *priv);
/* Keeps the counters of a queue that goes, of any kind. */
void mana_stats_fold_rxq(struct mana_priv *priv,
			 const struct mana_rxq_ctl *ctl);
void mana_stats_fold_txq(struct mana_priv *priv,
			 const struct mana_txq_ctl *ctl);

#endif /* MANA_H */
