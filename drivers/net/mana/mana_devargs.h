/* SPDX-License-Identifier: BSD-3-Clause */

/* The arguments of a device: "-a 7870:00:00.0,mac=00:0d:3a:00:00:01". */

#ifndef MANA_DEVARGS_H
#define MANA_DEVARGS_H

#include <stdint.h>

#include <rte_ether.h>

#define MANA_DEVARG_MAC "mac"
#define MANA_DEVARGS_MAX_MACS 8

struct mana_devargs {
	unsigned int nb_macs; /* 0: all ports of the function */
	struct rte_ether_addr macs[MANA_DEVARGS_MAX_MACS];
};

/*
 * Parses the arguments after the device's name; args may be NULL or empty.
 * Returns 0, or -EINVAL (malformed, unknown key, MAC that no port can have
 * or given twice), -E2BIG (too many MACs) after an error message.
 */
int mana_devargs_parse(const char *args, struct mana_devargs *devargs);

#endif /* MANA_DEVARGS_H */
