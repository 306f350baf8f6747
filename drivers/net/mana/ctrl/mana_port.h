/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A port: what the driver knows of it from probe to close.
 *
 * Unless said otherwise functions belong to the control path of the primary process, which
 * ethdev does not call concurrently for one port, and return 0 or a negative errno after a
 * message.
 */

#ifndef MANA_PORT_H
#define MANA_PORT_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <ethdev_driver.h>
#include <rte_memory.h>
#include <rte_mempool.h>
#include <rte_pci.h>

#include "mana_compat.h"
#include "mana_discover.h"
#include "mana_hwq.h"
#include "mana_mr.h"
#include "mana_process.h"
#include "mana_txq.h"
#include "mana_verbs.h"

/* A vPort has no more queues of a direction (Linux mana.h MANA_MAX_NUM_QUEUES). */
#define MANA_MAX_QUEUES 64
/* Entries of the adapter's RSS table (Linux MANA_INDIRECT_TABLE_DEF_SIZE). */
#define MANA_RETA_SIZE 64
/* A CQ is at least a page (Linux mana_gd_create_dma_region). */
#define MANA_MIN_CQE 64
#define MANA_MIN_DESC 64
#define MANA_DEFAULT_DESC 256
/* A size that each card should accept. ASSUMED: min-rx-buffer */
#define MANA_MIN_RX_BUF_BYTES 1024
/* Ethernet header of the largest frame; tags are added and removed by the NIC. */
#define MANA_FRAME_OVERHEAD RTE_ETHER_HDR_LEN

/*
 * Hash types of the device, fixed (Linux mana_ib ignores what is asked): the ports of TCP
 * and UDP, and the addresses of all other IP packets, fragments too.
 */
#define MANA_RSS_TYPES (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP)

/* The interrupt of an ethdev Rx queue, while the port runs: an epoll set in an epoll set. */
struct mana_rx_intr {
	int fd; /* the application's: watches sources_fd while the interrupt is enabled */
	int sources_fd; /* watches wake_fd and the channels of the hardware queues it polls */
	int wake_fd; /* an eventfd, which the driver writes */
};

/* Device arguments of a port: 32 bits each, for mana_devargs.c. */
struct mana_options {
	uint32_t netdev_down; /* 1: set the netdev down until the close */
	uint32_t rx_intr; /* 1: allow Rx interrupts; the default */
	uint32_t rx_scrub; /* 1: zero buffers before the device gets them; ASSUMED: rx-length */
	bool no_membarrier; /* no argument: the kernel refuses membarrier(2) */
	uint32_t recovery_timeout; /* in seconds; 0: no recovery */
	uint32_t hw_rxq; /* hardware Rx queues at least, with RSS; 0: as few as will do */
	uint32_t max_desc; /* of a queue; 0: as many as the device accepts */
	uint32_t max_send_sge; /* of a packet; Linux mana_ib_create_qp_raw() takes 30 */
	struct mana_txq_conf tx; /* form: LONG, too, when a queue has changed to it */
};

/* How the driver learns that memory is unmapped. */
enum mana_mr_kind {
	MANA_MR_ANY, /* of a filter in mana_mr.c */
	MANA_MR_POOL, /* by the mempool's event */
	MANA_MR_EAL, /* by EAL's memory event */
	MANA_MR_USER, /* the application calls rte_dev_dma_unmap() */
	MANA_MR_UNKNOWN, /* not at all: DPDK does not manage it */
	MANA_MR_STALE, /* at stop: of a pool that is gone; packets may still have its key */
};

/* A region, as the primary process knows it. */
struct mana_mr_region {
	TAILQ_ENTRY(mana_mr_region) next;
	uintptr_t base;
	uintptr_t end; /* first byte behind it */
	uint32_t lkey;
	bool is_shared; /* by all processes */
	enum mana_mr_kind kind;
	/* Compared only: a secondary process may have freed it. */
	const struct rte_mempool *pool;
	char mempool[RTE_MEMPOOL_NAMESIZE];
	struct ibv_mr *mr; /* NULL: the port waits for its device */
};

/*
 * Lock order: EAL's locks, then this one. EAL announces freed memory with its locks held,
 * so under this one nothing may take a lock, allocate DPDK memory, or call the kernel.
 */
struct mana_mrs {
	struct mana_mutex lock; /* of the regions, mr_table, and counters of regions */
	TAILQ_HEAD(mana_mr_regions, mana_mr_region) regions; /* sorted by address */
	uint32_t nb; /* of these; less than the capacity of the array */
	/* Not 0: it was logged that memory is registered which DPDK does not know. */
	MANA_ATOMIC(uint64_t) is_unknown_noted;
	uint64_t next_log; /* timer cycles: one message a second from bursts; changes_lock */
};

/* The device of a port. The interrupt thread changes the state, and dev_reset(). */
enum mana_state {
	MANA_STATE_READY,
	MANA_STATE_RECOVERING, /* lost: the driver waits for its return */
	MANA_STATE_GONE, /* lost for good: only a close or a reset helps */
};

/* The state of a recovery: see mana_recovery.c. Times are those of CLOCK_MONOTONIC. */
struct mana_recovery {
	struct rte_pci_addr addr; /* of the function */
	DIR *folder; /* of the function in sysfs, when its device was found; or NULL */
	uint64_t lost_ns;
	uint64_t log_ns; /* of the next message of a port that waits without a limit */
	uint64_t owner_id; /* the driver's, while it owns the port; else 0 */
	uint32_t retry_us; /* until the next try to rebuild the port */
	uint64_t found_ns; /* the device was found first; 0: not yet */
	uint32_t found_mtu; /* of its netdev, when a step last looked; 0: none has */
	uint64_t repair_ns; /* queues are not rebuilt before this time */
	uint64_t repair_wait_ns; /* after the next rebuild of queues */
};

struct mana_rx_table {
	uint8_t key[MANA_RSS_KEY_BYTES];
	/* The ethdev queue of each entry; entry i is hardware queue i % nb. */
	uint8_t reta[MANA_RETA_SIZE];
	uint32_t nb; /* hardware queues: a power of two, or 0 */
	bool is_sharing; /* the hardware queues of an ethdev queue share its descriptors */
};

/* What a secondary process has to know of a port beside its queues. Under the registry's lock. */
struct mana_news {
	uint32_t device; /* mana_device_id(); 0: no doorbell page can be mapped */
	uint32_t state; /* enum mana_state */
	uint32_t link_nr; /* changes of the link of which the application wants events */
};

/* By number, what ethdev gives bursts of secondary processes. They change while bursts run. */
struct mana_burst_queues {
	MANA_ATOMIC(struct mana_rxq *) rxqs[MANA_MAX_QUEUES];
	MANA_ATOMIC(struct mana_txq *) txqs[MANA_MAX_QUEUES];
};

/* Limits of the device, found when it is opened. */
struct mana_limits {
	struct mana_verbs_caps caps;
	uint32_t max_queues; /* of each direction */
	/* Powers of two. */
	uint32_t max_cqe;
	uint32_t max_rx_desc;
	uint32_t max_tx_desc;
	uint32_t max_mtu;
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
	uint64_t rx_outages; /* times the RSS object was replaced under traffic */
	uint64_t rx_outage_ns; /* time without reception, in all of them */
	uint64_t rx_outage_max_ns; /* in the longest since the last reset */
};

/* dev_private. Verbs objects and mrs mean something in the primary only. */
struct mana_priv {
	struct rte_eth_dev_data *data;
	struct mana_options options;
	uint32_t port; /* verbs port, from 1 */
	struct mana_netdev netdev;
	bool is_netdev_taken; /* the driver set it down; the close sets it up */

	struct ibv_context *ctx;
	uint32_t device; /* ctx: mana_device_id() */
	struct mana_verbs_rings rings;
	struct ibv_pd *pd;
	struct ibv_pd *parent; /* of pd; names the port */
	struct mana_mr_table mr_table; /* of all processes */
	struct mana_mrs mrs;

	/* Other threads read them: changed under the registry's lock. */
	struct mana_limits limits;
	/* The device refused larger Rx queues at the last start. UINT16_MAX: none. */
	uint16_t rx_desc_taken;

	/* Configuration. */
	bool has_rss; /* else all traffic goes to queue 0 */
	struct mana_rx_table rss;
	bool wants_ptypes;
	/* Messages that are given once. */
	bool is_promisc_noted;
	bool is_rss_types_noted;
	bool is_sharing_noted;

	/* While running. */
	struct mana_rx_set *rx_set; /* NULL: none. Changed under the registry's lock */
	struct mana_hwq stand_in; /* of all rxqs */
	/* Holds the vPort while no Tx queue of the application runs. */
	struct mana_txq vport_txq;
	struct rte_mempool *bounce_mp; /* for copies of frames to send */

	struct mana_port_counters counters;

	/* ---- Under the lock of mana_registry.c ---- */
	/* Whether the kernel reports the carrier of a netdev that is down. */
	bool has_carrier;
	bool is_carrier_lost; /* when the link was queried last: mana_watch.c */
	uint32_t link_mbps; /* then, or RTE_ETH_SPEED_NUM_UNKNOWN */
	uint32_t netdev_mtu; /* then; 0: unknown */
	/* By number; of a running port and a stopped one. NULL: not set up. */
	struct mana_rxq *rxqs[MANA_MAX_QUEUES];
	struct mana_txq *txqs[MANA_MAX_QUEUES];
	struct mana_burst_queues *burst_queues; /* the same; outlives the port */
	/* Counters at the last reset, by is_rx and queue number: see mana_stats.c. */
	struct mana_counters base[2][MANA_MAX_QUEUES];
	struct mana_port_counters counters_base;

	/* ---- mp/mana_peers.c ---- */
	struct mana_news news;

	/* ---- mana_intr.c ---- */
	struct mana_rx_intr *rx_intrs; /* by queue; NULL: no interrupts */
	uint16_t nb_rx_intrs; /* queues at the start: ethdev may have changed their number */

	/* ---- mana_watch.c ---- */
	uint32_t nb_ticks; /* since the last look at the link */

	/* ---- mana_recovery.c ---- */
	MANA_ATOMIC(uint64_t) state; /* enum mana_state; 64 bits for mana_atomic_take() */
	MANA_ATOMIC(uint32_t) is_lost; /* see mana_is_gone() */
	/* See mana_locks.h. The interrupt thread only tries to lock it. */
	struct mana_mutex control;
	bool is_running; /* the application has started the port; under control */
	void **retired; /* queues that secondary processes may still see */
	uint32_t nb_retired;
	/* intr_conf.rmv, as configured: ethdev's own is set while a configuration fails. */
	bool has_removal_event;
	struct mana_recovery recovery;
};

/* Whether the interrupt thread rebuilds failed queues, and the port when its device returns. */
static inline bool
mana_recovers(const struct mana_priv *priv)
{
	return priv->options.recovery_timeout != 0;
}

static inline enum mana_state
mana_state(const struct mana_priv *priv)
{
	return mana_atomic_load(&priv->state);
}

/* Whether the kernel has removed the device of ctx; a port that is rebuilt has a new one. */
static inline bool
mana_is_gone(const struct mana_priv *priv)
{
	return mana_atomic_load(&priv->is_lost) != 0;
}

/* ---- mana_port.c ------------------------------------------------------------ */

/*
 * Opens the device and finds the limits. priv is zeroed but for data and options.
 * After a failure the caller calls mana_port_close().
 */
int mana_port_open(struct mana_priv *priv, struct ibv_device *device,
		   uint32_t port, const struct mana_netdev *netdev);
/* Destroys everything of a stopped port, which is in no list: mana_registry_remove(). */
void mana_port_close(struct mana_priv *priv);
/*
 * Destroys all objects of the kernel, which has removed the device. Queues and their
 * mbufs, settings and counters of the port stay. No burst runs.
 */
void mana_port_detach(struct mana_priv *priv);
/*
 * Opens the returned device of a detached port and registers memory again; queues are
 * not started. After a failure, with a message, the caller detaches.
 */
int mana_port_attach(struct mana_priv *priv, struct ibv_device *device,
		     const struct mana_netdev *netdev);

/* At the probe and before each start: sets the netdev down until the close (netdev_down=1). */
int mana_port_netdev_start(struct mana_priv *priv);

/* ---- mana_mr.c: the memory regions; mana_mr.h has what bursts read of them ------- */

int mana_mr_table_create(struct mana_priv *priv);
/* Destroys the table of a detached port. May be called again. */
void mana_mr_table_destroy(struct mana_priv *priv);
/* Allocates room in the table, DPDK memory, for the regions that bursts register. */
int mana_mr_reserve(struct mana_priv *priv);
/*
 * Creates the protection domains of an open device, and registers the regions that the table
 * remembers. A failure for memory that the application has mapped is an error; other memory is
 * registered later. After a failure the caller detaches.
 */
int mana_mr_table_attach(struct mana_priv *priv);
/*
 * Deregisters all regions, destroys the protection domains, and returns the error of the
 * kernel if there is one. The table remembers the regions that DPDK or the application
 * manages. From the loss of the device until the next attach, what is added is remembered
 * only.
 */
int mana_mr_table_detach(struct mana_priv *priv);
/* Registers all memory that the pool's packets live in. */
int mana_mr_add_pool(struct mana_priv *priv, struct rte_mempool *mp);
/* A range that the application maps (rte_dev_dma_map). */
int mana_mr_add_range(struct mana_priv *priv, uintptr_t addr, size_t len);
/* -ENOENT: this very range was not added. */
int mana_mr_remove_range(struct mana_priv *priv, uintptr_t addr, size_t len);
/*
 * Registers [addr, addr + len) for a secondary process; -EACCES: it is not memory that all
 * processes have. pool: of the buffer, or NULL; any value. Interrupt thread. Errors give one
 * message a second at most.
 */
int mana_mr_serve(struct mana_priv *priv, uintptr_t addr, size_t len,
		  const struct rte_mempool *pool);
/* Deregisters memory that DPDK does not manage. The port is stopped. */
void mana_mr_remove_unknown(struct mana_priv *priv);

/* ---- mana_stats.c: statistics of queues and of the port ------------------------- */

int mana_stats_get(struct rte_eth_dev *dev, MANA_STATS_PARAMS);
int mana_stats_reset(struct rte_eth_dev *dev);
int mana_xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *xstats, unsigned int n);
int mana_xstats_get_names(struct rte_eth_dev *dev,
			  struct rte_eth_xstat_name *names, unsigned int size);
/*
 * Counters of a queue since its setup. The caller of these holds the registry's lock or
 * priv->control.
 */
struct mana_counters mana_stats_rxq(const struct mana_priv *priv, const struct mana_rxq *rxq);
struct mana_counters mana_stats_txq(const volatile struct mana_txq *txq);
/* Counters of the port since the last reset. */
struct mana_port_counters mana_stats_port(const struct mana_priv *priv);
/* Moves the counters of a hardware queue to an ethdev queue, which no longer polls it. */
void mana_stats_fold_hwq(struct mana_rxq *rxq, struct mana_hwq *hwq);
/* Keeps the counters of a queue that is released. */
void mana_stats_fold_queue(struct mana_priv *priv, bool is_rx, uint16_t queue_id);

#endif /* MANA_PORT_H */
