/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue pairs, for Tx or RSS: translate attributes to verbs and back. */

#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "mana_abi.h"
#include "uverbs.h"
#include "verbs.h"

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
	if (uverbs_number(call, UVERBS_ATTR_CREATE_QP_FLAGS) != 0)
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

int
uverbs_destroy_qp(struct uverbs_call *call)
{
	uint32_t qp = uverbs_handle(call, UVERBS_ATTR_DESTROY_QP_HANDLE);
	int rc;

	uverbs_begin(call, "destroy_qp", " qp=%u", uverbs_object(call, QP, qp));
	rc = verbs_destroy_qp(call->context, qp);
	if (rc < 0)
		return rc;
	return uverbs_out_u32(call, UVERBS_ATTR_DESTROY_QP_RESP, 0);
}
