/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Ring entries in words, with the names that Linux and OpenVMM give to their
 * fields, for the reader of a dump. Control path: the rings exist, and the
 * device may go on writing.
 */

#ifndef MANA_DECODE_H
#define MANA_DECODE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "mana_gdma.h"

/* Basic units of the WQE that starts at idx, by its header. */
uint32_t mana_decode_wqe_bu(const struct mana_wq *wq, uint32_t idx);
/* The WQE that starts at idx: header, OOB of an SQ, SGEs. */
void mana_decode_wqe(const struct mana_wq *wq, uint32_t idx, bool is_sq,
		     FILE *file);
/* The CQE at idx, written or not. */
void mana_decode_cqe(const struct mana_cq *cq, uint32_t idx, FILE *file);
/* "TX_SA_DROP"; "unknown" for a number that is no type. */
const char *mana_decode_cqe_type(uint32_t type);

#endif /* MANA_DECODE_H */
