/* SPDX-License-Identifier: BSD-3-Clause */

/* The driver's queue structs, for check-layout.py; never run. */

#include "mana_port.h"

struct mana_hwq layout_hwq;
struct mana_rxq layout_rxq;
struct mana_txq layout_txq;
