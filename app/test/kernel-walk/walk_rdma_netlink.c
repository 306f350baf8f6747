/* SPDX-License-Identifier: BSD-3-Clause */

/* RDMA netlink, by which libibverbs finds devices and rdma(8) shows them. */

#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "netlink.h"
#include "walk.h"

static const char *prefix;
static uint32_t dev_index = UINT32_MAX;

static bool
is_text(struct rtattr *attr)
{
	switch (attr->rta_type) {
	case RDMA_NLDEV_ATTR_DEV_NAME:
	case RDMA_NLDEV_ATTR_FW_VERSION:
	case RDMA_NLDEV_ATTR_NDEV_NAME:
	case RDMA_NLDEV_ATTR_LINK_TYPE:
	case RDMA_NLDEV_ATTR_CHARDEV_NAME:
	case RDMA_NLDEV_ATTR_CHARDEV_TYPE:
	case RDMA_NLDEV_ATTR_DEV_PROTOCOL:
	case RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME:
		return true;
	default:
		return false;
	}
}

/* What each kernel and machine chooses for itself. */
static bool
is_own(struct rtattr *attr)
{
	switch (attr->rta_type) {
	case RDMA_NLDEV_ATTR_DEV_INDEX:
	case RDMA_NLDEV_ATTR_NODE_GUID:
	case RDMA_NLDEV_ATTR_SYS_IMAGE_GUID:
	case RDMA_NLDEV_ATTR_NDEV_INDEX:
	case RDMA_NLDEV_ATTR_CHARDEV:
		return true;
	default:
		return false;
	}
}

static void
print_attrs(struct rtattr *attr, int left, unsigned int depth)
{
	char what[128], text[256];

	for (; RTA_OK(attr, left); attr = RTA_NEXT(attr, left)) {
		const uint16_t type = attr->rta_type & NLA_TYPE_MASK;

		snprintf(what, sizeof(what), "%s %*sattribute %u, %u bytes",
			 prefix, (int)(2 * depth), "", type,
			 is_text(attr) ? 0 : (uint32_t)RTA_PAYLOAD(attr));
		if (attr->rta_type & NLA_F_NESTED ||
		    type == RDMA_NLDEV_ATTR_RES_SUMMARY ||
		    type == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY) {
			snprintf(what, sizeof(what), "%s %*sattribute %u",
				 prefix, (int)(2 * depth), "", type);
			walk_note(what, "nested");
			print_attrs(RTA_DATA(attr), (int)RTA_PAYLOAD(attr),
				    depth + 1);
		} else if (is_text(attr)) {
			snprintf(text, sizeof(text), "%.*s",
				 (int)RTA_PAYLOAD(attr),
				 (const char *)RTA_DATA(attr));
			walk_note(what, "\"%s\"", walk_symbols(text));
		} else if (is_own(attr)) {
			walk_note(what, "%s",
				  netlink_number(attr) == 0 ? "0" : "value");
		} else {
			walk_note(what, "0x%llx",
				  (unsigned long long)netlink_number(attr));
		}
	}
}

static struct rtattr *
find(struct nlmsghdr *hdr, uint16_t type)
{
	struct rtattr *attr;
	int left;

	NETLINK_FOR_EACH(attr, left, hdr, 0)
	if (attr->rta_type == type)
		return attr;
	return NULL;
}

static void
print(struct nlmsghdr *hdr)
{
	walk_note(prefix, "message of type 0x%x", hdr->nlmsg_type);
	print_attrs(NLMSG_DATA(hdr), (int)(hdr->nlmsg_len - NLMSG_HDRLEN), 0);
}

/* Only of the walked device: a machine may have others. */
static void
print_own(struct nlmsghdr *hdr)
{
	struct rtattr *name = find(hdr, RDMA_NLDEV_ATTR_DEV_NAME);
	struct rtattr *index = find(hdr, RDMA_NLDEV_ATTR_DEV_INDEX);

	if (name == NULL || strcmp(RTA_DATA(name), walk_device.rdma) != 0)
		return;
	if (index != NULL)
		dev_index = (uint32_t)netlink_number(index);
	print(hdr);
}

static void
ask(int sock, const char *what, int cmd, uint16_t flags, bool has_index,
    uint32_t index, int64_t port)
{
	const uint32_t port_number = (uint32_t)port;
	struct netlink_request request;

	prefix = what;
	netlink_start(&request, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, cmd), flags,
		      NULL, 0);
	if (has_index)
		netlink_add(&request, RDMA_NLDEV_ATTR_DEV_INDEX, &index, 4);
	if (port >= 0)
		netlink_add(&request, RDMA_NLDEV_ATTR_PORT_INDEX, &port_number,
			    4);
	walk_result(netlink_ask(sock, &request,
				flags & NLM_F_DUMP && !has_index ? print_own :
								   print),
		    what);
}

static void
ask_node(int sock, const char *what, const char *type, uint32_t index)
{
	struct netlink_request request;

	prefix = what;
	netlink_start(&request,
		      RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET_CHARDEV),
		      0, NULL, 0);
	netlink_add(&request, RDMA_NLDEV_ATTR_DEV_INDEX, &index, 4);
	if (type != NULL)
		netlink_add(&request, RDMA_NLDEV_ATTR_CHARDEV_TYPE, type,
			    (uint16_t)(strlen(type) + 1));
	walk_result(netlink_ask(sock, &request, print), what);
}

/* Resources: PDs, CQs and others that the process has, which is none. */
static void
resources(int sock)
{
	static const struct {
		const char *what;
		int cmd;
	} kinds[] = {
		{ "summary", RDMA_NLDEV_CMD_RES_GET },
		{ "QPs", RDMA_NLDEV_CMD_RES_QP_GET },
		{ "CQs", RDMA_NLDEV_CMD_RES_CQ_GET },
		{ "MRs", RDMA_NLDEV_CMD_RES_MR_GET },
		{ "PDs", RDMA_NLDEV_CMD_RES_PD_GET },
		{ "contexts", RDMA_NLDEV_CMD_RES_CTX_GET },
		{ "SRQs", RDMA_NLDEV_CMD_RES_SRQ_GET },
	};

	walk_name("rdma resources");
	ask(sock, "summary", RDMA_NLDEV_CMD_RES_GET, 0, true, dev_index, -1);
	for (size_t i = 1; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		ask(sock, kinds[i].what, kinds[i].cmd, NLM_F_DUMP, true,
		    dev_index, -1);
}

void
walk_rdma_netlink(void)
{
	int sock = netlink_open(NETLINK_RDMA, 0);

	walk_name("rdma device");
	ask(sock, "dump", RDMA_NLDEV_CMD_GET, NLM_F_DUMP, false, 0, -1);
	ask(sock, "by index", RDMA_NLDEV_CMD_GET, 0, true, dev_index, -1);
	ask(sock, "unknown index", RDMA_NLDEV_CMD_GET, 0, true, 99999, -1);
	ask(sock, "no index", RDMA_NLDEV_CMD_GET, 0, false, 0, -1);
	walk_name("rdma port");
	ask(sock, "dump", RDMA_NLDEV_CMD_PORT_GET, NLM_F_DUMP, true, dev_index,
	    -1);
	ask(sock, "dump, no index", RDMA_NLDEV_CMD_PORT_GET, NLM_F_DUMP, false,
	    0, -1);
	ask(sock, "port 1", RDMA_NLDEV_CMD_PORT_GET, 0, true, dev_index, 1);
	ask(sock, "port 0", RDMA_NLDEV_CMD_PORT_GET, 0, true, dev_index, 0);
	ask(sock, "port 3", RDMA_NLDEV_CMD_PORT_GET, 0, true, dev_index, 3);
	ask(sock, "no port", RDMA_NLDEV_CMD_PORT_GET, 0, true, dev_index, -1);
	walk_name("rdma node");
	ask_node(sock, "uverbs", "uverbs", dev_index);
	ask_node(sock, "umad", "umad", dev_index);
	ask_node(sock, "issm", "issm", dev_index);
	ask_node(sock, "rdma_cm", "rdma_cm", dev_index);
	ask_node(sock, "unknown type", "nosuchtype", dev_index);
	ask_node(sock, "no type", NULL, dev_index);
	ask_node(sock, "unknown index", "uverbs", 99999);
	walk_name("rdma system");
	ask(sock, "get", RDMA_NLDEV_CMD_SYS_GET, 0, false, 0, -1);
	ask(sock, "statistics", RDMA_NLDEV_CMD_STAT_GET, 0, true, dev_index, 1);
	ask(sock, "command 200", 200, 0, true, dev_index, -1);
	resources(sock);
	close(sock);
}
