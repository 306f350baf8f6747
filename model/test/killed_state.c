/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "card_state.h"
#include "kernel_state.h"
#include "killed_state.h"
#include "test.h"

static const char *name = "no step";
static unsigned long long nb_steps;

#define CHECK(condition, format, ...)                                     \
	do {                                                              \
		if (!(condition))                                         \
			fail_msg("%s, killed after %llu: " format, name,  \
				 nb_steps, __VA_ARGS__);                  \
	} while (0)

void
killed_state_name(const char *now, uint64_t steps)
{
	name = now;
	nb_steps = steps;
}

static struct {
	uint32_t pd[CARD_MAX_PDS], page[CARD_MAX_PAGES];
	uint32_t key[MEM_NB_REGIONS], cq[CARD_NB_CQS], wq[CARD_NB_WQS];
	uint32_t users[KERNEL_MAX_OBJECTS];
	uint32_t nb_raw[KERNEL_MAX_OBJECTS]; /* raw QPs of a PD */
	uint64_t nb_pinned[MODEL_MAX_PROCESSES];
} named;

/* Of function 0. */
static struct card_function *
card(void)
{
	return card_function(0);
}

static void
see_user(uint32_t handle)
{
	if (handle == KERNEL_NONE)
		return;
	CHECK(segment_kernel()->object[handle].kind != OBJECT_FREE,
	      "object %u is named, and free", handle);
	named.users[handle]++;
}

static void
see_ring(const struct object_ring *ring)
{
	named.nb_pinned[ring->memory.process] += ring->nb_pinned;
}

static void
see_wq(uint32_t id, bool is_sq)
{
	const struct wq *wq = is_sq ? card_sq(card(), id) : card_rq(card(), id);

	if (id == CARD_NO_QUEUE)
		return;
	CHECK(wq != NULL, "queue %u is none", id);
	named.wq[wq - card()->wqs]++;
}

static void
see_cq(const struct object_cq *object, uint32_t handle)
{
	const struct cq *cq = card_cq(card(), object->id);

	see_ring(&object->ring);
	see_user(object->channel);
	if (object->id != CARD_NO_QUEUE)
		CHECK(segment_kernel()->cq_table[0][object->id] == handle,
		      "CQ %u is another's in the table", object->id);
	if (!object->alive)
		return;
	CHECK(cq != NULL, "CQ %u is none", object->id);
	named.cq[cq - card()->cqs]++;
}

static void
see_object(const struct object *object, uint32_t handle)
{
	uint32_t i;

	switch (object->final_kind) {
	case OBJECT_PD:
		if (object->pd.pdn != KERNEL_NONE)
			named.pd[object->pd.pdn]++;
		break;
	case OBJECT_MR:
		see_user(object->mr.pd);
		named.nb_pinned[object->mr.process] += object->mr.nb_pinned;
		if (object->mr.key != 0)
			named.key[object->mr.key & (MEM_NB_REGIONS - 1)]++;
		break;
	case OBJECT_CQ:
		see_cq(&object->cq, handle);
		break;
	case OBJECT_WQ:
		see_ring(&object->wq.ring);
		see_user(object->wq.pd);
		see_user(object->wq.cq);
		see_wq(object->wq.id, false);
		break;
	case OBJECT_IND:
		for (i = 0; i < 1u << object->ind.log_size; i++)
			see_user(object->ind.wq[i]);
		break;
	case OBJECT_QP:
		see_ring(&object->qp.ring);
		see_user(object->qp.pd);
		see_user(object->qp.cq);
		see_user(object->qp.recv_cq);
		see_user(object->qp.ind);
		see_wq(object->qp.sq_id, true);
		if (object->qp.has_vport)
			named.nb_raw[object->qp.pd]++;
		break;
	default:
		break;
	}
}

static void
see_all(void)
{
	const struct kernel *kernel = segment_kernel();
	uint32_t i;

	memset(&named, 0, sizeof(named));
	for (i = 0; i < KERNEL_MAX_CONTEXTS; i++)
		if (kernel->context[i].used && kernel->context[i].has_ucontext)
			named.page[kernel->context[i].page]++;
	for (i = 1; i < kernel->nb_objects; i++)
		if (kernel->object[i].kind != OBJECT_FREE)
			see_object(&kernel->object[i], i);
}

static void
check_objects(void)
{
	const struct kernel *kernel = segment_kernel();
	uint32_t i, nb_free = 0, nb_listed = 0;

	for (i = 1; i < kernel->nb_objects; i++) {
		const struct object *object = &kernel->object[i];

		if (object->kind == OBJECT_FREE) {
			nb_free++;
			continue;
		}
		CHECK(object->nb_users == named.users[i],
		      "object %u of kind %u has %u users, not %u", i,
		      object->kind, named.users[i], object->nb_users);
		if (object->kind == OBJECT_PD)
			CHECK(object->pd.vport_use_count == named.nb_raw[i],
			      "PD %u has %u raw QPs, not %u", i,
			      named.nb_raw[i], object->pd.vport_use_count);
	}
	for (i = kernel->first_free; i != 0 && nb_listed <= nb_free;
	     i = kernel->object[i].next_free, nb_listed++)
		CHECK(kernel->object[i].kind == OBJECT_FREE,
		      "object %u is in use, and listed as free", i);
	CHECK(nb_listed == nb_free, "%u of %u free objects are listed",
	      nb_listed, nb_free);
	for (i = 0; i < MODEL_MAX_PROCESSES; i++)
		CHECK(kernel->nb_pinned[i] == named.nb_pinned[i],
		      "process %u has %llu pages pinned, not %llu", i,
		      (unsigned long long)named.nb_pinned[i],
		      (unsigned long long)kernel->nb_pinned[i]);
}

static void
check_memory(void)
{
	const struct mem_table *mem = &card()->mem;
	uint32_t i, nb_used = 0;

	for (i = 1; i < CARD_MAX_PDS; i++)
		CHECK(named.pd[i] == card()->pds[i], "PD number %u", i);
	for (i = 1; i < CARD_MAX_PAGES; i++)
		CHECK(named.page[i] == card()->pages[i], "page %u", i);
	for (i = 0; i < MEM_NB_REGIONS; i++) {
		CHECK(named.key[i] == (mem->regions[i].key != 0), "region %u",
		      i);
		CHECK(mem->regions[i].key != 0 || mem->first_free <= i,
		      "region %u is free, below the first", i);
		nb_used += mem->regions[i].key != 0;
	}
	CHECK(nb_used == mem->nb_used, "%u regions", nb_used);
}

static void
check_queues(void)
{
	static bool is_used[CARD_NB_CQS];
	uint32_t i;

	memset(is_used, 0, sizeof(is_used));
	for (i = 0; i < CARD_NB_WQS; i++) {
		CHECK(named.wq[i] == card()->wqs[i].is_alive, "WQ %u", i);
		if (card()->wqs[i].is_alive)
			is_used[card()->wqs[i].cq] = true;
	}
	for (i = 0; i < CARD_NB_CQS; i++) {
		CHECK(named.cq[i] == card()->cqs[i].is_alive, "CQ %u", i);
		CHECK(!card()->cqs[i].is_alive ||
			      card()->cqs[i].is_used == is_used[i],
		      "CQ %u is in use, or not", i);
	}
}

static void
check_ports(void)
{
	const struct kernel *kernel = segment_kernel();
	uint32_t p;

	for (p = 0; p < segment_config()->nb_ports[0]; p++) {
		const uint32_t owner = kernel->port[0][p].owner_pd;
		const struct card_port *port = card_port(0, p);

		CHECK(port->tx_enabled == (owner != KERNEL_NONE),
		      "port %u may send, or not", p);
		if (port->rx_enabled)
			CHECK(card_rq(card(), port->default_rq) != NULL,
			      "port %u leads to no queue", p);
		if (owner == KERNEL_NONE)
			continue;
		CHECK(kernel->object[owner].kind == OBJECT_PD &&
			      kernel->object[owner].pd.vport_port == p &&
			      named.nb_raw[owner] > 0,
		      "port %u is of no PD", p);
	}
}

void
killed_state_check(void)
{
	see_all();
	check_objects();
	check_memory();
	check_queues();
	check_ports();
}
