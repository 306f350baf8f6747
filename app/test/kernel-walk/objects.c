/* SPDX-License-Identifier: BSD-3-Clause */

#include "objects.h"

#define QPT_RAW_PACKET 8 /* IB_UVERBS_QPT_RAW_PACKET */
#define ALL_FIELDS     0xff /* IB_UVERBS_RX_HASH_*: addresses and ports */

static void
check(int error, const char *what)
{
	if (error != 0)
		walk_note(what, "%s, unexpected", walk_errno(error));
}

uint32_t
object_pd(int fd)
{
	uint32_t pd = NO_HANDLE;

	check(uverbs_alloc_pd(fd, &pd), "alloc_pd");
	return pd;
}

uint32_t
object_cq(int fd, uint32_t nb_entries, uint32_t nth)
{
	struct uverbs_cq cq = UVERBS_CQ;

	cq.cqe = nb_entries;
	cq.buffer = OBJECTS_CQ + nth * (UINT64_C(128) << 10);
	/* Zeros are the first owner bits. */
	memset((void *)(uintptr_t)cq.buffer, 0, 128 << 10);
	check(uverbs_create_cq(fd, &cq), "create_cq");
	return cq.handle;
}

struct object_rq
object_rq(int fd, uint32_t pd, uint32_t nth)
{
	struct object_rq rq = { .cq = object_cq(fd, 64, nth % 60) };
	struct uverbs_wq wq = {
		.pd = pd,
		.cq = rq.cq,
		.max_wr = 256,
		.max_sge = 1,
		.buffer = OBJECTS_RQ + nth * 8192,
		.buffer_bytes = 8192,
		.uhw_in_bytes = 16,
	};

	check(uverbs_create_wq(fd, &wq), "create_wq");
	rq.wq = wq.handle;
	return rq;
}

void
object_destroy_rq(int fd, const struct object_rq *rq)
{
	object_destroy(fd, UVERBS_OBJECT_WQ, rq->wq);
	object_destroy(fd, UVERBS_OBJECT_CQ, rq->cq);
}

uint32_t
object_table(int fd, const struct object_rq *rqs, uint32_t log_size)
{
	struct uverbs_table table = { .log_size = log_size,
				      .nb_wqs = 1u << log_size };

	for (uint32_t i = 0; i < table.nb_wqs; i++)
		table.wq[i] = rqs[i].wq;
	check(uverbs_create_table(fd, &table), "create_rwq_ind_tbl");
	return table.handle;
}

void
object_destroy(int fd, uint16_t object, uint32_t handle)
{
	static const char *const names[] = {
		[UVERBS_OBJECT_PD] = "dealloc_pd",
		[UVERBS_OBJECT_MR] = "dereg_mr",
		[UVERBS_OBJECT_CQ] = "destroy_cq",
		[UVERBS_OBJECT_WQ] = "destroy_wq",
		[UVERBS_OBJECT_QP] = "destroy_qp",
		[UVERBS_OBJECT_RWQ_IND_TBL] = "destroy_rwq_ind_tbl",
	};

	check(uverbs_destroy(fd, object, handle), names[object]);
}

struct uverbs_qp
object_raw_qp(uint32_t pd, uint32_t cq, uint32_t port)
{
	return (struct uverbs_qp){
		.pd = pd,
		.send_cq = cq,
		.recv_cq = cq,
		.type = QPT_RAW_PACKET,
		.user_handle = 0x5678,
		.max_send_wr = 64,
		.max_send_sge = 1,
		.flags = UINT32_MAX,
		.raw = { OBJECTS_SQ, 32768, port },
		.uhw_in_bytes = sizeof(struct mana_raw),
		.uhw_out_bytes = 16,
	};
}

struct uverbs_qp
object_rss_qp(uint32_t pd, uint32_t table, uint32_t port)
{
	struct uverbs_qp qp = {
		.pd = pd,
		.table = table,
		.type = QPT_RAW_PACKET,
		.user_handle = 0x9abc,
		.flags = UINT32_MAX,
		.is_rss = true,
		.rss = { .fields = ALL_FIELDS,
			 .function = 1,
			 .key_bytes = 40,
			 .port = port },
		.uhw_in_bytes = sizeof(struct mana_rss),
		.uhw_out_bytes = 520,
	};

	for (uint8_t i = 0; i < sizeof(qp.rss.key); i++)
		qp.rss.key[i] = i + 1;
	return qp;
}

void
object_say_qp(int error, const char *what, const struct uverbs_qp *qp)
{
	if (qp->is_rss) {
		walk_say(error, what,
			 "cap %u %u %u %u %u, number %s, "
			 "%u entries, cqid %s, wqid %s",
			 qp->cap[0], qp->cap[1], qp->cap[2], qp->cap[3],
			 qp->cap[4], walk_id(qp->number), qp->uhw_out[0],
			 walk_id(qp->uhw_out[2]), walk_id(qp->uhw_out[3]));
		return;
	}
	walk_say(error, what,
		 "cap %u %u %u %u %u, number %s, sqid %s, "
		 "cqid %s, tx_vp_offset %s",
		 qp->cap[0], qp->cap[1], qp->cap[2], qp->cap[3], qp->cap[4],
		 walk_id(qp->number), walk_id(qp->uhw_out[0]),
		 walk_id(qp->uhw_out[1]), walk_id(qp->uhw_out[2]));
}

void
object_try_qp(int fd, struct uverbs_qp *qp, const char *what)
{
	int error = uverbs_create_qp(fd, qp);

	object_say_qp(error, what, qp);
	if (error == 0)
		object_destroy(fd, UVERBS_OBJECT_QP, qp->handle);
}
