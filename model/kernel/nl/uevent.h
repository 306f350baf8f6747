/* SPDX-License-Identifier: BSD-3-Clause */

/* kobject uevents: device changes for udev and DPDK's device monitor. */

#ifndef MODEL_UEVENT_H
#define MODEL_UEVENT_H

#include <stdint.h>

#include "kernel.h"

/*
 * Send an event to all NETLINK_KOBJECT_UEVENT sockets of the machine. When this
 * returns, they can receive it. Call it with or without the machine's lock;
 * async-signal-safe.
 *
 *	kernel_uevent("remove", "/devices/pci7870:00/7870:00:00.0", "pci", "PCI_CLASS=%X\n", class)
 *
 * format: further KEY=value lines in order, each with a newline. The function adds ACTION,
 * DEVPATH and SUBSYSTEM in front, and SEQNUM.
 */
void kernel_uevent(const char *action, const char *devpath, const char *subsystem,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));

/*
 * The same for each kind of device, with its lines. first: "", or a line of the driver
 * core before the bus's, as "DRIVER=mana\n" while a driver is bound.
 */
void uevent_pci(uint32_t fn, const char *action, const char *first);
void uevent_net(const struct kernel_netdev *netdev, const char *action);

#endif /* MODEL_UEVENT_H */
