/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Each store instruction that a compiler may use for a doorbell, executed on a
 * trapping page.
 */

#include <cpuid.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <capstone/capstone.h>
#include <cmocka.h>

#include "doorbell.h"
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

static void
test_mov_64(void **state)
{
	(void)state;
	STORE(0x000, "movq %1, (%0)", VALUE, VALUE, 8);
	STORE(0x400, "mov %1, %%rax; mov %0, %%r13; movq %%rax, (%%r13)", VALUE,
	      VALUE, 8);
	STORE(0x800, "mov %1, %%r15; mov %0, %%rbx; mov $4, %%rcx;"
	      "movq %%r15, -16(%%rbx,%%rcx,4)", VALUE, VALUE, 8);
	STORE(0x800, "mov %1, %%r8; lea 2048(%0), %%r9;"
	      "movq %%r8, -2048(%%r9)", VALUE, VALUE, 8);
}

static void
test_mov_64_far(void **state)
{
	(void)state;
	/* A displacement of 32 bits and a base beyond the page. */
	STORE(0x810, "mov %1, %%r8; mov %0, %%r9; sub $0x12345, %%r9;"
	      "movq %%r8, 0x12345(%%r9)", VALUE, VALUE, 8);
}

static void
test_mov_32(void **state)
{
	(void)state;
	STORE(0x010, "movl %k1, (%0)", VALUE, 0x89abcdef, 4);
	STORE(0x410, "mov %1, %%r15; movl %%r15d, (%0)", VALUE, 0x89abcdef, 4);
	STORE(0x810, "movl $0x80000001, (%0)", VALUE, 0x80000001, 4);
}

static void
test_mov_immediate(void **state)
{
	(void)state;
	STORE(0x000, "movq $0x12345678, (%0)", VALUE, 0x12345678, 8);
	STORE(0x000, "movq $-2, (%0)", VALUE, UINT64_C(0xfffffffffffffffe), 8);
	STORE(0x000, "movq $0, (%0)", VALUE, 0, 8);
}

static void
test_movnti(void **state)
{
	(void)state;
	STORE(0x000, "movntiq %1, (%0)", VALUE, VALUE, 8);
	STORE(0x010, "movntil %k1, (%0)", VALUE, 0x89abcdef, 4);
}

static void
test_movbe(void **state)
{
	unsigned int eax, ebx, ecx, edx;

	(void)state;
	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & bit_MOVBE) == 0)
		skip();
	STORE(0x000, "movbeq %1, (%0)", VALUE, UINT64_C(0xefcdab8967452381), 8);
	STORE(0x010, "movbel %k1, (%0)", VALUE, 0xefcdab89, 4);
}

static void
test_xmm(void **state)
{
	(void)state;
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

static void
test_pextr(void **state)
{
	(void)state;
	if (!__builtin_cpu_supports("sse4.1"))
		skip();
	STORE(0x000, "movq %1, %%xmm0; pslldq $8, %%xmm0;"
	      "pextrq $1, %%xmm0, (%0)", VALUE, VALUE, 8);
	STORE(0x010, "movq %1, %%xmm0; pextrd $1, %%xmm0, (%0)", VALUE,
	      0x81234567, 4);
}

static void
test_avx(void **state)
{
	(void)state;
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

static void
test_avx512(void **state)
{
	(void)state;
	if (!__builtin_cpu_supports("avx512f"))
		skip();
	STORE(0x000, "vmovq %1, %%xmm17; vmovq %%xmm17, (%0)", VALUE, VALUE, 8);
	STORE(0x000, "vmovq %1, %%xmm31; vmovq %%xmm31, (%0)", VALUE, VALUE, 8);
}

/* Registers of 8 and 16 bits reach the device, which refuses the width. */
static void
test_narrow(void **state)
{
	(void)state;
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

static void
test_wide(void **state)
{
	(void)state;
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
static void
test_state_is_kept(void **state)
{
	uint64_t rax = 0x1111, flags_before, flags_after, xmm = 0;

	(void)state;
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
static void
test_code_changes(void **state)
{
	char *code = code_pages();

	(void)state;
	for (int round = 0; round < 3; round++) {
		run_code(code, store_64, sizeof(store_64), 8);
		run_code(code, store_32, sizeof(store_32), 4);
		run_code(code, store_32, sizeof(store_32), 4);
	}
	munmap(code, 4096);
}

/* An instruction near the end of mapped memory. */
static void
test_code_at_the_end(void **state)
{
	char *code = code_pages();

	(void)state;
	run_code(code + 4096 - sizeof(store_64), store_64, sizeof(store_64), 8);
	run_code(code + 4096 - sizeof(store_32), store_32, sizeof(store_32), 4);
	munmap(code, 4096);
}

static void
test_many_pages(void **state)
{
	static volatile char *more[200];

	(void)state;
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
static void
test_no_allocation(void **state)
{
	(void)state;
	assert_int_equal(nb_allocations, 0);
}

static int
start(void **state)
{
	(void)state;
	nb_allocations = 0;
	return 0;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mov_64),
		cmocka_unit_test(test_mov_64_far),
		cmocka_unit_test(test_mov_32),
		cmocka_unit_test(test_mov_immediate),
		cmocka_unit_test(test_movnti),
		cmocka_unit_test(test_movbe),
		cmocka_unit_test(test_xmm),
		cmocka_unit_test(test_pextr),
		cmocka_unit_test(test_avx),
		cmocka_unit_test(test_avx512),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_state_is_kept),
		cmocka_unit_test(test_code_changes),
		cmocka_unit_test(test_code_at_the_end),
		cmocka_unit_test(test_many_pages),
		cmocka_unit_test(test_no_allocation),
	};
	cs_opt_mem memory = {
		.malloc = count_malloc, .calloc = count_calloc,
		.realloc = count_realloc, .free = free,
		.vsnprintf = vsnprintf,
	};

	(void)argc;
	trap_stubs_init(argv);
	cs_option(0, CS_OPT_MEM, (size_t)&memory);
	page = trap_stubs_map();
	return cmocka_run_group_tests(tests, start, NULL);
}
