/* SPDX-License-Identifier: BSD-3-Clause */

/* What the driver accepts of libmana, which this file plays. */

#include <errno.h>

#include <infiniband/manadv.h>

#include "fixture.h"
#include "mana_verbs.h"

#define RING_BYTES    8192u
#define CQ_RING_BYTES 4096u
#define NB_CQE	      (CQ_RING_BYTES / HW_CQE_BYTES)

static struct manadv_ctx_allocators allocators;
static uint32_t ring_bytes; /* that libmana reports */
static void *ring, *cq_ring;

int
manadv_set_context_attr(struct ibv_context *ctx, enum manadv_set_ctx_attr_type type,
			void *attr)
{
	allocators = *(struct manadv_ctx_allocators *)attr;
	return 0;
}

int
manadv_init_obj(struct manadv_obj *obj, uint64_t type)
{
	obj->cq.out->buf = cq_ring;
	if ((type & MANADV_OBJ_QP) != 0) {
		obj->qp.out->sq_buf = ring;
		obj->qp.out->sq_size = ring_bytes;
	} else {
		obj->rwq.out->buf = ring;
		obj->rwq.out->size = ring_bytes;
	}
	return 0;
}

static unsigned int nb_events; /* that were taken; they never end */
static unsigned int nb_acked;

int
ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	*cq = NULL;
	*cq_context = NULL;
	assert_true(nb_events < 100000);
	nb_events++;
	return 0;
}

void
ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nb)
{
	nb_acked += nb;
}

/* A device that sends events faster than they are taken does not hold the caller. */
TEST(endless_events_are_taken_in_part)
{
	int nb;

	nb = mana_verbs_channel_drain(NULL);
	assert_true(nb > 0);
	assert_int_equal(nb, nb_events);
	assert_int_equal(nb, nb_acked);
}

/* Whether both kinds of queues are accepted, or refused. */
static void
check_gets(uint32_t nb_cqe, int ret)
{
	const struct mana_verbs_rings from = { .db_page = &nb_cqe };
	struct mana_queue_rings rings;
	struct ibv_qp qp;

	assert_int_equal(mana_verbs_rings_get(&from, NULL, NULL, NULL, nb_cqe, &rings), ret);
	assert_ptr_equal(rings.db_page, &nb_cqe);
	assert_int_equal(mana_verbs_rings_get(&from, &qp, NULL, NULL, nb_cqe, &rings), ret);
}

/* A ring that is larger than its memory is refused. */
TEST(ring_size_is_checked)
{
	static const struct {
		uint32_t bytes;
		int ret;
	} cases[] = {
		{ RING_BYTES, 0 },	     { RING_BYTES / 2, 0 },
		{ RING_BYTES * 2, -EINVAL }, { UINT32_C(1) << 28, -EINVAL },
		{ UINT32_MAX, -EINVAL },
	};
	struct mana_verbs_rings rings = { .socket_id = SOCKET_ID_ANY };

	assert_int_equal(mana_verbs_rings_from(NULL, &rings), 0);
	ring = allocators.alloc(RING_BYTES, allocators.data);
	cq_ring = allocators.alloc(CQ_RING_BYTES, allocators.data);
	assert_non_null(ring);
	assert_non_null(cq_ring);
	for (uint32_t i = 0; i < RTE_DIM(cases); i++) {
		ring_bytes = cases[i].bytes;
		check_gets(NB_CQE, cases[i].ret);
	}
	ring_bytes = RING_BYTES;
	check_gets(NB_CQE / 2, 0);
	check_gets(NB_CQE * 2, -EINVAL);
	check_gets(UINT32_C(1) << 26, -EINVAL); /* of 2^32 bytes */
	ring = NULL;
	check_gets(NB_CQE, -EINVAL);
	ring = cq_ring;
	ring_bytes = CQ_RING_BYTES;
	cq_ring = NULL;
	check_gets(NB_CQE, -EINVAL);
	mana_verbs_rings_release(&rings);
}
