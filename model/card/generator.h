/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Generators at the far ends of wires: a built-in one, and what the launcher
 * reads from a file. With the machine's lock held; async-signal-safe.
 */

#ifndef MODEL_GENERATOR_H
#define MODEL_GENERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "prng.h"

struct wire;

enum generator_rate {
	GENERATOR_FULL, /* a frame for each receive WQE that is posted */
	GENERATOR_FRAMES, /* per second */
	GENERATOR_BITS /* per second, of the frames themselves */
};

enum generator_size {
	GENERATOR_SWEEP, /* from min to max, again and again; fixed if equal */
	GENERATOR_RANDOM,
	GENERATOR_IMIX /* 60, 590 and 1514 bytes, 7:4:1 */
};

enum generator_ip { GENERATOR_IPV4, GENERATOR_IPV6, GENERATOR_IP_MIX };
enum generator_l4 { GENERATOR_UDP, GENERATOR_TCP, GENERATOR_L4_MIX };

/* In what way a frame is malformed; bits. Such frames are not signed. */
#define GENERATOR_RUNT	    (1u << 0) /* shorter than Ethernet's least */
#define GENERATOR_IP_CSUM   (1u << 1)
#define GENERATOR_L4_CSUM   (1u << 2)
#define GENERATOR_TRUNCATED (1u << 3) /* ends within its headers */
#define GENERATOR_LENGTH    (1u << 4) /* the IP header's length is wrong */
#define GENERATOR_NOISE	    (1u << 5) /* random bytes */
#define GENERATOR_NB_KINDS  6u
#define GENERATOR_ALL_KINDS ((1u << GENERATOR_NB_KINDS) - 1)

#define GENERATOR_MIN_BYTES 60u

struct generator_settings {
	enum generator_rate rate_kind;
	uint64_t rate;
	uint64_t count; /* 0: no end */
	enum generator_size size_kind;
	uint32_t min_bytes, max_bytes; /* without tag and check sequence */
	uint32_t nb_flows; /* each is a stream */
	uint32_t first_stream;
	enum generator_ip ip;
	enum generator_l4 l4;
	uint32_t vlan, malformed; /* shares, in parts of PRNG_ALWAYS */
	uint32_t malformed_kinds;
};

struct generator {
	bool is_on;
	bool is_fed; /* frames come from the launcher */
	struct generator_settings settings;
	uint64_t next_ps; /* when the next frame is due */
	struct prng prng;
	uint64_t nb; /* frames of these settings */
	/* In all. */
	uint64_t sent, bytes, malformed;
};

/* Start with these settings, again if it was on; false: no streams left. */
bool generator_start(struct wire *wire,
		     const struct generator_settings *settings);
void generator_stop(struct wire *wire);

/* The port can receive, or can receive more. */
void generator_port_ready(struct wire *wire);
/* What was noted by it in other modes than the synchronous: any work done? */
bool generator_run(void);
void generator_timers(uint64_t now_ns);

/*
 * The launcher feeds one: false when it is full, which makes it kick when it
 * is half empty.
 */
bool generator_feed(struct wire *wire, const void *frame, uint32_t nb_bytes);

/* generator_frame.c: the next frame into buf; its length. */
uint32_t generator_frame(struct wire *wire, uint8_t *buf, uint32_t *stream,
			 bool *is_malformed);

#endif /* MODEL_GENERATOR_H */
