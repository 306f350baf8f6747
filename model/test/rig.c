/* SPDX-License-Identifier: BSD-3-Clause */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mem.h"
#include "nic.h"
#include "clock.h"
#include "rig.h"
#include "trace.h"

uint32_t rig_nb_events, rig_event_cq, rig_nb_kicks;
uint32_t *rig_shared_events;

/* The kernel's side, as far as the card needs it. */
void
kernel_completion_event(uint32_t fn, uint32_t cq_id)
{
	(void)fn;
	rig_nb_events++;
	rig_event_cq = cq_id;
	if (rig_shared_events != NULL)
		(*rig_shared_events)++;
}

void
kernel_holder_died(void)
{
}

void
kernel_kick_process(uint32_t process)
{
	(void)process;
	rig_nb_kicks++;
}

void
segment_is_full(void)
{
}

void
kernel_kick_launcher(void)
{
	rig_nb_kicks++;
}

static void
rig_on_fault(int sig, siginfo_t *info, void *ucontext)
{
	(void)info;
	if (!mem_fault_fixup(ucontext))
		signal(sig, SIG_DFL);
}

static void *
rig_map(const struct rig *rig, uint32_t nb_bytes)
{
	void *p = mmap(NULL, nb_bytes, PROT_READ | PROT_WRITE,
		       (rig->is_shared ? MAP_SHARED : MAP_PRIVATE) |
			       MAP_ANONYMOUS,
		       -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static struct device_memory
rig_memory(const struct rig_ring *ring)
{
	return (struct device_memory){ .process = model_self,
				       .addr = (uintptr_t)ring->mem,
				       .size = ring->bytes };
}

void
rig_defaults(struct rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	rig->config = (struct model_config){
		.name = "test",
		.nb_functions = 1,
		.nb_ports = { RIG_PORTS },
		.mac_base = { 0x00, 0x0d, 0x3a, 0, 0, 1 },
		.max_mtu = 9000,
		.vp_offset_base = 5,
	};
	rig->sq_bytes = 8192;
	rig->rq_bytes = 8192;
	rig->cq_bytes = 256 * HW_CQE_BYTES;
}

/* A work queue and its CQ, whose rings are mapped. */
static void
rig_queue(struct rig_port *p, uint32_t port, struct rig_ring *wq,
	  struct rig_ring *cq, bool is_sq)
{
	struct device_memory memory = rig_memory(cq);

	assert_int_equal(device_cq_create(0, p->pdn, p->page, &memory, &cq->id),
			 0);
	cq->pos = cq->bytes / HW_CQE_BYTES;
	memory = rig_memory(wq);
	if (is_sq)
		assert_int_equal(device_sq_create(0, port, p->pdn, p->page,
						  &memory, cq->id, &wq->id),
				 0);
	else
		assert_int_equal(device_rq_create(0, port, p->pdn, p->page,
						  &memory, cq->id, &wq->id),
				 0);
	wq->pos = 0;
}

static void
rig_port_queues(struct rig *rig, uint32_t port)
{
	struct rig_port *p = &rig->port[port];

	rig_queue(p, port, &p->sq, &p->scq, true);
	rig_queue(p, port, &p->rq, &p->rcq, false);
}

void
rig_renew(struct rig *rig)
{
	uint32_t port;

	for (port = 0; port < RIG_PORTS; port++) {
		struct rig_port *p = &rig->port[port];
		const uint32_t rq_id = p->rq.id;

		device_sq_destroy(0, p->sq.id);
		device_rq_destroy(0, p->rq.id);
		device_cq_destroy(0, p->scq.id);
		device_cq_destroy(0, p->rcq.id);
		memset(p->scq.mem, 0, p->scq.bytes);
		memset(p->rcq.mem, 0, p->rcq.bytes);
		rig_port_queues(rig, port);
		/* The steering names it. */
		assert_int_equal(p->rq.id, rq_id);
	}
}

static void
rig_port_start(struct rig *rig, uint32_t port)
{
	struct rig_port *p = &rig->port[port];
	struct device_memory memory;

	assert_int_equal(device_pd_create(0, &p->pdn), 0);
	assert_int_equal(device_doorbell_page_create(0, &p->page), 0);
	p->buf = rig_map(rig, RIG_BUF_BYTES);
	memory = (struct device_memory){ .process = model_self,
					 .addr = (uintptr_t)p->buf,
					 .size = RIG_BUF_BYTES };
	assert_int_equal(device_mkey_create(0, p->pdn, &memory,
					    DEVICE_ACCESS_WRITE, &p->key),
			 0);
	p->sq.bytes = rig->sq_bytes;
	p->rq.bytes = rig->rq_bytes;
	p->scq.bytes = p->rcq.bytes = rig->cq_bytes;
	p->sq.mem = rig_map(rig, p->sq.bytes);
	p->scq.mem = rig_map(rig, p->scq.bytes);
	p->rq.mem = rig_map(rig, p->rq.bytes);
	p->rcq.mem = rig_map(rig, p->rcq.bytes);
	rig_port_queues(rig, port);
	assert_int_equal(device_vport_enable_tx(0, port, p->pdn, p->page,
						&p->vp_offset),
			 0);
	rig_steer(rig, port, false, &p->rq.id, 1);
}

void
rig_catch_faults(void)
{
	struct sigaction action = { .sa_sigaction = rig_on_fault,
				    .sa_flags = SA_SIGINFO | SA_NODEFER };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

void
rig_start(struct rig *rig)
{
	uint32_t port;

	rig_catch_faults();
	strcpy(rig->dir, "/tmp/mana-rig-XXXXXX");
	assert_non_null(mkdtemp(rig->dir));
	assert_int_equal(segment_create(rig->dir, &rig->config), 0);
	assert_int_equal(trace_create(), 0);
	clock_init(config_is_virtual_time(&rig->config));
	assert_int_equal(device_init(), 0);
	rig_nb_events = rig_nb_kicks = 0;
	for (port = 0; port < RIG_PORTS; port++)
		rig_port_start(rig, port);
}

void
rig_stop(struct rig *rig)
{
	char path[128];
	uint32_t i;

	for (i = 0; i < RIG_PORTS; i++) {
		struct rig_port *p = &rig->port[i];

		munmap(p->buf, RIG_BUF_BYTES);
		munmap(p->sq.mem, p->sq.bytes);
		munmap(p->scq.mem, p->scq.bytes);
		munmap(p->rq.mem, p->rq.bytes);
		munmap(p->rcq.mem, p->rcq.bytes);
	}
	trace_close();
	segment_detach();
	snprintf(path, sizeof(path), "%s/segment", rig->dir);
	unlink(path);
	rmdir(rig->dir);
}

int
rig_setup(void **state)
{
	static struct rig rig;

	rig_defaults(&rig);
	rig_start(&rig);
	*state = &rig;
	return 0;
}

int
rig_teardown(void **state)
{
	rig_stop(*state);
	return 0;
}

void
rig_steer(struct rig *rig, uint32_t port, bool rss, const uint32_t *rqs,
	  uint32_t nb_rqs)
{
	struct device_steering steering = { .rss_enable = rss,
					    .coalescing_enable = true,
					    .default_rq = rqs[nb_rqs - 1] };
	uint32_t i;

	(void)rig;
	for (i = 0; i < DEVICE_RSS_TABLE_SIZE; i++)
		steering.table[i] = rqs[i % nb_rqs];
	for (i = 0; i < DEVICE_RSS_KEY_BYTES; i++)
		steering.key[i] = (uint8_t)(i * 37 + 11);
	assert_int_equal(device_vport_enable_rx(0, port, &steering), 0);
}

struct rig_wqe
rig_tx_wqe(const struct rig_port *p, uint32_t off, uint32_t nb_bytes)
{
	struct rig_wqe wqe = { .header = { 0, 0x200 } };

	wqe.oob[0] = p->scq.id << 8;
	wqe.oob[1] = p->vp_offset << 24 | (p->sq.id >> 10) << 10;
	rig_tx_add_sge(p, &wqe, off, nb_bytes);
	return wqe;
}

void
rig_tx_long(const struct rig_port *p, struct rig_wqe *wqe)
{
	wqe->header[1] = (wqe->header[1] & ~0x700u) | 0x600;
	wqe->oob[0] |= 1;
	wqe->oob[3] = p->vp_offset << 16;
}

void
rig_tx_add_sge(const struct rig_port *p, struct rig_wqe *wqe, uint32_t off,
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
rig_put(struct rig_ring *ring, uint32_t off, uint32_t word)
{
	uint32_t at = (ring->pos + off) & (ring->bytes - 1);

	hw_put_le32(ring->mem + at, word);
}

void
rig_post(struct rig_ring *ring, const struct rig_wqe *wqe)
{
	const uint32_t oob_words = wqe->header[1] >> 8 & 7;
	uint32_t off = 8, i;

	rig_put(ring, 0, wqe->header[0]);
	rig_put(ring, 4, wqe->header[1]);
	for (i = 0; i < oob_words; i++, off += 4)
		rig_put(ring, off, i < 6 ? wqe->oob[i] : 0);
	for (i = 0; i < wqe->nb_sge; i++, off += 16) {
		rig_put(ring, off, (uint32_t)wqe->sge[i].addr);
		rig_put(ring, off + 4, (uint32_t)(wqe->sge[i].addr >> 32));
		rig_put(ring, off + 8, wqe->sge[i].key);
		rig_put(ring, off + 12, wqe->sge[i].size_bytes);
	}
	ring->pos += (off + 31) & ~31u;
}

void
rig_doorbell(struct rig_port *p, uint32_t offset, uint64_t value,
	     uint32_t nb_bytes)
{
	segment_lock();
	device_doorbell(0, p->page, offset, value, nb_bytes);
	segment_unlock();
}

void
rig_ring_sq(struct rig *rig, struct rig_port *p)
{
	(void)rig;
	rig_doorbell(p, 0, (uint64_t)p->sq.pos << 32 | p->sq.id, 8);
}

void
rig_ring_rq(struct rig *rig, struct rig_port *p)
{
	(void)rig;
	rig_doorbell(p, 0x400, (uint64_t)p->rq.pos << 32 | p->rq.id, 8);
}

void
rig_ring_cq(struct rig *rig, struct rig_port *p, struct rig_ring *cq, bool arm)
{
	const uint32_t laps = 8 * (cq->bytes / HW_CQE_BYTES);

	(void)rig;
	rig_doorbell(p, 0x800,
		     (uint64_t)arm << 63 | (uint64_t)(cq->pos % laps) << 32 |
			     cq->id,
		     8);
}

uint8_t *
rig_rx_buf(struct rig_port *p, uint32_t slot)
{
	return p->buf + RIG_BUF_BYTES / 2 +
	       slot * RIG_RX_BUF_BYTES % (RIG_BUF_BYTES / 2);
}

void
rig_fill_rq(struct rig *rig, struct rig_port *p, uint32_t n)
{
	while (n-- > 0) {
		struct rig_wqe wqe = { .header = { 0, 0x200 } };

		rig_tx_add_sge(p, &wqe,
			       (uint32_t)(rig_rx_buf(p, p->rx_slot++) - p->buf),
			       RIG_RX_BUF_BYTES);
		rig_post(&p->rq, &wqe);
	}
	rig_ring_rq(rig, p);
}

const uint8_t *
rig_cqe(struct rig_ring *cq)
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
rig_send(struct rig *rig, struct rig_port *p, const struct rig_wqe *wqe)
{
	const uint8_t *cqe;

	rig_post(&p->sq, wqe);
	rig_ring_sq(rig, p);
	cqe = rig_cqe(&p->scq);
	if (cqe == NULL)
		return -1;
	assert_int_equal(cqe[0] >> 6, 1);
	assert_int_equal(hw_le32(cqe + 60) & 0x1ffffff, 1u << 24 | p->sq.id);
	return cqe[0] & 0x3f;
}

/* A plain sum, by 16-bit big-endian words: not the model's own. */
static uint16_t
rig_sum(uint32_t sum, const uint8_t *bytes, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static uint32_t
rig_l4(uint8_t *l4, uint8_t proto, uint32_t payload, uint32_t addr_sum)
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
		    (uint16_t)~rig_sum(addr_sum + proto + n, l4, n));
	return n;
}

uint32_t
rig_frame(uint8_t *frame, uint8_t proto, uint32_t payload)
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
	hw_put_be16(frame + 24, (uint16_t)~rig_sum(0, frame + 14, 20));
	return 34 + rig_l4(frame + 34, proto, payload, rig_sum(0, frame + 26, 8));
}

uint32_t
rig_frame6(uint8_t *frame, uint8_t proto, uint32_t payload)
{
	const uint32_t l4 = (proto == NIC_PROTO_TCP ? 20 : 8) + payload;

	rig_frame(frame, proto, 0);
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
	       rig_l4(frame + 54, proto, payload, rig_sum(0, frame + 22, 32));
}

void
rig_assert_violation(enum violation violation, uint64_t n, const char *file,
		     int line)
{
	const struct ledger *ledger = segment_ledger();
	uint32_t i;

	for (i = 0; i < ledger->nb_rows; i++) {
		const struct ledger_row *row = &ledger->rows[i];

		if (row->violation != violation) {
			print_error("%s:%d: unexpected violation %s\n", file,
				    line, violation_name(row->violation));
			fail();
		}
	}
	if (violation == NB_VIOLATIONS)
		return;
	if (ledger_count(violation) != n) {
		print_error("%s:%d: %s: %llu times, wanted %llu\n", file, line,
			    violation_name(violation),
			    (unsigned long long)ledger_count(violation),
			    (unsigned long long)n);
		fail();
	}
}
