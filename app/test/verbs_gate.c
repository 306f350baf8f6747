/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The functions of libibverbs that wait at a gate. verbs.h calls either of two to register,
 * by the optimisation of the driver.
 */

#include <dlfcn.h>
#include <stdint.h>
#include <time.h>

#include "verbs_gate.h"

#define LATE_S 30 /* then the gate opens, so that a driver that waits fails, not hangs */

struct gate reg_gate, dereg_gate;
atomic_uint nb_inside, nb_pds_early;

void *ibv_reg_mr(void *pd, void *addr, size_t len, int access);
void *ibv_reg_mr_iova2(void *pd, void *addr, size_t len, uint64_t iova, unsigned int access);
int ibv_dereg_mr(void *mr);
int ibv_dealloc_pd(void *pd);

void
gate_shut(struct gate *gate)
{
	(void)sem_init(&gate->arrived, 0, 0);
	(void)sem_init(&gate->opened, 0, 0);
	atomic_store(&gate->is_late, false);
	atomic_store(&gate->is_shut, true);
}

bool
gate_await(struct gate *gate, unsigned int nb)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += LATE_S;
	for (unsigned int i = 0; i < nb; i++)
		if (sem_timedwait(&gate->arrived, &end) != 0)
			return false;
	return true;
}

void
gate_unlock(struct gate *gate)
{
	atomic_store(&gate->is_shut, false);
}

void
gate_open(struct gate *gate, unsigned int nb)
{
	atomic_store(&gate->is_shut, false);
	for (unsigned int i = 0; i < nb; i++)
		sem_post(&gate->opened);
}

/* Returns how many to take off nb_inside. */
static unsigned int
gate_pass(struct gate *gate)
{
	struct timespec end;

	if (!atomic_load(&gate->is_shut))
		return 0;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += LATE_S;
	atomic_fetch_add(&nb_inside, 1);
	sem_post(&gate->arrived);
	if (sem_timedwait(&gate->opened, &end) != 0) {
		atomic_store(&gate->is_late, true);
		atomic_store(&gate->is_shut, false);
	}
	return 1;
}

static void *
next_of(const char *name, const char *version)
{
	void *library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);

	return dlvsym(library, name, version);
}

void *
ibv_reg_mr(void *pd, void *addr, size_t len, int access)
{
	const unsigned int is_inside = gate_pass(&reg_gate);
	void *(*next)(void *pd, void *addr, size_t len, int access);
	void *mr;

	*(void **)&next = next_of("ibv_reg_mr", "IBVERBS_1.1");
	mr = next(pd, addr, len, access);
	atomic_fetch_sub(&nb_inside, is_inside);
	return mr;
}

void *
ibv_reg_mr_iova2(void *pd, void *addr, size_t len, uint64_t iova, unsigned int access)
{
	const unsigned int is_inside = gate_pass(&reg_gate);
	void *(*next)(void *pd, void *addr, size_t len, uint64_t iova, unsigned int access);
	void *mr;

	*(void **)&next = next_of("ibv_reg_mr_iova2", "IBVERBS_1.8");
	mr = next(pd, addr, len, iova, access);
	atomic_fetch_sub(&nb_inside, is_inside);
	return mr;
}

int
ibv_dereg_mr(void *mr)
{
	const unsigned int is_inside = gate_pass(&dereg_gate);
	int (*next)(void *mr);
	int ret;

	*(void **)&next = next_of("ibv_dereg_mr", "IBVERBS_1.1");
	ret = next(mr);
	atomic_fetch_sub(&nb_inside, is_inside);
	return ret;
}

int
ibv_dealloc_pd(void *pd)
{
	int (*next)(void *pd);

	if (atomic_load(&nb_inside) != 0)
		atomic_fetch_add(&nb_pds_early, 1);
	*(void **)&next = next_of("ibv_dealloc_pd", "IBVERBS_1.1");
	return next(pd);
}
