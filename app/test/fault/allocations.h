/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Lets allocations of the driver fail, and no others: the test links the driver
 * with each of these functions wrapped (ld --wrap).
 */

#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

/* Lets the nth next allocation fail; 1: the next. */
void allocations_arm(unsigned int nth);
void allocations_disarm(void);
/* 1 if it has failed. */
unsigned int allocations_hits(void);

#endif /* ALLOCATIONS_H */
