/* SPDX-License-Identifier: BSD-3-Clause */

/* Lists of a context's objects and of its device's GIDs. */

#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "context.h"
#include "function.h"
#include "kernel_version.h"
#include "mem.h"
#include "uverbs.h"
#include "verbs.h"

#define GID_TYPE_ROCE_V2 2 /* IB_UVERBS_GID_TYPE_ROCE_V2 */

/* core/uverbs_std_types_device.c; -ENOENT: this device has no such objects. */
int
uverbs_info_handles(struct uverbs_call *call)
{
	static const int kinds[] = {
		[UVERBS_OBJECT_PD] = OBJECT_PD,
		[UVERBS_OBJECT_CQ] = OBJECT_CQ,
		[UVERBS_OBJECT_QP] = OBJECT_QP,
		[UVERBS_OBJECT_MR] = OBJECT_MR,
		[UVERBS_OBJECT_WQ] = OBJECT_WQ,
		[UVERBS_OBJECT_RWQ_IND_TBL] = OBJECT_IND,
	};
	const uint64_t id = uverbs_number(call, UVERBS_ATTR_INFO_OBJECT_ID);
	const struct ib_uverbs_attr *list =
		uverbs_attr(call, UVERBS_ATTR_INFO_HANDLES_LIST);
	uint32_t handles[64], room, nb = 0;
	int rc;

	uverbs_begin(call, "info_handles", " object=%u", (uint32_t)id);
	room = list->len / sizeof(handles[0]);
	if (room > sizeof(handles) / sizeof(handles[0]))
		room = sizeof(handles) / sizeof(handles[0]);
	if (id < sizeof(kinds) / sizeof(kinds[0]) && kinds[id] != OBJECT_FREE)
		nb = verbs_nb_handles(call->context, kinds[id], handles, room);
	else if (id != UVERBS_OBJECT_DEVICE &&
		 id != UVERBS_OBJECT_COMP_CHANNEL && /* these have no handles */
		 id != UVERBS_OBJECT_ASYNC_EVENT &&
		 (id != UVERBS_OBJECT_MW || !kernel_version()->has_reg_mr_method))
		return -ENOENT;
	if (nb > room)
		nb = room;
	rc = nb == 0 ? 0 : uverbs_out(call, UVERBS_ATTR_INFO_HANDLES_LIST,
				      handles, nb * sizeof(handles[0]));
	return rc < 0 ? rc : uverbs_out_u32(call, UVERBS_ATTR_INFO_TOTAL_HANDLES,
					    nb);
}

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
