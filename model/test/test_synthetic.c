/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The synthetic device of port 1, used by a guest, on a wire to port 2, which is
 * the adapter's.
 */

#include "frame.h"
#include "nic.h"
#include "synthetic_guest.h"
#include "synthetic_state.h"
#include "wire.h"

static int
start_generator(void **state)
{
	static struct fixture own;

	(void)state;
	fx_defaults(&own);
	own.config.wires[0].kind = MODEL_WIRE_GEN;
	fx_start(&own);
	synthetic_init();
	synthetic_bind(0, false);
	guest_open();
	return 0;
}

/* A session that receives frames. */
static void
open_filter(void)
{
	const uint32_t filter = 0xd;
	const uint8_t *answer;

	answer = guest_request(RNDIS_SET, OID_PACKET_FILTER, &filter, 4);
	assert_int_equal(hw_le32(answer + 12), RNDIS_SUCCESS);
}

static void
expect_vf_of(bool is_there, uint32_t serial)
{
	struct guest_packet packet;

	assert_true(guest_next(0, &packet));
	assert_int_equal(packet.type, VMBUS_IN_BAND);
	assert_int_equal(packet.flags, VMBUS_COMPLETE_WANTED);
	assert_int_equal(packet.words[0], NVSP_VF_ASSOCIATION);
	assert_int_equal(packet.words[1], is_there);
	assert_int_equal(packet.words[2], serial);
}

static void
expect_vf(bool is_there)
{
	expect_vf_of(is_there, 1);
}

static void
start_session(void)
{
	guest_start();
	expect_vf(true);
	open_filter();
}

/* The next frame, in the receive buffer; its packet is in *packet. */
static const uint8_t *
received(uint32_t channel, struct guest_packet *packet, uint32_t *nb_bytes)
{
	const uint8_t *rndis;

	if (!guest_next(channel, packet))
		return NULL;
	assert_int_equal(packet->type, VMBUS_TRANSFER_PAGES);
	assert_int_equal(packet->words[1], 0);
	rndis = guest.receive + packet->range_offset;
	assert_int_equal(hw_le32(rndis), RNDIS_PACKET);
	assert_true(hw_le32(rndis + 4) <= packet->range_bytes);
	*nb_bytes = hw_le32(rndis + 12);
	return rndis + 8 + hw_le32(rndis + 8);
}

/* The value of a per-packet info; false: it has none. */
static bool
info_of(const struct guest_packet *packet, uint32_t type, uint32_t *value)
{
	const uint8_t *rndis = guest.receive + packet->range_offset;
	const uint8_t *info = rndis + 8 + hw_le32(rndis + 28);
	uint32_t left = hw_le32(rndis + 32);

	for (; left >= 16; left -= hw_le32(info), info += hw_le32(info)) {
		*value = hw_le32(info + hw_le32(info + 8));
		if (hw_le32(info + 4) == type)
			return true;
	}
	return false;
}

TEST_WITH(test_versions, guest_setup, guest_teardown)
{
	static const uint32_t versions[] = {
		NVSP_VERSION_61, NVSP_VERSION_6, NVSP_VERSION_5, NVSP_VERSION_4,
		NVSP_VERSION_2
	};
	struct guest_packet packet;

	guest_nvs((uint32_t[]){ NVSP_INIT, 0x70000, 0x70000 }, 3);
	assert_true(guest_next(0, &packet));
	assert_int_equal(packet.words[3], 0);
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		guest_negotiate(versions[i]);
		synthetic_close(0);
		guest_open_channel(0);
		synthetic_map(0, VMBUS_MAP_RECEIVE, model_self,
			      (uintptr_t)guest.receive);
		synthetic_map(0, VMBUS_MAP_SEND, model_self,
			      (uintptr_t)guest.send);
	}
	assert_no_violation();
}

TEST_WITH(test_queries, guest_setup, guest_teardown)
{
	uint8_t object[NDIS_OFFLOAD_BYTES] = { NDIS_OBJECT_OFFLOAD, 3, 156 };
	const uint8_t *answer;

	start_session();
	answer = guest_request(RNDIS_QUERY, OID_PERMANENT_ADDRESS, NULL, 0);
	assert_int_equal(hw_le32(answer + 16), 6);
	assert_memory_equal(answer + 8 + hw_le32(answer + 20),
			    card_port(0, 0)->mac, 6);
	answer = guest_request(RNDIS_QUERY, OID_OFFLOAD_CAPABILITIES, object,
			       sizeof(object));
	assert_int_equal(hw_le32(answer + 16), NDIS_OFFLOAD_BYTES);
	object[0] = NDIS_OBJECT_RSS_CAPS;
	object[1] = 2;
	object[2] = NDIS_RSS_CAPS_BYTES;
	answer = guest_request(RNDIS_QUERY, OID_RSS_CAPABILITIES, object,
			       NDIS_RSS_CAPS_BYTES);
	assert_int_equal(hw_le32(answer + 16), NDIS_RSS_CAPS_BYTES);
	card_link_set(0, 0, false);
	answer = guest_request(RNDIS_QUERY, OID_CONNECT_STATUS, NULL, 0);
	assert_int_equal(hw_le32(answer + 24), 1);
	answer = guest_request(RNDIS_QUERY, 0x00010101, NULL, 0);
	assert_int_equal(hw_le32(answer + 12), RNDIS_NOT_SUPPORTED);
	assert_no_violation();
}

/* Frames in the send buffer, and by ranges; the peer's adapter receives them. */
TEST_WITH(test_send, guest_setup, guest_teardown)
{
	const uint32_t words[10] = { NVSP_RNDIS, 0, 2, 0 };
	uint8_t frame[2048];
	uint32_t sent[10], nb_bytes = fx_frame(frame, NIC_PROTO_UDP, 100), n;
	struct synthetic_counters counters;

	start_session();
	fx_fill_rq(b, 8);
	guest_frame(frame, nb_bytes, GUEST_NO_INFO, 0);
	guest_expect_status(NVSP_OK);
	assert_memory_equal(fx_rx_buf(b, 0), frame, nb_bytes);

	/* Two packets in section 2. */
	memcpy(sent, words, sizeof(sent));
	n = guest_packet(guest.send + 2 * 6144, frame, nb_bytes, GUEST_NO_INFO, 0);
	n += guest_packet(guest.send + 2 * 6144 + n, frame, nb_bytes,
			  GUEST_NO_INFO, 0);
	sent[3] = n;
	guest_put(0, VMBUS_IN_BAND, 42, NULL, 0, sent, sizeof(sent));
	guest_expect_status(NVSP_OK);
	assert_memory_equal(fx_rx_buf(b, 2), frame, nb_bytes);
	synthetic_counters(0, &counters);
	assert_int_equal(counters.tx_packets, 3);
	assert_int_equal(counters.tx_bytes, 3 * nb_bytes);
	assert_no_violation();
}

/* Checksums, a tag and segments are the adapter's work. */
TEST_WITH(test_offloads, guest_setup, guest_teardown)
{
	uint8_t frame[4096], sent[4096];
	uint32_t nb_bytes = fx_frame(frame, NIC_PROTO_UDP, 100);
	struct nic_parsed parsed;
	uint16_t sum;

	start_session();
	fx_fill_rq(b, 16);
	nic_parse(frame, nb_bytes, 0, &parsed);
	memcpy(sent, frame, nb_bytes);
	sum = nic_csum_fold(nic_csum_pseudo(frame, &parsed, parsed.l4_bytes));
	memcpy(sent + parsed.l4_off + 6, &sum, 2);
	memset(sent + parsed.l3_off + 10, 0, 2);
	guest_frame(sent, nb_bytes, RNDIS_INFO_CSUM,
		    RNDIS_TX_CSUM_IPV4 | RNDIS_TX_CSUM_UDP | RNDIS_TX_CSUM_IP |
			    parsed.l4_off << 16);
	guest_expect_status(NVSP_OK);
	assert_memory_equal(fx_rx_buf(b, 0), frame, nb_bytes);

	/* NDIS: priority 3, id 0x123. The adapter strips it at the peer. */
	guest_frame(frame, nb_bytes, RNDIS_INFO_VLAN, 0x1233);
	guest_expect_status(NVSP_OK);
	assert_int_equal(card_port(0, 1)->counters.rx_bytes, 2 * nb_bytes + 4);

	nb_bytes = fx_frame(sent, NIC_PROTO_TCP, 2500);
	nic_parse(sent, nb_bytes, 0, &parsed);
	sum = nic_csum_fold(nic_csum_pseudo(sent, &parsed, 0));
	memcpy(sent + parsed.l4_off + 16, &sum, 2);
	guest_frame(sent, nb_bytes, RNDIS_INFO_LSO,
		    1000 | parsed.l4_off << 20 | 1u << 30);
	guest_expect_status(NVSP_OK);
	assert_int_equal(card_port(0, 1)->counters.rx_packets, 2 + 3);
	for (uint32_t i = 2; i < 5; i++) {
		const uint8_t *segment = fx_rx_buf(b, i);
		const uint32_t n = i < 4 ? 1000 : 500;

		nic_parse(segment, parsed.l4_off + 20 + n, 0, &parsed);
		assert_true(nic_csum_ipv4_ok(segment, &parsed));
		assert_true(nic_csum_l4_ok(segment, &parsed));
		assert_int_equal(parsed.l4_bytes, 20 + n);
	}
	assert_no_violation();
}

TEST_WITH(test_receive, guest_setup, guest_teardown)
{
	uint8_t frame[2048], tagged[2048];
	uint32_t nb_bytes = fx_frame(frame, NIC_PROTO_UDP, 100), n, value;
	struct guest_packet packet;
	const uint8_t *data;

	card_port_receive(0, 0, frame, nb_bytes);
	start_session();
	card_port_receive(0, 0, frame, nb_bytes);
	data = received(0, &packet, &n);
	assert_non_null(data);
	assert_int_equal(n, nb_bytes);
	assert_memory_equal(data, frame, nb_bytes);
	assert_true(info_of(&packet, RNDIS_INFO_CSUM, &value));
	assert_int_equal(value, RNDIS_RX_CSUM_IP_OK | RNDIS_RX_CSUM_UDP_OK);
	assert_false(info_of(&packet, RNDIS_INFO_VLAN, &value));
	guest_ack(0, packet.transaction);

	memcpy(tagged, frame, 12);
	memcpy(tagged + 12, (const uint8_t[]){ 0x81, 0, 0x61, 0x23 }, 4);
	memcpy(tagged + 16, frame + 12, nb_bytes - 12);
	card_port_receive(0, 0, tagged, nb_bytes + 4);
	data = received(0, &packet, &n);
	assert_int_equal(n, nb_bytes);
	assert_memory_equal(data, frame, nb_bytes);
	assert_true(info_of(&packet, RNDIS_INFO_VLAN, &value));
	assert_int_equal(value, 0x1233);
	guest_ack(0, packet.transaction);
	assert_no_violation();
}

/* Sections that the guest keeps are not lent again; then frames are lost. */
TEST_WITH(test_sections, guest_setup, guest_teardown)
{
	uint8_t frame[2048];
	const uint32_t nb_bytes = fx_frame(frame, NIC_PROTO_UDP, 100);
	struct synthetic_counters counters;
	struct guest_packet packet;
	uint64_t first = 0, nb = 0;
	uint32_t n;

	start_session();
	do {
		card_port_receive(0, 0, frame, nb_bytes);
		if (received(0, &packet, &n) == NULL)
			break;
		if (nb++ == 0)
			first = packet.transaction;
		else
			assert_int_not_equal(packet.transaction, first);
	} while (nb < 1000000);
	assert_true(nb > 10000 && nb < 1000000);
	synthetic_counters(0, &counters);
	assert_int_equal(counters.rx_packets, nb);
	assert_int_equal(counters.rx_no_buffer, 1);
	guest_ack(0, first);
	card_port_receive(0, 0, frame, nb_bytes);
	assert_non_null(received(0, &packet, &n));
	assert_int_equal(packet.transaction, first);
	assert_no_violation();
}

TEST_WITH(test_subchannels, guest_setup, guest_teardown)
{
	uint8_t params[40 + 4 * 4 + CARD_RSS_KEY_BYTES] = {
		NDIS_OBJECT_RSS_PARAMS, 2, 40, 0
	};
	uint8_t frame[2048];
	const uint32_t nb_bytes = fx_frame(frame, NIC_PROTO_UDP, 100);
	struct guest_packet packet;
	const uint8_t *answer;
	uint32_t n, value;

	start_session();
	guest_nvs((uint32_t[]){ NVSP_SUBCHANNEL, 1, 3 }, 3);
	assert_true(guest_next(0, &packet));
	assert_int_equal(packet.words[1], NVSP_OK);
	assert_int_equal(packet.words[2], 3);
	assert_int_equal(synthetic_channels(0), 4);
	for (uint32_t i = 1; i < 4; i++)
		guest_open_channel(i);
	/* Hash: Toeplitz, IPv4 and UDP. All entries are channel 2. */
	hw_put_le32(params + 8, 0x701);
	hw_put_le16(params + 12, 16);
	hw_put_le32(params + 16, 40);
	hw_put_le16(params + 20, CARD_RSS_KEY_BYTES);
	hw_put_le32(params + 24, 56);
	for (uint32_t i = 0; i < 4; i++)
		hw_put_le32(params + 40 + 4 * i, 2);
	memset(params + 56, 0x6d, CARD_RSS_KEY_BYTES);
	answer = guest_request(RNDIS_SET, OID_RSS_PARAMETERS, params,
			       sizeof(params));
	assert_int_equal(hw_le32(answer + 12), RNDIS_SUCCESS);
	card_port_receive(0, 0, frame, nb_bytes);
	assert_null(received(0, &packet, &n));
	assert_non_null(received(2, &packet, &n));
	assert_true(info_of(&packet, RNDIS_INFO_HASH_VALUE, &value));
	assert_true(info_of(&packet, RNDIS_INFO_HASH, &value));
	guest_ack(2, packet.transaction);
	assert_no_violation();

	hw_put_le32(params + 40, 4);
	answer = guest_request(RNDIS_SET, OID_RSS_PARAMETERS, params,
			       sizeof(params));
	assert_int_not_equal(hw_le32(answer + 12), RNDIS_SUCCESS);
	assert_violation(rndis_rss_entry, 1);
}

/* The path of received frames, through the loss and return of the VF. */
TEST_WITH(test_vf, guest_setup, guest_teardown)
{
	const uint32_t to_vf[] = { NVSP_DATA_PATH, 1 };
	uint8_t frame[2048];
	const uint32_t nb_bytes = fx_frame(frame, NIC_PROTO_UDP, 100);
	struct synthetic_counters counters;
	struct guest_packet packet;
	uint32_t n;

	start_session();
	guest_nvs(to_vf, 2);
	assert_true(guest_next(0, &packet)); /* its completion */
	fx_fill_rq(a, 4);
	card_port_receive(0, 0, frame, nb_bytes);
	assert_int_equal(card_port(0, 0)->counters.rx_packets, 1);
	assert_null(received(0, &packet, &n));

	synthetic_vf(0, false);
	/* The host falls back before it withdraws the VF. */
	assert_true(guest_next(0, &packet));
	assert_int_equal(packet.type, VMBUS_IN_BAND);
	assert_int_equal(packet.flags, 0);
	assert_int_equal(packet.words[0], NVSP_DATA_PATH);
	assert_int_equal(packet.words[1], 0);
	expect_vf(false);
	card_port_receive(0, 0, frame, nb_bytes);
	assert_non_null(received(0, &packet, &n));
	assert_int_equal(card_port(0, 0)->counters.rx_packets, 1);
	/* A switch that comes too late is ignored. */
	guest_nvs(to_vf, 2);
	assert_true(guest_next(0, &packet));
	synthetic_counters(0, &counters);
	assert_false(counters.is_vf_path);
	synthetic_vf(0, true);
	expect_vf(true);
	guest_nvs(to_vf, 2);
	assert_true(guest_next(0, &packet));
	card_port_receive(0, 0, frame, nb_bytes);
	assert_int_equal(card_port(0, 0)->counters.rx_packets, 2);
	synthetic_counters(0, &counters);
	assert_int_equal(counters.to_vf, 2);
	assert_int_equal(counters.to_synthetic, 1);
	assert_true(counters.is_vf_path);
	assert_no_violation();

	/* The session ends with the channel; the host drops its frames. */
	synthetic_close(0);
	card_port_receive(0, 0, frame, nb_bytes);
	synthetic_counters(0, &counters);
	assert_int_equal(counters.rx_closed, 1);
	/* hv_netvsc leaves the frames to the adapter's port. */
	synthetic_bind(0, true);
	card_port_receive(0, 0, frame, nb_bytes);
	assert_int_equal(card_port(0, 0)->counters.rx_packets, 3);
}

/* The command service tells what the guest knows already, and of other hardware. */
TEST_WITH(test_vf_moved, guest_setup, guest_teardown)
{
	struct guest_packet packet;

	start_session();
	synthetic_vf(0, true);
	assert_false(guest_next(0, &packet));
	synthetic_announce_vf(0, true);
	expect_vf(true);
	synthetic_announce_vf(0, false);
	expect_vf(false);
	synthetic_vf(0, false);
	assert_false(guest_next(0, &packet));
	synthetic_move(0);
	synthetic_announce_vf(0, true);
	expect_vf_of(true, 1 + MODEL_MAX_FUNCTIONS);
	assert_no_violation();

	/* A guest that has been told nothing learns it when it starts. */
	guest_close();
	guest_open();
	synthetic_announce_vf(0, false);
	synthetic_announce_vf(0, true);
	assert_false(guest_next(0, &packet));
	guest_start();
	expect_vf_of(true, 1 + MODEL_MAX_FUNCTIONS);
}

/* A process was killed between a packet and the host's own index. */
TEST_WITH(test_recover, guest_setup, guest_teardown)
{
	uint8_t frame[2048];
	const uint32_t nb_bytes = fx_frame(frame, NIC_PROTO_UDP, 100);
	struct guest_packet packet;
	uint32_t n;

	start_session();
	segment_synthetic()->devices[0].session.channels[0].out_index -= 48;
	card_recover();
	card_port_receive(0, 0, frame, nb_bytes);
	assert_non_null(received(0, &packet, &n));
	assert_memory_equal(guest.receive + packet.range_offset + 256, frame,
			    nb_bytes);
	assert_no_violation();
}

static const struct generator_settings full_rate = {
	.rate_kind = GENERATOR_FULL,
	.min_bytes = 64,
	.max_bytes = 64,
	.nb_flows = 1,
};

/* A generator fills the receive buffer; returned sections take further frames. */
TEST_WITH(test_generator, start_generator, guest_teardown)
{
	struct guest_packet packet;
	uint32_t n, nb = 0;

	start_session();
	assert_true(generator_start(wire_of(0, 0), &full_rate));
	for (uint32_t round = 0; round < 3; round++) {
		const uint32_t before = nb;

		while (received(0, &packet, &n) != NULL) {
			assert_int_equal(n, 64);
			nb++;
			guest_ack(0, packet.transaction);
			if (nb > 20000)
				break;
		}
		assert_true(nb > before || round > 0);
	}
	/* More than there are sections. */
	assert_true(nb > 20000);
	generator_stop(wire_of(0, 0));
	assert_no_violation();
}

/* The VF's ring was filled before the guest moves the path to it: it gets frames. */
TEST_WITH(test_generator_changes_path, start_generator, guest_teardown)
{
	start_session();
	fx_fill_rq(a, 4);
	assert_true(generator_start(wire_of(0, 0), &full_rate));
	assert_int_equal(card_port(0, 0)->counters.rx_packets, 0);
	guest_nvs((uint32_t[]){ NVSP_DATA_PATH, 1 }, 2);
	assert_int_equal(card_port(0, 0)->counters.rx_packets, 4);
	generator_stop(wire_of(0, 0));
	assert_no_violation();
}
