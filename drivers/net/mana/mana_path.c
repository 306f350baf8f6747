/* SPDX-License-Identifier: BSD-3-Clause */

/* Which of several burst functions to take, for receive and send alike. */

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <rte_cpuflags.h>
#include <rte_vect.h>

#include "mana_path.h"

/*
 * Vectors of 128 bits are part of what DPDK asks of a processor on the
 * machines that the driver is for.
 */
static bool
has_vectors(uint16_t bits)
{
#ifdef RTE_ARCH_X86_64
	if (bits == RTE_VECT_SIMD_256)
		return rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX2) == 1;
#endif
	return bits <= RTE_VECT_SIMD_128;
}

bool
mana_path_is_allowed(const struct mana_path *path)
{
	return path->simd_bits == 0 ||
	       (path->simd_bits <= rte_vect_get_max_simd_bitwidth() &&
		has_vectors(path->simd_bits));
}

static bool
is_called(const struct mana_path *path, const char *key)
{
	return key == NULL || strcmp(path->key, key) == 0;
}

const struct mana_path *
mana_path_select(const struct mana_path *paths, uint32_t nb_paths,
		 uint32_t flags, const char *key)
{
	const struct mana_path *best = NULL, *scalar = NULL;
	uint32_t i;

	for (i = 0; i < nb_paths; i++) {
		const struct mana_path *path = &paths[i];

		if ((flags & ~path->flags) != 0 || !mana_path_is_allowed(path))
			continue;
		if (scalar == NULL && path->simd_bits == 0)
			scalar = path;
		if (is_called(path, key) &&
		    (best == NULL || best->simd_bits < path->simd_bits))
			best = path;
	}
	if (best == NULL)
		best = scalar;
	return best != NULL ? best : &paths[nb_paths - 1];
}

const struct mana_path *
mana_path_of_key(const struct mana_path *paths, uint32_t nb_paths,
		 const char *key)
{
	uint32_t i;

	for (i = 0; i < nb_paths; i++)
		if (strcmp(paths[i].key, key) == 0)
			return &paths[i];
	return NULL;
}

void
mana_path_keys(const struct mana_path *paths, uint32_t nb_paths, char *text,
	       size_t size)
{
	size_t len = 0;
	uint32_t i;

	text[0] = '\0';
	for (i = 0; i < nb_paths && len < size; i++)
		if (mana_path_is_allowed(&paths[i]) &&
		    mana_path_of_key(paths, nb_paths, paths[i].key) == &paths[i])
			len += snprintf(text + len, size - len, "%s%s",
					len != 0 ? ", " : "", paths[i].key);
}

const struct mana_path *
mana_path_find(const struct mana_path *paths, uint32_t nb_paths,
	       mana_burst_t burst)
{
	uint32_t i;

	for (i = 0; i < nb_paths; i++)
		if (paths[i].burst == burst)
			return &paths[i];
	return NULL;
}
