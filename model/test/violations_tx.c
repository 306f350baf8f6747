/* SPDX-License-Identifier: BSD-3-Clause */

/* Violations by Tx WQEs that describe their frame wrongly. */

#include "violation_cases.h"

static void
v_oob_reserved_bits(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	fx_tx_long(a, &wqe);
	wqe.oob[4] = 1;
	send_expect(&wqe, TX_OK);
}

static void
v_oob_pkt_fmt(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	wqe.oob[0] |= 1; /* pkt_fmt is long, but the OOB is short */
	send_expect(&wqe, TX_OOB);
}

static void
v_oob_vcq_num(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	wqe.oob[0] += 1u << 8;
	send_expect(&wqe, TX_OOB);
}

static void
v_oob_vsq_frame(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	wqe.oob[1] ^= 1u << 10;
	send_expect(&wqe, TX_OOB);
}

static void
v_oob_vp_offset(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	wqe.oob[1] += 1u << 24;
	send_expect(&wqe, HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE);
}

static void
v_oob_vp_offset_differs(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	fx_tx_long(a, &wqe);
	wqe.oob[1] += 1u << 24;
	send_expect(&wqe, HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE);
}

static void
v_oob_encap(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	fx_tx_long(a, &wqe);
	wqe.oob[2] |= 1;
	send_expect(&wqe, TX_OOB);
}

static void
v_oob_l3_mismatch(void)
{
	struct fx_wqe wqe = csum_wqe(NIC_PROTO_UDP);

	wqe.oob[0] ^= 3u << 2; /* IPv6 */
	send_expect(&wqe, TX_OOB);
}

static void
v_oob_l4_mismatch(void)
{
	struct fx_wqe wqe = csum_wqe(NIC_PROTO_UDP);

	wqe.oob[0] ^= 3u << 5; /* TCP */
	send_expect(&wqe, TX_OOB);
}

static void
v_oob_trans_off(void)
{
	struct fx_wqe wqe = csum_wqe(NIC_PROTO_TCP);

	wqe.oob[1] += 4;
	send_expect(&wqe, TX_OOB);
}

static void
v_oob_csum_seed(void)
{
	struct fx_wqe wqe = csum_wqe(NIC_PROTO_TCP);

	fx_fill_rq(fx, b, 1);
	a->buf[50] ^= 1;
	send_expect(&wqe, TX_OK);
	/* A wrong seed gives a wrong checksum. */
	assert_int_equal(hw_le32(fx_cqe(&b->rcq) + 4),
			 HW_RX_F_IP_OK | HW_RX_F_TCP_FAIL);
}

static void
v_tx_runt(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 13);

	send_expect(&wqe, HW_CQE_TX_HDR_PROCESSING_ERROR);
}

static void
v_lso_no_payload_sge(void)
{
	struct fx_wqe wqe = lso_wqe();

	wqe.nb_sge = 1;
	wqe.header[1]--;
	send_expect(&wqe, TX_DEAD);
}

static void
v_lso_header_size(void)
{
	struct fx_wqe wqe = lso_wqe();

	wqe.sge[0].size_bytes = 257;
	wqe.header[0] = 1u << 24;
	send_expect(&wqe, TX_DEAD);
}

static void
v_lso_mss(void)
{
	struct fx_wqe wqe = lso_wqe();

	wqe.header[1] &= 0xffff;
	send_expect(&wqe, TX_DEAD);
}

static void
v_lso_too_long(void)
{
	struct fx_wqe wqe = lso_wqe();

	wqe.sge[1].size_bytes = 512u << 10;
	send_expect(&wqe, TX_DEAD);
}

static void
v_lso_segments(void)
{
	struct fx_wqe wqe = lso_wqe();

	wqe.header[1] = (wqe.header[1] & 0xffff) | 1u << 16;
	wqe.sge[1].size_bytes = 65536;
	send_expect(&wqe, TX_DEAD);
}

static void
v_lso_oob(void)
{
	struct fx_wqe wqe = lso_wqe();

	wqe.oob[0] &= ~(1u << 5);
	send_expect(&wqe, TX_OOB);
}

static void
v_lso_header(void)
{
	struct fx_wqe wqe = lso_wqe();

	/* One byte of payload in the header SGE. */
	wqe.header[0] = 55u << 24;
	wqe.sge[0].size_bytes++;
	wqe.sge[1].addr++;
	wqe.sge[1].size_bytes--;
	send_expect(&wqe, TX_OOB);
}

static void
v_lso_length_not_zero(void)
{
	struct fx_wqe wqe = lso_wqe();

	a->buf[17] = 40;
	send_expect(&wqe, TX_OK);
}

static void
v_lso_small(void)
{
	struct fx_wqe wqe = lso_wqe();

	wqe.sge[1].size_bytes = 1000;
	send_expect(&wqe, TX_OK);
}

static void
v_sq_last_wqe_suppressed(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	wqe.oob[0] |= 1u << 7;
	send_expect(&wqe, -1);
}

static void
v_sq_quarter_without_cqe(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);
	uint32_t i;

	wqe.oob[0] |= 1u << 7;
	for (i = 0; i < 65; i++)
		fx_post(&a->sq, &wqe);
	wqe.oob[0] &= ~(1u << 7);
	send_expect(&wqe, TX_OK);
}

const struct violation_case tx_cases[] = {
	VIOLATION_CASE(oob_reserved_bits, SQ),
	VIOLATION_CASE(oob_pkt_fmt, SQ),
	VIOLATION_CASE(oob_vcq_num, SQ),
	VIOLATION_CASE(oob_vsq_frame, SQ),
	VIOLATION_CASE(oob_vp_offset, SQ),
	VIOLATION_CASE(oob_vp_offset_differs, SQ),
	VIOLATION_CASE(oob_encap, SQ),
	VIOLATION_CASE(oob_l3_mismatch, SQ),
	VIOLATION_CASE(oob_l4_mismatch, SQ),
	VIOLATION_CASE(oob_trans_off, SQ),
	VIOLATION_CASE(oob_csum_seed, SQ),
	VIOLATION_CASE(tx_runt, SQ),
	VIOLATION_CASE(lso_no_payload_sge, SQ),
	VIOLATION_CASE(lso_header_size, SQ),
	VIOLATION_CASE(lso_mss, SQ),
	VIOLATION_CASE(lso_too_long, SQ),
	VIOLATION_CASE(lso_segments, SQ),
	VIOLATION_CASE(lso_oob, SQ),
	VIOLATION_CASE(lso_header, SQ),
	VIOLATION_CASE(lso_length_not_zero, SQ),
	VIOLATION_CASE(lso_small, SQ),
	VIOLATION_CASE(sq_last_wqe_suppressed, SQ),
	VIOLATION_CASE(sq_quarter_without_cqe, SQ),
};
const uint32_t nb_tx_cases = sizeof(tx_cases) / sizeof(tx_cases[0]);
