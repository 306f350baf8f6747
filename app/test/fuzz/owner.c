/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_malloc.h>
#include <rte_mempool.h>

#include "owner.h"

/* The mbufs in the pool: the newest first. */
struct owner_stack {
	bool is_watched;
	uint32_t nb;
	void *objs[];
};

void (*owner_freed)(const struct rte_mbuf *m);

static int
stack_alloc(struct rte_mempool *mp)
{
	mp->pool_data = rte_zmalloc(NULL,
				    sizeof(struct owner_stack) + mp->size * sizeof(void *),
				    0);
	return mp->pool_data == NULL ? -ENOMEM : 0;
}

static void
stack_free(struct rte_mempool *mp)
{
	rte_free(mp->pool_data);
}

FUZZ_ORACLE static int
stack_put(struct rte_mempool *mp, void *const *objs, unsigned int n)
{
	struct owner_stack *stack = mp->pool_data;

	FUZZ_CHECK(n <= mp->size - stack->nb);
	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *m = objs[i];

		stack->objs[stack->nb++] = m;
		if (!stack->is_watched)
			continue;
		FUZZ_CHECK(m->pool == mp && OWNER_IS_POOL(m) == 0);
		if (owner_freed != NULL)
			owner_freed(m);
		OWNER_IS_POOL(m) = 1;
		OWNER_NOTE(m) = 0;
	}
	return 0;
}

FUZZ_ORACLE static int
stack_get(struct rte_mempool *mp, void **objs, unsigned int n)
{
	struct owner_stack *stack = mp->pool_data;

	if (n > stack->nb)
		return -ENOBUFS;
	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *m = stack->objs[--stack->nb];

		OWNER_IS_POOL(m) = 0;
		objs[i] = m;
	}
	return 0;
}

static unsigned int
stack_count(const struct rte_mempool *mp)
{
	const struct owner_stack *stack = mp->pool_data;

	return stack->nb;
}

static const struct rte_mempool_ops owner_ops = {
	.name = "fuzz",
	.alloc = stack_alloc,
	.free = stack_free,
	.enqueue = stack_put,
	.dequeue = stack_get,
	.get_count = stack_count,
};
RTE_MEMPOOL_REGISTER_OPS(owner_ops);

static void
mbuf_watch(struct rte_mempool *mp, void *arg, void *obj, unsigned int idx)
{
	struct rte_mbuf *m = obj;

	RTE_SET_USED(mp);
	RTE_SET_USED(arg);
	RTE_SET_USED(idx);
	OWNER_IS_POOL(m) = 1;
	OWNER_NOTE(m) = 0;
}

void
owner_watch(struct rte_mempool *mp)
{
	struct owner_stack *stack = mp->pool_data;

	if (rte_mempool_get_ops(mp->ops_index)->alloc != stack_alloc)
		return;
	rte_mempool_obj_iter(mp, mbuf_watch, NULL);
	stack->is_watched = true;
}

static void
mbuf_recover(struct rte_mempool *mp, void *arg, void *obj, unsigned int idx)
{
	struct rte_mbuf *m = obj;

	if (OWNER_IS_POOL(m) != 0)
		return;
	rte_pktmbuf_init(mp, arg, obj, idx);
	rte_mempool_put(mp, m);
}

void
owner_recover(struct rte_mempool *mp)
{
	rte_mempool_obj_iter(mp, mbuf_recover, NULL);
}
