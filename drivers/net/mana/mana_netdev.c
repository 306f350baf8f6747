/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include <rte_string_fns.h>

#include "mana_netdev.h"

/* Reads the first line of <dir>/<ifname>/<file>, without its end. */
static int
sysfs_read(const char *dir, const char *ifname, const char *file, char *line,
	   size_t size)
{
	char path[PATH_MAX];
	FILE *f;
	char *got;

	if (snprintf(path, sizeof(path), "%s/%s/%s", dir, ifname, file) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	f = fopen(path, "re");
	if (f == NULL)
		return -errno;
	got = fgets(line, size, f);
	fclose(f);
	if (got == NULL)
		return -EIO;
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

static int
sysfs_read_number(const char *dir, const char *ifname, const char *file,
		  unsigned long *value)
{
	char line[32];
	char *end;
	int ret;

	ret = sysfs_read(dir, ifname, file, line, sizeof(line));
	if (ret != 0)
		return ret;
	errno = 0;
	*value = strtoul(line, &end, 0);
	return errno == 0 && end != line && *end == '\0' ? 0 : -EINVAL;
}

/* Fills *netdev if the interface is that of dev_port. */
static int
netdev_read(const char *dir, const char *ifname, unsigned long dev_port,
	    struct mana_netdev *netdev)
{
	unsigned long value;
	char line[32];
	int ret;

	/* dev_port is the port's index from 0 (Linux mana_en.c). */
	ret = sysfs_read_number(dir, ifname, "dev_port", &value);
	if (ret != 0)
		return ret;
	if (value != dev_port)
		return -ENODEV;
	ret = sysfs_read_number(dir, ifname, "ifindex", &value);
	if (ret != 0)
		return ret;
	ret = sysfs_read(dir, ifname, "address", line, sizeof(line));
	if (ret != 0)
		return ret;
	if (rte_ether_unformat_addr(line, &netdev->mac) != 0)
		return -EINVAL;
	netdev->ifindex = value;
	return rte_strscpy(netdev->name, ifname, sizeof(netdev->name)) < 0 ?
		       -ENAMETOOLONG :
		       0;
}

int
mana_netdev_find(const char *ibdev_path, uint32_t port, struct mana_netdev *netdev)
{
	const struct dirent *entry;
	char dir[PATH_MAX];
	int ret = -ENODEV;
	DIR *d;

	memset(netdev, 0, sizeof(*netdev));
	if (port == 0)
		return -EINVAL;
	if (snprintf(dir, sizeof(dir), "%s/device/net", ibdev_path) >=
	    (int)sizeof(dir))
		return -ENAMETOOLONG;
	d = opendir(dir);
	if (d == NULL)
		return -errno;
	while (ret != 0 && (entry = readdir(d)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		ret = netdev_read(dir, entry->d_name, port - 1, netdev);
	}
	closedir(d);
	if (ret != 0)
		memset(netdev, 0, sizeof(*netdev));
	return ret;
}

/* A socket of rtnetlink, or NULL. */
static struct nl_sock *
route_open(void)
{
	struct nl_sock *sock = nl_socket_alloc();

	if (sock != NULL && nl_connect(sock, NETLINK_ROUTE) != 0) {
		nl_socket_free(sock);
		sock = NULL;
	}
	return sock;
}

/* Of what libnl returns: 0 or a negative errno. */
static int
route_error(int ret)
{
	if (ret >= 0)
		return 0;
	switch (-ret) {
	case NLE_NODEV:
	case NLE_OBJ_NOTFOUND:
		return -ENODEV;
	case NLE_PERM:
	case NLE_NOACCESS:
		return -EPERM;
	case NLE_BUSY:
		return -EBUSY;
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_INVAL:
		return -EINVAL;
	case NLE_RANGE:
		return -ERANGE;
	case NLE_OPNOTSUPP:
		return -ENOTSUP;
	default:
		return -EIO;
	}
}

struct link_query {
	const struct mana_netdev *netdev;
	struct mana_netdev_state *state;
	bool is_answered;
	bool is_another;
};

/*
 * Numbers of interfaces count in each network namespace, and /sys may be that
 * of another one: the same number may be somebody else's here.
 */
static bool
is_another(const struct nlattr *address, const struct mana_netdev *netdev)
{
	return address != NULL &&
	       (nla_len(address) != RTE_ETHER_ADDR_LEN ||
		memcmp(nla_data(address), &netdev->mac, RTE_ETHER_ADDR_LEN) != 0);
}

/* libnl calls this for the RTM_NEWLINK that answers the question. */
static int
link_parse(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *header = nlmsg_hdr(msg);
	struct nlattr *attr[IFLA_MAX + 1];
	struct link_query *query = arg;
	const struct ifinfomsg *info;

	if (header->nlmsg_type != RTM_NEWLINK ||
	    nlmsg_parse(header, sizeof(*info), attr, IFLA_MAX, NULL) < 0)
		return NL_SKIP;
	query->is_answered = true;
	query->is_another = is_another(attr[IFLA_ADDRESS], query->netdev);
	if (query->is_another)
		return NL_OK;
	info = nlmsg_data(header);
	query->state->is_up = (info->ifi_flags & IFF_UP) != 0;
	if (attr[IFLA_IFNAME] != NULL)
		nla_strlcpy(query->state->name, attr[IFLA_IFNAME],
			    sizeof(query->state->name));
	if (attr[IFLA_CARRIER] != NULL && nla_len(attr[IFLA_CARRIER]) >= 1)
		query->state->carrier = nla_get_u8(attr[IFLA_CARRIER]) != 0;
	if (attr[IFLA_MTU] != NULL && nla_len(attr[IFLA_MTU]) >= 4)
		query->state->mtu = nla_get_u32(attr[IFLA_MTU]);
	if (attr[IFLA_MAX_MTU] != NULL && nla_len(attr[IFLA_MAX_MTU]) >= 4)
		query->state->max_mtu = nla_get_u32(attr[IFLA_MAX_MTU]);
	return NL_OK;
}

int
mana_netdev_state_get(const struct mana_netdev *netdev,
		      struct mana_netdev_state *state)
{
	struct ifinfomsg info = {
		.ifi_family = AF_UNSPEC,
		.ifi_index = netdev->ifindex,
	};
	struct link_query query = { .netdev = netdev, .state = state };
	struct nl_sock *sock;
	int ret;

	memset(state, 0, sizeof(*state));
	rte_strscpy(state->name, netdev->name, sizeof(state->name));
	sock = route_open();
	if (sock == NULL)
		return -ENOMEM;
	nl_socket_disable_auto_ack(sock);
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, link_parse, &query);
	ret = nl_send_simple(sock, RTM_GETLINK, 0, &info, sizeof(info));
	if (ret >= 0)
		ret = nl_recvmsgs_default(sock);
	nl_socket_free(sock);
	ret = route_error(ret);
	if (ret == 0 && query.is_another)
		ret = -ENODEV;
	return ret == 0 && !query.is_answered ? -EIO : ret;
}

/* Sets flags, and the MTU unless it is 0. */
static int
link_change(const struct ifinfomsg *info, uint32_t mtu)
{
	struct nl_sock *sock;
	struct nl_msg *msg;
	int ret = -NLE_NOMEM;

	sock = route_open();
	if (sock == NULL)
		return -ENOMEM;
	msg = nlmsg_alloc_simple(RTM_NEWLINK, 0);
	if (msg != NULL)
		ret = nlmsg_append(msg, (void *)(uintptr_t)info, sizeof(*info),
				   NLMSG_ALIGNTO);
	if (ret >= 0 && mtu != 0)
		ret = nla_put_u32(msg, IFLA_MTU, mtu);
	if (ret >= 0)
		ret = nl_send_auto(sock, msg);
	if (ret >= 0)
		ret = nl_wait_for_ack(sock);
	nlmsg_free(msg);
	nl_socket_free(sock);
	return route_error(ret);
}

int
mana_netdev_up_set(const struct mana_netdev *netdev, bool is_up)
{
	struct ifinfomsg info = {
		.ifi_family = AF_UNSPEC,
		.ifi_index = netdev->ifindex,
		.ifi_flags = is_up ? IFF_UP : 0,
		.ifi_change = IFF_UP,
	};

	return link_change(&info, 0);
}

int
mana_netdev_mtu_set(const struct mana_netdev *netdev, uint32_t mtu)
{
	struct ifinfomsg info = {
		.ifi_family = AF_UNSPEC,
		.ifi_index = netdev->ifindex,
	};

	return link_change(&info, mtu);
}

/* One SIOCETHTOOL request on the interface, by its name of now. */
static int
ethtool(const struct mana_netdev *netdev, void *request)
{
	struct ifreq ifr = { .ifr_data = request };
	struct mana_netdev_state state;
	int ret = 0;
	int fd;

	/* The name may be somebody else's here: see is_another(). */
	if (mana_netdev_state_get(netdev, &state) == -ENODEV)
		return -ENODEV;
	rte_strscpy(ifr.ifr_name, state.name, sizeof(ifr.ifr_name));
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, SIOCETHTOOL, &ifr) != 0)
		ret = -errno;
	close(fd);
	return ret;
}

int
mana_netdev_max_queues_get(const struct mana_netdev *netdev, uint32_t *max_queues)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	int ret;

	ret = ethtool(netdev, &channels);
	if (ret != 0)
		return ret;
	if (channels.max_combined == 0)
		return -ENOTSUP;
	*max_queues = channels.max_combined;
	return 0;
}

int
mana_netdev_speed_get(const struct mana_netdev *netdev, uint32_t *mbps)
{
	/* The kernel tells first, in a negative number, its mask's size. */
	union {
		struct ethtool_link_settings base;
		uint32_t room[sizeof(struct ethtool_link_settings) / sizeof(uint32_t) +
			      3 * SCHAR_MAX];
	} settings = { .base = { .cmd = ETHTOOL_GLINKSETTINGS } };
	int nwords;
	int ret;

	ret = ethtool(netdev, &settings);
	if (ret != 0)
		return ret;
	nwords = settings.base.link_mode_masks_nwords;
	if (nwords < 0) {
		memset(&settings, 0, sizeof(settings));
		settings.base.cmd = ETHTOOL_GLINKSETTINGS;
		settings.base.link_mode_masks_nwords = -nwords;
		ret = ethtool(netdev, &settings);
		if (ret != 0)
			return ret;
	}
	if (settings.base.speed == 0 ||
	    settings.base.speed == (uint32_t)SPEED_UNKNOWN)
		return -ENOTSUP;
	*mbps = settings.base.speed;
	return 0;
}
