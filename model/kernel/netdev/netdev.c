/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "card.h"
#include "fault.h"
#include "function.h"
#include "kernel_state.h"
#include "kernel_version.h"
#include "netdev.h"
#include "sysfs.h"
#include "uevent.h"
#include "vport.h"

/* The carrier follows up and down, and goes off and on with a restart. */
static void
count_carrier(struct kernel_port *port, bool on)
{
	if (kernel_version()->carrier_is_link)
		return;
	port->nb_carrier_up += on;
	port->nb_carrier_down += !on;
}

/* mana_detach(), mana_attach() */
static void
restart(struct kernel_port *port)
{
	if (!port->is_up)
		return;
	count_carrier(port, false);
	count_carrier(port, true);
}

/* mana_open(), mana_close(): the netdev takes the vPort, if it has no user. */
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
	count_carrier(port, up);
	return 0;
}

/* End the change and announce it: net/core/rtnetlink.c rtnetlink_event(). */
static void
end(struct kernel_netdev *netdev, bool is_changed, uint32_t change)
{
	const uint32_t nb_before = netdev->nb_carrier_up;
	bool is_carrier_new;

	netdev_get(netdev->fn, netdev->port, netdev);
	segment_unlock();
	is_carrier_new = !kernel_version()->carrier_is_link &&
			 netdev->nb_carrier_up != nb_before;
	/* A restart ends before its carrier is announced as new. */
	netdev->is_carrier_new = is_carrier_new && (change & IFF_UP) != 0;
	if (is_changed)
		netdev_announce(netdev, RTM_NEWLINK, change);
	netdev->is_carrier_new = false;
	/* net/core/link_watch.c linkwatch_do_dev() */
	if (is_changed && is_carrier_new)
		netdev_announce(netdev, RTM_NEWLINK, 0);
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
	struct kernel_port *port = netdev_begin(ifindex, &netdev);
	uint32_t change;
	int rc = 0;

	if (port == NULL)
		return -ENODEV;
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
	struct kernel_port *port = netdev_begin(ifindex, &netdev);
	int rc = 0;

	if (port == NULL)
		return -ENODEV;
	if (mtu < NETDEV_MIN_MTU || mtu > netdev.max_mtu) {
		rc = -EINVAL;
	} else if (mtu != netdev.mtu && function_is_detached(netdev.fn)) {
		rc = -ENODEV; /* core/dev.c netif_set_mtu_ext() */
	} else if (mtu != netdev.mtu) {
		vport_netdev_changes(netdev.fn, netdev.port);
		port->mtu = mtu;
		restart(port); /* mana_change_mtu() */
	}
	end(&netdev, rc == 0 && mtu != netdev.mtu, 0);
	return rc;
}

int
kernel_netdev_set_tx_queue_len(uint32_t ifindex, uint32_t nb_packets)
{
	struct kernel_netdev netdev;
	struct kernel_port *port = netdev_begin(ifindex, &netdev);

	if (port == NULL)
		return -ENODEV;
	port->tx_queue_len = nb_packets;
	end(&netdev, nb_packets != netdev.tx_queue_len, 0);
	return 0;
}

int
kernel_netdev_set_carrier(uint32_t ifindex, bool carrier)
{
	struct kernel_netdev netdev;
	struct kernel_port *port;
	bool is_changed;

	if (!kernel_version()->carrier_is_link)
		return -EOPNOTSUPP; /* this kernel ignores link events */
	port = netdev_begin(ifindex, &netdev);
	if (port == NULL)
		return -ENODEV;
	if (carrier != netdev.carrier) {
		port->carrier = carrier;
		port->nb_carrier_up += carrier;
		port->nb_carrier_down += !carrier;
	}
	is_changed = carrier != netdev.carrier;
	end(&netdev, false, 0);
	netdev.is_carrier_new = is_changed;
	netdev_announce_link(&netdev);
	return 0;
}

void
kernel_netdev_announce_carrier(uint32_t ifindex)
{
	struct kernel_netdev netdev;

	if (!kernel_version()->carrier_is_link || netdev_begin(ifindex, &netdev) == NULL)
		return;
	end(&netdev, netdev.is_up, 0);
}

int
kernel_netdev_set_speed(uint32_t ifindex, uint32_t speed_mbps)
{
	struct kernel_netdev netdev;
	struct kernel_port *port = netdev_begin(ifindex, &netdev);

	if (port == NULL)
		return -ENODEV;
	port->speed_mbps = speed_mbps;
	end(&netdev, false, 0); /* only ethtool shows the speed: no notification */
	netdev_write_attributes(&netdev);
	return 0;
}

/*
 * Linux net/core/dev.c __dev_change_net_namespace(): the netdev is closed. The
 * old namespace receives RTM_DELLINK, the new one RTM_NEWLINK. The netdev keeps
 * its index if that is free.
 */
int
kernel_netdev_set_ns(uint32_t ifindex, enum kernel_netdev_ns ns)
{
	struct kernel_netdev before, after;
	struct kernel_port *port = netdev_begin(ifindex, &before);

	if (port == NULL)
		return -ENODEV;
	if (port->is_up)
		port->owner_pd = KERNEL_NONE;
	port->is_up = false;
	port->ns = ns;
	netdev_get(before.fn, before.port, &after);
	if (ns == KERNEL_NETDEV_OTHER_NS)
		sysfs_remove_netdev(&after);
	else
		sysfs_put_netdev(&after);
	segment_unlock();
	if (before.ns == KERNEL_NETDEV_OWN_NS && ns != before.ns) {
		netdev_announce(&before, RTM_DELLINK, UINT32_MAX);
		uevent_net(&before, "remove");
	} else if (ns == KERNEL_NETDEV_OWN_NS && ns != before.ns) {
		uevent_net(&after, "add");
		netdev_announce(&after, RTM_NEWLINK, UINT32_MAX);
	}
	return 0;
}
