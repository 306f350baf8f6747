/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands for impairments of a port's wire. */

#include <errno.h>
#include <string.h>

#include "command.h"
#include "wire.h"

/* 1 Tbit/s: a byte takes 8 ps. */
#define MIN_BITS_PER_S 1000u
#define MAX_BITS_PER_S UINT64_C(1000000000000)
#define MAX_QUEUE      UINT32_MAX

static int
read_bandwidth(struct command_args *args, uint64_t *bits_per_s)
{
	const char *text = command_text(args, "bandwidth");
	uint64_t amount;
	const char *end;

	if (text == NULL)
		return 0;
	if (!command_amount(text, &amount, &end) ||
	    (*end != '\0' && strcmp(end, "bps") != 0) ||
	    (amount != 0 && amount < MIN_BITS_PER_S) || amount > MAX_BITS_PER_S)
		return command_fail(args, -EINVAL,
				    "bandwidth=%s: give bits per second as 10G "
				    "or 2.5M, from 1k to 1000G, or 0 for no "
				    "limit", text);
	*bits_per_s = amount;
	return 1;
}

static int
read_settings(struct command_args *args, struct wire_settings *to)
{
	int ret;

	if (command_word(args, "clear"))
		memset(to, 0, sizeof(*to));
	ret = read_bandwidth(args, &to->bits_per_s);
	if (ret >= 0)
		ret = command_time(args, "delay", &to->delay_ns);
	if (ret >= 0)
		ret = command_chance(args, "loss", &to->loss);
	if (ret >= 0)
		ret = command_chance(args, "duplicate", &to->duplicate);
	if (ret >= 0)
		ret = command_chance(args, "reorder", &to->reorder);
	if (ret >= 0)
		ret = command_chance(args, "corrupt", &to->corrupt);
	if (ret >= 0)
		ret = command_number(args, "queue", 0, MAX_QUEUE,
				     &to->queue_frames);
	return ret;
}

static int
run_wire(struct command_args *args)
{
	struct wire_settings settings;
	uint32_t fn, port;
	int ret = command_port(args, &fn, &port);

	if (ret < 0)
		return ret;
	segment_lock();
	settings = wire_of(fn, port)->settings;
	segment_unlock();
	ret = read_settings(args, &settings);
	if (ret >= 0)
		ret = command_end(args);
	if (ret < 0)
		return ret;
	segment_lock();
	wire_set(wire_of(fn, port), &settings);
	segment_unlock();
	return 0;
}

const struct command commands_wire[] = {
	{ "wire",
	  "port=N [clear] [bandwidth=10G] [delay=20us] [loss=1%] "
	  "[duplicate=1%] [reorder=1%] [corrupt=1%] [queue=N]",
	  "impair both directions of the port's wire; omitted arguments keep their "
	  "values; clear resets all",
	  run_wire },
	{ NULL, NULL, NULL, NULL },
};
