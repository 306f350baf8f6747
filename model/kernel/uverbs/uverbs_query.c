/* SPDX-License-Identifier: BSD-3-Clause */

/* Queries about a context, its device and the ports. */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "context.h"
#include "fault.h"
#include "function.h"
#include "kernel_version.h"
#include "uverbs.h"
#include "verbs.h"

#define PORT_STATE_DOWN 1
#define PORT_STATE_ACTIVE 4
#define PHYS_STATE_DISABLED 3
#define PHYS_STATE_LINK_UP 5
#define IB_MTU_4096 5

int
uverbs_get_context(struct uverbs_call *call)
{
	const uint64_t core_support = kernel_version()->core_support;
	int rc;

	uverbs_begin(call, "get_context", "%s", "");
	rc = verbs_get_context(call->context);
	if (rc == 0)
		rc = uverbs_out_u32(call,
				    UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS,
				    kernel_version()->nb_comp_vectors);
	return rc != 0 ? rc :
		uverbs_out(call, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT,
			   &core_support, sizeof(core_support));
}

int
uverbs_device_of(const struct uverbs_call *call, struct rdma_device *device)
{
	int number = kernel_context_number(call->context);

	return number >= 0 && rdma_device_find(number, device) ? 0 : -EIO;
}

static int
count_query(enum fault_call which)
{
	int rc;

	segment_lock();
	rc = fault_check(which);
	segment_unlock();
	return rc;
}

/* enum ib_mtu: 1 is 256 bytes, each further one doubles. */
static uint8_t
mtu_enum(uint32_t mtu)
{
	uint8_t value = 1;

	while (value < IB_MTU_4096 && mtu >= 256u << value)
		value++;
	return value;
}

/* mana_ib_query_port(), and additions of core/uverbs_std_types_device.c. */
static void
fill_port(const struct kernel_port_answer *answer,
	  const struct kernel_port *port, bool is_first, bool is_active,
	  struct ib_uverbs_query_port_resp *resp)
{
	memset(resp, 0, sizeof(*resp));
	resp->link_layer = answer->link_layer;
	if (!answer->is_filled)
		return;
	resp->state = is_active ? PORT_STATE_ACTIVE : PORT_STATE_DOWN;
	resp->phys_state = is_active ? PHYS_STATE_LINK_UP : PHYS_STATE_DISABLED;
	resp->max_mtu = IB_MTU_4096;
	resp->active_mtu = mtu_enum(port->mtu);
	resp->pkey_tbl_len = answer->nb_pkeys;
	resp->gid_tbl_len = is_first ? answer->nb_gids_first :
				       answer->nb_gids_others;
	resp->active_width = is_first ? answer->width_first :
					answer->width_others;
	resp->active_speed = is_first ? answer->speed_first :
					answer->speed_others;
	resp->max_msg_sz = answer->max_msg_bytes;
	if (is_first && answer->nb_gids_first > 0)
		resp->flags = IB_UVERBS_QPF_GRH_REQUIRED; /* RoCE */
}

int
uverbs_query_port(struct uverbs_call *call)
{
	uint64_t port = uverbs_number(call, UVERBS_ATTR_QUERY_PORT_PORT_NUM);
	const struct kernel_version *version = kernel_version();
	struct ib_uverbs_query_port_resp_ex resp;
	const struct kernel_port *state;
	struct rdma_device device;
	bool is_active;
	int rc;

	uverbs_begin(call, "query_port", " port=%u", (uint32_t)port);
	rc = count_query(FAULT_query_port);
	if (rc == 0)
		rc = uverbs_device_of(call, &device);
	if (rc < 0)
		return rc;
	if (port == 0 || port > device.nb_ports)
		return -EINVAL;
	state = &segment_kernel()->port[device.fn][port - 1];
	is_active = state->is_up &&
		    (state->carrier || !version->carrier_is_link);

	memset(&resp, 0, sizeof(resp));
	fill_port(kernel_version_port(device.is_rnic), state, port == 1, is_active,
		  &resp.legacy_resp);
	return uverbs_out(call, UVERBS_ATTR_QUERY_PORT_RESP, &resp,
			  sizeof(resp));
}

/* mana_ib_query_device(); the rest is 0. */
static void
fill_device(const struct rdma_device *device,
	    struct ib_uverbs_query_device_resp *resp)
{
	const struct kernel_limits *limits = kernel_version_limits(device->is_rnic);

	memset(resp, 0, sizeof(*resp));
	memcpy(&resp->node_guid, device->node_guid, sizeof(resp->node_guid));
	resp->max_mr_size = UINT64_MAX; /* MANA_IB_MAX_MR_SIZE */
	resp->page_size_cap = limits->page_size_cap;
	resp->vendor_id = limits->vendor_id;
	resp->vendor_part_id = limits->vendor_part_id;
	resp->device_cap_flags = limits->device_cap_flags;
	resp->max_qp = limits->max_qp;
	resp->max_qp_wr = limits->max_qp_wr;
	resp->max_sge = limits->max_sge; /* the lower one of two */
	resp->max_sge_rd = limits->max_sge_rd;
	resp->max_cq = limits->max_cq;
	resp->max_cqe = limits->max_cqe;
	resp->max_mr = limits->max_mr;
	resp->max_pd = limits->max_pd;
	resp->max_ah = limits->max_ah;
	resp->max_pkeys = limits->max_pkeys;
	resp->local_ca_ack_delay = limits->local_ca_ack_delay;
	resp->phys_port_cnt = device->nb_ports;
}

int
uverbs_query_device(struct uverbs_call *call)
{
	struct ib_uverbs_query_device_resp resp;
	struct rdma_device device;
	int rc;

	uverbs_begin(call, "query_device", "%s", "");
	rc = count_query(FAULT_query_device);
	if (rc == 0)
		rc = uverbs_device_of(call, &device);
	if (rc < 0)
		return rc;
	fill_device(&device, &resp);
	return uverbs_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

int
uverbs_query_device_ex(struct uverbs_call *call)
{
	struct ib_uverbs_ex_query_device_resp resp;
	struct rdma_device device;
	const struct ib_uverbs_attr *out;
	struct ib_uverbs_ex_query_device cmd;
	int rc;

	static_assert(sizeof(resp) == 304, "query_device_ex");
	uverbs_begin(call, "query_device", "%s", "");
	rc = count_query(FAULT_query_device);
	if (rc == 0)
		rc = uverbs_device_of(call, &device);
	if (rc < 0)
		return rc;
	rc = uverbs_in_or_zero(call, UVERBS_ATTR_CORE_IN, &cmd, sizeof(cmd));
	if (rc < 0)
		return rc;
	if (cmd.comp_mask != 0 || cmd.reserved != 0)
		return -EINVAL;

	memset(&resp, 0, sizeof(resp));
	fill_device(&device, &resp.base);
	out = uverbs_attr(call, UVERBS_ATTR_CORE_OUT);
	if (out == NULL)
		return 0;
	resp.response_length = out->len < sizeof(resp) ? out->len :
							 sizeof(resp);
	resp.device_cap_flags_ex = resp.base.device_cap_flags;
	resp.raw_packet_caps = kernel_version_limits(device.is_rnic)->raw_packet_caps;
	return uverbs_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}
