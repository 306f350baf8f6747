/* SPDX-License-Identifier: BSD-3-Clause */

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "calls.h"

static __thread volatile bool is_armed;
static __thread struct call_count count;

/* ---- The kernel ---- */

long quiet_call(const greg_t *regs);
extern const char calls_syscall_made[];

/* A system call with the registers of a context, from REG_R8 on. */
__asm__(".text\n"
	".globl quiet_call\n"
	".type quiet_call, @function\n"
	"quiet_call:\n"
	"	mov %rdi, %r11\n"
	"	mov 8*13(%r11), %rax\n" /* REG_RAX */
	"	mov 8*8(%r11), %rdi\n"
	"	mov 8*9(%r11), %rsi\n"
	"	mov 8*12(%r11), %rdx\n"
	"	mov 8*2(%r11), %r10\n"
	"	mov 8*0(%r11), %r8\n"
	"	mov 8*1(%r11), %r9\n"
	"	syscall\n"
	".globl calls_syscall_made\n"
	"calls_syscall_made:\n"
	"	ret\n"
	".size quiet_call, . - quiet_call\n");
static_assert(REG_R8 == 0 && REG_R9 == 1 && REG_R10 == 2 && REG_RDI == 8 &&
	      REG_RSI == 9 && REG_RDX == 12 && REG_RAX == 13, "registers");

static void
on_syscall(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	const int saved = errno;

	if (is_armed) {
		count.nb_syscalls++;
		count.syscall = info->si_syscall;
	}
	uc->uc_mcontext.gregs[REG_RAX] = info->si_syscall;
	uc->uc_mcontext.gregs[REG_RAX] = quiet_call(uc->uc_mcontext.gregs);
	/* The call may change the mask; SIGSYS stays unblocked. */
	sigprocmask(SIG_SETMASK, NULL, &uc->uc_sigmask);
	sigdelset(&uc->uc_sigmask, SIGSYS);
	errno = saved;
}

/* Filter jumps: number of instructions to skip. */
#define LOAD(member, offset) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
		 offsetof(struct seccomp_data, member) + (offset))
#define SKIP_IF(value, then, otherwise) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), then, otherwise)
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, what)

int
calls_init(void)
{
	const uintptr_t own = (uintptr_t)calls_syscall_made;
	struct sock_filter steps[] = {
		/* The handler's own calls. */
		LOAD(instruction_pointer, 0),
		SKIP_IF(own, 0, 3),
		LOAD(instruction_pointer, 4),
		SKIP_IF((uint64_t)own >> 32, 0, 1),
		ANSWER(SECCOMP_RET_ALLOW),
		LOAD(nr, 0),
		/* The handler's return and mask query; clone() and vfork(). */
		SKIP_IF(SYS_rt_sigreturn, 4, 0),
		SKIP_IF(SYS_rt_sigprocmask, 5, 0),
		SKIP_IF(SYS_clone, 2, 0),
		SKIP_IF(SYS_clone3, 1, 0),
		SKIP_IF(SYS_vfork, 0, 1),
		ANSWER(SECCOMP_RET_ALLOW),
		ANSWER(SECCOMP_RET_TRAP),
		/* sigprocmask(SIG_SETMASK, NULL, ...) changes nothing. */
		LOAD(args[1], 0),
		SKIP_IF(0, 0, 3),
		LOAD(args[1], 4),
		SKIP_IF(0, 0, 1),
		ANSWER(SECCOMP_RET_ALLOW),
		ANSWER(SECCOMP_RET_TRAP),
	};
	const struct sock_fprog filter = {
		.len = sizeof(steps) / sizeof(steps[0]),
		.filter = steps,
	};
	struct sigaction action = {
		.sa_sigaction = on_syscall,
		.sa_flags = SA_SIGINFO | SA_NODEFER,
	};

	if (sigaction(SIGSYS, &action, NULL) != 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		return -errno;
	return 0;
}

void
calls_count_begin(void)
{
	is_armed = true;
	rte_compiler_barrier();
}

void
calls_count_end(void)
{
	rte_compiler_barrier();
	is_armed = false;
}

struct call_count
calls_take(void)
{
	const struct call_count taken = count;

	memset(&count, 0, sizeof(count));
	return taken;
}

/* ---- The C library's heap ---- */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t nb, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *ptr);

static void
noted(void)
{
	count.nb_allocs += is_armed;
}

void *
malloc(size_t bytes)
{
	noted();
	return __libc_malloc(bytes);
}

void *
calloc(size_t nb, size_t bytes)
{
	noted();
	return __libc_calloc(nb, bytes);
}

void *
realloc(void *old, size_t bytes)
{
	noted();
	return __libc_realloc(old, bytes);
}

void *
aligned_alloc(size_t align, size_t bytes)
{
	noted();
	return __libc_memalign(align, bytes);
}

int
posix_memalign(void **ptr, size_t align, size_t bytes)
{
	noted();
	*ptr = __libc_memalign(align, bytes);
	return *ptr == NULL ? ENOMEM : 0;
}

void
free(void *ptr)
{
	noted();
	__libc_free(ptr);
}

/* ---- DPDK's heap: all of its functions call these. ----------------------- */

#define NEXT(name) \
	static __typeof__(&(name)) next; \
\
	noted(); \
	if (next == NULL) \
		*(void **)&next = dlsym(RTLD_NEXT, #name)

void *
rte_malloc_socket(const char *type, size_t bytes, unsigned int align, int socket)
{
	NEXT(rte_malloc_socket);
	return next(type, bytes, align, socket);
}

void *
rte_malloc(const char *type, size_t bytes, unsigned int align)
{
	NEXT(rte_malloc);
	return next(type, bytes, align);
}

void *
rte_zmalloc_socket(const char *type, size_t bytes, unsigned int align, int socket)
{
	NEXT(rte_zmalloc_socket);
	return next(type, bytes, align, socket);
}

void *
rte_zmalloc(const char *type, size_t bytes, unsigned int align)
{
	NEXT(rte_zmalloc);
	return next(type, bytes, align);
}

void *
rte_calloc(const char *type, size_t nb, size_t bytes, unsigned int align)
{
	NEXT(rte_calloc);
	return next(type, nb, bytes, align);
}

void
rte_free(void *ptr)
{
	NEXT(rte_free);
	next(ptr);
}
