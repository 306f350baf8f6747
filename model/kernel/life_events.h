/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the machine is told of devices that come (action "add") and go
 * ("remove"): uevents and RTM_NEWLINK or RTM_DELLINK. With the machine's lock.
 */

#ifndef MODEL_LIFE_EVENTS_H
#define MODEL_LIFE_EVENTS_H

#include <stdint.h>

#include "rdma_device.h"

void life_tell_pci(uint32_t fn, const char *action); /* and "(un)bind" */
void life_tell_netdevs(uint32_t fn, const char *action);
void life_tell_uverbs(const struct rdma_device *device, const char *action);
void life_tell_rdma(const struct rdma_device *device, const char *action);

#endif /* MODEL_LIFE_EVENTS_H */
