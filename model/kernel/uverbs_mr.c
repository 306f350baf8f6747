/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Registration of memory by a method of its own: Linux 6.17 and later,
 * core/uverbs_std_types_mr.c.
 */

#include <errno.h>
#include <string.h>

#include "mana_abi.h"
#include "uverbs.h"
#include "verbs.h"

/* include/uapi/rdma/ib_user_ioctl_cmds.h of Linux 7.2. */
#define METHOD_REG_MR 5
enum {
	REG_MR_HANDLE,
	REG_MR_PD_HANDLE,
	REG_MR_DMA_HANDLE,
	REG_MR_IOVA,
	REG_MR_ADDR,
	REG_MR_LENGTH,
	REG_MR_ACCESS_FLAGS,
	REG_MR_FD,
	REG_MR_FD_OFFSET,
	REG_MR_RESP_LKEY,
	REG_MR_RESP_RKEY,
};

static int
reg_mr(struct uverbs_call *call)
{
	bool has_fd = uverbs_attr(call, REG_MR_FD) != NULL;
	uint32_t handle, key;
	struct verbs_mr mr;
	int rc;

	/* An address, or a file and an offset in it. */
	if (has_fd != (uverbs_attr(call, REG_MR_FD_OFFSET) != NULL) ||
	    has_fd == (uverbs_attr(call, REG_MR_ADDR) != NULL))
		return -EINVAL;
	/* Of the model only: no DMA buffers, no DMA handles. */
	if (has_fd || uverbs_attr(call, REG_MR_DMA_HANDLE) != NULL)
		return -EOPNOTSUPP;

	memset(&mr, 0, sizeof(mr));
	mr.start = uverbs_number(call, REG_MR_ADDR);
	mr.length = uverbs_number(call, REG_MR_LENGTH);
	mr.iova = uverbs_number(call, REG_MR_IOVA);
	mr.access = uverbs_number(call, REG_MR_ACCESS_FLAGS);
	mr.pd = uverbs_handle(call, REG_MR_PD_HANDLE);
	uverbs_begin(call, "reg_mr", " pd=%u bytes=%llu access=0x%x",
		     uverbs_object(call, PD, mr.pd),
		     (unsigned long long)mr.length, mr.access);
	rc = verbs_reg_mr(call->context, &mr, &handle, &key);
	if (rc < 0)
		return rc;
	uverbs_result(call, " mr=%u key=0x%x", uverbs_object(call, MR, handle),
		      key);
	rc = uverbs_out_u32(call, REG_MR_RESP_LKEY, key);
	if (rc == 0)
		rc = uverbs_out_u32(call, REG_MR_RESP_RKEY, key);
	if (rc < 0)
		verbs_dereg_mr(call->context, handle);
	else
		uverbs_set(call, REG_MR_HANDLE, handle);
	return rc;
}

const struct uverbs_method uverbs_newer_methods[] = {
	{ UVERBS_OBJECT_MR, METHOD_REG_MR, true, reg_mr, {
		{ REG_MR_HANDLE, UVERBS_NEW_HANDLE, true, 0, 0 },
		{ REG_MR_PD_HANDLE, UVERBS_HANDLE, true, 0, 0 },
		{ REG_MR_DMA_HANDLE, UVERBS_HANDLE, false, 0, 0 },
		{ REG_MR_IOVA, UVERBS_IN, true, 8, 8 },
		{ REG_MR_ADDR, UVERBS_IN, false, 8, 8 },
		{ REG_MR_LENGTH, UVERBS_IN, true, 8, 8 },
		{ REG_MR_ACCESS_FLAGS, UVERBS_IN, true, 4, 8 },
		{ REG_MR_FD, UVERBS_FD, false, 0, 0 },
		{ REG_MR_FD_OFFSET, UVERBS_IN, false, 8, 8 },
		{ REG_MR_RESP_LKEY, UVERBS_OUT, true, 4, 0 },
		{ REG_MR_RESP_RKEY, UVERBS_OUT, true, 4, 0 },
		{ UVERBS_ATTR_UHW_IN, UVERBS_IN, false, 0, 0 },
		{ UVERBS_ATTR_UHW_OUT, UVERBS_OUT, false, 0, 0 } } },
};
const uint32_t uverbs_nb_newer_methods =
	sizeof(uverbs_newer_methods) / sizeof(uverbs_newer_methods[0]);
