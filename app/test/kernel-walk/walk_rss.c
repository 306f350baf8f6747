/* SPDX-License-Identifier: BSD-3-Clause */

/* RSS queue pairs: the Rx queues of a port. */

#include <stdio.h>
#include <unistd.h>

#include "objects.h"

#define QP(member, value) SET(struct uverbs_qp, member, value)
#define WITHOUT(id)	  (1u << (id))
#define LOG_SIZE	  1
#define MAX_RQS		  64

static const struct walk_variant qps[] = {
	{ "port 1", { { 0 } } },
	{ "port 2", { QP(rss.port, 2) } },
	{ "port 0", { QP(rss.port, 0) } },
	{ "port 3", { QP(rss.port, 3) } },
	{ "port 2^32 - 1", { QP(rss.port, UINT32_MAX) } },
	{ "function 0", { QP(rss.function, 0) } },
	{ "function 2", { QP(rss.function, 2) } },
	{ "reserved byte", { QP(rss.reserved[0], 1) } },
	{ "fields 0", { QP(rss.fields, 0) } },
	{ "fields 2^63", { QP(rss.fields, UINT64_C(1) << 63) } },
	{ "key of 0 bytes", { QP(rss.key_bytes, 0) } },
	{ "key of 39 bytes", { QP(rss.key_bytes, 39) } },
	{ "key of 41 bytes", { QP(rss.key_bytes, 41) } },
	{ "key of 2^32 - 1 bytes", { QP(rss.key_bytes, UINT32_MAX) } },
	{ "type RC", { QP(type, 2), QP(uhw_in_bytes, 0) } },
	{ "type UD", { QP(type, 4), QP(uhw_in_bytes, 0) } },
	{ "1 receive request", { QP(max_recv_wr, 1) } },
	{ "1 receive SGE", { QP(max_recv_sge, 1) } },
	{ "1 send SGE", { QP(max_send_sge, 1) } },
	{ "1 send request, no send CQ", { QP(max_send_wr, 1) } },
	{ "16 bytes inline", { QP(max_inline, 16) } },
	{ "flags signal all", { QP(flags, 0x1000) } },
	{ "flags VLAN stripping", { QP(flags, 0x200) } },
	{ "flags scatter FCS", { QP(flags, 0x100) } },
	{ "no driver data", { QP(uhw_in_bytes, 0) } },
	{ "driver data of 16 bytes", { QP(uhw_in_bytes, 16) } },
	{ "driver data of 60 bytes", { QP(uhw_in_bytes, 60) } },
	{ "driver data of 72 bytes", { QP(uhw_in_bytes, 72) } },
	{ "no driver answer", { QP(uhw_out_bytes, 0) } },
	{ "driver answer of 24 bytes", { QP(uhw_out_bytes, 24) } },
	{ "unknown table", { QP(table, NO_HANDLE) } },
	{ "unknown PD", { QP(pd, NO_HANDLE) } },
	{ "no PD", { QP(omit, WITHOUT(UVERBS_ATTR_CREATE_QP_PD_HANDLE)) } },
	{ NULL, { { 0 } } },
};

/* All objects of a port, with 2^log_size Rx queues. */
struct port {
	uint32_t pd, cq, table;
	bool has_tx;
	struct uverbs_qp tx;
	struct object_rq rq[MAX_RQS];
	uint32_t nb_rqs;
};

static void
make(int fd, struct port *port, uint32_t log_size, bool has_tx)
{
	memset(port, 0, sizeof(*port));
	port->pd = object_pd(fd);
	port->nb_rqs = 1u << log_size;
	for (uint32_t i = 0; i < port->nb_rqs; i++)
		port->rq[i] = object_rq(fd, port->pd, i);
	port->table = object_table(fd, port->rq, log_size);
	port->cq = object_cq(fd, 64, 61);
	port->tx = object_raw_qp(port->pd, port->cq, 1);
	if (has_tx && uverbs_create_qp(fd, &port->tx) != 0)
		walk_note("Tx queue pair", "not created");
	port->has_tx = has_tx;
}

static void
unmake(int fd, struct port *port)
{
	if (port->has_tx)
		object_destroy(fd, UVERBS_OBJECT_QP, port->tx.handle);
	object_destroy(fd, UVERBS_OBJECT_CQ, port->cq);
	object_destroy(fd, UVERBS_OBJECT_RWQ_IND_TBL, port->table);
	for (uint32_t i = 0; i < port->nb_rqs; i++)
		object_destroy_rq(fd, &port->rq[i]);
	object_destroy(fd, UVERBS_OBJECT_PD, port->pd);
}

static void
create_variants(int fd)
{
	const struct walk_variant *variant;
	struct uverbs_qp qp;
	struct port port;

	walk_name("create_qp RSS");
	for (variant = qps; variant->what != NULL; variant++) {
		make(fd, &port, LOG_SIZE, true);
		qp = object_rss_qp(port.pd, port.table, 1);
		walk_apply(variant, &qp);
		object_try_qp(fd, &qp, variant->what);
		unmake(fd, &port);
	}
}

static void
sizes(int fd)
{
	struct uverbs_qp qp;
	struct port port;
	char what[64];

	walk_name("create_qp RSS");
	for (uint32_t log_size = 0; log_size <= 4; log_size++) {
		make(fd, &port, log_size, true);
		qp = object_rss_qp(port.pd, port.table, 1);
		snprintf(what, sizeof(what), "%u queues", 1u << log_size);
		object_try_qp(fd, &qp, what);
		unmake(fd, &port);
	}
}

static void
order(int fd)
{
	struct uverbs_qp qp, second;
	struct port port;
	uint32_t table, pd;

	walk_name("create_qp RSS, no Tx queue");
	make(fd, &port, LOG_SIZE, false);
	qp = object_rss_qp(port.pd, port.table, 1);
	object_try_qp(fd, &qp, "port 1");
	unmake(fd, &port);

	walk_name("create_qp RSS, PD of another Tx queue");
	make(fd, &port, LOG_SIZE, true);
	pd = object_pd(fd);
	qp = object_rss_qp(pd, port.table, 1);
	object_try_qp(fd, &qp, "port 1");
	object_destroy(fd, UVERBS_OBJECT_PD, pd);
	unmake(fd, &port);

	walk_name("create_qp RSS twice");
	make(fd, &port, 2, true);
	qp = object_rss_qp(port.pd, port.table, 1);
	object_say_qp(uverbs_create_qp(fd, &qp), "first", &qp);
	second = qp;
	object_try_qp(fd, &second, "second, same table");
	object_destroy(fd, UVERBS_OBJECT_QP, qp.handle);
	object_try_qp(fd, &qp, "again, after destruction");
	unmake(fd, &port);

	walk_name("create_qp RSS, table with a WQ twice");
	make(fd, &port, LOG_SIZE, true);
	struct object_rq twice[2] = { port.rq[0], port.rq[0] };
	table = object_table(fd, twice, 1);
	qp = object_rss_qp(port.pd, table, 1);
	object_try_qp(fd, &qp, "port 1");
	object_destroy(fd, UVERBS_OBJECT_RWQ_IND_TBL, table);
	unmake(fd, &port);
}

/* What is in use cannot be destroyed. */
static void
destruction(int fd)
{
	struct uverbs_qp qp;
	struct port port;

	walk_name("destroy in wrong order");
	make(fd, &port, LOG_SIZE, true);
	qp = object_rss_qp(port.pd, port.table, 1);
	walk_result(uverbs_create_qp(fd, &qp), "RSS queue pair");
#define DESTROY(kind, handle, what) \
	uverbs_try_destroy(fd, UVERBS_OBJECT_##kind, handle, what)

	DESTROY(PD, port.pd, "PD");
	DESTROY(CQ, port.rq[0].cq, "CQ of a WQ");
	DESTROY(CQ, port.cq, "CQ of the Tx queue pair");
	DESTROY(WQ, port.rq[0].wq, "WQ");
	DESTROY(RWQ_IND_TBL, port.table, "table");
	DESTROY(QP, port.tx.handle, "Tx queue pair before the RSS queue pair");
	DESTROY(QP, qp.handle, "RSS queue pair");
	DESTROY(QP, qp.handle, "RSS queue pair again");
	DESTROY(WQ, port.rq[0].wq, "WQ in a table");
	DESTROY(RWQ_IND_TBL, port.table, "table after its queue pair");
	DESTROY(CQ, port.rq[0].cq, "CQ before its WQ");
	DESTROY(WQ, port.rq[0].wq, "WQ after its table");
	DESTROY(CQ, port.rq[0].cq, "CQ after its WQ");
	DESTROY(WQ, port.rq[1].wq, "second WQ");
	DESTROY(CQ, port.rq[1].cq, "second CQ");
	DESTROY(CQ, port.cq, "CQ of the Tx queue pair after it");
	DESTROY(PD, port.pd, "PD after all");
#undef DESTROY
}

void
walk_rss(void)
{
	int fd = uverbs_open_context();

	create_variants(fd);
	sizes(fd);
	order(fd);
	destruction(fd);
	close(fd);
}
