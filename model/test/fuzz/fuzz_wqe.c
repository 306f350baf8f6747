/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * With any bytes in work queues, doorbell stores and received frames, the card
 * continues, accesses registered memory only, and completes all posted WQEs of
 * a working SQ.
 *
 * An input is a list of actions; the first byte of each selects the action and
 * the port. An input cannot contain valid keys and addresses, so flags insert
 * them into a WQE.
 */

#include "../fixture.h"
#include "fuzz.h"

#define RING_BYTES 4096u
#define MAX_BU	   16u
#define MAX_FRAME  2048u

/* Fields of a WQE to fix before it is posted. */
#define FIX_ADDRESSES 0x01
#define FIX_SIZES     0x02
#define FIX_OOB	      0x04

static struct fixture fx;
/*
 * Copies of the rings as the driver wrote them: the device must not change
 * them.
 */
static uint8_t shadow[FX_PORTS][2][RING_BYTES];

static struct fx_ring *
ring_of(struct fx_port *p, bool is_sq)
{
	return is_sq ? &p->sq : &p->rq;
}

static void
fix_sges(const struct fx_port *p, uint8_t *wqe, uint32_t nb_bytes, uint8_t fix)
{
	struct hw_wqe header = hw_wqe_read(wqe);
	uint32_t at = hw_wqe_sgl_offset(&header);

	for (uint32_t i = 0; i < header.nb_sge; i++, at += HW_SGE_BYTES) {
		uint64_t addr;
		uint32_t off;

		if (at + HW_SGE_BYTES > nb_bytes)
			break;
		memcpy(&off, wqe + at, sizeof(off));
		if ((fix & FIX_SIZES) != 0) {
			hw_put_le32(wqe + at + 12,
				    hw_sge_read(wqe + at).size_bytes % 4096);
			off %= FX_BUF_BYTES - 4096;
		}
		addr = (uintptr_t)p->buf + off % FX_BUF_BYTES;
		hw_put_le32(wqe + at, (uint32_t)addr);
		hw_put_le32(wqe + at + 4, (uint32_t)(addr >> 32));
		hw_put_le32(wqe + at + 8, p->key);
	}
}

static void
fix_oob(const struct fx_port *p, uint8_t *wqe)
{
	const uint32_t flags = wqe[8];

	hw_put_le32(wqe + 8, p->scq.id << 8 | flags);
	hw_put_le32(wqe + 12, p->vp_offset << 24 | (p->sq.id >> 10) << 10 |
				      (wqe[12] | (wqe[13] & 3u) << 8));
}

static void
put_wqe(struct fx_port *p, bool is_sq, struct fuzz_input *in)
{
	struct fx_ring *ring = ring_of(p, is_sq);
	const uint32_t nb_bytes = HW_BU_BYTES * (1 + fuzz_u8(in) % MAX_BU);
	const uint8_t fix = fuzz_u8(in);
	uint8_t wqe[MAX_BU * HW_BU_BYTES];

	fuzz_read(in, wqe, nb_bytes);
	if ((fix & FIX_OOB) != 0 && is_sq)
		fix_oob(p, wqe);
	if ((fix & FIX_ADDRESSES) != 0)
		fix_sges(p, wqe, nb_bytes, fix);
	for (uint32_t i = 0; i < nb_bytes; i++)
		ring->mem[(ring->pos + i) % RING_BYTES] = wqe[i];
	ring->pos += nb_bytes;
}

static void
check_rings(void)
{
	for (uint32_t i = 0; i < FX_PORTS; i++) {
		FUZZ_CHECK(memcmp(shadow[i][0], fx.port[i].rq.mem,
				  RING_BYTES) == 0);
		FUZZ_CHECK(memcmp(shadow[i][1], fx.port[i].sq.mem,
				  RING_BYTES) == 0);
	}
}

static void
keep_rings(void)
{
	for (uint32_t i = 0; i < FX_PORTS; i++) {
		memcpy(shadow[i][0], fx.port[i].rq.mem, RING_BYTES);
		memcpy(shadow[i][1], fx.port[i].sq.mem, RING_BYTES);
	}
}

static void
check_queues(void)
{
	struct card_function *f = card_function(0);

	for (uint32_t i = 0; i < FX_PORTS; i++) {
		const struct wq *sq = card_sq(f, fx.port[i].sq.id);
		const struct wq *rq = card_rq(f, fx.port[i].rq.id);

		FUZZ_CHECK(sq != NULL && rq != NULL);
		FUZZ_CHECK(sq->is_disabled || f->cqs[sq->cq].is_stopped ||
			   sq->ci == sq->pi);
		FUZZ_CHECK(wq_posted_bytes(sq) <= RING_BYTES);
		FUZZ_CHECK(wq_posted_bytes(rq) <= RING_BYTES);
	}
}

static void
receive(uint32_t port, struct fuzz_input *in)
{
	static uint8_t frame[MAX_FRAME];
	const uint32_t nb_bytes = fuzz_u8(in) * 8u;

	fuzz_read(in, frame, nb_bytes);
	segment_lock();
	card_port_receive(0, port, frame, nb_bytes);
	segment_unlock();
}

static void
store(struct fx_port *p, struct fuzz_input *in)
{
	static const uint16_t offsets[] = { 0,	   0x400, 0x800, 0xff8,
					    0x010, 0x410, 0x810, 0xff0 };
	const uint8_t where = fuzz_u8(in);
	const uint32_t ids[] = { p->sq.id, p->rq.id, p->scq.id, p->rcq.id };
	uint64_t value = fuzz_u64(in);
	uint32_t offset = offsets[where & 7];

	if ((where & 0x08) != 0)
		offset = where * 16u & 0xfff;
	if ((where & 0x10) == 0) /* an id that exists */
		value = (value & ~UINT64_C(0xffff)) | ids[value & 3];
	fx_doorbell(p, offset, value, (where & 0x20) != 0 ? 4 : 8);
}

/* Data for later Tx WQEs. */
static void
fill_buffer(struct fx_port *p, struct fuzz_input *in)
{
	const uint32_t at = fuzz_u8(in) * 256u;

	fuzz_read(in, p->buf + at, fuzz_u8(in));
}

static void
read_cqes(struct fx_ring *cq)
{
	while (fx_cqe(cq) != NULL)
		;
}

enum action {
	POST_TX,
	POST_RX,
	FILL_BUFFER,
	RING_SQ,
	RING_RQ,
	RING_CQ,
	READ_CQES,
	STORE,
	RECEIVE
};

/* One byte: action, port (0x10), which of its two CQs (0x20), arm (0x40). */
static void
act(struct fuzz_input *in)
{
	const uint8_t action = fuzz_u8(in);
	const uint32_t port = action >> 4 & 1;
	struct fx_port *p = &fx.port[port];
	struct fx_ring *cq = (action & 0x20) != 0 ? &p->scq : &p->rcq;

	if ((action & 0x0f) > FILL_BUFFER)
		keep_rings();
	switch ((enum action)(action & 0x0f)) {
	case POST_TX:
		put_wqe(p, true, in);
		return;
	case POST_RX:
		put_wqe(p, false, in);
		return;
	case FILL_BUFFER:
		fill_buffer(p, in);
		return;
	case RING_SQ:
		fx_ring_sq(p);
		break;
	case RING_RQ:
		fx_ring_rq(p);
		break;
	case RING_CQ:
		fx_ring_cq(p, cq, (action & 0x40) != 0);
		break;
	case READ_CQES:
		read_cqes(cq);
		break;
	case STORE:
		store(p, in);
		break;
	case RECEIVE:
		receive(port, in);
		break;
	default:
		return;
	}
	check_rings();
	check_queues();
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fx_defaults(&fx);
	fx.sq_bytes = fx.rq_bytes = RING_BYTES;
	fx.cq_bytes = 64 * HW_CQE_BYTES;
	fx.config.coalesce = true;
	fx_start(&fx);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t nb_bytes)
{
	struct fuzz_input in = { .bytes = data, .nb_left = nb_bytes };
	const uint8_t how = fuzz_u8(&in);

	fx_renew();
	segment_violation_log()->nb_rows = 0;
	for (uint32_t i = 0; i < FX_PORTS; i++)
		card_port(0, i)->coalesce = (how & 1) != 0;
	while (in.nb_left > 0)
		act(&in);
	return 0;
}
