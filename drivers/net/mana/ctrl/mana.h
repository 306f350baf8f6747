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

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <ethdev_driver.h>
#include <rte_memory.h>
#include <rte_mempool.h>
#include <rte_pci.h>

#include "mana_compat.h"
#include "mana_event_log.h"
#include "mana_netdev.h"
#include "mana_peers.h"
#include "mana_rxtx.h"
#include "mana_verbs.h"

/* A vPort has no more queues of a direction (Linux mana.h MANA_MAX_NUM_QUEUES). */
#define MANA_MAX_QUEUES 64
/* Entries of the adapter's RSS table (Linux MANA_INDIRECT_TABLE_DEF_SIZE). */
#define MANA_RETA_SIZE 64
/* A CQ is at least a page (Linux mana_gd_create_dma_region). */
#define MANA_MIN_CQE 64
#define MANA_MIN_DESC 64
#define MANA_DEFAULT_DESC 256
/* The smallest Rx buffer that the card accepts is unknown: a safe size. */
#define MANA_MIN_RX_BUF_BYTES 1024
/* Ethernet header of the largest frame; tags are added and removed by the NIC. */
#define MANA_FRAME_OVERHEAD RTE_ETHER_HDR_LEN

/* Hash types of the device, fixed (Linux mana_ib ignores what is asked). */
#define MANA_RSS_TYPES \
	(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | \
	 RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_IPV6 | \
	 RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP | \
	 RTE_ETH_RSS_IPV6_EX | RTE_ETH_RSS_IPV6_TCP_EX | \
	 RTE_ETH_RSS_IPV6_UDP_EX)

/* Counters of a queue: an array of uint64_t, see mana_stats.c. */
struct mana_counters {
	uint64_t packets;
	uint64_t bytes;
	uint64_t errors; /* for ethdev's own statistics */
	uint64_t cqe_errors; /* of a Tx queue: errors that the device reported */
	uint64_t drops; /* of a Tx queue: packets that were never posted */
	uint64_t sq_doorbells; /* of a Tx queue */
	uint64_t mr_misses;
	uint64_t mr_failures;
	union {
		struct mana_rxq_stats rx;
		struct mana_txq_stats tx;
	};
};

/* Counters of a port: an array of uint64_t, too. */
struct mana_port_counters {
	uint64_t mr_registrations; /* of memory regions, under the table's lock */
	uint64_t mr_registration_ns; /* that the kernel took for them */
	uint64_t mr_deregistrations;
	/* By the interrupt thread: */
	uint64_t resets; /* the kernel removed the device */
	uint64_t recoveries; /* it returned, and the port was rebuilt */
	uint64_t recovery_ns; /* from the removal until bursts ran again, in all */
	uint64_t rebuild_ns; /* of that, from the return of the device on */
	uint64_t rebuild_max_ns; /* in the longest since the last reset */
	uint64_t repairs; /* times that failed queues were rebuilt */
	uint64_t rss_gaps; /* times the RSS object was replaced under traffic */
	uint64_t rss_gap_ns; /* time without reception, in all of them */
	uint64_t rss_gap_max_ns; /* in the longest since the last reset */
};

/* Which buffers an Rx queue was given: see mana_rxq.c. */
struct mana_rx_layout {
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
	uint16_t nb_segs; /* at least 1 */
	bool is_split; /* by the application */
	bool can_grow; /* as many more as a frame takes */
	union rte_eth_rxseg rx_seg[GDMA_RQ_WQE_MAX_SGE]; /* of the split */
};

/* What was reported of a queue: see mana_report.c. */
struct mana_bad_cqes_reported {
	uint32_t kinds;
	uint64_t failed;
};

/* The progress of a Tx queue: see mana_report.c. */
struct mana_tx_progress {
	uint32_t ci;
	bool is_reported; /* since since_ns */
	uint64_t since_ns;
	uint64_t stalled_ns; /* when a stall was seen last, since the start; 0: never */
};

/* An ethdev Rx queue. ethdev's queue pointer points to list, the first member. */
struct mana_eth_rxq {
	struct mana_rx_list list; /* the hardware queues that it polls */
	uint16_t owner; /* its number */
	bool is_deferred; /* not started with the port */
	bool is_released; /* no hardware queue may use its pool any more */

	/* Chosen at setup; a hardware queue that is built for it gets these. */
	struct rte_mempool *mp; /* of the first buffer of a packet */
	uint64_t data_delta; /* of that pool: mana_rx_pool_delta() */
	struct mana_rx_layout layout;
	uint32_t nb_cqe;
	uint16_t nb_desc; /* the device may have refused what was asked for */
	uint16_t free_thresh; /* as it is in effect */
	uint16_t asked_desc;
	uint16_t asked_thresh;
	int socket_id;
	uint64_t offloads;

	/* ---- Under the lock of mana_registry.c ---- */
	char mempool[RTE_MEMPOOL_NAMESIZE]; /* its name: the pool may be gone */
	/* What hardware queues counted and met that it does not poll any more. */
	struct mana_counters folded;
	struct mana_bad_cqes bad_cqes; /* and of those that it polls, when reported */
	struct mana_bad_cqes_reported reported;
};

/* A Tx queue. ethdev's queue pointer points to txq, the first member. */
struct mana_eth_txq {
	struct mana_txq txq;

	struct mana_txq_conf conf; /* of the last start; owns the arrays */
	uint32_t nb_cqe;
	uint16_t nb_desc; /* the device may have refused what was asked for */
	uint16_t asked_desc;
	uint16_t max_sge; /* of the running queue; 0: not chosen yet */
	uint16_t free_thresh;
	int socket_id;
	uint64_t offloads;

	bool is_deferred; /* not started with the port */

	/* Exist while the queue runs. */
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	/* ---- Under the lock of mana_registry.c ---- */
	struct mana_bad_cqes_reported reported;
	struct mana_tx_progress progress;
};

/*
 * The interrupt of an ethdev Rx queue, while the port runs: an epoll set in an
 * epoll set. The inner one watches wake_fd and the channels of all hardware queues
 * that the ethdev queue polls. The application has the descriptor of the outer one,
 * which watches the inner one while the interrupt is enabled.
 */
struct mana_rx_intr {
	int fd; /* the outer one */
	int sources_fd; /* the inner one */
	int wake_fd; /* an eventfd, which the driver writes */
};

/* Device arguments of a port. */
struct mana_options {
	bool netdev_down; /* set the netdev down until the close */
	bool netdev_mtu; /* copy the port's MTU to the netdev */
	bool reject_promisc; /* refuse to enable what is always on */
	bool refuse_foreign; /* register no memory that DPDK does not manage */
	bool tx_suppress; /* request a completion for some WQEs only; the default */
	bool tx_outer; /* offer checksums of the outer headers of tunnels */
	bool rx_intr; /* allow Rx interrupts; the default */
	bool rx_scrub; /* zero buffers before the device gets them */
	bool recovers_owned; /* recovery_timeout was given: for any owner of the port */
	uint32_t recovery_timeout; /* in seconds; 0: no recovery */
	uint32_t hw_rxq; /* hardware Rx queues at least, with RSS; 0: as few as will do */
	uint32_t max_desc; /* of a queue; 0: as many as the device accepts */
	uint32_t max_send_sge; /* of a packet; 0: likewise */
	enum mana_tx_form tx_oob;
	enum mana_tx_vport tx_vport;
	/* Key of the Rx burst function, or NULL: the driver's choice. */
	const char *rx_path;
};

/* The device of a port. The interrupt thread changes the state, and dev_reset(). */
enum mana_state {
	MANA_STATE_READY,
	MANA_STATE_RECOVERING, /* lost: the driver waits for its return */
	MANA_STATE_GONE, /* lost for good: only a close or a reset helps */
};

/* Of mana_recovery.c, which explains it. Times are those of CLOCK_MONOTONIC. */
struct mana_recovery {
	struct rte_pci_addr addr; /* of the function */
	uint64_t lost_ns;
	uint64_t deadline_ns;
	uint32_t retry_us; /* until the next try to rebuild the port */
	uint64_t repair_ns; /* queues are not rebuilt before this time */
	uint64_t repair_wait_ns; /* after the next rebuild of queues */
};

struct mana_rx_table {
	uint8_t key[MANA_RSS_KEY_BYTES];
	uint8_t reta[MANA_MAX_QUEUES]; /* the ethdev queue of each hardware queue */
};

/* How the driver learns that memory is unmapped. */
enum mana_mr_kind {
	MANA_MR_ANY, /* of a filter in mana_mr.c */
	MANA_MR_POOL, /* by the mempool's event */
	MANA_MR_EAL, /* by EAL's memory event */
	MANA_MR_USER, /* the application calls rte_dev_dma_unmap() */
	MANA_MR_FOREIGN, /* not at all: DPDK does not manage it */
};

struct mana_mr_region {
	uintptr_t base;
	uintptr_t end; /* first byte behind it */
	uintptr_t max_end; /* largest end up to here: regions may overlap */
	uint32_t lkey;
	enum mana_mr_kind kind;
	/* Compared only: a secondary process may have freed it. */
	const struct rte_mempool *pool;
	char mempool[RTE_MEMPOOL_NAMESIZE];
	struct ibv_mr *mr;
};

/*
 * Lock order: EAL's memory lock, then the table's mutex. EAL announces freed
 * memory with its lock held for writing, so under the mutex nothing may take
 * that lock or allocate DPDK memory; the regions live in the C library's heap.
 */
struct mana_mr_table {
	pthread_mutex_t lock;
	struct mana_mr_region *regions; /* sorted by base */
	uint32_t nb_regions;
	bool is_tracking_pools;
	bool is_unknown_noted; /* that memory is registered which DPDK does not know */
	uint64_t next_log; /* timer cycles: one message a second from bursts */
};

/* Of the device, found when it is opened. */
struct mana_limits {
	struct mana_verbs_caps caps;
	uint32_t max_queues; /* of each direction */
	/* Powers of two. */
	uint32_t max_cqe;
	uint32_t max_rx_desc;
	uint32_t max_tx_desc;
	uint32_t max_mtu;
};

/* dev_private. Verbs objects and mrs mean something in the primary only. */
struct mana_priv {
	struct rte_eth_dev_data *data;
	struct mana_options options;
	uint32_t port; /* verbs port, from 1 */
	struct mana_netdev netdev;
	bool is_netdev_taken; /* the driver set it down; the close sets it up */
	bool is_listed; /* by mana_registry_add() */

	struct ibv_context *ctx;
	uint32_t nb_opens; /* of ctx: a new one has another doorbell page */
	struct mana_verbs_rings rings;
	struct ibv_pd *pd;
	struct ibv_pd *parent; /* of pd; names the port */
	struct mana_mr_table mrs;
	/* Incremented before a region is deregistered: see struct mana_mr_cache. */
	MANA_ATOMIC(uint32_t) mr_generation;

	/* Other threads read them: changed under the registry's lock. */
	struct mana_limits limits;
	/* The device refused larger Rx queues at the last start. UINT16_MAX: none. */
	uint16_t rx_desc_taken;
	uint16_t tx_max_sge;

	/* Configuration. */
	bool has_rss; /* else all traffic goes to queue 0 */
	struct mana_rx_table rss;
	bool wants_ptypes;
	bool is_tx_form_changed; /* by a queue, and logged */
	/* Messages that are given once. */
	bool is_promisc_noted;
	bool is_rss_types_noted;
	bool is_reta_noted;
	bool is_mtu_noted;

	/* The netdev's MTU that was set, and that it had before; 0: not set. */
	uint32_t netdev_mtu;
	uint32_t netdev_mtu_before;
	/* The kernel has not destroyed a raw QP, which exists until the context is closed. */
	bool keeps_raw_qp;

	/* While running. */
	struct mana_rx_set *rx_set; /* NULL: none. Changed under the registry's lock */
	mana_rx_poll_t rx_poll; /* of one hardware queue; chosen at start */
	struct mana_rxq stand_in; /* of all poll lists */
	/* Holds the vPort while no Tx queue of the application runs. */
	struct mana_eth_txq hidden_txq;
	struct rte_mempool *bounce_mp; /* for copies of frames to send */

	/* Whether the kernel reports the carrier of a netdev that is down. */
	bool has_carrier;
	struct mana_port_counters counters;

	/* ---- Under the lock of mana_registry.c ---- */
	/* By number; of a running port and a stopped one. NULL: not set up. */
	struct mana_eth_rxq *rxqs[MANA_MAX_QUEUES];
	struct mana_eth_txq *txqs[MANA_MAX_QUEUES];
	/* Counters at the last reset, by is_rx and queue number: see mana_stats.c. */
	struct mana_counters base[2][MANA_MAX_QUEUES];
	struct mana_counters base_sum[2]; /* of these */
	struct mana_port_counters counters_base;

	/* ---- mana_peers.c ---- */
	struct mana_news news;

	/* ---- mana_event_log.c ---- */
	struct mana_event_log events;

	/* ---- mana_intr.c ---- */
	struct mana_rx_intr *rx_intrs; /* by queue; NULL: no interrupts */

	/* ---- mana_events.c ---- */
	struct rte_intr_handle *device_intr; /* events of the RDMA device; ethdev's */
	struct rte_intr_handle *link_intr; /* changes of netdevs */
	struct nl_sock *link_watch; /* valid while link_intr is not NULL */
	uint32_t nb_ticks; /* since the last look at the link */

	/* ---- mana_recovery.c ---- */
	MANA_ATOMIC(uint32_t) state; /* enum mana_state */
	MANA_ATOMIC(uint32_t) is_lost; /* see mana_is_gone() */
	/*
	 * Held by each operation that uses or changes objects of the kernel, and by a
	 * step of the recovery. The interrupt thread only tries to lock it.
	 */
	pthread_mutex_t control;
	bool is_running; /* the application has started the port; under control */
	bool is_joinable; /* by secondary processes */
	void **retired; /* queues that secondary processes may still see */
	uint32_t nb_retired;
	MANA_ATOMIC(uint32_t) has_single_pool; /* some Rx queue has one: mana_rxq.c */
	bool is_closing; /* no recovery any more; under control */
	struct mana_recovery recovery;
};

/*
 * Whether the driver rebuilds the port when the device returns, and failed queues: from
 * the interrupt thread, which must not use a mempool for one thread beside its thread.
 */
static inline bool
mana_recovers(const struct mana_priv *priv)
{
	return priv->options.recovery_timeout != 0 &&
	       mana_atomic_load(&priv->has_single_pool) == 0;
}

static inline enum mana_state
mana_state(const struct mana_priv *priv)
{
	return mana_atomic_load(&priv->state);
}

/*
 * Whether the kernel has removed the device of ctx: no verb and no queue works. While a
 * port is rebuilt, it has a new device already.
 */
static inline bool
mana_is_gone(const struct mana_priv *priv)
{
	return mana_atomic_load(&priv->is_lost) != 0;
}

/* ---- mana_discover.c: the RDMA device of a PCI function, its ports ----- */

struct mana_port_info {
	uint32_t port; /* verbs port, from 1 */
	int netdev_error; /* 0, or why mana_netdev_find() failed */
	struct mana_netdev netdev;
};

/* A PCI function as seen through its RDMA device. */
struct mana_function {
	const char *pci_name;
	struct ibv_device **list; /* keeps device alive */
	struct ibv_device *device;
	unsigned int nb_ports;
	struct mana_port_info *ports;
};

/*
 * Finds the Ethernet RDMA device of the function. After a failure *function holds
 * nothing. pci_name is kept.
 */
int mana_discover(const struct rte_pci_addr *addr, const char *pci_name,
		  struct mana_function *function);
/* The same without a message, for a device that may not be there yet. */
int mana_discover_silently(const struct rte_pci_addr *addr, const char *pci_name,
			   struct mana_function *function);
void mana_discover_release(struct mana_function *function);
/* Logs one line per port: MAC, netdev, state. */
void mana_discover_log_ports(const struct mana_function *function);

/* ---- mana_diag.c: errors of the kernel ------------------------------------ */

/* Each logs one message of level ERR that names cause and remedy. */

/* There is no list of RDMA devices at all. */
void mana_diag_no_rdma(const char *pci_name, int error);
/*
 * No RDMA device belongs to the function, or only `refused`, which is not an
 * Ethernet one (else NULL).
 */
void mana_diag_no_device(const char *pci_name, const char *refused);
/* The netdev of a port was not found: what mana_netdev_find() returned. */
void mana_diag_no_netdev(const char *pci_name, uint32_t port, int error);
/* The RDMA device, with this node below /dev/infiniband, cannot be used. */
void mana_diag_open(const char *pci_name, const char *device, const char *node,
		    int error);
/* An object cannot be created: "Tx queue" and its number, or MANA_DIAG_NO_ID. */
#define MANA_DIAG_NO_ID UINT32_MAX
void mana_diag_object(const struct mana_priv *priv, const char *what, uint32_t id,
		      int error);
/* netdev_down=1: the netdev cannot be set down. */
void mana_diag_netdev_down(const char *name, const char *netdev, int error);
/* Memory cannot be registered. */
void mana_diag_mr(const struct mana_priv *priv, uintptr_t addr, size_t len,
		  int error);

/* ---- mana_port.c: what lives from probe to close ----------------------- */

/*
 * Opens the device and finds the limits. priv is zeroed but for data and options.
 * After a failure the caller calls mana_port_close().
 */
int mana_port_open(struct mana_priv *priv, struct ibv_device *device,
		   uint32_t port, const struct mana_netdev *netdev);
/* Destroys everything, running or not; may be called again. */
void mana_port_close(struct mana_priv *priv);
/*
 * Destroys all objects of the kernel, which has removed the device. Queues, settings and
 * counters of the port stay. No burst runs.
 */
void mana_port_detach(struct mana_priv *priv);
/*
 * Opens the returned device of a detached port and registers memory again; queues are
 * not started. After a failure the port is detached, and a message was given.
 */
int mana_port_attach(struct mana_priv *priv, struct ibv_device *device,
		     const struct mana_netdev *netdev);

/*
 * Before each start, until the close: sets the netdev down (netdev_down=1) and gives
 * it the port's MTU (netdev_mtu=1).
 */
int mana_port_netdev_start(struct mana_priv *priv);

/*
 * Creates kernel objects of all queues and starts traffic; the queues stay paused. After
 * a failure no objects remain.
 */
int mana_queues_start(struct mana_priv *priv);
/*
 * Destroys the kernel objects, frees the mbufs, and pauses the queues; may be called
 * again.
 */
void mana_queues_stop(struct mana_priv *priv);

/*
 * Rebuilds the queues of a running port that have failed. Returns 0 if none is left;
 * else the error of the last one, after a message.
 */
int mana_queues_repair(struct mana_priv *priv);

/* Delay before an operation is repeated that the kernel may accept soon. */
#define MANA_QUEUE_RETRY_US 20000
/*
 * After -EINVAL for a QP: the device may have reused the id of a CQ that the kernel
 * keeps in its table until another program destroys the CQ, after its QP (Linux
 * mana_ib_install_cq_cb, mana_ib_remove_cq_cb). A program that stops 64 queues takes a
 * while. Waits, each time twice as long, 1.3 s in all. tries: number of attempts, from
 * 1. Returns false without waiting when there were too many.
 */
bool mana_queue_id_wait(unsigned int tries);
/* CQEs for nb_desc WQEs and nb_spare more, if there may be so many. */
uint32_t mana_queue_nb_cqe(const struct mana_priv *priv, uint16_t nb_desc,
			   uint32_t nb_spare);
/* Zeroed, a cache line aligned, of the socket or of any other. */
void *mana_queue_alloc(const char *what, size_t size, int socket_id);
/*
 * Frees what ethdev's queue pointer points to. While there are secondary processes, only
 * when the port is closed: a thread there may have read the pointer before.
 */
void mana_queue_retire(struct mana_priv *priv, void *queue);
/*
 * Takes the result of a destroy; logs an error. Returns whether the device no longer
 * accesses the queue's memory: a removed device does not.
 */
bool mana_queue_is_gone(const struct mana_priv *priv, const char *what,
			int error);
/* "none"; "unknown" for a number that is none of enum mana_queue_failure. */
const char *mana_queue_failure_name(uint8_t failure);

/* ---- mana_txq.c --------------------------------------------------------- */

int mana_txq_setup(struct mana_priv *priv, uint16_t queue_id, uint16_t nb_desc,
		   unsigned int socket_id, const struct rte_eth_txconf *conf);
void mana_txq_release(struct mana_priv *priv, struct mana_eth_txq *ctl);
/* Every Tx queue that is set up, as mana_rxq_next(). */
struct mana_eth_txq *mana_txq_next(const struct mana_priv *priv, uint32_t *at);
/* One Tx queue of a running port. */
int mana_txq_start(struct mana_priv *priv, uint16_t queue_id);
int mana_txq_stop(struct mana_priv *priv, uint16_t queue_id);
/*
 * Replaces the objects of a failed queue of a running port; other queues are not
 * affected. What was posted is freed and counted. After a failure, without a message,
 * the queue sends nothing, as before. Waits patience_ms at most for a burst.
 */
int mana_txq_rebuild(struct mana_priv *priv, struct mana_eth_txq *ctl,
		     uint32_t patience_ms);
/* All; a start that fails is undone by the stop, which may be called again. */
int mana_txqs_start(struct mana_priv *priv);
void mana_txqs_stop(struct mana_priv *priv);
/* Logs once that a Tx queue has changed to the long form of the OOB. */
void mana_tx_form_report(struct mana_priv *priv);
/*
 * Makes and destroys a Tx queue. 0: the program may make raw queues, and no other
 * program has one of this port. Gives no message.
 */
int mana_txq_spare_try(struct mana_priv *priv);
/*
 * Whether the program may still make raw queues: -EPERM after a message. For a port
 * that has Tx queues.
 */
int mana_txq_permission_check(struct mana_priv *priv);

/* ---- mana_rxq.c: Rx queues and the buffers of their WQEs ----------------- */

int mana_rxq_setup(struct mana_priv *priv, uint16_t queue_id, uint16_t nb_desc,
		   unsigned int socket_id, const struct rte_eth_rxconf *conf,
		   struct rte_mempool *mp);
/* Frees a stopped queue, if there is one. */
void mana_rxq_release(struct mana_priv *priv, uint16_t queue_id);
/*
 * Every ethdev Rx queue that is set up: give *at 0 first. NULL ends.
 * (uint32_t at = 0; while ((ctl = mana_rxq_next(priv, &at)) != NULL) ...)
 */
struct mana_eth_rxq *mana_rxq_next(const struct mana_priv *priv, uint32_t *at);
/* Gives a stopped queue another number of descriptors than was asked for. */
void mana_rxq_resize(const struct mana_priv *priv, struct mana_eth_rxq *ctl,
		     uint16_t nb_desc);

/* Buffers of a WQE at most. */
uint16_t mana_rx_max_segs(const struct mana_priv *priv);
/*
 * Whether a WQE can hold frames of this MTU: -EINVAL if not; -EBUSY if it needs
 * several buffers, and the burst function of the running port takes one.
 */
int mana_rx_layout_check(const struct mana_priv *priv,
			 const struct mana_rx_layout *layout, uint16_t mtu);
/*
 * The same for all queues that are set up, and the port's MTU. Sets scattered_rx of the
 * port, for the choice of the burst function, and has_single_pool (see mana_recovers()).
 */
int mana_rx_layouts_check(struct mana_priv *priv);

/* ---- mana_rx_set.c: see mana_rx_set.h ---------------------------------- */

/* Hardware Rx queues of the port, running or not: a power of two, or 0. */
uint32_t mana_rx_nb_hwqs(const struct mana_priv *priv);
/*
 * The hash key of a configured port; of a running one by a rebuild. After a failure
 * all is as before, or Rx is down after a message.
 */
int mana_rx_set_key(struct mana_priv *priv, const uint8_t *key);
/* Which ethdev queue polls each hardware queue, likewise. */
int mana_rx_set_assign(struct mana_priv *priv, const uint8_t *reta);
/* Of a running port, likewise. */
int mana_rx_set_queue_start(struct mana_priv *priv, uint16_t queue_id);
int mana_rx_set_queue_stop(struct mana_priv *priv, uint16_t queue_id);
/*
 * Rebuilds all hardware queues of a running port if one has failed, or if there are none
 * since a rebuild failed. 1: done; 0: no need to; or an error.
 */
int mana_rx_set_repair(struct mana_priv *priv, uint32_t patience_ms);

/* ---- mana_pause.c --------------------------------------------------------- */

/* Queues to pause. */
#define MANA_PAUSE_RX 1u
#define MANA_PAUSE_TX 2u
#define MANA_PAUSE_ALL (MANA_PAUSE_RX | MANA_PAUSE_TX)
/* Wait only for bursts of other processes. */
#define MANA_PAUSE_OTHERS 4u

/* For which an operation of the application waits for bursts: usually microseconds. */
#define MANA_PATIENCE_MS 2000

/*
 * Called before each port is made; the first call decides. False: the kernel refuses
 * membarrier(2), and the bursts of all ports have fences.
 */
bool mana_pause_begin(void);
/* 0, or a negative errno: the kernel does not let this program pause queues. */
int mana_pause_check(void);
/* The same for pauses of several processes, before the bursts of this one. */
int mana_pause_share(void);
/*
 * Waits until the status function has ended that has locked a queue (mana_txq_lock() and
 * so on), or its process.
 */
void mana_look_wait(MANA_ATOMIC(uint32_t) *look);
/* Pauses or resumes all queues of the port without waiting, where no burst runs. */
void mana_pause_set(const struct mana_priv *priv, unsigned int what, bool is_paused);
/**
 * From the return on, until mana_resume(), bursts and status functions of the queues
 * return 0 and access nothing. Control path. Gives no message.
 *
 * @return
 *   0; -ENOTSUP when the kernel has no membarrier() for us; -EBUSY when a burst does
 *   not end in this time (its thread is stopped by a debugger, say). Nothing has
 *   changed then.
 */
int mana_pause(struct mana_priv *priv, unsigned int what, uint32_t patience_ms);
/* One Tx queue, likewise: 0 or -EBUSY. */
int mana_txq_pause(struct mana_eth_txq *ctl, uint32_t patience_ms);
void mana_txq_resume(struct mana_eth_txq *ctl);
/*
 * Lets bursts in again, and wakes the applications that sleep or are about to, to
 * enable their interrupts again: CQs may be new ones, and nothing was armed during
 * the pause. Also at the end of a mana_pause() that gave up.
 */
void mana_resume(struct mana_priv *priv, unsigned int what);
/* Wakes the threads that sleep on an Rx interrupt, without a packet. */
void mana_rx_wake(const struct mana_priv *priv);

/* ---- mana_mr.c --------------------------------------------------------- */

/* Whether EAL never gives this memory back. msl may be NULL. */
bool mana_mr_is_permanent(const struct rte_memseg_list *msl);
/* Every struct mana_mr_cache of the port has priv as its ctx. */
int mana_mr_table_create(struct mana_priv *priv);
/* Of a detached port. May be called again. */
void mana_mr_table_destroy(struct mana_priv *priv);
/*
 * Creates the protection domains of an open device, and registers the regions that the
 * table remembers. A failure for memory that the application has mapped is an error,
 * after a message; other memory is registered later. After a failure the caller
 * detaches.
 */
int mana_mr_table_attach(struct mana_priv *priv);
/*
 * Deregisters all regions, destroys the protection domains, and returns the error of
 * the kernel if there is one. The table remembers the regions that DPDK or the
 * application manages. From the loss of the device until the next attach, what is added is
 * remembered only.
 */
int mana_mr_table_detach(struct mana_priv *priv);
/* Registers all memory that the pool's packets live in. */
int mana_mr_add_pool(struct mana_priv *priv, struct rte_mempool *mp);
/*
 * Registers all existing packet pools, and new ones when they are created. Where this
 * fails, the first packet of the pool registers its memory.
 */
void mana_mr_track_pools(struct mana_priv *priv);
/* A range that the application maps (rte_dev_dma_map). */
int mana_mr_add_range(struct mana_priv *priv, uintptr_t addr, size_t len);
/* -ENOENT: this very range was not added. */
int mana_mr_remove_range(struct mana_priv *priv, uintptr_t addr, size_t len);
/*
 * The region of [addr, addr + len) for a secondary process; of the memory that it has,
 * only what is EAL's is registered. pool: of the buffer, or NULL; any value. Interrupt
 * thread. -EACCES: other memory, in which no region is.
 */
int mana_mr_serve(struct mana_priv *priv, uintptr_t addr, size_t len,
		  const struct rte_mempool *pool, struct mana_mr_range *range);
/* Deregisters memory that DPDK does not manage. The port is stopped. */
void mana_mr_remove_foreign(struct mana_priv *priv);

/* ---- mana_registry.c --------------------------------------------------- */

/*
 * The list of ports, and the lock for all that another thread or process may read
 * while the application changes it: statistics, information, telemetry. ethdev's own
 * tables have no lock and change while another thread walks them.
 *
 * List and lock are in memory that processes share. A port or queue that a caller
 * finds exists until the caller unlocks. No burst and no system call runs under the
 * lock.
 */

/*
 * Open and close are counted per process. -ENOENT: the primary process has no list;
 * -EINVAL: it has another version of the driver.
 */
int mana_registry_open(void);
void mana_registry_close(void);
/* remove: also of a port that was not added. */
int mana_registry_add(struct mana_priv *priv);
void mana_registry_remove(struct mana_priv *priv);
void mana_registry_lock(void);
void mana_registry_unlock(void);
/*
 * Locks and returns the port of dev; the caller unlocks. Returns NULL, unlocked, when
 * the port was closed.
 */
struct mana_priv *mana_registry_hold(const struct rte_eth_dev *dev);
/* With the lock held: the port of this number, or NULL. */
struct mana_priv *mana_registry_find(uint64_t port_id);
/* With the lock held: the next port from this number on, NULL after the last. */
struct mana_priv *mana_registry_next(uint32_t from_port_id);

/* ---- mana_stats.c ------------------------------------------------------ */

int mana_stats_get(struct rte_eth_dev *dev, struct rte_eth_stats *stats
		   MANA_QSTATS_PARAM);
int mana_stats_reset(struct rte_eth_dev *dev);
int mana_xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *xstats,
		    unsigned int n);
int mana_xstats_get_names(struct rte_eth_dev *dev,
			  struct rte_eth_xstat_name *names, unsigned int size);
/* The caller of these holds the registry's lock. Counters of a queue since its setup. */
struct mana_counters mana_stats_rxq(const struct mana_priv *priv,
				    const struct mana_eth_rxq *ctl);
struct mana_counters mana_stats_txq(const struct mana_eth_txq *ctl);
/* Counters of the port since the last reset. */
struct mana_port_counters mana_stats_port(const struct mana_priv *priv);
/* Moves the counters of a hardware queue to an ethdev queue, which no longer polls it. */
void mana_stats_fold_hwq(struct mana_eth_rxq *ctl, struct mana_rxq *rxq);
/* Keeps the counters of a queue that is released. */
void mana_stats_fold_queue(struct mana_priv *priv, bool is_rx, uint16_t queue_id);

#endif /* MANA_H */
