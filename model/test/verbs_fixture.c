/* SPDX-License-Identifier: BSD-3-Clause */

#include <dlfcn.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "../base/hw.h"
#include "verbs_fixture.h"

#define PAGE_BYTES 4096

uint32_t fx_nb_rings;

void *
model_function(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (found == NULL) {
		fprintf(stderr, "%s: to be run under mana-model\n", name);
		exit(1);
	}
	return found;
}

static void *
ring_alloc(size_t size, void *data)
{
	void *ring = aligned_alloc(PAGE_BYTES,
				   (size + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1ul));

	(void)data;
	if (ring != NULL) {
		memset(ring, 0, size);
		__atomic_add_fetch(&fx_nb_rings, 1, __ATOMIC_RELAXED);
	}
	return ring;
}

static void
ring_free(void *ring, void *data)
{
	(void)data;
	if (ring == NULL)
		return;
	__atomic_sub_fetch(&fx_nb_rings, 1, __ATOMIC_RELAXED);
	free(ring);
}

static void
set_allocators(struct ibv_context *ctx)
{
	struct manadv_ctx_allocators allocators = {
		.alloc = ring_alloc,
		.free = ring_free,
	};

	assert_int_equal(manadv_set_context_attr(ctx,
		MANADV_CTX_ATTR_BUF_ALLOCATORS, &allocators), 0);
}

static int
open_device(struct fixture *fx)
{
	struct ibv_device **list;
	int nb = 0;

	list = ibv_get_device_list(&nb);
	if (list == NULL)
		return errno;
	errno = ENODEV;
	if ((int)fx->device < nb)
		fx->ctx = ibv_open_device(list[fx->device]);
	nb = fx->ctx == NULL ? errno : 0;
	ibv_free_device_list(list);
	return nb;
}

int
fx_open(struct fixture *fx, uint32_t device, uint32_t port)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd_context = (void *)(uintptr_t)port,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
	};
	int rc;

	fx->device = device;
	fx->port = port;
	if (fx->nb_cqe == 0)
		fx->nb_cqe = FX_NB_CQE;
	if (fx->nb_wr == 0)
		fx->nb_wr = FX_NB_WR;
	if (fx->buf_bytes == 0)
		fx->buf_bytes = FX_BUF_BYTES;
	rc = open_device(fx);
	if (rc != 0)
		return rc;
	set_allocators(fx->ctx);

	fx->pd = ibv_alloc_pd(fx->ctx);
	if (fx->pd == NULL)
		return errno;
	attr.pd = fx->pd;
	fx->parent = ibv_alloc_parent_domain(fx->ctx, &attr);
	if (fx->parent == NULL)
		return errno;
	fx->buf = aligned_alloc(PAGE_BYTES, fx->buf_bytes);
	memset(fx->buf, 0, fx->buf_bytes);
	fx->mr = ibv_reg_mr(fx->pd, fx->buf, fx->buf_bytes,
			    IBV_ACCESS_LOCAL_WRITE);
	return fx->mr == NULL ? errno : 0;
}

struct ibv_qp_init_attr
fx_qp_attr(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = FX_NB_WR, .max_send_sge = 30 },
		.qp_type = IBV_QPT_RAW_PACKET,
	};

	return attr;
}

/* Get the rings and ids of a queue, which has a QP (Tx) or a WQ (Rx). */
static void
get_rings(struct fixture *fx, struct fx_queue *q)
{
	const bool is_tx = q->qp != NULL;
	struct manadv_qp qp;
	struct manadv_rwq wq;
	struct manadv_cq cq;
	struct manadv_obj obj = {
		.qp = { .in = q->qp, .out = &qp },
		.rwq = { .in = q->wq, .out = &wq },
		.cq = { .in = q->cq, .out = &cq },
	};

	assert_int_equal(manadv_init_obj(&obj, MANADV_OBJ_CQ |
					 (is_tx ? MANADV_OBJ_QP : MANADV_OBJ_RWQ)),
			 0);
	q->ring = is_tx ? qp.sq_buf : wq.buf;
	q->ring_bytes = is_tx ? qp.sq_size : wq.size;
	q->id = is_tx ? qp.sq_id : wq.wq_id;
	q->vp_offset = is_tx ? qp.tx_vp_offset : 0;
	q->cq_ring = cq.buf;
	q->cq_id = cq.cq_id;
	q->nb_cqe = fx->nb_cqe;
	q->cq_head = fx->nb_cqe;
	q->pi_bu = 0;
	fx->doorbell = is_tx ? qp.db_page : wq.db_page;
}

int
fx_add_tx(struct fixture *fx)
{
	struct fx_queue *q = &fx->tx[fx->nb_tx];
	struct ibv_qp_init_attr attr;

	fx->nb_tx++;
	q->cq = ibv_create_cq(fx->ctx, fx->nb_cqe, NULL, NULL, 0);
	if (q->cq == NULL)
		return errno;
	attr = fx_qp_attr(q->cq);
	attr.cap.max_send_wr = fx->nb_wr;
	q->qp = ibv_create_qp(fx->parent, &attr);
	if (q->qp == NULL)
		return errno;
	get_rings(fx, q);
	return 0;
}

int
fx_add_rx(struct fixture *fx)
{
	struct fx_queue *q = &fx->rx[fx->nb_rx];
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = fx->nb_wr,
		.max_sge = 1,
		.pd = fx->parent,
	};

	fx->nb_rx++;
	if (fx->has_channels) {
		q->channel = ibv_create_comp_channel(fx->ctx);
		if (q->channel == NULL)
			return errno;
	}
	q->cq = ibv_create_cq(fx->ctx, fx->nb_cqe, NULL, q->channel, 0);
	if (q->cq == NULL)
		return errno;
	attr.cq = q->cq;
	q->wq = ibv_create_wq(fx->ctx, &attr);
	return q->wq == NULL ? errno : 0;
}

struct ibv_qp_init_attr_ex
fx_rss_attr(struct fixture *fx)
{
	static uint8_t key[40] = { 0x6d, 0x5a, 0x56, 0xda };
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH |
			IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = fx->parent,
		.rwq_ind_tbl = fx->ind,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(key),
			.rx_hash_key = key,
			.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 |
				IBV_RX_HASH_DST_IPV4,
		},
	};

	return attr;
}

int
fx_start_rx(struct fixture *fx)
{
	struct ibv_wq *wqs[FX_MAX_QUEUES];
	struct ibv_rwq_ind_table_init_attr ind_attr = { .ind_tbl = wqs };
	struct ibv_qp_init_attr_ex attr;
	uint32_t i;

	while (1u << ind_attr.log_ind_tbl_size < fx->nb_rx)
		ind_attr.log_ind_tbl_size++;
	for (i = 0; i < fx->nb_rx; i++)
		wqs[i] = fx->rx[i].wq;
	fx->ind = ibv_create_rwq_ind_table(fx->ctx, &ind_attr);
	if (fx->ind == NULL)
		return errno;
	attr = fx_rss_attr(fx);
	fx->rss = ibv_create_qp_ex(fx->ctx, &attr);
	if (fx->rss == NULL)
		return errno;
	for (i = 0; i < fx->nb_rx; i++)
		get_rings(fx, &fx->rx[i]);
	return 0;
}

int
fx_up(struct fixture *fx, uint32_t device, uint32_t port, uint32_t nb_tx,
      uint32_t nb_rx)
{
	uint32_t i;
	int rc;

	rc = fx_open(fx, device, port);
	for (i = 0; i < nb_tx && rc == 0; i++)
		rc = fx_add_tx(fx);
	for (i = 0; i < nb_rx && rc == 0; i++)
		rc = fx_add_rx(fx);
	if (rc == 0 && nb_rx > 0)
		rc = fx_start_rx(fx);
	return rc;
}

/* Destroy the object of a member, and keep the first error. */
#define TAKE_DOWN(member, destroy)                        \
	do {                                              \
		int err_ = 0;                             \
		if ((member) != NULL)                     \
			err_ = destroy(member);           \
		(member) = NULL;                          \
		if (rc == 0)                              \
			rc = err_;                        \
	} while (0)

int
fx_stop_rx(struct fixture *fx)
{
	uint32_t i;
	int rc = 0;

	TAKE_DOWN(fx->rss, ibv_destroy_qp);
	TAKE_DOWN(fx->ind, ibv_destroy_rwq_ind_table);
	for (i = 0; i < fx->nb_rx; i++) {
		TAKE_DOWN(fx->rx[i].wq, ibv_destroy_wq);
		TAKE_DOWN(fx->rx[i].cq, ibv_destroy_cq);
		TAKE_DOWN(fx->rx[i].channel, ibv_destroy_comp_channel);
	}
	fx->nb_rx = 0;
	return rc;
}

int
fx_stop_tx(struct fixture *fx)
{
	int rc = 0;

	for (uint32_t i = 0; i < fx->nb_tx; i++) {
		TAKE_DOWN(fx->tx[i].qp, ibv_destroy_qp);
		TAKE_DOWN(fx->tx[i].cq, ibv_destroy_cq);
	}
	fx->nb_tx = 0;
	return rc;
}

int
fx_close(struct fixture *fx)
{
	const int rx_rc = fx_stop_rx(fx), tx_rc = fx_stop_tx(fx);
	int rc = rx_rc != 0 ? rx_rc : tx_rc;

	TAKE_DOWN(fx->mr, ibv_dereg_mr);
	TAKE_DOWN(fx->parent, ibv_dealloc_pd);
	TAKE_DOWN(fx->pd, ibv_dealloc_pd);
	TAKE_DOWN(fx->ctx, ibv_close_device);
	free(fx->buf);
	memset(fx, 0, sizeof(*fx));
	return rc;
}

static void
ring(struct fixture *fx, uint32_t offset, uint64_t value)
{
	volatile uint64_t *at = (volatile uint64_t *)
		((uintptr_t)fx->doorbell + offset);

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*at = value;
}

/* A WQE of one BU: header, short OOB, one SGE. */
static void
post(struct fixture *fx, struct fx_queue *q, const uint32_t oob[2],
     uint32_t off, uint32_t nb_bytes)
{
	uint32_t *wqe = (uint32_t *)(q->ring +
		q->pi_bu * HW_BU_BYTES % q->ring_bytes);
	uint64_t addr = (uintptr_t)fx->buf + off;

	wqe[0] = 0;
	wqe[1] = 1 | HW_OOB_DIV4_SHORT << HW_WQE_OOB_DIV4_S;
	wqe[2] = oob[0];
	wqe[3] = oob[1];
	memcpy(&wqe[4], &addr, sizeof(addr));
	wqe[6] = fx->mr->lkey;
	wqe[7] = nb_bytes;
	q->pi_bu++;
}

void
fx_post_send(struct fixture *fx, struct fx_queue *q, uint32_t off,
	     uint32_t nb_bytes)
{
	const uint32_t oob[2] = {
		q->cq_id << HW_OOB_VCQ_NUM_S,
		(q->id >> HW_VSQ_FRAME_SHIFT) << HW_OOB_VSQ_FRAME_S |
			q->vp_offset << HW_OOB_SHORT_VP_S,
	};

	post(fx, q, oob, off, nb_bytes);
}

void
fx_ring_send(struct fixture *fx, struct fx_queue *q)
{
	ring(fx, HW_DB_SQ, q->id | (uint64_t)(q->pi_bu * HW_BU_BYTES) << 32);
}

void
fx_send(struct fixture *fx, struct fx_queue *q, uint32_t off,
	uint32_t nb_bytes)
{
	fx_post_send(fx, q, off, nb_bytes);
	fx_ring_send(fx, q);
}

void
fx_fill(struct fixture *fx, struct fx_queue *q, uint32_t n)
{
	const uint32_t oob[2] = { 0, 0 };
	uint32_t area = fx->buf_bytes / 2;
	uint32_t slots = area / FX_RX_BUF_BYTES;

	while (n-- > 0)
		post(fx, q, oob,
		     area + q->pi_bu % slots * FX_RX_BUF_BYTES,
		     FX_RX_BUF_BYTES);
	ring(fx, HW_DB_RQ, q->id | (uint64_t)(q->pi_bu * HW_BU_BYTES) << 32);
}

void
fx_ring_cq(struct fixture *fx, struct fx_queue *q, bool arm)
{
	ring(fx, HW_DB_CQ, q->cq_id |
	     (uint64_t)(q->cq_head % (HW_OWNER_LAPS * q->nb_cqe)) << 32 |
	     (uint64_t)arm << 63);
}

bool
fx_has_cqe(const struct fx_queue *q)
{
	const uint8_t *cqe = q->cq_ring + q->cq_head % q->nb_cqe * HW_CQE_BYTES;
	const uint32_t trailer =
		__atomic_load_n((const uint32_t *)(cqe + HW_CQE_TRAILER_OFF),
				__ATOMIC_ACQUIRE);

	return trailer >> HW_CQE_OWNER_S ==
	       (q->cq_head / q->nb_cqe & HW_CQE_OWNER_M);
}

const uint8_t *
fx_cqe(struct fx_queue *q)
{
	const struct timespec a_while = { .tv_nsec = 1000000 };

	for (uint32_t i = 0; i < 1000; i++) {
		if (fx_has_cqe(q))
			return q->cq_ring +
			       q->cq_head++ % q->nb_cqe * HW_CQE_BYTES;
		nanosleep(&a_while, NULL);
	}
	return NULL;
}

const uint8_t *
fx_take(struct fx_queue *q, uint32_t type)
{
	const uint8_t *cqe = fx_cqe(q);

	assert_non_null(cqe);
	assert_int_equal(cqe[0] & HW_CQE_TYPE_M, type);
	assert_int_equal(hw_le32(cqe + HW_CQE_TRAILER_OFF) & HW_CQE_WQ_NUM_M,
			 q->id);
	return cqe;
}

void
fx_check_sends(struct fixture *fx)
{
	memset(fx->buf, 0xff, 6);
	fx_send(fx, &fx->tx[0], 0, 60);
	fx_take(&fx->tx[0], HW_CQE_TX_OKAY);
	fx_ring_cq(fx, &fx->tx[0], false);
}

char fx_message[256];

int
fx_command(const char *line)
{
	fx_message[0] = '\0';
	return MODEL_CALL(mana_model_command)(line, fx_message,
					      sizeof(fx_message));
}

void
fx_do(const char *line)
{
	if (fx_command(line) != 0)
		fail_msg("%s: %s", line, fx_message);
}

int
fx_ethtool(const char *netdev, void *data)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;
	struct ifreq ifr = { .ifr_data = data };

	strcpy(ifr.ifr_name, netdev);
	rc = ioctl(sock, SIOCETHTOOL, &ifr) == 0 ? 0 : errno;
	close(sock);
	return rc;
}

void
fx_wait_for(pid_t pid, int expected)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, expected);
}

void
fx_send_fd(int sock, int fd)
{
	union {
		struct cmsghdr hdr;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .hdr = { .cmsg_len = CMSG_LEN(sizeof(int)),
			       .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS } };
	char byte = 'f';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.hdr), &fd, sizeof(fd));
	assert_int_equal(sendmsg(sock, &msg, 0), 1);
}

int
fx_receive_fd(int sock)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	int fd;

	if (recvmsg(sock, &msg, 0) != 1)
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

struct mana_model_port
fx_counters(unsigned int fn, unsigned int port)
{
	struct mana_model_port counters;

	assert_int_equal(MODEL_CALL(mana_model_port)(fn, port, &counters), 0);
	return counters;
}

struct mana_model_objects
fx_objects(void)
{
	struct mana_model_objects objects;

	/* This call reclaims files of dead programs. */
	assert_int_equal(MODEL_CALL(mana_model_leaks)(&objects), 0);
	assert_int_equal(MODEL_CALL(mana_model_objects)(&objects), 0);
	return objects;
}

int
fx_setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	assert_int_equal(fx_nb_rings, 0);
	return *state == NULL ? -1 : 0;
}

/*
 * After each test: no objects may be left, in the machine and in this process.
 */
int
fx_teardown(void **state)
{
	struct fixture *fx = *state;

	MODEL_CALL(mana_model_fault_disarm)();
	MODEL_CALL(mana_model_privileges)(true, true);
	fx_close(fx);
	free(fx);
	assert_int_equal(fx_nb_rings, 0);
	assert_no_objects();
	return 0;
}
