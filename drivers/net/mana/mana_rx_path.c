/* SPDX-License-Identifier: BSD-3-Clause */

/* The receive paths there are, and what each of them covers. */

#include <rte_vect.h>

#include "mana_rx.h"
#include "mana_rxtx.h"

#ifdef RTE_ARCH_X86_64
#define VECTOR_NAME "Vector SSE"
#define VECTOR_KEY "sse"
#else
#define VECTOR_NAME "Vector NEON"
#define VECTOR_KEY "neon"
#endif

#define FULL (MANA_RX_F_CSUM | MANA_RX_F_HASH | MANA_RX_F_VLAN)

/* The cheapest of each width first. */
const struct mana_path mana_rx_paths[] = {
#ifdef CC_AVX2_SUPPORT
	{
		.name = "Vector AVX2", .key = "avx2",
		.flags = FULL, .simd_bits = RTE_VECT_SIMD_256,
		.burst = mana_rx_burst_avx2,
	},
#endif
	{
		.name = VECTOR_NAME, .key = VECTOR_KEY,
		.flags = FULL, .simd_bits = RTE_VECT_SIMD_128,
		.burst = mana_rx_burst_vec128,
	}, {
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
