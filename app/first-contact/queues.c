/* SPDX-License-Identifier: BSD-3-Clause */

/* The queues of an experiment: a Tx queue, Rx queues and their RSS object. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <infiniband/manadv.h>

#include "first_contact.h"

/* The verification key of Microsoft's RSS. */
const uint8_t fc_rss_key[FC_RSS_KEY_BYTES] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
	0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
	0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static int
create_cq(struct fc *fc, const struct fc_port *port,
	  struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
	if (fc->setup.has_events) {
		*channel = ibv_create_comp_channel(port->ctx);
		if (*channel == NULL)
			return fc_port_fail(fc, port, "completion channel",
					    errno);
		fcntl((*channel)->fd, F_SETFL,
		      fcntl((*channel)->fd, F_GETFL) | O_NONBLOCK);
	}
	errno = EIO;
	*cq = ibv_create_cq(port->ctx, (int)fc->setup.nb_desc, NULL, *channel, 0);
	return *cq != NULL ? 0 :
			     fc_port_fail(fc, port, "completion queue", errno);
}

/* The Tx queue; the first one of a port takes its vPort. */
static int
open_txq(struct fc *fc, const struct fc_port *port, struct fc_txq *txq)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = fc->setup.nb_send,
			 .max_send_sge = fc->setup.nb_send_sge },
		.qp_type = IBV_QPT_RAW_PACKET,
	};
	struct manadv_qp dv_qp = { 0 };
	struct manadv_cq dv_cq = { 0 };
	struct manadv_obj obj = { 0 };
	int ret = create_cq(fc, port, &txq->channel, &txq->ibv_cq);

	if (ret != 0)
		return ret;
	attr.send_cq = txq->ibv_cq;
	attr.recv_cq = txq->ibv_cq;
	errno = EIO;
	txq->qp = ibv_create_qp(port->parent, &attr);
	if (txq->qp == NULL)
		return fc_port_fail(fc, port, "Tx queue", errno);
	obj.qp.in = txq->qp;
	obj.qp.out = &dv_qp;
	obj.cq.in = txq->ibv_cq;
	obj.cq.out = &dv_cq;
	ret = manadv_init_obj(&obj, MANADV_OBJ_QP | MANADV_OBJ_CQ);
	if (ret == 0)
		ret = mana_wq_init(&txq->sq, dv_qp.sq_buf, dv_qp.sq_size,
				   dv_qp.db_page, GDMA_DB_SQ_OFFSET);
	if (ret == 0)
		ret = mana_cq_init(&txq->cq, dv_cq.buf, fc->setup.nb_desc, true,
				   dv_qp.db_page);
	if (ret != 0)
		return fc_port_fail(fc, port, "ring of the Tx queue", ret);
	mana_wq_open(&txq->sq, dv_qp.sq_id);
	mana_cq_open(&txq->cq, dv_cq.cq_id, dv_qp.sq_id);
	txq->vp_offset = dv_qp.tx_vp_offset;
	return 0;
}

static void
close_txq(struct fc_txq *txq)
{
	if (txq->qp != NULL)
		ibv_destroy_qp(txq->qp);
	if (txq->ibv_cq != NULL)
		ibv_destroy_cq(txq->ibv_cq);
	if (txq->channel != NULL)
		ibv_destroy_comp_channel(txq->channel);
	memset(txq, 0, sizeof(*txq));
}

static int
create_wq(struct fc *fc, struct fc_rxq *rxq)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = fc->setup.nb_desc,
		.max_sge = FC_MAX_RX_SGE,
		.pd = fc->rx->parent,
	};
	int ret = create_cq(fc, fc->rx, &rxq->channel, &rxq->ibv_cq);

	if (ret != 0)
		return ret;
	attr.cq = rxq->ibv_cq;
	errno = EIO;
	rxq->wq = ibv_create_wq(fc->rx->ctx, &attr);
	return rxq->wq != NULL ? 0 : fc_port_fail(fc, fc->rx, "Rx queue", errno);
}

/* The rings, once the RSS object exists. */
static int
open_rxq(struct fc *fc, struct fc_rxq *rxq)
{
	struct manadv_rwq dv_wq = { 0 };
	struct manadv_cq dv_cq = { 0 };
	struct manadv_obj obj = {
		.rwq = { .in = rxq->wq, .out = &dv_wq },
		.cq = { .in = rxq->ibv_cq, .out = &dv_cq },
	};
	int ret = manadv_init_obj(&obj, MANADV_OBJ_RWQ | MANADV_OBJ_CQ);

	if (ret == 0)
		ret = mana_wq_init(&rxq->rq, dv_wq.buf, dv_wq.size,
				   dv_wq.db_page, GDMA_DB_RQ_OFFSET);
	if (ret == 0)
		ret = mana_cq_init(&rxq->cq, dv_cq.buf, fc->setup.nb_desc,
				   false, dv_wq.db_page);
	if (ret != 0)
		return fc_port_fail(fc, fc->rx, "ring of an Rx queue", ret);
	mana_wq_open(&rxq->rq, dv_wq.wq_id);
	mana_cq_open(&rxq->cq, dv_cq.cq_id, dv_wq.wq_id);
	return 0;
}

/* WQEs of an Rx queue, each with a buffer of its own. All, unless queues are many. */
static void
fill_rxq(struct fc *fc, uint32_t queue)
{
	const uint32_t nb_bytes = fc->setup.buf_bytes;
	const uint32_t nb = FC_NB_FULL_RXQ * FC_NB_DESC /
			    RTE_MAX(fc->setup.nb_rxq, FC_NB_FULL_RXQ);

	for (uint32_t i = 0; i < nb; i++) {
		struct fc_rx_wqe wqe = { .nb_sge = 1 };

		wqe.sge[0].off = FC_RX_OFF +
				 (queue * nb + i) * FC_RX_BUF_BYTES;
		wqe.sge[0].nb_bytes = nb_bytes;
		fc_rx_post(fc, queue, &wqe);
	}
	fc_rx_ring(fc, queue);
}

static int
create_rss(struct fc *fc)
{
	struct ibv_wq *wqs[FC_MAX_RXQ];
	struct ibv_rwq_ind_table_init_attr table = { .ind_tbl = wqs };
	struct ibv_qp_init_attr_ex attr = {
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH |
			     IBV_QP_INIT_ATTR_IND_TABLE,
		.qp_type = IBV_QPT_RAW_PACKET,
		.pd = fc->rx->parent,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = FC_RSS_KEY_BYTES,
			.rx_hash_key = (uint8_t *)(uintptr_t)fc_rss_key,
			.rx_hash_fields_mask =
				IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 |
				IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6 |
				IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP |
				IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP,
		},
	};

	while (1u << table.log_ind_tbl_size < fc->setup.nb_rxq)
		table.log_ind_tbl_size++;
	for (uint32_t i = 0; i < fc->setup.nb_rxq; i++)
		wqs[i] = fc->rxq[i].wq;
	errno = EIO;
	fc->ind = ibv_create_rwq_ind_table(fc->rx->ctx, &table);
	if (fc->ind == NULL)
		return fc_port_fail(fc, fc->rx, "table of Rx queues", errno);
	attr.rwq_ind_tbl = fc->ind;
	errno = EIO;
	fc->rss = ibv_create_qp_ex(fc->rx->ctx, &attr);
	return fc->rss != NULL ? 0 :
				 fc_port_fail(fc, fc->rx, "RSS object", errno);
}

static void
destroy_rss(struct fc *fc)
{
	if (fc->rss != NULL)
		ibv_destroy_qp(fc->rss);
	if (fc->ind != NULL)
		ibv_destroy_rwq_ind_table(fc->ind);
	fc->rss = NULL;
	fc->ind = NULL;
}

static void
close_rxqs(struct fc *fc)
{
	destroy_rss(fc);
	for (uint32_t i = 0; i < FC_MAX_RXQ; i++) {
		struct fc_rxq *rxq = &fc->rxq[i];

		if (rxq->wq != NULL)
			ibv_destroy_wq(rxq->wq);
		if (rxq->ibv_cq != NULL)
			ibv_destroy_cq(rxq->ibv_cq);
		if (rxq->channel != NULL)
			ibv_destroy_comp_channel(rxq->channel);
		memset(rxq, 0, sizeof(*rxq));
	}
}

static int
open_rxqs(struct fc *fc)
{
	int ret = 0;

	for (uint32_t i = 0; i < fc->setup.nb_rxq && ret == 0; i++)
		ret = create_wq(fc, &fc->rxq[i]);
	if (ret == 0)
		ret = create_rss(fc);
	for (uint32_t i = 0; i < fc->setup.nb_rxq && ret == 0; i++) {
		ret = open_rxq(fc, &fc->rxq[i]);
		if (ret == 0 && !fc->setup.is_empty &&
		    (fc->setup.empty_rxqs >> i & 1) == 0)
			fill_rxq(fc, i);
	}
	return ret;
}

int
fc_open(struct fc *fc, const struct fc_setup *setup)
{
	int ret;

	fc_close(fc);
	fc->setup = *setup;
	fc->no_cq_doorbell = false;
	if (fc->setup.nb_rxq == 0)
		fc->setup.nb_rxq = 1;
	if (fc->setup.nb_desc == 0)
		fc->setup.nb_desc = FC_NB_DESC;
	if (fc->setup.nb_send == 0)
		fc->setup.nb_send = fc->setup.nb_desc;
	if (fc->setup.buf_bytes == 0)
		fc->setup.buf_bytes = FC_RX_BUF_BYTES;
	if (fc->setup.nb_send_sge == 0)
		fc->setup.nb_send_sge = 2;
	memset(fc->memory, 0, FC_MEMORY_BYTES);
	ret = open_txq(fc, fc->tx, &fc->txq);
	if (ret == 0 && fc->rx != fc->tx)
		ret = open_txq(fc, fc->rx, &fc->owner);
	if (ret == 0)
		ret = open_rxqs(fc);
	if (ret != 0)
		fc_close(fc);
	fc->is_open = ret == 0;
	return ret;
}

void
fc_close(struct fc *fc)
{
	close_rxqs(fc);
	close_txq(&fc->owner);
	close_txq(&fc->txq);
	fc->is_open = false;
}

int
fc_rss_rebuild(struct fc *fc)
{
	close_rxqs(fc);
	return open_rxqs(fc);
}

/* Few WQEs, so that the ring is small: the question is not its size. */
#define NB_SEND_SMALL 8

int
fc_try_send_sge(struct fc *fc, uint32_t nb_sge)
{
	struct fc_txq txq = { 0 };
	const struct fc_setup old = fc->setup;
	int ret;

	fc->setup.nb_send_sge = nb_sge;
	fc->setup.nb_send = NB_SEND_SMALL;
	ret = open_txq(fc, fc->tx, &txq);
	close_txq(&txq);
	fc->setup = old;
	return ret;
}

uint32_t
fc_use_txqs(struct fc *fc)
{
	static struct fc_txq others[FC_MAX_TXQ - 1];
	const struct fc_txq first = fc->txq;
	uint32_t nb = 0, nb_open = 0;
	int type = fc_send_plain(fc);

	while (type == MANA_CQE_TX_OKAY && ++nb < FC_MAX_TXQ) {
		if (open_txq(fc, fc->tx, &others[nb_open++]) != 0)
			break;
		fc->txq = others[nb_open - 1];
		type = fc_send_plain(fc);
	}
	if (type != MANA_CQE_TX_OKAY)
		fc_fail(fc, -EIO, "a frame: %s", fc_cqe_name(type));
	while (nb_open > 0)
		close_txq(&others[--nb_open]);
	fc->txq = first;
	return nb;
}
