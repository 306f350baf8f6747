/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What each process has for itself, of ports that processes share: its number, and the
 * addresses of doorbell pages. Also the clock of the control path.
 */

#ifndef MANA_PROCESS_H
#define MANA_PROCESS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "mana_compat.h"

/*
 * The number of this process; 0 in a forked child. A process marks with it what it uses in shared
 * memory. When the process dies, the primary process removes its marks.
 */
extern MANA_ATOMIC(uint32_t) mana_process_id MANA_HIDDEN;
#define MANA_PROCESS_PRIMARY 1u

/* The kind of this process, for what only some processes have. */
extern uint32_t mana_process_kind MANA_HIDDEN;
#define MANA_KIND_PRIMARY 0u
#define MANA_KIND_SECONDARY 1u
#define MANA_NB_PROCESS_KINDS 2u

/*
 * The process's window of doorbell pages, one for each ethdev port, which devices' pages
 * replace. The doorbell offsets of queues are relative to its start.
 */
#ifdef RTE_ARCH_ARM64
#define MANA_DB_PAGE_MAX_BYTES 65536
#else
#define MANA_DB_PAGE_MAX_BYTES 4096
#endif
extern uint8_t mana_db_window[] MANA_HIDDEN;

static inline uintptr_t
mana_db_offset(const volatile void *reg)
{
	return (uintptr_t)reg - (uintptr_t)mana_db_window;
}

/*
 * A number of the opened device of a port, never 0; another device has another doorbell
 * page. mana_device_slot() is its port's number plus 1.
 */
static inline uint32_t
mana_device_id(uint16_t port_id, uint16_t nb_opens)
{
	return (port_id + 1u) << 16 | nb_opens;
}

static inline uint32_t
mana_device_slot(uint32_t device)
{
	return device >> 16;
}

/*
 * Map the doorbell page of a port into the window of this process, in place of the page
 * that is mapped there. Control path, one thread at a time for a port. fd: the command
 * descriptor of the RDMA device, which another process may have opened. The mapping remains
 * when fd is closed, and keeps its context until then (Linux mana_ib_mmap). Returns 0, or a
 * negative errno: nothing is mapped then.
 */
int mana_db_map(uint16_t port_id, int fd);

/*
 * Give the page back. Bursts may run: their doorbells go to plain memory from now on. Safe
 * when nothing is mapped.
 */
void mana_db_unmap(uint16_t port_id);

/* The page of a port that is mapped. */
void *mana_db_page(uint16_t port_id);

/* Nanoseconds of CLOCK_MONOTONIC, which all processes share. */
uint64_t mana_now_ns(void);

/* Signals but those of faults, which no handler gets until the thread restores them. */
void mana_signals_block(sigset_t *before);
void mana_signals_restore(const sigset_t *before);

/*
 * The order in which a thread takes locks, each with lower ones held only; see
 * doc/guides/nics/mana-control.rst. A build with MANA_LOCK_ORDER ends a program that breaks it.
 */
enum mana_lock_rank {
	MANA_LOCK_PORT, /* priv->control; in a secondary process ports_lock */
	MANA_LOCK_PEERS, /* peers_lock; then come EAL's locks of memory and mempools */
	MANA_LOCK_CHANGES, /* changes_lock of mana_mr.c */
	MANA_LOCK_PROCESS, /* the first one of the registry */
	MANA_LOCK_REGISTRY,
	MANA_LOCK_INNER, /* query_lock of a queue, lock of priv->mrs */
};

#ifdef MANA_LOCK_ORDER
/* waits: the thread is about to wait for the lock; else it has it. */
void mana_lock_order_enter(enum mana_lock_rank rank, bool waits);
void mana_lock_order_leave(enum mana_lock_rank rank);
#else
#define mana_lock_order_enter(rank, waits) RTE_SET_USED(rank)
#define mana_lock_order_leave(rank) RTE_SET_USED(rank)
#endif

/*
 * A mutex that survives the death of its holder. The holder blocks signals, but those of
 * faults, so that no signal handler finds it locked by its own thread: a handler may stop
 * a port.
 */
struct mana_mutex {
	pthread_mutex_t lock;
	sigset_t mask; /* of the holder, before */
	enum mana_lock_rank rank;
};

/* Does not fail: needs no memory of the system (glibc pthread_mutex_init.c). */
void mana_mutex_init(struct mana_mutex *mutex, enum mana_lock_rank rank);
void mana_mutex_lock(struct mana_mutex *mutex);
/* Whether the caller holds it now. */
bool mana_mutex_trylock(struct mana_mutex *mutex);
void mana_mutex_unlock(struct mana_mutex *mutex);

#endif /* MANA_PROCESS_H */
