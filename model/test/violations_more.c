/* SPDX-License-Identifier: BSD-3-Clause */

/* Other ways to the same breaches. */

#include <sys/mman.h>

#include "violation_cases.h"

#define OOB_IS_IPV4  (1u << 2)
#define OOB_IS_IPV6  (1u << 3)
#define OOB_IP_CSUM  (1u << 4)
#define OOB_TCP_CSUM (1u << 5)
#define OOB_UDP_CSUM (1u << 6)

static void
v_doorbell_reserved_bits(void)
{
	/* The 32-bit form: bit 28, and bit 31 where there is nothing to arm. */
	rig_doorbell(a, 0x010, 1u << 31 | a->sq.id << 16, 4);
}

static void
v_wqe_memory_fault(void)
{
	struct rig_wqe wqe = rig_tx_wqe(a, 0, 60);

	/* The second half of a WQE is on the page that is gone. */
	while (a->sq.pos < 4096 - 32)
		assert_int_equal(rig_send(rig, a, &wqe), TX_OK);
	rig_tx_add_sge(a, &wqe, 60, 1);
	rig_post(&a->sq, &wqe);
	mprotect(a->sq.mem + 4096, 4096, PROT_NONE);
	rig_ring_sq(rig, a);
	assert_int_equal(rig_cqe(&a->scq)[0] & 0x3f, TX_DEAD);
}

static void
v_oob_l3_mismatch(void)
{
	struct rig_wqe wqe = csum_wqe(NIC_PROTO_UDP);

	wqe.oob[0] |= OOB_IS_IPV4 | OOB_IS_IPV6;
	send_expect(&wqe, TX_OOB);
}

static void
v_l3_of_nothing(void)
{
	struct rig_wqe wqe = csum_wqe(NIC_PROTO_UDP);

	wqe.oob[0] &= ~(OOB_IS_IPV4 | OOB_IS_IPV6);
	send_expect(&wqe, TX_OOB);
}

static void
v_l3_of_an_lso(void)
{
	struct rig_wqe wqe = lso_wqe();

	wqe.oob[0] ^= OOB_IS_IPV4 | OOB_IS_IPV6;
	send_expect(&wqe, TX_OOB);
}

static void
v_oob_l4_mismatch(void)
{
	struct rig_wqe wqe = csum_wqe(NIC_PROTO_UDP);

	wqe.oob[0] |= OOB_TCP_CSUM | OOB_UDP_CSUM;
	send_expect(&wqe, TX_OOB);
}

static void
v_l4_of_a_fragment(void)
{
	struct rig_wqe wqe = csum_wqe(NIC_PROTO_TCP);

	a->buf[20] = 0x20;
	send_expect(&wqe, TX_OOB);
}

static void
v_l4_of_an_lso(void)
{
	struct rig_wqe wqe = lso_wqe();

	a->buf[23] = NIC_PROTO_UDP;
	send_expect(&wqe, TX_OOB);
}

static void
v_oob_trans_off(void)
{
	struct rig_wqe wqe = lso_wqe();

	wqe.oob[1] += 2;
	send_expect(&wqe, TX_OOB);
}

static void
v_oob_pkt_fmt(void)
{
	struct rig_wqe wqe = rig_tx_wqe(a, 0, 60);

	/* Room for the long form, filled with the short: named, and sent. */
	rig_insert_tag(a, &wqe, 5);
	wqe.oob[0] &= ~1u;
	rig_fill_rq(rig, b, 1);
	send_expect(&wqe, TX_OK);
	assert_int_equal(hw_le32(rig_cqe(&b->rcq) + 4) & HW_RX_F_VLAN, 0);
}

static void
v_oob_csum_seed(void)
{
	struct rig_wqe wqe = csum_wqe(NIC_PROTO_UDP);

	a->buf[24] = 1; /* the IPv4 checksum */
	wqe.oob[0] &= ~OOB_UDP_CSUM;
	rig_fill_rq(rig, b, 1);
	send_expect(&wqe, TX_OK);
	assert_int_equal(hw_le32(rig_cqe(&b->rcq) + 4) & HW_RX_F_IP_FAIL,
			 HW_RX_F_IP_FAIL);
}

static void
v_lso_header(void)
{
	struct rig_wqe wqe = lso_wqe();

	a->buf[14] = 0x44; /* an IPv4 header of 16 bytes */
	send_expect(&wqe, TX_OOB);
}

static void
v_lso_header_of_10_bytes(void)
{
	struct rig_wqe wqe = lso_wqe();

	wqe.header[0] = 10u << 24;
	wqe.sge[0].size_bytes = 10;
	send_expect(&wqe, TX_OOB);
}

/* Receive WQEs; the frame of 60 bytes that meets them. */
static struct rig_wqe
rx_wqe(void)
{
	struct rig_wqe wqe = { .header = { 0, 0x200 } };

	rig_tx_add_sge(b, &wqe, 4096, 2048);
	return wqe;
}

static void
receive_expect(bool is_received)
{
	struct rig_wqe tx = rig_tx_wqe(a, 0, 60);

	rig_ring_rq(rig, b);
	send_expect(&tx, TX_OK);
	assert_int_equal(rig_cqe(&b->rcq) != NULL, is_received);
}

static void
v_rx_reserved_bits(void)
{
	struct rig_wqe wqe = rx_wqe();

	wqe.header[0] = 1;
	rig_post(&b->rq, &wqe);
	receive_expect(true);
}

static void
v_rx_lso_fields(void)
{
	struct rig_wqe wqe = rx_wqe();

	wqe.header[0] = 54u << 24;
	rig_post(&b->rq, &wqe);
	receive_expect(true);
}

static void
v_rx_beyond_tail(void)
{
	struct rig_wqe wqe = rx_wqe();

	rig_tx_add_sge(b, &wqe, 8192, 2048);
	rig_post(&b->rq, &wqe);
	b->rq.pos -= 32;
	receive_expect(false);
}

static void
v_rx_memory_fault(void)
{
	struct rig_wqe wqe = rx_wqe();

	rig_post(&b->rq, &wqe);
	mprotect(b->rq.mem, b->rq.bytes, PROT_NONE);
	receive_expect(false);
}

static void
v_rx_memory_half_fault(void)
{
	struct rig_wqe wqe = rx_wqe();
	uint32_t i;

	for (i = 0; i < 4096 / 32 - 1; i++)
		rig_post(&b->rq, &wqe);
	for (i = 0; i < 4096 / 32 - 1; i++)
		receive_expect(true);
	rig_tx_add_sge(b, &wqe, 8192, 2048);
	rig_post(&b->rq, &wqe);
	mprotect(b->rq.mem + 4096, 4096, PROT_NONE);
	receive_expect(false);
}

#define MORE(name, kind, function)                        \
	{                                                 \
		VIOLATION_##name, LEDGER_##kind, function \
	}

const struct violation_case more_cases[] = {
	MORE(doorbell_reserved_bits, SQ, v_doorbell_reserved_bits),
	MORE(wqe_memory_fault, SQ, v_wqe_memory_fault),
	MORE(oob_l3_mismatch, SQ, v_oob_l3_mismatch),
	MORE(oob_l3_mismatch, SQ, v_l3_of_nothing),
	MORE(oob_l3_mismatch, SQ, v_l3_of_an_lso),
	MORE(oob_l4_mismatch, SQ, v_oob_l4_mismatch),
	MORE(oob_l4_mismatch, SQ, v_l4_of_a_fragment),
	MORE(oob_l4_mismatch, SQ, v_l4_of_an_lso),
	MORE(oob_trans_off, SQ, v_oob_trans_off),
	MORE(oob_pkt_fmt, SQ, v_oob_pkt_fmt),
	MORE(oob_csum_seed, SQ, v_oob_csum_seed),
	MORE(lso_header, SQ, v_lso_header),
	MORE(lso_header, SQ, v_lso_header_of_10_bytes),
	MORE(wqe_reserved_bits, RQ, v_rx_reserved_bits),
	MORE(wqe_lso_fields, RQ, v_rx_lso_fields),
	MORE(wqe_beyond_tail, RQ, v_rx_beyond_tail),
	MORE(wqe_memory_fault, RQ, v_rx_memory_fault),
	MORE(wqe_memory_fault, RQ, v_rx_memory_half_fault),
};
const uint32_t nb_more_cases = sizeof(more_cases) / sizeof(more_cases[0]);
