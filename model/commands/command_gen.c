/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands for generators at the far ends of wires. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "wire.h"

#define MAX_RATE UINT64_C(1000000000000)
#define ETHERNET_BYTES 14u
#define IMIX_MAX_BYTES 1514u

struct word_value {
	const char *word;
	uint32_t value;
};

/* key=WORD[+WORD..]: the values, or-ed. */
static int
read_words(struct command_args *args, const char *key,
	   const struct word_value *words, bool are_many, uint32_t *value)
{
	const char *text = command_text(args, key), *next = text;
	const struct word_value *w;
	uint32_t all = 0;

	if (text == NULL)
		return 0;
	while (next != NULL) {
		const size_t length = strcspn(next, are_many ? "+" : "");

		for (w = words; w->word != NULL; w++)
			if (strlen(w->word) == length &&
			    strncmp(w->word, next, length) == 0)
				break;
		if (w->word == NULL)
			break;
		all |= w->value;
		next = next[length] == '+' ? next + length + 1 : NULL;
	}
	if (next != NULL)
		return command_fail(args, -EINVAL, "%s=%s: there is no '%s'; "
				    "mana-model --help lists them", key, text,
				    next);
	*value = all;
	return 1;
}

static int
read_rate(struct command_args *args, struct generator_settings *s)
{
	const char *text = command_text(args, "rate"), *end = "?";
	uint64_t amount = 0;

	if (text == NULL)
		return 0;
	if (strcmp(text, "full") == 0) {
		s->rate_kind = GENERATOR_FULL;
		return 1;
	}
	if (command_amount(text, &amount, &end) && amount != 0 &&
	    amount <= MAX_RATE) {
		s->rate = amount;
		s->rate_kind = strcmp(end, "bps") == 0 ? GENERATOR_BITS :
							 GENERATOR_FRAMES;
	}
	if (strcmp(end, "bps") != 0 && strcmp(end, "pps") != 0 && *end != '\0')
		amount = 0;
	return amount != 0 && amount <= MAX_RATE ? 1 :
		       command_fail(args, -EINVAL, "rate=%s: give full, frames "
				    "per second as 1M, or bits per second as "
				    "10Gbps", text);
}

/* N, N-M, random:N-M or imix */
static int
read_size(struct command_args *args, struct generator_settings *s)
{
	const uint32_t max = segment_config()->max_mtu + ETHERNET_BYTES;
	const char *text = command_text(args, "size"), *from = text;
	unsigned long first, last;
	char *end;

	if (text == NULL)
		return 0;
	if (strcmp(text, "imix") == 0 && max >= IMIX_MAX_BYTES) {
		s->size_kind = GENERATOR_IMIX;
		return 1;
	}
	s->size_kind = GENERATOR_SWEEP;
	if (strncmp(text, "random:", 7) == 0) {
		s->size_kind = GENERATOR_RANDOM;
		from += 7;
	}
	first = last = strtoul(from, &end, 10);
	if (*end == '-')
		last = strtoul(end + 1, &end, 10);
	if (*end != '\0' || first < GENERATOR_MIN_BYTES || last < first ||
	    last > max)
		return command_fail(args, -EINVAL, "size=%s: give N, N-M, "
				    "random:N-M or imix, with sizes from %u to "
				    "%u (--max-mtu)", text, GENERATOR_MIN_BYTES,
				    max);
	s->min_bytes = (uint32_t)first;
	s->max_bytes = (uint32_t)last;
	return 1;
}

static int
read_flows(struct command_args *args, struct generator_settings *s)
{
	static const struct word_value ips[] = {
		{ "4", GENERATOR_IPV4 },
		{ "6", GENERATOR_IPV6 },
		{ "mix", GENERATOR_IP_MIX },
		{ NULL, 0 },
	};
	static const struct word_value l4s[] = {
		{ "udp", GENERATOR_UDP },
		{ "tcp", GENERATOR_TCP },
		{ "mix", GENERATOR_L4_MIX },
		{ NULL, 0 },
	};
	uint64_t nb_flows = s->nb_flows, stream = s->first_stream;
	uint32_t ip = s->ip, l4 = s->l4;
	int ret;

	ret = command_number(args, "flows", 1, SINK_NB_STREAMS, &nb_flows);
	if (ret >= 0)
		ret = command_number(args, "stream", 0, SINK_NB_STREAMS - 1,
				     &stream);
	if (ret >= 0)
		ret = read_words(args, "ip", ips, false, &ip);
	if (ret >= 0)
		ret = read_words(args, "l4", l4s, false, &l4);
	s->nb_flows = (uint32_t)nb_flows;
	s->first_stream = (uint32_t)stream;
	s->ip = ip;
	s->l4 = l4;
	return ret;
}

static int
read_malformed(struct command_args *args, struct generator_settings *s)
{
	static const struct word_value kinds[] = {
		{ "runt", GENERATOR_RUNT },
		{ "ipsum", GENERATOR_IP_CSUM },
		{ "l4sum", GENERATOR_L4_CSUM },
		{ "truncated", GENERATOR_TRUNCATED },
		{ "length", GENERATOR_LENGTH },
		{ "noise", GENERATOR_NOISE },
		{ NULL, 0 },
	};
	int ret = command_chance(args, "malformed", &s->malformed);

	return ret < 0 ? ret : read_words(args, "kinds", kinds, true,
					  &s->malformed_kinds);
}

static int
read_settings(struct command_args *args, struct generator_settings *s,
	      bool is_fed)
{
	int ret = read_rate(args, s);

	if (ret >= 0)
		ret = command_number(args, "count", 0, UINT64_MAX, &s->count);
	if (is_fed)
		return ret;
	if (ret >= 0)
		ret = read_size(args, s);
	if (ret >= 0)
		ret = read_flows(args, s);
	if (ret >= 0)
		ret = command_chance(args, "vlan", &s->vlan);
	if (ret >= 0)
		ret = read_malformed(args, s);
	return ret;
}

static int
run_gen(struct command_args *args)
{
	struct generator_settings settings = {
		.min_bytes = 64,
		.max_bytes = 64,
		.nb_flows = 1,
		.malformed_kinds = GENERATOR_ALL_KINDS,
	};
	uint32_t fn, port;
	bool is_stop, is_started = true;
	struct wire *wire;
	int ret = command_port(args, &fn, &port);

	if (ret < 0)
		return ret;
	wire = wire_of(fn, port);
	is_stop = command_word(args, "stop");
	if (wire->kind != MODEL_WIRE_GEN && !wire->generator.is_fed)
		return command_fail(args, -EINVAL, "the wire of the port ends "
				    "at no generator: --wire N=gen");
	settings.first_stream = segment_wires()->next_stream;
	ret = read_settings(args, &settings, wire->generator.is_fed);
	if (ret >= 0)
		ret = command_end(args);
	if (ret < 0)
		return ret;
	segment_lock();
	if (is_stop)
		generator_stop(wire);
	else
		is_started = generator_start(wire, &settings);
	segment_unlock();
	return is_started ? 0 :
		       command_fail(args, -ENOSPC, "there are %u streams in "
				    "all: give fewer flows=N, or a lower "
				    "stream=N", SINK_NB_STREAMS);
}

const struct command commands_gen[] = {
	{ "gen",
	  "port=N [stop] [rate=full|1M|10Gbps] [count=N] "
	  "[size=N|N-M|random:N-M|imix] [flows=N] [ip=4|6|mix] "
	  "[l4=udp|tcp|mix] [vlan=1%] [malformed=1%] "
	  "[kinds=runt+ipsum+l4sum+truncated+length+noise] [stream=N]",
	  "start, restart or stop the generator at the port's wire",
	  run_gen },
	{ NULL, NULL, NULL, NULL },
};
