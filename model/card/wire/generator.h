/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Generators at the far ends of wires: built-in frames, or the launcher's from
 * a file. Call with the machine's lock held; async-signal-safe.
 */

#ifndef MODEL_GENERATOR_H
#define MODEL_GENERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "random.h"

struct wire;

enum generator_rate {
	GENERATOR_FULL, /* a frame for each posted Rx WQE */
	GENERATOR_FRAMES, /* per second */
	GENERATOR_BITS /* per second, frames only */
};

enum generator_size {
	GENERATOR_SWEEP, /* from min to max, repeatedly; fixed if equal */
	GENERATOR_RANDOM,
	GENERATOR_IMIX /* 60, 590 and 1514 bytes, 7:4:1 */
};

enum generator_ip { GENERATOR_IPV4, GENERATOR_IPV6, GENERATOR_IP_MIX };
enum generator_l4 { GENERATOR_UDP, GENERATOR_TCP, GENERATOR_L4_MIX };

/* Kinds of malformed frames (bits). They have no signature. */
#define GENERATOR_RUNT	    (1u << 0) /* shorter than Ethernet's minimum */
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
	uint64_t count; /* 0: no limit */
	enum generator_size size_kind;
	uint32_t min_bytes, max_bytes; /* without VLAN tag and FCS */
	uint32_t nb_flows; /* a stream per flow */
	uint32_t first_stream;
	enum generator_ip ip;
	enum generator_l4 l4;
	uint32_t vlan, malformed; /* probabilities, see PRNG_ALWAYS */
	uint32_t malformed_kinds;
};

struct generator {
	bool is_on;
	bool is_fed; /* frames come from the launcher */
	struct generator_settings settings;
	uint64_t next_ps; /* when the next frame is due */
	struct prng prng;
	uint64_t nb; /* frames sent with these settings */
	/* Totals. */
	uint64_t sent, bytes, malformed;
};

/* Start, or restart, with these settings; false: no streams left. */
bool generator_start(struct wire *wire,
		     const struct generator_settings *settings);
void generator_stop(struct wire *wire);

/* The port has become ready, or has more Rx WQEs. */
void generator_port_ready(struct wire *wire);
/* Send what generator_port_ready() deferred (not in sync mode). True: sent. */
bool generator_run(void);
void generator_timers(uint64_t now_ns);

/*
 * The launcher adds a frame from its file. False: the queue is full, and the
 * launcher is woken when it is half empty.
 */
bool generator_feed(struct wire *wire, const void *frame, uint32_t nb_bytes);

/* generator_frame.c: build the next frame in buf; returns its length. */
uint32_t generator_frame(struct wire *wire, uint8_t *buf, uint32_t *stream,
			 bool *is_malformed);

#endif /* MODEL_GENERATOR_H */
