/* SPDX-License-Identifier: BSD-3-Clause */

/* The receive paths there are, and what each of them covers. */

#include <rte_vect.h>

#include "mana_rx.h"
#include "mana_rxtx.h"

#define FULL (MANA_RX_F_CSUM | MANA_RX_F_HASH | MANA_RX_F_VLAN)

/* The cheapest of each width first. */
const struct mana_path mana_rx_paths[] = {
	{
		.name = "Scalar", .key = "scalar",
		.flags = FULL,
		.burst = mana_rx_burst_scalar,
	}, {
		.name = "Scalar Parsing", .key = "scalar",
		.flags = FULL | MANA_RX_F_PARSE,
		.burst = mana_rx_burst_parsed,
	}, {
		.name = "Scalar Scattered", .key = "scalar",
		.flags = FULL | MANA_RX_F_SCATTER,
		.burst = mana_rx_burst_scattered,
	}, {
		.name = "Scalar Scattered Parsing", .key = "scalar",
		.flags = FULL | MANA_RX_F_SCATTER | MANA_RX_F_PARSE,
		.burst = mana_rx_burst_scattered_parsed,
	},
};
const uint32_t mana_rx_nb_paths = RTE_DIM(mana_rx_paths);

const struct mana_path *
mana_rx_path_select(uint32_t flags)
{
	return mana_path_select(mana_rx_paths, mana_rx_nb_paths, flags,
				NULL);
}

const struct mana_path *
mana_rx_path_find(mana_burst_t burst)
{
	return mana_path_find(mana_rx_paths, mana_rx_nb_paths, burst);
}
