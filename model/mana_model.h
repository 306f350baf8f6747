/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Interface for tests that run inside a modelled program.
 *
 * The preloaded libmana-model.so contains the functions. A test finds them with
 * dlsym(RTLD_DEFAULT, "mana_model_..."), so it need not be linked to the model, and
 * finds none outside of a modelled machine. PCI functions and ports are numbered
 * from 0. Each function returns 0 or a negative errno unless stated otherwise.
 */

#ifndef MANA_MODEL_H
#define MANA_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MANA_MODEL_API __attribute__((visibility("default")))

/* Kernel objects by kind; fd counts contexts and event files. */
struct mana_model_objects {
	uint64_t pd, mr, cq, wq, qp, ind, fd;
};

/* Objects that exist now on the whole machine. */
MANA_MODEL_API int mana_model_objects(struct mana_model_objects *objects);
/* Objects that programs left behind so far. */
MANA_MODEL_API int mana_model_leaks(struct mana_model_objects *leaks);

/*
 * Make the nth kernel call of this name from now on (1: the next) fail with err, a
 * positive errno. The names are those of MODEL_FAULT_CALLS in fault.h, as with
 * --fault; "any" counts all calls. A new fault replaces the previous one.
 */
MANA_MODEL_API int mana_model_fault_arm(const char *call, unsigned int nth, int err);
/* The same, and all later calls of this name. */
MANA_MODEL_API int mana_model_fault_arm_from(const char *call, unsigned int nth, int err);
MANA_MODEL_API void mana_model_fault_disarm(void);
/* The number of calls that failed since mana_model_fault_arm(). */
MANA_MODEL_API unsigned int mana_model_fault_hits(void);
/* The number of kernel calls so far on the machine. */
MANA_MODEL_API uint64_t mana_model_kernel_calls(void);

struct mana_model_port {
	uint64_t rx_packets, rx_bytes, rx_no_wqe, rx_truncated;
	uint64_t tx_packets, tx_bytes, tx_errors;
};
MANA_MODEL_API int mana_model_port(uint32_t fn, uint32_t port, struct mana_model_port *counters);

/* The number of violations so far on the machine: all, or those of one name. */
MANA_MODEL_API uint64_t mana_model_violations(const char *name_or_null);

/* ip link set NAME up|down, without privileges. */
MANA_MODEL_API int mana_model_netdev_set(const char *name, bool up);

/*
 * Run a command that mana-model --help lists, as mana-model ctl does. If it fails,
 * message contains the reason and the remedy.
 */
MANA_MODEL_API int mana_model_command(const char *line, char *message, size_t message_bytes);

/*
 * The location of a queue, for a program that acts as the adapter itself in
 * --mode step. Addresses are those of the process that created the queue.
 */
struct mana_model_queue {
	void *ring; /* of WQEs */
	uint32_t ring_bytes;
	uint32_t id;
	void *cq_ring;
	uint32_t nb_cqes; /* size of the ring: a power of two */
	uint32_t cq_id;
	uint32_t vp_offset; /* in Tx WQEs */
	/*
	 * The doorbell page as the adapter sees it, read-only, at an address of this
	 * process; NULL in any other mode.
	 */
	const volatile void *doorbells;
};
/*
 * The n-th Rx or Tx queue of a port (from 0, by rising id), of any process. -ENODEV: no
 * such port; -ENOENT: no such queue; -EMFILE, -ENFILE or -ENOMEM: its doorbell page cannot
 * be mapped.
 */
MANA_MODEL_API int mana_model_queue(uint32_t fn, uint32_t port, bool is_tx, uint32_t n, struct mana_model_queue *queue);
/* The memory region of a key, or -ENOENT. */
MANA_MODEL_API int mana_model_region(uint32_t fn, uint32_t key, uint64_t *addr, uint64_t *size_bytes);

/* The number of trapped stores so far: 0 with --mode step. */
MANA_MODEL_API uint64_t mana_model_traps(void);

/* Set whether programs have CAP_NET_RAW and CAP_IPC_LOCK (default: both). */
MANA_MODEL_API int mana_model_privileges(bool net_raw, bool ipc_lock);

#endif /* MANA_MODEL_H */
