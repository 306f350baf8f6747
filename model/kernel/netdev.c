/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "fault.h"
#include "function.h"
#include "kernel_state.h"
#include "netdev.h"
#include "sysfs.h"
#include "traits.h"
#include "uevent.h"
#include "vport.h"

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
	 * Follows link events, not the administrator (mana_link_state_handle);
	 * before there were any, on in mana_open() and off in mana_close().
	 */
	netdev->carrier = kernel_traits()->carrier_is_link ? port->carrier :
							     port->is_up;
	netdev->speed_mbps = port->speed_mbps;
	netdev->was_up = port->was_up;
	netdev->nb_carrier_up = port->nb_carrier_up;
	netdev->nb_carrier_down = port->nb_carrier_down;
	netdev->more_flags = port->more_flags;
	netdev->tx_queue_len = port->tx_queue_len;
	netdev->nb_channels = port->nb_channels;
	netdev->rx_ring = port->rx_ring;
	netdev->tx_ring = port->tx_ring;
	device_port_mac(fn, p, netdev->mac);
	netdev->max_mtu = segment_config()->max_mtu;
	netdev->place = port->place;
}

/* Ports of a function that have a netdev now. */
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
			if ((anywhere || netdev->place == KERNEL_NETDEV_HERE) &&
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

static int
find_index(uint32_t ifindex, struct kernel_netdev *netdev)
{
	const uint32_t nb_functions = segment_config()->nb_functions;
	uint32_t fn;
	int rc = -ENODEV;

	segment_lock();
	for (fn = 0; fn < nb_functions && rc < 0; fn++) {
		uint32_t p = ifindex - function_at(fn)->first_ifindex;

		if (p < nb_netdevs(fn)) {
			netdev_get(fn, p, netdev);
			rc = 0;
		}
	}
	segment_unlock();
	return rc;
}

int
kernel_netdev_by_index(uint32_t ifindex, struct kernel_netdev *netdev)
{
	int rc = find_index(ifindex, netdev);

	return rc == 0 && netdev->place != KERNEL_NETDEV_HERE ? -ENODEV : rc;
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

	if (netdev->is_up)
		flags |= IFF_UP;
	if (netdev->is_up && netdev->carrier)
		flags |= IFF_RUNNING | NETDEV_LOWER_UP;
	return flags;
}

/* mana_open() and mana_close(): the vPort has one user. */
static int
set_up(struct kernel_port *port, const struct kernel_netdev *netdev, bool up)
{
	int rc;

	rc = fault_check(FAULT_ifflags);
	if (rc < 0)
		return rc;
	if (up == port->is_up)
		return 0;
	if (up && function_is_detached(netdev->fn)) /* core/dev.c __dev_open() */
		return -ENODEV;
	if (up && !vport_is_free(netdev->fn, netdev->port))
		return -EBUSY;
	port->owner_pd = up ? KERNEL_NETDEV_OWNER : KERNEL_NONE;
	port->is_up = up;
	port->was_up |= up;
	return 0;
}

/* The netdev as it is, and its port, to be changed: then the lock is held. */
static int
begin(uint32_t ifindex, struct kernel_netdev *netdev, struct kernel_port **port)
{
	int rc;

	rc = find_index(ifindex, netdev);
	if (rc < 0)
		return rc;
	*port = &segment_kernel()->port[netdev->fn][netdev->port];
	segment_lock();
	netdev_get(netdev->fn, netdev->port, netdev);
	if (nb_netdevs(netdev->fn) == 0 || netdev->ifindex != ifindex) {
		segment_unlock();
		return -ENODEV; /* it has gone meanwhile */
	}
	return 0;
}

/* Linux net/core/rtnetlink.c rtnetlink_event(): whether to tell is known. */
static void
end(struct kernel_netdev *netdev, bool is_changed, uint32_t change)
{
	netdev_get(netdev->fn, netdev->port, netdev);
	segment_unlock();
	if (is_changed)
		netdev_announce(netdev, RTM_NEWLINK, change);
}

/* Linux net/core/dev.c __dev_change_flags(). */
#define SETTABLE                                                        \
	(IFF_DEBUG | IFF_NOTRAILERS | IFF_NOARP | IFF_DYNAMIC |         \
	 IFF_MULTICAST | IFF_PORTSEL | IFF_AUTOMEDIA | IFF_PROMISC |    \
	 IFF_ALLMULTI)

int
kernel_netdev_set_flags(uint32_t ifindex, uint32_t flags, uint32_t mask)
{
	struct kernel_netdev netdev;
	struct kernel_port *port;
	uint32_t change;
	int rc;

	rc = begin(ifindex, &netdev, &port);
	if (rc < 0)
		return rc;
	port->more_flags = (port->more_flags & ~(mask & SETTABLE)) |
		(flags & mask & SETTABLE);
	change = port->more_flags ^ netdev.more_flags;
	if ((mask & IFF_UP) != 0)
		rc = set_up(port, &netdev, (flags & IFF_UP) != 0);
	if (port->is_up != netdev.is_up)
		change |= IFF_UP;
	end(&netdev, change != 0, change);
	return rc;
}

int
kernel_netdev_set_up(uint32_t ifindex, bool up)
{
	return kernel_netdev_set_flags(ifindex, up ? IFF_UP : 0, IFF_UP);
}

int
kernel_netdev_set_mtu(uint32_t ifindex, uint32_t mtu)
{
	struct kernel_netdev netdev;
	struct kernel_port *port;
	int rc;

	rc = begin(ifindex, &netdev, &port);
	if (rc < 0)
		return rc;
	if (mtu < NETDEV_MIN_MTU || mtu > netdev.max_mtu)
		rc = -EINVAL;
	else if (mtu != netdev.mtu && function_is_detached(netdev.fn))
		rc = -ENODEV; /* core/dev.c netif_set_mtu_ext() */
	else
		port->mtu = mtu;
	end(&netdev, rc == 0 && mtu != netdev.mtu, 0);
	return rc;
}

int
kernel_netdev_set_tx_queue_len(uint32_t ifindex, uint32_t nb_packets)
{
	struct kernel_netdev netdev;
	struct kernel_port *port;
	int rc;

	rc = begin(ifindex, &netdev, &port);
	if (rc < 0)
		return rc;
	port->tx_queue_len = nb_packets;
	end(&netdev, nb_packets != netdev.tx_queue_len, 0);
	return 0;
}

int
kernel_netdev_set_carrier(uint32_t ifindex, bool carrier)
{
	struct kernel_netdev netdev;
	struct kernel_port *port;
	int rc;

	if (!kernel_traits()->carrier_is_link)
		return -EOPNOTSUPP; /* this kernel takes no link events */
	rc = begin(ifindex, &netdev, &port);
	if (rc < 0)
		return rc;
	if (carrier != netdev.carrier) {
		port->carrier = carrier;
		port->nb_carrier_up += carrier;
		port->nb_carrier_down += !carrier;
	}
	end(&netdev, carrier != netdev.carrier, 0);
	return 0;
}

int
kernel_netdev_set_speed(uint32_t ifindex, uint32_t speed_mbps)
{
	struct kernel_netdev netdev;
	struct kernel_port *port;
	int rc;

	rc = begin(ifindex, &netdev, &port);
	if (rc < 0)
		return rc;
	port->speed_mbps = speed_mbps;
	end(&netdev, false, 0); /* ethtool is asked, and tells nobody */
	netdev_write_attributes(&netdev);
	return 0;
}

/*
 * Linux net/core/dev.c __dev_change_net_namespace(): the netdev is closed; the
 * namespace that it leaves hears of its end, the one that it enters of a new
 * one. Its number is the same where that is free.
 */
int
kernel_netdev_set_place(uint32_t ifindex, enum kernel_netdev_place place)
{
	struct kernel_netdev before, after;
	struct kernel_port *port;
	int rc;

	rc = begin(ifindex, &before, &port);
	if (rc < 0)
		return rc;
	if (port->is_up)
		port->owner_pd = KERNEL_NONE;
	port->is_up = false;
	port->place = place;
	netdev_get(before.fn, before.port, &after);
	if (place == KERNEL_NETDEV_AWAY)
		sysfs_remove_netdev(&after);
	else
		sysfs_put_netdev(&after);
	segment_unlock();
	if (before.place == KERNEL_NETDEV_HERE && place != before.place) {
		netdev_announce(&before, RTM_DELLINK, UINT32_MAX);
		uevent_net(&before, "remove");
	} else if (place == KERNEL_NETDEV_HERE && place != before.place) {
		uevent_net(&after, "add");
		netdev_announce(&after, RTM_NEWLINK, UINT32_MAX);
	}
	return 0;
}
