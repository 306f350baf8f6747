/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The ethdev operations, which ethdev_driver.h documents, and the device arguments. Functions
 * return 0, or a negative errno after a message.
 */

#ifndef MANA_ETHDEV_H
#define MANA_ETHDEV_H

#include <net/if.h>

#include <ethdev_driver.h>

#include "mana_port.h"

/* Sets the device of a new port, and the functions that ethdev calls; its bursts are empty. */
void mana_dev_init(struct rte_eth_dev *dev, struct rte_device *device);

/* Sets the burst functions of a port that runs, and of ethdev's table. */
void mana_bursts_start(struct rte_eth_dev *dev);

/* ---- mana_control.c: operations that need the device ------------------------- */

/*
 * An operation that needs the device is between begin and end. begin returns 0, or after a message
 * -EBUSY (the port recovers), -EIO (the device is gone for good), or -ENOTSUP (this is a secondary
 * process, where the port's data may be gone). end returns the operation's result; but for -EIO,
 * when the event of the device's loss is on its way, and the port recovers: -EBUSY after a message.
 */
int mana_control_begin(struct rte_eth_dev *dev);
int mana_control_end(struct rte_eth_dev *dev, int result);
/* A call between them. The value is its result, or why it is refused, which is logged. */
#define MANA_OPERATION(dev, call, fmt, ...) ({ \
	int result_ = mana_control_begin(dev); \
	if (result_ == 0) \
		result_ = mana_control_end(dev, call); \
	MANA_PORT_RESULT(result_, (dev)->data->name, fmt, ##__VA_ARGS__); })
/* Unlocks priv->control, which an operation that is possible in any state has locked. */
void mana_control_unlock(struct mana_priv *priv);
/* What mana_control_begin() returns. */
int mana_state_check(const struct mana_priv *priv);
int mana_is_removed(struct rte_eth_dev *dev);

/* ---- mana_recovery.c: the loss and the return of the device ------------------- */

/* Whether the driver would wait for a lost device. */
bool mana_waits_for_device(const struct rte_eth_dev *dev, const struct mana_priv *priv);
/* Warns if net_failsafe owns the port and the kernel refuses membarrier(2). */
void mana_failsafe_warn(const struct rte_eth_dev *dev);
/* The interrupt thread handles events of an open port's device from now on. */
int mana_events_open(struct rte_eth_dev *dev);
/* Before a port is closed: no event of the device and no recovery any more. */
void mana_recovery_end(struct rte_eth_dev *dev);
int mana_dev_reset(struct rte_eth_dev *dev);

/* ---- mana_watch.c -------------------------------------------------------- */

/*
 * While the port runs: reports and rebuilds failed queues, and keeps the link status up to date.
 * After a failure the caller stops it. The stop may be called again, and in an event's callback.
 */
int mana_watch_start(struct rte_eth_dev *dev);
void mana_watch_stop(struct rte_eth_dev *dev);
/*
 * Updates the link status, and notifies an application that wants_event, which may close the
 * port. is_running: whether the port has traffic.
 */
void mana_link_check(struct rte_eth_dev *dev, bool is_running, bool wants_event);
int mana_link_update(struct rte_eth_dev *dev, int wait_to_complete);
int mana_link_up(struct rte_eth_dev *dev);
int mana_link_down(struct rte_eth_dev *dev);

/* ---- mana_intr.c ------------------------------------------------------- */

/* Whether the configuration can have the Rx interrupts that it asks for. */
int mana_intr_check(const struct rte_eth_dev *dev);
/*
 * The descriptors of Rx interrupts, if the configuration asks for them: before all queues start,
 * and after they have stopped. After a failed start nothing is left; stop may be called again.
 */
int mana_intr_start(struct rte_eth_dev *dev);
void mana_intr_stop(struct rte_eth_dev *dev);
int mana_rx_queue_intr_enable(struct rte_eth_dev *dev, uint16_t queue_id);
int mana_rx_queue_intr_disable(struct rte_eth_dev *dev, uint16_t queue_id);

/* ---- mana_rss.c ---------------------------------------------------------- */

/* Checks and takes the Rx mode of the configuration. */
int mana_rss_configure(struct mana_priv *priv);
int mana_rss_hash_conf_get(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf);
int mana_rss_hash_update(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf);
int mana_reta_update(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size);
int mana_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size);

/* ---- mana_devargs.c: "-a 7870:00:00.0,mac=00:0d:3a:00:00:01" -------------- */

/* All of them, for RTE_PMD_REGISTER_PARAM_STRING and messages. */
#define MANA_DEVARGS_HELP \
	"mac=<mac_addr> netdev=<interface> port=<1-255> netdev_down=<0|1> " \
	"recovery_timeout=<0-3600> tx_suppress=<0|1> " \
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
 * Parses the arguments behind the device's name; args may be NULL or empty. -EINVAL: malformed,
 * unknown key, bad value, given twice, ports selected by two keys; -E2BIG: too many ports selected.
 */
int mana_devargs_parse(const char *args, struct mana_devargs *devargs);
/* Adds more arguments, likewise. */
int mana_devargs_add(const char *args, struct mana_devargs *devargs);

#endif /* MANA_ETHDEV_H */
