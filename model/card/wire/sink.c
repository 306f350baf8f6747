/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "signature.h"
#include "sink.h"
#include "wire.h"

enum sink_place { SINK_IN_ORDER, SINK_LATE, SINK_AGAIN };

static struct stream *
stream_get(uint32_t number)
{
	struct sink_streams *all = &segment_wires()->streams;
	struct stream *stream = &all->streams[number];

	if (!stream->is_listed) {
		stream->is_listed = true;
		all->listed[all->nb_listed++] = (uint16_t)number;
	}
	return stream;
}

void
sink_add_stream(uint32_t number, uint32_t wire)
{
	struct stream *stream = stream_get(number);

	stream->is_local = true;
	stream->wire = wire;
}

/* Mark the numbers from next to number as not seen. */
static void
window_move(struct stream *stream, uint64_t number)
{
	if (number - stream->next >= SINK_WINDOW)
		memset(stream->window, 0, sizeof(stream->window));
	else
		for (uint64_t n = stream->next; n <= number; n++)
			stream->window[n % SINK_WINDOW / 64] &=
				~(UINT64_C(1) << n % 64);
	stream->next = number + 1;
}

/* Extend the sequence to the full number nearest to the expected one. */
static uint64_t
whole_number(const struct stream *stream, uint32_t sequence)
{
	const int32_t ahead = (int32_t)(sequence - (uint32_t)stream->next);

	if (ahead < 0 && (uint64_t)-(int64_t)ahead > stream->next)
		return sequence;
	return stream->next + (uint64_t)(int64_t)ahead;
}

static enum sink_place
stream_see(struct stream *stream, uint32_t sequence)
{
	const uint64_t number = whole_number(stream, sequence);
	const bool is_late = number < stream->next;
	uint64_t *word = &stream->window[number % SINK_WINDOW / 64];
	const uint64_t bit = UINT64_C(1) << number % 64;

	if (!is_late)
		window_move(stream, number);
	else if (stream->next - number <= SINK_WINDOW && (*word & bit) != 0)
		return SINK_AGAIN;
	if (stream->next - number <= SINK_WINDOW)
		*word |= bit;
	stream->received++;
	return is_late ? SINK_LATE : SINK_IN_ORDER;
}

static void
count_known(struct sink_counters *counters, const struct signature *signature,
	    bool is_good)
{
	struct stream *stream = stream_get(signature->stream);
	const enum sink_place place = stream_see(stream, signature->sequence);

	if (!is_good) {
		stream->corrupted++;
		counters->corrupted++;
		return;
	}
	if (place == SINK_AGAIN) {
		stream->duplicated++;
		counters->duplicated++;
		return;
	}
	counters->received++;
	if (place == SINK_LATE) {
		stream->reordered++;
		counters->reordered++;
	}
}

void
sink_receive(struct sink_counters *counters, const uint8_t *frame,
	     uint32_t nb_bytes)
{
	struct signature signature;
	const enum signature_state state =
		signature_read(frame, nb_bytes, &signature);

	if (state == SIGNATURE_NONE)
		counters->foreign++;
	else if (state == SIGNATURE_BROKEN ||
		 signature.stream >= SINK_NB_STREAMS)
		counters->corrupted++;
	else
		count_known(counters, &signature, state == SIGNATURE_GOOD);
}
