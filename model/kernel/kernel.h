/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The kernel side of the modelled machine, as the preloaded surface and the
 * launcher use it: contexts behind uverbs files, their objects, netdevs.
 *
 * Functions return 0 or a negative errno, as a system call inside the kernel
 * does. They take the machine's lock themselves unless they say otherwise.
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

/* Launcher, once, after device_init(). */
int kernel_init(void);
/* Whether the machine has come so far that it has its sysfs. */
bool kernel_is_made(void);

/*
 * The function whose node is /dev/infiniband/uverbs<number>, or -ENOENT. Takes
 * no lock; names and numbers change when devices go and come back.
 */
int kernel_uverbs_find(uint32_t number);
/*
 * open("/dev/infiniband/uverbs<number>"): the new context's file in the run
 * folder is opened with open_flags; returns the descriptor or -errno.
 */
int kernel_context_open(uint32_t number, int open_flags);
/*
 * The context behind a file, by its identity; -1 when it is none of ours.
 * Takes no lock: cheap enough for every fstat() of a program.
 */
int kernel_context_of(dev_t st_dev, ino_t st_ino);
/*
 * Function and doorbell page of a context, for the mapping and its stores.
 * Takes no lock, safe in a signal handler. -EINVAL before the context has
 * its doorbell page, -EIO after it is gone.
 */
int kernel_context_doorbell(uint32_t context, uint32_t *fn, uint32_t *page);
/*
 * Doorbell pages of plain memory: the page of a context is the start of its
 * file. A descriptor that does not keep the context alive, to look at the
 * page, and its serial number; -ENOENT when another process made the context,
 * which looks at it then.
 */
int kernel_context_page_open(uint32_t context, uint64_t *serial);
/*
 * The same of a context that another process made, to see what is posted there:
 * -ENOENT for one of our own.
 */
int kernel_context_other_page_open(uint32_t context, uint64_t *serial);
/* How many doorbell pages were ever given to contexts. With the lock held. */
uint64_t kernel_context_nb_pages(void);
/* Whether it still is that one, with its device. With the machine's lock held. */
bool kernel_context_is(uint32_t context, uint64_t serial);
/* Function of a context, or -EIO when it is gone. Takes no lock. */
int kernel_context_fn(uint32_t context);
/* Whether this process opened it, and was not passed it. Takes no lock. */
bool kernel_context_is_own(uint32_t context);
/* N of the uverbs<N> that was opened, which may be gone. Takes no lock. */
int kernel_context_number(uint32_t context);
/*
 * Whether the device of a context is gone (core/uverbs_main.c
 * ib_uverbs_free_hw_resources()). No lock, async-signal-safe.
 */
bool kernel_context_is_dead(uint32_t context);
/*
 * Whether its file has a page that takes stores instead of the doorbell page,
 * once it is dead.
 */
bool kernel_context_has_dummy_page(uint32_t context);
/*
 * A descriptor (is_close) or mapping of the context went away in this
 * process: destroy the context if it was the last one in any process.
 *
 * Whether anybody still holds the file is answered by the real kernel: the
 * context's open file description carries a flock(), which lives exactly as
 * long as the last duplicate (dup, fork, SCM_RIGHTS) or mapping of it.
 */
void kernel_context_released(uint32_t context, bool is_close);
/* Told of each event file that an ioctl opens here; NULL: nobody wants it. */
extern void (*kernel_event_file_opened)(int fd, bool is_async);
/*
 * Whether this is a completion channel whose device is gone. No lock; costs one
 * load as long as no device has gone.
 */
bool kernel_channel_is_dead(int fd);
/* Whether any context has lost its device so far. One load. */
bool kernel_has_dead(void);
/* What such a channel holds, so that who waits for it wakes up. */
#define KERNEL_CHANNEL_END_BYTES 1
/* The last descriptor of this process for an event file is closed. */
void kernel_event_file_closed(dev_t dev, ino_t ino);

/*
 * This process has replaced its program by exec(): what the old program held
 * names memory that is gone. For segment_attach() having returned 1.
 */
void kernel_process_replaced(void);

/*
 * ioctl(fd, RDMA_VERBS_IOCTL, arg) in the calling process. The caller has a
 * descriptor of the context that nobody else can close meanwhile.
 */
int kernel_uverbs_ioctl(uint32_t context, void *arg);
/*
 * The same for write(): how much was written, which is all of it. -EACCES in a
 * process that did not open the context.
 */
ssize_t kernel_uverbs_write(uint32_t context, const void *buf, size_t nb_bytes);

/*
 * Destroy every context whose file nobody holds any more, and free the
 * process slots of dead processes that own nothing; what a program had not
 * destroyed itself is added to the leak counts. Any process, any time; the
 * launcher calls it when a child ends and on its tick.
 */
void kernel_reclaim_dead(void);

struct kernel_leaks {
	uint64_t pd, mr, cq, wq, qp, ind, fd;
};
void kernel_leaks(struct kernel_leaks *leaks);

/* Objects that exist now, by the same kinds (for tests and the report). */
void kernel_objects(struct kernel_leaks *objects);

/*
 * What the modelled programs may do. Both are granted at start, whatever
 * the real user is: without net_raw raw QPs give EPERM, without ipc_lock
 * RLIMIT_MEMLOCK of the program limits registration (ENOMEM).
 */
void kernel_set_privileges(bool net_raw, bool ipc_lock);

/* netdevs of ports */
#define KERNEL_SPEED_UNKNOWN UINT32_MAX /* SPEED_UNKNOWN of ethtool */
/* The network namespace that a netdev is in. */
enum kernel_netdev_place {
	KERNEL_NETDEV_HERE, /* where the programs are */
	KERNEL_NETDEV_AWAY, /* another one */
	KERNEL_NETDEV_AWAY_SEEN, /* the same, and /sys is of that other one */
};

struct kernel_netdev {
	char name[16];
	uint32_t ifindex;
	uint32_t mtu, max_mtu;
	uint32_t speed_mbps; /* or KERNEL_SPEED_UNKNOWN */
	bool is_up, was_up;
	bool carrier;
	uint32_t nb_carrier_up, nb_carrier_down;
	uint32_t more_flags; /* IFF_MULTICAST and others that can be set */
	uint32_t tx_queue_len;
	uint32_t nb_channels, rx_ring, tx_ring; /* the netdev's own queues */
	uint8_t mac[6];
	uint32_t fn, port; /* port from 0 */
	enum kernel_netdev_place place;
};
/* These know those of the programs' network namespace only. */
int kernel_netdev_by_index(uint32_t ifindex, struct kernel_netdev *netdev);
int kernel_netdev_by_name(const char *name, struct kernel_netdev *netdev);
/* n-th netdev of the machine; -ENODEV past the end. */
int kernel_netdev_nth(uint32_t n, struct kernel_netdev *netdev);
/* The same in all namespaces; what changes a netdev finds it there, too. */
int kernel_netdev_nth_anywhere(uint32_t n, struct kernel_netdev *netdev);
/* Move it to another namespace or back: it goes down. Async-signal-safe. */
int kernel_netdev_set_place(uint32_t ifindex, enum kernel_netdev_place place);
int kernel_netdev_set_up(uint32_t ifindex, bool up); /* -EBUSY: vPort in use */
/* Those IFF_* of flags that are in mask; what cannot be set is left alone. */
int kernel_netdev_set_flags(uint32_t ifindex, uint32_t flags, uint32_t mask);
int kernel_netdev_set_mtu(uint32_t ifindex, uint32_t mtu);
int kernel_netdev_set_tx_queue_len(uint32_t ifindex, uint32_t nb_packets);
/* What the card tells of the link; async-signal-safe. */
int kernel_netdev_set_carrier(uint32_t ifindex, bool carrier);
int kernel_netdev_set_speed(uint32_t ifindex, uint32_t speed_mbps);

/*
 * What has happened to a function as a whole: the end of its RDMA device
 * (DEVICE_FATAL), whatever the cause; removals; services; returns.
 */
struct kernel_life {
	uint64_t nb_fatal, nb_removed, nb_reset, nb_returned, nb_link_changes;
};
struct kernel_function_status {
	bool has_pci, has_netdevs, has_rdma;
	uint32_t rdma_number; /* the last one */
	struct kernel_life life;
};
void kernel_function_status(uint32_t fn, struct kernel_function_status *status);

/*
 * Waking of device threads (thread mode). A thread reads the count, does its
 * work, and sleeps unless the count has moved; kernel_kick_process() of
 * device.h moves it. kernel_kick_launcher() writes a byte to <run>/kick.
 */
uint32_t kernel_kick_count(uint32_t process);
void kernel_kick_wait(uint32_t process, uint32_t seen, uint32_t timeout_ms);

#endif /* MODEL_KERNEL_H */
