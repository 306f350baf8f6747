/* SPDX-License-Identifier: BSD-3-Clause */

/* RDMA netlink: libibverbs finds devices by it (ibdev_nl.c, core/nldev.c). */

#include <endian.h>
#include <errno.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <string.h>

#include "fault.h"
#include "function.h"
#include "kernel.h"
#include "kernel_version.h"
#include "machine.h"
#include "mana_abi.h"
#include "netdev_list.h"
#include "netlink.h"
#include "nl_write.h"
#include "segment.h"

#define NODE_TYPE_CA 1 /* RDMA_NODE_IB_CA */
/* IB_PORT_DOWN and others. */
#define PORT_DOWN 1
#define PORT_ACTIVE 4
#define PORT_DISABLED 3
#define PORT_LINK_UP 5
/* rdma_netlink.h of Linux 6.12 */
#define ATTR_NAME_ASSIGN_TYPE 101
#define ATTR_PRIVILEGED_QKEY 96
#define ATTR_MONITOR 103

/* More than any answer has. */
#define ANSWER_BYTES 512

static void
begin_answer(struct nl_write *w, const struct nlmsghdr *request, int cmd, int flags)
{
	nl_write_begin(w, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, cmd), (uint16_t)flags,
		       request->nlmsg_seq, "", 0);
}

static void
end_answer(struct nl_write *w, struct netlink_sink *sink)
{
	nl_write_end(w, (struct nlmsghdr *)(void *)w->buf);
	sink->answer(sink, w->buf, w->nb_bytes);
}

/* core/nldev.c fill_dev_info() */
static void
answer_device(const struct nlmsghdr *request, const struct rdma_device *device,
	      int flags, struct netlink_sink *sink)
{
	char buf[ANSWER_BYTES] __attribute__((aligned(8)));
	struct nl_write w = { .buf = buf, .room = sizeof(buf) };
	uint64_t guid;

	memcpy(&guid, device->node_guid, sizeof(guid));
	begin_answer(&w, request, RDMA_NLDEV_CMD_GET, flags);
	nl_write_u32(&w, RDMA_NLDEV_ATTR_DEV_INDEX, device->index);
	nl_write_text(&w, RDMA_NLDEV_ATTR_DEV_NAME, device->name);
	nl_write_u32(&w, RDMA_NLDEV_ATTR_PORT_INDEX, device->nb_ports);
	nl_write_u64(&w, RDMA_NLDEV_ATTR_NODE_GUID, be64toh(guid));
	nl_write_u64(&w, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, 0);
	nl_write_u8(&w, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, NODE_TYPE_CA);
	nl_write_u64(&w, RDMA_NLDEV_ATTR_CAP_FLAGS,
		     kernel_version_limits(device->is_rnic)->device_cap_flags);
	nl_write_u8(&w, RDMA_NLDEV_ATTR_DEV_DIM, 0);
	nl_write_u8(&w, ATTR_NAME_ASSIGN_TYPE, 0);
	/* Of the first port, if it has GIDs. */
	if (kernel_version_port(device->is_rnic)->nb_gids_first > 0)
		nl_write_text(&w, RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce");
	end_answer(&w, sink);
}

static void
dump_devices(const struct nlmsghdr *request, struct netlink_sink *sink)
{
	struct rdma_device device;

	for (uint32_t i = 0; rdma_device_nth(i, &device); i++)
		answer_device(request, &device, NLM_F_MULTI, sink);
	netlink_answer_done(request, sink);
}

/* fill_port_info(); port from 1 */
static void
answer_port(const struct nlmsghdr *request, const struct rdma_device *device,
	    uint32_t port, int cmd, int flags, struct netlink_sink *sink)
{
	char buf[ANSWER_BYTES] __attribute__((aligned(8)));
	struct nl_write w = { .buf = buf, .room = sizeof(buf) };
	struct kernel_netdev netdev;
	bool is_active;

	segment_lock();
	netdev_get(device->fn, port - 1, &netdev);
	segment_unlock();
	is_active = netdev.is_up && netdev.carrier;
	begin_answer(&w, request, cmd, flags);
	nl_write_u32(&w, RDMA_NLDEV_ATTR_DEV_INDEX, device->index);
	nl_write_text(&w, RDMA_NLDEV_ATTR_DEV_NAME, device->name);
	nl_write_u32(&w, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	nl_write_u8(&w, RDMA_NLDEV_ATTR_PORT_STATE,
		    is_active ? PORT_ACTIVE : PORT_DOWN);
	nl_write_u8(&w, RDMA_NLDEV_ATTR_PORT_PHYS_STATE,
		    is_active ? PORT_LINK_UP : PORT_DISABLED);
	/* mana_ib gives the core the netdev of the port with GIDs only. */
	if (port == 1 && kernel_version_port(device->is_rnic)->nb_gids_first > 0) {
		nl_write_u32(&w, RDMA_NLDEV_ATTR_NDEV_INDEX, netdev.ifindex);
		nl_write_text(&w, RDMA_NLDEV_ATTR_NDEV_NAME, netdev.name);
	}
	end_answer(&w, sink);
}

/* Get the device of DEV_INDEX. */
static int
get_index(struct nlattr **attrs, struct rdma_device *device)
{
	uint32_t i, index;

	if (attrs[RDMA_NLDEV_ATTR_DEV_INDEX] == NULL)
		return -EINVAL;
	index = nla_get_u32(attrs[RDMA_NLDEV_ATTR_DEV_INDEX]);
	for (i = 0; rdma_device_nth(i, device); i++)
		if (device->index == index)
			return 0;
	return -EINVAL;
}

/* nldev_port_get_dumpit(): without a device there are no ports. */
static void
dump_ports(const struct nlmsghdr *request, struct nlattr **attrs,
	   struct netlink_sink *sink)
{
	struct rdma_device device;

	if (get_index(attrs, &device) == 0)
		for (uint32_t port = 1; port <= device.nb_ports; port++)
			answer_port(request, &device, port,
				    RDMA_NLDEV_CMD_PORT_GET, NLM_F_MULTI, sink);
	netlink_answer_done(request, sink);
}

/* nldev_port_get_doit(): its answer has the type of a device's. */
static int
get_port(const struct nlmsghdr *request, struct nlattr **attrs,
	 struct netlink_sink *sink)
{
	struct rdma_device device;
	uint32_t port;
	int rc;

	if (attrs[RDMA_NLDEV_ATTR_PORT_INDEX] == NULL)
		return -EINVAL;
	rc = get_index(attrs, &device);
	if (rc < 0)
		return rc;
	port = nla_get_u32(attrs[RDMA_NLDEV_ATTR_PORT_INDEX]);
	if (port == 0 || port > device.nb_ports)
		return -EINVAL;
	answer_port(request, &device, port, RDMA_NLDEV_CMD_GET, 0, sink);
	return 0;
}

static int
answer_chardev(const struct nlmsghdr *request, struct nlattr **attrs,
	       struct netlink_sink *sink)
{
	char buf[ANSWER_BYTES] __attribute__((aligned(8)));
	struct nl_write w = { .buf = buf, .room = sizeof(buf) };
	struct rdma_device device;
	char name[RDMA_NAME_BYTES];
	uint32_t minor;
	int rc;

	if (attrs[RDMA_NLDEV_ATTR_CHARDEV_TYPE] == NULL)
		return -EINVAL;
	rc = get_index(attrs, &device);
	if (rc < 0)
		return rc;
	if (nla_strcmp(attrs[RDMA_NLDEV_ATTR_CHARDEV_TYPE], "uverbs") != 0)
		return -EOPNOTSUPP;

	snprintf(name, sizeof(name), "uverbs%u", device.number);
	minor = KERNEL_UVERBS_MINOR_BASE + device.number;
	begin_answer(&w, request, RDMA_NLDEV_CMD_GET_CHARDEV, 0);
	nl_write_text(&w, RDMA_NLDEV_ATTR_CHARDEV_NAME, name);
	nl_write_u64(&w, RDMA_NLDEV_ATTR_CHARDEV_ABI, MANA_ABI_UVERBS_VERSION);
	/* The kernel's "huge" encoding of a device number. */
	nl_write_u64(&w, RDMA_NLDEV_ATTR_CHARDEV,
		     (minor & 0xff) | KERNEL_UVERBS_MAJOR << 8 |
		     (uint64_t)(minor & ~0xffu) << 12);
	/* Without the driver id libibverbs does not find its provider. */
	nl_write_u32(&w, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, MANA_ABI_DRIVER_ID);
	end_answer(&w, sink);
	return 0;
}

static void
answer_system(const struct nlmsghdr *request, struct netlink_sink *sink)
{
	char buf[ANSWER_BYTES] __attribute__((aligned(8)));
	struct nl_write w = { .buf = buf, .room = sizeof(buf) };

	begin_answer(&w, request, RDMA_NLDEV_CMD_SYS_GET, 0);
	nl_write_u8(&w, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1); /* shared */
	nl_write_u8(&w, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
	nl_write_u8(&w, ATTR_PRIVILEGED_QKEY, 0);
	nl_write_u8(&w, ATTR_MONITOR, 1);
	end_answer(&w, sink);
}

static int
run_request(const struct nlmsghdr *request, struct netlink_sink *sink)
{
	static const struct nla_policy policy[RDMA_NLDEV_ATTR_MAX] = {
		[RDMA_NLDEV_ATTR_DEV_INDEX] = { .type = NLA_U32 },
		[RDMA_NLDEV_ATTR_PORT_INDEX] = { .type = NLA_U32 },
		[RDMA_NLDEV_ATTR_CHARDEV_TYPE] = { .type = NLA_NUL_STRING,
						   .maxlen = 128 },
	};
	const bool is_dump = (request->nlmsg_flags & NLM_F_DUMP) != 0;
	struct nlattr *attrs[RDMA_NLDEV_ATTR_MAX];
	struct rdma_device device;
	int rc;

	segment_lock();
	rc = fault_check(FAULT_netlink);
	segment_unlock();
	if (rc < 0)
		return rc;
	if (RDMA_NL_GET_CLIENT(request->nlmsg_type) != RDMA_NL_NLDEV)
		return -EINVAL;
	if (nlmsg_parse((struct nlmsghdr *)(uintptr_t)request, 0, attrs,
			RDMA_NLDEV_ATTR_MAX - 1, policy) < 0)
		return -EINVAL;

	switch (RDMA_NL_GET_OP(request->nlmsg_type)) {
	case RDMA_NLDEV_CMD_GET:
		if (is_dump) {
			dump_devices(request, sink);
			return 0;
		}
		rc = get_index(attrs, &device);
		if (rc == 0)
			answer_device(request, &device, 0, sink);
		return rc;
	case RDMA_NLDEV_CMD_PORT_GET:
		if (!is_dump)
			return get_port(request, attrs, sink);
		dump_ports(request, attrs, sink);
		return 0;
	case RDMA_NLDEV_CMD_GET_CHARDEV:
		return answer_chardev(request, attrs, sink);
	case RDMA_NLDEV_CMD_SYS_GET:
		answer_system(request, sink);
		return 0;
	default: /* resources and counters are not modelled */
		return -EINVAL;
	}
}

void
rdma_netlink_request(const struct nlmsghdr *request, struct netlink_sink *sink)
{
	int rc;

	if ((request->nlmsg_flags & NLM_F_REQUEST) == 0)
		return;
	rc = run_request(request, sink);
	machine_tick();
	/* A successful dump ends with NLMSG_DONE only. */
	if (rc == 0 && (request->nlmsg_flags & NLM_F_DUMP) != 0)
		return;
	netlink_finish(request, rc, sink);
}
