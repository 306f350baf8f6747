/* SPDX-License-Identifier: BSD-3-Clause */

/* The netdev of a port: the driver finds it, reads its state and sets it down or up. */

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

#include "mana_discover.h"

#define LINE_BYTES 32

/* Reads the first line of <dir>/<ifname>/<file>, without its end. */
static int
sysfs_read(const char *dir, const char *ifname, const char *file, char line[LINE_BYTES])
{
	char path[PATH_MAX];
	FILE *f;
	char *got;

	if (snprintf(path, sizeof(path), "%s/%s/%s", dir, ifname, file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	f = fopen(path, "re");
	if (f == NULL)
		return -errno;
	got = fgets(line, LINE_BYTES, f);
	fclose(f);
	if (got == NULL)
		return -EIO;
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

/* Fills *netdev if the interface is that of dev_port. */
static int
netdev_read(const char *dir, const char *ifname, uint32_t dev_port, struct mana_netdev *netdev)
{
	char line[LINE_BYTES], wanted[LINE_BYTES];
	int ret;

	/* dev_port is the port's index from 0 (Linux mana_en.c). */
	snprintf(wanted, sizeof(wanted), "%u", dev_port);
	ret = sysfs_read(dir, ifname, "dev_port", line);
	if (ret == 0 && strcmp(line, wanted) != 0)
		ret = -ENODEV;
	if (ret == 0)
		ret = sysfs_read(dir, ifname, "ifindex", line);
	if (ret == 0) {
		netdev->ifindex = strtoul(line, NULL, 10);
		ret = sysfs_read(dir, ifname, "address", line);
	}
	if (ret == 0 &&
	    (netdev->ifindex == 0 || rte_ether_unformat_addr(line, &netdev->mac) != 0 ||
	     rte_strscpy(netdev->name, ifname, sizeof(netdev->name)) < 0))
		ret = -EINVAL;
	return ret;
}

int
mana_netdev_find(const char *ibdev_path, uint32_t port, struct mana_netdev *netdev)
{
	const struct dirent *entry;
	char dir[PATH_MAX];
	int ret = -ENODEV;
	DIR *d;

	memset(netdev, 0, sizeof(*netdev));
	if (snprintf(dir, sizeof(dir), "%s/device/net", ibdev_path) >= (int)sizeof(dir))
		return -ENAMETOOLONG;
	d = opendir(dir);
	if (d == NULL)
		return -errno;
	while (ret != 0 && (entry = readdir(d)) != NULL)
		if (entry->d_name[0] != '.')
			ret = netdev_read(dir, entry->d_name, port - 1, netdev);
	closedir(d);
	return ret;
}

/* Takes the kernel's error, which is not 0: libnl has fewer. */
static int
error_take(struct sockaddr_nl *from __rte_unused, struct nlmsgerr *answer, void *error)
{
	bool is_errno = answer->error < 0 && answer->error >= -4095; /* MAX_ERRNO */

	*(int *)error = is_errno ? answer->error : -EPROTO;
	return NL_STOP;
}

struct link_query {
	const struct mana_netdev *netdev;
	struct mana_netdev_state *state;
	int result; /* -EIO: no answer */
};

/* libnl calls this for the RTM_NEWLINK that answers the query. */
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
	/*
	 * Each network namespace numbers its netdevs, and /sys may show another namespace:
	 * here the same number may be another netdev's.
	 */
	query->result = attr[IFLA_ADDRESS] == NULL ||
		nla_memcmp(attr[IFLA_ADDRESS], &query->netdev->mac, RTE_ETHER_ADDR_LEN) == 0 ?
		0 : -ENODEV;
	if (query->result != 0)
		return NL_OK;
	info = nlmsg_data(header);
	query->state->is_up = (info->ifi_flags & IFF_UP) != 0;
	if (attr[IFLA_IFNAME] != NULL)
		nla_strlcpy(query->state->name, attr[IFLA_IFNAME], sizeof(query->state->name));
	if (attr[IFLA_CARRIER] != NULL && nla_len(attr[IFLA_CARRIER]) >= 1)
		query->state->carrier = nla_get_u8(attr[IFLA_CARRIER]) != 0;
	if (attr[IFLA_MTU] != NULL && nla_len(attr[IFLA_MTU]) >= 4)
		query->state->mtu = nla_get_u32(attr[IFLA_MTU]);
	if (attr[IFLA_MAX_MTU] != NULL && nla_len(attr[IFLA_MAX_MTU]) >= 4)
		query->state->max_mtu = nla_get_u32(attr[IFLA_MAX_MTU]);
	if (attr[IFLA_MASTER] != NULL && nla_len(attr[IFLA_MASTER]) >= 4)
		query->state->master = nla_get_u32(attr[IFLA_MASTER]);
	return NL_OK;
}

/*
 * Queries the netdev's link, or with NULL changes the flags of info. Returns the kernel's
 * answer, or why it gave none.
 */
static int
link_request(struct ifinfomsg *info, struct link_query *query)
{
	struct nl_sock *sock = nl_socket_alloc();
	int ret = sock != NULL ? nl_connect(sock, NETLINK_ROUTE) : -NLE_NOMEM;
	int error = 0;

	if (ret >= 0) {
		nl_socket_modify_err_cb(sock, NL_CB_CUSTOM, error_take, &error);
		if (query != NULL) {
			nl_socket_disable_auto_ack(sock);
			nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, link_parse, query);
		}
		ret = nl_send_simple(sock, query != NULL ? RTM_GETLINK : RTM_NEWLINK, 0,
				     info, sizeof(*info));
	}
	if (ret >= 0)
		ret = nl_recvmsgs_default(sock);
	nl_socket_free(sock);
	if (error != 0 || ret >= 0)
		return error;
	return ret == -NLE_PERM || ret == -NLE_NOACCESS ? -EPERM :
	       ret == -NLE_NOMEM ? -ENOMEM : -EIO;
}

int
mana_netdev_state_get(const struct mana_netdev *netdev, struct mana_netdev_state *state)
{
	struct ifinfomsg info = { .ifi_index = netdev->ifindex };
	struct link_query query = { .netdev = netdev, .state = state, .result = -EIO };
	int ret;

	memset(state, 0, sizeof(*state));
	rte_strscpy(state->name, netdev->name, sizeof(state->name));
	ret = link_request(&info, &query);
	return ret == 0 || query.result == -ENODEV ? query.result : ret;
}

int
mana_netdev_up_set(const struct mana_netdev *netdev, bool is_up, struct mana_netdev_state *before)
{
	struct ifinfomsg info = {
		.ifi_index = netdev->ifindex,
		.ifi_flags = is_up ? IFF_UP : 0,
		.ifi_change = IFF_UP,
	};
	int ret = mana_netdev_state_get(netdev, before);

	return ret == 0 && before->is_up != is_up ? link_request(&info, NULL) : ret;
}

/* An ioctl on a netdev; any socket serves. */
static int
interface_ioctl(unsigned long request, struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, request, ifr) != 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* One SIOCETHTOOL request on the netdev, by its present name. */
static int
ethtool(const struct mana_netdev *netdev, void *request)
{
	struct ifreq ifr = { .ifr_data = request };
	struct mana_netdev_state state;

	/* Here the name may be another netdev's: see link_parse(). */
	if (mana_netdev_state_get(netdev, &state) == -ENODEV)
		return -ENODEV;
	rte_strscpy(ifr.ifr_name, state.name, sizeof(ifr.ifr_name));
	return interface_ioctl(SIOCETHTOOL, &ifr);
}

bool
mana_netdev_is_netvsc(unsigned int master, char name[IF_NAMESIZE])
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq ifr = { .ifr_ifindex = (int)master };

	if (interface_ioctl(SIOCGIFNAME, &ifr) != 0)
		return false;
	rte_strscpy(name, ifr.ifr_name, IF_NAMESIZE);
	ifr.ifr_data = (void *)&info;
	/* Linux netvsc_drv.c netvsc_get_drvinfo(): the module's name. */
	return interface_ioctl(SIOCETHTOOL, &ifr) == 0 && strcmp(info.driver, "hv_netvsc") == 0;
}

int
mana_netdev_max_queues_get(const struct mana_netdev *netdev, uint32_t *max_queues)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	int ret = ethtool(netdev, &channels);

	if (ret != 0)
		return ret;
	if (channels.max_combined == 0)
		return -ENOTSUP;
	*max_queues = channels.max_combined;
	return 0;
}

int
mana_netdev_driver_get(const struct mana_netdev *netdev, char text[MANA_NETDEV_DRIVER_BYTES])
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	int ret = ethtool(netdev, &info);

	if (ret != 0)
		return ret;
	/* A driver without a version of its own reports the kernel's. */
	snprintf(text, MANA_NETDEV_DRIVER_BYTES, "%.31s %.31s", info.driver, info.version);
	return 0;
}

int
mana_netdev_speed_get(const struct mana_netdev *netdev, uint32_t *mbps)
{
	/* The first answer is only the size of its masks, as a negative number. */
	union {
		struct ethtool_link_settings base;
		uint32_t room[sizeof(struct ethtool_link_settings) / sizeof(uint32_t) +
			      3 * SCHAR_MAX];
	} settings;
	int8_t nwords = 0;
	int ret;

	for (unsigned int tries = 0; tries < 2; tries++) {
		memset(&settings, 0, sizeof(settings));
		settings.base.cmd = ETHTOOL_GLINKSETTINGS;
		settings.base.link_mode_masks_nwords = nwords;
		ret = ethtool(netdev, &settings);
		if (ret != 0)
			return ret;
		nwords = -settings.base.link_mode_masks_nwords;
	}
	if (settings.base.speed == 0 || settings.base.speed == (uint32_t)SPEED_UNKNOWN)
		return -ENOTSUP;
	*mbps = settings.base.speed;
	return 0;
}
