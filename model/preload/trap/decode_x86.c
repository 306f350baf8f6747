/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Stores of x86-64, with capstone.
 *
 * capstone allocates memory when a handle is opened, for an instruction, and
 * once more at the first instruction: decode_init() does all of it.
 */

#include <capstone/capstone.h>
#include <cpuid.h>
#include <errno.h>
#include <string.h>

#include "decode.h"
#include "process_lock.h"

static csh handle;
static cs_insn *room; /* protected by the lock */

/* Where XSAVE keeps registers 16..31 (Intel SDM vol. 1, 13.5.8: state 7). */
#define XSAVE_HI16_ZMM 7
#define NB_LEGACY_XMM 16
#define ZMM_BYTES 64
static uint32_t hi16_zmm_offset;

static const struct {
	x86_reg reg;
	uint8_t greg, size_bytes, shift;
} registers[] = {
#define REG4(r64, r32, r16, r8, greg)                                          \
	{X86_REG_##r64, greg, 8, 0}, {X86_REG_##r32, greg, 4, 0},              \
	{X86_REG_##r16, greg, 2, 0}, {X86_REG_##r8, greg, 1, 0}
	REG4(RAX, EAX, AX, AL, REG_RAX), {X86_REG_AH, REG_RAX, 1, 8},
	REG4(RBX, EBX, BX, BL, REG_RBX), {X86_REG_BH, REG_RBX, 1, 8},
	REG4(RCX, ECX, CX, CL, REG_RCX), {X86_REG_CH, REG_RCX, 1, 8},
	REG4(RDX, EDX, DX, DL, REG_RDX), {X86_REG_DH, REG_RDX, 1, 8},
	REG4(RSI, ESI, SI, SIL, REG_RSI), REG4(RDI, EDI, DI, DIL, REG_RDI),
	REG4(RBP, EBP, BP, BPL, REG_RBP), REG4(RSP, ESP, SP, SPL, REG_RSP),
	REG4(R8, R8D, R8W, R8B, REG_R8), REG4(R9, R9D, R9W, R9B, REG_R9),
	REG4(R10, R10D, R10W, R10B, REG_R10),
	REG4(R11, R11D, R11W, R11B, REG_R11),
	REG4(R12, R12D, R12W, R12B, REG_R12),
	REG4(R13, R13D, R13W, R13B, REG_R13),
	REG4(R14, R14D, R14W, R14B, REG_R14),
	REG4(R15, R15D, R15W, R15B, REG_R15),
#undef REG4
};

int
decode_init(void)
{
	static const uint8_t nop[] = {0x90};
	const uint8_t *code = nop;
	size_t nb_bytes = sizeof(nop);
	uint64_t addr = 0;
	unsigned int eax, ebx, ecx, edx;

	if (room != NULL)
		return 0;
	if (__get_cpuid_count(0xd, XSAVE_HI16_ZMM, &eax, &ebx, &ecx, &edx))
		hi16_zmm_offset = ebx;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK)
		return -ENOMEM;
	cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
	room = cs_malloc(handle);
	if (room == NULL) {
		cs_close(&handle);
		return -ENOMEM;
	}
	cs_disasm_iter(handle, &code, &nb_bytes, &addr, room);
	return 0;
}

static bool
is_memory(const cs_x86 *x86, uint8_t i)
{
	return i < x86->op_count && x86->operands[i].type == X86_OP_MEM;
}

static bool
take_gpr(const cs_x86_op *op, struct decode_insn *insn)
{
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		if (registers[i].reg != op->reg)
			continue;
		insn->kind = DECODE_GPR;
		insn->reg = registers[i].greg;
		insn->shift = registers[i].shift;
		return true;
	}
	return false;
}

static bool
take_xmm(const cs_x86_op *op, uint8_t shift, struct decode_insn *insn)
{
	if (op->type != X86_OP_REG || op->reg < X86_REG_XMM0 ||
	    op->reg > X86_REG_XMM31)
		return false;
	insn->kind = DECODE_VECTOR;
	insn->reg = (uint8_t)(op->reg - X86_REG_XMM0);
	insn->shift = shift;
	return true;
}

static void
take_source(const cs_x86 *x86, struct decode_insn *insn)
{
	const cs_x86_op *source = &x86->operands[1];

	if (x86->op_count < 2)
		return;
	if (source->type == X86_OP_IMM) {
		insn->kind = DECODE_IMM;
		insn->imm = (uint64_t)source->imm;
	} else if (source->type == X86_OP_REG) {
		take_gpr(source, insn);
	}
}

/* Stores with the memory as first operand. */
static void
take_store(const cs_insn *cs, struct decode_insn *insn)
{
	const cs_x86 *x86 = &cs->detail->x86;
	const cs_x86_op *source = &x86->operands[1];

	switch (cs->id) {
	case X86_INS_MOV:
	case X86_INS_MOVABS:
	case X86_INS_MOVNTI:
		take_source(x86, insn);
		break;
	case X86_INS_OR: /* also with a lock */
		insn->is_or = true;
		take_source(x86, insn);
		break;
	case X86_INS_MOVBE:
		insn->swapped = true;
		take_source(x86, insn);
		break;
	case X86_INS_MOVD:
	case X86_INS_MOVQ:
	case X86_INS_MOVSS:
	case X86_INS_MOVSD:
	case X86_INS_MOVLPS:
	case X86_INS_MOVLPD:
	case X86_INS_VMOVD:
	case X86_INS_VMOVQ:
	case X86_INS_VMOVSS:
	case X86_INS_VMOVSD:
	case X86_INS_VMOVLPS:
	case X86_INS_VMOVLPD:
		take_xmm(source, 0, insn);
		break;
	case X86_INS_MOVHPS:
	case X86_INS_MOVHPD:
	case X86_INS_VMOVHPS:
	case X86_INS_VMOVHPD:
		take_xmm(source, 64, insn);
		break;
	case X86_INS_PEXTRD:
	case X86_INS_VPEXTRD:
		if (x86->op_count == 3)
			take_xmm(source, (x86->operands[2].imm & 3) * 32, insn);
		break;
	case X86_INS_PEXTRQ:
	case X86_INS_VPEXTRQ:
		if (x86->op_count == 3)
			take_xmm(source, (x86->operands[2].imm & 1) * 64, insn);
		break;
	default:
		break;
	}
}

static bool
is_wide_store(unsigned int id)
{
	static const uint16_t ids[] = {
		X86_INS_MOVAPS, X86_INS_MOVUPS, X86_INS_MOVAPD, X86_INS_MOVUPD,
		X86_INS_MOVDQA, X86_INS_MOVDQU, X86_INS_MOVNTPS,
		X86_INS_MOVNTPD, X86_INS_MOVNTDQ, X86_INS_VMOVAPS,
		X86_INS_VMOVUPS, X86_INS_VMOVAPD, X86_INS_VMOVUPD,
		X86_INS_VMOVDQA, X86_INS_VMOVDQU, X86_INS_VMOVNTPS,
		X86_INS_VMOVNTPD, X86_INS_VMOVNTDQ, X86_INS_VMOVDQA32,
		X86_INS_VMOVDQA64, X86_INS_VMOVDQU8, X86_INS_VMOVDQU16,
		X86_INS_VMOVDQU32, X86_INS_VMOVDQU64,
	};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (ids[i] == id)
			return true;
	return false;
}

static void
classify(const cs_insn *cs, struct decode_insn *insn)
{
	const cs_x86 *x86 = &cs->detail->x86;

	insn->kind = DECODE_UNKNOWN;
	insn->length = (uint8_t)cs->size;
	if (!is_memory(x86, 0)) {
		if (is_memory(x86, 1) || is_memory(x86, 2))
			insn->kind = DECODE_LOAD;
		return;
	}
	insn->size_bytes = x86->operands[0].size;
	if (is_wide_store(cs->id)) {
		insn->kind = DECODE_WIDE;
		return;
	}
	take_store(cs, insn);
	if (insn->kind == DECODE_UNKNOWN &&
	    (x86->operands[0].access & CS_AC_READ) != 0)
		insn->kind = DECODE_LOAD;
}

void
decode_insn(const uint8_t *bytes, size_t nb_bytes, struct decode_insn *insn)
{
	const uint8_t *code = bytes;
	size_t left = nb_bytes;
	uint64_t addr = 0;

	memset(insn, 0, sizeof(*insn));
	memcpy(insn->bytes, bytes,
	       nb_bytes < sizeof(insn->bytes) ? nb_bytes : sizeof(insn->bytes));
	process_lock(PROCESS_LOCK_DECODE);
	if (room != NULL && cs_disasm_iter(handle, &code, &left, &addr, room))
		classify(room, insn);
	process_unlock(PROCESS_LOCK_DECODE);
}

static uint64_t
vector_value(const struct decode_insn *insn, const ucontext_t *uc)
{
	const char *state = (const char *)uc->uc_mcontext.fpregs;
	const char *from;
	uint64_t value;

	if (insn->reg < NB_LEGACY_XMM)
		from = (const char *)&uc->uc_mcontext.fpregs->_xmm[insn->reg];
	else
		from = state + hi16_zmm_offset +
		       (size_t)(insn->reg - NB_LEGACY_XMM) * ZMM_BYTES;
	memcpy(&value, from + insn->shift / 8, sizeof(value));
	return value;
}

uint64_t
decode_value(const struct decode_insn *insn, const ucontext_t *uc)
{
	uint64_t value = 0;
	unsigned int nb_bits = insn->size_bytes * 8u;

	switch (insn->kind) {
	case DECODE_IMM:
		value = insn->imm;
		break;
	case DECODE_GPR:
		value = (uint64_t)uc->uc_mcontext.gregs[insn->reg] >>
			insn->shift;
		break;
	case DECODE_VECTOR:
		value = vector_value(insn, uc);
		break;
	default:
		break;
	}
	if (nb_bits < 64)
		value &= (UINT64_C(1) << nb_bits) - 1;
	if (insn->swapped)
		value = __builtin_bswap64(value) >> (64 - nb_bits);
	return value;
}

uint64_t
decode_pc(const ucontext_t *uc)
{
	return (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
}

void
decode_skip(const struct decode_insn *insn, ucontext_t *uc)
{
	uc->uc_mcontext.gregs[REG_RIP] += insn->length;
}

/* Intel SDM vol. 3, 4.7: page-fault error code, bit 1 W/R, bit 4 I/D. */
bool
decode_fault_is_write(const ucontext_t *uc)
{
	return (uc->uc_mcontext.gregs[REG_ERR] & 0x12) == 0x2;
}
