/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a generated frame carries in its payload, by which a sink knows it
 * again: stream, sequence number, and a check of all that follows. Headers
 * before it may change on the way.
 *
 *	 0  magic	4
 *	 4  sequence	4	low bits of the number in its stream
 *	 8  stream	2
 *	10  pattern	2	bytes of it
 *	12  head check	2	of the above
 *	14  check	4	of the above and the pattern
 *	18  pattern
 */

#ifndef MODEL_SIGNATURE_H
#define MODEL_SIGNATURE_H

#include <stdint.h>

/* So that it fits a frame of 60 bytes, the least of Ethernet, in IPv4 and UDP. */
#define SIGNATURE_BYTES 18u

enum signature_state {
	SIGNATURE_NONE, /* a frame of somebody else */
	SIGNATURE_BROKEN, /* not even stream and sequence can be told */
	SIGNATURE_CORRUPT, /* what follows is not what was sent */
	SIGNATURE_GOOD
};

struct signature {
	uint16_t stream;
	uint32_t sequence;
};

/* Sign nb_bytes >= SIGNATURE_BYTES of payload, pattern included. */
void signature_write(const struct signature *signature, uint8_t *payload,
		     uint32_t nb_bytes);
/* Find and check it in a frame. */
enum signature_state signature_read(const uint8_t *frame, uint32_t nb_bytes,
				    struct signature *signature);

#endif /* MODEL_SIGNATURE_H */
