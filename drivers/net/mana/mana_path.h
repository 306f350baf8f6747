/* SPDX-License-Identifier: BSD-3-Clause */

/* Burst functions: which there are, and which one to take. */

#ifndef MANA_PATH_H
#define MANA_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

struct rte_mbuf;

/* Function type of ethdev's rx_pkt_burst and tx_pkt_burst. */
typedef uint16_t (*mana_burst_t)(void *queue, struct rte_mbuf **pkts,
				 uint16_t nb_pkts);

/* A burst function, and when it is the one to take. */
struct mana_path {
	const char *name; /* what burst_mode_get reports */
	const char *key; /* what it is called by who forces a path */
	uint32_t flags; /* what it covers: MANA_RX_F_* or MANA_TX_F_* */
	uint16_t simd_bits; /* width of its vectors; 0: it has none */
	mana_burst_t burst;
};

/* Whether the processor has, and EAL allows, vectors of this width. */
bool mana_path_is_allowed(const struct mana_path *path);

/**
 * The path to take: of those that are allowed and cover flags the one with
 * the widest vectors, of several of these the first. With a key, of those that
 * it calls; if none of them will do, the scalar one that does.
 *
 * @param paths
 *   A table, the cheapest first; the last one is allowed everywhere.
 * @param flags
 *   What is wanted.
 * @param key
 *   NULL: any.
 * @return
 *   Never NULL: the last one if no other.
 */
const struct mana_path *mana_path_select(const struct mana_path *paths,
					 uint32_t nb_paths, uint32_t flags,
					 const char *key);
/* A path that this key calls, allowed or not; NULL if there is none. */
const struct mana_path *mana_path_of_key(const struct mana_path *paths,
					 uint32_t nb_paths, const char *key);
/* The keys of those that are allowed, for a message: "scalar, sse". */
void mana_path_keys(const struct mana_path *paths, uint32_t nb_paths,
		    char *text, size_t size);
/* The path of this burst function, NULL for a foreign one. */
const struct mana_path *mana_path_find(const struct mana_path *paths,
				       uint32_t nb_paths, mana_burst_t burst);

/* ---- Receive ---------------------------------------------------------- */

/* What is delivered beside the bytes; for the choice of a path. */
#define MANA_RX_F_CSUM (1u << 0)
#define MANA_RX_F_HASH (1u << 1) /* RSS hash and packet type */
#define MANA_RX_F_VLAN (1u << 2) /* strip is on for some queue */
#define MANA_RX_F_PARSE (1u << 3) /* packet type where there is no hash */
#define MANA_RX_F_SCATTER (1u << 4) /* some queue has nb_segs in its conf */

/* All receive paths of this machine's kind, for mana_path_select(). */
extern const struct mana_path mana_rx_paths[];
extern const uint32_t mana_rx_nb_paths;

/* The path that covers flags (MANA_RX_F_*). Never NULL. */
const struct mana_path *mana_rx_path_select(uint32_t flags);
/* The path of this burst function, NULL for a foreign one. */
const struct mana_path *mana_rx_path_find(mana_burst_t burst);

/* ---- Transmit --------------------------------------------------------- */

/*
 * What the fast part of a path covers. All paths send every packet right;
 * what the fast part does not cover takes the general way.
 */
#define MANA_TX_F_CSUM (1u << 0)
#define MANA_TX_F_WIDE (1u << 1) /* several segments, VLAN, long OOB */

extern const struct mana_path mana_tx_paths[];
extern const uint32_t mana_tx_nb_paths;

/* The cheapest path whose fast part covers flags (MANA_TX_F_*). Never NULL. */
const struct mana_path *mana_tx_path_select(uint32_t flags);
const struct mana_path *mana_tx_path_find(mana_burst_t burst);

#endif /* MANA_PATH_H */
