/* SPDX-License-Identifier: BSD-3-Clause */

/* Link changes and speeds of the adapter, made by commands of mana-model. */

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "netdev.h"
#include "netlink.h"
#include "uverbs.h"
#include "walk.h"

/* 0 or a positive errno. */
static int
read_file(const char *file, char text[64])
{
	char path[256];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s",
		 walk_device.netdev[0], file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = read(fd, text, 63);
	text[len < 0 ? 0 : len] = '\0';
	text[strcspn(text, "\n")] = '\0';
	close(fd);
	return len < 0 ? errno : 0;
}

static void
show_file(const char *file)
{
	char text[64];
	int error = read_file(file, text);

	walk_say(error, file, "%s", text);
}

static int
nb_carrier_changes(void)
{
	char text[64];

	return read_file("carrier_changes", text) == 0 ? atoi(text) : -1;
}

static void
show_speed(void)
{
	struct ethtool_cmd settings = { .cmd = ETHTOOL_GSET };
	int error = netdev_ethtool(0, &settings);

	walk_say(error, "GSET", "speed %d", (int)ethtool_cmd_speed(&settings));
	show_file("speed");
}

static int nb_carrier_changes_before;

static void
show_state(void)
{
	struct ib_uverbs_query_port_resp_ex port;
	struct ethtool_value link = { .cmd = ETHTOOL_GLINK };
	struct call call = new_call(UVERBS_OBJECT_DEVICE,
				    UVERBS_METHOD_QUERY_PORT);
	int fd = uverbs_open_context(), error;

	memset(&port, 0, sizeof(port));
	add(&call, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 8, 1);
	add(&call, UVERBS_ATTR_QUERY_PORT_RESP, sizeof(port), (uintptr_t)&port);
	error = run(fd, &call);
	walk_say(error, "query_port", "state %u, phys_state %u",
		 port.legacy_resp.state, port.legacy_resp.phys_state);
	close(fd);
	error = netdev_ethtool(0, &link);
	walk_say(error, "GLINK", "%u", link.data);
	show_file("carrier");
	show_file("operstate");
	walk_note("carrier_changes since the first step", "%d",
		  nb_carrier_changes() - nb_carrier_changes_before);
}

static void
change(int events, const char *command)
{
	walk_ctl(command);
	walk_events(events, command);
	show_state();
}

static void
changes(int events)
{
	change(events, "link port=1 down");
	change(events, "link port=1 down");
	change(events, "link port=2 up");
	change(events, "link port=2 up");
}

void
walk_link(void)
{
	int events = netlink_open(NETLINK_ROUTE, RTMGRP_LINK);

	nb_carrier_changes_before = nb_carrier_changes();
	walk_name("link, netdevs down");
	changes(events);
	walk_name("link, port 1 up");
	walk_result(netdev_set_up(0, true), "set it up");
	walk_events(events, "set it up");
	changes(events);
	walk_name("speed, port 1 up");
	show_speed();
	walk_ctl("speed port=1 mbps=40000");
	show_speed();
	walk_result(netdev_set_up(0, false), "set it down");
	walk_events(events, "set it down");
	walk_result(netdev_set_up(0, true), "set it up");
	walk_events(events, "set it up");
	show_speed();
	walk_result(netdev_set_up(0, false), "set it down");
	close(events);
}
