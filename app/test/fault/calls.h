/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Lets calls of the driver fail that allocate or that can fail otherwise, and no calls
 * of others: the test links the driver with each of these functions wrapped (ld --wrap).
 * Calls of all threads count.
 */

#ifndef CALLS_H
#define CALLS_H

#include <stdbool.h>

/* Lets the nth next call fail (1: the next, 0: none), and all later ones if and_later. */
void calls_arm(unsigned int nth, bool and_later);
void calls_disarm(void);
/*
 * For the mempool operation that dequeues nb_mbufs, an inline function in its callers. true:
 * the caller is the driver, and the call fails.
 */
bool calls_pool_get(const void *caller, unsigned int nb_mbufs);
/* Since calls_arm(): calls that failed, and all calls. */
unsigned int calls_failed(void);
unsigned int calls_made(void);
/* The name of the function that failed first. */
const char *calls_first_failed(void);

#endif /* CALLS_H */
