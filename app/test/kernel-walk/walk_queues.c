/* SPDX-License-Identifier: BSD-3-Clause */

/* Completion channels, completion queues, RQs, RQ tables. */

#include <stdio.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "uverbs.h"

#define CQ(member, value)    SET(struct uverbs_cq, member, value)
#define WQ(member, value)    SET(struct uverbs_wq, member, value)
#define TABLE(member, value) SET(struct uverbs_table, member, value)
#define WITHOUT(id)	     (1u << (id))

static const struct walk_variant cqs[] = {
	{ "64 entries", { { 0 } } },
	{ "0 entries", { CQ(cqe, 0) } },
	{ "1 entry", { CQ(cqe, 1) } },
	{ "63 entries", { CQ(cqe, 63) } },
	{ "100 entries", { CQ(cqe, 100) } },
	{ "128 entries", { CQ(cqe, 128) } },
	{ "256 entries", { CQ(cqe, 256) } },
	{ "257 entries", { CQ(cqe, 257) } },
	{ "2048 entries", { CQ(cqe, 2048) } },
	{ "2049 entries", { CQ(cqe, 2049) } },
	{ "4096 entries", { CQ(cqe, 4096) } },
	{ "8192 entries", { CQ(cqe, 8192) } },
	{ "8193 entries", { CQ(cqe, 8193) } },
	{ "2^26 entries", { CQ(cqe, 1u << 26) } },
	{ "2^31 entries", { CQ(cqe, 1u << 31) } },
	{ "2^32 - 1 entries", { CQ(cqe, UINT32_MAX) } },
	{ "vector 1", { CQ(vector, 1) } },
	{ "vector 2^31", { CQ(vector, 1u << 31) } },
	{ "vector 2^32 - 1", { CQ(vector, UINT32_MAX) } },
	{ "flags 0", { CQ(flags, 0) } },
	{ "flags 1, timestamps", { CQ(flags, 1) } },
	{ "flags 2, ignore overrun", { CQ(flags, 2) } },
	{ "flags 4", { CQ(flags, 4) } },
	{ "buffer at 64 bytes in a page", { CQ(buffer, WALK_RAM + 64) } },
	{ "buffer at 2 KiB in a page", { CQ(buffer, WALK_RAM + 2048) } },
	{ "buffer in the second page", { CQ(buffer, WALK_RAM + 4096) } },
	{ "buffer unmapped", { CQ(buffer, WALK_UNMAPPED) } },
	{ "buffer read-only", { CQ(buffer, WALK_READ_ONLY) } },
	{ "buffer without access", { CQ(buffer, WALK_NO_ACCESS) } },
	{ "buffer 0", { CQ(buffer, 0) } },
	{ "no driver data", { CQ(uhw_in_bytes, 0) } },
	{ "driver data of 4 bytes", { CQ(uhw_in_bytes, 4) } },
	{ "driver data of 8 bytes", { CQ(uhw_in_bytes, 8) } },
	{ "driver data of 12 bytes", { CQ(uhw_in_bytes, 12) } },
	{ "driver data of 24 bytes", { CQ(uhw_in_bytes, 24) } },
	{ "driver flag 2", { CQ(uhw_flags, 2) } },
	{ "driver reserved word", { CQ(uhw_flags, UINT64_C(1) << 32) } },
	{ "no driver answer", { CQ(uhw_out_bytes, 0) } },
	{ "driver answer of 4 bytes", { CQ(uhw_out_bytes, 4) } },
	{ "no answer of entries",
	  { CQ(omit, WITHOUT(UVERBS_ATTR_CREATE_CQ_RESP_CQE)) } },
	{ "no number of entries",
	  { CQ(omit, WITHOUT(UVERBS_ATTR_CREATE_CQ_CQE)) } },
	{ "no user handle",
	  { CQ(omit, WITHOUT(UVERBS_ATTR_CREATE_CQ_USER_HANDLE)) } },
	{ "no vector", { CQ(omit, WITHOUT(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR)) } },
	{ "no handle", { CQ(omit, WITHOUT(UVERBS_ATTR_CREATE_CQ_HANDLE)) } },
	{ "channel 0", { CQ(channel, 0) } },
	{ "channel 1000", { CQ(channel, 1000) } },
	{ NULL, { { 0 } } },
};

static void
create_cq(int fd)
{
	const struct walk_variant *variant;
	int error;

	walk_name("create_cq");
	for (variant = cqs; variant->what != NULL; variant++) {
		struct uverbs_cq cq = UVERBS_CQ;

		walk_apply(variant, &cq);
		error = uverbs_create_cq(fd, &cq);
		walk_say(error, variant->what, "cqe %u, cqid %s", cq.cqe_answer,
			 cq.uhw_out_bytes < 4 ? "not asked" :
						walk_id(cq.uhw_out[0]));
		if (error == 0 &&
		    uverbs_destroy(fd, UVERBS_OBJECT_CQ, cq.handle) != 0)
			walk_note(variant->what, "not destroyed");
	}
}

static void
channels(int fd)
{
	struct uverbs_cq cq = UVERBS_CQ;
	int32_t channel = -1;
	int error;

	walk_name("create_comp_channel");
	error = uverbs_create_channel(fd, &channel);
	walk_say(error, "ioctl", "%s", channel > 2 ? "fd" : "none");
	cq.channel = channel;
	error = uverbs_create_cq(fd, &cq);
	walk_say(error, "CQ with it", "cqe %u", cq.cqe_answer);
	close(channel);
	error = uverbs_destroy(fd, UVERBS_OBJECT_CQ, cq.handle);
	walk_say(error, "destroy the CQ after the channel",
		 "comp events %u, async events %u", uverbs_destroy_answer[0],
		 uverbs_destroy_answer[1]);
	walk_result(uverbs_create_cq(fd, &cq), "CQ with the closed one");
	cq.channel = fd;
	walk_result(uverbs_create_cq(fd, &cq),
		    "CQ with the uverbs file as channel");
}

/* Verbs that mana_ib leaves to user space, or does not have. */
static void
other_cq_commands(int fd)
{
	struct uverbs_cq cq = UVERBS_CQ;
	struct ib_uverbs_poll_cq poll = { .ne = 1 };
	struct ib_uverbs_req_notify_cq notify = { 0 };
	struct ib_uverbs_resize_cq resize = { .cqe = 128 };
	struct ib_uverbs_ex_modify_cq modify = { .attr_mask = 1 };
	uint64_t out[16];
	struct {
		const char *what;
		struct uverbs_command command;
	} calls[] = {
		{ "poll_cq",
		  { .number = IB_USER_VERBS_CMD_POLL_CQ,
		    .in = &poll,
		    .in_bytes = sizeof(poll),
		    .out = out,
		    .out_bytes = 64 } },
		{ "req_notify_cq",
		  { .number = IB_USER_VERBS_CMD_REQ_NOTIFY_CQ,
		    .in = &notify,
		    .in_bytes = sizeof(notify) } },
		{ "resize_cq",
		  { .number = IB_USER_VERBS_CMD_RESIZE_CQ,
		    .in = &resize,
		    .in_bytes = sizeof(resize),
		    .out = out,
		    .out_bytes = 8 } },
		{ "modify_cq",
		  { .number = EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_CQ,
		    .in = &modify,
		    .in_bytes = sizeof(modify) } },
	};
	int error;

	walk_name("other commands of a CQ");
	walk_result(uverbs_create_cq(fd, &cq), "a CQ");
	poll.cq_handle = notify.cq_handle = resize.cq_handle =
		modify.cq_handle = cq.handle;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		walk_result(uverbs_command(fd, &calls[i].command),
			    calls[i].what);
	error = uverbs_destroy(fd, UVERBS_OBJECT_CQ, cq.handle);
	walk_say(error, "destroy it", "comp events %u, async events %u",
		 uverbs_destroy_answer[0], uverbs_destroy_answer[1]);
	uverbs_try_destroy(fd, UVERBS_OBJECT_CQ, cq.handle, "destroy it again");
}

static const struct walk_variant wqs[] = {
	{ "256 requests", { { 0 } } },
	{ "type 1", { WQ(type, 1) } },
	{ "type 2^32", { WQ(type, UINT64_C(1) << 32) } },
	{ "0 requests", { WQ(max_wr, 0) } },
	{ "257 requests", { WQ(max_wr, 257) } },
	{ "2049 requests", { WQ(max_wr, 2049) } },
	{ "2^32 - 1 requests", { WQ(max_wr, UINT32_MAX) } },
	{ "0 SGEs", { WQ(max_sge, 0) } },
	{ "16 SGEs", { WQ(max_sge, 16) } },
	{ "2^32 - 1 SGEs", { WQ(max_sge, UINT32_MAX) } },
	{ "buffer of 0 bytes", { WQ(buffer_bytes, 0) } },
	{ "buffer of 32 bytes", { WQ(buffer_bytes, 32) } },
	{ "buffer of 4096 bytes", { WQ(buffer_bytes, 4096) } },
	{ "buffer of 12288 bytes", { WQ(buffer_bytes, 12288) } },
	{ "buffer of 2 MiB", { WQ(buffer_bytes, 2u << 20) } },
	{ "buffer of 2^31 bytes", { WQ(buffer_bytes, 1u << 31) } },
	{ "buffer at 64 bytes in a page", { WQ(buffer, WALK_RAM + 64) } },
	{ "buffer unmapped", { WQ(buffer, WALK_UNMAPPED) } },
	{ "buffer read-only", { WQ(buffer, WALK_READ_ONLY) } },
	{ "reserved driver word", { WQ(reserved, 1) } },
	{ "no driver data", { WQ(uhw_in_bytes, 0) } },
	{ "driver data of 8 bytes", { WQ(uhw_in_bytes, 8) } },
	{ "driver data of 12 bytes", { WQ(uhw_in_bytes, 12) } },
	{ "driver data of 24 bytes", { WQ(uhw_in_bytes, 24) } },
	{ "flags 0", { WQ(flags, 0) } },
	{ "flags 1, VLAN stripping", { WQ(flags, 1) } },
	{ "flags 2, scatter FCS", { WQ(flags, 2) } },
	{ "flags 4, delay drop", { WQ(flags, 4) } },
	{ "flags 8, PCI write padding", { WQ(flags, 8) } },
	{ "flags 16", { WQ(flags, 16) } },
	{ "unknown PD", { WQ(pd, NO_HANDLE) } },
	{ "unknown CQ", { WQ(cq, NO_HANDLE) } },
	{ "no type", { WQ(omit, WITHOUT(UVERBS_ATTR_CREATE_WQ_TYPE)) } },
	{ "no flags", { WQ(flags, UINT32_MAX) } },
	{ "no answer of requests",
	  { WQ(omit, WITHOUT(UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR)) } },
	/*
	 * Not without UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM: it is optional, but
	 * Linux 6.12 and 7.3 then fail after they have made the WQ, which
	 * remains until the file is closed.
	 */
	{ NULL, { { 0 } } },
};

static struct uverbs_wq
good_wq(uint32_t pd, uint32_t cq)
{
	return (struct uverbs_wq){
		.pd = pd,
		.cq = cq,
		.max_wr = 256,
		.max_sge = 1,
		.buffer = WALK_RAM + (1 << 20),
		.buffer_bytes = 8192,
		.uhw_in_bytes = 16,
	};
}

static void
create_wq(int fd, uint32_t pd, uint32_t cq)
{
	const struct walk_variant *variant;
	struct uverbs_wq wq;
	int error;

	walk_name("create_wq");
	for (variant = wqs; variant->what != NULL; variant++) {
		wq = good_wq(pd, cq);
		walk_apply(variant, &wq);
		error = uverbs_create_wq(fd, &wq);
		walk_say(error, variant->what,
			 "max_wr %u, max_sge %u, wq_num %s", wq.max_wr_answer,
			 wq.max_sge_answer, walk_id(wq.number));
		if (error == 0 &&
		    uverbs_destroy(fd, UVERBS_OBJECT_WQ, wq.handle) != 0)
			walk_note(variant->what, "not destroyed");
	}
}

static void
modify_wq(int fd, uint32_t pd, uint32_t cq)
{
	struct uverbs_wq wq = good_wq(pd, cq);
	struct ib_uverbs_ex_modify_wq modify = { .attr_mask = 1, .wq_state = 1 };
	struct uverbs_command m =
		uverbs_make(EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_WQ, &modify,
			    sizeof(modify), NULL, 0);

	walk_name("modify_wq");
	if (uverbs_create_wq(fd, &wq) != 0)
		walk_note("WQ", "not created");
	modify.wq_handle = wq.handle;
	walk_result(uverbs_command(fd, &m), "to RDY");
	modify.attr_mask = 0x80;
	walk_result(uverbs_command(fd, &m), "mask 0x80");
	if (uverbs_destroy(fd, UVERBS_OBJECT_WQ, wq.handle) != 0)
		walk_note("WQ", "not destroyed");
}

static const struct walk_variant tables[] = {
	{ "1 entry", { { 0 } } },
	{ "2 entries", { TABLE(log_size, 1), TABLE(nb_wqs, 2) } },
	{ "4 entries", { TABLE(log_size, 2), TABLE(nb_wqs, 4) } },
	{ "64 entries", { TABLE(log_size, 6), TABLE(nb_wqs, 64) } },
	{ "128 entries of 64", { TABLE(log_size, 7), TABLE(nb_wqs, 64) } },
	{ "2^13 entries of 64", { TABLE(log_size, 13), TABLE(nb_wqs, 64) } },
	{ "2^31 entries of 64", { TABLE(log_size, 31), TABLE(nb_wqs, 64) } },
	{ "2^32 entries of 64", { TABLE(log_size, 32), TABLE(nb_wqs, 64) } },
	{ "2 entries of 0", { TABLE(log_size, 1), TABLE(nb_wqs, 0) } },
	{ "1 entry of 0", { TABLE(nb_wqs, 0) } },
	{ "1 entry of 3", { TABLE(nb_wqs, 3) } },
	{ "comp_mask 1", { TABLE(comp_mask, 1) } },
	{ "padding is not 0", { TABLE(padding, 1) } },
	{ "unknown WQ", { TABLE(wq[0], NO_HANDLE) } },
	{ "second WQ is unknown",
	  { TABLE(log_size, 1), TABLE(nb_wqs, 2), TABLE(wq[1], NO_HANDLE) } },
	{ NULL, { { 0 } } },
};

static void
create_table(int fd, uint32_t pd, uint32_t cq)
{
	struct uverbs_table good = { .nb_wqs = 1 }, table;
	struct uverbs_wq wq = good_wq(pd, cq);
	const struct walk_variant *variant;
	uint32_t wqs_made[64];
	int error;

	wq.buffer_bytes = 4096;
	for (size_t i = 0; i < 64; i++) {
		wq.buffer = WALK_RAM + (1 << 20) + i * 4096;
		if (uverbs_create_wq(fd, &wq) != 0)
			walk_note("WQ for a table", "not created");
		wqs_made[i] = wq.handle;
	}
	memcpy(good.wq, wqs_made, sizeof(good.wq));
	walk_name("create_rwq_ind_tbl by ioctl");
	for (variant = tables; variant->what != NULL; variant++) {
		table = good;
		walk_apply(variant, &table);
		error = uverbs_create_table(fd, &table);
		walk_say(error, variant->what,
			 "comp_mask %u, "
			 "response_length %u, number %s",
			 table.comp_mask_answer, table.response_length,
			 walk_id(table.number));
		if (error == 0)
			uverbs_destroy(fd, UVERBS_OBJECT_RWQ_IND_TBL,
				       table.handle);
	}
	table = good;
	table.wq[0] = pd;
	walk_result(uverbs_create_table(fd, &table),
		    "PD in place of WQ");
	table = good;
	table.wq[1] = table.wq[0];
	table.log_size = 1;
	table.nb_wqs = 2;
	error = uverbs_create_table(fd, &table);
	walk_result(error, "the same WQ twice");
	if (error == 0)
		uverbs_destroy(fd, UVERBS_OBJECT_RWQ_IND_TBL,
			       table.handle);
	table = good;
	walk_result(uverbs_create_table(fd, &table), "a table");
	uverbs_try_destroy(fd, UVERBS_OBJECT_WQ, table.wq[0],
			   "destroy its WQ");
	uverbs_try_destroy(fd, UVERBS_OBJECT_RWQ_IND_TBL, table.handle,
			   "destroy");
	uverbs_try_destroy(fd, UVERBS_OBJECT_RWQ_IND_TBL, table.handle,
			   "destroy again");
	uverbs_try_destroy(fd, UVERBS_OBJECT_CQ, cq, "destroy the CQ of WQs");
	uverbs_try_destroy(fd, UVERBS_OBJECT_PD, pd, "destroy the PD of WQs");
	for (size_t i = 0; i < 64; i++)
		if (uverbs_destroy(fd, UVERBS_OBJECT_WQ, wqs_made[i]) != 0)
			walk_note("WQ of a table", "not destroyed");
	uverbs_try_destroy(fd, UVERBS_OBJECT_WQ, wqs_made[0],
			   "destroy a WQ again");
}

void
walk_queues(void)
{
	int fd = uverbs_open_context();
	struct uverbs_cq cq = UVERBS_CQ;
	uint32_t pd = 0;

	channels(fd);
	create_cq(fd);
	other_cq_commands(fd);
	walk_name("create_wq");
	walk_result(uverbs_alloc_pd(fd, &pd), "a PD");
	walk_result(uverbs_create_cq(fd, &cq), "a CQ");
	create_wq(fd, pd, cq.handle);
	modify_wq(fd, pd, cq.handle);
	create_table(fd, pd, cq.handle);
	uverbs_try_destroy(fd, UVERBS_OBJECT_CQ, cq.handle, "destroy the CQ");
	uverbs_try_destroy(fd, UVERBS_OBJECT_PD, pd, "destroy the PD");
	close(fd);
}
