/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The wires at the ports. With the machine's lock held; async-signal-safe.
 *
 * A wire has two directions. What a port sends goes out: through the wire's
 * own impairments, to its far end. If that is another port, the frame comes in
 * there: through the impairments of that port's wire, to the port.
 */

#ifndef MODEL_WIRE_H
#define MODEL_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "capture.h"
#include "config.h"
#include "frames.h"
#include "generator.h"
#include "prng.h"
#include "segment.h"
#include "sink.h"

enum wire_way {
	WIRE_OUT, /* sent by the port */
	WIRE_IN, /* to be received by it */
	NB_WIRE_WAYS
};

/* Of each direction. Chances in parts of PRNG_ALWAYS; zero: nothing happens. */
struct wire_settings {
	uint64_t bits_per_s;
	uint64_t delay_ns;
	uint64_t queue_frames; /* at most so many on their way */
	uint32_t loss, duplicate, reorder, corrupt;
};

struct wire_counters {
	uint64_t frames; /* that came to the wire */
	uint64_t lost, duplicated, reordered, corrupted; /* as it was told to */
	uint64_t overflow; /* found no room in the queue */
};

struct wire_direction {
	struct frame_queue queue; /* on their way, in the order of release */
	struct frame_queue held; /* at most one, which lets the next one pass */
	uint64_t free_at_ps; /* the last bit of the last frame is sent */
	uint64_t last_at_ns; /* nothing overtakes by itself */
	struct prng prng;
	struct wire_counters counters;
	bool is_active; /* in wires.active */
};

struct wire {
	enum model_wire kind;
	uint32_t fn, port;
	uint32_t peer; /* index of the wire at the other end of a pair */
	bool is_impaired; /* any of the settings */
	struct wire_settings settings;
	struct wire_direction way[NB_WIRE_WAYS];
	struct frame_queue outlet; /* for the launcher */
	uint64_t outlet_lost; /* found no room there, or not outside */
	uint64_t vanished; /* MODEL_WIRE_NONE */
	struct generator generator;
	struct frame_queue source; /* what it is fed with */
	struct sink_counters sink;
};

struct wires {
	bool is_busy; /* the lock's holder is changing queues */
	uint32_t nb_wires;
	struct wire wires[MODEL_MAX_PORTS];
	uint32_t nb_active;
	uint32_t active[NB_WIRE_WAYS * MODEL_MAX_PORTS]; /* wire * 2 + way */
	uint32_t nb_outlet_frames; /* that wait for the launcher */
	uint32_t next_outlet; /* it takes from the wires in turn */
	uint32_t nb_generators;
	uint32_t generators[MODEL_MAX_PORTS]; /* wires */
	bool is_generator_ready; /* one of them, noted for the device thread */
	uint32_t next_stream; /* that nobody has */
	uint64_t swept; /* frames lost with a program that was killed */
	/* A frame at work, for each direction: one leads to the other. */
	uint8_t frame[NB_WIRE_WAYS][64u << 10];
	uint8_t made[64u << 10]; /* the frame of a generator */
	struct capture capture;
	struct sink_streams streams;
	struct frame_pool pool;
};

/* Lay the wires as configured. */
void wire_init(void);
/* The lock's holder died: what it did half is undone. */
void wire_recover(void);

/* A frame leaves a port. */
void wire_send(uint32_t fn, uint32_t port, const uint8_t *frame,
	       uint32_t nb_bytes);
/* A frame comes to a port from outside: the in direction. */
void wire_arrive(struct wire *wire, const uint8_t *frame, uint32_t nb_bytes);
/* Let out what is due. */
void wire_timers(uint64_t now_ns);

/*
 * The port can receive now, or has got more WQEs for it. True when a device
 * thread has work by that.
 */
bool wire_rx_ready(uint32_t fn, uint32_t port);

/* The wire of a port, or NULL. */
struct wire *wire_of(uint32_t fn, uint32_t port);
/* Change what happens to frames from now on. */
void wire_set(struct wire *wire, const struct wire_settings *settings);

/*
 * The launcher takes the oldest frame of one of the wires whose kind it serves,
 * and says what was lost. 0: there is none.
 */
uint32_t wire_outlet_next(uint32_t *number, void *buf, uint32_t buf_bytes,
			  uint64_t *at_ns);

/* wire_way.c: one direction. What comes out of it goes to wire_released(). */
void wire_way_pass(struct wire *wire, enum wire_way way, const uint8_t *frame,
		   uint32_t nb_bytes);
void wire_way_timers(uint64_t now_ns);
void wire_released(struct wire *wire, enum wire_way way, const uint8_t *frame,
		   uint32_t nb_bytes);

#endif /* MODEL_WIRE_H */
