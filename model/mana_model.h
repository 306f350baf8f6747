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

/* Whether programs have CAP_NET_RAW and CAP_IPC_LOCK (at first: both). */
MANA_MODEL_API int mana_model_privileges(bool net_raw, bool ipc_lock);

#endif /* MANA_MODEL_H */
