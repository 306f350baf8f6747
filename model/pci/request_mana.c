/* SPDX-License-Identifier: BSD-3-Clause */

/* Requests to the Ethernet device: vPorts, their queues, steering, counters. */

#include <inttypes.h>
#include <string.h>

#include "card.h"
#include "pci_device.h"
#include "request.h"

#define VPORT_MAX_QUEUES 64u /* SQs, and RQs: Linux MANA_MAX_NUM_QUEUES */
#define ETH_HEADER_BYTES 14u
#define LINK_SPEED_MBPS	 200000u /* OpenVMM defs/bnic.rs: if unknown */

static uint32_t
speed_mbps(const struct request *r, uint32_t port)
{
	const uint32_t mbps = r->a->speed_mbps[port];

	return mbps != 0 ? mbps : LINK_SPEED_MBPS;
}

static uint32_t
query_dev_config(struct request *r)
{
	struct dev_config_answer *answer = (void *)r->answer;
	const struct model_config *config = segment_config();

	if (config->quirks[QUIRK_RX_COALESCED_8] != 0)
		answer->pf_cap_flags[0] = DEV_CONFIG_CQE_8;
	answer->max_num_vports = (uint16_t)r->f->nb_ports;
	answer->max_num_eqs = ADAPTER_NB_EQS - 1;
	answer->adapter_mtu = (uint16_t)(config->max_mtu + ETH_HEADER_BYTES);
	if (r->answer_version >= 4)
		answer->adapter_link_speed_mbps = speed_mbps(r, 0);
	return STATUS_OK;
}

static uint32_t
query_vport_config(struct request *r)
{
	const struct vport_config_request *req = (const void *)r->bytes;
	struct vport_config_answer *answer = (void *)r->answer;

	if (req->vport_index >= r->f->nb_ports)
		return request_refuse(r, VIOLATION_request_field,
				      "got index %u, want less than %u",
				      req->vport_index, r->f->nb_ports);
	answer->max_num_sq = VPORT_MAX_QUEUES;
	answer->max_num_rq = VPORT_MAX_QUEUES;
	answer->num_indirection_ent = CARD_RSS_TABLE_SIZE;
	card_port_mac(r->fn, req->vport_index, answer->mac_addr);
	answer->vport = handle_make(HANDLE_VPORT, req->vport_index);
	return STATUS_OK;
}

/* NULL if the handle is not of a vPort. */
static struct card_port *
vport_of(const struct request *r, uint64_t handle)
{
	return card_port(r->fn, handle_id(HANDLE_VPORT, handle));
}

static uint32_t
refuse_vport(const struct request *r, uint64_t handle)
{
	return request_refuse_handle(r, "vPort", handle,
				     "a handle of MANA_QUERY_VPORT_CONFIG");
}

static bool
vport_has_queues(const struct request *r, uint32_t port)
{
	uint32_t i;

	for (i = 0; i < CARD_NB_WQS; i++)
		if (r->f->wqs[i].is_alive && r->f->wqs[i].port == port)
			return true;
	return false;
}

/* A PD and page of a device, or of a user's context. */
static bool
is_of_guest(const struct request *r, uint32_t pdn, uint32_t page)
{
	const struct adapter_device *device = &r->a->devices[DEVICE_MANA];

	if (pdn >= CARD_MAX_PDS || page >= CARD_MAX_PAGES)
		return false;
	return (device->is_registered && pdn == device->pdn &&
		page == device->page) ||
	       (r->a->has_pd_handle[pdn] && r->a->has_page[page]);
}

static uint32_t
config_vport_tx(struct request *r)
{
	const struct vport_tx_request *req = (const void *)r->bytes;
	const uint32_t port = handle_id(HANDLE_VPORT, req->vport);
	struct vport_tx_answer *answer = (void *)r->answer;
	uint32_t tx_vp_offset;

	if (vport_of(r, req->vport) == NULL ||
	    !is_of_guest(r, req->pdid, req->doorbell_pageid))
		return request_refuse(
			r, VIOLATION_request_handle,
			"got vPort 0x%" PRIx64
			", PD %u, doorbell page %u, want a vPort that exists, and a PD and page of one owner",
			(uint64_t)req->vport, req->pdid, req->doorbell_pageid);
	/* Linux mana_en.c mana_cfg_vport(): one user at a time. */
	if (vport_has_queues(r, port))
		return request_refuse(
			r, VIOLATION_request_state,
			"got port %u with queues, want them destroyed first",
			port + 1);
	if (card_vport_enable_tx(r->fn, port, req->pdid, req->doorbell_pageid,
				 &tx_vp_offset) < 0)
		return STATUS_REFUSED;
	answer->tx_vport_offset = (uint16_t)tx_vp_offset;
	answer->short_form_allowed =
		!segment_config()->quirks[QUIRK_SHORT_VP_FORM_REFUSED];
	return STATUS_OK;
}

static uint32_t
wq_index(bool is_sq, uint32_t id)
{
	return is_sq ? id - CARD_FIRST_SQ_ID :
		       id - CARD_FIRST_RQ_ID + CARD_MAX_QUEUES;
}

static uint32_t
create_wq_in(struct request *r, const struct create_wq_request *req,
	     const struct card_port *port, const struct card_memory *ring,
	     struct create_wq_answer *answer)
{
	const uint32_t p = handle_id(HANDLE_VPORT, req->vport);
	const uint32_t pdn = port->tx_pdn, page = port->tx_page;
	const bool is_sq = req->wq_type == QUEUE_SQ;
	uint32_t cq_id, wq_id;
	int rc;

	const uint32_t status =
		request_cq_create(r, pdn, page, req->cq_gdma_region,
				  req->cq_size, req->cq_parent_qid, &cq_id);

	if (status != STATUS_OK)
		return status;
	rc = is_sq ? card_sq_create(r->fn, p, pdn, page, ring, cq_id, &wq_id) :
		     card_rq_create(r->fn, p, pdn, page, ring, cq_id, &wq_id);
	if (rc < 0) {
		/* The guest keeps the region. */
		card_cq_destroy(r->fn, cq_id);
		region_find(&r->a->regions, req->cq_gdma_region)->is_used = false;
		return STATUS_REFUSED;
	}
	request_region_use(r, req->wq_gdma_region);
	r->a->wq_regions[wq_index(is_sq, wq_id)] = req->wq_gdma_region;
	answer->wq_id = wq_id;
	answer->cq_id = cq_id;
	answer->wq_obj = handle_make(is_sq ? HANDLE_SQ : HANDLE_RQ, wq_id);
	return STATUS_OK;
}

static uint32_t
create_wq(struct request *r)
{
	const struct create_wq_request *req = (const void *)r->bytes;
	const struct card_port *port = vport_of(r, req->vport);
	struct card_memory ring;
	uint32_t status;

	if (r->nb_bytes != CREATE_WQ_V1_BYTES && r->nb_bytes != sizeof(*req))
		return request_refuse(r, VIOLATION_request_size,
				      "got %u bytes, want %u or %zu", r->nb_bytes,
				      CREATE_WQ_V1_BYTES, sizeof(*req));
	if (port == NULL)
		return refuse_vport(r, req->vport);
	if (req->wq_type != QUEUE_SQ && req->wq_type != QUEUE_RQ)
		return request_refuse(r, VIOLATION_request_field,
				      "got type %u, want %u (SQ) or %u (RQ)",
				      req->wq_type, QUEUE_SQ, QUEUE_RQ);
	/* The vPort's configuration gives PD and doorbell page. */
	if (!port->tx_enabled)
		return request_refuse(
			r, VIOLATION_request_state,
			"got a vPort without PD and doorbell page, want MANA_CONFIG_VPORT_TX first");
	status = request_ring(r, req->wq_gdma_region, req->wq_size, &ring);
	if (status != STATUS_OK)
		return status;
	if (req->wq_gdma_region == req->cq_gdma_region)
		return request_refuse(
			r, VIOLATION_request_field,
			"got one region for work queue and CQ, want two");
	return create_wq_in(r, req, port, &ring, (void *)r->answer);
}

/* The work queue of an object's handle, or NULL. */
static struct wq *
wq_of(const struct request *r, uint64_t handle)
{
	const uint32_t sq = handle_id(HANDLE_SQ, handle);

	return sq != UINT32_MAX ? card_sq(r->f, sq) :
				  card_rq(r->f, handle_id(HANDLE_RQ, handle));
}

static uint32_t
destroy_wq(struct request *r)
{
	const struct destroy_wq_request *req = (const void *)r->bytes;
	const struct wq *wq = wq_of(r, req->wq_obj_handle);
	uint32_t cq_id;
	uint64_t region;

	if (wq == NULL)
		return request_refuse_handle(r, "object", req->wq_obj_handle,
					     "a handle of MANA_CREATE_WQ_OBJ");
	if (req->wq_type != (wq->is_sq ? QUEUE_SQ : QUEUE_RQ))
		return request_refuse(
			r, VIOLATION_request_field,
			"got type %u, want %u, with which it was created",
			req->wq_type, wq->is_sq ? QUEUE_SQ : QUEUE_RQ);
	cq_id = r->f->cqs[wq->cq].id;
	region = r->a->wq_regions[wq_index(wq->is_sq, wq->id)];
	if (wq->is_sq)
		card_sq_destroy(r->fn, wq->id);
	else
		card_rq_destroy(r->fn, wq->id);
	request_cq_destroy(r, cq_id);
	region_destroy(&r->a->regions, region);
	return STATUS_OK;
}

static uint32_t
fence_rq(struct request *r)
{
	const struct handle_request *req = (const void *)r->bytes;
	const uint32_t id = handle_id(HANDLE_RQ, req->handle);

	if (card_rq(r->f, id) == NULL)
		return request_refuse_handle(r, "object", req->handle,
					     "that of an RQ");
	return card_rq_fence(r->fn, id) < 0 ? STATUS_REFUSED : STATUS_OK;
}

/* The RQ of a handle; CARD_NO_QUEUE if it is not of this vPort. */
static uint32_t
rq_of_vport(const struct request *r, uint64_t handle, uint32_t port)
{
	const uint32_t id = handle_id(HANDLE_RQ, handle);
	const struct wq *rq = card_rq(r->f, id);

	return rq != NULL && rq->port == port ? id : CARD_NO_QUEUE;
}

/*
 * The card's table has a fixed size. The hash selects the same RQ in a smaller
 * table, repeated, because sizes are powers of two.
 */
static uint32_t
read_table(const struct request *r, const struct vport_rx_request *req,
	   uint32_t port, struct card_steering *steering)
{
	const uint32_t nb = req->num_indir_entries, at = req->indir_tab_offset;
	uint64_t handle;
	uint32_t i;

	if (nb == 0 || nb > CARD_RSS_TABLE_SIZE || (nb & (nb - 1)) != 0 ||
	    at < CONFIG_VPORT_RX_V1_BYTES || at + nb * sizeof(handle) > r->nb_bytes)
		return request_refuse(
			r, VIOLATION_request_field,
			"got %u entries at offset %u of %u bytes, want a power of two up to %u, behind the fixed part",
			nb, at, r->nb_bytes, CARD_RSS_TABLE_SIZE);
	for (i = 0; i < CARD_RSS_TABLE_SIZE; i++) {
		memcpy(&handle, r->bytes + at + i % nb * sizeof(handle),
		       sizeof(handle));
		steering->table[i] = rq_of_vport(r, handle, port);
		if (steering->table[i] == CARD_NO_QUEUE)
			return request_refuse(r, VIOLATION_request_handle,
					      "got object 0x%" PRIx64
					      " in entry %u, want an RQ of this vPort",
					      handle, i % nb);
	}
	return STATUS_OK;
}

static bool
is_true(int32_t value, bool present)
{
	return value == TRI_UNCHANGED ? present : value != TRI_FALSE;
}

static uint32_t
steer(struct request *r, const struct vport_rx_request *req, uint32_t p,
      const struct card_port *port)
{
	struct card_steering steering = {
		.rss_enable = is_true(req->rss_enable, port->rss_enable),
		/* In version 1 the table may be there. */
		.coalescing_enable = r->hdr.req.msg_version >= 2 &&
				     req->cqe_coalescing_enable != 0,
		.is_off = !is_true(req->rx_enable, port->rx_enabled),
		.keep_default_rq = req->update_default_rxobj == 0,
		.keep_table = req->update_indir_tab == 0,
		.keep_key = req->update_hashkey == 0,
	};
	uint32_t status;

	if (!steering.keep_table) {
		status = read_table(r, req, p, &steering);
		if (status != STATUS_OK)
			return status;
	}
	if (!steering.keep_default_rq) {
		steering.default_rq = rq_of_vport(r, req->default_rxobj, p);
		if (steering.default_rq == CARD_NO_QUEUE)
			return request_refuse_handle(r, "default object",
						     req->default_rxobj,
						     "an RQ of this vPort");
	}
	memcpy(steering.key, req->hashkey, sizeof(steering.key));
	/* What is kept may refer to RQs that are gone. */
	if (card_vport_enable_rx(r->fn, p, &steering) < 0)
		return request_refuse(
			r, VIOLATION_request_state,
			"got a kept table or default object with an RQ that is gone, want them updated");
	return STATUS_OK;
}

static uint32_t
config_vport_rx(struct request *r)
{
	const struct vport_rx_request *req = (const void *)r->bytes;
	const uint32_t p = handle_id(HANDLE_VPORT, req->vport);
	const struct card_port *port = vport_of(r, req->vport);
	struct vport_rx_answer *answer = (void *)r->answer;

	if (port == NULL)
		return refuse_vport(r, req->vport);
	if (req->rx_enable < TRI_UNCHANGED || req->rx_enable > TRI_TRUE ||
	    req->rss_enable < TRI_UNCHANGED || req->rss_enable > TRI_TRUE)
		return request_refuse(r, VIOLATION_request_field,
				      "got rx_enable %d, rss_enable %d, want %d to %d",
				      req->rx_enable, req->rss_enable,
				      TRI_UNCHANGED, TRI_TRUE);
	answer->cqe_coalescing_timeout_ns = segment_config()->coalesce_ns;
	return steer(r, req, p, port);
}

/* Bit of a counter in reported_stats; see struct gf_stat_answer. */
static uint64_t
stat_bit(enum gf_stat stat)
{
	static const uint8_t others[NB_GF_STATS] = {
		[GF_RX_BCAST_PACKETS] = GF_RX_MCAST_PACKETS,
		[GF_RX_BCAST_BYTES] = GF_RX_MCAST_BYTES,
		[GF_RX_MCAST_PACKETS] = GF_RX_BCAST_PACKETS,
		[GF_RX_MCAST_BYTES] = GF_RX_BCAST_BYTES,
		[GF_TX_BCAST_PACKETS] = GF_TX_MCAST_PACKETS,
		[GF_TX_BCAST_BYTES] = GF_TX_MCAST_BYTES,
		[GF_TX_MCAST_PACKETS] = GF_TX_BCAST_PACKETS,
		[GF_TX_MCAST_BYTES] = GF_TX_BCAST_BYTES,
	};

	return UINT64_C(1) << (others[stat] != 0 ? others[stat] : stat);
}

static void
report_stat(struct gf_stat_answer *answer, enum gf_stat stat, uint64_t value)
{
	answer->reported_stats |= stat_bit(stat);
	answer->stats[stat] = value;
}

/* Packets and bytes of unicast, broadcast and multicast, from this counter on. */
static void
report_casts(struct gf_stat_answer *answer, enum gf_stat first,
	     const struct card_frames *casts)
{
	uint32_t i;

	for (i = 0; i < CARD_NB_CASTS; i++) {
		report_stat(answer, first + 2 * i, casts[i].packets);
		report_stat(answer, first + 2 * i + 1, casts[i].bytes);
	}
}

/* The counters of the function. */
static uint32_t
query_gf_stat(struct request *r)
{
	static const struct {
		enum hw_cqe_type type;
		enum gf_stat stat;
	} errors[] = {
		{ HW_CQE_TX_VF_DISABLED, GF_TX_GF_DISABLED },
		{ HW_CQE_TX_VPORT_DISABLED, GF_TX_VPORT_DISABLED },
		{ HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE, GF_TX_VPORT_OFFSET },
		{ HW_CQE_TX_VLAN_TAGGING_VIOLATION, GF_TX_VLAN },
		{ HW_CQE_TX_INVALID_ETH_TYPE, GF_TX_ETHTYPE },
		{ HW_CQE_TX_SA_DROP, GF_TX_SA },
		{ HW_CQE_TX_MTU_DROP, GF_TX_MTU },
		{ HW_CQE_TX_INVALID_OOB, GF_TX_OOB },
		{ HW_CQE_TX_GDMA_ERR, GF_TX_GDMA },
	};
	struct gf_stat_answer *answer = (void *)r->answer;
	struct card_port_counters sum;
	uint32_t i;

	card_function_counters(r->fn, &sum);
	report_stat(answer, GF_RX_NO_WQE, sum.rx_no_wqe);
	report_stat(answer, GF_RX_VPORT_DISABLED, sum.rx_no_steering);
	report_stat(answer, GF_RX_BYTES, sum.rx_bytes);
	report_stat(answer, GF_TX_BYTES, sum.tx_bytes);
	report_casts(answer, GF_RX_UCAST_PACKETS, sum.rx_casts);
	report_casts(answer, GF_TX_UCAST_PACKETS, sum.tx_casts);
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		report_stat(answer, errors[i].stat,
			    sum.tx_errors[errors[i].type - HW_CQE_TX_SA_DROP]);
	return STATUS_OK;
}

static uint32_t
query_link_config(struct request *r)
{
	const struct handle_request *req = (const void *)r->bytes;
	struct link_config_answer *answer = (void *)r->answer;
	uint32_t mbps;

	if (vport_of(r, req->handle) == NULL)
		return refuse_vport(r, req->handle);
	mbps = speed_mbps(r, handle_id(HANDLE_VPORT, req->handle));
	answer->qos_speed_mbps = mbps;
	answer->link_speed_mbps = mbps;
	return STATUS_OK;
}

const struct request_kind mana_requests[] = {
	{ MANA_QUERY_DEV_CONFIG, 1, 4, DEVICE_MANA, SIZE(dev_config_request),
	  ANSWER(dev_config_answer), query_dev_config },
	{ MANA_QUERY_VPORT_CONFIG, 1, 1, DEVICE_MANA, SIZE(vport_config_request),
	  ANSWER(vport_config_answer), query_vport_config },
	{ MANA_CONFIG_VPORT_TX, 1, 1, DEVICE_MANA, SIZE(vport_tx_request),
	  ANSWER(vport_tx_answer), config_vport_tx },
	{ MANA_CREATE_WQ_OBJ, 3, 2, DEVICE_MANA, CREATE_WQ_V1_BYTES,
	  sizeof(struct create_wq_request), ANSWER(create_wq_answer), create_wq },
	{ MANA_DESTROY_WQ_OBJ, 1, 1, DEVICE_MANA, SIZE(destroy_wq_request),
	  NO_ANSWER, destroy_wq },
	{ MANA_FENCE_RQ, 1, 1, DEVICE_MANA, SIZE(handle_request), NO_ANSWER,
	  fence_rq },
	{ MANA_CONFIG_VPORT_RX, 5, 2, DEVICE_MANA, CONFIG_VPORT_RX_V1_BYTES,
	  HWC_MAX_MESSAGE_BYTES, ANSWER(vport_rx_answer), config_vport_rx },
	{ MANA_QUERY_GF_STAT, 1, 1, DEVICE_MANA, SIZE(gf_stat_request),
	  ANSWER(gf_stat_answer), query_gf_stat },
	{ MANA_QUERY_LINK_CONFIG, 1, 2, DEVICE_MANA, SIZE(handle_request),
	  ANSWER(link_config_answer), query_link_config },
	{ MANA_SET_BW_CLAMP, UINT16_MAX, 1, DEVICE_MANA, UP_TO(request_header),
	  NO_ANSWER, request_unsupported },
	{ MANA_QUERY_PHY_STAT, UINT16_MAX, 1, DEVICE_MANA,
	  UP_TO(request_header), NO_ANSWER, request_unsupported },
};
const uint32_t nb_mana_requests = sizeof(mana_requests) /
				  sizeof(mana_requests[0]);
