/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "card.h"
#include "function.h"
#include "kernel_version.h"
#include "netdev_list.h"

void
netdev_pci_address(uint32_t fn, char address[NETDEV_PCI_BYTES])
{
	snprintf(address, NETDEV_PCI_BYTES, "787%x:00:00.0", fn & 0xf);
}

void
netdev_get(uint32_t fn, uint32_t p, struct kernel_netdev *netdev)
{
	const struct kernel_port *port = &segment_kernel()->port[fn][p];

	memset(netdev, 0, sizeof(*netdev));
	snprintf(netdev->name, sizeof(netdev->name), "mana%up%u",
		 fn % MODEL_MAX_FUNCTIONS, p % MODEL_MAX_PORTS_PER_FUNCTION);
	netdev->ifindex = function_at(fn)->first_ifindex + p;
	netdev->fn = fn;
	netdev->port = p;
	netdev->mtu = port->mtu;
	netdev->is_up = port->is_up;
	/*
	 * Newer versions: by link events, not up and down
	 * (mana_link_state_handle). Older ones: in mana_open(), mana_close().
	 */
	netdev->carrier = kernel_version()->carrier_is_link ? port->carrier :
							     port->is_up;
	netdev->speed_mbps = port->speed_mbps;
	netdev->was_up = port->was_up;
	netdev->nb_carrier_up = port->nb_carrier_up;
	netdev->nb_carrier_down = port->nb_carrier_down;
	netdev->more_flags = port->more_flags;
	netdev->tx_queue_len = port->tx_queue_len;
	card_port_mac(fn, p, netdev->mac);
	netdev->max_mtu = segment_config()->max_mtu;
	netdev->ns = port->ns;
}

/* The number of ports of a function with a netdev. */
static uint32_t
nb_netdevs(uint32_t fn)
{
	return function_at(fn)->has_netdevs ? segment_config()->nb_ports[fn] : 0;
}

static int
find_nth(uint32_t n, bool anywhere, struct kernel_netdev *netdev)
{
	const uint32_t nb_functions = segment_config()->nb_functions;
	int rc = -ENODEV;
	uint32_t fn, p;

	segment_lock();
	for (fn = 0; fn < nb_functions && rc < 0; fn++) {
		for (p = 0; p < nb_netdevs(fn) && rc < 0; p++) {
			netdev_get(fn, p, netdev);
			if ((anywhere || netdev->ns == KERNEL_NETDEV_OWN_NS) &&
			    n-- == 0)
				rc = 0;
		}
	}
	segment_unlock();
	return rc;
}

int
kernel_netdev_nth(uint32_t n, struct kernel_netdev *netdev)
{
	return find_nth(n, false, netdev);
}

int
kernel_netdev_nth_anywhere(uint32_t n, struct kernel_netdev *netdev)
{
	return find_nth(n, true, netdev);
}

struct kernel_port *
netdev_begin(uint32_t ifindex, struct kernel_netdev *netdev)
{
	uint32_t fn;

	segment_lock();
	for (fn = 0; fn < segment_config()->nb_functions; fn++) {
		uint32_t p = ifindex - function_at(fn)->first_ifindex;

		if (p < nb_netdevs(fn)) {
			netdev_get(fn, p, netdev);
			return &segment_kernel()->port[fn][p];
		}
	}
	segment_unlock();
	return NULL;
}

int
kernel_netdev_by_index(uint32_t ifindex, struct kernel_netdev *netdev)
{
	if (netdev_begin(ifindex, netdev) == NULL)
		return -ENODEV;
	segment_unlock();
	return netdev->ns == KERNEL_NETDEV_OWN_NS ? 0 : -ENODEV;
}

int
kernel_netdev_by_name(const char *name, struct kernel_netdev *netdev)
{
	uint32_t n = 0;
	int rc;

	while ((rc = kernel_netdev_nth(n++, netdev)) == 0)
		if (strcmp(netdev->name, name) == 0)
			break;
	return rc;
}

uint32_t
netdev_flags(const struct kernel_netdev *netdev)
{
	uint32_t flags = IFF_BROADCAST | netdev->more_flags;

	if (netdev_master(netdev) != 0)
		flags |= IFF_SLAVE; /* netvsc_prepare_bonding() */
	if (netdev->is_up)
		flags |= IFF_UP;
	if (netdev->is_up && netdev->carrier)
		flags |= NETDEV_LOWER_UP;
	if (netdev->is_up && netdev->carrier && !netdev->is_carrier_new)
		flags |= IFF_RUNNING;
	return flags;
}
