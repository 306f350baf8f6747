/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The memory that all processes of a modelled machine share.
 *
 * It is a sparse file that the launcher creates. Each process may map it at a
 * different address, so it contains no pointers: (process slot, virtual
 * address) identifies memory of a program, and an index everything else.
 */

#ifndef MODEL_SEGMENT_H
#define MODEL_SEGMENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"

struct card; /* card.h: the card */
struct kernel; /* kernel.h: state of mana, mana_ib and ib_uverbs */
struct violation_log; /* violation_log.h: violations, doorbell counts */
struct fault_plan; /* fault.h */
struct pci_status; /* pci_status.h: functions of a PCI machine */
struct machine_clock; /* clock.h */
struct random_state; /* random.h */
struct script; /* script.h: pending commands */
struct wires; /* wire.h: frames in flight */
struct synthetic; /* synthetic.h: devices of VMBus */

/* Size of each part. The file is sparse: only used pages cost memory. */
#define SEGMENT_VIOLATIONS_BYTES (1u << 20)
#define SEGMENT_FAULT_BYTES  (1u << 16)
#define SEGMENT_CLOCK_BYTES  (1u << 12)
#define SEGMENT_PCI_BYTES    (1u << 16)
#define SEGMENT_SCRIPT_BYTES (1u << 20)
#define SEGMENT_CARD_BYTES (64u << 20)
#define SEGMENT_KERNEL_BYTES (64u << 20)
#define SEGMENT_WIRES_BYTES  (64u << 20)
#define SEGMENT_SYNTHETIC_BYTES (1u << 20)

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
 * segment_create() creates the segment file in run_dir (launcher only);
 * segment_attach() maps it. Both register the calling process. They return 0 or
 * -errno. segment_attach() returns 1 if the process is registered already:
 * exec() has replaced its program, and the caller must reclaim the old
 * program's objects.
 */
int segment_create(const char *run_dir, const struct model_config *config);
int segment_attach(const char *run_dir);

/* Free the slot of this process and unmap. */
void segment_leave(void);
/* Unmap. */
void segment_detach(void);

/* Call after fork() in a child that uses the machine. */
int segment_register_self(void);

const char *segment_run_dir(void);

/*
 * The machine's lock: robust, shared by all processes, not recursive. Code
 * under it is async-signal-safe. If the holder died, the next one repairs the
 * machine (platform.h), and continues.
 *
 * The plain pair also blocks the thread's signals, so that no signal handler of
 * the program can ring a doorbell or call the kernel while the lock is held.
 * The masked pair is for threads with all signals blocked (doorbell trap,
 * device thread) and makes no system call.
 */
void segment_lock(void);
void segment_unlock(void);
void segment_lock_masked(void);
void segment_unlock_masked(void);

struct model_process *segment_process(uint32_t slot);
/* True while the slot's process exists (same pid and start time). */
bool segment_process_alive(uint32_t slot);
/* False once the process is exiting: its memory may be unmapped already. */
bool segment_process_has_memory(uint32_t slot);
/* Copy memory of the slot's process by a system call. 0 or -EFAULT. */
int segment_process_read(uint32_t slot, uint64_t addr, void *buf,
			 size_t nb_bytes);
int segment_process_write(uint32_t slot, uint64_t addr, const void *buf,
			  size_t nb_bytes);
/* Free the slot of a dead process, whose objects must be destroyed already. */
void segment_process_release(uint32_t slot);

/*
 * Whether an address is in the segment. SIGBUS there means that the file system
 * of the sparse file is full.
 */
bool segment_holds(const void *addr);
#define SEGMENT_FULL_MESSAGE                                          \
	"the file system of the run folder is full: make room, or set " \
	"MANA_MODEL_RUNDIR to a folder elsewhere"

/* Offset of each part; segment_make_room() allocates the first ones. */
#define SEGMENT_HEAD_BYTES (1u << 16)
#define SEGMENT_CONFIG_AT  8u
#define SEGMENT_VIOLATIONS_AT SEGMENT_HEAD_BYTES
#define SEGMENT_FAULT_AT  (SEGMENT_VIOLATIONS_AT + SEGMENT_VIOLATIONS_BYTES)
#define SEGMENT_CLOCK_AT  (SEGMENT_FAULT_AT + SEGMENT_FAULT_BYTES)
#define SEGMENT_PCI_AT	  (SEGMENT_CLOCK_AT + SEGMENT_CLOCK_BYTES)
#define SEGMENT_SCRIPT_AT (SEGMENT_PCI_AT + SEGMENT_PCI_BYTES)
#define SEGMENT_CARD_AT (SEGMENT_SCRIPT_AT + SEGMENT_SCRIPT_BYTES)
#define SEGMENT_KERNEL_AT (SEGMENT_CARD_AT + SEGMENT_CARD_BYTES)
#define SEGMENT_WIRES_AT  (SEGMENT_KERNEL_AT + SEGMENT_KERNEL_BYTES)
#define SEGMENT_SYNTHETIC_AT (SEGMENT_WIRES_AT + SEGMENT_WIRES_BYTES)
#define SEGMENT_BYTES	  ((size_t)SEGMENT_SYNTHETIC_AT + SEGMENT_SYNTHETIC_BYTES)

/* Parts of the segment; not NULL once attached. */
static inline const struct model_config *
segment_config(void)
{
	return (const void *)((const uint8_t *)model + SEGMENT_CONFIG_AT);
}

static inline struct card *
segment_card(void)
{
	return (void *)((uint8_t *)model + SEGMENT_CARD_AT);
}

struct kernel *segment_kernel(void);
struct violation_log *segment_violation_log(void);
struct fault_plan *segment_fault_plan(void);
struct machine_clock *segment_clock(void);
struct random_state *segment_random(void);
struct pci_status *segment_pci(void); /* by function */
struct script *segment_script(void);
struct wires *segment_wires(void);
struct synthetic *segment_synthetic(void);

#endif /* MODEL_SEGMENT_H */
