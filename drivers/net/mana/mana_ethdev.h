/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The ethdev operations: the table, for the probe, and those that have files
 * of their own. What each takes and returns is said in ethdev_driver.h.
 */

#ifndef MANA_ETHDEV_H
#define MANA_ETHDEV_H

#include <stdio.h>

#include <ethdev_driver.h>

struct mana_priv;

extern const struct eth_dev_ops mana_dev_ops;

/* ---- mana_dump.c -------------------------------------------------------- */

/*
 * -EINVAL also when the queue has no rings (stopped), or fewer descriptors;
 * -EBUSY when they are just being replaced.
 */
int mana_rx_descriptor_dump(const struct rte_eth_dev *dev, uint16_t queue_id,
			    uint16_t offset, uint16_t num, FILE *file);
int mana_tx_descriptor_dump(const struct rte_eth_dev *dev, uint16_t queue_id,
			    uint16_t offset, uint16_t num, FILE *file);
int mana_dev_priv_dump(struct rte_eth_dev *dev, FILE *file);

/* ---- mana_events.c ----------------------------------------------------- */

/*
 * From now on the interrupt thread hears of the device: the port is open.
 * 0 or a negative errno after a message, then nothing is left.
 */
int mana_events_open(struct rte_eth_dev *dev);
/* No event any more; may be called twice, and from an event's callback. */
void mana_events_close(struct rte_eth_dev *dev);
/*
 * For a port configured with intr_conf.lsc that starts: knows its link from now
 * on. 0 or a negative errno after a message, then nothing is left.
 */
int mana_link_watch_start(struct rte_eth_dev *dev);
/* As mana_events_close(). */
void mana_link_watch_stop(struct rte_eth_dev *dev);
/* The bursts of a port whose device is gone do nothing from now on. */
void mana_bursts_off(struct rte_eth_dev *dev);
/* -EIO after a message when the kernel took the device away, else 0. */
int mana_gone_check(const struct mana_priv *priv);
int mana_is_removed(struct rte_eth_dev *dev);

/* ---- mana_intr.c ------------------------------------------------------- */

/*
 * The completion channels, if the configuration wants some: before all queues
 * start, and after they have stopped. After a failed start nothing is left;
 * stop may be called again.
 */
int mana_intr_start(struct rte_eth_dev *dev);
void mana_intr_stop(struct rte_eth_dev *dev);
int mana_rx_queue_intr_enable(struct rte_eth_dev *dev, uint16_t queue_id);
int mana_rx_queue_intr_disable(struct rte_eth_dev *dev, uint16_t queue_id);

/* ---- mana_monitor.c ----------------------------------------------------- */

int mana_get_monitor_addr(void *queue, struct rte_power_monitor_cond *pmc);

/* ---- mana_ops_link.c --------------------------------------------------- */

int mana_link_update(struct rte_eth_dev *dev, int wait_to_complete);
/* As mana_link_update(), when ethdev does not know yet whether it runs. */
int mana_link_read(struct rte_eth_dev *dev, bool is_running);
int mana_link_up(struct rte_eth_dev *dev);
int mana_link_down(struct rte_eth_dev *dev);

/* ---- mana_ops_flow.c --------------------------------------------------- */

int mana_flow_ops_get(struct rte_eth_dev *dev, const struct rte_flow_ops **ops);

/* ---- mana_ops_modes.c -------------------------------------------------- */

int mana_promisc_enable(struct rte_eth_dev *dev);
int mana_promisc_disable(struct rte_eth_dev *dev);
int mana_mac_addr_set(struct rte_eth_dev *dev, struct rte_ether_addr *mac);

/* ---- mana_ops_mtu.c ---------------------------------------------------- */

int mana_mtu_set(struct rte_eth_dev *dev, uint16_t mtu);
/* Gives the netdev the port's MTU, if that is permitted. */
void mana_mtu_to_netdev(struct mana_priv *priv, uint16_t mtu);
/* Gives it back the one it had, unless somebody has set another since. */
void mana_mtu_restore(struct mana_priv *priv);

/* ---- mana_ops_queue.c -------------------------------------------------- */

void mana_bursts_select(struct rte_eth_dev *dev);
/* What queues shall be when the port has started, or is stopped. */
void mana_queue_states_start(struct rte_eth_dev *dev);
void mana_queue_states_stop(struct rte_eth_dev *dev);
int mana_rx_queue_setup(struct rte_eth_dev *dev, uint16_t queue_id,
			uint16_t nb_desc, unsigned int socket_id,
			const struct rte_eth_rxconf *conf,
			struct rte_mempool *mp);
void mana_rx_queue_release(struct rte_eth_dev *dev, uint16_t queue_id);
int mana_tx_queue_setup(struct rte_eth_dev *dev, uint16_t queue_id,
			uint16_t nb_desc, unsigned int socket_id,
			const struct rte_eth_txconf *conf);
void mana_tx_queue_release(struct rte_eth_dev *dev, uint16_t queue_id);
int mana_rx_queue_start(struct rte_eth_dev *dev, uint16_t queue_id);
int mana_rx_queue_stop(struct rte_eth_dev *dev, uint16_t queue_id);
int mana_tx_queue_start(struct rte_eth_dev *dev, uint16_t queue_id);
int mana_tx_queue_stop(struct rte_eth_dev *dev, uint16_t queue_id);

/* ---- mana_ops_rss.c ------------------------------------------------------ */

int mana_rss_hash_conf_get(struct rte_eth_dev *dev,
			   struct rte_eth_rss_conf *conf);
int mana_rss_hash_update(struct rte_eth_dev *dev,
			 struct rte_eth_rss_conf *conf);
int mana_reta_update(struct rte_eth_dev *dev,
		     struct rte_eth_rss_reta_entry64 *conf, uint16_t size);
int mana_reta_query(struct rte_eth_dev *dev,
		    struct rte_eth_rss_reta_entry64 *conf, uint16_t size);

/* ---- mana_ops_vlan.c --------------------------------------------------- */

int mana_vlan_offload_set(struct rte_eth_dev *dev, int mask);
void mana_vlan_strip_queue_set(struct rte_eth_dev *dev, uint16_t queue_id,
			       int is_on);

/* ---- mana_status.c ------------------------------------------------------ */

void mana_rxq_info_get(struct rte_eth_dev *dev, uint16_t queue_id,
		       struct rte_eth_rxq_info *info);
void mana_txq_info_get(struct rte_eth_dev *dev, uint16_t queue_id,
		       struct rte_eth_txq_info *info);
int mana_rx_burst_mode_get(struct rte_eth_dev *dev, uint16_t queue_id,
			   struct rte_eth_burst_mode *mode);
int mana_tx_burst_mode_get(struct rte_eth_dev *dev, uint16_t queue_id,
			   struct rte_eth_burst_mode *mode);
int mana_tx_done_cleanup(void *txq, uint32_t free_cnt);
/* Gives a new port the functions that are not in the table. */
void mana_status_ops_set(struct rte_eth_dev *dev);

/* ---- mana_xstats.c ------------------------------------------------------ */

int mana_xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *xstats,
		    unsigned int n);
int mana_xstats_get_names(struct rte_eth_dev *dev,
			  struct rte_eth_xstat_name *names, unsigned int size);
int mana_xstats_get_by_id(struct rte_eth_dev *dev, const uint64_t *ids,
			  uint64_t *values, unsigned int n);
int mana_xstats_get_names_by_id(struct rte_eth_dev *dev, const uint64_t *ids,
				struct rte_eth_xstat_name *names,
				unsigned int size);

#endif /* MANA_ETHDEV_H */
