/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A driver's life on a PCI function: it establishes the hardware channel, sends
 * every request, sends and receives frames, and destroys all.
 */

#include <string.h>

#include "card.h"
#include "hwc_guest.h"
#include "hwc_objects.h"

static void
assert_only_channel(void)
{
	struct pci_objects n;

	pci_objects_count(0, &n);
	assert_int_equal(n.nb_channels, 1);
	assert_int_equal(n.nb_eqs, 1);
	assert_int_equal(n.nb_pds, 1);
	assert_int_equal(n.nb_keys, 1);
	assert_int_equal(n.nb_regions + n.nb_cqs + n.nb_wqs + n.nb_pages +
				 n.nb_devices + n.nb_rnic,
			 0);
}

static void
assert_nothing(void)
{
	const struct pci_objects none = { 0 };
	struct pci_objects n;

	pci_objects_count(0, &n);
	assert_memory_equal(&n, &none, sizeof(n));
}

GUEST_TEST(test_registers)
{
	/* As OpenVMM's driver reads them. */
	static const uint32_t map[] = { 0x01000001, 0, GUEST_DB_OFFSET, 0,
					4096,	    0, 0x1000,		0,
					32,	    0 };

	for (uint32_t i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		assert_int_equal(guest_read(4 * i, 4), map[i]);
	assert_int_equal(guest_read(0x8, 8), GUEST_DB_OFFSET);
	assert_int_equal(guest_read(0x8, 4), GUEST_DB_OFFSET);
	assert_int_equal(guest_read(0xc, 4), 0);
	assert_int_equal(guest_read(0x10, 4), 4096);
	assert_int_equal(guest_read(0x18, 8), 0x1000);
	assert_no_violation();
	assert_int_equal(guest_read(0xc8, 8), UINT64_MAX); /* of a PF */
	assert_violation(bar0_access, 1);
}

GUEST_TEST(test_establish)
{
	uint32_t header;

	header = guest_establish(5);
	assert_int_equal(header, 0x81); /* answer, type 1, the guest owns it */
	/* One interrupt for the start-up events, one when armed again: none. */
	assert_int_equal(guest.nb_interrupts[5], 1);
	assert_true(guest.cq.id < guest.max_cqs);
	assert_only_channel();
	assert_int_equal(guest_destroy(), 0x82);
	assert_nothing();
	assert_no_violation();
	guest_establish(0);
	assert_only_channel();
	assert_no_violation();
}

/* The start-up events have 24 bits for the key, which is new each time. */
GUEST_TEST(test_establish_often)
{
	struct request_header plain = { 0 };
	uint32_t i;

	for (i = 0; i < 1100; i++) {
		guest_free_all();
		guest_establish(0);
		OK(CALL(plain, GDMA_LIST_DEVICES, list_devices_answer));
		assert_int_equal(guest_destroy(), 0x82);
	}
	assert_nothing();
	assert_no_violation();
}

CHANNEL_TEST(test_start_requests)
{
	struct verify_version_request verify = { .protocol_ver_min = 1,
						 .protocol_ver_max = 1 };
	struct hwc_timeout_request timeout = { .timeout_ms = 30000 };
	struct request_header plain = { 0 };
	const struct max_resources_answer *max;
	const struct list_devices_answer *list;

	OK(CALL(verify, GDMA_VERIFY_VF_DRIVER_VERSION, verify_version_answer));
	assert_int_equal(ANSWER_OF(verify_version_answer)->protocol_ver, 1);
	assert_int_equal(ANSWER_OF(verify_version_answer)->pf_cap_flags[0],
			 1u << 3);
	OK(CALL(timeout, GDMA_QUERY_HWC_TIMEOUT, hwc_timeout_answer));
	assert_int_equal(ANSWER_OF(hwc_timeout_answer)->timeout_ms, 30000);
	OK(CALL(plain, GDMA_QUERY_MAX_RESOURCES, max_resources_answer));
	max = ANSWER_OF(max_resources_answer);
	assert_true(max->max_sq >= 64 && max->max_rq >= 64);
	assert_true(max->max_cq >= 128 && max->max_eq >= 64);
	assert_int_equal(max->max_msix, 64);
	OK(CALL(plain, GDMA_LIST_DEVICES, list_devices_answer));
	list = ANSWER_OF(list_devices_answer);
	assert_int_equal(list->num_of_devs, 3);
	assert_int_equal(list->devs[0].type, 1);
	assert_int_equal(list->devs[1].type, 2);
	assert_int_equal(list->devs[2].type, 3);
	assert_no_violation();
}

CHANNEL_TEST(test_config_requests)
{
	struct dev_config_request config = { .hdr.resp.msg_version = 2 };
	struct vport_config_request vport = { .vport_index = 1 };
	const struct dev_config_answer *answer;

	/* Linux 6.12 wants exactly version 2 to read the MTU. */
	OK(CALL_MANA(config, MANA_QUERY_DEV_CONFIG, dev_config_answer));
	answer = ANSWER_OF(dev_config_answer);
	assert_int_equal(answer->hdr.response.msg_version, 2);
	assert_int_equal(answer->max_num_vports, GUEST_NB_PORTS);
	assert_int_equal(answer->adapter_mtu, 1514);
	assert_int_equal(answer->adapter_link_speed_mbps, 0);
	assert_int_equal(answer->pf_cap_flags[0], 0);
	config.hdr.resp.msg_version = 9;
	CALL_MANA(config, MANA_QUERY_DEV_CONFIG, dev_config_answer);
	assert_int_equal(answer->hdr.response.msg_version, 4);
	assert_int_equal(answer->adapter_link_speed_mbps, 200000);
	/* A guest that knows less gets less. */
	config.hdr.resp.msg_version = 1;
	OK(guest_call_device(&config, sizeof(config), MANA_QUERY_DEV_CONFIG, 72,
			     DEVICE_MANA, 1));
	assert_int_equal(guest.answer_bytes, 72);
	/* One that knows more gets what there is. */
	guest_call_device(&config, sizeof(config), MANA_QUERY_DEV_CONFIG, 4096,
			  DEVICE_MANA, 1);
	assert_int_equal(guest.answer_bytes, sizeof(*answer));
	OK(CALL_MANA(vport, MANA_QUERY_VPORT_CONFIG, vport_config_answer));
	assert_int_equal(ANSWER_OF(vport_config_answer)->mac_addr[5], 2);
	assert_int_equal(ANSWER_OF(vport_config_answer)->num_indirection_ent, 64);
	assert_no_violation();
}

CHANNEL_TEST(test_unsupported)
{
	static const uint32_t codes[] = { GDMA_ALLOC_DM, GDMA_DESTROY_DM };
	static const uint32_t mana_codes[] = { MANA_SET_BW_CLAMP,
					       MANA_QUERY_PHY_STAT };
	struct request_header plain = { 0 };
	uint32_t i;

	for (i = 0; i < 2; i++) {
		assert_int_equal(CALL(plain, codes[i], answer_header),
				 STATUS_UNSUPPORTED);
		assert_int_equal(CALL_MANA(plain, mana_codes[i], answer_header),
				 STATUS_UNSUPPORTED);
	}
	assert_no_violation();
	assert_int_equal(CALL(plain, 77, answer_header), STATUS_UNSUPPORTED);
	assert_violation(request_unknown, 1);
}

CHANNEL_TEST(test_eq)
{
	struct hwc_device dev;
	struct guest_ring eq;
	uint32_t type, detail;

	device_register(&dev, DEVICE_MANA);
	eq = eq_create(&dev, 7);
	assert_int_equal(eq_test(&eq), STATUS_OK);
	assert_int_equal(guest.nb_interrupts[7], 1);
	assert_true(guest_event(&eq, &type, &detail));
	assert_int_equal(type, EQE_TEST);
	/* Not armed: an event without interrupt. */
	eq_test(&eq);
	assert_int_equal(guest.nb_interrupts[7], 1);
	/* Armed behind the device's index: at once. */
	guest_ring_eq(&eq, dev.page, true);
	assert_int_equal(guest.nb_interrupts[7], 2);
	assert_true(guest_event(&eq, &type, &detail));
	guest_ring_eq(&eq, dev.page, true);
	assert_int_equal(guest.nb_interrupts[7], 2);
	eq_test(&eq);
	assert_int_equal(guest.nb_interrupts[7], 3);
	assert_no_violation();
	eq_destroy(&eq);
	device_deregister(&dev);
	assert_only_channel();
	assert_no_violation();
}

/* The ring's end many times, so that all owner bits occur. */
CHANNEL_TEST(test_eq_laps)
{
	struct hwc_device dev;
	struct guest_ring eq;
	uint32_t type, detail, i;

	device_register(&dev, DEVICE_MANA);
	eq = eq_create(&dev, 1);
	for (i = 0; i < 10 * eq.nb_bytes / EQE_BYTES; i++) {
		eq_test(&eq);
		assert_true(guest_event(&eq, &type, &detail));
		assert_false(guest_event(&eq, &type, &detail));
		guest_ring_eq(&eq, dev.page, true);
	}
	assert_no_violation();
}

/* What only OpenVMM's driver sends to the GDMA engine. */
CHANNEL_TEST(test_openvmm_eq)
{
	struct change_msix_request msix = { .msix = 9 };
	struct reset_eqe_request reset = { .data = 1 };
	struct {
		struct create_region_request req;
		uint64_t pages[16];
	} region = { { .length = 4096, .page_count = 1, .page_addr_list_len = 1 },
		     { GUEST_PAGE } };
	struct handle_request destroy = { 0 };
	struct hwc_device dev;
	struct guest_ring eq;
	uint32_t type, detail;

	device_register(&dev, DEVICE_MANA);
	eq = eq_create(&dev, 7);
	msix.queue_index = eq.id;
	OK(CALL_MANA(msix, GDMA_CHANGE_MSIX_FOR_EQ, answer_header));
	reset.queue_index = eq.id;
	OK(CALL(reset, GDMA_GENERATE_RESET_REQUEST_EQE, answer_header));
	assert_int_equal(guest.nb_interrupts[7], 0);
	assert_int_equal(guest.nb_interrupts[9], 1);
	assert_true(guest_event(&eq, &type, &detail));
	assert_int_equal(type, EQE_HWC_RESET_REQUEST);
	assert_int_equal(detail, 1);
	OK(CALL_MANA(region, GDMA_CREATE_DMA_REGION, create_region_answer));
	destroy.handle = ANSWER_OF(create_region_answer)->dma_region_handle;
	OK(CALL(destroy, GDMA_DESTROY_DMA_REGION, answer_header));
	assert_no_violation();
	msix.msix = 64;
	REFUSAL(CALL(msix, GDMA_CHANGE_MSIX_FOR_EQ, answer_header),
		request_field);
	msix.queue_index++;
	REFUSAL(CALL(msix, GDMA_CHANGE_MSIX_FOR_EQ, answer_header),
		request_handle);
	reset.queue_index++;
	REFUSAL(CALL(reset, GDMA_GENERATE_RESET_REQUEST_EQE, answer_header),
		request_handle);
}

/* OpenVMM writes the number of WQEs into RQ doorbells. */
TEST(test_rq_doorbell_count)
{
	guest_config.quirks[QUIRK_RQ_WQE_CNT_IGNORED] = 1;
	guest_start_channel(state);
	guest_ring(guest.db_page, HW_DB_RQ, guest.rq.id | 1u << 24,
		   guest.rq.pos, false);
	assert_no_violation();
	guest_ring(guest.db_page, HW_DB_SQ, guest.sq.id | 1u << 24,
		   guest.sq.pos, false);
	assert_violation(doorbell_reserved_bits, 1);
	guest_stop(state);
}

/* The adapter owns the shared memory when its header is read, three times. */
TEST(test_shm_polled)
{
	uint32_t i;

	guest_config.quirks[QUIRK_SHM_ANSWER_POLLED] = 1;
	guest_config.quirks[QUIRK_HWC_DEPTH_16] = 1; /* see read_start_up() */
	guest_start_channel(state);
	assert_int_equal(guest_destroy(), 0x80000082);
	for (i = 0; i < 2; i++)
		assert_int_equal(guest_read(0x101c, 4), 0x80000082);
	assert_int_equal(guest_read(0x101c, 4), 0x82);
	assert_no_violation();
	guest_stop(state);
}

/* Two requests wait; both are answered. */
CHANNEL_TEST(test_parallel_requests)
{
	const struct hwc *hwc = &adapter(0)->hwc;
	const uint32_t before = hwc->rq.ci;

	guest_silence(true);
	for (uint32_t i = 0; i < 2; i++)
		assert_false(guest_try(&guest_plain_request,
				       sizeof(guest_plain_request)));
	guest_silence(false);
	segment_lock();
	while (pci_device_run(0))
		;
	segment_unlock();
	assert_int_equal(hwc->rq.ci - before, 2 * 32);
	assert_int_equal(hwc->sq.ci, hwc->sq.pi);
	assert_no_violation();
}

CHANNEL_TEST(test_frames)
{
	struct hwc_device dev;
	struct hwc_port port[2];
	struct guest_ring eq;
	const uint8_t *cqe;
	uint32_t type, detail;

	eq = device_port_start(&port[0], &dev);
	port_start(&port[1], 1, dev.pdn, dev.page, eq.id);
	port_post_rx(&port[1], dev.key, 2048);
	port_send(&port[0], dev.key, 100);
	/* One interrupt; two events: Rx of port 1, Tx of port 0. */
	assert_int_equal(guest.nb_interrupts[3], 1);
	assert_true(guest_event(&eq, &type, &detail));
	assert_int_equal(type, EQE_COMPLETION);
	assert_int_equal(detail, port[1].rcq.id);
	assert_true(guest_event(&eq, &type, &detail));
	assert_int_equal(detail, port[0].scq.id);
	guest_cqe_of_type(&port[0].scq, HW_CQE_TX_OKAY);
	cqe = guest_cqe_of_type(&port[1].rcq, HW_CQE_RX_OKAY);
	assert_int_equal(cqe[HW_RX_CQE_PPI_OFF], 100);
	assert_memory_equal(guest_at(port[0].buf), guest_at(port[1].buf), 100);
	assert_no_violation();
	port_stop(&port[0]);
	port_stop(&port[1]);
	eq_destroy(&eq);
	device_deregister(&dev);
	assert_only_channel();
	guest_destroy();
	assert_nothing();
	assert_no_violation();
}

CHANNEL_TEST(test_fence_and_counters)
{
	struct hwc_device dev;
	struct hwc_port port[2];
	struct guest_ring eq;
	struct handle_request fence = { 0 };
	struct gf_stat_request stat = { 0 };
	const struct gf_stat_answer *stats;

	eq = device_port_start(&port[0], &dev);
	port_start(&port[1], 1, dev.pdn, dev.page, eq.id);
	port_send(&port[0], dev.key, 100); /* no Rx WQE */
	port_post_rx(&port[1], dev.key, 2048);
	port_send(&port[0], dev.key, 60);
	fence.handle = port[1].rq_handle;
	OK(CALL_MANA(fence, MANA_FENCE_RQ, answer_header));
	guest_cqe_of_type(&port[1].rcq, HW_CQE_RX_OKAY);
	guest_cqe_of_type(&port[1].rcq, HW_CQE_RX_OBJECT_FENCE);
	OK(CALL_MANA(stat, MANA_QUERY_GF_STAT, gf_stat_answer));
	stats = ANSWER_OF(gf_stat_answer);
	assert_int_equal(stats->stats[GF_RX_NO_WQE], 1);
	assert_int_equal(stats->stats[GF_RX_BYTES], 60);
	assert_int_equal(stats->stats[GF_TX_BYTES], 160);
	/* The frames start with 01:..: multicast. */
	assert_int_equal(stats->stats[GF_RX_MCAST_PACKETS], 1);
	assert_int_equal(stats->stats[GF_TX_MCAST_BYTES], 160);
	assert_int_equal(stats->stats[GF_TX_BCAST_BYTES], 0);
	assert_int_equal(stats->stats[GF_TX_UCAST_BYTES], 0);
	assert_true((stats->reported_stats & 1u << GF_RX_NO_WQE) != 0);
	assert_no_violation();
}

static void
reset_steering(uint32_t port)
{
	segment_lock();
	card_vport_disable_rx(0, port);
	card_port(0, port)->default_rq = CARD_NO_QUEUE;
	segment_unlock();
}

/* Steering: only what a request updates changes. */
CHANNEL_TEST(test_steering)
{
	struct hwc_device dev;
	struct hwc_port port;
	const struct card_port *p = card_port(0, 0);
	struct toeplitz before;

	device_port_start(&port, &dev);
	assert_true(p->rx_enabled);
	assert_false(p->rss_enable);
	assert_int_equal(p->default_rq, port.rq.id);
	before = p->toeplitz;
	/* RSS on; key and table are kept. */
	OK(port_steer(&port, TRI_TRUE, TRI_TRUE, STEER_NOTHING));
	assert_true(p->rss_enable);
	assert_memory_equal(&before, &p->toeplitz, sizeof(before));
	assert_int_equal(p->table[63], port.rq.id);
	OK(port_steer(&port, TRI_UNCHANGED, TRI_UNCHANGED, STEER_KEY));
	assert_true(p->rx_enabled && p->rss_enable);
	assert_memory_not_equal(&before, &p->toeplitz, sizeof(before));
	OK(port_steer(&port, TRI_FALSE, TRI_FALSE, STEER_NOTHING));
	assert_false(p->rx_enabled);
	/* The RQ is gone: nothing is kept that refers to it. */
	port_steer(&port, TRI_TRUE, TRI_TRUE, STEER_ALL);
	assert_no_violation();
	port_stop(&port);
	assert_false(p->rx_enabled);
	assert_int_equal(p->table[0], CARD_NO_QUEUE);
	assert_int_equal(p->default_rq, CARD_NO_QUEUE);
	assert_no_violation();
}

/* What a request updates changes, whether the vPort receives or not. */
CHANNEL_TEST(test_steering_while_off)
{
	struct hwc_device dev;
	struct hwc_port port;
	const struct card_port *p = card_port(0, 0);

	device_port_start(&port, &dev);
	reset_steering(0);
	OK(port_steer(&port, TRI_FALSE, TRI_TRUE, STEER_NOTHING));
	assert_true(p->rss_enable);
	OK(port_steer(&port, TRI_UNCHANGED, TRI_UNCHANGED, STEER_ALL));
	assert_false(p->rx_enabled);
	assert_int_equal(p->default_rq, port.rq.id);
	assert_int_equal(p->table[63], port.rq.id);
	OK(port_steer(&port, TRI_TRUE, TRI_UNCHANGED, STEER_NOTHING));
	assert_true(p->rx_enabled && p->rss_enable);
	assert_no_violation();
	port.rq_handle++;
	REFUSAL(port_steer(&port, TRI_FALSE, TRI_FALSE, STEER_DEFAULT),
		request_handle);
	assert_true(p->rx_enabled && p->rss_enable);
}

/* Version 1: the table is where version 2 has its flags. */
TEST(test_steering_v1)
{
	struct {
		uint8_t req[CONFIG_VPORT_RX_V1_BYTES];
		uint64_t table[64];
	} message = { 0 };
	struct vport_rx_request req = {
		.num_indir_entries = 64,
		.indir_tab_offset = sizeof(message.req),
		.rx_enable = TRI_TRUE,
		.rss_enable = TRI_TRUE,
		.update_default_rxobj = 1,
		.update_hashkey = 1,
		.update_indir_tab = 1,
	};
	struct hwc_device dev;
	struct hwc_port port;
	uint32_t i;

	guest_config.coalesce = true;
	guest_start_channel(state);
	device_port_start(&port, &dev);
	req.vport = port.vport;
	req.default_rxobj = port.rq_handle;
	memcpy(message.req, &req, sizeof(message.req));
	for (i = 0; i < 64; i++)
		message.table[i] = port.rq_handle;
	OK(CALL_AS(message, MANA_CONFIG_VPORT_RX, answer_header, DEVICE_MANA, 1));
	assert_int_not_equal(port.rq_handle & 0xff, 0);
	assert_false(card_port(0, 0)->coalesce);
	assert_int_equal(card_port(0, 0)->table[63], port.rq.id);
	assert_no_violation();
	guest_stop(state);
}

/* A user's memory: pages of 8 KiB in reverse order, from an offset. */
CHANNEL_TEST(test_user_memory)
{
	static const uint64_t iova = 0x7f0012345678u & ~UINT64_C(0x1fff);
	const uint32_t offset = 0x678, nb_pages = 4, page = 8192;
	struct {
		struct create_region_request req;
		uint64_t pages[4];
	} region = { .req = { .length = 3 * page,
			      .offset_in_page = offset,
			      .gdma_page_type = 1,
			      .page_count = nb_pages,
			      .page_addr_list_len = nb_pages } };
	struct hwc_device dev;
	struct hwc_port port[2];
	struct hwc_user user;
	struct guest_ring eq;
	uint64_t mr, gpa;
	uint32_t key, i;

	device_register(&dev, DEVICE_MANA);
	eq = eq_create(&dev, 3);
	user_open(&user);
	port_start(&port[0], 0, user.pdn, user.page, eq.id);
	port_start(&port[1], 1, dev.pdn, dev.page, eq.id);
	gpa = guest_alloc(nb_pages * page);
	for (i = 0; i < nb_pages; i++)
		region.pages[i] = gpa + (nb_pages - 1 - i) * page;
	OK(guest_call(&region, sizeof(region), GDMA_CREATE_DMA_REGION,
		      sizeof(struct create_region_answer)));
	key = user_mr(&user, ANSWER_OF(create_region_answer)->dma_region_handle,
		      iova + offset, &mr);
	/* A frame across the end of the first page. */
	for (i = 0; i < 200; i++) {
		const uint32_t at = page - 100 + i;

		*(uint8_t *)guest_at(region.pages[at / page] + at % page) =
			(uint8_t)(i + 1);
	}
	port_post_rx(&port[1], dev.key, 2048);
	port_send_at(&port[0], key, iova + page - 100, 200);
	assert_non_null(guest_cqe(&port[1].rcq));
	for (i = 0; i < 200; i++)
		assert_int_equal(((uint8_t *)guest_at(port[1].buf))[i],
				 (uint8_t)(i + 1));
	assert_no_violation();
	/* One byte before the region. */
	port_send_at(&port[0], key, iova + offset - 1, 60);
	assert_violation(sge_out_of_range, 1);
	port_stop(&port[0]);
	port_stop(&port[1]);
	user_mr_destroy(mr);
	user_close(&user);
	eq_destroy(&eq);
	device_deregister(&dev);
	assert_only_channel();
	assert_no_violation();
}

/* A context ends: the vPort that it configured is free. */
CHANNEL_TEST(test_vport_of_ended_page)
{
	struct destroy_range_request page = {
		.resource_type = RESOURCE_DOORBELL_PAGE,
		.num_resources = 1,
	};
	struct handle_request pd = { 0 };
	struct hwc_device dev;
	struct hwc_port port;
	struct hwc_user user;
	struct guest_ring eq;

	device_register(&dev, DEVICE_MANA);
	eq = eq_create(&dev, 3);
	user_open(&user);
	port_start(&port, 0, user.pdn, user.page, eq.id);
	port_stop(&port);
	assert_true(card_port(0, 0)->tx_enabled);
	page.allocated_resources = user.page;
	OK(CALL(page, GDMA_DESTROY_RESOURCE_RANGE, answer_header));
	assert_false(card_port(0, 0)->tx_enabled);
	pd.handle = user.pd_handle;
	OK(CALL(pd, GDMA_DESTROY_PD, answer_header));
	assert_no_violation();
}

/* More pages than one message holds. */
CHANNEL_TEST(test_many_pages)
{
	enum {
		FIRST = 504,
		MORE = 505,
		LAST = 3
	};
	static _Alignas(8) uint8_t message[HWC_MAX_MESSAGE_BYTES];
	const uint32_t nb = FIRST + MORE + LAST;
	struct create_region_request *create = (void *)message;
	struct add_pages_request *add = (void *)message;
	struct handle_request destroy = { 0 };
	const uint64_t page = GUEST_PAGE;
	uint32_t i;

	create->length = (uint64_t)nb * GUEST_PAGE;
	create->page_count = nb;
	create->page_addr_list_len = FIRST;
	for (i = 0; i < FIRST; i++)
		memcpy(message + sizeof(*create) + i * 8, &page, 8);
	assert_int_equal(guest_call(message, sizeof(*create) + FIRST * 8,
				    GDMA_CREATE_DMA_REGION,
				    sizeof(struct create_region_answer)),
			 STATUS_MORE_ENTRIES);
	destroy.handle = ANSWER_OF(create_region_answer)->dma_region_handle;
	memset(message, 0, sizeof(message));
	add->dma_region_handle = destroy.handle;
	for (i = 0; i < MORE; i++)
		memcpy(message + sizeof(*add) + i * 8, &page, 8);
	add->page_addr_list_len = MORE;
	assert_int_equal(guest_call(message, sizeof(*add) + MORE * 8,
				    GDMA_DMA_REGION_ADD_PAGES,
				    sizeof(struct answer_header)),
			 STATUS_MORE_ENTRIES);
	add->page_addr_list_len = LAST;
	OK(guest_call(message, sizeof(*add) + LAST * 8,
		      GDMA_DMA_REGION_ADD_PAGES, sizeof(struct answer_header)));
	assert_no_violation();
	/* One page too many. */
	add->page_addr_list_len = 1;
	REFUSAL(guest_call(message, sizeof(*add) + 8, GDMA_DMA_REGION_ADD_PAGES,
			   sizeof(struct answer_header)),
		request_field);
	OK(CALL(destroy, GDMA_DESTROY_DMA_REGION, answer_header));
	assert_only_channel();
}

CHANNEL_TEST(test_silent)
{
	struct hwc_device dev;

	device_register(&dev, DEVICE_MANA);
	guest_silence(true);
	assert_false(guest_send(&guest_plain_request,
				sizeof(guest_plain_request)));
	assert_null(guest_cqe(&guest.cq));
	guest_silence(false);
	assert_non_null(guest_cqe(&guest.cq)); /* the waiting request's SQ CQE */
	assert_non_null(guest_cqe(&guest.cq));
	assert_null(guest_cqe(&guest.cq));
	/* The guest gave up: what it leaves is not its fault. */
	assert_int_equal(guest_destroy(), 0x82);
	assert_nothing();
	assert_no_violation();
}

static void
reset(void)
{
	segment_lock();
	pci_device_reset(0);
	segment_unlock();
}

CHANNEL_TEST(test_reset)
{
	struct hwc_device dev;
	struct hwc_port port[2];
	struct guest_ring eq;
	static const struct toeplitz no_key;
	uint32_t before, type, detail;

	eq = device_port_start(&port[0], &dev);
	port_start(&port[1], 1, dev.pdn, dev.page, eq.id);
	port_steer(&port[1], TRI_TRUE, TRI_TRUE, STEER_ALL);
	port_post_rx(&port[1], dev.key, 2048);
	before = guest.nb_interrupts[3];
	guest.is_dma_off = true; /* the memory is gone already */
	reset();
	assert_nothing();
	guest.is_dma_off = false;
	assert_int_equal(guest.nb_interrupts[3], before);
	assert_false(guest_event(&eq, &type, &detail));
	assert_false(card_port(0, 0)->tx_enabled);
	assert_false(card_port(0, 1)->rx_enabled);
	assert_false(card_port(0, 1)->rss_enable);
	assert_int_equal(card_port(0, 1)->default_rq, CARD_NO_QUEUE);
	assert_memory_equal(&card_port(0, 1)->toeplitz, &no_key, sizeof(no_key));
	guest_ring(dev.page, HW_DB_SQ, port[0].sq.id, 32, false);
	guest_ring(guest.db_page, HW_DB_SQ, guest.sq.id, 64, false);
	assert_no_violation();
	/* As new. */
	guest_free_all();
	guest_establish(0);
	eq = device_port_start(&port[0], &dev);
	port_stop(&port[0]);
	assert_no_violation();
}

/* Establishing with the reset bit ends what an earlier driver left. */
CHANNEL_TEST(test_establish_with_reset)
{
	uint32_t shm[SHM_NB_DWORDS] = { 0 };
	struct hwc_device dev;

	device_register(&dev, DEVICE_MANA);
	shm[0] = 1;
	shm[1] = 2u << 16;
	shm[3] = 3;
	shm[4] = 4u << 16;
	shm[7] = 1u << 24 | 1;
	assert_int_equal(guest_shm(shm), 0x81);
	assert_only_channel();
	segment_violation_log()->nb_rows = 0; /* memory of old queues */
}

CHANNEL_TEST(test_rnic)
{
	struct rnic_object_request object = { 0 };
	struct handle_request handle = { 0 };
	struct rnic_adapter_request adapter_req = { 0 };
	struct rnic_cq_request cq = { 0 };
	struct rnic_ud_qp_request qp = { 0 };
	struct disable_queue_request end_eq = { .type = QUEUE_EQ };
	struct create_pd_request pd = { 0 };
	struct handle_request end_pd = { 0 };
	struct request_header plain = { 0 };
	struct hwc_device dev;
	struct guest_ring eq;

	device_register(&dev, DEVICE_RNIC);
	eq = eq_create(&dev, 0);
	OK(CALL_RNIC(plain, RNIC_GET_ADAPTER_CAP, rnic_caps_answer, 1));
	/* Linux ib/main.c divides by the largest WQE. */
	assert_true(ANSWER_OF(rnic_caps_answer)->max_requester_rq_size / 256 >=
		    256);
	adapter_req.notify_eq_id = end_eq.queue_index = eq.id;
	OK(CALL_RNIC(adapter_req, RNIC_CREATE_ADAPTER, handle_answer, 2));
	handle.handle = ANSWER_OF(handle_answer)->handle;
	object.adapter = cq.adapter = qp.adapter = handle.handle;
	cq.gdma_region = guest_region(guest_alloc(4096), 4096);
	cq.eq_id = eq.id;
	cq.doorbell_page = qp.doorbell_page = dev.page;
	OK(CALL_RNIC(cq, RNIC_CREATE_CQ, rnic_cq_answer, 1));
	object.handle = ANSWER_OF(rnic_cq_answer)->cq_handle;
	assert_true(ANSWER_OF(rnic_cq_answer)->cq_id < guest.max_cqs);
	qp.send_cq_handle = qp.recv_cq_handle = object.handle;
	OK(CALL(pd, GDMA_CREATE_PD, create_pd_answer));
	qp.pd_handle = ANSWER_OF(create_pd_answer)->pd_handle + 1;
	qp.dma_region[0] = guest_region(guest_alloc(4096), 4096);
	qp.dma_region[1] = guest_region(guest_alloc(4096), 4096);
	REFUSAL(CALL_RNIC(qp, RNIC_CREATE_UD_QP, rnic_ud_qp_answer, 1),
		request_handle);
	end_pd.handle = --qp.pd_handle;
	OK(CALL_RNIC(qp, RNIC_CREATE_UD_QP, rnic_ud_qp_answer, 1));
	/* Its doorbells do nothing. */
	guest_ring(dev.page, HW_DB_RQ,
		   ANSWER_OF(rnic_ud_qp_answer)->queue_ids[1], 32, false);
	assert_no_violation();
	REFUSAL(CALL_RNIC(object, RNIC_DESTROY_CQ, answer_header, 1),
		request_state);
	REFUSAL(CALL(end_pd, GDMA_DESTROY_PD, answer_header), request_state);
	object.handle = UINT64_C(0x5250) << 32;
	OK(CALL_RNIC(object, RNIC_SET_QP_STATE, answer_header, 3));
	OK(CALL_RNIC(object, RNIC_DESTROY_UD_QP, answer_header, 1));
	object.handle = qp.send_cq_handle;
	OK(CALL_RNIC(object, RNIC_DESTROY_CQ, answer_header, 1));
	OK(CALL(end_pd, GDMA_DESTROY_PD, answer_header));
	/* Its adapter needs the EQ, and the device. */
	REFUSAL(CALL(end_eq, GDMA_DISABLE_QUEUE, answer_header), request_state);
	adapter_eq(adapter(0), eq.id)->pdn++; /* no EQ keeps the device */
	adapter_eq(adapter(0), eq.id)->page++;
	REFUSAL(CALL_RNIC(plain, GDMA_DEREGISTER_DEVICE, answer_header, 1),
		request_state);
	adapter_eq(adapter(0), eq.id)->pdn--;
	adapter_eq(adapter(0), eq.id)->page--;
	OK(CALL_RNIC(handle, RNIC_DESTROY_ADAPTER, answer_header, 1));
	eq_destroy(&eq);
	device_deregister(&dev);
	assert_only_channel();
	assert_no_violation();
}
