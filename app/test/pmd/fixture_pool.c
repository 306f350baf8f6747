/* SPDX-License-Identifier: BSD-3-Clause */

/* Mempool ops of the tests: a stack with a lock that the thread sanitizer knows. */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mempool.h>

#include "fixture.h"

const char fx_pool_ops[] = "locked_stack";
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
