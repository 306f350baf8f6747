/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The wires of the ports. Call these with the machine's lock held; they are
 * async-signal-safe.
 *
 * A wire has two directions. Frames that a port sends go out: through the
 * impairments of its wire to the far end. If the far end is another port, they
 * come in there: through the impairments of that port's wire to the port.
 */

#ifndef MODEL_WIRE_H
#define MODEL_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "capture.h"
#include "config.h"
#include "frames.h"
#include "generator.h"
#include "random.h"
#include "segment.h"
#include "sink.h"

enum wire_way {
	WIRE_OUT, /* sent by the port */
	WIRE_IN, /* received by the port */
	NB_WIRE_WAYS
};

/* Both directions. Probabilities: see PRNG_ALWAYS. Zero: no impairment. */
struct wire_settings {
	uint64_t bits_per_s;
	uint64_t delay_ns;
	uint64_t queue_frames; /* limit of frames in flight; 0: none */
	uint32_t loss, duplicate, reorder, corrupt;
};

struct wire_counters {
	uint64_t frames; /* frames that entered the wire */
	uint64_t lost, duplicated, reordered, corrupted; /* by impairments */
	uint64_t overflow; /* dropped: the queue was full */
};

struct wire_direction {
	struct frame_queue queue; /* frames in flight, in the order of release */
	/* At most one frame, which the next one overtakes. */
	struct frame_queue held;
	uint64_t free_at_ps; /* end of the last frame's transmission */
	/* Release time of the last frame: no frame overtakes it. */
	uint64_t last_at_ns;
	struct prng prng;
	struct wire_counters counters;
	bool is_active; /* in wires.active */
};

struct wire {
	enum model_wire kind;
	uint32_t fn, port;
	uint32_t peer; /* index of the wire at the other end of a pair */
	bool is_impaired; /* an impairment is set */
	struct wire_settings settings;
	struct wire_direction way[NB_WIRE_WAYS];
	struct frame_queue backend; /* frames for the launcher to send */
	uint64_t backend_lost; /* frames dropped there or outside */
	uint64_t vanished; /* MODEL_WIRE_NONE */
	struct generator generator;
	struct frame_queue source; /* frames from the launcher's file */
	struct sink_counters sink;
};

struct wires {
	bool is_busy; /* the lock's holder is changing queues */
	uint32_t nb_wires;
	struct wire wires[MODEL_MAX_PORTS];
	uint32_t nb_active;
	uint32_t active[NB_WIRE_WAYS * MODEL_MAX_PORTS]; /* wire * 2 + way */
	uint32_t nb_backend_frames; /* frames waiting for the launcher */
	uint32_t next_backend; /* the launcher serves the wires in turn */
	uint32_t nb_generators;
	uint32_t generators[MODEL_MAX_PORTS]; /* wires */
	bool is_generator_ready; /* the device thread is to run a generator */
	uint32_t next_stream; /* first unused number */
	uint64_t swept; /* frames lost because a program was killed */
	/* The frame in processing; an outgoing one becomes an incoming one. */
	uint8_t frame[NB_WIRE_WAYS][64u << 10];
	uint8_t made[64u << 10]; /* a generator's frame */
	struct capture capture;
	struct sink_streams streams;
	struct frame_pool pool;
};

/* Set up the wires as configured. */
void wire_init(void);
/* The lock's holder died: repair the queues. */
void wire_recover(void);

/* A frame leaves a port. */
void wire_send(uint32_t fn, uint32_t port, const uint8_t *frame,
	       uint32_t nb_bytes);
/* A frame comes to a port from outside: in direction. */
void wire_arrive(struct wire *wire, const uint8_t *frame, uint32_t nb_bytes);
/* Release the frames that are due. */
void wire_timers(uint64_t now_ns);

/* The port became ready or has more WQEs. True: work for the device thread. */
bool wire_rx_ready(uint32_t fn, uint32_t port);

/* The wire of a port, or NULL. */
struct wire *wire_of(uint32_t fn, uint32_t port);
/* Change the settings, for frames from now on. */
void wire_set(struct wire *wire, const struct wire_settings *settings);

/*
 * For the launcher: take the oldest frame of a wire of a kind that it serves.
 * Returns the length; 0: no frame.
 */
uint32_t wire_backend_next(uint32_t *number, void *buf, uint32_t buf_bytes,
			   uint64_t *at_ns);

/* wire_way.c: one direction. It passes released frames to wire_released(). */
void wire_way_pass(struct wire *wire, enum wire_way way, const uint8_t *frame,
		   uint32_t nb_bytes);
void wire_way_timers(uint64_t now_ns);
void wire_released(struct wire *wire, enum wire_way way, const uint8_t *frame,
		   uint32_t nb_bytes);

#endif /* MODEL_WIRE_H */
