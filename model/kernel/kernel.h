/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The interface of the modelled kernel to the preload library and the launcher:
 * contexts of uverbs files, their objects, netdevs.
 *
 * Functions return 0 or a negative errno, like system calls inside the kernel.
 * They take the machine's lock themselves unless stated otherwise.
 */

#ifndef MODEL_KERNEL_H
#define MODEL_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Numbers of the modelled machine that user space sees. */
#define KERNEL_UVERBS_MAJOR 231
#define KERNEL_UVERBS_MINOR_BASE 192 /* + N of uverbs<N> */
#define KERNEL_IFINDEX_BASE 10001    /* + n-th port of the machine, at first */

/* Called once by the launcher, after card_init(). */
int kernel_init(void);
/* Whether the launcher has set up the machine, including its sysfs. */
bool kernel_is_made(void);

/*
 * The function whose node is /dev/infiniband/uverbs<number>, or -ENOENT. Takes
 * no lock; names and numbers change when devices are removed and return.
 */
int kernel_uverbs_find(uint32_t number);
/*
 * open("/dev/infiniband/uverbs<number>"): create a context and open its file in
 * the run folder with open_flags. Returns the descriptor or -errno.
 */
int kernel_context_open(uint32_t number, int open_flags);
/*
 * The context of a file, by its identity; -1 if the file is no modelled one.
 * Takes no lock: cheap enough for every fstat() of a program.
 */
int kernel_context_of(dev_t st_dev, ino_t st_ino);
/*
 * Function and doorbell page of a context, for mappings and stores. Takes no
 * lock; async-signal-safe. -EINVAL before the context has its doorbell page,
 * -EIO after its device was removed.
 */
int kernel_context_doorbell(uint32_t context, uint32_t *fn, uint32_t *page);
/*
 * Doorbell pages of plain memory: the page of a context is the start of its
 * file. With the lock held.
 *
 * The serial number of the context; 0 if it has no doorbell page or no device.
 */
uint64_t kernel_context_page_serial(uint32_t context);
/* A descriptor to read the page, which does not keep the context alive. */
int kernel_context_page_open(uint32_t context);
/* Whether this process itself opened the context. Takes no lock. */
bool kernel_context_is_own(uint32_t context);
/* N of the uverbs<N> opened, even if removed since. Takes no lock. */
int kernel_context_number(uint32_t context);
/*
 * Whether the device of a context was removed (core/uverbs_main.c
 * ib_uverbs_free_hw_resources()). Takes no lock; async-signal-safe.
 */
bool kernel_context_is_dead(uint32_t context);
/* Whether the file of a dead context has a page that absorbs doorbells. */
bool kernel_context_has_dummy_page(uint32_t context);
/*
 * This process has closed a descriptor (is_close) or removed a mapping of the
 * context. Destroys the context if it was the last one in any process.
 *
 * The real kernel knows whether a process still holds the file: its open file
 * description has a flock(), which exists as long as any duplicate (dup, fork,
 * SCM_RIGHTS) or mapping of it.
 */
void kernel_context_released(uint32_t context, bool is_close);
/* Called for each event file that an ioctl opens here, unless NULL. */
extern void (*kernel_event_file_opened)(int fd, bool is_async);
/*
 * Whether fd is a completion channel whose device was removed. Takes no lock;
 * costs one load until the first removal of a device.
 */
bool kernel_channel_is_dead(int fd);
/* Whether the device of any context was ever removed. One load. */
bool kernel_has_dead(void);
/* Bytes in such a channel, which wake threads that wait for it. */
#define KERNEL_CHANNEL_END_BYTES 1
/* This process has closed its last descriptor of an event file. */
void kernel_event_file_closed(dev_t dev, ino_t ino);

/*
 * This process has replaced its program by exec(): objects of the old program
 * refer to memory that no longer exists. Call if segment_attach() returned 1.
 */
void kernel_process_replaced(void);

/*
 * ioctl(fd, RDMA_VERBS_IOCTL, arg) in the calling process. The caller holds a
 * descriptor of the context, which no other thread can close meanwhile.
 */
int kernel_uverbs_ioctl(uint32_t context, void *arg);

/*
 * Destroy each context whose file no process holds any more, count objects that
 * the program did not destroy as leaks, and free the slots of dead processes
 * that own nothing. Any process may call it at any time; the launcher does so
 * when a child ends and on its tick.
 */
void kernel_reclaim_dead(void);

struct kernel_leaks {
	uint64_t pd, mr, cq, wq, qp, ind, fd;
};
void kernel_leaks(struct kernel_leaks *leaks);

/* Counts of existing objects, by the same kinds (for tests and the report). */
void kernel_objects(struct kernel_leaks *objects);

/*
 * Privileges of the modelled programs. Both are granted at start, independent
 * of the real user. Without net_raw, raw QPs give EPERM; without ipc_lock, the
 * program's RLIMIT_MEMLOCK limits registration (ENOMEM).
 */
void kernel_set_privileges(bool net_raw, bool ipc_lock);

/* netdevs of ports */
#define KERNEL_SPEED_UNKNOWN UINT32_MAX /* SPEED_UNKNOWN of ethtool */
/* The network namespace of a netdev. */
enum kernel_netdev_ns {
	KERNEL_NETDEV_OWN_NS, /* the programs' namespace */
	KERNEL_NETDEV_OTHER_NS, /* another one */
	KERNEL_NETDEV_OTHER_NS_IN_SYSFS, /* another one, which /sys shows */
};

struct kernel_netdev {
	char name[16];
	uint32_t ifindex;
	uint32_t mtu, max_mtu;
	uint32_t speed_mbps; /* or KERNEL_SPEED_UNKNOWN */
	bool is_up, was_up;
	bool carrier;
	uint32_t nb_carrier_up, nb_carrier_down;
	bool is_carrier_new; /* linkwatch has not announced it */
	uint32_t more_flags; /* IFF_MULTICAST and others that can be set */
	uint32_t tx_queue_len;
	uint8_t mac[6];
	uint32_t fn, port; /* port from 0 */
	bool is_master; /* the hv_netvsc netdev of the port */
	enum kernel_netdev_ns ns;
};
/* These find netdevs of the programs' network namespace only. */
int kernel_netdev_by_index(uint32_t ifindex, struct kernel_netdev *netdev);
int kernel_netdev_by_name(const char *name, struct kernel_netdev *netdev);
/* The n-th netdev of the machine; -ENODEV past the end. */
int kernel_netdev_nth(uint32_t n, struct kernel_netdev *netdev);
/* The same in all namespaces. The functions below change any of them. */
int kernel_netdev_nth_anywhere(uint32_t n, struct kernel_netdev *netdev);
/* Move a netdev to a namespace, which sets it down. Async-signal-safe. */
int kernel_netdev_set_ns(uint32_t ifindex, enum kernel_netdev_ns ns);
int kernel_netdev_set_up(uint32_t ifindex, bool up); /* -EBUSY: vPort in use */
/* Set the IFF_* flags in mask to flags; ignores flags that cannot be set. */
int kernel_netdev_set_flags(uint32_t ifindex, uint32_t flags, uint32_t mask);
int kernel_netdev_set_mtu(uint32_t ifindex, uint32_t mtu);
int kernel_netdev_set_tx_queue_len(uint32_t ifindex, uint32_t nb_packets);
/* The card reports a link change. Async-signal-safe. */
int kernel_netdev_set_carrier(uint32_t ifindex, bool carrier);
/* Announce it, after all netdevs of the function have theirs. */
void kernel_netdev_announce_carrier(uint32_t ifindex);
int kernel_netdev_set_speed(uint32_t ifindex, uint32_t speed_mbps);

/* Counts of events; nb_fatal: losses of the RDMA device for any cause. */
struct kernel_life {
	uint64_t nb_fatal, nb_removed, nb_reset, nb_returned, nb_link_changes;
};
struct kernel_function_status {
	bool has_pci, has_netdevs, has_rdma;
	uint32_t rdma_number; /* the current or last one */
	struct kernel_life life;
};
void kernel_function_status(uint32_t fn, struct kernel_function_status *status);

/*
 * Wake-up of device threads (thread mode). A thread reads the count, works, and
 * sleeps if the count is unchanged; the platform's wake() increments it.
 */
uint32_t kernel_kick_count(uint32_t process);
void kernel_kick_wait(uint32_t process, uint32_t seen, uint32_t timeout_ms);

#endif /* MODEL_KERNEL_H */
