/* SPDX-License-Identifier: BSD-3-Clause */

/* The ethdev operations, for the probe. */

#ifndef MANA_ETHDEV_H
#define MANA_ETHDEV_H

#include <ethdev_driver.h>

extern const struct eth_dev_ops mana_dev_ops;

#endif /* MANA_ETHDEV_H */
