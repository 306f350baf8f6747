/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_atomic.h>
#include <rte_common.h>

#include "mana_rxtx.h"

void
mana_bad_cqe_note(struct mana_bad_cqes *bad, const struct gdma_cqe *cqe,
		  enum mana_bad_cqe_kind kind)
{
	uint32_t seen = mana_atomic_load(&bad->seen);

	bad->last_header = mana_cqe_load(&cqe->tx.header);
	if ((seen & RTE_BIT32(kind)) != 0)
		return;
	mana_cqe_copy(&bad->cqe[kind], cqe);
	rte_smp_wmb();
	mana_atomic_store(&bad->seen, seen | RTE_BIT32(kind));
}

void
mana_bad_cqes_merge(struct mana_bad_cqes *to, const struct mana_bad_cqes *from)
{
	uint32_t seen = mana_atomic_load(&to->seen);
	uint32_t fresh = mana_atomic_load(&from->seen) & ~seen;

	rte_smp_rmb();
	for (uint32_t kind = 0; kind < MANA_NB_BAD_CQE; kind++)
		if ((fresh & RTE_BIT32(kind)) != 0)
			to->cqe[kind] = from->cqe[kind];
	if (from->fatal_header != 0)
		to->fatal_header = from->fatal_header;
	mana_atomic_store(&to->seen, seen | fresh);
}
