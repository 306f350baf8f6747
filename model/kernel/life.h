/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The life of a PCI function and of what its drivers make of it: how it goes
 * away and comes back. With the machine's lock held; async-signal-safe.
 */

#ifndef MODEL_LIFE_H
#define MODEL_LIFE_H

#include <stdbool.h>
#include <stdint.h>

/* 10 s: MANA_SERVICE_PERIOD of Linux gdma_main.c. */
#define LIFE_OUTAGE_NS 10000000000u

/*
 * The RDMA device goes, as when mana_ib is unloaded: the PCI function and the
 * netdevs stay. -ENODEV: there is none.
 */
int life_fatal(uint32_t fn);
/* Hot removal of the PCI function. -ENODEV: it is not there. */
int life_remove(uint32_t fn);
/* Whatever is missing comes back. -EEXIST: nothing is. */
int life_return(uint32_t fn);
/*
 * A service of the card: the RDMA device goes, and a new one comes after the
 * outage; with_pci: the PCI function, too. -ENODEV: it is not there.
 */
int life_reset(uint32_t fn, uint64_t outage_ns, bool with_pci);

/* What is due by now. */
void life_timers(uint64_t now_ns);
/* Finish what somebody did not who died over it. */
void life_repair(void);

#endif /* MODEL_LIFE_H */
