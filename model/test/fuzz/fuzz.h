/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Reading an input of libFuzzer, or of read_corpus.c: bytes, then zeros.
 */

#ifndef MODEL_TEST_FUZZ_H
#define MODEL_TEST_FUZZ_H

#include <sanitizer/common_interface_defs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct fuzz_input {
	const uint8_t *bytes;
	size_t nb_left;
};

static inline void
fuzz_read(struct fuzz_input *in, void *buf, size_t nb_bytes)
{
	const size_t n = nb_bytes < in->nb_left ? nb_bytes : in->nb_left;

	memset(buf, 0, nb_bytes);
	memcpy(buf, in->bytes, n);
	in->bytes += n;
	in->nb_left -= n;
}

static inline uint8_t
fuzz_u8(struct fuzz_input *in)
{
	uint8_t value;

	fuzz_read(in, &value, sizeof(value));
	return value;
}

static inline uint64_t
fuzz_u64(struct fuzz_input *in)
{
	uint64_t value;

	fuzz_read(in, &value, sizeof(value));
	return value;
}

#define FUZZ_TEXT(line)	    FUZZ_TEXT_OF(line)
#define FUZZ_TEXT_OF(value) #value

/* An invariant. The sanitizer's output remains where stderr is discarded. */
#define FUZZ_CHECK(condition)                                                    \
	do {                                                                     \
		if (!(condition)) {                                              \
			__sanitizer_report_error_summary(__FILE__ ":" FUZZ_TEXT( \
				__LINE__) ": does not hold: " #condition);       \
			abort();                                                 \
		}                                                                \
	} while (0)

/* A function that only checks: without coverage of it, executions are faster. */
#ifdef __clang__
#define FUZZ_ORACLE __attribute__((noinline, no_sanitize("coverage")))
#else
#define FUZZ_ORACLE __attribute__((noinline))
#endif

/* Each target defines these for libFuzzer. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nb_bytes);

#endif /* MODEL_TEST_FUZZ_H */
