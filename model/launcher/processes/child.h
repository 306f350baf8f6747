/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The program, and all that it starts, below a guardian (guardian.h). The program
 * has its own process group and the terminal; the launcher forwards signals to it.
 */

#ifndef MODEL_CHILD_H
#define MODEL_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guardian.h"

struct child {
	pid_t guardian; /* 0: none, or killed */
	int channel; /* to the guardian; readable: call child_receive() */
	const char *program; /* its name, or NULL */
	int terminal; /* terminal to hand over, or -1 */
	bool has_ended;
	int status; /* as from wait() */
	int exec_error; /* errno if the program could not be started */
};

/*
 * Set the environment of the program and start its guardian. has_kernel: the
 * program gets the imitated kernel, by the preloaded library. terminal of plan is
 * ignored. 0 or -errno. Call child_close() afterwards, child_end() before it.
 */
int child_open(struct child *child, const struct guardian_plan *plan,
	       bool has_kernel);

/* Start the program; log an error if it cannot use the machine. */
void child_start(struct child *child, bool has_kernel);

/* Note that the program has stopped, has ended or could not be started. */
void child_receive(struct child *child);

/* Forward a signal that was sent to the launcher. */
void child_signal(const struct child *child, int signo);

/*
 * End the program and all that it started, in order. Returns when all have ended, or
 * after some 10 s. The guardian stays: it still waits for the launcher to be killed.
 */
void child_end(struct child *child);

/* End the guardian; idempotent. */
void child_close(struct child *child);

/* Make group the terminal's foreground process group. terminal: -1 for none. */
void child_give_terminal(int terminal, pid_t group);

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

/* Forward pending signals. */
void relay_signals(struct relay *relay, const struct child *child);

/* Milliseconds of the monotonic clock. */
uint64_t relay_now_ms(void);

#endif /* MODEL_CHILD_H */
