/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * kobject uevents: what udev and DPDK's device monitor hear of devices that
 * come, go and change.
 */

#ifndef MODEL_UEVENT_H
#define MODEL_UEVENT_H

#include <stdint.h>

#include "kernel.h"

/*
 * Tell every NETLINK_KOBJECT_UEVENT socket of the machine, at once: when this
 * returns, the event can be received. With or without the machine's lock,
 * async-signal-safe.
 *
 *	kernel_uevent("remove", "/devices/pci7870:00/7870:00:00.0", "pci", extra)
 *
 * extra: further KEY=value lines in their order, ended by NULL, or NULL. The
 * first lines (ACTION, DEVPATH, SUBSYSTEM) and SEQNUM are added.
 */
void kernel_uevent(const char *action, const char *devpath,
		   const char *subsystem, const char *const extra[]);

/*
 * The same for the devices that there are, with the lines that the kernel adds
 * for them. first: a line of the driver core before those of the bus, such as
 * "DRIVER=mana" while the driver is bound, or NULL.
 */
void uevent_pci(uint32_t fn, const char *action, const char *first);
void uevent_net(const struct kernel_netdev *netdev, const char *action);

#endif /* MODEL_UEVENT_H */
