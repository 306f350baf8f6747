/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The signature in the payload of a generated frame, by which a sink recognises
 * it: stream, sequence number, and a check value over all that follows. Headers
 * before it may change in transit.
 *
 * 	 0 magic 4
 * 	 4 sequence 4 low bits of its number in the stream
 * 	 8 stream 2
 * 	10 pattern 2 bytes of it
 * 	12 head check 2 of the above
 * 	14 check 4 of the above and the pattern
 * 	18 pattern
 */

#ifndef MODEL_SIGNATURE_H
#define MODEL_SIGNATURE_H

#include <stdint.h>

/* Fits into a frame of 60 bytes, Ethernet's minimum, with IPv4 and UDP. */
#define SIGNATURE_BYTES 18u

enum signature_state {
	SIGNATURE_NONE, /* no signature */
	SIGNATURE_BROKEN, /* stream and sequence are unknown */
	SIGNATURE_CORRUPT, /* the payload differs from what was sent */
	SIGNATURE_GOOD
};

struct signature {
	uint16_t stream;
	uint32_t sequence;
};

/* Sign nb_bytes >= SIGNATURE_BYTES of payload, pattern included. */
void signature_write(const struct signature *signature, uint8_t *payload,
		     uint32_t nb_bytes);
/* Find the signature in a frame and check it. */
enum signature_state signature_read(const uint8_t *frame, uint32_t nb_bytes,
				    struct signature *signature);

#endif /* MODEL_SIGNATURE_H */
