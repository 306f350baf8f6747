/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * SIGSEGV is shared by the model and the program.
 *
 * In the kernel, SIGSEGV always has the model's handler and is never blocked,
 * and each thread has an alternate stack of the model. The program's own
 * settings (action, mask, alternate stack) are stored, returned to its queries,
 * and used for each fault that is the program's own. SIGBUS, which guarded
 * copies may cause, is treated in the same way, except for its mask.
 *
 * In every real mask, signal 64 represents SIGSEGV of the program's mask. So
 * the kernel keeps it correct across threads, fork(), exec(), handlers,
 * siglongjmp() and setcontext(). The program sees SIGRTMAX = 63, in the same
 * way as the C library reserves 32 and 33.
 *
 * Known limits: handlers of other signals with SA_ONSTACK run on the model's
 * alternate stack; sigaction(), sigaltstack() and sigprocmask() as raw system
 * calls have effect only when signals_start() is called.
 */

#ifndef MODEL_SIGNALS_H
#define MODEL_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#define SIGNALS_STAND_IN 64

/* Whether this process runs on a modelled machine. */
bool signals_active(void);

/*
 * Replace the present handlers of SIGSEGV and SIGBUS and give the calling thread
 * its alternate stack. Call again whenever the program may have installed a
 * handler by a raw system call. Idempotent.
 */
void signals_start(void);

/* Convert signal sets of the program to the kernel's, and back. */
void signals_set_to_real(sigset_t *set);
void signals_set_to_program(sigset_t *set);

/* sigaction() for an intercepted signal. False: use the kernel's. */
bool signals_action(int signo, const struct sigaction *act,
		    struct sigaction *old);
/* The program's action, to deliver; SA_RESETHAND resets it to the default. */
void signals_action_consume(int signo, struct sigaction *act);

/* Keep a SIGSEGV that a process has sent while the thread blocks it. */
void signals_pend(const siginfo_t *info);
bool signals_is_pending(void);
/* After a change of the mask: resend the kept signal if it is unblocked. */
void signals_repost(void);

/* Let signo kill the process when the handler returns; info is the kernel's. */
void signals_die(int signo, siginfo_t *info, ucontext_t *uc);

/* Deliver the program's own fault to its handler: deliver_*.c. */
void signals_deliver(int signo, siginfo_t *info, ucontext_t *uc);

/* Alternate stacks: signals_stack.c. */
struct signals_stack;
struct signals_stack *signals_stack_new(void); /* NULL: no memory */
void signals_stack_free(struct signals_stack *stack); /* never entered */
/* Use the stack for the calling thread until it ends. */
void signals_stack_enter(struct signals_stack *stack);
/* Memory in a stack that is not entered yet, for a thread's start data. */
void *signals_stack_scratch(struct signals_stack *stack);
/* Give the calling thread a stack if it has none. */
void signals_stack_ensure(void);
/* sigaltstack() of the program; sp is in the caller's frame. 0 or -errno. */
int signals_stack_set(const stack_t *ss, stack_t *old, uintptr_t sp);
/* The stack's upper end for a handler at sp, and its limit (0: unknown). */
uintptr_t signals_stack_top(uintptr_t sp, bool on_stack, uintptr_t *limit);

#endif /* MODEL_SIGNALS_H */
