/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include "clock.h"
#include "completion.h"
#include "inject_card.h"
#include "mem.h"
#include "random.h"
#include "trace.h"

static const char *const kind_names[NB_INJECT_KINDS] = {
#define INJECT_NAME(name, text) [INJECT_##name] = text,
	INJECT_KINDS(INJECT_NAME)
#undef INJECT_NAME
};

/* Rules for the packet; all others are for its completion. */
#define PACKET_KINDS (1u << INJECT_CQE | 1u << INJECT_TRUNCATE)
#define STATE_KINDS  (1u << INJECT_STALL)

const char *
inject_kind_name(enum inject_kind kind)
{
	return kind_names[kind];
}

bool
inject_kind_is_bogus(enum inject_kind kind)
{
	return kind >= INJECT_LONG;
}

static struct inject *
state(void)
{
	return &segment_card()->inject;
}

/* Injection is active with a rule, a hit packet, or a held completion. */
static void
arm(void)
{
	const struct inject *inject = state();
	bool is_armed = inject->nb_queues > 0 || inject->rx.nb > 0;
	uint32_t i;

	for (i = 0; i < INJECT_MAX_RULES; i++)
		is_armed = is_armed || inject->is_rule[i];
	segment_card()->is_armed = is_armed;
}

/* The queue's number among the existing ones of its port and direction. */
static uint32_t
queue_number(const struct card_function *f, const struct wq *wq)
{
	uint32_t first = wq->is_sq ? 0 : CARD_MAX_QUEUES, n = 0, i;

	for (i = first; &f->wqs[i] != wq; i++)
		if (f->wqs[i].is_alive && f->wqs[i].port == wq->port)
			n++;
	return n;
}

static bool
matches(const struct inject_rule *rule, const struct card_function *f,
	const struct wq *wq)
{
	return rule->fn == wq->fn && rule->port == wq->port &&
	       rule->is_tx == wq->is_sq &&
	       (rule->queue == INJECT_ANY_QUEUE ||
		rule->queue == queue_number(f, wq));
}

static void
count(const struct inject_rule *rule)
{
	struct card_port *port = card_port(rule->fn, rule->port);

	port->injected[rule->is_tx][rule->kind]++;
	trace_event("kind=inject port=%u dir=%s what=%s",
		    trace_port(rule->fn, rule->port),
		    rule->is_tx ? "tx" : "rx", kind_names[rule->kind]);
}

/* Count a packet for a rule. True if the rule hits it. */
static bool
is_hit(struct inject_rule *rule)
{
	if (++rule->nb_seen < rule->first ||
	    (rule->nb_seen - rule->first) % rule->every != 0)
		return false;
	if (rule->chance < 100 &&
	    random_below(RANDOM_FAULT_CHANCE, 100) >= rule->chance)
		return false;
	rule->nb_hits++;
	return true;
}

/* Count for rule i, and copy it if it hits. */
static void
take_if_hit(uint32_t i, struct inject_hits *hits)
{
	struct inject *inject = state();
	struct inject_rule *rule = &inject->rules[i];

	if (hits->nb == INJECT_MAX_HITS || !is_hit(rule))
		return;
	count(rule);
	hits->rule[hits->nb++] = *rule;
	if (rule->nb_hits == rule->count)
		inject->is_rule[i] = false;
}

/* Find the rules of these kinds that hit the queue's next packet. */
static void
find_hits(struct card_function *f, const struct wq *wq, uint32_t kinds,
	  struct inject_hits *hits)
{
	const struct inject *inject = state();
	uint32_t i;

	hits->nb = 0;
	for (i = 0; i < INJECT_MAX_RULES; i++) {
		const struct inject_rule *rule = &inject->rules[i];

		if (inject->is_rule[i] && (1u << rule->kind & kinds) != 0 &&
		    matches(rule, f, wq))
			take_if_hit(i, hits);
	}
}

bool
inject_is_stalled(struct card_function *f, const struct wq *wq)
{
	const struct inject *inject = state();
	uint32_t i;

	for (i = 0; i < INJECT_MAX_RULES; i++)
		if (inject->is_rule[i] && inject->rules[i].kind == INJECT_STALL &&
		    matches(&inject->rules[i], f, wq))
			return true;
	return false;
}

int
inject_tx(struct card_function *f, struct wq *sq, uint32_t *vendor_err)
{
	struct inject_hits hits;

	find_hits(f, sq, PACKET_KINDS, &hits);
	arm();
	if (hits.nb == 0)
		return HW_CQE_TX_OKAY;
	if (hits.rule[0].value == HW_CQE_TX_GDMA_ERR)
		*vendor_err = HW_VENDOR_TX_CORRUPT_WQE;
	return (int)hits.rule[0].value;
}

/* An unknown type replaces the packet's CQE, and the quirk leaves the WQE. */
static bool
keeps_wqe(const struct inject_rule *rule)
{
	const bool is_known = (rule->value >= HW_CQE_RX_OKAY &&
			       rule->value <= HW_CQE_RX_TRUNCATED) ||
			      rule->value == HW_CQE_RX_COALESCED_8;

	return rule->kind == INJECT_TYPE && !rule->is_extra && !is_known &&
	       nic_quirk(QUIRK_RX_UNKNOWN_TYPE_KEEPS);
}

struct inject_rx
inject_rx(struct card_function *f, struct wq *rq,
	  void (*flush)(struct card_function *f, struct wq *rq))
{
	struct inject_rx what = { .nb_bytes = UINT32_MAX };
	struct inject *inject = state();
	struct inject_hits hits;
	uint32_t i;

	inject->rx.nb = 0;
	find_hits(f, rq, ~STATE_KINDS, &hits);
	for (i = 0; i < hits.nb; i++) {
		const struct inject_rule *rule = &hits.rule[i];

		what.keeps_wqe = what.keeps_wqe || keeps_wqe(rule);
		if ((1u << rule->kind & PACKET_KINDS) == 0)
			continue;
		what.is_truncated = true;
		if (rule->kind == INJECT_TRUNCATE && rule->value < what.nb_bytes)
			what.nb_bytes = rule->value;
	}
	what.is_hit = hits.nb > 0;
	if (!what.is_hit)
		return what;
	/* Write the open CQE, whose packets are not affected. */
	flush(f, rq);
	inject->rx_fn = rq->fn;
	inject->rx_wq = (uint32_t)(rq - f->wqs);
	inject->rx = hits;
	arm();
	return what;
}

/* The rules that hit a CQE that is about to be written. */
static void
take_hits(struct card_function *f, const struct wq *wq, struct inject_hits *hits)
{
	struct inject *inject = state();

	if (wq->is_sq) {
		find_hits(f, wq, ~(PACKET_KINDS | STATE_KINDS), hits);
		return;
	}
	hits->nb = 0;
	if (inject->rx.nb > 0 && inject->rx_fn == wq->fn &&
	    inject->rx_wq == (uint32_t)(wq - f->wqs))
		*hits = inject->rx;
	inject->rx.nb = 0;
}

/* Copies of a CQE, until the device is a lap ahead of the driver. */
static void
overflow(struct card_function *f, struct wq *wq, const struct inject_cqe *own)
{
	struct inject_cqe copy = *own;
	uint32_t n = f->cqs[wq->cq].nb_cqes;

	copy.is_extra = true;
	while (n-- > 0)
		inject_put(f, wq, &copy, 0, NULL);
}

void
inject_complete(struct card_function *f, struct wq *wq,
		const uint8_t cqe[HW_CQE_BYTES], uint32_t wqe_bytes)
{
	const struct inject_rule *holds = NULL;
	struct inject_cqe own = { 0 }, extra[INJECT_MAX_HITS];
	uint32_t nb_extra = 0, i;
	bool is_lost = false, is_over = false;
	struct inject_hits hits;

	memcpy(own.cqe, cqe, HW_CQE_BYTES);
	take_hits(f, wq, &hits);
	for (i = 0; i < hits.nb; i++) {
		const struct inject_rule *rule = &hits.rule[i];

		is_lost = is_lost || rule->kind == INJECT_LOSE;
		is_over = is_over || rule->kind == INJECT_OVERFLOW;
		if (rule->kind == INJECT_DELAY || rule->kind == INJECT_REORDER)
			holds = rule;
		if (rule->kind == INJECT_SPURIOUS && wq->is_sq) {
			wq->nb_spurious++;
		} else if (inject_kind_is_bogus(rule->kind)) {
			if (!rule->is_extra) {
				inject_bogus(f, wq, rule, &own);
				continue;
			}
			extra[nb_extra] = (struct inject_cqe){ 0 };
			memcpy(extra[nb_extra].cqe, cqe, HW_CQE_BYTES);
			inject_bogus(f, wq, rule, &extra[nb_extra++]);
		}
	}
	if (is_lost)
		wq->ci += wqe_bytes;
	else
		inject_put(f, wq, &own, wqe_bytes, holds);
	for (i = 0; i < nb_extra; i++)
		inject_put(f, wq, &extra[i], 0, NULL);
	if (is_over)
		overflow(f, wq, &own);
	arm();
}

void
inject_tx_drained(struct card_function *f, struct wq *sq)
{
	struct inject_cqe cqe;

	for (; sq->nb_spurious > 0; sq->nb_spurious--) {
		cqe = (struct inject_cqe){ .is_extra = true };
		hw_put_le32(cqe.cqe, HW_CQE_TX_OKAY |
				     HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S);
		hw_put_le32(cqe.cqe + HW_TX_CQE_OFFSETS_OFF,
			    (sq->ci / HW_BU_BYTES & HW_TX_WQE_OFFSET_M)
				    << HW_TX_CQE_WQE_OFFSET_S);
		inject_put(f, sq, &cqe, 0, NULL);
	}
}

void
inject_timers(uint64_t now_ns)
{
	if (!inject_is_armed())
		return;
	inject_release(now_ns, UINT32_MAX, UINT32_MAX);
	arm();
}

int
inject_add(const struct inject_rule *rule)
{
	struct inject *inject = state();
	uint32_t i;

	for (i = 0; i < INJECT_MAX_RULES && inject->is_rule[i]; i++)
		;
	if (i == INJECT_MAX_RULES)
		return -ENOSPC;
	inject->rules[i] = *rule;
	if (rule->kind == INJECT_STALL)
		count(rule);
	inject->is_rule[i] = true;
	arm();
	return 0;
}

int
inject_end_stall(uint32_t fn, uint32_t port, uint32_t queue, bool is_tx)
{
	struct inject *inject = state();
	bool is_any = false;
	uint32_t i;

	for (i = 0; i < INJECT_MAX_RULES; i++) {
		const struct inject_rule *rule = &inject->rules[i];

		if (!inject->is_rule[i] || rule->kind != INJECT_STALL ||
		    rule->fn != fn || rule->port != port ||
		    rule->is_tx != is_tx ||
		    (queue != INJECT_ANY_QUEUE && rule->queue != queue))
			continue;
		inject->is_rule[i] = false;
		is_any = true;
	}
	if (!is_any)
		return -ENOENT;
	inject_release(clock_now(), UINT32_MAX, UINT32_MAX);
	arm();
	return 0;
}

void
inject_drop(void)
{
	memset(state()->is_rule, 0, sizeof(state()->is_rule));
	inject_release(CLOCK_NEVER, UINT32_MAX, UINT32_MAX);
	arm();
}

uint64_t
inject_count(uint32_t fn, uint32_t port_idx, bool is_tx, enum inject_kind kind)
{
	const struct card_port *port = card_port(fn, port_idx);

	return port != NULL ? port->injected[is_tx][kind] : 0;
}

/* Copy an old CQE from the ring; leave cqe unchanged if there is none. */
static void
replay(const struct cq *cq, uint8_t cqe[HW_CQE_BYTES])
{
	uint32_t nb_written = cq->pi - cq->nb_cqes, pos;

	if (nb_written == 0)
		return;
	if (nb_written > cq->nb_cqes)
		nb_written = cq->nb_cqes;
	pos = cq->pi - 1 -
	      (uint32_t)random_below(RANDOM_FAULT_BYTES, nb_written);
	if (mem_read(cq->ring.process,
		     cq->ring.addr + (pos & (cq->nb_cqes - 1)) * HW_CQE_BYTES,
		     cqe, HW_CQE_BYTES) < 0)
		memset(cqe, 0, HW_CQE_BYTES);
}

static void
put_type(uint8_t *cqe, uint32_t type)
{
	hw_put_le32(cqe, (hw_le32(cqe) & ~HW_CQE_TYPE_M) | type);
}

static void
put_vendor_error(uint8_t *cqe, uint32_t error)
{
	const uint32_t low = (1u << HW_CQE_VENDOR_ERR_S) - 1;

	hw_put_le32(cqe, (hw_le32(cqe) & low) | error << HW_CQE_VENDOR_ERR_S);
}

void
inject_bogus(struct card_function *f, const struct wq *wq,
	     const struct inject_rule *rule, struct inject_cqe *cqe)
{
	uint8_t *length = cqe->cqe + HW_RX_CQE_PPI_OFF + HW_RX_PPI_LEN_OFF;

	cqe->is_extra = rule->is_extra;
	cqe->is_bogus = true;
	switch (rule->kind) {
	case INJECT_LONG:
	case INJECT_ZERO:
		hw_put_le16(length, (uint16_t)rule->value);
		break;
	case INJECT_TYPE:
		put_type(cqe->cqe, rule->value);
		break;
	case INJECT_VENDOR:
		put_vendor_error(cqe->cqe, rule->value);
		break;
	case INJECT_WRONG_QUEUE:
		cqe->is_wrong_queue = true;
		break;
	case INJECT_WRONG_IS_SQ:
		cqe->is_wrong_sq = true;
		break;
	case INJECT_WRONG_OWNER:
		cqe->is_wrong_owner = true;
		break;
	case INJECT_REPLAYED:
		replay(&f->cqs[wq->cq], cqe->cqe);
		break;
	case INJECT_RANDOM:
		random_fill(RANDOM_FAULT_BYTES, cqe->cqe, HW_CQE_TRAILER_OFF);
		break;
	default: /* DUPLICATE, SPURIOUS: unchanged */
		break;
	}
}
