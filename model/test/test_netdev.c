/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * netdevs of the modelled ports beside mana-kernel-walk: namespaces, changes under
 * queue pairs, speeds, and that requests for other links go to the real kernel. Run
 * under mana-model with two functions of two ports and --max-mtu 9000.
 */

#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "nl_request.h"
#include "verbs_fixture.h"

#define NAME "mana1p1" /* the fourth port of the machine */
#define IFINDEX 10004

TEST(link_has_address_and_limit_of_port)
{
	static const uint8_t mac[] = { 0, 0x0d, 0x3a, 0, 0, 4 };
	struct request request = new_request(RTM_GETLINK, IFINDEX);
	struct sockaddr_nl self = { 0 };
	socklen_t self_len = sizeof(self);
	int sock = open_socket();
	ssize_t len;

	len = ask(sock, &request);
	assert_string_equal(find_attr(IFLA_IFNAME, len), NAME);
	assert_memory_equal(find_attr(IFLA_ADDRESS, len), mac, sizeof(mac));
	assert_int_equal(*(const uint32_t *)find_attr(IFLA_MAX_MTU, len), 9000);
	assert_int_equal(getsockname(sock, (struct sockaddr *)&self,
				     &self_len), 0);
	assert_int_equal(((struct nlmsghdr *)answer)->nlmsg_pid, self.nl_pid);
	close(sock);
}

TEST(other_links_are_those_of_real_kernel)
{
	struct request request, ours;
	int sock = open_socket();
	struct iovec iov[2];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	struct nlmsghdr *hdr = (struct nlmsghdr *)answer;

	request = new_request(RTM_GETLINK, 1);
	assert_string_equal(find_attr(IFLA_IFNAME, ask(sock, &request)), "lo");
	request = new_request(RTM_GETLINK, 10005);
	assert_int_equal(ask_ack(sock, &request), ENODEV);
	assert_int_equal(if_nametoindex(NAME), IFINDEX);
	assert_int_equal(if_nametoindex("lo"), 1);
	assert_int_equal(ioctl(sock, SIOCGIFMTU, (void *)8), -1);
	assert_int_equal(errno, EFAULT);

	/* Both kinds in one datagram: answered in order. */
	request = new_request(RTM_GETLINK, 1);
	ours = new_request(RTM_GETLINK, IFINDEX);
	iov[0] = (struct iovec){ &ours, ours.hdr.nlmsg_len };
	iov[1] = (struct iovec){ &request, request.hdr.nlmsg_len };
	assert_int_equal(sendmsg(sock, &msg, 0),
			 ours.hdr.nlmsg_len + request.hdr.nlmsg_len);
	assert_true(recv(sock, answer, sizeof(answer), 0) > 0);
	assert_int_equal(hdr->nlmsg_seq, ours.hdr.nlmsg_seq);
	assert_true(recv(sock, answer, sizeof(answer), 0) > 0);
	assert_int_equal(hdr->nlmsg_seq, request.hdr.nlmsg_seq);
	close(sock);
}

TEST(answer_is_received_like_datagram)
{
	struct sockaddr_nl from = { .nl_pid = 1 };
	struct request request;
	char little[8];
	struct iovec iov = { little, sizeof(little) };
	struct msghdr msg = { .msg_name = &from, .msg_namelen = sizeof(from),
			      .msg_iov = &iov, .msg_iovlen = 1 };
	int sock = open_socket();

	assert_int_equal(recv(sock, little, 8, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	request = new_request(RTM_GETLINK, IFINDEX);
	send(sock, &request, request.hdr.nlmsg_len, 0);
	assert_int_equal(recvmsg(sock, &msg, 0), 8);
	assert_true(msg.msg_flags & MSG_TRUNC);
	assert_int_equal(from.nl_family, AF_NETLINK);
	assert_int_equal(from.nl_pid, 0);
	assert_int_equal(recv(sock, little, 8, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	close(sock);
}

static struct ifreq
named(const char *name)
{
	struct ifreq ifr;

	memset(&ifr, 0, sizeof(ifr));
	strcpy(ifr.ifr_name, name);
	return ifr;
}

static uint64_t
nb_changes_under_qps(void)
{
	return MODEL_CALL(mana_model_violations)("netdev_change_under_raw_qps");
}

/* Linux accepts the change, and crashes when the last raw QP is destroyed. */
TEST(change_under_raw_qps_is_violation)
{
	int sock = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq ifr = named(NAME), other = named("mana1p0");
	struct ibv_port_attr port;
	struct fixture fx = { 0 };

	assert_int_equal(fx_open(&fx, 1, 2), 0);
	/* a context and a PD are no raw QP */
	ifr.ifr_mtu = 1400;
	assert_int_equal(ioctl(sock, SIOCSIFMTU, &ifr), 0);
	assert_int_equal(nb_changes_under_qps(), 0);

	assert_int_equal(fx_add_tx(&fx), 0);
	assert_int_equal(ioctl(sock, SIOCSIFMTU, &ifr), 0); /* unchanged */
	other.ifr_mtu = 9000;
	assert_int_equal(ioctl(sock, SIOCSIFMTU, &other), 0);
	other.ifr_mtu = 1500;
	assert_int_equal(ioctl(sock, SIOCSIFMTU, &other), 0);
	ifr.ifr_mtu = 9001; /* refused */
	assert_int_equal(ioctl(sock, SIOCSIFMTU, &ifr), -1);
	assert_int_equal(nb_changes_under_qps(), 0);
	ifr.ifr_mtu = 9000;
	assert_int_equal(ioctl(sock, SIOCSIFMTU, &ifr), 0);
	assert_int_equal(nb_changes_under_qps(), 1);
	assert_int_equal(ibv_query_port(fx.ctx, 2, &port), 0);
	assert_int_equal(port.active_mtu, IBV_MTU_4096);
	assert_int_equal(fx_close(&fx), 0);

	ifr.ifr_mtu = 1500;
	assert_int_equal(ioctl(sock, SIOCSIFMTU, &ifr), 0);
	/* Nor with the interface up, which has the vPort itself. */
	ifr.ifr_flags = IFF_UP;
	assert_int_equal(ioctl(sock, SIOCSIFFLAGS, &ifr), 0);
	ifr.ifr_mtu = 1400;
	assert_int_equal(ioctl(sock, SIOCSIFMTU, &ifr), 0);
	ifr.ifr_mtu = 1500;
	assert_int_equal(ioctl(sock, SIOCSIFMTU, &ifr), 0);
	ifr.ifr_flags = 0;
	assert_int_equal(ioctl(sock, SIOCSIFFLAGS, &ifr), 0);
	assert_int_equal(nb_changes_under_qps(), 1);
	close(sock);
	assert_no_objects();
}

TEST(ethtool_knows_the_function)
{
	struct ethtool_drvinfo driver = { .cmd = ETHTOOL_GDRVINFO };
	struct ethtool_ringparam rings = { .cmd = ETHTOOL_GRINGPARAM };

	assert_int_equal(fx_ethtool(NAME, &driver), 0);
	assert_string_equal(driver.bus_info, "7871:00:00.0");
	/* no driver asks for it */
	assert_int_equal(fx_ethtool(NAME, &rings), EOPNOTSUPP);
	assert_int_equal(fx_ethtool(NAME, (void *)8), EFAULT);
}

/* The link speed, as set by a command. */
TEST(speed_is_reported_by_card)
{
	uint32_t words[128] = { ETHTOOL_GLINKSETTINGS };
	struct ethtool_link_settings *link = (void *)words;

	fx_do("speed port=4 mbps=40000");
	assert_int_equal(fx_ethtool(NAME, link), 0);
	link->link_mode_masks_nwords *= -1;
	assert_int_equal(fx_ethtool(NAME, link), 0);
	assert_int_equal(link->speed, 40000);
	fx_do("speed port=4 unknown");
	assert_int_equal(fx_ethtool(NAME, link), 0);
	assert_int_equal(link->speed, UINT32_MAX);
	assert_int_equal(fx_command("speed port=4"), -EINVAL);
	assert_non_null(strstr(fx_message, "mbps=N"));
	fx_do("speed port=4 mbps=200000");
}

static bool
is_in_sysfs(const char *link)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", getenv("SYSFS_PATH"), link);
	return access(path, F_OK) == 0;
}

#define DEVICE_NET "class/infiniband/manae_1/device/net"

static void
check_is_here(int sock, int route, bool here)
{
	struct request request = new_request(RTM_GETLINK, IFINDEX);
	struct ifreq ifr = named(NAME);

	ask(route, &request);
	assert_int_equal(((struct nlmsghdr *)answer)->nlmsg_type,
			 here ? RTM_NEWLINK : NLMSG_ERROR);
	assert_int_equal(ioctl(sock, SIOCGIFFLAGS, &ifr), here ? 0 : -1);
	if (!here)
		assert_int_equal(errno, ENODEV);
}

/*
 * Moved to another network namespace, the netdev disappears, but the port
 * works.
 */
TEST(netdev_in_other_namespace_is_hidden)
{
	int sock = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq ifr = named(NAME);
	int route = open_socket();
	struct fixture fx = { 0 };

	ifr.ifr_flags = IFF_UP;
	assert_int_equal(ioctl(sock, SIOCSIFFLAGS, &ifr), 0);
	check_is_here(sock, route, true);
	fx_do("netns port=4 away");
	check_is_here(sock, route, false);
	assert_false(is_in_sysfs(DEVICE_NET "/" NAME));
	assert_false(is_in_sysfs("class/net/" NAME));
	/* The folder has no namespace, and the other port's netdev stays. */
	assert_true(is_in_sysfs(DEVICE_NET "/mana1p0"));
	/* It went down, so the port is free until it is set up there. */
	assert_int_equal(fx_open(&fx, 1, 2), 0);
	assert_int_equal(fx_add_tx(&fx), 0);
	assert_int_equal(fx_close(&fx), 0);
	fx_do("netdev port=4 up");
	assert_int_equal(fx_open(&fx, 1, 2), 0);
	assert_int_equal(fx_add_tx(&fx), EBUSY);
	assert_int_equal(fx_close(&fx), 0);

	fx_do("netns port=4 away sysfs");
	check_is_here(sock, route, false);
	assert_true(is_in_sysfs(DEVICE_NET "/" NAME "/dev_port"));
	fx_do("netns port=4 home");
	check_is_here(sock, route, true);
	assert_true(is_in_sysfs(DEVICE_NET "/" NAME));
	assert_true(is_in_sysfs("class/net/" NAME));
	ifr = named(NAME);
	assert_int_equal(ioctl(sock, SIOCGIFFLAGS, &ifr), 0);
	assert_int_equal(ifr.ifr_flags & IFF_UP, 0);
	close(route);
	close(sock);
	assert_no_objects();
}
