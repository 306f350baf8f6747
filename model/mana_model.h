/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a test inside a modelled program may ask and do.
 *
 * The functions live in the preloaded libmana-model.so and are found with
 * dlsym(RTLD_DEFAULT, "mana_model_..."): a test needs no link to the model
 * and can tell that it is not running on a modelled machine. Functions and
 * ports are counted from 0. Each returns 0 or a negative errno unless stated.
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
 * Make the nth coming kernel call (1: the next) of this name fail with err (a
 * positive errno). The names are those of MODEL_FAULT_CALLS in fault.h, which
 * --fault knows too; "any" counts them all. Arming forgets what was armed.
 */
MANA_MODEL_API int mana_model_fault_arm(const char *call, unsigned int nth, int err);
MANA_MODEL_API void mana_model_fault_disarm(void);
/* How often an armed fault has struck since the last arming. */
MANA_MODEL_API unsigned int mana_model_fault_hits(void);

struct mana_model_port {
	uint64_t rx_packets, rx_bytes, rx_no_wqe, rx_truncated;
	uint64_t tx_packets, tx_bytes, tx_errors;
};
MANA_MODEL_API int mana_model_port(uint32_t fn, uint32_t port, struct mana_model_port *counters);

/* Violations so far on the whole machine: all, or of one name. */
MANA_MODEL_API uint64_t mana_model_violations(const char *name_or_null);

/* ip link set NAME up|down, without the need for any privilege. */
MANA_MODEL_API int mana_model_netdev_set(const char *name, bool up);

/*
 * Run one command of those that mana-model --help lists, as mana-model ctl does.
 * When it fails, message says why and what to do.
 */
MANA_MODEL_API int mana_model_command(const char *line, char *message, size_t message_bytes);

/*
 * --mode step: let the device work, in this thread, on what the program has
 * stored to doorbell pages of the contexts that it opened; one thread at a
 * time, not from a signal handler. Returns the number of doorbell registers
 * that had a new value; when none had, 1 if something else was due (a frame
 * on its way, a scenario: the clock has moved there), else 0. -EINVAL in
 * another mode, -ENODEV when this is no modelled machine.
 */
MANA_MODEL_API int mana_model_step(void);

/*
 * Where the queues of a port are, for a program that plays the device by hand in
 * --mode step (and then never lets it step). Addresses are this process's.
 */
struct mana_model_queue {
	void *ring; /* of WQEs */
	uint32_t ring_bytes;
	uint32_t id;
	void *cq_ring;
	uint32_t nb_cqes; /* the ring's: a power of two */
	uint32_t cq_id;
	uint32_t vp_offset; /* that send WQEs carry */
	/*
	 * The doorbell page as the device sees it, to be read only: NULL in any
	 * other mode.
	 */
	const volatile void *doorbells;
};
/*
 * The n-th (from 0) receive or send queue of a port that this process made, by
 * rising id. -ENODEV: no such port; -ENOENT: no such queue.
 */
MANA_MODEL_API int mana_model_queue(uint32_t fn, uint32_t port, bool is_tx, uint32_t n, struct mana_model_queue *queue);
/*
 * Whether this process plays the device by hand (at first: no). It then may have
 * several queues of a kind on a doorbell page, as it looks at the page whenever
 * one rings; mana_model_step() is refused with -EBUSY. -EINVAL in another mode.
 */
MANA_MODEL_API int mana_model_by_hand(bool by_hand);
/* What a memory key of a function reaches, or -ENOENT. */
MANA_MODEL_API int mana_model_region(uint32_t fn, uint32_t key, uint64_t *addr, uint64_t *size_bytes);

/* Stores that were trapped so far: none with --mode step and polled. */
MANA_MODEL_API uint64_t mana_model_traps(void);

/*
 * How many faults commands have put into what a port sends (is_tx) or receives:
 * of one kind, as the report names them, or all. An unknown kind has none.
 */
MANA_MODEL_API uint64_t mana_model_injected(uint32_t fn, uint32_t port, bool is_tx, const char *kind_or_null);

/* Whether programs have CAP_NET_RAW and CAP_IPC_LOCK (at first: both). */
MANA_MODEL_API int mana_model_privileges(bool net_raw, bool ipc_lock);

#endif /* MANA_MODEL_H */
