/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands for the netdevs of ports, like those of ip(8). */

#include <errno.h>

#include "kernel.h"
#include "kernel_commands.h"

static int
find_netdev(struct command_args *args, struct kernel_netdev *netdev)
{
	uint32_t fn, port, n = 0;
	int ret = command_port(args, &fn, &port);

	if (ret < 0)
		return ret;
	while ((ret = kernel_netdev_nth_anywhere(n++, netdev)) == 0)
		if (netdev->fn == fn && netdev->port == port)
			return 0;
	return command_fail(args, ret, "the port has no netdev now");
}

static int
run_netdev(struct command_args *args)
{
	struct kernel_netdev netdev;
	int ret = find_netdev(args, &netdev);
	bool up;

	if (ret < 0)
		return ret;
	ret = command_either(args, "up", "down", &up);
	if (ret < 0)
		return ret;
	ret = kernel_netdev_set_up(netdev.ifindex, up);
	return ret == -EBUSY ? command_fail(args, ret, "%s: a program is using "
					    "the port", netdev.name) :
			       ret;
}

static int
run_mtu(struct command_args *args)
{
	struct kernel_netdev netdev;
	uint64_t mtu = 0;
	int ret = find_netdev(args, &netdev);

	if (ret < 0)
		return ret;
	ret = command_number(args, "mtu", 1, UINT32_MAX, &mtu);
	if (ret == 0)
		return command_fail(args, -EINVAL, "give mtu=N");
	if (ret > 0)
		ret = command_end(args);
	if (ret == 0)
		ret = kernel_netdev_set_mtu(netdev.ifindex, (uint32_t)mtu);
	return ret == -EINVAL && args->message[0] == '\0' ?
		       command_fail(args, ret, "%s takes no MTU of %u: its "
				    "largest is %u", netdev.name,
				    (unsigned int)mtu, netdev.max_mtu) :
		       ret;
}

static int
run_speed(struct command_args *args)
{
	uint64_t mbps = KERNEL_SPEED_UNKNOWN;
	struct kernel_netdev netdev;
	int ret = find_netdev(args, &netdev);

	if (ret < 0)
		return ret;
	if (!command_word(args, "unknown")) {
		ret = command_number(args, "mbps", 1, INT32_MAX, &mbps);
		if (ret == 0)
			ret = command_fail(args, -EINVAL,
					   "give mbps=N or the word unknown");
		if (ret < 0)
			return ret;
	}
	ret = command_end(args);
	if (ret == 0)
		ret = kernel_netdev_set_speed(netdev.ifindex, (uint32_t)mbps);
	return ret;
}

static int
run_netns(struct command_args *args)
{
	enum kernel_netdev_ns ns = KERNEL_NETDEV_OWN_NS;
	struct kernel_netdev netdev;
	int ret = find_netdev(args, &netdev);
	bool away, home, seen;

	if (ret < 0)
		return ret;
	away = command_word(args, "away");
	home = command_word(args, "home");
	seen = command_word(args, "sysfs");
	if (away == home || (home && seen))
		return command_fail(args, -EINVAL,
				    "give away, away sysfs, or home");
	ret = command_end(args);
	if (ret < 0)
		return ret;
	if (away)
		ns = seen ? KERNEL_NETDEV_OTHER_NS_IN_SYSFS :
			    KERNEL_NETDEV_OTHER_NS;
	return kernel_netdev_set_ns(netdev.ifindex, ns);
}

const struct command commands_net[] = {
	{ "netdev", "port=N up|down", "set the port's netdev up or down, as ip link set",
	  run_netdev },
	{ "mtu", "port=N mtu=N", "change the MTU of the port's netdev",
	  run_mtu },
	{ "netns", "port=N away [sysfs]|home",
	  "move the port's netdev to another network namespace, or back; sysfs: "
	  "/sys shows that namespace", run_netns },
	{ "speed", "port=N mbps=N|unknown",
	  "set the link speed that the adapter reports", run_speed },
	{ NULL, NULL, NULL, NULL },
};
