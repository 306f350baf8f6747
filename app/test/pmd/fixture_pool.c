/* SPDX-License-Identifier: BSD-3-Clause */

/* Mempool ops of the tests: a stack with a lock that the thread sanitizer knows. */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mempool.h>

#include "fixture.h"

const char fx_pool_ops[] = "locked_stack";
const char fx_pool_cache_ops[] = "cache_of_thread";
void (*fx_pool_hook)(bool is_get);

struct stack {
	pthread_mutex_t lock;
	unsigned int nb;
	void *objects[];
};

static int
stack_alloc(struct rte_mempool *mp)
{
	struct stack *stack = calloc(1, sizeof(*stack) + mp->size * sizeof(void *));

	if (stack == NULL)
		return -ENOMEM;
	mp->pool_data = stack;
	return -pthread_mutex_init(&stack->lock, NULL);
}

static void
stack_free(struct rte_mempool *mp)
{
	free(mp->pool_data);
}

static int
stack_put(struct rte_mempool *mp, void *const *objects, unsigned int nb)
{
	struct stack *stack = mp->pool_data;

	if (fx_pool_hook != NULL)
		fx_pool_hook(false);
	pthread_mutex_lock(&stack->lock);
	assert_true(stack->nb + nb <= mp->size);
	memcpy(&stack->objects[stack->nb], objects, nb * sizeof(*objects));
	stack->nb += nb;
	pthread_mutex_unlock(&stack->lock);
	return 0;
}

static int
stack_get(struct rte_mempool *mp, void **objects, unsigned int nb)
{
	struct stack *stack = mp->pool_data;
	int ret = -ENOBUFS;

	if (fx_pool_hook != NULL)
		fx_pool_hook(true);
	pthread_mutex_lock(&stack->lock);
	if (nb <= stack->nb) {
		stack->nb -= nb;
		memcpy(objects, &stack->objects[stack->nb], nb * sizeof(*objects));
		ret = 0;
	}
	pthread_mutex_unlock(&stack->lock);
	return ret;
}

static unsigned int
stack_count(const struct rte_mempool *mp)
{
	struct stack *stack = mp->pool_data;
	unsigned int nb;

	pthread_mutex_lock(&stack->lock);
	nb = stack->nb;
	pthread_mutex_unlock(&stack->lock);
	return nb;
}

static const struct rte_mempool_ops stack_ops = {
	.name = "locked_stack",
	.alloc = stack_alloc,
	.free = stack_free,
	.enqueue = stack_put,
	.dequeue = stack_get,
	.get_count = stack_count,
};

RTE_MEMPOOL_REGISTER_OPS(stack_ops)

/* ---- A cache for each thread ------------------------------------------------------ */

/*
 * As VPP's: what a thread puts stays in its cache, without a lock. A thread that only puts
 * or gets for a moment keeps objects, which are lost to others.
 */
#define NB_CACHED 64

static __thread struct cache {
	struct rte_mempool *mp;
	unsigned int nb;
	void *objects[NB_CACHED];
} caches[4];

static struct cache *
cache_of(struct rte_mempool *mp)
{
	struct cache *cache = caches;

	while (cache->mp != mp && cache->mp != NULL) {
		cache++;
		assert_true(cache < caches + RTE_DIM(caches));
	}
	cache->mp = mp;
	return cache;
}

static int
cache_put(struct rte_mempool *mp, void *const *objects, unsigned int nb)
{
	struct cache *cache = cache_of(mp);

	for (unsigned int i = 0; i < nb; i++) {
		if (cache->nb == NB_CACHED) {
			(void)stack_put(mp, cache->objects, NB_CACHED);
			cache->nb = 0;
		}
		cache->objects[cache->nb++] = objects[i];
	}
	return 0;
}

static int
cache_get(struct rte_mempool *mp, void **objects, unsigned int nb)
{
	struct cache *cache = cache_of(mp);

	if (nb > NB_CACHED)
		return stack_get(mp, objects, nb);
	for (; cache->nb < nb; cache->nb++)
		if (stack_get(mp, &cache->objects[cache->nb], 1) != 0)
			return -ENOBUFS;
	cache->nb -= nb;
	memcpy(objects, &cache->objects[cache->nb], nb * sizeof(*objects));
	return 0;
}

void
fx_pool_caches_flush(void)
{
	for (unsigned int i = 0; i < RTE_DIM(caches); i++)
		if (caches[i].nb != 0)
			(void)stack_put(caches[i].mp, caches[i].objects, caches[i].nb);
	memset(caches, 0, sizeof(caches));
}

static const struct rte_mempool_ops cache_ops = {
	.name = "cache_of_thread",
	.alloc = stack_alloc,
	.free = stack_free,
	.enqueue = cache_put,
	.dequeue = cache_get,
	.get_count = stack_count,
};
RTE_MEMPOOL_REGISTER_OPS(cache_ops);
