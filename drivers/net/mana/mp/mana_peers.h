/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The primary process and the secondary processes of a port: news of the port to these,
 * requests for memory keys from these, and the end of each.
 */

#ifndef MANA_PEERS_H
#define MANA_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_interrupts.h>

#include "mana_port.h"

/* Secondary processes that have ports, at most. */
#define MANA_MAX_SECONDARIES 64

/* ---- Primary process ------------------------------------------------------ */

/* From now on secondary processes, if EAL has any, can have the port: 0, or a negative errno. */
int mana_peers_open(struct mana_priv *priv);
/*
 * Secondary processes have the port no more, nor has the list of mana_registry.c. Safe for a
 * port that was not opened. The caller does not hold priv->control.
 */
void mana_peers_close(struct mana_priv *priv);

/*
 * Publish the state of a port, and wake the secondary processes, without waiting. Not with
 * the lock of mana_registry.c held. has_device: they may map the doorbell page of priv->ctx,
 * if that is open and not lost. Before it is closed the caller says that they may not; a page
 * that is still mapped then does no harm, because no queue of the next device rings it.
 */
void mana_peers_tell(struct mana_priv *priv, bool has_device);

/* ---- Messages and sockets of both sides ------------------------------------ */

/*
 * The message of EAL's multi-process channel by which a secondary process asks for the
 * device of a port: its number, 32 bits. The first one of a process has a descriptor: one
 * end of a pair of stream sockets, whose other end the process keeps.
 */
#define MANA_JOIN_ACTION "net_mana"

/* The reply. With the descriptor of the device, if there is one. */
struct mana_joined {
	int32_t ret; /* 0, or a negative errno */
	uint32_t process_id; /* mana_process_id from now on; 0: not the first join */
	uint32_t device; /* mana_device_id(), or 0 */
};

/*
 * Call callback in the interrupt thread while any socket of this process has news. All
 * calls have the same callback. 0, or a negative errno.
 */
int mana_socket_watch(int fd, rte_intr_callback_fn callback);
void mana_socket_unwatch(int fd);
/* Wake the process that has the other end. From a burst, too: does not wait. */
void mana_socket_wake(int fd);
/* Forget what has woken this process: whether anything has. */
bool mana_socket_drain(int fd);
/* Whether the process that has the other end has ended; -1: no. */
bool mana_socket_has_ended(int fd);

/* ---- Secondary process ---------------------------------------------------- */

/*
 * The socket to the primary process, or -1. It stays open until the process ends, because
 * a burst may use it. Forked children close it.
 */
extern MANA_ATOMIC(int) mana_primary_socket MANA_HIDDEN;

/*
 * Join a port that ethdev has attached, or is attached already, and let its bursts run.
 * After a failure, which is logged, they return 0.
 */
void mana_secondary_join(struct rte_eth_dev *dev);
/* Whether this process has joined the port, or tried to. */
bool mana_secondary_has(const struct rte_eth_dev *dev);
/* Whether the primary process has ended. */
bool mana_secondary_is_lost(void);
/* The driver's burst function that this one of a secondary process calls; or itself. */
mana_burst_t mana_secondary_burst(mana_burst_t burst);
int mana_secondary_close(struct rte_eth_dev *dev);
int mana_secondary_tx_done_cleanup(void *txq, uint32_t free_cnt);

#endif /* MANA_PEERS_H */
