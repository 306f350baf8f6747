/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The Ethernet device: its registration, queues and steering, as OpenVMM's
 * mana_driver/src/mana.rs and bnic_driver.rs use it.
 */

#include "second.h"

enum request {
	VERIFY_VERSION = 1,
	LIST_DEVICES = 3,
	REGISTER = 4,
	DEREGISTER = 5,
	CREATE_QUEUE = 12,
	DISABLE_QUEUE = 13,
	CREATE_REGION = 25,
	CHANGE_VECTOR = 81,
	DEV_CONFIG = 0x20001,
	QUERY_STATS = 0x20002,
	VPORT_TX = 0x20003,
	CREATE_WQ = 0x20004,
	DESTROY_WQ = 0x20005,
	VPORT_RX = 0x20007,
	VPORT_CONFIG = 0x20008,
};
enum {
	TYPE_SQ = 1,
	TYPE_RQ,
	TYPE_CQ,
	TYPE_EQ
};

#define LIST_PAGES  16u /* room in a request for a region */
#define CQ_BYTES    (NB_SLOTS * CQE_BYTES)
#define EQ_BYTES    PAGE_BYTES
#define DATA_VECTOR 1u

struct port ports[NB_PORTS];
const uint8_t rss_key[RSS_KEY_BYTES] = "A second driver's key: bits of no order";
uint32_t nic_key;

static struct cq nic_eq; /* data events */
static uint32_t pd, page;

static void
must(enum request code, const void *body, uint32_t body_bytes, void *answer,
     uint32_t answer_bytes)
{
	hwc_call(code, DEVICE_MANA, body, body_bytes, answer, answer_bytes);
}

static void
register_device(void)
{
	uint8_t version[600] = { 0 }, devices[8 + 64 * 4], answer[12],
		config[48], wanted[48] = { 0 };
	uint32_t i, nb;

	put64(version, 1);
	put64(version + 8, 1);
	memcpy(version + 88, "second driver", sizeof("second driver"));
	hwc_call(VERIFY_VERSION, DEVICE_HWC, version, sizeof(version), answer, 8);
	if (hwc_try(LIST_DEVICES, DEVICE_HWC, NULL, 0, devices,
		    sizeof(devices)) == 0) {
		nb = get32(devices);
		for (i = 0; i < nb && get32(devices + 8 + 4 * i) !=
					      (DEVICE_MANA | 1u << 16);
		     i++)
			;
		if (i == nb)
			die("no Ethernet device among %u", nb);
	}
	must(REGISTER, NULL, 0, answer, sizeof(answer));
	pd = get32(answer);
	nic_key = get32(answer + 4);
	page = get32(answer + 8);
	put32(wanted + 32, 1); /* version 1.0.0 of the protocol */
	must(DEV_CONFIG, wanted, sizeof(wanted), config, sizeof(config));
	if (get32(config + 32) % 0x10000 < NB_PORTS)
		die("there are no %u ports", NB_PORTS);
	if (get32(config + 44) == 0)
		die("no link speed");
}

/* Whole pages, with the list's unused room, as OpenVMM sends it. */
static uint64_t
region(const uint8_t *at, uint32_t nb_bytes)
{
	uint8_t body[24 + 8 * LIST_PAGES] = { 0 }, handle[8];
	const uint32_t nb = nb_bytes / PAGE_BYTES;

	put64(body, nb_bytes);
	put32(body + 16, nb);
	put32(body + 20, nb);
	for (uint32_t i = 0; i < nb; i++)
		put64(body + 24 + 8 * i, mem_address(at) + i * PAGE_BYTES);
	must(CREATE_REGION, body, sizeof(body), handle, sizeof(handle));
	return get64(handle);
}

static void
create_eq(void)
{
	uint8_t body[56] = { 0 }, id[4], move[16] = { 0 };

	nic_eq = cq_make(mem_alloc(EQ_BYTES), EQ_BYTES, DB_EQ);
	put32(body, TYPE_EQ);
	put32(body + 8, pd);
	put32(body + 12, page);
	put64(body + 16, region(nic_eq.ring, EQ_BYTES));
	put32(body + 28, EQ_BYTES);
	put32(body + 36, 0); /* vector */
	must(CREATE_QUEUE, body, sizeof(body), id, sizeof(id));
	nic_eq.id = get32(id);
	nic_eq.page = page;
	put32(move, nic_eq.id);
	put32(move + 4, DATA_VECTOR);
	must(CHANGE_VECTOR, move, sizeof(move), NULL, 0);
}

static void
create_wq(const struct port *port, struct wq *wq, uint32_t type)
{
	uint8_t body[48] = { 0 }, answer[16];

	*wq = (struct wq){ mem_alloc(RING_BYTES), RING_BYTES,
			   .reg = type == TYPE_SQ ? DB_SQ : DB_RQ };
	wq->cq = cq_make(mem_alloc(CQ_BYTES), CQ_BYTES, DB_CQ);
	put64(body, port->vport);
	put32(body + 8, type);
	put64(body + 16, region(wq->ring, RING_BYTES));
	put64(body + 24, region(wq->cq.ring, CQ_BYTES));
	put32(body + 32, RING_BYTES);
	put32(body + 36, CQ_BYTES);
	put32(body + 44, nic_eq.id);
	must(CREATE_WQ, body, sizeof(body), answer, sizeof(answer));
	wq->id = get32(answer);
	wq->cq.id = get32(answer + 4);
	wq->handle = get64(answer + 8);
	wq->page = wq->cq.page = page;
}

static void
destroy_wq(const struct wq *wq, uint32_t type)
{
	uint8_t body[16] = { 0 };

	put32(body, type);
	put64(body + 8, wq->handle);
	must(DESTROY_WQ, body, sizeof(body), NULL, 0);
}

/* Version 1 of the request: no coalesced completions. */
static void
steer(const struct port *port, bool is_on)
{
	uint8_t body[72 + 8 * RSS_ENTRIES] = { 0 };

	put64(body, port->vport);
	put32(body + 12, is_on); /* receive */
	if (!is_on) {
		put32(body + 16, 0);
		must(VPORT_RX, body, sizeof(body), NULL, 0);
		return;
	}
	put16(body + 8, RSS_ENTRIES);
	put16(body + 10, 40 + 72); /* from the request's begin */
	put32(body + 16, 1); /* RSS */
	body[20] = body[21] = body[22] = 1; /* default queue, key, table */
	put64(body + 24, port->rq[0].handle);
	memcpy(body + 32, rss_key, RSS_KEY_BYTES);
	for (uint32_t i = 0; i < RSS_ENTRIES; i++)
		put64(body + 72 + 8 * i, port->rq[i % NB_QUEUES].handle);
	must(VPORT_RX, body, sizeof(body), NULL, 0);
}

void
nic_post_rx(struct port *port, uint32_t q, uint32_t nb)
{
	static const uint8_t oob[8];
	struct wq *rq = &port->rq[q];

	for (uint32_t i = 0; i < nb; i++) {
		const uint32_t slot = rq->tail / 32 % NB_SLOTS;

		wq_post(rq, oob, sizeof(oob),
			mem_address(port->rx_buffers[q] + slot * SLOT_BYTES),
			nic_key, SLOT_BYTES);
	}
	wq_ring(rq);
}

static void
start_port(struct port *port, uint32_t index)
{
	uint8_t body[16] = { 0 }, config[32], tx[4];

	put32(body, index);
	must(VPORT_CONFIG, body, 4, config, sizeof(config));
	memcpy(port->mac, config + 16, 6);
	port->vport = get64(config + 24);
	put64(body, port->vport);
	put32(body + 8, pd);
	put32(body + 12, page);
	must(VPORT_TX, body, sizeof(body), tx, sizeof(tx));
	port->vp_offset = (uint16_t)get32(tx);
	for (uint32_t q = 0; q < NB_QUEUES; q++) {
		create_wq(port, &port->sq[q], TYPE_SQ);
		create_wq(port, &port->rq[q], TYPE_RQ);
		port->tx_buffers[q] = mem_alloc(NB_SLOTS * SLOT_BYTES);
		port->rx_buffers[q] = mem_alloc(NB_SLOTS * SLOT_BYTES);
	}
	steer(port, true);
	for (uint32_t q = 0; q < NB_QUEUES; q++)
		nic_post_rx(port, q, NB_SLOTS);
}

void
nic_start(void)
{
	mem_free_all();
	hwc_open();
	register_device();
	create_eq();
	for (uint32_t p = 0; p < NB_PORTS; p++)
		start_port(&ports[p], p);
}

static void
disable_eq(void)
{
	uint8_t body[12];

	put32(body, TYPE_EQ);
	put32(body + 4, nic_eq.id);
	put32(body + 8, 1);
	must(DISABLE_QUEUE, body, sizeof(body), NULL, 0);
}

void
nic_stop(void)
{
	uint8_t wanted[8], stats[27 * 8];

	put64(wanted, (1u << 26) - 1);
	must(QUERY_STATS, wanted, sizeof(wanted), stats, sizeof(stats));
	if (get64(stats + 8) != 0)
		die("the adapter has dropped packets");
	for (uint32_t p = 0; p < NB_PORTS; p++) {
		steer(&ports[p], false);
		for (uint32_t q = 0; q < NB_QUEUES; q++) {
			destroy_wq(&ports[p].sq[q], TYPE_SQ);
			destroy_wq(&ports[p].rq[q], TYPE_RQ);
		}
	}
	disable_eq();
	must(DEREGISTER, NULL, 0, NULL, 0);
	hwc_close();
}

void
nic_wait(void)
{
	uint8_t event[EQE_BYTES];

	while (cq_pop(&nic_eq, event))
		;
	cq_ring(&nic_eq, true);
	for (uint32_t p = 0; p < NB_PORTS; p++)
		for (uint32_t q = 0; q < NB_QUEUES; q++) {
			cq_ring(&ports[p].sq[q].cq, true);
			cq_ring(&ports[p].rq[q].cq, true);
		}
	irq_wait(DATA_VECTOR);
}
