/* SPDX-License-Identifier: BSD-3-Clause */

/* A program that uses SIGSEGV itself and has a doorbell page. */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <poll.h>
#include <ucontext.h>
#include <unistd.h>

#include "doorbell.h"
#include "mem.h"
#include "segment.h"
#include "signals.h"
#include "test.h"
#include "trap_stubs.h"

static volatile char *page;
static volatile char *hole; /* no access, and not a doorbell page */

static void
ring(void)
{
	*(volatile uint64_t *)page = 1;
}

static void
check_rings(void)
{
	uint64_t nb_before = noted.nb_doorbells;

	ring();
	assert_int_equal(noted.nb_doorbells, nb_before + 1);
}

/* A fault of the program at hole + 0x123: a store of one byte. */
static void
fault(void)
{
	__asm__ volatile("movb $1, 0x123(%0)" : : "a"(hole) : "memory");
}
#define FAULT_BYTES 7 /* c6 80 23 01 00 00 01 */

static void
set_action(int signo, void (*handler)(int, siginfo_t *, void *), int flags)
{
	const struct sigaction act = { .sa_sigaction = handler,
				       .sa_flags = SA_SIGINFO | flags };

	assert_int_equal(sigaction(signo, &act, NULL), 0);
}

static struct {
	int signo, code;
	void *addr;
	uintptr_t sp;
	sigset_t mask;
	sigjmp_buf env;
	int nb;
} seen;

static int
setup(void **state)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	on_doorbell = NULL;
	noted.nb_doorbells = noted.nb_violations = 0;
	seen.nb = 0;
	return 0;
}

static void
see(int signo, siginfo_t *info, void *uc)
{
	seen.sp = (uintptr_t)__builtin_frame_address(0);
	(void)uc;
	seen.signo = signo;
	seen.code = info->si_code;
	seen.addr = info->si_addr;
	sigprocmask(SIG_BLOCK, NULL, &seen.mask);
	seen.nb++;
}

static void
see_and_leave(int signo, siginfo_t *info, void *uc)
{
	see(signo, info, uc);
	siglongjmp(seen.env, 1);
}

static void
see_and_skip(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	see(signo, info, uc);
	uc->uc_mcontext.gregs[REG_RIP] += FAULT_BYTES;
}

static void
see_and_ring(int signo, siginfo_t *info, void *context)
{
	see_and_skip(signo, info, context);
	ring();
}

TEST_WITH(test_handler_skips, setup, NULL)
{
	set_action(SIGSEGV, see_and_skip, 0);
	for (int i = 1; i <= 3; i++) {
		fault();
		assert_int_equal(seen.nb, i);
		assert_int_equal(seen.signo, SIGSEGV);
		assert_int_equal(seen.code, SEGV_ACCERR);
		assert_ptr_equal(seen.addr, (void *)(uintptr_t)(hole + 0x123));
		check_rings();
	}
}

TEST_WITH(test_handler_jumps_out, setup, NULL)
{
	volatile int nb = 0;
	sigset_t now;

	set_action(SIGSEGV, see_and_leave, 0);
	if (sigsetjmp(seen.env, 1) != 0)
		nb++;
	/* The mask is restored, else the second fault would kill. */
	sigprocmask(SIG_BLOCK, NULL, &now);
	assert_int_equal(sigismember(&now, SIGSEGV), 0);
	check_rings();
	if (nb < 3)
		fault();
	assert_int_equal(nb, 3);
}

/*
 * Like in the kernel, the signal itself and sa_mask are blocked in the handler.
 */
TEST_WITH(test_mask_in_handler, setup, NULL)
{
	struct sigaction act = { .sa_sigaction = see_and_skip,
				 .sa_flags = SA_SIGINFO };

	sigaddset(&act.sa_mask, SIGUSR1);
	sigaction(SIGSEGV, &act, NULL);
	fault();
	assert_int_equal(sigismember(&seen.mask, SIGSEGV), 1);
	assert_int_equal(sigismember(&seen.mask, SIGUSR1), 1);
	assert_int_equal(sigismember(&seen.mask, SIGUSR2), 0);
	assert_int_equal(sigismember(&seen.mask, SIGNALS_STAND_IN), 0);
	act.sa_flags |= SA_NODEFER;
	sigaction(SIGSEGV, &act, NULL);
	fault();
	assert_int_equal(sigismember(&seen.mask, SIGSEGV), 0);
	sigprocmask(SIG_BLOCK, NULL, &seen.mask);
	assert_int_equal(sigismember(&seen.mask, SIGUSR1), 0);
	assert_int_equal(sigismember(&seen.mask, SIGSEGV), 0);
}

TEST_WITH(test_ring_in_handler, setup, NULL)
{
	set_action(SIGSEGV, see_and_ring, 0);
	fault();
	assert_int_equal(noted.nb_doorbells, 1);
}

static char memory[65536];
static const stack_t alternate = { .ss_sp = memory, .ss_size = sizeof(memory) };

TEST_WITH(test_alternate_stack, setup, NULL)
{
	const stack_t off = {.ss_flags = SS_DISABLE};
	stack_t before, now;

	/* Keep the stack of a sanitizer, to restore it. */
	assert_int_equal(sigaltstack(NULL, &before), 0);
	assert_int_equal(before.ss_flags & ~SS_DISABLE, 0);
	assert_int_equal(sigaltstack(&alternate, NULL), 0);
	assert_int_equal(sigaltstack(NULL, &now), 0);
	assert_ptr_equal(now.ss_sp, memory);
	assert_int_equal(now.ss_flags, 0);

	set_action(SIGSEGV, see_and_skip, 0);
	fault();
	assert_false(seen.sp - (uintptr_t)memory < sizeof(memory));
	assert_true((uintptr_t)__builtin_frame_address(0) - seen.sp < 8192 + 4096);

	set_action(SIGSEGV, see_and_ring, SA_ONSTACK);
	fault();
	assert_true(seen.sp - (uintptr_t)memory < sizeof(memory));

	assert_int_equal(sigaltstack(&off, &now), 0);
	assert_ptr_equal(now.ss_sp, memory);
	fault();
	assert_false(seen.sp - (uintptr_t)memory < sizeof(memory));
	check_rings();
	assert_int_equal(sigaltstack(&before, NULL), 0);
}

static void
look_at_stack(int signo, siginfo_t *info, void *uc)
{
	const stack_t off = {.ss_flags = SS_DISABLE};
	stack_t now;

	see_and_skip(signo, info, uc);
	assert_int_equal(sigaltstack(NULL, &now), 0);
	assert_int_equal(now.ss_flags, SS_ONSTACK);
	assert_int_equal(sigaltstack(&off, NULL), -1);
	assert_int_equal(errno, EPERM);
}

TEST_WITH(test_alternate_stack_in_use, setup, NULL)
{
	stack_t ss = alternate, before;

	assert_int_equal(sigaltstack(&ss, &before), 0);
	set_action(SIGSEGV, look_at_stack, SA_ONSTACK);
	fault();
	ss.ss_size = 100;
	assert_int_equal(sigaltstack(&ss, NULL), -1);
	assert_int_equal(errno, ENOMEM);
	ss.ss_flags = 77;
	assert_int_equal(sigaltstack(&ss, NULL), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(sigaltstack(&before, NULL), 0);
}

static int
overflow(int depth)
{
	volatile char room[4096];

	room[0] = (char)depth;
	return depth <= 0 ? room[0] : overflow(depth - 1) + room[0];
}

/* On a thread with a small stack. */
static void *
overflow_thread(void *arg)
{
	stack_t before;

	sigaltstack(&alternate, &before);
	/* volatile: siglongjmp() returns into the loop. */
	for (volatile int i = 0; i < 3; i++) {
		if (sigsetjmp(seen.env, 1) == 0)
			overflow(1 << 20);
		else
			(*(int *)arg)++;
		ring();
	}
	sigaltstack(&before, NULL);
	return NULL;
}

TEST_WITH(test_stack_overflow, setup, NULL)
{
	pthread_t thread;
	int nb = 0;

	set_action(SIGSEGV, see_and_leave, SA_ONSTACK);
	assert_int_equal(pthread_create(&thread, NULL, overflow_thread, &nb), 0);
	pthread_join(thread, NULL);
	assert_int_equal(nb, 3);
}

TEST_WITH(test_blocked, setup, NULL)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, &old), 0);
	assert_int_equal(sigismember(&old, SIGSEGV), 0);
	check_rings();
	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &old), 0);
	assert_int_equal(sigismember(&old, SIGSEGV), 1);
	sigfillset(&set);
	assert_int_equal(sigprocmask(SIG_SETMASK, &set, NULL), 0);
	check_rings();
	sigemptyset(&set);
	assert_int_equal(sigprocmask(SIG_SETMASK, &set, &old), 0);
	assert_int_equal(sigismember(&old, SIGSEGV), 1);
	assert_int_equal(sigismember(&old, SIGUSR1), 1);
	check_rings();
	assert_int_equal(sighold(SIGSEGV), 0);
	check_rings();
	sigprocmask(SIG_BLOCK, NULL, &old);
	assert_int_equal(sigismember(&old, SIGSEGV), 1);
	assert_int_equal(sigrelse(SIGSEGV), 0);
	sigprocmask(SIG_BLOCK, NULL, &old);
	assert_int_equal(sigismember(&old, SIGSEGV), 0);
}

/* The signal that kills a child that calls act; 0: it exits. */
static int
death_of(void (*act)(void))
{
	const struct rlimit no_core = {0, 0};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		/* Remove cmocka's handlers. */
		signal(SIGSEGV, SIG_DFL);
		signal(SIGABRT, SIG_DFL);
		act();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void
fault_when_blocked(void)
{
	sigset_t set;

	set_action(SIGSEGV, see_and_skip, 0);
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	fault();
}

static void
fault_when_ignored(void)
{
	signal(SIGSEGV, SIG_IGN);
	fault();
}

static void
fault_twice_with_resethand(void)
{
	set_action(SIGSEGV, see_and_skip, SA_RESETHAND);
	fault();
	if (seen.nb != 1)
		_exit(1);
	ring();
	fault();
}

static void
fault_in_handler_again(int signo, siginfo_t *info, void *uc)
{
	see_and_skip(signo, info, uc);
	fault();
}

static void
fault_in_handler(void)
{
	set_action(SIGSEGV, fault_in_handler_again, 0);
	fault();
}

static void
load_from_page(void)
{
	(void)*(volatile uint32_t *)page;
}

static void
add_to_page(void)
{
	__atomic_fetch_add((uint32_t *)(uintptr_t)page, 1, __ATOMIC_RELAXED);
}

static void
undecodable_store(void)
{
	__asm__ volatile("cld; stosq" : : "D"(page), "a"(1) : "memory");
}

static void
ignored_and_sent(void)
{
	signal(SIGSEGV, SIG_IGN);
	kill(getpid(), SIGSEGV);
	ring();
}

static void
sent(void)
{
	signal(SIGSEGV, SIG_DFL);
	kill(getpid(), SIGSEGV);
	pause();
}

static void
ring_only(void)
{
	ring();
	if (noted.nb_doorbells != 1)
		abort();
}

TEST_WITH(test_fatal_signals, setup, NULL)
{
	assert_int_equal(death_of(fault), SIGSEGV);
	assert_int_equal(death_of(fault_when_blocked), SIGSEGV);
	assert_int_equal(death_of(fault_when_ignored), SIGSEGV);
	assert_int_equal(death_of(fault_twice_with_resethand), SIGSEGV);
	assert_int_equal(death_of(fault_in_handler), SIGSEGV);
	assert_int_equal(death_of(load_from_page), SIGSEGV);
	assert_int_equal(death_of(add_to_page), SIGSEGV);
	assert_int_equal(death_of(undecodable_store), SIGABRT);
	assert_int_equal(death_of(sent), SIGSEGV);
	assert_int_equal(death_of(ignored_and_sent), 0);
	assert_int_equal(death_of(ring_only), 0);
}

TEST_WITH(test_load_is_a_violation, setup, NULL)
{
	set_action(SIGSEGV, see_and_leave, 0);
	if (sigsetjmp(seen.env, 1) == 0) {
		load_from_page();
		fail();
	}
	assert_int_equal(noted.nb_violations, 1);
	assert_int_equal(noted.violation, VIOLATION_doorbell_read);
	assert_ptr_equal(seen.addr, (void *)(uintptr_t)page);
}

/* A null pointer access is the program's own fault. */
TEST_WITH(test_null_is_no_page, setup, NULL)
{
	set_action(SIGSEGV, see_and_leave, 0);
	if (sigsetjmp(seen.env, 1) == 0) {
		/* In assembly, because a sanitizer would stop it. */
		__asm__ volatile("mov (%0), %%rax" : : "r"(0L) : "rax", "memory");
		fail();
	}
	assert_int_equal(noted.nb_violations, 0);
	assert_null(seen.addr);
}

TEST_WITH(test_sent_when_blocked, setup, NULL)
{
	sigset_t set;

	set_action(SIGSEGV, see, 0);
	sighold(SIGSEGV);
	raise(SIGSEGV);
	raise(SIGSEGV);
	assert_int_equal(seen.nb, 0);
	sigpending(&set);
	assert_int_equal(sigismember(&set, SIGSEGV), 1);
	check_rings();
	sigrelse(SIGSEGV);
	assert_int_equal(seen.nb, 1);
	assert_int_equal(seen.code, SI_TKILL);
	sigpending(&set);
	assert_int_equal(sigismember(&set, SIGSEGV), 0);
}

static void
ring_on_signal(int signo)
{
	(void)signo;
	ring();
}

TEST_WITH(test_ring_in_other_handler, setup, NULL)
{
	struct sigaction act = { .sa_handler = ring_on_signal,
				 .sa_flags = SA_ONSTACK };
	struct sigaction old;

	sigfillset(&act.sa_mask);
	assert_int_equal(sigaction(SIGUSR1, &act, NULL), 0);
	assert_int_equal(sigaction(SIGUSR1, NULL, &old), 0);
	assert_int_equal(sigismember(&old.sa_mask, SIGSEGV), 1);
	assert_int_equal(sigismember(&old.sa_mask, SIGUSR2), 1);
	raise(SIGUSR1);
	assert_int_equal(noted.nb_doorbells, 1);
	signal(SIGUSR1, SIG_DFL);
}

static void
raise_in_device(void)
{
	on_doorbell = NULL;
	kill(getpid(), SIGUSR1);
}

/*
 * A signal arrives while the device works: its handler runs later and rings,
 * too.
 */
TEST_WITH(test_signal_during_trap, setup, NULL)
{
	signal(SIGUSR1, ring_on_signal);
	on_doorbell = raise_in_device;
	ring();
	assert_int_equal(noted.nb_doorbells, 2);
	signal(SIGUSR1, SIG_DFL);
}

static int copied;

static void
copy_in_device(void)
{
	char buf[64];

	copied = mem_read(model_self, (uintptr_t)hole, buf, sizeof(buf));
}

/* The device reads unmapped memory, and a doorbell page as memory. */
TEST_WITH(test_guarded_copy, setup, NULL)
{
	char buf[64];

	set_action(SIGSEGV, see_and_leave, 0);
	on_doorbell = copy_in_device;
	check_rings();
	on_doorbell = NULL;
	assert_int_equal(copied, -EFAULT);
	assert_int_equal(mem_read(model_self, (uintptr_t)page, buf, 8), -EFAULT);
	assert_int_equal(mem_write(model_self, (uintptr_t)page, buf, 8),
			 -EFAULT);
}

/* A wait with all signals but SIGALRM blocked, and a handler that rings. */
TEST_WITH(test_store_during_waits, setup, NULL)
{
	const struct timespec forever = {.tv_sec = 20};
	const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
	struct sigaction act = { .sa_handler = ring_on_signal };
	sigset_t set;

	sigfillset(&act.sa_mask);
	sigaction(SIGALRM, &act, NULL);
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigdelset(&set, SIGALRM);
	setitimer(ITIMER_REAL, &soon, NULL);
	assert_int_equal(sigsuspend(&set), -1);
	setitimer(ITIMER_REAL, &soon, NULL);
	assert_int_equal(ppoll(NULL, 0, &forever, &set), -1);
	setitimer(ITIMER_REAL, &soon, NULL);
	assert_int_equal(pselect(0, NULL, NULL, NULL, &forever, &set), -1);
	assert_int_equal(noted.nb_doorbells, 3);
	check_rings();
}

static void *
look_at_thread(void *arg)
{
	sigset_t *set = arg;

	sigprocmask(SIG_BLOCK, NULL, set);
	ring();
	return NULL;
}

/* The smallest stack, which is smaller than a trap needs. */
TEST_WITH(test_thread_small_stack, setup, NULL)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t set;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	sighold(SIGSEGV);
	assert_int_equal(pthread_create(&thread, &attr, look_at_thread, &set), 0);
	pthread_join(thread, NULL);
	sigrelse(SIGSEGV);
	assert_int_equal(sigismember(&set, SIGSEGV), 1);
	assert_int_equal(noted.nb_doorbells, 1);
	pthread_attr_destroy(&attr);
}

static pthread_key_t key;

static void
ring_at_end(void *arg)
{
	(void)arg;
	ring();
}

static void *
end_with_destructor(void *arg)
{
	pthread_setspecific(key, arg);
	return NULL;
}

TEST_WITH(test_thread_end, setup, NULL)
{
	pthread_t thread;

	pthread_key_create(&key, ring_at_end);
	for (int i = 0; i < 200; i++) {
		pthread_create(&thread, NULL, end_with_destructor, &key);
		pthread_join(thread, NULL);
	}
	assert_int_equal(noted.nb_doorbells, 200);
	pthread_key_delete(key);
}

#define NB_THREADS 8
#define NB_RINGS 20000

static void *
ring_often(void *arg)
{
	for (int i = 0; i < NB_RINGS; i++)
		ring();
	return arg;
}

TEST_WITH(test_threads, setup, NULL)
{
	pthread_t threads[NB_THREADS];

	for (int i = 0; i < NB_THREADS; i++)
		pthread_create(&threads[i], NULL, ring_often, NULL);
	for (int i = 0; i < NB_THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(noted.nb_doorbells, NB_THREADS * NB_RINGS);
}

/*
 * The structure of the raw system call; the C library's function is interposed.
 */
struct kernel_action {
	void (*handler)(int signo, siginfo_t *info, void *uc);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

TEST_WITH(test_raw_sigaction, setup, NULL)
{
	struct kernel_action act;
	struct sigaction old;

	/* The model's action, with its restorer, but another handler. */
	assert_int_equal(syscall(SYS_rt_sigaction, SIGSEGV, NULL, &act, 8), 0);
	act.handler = see_and_skip;
	assert_int_equal(syscall(SYS_rt_sigaction, SIGSEGV, &act, NULL, 8), 0);
	signals_start();
	check_rings();
	sigaction(SIGSEGV, NULL, &old);
	assert_ptr_equal(old.sa_sigaction, see_and_skip);
	fault();
	assert_int_equal(seen.nb, 1);
}

TEST_WITH(test_obsolete_functions, setup, NULL)
{
	signal(SIGSEGV, SIG_DFL);
	assert_ptr_equal(signal(SIGSEGV, SIG_IGN), SIG_DFL);
	assert_ptr_equal(signal(SIGSEGV, ring_on_signal), SIG_IGN);
	assert_ptr_equal(sigset(SIGSEGV, SIG_HOLD), ring_on_signal);
	assert_ptr_equal(sigset(SIGSEGV, SIG_DFL), SIG_HOLD);
	check_rings();
	assert_int_equal(SIGRTMAX, SIGNALS_STAND_IN - 1);
	assert_ptr_equal(signal(SIGNALS_STAND_IN - 1, SIG_IGN), SIG_DFL);
	assert_ptr_equal(signal(SIGNALS_STAND_IN - 1, SIG_DFL), SIG_IGN);
}

/* The floating-point state of the program survives its own handler. */
static void
spoil_vectors(int signo, siginfo_t *info, void *uc)
{
	see_and_skip(signo, info, uc);
	__asm__ volatile("pcmpeqd %%xmm9, %%xmm9" : : : "xmm9");
	ring();
}

TEST_WITH(test_vector_registers_are_kept, setup, NULL)
{
	uint64_t value = UINT64_C(0x0123456789abcdef), after = 0;

	set_action(SIGSEGV, spoil_vectors, 0);
	__asm__ volatile("movq %1, %%xmm9\n\t"
			 "movb $1, 0x123(%2)\n\t"
			 "movq %%xmm9, %0"
			 : "=r"(after) : "r"(value), "a"(hole)
			 : "xmm9", "memory");
	assert_int_equal(after, value);
}

/*
 * SIGSEGV blocked before exec(): the program sees it blocked, and doorbells
 * work.
 */
static int
check_start(void **state)
{
	sigset_t set;
	uint64_t real = 0;

	sigprocmask(SIG_BLOCK, NULL, &set);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &real, 8);
	return sigismember(&set, SIGSEGV) == 1 &&
	       (real & (UINT64_C(1) << (SIGSEGV - 1))) == 0 ? 0 : -1;
}

int
main(int argc, char **argv)
{
	(void)argc;
	trap_stubs_init(argv);
	page = trap_stubs_map();
	hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return test_run("signals", check_start, NULL);
}
