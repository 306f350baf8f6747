/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the modelled kernel remembers, in the shared segment: no pointers,
 * everything is named by index. Private to the kernel side; under the
 * machine's lock unless marked otherwise.
 */

#ifndef MODEL_KERNEL_STATE_H
#define MODEL_KERNEL_STATE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "device.h"
#include "kernel.h"
#include "nl_event.h"
#include "segment.h"

#define KERNEL_MAX_CONTEXTS 256
#define KERNEL_MAX_OBJECTS 65536
#define KERNEL_MAX_CQ_ID 4096	/* GDMA max_num_cqs of a function */
#define KERNEL_MAX_IND_LOG 7	/* one more than the card can take */
#define KERNEL_NONE UINT32_MAX

/* Limits of the raw path (Linux 7.2 mana ib/main.c); others in traits.c. */
#define KERNEL_MAX_QP DEVICE_MAX_QUEUES
#define KERNEL_MAX_QP_WR 2048
#define KERNEL_MAX_SEND_SGE 30
#define KERNEL_MAX_RECV_SGE 15
#define KERNEL_MAX_CQ 2048
#define KERNEL_MAX_CQE 2048
#define KERNEL_MAX_MR 0x4000 /* as many as the card has: MEM_NB_REGIONS */
#define KERNEL_MAX_PD 0x6000
#define KERNEL_NB_COMP_VECTORS 64
#define KERNEL_CQE_BYTES 64
#define KERNEL_PAGE_BYTES 4096

enum object_kind {
	OBJECT_FREE,
	OBJECT_UNFINISHED, /* being made: may name what it needs already */
	OBJECT_PD,
	OBJECT_MR,
	OBJECT_CQ,
	OBJECT_WQ,
	OBJECT_IND,
	OBJECT_QP,
	OBJECT_CHANNEL, /* completion event file */
	OBJECT_ASYNC,	/* asynchronous event file */
	OBJECT_NB_KINDS,
};

/* A ring of user memory, from create_cq/wq/qp until the object's end. */
struct object_ring {
	struct device_memory memory;
	uint64_t nb_pinned; /* pages charged to memory.process */
	/*
	 * The DMA region was moved into a device queue: a second queue made
	 * from it is refused (Linux ib/qp.c sets it to GDMA_INVALID_DMA_REGION).
	 */
	bool consumed;
};

struct object_pd {
	uint32_t pdn;
	uint32_t vport_use_count; /* raw QPs, all of one port */
	uint32_t vport_port;
	uint32_t tx_vp_offset;
	uint32_t rss_qp; /* object or KERNEL_NONE */
};

struct object_mr {
	uint32_t pd;
	uint32_t key;
	uint32_t process;
	uint64_t nb_pinned;
};

struct object_cq {
	struct object_ring ring;
	uint64_t user_handle;
	uint32_t nb_cqe;
	uint32_t comp_vector;
	uint32_t channel; /* object or KERNEL_NONE */
	uint32_t id;	  /* DEVICE_NO_QUEUE until a QP has made it */
	bool alive;	  /* exists in the device */
	uint32_t nb_events; /* written to the channel */
	uint32_t qp; /* object that made it in the device */
};

struct object_wq {
	struct object_ring ring;
	uint32_t pd, cq;
	uint32_t id; /* DEVICE_NO_QUEUE unless an RSS QP is using it */
	uint32_t qp; /* object: that one */
};

struct object_ind {
	uint32_t log_size;
	uint32_t wq[1u << KERNEL_MAX_IND_LOG];
};

struct object_qp {
	struct object_ring ring; /* Tx only */
	uint32_t pd;
	uint32_t port;
	uint32_t cq;  /* Tx only: send and receive CQ */
	uint32_t recv_cq;
	uint32_t ind; /* RSS only, else KERNEL_NONE */
	uint32_t sq_id; /* Tx only: DEVICE_NO_QUEUE until it is made */
	bool has_vport; /* Tx only: one of the PD's vport_use_count */
	bool has_rx; /* RSS only: the vPort's steering is its */
};

/* A FIFO in the run folder; the program holds it open for both ways. */
struct object_file {
	uint64_t dev, ino;
	uint64_t serial; /* in its name */
	uint32_t process; /* who has it open */
	bool closed;	 /* the program has closed it */
	uint32_t is_dead; /* its device is gone; read without the lock: atomic */
	bool has_ended;	 /* and its last record is there */
};

struct object {
	uint32_t kind;
	uint32_t context;
	uint32_t number; /* of its kind at its function, from 1 */
	uint32_t nb_users; /* objects that refer to this one: EBUSY */
	/*
	 * Its device is gone, and all that the object was: the handle is left
	 * for the program to destroy (Linux core/rdma_core.c
	 * uverbs_destroy_uobject(): only RDMA_REMOVE_DESTROY removes it).
	 */
	bool is_gone;
	bool is_counted; /* among the leaks */
	uint32_t making; /* kind that it has, or will have */
	uint32_t maker; /* process that makes it */
	uint32_t next_free;
	union {
		struct object_pd pd;
		struct object_mr mr;
		struct object_cq cq;
		struct object_wq wq;
		struct object_ind ind;
		struct object_qp qp;
		struct object_file file;
	};
};

/* An open uverbs file. */
struct kernel_context {
	uint32_t used; /* read without the lock: atomic */
	uint32_t fn;
	uint32_t number; /* N of the uverbs<N> that was opened */
	bool is_rnic;	 /* and it is the RNIC's */
	uint32_t trace_number; /* at its function, from 1 */
	uint32_t process; /* who opened it */
	uint64_t dev, ino;
	uint64_t serial; /* of its file's name */
	uint32_t has_ucontext; /* GET_CONTEXT done; read without the lock */
	uint32_t page;	 /* doorbell page, with has_ucontext */
	bool fd_closed;	 /* a descriptor was closed by the program */
	bool is_counted; /* among the leaks */
	uint32_t is_dead; /* its device is gone; read without the lock: atomic */
	/* The file has a page for the stores of the dead: see doorbell.c. */
	bool has_dummy_page;
};

/* A port as mana_en.c sees it: struct mana_port_context. */
struct kernel_port {
	uint32_t owner_pd; /* PD object, KERNEL_NONE, or KERNEL_NETDEV_OWNER */
	uint32_t mtu;
	uint32_t speed_mbps; /* KERNEL_SPEED_UNKNOWN: the card does not say */
	bool is_up;
	bool was_up; /* ever */
	bool carrier; /* follows the card, not the administrator */
	uint32_t nb_carrier_up, nb_carrier_down;
	uint32_t more_flags; /* IFF_* besides those that follow from the rest */
	uint32_t tx_queue_len;
	uint32_t nb_channels; /* ethtool -L */
	uint32_t rx_ring, tx_ring; /* ethtool -G */
	enum kernel_netdev_place place;
};
#define KERNEL_NETDEV_OWNER (UINT32_MAX - 1)

/*
 * A PCI function and what its drivers have made of it, which may go and come
 * back with other names and numbers.
 */
struct kernel_function {
	bool has_pci;
	bool has_netdevs;
	bool has_rdma;
	uint32_t rdma_name;   /* N of manae_<N> and mana_<N> */
	uint32_t rdma_number; /* N of uverbs<N> of the one for raw QPs */
	uint32_t rdma_index;  /* DEV_INDEX of RDMA netlink */
	uint32_t rnic_number; /* of the RNIC's; KERNEL_NONE: there is none */
	uint32_t rnic_index;
	uint32_t first_ifindex; /* of its port 0 */
	bool is_suspended; /* by its driver: netdevs are there, and detached */
	/* What it is to become, while somebody is at it: see life.c. */
	bool is_changing;
	uint32_t target;
	uint64_t return_ns; /* when it comes back by itself; 0: it does not */
	struct kernel_life life;
};

/* A leak that is being counted: see leaks.h. */
struct kernel_leak {
	uint32_t flag_at; /* where it is marked, in struct kernel; 0: none */
	struct kernel_leaks after;
};

struct kernel {
	bool is_made; /* with all that the launcher does for it */
	uint32_t nb_dead; /* contexts ever disassociated; atomic */
	bool no_net_raw, no_ipc_lock; /* privileges taken away */
	uint64_t fd_dev;   /* st_dev of <run>/fd: quick test, no lock */
	uint64_t serial;   /* last one given to a file */
	uint64_t nb_pages; /* doorbell pages ever given to contexts */
	struct kernel_leaks leaks;
	struct kernel_leak leak;
	uint64_t nb_pinned[MODEL_MAX_PROCESSES]; /* pages, by process */
	uint32_t kick[MODEL_MAX_PROCESSES]; /* futex words, atomic */
	struct kernel_function function[MODEL_MAX_FUNCTIONS];
	uint32_t next_rdma_name, next_rdma_number, next_rdma_index;
	uint32_t next_ifindex;
	struct nl_events events; /* notifications; without the lock */
	struct kernel_port port[MODEL_MAX_FUNCTIONS][MODEL_MAX_PORTS_PER_FUNCTION];
	struct kernel_context context[KERNEL_MAX_CONTEXTS];
	/* How many there ever were, for their numbers. */
	uint32_t nb_contexts[MODEL_MAX_FUNCTIONS];
	uint32_t nb_made[MODEL_MAX_FUNCTIONS][OBJECT_NB_KINDS];
	/*
	 * gdma_context.cq_table: CQ id to CQ object, + 1. An entry outlives the
	 * device queue until destroy_cq (Linux ib/cq.c mana_ib_remove_cq_cb).
	 */
	uint32_t cq_table[MODEL_MAX_FUNCTIONS][KERNEL_MAX_CQ_ID];
	uint32_t first_free; /* object list by next_free, 0: none */
	uint32_t nb_objects; /* ever used: 1..nb_objects - 1 are initialised */
	struct object object[KERNEL_MAX_OBJECTS];
};

#ifdef SEGMENT_KERNEL_BYTES
static_assert(sizeof(struct kernel) <= SEGMENT_KERNEL_BYTES,
	      "the segment has no room for the kernel's state");
#endif

#endif /* MODEL_KERNEL_STATE_H */
