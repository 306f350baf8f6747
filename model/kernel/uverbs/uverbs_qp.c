/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue pairs, for Tx or RSS: translate attributes to verbs and back. */

#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "mana_abi.h"
#include "uverbs.h"
#include "verbs.h"

/* For raw packets all flags are valid; mana_ib ignores them. */
#define QP_FLAGS                                          \
	(IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK |   \
	 IB_UVERBS_QP_CREATE_SCATTER_FCS |                \
	 IB_UVERBS_QP_CREATE_CVLAN_STRIPPING |            \
	 IB_UVERBS_QP_CREATE_PCI_WRITE_END_PADDING |      \
	 IB_UVERBS_QP_CREATE_SQ_SIG_ALL)
#define QPS_ERR 6 /* IB_QPS_ERR, the last state */
#define QP_STATE 1 /* IB_QP_STATE */
#define WQ_ATTRS 7u /* IB_WQ_STATE, IB_WQ_CUR_STATE, IB_WQ_FLAGS */

/* Answer for both kinds of QP; destroys the QP if that fails. */
static int
qp_answer(struct uverbs_call *call, uint32_t handle, const void *uhw,
	  size_t uhw_bytes)
{
	struct ib_uverbs_qp_cap cap;
	int rc;

	rc = uverbs_in(call, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap), 0);
	if (rc == 0)
		rc = uverbs_out(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, &cap,
				sizeof(cap));
	if (rc == 0)
		rc = uverbs_out_u32(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 0);
	if (rc == 0)
		rc = uverbs_out(call, UVERBS_ATTR_UHW_OUT, uhw, uhw_bytes);
	if (rc < 0)
		verbs_destroy_qp(call->context, handle);
	else
		uverbs_set(call, UVERBS_ATTR_CREATE_QP_HANDLE, handle);
	return rc;
}

static int
qp_create_rss(struct uverbs_call *call, const struct ib_uverbs_qp_cap *cap)
{
	struct mana_abi_create_rss_resp resp = { 0 };
	struct mana_abi_create_rss uhw;
	struct verbs_rss_result result;
	struct verbs_rss rss;
	uint32_t i;
	int rc;

	if (cap->max_recv_wr != 0 || cap->max_recv_sge != 0 ||
	    uverbs_attr(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE) != NULL ||
	    uverbs_attr(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE) != NULL)
		return -EINVAL;
	if (cap->max_send_wr != 0 &&
	    uverbs_attr(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE) == NULL)
		return -ENOENT;
	rc = uverbs_driver_in(call, &uhw, sizeof(uhw), sizeof(uhw));
	if (rc < 0)
		return rc;

	rss.pd = uverbs_handle(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE);
	rss.ind = uverbs_handle(call, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE);
	rss.hash_function = uhw.rx_hash_function;
	rss.key_bytes = uhw.rx_hash_key_len;
	memcpy(rss.key, uhw.rx_hash_key, sizeof(rss.key));
	rss.port = uhw.port;
	uverbs_begin(call, "create_rss_qp",
		     " pd=%u ind=%u port=%u hash_function=%u fields=0x%llx "
		     "key_bytes=%u key_hash=%016llx",
		     uverbs_object(call, PD, rss.pd),
		     uverbs_object(call, IND, rss.ind), rss.port,
		     rss.hash_function,
		     (unsigned long long)uhw.rx_hash_fields_mask, rss.key_bytes,
		     (unsigned long long)trace_hash(rss.key, sizeof(rss.key)));
	rc = verbs_create_rss(call->context, &rss, &result);
	if (rc < 0)
		return rc;
	uverbs_result(call, " qp=%u queues=",
		      uverbs_object(call, QP, result.handle));

	resp.num_entries = result.nb_entries;
	for (i = 0; i < result.nb_entries; i++) {
		resp.entries[i].cqid = result.entry[i].cq_id;
		resp.entries[i].wqid = result.entry[i].wq_id;
		uverbs_result(call, "%s%u/%u", i == 0 ? "" : ",",
			      result.entry[i].wq_id, result.entry[i].cq_id);
	}
	return qp_answer(call, result.handle, &resp, sizeof(resp));
}

int
uverbs_create_qp(struct uverbs_call *call)
{
	struct mana_abi_create_qp_resp resp = { 0 };
	struct verbs_qp_result result;
	struct mana_abi_create_qp uhw;
	struct ib_uverbs_qp_cap cap;
	struct verbs_qp qp;
	int rc;

	rc = uverbs_in(call, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap),
		       sizeof(cap));
	if (rc < 0)
		return rc;
	/* The Ethernet device has no other kind of queue pairs. */
	if (uverbs_number(call, UVERBS_ATTR_CREATE_QP_TYPE) !=
	    IB_UVERBS_QPT_RAW_PACKET)
		return -EINVAL;
	if (uverbs_number(call, UVERBS_ATTR_CREATE_QP_FLAGS) &
	    ~(uint64_t)QP_FLAGS)
		return -EINVAL;
	if (uverbs_attr(call, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE) != NULL)
		return qp_create_rss(call, &cap);

	rc = uverbs_driver_in(call, &uhw, sizeof(uhw), sizeof(uhw));
	if (rc < 0)
		return rc;
	qp.pd = uverbs_handle(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE);
	qp.send_cq = uverbs_handle(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE);
	qp.recv_cq = uverbs_handle(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE);
	qp.max_send_wr = cap.max_send_wr;
	qp.max_send_sge = cap.max_send_sge;
	qp.buf_addr = uhw.sq_buf_addr;
	qp.buf_bytes = uhw.sq_buf_size;
	qp.port = uhw.port;
	uverbs_begin(call, "create_qp",
		     " pd=%u send_cq=%u recv_cq=%u port=%u max_send_wr=%u "
		     "max_send_sge=%u bytes=%u",
		     uverbs_object(call, PD, qp.pd),
		     uverbs_object(call, CQ, qp.send_cq),
		     uverbs_object(call, CQ, qp.recv_cq), qp.port,
		     qp.max_send_wr, qp.max_send_sge, qp.buf_bytes);
	rc = verbs_create_qp(call->context, &qp, &result);
	if (rc < 0)
		return rc;
	uverbs_result(call, " qp=%u sqid=%u cqid=%u tx_vp_offset=%u",
		      uverbs_object(call, QP, result.handle), result.sq_id,
		      result.cq_id, result.tx_vp_offset);

	resp.sqid = result.sq_id;
	resp.cqid = result.cq_id;
	resp.tx_vp_offset = result.tx_vp_offset;
	return qp_answer(call, result.handle, &resp, sizeof(resp));
}

/* Checks of core/uverbs_cmd.c modify_qp(); mana_ib modifies no raw QP. */
int
uverbs_modify_qp(struct uverbs_call *call)
{
	struct ib_uverbs_ex_modify_qp cmd;
	int rc;

	rc = uverbs_in_or_zero(call, UVERBS_ATTR_CORE_IN, &cmd, sizeof(cmd));
	if (rc < 0)
		return rc;
	uverbs_begin(call, "modify_qp", " qp=%u",
		     uverbs_object(call, QP, cmd.base.qp_handle));
	rc = verbs_check_handle(call->context, OBJECT_QP, cmd.base.qp_handle);
	if (rc < 0)
		return rc;
	return cmd.base.attr_mask & QP_STATE && cmd.base.qp_state > QPS_ERR ?
		       -EINVAL :
		       -EOPNOTSUPP;
}

/* ib_uverbs_ex_modify_wq() */
int
uverbs_modify_wq(struct uverbs_call *call)
{
	struct ib_uverbs_ex_modify_wq cmd;
	int rc;

	rc = uverbs_in_or_zero(call, UVERBS_ATTR_CORE_IN, &cmd, sizeof(cmd));
	if (rc < 0)
		return rc;
	uverbs_begin(call, "modify_wq", " wq=%u",
		     uverbs_object(call, WQ, cmd.wq_handle));
	if (cmd.attr_mask == 0 || (cmd.attr_mask & ~WQ_ATTRS) != 0)
		return -EINVAL;
	rc = verbs_check_handle(call->context, OBJECT_WQ, cmd.wq_handle);
	return rc < 0 ? rc : -EOPNOTSUPP; /* mana_ib_modify_wq() */
}
