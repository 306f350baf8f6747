/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * For tests in which devices are removed and return: commands, properties of a
 * function, threads that wait for an event file.
 */

#ifndef MODEL_TEST_LIFECYCLE_FIXTURE_H
#define MODEL_TEST_LIFECYCLE_FIXTURE_H

#include <pthread.h>

#include "verbs_fixture.h"

/* Run a command that must fail with a message. */
void refused(const char *line);

/*
 * A function as seen in sysfs and by libibverbs, which must agree. Names of its
 * first port and RDMA device; "" if there is none.
 */
struct function {
	bool has_pci, has_rdma, has_net;
	char rdma[32], uverbs[32], netdev[32];
	char mac[32];
	unsigned int ifindex, dev_port;
};
void read_function(unsigned int fn, struct function *function);
/* Its index in the list of libibverbs. */
uint32_t device_of(const struct function *function);
/* Wait until its RDMA device exists. */
void wait_for_device(unsigned int fn, struct function *function);
/* The number in a file below sys/. */
int sysfs_number(const char *path);
/* IFLA_CARRIER of a netdev. */
int netdev_carrier(const char *name);

/* A thread that waits for an event file in its function. */
struct waiter {
	pthread_t thread;
	int fd;
	volatile int tid;
	ssize_t rc;
	int error;
};
/* Start the thread; returns when it sleeps. */
void waiter_start(struct waiter *waiter, int fd, void *(*run)(void *waiter));
void waiter_starts(struct waiter *waiter); /* called by run() */
void waiter_join(struct waiter *waiter);

#endif /* MODEL_TEST_LIFECYCLE_FIXTURE_H */
