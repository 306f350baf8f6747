/* SPDX-License-Identifier: BSD-3-Clause */

/* Decoder of store instructions. */

#ifndef MODEL_DECODE_H
#define MODEL_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#define DECODE_MAX_INSN_BYTES 16

enum decode_kind {
	DECODE_UNKNOWN, /* instruction unknown to decode_*.c */
	DECODE_LOAD,	/* reads the memory, or reads and writes it */
	DECODE_IMM,	/* store of a constant */
	DECODE_GPR,	/* store of a general register */
	DECODE_VECTOR,	/* store of a vector register, or part of one */
	DECODE_WIDE,	/* a plain store of more than 8 bytes */
};

struct decode_insn {
	uint8_t bytes[DECODE_MAX_INSN_BYTES];
	uint8_t length;	    /* bytes of the instruction; 0: unknown */
	uint8_t kind;	    /* enum decode_kind */
	uint8_t size_bytes; /* bytes stored, saturated */
	uint8_t reg;	    /* number of the register, private to decode_*.c */
	uint8_t shift;	    /* bits below the stored part in the register */
	bool swapped;	    /* stored in reverse byte order */
	bool is_or;	    /* sets the bits in 32-bit memory, instead of a store */
	uint64_t imm;
};

/* Initialise outside of signal handlers: it allocates memory. 0 or -ENOMEM. */
int decode_init(void);

/*
 * Decode the instruction in bytes[0, nb_bytes). Thread-safe; async-signal-safe
 * if no handler that calls it interrupts the calling thread.
 */
void decode_insn(const uint8_t *bytes, size_t nb_bytes,
		 struct decode_insn *insn);

/* The value that the interrupted instruction stores; at most 8 bytes. */
uint64_t decode_value(const struct decode_insn *insn, const ucontext_t *uc);

/* Properties of a fault, from its context. */
uint64_t decode_pc(const ucontext_t *uc);
void decode_skip(const struct decode_insn *insn, ucontext_t *uc);
bool decode_fault_is_write(const ucontext_t *uc);

#endif /* MODEL_DECODE_H */
