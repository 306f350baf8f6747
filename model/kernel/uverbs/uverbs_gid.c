/* SPDX-License-Identifier: BSD-3-Clause */

/* The GIDs of a context's device. */

#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "function.h"
#include "kernel_version.h"
#include "uverbs.h"

#define GID_TYPE_ROCE_V2 2 /* IB_UVERBS_GID_TYPE_ROCE_V2 */

/* Size of the GID table of port 1; other ports have none. */
static uint32_t
nb_gids(const struct rdma_device *device)
{
	return kernel_version_port(device->is_rnic)->nb_gids_first;
}

/*
 * Entry 0 of a GID table is made from the MAC address (RoCE v2, link-local).
 * False: the entry is empty.
 */
static bool
gid_of(const struct rdma_device *device, uint32_t index,
       struct ib_uverbs_gid_entry *entry)
{
	static const uint8_t prefix[8] = { 0xfe, 0x80 };

	if (index != 0 || nb_gids(device) == 0)
		return false;
	memset(entry, 0, sizeof(*entry));
	memcpy(entry->gid, prefix, sizeof(prefix));
	memcpy((uint8_t *)entry->gid + sizeof(prefix), device->node_guid,
	       sizeof(device->node_guid));
	entry->port_num = 1;
	entry->gid_type = GID_TYPE_ROCE_V2;
	entry->netdev_ifindex = function_at(device->fn)->first_ifindex;
	return true;
}

/* ib_uverbs_handler(QUERY_GID_TABLE) */
int
uverbs_query_gid_table(struct uverbs_call *call)
{
	const struct ib_uverbs_attr *entries =
		uverbs_attr(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
	const uint64_t size =
		uverbs_number(call, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE);
	struct ib_uverbs_gid_entry entry;
	struct rdma_device device;
	uint64_t nb = 0;
	int rc;

	uverbs_begin(call, "query_gid_table", "%s", "");
	if (uverbs_number(call, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS) != 0 ||
	    size == 0)
		return -EINVAL;
	rc = uverbs_device_of(call, &device);
	if (rc == 0 && gid_of(&device, 0, &entry) && entries->len >= size) {
		nb = 1;
		rc = uverbs_out(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES,
				&entry, size < sizeof(entry) ? size :
							       sizeof(entry));
	}
	return rc < 0 ? rc :
		uverbs_out(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES,
			   &nb, sizeof(nb));
}

/* ib_uverbs_handler(QUERY_GID_ENTRY) */
int
uverbs_query_gid_entry(struct uverbs_call *call)
{
	const uint64_t port =
		uverbs_number(call, UVERBS_ATTR_QUERY_GID_ENTRY_PORT);
	const uint64_t index =
		uverbs_number(call, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX);
	struct ib_uverbs_gid_entry entry;
	struct rdma_device device;
	int rc;

	uverbs_begin(call, "query_gid", " port=%u index=%u", (uint32_t)port,
		     (uint32_t)index);
	if (uverbs_number(call, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS) != 0)
		return -EINVAL;
	rc = uverbs_device_of(call, &device);
	if (rc < 0)
		return rc;
	if (port != 1 || index >= nb_gids(&device))
		return -EINVAL;
	if (!gid_of(&device, (uint32_t)index, &entry))
		return -ENODATA;
	return uverbs_out(call, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, &entry,
			  sizeof(entry));
}
