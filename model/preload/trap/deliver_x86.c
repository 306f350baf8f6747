/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Delivery of a program's own fault to its handler, like the kernel does.
 *
 * The kernel has built a frame for the model's handler: return address of the
 * restorer, ucontext, siginfo and the floating-point state. This code copies it
 * to the stack that the kernel would have used for the program's handler (its
 * stack or its alternate one), and changes the model's frame so that its
 * handler returns into the program's. From then on the state is the same as
 * without the model: the program's handler may return, edit the context, or
 * leave by siglongjmp().
 *
 * Layout: Linux arch/x86/include/asm/sigframe.h struct rt_sigframe,
 * arch/x86/kernel/signal.c and signal_64.c, uapi asm/sigcontext.h.
 */

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "mem.h"
#include "process_lock.h"
#include "segment.h"
#include "signals.h"

/* struct rt_sigframe, as bytes: only two offsets matter. */
#define FRAME_UC 8			/* behind the return address */
/* The kernel's ucontext is shorter than the C library's. */
#define FRAME_INFO (FRAME_UC + 304)
#define FRAME_BYTES (FRAME_INFO + 128)
#define RED_ZONE_BYTES 128

#define FXSAVE_BYTES 512
#define FXSAVE_SW_OFFSET 464 /* struct _fpx_sw_bytes */

#define FLAGS_TF 0x100
#define FLAGS_DF 0x400
#define FLAGS_RF 0x10000

static size_t
fpstate_bytes(const void *fpstate)
{
	uint32_t sw[2]; /* magic1, extended_size */

	memcpy(sw, (const char *)fpstate + FXSAVE_SW_OFFSET, sizeof(sw));
	return sw[0] == FP_XSTATE_MAGIC1 ? sw[1] : FXSAVE_BYTES;
}

/* Copy the frame below top; its address, or 0 if there is no room. */
static uintptr_t
copy_frame(const ucontext_t *uc, uintptr_t top, uintptr_t limit)
{
	const char *frame = (const char *)uc - FRAME_UC;
	char copy[FRAME_BYTES];
	uintptr_t fp_at = 0, at;
	const void *fpstate = uc->uc_mcontext.fpregs;

	if (fpstate != NULL) {
		size_t nb_bytes = fpstate_bytes(fpstate);

		fp_at = (top - nb_bytes) & ~(uintptr_t)63;
		if (fp_at >= top || fp_at < limit ||
		    mem_write(model_self, fp_at, fpstate, nb_bytes) != 0)
			return 0;
		top = fp_at;
	}
	/* Stack alignment of the ABI at a function's entry. */
	at = ((top - FRAME_BYTES) & ~(uintptr_t)15) - 8;
	if (at >= top || at < limit)
		return 0;
	memcpy(copy, frame, FRAME_BYTES);
	memcpy(copy + FRAME_UC + offsetof(ucontext_t, uc_mcontext.fpregs),
	       &fp_at, sizeof(fp_at));
	return mem_write(model_self, at, copy, FRAME_BYTES) == 0 ? at : 0;
}

static void
enter_handler(int signo, const struct sigaction *act, uintptr_t frame,
	      ucontext_t *uc)
{
	greg_t *regs = uc->uc_mcontext.gregs;
	sigset_t added = act->sa_mask;

	if ((act->sa_flags & SA_NODEFER) == 0)
		added.__val[0] |= SIGNAL_BIT(signo);
	signals_set_to_real(&added);
	uc->uc_sigmask.__val[0] |= added.__val[0];
	regs[REG_RIP] = (greg_t)(uintptr_t)act->sa_sigaction;
	regs[REG_RSP] = (greg_t)frame;
	regs[REG_RDI] = signo;
	regs[REG_RSI] = (greg_t)(frame + FRAME_INFO);
	regs[REG_RDX] = (greg_t)(frame + FRAME_UC);
	regs[REG_RAX] = 0;
	regs[REG_EFL] &= ~(greg_t)(FLAGS_TF | FLAGS_DF | FLAGS_RF);
	/* A handler starts with a fresh floating-point state. */
	uc->uc_mcontext.fpregs = NULL;
}

void
signals_deliver(int signo, siginfo_t *info, ucontext_t *uc)
{
	const bool is_fault = info->si_code > 0;
	uintptr_t sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
	uintptr_t top, limit, frame;
	struct sigaction act;

	if (signo == SIGSEGV && (uc->uc_sigmask.__val[0] &
				 SIGNAL_BIT(SIGNALS_STAND_IN)) != 0) {
		if (is_fault)
			signals_die(signo, info, uc);
		else
			signals_pend(info);
		return;
	}
	signals_action_consume(signo, &act);
	if (act.sa_handler == SIG_IGN && !is_fault)
		return;
	if (act.sa_handler == SIG_IGN || act.sa_handler == SIG_DFL) {
		signals_die(signo, info, uc);
		return;
	}
	top = signals_stack_top(sp, (act.sa_flags & SA_ONSTACK) != 0, &limit);
	if (top == sp)
		top -= RED_ZONE_BYTES;
	frame = copy_frame(uc, top, limit);
	if (frame == 0)
		signals_die(signo, info, uc);
	else
		enter_handler(signo, &act, frame, uc);
}
