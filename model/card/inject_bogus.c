/* SPDX-License-Identifier: BSD-3-Clause */

/* Completions that a sane device would not write. */

#include "inject_card.h"
#include "mem.h"
#include "nic.h"
#include "random.h"

/* One of the CQEs that are still in the ring; unchanged when there is none. */
static void
replay(const struct cq *cq, uint8_t cqe[HW_CQE_BYTES])
{
	uint32_t nb_written = cq->pi - cq->nb_cqes, pos;

	if (nb_written == 0)
		return;
	if (nb_written > cq->nb_cqes)
		nb_written = cq->nb_cqes;
	pos = cq->pi - 1 -
	      (uint32_t)random_below(RANDOM_FAULT_BYTES, nb_written);
	if (mem_read(cq->ring.process,
		     cq->ring.addr + (pos & (cq->nb_cqes - 1)) * HW_CQE_BYTES,
		     cqe, HW_CQE_BYTES) < 0)
		memset(cqe, 0, HW_CQE_BYTES);
}

static void
put_type(uint8_t *cqe, uint32_t type)
{
	hw_put_le32(cqe, (hw_le32(cqe) & ~HW_CQE_TYPE_M) | type);
}

static void
put_vendor_error(uint8_t *cqe, uint32_t error)
{
	const uint32_t low = (1u << HW_CQE_VENDOR_ERR_S) - 1;

	hw_put_le32(cqe, (hw_le32(cqe) & low) | error << HW_CQE_VENDOR_ERR_S);
}

void
inject_bogus(struct card_function *f, const struct wq *wq,
	     const struct inject_rule *rule, struct inject_cqe *cqe)
{
	uint8_t *length = cqe->cqe + HW_RX_CQE_PPI_OFF + HW_RX_PPI_LEN_OFF;

	cqe->is_extra = rule->is_extra;
	cqe->is_bogus = true;
	switch (rule->kind) {
	case INJECT_LONG:
	case INJECT_ZERO:
		hw_put_le16(length, (uint16_t)rule->value);
		break;
	case INJECT_TYPE:
		put_type(cqe->cqe, rule->value);
		break;
	case INJECT_VENDOR:
		put_vendor_error(cqe->cqe, rule->value);
		break;
	case INJECT_WRONG_QUEUE:
		cqe->is_wrong_queue = true;
		break;
	case INJECT_WRONG_IS_SQ:
		cqe->is_wrong_sq = true;
		break;
	case INJECT_WRONG_OWNER:
		cqe->is_wrong_owner = true;
		break;
	case INJECT_REPLAYED:
		replay(&f->cqs[wq->cq], cqe->cqe);
		break;
	case INJECT_RANDOM:
		random_fill(RANDOM_FAULT_BYTES, cqe->cqe, HW_CQE_TRAILER_OFF);
		break;
	default: /* DUPLICATE, SPURIOUS: as it is */
		break;
	}
}
