/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Removal and return of PCI functions and their devices. Call these with the
 * machine's lock held; they are async-signal-safe.
 */

#ifndef MODEL_LIFE_H
#define MODEL_LIFE_H

#include <stdbool.h>
#include <stdint.h>

/* 10 s: MANA_SERVICE_PERIOD of Linux gdma_main.c. */
#define LIFE_OUTAGE_NS 10000000000u

/*
 * Remove the RDMA device, as when mana_ib is unloaded; the PCI function and the
 * netdevs stay. -ENODEV: there is none.
 */
int life_fatal(uint32_t fn);
/* Remove the PCI function (hot unplug). -ENODEV: it is removed already. */
int life_remove(uint32_t fn);
/* Restore all missing parts. -EEXIST: none is missing. */
int life_return(uint32_t fn);
/*
 * Reset of the card: remove the RDMA device (with_pci: the whole PCI function)
 * and create a new one after the outage. -ENODEV: the function is removed.
 */
int life_reset(uint32_t fn, uint64_t outage_ns, bool with_pci);

/* A service of the adapter, as the host and the adapter's firmware play it. */
enum life_service_kind {
	LIFE_SERVICE_REMOVE, /* the PCI function goes and returns */
	LIFE_SERVICE_MOVE, /* it returns on hardware with another serial number */
	LIFE_SERVICE_REVOKE, /* it goes and does not return */
	LIFE_SERVICE_RESET, /* GDMA event 135 */
	LIFE_SERVICE_RECONFIGURE, /* GDMA event 132 */
};
/* When net_netvsc hears of the loss, or of the return. */
enum life_order {
	LIFE_BEFORE,
	LIFE_AFTER,
	LIFE_NEVER,
};
struct life_service {
	enum life_service_kind kind;
	enum life_order withdraw, report;
	uint64_t gap_ns; /* between message and event; at most half the outage */
	uint64_t outage_ns;
};
/* -ENODEV: a part of the function is missing, or a service runs. */
int life_service(uint32_t fn, const struct life_service *service);

/* Do the next step of a service now, and the others earlier. -ENOENT: none is left. */
int life_service_next(uint32_t fn);

/* Do what is due. */
void life_timers(uint64_t now_ns);

#endif /* MODEL_LIFE_H */
