/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <linux/membarrier.h>
#include <sys/syscall.h>

#include <rte_cycles.h>

#include "mana_log.h"
#include "mana_quiesce.h"

/* A burst takes microseconds, unless the scheduler has other plans. */
#define PATIENCE_S 2
#define WAIT_US 20

/* Linux kernel/sched/membarrier.c; the expedited one since 4.14. */
static int
all_threads_barrier(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
		return 0;
	/* Not registered yet, which costs nothing when done again. */
	if (errno == EPERM &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
		    0) == 0 &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
		return 0;
	return -errno;
}

static void
hold(const struct mana_priv *priv, uint8_t held)
{
	struct mana_rxq_ctl *ctl;
	uint32_t at = 0;

	while ((ctl = mana_rxq_next(priv, &at)) != NULL)
		*(volatile uint8_t *)&ctl->rxq.odd.held = held;
}

static bool
is_any_busy(const struct mana_priv *priv)
{
	struct mana_rxq_ctl *ctl;
	uint32_t at = 0;

	while ((ctl = mana_rxq_next(priv, &at)) != NULL)
		if (mana_atomic_load(&ctl->rxq.is_busy) != 0 ||
		    mana_atomic_load(&ctl->rxq.more.is_busy) != 0 ||
		    rte_spinlock_is_locked(&ctl->rxq.more.look))
			return true;
	return false;
}

int
mana_quiesce_rx(struct mana_priv *priv)
{
	uint64_t end = rte_get_timer_cycles() + PATIENCE_S * rte_get_timer_hz();
	int ret;

	/*
	 * Tried before anything is held: who enables an interrupt of a held
	 * queue counts on the end of a change that has begun.
	 */
	ret = all_threads_barrier();
	if (ret != 0)
		goto forbidden;
	hold(priv, 1);
	ret = all_threads_barrier();
	while (ret == 0 && is_any_busy(priv)) {
		if (rte_get_timer_cycles() > end)
			ret = -EBUSY;
		rte_delay_us_sleep(WAIT_US);
	}
	if (ret == 0)
		ret = all_threads_barrier();
	if (ret == 0)
		return 0;
	hold(priv, 0);
	if (ret == -EBUSY) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "a receive burst has not ended for %d s: try again",
			      PATIENCE_S);
		return ret;
	}
forbidden:
	MANA_PORT_LOG(ERR, priv->data->name,
		      "this kernel does not let receive queues be changed while the port runs (membarrier: %s): stop the port first",
		      strerror(-ret));
	return -ENOTSUP;
}

void
mana_quiesce_end(struct mana_priv *priv)
{
	/* It has worked a moment ago. */
	(void)all_threads_barrier();
	hold(priv, 0);
	(void)all_threads_barrier();
}
