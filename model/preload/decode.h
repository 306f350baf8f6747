/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a store instruction would have written.
 */

#ifndef MODEL_DECODE_H
#define MODEL_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#define DECODE_MAX_INSN_BYTES 16

enum decode_kind {
	DECODE_UNKNOWN, /* no instruction that this file knows */
	DECODE_LOAD,	/* reads the memory, or reads and writes it */
	DECODE_IMM,	/* a constant */
	DECODE_GPR,	/* a general register */
	DECODE_VECTOR,	/* (a part of) a vector register */
	DECODE_WIDE,	/* a plain store of more than 8 bytes */
};

struct decode_insn {
	uint8_t bytes[DECODE_MAX_INSN_BYTES];
	uint8_t length;	    /* bytes of the instruction, 0: not known */
	uint8_t kind;	    /* enum decode_kind */
	uint8_t size_bytes; /* bytes stored, saturated */
	uint8_t reg;	    /* number of the register, as decode_*.c counts */
	uint8_t shift;	    /* bits below the stored part in the register */
	bool swapped;	    /* stored in reverse byte order */
	uint64_t imm;
};

/* Make ready, outside of signal handlers: allocates. 0 or -ENOMEM. */
int decode_init(void);

/*
 * Decode the instruction in bytes[0, nb_bytes). Async-signal-safe, from any
 * thread, provided that the calling thread cannot be interrupted by a
 * handler that calls it again.
 */
void decode_insn(const uint8_t *bytes, size_t nb_bytes,
		 struct decode_insn *insn);

/* The value that the interrupted instruction stores; at most 8 bytes. */
uint64_t decode_value(const struct decode_insn *insn, const ucontext_t *uc);

/* Facts of a fault, from its context. */
uint64_t decode_pc(const ucontext_t *uc);
void decode_skip(const struct decode_insn *insn, ucontext_t *uc);
bool decode_fault_is_write(const ucontext_t *uc);

#endif /* MODEL_DECODE_H */
