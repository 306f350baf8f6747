/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "fault.h"
#include "host.h"
#include "kernel_state.h"
#include "netdev.h"
#include "vport.h"

#define PATH_BYTES (MODEL_MAX_PATH + 128)
#define LOWER_UP (1u << 16) /* linux/if.h, not in net/if.h */

void
netdev_pci_address(uint32_t fn, char address[NETDEV_PCI_BYTES])
{
	snprintf(address, NETDEV_PCI_BYTES, "787%x:00:00.0", fn & 0xf);
}

/* With or without the lock: names and numbers never change. */
static void
fill(uint32_t n, uint32_t fn, uint32_t p, struct kernel_netdev *netdev)
{
	const struct kernel_port *port = &segment_kernel()->port[fn][p];

	memset(netdev, 0, sizeof(*netdev));
	snprintf(netdev->name, sizeof(netdev->name), "mana%up%u",
		 fn % MODEL_MAX_FUNCTIONS, p % MODEL_MAX_PORTS_PER_FUNCTION);
	netdev->ifindex = KERNEL_IFINDEX_BASE + n;
	netdev->fn = fn;
	netdev->port = p;

	segment_lock();
	netdev->mtu = port->mtu;
	netdev->is_up = port->is_up;
	device_port_mac(fn, p, netdev->mac);
	segment_unlock();
	netdev->max_mtu = segment_config()->max_mtu;
	/* Follows link events, not the administrator (mana_link_state_handle). */
	netdev->carrier = true;
}

int
kernel_netdev_nth(uint32_t n, struct kernel_netdev *netdev)
{
	const struct model_config *config = segment_config();
	uint32_t fn, first = 0;

	for (fn = 0; fn < config->nb_functions; fn++) {
		if (n - first < config->nb_ports[fn]) {
			fill(n, fn, n - first, netdev);
			return 0;
		}
		first += config->nb_ports[fn];
	}
	return -ENODEV;
}

int
kernel_netdev_by_index(uint32_t ifindex, struct kernel_netdev *netdev)
{
	if (ifindex < KERNEL_IFINDEX_BASE)
		return -ENODEV;
	return kernel_netdev_nth(ifindex - KERNEL_IFINDEX_BASE, netdev);
}

int
kernel_netdev_by_name(const char *name, struct kernel_netdev *netdev)
{
	const struct model_config *config = segment_config();
	uint32_t fn, p, i, first = 0;
	char own[32];

	if (sscanf(name, "mana%up%u", &fn, &p) != 2 ||
	    fn >= config->nb_functions || p >= config->nb_ports[fn])
		return -ENODEV;
	/* sscanf() takes more than we print: "mana+0p00". */
	snprintf(own, sizeof(own), "mana%up%u", fn, p);
	if (strcmp(name, own) != 0)
		return -ENODEV;
	for (i = 0; i < fn; i++)
		first += config->nb_ports[i];
	fill(first + p, fn, p, netdev);
	return 0;
}

/* An attribute file of the netdev, if the launcher has made it. */
static void
write_attribute(const struct kernel_netdev *netdev, const char *attribute,
		const char *value)
{
	char path[PATH_BYTES], pci[NETDEV_PCI_BYTES];
	int fd;

	netdev_pci_address(netdev->fn, pci);
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/net/%s/%s",
		 segment_run_dir(), pci, netdev->name, attribute);
	fd = host_open(path, O_WRONLY | O_TRUNC | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	host_write(fd, value, strlen(value));
	host_close(fd);
}

static void
publish(const struct kernel_netdev *netdev)
{
	char value[32];

	snprintf(value, sizeof(value), "%u\n", netdev->mtu);
	write_attribute(netdev, "mtu", value);
	snprintf(value, sizeof(value), "0x%x\n",
		 netdev_flags(netdev) & ~(IFF_RUNNING | LOWER_UP));
	write_attribute(netdev, "flags", value);
	write_attribute(netdev, "operstate", netdev->is_up ? "up\n" : "down\n");
}

uint32_t
netdev_flags(const struct kernel_netdev *netdev)
{
	uint32_t flags = IFF_BROADCAST | IFF_MULTICAST;

	if (netdev->is_up)
		flags |= IFF_UP;
	if (netdev->is_up && netdev->carrier)
		flags |= IFF_RUNNING | LOWER_UP;
	return flags;
}

/* mana_open() and mana_close(): the vPort has one user. */
static int
set_up(uint32_t fn, uint32_t p, bool up)
{
	struct kernel_port *port = &segment_kernel()->port[fn][p];
	int rc;

	rc = fault_check(FAULT_ifflags);
	if (rc < 0)
		return rc;
	if (up == port->is_up)
		return 0;
	if (up && !vport_is_free(fn, p))
		return -EBUSY;
	port->owner_pd = up ? KERNEL_NETDEV_OWNER : KERNEL_NONE;
	port->is_up = up;
	return 0;
}

int
kernel_netdev_set_up(uint32_t ifindex, bool up)
{
	struct kernel_netdev netdev;
	int rc;

	rc = kernel_netdev_by_index(ifindex, &netdev);
	if (rc < 0)
		return rc;
	segment_lock();
	rc = set_up(netdev.fn, netdev.port, up);
	segment_unlock();
	if (rc == 0) {
		netdev.is_up = up;
		publish(&netdev);
	}
	return rc;
}

int
kernel_netdev_set_mtu(uint32_t ifindex, uint32_t mtu)
{
	struct kernel_netdev netdev;
	int rc;

	rc = kernel_netdev_by_index(ifindex, &netdev);
	if (rc < 0)
		return rc;
	if (mtu < NETDEV_MIN_MTU || mtu > netdev.max_mtu)
		return -EINVAL;
	segment_lock();
	segment_kernel()->port[netdev.fn][netdev.port].mtu = mtu;
	segment_unlock();
	netdev.mtu = mtu;
	publish(&netdev);
	return 0;
}
