/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Who owns an mbuf. Mempools with the ops "fuzz" check that no mbuf is given back
 * twice, and keep what the target notes in an mbuf.
 */

#ifndef FUZZ_OWNER_H
#define FUZZ_OWNER_H

#include <rte_mbuf.h>

#include "fuzz.h"

/* In fields of an mbuf that the driver does not use: */
#define OWNER_IS_POOL(m) ((m)->dynfield1[0])
/* For the target; 0 when the pool gives the mbuf. */
#define OWNER_NOTE(m) ((m)->dynfield1[1])

/* Each mbuf that returns to a pool, before its note is erased; may be NULL. */
extern void (*owner_freed)(const struct rte_mbuf *m);

/* To be called once after a pool has been created; other pools are not watched. */
void owner_watch(struct rte_mempool *mp);
/* Puts all mbufs back that the pool lacks. */
void owner_recover(struct rte_mempool *mp);

#endif /* FUZZ_OWNER_H */
