/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * State of the modelled kernel, in the shared segment: no pointers, only
 * indices. Private to the kernel side; access it with the machine's lock held
 * unless marked otherwise.
 */

#ifndef MODEL_KERNEL_STATE_H
#define MODEL_KERNEL_STATE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "card.h"
#include "config.h"
#include "kernel.h"
#include "nl_event.h"
#include "segment.h"
#include "synthetic.h"

#define KERNEL_MAX_CONTEXTS 256
#define KERNEL_MAX_OBJECTS 65536
#define KERNEL_MAX_CQ_ID 4096	/* GDMA max_num_cqs of a function */
#define KERNEL_MAX_IND_LOG 7	/* one more than the card accepts */
#define KERNEL_NONE UINT32_MAX

/* Limits of the raw path (Linux 7.2 mana ib/main.c); others in kernel_version.c. */
#define KERNEL_MAX_QP CARD_MAX_QUEUES
#define KERNEL_MAX_QP_WR 2048
#define KERNEL_MAX_SEND_SGE 30
#define KERNEL_MAX_RECV_SGE 15
#define KERNEL_MAX_CQ 2048
#define KERNEL_MAX_CQE 2048
#define KERNEL_MAX_MR 0x4000 /* MEM_NB_REGIONS of the card */
#define KERNEL_MAX_PD 0x6000
#define KERNEL_NB_COMP_VECTORS 64
#define KERNEL_CQE_BYTES 64
#define KERNEL_PAGE_BYTES 4096

enum object_kind {
	OBJECT_FREE,
	OBJECT_UNFINISHED, /* under construction; may hold references */
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

/* A ring in user memory, from create_cq/wq/qp until the object is destroyed. */
struct object_ring {
	struct card_memory memory;
	uint64_t nb_pinned; /* pages charged to memory.process */
	/*
	 * A device queue has taken over the DMA region; a second queue with it
	 * is refused (Linux ib/qp.c sets it to GDMA_INVALID_DMA_REGION).
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
	uint32_t id;	  /* CARD_NO_QUEUE until a QP creates it */
	bool alive;	  /* exists in the device */
	uint32_t nb_events; /* written to the channel */
	uint32_t qp; /* QP object that created it in the device */
};

struct object_wq {
	struct object_ring ring;
	uint32_t pd, cq;
	uint32_t id; /* CARD_NO_QUEUE unless an RSS QP uses it */
	uint32_t qp; /* object of that QP */
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
	uint32_t sq_id; /* Tx only: CARD_NO_QUEUE until created */
	bool has_vport; /* Tx only: counted in the PD's vport_use_count */
	bool has_rx; /* RSS only: it has enabled the vPort's steering */
};

/* A FIFO in the run folder, which the program opens for reading and writing. */
struct object_file {
	uint64_t dev, ino;
	uint64_t serial; /* in its name */
	uint32_t process; /* process that has it open */
	bool closed;	 /* the program has closed it */
	uint32_t is_dead; /* its device was removed; read without the lock: atomic */
	bool has_ended;	 /* its last record is written */
};

struct object {
	uint32_t kind;
	uint32_t context;
	uint32_t number; /* per kind and function, from 1 */
	uint32_t nb_users; /* references by other objects: EBUSY if destroyed */
	/*
	 * Its device was removed and the object torn down. Only the handle is
	 * left, which the program destroys (Linux core/rdma_core.c
	 * uverbs_destroy_uobject(): only RDMA_REMOVE_DESTROY removes it).
	 */
	bool is_gone;
	bool is_counted; /* counted as a leak */
	uint32_t final_kind; /* kind, also while unfinished */
	uint32_t creator; /* process that creates it */
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
	bool is_rnic;	 /* the RNIC's device */
	uint32_t trace_number; /* per function, from 1 */
	uint32_t process; /* process that opened it */
	uint64_t dev, ino;
	uint64_t serial; /* in its file's name */
	uint32_t has_ucontext; /* GET_CONTEXT done; read without the lock */
	uint32_t page;	 /* doorbell page, with has_ucontext */
	bool fd_closed;	 /* the program has closed a descriptor */
	bool is_counted; /* counted as a leak */
	uint32_t is_dead; /* its device was removed; read without the lock: atomic */
	/* The dummy page absorbs stores after device removal: doorbell.c. */
	bool has_dummy_page;
};

/* A port as mana_en.c sees it: struct mana_port_context. */
struct kernel_port {
	uint32_t owner_pd; /* PD object, KERNEL_NONE, or KERNEL_NETDEV_OWNER */
	uint32_t mtu;
	uint32_t speed_mbps; /* or KERNEL_SPEED_UNKNOWN */
	bool is_up;
	bool was_up; /* ever */
	bool carrier; /* follows the card, not the administrator */
	uint32_t nb_carrier_up, nb_carrier_down;
	uint32_t more_flags; /* IFF_* that do not follow from other fields */
	uint32_t tx_queue_len;
	enum kernel_netdev_ns ns;
};
#define KERNEL_NETDEV_OWNER (UINT32_MAX - 1)

/* What a service of the adapter does, one step after the other: see life.c. */
enum kernel_step {
	KERNEL_STEP_WITHDRAW, /* NVSP message 128 */
	KERNEL_STEP_LOSE,
	KERNEL_STEP_MOVE, /* to hardware with another serial number */
	KERNEL_STEP_RETURN,
	KERNEL_STEP_REPORT, /* NVSP message 128 */
	KERNEL_NB_STEPS,
};
struct kernel_plan {
	uint32_t nb, next; /* steps; the next one to do */
	enum kernel_step step[KERNEL_NB_STEPS];
	uint64_t at_ns[KERNEL_NB_STEPS];
	uint32_t left; /* parts of the function that stay during the outage */
	bool is_ignored; /* by the kernel: the adapter is disabled instead */
	/* Steps tell the guest of the VF, or nothing does: changes do not. */
	bool tells_vf;
};

/* A PCI function; its devices may return with other names and numbers. */
struct kernel_function {
	bool has_pci;
	bool has_netdevs;
	bool has_rdma;
	uint32_t rdma_name;   /* N of manae_<N> and mana_<N> */
	uint32_t rdma_number; /* N of uverbs<N> of the device for raw QPs */
	uint32_t rdma_index;  /* DEV_INDEX of RDMA netlink */
	uint32_t rnic_number; /* N of the RNIC's; KERNEL_NONE: none */
	uint32_t rnic_index;
	uint32_t first_ifindex; /* of its port 0 */
	bool is_suspended; /* by its driver: netdevs exist, but are detached */
	/* A change is in progress, with this target: see life.c. */
	bool is_changing;
	uint32_t target;
	struct kernel_plan plan;
	struct kernel_life life;
};

/* The leak that is being counted: see leak_count(). */
struct kernel_leak {
	uint32_t flag_at; /* offset of its is_counted in struct kernel; 0: none */
	struct kernel_leaks after;
};

/* Of the synthetic devices, by number. */
enum kernel_vmbus_driver {
	KERNEL_VMBUS_NONE,
	KERNEL_VMBUS_HV, /* hv_netvsc */
	KERNEL_VMBUS_UIO, /* uio_hv_generic */
};
struct kernel_vmbus {
	bool has_id; /* uio_hv_generic takes network devices */
	uint8_t driver[SYNTHETIC_MAX_PORTS]; /* enum kernel_vmbus_driver */
	uint32_t nb_channels[SYNTHETIC_MAX_PORTS]; /* shown in sysfs */
};

struct kernel {
	bool is_made; /* the launcher has set up the machine */
	uint32_t nb_dead; /* contexts disassociated so far; atomic */
	bool no_net_raw, no_ipc_lock; /* revoked privileges */
	uint64_t fd_dev;   /* st_dev of <run>/fd: quick test, no lock */
	uint64_t serial;   /* last one given to a file */
	struct kernel_leaks leaks;
	struct kernel_leak leak;
	struct kernel_vmbus vmbus;
	uint64_t nb_pinned[MODEL_MAX_PROCESSES]; /* pages, by process */
	uint32_t kick[MODEL_MAX_PROCESSES]; /* futex words, atomic */
	struct kernel_function function[MODEL_MAX_FUNCTIONS];
	uint32_t next_rdma_name, next_rdma_number, next_rdma_index;
	uint32_t next_ifindex;
	struct nl_events events; /* notifications; used without the lock */
	struct kernel_port port[MODEL_MAX_FUNCTIONS][MODEL_MAX_PORTS_PER_FUNCTION];
	struct kernel_context context[KERNEL_MAX_CONTEXTS];
	/* Counts of all contexts and objects so far, for their numbers. */
	uint32_t nb_contexts[MODEL_MAX_FUNCTIONS];
	uint32_t nb_created[MODEL_MAX_FUNCTIONS][OBJECT_NB_KINDS];
	/*
	 * gdma_context.cq_table: CQ id to CQ object, + 1. An entry outlives the
	 * device queue until destroy_cq (Linux ib/cq.c mana_ib_remove_cq_cb).
	 */
	uint32_t cq_table[MODEL_MAX_FUNCTIONS][KERNEL_MAX_CQ_ID];
	uint32_t first_free; /* object list by next_free, 0: none */
	uint32_t nb_objects; /* entries 1..nb_objects - 1 are initialised */
	struct object object[KERNEL_MAX_OBJECTS];
};

#ifdef SEGMENT_KERNEL_BYTES
static_assert(sizeof(struct kernel) <= SEGMENT_KERNEL_BYTES,
	      "the segment has no room for the kernel's state");
#endif

#endif /* MODEL_KERNEL_STATE_H */
