/* SPDX-License-Identifier: BSD-3-Clause */

#include <capstone/capstone.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <x86intrin.h>

#include "steps.h"

#define TRAP_FLAG (UINT64_C(1) << 8)
#define STACK_BYTES 65536
#define MAX_INSN_BYTES 15

/* A memory operand before address calculation. */
struct operand {
	int base, index; /* in gregs[]; -1: none */
	int scale;
	int64_t disp;
	uint32_t bytes;
	bool loads, stores;
};

struct decoded {
	uintptr_t pc; /* 0: free */
	enum steps_kind kind;
	uint32_t nb_operands;
	struct operand operands[STEPS_MAX_ACCESSES];
	char name[16];
};

/* Open addressing; more entries than instructions stepped. */
#define NB_DECODED (1u << 16)
static struct decoded *decoded;

static csh handle;
static cs_insn *room;
static steps_watch_t watch;
static void *watch_arg;
static uint64_t nb_steps;
static volatile bool ending;
static struct steps_region regions[STEPS_MAX_REGIONS];
static uint32_t nb_regions; /* 0: every instruction */
static struct sigaction old_segv;

static int
greg_of(x86_reg reg)
{
	static const struct {
		x86_reg reg;
		int greg;
	} table[] = {
		{X86_REG_RAX, REG_RAX}, {X86_REG_RBX, REG_RBX},
		{X86_REG_RCX, REG_RCX}, {X86_REG_RDX, REG_RDX},
		{X86_REG_RSI, REG_RSI}, {X86_REG_RDI, REG_RDI},
		{X86_REG_RBP, REG_RBP}, {X86_REG_RSP, REG_RSP},
		{X86_REG_R8, REG_R8}, {X86_REG_R9, REG_R9},
		{X86_REG_R10, REG_R10}, {X86_REG_R11, REG_R11},
		{X86_REG_R12, REG_R12}, {X86_REG_R13, REG_R13},
		{X86_REG_R14, REG_R14}, {X86_REG_R15, REG_R15},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].reg == reg)
			return table[i].greg;
	return -1;
}

static enum steps_kind
kind_of(const cs_insn *cs)
{
	const cs_x86 *x86 = &cs->detail->x86;

	if (x86->prefix[0] == X86_PREFIX_LOCK)
		return STEPS_LOCKED;
	switch (cs->id) {
	case X86_INS_SFENCE:
		return STEPS_SFENCE;
	case X86_INS_MFENCE:
	case X86_INS_LFENCE:
		return STEPS_FULL_FENCE;
	case X86_INS_DIV:
	case X86_INS_IDIV:
		return STEPS_DIVISION;
	case X86_INS_SYSCALL:
		return STEPS_SYSCALL;
	case X86_INS_XCHG:
		for (uint8_t i = 0; i < x86->op_count; i++)
			if (x86->operands[i].type == X86_OP_MEM)
				return STEPS_LOCKED;
		break;
	default:
		break;
	}
	return strncmp(cs->mnemonic, "div", 3) == 0 ||
	       strncmp(cs->mnemonic, "vdiv", 4) == 0 ? STEPS_DIVISION : STEPS_OTHER;
}

/* Instructions whose memory operand is not accessed. */
static bool
is_no_access(unsigned int id)
{
	switch (id) {
	case X86_INS_LEA:
	case X86_INS_NOP:
	case X86_INS_PREFETCH:
	case X86_INS_PREFETCHNTA:
	case X86_INS_PREFETCHT0:
	case X86_INS_PREFETCHT1:
	case X86_INS_PREFETCHT2:
	case X86_INS_PREFETCHW:
		return true;
	default:
		return false;
	}
}

/* Instructions that only write their first operand. */
static bool
is_move(const char *name)
{
	static const char *const names[] = {
		"mov", "vmov", "set", "pextr", "vpextr", "stos", "vextract",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static bool
add_operand(struct decoded *insn, const cs_insn *cs, uint8_t i)
{
	const cs_x86_op *op = &cs->detail->x86.operands[i];
	const x86_op_mem *mem = &op->mem;
	struct operand *operand = &insn->operands[insn->nb_operands];

	/* Thread-local storage. */
	if (mem->segment == X86_REG_FS)
		return true;
	if (insn->nb_operands == STEPS_MAX_ACCESSES)
		return false;
	operand->base = greg_of(mem->base);
	operand->index = greg_of(mem->index);
	operand->scale = mem->scale;
	operand->disp = mem->disp;
	operand->bytes = op->size;
	operand->loads = i != 0 || !is_move(cs->mnemonic);
	operand->stores = i == 0 &&
			  (!operand->loads || (op->access & CS_AC_WRITE) != 0);
	if (mem->base == X86_REG_RIP)
		operand->disp += (int64_t)(cs->address + cs->size);
	else if (operand->base < 0 && mem->base != X86_REG_INVALID)
		return false;
	insn->nb_operands++;
	return operand->index >= 0 || mem->index == X86_REG_INVALID ||
	       mem->index == X86_REG_RIZ;
}

static void
decode(uintptr_t pc, struct decoded *insn)
{
	const uint8_t *code = (const uint8_t *)pc;
	size_t left = MAX_INSN_BYTES;
	uint64_t addr = pc;

	memset(insn, 0, sizeof(*insn));
	insn->pc = pc;
	/* endbr64 is unknown to capstone 4 */
	if (memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0)
		return;
	if (!cs_disasm_iter(handle, &code, &left, &addr, room)) {
		insn->kind = STEPS_UNKNOWN;
		return;
	}
	memcpy(insn->name, room->mnemonic, sizeof(insn->name) - 1);
	insn->kind = kind_of(room);
	if (is_no_access(room->id))
		return;
	for (uint8_t i = 0; i < room->detail->x86.op_count; i++)
		if (room->detail->x86.operands[i].type == X86_OP_MEM &&
		    !add_operand(insn, room, i))
			insn->kind = STEPS_UNKNOWN;
}

static const struct decoded *
decode_once(uintptr_t pc)
{
	uint32_t at = (uint32_t)(pc * UINT32_C(0x9e3779b1)) >> 16;

	while (decoded[at].pc != 0 && decoded[at].pc != pc)
		at = (at + 1) % NB_DECODED;
	if (decoded[at].pc == 0)
		decode(pc, &decoded[at]);
	return &decoded[at];
}

static uintptr_t
address(const struct operand *operand, const greg_t *regs)
{
	uint64_t addr = (uint64_t)operand->disp;

	if (operand->base >= 0)
		addr += (uint64_t)regs[operand->base];
	if (operand->index >= 0)
		addr += (uint64_t)regs[operand->index] *
			(uint64_t)operand->scale;
	return addr;
}

static void
report_insn(const greg_t *regs)
{
	const struct decoded *insn = decode_once((uintptr_t)regs[REG_RIP]);
	struct steps_insn report;

	report.pc = insn->pc;
	report.kind = insn->kind;
	report.text = insn->name;
	report.nb_accesses = insn->nb_operands;
	for (uint32_t i = 0; i < insn->nb_operands; i++) {
		const struct operand *operand = &insn->operands[i];

		report.access[i].addr = address(operand, regs);
		report.access[i].bytes = operand->bytes;
		report.access[i].loads = operand->loads;
		report.access[i].stores = operand->stores;
		report.access[i].is_stack = report.access[i].addr -
			(uintptr_t)regs[REG_RSP] + STACK_BYTES / 2 < STACK_BYTES;
	}
	nb_steps++;
	watch(&report, watch_arg);
}

static void
protect(int protection)
{
	for (uint32_t i = 0; i < nb_regions; i++)
		mprotect(regions[i].base, regions[i].bytes, protection);
}

static void
on_trap(int signo, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const int saved = errno;

	if (nb_regions != 0 || ending)
		regs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	if (nb_regions != 0)
		protect(PROT_NONE); /* the faulting instruction has run */
	else if (!ending)
		report_insn(regs);
	errno = saved;
}

static void
on_fault(int signo, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uintptr_t addr = (uintptr_t)info->si_addr;
	const int saved = errno;

	for (uint32_t i = 0; i < nb_regions; i++) {
		if (addr - (uintptr_t)regions[i].base >= regions[i].bytes)
			continue;
		report_insn(regs);
		protect(PROT_READ | PROT_WRITE);
		regs[REG_EFL] |= TRAP_FLAG;
		errno = saved;
		return;
	}
	/* Not this module's fault: restore the old handler and repeat. */
	sigaction(signo, &old_segv, NULL);
}

int
steps_init(void)
{
	struct sigaction action = {
		.sa_sigaction = on_trap,
		.sa_flags = SA_SIGINFO,
	};

	decoded = calloc(NB_DECODED, sizeof(*decoded));
	if (decoded == NULL || cs_open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK)
		return -ENOMEM;
	cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
	room = cs_malloc(handle);
	if (room == NULL)
		return -ENOMEM;
	decode_once((uintptr_t)steps_init);
	return sigaction(SIGTRAP, &action, NULL) == 0 ? 0 : -errno;
}

__attribute__((noinline)) void
steps_begin(steps_watch_t new_watch, void *arg)
{
	nb_regions = 0;
	watch = new_watch;
	watch_arg = arg;
	ending = false;
	__writeeflags(__readeflags() | TRAP_FLAG);
}

void
steps_begin_at(const struct steps_region *new_regions, uint32_t nb,
	       steps_watch_t new_watch, void *arg)
{
	struct sigaction action = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO,
	};

	sigaction(SIGSEGV, &action, &old_segv);
	watch = new_watch;
	watch_arg = arg;
	memcpy(regions, new_regions, nb * sizeof(*regions));
	nb_regions = nb;
	protect(PROT_NONE);
}

__attribute__((noinline)) void
steps_end(void)
{
	if (nb_regions != 0) {
		protect(PROT_READ | PROT_WRITE);
		sigaction(SIGSEGV, &old_segv, NULL);
		return;
	}
	ending = true;
	/* The trap after this store ends the steps. */
	__asm__ volatile("nop" ::: "memory");
}

uint64_t
steps_nb(void)
{
	return nb_steps;
}
