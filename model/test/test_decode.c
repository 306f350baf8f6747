/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Each store instruction that a compiler may use for a doorbell, executed on a
 * trapping page.
 */

#include <cpuid.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <capstone/capstone.h>

#include "doorbell.h"
#include "test.h"
#include "trap_stubs.h"

#define VALUE UINT64_C(0x8123456789abcdef)

static volatile char *page;

static void
check(uint64_t nb_before, uint32_t offset, uint64_t value, uint32_t size_bytes)
{
	assert_int_equal(noted.nb_doorbells, nb_before + 1);
	assert_int_equal(noted.fn, 3);
	assert_int_equal(noted.page, 5);
	assert_int_equal(noted.offset, offset);
	assert_int_equal(noted.value, value);
	assert_int_equal(noted.size_bytes, size_bytes);
}

/* One instruction; %0 is the memory, %1 the value's register. */
#define STORE(offset, insn, value, expected, size)                             \
	do {                                                                   \
		uint64_t nb_before_ = noted.nb_doorbells;                      \
                                                                               \
		__asm__ volatile(insn                                          \
				 : : "r"(page + (offset)), "r"(value)          \
				 : "memory", "xmm0", "xmm9", "rax", "rbx",     \
				   "rcx", "r8", "r9", "r13", "r15");           \
		check(nb_before_, offset, expected, size);                     \
	} while (0)

TEST(test_mov_64)
{
	STORE(0x000, "movq %1, (%0)", VALUE, VALUE, 8);
	STORE(0x400, "mov %1, %%rax; mov %0, %%r13; movq %%rax, (%%r13)", VALUE,
	      VALUE, 8);
	STORE(0x800, "mov %1, %%r15; mov %0, %%rbx; mov $4, %%rcx;"
	      "movq %%r15, -16(%%rbx,%%rcx,4)", VALUE, VALUE, 8);
	STORE(0x800, "mov %1, %%r8; lea 2048(%0), %%r9;"
	      "movq %%r8, -2048(%%r9)", VALUE, VALUE, 8);
}

/* Channels ring the monitor page of VMBus by setting a bit. */
TEST(test_or)
{
	const uint64_t nb_doorbells = noted.nb_doorbells;
	char *monitor = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);

	assert_ptr_not_equal(monitor, MAP_FAILED);
	assert_int_equal(doorbell_map_monitor(monitor), 0);
	__asm__ volatile("lock orl %k1, 8(%0)" : : "r"(monitor), "r"(VALUE)
			 : "memory");
	assert_int_equal(noted.nb_signals, 1);
	assert_int_equal(noted.offset, 8);
	assert_int_equal(noted.value, 0x89abcdef);
	__asm__ volatile("lock orl $0x80000000, 32(%0)" : : "r"(monitor)
			 : "memory");
	assert_int_equal(noted.nb_signals, 2);
	assert_int_equal(noted.offset, 32);
	assert_int_equal(noted.value, 0x80000000);
	/* A latency. */
	__asm__ volatile("movw $500, 576(%0)" : : "r"(monitor) : "memory");
	assert_int_equal(noted.nb_signals, 3);
	assert_int_equal(noted.offset, 576);
	assert_int_equal(noted.value, 500);
	assert_int_equal(noted.nb_doorbells, nb_doorbells);
	assert_int_equal(doorbell_unmap(monitor, 4096), 0);
}

TEST(test_mov_64_far)
{
	/* A displacement of 32 bits and a base beyond the page. */
	STORE(0x810, "mov %1, %%r8; mov %0, %%r9; sub $0x12345, %%r9;"
	      "movq %%r8, 0x12345(%%r9)", VALUE, VALUE, 8);
}

TEST(test_mov_32)
{
	STORE(0x010, "movl %k1, (%0)", VALUE, 0x89abcdef, 4);
	STORE(0x410, "mov %1, %%r15; movl %%r15d, (%0)", VALUE, 0x89abcdef, 4);
	STORE(0x810, "movl $0x80000001, (%0)", VALUE, 0x80000001, 4);
}

TEST(test_mov_immediate)
{
	STORE(0x000, "movq $0x12345678, (%0)", VALUE, 0x12345678, 8);
	STORE(0x000, "movq $-2, (%0)", VALUE, UINT64_C(0xfffffffffffffffe), 8);
	STORE(0x000, "movq $0, (%0)", VALUE, 0, 8);
}

TEST(test_movnti)
{
	STORE(0x000, "movntiq %1, (%0)", VALUE, VALUE, 8);
	STORE(0x010, "movntil %k1, (%0)", VALUE, 0x89abcdef, 4);
}

TEST(test_movbe)
{
	unsigned int eax, ebx, ecx, edx;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & bit_MOVBE) == 0)
		skip();
	STORE(0x000, "movbeq %1, (%0)", VALUE, UINT64_C(0xefcdab8967452381), 8);
	STORE(0x010, "movbel %k1, (%0)", VALUE, 0xefcdab89, 4);
}

TEST(test_xmm)
{
	STORE(0x000, "movq %1, %%xmm0; movq %%xmm0, (%0)", VALUE, VALUE, 8);
	STORE(0x000, "movq %1, %%xmm9; movq %%xmm9, (%0)", VALUE, VALUE, 8);
	STORE(0x010, "movq %1, %%xmm9; movd %%xmm9, (%0)", VALUE, 0x89abcdef,
	      4);
	STORE(0x000, "movq %1, %%xmm0; movlps %%xmm0, (%0)", VALUE, VALUE, 8);
	STORE(0x000, "movq %1, %%xmm0; movlpd %%xmm0, (%0)", VALUE, VALUE, 8);
	STORE(0x000, "movq %1, %%xmm0; movsd %%xmm0, (%0)", VALUE, VALUE, 8);
	STORE(0x010, "movq %1, %%xmm0; movss %%xmm0, (%0)", VALUE, 0x89abcdef,
	      4);
	STORE(0x000, "movq %1, %%xmm0; pslldq $8, %%xmm0; movhps %%xmm0, (%0)",
	      VALUE, VALUE, 8);
	STORE(0x000, "movq %1, %%xmm0; pslldq $8, %%xmm0; movhpd %%xmm0, (%0)",
	      VALUE, VALUE, 8);
}

TEST(test_pextr)
{
	if (!__builtin_cpu_supports("sse4.1"))
		skip();
	STORE(0x000, "movq %1, %%xmm0; pslldq $8, %%xmm0;"
	      "pextrq $1, %%xmm0, (%0)", VALUE, VALUE, 8);
	STORE(0x010, "movq %1, %%xmm0; pextrd $1, %%xmm0, (%0)", VALUE,
	      0x81234567, 4);
}

TEST(test_avx)
{
	if (!__builtin_cpu_supports("avx"))
		skip();
	STORE(0x000, "vmovq %1, %%xmm9; vmovq %%xmm9, (%0)", VALUE, VALUE, 8);
	STORE(0x010, "vmovq %1, %%xmm9; vmovd %%xmm9, (%0)", VALUE, 0x89abcdef,
	      4);
	STORE(0x000, "vmovq %1, %%xmm9; vmovlps %%xmm9, (%0)", VALUE, VALUE, 8);
	STORE(0x000, "vmovq %1, %%xmm9; vpslldq $8, %%xmm9, %%xmm9;"
	      "vmovhps %%xmm9, (%0)", VALUE, VALUE, 8);
	STORE(0x000, "vmovq %1, %%xmm9; vpextrq $0, %%xmm9, (%0)", VALUE, VALUE,
	      8);
}

TEST(test_avx512)
{
	if (!__builtin_cpu_supports("avx512f"))
		skip();
	STORE(0x000, "vmovq %1, %%xmm17; vmovq %%xmm17, (%0)", VALUE, VALUE, 8);
	STORE(0x000, "vmovq %1, %%xmm31; vmovq %%xmm31, (%0)", VALUE, VALUE, 8);
}

/* Registers of 8 and 16 bits reach the device, which refuses the width. */
TEST(test_narrow)
{
	STORE(0x000, "movw %w1, (%0)", VALUE, 0xcdef, 2);
	STORE(0x000, "mov %1, %%rcx; movb %%cl, (%0)", VALUE, 0xef, 1);
	STORE(0x000, "mov %1, %%rcx; mov %0, %%rbx; movb %%ch, (%%rbx)", VALUE,
	      0xcd, 1);
	STORE(0x003, "movb $5, (%0)", VALUE, 5, 1);
}

#define WIDE(insn)                                                             \
	do {                                                                   \
		uint64_t nb_before_ = noted.nb_violations;                     \
		uint64_t nb_doorbells_ = noted.nb_doorbells;                   \
                                                                               \
		__asm__ volatile(insn : : "r"(page) : "memory", "xmm0");       \
		assert_int_equal(noted.nb_violations, nb_before_ + 1);         \
		assert_int_equal(noted.nb_doorbells, nb_doorbells_);           \
		assert_int_equal(noted.violation,                              \
				 VIOLATION_doorbell_bad_width);                \
	} while (0)

TEST(test_wide)
{
	WIDE("movaps %%xmm0, (%0)");
	WIDE("movups %%xmm0, 16(%0)");
	WIDE("movapd %%xmm0, (%0)");
	WIDE("movdqa %%xmm0, (%0)");
	WIDE("movdqu %%xmm0, 8(%0)");
	WIDE("movntdq %%xmm0, (%0)");
	WIDE("movntps %%xmm0, (%0)");
	if (__builtin_cpu_supports("avx")) {
		WIDE("vmovaps %%ymm0, (%0)");
		WIDE("vmovdqu %%ymm0, (%0)");
		WIDE("vmovntdq %%ymm0, (%0)");
	}
	if (__builtin_cpu_supports("avx512f")) {
		WIDE("vmovdqu64 %%zmm0, (%0)");
		WIDE("vmovaps %%zmm0, (%0)");
	}
}

/* The trap changes only memory and the instruction pointer. */
TEST(test_state_is_kept)
{
	uint64_t rax = 0x1111, flags_before, flags_after, xmm = 0;

	__asm__ volatile("movq %[v], %%xmm9\n\t"
			 "stc\n\t"
			 "pushfq\n\tpopq %[before]\n\t"
			 "movq %[v], (%[page])\n\t"
			 "pushfq\n\tpopq %[after]\n\t"
			 "movq %%xmm9, %[xmm]\n\t"
			 : [before] "=&r"(flags_before),
			   [after] "=&r"(flags_after), [xmm] "=&r"(xmm),
			   "+a"(rax)
			 : [v] "r"(VALUE), [page] "r"(page)
			 : "memory", "xmm9", "cc");
	assert_int_equal(rax, 0x1111);
	assert_int_equal(flags_before, flags_after);
	assert_int_equal(xmm, VALUE);
}

/* Allocations from the first doorbell page on. */
static int nb_allocations;

static void *
count_malloc(size_t nb_bytes)
{
	nb_allocations++;
	return malloc(nb_bytes);
}

static void *
count_calloc(size_t nb, size_t nb_bytes)
{
	nb_allocations++;
	return calloc(nb, nb_bytes);
}

static void *
count_realloc(void *ptr, size_t nb_bytes)
{
	nb_allocations++;
	return realloc(ptr, nb_bytes);
}

typedef void (*store_fn)(volatile char *place, uint64_t value);

static const uint8_t store_64[] = {0x48, 0x89, 0x37, 0xc3}; /* %rsi -> (%rdi) */
static const uint8_t store_32[] = {0x89, 0x37, 0xc3};	     /* %esi -> (%rdi) */

/* Two pages, code in the first alone. */
static char *
code_pages(void)
{
	char *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(code != MAP_FAILED);
	assert_int_equal(munmap(code + 4096, 4096), 0);
	return code;
}

static void
run_code(char *at, const uint8_t *code, size_t nb_bytes, uint32_t size)
{
	uint64_t nb_before = noted.nb_doorbells;
	store_fn store;

	memcpy(at, code, nb_bytes);
	memcpy(&store, &at, sizeof(store));
	store(page + (size == 8 ? 0x800 : 0x810), VALUE);
	check(nb_before, size == 8 ? 0x800 : 0x810,
	      size == 8 ? VALUE : (uint32_t)VALUE, size);
}

/*
 * The program replaces the instruction at an address: the cache must detect it.
 */
TEST(test_code_changes)
{
	char *code = code_pages();

	for (int round = 0; round < 3; round++) {
		run_code(code, store_64, sizeof(store_64), 8);
		run_code(code, store_32, sizeof(store_32), 4);
		run_code(code, store_32, sizeof(store_32), 4);
	}
	munmap(code, 4096);
}

/* An instruction near the end of mapped memory. */
TEST(test_code_at_the_end)
{
	char *code = code_pages();

	run_code(code + 4096 - sizeof(store_64), store_64, sizeof(store_64), 8);
	run_code(code + 4096 - sizeof(store_32), store_32, sizeof(store_32), 4);
	munmap(code, 4096);
}

TEST(test_many_pages)
{
	static volatile char *more[200];

	for (int i = 0; i < 200; i++)
		more[i] = trap_stubs_map();
	for (int i = 0; i < 200; i++) {
		uint64_t nb_before = noted.nb_doorbells;

		*(volatile uint64_t *)(more[i] + 0x800) = i;
		check(nb_before, 0x800, i, 8);
	}
	for (int i = 0; i < 200; i++) {
		void *addr = (void *)(uintptr_t)more[i];

		assert_int_equal(doorbell_unmap(addr, 4096), 0);
		assert_int_equal(doorbell_unmap(addr, 4096), -ENOENT);
	}
	STORE(0x000, "movq %1, (%0)", VALUE, VALUE, 8);
}

/* The handler may have interrupted malloc(). */
TEST(test_no_allocation)
{
	assert_int_equal(nb_allocations, 0);
}

static int
start(void **state)
{
	nb_allocations = 0;
	return 0;
}

int
main(int argc, char **argv)
{
	cs_opt_mem memory = {
		.malloc = count_malloc, .calloc = count_calloc,
		.realloc = count_realloc, .free = free,
		.vsnprintf = vsnprintf,
	};

	(void)argc;
	trap_stubs_init(argv);
	cs_option(0, CS_OPT_MEM, (size_t)&memory);
	page = trap_stubs_map();
	return test_run("decode", start, NULL);
}
