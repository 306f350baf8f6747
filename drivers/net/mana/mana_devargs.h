/* SPDX-License-Identifier: BSD-3-Clause */

/* The arguments of a device: "-a 7870:00:00.0,mac=00:0d:3a:00:00:01". */

#ifndef MANA_DEVARGS_H
#define MANA_DEVARGS_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

#define MANA_DEVARG_MAC "mac"
#define MANA_DEVARG_NETDEV "netdev"
#define MANA_DEVARG_PORT "port"
#define MANA_DEVARG_NETDEV_DOWN "netdev_down"
#define MANA_DEVARG_PROMISC "promisc"
#define MANA_DEVARG_RX_PATH "rx_path"
#define MANA_DEVARG_TX_PATH "tx_path"

/* The keys of mana_rx_paths and mana_tx_paths. */
#ifdef RTE_ARCH_X86_64
#define MANA_DEVARG_RX_PATHS "scalar|sse|avx2"
#else
#define MANA_DEVARG_RX_PATHS "scalar|neon"
#endif
#define MANA_DEVARG_TX_PATHS "scalar"

/* All of them, as RTE_PMD_REGISTER_PARAM_STRING wants it and messages name it. */
#define MANA_DEVARGS_HELP \
	MANA_DEVARG_MAC "=<mac_addr> " \
	MANA_DEVARG_NETDEV "=<interface> " \
	MANA_DEVARG_PORT "=<1-255> " \
	MANA_DEVARG_NETDEV_DOWN "=<0|1> " \
	MANA_DEVARG_PROMISC "=reject " \
	MANA_DEVARG_RX_PATH "=<" MANA_DEVARG_RX_PATHS "> " \
	MANA_DEVARG_TX_PATH "=" MANA_DEVARG_TX_PATHS

#define MANA_DEVARGS_MAX_SELECTS 8

/* How ports of the function are named: one way for all of them. */
enum mana_select_by {
	MANA_SELECT_ALL,
	MANA_SELECT_MAC,
	MANA_SELECT_NETDEV,
	MANA_SELECT_PORT,
};

struct mana_select {
	struct rte_ether_addr mac;
	char netdev[IF_NAMESIZE];
	uint32_t port; /* verbs port, from 1 */
};

struct mana_devargs {
	enum mana_select_by select_by;
	unsigned int nb_selects; /* 0: all ports of the function */
	struct mana_select selects[MANA_DEVARGS_MAX_SELECTS];
	bool netdev_down; /* take interfaces that are up down, until the close */
	bool reject_promisc; /* refuse to enable what is always in effect */
	/* Keys of the burst functions to take, or NULL: the driver's choice. */
	const char *rx_path;
	const char *tx_path;
};

/*
 * Parses the arguments after the device's name; args may be NULL or empty.
 * Returns 0, or after an error message that names the argument and what would
 * be right: -EINVAL (malformed, unknown key, bad value, given twice, ports
 * named in two ways), -E2BIG (too many ports named).
 */
int mana_devargs_parse(const char *args, struct mana_devargs *devargs);

#endif /* MANA_DEVARGS_H */
