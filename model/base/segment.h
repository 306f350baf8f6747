/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The one mapping that every process of a modelled machine shares.
 *
 * It is a sparse file made by the launcher.  It holds no pointers: memory of
 * a program is named by (process slot, virtual address), everything else by
 * index.  It may be mapped at a different address in each process.
 */

#ifndef MODEL_SEGMENT_H
#define MODEL_SEGMENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"

struct device; /* device.h: the card */
struct kernel; /* kernel.h: what mana, mana_ib and ib_uverbs remember */
struct ledger; /* ledger.h: violations, doorbell counts */
struct fault_plan; /* fault.h */
struct machine_clock; /* clock.h */
struct random_state; /* random.h */
struct script; /* script.h: what commands have asked for */
struct wires; /* wire.h: frames on their way */

/* Room for each part; sparse, so only what is touched costs memory. */
#define SEGMENT_LEDGER_BYTES (1u << 20)
#define SEGMENT_FAULT_BYTES  (1u << 16)
#define SEGMENT_CLOCK_BYTES  (1u << 12)
#define SEGMENT_SCRIPT_BYTES (1u << 20)
#define SEGMENT_DEVICE_BYTES (64u << 20)
#define SEGMENT_KERNEL_BYTES (64u << 20)
#define SEGMENT_WIRES_BYTES  (64u << 20)

/* Slot 0 is never used; the launcher has slot 1. */
#define SEGMENT_LAUNCHER 1u

/* One running program. */
struct model_process {
	int32_t pid; /* 0: slot free */
	uint64_t start_time; /* field 22 of /proc/<pid>/stat: pids are reused */
};

/* Of this process; set by segment_create() or segment_attach(). */
extern struct model_segment *model;
extern uint32_t model_self; /* this process's slot */

/*
 * Create the segment file in run_dir (launcher only) / map the one that is
 * there. Both register the calling process. 0 or -errno; segment_attach()
 * returns 1 when the process is registered already, which means that it
 * replaced its program by exec: what the old program held is to be reclaimed.
 */
int segment_create(const char *run_dir, const struct model_config *config);
int segment_attach(const char *run_dir);

/* Unmap; for tests that make many machines in one process. */
void segment_detach(void);

/* After fork() in a child that goes on using the machine. */
int segment_register_self(void);
/* All slots are taken: release those of the dead. Provided by the kernel. */
void segment_is_full(void);

const char *segment_run_dir(void);

/*
 * The machine's lock: robust, shared by all processes, not recursive. Code
 * under it is async-signal-safe. When the holder died, the next one finishes
 * what the card was about to do to queues of others, and goes on.
 *
 * The plain pair also blocks the thread's signals, so that no handler of the
 * program can ring or call while the lock is held. The masked pair is for
 * threads whose signals are blocked anyway (the doorbell trap, the device
 * thread) and makes no system call.
 */
void segment_holder_died(void); /* provided by the card, with the lock */
void segment_lock(void);
void segment_unlock(void);
void segment_lock_masked(void);
void segment_unlock_masked(void);
/*
 * Polled mode, for the thread that takes the lock again and again: false when
 * somebody else has it or wants it. Makes no system call.
 */
bool segment_trylock_last(void);

struct model_process *segment_process(uint32_t slot);
/* True while the process of the slot exists (pid and start time agree). */
bool segment_process_alive(uint32_t slot);
/*
 * False as soon as it has begun to end: its memory may be gone, though its
 * descriptors are still open.
 */
bool segment_process_has_memory(uint32_t slot);
/* Free the slot of a dead process; its objects must be gone. */
void segment_process_release(uint32_t slot);

/*
 * Whether an address is the segment's. A SIGBUS there: the file is sparse, and
 * its file system is full.
 */
bool segment_holds(const void *addr);
#define SEGMENT_FULL_MESSAGE                                          \
	"the file system of the run folder is full: make room, or set " \
	"MANA_MODEL_RUNDIR to a folder elsewhere"

/*
 * Where each part is; the first ones are taken at once, see segment_make_room()
 * in segment.c, which has the head.
 */
#define SEGMENT_HEAD_BYTES (1u << 16)
#define SEGMENT_CONFIG_AT  8u
#define SEGMENT_LEDGER_AT SEGMENT_HEAD_BYTES
#define SEGMENT_FAULT_AT  (SEGMENT_LEDGER_AT + SEGMENT_LEDGER_BYTES)
#define SEGMENT_CLOCK_AT  (SEGMENT_FAULT_AT + SEGMENT_FAULT_BYTES)
#define SEGMENT_SCRIPT_AT (SEGMENT_CLOCK_AT + SEGMENT_CLOCK_BYTES)
#define SEGMENT_DEVICE_AT (SEGMENT_SCRIPT_AT + SEGMENT_SCRIPT_BYTES)
#define SEGMENT_KERNEL_AT (SEGMENT_DEVICE_AT + SEGMENT_DEVICE_BYTES)
#define SEGMENT_WIRES_AT  (SEGMENT_KERNEL_AT + SEGMENT_KERNEL_BYTES)
#define SEGMENT_BYTES	  ((size_t)SEGMENT_WIRES_AT + SEGMENT_WIRES_BYTES)

/* Parts of the segment; never NULL once attached. */
static inline const struct model_config *
segment_config(void)
{
	return (const void *)((const uint8_t *)model + SEGMENT_CONFIG_AT);
}

static inline struct device *
segment_device(void)
{
	return (void *)((uint8_t *)model + SEGMENT_DEVICE_AT);
}

struct kernel *segment_kernel(void);
struct ledger *segment_ledger(void);
struct fault_plan *segment_fault_plan(void);
struct machine_clock *segment_clock(void);
struct random_state *segment_random(void);
struct script *segment_script(void);
struct wires *segment_wires(void);

#endif /* MODEL_SEGMENT_H */
