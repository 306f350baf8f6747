/* SPDX-License-Identifier: BSD-3-Clause */

/* Handler of SIGSEGV and SIGBUS, and the program's actions: see signals.h. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doorbell.h"
#include "mem.h"
#include "preload.h"
#include "process_lock.h"
#include "segment.h"
#include "signals.h"
#include "violation_log.h"

/* An intercepted signal. */
struct taken {
	int signo;
	bool is_taken;
	struct sigaction program; /* the program's action */
};

static struct taken taken[] = {{.signo = SIGSEGV}, {.signo = SIGBUS}};
#define NB_TAKEN (sizeof(taken) / sizeof(taken[0]))

static __thread siginfo_t pending_info;
static __thread volatile sig_atomic_t is_pending;

static struct taken *
taken_of(int signo)
{
	for (size_t i = 0; i < NB_TAKEN; i++)
		if (taken[i].signo == signo)
			return &taken[i];
	return NULL;
}

static bool
set_has(const sigset_t *set, int signo)
{
	return (set->__val[0] & SIGNAL_BIT(signo)) != 0;
}

static void
set_put(sigset_t *set, int signo, bool member)
{
	if (member)
		set->__val[0] |= SIGNAL_BIT(signo);
	else
		set->__val[0] &= ~SIGNAL_BIT(signo);
}

void
signals_set_to_real(sigset_t *set)
{
	set_put(set, SIGNALS_STAND_IN, set_has(set, SIGSEGV));
	set_put(set, SIGSEGV, false);
}

void
signals_set_to_program(sigset_t *set)
{
	set_put(set, SIGSEGV,
		set_has(set, SIGSEGV) || set_has(set, SIGNALS_STAND_IN));
	set_put(set, SIGNALS_STAND_IN, false);
}

bool
signals_active(void)
{
	static int is_active = -1;
	int known = __atomic_load_n(&is_active, __ATOMIC_RELAXED);

	if (known < 0) {
		/* The C library is not initialised yet. */
		if (environ == NULL)
			return false;
		known = getenv("MANA_MODEL_DIR") != NULL;
		__atomic_store_n(&is_active, known, __ATOMIC_RELAXED);
	}
	return known == 1;
}

static void
trap(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	int saved_errno;

	if (mem_fault_fixup(uc))
		return;
	saved_errno = errno;
	if (signo == SIGBUS && info->si_code > 0 &&
	    segment_holds(info->si_addr)) {
		/* The program neither caused nor can fix this. */
		model_log(SEGMENT_FULL_MESSAGE);
		signals_die(signo, info, uc);
		return;
	}
	/* si_code > 0: sent by the kernel, not by kill() or sigqueue(). */
	if (signo == SIGSEGV && info->si_code > 0) {
		switch (doorbell_trap(info->si_addr, uc)) {
		case DOORBELL_FAULT_DONE:
			errno = saved_errno;
			return;
		case DOORBELL_FAULT_KILL:
		case DOORBELL_FAULT_FOREIGN:
			break;
		}
	}
	signals_deliver(signo, info, uc);
	errno = saved_errno;
}

static bool
is_trap_action(const struct sigaction *act)
{
	return (act->sa_flags & SA_SIGINFO) != 0 && act->sa_sigaction == trap;
}

/* With PROCESS_LOCK_ACTIONS held. */
static void
take(struct taken *t)
{
	__typeof__(&sigaction) real = MODEL_REAL(sigaction);
	struct sigaction now, ours;

	if (real(t->signo, NULL, &now) != 0 || is_trap_action(&now))
		return;
	memset(&ours, 0, sizeof(ours));
	ours.sa_sigaction = trap;
	/*
	 * Block all other signals: the device works in the handler, under the
	 * machine's lock. SA_NODEFER: guarded copies may fault.
	 */
	ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
	ours.sa_mask.__val[0] = ~SIGNALS_NEVER_BLOCKED;
	if (real(t->signo, &ours, NULL) != 0)
		return;
	signals_set_to_program(&now.sa_mask);
	t->program = now;
	t->is_taken = true;
}

void
signals_start(void)
{
	uint64_t mask = signals_block_all();

	process_lock(PROCESS_LOCK_ACTIONS);
	for (size_t i = 0; i < NB_TAKEN; i++)
		take(&taken[i]);
	process_unlock(PROCESS_LOCK_ACTIONS);
	signals_stack_ensure();
	signals_restore_all(mask);
}

bool
signals_action(int signo, const struct sigaction *act, struct sigaction *old)
{
	struct taken *t = taken_of(signo);
	struct sigaction wanted, before;
	uint64_t mask;
	bool is_taken;

	if (t == NULL || !t->is_taken)
		return false;
	if (act != NULL)
		wanted = *act;
	mask = signals_block_all();
	process_lock(PROCESS_LOCK_ACTIONS);
	is_taken = t->is_taken;
	before = t->program;
	if (is_taken && act != NULL)
		t->program = wanted;
	process_unlock(PROCESS_LOCK_ACTIONS);
	signals_restore_all(mask);
	if (is_taken && old != NULL)
		*old = before;
	return is_taken;
}

void
signals_action_consume(int signo, struct sigaction *act)
{
	struct taken *t = taken_of(signo);

	process_lock(PROCESS_LOCK_ACTIONS);
	*act = t->program;
	if ((act->sa_flags & SA_RESETHAND) != 0)
		t->program.sa_handler = SIG_DFL;
	process_unlock(PROCESS_LOCK_ACTIONS);
}

void
signals_pend(const siginfo_t *info)
{
	if (is_pending)
		return; /* like the kernel: a standard signal is pending once */
	pending_info = *info;
	is_pending = 1;
}

bool
signals_is_pending(void)
{
	return is_pending != 0;
}

static void
send_to_self(int signo, siginfo_t *info)
{
	/* The kernel lets a process send itself any si_code. */
	syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid),
		signo, info);
}

void
signals_repost(void)
{
	uint64_t mask = 0;

	if (!is_pending)
		return;
	signals_set_mask(SIG_BLOCK, NULL, &mask);
	if ((mask & SIGNAL_BIT(SIGNALS_STAND_IN)) != 0)
		return;
	is_pending = 0;
	send_to_self(SIGSEGV, &pending_info);
}

void
signals_die(int signo, siginfo_t *info, ucontext_t *uc)
{
	struct sigaction dfl;

	memset(&dfl, 0, sizeof(dfl));
	dfl.sa_handler = SIG_DFL;
	MODEL_REAL(sigaction)(signo, &dfl, NULL);
	set_put(&uc->uc_sigmask, signo, false);
	/*
	 * A fault repeats at the same instruction, now with the default action,
	 * so that the core file shows the program's state. A sent signal is
	 * sent again, and is delivered when this handler returns.
	 */
	if (info->si_code <= 0) {
		uint64_t bit = SIGNAL_BIT(signo);

		signals_set_mask(SIG_BLOCK, &bit, NULL);
		send_to_self(signo, info);
	}
}

/* A program may start with SIGSEGV blocked, because exec() keeps masks. */
__attribute__((constructor)) static void
adopt_mask(void)
{
	uint64_t mask = 0, segv = SIGNAL_BIT(SIGSEGV);
	uint64_t stand_in = SIGNAL_BIT(SIGNALS_STAND_IN);

	if (!signals_active())
		return;
	signals_set_mask(SIG_BLOCK, NULL, &mask);
	if ((mask & segv) != 0) {
		signals_set_mask(SIG_BLOCK, &stand_in, NULL);
		signals_set_mask(SIG_UNBLOCK, &segv, NULL);
	}
	signals_stack_ensure();
}
