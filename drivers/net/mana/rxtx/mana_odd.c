/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_atomic.h>
#include <rte_common.h>

#include "mana_rxtx.h"

void
mana_odd_note_cqe(struct mana_odd *odd, const struct gdma_cqe *cqe,
		  enum mana_odd_kind kind)
{
	uint32_t seen = mana_atomic_load(&odd->seen);
	uint32_t i;

	odd->last_header = mana_cqe_load(&cqe->tx.header);
	if ((seen & RTE_BIT32(kind)) != 0)
		return;
	/* As in the ring, little endian: for the decoder. */
	for (i = 0; i < RTE_DIM(cqe->data); i++)
		odd->cqe[kind].data[i] = *(const volatile uint32_t *)&cqe->data[i];
	odd->cqe[kind].trailer = *(const volatile uint32_t *)&cqe->trailer;
	rte_smp_wmb();
	mana_atomic_store(&odd->seen, seen | RTE_BIT32(kind));
}

void
mana_odd_merge(struct mana_odd *to, const struct mana_odd *from)
{
	uint32_t seen = mana_atomic_load(&to->seen);
	uint32_t fresh = mana_atomic_load(&from->seen) & ~seen;
	uint32_t kind;

	rte_smp_rmb();
	for (kind = 0; kind < MANA_NB_ODD; kind++)
		if ((fresh & RTE_BIT32(kind)) != 0)
			to->cqe[kind] = from->cqe[kind];
	if (from->fatal_header != 0)
		to->fatal_header = from->fatal_header;
	mana_atomic_store(&to->seen, seen | fresh);
}

const char *
mana_odd_name(uint32_t kind)
{
	static const char *const names[MANA_ODD_TX_ERROR] = {
		[MANA_ODD_UNKNOWN] = "of unknown type",
		[MANA_ODD_ZERO_LENGTH] = "of a packet without bytes",
		[MANA_ODD_OVERSIZE] = "of a packet longer than its buffer",
		[MANA_ODD_TRUNCATED] = "of a truncated packet",
		[MANA_ODD_UNSCATTERED] = "of a packet that was not scattered",
		[MANA_ODD_FOREIGN] = "that names another queue",
		[MANA_ODD_SPURIOUS] = "with nothing posted",
		[MANA_ODD_OVERRUN] = "that overtook the reader",
		[MANA_ODD_POSITION] = "with a position that cannot be",
	};

	return kind < RTE_DIM(names) ? names[kind] : "with an error";
}
