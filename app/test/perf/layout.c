/* SPDX-License-Identifier: BSD-3-Clause */

/* The queues as the driver lays them, for check-layout.py to look at: not run. */

#include "mana.h"

struct mana_rxq_ctl layout_rxq;
struct mana_txq_ctl layout_txq;
