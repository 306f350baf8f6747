/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What each process has for itself, of ports that processes share: its number, and the
 * addresses of doorbell pages.
 */

#ifndef MANA_PROCESS_H
#define MANA_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "mana_compat.h"

/*
 * The number of this process, never 0. A process marks with it what it uses in shared
 * memory. When the process dies, the primary process removes its marks.
 */
extern MANA_ATOMIC(uint32_t) mana_process_id MANA_HIDDEN;
#define MANA_PROCESS_PRIMARY 1u
#define MANA_PROCESS_NONE UINT32_MAX /* a secondary process that uses nothing */

/*
 * Bursts of this process contain the fences of a pause, because it may not use
 * membarrier(2). Does not change while there are ports.
 */
extern bool mana_has_fences MANA_HIDDEN;

/*
 * The address to which the doorbell offsets of queues are relative: the start of the
 * process's window of doorbell pages, one for each ethdev port. 0: no window yet.
 */
extern uintptr_t mana_db_window MANA_HIDDEN;

static inline uintptr_t
mana_db_offset(const volatile void *reg)
{
	return (uintptr_t)reg - mana_db_window;
}

/**
 * Map the doorbell page of a port into the window of this process, in place of the page
 * that is mapped there. Control path, one thread at a time for a port.
 *
 * @param fd
 *   The command descriptor of the RDMA device: the kernel maps the page of the context
 *   that the file stands for (Linux mana_ib_mmap). Another process may have opened it.
 *   The mapping remains when fd is closed, and keeps the context until then.
 * @return
 *   0, or a negative errno: nothing is mapped then.
 */
int mana_db_map(uint16_t port_id, int fd);

/*
 * Give the page back. Bursts may run: their doorbells go to plain memory from now on. Safe
 * when nothing is mapped.
 */
void mana_db_unmap(uint16_t port_id);

/* The page of a port that is mapped. */
volatile void *mana_db_page(uint16_t port_id);

#endif /* MANA_PROCESS_H */
