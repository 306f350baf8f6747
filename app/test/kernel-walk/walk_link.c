/* SPDX-License-Identifier: BSD-3-Clause */

/* Link changes and speeds of the adapter, made by commands of mana-model. */

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "netdev.h"
#include "netlink.h"
#include "uverbs.h"
#include "walk.h"

static void
show_file(const char *file)
{
	char path[256], text[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s",
		 walk_device.netdev[0], file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = read(fd, text, sizeof(text) - 1);
	text[len < 0 ? 0 : strcspn(text, "\n")] = '\0';
	walk_say(len < 0 ? errno : 0, file, "%s", text);
	close(fd);
}

static void
show_speed(void)
{
	struct ethtool_cmd settings = { .cmd = ETHTOOL_GSET };
	int error = netdev_ethtool(0, &settings);

	walk_say(error, "GSET", "speed %d", (int)ethtool_cmd_speed(&settings));
	show_file("speed");
}

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
	show_file("carrier_changes");
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
