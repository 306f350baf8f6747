/* SPDX-License-Identifier: BSD-3-Clause */

/* /mana/queue: what is told of queues. As mana_telemetry.c says of names. */

#include <inttypes.h>
#include <string.h>

#include "mana.h"
#include "mana_registry.h"
#include "mana_telemetry.h"

/* What is told of a queue, receive or send. */
struct facts {
	uint8_t state;
	uint8_t fate;
	uint16_t nb_desc;
	uint16_t free_thresh;
	uint32_t nb_cqe;
	uint32_t nb_posted;
	const char *mempool; /* NULL: it has none */
	int socket_id;
	uint64_t offloads;
	uint64_t packets;
	uint64_t bytes;
	uint64_t errors;
	const struct mana_mr_cache *mr;
};

static struct facts
rxq_facts(const struct mana_priv *priv, uint16_t queue_id,
	  const struct mana_shown_queue *queue)
{
	const struct mana_rxq_ctl *ctl = queue->ctl;
	const struct mana_rxq *rxq = &ctl->rxq;

	return (struct facts){
		.state = priv->data->rx_queue_state[queue_id],
		.fate = rxq->fate,
		.nb_desc = ctl->nb_desc,
		.free_thresh = ctl->free_thresh,
		.nb_cqe = ctl->nb_cqe,
		.nb_posted = mana_rxq_look_posted(rxq),
		.mempool = queue->mempool,
		.socket_id = ctl->socket_id,
		.offloads = ctl->offloads,
		.packets = rxq->packets,
		.bytes = rxq->bytes,
		.errors = mana_rxq_errors(rxq),
		.mr = &rxq->mr,
	};
}

static struct facts
txq_facts(const struct mana_priv *priv, uint16_t queue_id,
	  const struct mana_shown_queue *queue)
{
	const struct mana_txq_ctl *ctl = queue->ctl;
	const struct mana_txq *txq = &ctl->txq;

	return (struct facts){
		.state = priv->data->tx_queue_state[queue_id],
		.fate = txq->fate,
		.nb_desc = ctl->nb_desc,
		.free_thresh = ctl->free_thresh,
		.nb_cqe = ctl->nb_cqe,
		.nb_posted = mana_txq_look_posted(txq),
		.socket_id = ctl->socket_id,
		.offloads = ctl->offloads,
		.packets = mana_txq_packets(txq),
		.bytes = txq->bytes,
		.errors = mana_txq_errors(txq),
		.mr = &txq->mr,
	};
}

static void
add_facts(struct rte_tel_data *d, const struct facts *facts)
{
	rte_tel_data_add_dict_string(d, "state",
				     facts->state == RTE_ETH_QUEUE_STATE_STOPPED ?
					     "stopped" :
					     "started");
	rte_tel_data_add_dict_string(d, "fate",
				     mana_queue_fate_name(facts->fate));
	rte_tel_data_add_dict_int(d, "nb_desc", facts->nb_desc);
	rte_tel_data_add_dict_int(d, "nb_cqe", facts->nb_cqe);
	mana_tel_dict_u64(d, "nb_posted", facts->nb_posted);
	rte_tel_data_add_dict_int(d, "free_thresh", facts->free_thresh);
	if (facts->mempool != NULL)
		rte_tel_data_add_dict_string(d, "mempool", facts->mempool);
	rte_tel_data_add_dict_int(d, "socket", facts->socket_id);
	mana_tel_add_hex(d, "offloads", facts->offloads);
	mana_tel_dict_u64(d, "packets", facts->packets);
	mana_tel_dict_u64(d, "bytes", facts->bytes);
	mana_tel_dict_u64(d, "errors", facts->errors);
	mana_tel_dict_u64(d, "mr_misses", facts->mr->nb_misses);
	mana_tel_dict_u64(d, "mr_failures", facts->mr->nb_failures);
}

typedef const struct mana_shown_queue *(*queue_find_t)(const struct mana_priv *priv,
						       uint64_t queue_id);

/* The numbers of the queues of one direction, as a part of d. */
static void
add_queue_list(struct rte_tel_data *d, const char *name,
	       const struct mana_priv *priv, queue_find_t find)
{
	struct rte_tel_data *list = rte_tel_data_alloc();
	uint32_t i;

	if (list == NULL)
		return;
	rte_tel_data_start_array(list, RTE_TEL_INT_VAL);
	for (i = 0; i < (uint32_t)RTE_MAX(MANA_MAX_RXQ, MANA_MAX_TXQ); i++)
		if (find(priv, i) != NULL)
			rte_tel_data_add_array_int(list, i);
	if (rte_tel_data_add_dict_container(d, name, list, 0) != 0)
		rte_tel_data_free(list);
}

static void
add_queue(struct rte_tel_data *d, const struct mana_priv *priv, bool is_rx,
	  uint64_t queue_id)
{
	const char *direction = is_rx ? "rx" : "tx";
	const struct mana_shown_queue *queue;
	struct facts facts;

	queue = (is_rx ? mana_registry_rxq : mana_registry_txq)(priv, queue_id);
	if (queue == NULL) {
		mana_tel_fail(d,
			      "port %u has no %s queue %" PRIu64
			      "; /mana/queue,%u lists them",
			      priv->data->port_id, direction, queue_id,
			      priv->data->port_id);
		return;
	}
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_int(d, "port_id", priv->data->port_id);
	rte_tel_data_add_dict_string(d, "direction", direction);
	rte_tel_data_add_dict_int(d, "queue", queue_id);
	facts = (is_rx ? rxq_facts : txq_facts)(priv, queue_id, queue);
	add_facts(d, &facts);
}

int
mana_tel_queue(const char *cmd, const char *params, struct rte_tel_data *d)
{
	bool is_list;
	bool is_rx;
	uint64_t queue_id = 0;
	struct mana_priv *priv;
	uint64_t port_id;

	RTE_SET_USED(cmd);
	if (mana_tel_port_take(&params, d, &port_id) != 0)
		return 0;
	is_list = params == NULL;
	is_rx = !is_list && strncmp(params, "rx,", 3) == 0;
	if (!is_list) {
		if (!is_rx && strncmp(params, "tx,", 3) != 0)
			return mana_tel_fail(
				d, "give a direction and a queue, as in 0,rx,1");
		params += 3;
		if (mana_tel_number_take(&params, &queue_id) != 0 ||
		    params != NULL)
			return mana_tel_fail(
				d, "give the number of a queue, as in 0,rx,1");
	}
	mana_registry_lock();
	priv = mana_registry_find(port_id);
	if (priv == NULL) {
		mana_tel_fail_port(d, port_id);
	} else if (is_list) {
		rte_tel_data_start_dict(d);
		add_queue_list(d, "rx", priv, mana_registry_rxq);
		add_queue_list(d, "tx", priv, mana_registry_txq);
	} else {
		add_queue(d, priv, is_rx, queue_id);
	}
	mana_registry_unlock();
	return 0;
}
