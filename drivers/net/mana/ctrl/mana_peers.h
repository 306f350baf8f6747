/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The primary process and the secondary processes of a port: news of the port to these,
 * requests for memory keys from these, and the death of each.
 */

#ifndef MANA_PEERS_H
#define MANA_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mana_priv;
struct mana_mr_range;
struct rte_mempool;

/* Flags of news. */
#define MANA_NEWS_DEVICE 1u /* a descriptor of the device comes with it */
#define MANA_NEWS_RUNS 2u /* bursts are allowed */
#define MANA_NEWS_CLOSED 4u /* the port is about to go */
#define MANA_NEWS_LINK 8u /* the link has changed, of which the application wants events */

/* All that a secondary process has to know of a port. Later news replaces it. */
struct mana_news {
	uint64_t nr; /* later news has a larger number */
	uint32_t port_id;
	uint32_t flags;
	uint32_t state; /* enum mana_state */
	uint32_t device_nr; /* another number: another device */
};

/* ---- Primary process ------------------------------------------------------ */

/*
 * From now on secondary processes can have the port. 0, or a negative errno. Where EAL
 * has no secondary processes it does nothing.
 */
int mana_peers_open(struct mana_priv *priv);
/* They are told that the port is closed. Safe for a port that was not opened. */
void mana_peers_close(struct mana_priv *priv);

/* Whether there are secondary processes with ports. Any thread. */
bool mana_peers_exist(void);

/*
 * Remove the marks of processes that have ended. The interrupt thread does so when it
 * learns it, but may itself wait for the end of bursts. Not with the lock of
 * mana_registry.c held.
 */
void mana_peers_reap(void);

/*
 * Publish the state of a port. Returns when each secondary process has followed, or does
 * not answer for 500 ms: that follows later. Not with the lock of mana_registry.c held.
 *
 * @param has_device
 *   Secondary processes may map the doorbell page of priv->ctx, if that is open and not
 *   lost. Before it is closed the caller says that they may not.
 * @param runs
 *   With it, they may begin bursts, unless the port recovers.
 */
void mana_peers_tell(struct mana_priv *priv, bool has_device, bool runs);
/*
 * Publish that the device is lost, and wait for none: their doorbell pages do nothing any
 * more. Before it is closed, mana_peers_tell() is called.
 */
void mana_peers_send_loss(struct mana_priv *priv);
/* Publish that the link has changed. As mana_peers_tell(). */
void mana_peers_tell_link(struct mana_priv *priv);

/* ---- Secondary process ---------------------------------------------------- */

/* What a secondary process does. All but join are called by the interrupt thread. */
struct mana_peers_ops {
	/* Follow news; fd: of the device, or -1; the caller closes it. */
	void (*follow)(const struct mana_news *news, int fd);
	/* Afterwards: notify the application. */
	void (*notify)(uint32_t port_id);
	/* The primary process has ended. */
	void (*lost)(void);
};

/*
 * Ask the primary process for a port, which becomes known to it as a process with ports.
 * Calls ops->follow() before it returns. ops remain in use.
 *
 * @return
 *   0, or a negative errno: -ENODEV, the primary process has no such port; -ETIMEDOUT,
 *   it does not answer; -ENOTSUP, EAL was started without communication.
 */
int mana_peers_join(uint32_t port_id, const struct mana_peers_ops *ops);
/* The process has no port any more. Safe without a join. */
void mana_peers_leave(void);

/*
 * The memory region of a buffer, as mana_mr_miss() gives it, from the primary process.
 * Without a length: that of all memory of the pool, if it is one region. From a burst.
 *
 * @return
 *   0; -EACCES, memory that is not DPDK's in both processes; -ETIMEDOUT, the primary
 *   process does not answer; or another negative errno.
 */
int mana_peers_mr_get(const struct mana_priv *priv, uintptr_t addr, size_t len,
		      const struct rte_mempool *pool, struct mana_mr_range *range);

#endif /* MANA_PEERS_H */
