/* SPDX-License-Identifier: BSD-3-Clause */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mem.h"
#include "nic.h"
#include "clock.h"
#include "fixture.h"
#include "trace.h"

uint32_t fx_nb_events, fx_event_cq, fx_nb_kicks;
uint32_t *fx_shared_events;
struct fx_port *a, *b;
static struct fixture *current;

static void
fx_complete(uint32_t fn, uint32_t cq_id)
{
	(void)fn;
	fx_nb_events++;
	fx_event_cq = cq_id;
	if (fx_shared_events != NULL)
		(*fx_shared_events)++;
}

static void
fx_wake(uint32_t process)
{
	(void)process;
	fx_nb_kicks++;
}

static void
fx_wake_owner(void)
{
	fx_nb_kicks++;
}

static void
fx_nothing(void)
{
}

static const struct platform fixture_platform = {
	.complete = fx_complete,
	.read = segment_process_read,
	.write = segment_process_write,
	.has_memory = segment_process_has_memory,
	.wake = fx_wake,
	.wake_owner = fx_wake_owner,
	.recover = card_recover,
	.free_slots = fx_nothing,
};

const struct platform *platform = &fixture_platform;

static void
fx_on_fault(int sig, siginfo_t *info, void *ucontext)
{
	(void)info;
	if (!mem_fault_fixup(ucontext))
		signal(sig, SIG_DFL);
}

static void *
fx_map(const struct fixture *fx, uint32_t nb_bytes)
{
	void *p = mmap(NULL, nb_bytes, PROT_READ | PROT_WRITE,
		       (fx->is_shared ? MAP_SHARED : MAP_PRIVATE) |
			       MAP_ANONYMOUS,
		       -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static struct card_memory
fx_memory(const struct fx_ring *ring)
{
	return (struct card_memory){ .process = model_self,
				       .addr = (uintptr_t)ring->mem,
				       .size = ring->bytes };
}

void
fx_defaults(struct fixture *fx)
{
	memset(fx, 0, sizeof(*fx));
	fx->config = (struct model_config){
		.name = "test",
		.nb_functions = 1,
		.nb_ports = { FX_PORTS },
		.mac_base = { 0x00, 0x0d, 0x3a, 0, 0, 1 },
		.max_mtu = 9000,
		.vp_offset_base = 5,
	};
	fx->sq_bytes = 8192;
	fx->rq_bytes = 8192;
	fx->cq_bytes = 256 * HW_CQE_BYTES;
}

void
fx_queue(struct fx_port *p, uint32_t port, struct fx_ring *wq,
	 struct fx_ring *cq, bool is_sq)
{
	struct card_memory memory = fx_memory(cq);

	assert_int_equal(card_cq_create(0, p->pdn, p->page, &memory, &cq->id),
			 0);
	cq->pos = cq->bytes / HW_CQE_BYTES;
	memory = fx_memory(wq);
	if (is_sq)
		assert_int_equal(card_sq_create(0, port, p->pdn, p->page,
						&memory, cq->id, &wq->id),
				 0);
	else
		assert_int_equal(card_rq_create(0, port, p->pdn, p->page,
						&memory, cq->id, &wq->id),
				 0);
	wq->pos = 0;
}

static void
fx_port_queues(struct fx_port *p, uint32_t port)
{
	fx_queue(p, port, &p->sq, &p->scq, true);
	fx_queue(p, port, &p->rq, &p->rcq, false);
}

void
fx_renew(void)
{
	uint32_t port;

	for (port = 0; port < FX_PORTS; port++) {
		struct fx_port *p = port == 0 ? a : b;

		card_sq_destroy(0, p->sq.id);
		card_rq_destroy(0, p->rq.id);
		card_cq_destroy(0, p->scq.id);
		card_cq_destroy(0, p->rcq.id);
		memset(p->scq.mem, 0, p->scq.bytes);
		memset(p->rcq.mem, 0, p->rcq.bytes);
		fx_port_queues(p, port);
		fx_steer(port, false, &p->rq.id, 1);
	}
}

static void
fx_port_start(struct fixture *fx, uint32_t port)
{
	struct fx_port *p = &fx->port[port];
	struct card_memory memory;

	assert_int_equal(card_pd_create(0, &p->pdn), 0);
	assert_int_equal(card_doorbell_page_create(0, &p->page), 0);
	p->buf = fx_map(fx, FX_BUF_BYTES);
	memory = (struct card_memory){ .process = model_self,
					 .addr = (uintptr_t)p->buf,
					 .size = FX_BUF_BYTES };
	assert_int_equal(card_mkey_create(0, p->pdn, &memory, memory.addr,
					  CARD_ACCESS_WRITE, &p->key),
			 0);
	p->sq.bytes = fx->sq_bytes;
	p->rq.bytes = fx->rq_bytes;
	p->scq.bytes = p->rcq.bytes = fx->cq_bytes;
	p->sq.mem = fx_map(fx, p->sq.bytes);
	p->scq.mem = fx_map(fx, p->scq.bytes);
	p->rq.mem = fx_map(fx, p->rq.bytes);
	p->rcq.mem = fx_map(fx, p->rcq.bytes);
	assert_int_equal(card_vport_enable_tx(0, port, p->pdn, p->page,
					      &p->vp_offset),
			 0);
	fx_port_queues(p, port);
	fx_steer(port, false, &p->rq.id, 1);
}

void
fx_catch_faults(void)
{
	struct sigaction action = { .sa_sigaction = fx_on_fault,
				    .sa_flags = SA_SIGINFO | SA_NODEFER };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

void
fx_start(struct fixture *fx)
{
	uint32_t port;

	fx_catch_faults();
	strcpy(fx->dir, "/tmp/mana-test-XXXXXX");
	assert_non_null(mkdtemp(fx->dir));
	assert_int_equal(segment_create(fx->dir, &fx->config), 0);
	assert_int_equal(trace_create(), 0);
	clock_init(config_is_virtual_time(&fx->config));
	assert_int_equal(card_init(), 0);
	fx_nb_events = fx_nb_kicks = 0;
	current = fx;
	a = &fx->port[0];
	b = &fx->port[1];
	for (port = 0; port < FX_PORTS; port++)
		fx_port_start(fx, port);
}

void
fx_stop(struct fixture *fx)
{
	char path[128];
	uint32_t i;

	for (i = 0; i < FX_PORTS; i++) {
		struct fx_port *p = &fx->port[i];

		munmap(p->buf, FX_BUF_BYTES);
		munmap(p->sq.mem, p->sq.bytes);
		munmap(p->scq.mem, p->scq.bytes);
		munmap(p->rq.mem, p->rq.bytes);
		munmap(p->rcq.mem, p->rcq.bytes);
	}
	trace_close();
	segment_detach();
	snprintf(path, sizeof(path), "%s/segment", fx->dir);
	unlink(path);
	rmdir(fx->dir);
}

int
fx_setup(void **state)
{
	static struct fixture fx;

	fx_defaults(&fx);
	fx_start(&fx);
	*state = &fx;
	return 0;
}

int
fx_teardown(void **state)
{
	(void)state;
	fx_stop(current);
	return 0;
}

void
fx_steer(uint32_t port, bool rss, const uint32_t *rqs, uint32_t nb_rqs)
{
	struct card_steering steering = { .rss_enable = rss,
					    .coalescing_enable = true,
					    .default_rq = rqs[nb_rqs - 1] };
	uint32_t i;

	for (i = 0; i < CARD_RSS_TABLE_SIZE; i++)
		steering.table[i] = rqs[i % nb_rqs];
	for (i = 0; i < CARD_RSS_KEY_BYTES; i++)
		steering.key[i] = (uint8_t)(i * 37 + 11);
	assert_int_equal(card_vport_enable_rx(0, port, &steering), 0);
}

struct fx_wqe
fx_tx_wqe(const struct fx_port *p, uint32_t off, uint32_t nb_bytes)
{
	struct fx_wqe wqe = { .header = { 0, 0x200 } };

	wqe.oob[0] = p->scq.id << 8;
	wqe.oob[1] = p->vp_offset << 24 | (p->sq.id >> 10) << 10;
	fx_tx_add_sge(p, &wqe, off, nb_bytes);
	return wqe;
}

void
fx_tx_long(const struct fx_port *p, struct fx_wqe *wqe)
{
	wqe->header[1] = (wqe->header[1] & ~0x700u) | 0x600;
	wqe->oob[0] |= 1;
	wqe->oob[3] = p->vp_offset << 16;
}

void
fx_edit(struct fx_wqe *wqe, uint8_t *frame, const struct fx_edit *edits)
{
	for (const struct fx_edit *e = edits; e->op != FX_END; e++) {
		uint32_t *word = (void *)((uint8_t *)wqe + e->at);

		switch (e->op) {
		case FX_SET:
			*word = e->value;
			break;
		case FX_OR:
			*word |= e->value;
			break;
		case FX_AND:
			*word &= e->value;
			break;
		case FX_XOR:
			*word ^= e->value;
			break;
		case FX_ADD:
			*word += e->value;
			break;
		default:
			frame[e->at] = (uint8_t)e->value;
			break;
		}
	}
}

void
fx_tx_add_sge(const struct fx_port *p, struct fx_wqe *wqe, uint32_t off,
	      uint32_t nb_bytes)
{
	wqe->sge[wqe->nb_sge++] = (struct hw_sge){
		.addr = (uintptr_t)p->buf + off,
		.key = p->key,
		.size_bytes = nb_bytes,
	};
	wqe->header[1] = (wqe->header[1] & ~0xffu) | wqe->nb_sge;
}

static void
fx_put(struct fx_ring *ring, uint32_t off, uint32_t word)
{
	uint32_t at = (ring->pos + off) & (ring->bytes - 1);

	hw_put_le32(ring->mem + at, word);
}

void
fx_post(struct fx_ring *ring, const struct fx_wqe *wqe)
{
	const uint32_t oob_words = wqe->header[1] >> 8 & 7;
	uint32_t off = 8, i;

	fx_put(ring, 0, wqe->header[0]);
	fx_put(ring, 4, wqe->header[1]);
	for (i = 0; i < oob_words; i++, off += 4)
		fx_put(ring, off, i < 6 ? wqe->oob[i] : 0);
	for (i = 0; i < wqe->nb_sge; i++, off += 16) {
		fx_put(ring, off, (uint32_t)wqe->sge[i].addr);
		fx_put(ring, off + 4, (uint32_t)(wqe->sge[i].addr >> 32));
		fx_put(ring, off + 8, wqe->sge[i].key);
		fx_put(ring, off + 12, wqe->sge[i].size_bytes);
	}
	ring->pos += (off + 31) & ~31u;
}

struct card_port_counters
fx_counters(uint32_t port)
{
	struct card_port_counters counters;

	card_port_counters(0, port, &counters);
	return counters;
}

void
fx_advance(uint64_t ns)
{
	segment_lock();
	segment_clock()->virtual_ns += ns;
	if (clock_is_due())
		card_timers(clock_take());
	segment_unlock();
}

void
fx_run_until(uint64_t ns)
{
	segment_clock()->virtual_ns = ns;
	while (clock_is_due())
		card_timers(clock_take());
}

void
fx_doorbell(struct fx_port *p, uint32_t offset, uint64_t value,
	    uint32_t nb_bytes)
{
	segment_lock();
	card_doorbell(0, p->page, offset, value, nb_bytes);
	segment_unlock();
}

void
fx_ring_sq(struct fx_port *p)
{
	fx_doorbell(p, 0, (uint64_t)p->sq.pos << 32 | p->sq.id, 8);
}

void
fx_ring_rq(struct fx_port *p)
{
	fx_doorbell(p, 0x400, (uint64_t)p->rq.pos << 32 | p->rq.id, 8);
}

void
fx_ring_cq(struct fx_port *p, struct fx_ring *cq, bool arm)
{
	const uint32_t laps = 8 * (cq->bytes / HW_CQE_BYTES);

	fx_doorbell(p, 0x800,
		    (uint64_t)arm << 63 | (uint64_t)(cq->pos % laps) << 32 |
			     cq->id,
		    8);
}

uint8_t *
fx_rx_buf(struct fx_port *p, uint32_t slot)
{
	return p->buf + FX_BUF_BYTES / 2 +
	       slot * FX_RX_BUF_BYTES % (FX_BUF_BYTES / 2);
}

void
fx_fill_rq(struct fx_port *p, uint32_t n)
{
	while (n-- > 0) {
		struct fx_wqe wqe = { .header = { 0, 0x200 } };

		fx_tx_add_sge(p, &wqe,
			      (uint32_t)(fx_rx_buf(p, p->rx_slot++) - p->buf),
			      FX_RX_BUF_BYTES);
		fx_post(&p->rq, &wqe);
	}
	fx_ring_rq(p);
}

const uint8_t *
fx_cqe(struct fx_ring *cq)
{
	const uint32_t n = cq->bytes / HW_CQE_BYTES;
	const uint8_t *cqe = cq->mem + (cq->pos & (n - 1)) * HW_CQE_BYTES;
	const uint32_t owner = cqe[63] >> 5;

	if (owner != (cq->pos / n & 7)) {
		assert_int_equal(owner, (cq->pos / n - 1) & 7);
		return NULL;
	}
	cq->pos++;
	return cqe;
}

int
fx_send(struct fx_port *p, const struct fx_wqe *wqe)
{
	const uint8_t *cqe;

	fx_post(&p->sq, wqe);
	fx_ring_sq(p);
	cqe = fx_cqe(&p->scq);
	if (cqe == NULL)
		return -1;
	assert_int_equal(cqe[0] >> 6, 1);
	assert_int_equal(hw_le32(cqe + 60) & 0x1ffffff, 1u << 24 | p->sq.id);
	return cqe[0] & 0x3f;
}

/* A simple sum of 16-bit big-endian words, independent of the model's. */
static uint16_t
fx_sum(uint32_t sum, const uint8_t *bytes, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static uint32_t
fx_l4(uint8_t *l4, uint8_t proto, uint32_t payload, uint32_t addr_sum)
{
	const uint32_t header = proto == NIC_PROTO_TCP ? 20 : 8;
	const uint32_t n = header + payload;
	uint32_t i;

	memset(l4, 0, header);
	hw_put_be16(l4, 1234);
	hw_put_be16(l4 + 2, 80);
	if (proto == NIC_PROTO_TCP) {
		l4[12] = 5 << 4;
		l4[13] = 0x18; /* PSH, ACK */
	} else {
		hw_put_be16(l4 + 4, (uint16_t)n);
	}
	for (i = 0; i < payload; i++)
		l4[header + i] = (uint8_t)(i * 7 + 3);
	hw_put_be16(l4 + (proto == NIC_PROTO_TCP ? 16 : 6),
		    (uint16_t)~fx_sum(addr_sum + proto + n, l4, n));
	return n;
}

uint32_t
fx_frame(uint8_t *frame, uint8_t proto, uint32_t payload)
{
	static const uint8_t head[] = { 0x00, 0x0d, 0x3a, 0, 0, 2,    0x00,
					0x0d, 0x3a, 0,	  0, 1, 0x08, 0x00 };
	static const uint8_t ip[] = { 0x45, 0, 0,  0, 0x12, 0x34, 0,  0, 64, 0,
				      0,    0, 10, 0, 0,    1,	  10, 0, 0,  2 };
	const uint32_t l4 = (proto == NIC_PROTO_TCP ? 20 : 8) + payload;

	memcpy(frame, head, sizeof(head));
	memcpy(frame + 14, ip, sizeof(ip));
	hw_put_be16(frame + 16, (uint16_t)(20 + l4));
	frame[23] = proto;
	hw_put_be16(frame + 24, (uint16_t)~fx_sum(0, frame + 14, 20));
	return 34 + fx_l4(frame + 34, proto, payload, fx_sum(0, frame + 26, 8));
}

uint32_t
fx_frame6(uint8_t *frame, uint8_t proto, uint32_t payload)
{
	const uint32_t l4 = (proto == NIC_PROTO_TCP ? 20 : 8) + payload;

	fx_frame(frame, proto, 0);
	hw_put_be16(frame + 12, 0x86dd);
	memset(frame + 14, 0, 40);
	frame[14] = 0x60;
	hw_put_be16(frame + 18, (uint16_t)l4);
	frame[20] = proto;
	frame[21] = 64;
	frame[22] = 0xfd;
	frame[37] = 1;
	frame[38] = 0xfd;
	frame[53] = 2;
	return 54 +
	       fx_l4(frame + 54, proto, payload, fx_sum(0, frame + 22, 32));
}

void
fx_assert_violation(enum violation violation, uint64_t n, const char *file,
		    int line)
{
	const struct violation_log *log = segment_violation_log();
	uint32_t i;

	for (i = 0; i < log->nb_rows; i++) {
		const struct violation_row *row = &log->rows[i];

		if (row->violation != violation) {
			print_error("%s:%d: unexpected violation %s\n", file,
				    line, violation_name(row->violation));
			fail();
		}
	}
	if (violation == NB_VIOLATIONS)
		return;
	if (violation_count(violation) != n) {
		print_error("%s:%d: %s: %llu times, wanted %llu\n", file, line,
			    violation_name(violation),
			    (unsigned long long)violation_count(violation),
			    (unsigned long long)n);
		fail();
	}
}
