/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * For tests in which devices go and come back: commands, what can be found of
 * a function, threads that wait for an event file.
 */

#ifndef MODEL_TEST_LIFECYCLE_RIG_H
#define MODEL_TEST_LIFECYCLE_RIG_H

#include <pthread.h>

#include "verbs_rig.h"

/* A command that works; one that is refused, and says why. */
void command(const char *line);
void refused(const char *line);

/* Send a frame and see its completion. */
void check_sends(struct vrig *rig);

/*
 * A function as programs find it, by sysfs and by libibverbs, which must agree.
 * Names are those of its first port and RDMA device; "" when there is none.
 */
struct function {
	bool has_pci, has_rdma, has_net;
	char rdma[32], uverbs[32], netdev[32];
	char mac[32];
	unsigned int ifindex, dev_port;
};
void look_at(unsigned int fn, struct function *function);
/* Its place in the list of libibverbs. */
uint32_t device_of(const struct function *function);
/* Until its RDMA device is there. */
void wait_for_device(unsigned int fn, struct function *function);
/* What a file below sys/ says. */
int sysfs_number(const char *path);
/* IFLA_CARRIER of a netdev, or -1. */
int netdev_carrier(const char *name);

/* Destroy a protection domain by a plain ioctl: 0 or errno. */
int destroy_pd(int cmd_fd, uint32_t handle);

/* A thread that waits for an event file, as its function has it. */
struct waiter {
	pthread_t thread;
	int fd;
	volatile int tid;
	ssize_t rc;
	int error;
};
/* Returns when the thread sleeps. */
void waiter_start(struct waiter *waiter, int fd, void *(*run)(void *waiter));
void waiter_starts(struct waiter *waiter); /* by run() */
void waiter_join(struct waiter *waiter);

#endif /* MODEL_TEST_LIFECYCLE_RIG_H */
