/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The ethdev operations: the table, for the probe, and those in other files.
 * ethdev_driver.h documents their arguments and results. The device arguments.
 */

#ifndef MANA_ETHDEV_H
#define MANA_ETHDEV_H

#include <net/if.h>

#include <ethdev_driver.h>

#include "mana.h"

extern const struct eth_dev_ops mana_dev_ops; /* of the primary process */

/* Sets the functions of a new port that ethdev keeps outside of the table. */
void mana_status_ops_set(struct rte_eth_dev *dev);
/* What burst_mode_get reports: 0, or -EINVAL for no burst function of the driver. */
int mana_rx_burst_mode_set(struct rte_eth_burst_mode *mode, mana_burst_t burst);
int mana_tx_burst_mode_set(struct rte_eth_burst_mode *mode, mana_burst_t burst);
/* Those that a secondary process has as well. */
int mana_dev_infos_get(struct rte_eth_dev *dev, struct rte_eth_dev_info *info);
void mana_rxq_info_get(struct rte_eth_dev *dev, uint16_t queue_id,
		       struct rte_eth_rxq_info *info);
void mana_txq_info_get(struct rte_eth_dev *dev, uint16_t queue_id,
		       struct rte_eth_txq_info *info);
/* Promiscuous and all-multicast modes are always on. */
int mana_promisc_keep(struct rte_eth_dev *dev);
int mana_flow_ops_get(struct rte_eth_dev *dev, const struct rte_flow_ops **ops);
const uint32_t *mana_supported_ptypes_get(struct rte_eth_dev *dev
					  MANA_PTYPES_PARAM);

/* ---- mana_events.c ----------------------------------------------------- */

/*
 * The interrupt thread handles events of an open port's device from now on.
 * 0, or a negative errno after a message: nothing has changed then.
 */
int mana_events_open(struct rte_eth_dev *dev);
/* Ends that. May be called twice, and by an event's callback. */
void mana_events_close(struct rte_eth_dev *dev);
/* The same while the device changes: dev->intr_handle remains. */
int mana_events_begin(struct rte_eth_dev *dev);
void mana_events_end(struct rte_eth_dev *dev);
/*
 * While the port runs: reports and rebuilds failed queues, and with intr_conf.lsc
 * keeps the link status up to date. 0, or a negative errno after a message. After a
 * failure the caller stops it. The stop may be called again, and in an event's
 * callback.
 */
int mana_watch_start(struct rte_eth_dev *dev);
void mana_watch_stop(struct rte_eth_dev *dev);
/*
 * Updates the link status, and notifies an application that asked for it, which may
 * close the port.
 */
void mana_link_check(struct rte_eth_dev *dev);
int mana_link_update(struct rte_eth_dev *dev, int wait_to_complete);
int mana_link_up(struct rte_eth_dev *dev);
int mana_link_down(struct rte_eth_dev *dev);

/* ---- mana_recovery.c --------------------------------------------------- */

/*
 * An operation that needs the device is between begin and end. begin returns 0, or
 * after a message -EBUSY (the port recovers) or -EIO (the device is gone for good).
 */
int mana_control_begin(struct mana_priv *priv);
void mana_control_end(struct mana_priv *priv);
/* The same for an operation that is possible in any state. Waits for a step. */
void mana_control_lock(struct mana_priv *priv);
/* What mana_control_begin() returns. */
int mana_state_check(const struct mana_priv *priv);
/* Sets the burst functions of a port that runs, and of ethdev's table. */
void mana_bursts_start(struct rte_eth_dev *dev);
void mana_bursts_stop(struct rte_eth_dev *dev);
void mana_bursts_set(struct rte_eth_dev *dev, eth_rx_burst_t rx, eth_tx_burst_t tx,
		     eth_tx_prep_t prepare);
/* Whether the driver would wait for a lost device: not if an owner replaces the port. */
bool mana_waits_for_device(const struct rte_eth_dev *dev, const struct mana_priv *priv);
/* The interrupt thread has learned that the kernel removed the device. */
void mana_device_lost(struct rte_eth_dev *dev);
/* Before a port is closed: no event of the device and no recovery any more. */
void mana_recovery_end(struct rte_eth_dev *dev);
int mana_dev_reset(struct rte_eth_dev *dev);
/* Interrupt thread: rebuilds failed queues if it is time, unless recovery_timeout=0. */
void mana_repair(struct mana_priv *priv);
int mana_is_removed(struct rte_eth_dev *dev);

/* ---- mana_secondary.c ---------------------------------------------------- */

/*
 * Attaches the primary's port of this name in a secondary process, unless it is attached.
 * rx_path: of struct mana_options. 0, or a negative errno.
 */
int mana_secondary_attach(struct rte_device *device, const char *name,
			  const char *rx_path);

/* ---- mana_intr.c ------------------------------------------------------- */

/*
 * Whether the configuration can have Rx interrupts, if it asks for them: 0, or
 * -ENOTSUP after a message.
 */
int mana_intr_check(const struct rte_eth_dev *dev);
/*
 * The descriptors of Rx interrupts, if the configuration asks for them: before all
 * queues start, and after they have stopped. After a failed start nothing is left;
 * stop may be called again.
 */
int mana_intr_start(struct rte_eth_dev *dev);
void mana_intr_stop(struct rte_eth_dev *dev);
int mana_rx_queue_intr_enable(struct rte_eth_dev *dev, uint16_t queue_id);
int mana_rx_queue_intr_disable(struct rte_eth_dev *dev, uint16_t queue_id);

/* ---- mana_rss.c ---------------------------------------------------------- */

/* Checks and takes the Rx mode of the configuration. */
int mana_rss_configure(struct mana_priv *priv);

int mana_rss_hash_conf_get(struct rte_eth_dev *dev,
			   struct rte_eth_rss_conf *conf);
int mana_rss_hash_update(struct rte_eth_dev *dev,
			 struct rte_eth_rss_conf *conf);
int mana_reta_update(struct rte_eth_dev *dev,
		     struct rte_eth_rss_reta_entry64 *conf, uint16_t size);
int mana_reta_query(struct rte_eth_dev *dev,
		    struct rte_eth_rss_reta_entry64 *conf, uint16_t size);

/* ---- mana_devargs.c: "-a 7870:00:00.0,mac=00:0d:3a:00:00:01" -------------- */

/* The keys of mana_rx_paths. */
#ifdef RTE_ARCH_X86_64
#define MANA_DEVARG_RX_PATHS "scalar|sse|avx2"
#else
#define MANA_DEVARG_RX_PATHS "scalar|neon"
#endif

/* All of them, for RTE_PMD_REGISTER_PARAM_STRING and messages. */
#define MANA_DEVARGS_HELP \
	"mac=<mac_addr> netdev=<interface> port=<1-255> netdev_down=<0|1> " \
	"netdev_mtu=<0|1> promisc=reject foreign_mem=refuse " \
	"recovery_timeout=<0-3600> " \
	"rx_path=<" MANA_DEVARG_RX_PATHS "> tx_outer=<0|1> tx_suppress=<0|1> " \
	"rx_intr=<0|1> rx_scrub=<0|1> hw_rxq=<1-64> tx_oob=<short|long> " \
	"tx_vport=<both|short|long> max_desc=<64-2048> max_send_sge=<3-30>"

#define MANA_RECOVERY_TIMEOUT_S 60 /* by default */

#define MANA_DEVARGS_MAX_SELECTS 8

/* Ports that the application selects. The fields of other keys are zero. */
struct mana_select {
	uint32_t port; /* verbs port, from 1 */
	struct rte_ether_addr mac;
	char netdev[IF_NAMESIZE];
	char text[32]; /* "port=1", for messages */
};

struct mana_devargs {
	const char *key; /* of all selects; NULL without any */
	unsigned int nb_selects; /* 0: all ports of the function */
	struct mana_select selects[MANA_DEVARGS_MAX_SELECTS];
	struct mana_options options;
};

/*
 * Parses the arguments behind the device's name; args may be NULL or empty.
 * Returns 0, or after a message that names the argument and the remedy: -EINVAL
 * (malformed, unknown key, bad value, given twice, ports selected by two keys),
 * -E2BIG (too many ports selected).
 */
int mana_devargs_parse(const char *args, struct mana_devargs *devargs);

#endif /* MANA_ETHDEV_H */
