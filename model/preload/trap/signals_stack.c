/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Alternate signal stacks. Each thread has one of the model for the trap, which
 * so does not depend on the thread's own stack, and the program's settings of
 * sigaltstack(). See signals.h.
 */

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "preload.h"
#include "process_lock.h"
#include "signals.h"

/*
 * One mapping: a page for the struct, a guard page, the stack. The device uses
 * less than 24 KiB, a register frame up to 12 KiB.
 */
#define PAGE_BYTES ((size_t)4096)
#define STACK_BYTES ((size_t)256 << 10)
#define ALL_BYTES (2 * PAGE_BYTES + STACK_BYTES)

struct signals_stack {
	stack_t program; /* the program's setting for the thread */
	uint32_t nb_rounds; /* rounds of the thread's destructors */
	uint64_t scratch[8];
};

static __thread struct signals_stack *own;
/* The thread has ended, except for other destructors. */
static __thread bool has_ended;
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static bool has_key;

struct signals_stack *
signals_stack_new(void)
{
	struct signals_stack *stack;
	char *base;

	base = mmap(NULL, ALL_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	mprotect(base + PAGE_BYTES, PAGE_BYTES, PROT_NONE);
	stack = (struct signals_stack *)base;
	stack->program.ss_flags = SS_DISABLE;
	return stack;
}

static char *
memory_of(struct signals_stack *stack)
{
	return (char *)stack + 2 * PAGE_BYTES;
}

void
signals_stack_free(struct signals_stack *stack)
{
	munmap(stack, ALL_BYTES);
}

void *
signals_stack_scratch(struct signals_stack *stack)
{
	return stack->scratch;
}

/*
 * The thread ends. Destructors of other keys may still ring doorbells, so this
 * one requests further rounds and frees the stack in the last.
 */
static void
leave(void *arg)
{
	struct signals_stack *stack = arg;
	stack_t off = {.ss_flags = SS_DISABLE}, last;

	if (++stack->nb_rounds < PTHREAD_DESTRUCTOR_ITERATIONS &&
	    pthread_setspecific(key, stack) == 0)
		return;
	own = NULL;
	has_ended = true;
	if (MODEL_REAL(sigaltstack)(&off, &last) != 0)
		return;
	/*
	 * At the end of a thread a sanitizer, whose sigaltstack() is not
	 * interposed, would unmap the model's stack as its own.
	 */
	if (last.ss_sp == memory_of(stack))
		signals_stack_free(stack);
	else
		munmap(stack, 2 * PAGE_BYTES);
}

static void
make_key(void)
{
	has_key = pthread_key_create(&key, leave) == 0;
}

void
signals_stack_enter(struct signals_stack *stack)
{
	stack_t ours, before;

	memset(&ours, 0, sizeof(ours));
	ours.ss_sp = memory_of(stack);
	ours.ss_size = STACK_BYTES;
	if (MODEL_REAL(sigaltstack)(&ours, &before) != 0) {
		/* The thread runs on an alternate stack now: keep that one. */
		signals_stack_free(stack);
		return;
	}
	before.ss_flags &= SS_DISABLE;
	stack->program = before;
	own = stack;
	pthread_once(&key_once, make_key);
	if (has_key)
		pthread_setspecific(key, stack);
}

void
signals_stack_ensure(void)
{
	struct signals_stack *stack;

	if (own != NULL || has_ended)
		return;
	stack = signals_stack_new();
	if (stack != NULL)
		signals_stack_enter(stack);
}

static bool
is_inside(uintptr_t sp, const void *low, size_t nb_bytes)
{
	return sp - (uintptr_t)low < nb_bytes;
}

static bool
is_on_program_stack(uintptr_t sp)
{
	if ((own->program.ss_flags & SS_DISABLE) != 0)
		return false;
	/*
	 * Handlers of other signals with SA_ONSTACK run on the model's stack;
	 * report the program's own stack to them.
	 */
	return is_inside(sp, own->program.ss_sp, own->program.ss_size) ||
	       is_inside(sp, memory_of(own), STACK_BYTES);
}

int
signals_stack_set(const stack_t *ss, stack_t *old, uintptr_t sp)
{
	stack_t wanted = {.ss_flags = SS_DISABLE}, before;
	size_t min_bytes = getauxval(AT_MINSIGSTKSZ);
	int flags;

	signals_stack_ensure();
	if (own == NULL)
		return MODEL_REAL(sigaltstack)(ss, old) == 0 ? 0 : -errno;
	before = own->program;
	if (is_on_program_stack(sp))
		before.ss_flags |= SS_ONSTACK;
	if (ss != NULL) {
		wanted = *ss;
		if ((before.ss_flags & SS_ONSTACK) != 0)
			return -EPERM;
		/* SS_AUTODISARM is the sign bit. */
		flags = wanted.ss_flags & INT_MAX;
		if (flags != 0 && flags != SS_ONSTACK && flags != SS_DISABLE)
			return -EINVAL;
		if (flags == SS_DISABLE) {
			memset(&wanted, 0, sizeof(wanted));
			wanted.ss_flags = SS_DISABLE;
		} else if (wanted.ss_size < (min_bytes != 0 ? min_bytes : 2048)) {
			return -ENOMEM;
		} else {
			wanted.ss_flags = 0;
		}
		own->program = wanted;
	}
	if (old != NULL)
		*old = before;
	return 0;
}

uintptr_t
signals_stack_top(uintptr_t sp, bool on_stack, uintptr_t *limit)
{
	*limit = 0;
	if (!on_stack || own == NULL ||
	    (own->program.ss_flags & SS_DISABLE) != 0)
		return sp;
	if (is_inside(sp, memory_of(own), STACK_BYTES)) {
		*limit = (uintptr_t)memory_of(own);
		return sp;
	}
	*limit = (uintptr_t)own->program.ss_sp;
	if (is_inside(sp, own->program.ss_sp, own->program.ss_size))
		return sp;
	return (uintptr_t)own->program.ss_sp + own->program.ss_size;
}
