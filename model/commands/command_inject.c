/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands that inject faults into packets and completions: inject.h. */

#include <errno.h>
#include <string.h>

#include "card.h"
#include "command.h"
#include "inject.h"
#include "segment.h"

/* A held CQE is written after this time even if no other queue completes. */
#define REORDER_DEFAULT_NS 1000000u

/* tx or rx: 0 or -EINVAL. */
static int
read_direction(struct command_args *args, bool *is_tx)
{
	const bool rx = command_word(args, "rx");

	*is_tx = command_word(args, "tx");
	return *is_tx != rx ? 0 : command_fail(args, -EINVAL, "give tx or rx");
}

/* queue=K, by default all. */
static int
read_queue(struct command_args *args, uint32_t *queue)
{
	const char *text = command_text(args, "queue");
	uint64_t n = 0;
	char *end;

	*queue = INJECT_ANY_QUEUE;
	if (text == NULL || strcmp(text, "all") == 0)
		return 0;
	if (command_read_number(text, &n, &end) && *end == '\0' && n < 1024) {
		*queue = (uint32_t)n;
		return 0;
	}
	return command_fail(args, -EINVAL, "queue=%s: give a number from 0 to "
			    "1023, or all", text);
}

/* Which packets: packet= count= every= chance=. */
static int
read_when(struct command_args *args, struct inject_rule *rule)
{
	uint64_t chance = 100;
	bool has_every;
	int ret;

	rule->first = rule->every = rule->count = 1;
	ret = command_number(args, "packet", 1, UINT64_MAX, &rule->first);
	if (ret < 0)
		return ret;
	ret = command_number(args, "every", 1, UINT64_MAX, &rule->every);
	if (ret < 0)
		return ret;
	has_every = ret > 0;
	ret = command_number(args, "chance", 1, 100, &chance);
	if (ret < 0)
		return ret;
	rule->chance = (uint32_t)chance;
	if (has_every || ret > 0)
		rule->count = 0; /* no limit */
	ret = command_number(args, "count", 1, UINT64_MAX, &rule->count);
	return ret < 0 ? ret : 0;
}

/* Parse where and when; rule->kind and is_tx are set already. */
static int
read_rule(struct command_args *args, struct inject_rule *rule)
{
	int ret = command_port(args, &rule->fn, &rule->port);

	if (ret == 0)
		ret = read_queue(args, &rule->queue);
	return ret < 0 ? ret : read_when(args, rule);
}

/* The result of inject_add(). */
static int
added(struct command_args *args, int ret)
{
	return ret == 0 ? 0 :
			  command_fail(args, ret, "there are %d rules already: "
				       "inject off removes them",
				       INJECT_MAX_RULES);
}

/* All arguments are parsed: add the rule. */
static int
add(struct command_args *args, const struct inject_rule *rule)
{
	int ret = command_end(args);

	if (ret < 0)
		return ret;
	segment_lock();
	ret = inject_add(rule);
	segment_unlock();
	return added(args, ret);
}

/* A required number. */
static int
need_number(struct command_args *args, const char *key, uint64_t min,
	    uint64_t max, uint32_t *value)
{
	uint64_t n = 0;
	int ret = command_number(args, key, min, max, &n);

	*value = (uint32_t)n;
	if (ret != 0)
		return ret < 0 ? ret : 0;
	return command_fail(args, -EINVAL, "give %s=N, from %llu to %llu", key,
			    (unsigned long long)min, (unsigned long long)max);
}

static int
run_cqe(struct command_args *args)
{
	struct inject_rule rule = { .kind = INJECT_CQE };
	int ret = read_direction(args, &rule.is_tx);

	if (ret == 0 && rule.is_tx)
		ret = need_number(args, "type", HW_CQE_TX_SA_DROP,
				  HW_CQE_TX_GDMA_ERR, &rule.value);
	else if (ret == 0)
		ret = need_number(args, "type", HW_CQE_RX_TRUNCATED,
				  HW_CQE_RX_TRUNCATED, &rule.value);
	if (ret == 0)
		ret = read_rule(args, &rule);
	return ret < 0 ? ret : add(args, &rule);
}

/* NB_INJECT_KINDS: there is no such kind. */
static enum inject_kind
kind_of(const char *name)
{
	int kind = 0;

	while (kind < NB_INJECT_KINDS &&
	       strcmp(name, inject_kind_name((enum inject_kind)kind)) != 0)
		kind++;
	return (enum inject_kind)kind;
}

#define KIND(name) (1u << INJECT_##name)
/* Those that follow the packet's own completion, unless told otherwise. */
#define EXTRA_KINDS                                                  \
	(KIND(ZERO) | KIND(WRONG_QUEUE) | KIND(WRONG_OWNER) |        \
	 KIND(WRONG_IS_SQ) | KIND(DUPLICATE) | KIND(SPURIOUS) |      \
	 KIND(REPLAYED) | KIND(RANDOM))
#define BOGUS_KINDS (EXTRA_KINDS | KIND(LONG) | KIND(TYPE) | KIND(VENDOR))

static int
fail_what(struct command_args *args, const char *what)
{
	char names[160] = "";

	for (int kind = 0; kind < NB_INJECT_KINDS; kind++) {
		if ((BOGUS_KINDS >> kind & 1) == 0)
			continue;
		strcat(names, " ");
		strcat(names, inject_kind_name((enum inject_kind)kind));
	}
	return command_fail(args, -EINVAL, "what=%s: give one of%s",
			    what != NULL ? what : "", names);
}

/* what=... of bogus, and its value. */
static int
read_bogus(struct command_args *args, struct inject_rule *rule)
{
	const char *what = command_text(args, "what");
	enum inject_kind kind = what != NULL ? kind_of(what) : NB_INJECT_KINDS;
	uint64_t value = 0;
	int ret = 0;

	if (kind == NB_INJECT_KINDS || (BOGUS_KINDS >> kind & 1) == 0)
		return fail_what(args, what);
	rule->kind = kind;
	if (rule->is_tx && (kind == INJECT_LONG || kind == INJECT_ZERO))
		return command_fail(args, -EINVAL, "what=%s: a Tx completion has no "
				    "length; give rx", what);
	if (kind == INJECT_TYPE)
		return need_number(args, "type", 0, HW_CQE_TYPE_M, &rule->value);
	if (kind == INJECT_LONG) {
		value = UINT16_MAX;
		ret = command_number(args, "bytes", 1, UINT16_MAX, &value);
	} else if (kind == INJECT_VENDOR) {
		value = 0x20a; /* Tx: invalid state */
		ret = command_number(args, "error", 1, 0xffffff, &value);
	}
	rule->value = (uint32_t)value;
	return ret < 0 ? ret : 0;
}

static int
run_bogus(struct command_args *args)
{
	struct inject_rule rule = { 0 };
	int ret = read_direction(args, &rule.is_tx);
	bool instead, extra;

	if (ret == 0)
		ret = read_bogus(args, &rule);
	if (ret == 0)
		ret = read_rule(args, &rule);
	if (ret < 0)
		return ret;
	/* Kinds that change a completion replace it; others add one. */
	rule.is_extra = (EXTRA_KINDS >> rule.kind & 1) != 0;
	instead = command_word(args, "instead");
	extra = command_word(args, "extra");
	if (instead && extra)
		return command_fail(args, -EINVAL, "give extra or instead");
	if (instead || extra)
		rule.is_extra = extra;
	if (instead && (rule.kind == INJECT_DUPLICATE ||
			rule.kind == INJECT_SPURIOUS))
		return command_fail(args, -EINVAL, "what=%s is always extra",
				    inject_kind_name(rule.kind));
	return add(args, &rule);
}

static int
run_truncate(struct command_args *args)
{
	struct inject_rule rule = { .kind = INJECT_TRUNCATE };
	int ret = need_number(args, "bytes", 0, UINT16_MAX, &rule.value);

	(void)command_word(args, "rx"); /* rx is the only direction */
	if (ret == 0)
		ret = read_rule(args, &rule);
	return ret < 0 ? ret : add(args, &rule);
}

/* Commands that have the name of their kind. */
static int
run_simple(struct command_args *args)
{
	const enum inject_kind kind = kind_of(args->command->name);
	struct inject_rule rule = { .kind = kind };
	int ret = read_direction(args, &rule.is_tx);

	if (ret == 0)
		ret = read_rule(args, &rule);
	if (ret == 0 && kind == INJECT_REORDER) {
		rule.for_ns = REORDER_DEFAULT_NS;
		ret = command_time(args, "for", &rule.for_ns);
	} else if (ret == 0 && kind == INJECT_DELAY) {
		ret = command_time(args, "for", &rule.for_ns);
		if (ret == 0)
			ret = command_fail(args, -EINVAL, "the time is missing: "
					   "give for=20us");
	}
	return ret < 0 ? ret : add(args, &rule);
}

/* port=N [queue=K|all] [tx|rx], of stall and resume. */
static int
read_stall(struct command_args *args, struct inject_rule *rule, bool *is_tx,
	   bool *is_rx)
{
	int ret = command_port(args, &rule->fn, &rule->port);

	if (ret == 0)
		ret = read_queue(args, &rule->queue);
	*is_tx = command_word(args, "tx");
	*is_rx = command_word(args, "rx");
	if (!*is_tx && !*is_rx)
		*is_tx = *is_rx = true;
	return ret < 0 ? ret : command_end(args);
}

static int
run_stall(struct command_args *args)
{
	struct inject_rule rule = { .kind = INJECT_STALL };
	bool is_tx, is_rx;
	int ret = read_stall(args, &rule, &is_tx, &is_rx);

	if (ret < 0)
		return ret;
	segment_lock();
	rule.is_tx = true;
	if (is_tx)
		ret = inject_add(&rule);
	rule.is_tx = false;
	if (is_rx && ret == 0)
		ret = inject_add(&rule);
	segment_unlock();
	return added(args, ret);
}

static int
run_resume(struct command_args *args)
{
	struct inject_rule rule = { .kind = INJECT_STALL };
	int tx = -ENOENT, rx = -ENOENT;
	bool is_tx, is_rx;
	int ret = read_stall(args, &rule, &is_tx, &is_rx);

	if (ret < 0)
		return ret;
	segment_lock();
	if (is_tx)
		tx = card_resume(rule.fn, rule.port, rule.queue, true);
	if (is_rx)
		rx = card_resume(rule.fn, rule.port, rule.queue, false);
	segment_unlock();
	return tx == 0 || rx == 0 ?
		       0 :
		       command_fail(args, -ENOENT, "no such queue of the port "
				    "is stalled");
}

static int
run_inject(struct command_args *args)
{
	int ret;

	if (!command_word(args, "off"))
		return command_fail(args, -EINVAL, "give off");
	ret = command_end(args);
	if (ret < 0)
		return ret;
	segment_lock();
	card_clear_faults();
	segment_unlock();
	return 0;
}

#define WHERE "port=N [queue=K] "
#define WHEN  " [packet=K] [every=N] [count=N] [chance=P]"

const struct command commands_inject[] = {
	{ "cqe", WHERE "tx|rx type=T" WHEN,
	  "packet K from now on (default 1) ends in an error completion: tx 33 to "
	  "42, it is not sent; rx 4, it is truncated. Then every N-th, count times, "
	  "each with a chance of P per cent", run_cqe },
	{ "bogus", WHERE "tx|rx what=W [extra|instead]" WHEN,
	  "write an invalid completion in addition to (extra) or instead of that of "
	  "packet K: long [bytes=N], zero, type type=T, wrong-queue, wrong-owner, "
	  "wrong-is-sq, duplicate, spurious, replayed, vendor [error=E], random",
	  run_bogus },
	{ "truncate", WHERE "bytes=N" WHEN,
	  "receive only N bytes of packet K", run_truncate },
	{ "lose", WHERE "tx|rx" WHEN, "never write the completion of packet K",
	  run_simple },
	{ "delay", WHERE "tx|rx for=TIME" WHEN,
	  "write the completion of packet K later, and those of its queue after it",
	  run_simple },
	{ "reorder", WHERE "tx|rx [for=TIME]" WHEN,
	  "write the completion of packet K after one of another queue of the "
	  "function, or after TIME (1ms)", run_simple },
	{ "overflow", WHERE "tx|rx" WHEN,
	  "after packet K fill the CQ with completions and overtake its reader",
	  run_simple },
	{ "stall", "port=N [queue=K|all] [tx|rx]",
	  "until resume, process no Tx WQE and write no Rx completion", run_stall },
	{ "resume", "port=N [queue=K|all] [tx|rx]", "end a stall", run_resume },
	{ "inject", "off", "end cqe, bogus, truncate, lose, delay, reorder, "
	  "overflow and stall; write held completions",
	  run_inject },
	{ NULL, NULL, NULL, NULL },
};
