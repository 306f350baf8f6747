/* SPDX-License-Identifier: BSD-3-Clause */

/* The driver's queue structs, for check-layout.py; never run. */

#include "mana.h"

struct mana_eth_rxq layout_rxq;
struct mana_eth_txq layout_txq;
