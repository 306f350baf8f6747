/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Methods of the device object, and the commands of the old write() interface
 * that libibverbs still sends through INVOKE_WRITE. It would send others only to
 * a kernel that lacks a method (libibverbs/cmd_fallback.c): all of these have it.
 */

#include <errno.h>
#include <stdio.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "context.h"
#include "mem.h"
#include "uverbs.h"
#include "verbs.h"

static int
cmd_alloc_pd(struct uverbs_call *call)
{
	uint32_t handle;
	int rc;

	uverbs_begin(call, "alloc_pd", "%s", "");
	rc = verbs_alloc_pd(call->context, &handle);
	if (rc < 0)
		return rc;
	uverbs_result(call, " pd=%u", uverbs_object(call, PD, handle));
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
	uverbs_begin(call, "reg_mr", " pd=%u bytes=%llu access=0x%x",
		     uverbs_object(call, PD, mr.pd),
		     (unsigned long long)mr.length, mr.access);
	rc = verbs_reg_mr(call->context, &mr, &resp.mr_handle, &resp.lkey);
	if (rc < 0)
		return rc;
	uverbs_result(call, " mr=%u key=0x%x",
		      uverbs_object(call, MR, resp.mr_handle), resp.lkey);
	resp.rkey = resp.lkey;
	rc = uverbs_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (rc < 0)
		verbs_dereg_mr(call->context, resp.mr_handle);
	return rc;
}

static int
cmd_create_comp_channel(struct uverbs_call *call)
{
	int fd, rc;

	uverbs_begin(call, "create_comp_channel", "%s", "");
	/* First, so that no file is left that the program does not know. */
	rc = uverbs_out_u32(call, UVERBS_ATTR_CORE_OUT, 0);
	if (rc < 0)
		return rc;
	fd = verbs_create_comp_channel(call->context);
	if (fd < 0)
		return fd;
	uverbs_result(call, " channel=%u",
		      verbs_channel_number(call->context, fd));
	return uverbs_out_u32(call, UVERBS_ATTR_CORE_OUT, fd);
}

/* wqs=1,2,... */
static void
show_ind(struct uverbs_call *call, const uint32_t *wq, uint32_t log_size)
{
	char wqs[1024];
	int len = 0;

	if (!verbs_is_shown())
		return;
	for (uint32_t i = 0; i < 1u << log_size; i++)
		if (len < (int)sizeof(wqs))
			len += snprintf(wqs + len, sizeof(wqs) - (size_t)len,
					"%s%u", i == 0 ? "" : ",",
					uverbs_object(call, WQ, wq[i]));
	uverbs_begin(call, "create_ind", " wqs=%s", wqs);
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
	if (cmd.log_size > IB_USER_VERBS_MAX_LOG_IND_TBL_SIZE)
		return -EINVAL;
	in = uverbs_attr(call, UVERBS_ATTR_CORE_IN);
	if (in->len < head_bytes + (sizeof(uint32_t) << cmd.log_size))
		return -ENOSPC;
	/* A limit of the model: Linux makes it, but no queue pair with it. */
	if (cmd.log_size > KERNEL_MAX_IND_LOG)
		return -EINVAL;
	/* The padding to a multiple of 8 bytes. */
	if (in->len > head_bytes + (sizeof(uint32_t) << cmd.log_size) &&
	    mem_is_zero(model_self, in->data + head_bytes +
			(sizeof(uint32_t) << cmd.log_size),
			in->len - head_bytes -
			(sizeof(uint32_t) << cmd.log_size)) == 0)
		return -EOPNOTSUPP;

	show_ind(call, cmd.wq, cmd.log_size);
	rc = verbs_create_ind(call->context, cmd.wq, cmd.log_size,
			      &resp.ind_tbl_handle);
	if (rc < 0)
		return rc;
	uverbs_result(call, " ind=%u",
		      uverbs_object(call, IND, resp.ind_tbl_handle));
	resp.response_length = sizeof(resp);
	rc = uverbs_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (rc < 0)
		verbs_destroy_ind(call->context, resp.ind_tbl_handle);
	return rc;
}

#define EX(cmd) (IB_USER_VERBS_CMD_FLAG_EXTENDED | (cmd))

/* Commands without a method that all libraries know, and sizes less driver data. */
static const struct {
	uint32_t command;
	uint16_t in, out;
	int (*run)(struct uverbs_call *call);
} commands[] = {
	{ IB_USER_VERBS_CMD_QUERY_DEVICE, 8,
	  sizeof(struct ib_uverbs_query_device_resp), uverbs_query_device },
	{ IB_USER_VERBS_CMD_ALLOC_PD, 8, 4, cmd_alloc_pd },
	{ IB_USER_VERBS_CMD_REG_MR, 40, 12, cmd_reg_mr },
	{ IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, 8, 4, cmd_create_comp_channel },
	{ IB_USER_VERBS_CMD_MODIFY_QP, sizeof(struct ib_uverbs_modify_qp), 0,
	  uverbs_modify_qp },
	/* What an extended command lacks is 0: its sizes are not checked. */
	{ EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE), 0, 0, uverbs_query_device_ex },
	{ EX(IB_USER_VERBS_EX_CMD_MODIFY_QP), 0, 0, uverbs_modify_qp },
	{ EX(IB_USER_VERBS_EX_CMD_MODIFY_WQ), 0, 0, uverbs_modify_wq },
	{ EX(IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL), 0, 0, cmd_create_ind },
};

#define NB_COMMANDS (sizeof(commands) / sizeof(commands[0]))

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

	/* core/uverbs_main.c: a command has 8 bits, and one flag. */
	if ((command & ~(uint64_t)(IB_USER_VERBS_CMD_COMMAND_MASK |
				   IB_USER_VERBS_CMD_FLAG_EXTENDED)) != 0)
		return -EINVAL;
	for (i = 0; i < NB_COMMANDS; i++) {
		if (commands[i].command != command)
			continue;
		if (attr_bytes(call, UVERBS_ATTR_CORE_IN) < commands[i].in ||
		    attr_bytes(call, UVERBS_ATTR_CORE_OUT) < commands[i].out)
			return -ENOSPC;
		rc = kernel_context_doorbell(call->context, &fn, &page);
		return rc < 0 ? rc : commands[i].run(call);
	}
	return -EOPNOTSUPP;
}

/* mana_ib has no query_ucontext. */
static int
query_context(struct uverbs_call *call)
{
	uverbs_begin(call, "query_context", "%s", "");
	return -EOPNOTSUPP;
}

const struct uverbs_method uverbs_device_methods[] = {
	{ UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, false,
	  invoke_write, {
		SPEC_IN(UVERBS_ATTR_WRITE_CMD, 4, 8),
		SPEC_IN_OPT(UVERBS_ATTR_CORE_IN, 4, 0),
		SPEC_OUT_OPT(UVERBS_ATTR_CORE_OUT, 0),
		SPEC_UHW } },
	{ UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, true,
	  uverbs_query_port, {
		SPEC_IN(UVERBS_ATTR_QUERY_PORT_PORT_NUM, 8, 8),
		SPEC_OUT(UVERBS_ATTR_QUERY_PORT_RESP,
			 sizeof(struct ib_uverbs_query_port_resp_ex)) } },
	{ UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, false,
	  uverbs_get_context, {
		SPEC_OUT_OPT(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, 4),
		SPEC_OUT_OPT(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, 8),
		SPEC_UHW } },
	{ UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, true,
	  query_context, {
		SPEC_OUT_OPT(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, 4),
		SPEC_OUT_OPT(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, 8) } },
	{ UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE, true,
	  uverbs_query_gid_table, {
		SPEC_IN(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, 8, 8),
		SPEC_IN_OPT(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 4, 8),
		SPEC_OUT(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, 0),
		SPEC_OUT(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, 8) } },
	{ UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY, true,
	  uverbs_query_gid_entry, {
		SPEC_IN(UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 8, 8),
		SPEC_IN(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, 8, 8),
		SPEC_IN_OPT(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 4, 8),
		SPEC_OUT(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY,
			 sizeof(struct ib_uverbs_gid_entry)) } },
	{ .run = NULL },
};
