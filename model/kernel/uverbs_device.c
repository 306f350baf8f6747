/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Methods of the device object: context, queries, and the commands of the
 * old write() interface that are still sent through INVOKE_WRITE.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "context.h"
#include "fault.h"
#include "mana_abi.h"
#include "uverbs.h"
#include "verbs.h"

#define PCI_VENDOR_MICROSOFT 0x1414
#define GDMA_DEVICE_MANA 2		/* vendor_part_id of manae_N */
#define PAGE_SIZE_CAP 0x3ff000ULL	/* 4 KiB .. 2 MiB */
#define RAW_PACKET_CAP_IP_CSUM 4
#define PORT_STATE_DOWN 1
#define PORT_STATE_ACTIVE 4
#define PHYS_STATE_DISABLED 3
#define PHYS_STATE_LINK_UP 5
#define LINK_LAYER_ETHERNET 2
#define IB_MTU_4096 5

static int
get_context(struct uverbs_call *call)
{
	uint64_t core_support = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
	int rc;

	rc = verbs_get_context(call->context);
	if (rc == 0)
		rc = uverbs_out_u32(call,
			UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS,
			KERNEL_NB_COMP_VECTORS);
	if (rc == 0)
		rc = uverbs_out(call, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT,
				&core_support, sizeof(core_support));
	return rc;
}

static int
query_context(struct uverbs_call *call)
{
	uint64_t core_support = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
	int rc;

	rc = uverbs_out_u32(call, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS,
			    KERNEL_NB_COMP_VECTORS);
	if (rc == 0)
		rc = uverbs_out(call, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT,
				&core_support, sizeof(core_support));
	return rc;
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

static int
query_port(struct uverbs_call *call)
{
	uint64_t port = uverbs_number(call, UVERBS_ATTR_QUERY_PORT_PORT_NUM);
	int fn = kernel_context_fn(call->context);
	struct ib_uverbs_query_port_resp_ex resp;
	const struct kernel_port *state;
	int rc;

	rc = count_query(FAULT_query_port);
	if (rc < 0)
		return rc;
	if (fn < 0)
		return fn;
	if (port == 0 || port > segment_config()->nb_ports[fn])
		return -EINVAL;
	state = &segment_kernel()->port[fn][port - 1];

	memset(&resp, 0, sizeof(resp));
	resp.legacy_resp.state = state->is_up ? PORT_STATE_ACTIVE :
						PORT_STATE_DOWN;
	resp.legacy_resp.phys_state = state->is_up ? PHYS_STATE_LINK_UP :
						     PHYS_STATE_DISABLED;
	resp.legacy_resp.max_mtu = IB_MTU_4096;
	resp.legacy_resp.active_mtu = mtu_enum(state->mtu);
	resp.legacy_resp.link_layer = LINK_LAYER_ETHERNET;
	return uverbs_out(call, UVERBS_ATTR_QUERY_PORT_RESP, &resp,
			  sizeof(resp));
}

/* mana_ib_query_device() of the Ethernet device; the rest is 0. */
static void
fill_device(uint32_t fn, struct ib_uverbs_query_device_resp *resp)
{
	memset(resp, 0, sizeof(*resp));
	resp->max_mr_size = UINT64_MAX;
	resp->page_size_cap = PAGE_SIZE_CAP;
	resp->vendor_id = PCI_VENDOR_MICROSOFT;
	resp->vendor_part_id = GDMA_DEVICE_MANA;
	resp->max_qp = KERNEL_MAX_QP;
	resp->max_qp_wr = KERNEL_MAX_QP_WR;
	resp->max_sge = KERNEL_MAX_RECV_SGE; /* the lesser one */
	resp->max_cq = KERNEL_MAX_CQ;
	resp->max_cqe = KERNEL_MAX_CQE;
	resp->max_mr = KERNEL_MAX_MR;
	resp->max_pd = KERNEL_MAX_PD;
	resp->phys_port_cnt = segment_config()->nb_ports[fn];
}

static int
cmd_query_device(struct uverbs_call *call)
{
	int fn = kernel_context_fn(call->context);
	struct ib_uverbs_query_device_resp resp;
	int rc;

	rc = count_query(FAULT_query_device);
	if (rc < 0)
		return rc;
	if (fn < 0)
		return fn;
	fill_device(fn, &resp);
	return uverbs_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

static int
cmd_query_device_ex(struct uverbs_call *call)
{
	int fn = kernel_context_fn(call->context);
	struct ib_uverbs_ex_query_device_resp resp;
	const struct ib_uverbs_attr *out;
	struct ib_uverbs_ex_query_device cmd;
	int rc;

	static_assert(sizeof(resp) == 304, "query_device_ex");
	rc = count_query(FAULT_query_device);
	if (rc < 0)
		return rc;
	if (fn < 0)
		return fn;
	rc = uverbs_in(call, UVERBS_ATTR_CORE_IN, &cmd, sizeof(cmd),
		       sizeof(cmd));
	if (rc < 0)
		return rc;
	if (cmd.comp_mask != 0 || cmd.reserved != 0)
		return -EINVAL;

	memset(&resp, 0, sizeof(resp));
	fill_device(fn, &resp.base);
	out = uverbs_attr(call, UVERBS_ATTR_CORE_OUT);
	resp.response_length = out->len < sizeof(resp) ? out->len :
							 sizeof(resp);
	resp.raw_packet_caps = RAW_PACKET_CAP_IP_CSUM;
	return uverbs_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

static int
cmd_alloc_pd(struct uverbs_call *call)
{
	uint32_t handle;
	int rc;

	rc = verbs_alloc_pd(call->context, &handle);
	if (rc < 0)
		return rc;
	rc = uverbs_out_u32(call, UVERBS_ATTR_CORE_OUT, handle);
	if (rc < 0)
		verbs_dealloc_pd(call->context, handle);
	return rc;
}

static int
cmd_reg_mr(struct uverbs_call *call)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ib_uverbs_reg_mr cmd;
	struct verbs_mr mr;
	int rc;

	rc = uverbs_in(call, UVERBS_ATTR_CORE_IN, &cmd, sizeof(cmd),
		       sizeof(cmd));
	if (rc < 0)
		return rc;
	mr.start = cmd.start;
	mr.length = cmd.length;
	mr.iova = cmd.hca_va;
	mr.pd = cmd.pd_handle;
	mr.access = cmd.access_flags;
	rc = verbs_reg_mr(call->context, &mr, &resp.mr_handle, &resp.lkey);
	if (rc < 0)
		return rc;
	resp.rkey = resp.lkey;
	rc = uverbs_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (rc < 0)
		verbs_dereg_mr(call->context, resp.mr_handle);
	return rc;
}

static int
cmd_create_comp_channel(struct uverbs_call *call)
{
	int fd;

	fd = verbs_create_comp_channel(call->context);
	if (fd < 0)
		return fd;
	return uverbs_out_u32(call, UVERBS_ATTR_CORE_OUT, fd);
}

static int
cmd_create_ind(struct uverbs_call *call)
{
	/* struct ib_uverbs_ex_create_rwq_ind_table, for the largest table. */
	struct {
		uint32_t comp_mask;
		uint32_t log_size;
		uint32_t wq[1u << KERNEL_MAX_IND_LOG];
	} cmd;
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = { 0 };
	const size_t head_bytes = sizeof(struct ib_uverbs_ex_create_rwq_ind_table);
	const struct ib_uverbs_attr *in;
	int rc;

	rc = uverbs_in(call, UVERBS_ATTR_CORE_IN, &cmd, sizeof(cmd),
		       head_bytes);
	if (rc < 0)
		return rc;
	if (cmd.comp_mask != 0)
		return -EOPNOTSUPP;
	if (cmd.log_size > KERNEL_MAX_IND_LOG)
		return -EINVAL;
	in = uverbs_attr(call, UVERBS_ATTR_CORE_IN);
	if (in->len < head_bytes + (sizeof(uint32_t) << cmd.log_size))
		return -EINVAL;

	rc = verbs_create_ind(call->context, cmd.wq, cmd.log_size,
			      &resp.ind_tbl_handle);
	if (rc < 0)
		return rc;
	resp.response_length = sizeof(resp);
	rc = uverbs_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (rc < 0)
		verbs_destroy_ind(call->context, resp.ind_tbl_handle);
	return rc;
}

#define EX(cmd) (IB_USER_VERBS_CMD_FLAG_EXTENDED | (cmd))

static const struct {
	uint32_t command;
	uint16_t in_bytes, out_bytes;
	int (*run)(struct uverbs_call *call);
} commands[] = {
	{ IB_USER_VERBS_CMD_QUERY_DEVICE, 8,
	  sizeof(struct ib_uverbs_query_device_resp), cmd_query_device },
	{ EX(IB_USER_VERBS_CMD_QUERY_DEVICE), 8,
	  sizeof(struct ib_uverbs_query_device_resp) + 8,
	  cmd_query_device_ex },
	{ IB_USER_VERBS_CMD_ALLOC_PD, 8, 4, cmd_alloc_pd },
	{ IB_USER_VERBS_CMD_REG_MR, 40, 12, cmd_reg_mr },
	{ IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, 8, 4,
	  cmd_create_comp_channel },
	{ EX(IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL), 8, 16,
	  cmd_create_ind },
};

static uint32_t
attr_bytes(struct uverbs_call *call, uint16_t id)
{
	const struct ib_uverbs_attr *attr = uverbs_attr(call, id);

	return attr == NULL ? 0 : attr->len;
}

static int
invoke_write(struct uverbs_call *call)
{
	uint64_t command = uverbs_number(call, UVERBS_ATTR_WRITE_CMD);
	uint32_t i, fn, page;
	int rc;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (commands[i].command != command)
			continue;
		if (attr_bytes(call, UVERBS_ATTR_CORE_IN) <
			    commands[i].in_bytes ||
		    attr_bytes(call, UVERBS_ATTR_CORE_OUT) <
			    commands[i].out_bytes)
			return -ENOSPC;
		rc = kernel_context_doorbell(call->context, &fn, &page);
		return rc < 0 ? rc : commands[i].run(call);
	}
	return -EOPNOTSUPP;
}

const struct uverbs_method uverbs_device_methods[] = {
	{ UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, false,
	  invoke_write, {
		{ UVERBS_ATTR_WRITE_CMD, UVERBS_IN, true, 4, 8 },
		{ UVERBS_ATTR_CORE_IN, UVERBS_IN, false, 4, 0 },
		{ UVERBS_ATTR_CORE_OUT, UVERBS_OUT, false, 4, 0 },
		{ UVERBS_ATTR_UHW_IN, UVERBS_IN, false, 0, 0 },
		{ UVERBS_ATTR_UHW_OUT, UVERBS_OUT, false, 0, 0 } } },
	{ UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, true, query_port, {
		{ UVERBS_ATTR_QUERY_PORT_PORT_NUM, UVERBS_IN, true, 1, 8 },
		{ UVERBS_ATTR_QUERY_PORT_RESP, UVERBS_OUT, true,
		  sizeof(struct ib_uverbs_query_port_resp), 0 } } },
	{ UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, false, get_context,
	  {
		{ UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, UVERBS_OUT, false,
		  4, 0 },
		{ UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, UVERBS_OUT, false,
		  8, 0 },
		{ UVERBS_ATTR_UHW_IN, UVERBS_IN, false, 0, 0 },
		{ UVERBS_ATTR_UHW_OUT, UVERBS_OUT, false, 0, 0 } } },
	{ UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, true,
	  query_context, {
		{ UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, UVERBS_OUT,
		  false, 4, 0 },
		{ UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, UVERBS_OUT, false,
		  8, 0 } } },
};
const uint32_t uverbs_nb_device_methods =
	sizeof(uverbs_device_methods) / sizeof(uverbs_device_methods[0]);
