/* SPDX-License-Identifier: BSD-3-Clause */

/* Raw packet queue pairs: the Tx queues of a port. */

#include <linux/capability.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "objects.h"

#define QP(member, value) SET(struct uverbs_qp, member, value)
#define WITHOUT(id)	  (1u << (id))
#define CQ_ENTRIES	  64

static const struct walk_variant qps[] = {
	{ "port 1", { { 0 } } },
	{ "port 2", { QP(raw.port, 2) } },
	{ "port 0", { QP(raw.port, 0) } },
	{ "port 3", { QP(raw.port, 3) } },
	{ "port 2^31", { QP(raw.port, 1u << 31) } },
	{ "port 2^32 - 1", { QP(raw.port, UINT32_MAX) } },
	{ "type RC", { QP(type, 2), QP(uhw_in_bytes, 0) } },
	{ "type UC", { QP(type, 3) } },
	{ "type UD", { QP(type, 4), QP(uhw_in_bytes, 0) } },
	{ "type 0", { QP(type, 0) } },
	{ "type 7", { QP(type, 7) } },
	{ "type XRC_INI", { QP(type, 9) } },
	{ "type XRC_TGT", { QP(type, 10) } },
	{ "type 0xff, driver", { QP(type, 0xff) } },
	{ "type 2^32 + 8", { QP(type, (UINT64_C(1) << 32) + 8) } },
	{ "0 requests", { QP(max_send_wr, 0) } },
	{ "256 requests", { QP(max_send_wr, 256) } },
	{ "2048 requests", { QP(max_send_wr, 2048) } },
	{ "2049 requests", { QP(max_send_wr, 2049) } },
	{ "8192 requests", { QP(max_send_wr, 8192) } },
	{ "8193 requests", { QP(max_send_wr, 8193) } },
	{ "2^32 - 1 requests", { QP(max_send_wr, UINT32_MAX) } },
	{ "0 SGEs", { QP(max_send_sge, 0) } },
	{ "30 SGEs", { QP(max_send_sge, 30) } },
	{ "31 SGEs", { QP(max_send_sge, 31) } },
	{ "2^32 - 1 SGEs", { QP(max_send_sge, UINT32_MAX) } },
	{ "1 receive request", { QP(max_recv_wr, 1) } },
	{ "1 receive SGE", { QP(max_recv_sge, 1) } },
	{ "2^32 - 1 receive requests", { QP(max_recv_wr, UINT32_MAX) } },
	{ "16 bytes inline", { QP(max_inline, 16) } },
	{ "2^32 - 1 bytes inline", { QP(max_inline, UINT32_MAX) } },
	{ "flags 0", { QP(flags, 0) } },
	{ "flags block multicast loopback", { QP(flags, 2) } },
	{ "flags scatter FCS", { QP(flags, 0x100) } },
	{ "flags VLAN stripping", { QP(flags, 0x200) } },
	{ "flags PCI write padding", { QP(flags, 0x800) } },
	{ "flags signal all", { QP(flags, 0x1000) } },
	{ "flags 0x4000", { QP(flags, 0x4000) } },
	{ "ring of 0 bytes", { QP(raw.buffer_bytes, 0) } },
	{ "ring of 32 bytes", { QP(raw.buffer_bytes, 32) } },
	{ "ring of 2048 bytes", { QP(raw.buffer_bytes, 2048) } },
	{ "ring of 4096 bytes", { QP(raw.buffer_bytes, 4096) } },
	{ "ring of 8192 bytes", { QP(raw.buffer_bytes, 8192) } },
	{ "ring of 12288 bytes", { QP(raw.buffer_bytes, 12288) } },
	{ "ring of 1 MiB", { QP(raw.buffer_bytes, 1u << 20) } },
	{ "ring of 2 MiB", { QP(raw.buffer_bytes, 2u << 20) } },
	{ "ring of 2^31 bytes", { QP(raw.buffer_bytes, 1u << 31) } },
	{ "ring at 64 bytes in a page", { QP(raw.buffer, OBJECTS_SQ + 64) } },
	{ "ring unmapped", { QP(raw.buffer, WALK_UNMAPPED) } },
	{ "ring read-only", { QP(raw.buffer, WALK_READ_ONLY) } },
	{ "ring at 0", { QP(raw.buffer, 0) } },
	{ "no driver data", { QP(uhw_in_bytes, 0) } },
	{ "driver data of 8 bytes", { QP(uhw_in_bytes, 8) } },
	{ "driver data of 12 bytes", { QP(uhw_in_bytes, 12) } },
	{ "driver data of 24 bytes", { QP(uhw_in_bytes, 24) } },
	{ "no driver answer", { QP(uhw_out_bytes, 0) } },
	{ "driver answer of 8 bytes", { QP(uhw_out_bytes, 8) } },
	{ "driver answer of 24 bytes", { QP(uhw_out_bytes, 24) } },
	{ "unknown PD", { QP(pd, NO_HANDLE) } },
	{ "unknown send CQ", { QP(send_cq, NO_HANDLE) } },
	{ "unknown receive CQ", { QP(recv_cq, NO_HANDLE) } },
	{ "no send CQ",
	  { QP(omit, WITHOUT(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE)) } },
	{ "no receive CQ",
	  { QP(omit, WITHOUT(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE)) } },
	{ "no PD", { QP(omit, WITHOUT(UVERBS_ATTR_CREATE_QP_PD_HANDLE)) } },
	{ "no cap", { QP(omit, WITHOUT(UVERBS_ATTR_CREATE_QP_CAP)) } },
	{ "no type", { QP(omit, WITHOUT(UVERBS_ATTR_CREATE_QP_TYPE)) } },
	{ "no user handle",
	  { QP(omit, WITHOUT(UVERBS_ATTR_CREATE_QP_USER_HANDLE)) } },
	{ "no answer of cap",
	  { QP(omit, WITHOUT(UVERBS_ATTR_CREATE_QP_RESP_CAP)) } },
	{ "no number", { QP(omit, WITHOUT(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM)) } },
	{ NULL, { { 0 } } },
};

static void
create_variants(int fd)
{
	const struct walk_variant *variant;
	struct uverbs_qp qp;
	uint32_t pd;

	walk_name("create_qp raw");
	for (variant = qps; variant->what != NULL; variant++) {
		pd = object_pd(fd);
		qp = object_raw_qp(pd, object_cq(fd, CQ_ENTRIES, 0), 1);
		const uint32_t cq = qp.send_cq;

		walk_apply(variant, &qp);
		object_try_qp(fd, &qp, variant->what);
		object_destroy(fd, UVERBS_OBJECT_CQ, cq);
		object_destroy(fd, UVERBS_OBJECT_PD, pd);
	}
}

/* The sizes of CQs matter only when the queue pair is created. */
static void
cq_sizes(int fd)
{
	static const uint32_t sizes[] = { 1,   32,  63,	 64,   65,  100,
					  128, 256, 512, 1024, 2048 };
	struct uverbs_qp qp;
	char what[64];
	uint32_t pd;
	int error;

	walk_name("create_qp raw");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		pd = object_pd(fd);
		qp = object_raw_qp(pd, object_cq(fd, sizes[i], 0), 1);
		snprintf(what, sizeof(what), "CQ of %u entries", sizes[i]);
		error = uverbs_create_qp(fd, &qp);
		walk_result(error, what);
		if (error == 0)
			object_destroy(fd, UVERBS_OBJECT_QP, qp.handle);
		object_destroy(fd, UVERBS_OBJECT_CQ, qp.send_cq);
		object_destroy(fd, UVERBS_OBJECT_PD, pd);
	}
}

/* Two queue pairs: of one PD or of two, of one port or of two, of one CQ. */
static void
pairs(int fd)
{
	static const struct {
		const char *what;
		bool same_pd, same_port, same_cq, other_context;
	} cases[] = {
		{ "second of the same PD and port", true, true, false, false },
		{ "second of the same PD, other port", true, false, false, false },
		{ "second of another PD, same port", false, true, false, false },
		{ "second of another PD and port", false, false, false, false },
		{ "second with the CQ of the first", true, true, true, false },
		{ "second of another context, same port", false, true, false,
		  true },
		{ "second of another context and port", false, false, false,
		  true },
	};
	int other = uverbs_open_context(), second_fd, error;
	struct uverbs_qp first, second;
	uint32_t pd, pd2;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		second_fd = cases[i].other_context ? other : fd;
		walk_name("create_qp raw twice");
		pd = object_pd(fd);
		pd2 = object_pd(second_fd);
		first = object_raw_qp(pd, object_cq(fd, CQ_ENTRIES, 0), 1);
		object_say_qp(uverbs_create_qp(fd, &first), "first", &first);
		second = object_raw_qp(cases[i].same_pd ? pd : pd2,
				       object_cq(second_fd, CQ_ENTRIES, 1),
				       cases[i].same_port ? 1 : 2);
		const uint32_t cq = second.send_cq;
		if (cases[i].same_cq)
			second.send_cq = second.recv_cq = first.send_cq;
		second.raw.buffer += 1 << 20;
		error = uverbs_create_qp(second_fd, &second);
		object_say_qp(error, cases[i].what, &second);
		if (error == 0)
			object_destroy(second_fd, UVERBS_OBJECT_QP,
				       second.handle);
		object_destroy(second_fd, UVERBS_OBJECT_CQ, cq);
		object_destroy(fd, UVERBS_OBJECT_QP, first.handle);
		object_destroy(fd, UVERBS_OBJECT_CQ, first.send_cq);
		object_destroy(second_fd, UVERBS_OBJECT_PD, pd2);
		object_destroy(fd, UVERBS_OBJECT_PD, pd);
	}
	close(other);
}

/* A CQ is used up by its first queue pair. */
static void
used_cq(int fd)
{
	uint32_t pd = object_pd(fd), cq = object_cq(fd, CQ_ENTRIES, 0);
	struct uverbs_qp qp = object_raw_qp(pd, cq, 1);

	walk_name("create_qp raw, CQ used before");
	walk_result(uverbs_create_qp(fd, &qp), "first");
	object_destroy(fd, UVERBS_OBJECT_QP, qp.handle);
	walk_result(uverbs_create_qp(fd, &qp), "second");
	object_destroy(fd, UVERBS_OBJECT_CQ, cq);
	cq = object_cq(fd, CQ_ENTRIES, 0);
	qp.send_cq = cq;
	qp.recv_cq = object_cq(fd, CQ_ENTRIES, 1);
	walk_result(uverbs_create_qp(fd, &qp), "another CQ to receive");
	uverbs_try_destroy(fd, UVERBS_OBJECT_CQ, qp.recv_cq,
			   "destroy the receive CQ");
	object_destroy(fd, UVERBS_OBJECT_QP, qp.handle);
	uverbs_try_destroy(fd, UVERBS_OBJECT_CQ, qp.recv_cq,
			   "destroy the receive CQ after the queue pair");
	object_destroy(fd, UVERBS_OBJECT_CQ, cq);
	object_destroy(fd, UVERBS_OBJECT_PD, pd);
}

/* modify_qp and query_qp, which a user of raw queue pairs does not need. */
static void
modify(int fd)
{
	uint32_t pd = object_pd(fd);
	struct uverbs_qp qp = object_raw_qp(pd, object_cq(fd, CQ_ENTRIES, 0), 1);
	struct ib_uverbs_modify_qp in = { .attr_mask = 1 };
	struct ib_uverbs_query_qp query = { .attr_mask = 1 };
	struct ib_uverbs_query_qp_resp state;
	struct uverbs_command m = uverbs_make(IB_USER_VERBS_CMD_MODIFY_QP, &in,
					      sizeof(in), NULL, 0);
	struct uverbs_command q = uverbs_make(IB_USER_VERBS_CMD_QUERY_QP,
					      &query, sizeof(query), &state,
					      sizeof(state));
	static const uint32_t masks[] = { 0, 1, 1 | 1 << 5, 1u << 31 };
	char what[64];

	walk_name("modify_qp raw");
	walk_result(uverbs_create_qp(fd, &qp), "a queue pair");
	in.qp_handle = query.qp_handle = qp.handle;
	for (uint8_t to = 0; to <= 7; to++) {
		in.qp_state = to;
		snprintf(what, sizeof(what), "to state %u", to);
		walk_result(uverbs_command(fd, &m), what);
	}
	in.qp_state = 1;
	in.port_num = 1;
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		in.attr_mask = masks[i];
		snprintf(what, sizeof(what), "mask 0x%x", masks[i]);
		walk_result(uverbs_command(fd, &m), what);
	}
	in.attr_mask = 1;
	in.qp_handle = NO_HANDLE;
	walk_result(uverbs_command(fd, &m), "unknown handle");
	in.qp_handle = pd;
	walk_result(uverbs_command(fd, &m), "handle of a PD");
	walk_result(uverbs_command(fd, &q), "query_qp");
	object_destroy(fd, UVERBS_OBJECT_QP, qp.handle);
	object_destroy(fd, UVERBS_OBJECT_CQ, qp.send_cq);
	object_destroy(fd, UVERBS_OBJECT_PD, pd);
}

static void
without_capability(int fd)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];
	uint32_t pd = object_pd(fd);
	struct uverbs_qp qp = object_raw_qp(pd, object_cq(fd, CQ_ENTRIES, 0), 1);
	int error;

	walk_name("create_qp raw");
	fflush(stdout);
	if (fork() == 0) {
		if (syscall(SYS_capget, &header, data) < 0)
			_exit(1);
		data[0].effective &= ~(1u << CAP_NET_RAW);
		if (syscall(SYS_capset, &header, data) < 0)
			_exit(1);
		error = uverbs_create_qp(fd, &qp);
		walk_result(error, "without CAP_NET_RAW");
		if (error == 0)
			object_destroy(fd, UVERBS_OBJECT_QP, qp.handle);
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	object_destroy(fd, UVERBS_OBJECT_CQ, qp.send_cq);
	object_destroy(fd, UVERBS_OBJECT_PD, pd);
}

void
walk_qp(void)
{
	int fd = uverbs_open_context();

	create_variants(fd);
	cq_sizes(fd);
	pairs(fd);
	used_cq(fd);
	modify(fd);
	without_capability(fd);
	close(fd);
}
