/* SPDX-License-Identifier: BSD-3-Clause */

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "lines.h"

#define PAGE_BYTES 4096u
#define FLAGS_TF 0x100
#define ERR_WRITE 2 /* in the error code of a page fault */
#define SA_RESTORER_ 0x04000000
#define MAX_RANGES 512
#define MAX_OPEN 8 /* pages accessed by one instruction */
#define MAX_TASKS 64

/* This program, by symbols of the linker. */
extern const char __executable_start[], _end[];

struct range {
	uintptr_t begin, end;
	uint64_t offset, device, inode;
	bool is_writable;
};

static struct range ranges[MAX_RANGES], shared[MAX_RANGES];
static uint32_t nb_ranges, nb_shared;
static uintptr_t open_pages[MAX_OPEN];
static uint32_t nb_open;
static struct lines_access accesses[LINES_MAX_ACCESSES];
static uint32_t nb_accesses;
static uint32_t owner;
static long main_thread;

/*
 * Direct system calls, below a preloaded library with its own handlers and
 * memory, which is inaccessible.
 */
static long
kernel(long nr, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
	register uintptr_t r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}

struct kernel_action {
	void (*handler)(int signo, siginfo_t *info, void *context);
	uint64_t flags;
	void (*restorer)(void);
	uint64_t mask;
};

void lines_restorer(void);
__asm__(".text\nlines_restorer:\n\tmov $15, %eax\n\tsyscall\n"); /* rt_sigreturn */

static struct kernel_action old_segv, old_trap;

static void
protect(uintptr_t begin, uintptr_t end, int protection)
{
	if (kernel(SYS_mprotect, begin, end - begin, (uintptr_t)protection, 0) != 0)
		__builtin_trap();
}

static bool
is_ours(uintptr_t addr)
{
	for (uint32_t i = 0; i < nb_ranges; i++)
		if (addr >= ranges[i].begin && addr < ranges[i].end)
			return true;
	return false;
}

/* Makes the page accessible for one instruction. */
static void
on_fault(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	const uintptr_t addr = (uintptr_t)info->si_addr;

	if (!is_ours(addr) || nb_open == MAX_OPEN) {
		kernel(SYS_rt_sigaction, SIGSEGV, (uintptr_t)&old_segv, 0, 8);
		return;
	}
	if (kernel(SYS_gettid, 0, 0, 0, 0) == main_thread &&
	    nb_accesses < LINES_MAX_ACCESSES)
		accesses[nb_accesses++] = (struct lines_access){
			.addr = addr,
			.owner = owner,
			.is_write = (uc->uc_mcontext.gregs[REG_ERR] & ERR_WRITE) != 0,
		};
	open_pages[nb_open] = addr & ~(uintptr_t)(PAGE_BYTES - 1);
	protect(open_pages[nb_open], open_pages[nb_open] + PAGE_BYTES,
		PROT_READ | PROT_WRITE);
	nb_open++;
	uc->uc_mcontext.gregs[REG_EFL] |= FLAGS_TF;
}

static void
on_step(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	while (nb_open > 0) {
		nb_open--;
		protect(open_pages[nb_open], open_pages[nb_open] + PAGE_BYTES, PROT_NONE);
	}
	uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)FLAGS_TF;
}

/* The stack pointers of sleeping threads. */
static uint32_t
find_stacks(uintptr_t *stacks)
{
	uint32_t nb = 0;
	struct dirent *entry;
	DIR *tasks = opendir("/proc/self/task");

	while (tasks != NULL && (entry = readdir(tasks)) != NULL && nb < MAX_TASKS) {
		char path[300], line[256], *at;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/syscall", entry->d_name);
		file = fopen(path, "r");
		if (file == NULL)
			continue;
		/* "number 6 arguments stack-pointer program-counter" */
		if (fgets(line, sizeof(line), file) != NULL &&
		    (at = strrchr(line, ' ')) != NULL) {
			*at = 0;
			at = strrchr(line, ' ');
			if (at != NULL)
				stacks[nb++] = (uintptr_t)strtoull(at + 1, NULL, 16);
		}
		fclose(file);
	}
	if (tasks != NULL)
		closedir(tasks);
	return nb;
}

static bool
is_private(const struct range *range, const uintptr_t *stacks, uint32_t nb_stacks)
{
	const uintptr_t own[] = {
		(uintptr_t)__builtin_frame_address(0),
		(uintptr_t)__builtin_thread_pointer(),
	};

	for (uint32_t i = 0; i < 2; i++)
		if (own[i] >= range->begin && own[i] < range->end)
			return true;
	for (uint32_t i = 0; i < nb_stacks; i++)
		if (stacks[i] >= range->begin && stacks[i] < range->end)
			return true;
	return range->begin < (uintptr_t)_end &&
	       range->end > (uintptr_t)__executable_start;
}

void
lines_look(void)
{
	uintptr_t stacks[MAX_TASKS];
	const uint32_t nb_stacks = find_stacks(stacks);
	static char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	nb_ranges = nb_shared = 0;
	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
		struct range range;
		char access[8];
		unsigned int major, minor;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %" SCNx64 " %x:%x %"
			   SCNu64, &range.begin, &range.end, access, &range.offset,
			   &major, &minor, &range.inode) != 7)
			continue;
		range.device = major * 65536ull + minor;
		range.is_writable = access[1] == 'w';
		if (nb_ranges == MAX_RANGES || nb_shared == MAX_RANGES)
			abort();
		if (access[3] == 's')
			shared[nb_shared++] = range;
		if (range.is_writable && !is_private(&range, stacks, nb_stacks))
			ranges[nb_ranges++] = range;
	}
	if (maps == NULL || nb_ranges == 0)
		abort();
	fclose(maps);
	main_thread = kernel(SYS_gettid, 0, 0, 0, 0);
}

uintptr_t
lines_writable_address(uintptr_t page)
{
	for (uint32_t i = 0; i < nb_shared; i++) {
		const struct range *at = &shared[i];

		if (page < at->begin || page >= at->end)
			continue;
		for (uint32_t k = 0; k < nb_shared; k++) {
			const struct range *other = &shared[k];
			const uint64_t offset = page - at->begin + at->offset;

			if (other->is_writable && other->inode == at->inode &&
			    other->device == at->device && offset >= other->offset &&
			    offset - other->offset < other->end - other->begin)
				return other->begin + (offset - other->offset);
		}
	}
	return 0;
}

void
lines_begin(uint32_t owner_)
{
	struct kernel_action action = {
		.flags = SA_SIGINFO | SA_RESTORER_,
		.restorer = lines_restorer,
	};

	owner = owner_;
	action.handler = on_fault;
	kernel(SYS_rt_sigaction, SIGSEGV, (uintptr_t)&action, (uintptr_t)&old_segv, 8);
	action.handler = on_step;
	kernel(SYS_rt_sigaction, SIGTRAP, (uintptr_t)&action, (uintptr_t)&old_trap, 8);
	for (uint32_t i = 0; i < nb_ranges; i++)
		protect(ranges[i].begin, ranges[i].end, PROT_NONE);
}

void
lines_end(void)
{
	for (uint32_t i = 0; i < nb_ranges; i++)
		protect(ranges[i].begin, ranges[i].end, PROT_READ | PROT_WRITE);
	kernel(SYS_rt_sigaction, SIGSEGV, (uintptr_t)&old_segv, 0, 8);
	kernel(SYS_rt_sigaction, SIGTRAP, (uintptr_t)&old_trap, 0, 8);
}

const struct lines_access *
lines_accesses(uint32_t *nb, bool forget)
{
	*nb = nb_accesses;
	if (forget)
		nb_accesses = 0;
	return accesses;
}
