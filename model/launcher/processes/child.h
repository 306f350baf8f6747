/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The program, as a child of the launcher: it has its own process group and the
 * terminal; the launcher forwards signals to it and reaps it.
 */

#ifndef MODEL_CHILD_H
#define MODEL_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int terminal; /* terminal to hand over, or -1 */
	bool has_ended;
	int status; /* as from wait() */
	int exec_error; /* errno of a failed exec */
};

/* No program: the machine runs until the launcher receives a signal. */
void child_none(struct child *child);

/*
 * Start argv on the machine of run_dir. has_kernel: with the imitated kernel, by
 * the preloaded library. mask is the program's signal mask. 0 or -errno; a failed
 * exec is in exec_error and no error here.
 */
int child_start(struct child *child, char **argv, const char *run_dir,
		bool has_kernel, const sigset_t *mask);

/* Reap ended children, which include orphans of the program. */
void child_reap(struct child *child);

/* Forward a signal that was sent to the launcher. */
void child_signal(const struct child *child, int signo);

/*
 * Reap, and return whether a child is left. Adopted guardians of nested
 * machines count; this launcher's own does not (processes.c).
 */
bool child_has_any(struct child *child);

/* The launcher's exit status, from the program's. */
int child_exit_status(const struct child *child);

/* Forwarding of signals from the launcher to its program. */
struct relay {
	int fd; /* readable if a signal is pending */
	sigset_t program_mask; /* the launcher's initial mask */
	uint32_t last_signal, last_sender;
	uint64_t last_ms;
	bool is_ended; /* a signal that ends programs was received */
};

/*
 * Block all signals and read them from the descriptor, so that none ends the
 * launcher before the machine is off. 0, or -1 after logging an error.
 */
int relay_open(struct relay *relay);

/* Forward pending signals. True if a child has ended. */
bool relay_signals(struct relay *relay, const struct child *child);

/* Milliseconds of the monotonic clock. */
uint64_t relay_now_ms(void);

#endif /* MODEL_CHILD_H */
