/* SPDX-License-Identifier: BSD-3-Clause */

/* Further causes of the violations. */

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
	/* The 32-bit form: bit 28, and bit 31 of a work queue. */
	fx_doorbell(a, 0x010, 1u << 31 | a->sq.id << 16, 4);
}

static void
v_wqe_memory_fault(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	/* The second half of a WQE is on an unmapped page. */
	while (a->sq.pos < 4096 - 32)
		assert_int_equal(fx_send(fx, a, &wqe), TX_OK);
	fx_tx_add_sge(a, &wqe, 60, 1);
	fx_post(&a->sq, &wqe);
	mprotect(a->sq.mem + 4096, 4096, PROT_NONE);
	fx_ring_sq(fx, a);
	assert_int_equal(fx_cqe(&a->scq)[0] & 0x3f, TX_DEAD);
}

static void
v_oob_l3_mismatch(void)
{
	struct fx_wqe wqe = csum_wqe(NIC_PROTO_UDP);

	wqe.oob[0] |= OOB_IS_IPV4 | OOB_IS_IPV6;
	send_expect(&wqe, TX_OOB);
}

static void
v_l3_of_nothing(void)
{
	struct fx_wqe wqe = csum_wqe(NIC_PROTO_UDP);

	wqe.oob[0] &= ~(OOB_IS_IPV4 | OOB_IS_IPV6);
	send_expect(&wqe, TX_OOB);
}

static void
v_l3_of_an_lso(void)
{
	struct fx_wqe wqe = lso_wqe();

	wqe.oob[0] ^= OOB_IS_IPV4 | OOB_IS_IPV6;
	send_expect(&wqe, TX_OOB);
}

static void
v_oob_l4_mismatch(void)
{
	struct fx_wqe wqe = csum_wqe(NIC_PROTO_UDP);

	wqe.oob[0] |= OOB_TCP_CSUM | OOB_UDP_CSUM;
	send_expect(&wqe, TX_OOB);
}

static void
v_l4_of_a_fragment(void)
{
	struct fx_wqe wqe = csum_wqe(NIC_PROTO_TCP);

	a->buf[20] = 0x20;
	send_expect(&wqe, TX_OOB);
}

static void
v_l4_of_an_lso(void)
{
	struct fx_wqe wqe = lso_wqe();

	a->buf[23] = NIC_PROTO_UDP;
	send_expect(&wqe, TX_OOB);
}

static void
v_oob_trans_off(void)
{
	struct fx_wqe wqe = lso_wqe();

	wqe.oob[1] += 2;
	send_expect(&wqe, TX_OOB);
}

static void
v_oob_pkt_fmt(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	/*
	 * The size of the long form with contents of the short one: recorded,
	 * and sent.
	 */
	fx_insert_tag(a, &wqe, 5);
	wqe.oob[0] &= ~1u;
	fx_fill_rq(fx, b, 1);
	send_expect(&wqe, TX_OK);
	assert_int_equal(hw_le32(fx_cqe(&b->rcq) + 4) & HW_RX_F_VLAN, 0);
}

static void
v_oob_csum_seed(void)
{
	struct fx_wqe wqe = csum_wqe(NIC_PROTO_UDP);

	a->buf[24] = 1; /* the IPv4 checksum */
	wqe.oob[0] &= ~OOB_UDP_CSUM;
	fx_fill_rq(fx, b, 1);
	send_expect(&wqe, TX_OK);
	assert_int_equal(hw_le32(fx_cqe(&b->rcq) + 4) & HW_RX_F_IP_FAIL,
			 HW_RX_F_IP_FAIL);
}

static void
v_lso_header(void)
{
	struct fx_wqe wqe = lso_wqe();

	a->buf[14] = 0x44; /* an IPv4 header of 16 bytes */
	send_expect(&wqe, TX_OOB);
}

static void
v_lso_header_of_10_bytes(void)
{
	struct fx_wqe wqe = lso_wqe();

	wqe.header[0] = 10u << 24;
	wqe.sge[0].size_bytes = 10;
	send_expect(&wqe, TX_OOB);
}

/* Rx WQEs, and the frame of 60 bytes for them. */
static struct fx_wqe
rx_wqe(void)
{
	struct fx_wqe wqe = { .header = { 0, 0x200 } };

	fx_tx_add_sge(b, &wqe, 4096, 2048);
	return wqe;
}

static void
receive_expect(bool is_received)
{
	struct fx_wqe tx = fx_tx_wqe(a, 0, 60);

	fx_ring_rq(fx, b);
	send_expect(&tx, TX_OK);
	assert_int_equal(fx_cqe(&b->rcq) != NULL, is_received);
}

static void
v_rx_reserved_bits(void)
{
	struct fx_wqe wqe = rx_wqe();

	wqe.header[0] = 1;
	fx_post(&b->rq, &wqe);
	receive_expect(true);
}

static void
v_rx_lso_fields(void)
{
	struct fx_wqe wqe = rx_wqe();

	wqe.header[0] = 54u << 24;
	fx_post(&b->rq, &wqe);
	receive_expect(true);
}

static void
v_rx_beyond_tail(void)
{
	struct fx_wqe wqe = rx_wqe();

	fx_tx_add_sge(b, &wqe, 8192, 2048);
	fx_post(&b->rq, &wqe);
	b->rq.pos -= 32;
	receive_expect(false);
}

static void
v_rx_memory_fault(void)
{
	struct fx_wqe wqe = rx_wqe();

	fx_post(&b->rq, &wqe);
	mprotect(b->rq.mem, b->rq.bytes, PROT_NONE);
	receive_expect(false);
}

static void
v_rx_memory_half_fault(void)
{
	struct fx_wqe wqe = rx_wqe();
	uint32_t i;

	for (i = 0; i < 4096 / 32 - 1; i++)
		fx_post(&b->rq, &wqe);
	for (i = 0; i < 4096 / 32 - 1; i++)
		receive_expect(true);
	fx_tx_add_sge(b, &wqe, 8192, 2048);
	fx_post(&b->rq, &wqe);
	mprotect(b->rq.mem + 4096, 4096, PROT_NONE);
	receive_expect(false);
}

#define MORE(name, kind, function)                        \
	{                                                 \
		VIOLATION_##name, VIOLATION_QUEUE_##kind, function \
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
