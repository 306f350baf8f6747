/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The whole driver, on a kernel and an rdma-core that return any count, size, id and
 * error, and a device that writes any completion. This file plays all three: it defines
 * the verbs that the driver calls. After each input all objects are destroyed, unless
 * the kernel refused it, and all memory and mbufs are free.
 *
 * An input is what the functions below return, in the order of the calls, between the
 * bytes that select what the application does. Zeros are success and plausible values.
 */

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <infiniband/manadv.h>

#include <bus_pci_driver.h>
#include <ethdev_driver.h>
#include <rte_alarm.h>
#include <rte_eal.h>
#include <rte_interrupts.h>
#include <rte_malloc.h>

#include "../lcores.h"
#include "fuzz.h"
#include "mana_ethdev.h"
#include "mana_port.h"
#include "owner.h"

#define NB_MBUFS    255u
#define MAX_ACTIONS 24u
#define MAX_CALLS   4000u /* then all calls succeed */
#define MAX_QUEUES  4u
#define MAX_PORTS   2u /* that have a netdev */
#define RING_BYTES  4096u /* the smallest one of the kernel */
#define NB_COPIES   15u /* mbufs of a pool of the driver */

static struct fuzz_input *input;
static uint32_t nb_calls;
static FILE *null_file;
static char ibdev_path[] = "/tmp/fuzz-verbs-XXXXXX";
static struct rte_mempool *pool;

/* ---- What is returned ---------------------------------------------------- */

/* Whether a call fails: errno is set. */
static bool
fails(void)
{
	static const int errors[] = {
		EINVAL,	    EPROTO, ENOMEM,  EBUSY,  ENODEV, EPERM,  EIO, EAGAIN,
		EOPNOTSUPP, 0,	    INT_MAX, ENOENT, EINTR,  EACCES, -1,  INT_MIN + 1,
	};
	const uint8_t byte = nb_calls++ < MAX_CALLS ? fuzz_u8(input) : 0;

	if (byte < 0xf0)
		return false;
	errno = errors[byte & 0x0f];
	return true;
}

/* The same for a call that returns the error, which is not 0. */
static int
error_of_call(void)
{
	if (!fails())
		return 0;
	return errno != 0 ? errno : EIO;
}

/* A likely value, a power of two, or any value. */
static uint32_t
any(uint32_t likely)
{
	const uint8_t byte = fuzz_u8(input);
	uint32_t value;

	if (byte < 0x80)
		return likely;
	if (byte < 0xc0)
		return UINT32_C(1) << (byte & 31);
	fuzz_read(input, &value, sizeof(value));
	return value;
}

/* ---- Objects ------------------------------------------------------------- */

struct context {
	struct manadv_ctx_allocators rings;
	struct verbs_context verbs;
};

struct object {
	struct object *next;
	struct context *context;
	void *ring;
	uint32_t ring_bytes;
	union {
		struct ibv_pd pd;
		struct ibv_mr mr;
		struct ibv_cq cq;
		struct ibv_qp qp;
		struct ibv_wq wq;
		struct ibv_rwq_ind_table ind;
		struct ibv_comp_channel channel;
	};
};

static struct object *objects;
static uint32_t nb_kept; /* that the kernel has refused to destroy */
static uint32_t nb_contexts;

#define OBJECT_OF(pointer, member) container_of(pointer, struct object, member)

/* A new object, with a ring unless ring_bytes is 0; or NULL. */
static struct object *
object_new(struct ibv_context *ctx, uint32_t ring_bytes)
{
	struct context *context = container_of(ctx, struct context, verbs.context);
	struct object *o;

	if (fails())
		return NULL;
	o = calloc(1, sizeof(*o));
	o->context = context;
	if (ring_bytes != 0) {
		o->ring_bytes = RTE_MAX(rte_align32pow2(ring_bytes), RING_BYTES);
		o->ring = context->rings.alloc(o->ring_bytes, context->rings.data);
		if (o->ring == NULL) {
			free(o);
			return NULL;
		}
	}
	o->next = objects;
	objects = o;
	return o;
}

static struct object **
object_find(const struct object *o)
{
	struct object **link = &objects;

	while (*link != NULL && *link != o)
		link = &(*link)->next;
	FUZZ_CHECK(*link != NULL);
	return link;
}

static int
object_destroy(struct object *o)
{
	struct object **link = object_find(o);
	const int error = error_of_call();

	if (error != 0) {
		nb_kept++;
		return error;
	}
	if (o->ring != NULL)
		o->context->rings.free(o->ring, o->context->rings.data);
	*link = o->next;
	free(o);
	return 0;
}

/* ---- Verbs of a context -------------------------------------------------- */

static int
query_device_ex(struct ibv_context *ctx, const struct ibv_query_device_ex_input *in,
		struct ibv_device_attr_ex *attr, size_t size)
{
	const int error = error_of_call();

	if (error != 0)
		return error;
	attr->orig_attr.vendor_part_id = any(2);
	attr->raw_packet_caps = any(4);
	attr->orig_attr.phys_port_cnt = any(1);
	attr->orig_attr.max_qp = any(64);
	attr->orig_attr.max_qp_wr = any(1024);
	attr->orig_attr.max_cqe = any(1024);
	attr->orig_attr.max_sge = any(15);
	return 0;
}

static struct ibv_pd *
alloc_parent_domain(struct ibv_context *ctx, struct ibv_parent_domain_init_attr *attr)
{
	struct object *o = object_new(ctx, 0);

	if (o == NULL)
		return NULL;
	o->pd.context = ctx;
	return &o->pd;
}

static struct ibv_wq *
create_wq(struct ibv_context *ctx, struct ibv_wq_init_attr *attr)
{
	const uint32_t bytes = mana_wqe_bu(GDMA_WQE_SGL_SHORT_BYTES, attr->max_sge) *
			       GDMA_BU_BYTES * attr->max_wr;
	struct object *o = object_new(ctx, bytes);

	if (o == NULL)
		return NULL;
	o->wq.context = ctx;
	return &o->wq;
}

static int
destroy_wq(struct ibv_wq *wq)
{
	return object_destroy(OBJECT_OF(wq, wq));
}

static struct ibv_rwq_ind_table *
create_ind_table(struct ibv_context *ctx, struct ibv_rwq_ind_table_init_attr *attr)
{
	struct object *o = object_new(ctx, 0);

	for (uint32_t i = 0; i < 1u << attr->log_ind_tbl_size; i++)
		(void)object_find(OBJECT_OF(attr->ind_tbl[i], wq));
	if (o == NULL)
		return NULL;
	o->ind.context = ctx;
	return &o->ind;
}

static int
destroy_ind_table(struct ibv_rwq_ind_table *ind)
{
	return object_destroy(OBJECT_OF(ind, ind));
}

static struct ibv_qp *
create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	struct object *o = object_new(ctx, 0);

	(void)object_find(OBJECT_OF(attr->rwq_ind_tbl, ind));
	if (o == NULL)
		return NULL;
	o->qp.context = ctx;
	return &o->qp;
}

/* ---- libibverbs ---------------------------------------------------------- */

struct ibv_device **
ibv_get_device_list(int *nb_devices)
{
	static struct ibv_device device = { .name = "mana_0", .dev_name = "uverbs-none" };
	static struct ibv_device *list[] = { &device, NULL };

	if (fails())
		return NULL;
	snprintf(device.ibdev_path, sizeof(device.ibdev_path), "%s", ibdev_path);
	*nb_devices = 1;
	return list;
}

void
ibv_free_device_list(struct ibv_device **list)
{
}

/* A file with a page that can be mapped like a doorbell page. */
static int
doorbell_fd(void)
{
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("doorbells", 0);
		if (fd < 0 || ftruncate(fd, sysconf(_SC_PAGESIZE)) != 0)
			abort();
	}
	return fd;
}

struct ibv_context *
ibv_open_device(struct ibv_device *device)
{
	static int fd = -1;
	struct context *c;

	if (fails())
		return NULL;
	if (fd < 0)
		fd = eventfd(0, EFD_NONBLOCK);
	c = calloc(1, sizeof(*c));
	c->verbs = (struct verbs_context){
		.sz = sizeof(c->verbs),
		.query_device_ex = query_device_ex,
		.alloc_parent_domain = alloc_parent_domain,
		.create_wq = create_wq,
		.destroy_wq = destroy_wq,
		.create_rwq_ind_table = create_ind_table,
		.destroy_rwq_ind_table = destroy_ind_table,
		.create_qp_ex = create_qp_ex,
		.context = {
			.device = device,
			.async_fd = fd,
			.cmd_fd = doorbell_fd(),
			.num_comp_vectors = any(4),
			.abi_compat = __VERBS_ABI_IS_EXTENDED,
		},
	};
	nb_contexts++;
	return &c->verbs.context;
}

/* The end of the file destroys what the kernel has kept. */
int
ibv_close_device(struct ibv_context *ctx)
{
	struct context *c = container_of(ctx, struct context, verbs.context);

	for (struct object *o = objects; o != NULL; o = o->next)
		if (o->context == c)
			o->ring = NULL;
	free(c);
	nb_contexts--;
	return fails() ? -1 : 0;
}

/* The legacy verb, for a kernel without the other one. */
int
ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	struct ibv_device_attr_ex ex = { .comp_mask = 0 };
	const int ret = query_device_ex(ctx, NULL, &ex, sizeof(ex));

	*attr = ex.orig_attr;
	return ret;
}

struct ibv_pd *
ibv_alloc_pd(struct ibv_context *ctx)
{
	return alloc_parent_domain(ctx, NULL);
}

int
ibv_dealloc_pd(struct ibv_pd *pd)
{
	return object_destroy(OBJECT_OF(pd, pd));
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);
struct ibv_mr *
ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct object *o = object_new(pd->context, 0);

	(void)object_find(OBJECT_OF(pd, pd));
	if (o == NULL)
		return NULL;
	o->mr.lkey = any(0x1234);
	return &o->mr;
}

struct ibv_mr *
ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
		 unsigned int access)
{
	return ibv_reg_mr(pd, addr, length, access);
}

int
ibv_dereg_mr(struct ibv_mr *mr)
{
	return object_destroy(OBJECT_OF(mr, mr));
}

struct ibv_comp_channel *
ibv_create_comp_channel(struct ibv_context *ctx)
{
	struct object *o = object_new(ctx, 0);

	if (o == NULL)
		return NULL;
	o->channel.context = ctx;
	o->channel.fd = eventfd(0, EFD_NONBLOCK);
	return &o->channel;
}

int
ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	const int fd = channel->fd;
	const int ret = object_destroy(OBJECT_OF(channel, channel));

	if (ret == 0)
		close(fd);
	return ret;
}

struct ibv_cq *
ibv_create_cq(struct ibv_context *ctx, int nb_cqe, void *cq_context,
	      struct ibv_comp_channel *channel, int vector)
{
	struct object *o;

	FUZZ_CHECK(vector >= 0 && vector < RTE_MAX(ctx->num_comp_vectors, 1));
	o = object_new(ctx, nb_cqe * GDMA_CQE_BYTES);
	if (o == NULL)
		return NULL;
	o->cq.context = ctx;
	o->cq.channel = channel;
	return &o->cq;
}

int
ibv_destroy_cq(struct ibv_cq *cq)
{
	return object_destroy(OBJECT_OF(cq, cq));
}

struct ibv_qp *
ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	const uint32_t bytes = mana_wqe_bu(GDMA_WQE_SGL_LONG_BYTES, attr->cap.max_send_sge) *
			       GDMA_BU_BYTES * attr->cap.max_send_wr;
	struct object *o = object_new(pd->context, bytes);

	(void)object_find(OBJECT_OF(pd, pd));
	(void)object_find(OBJECT_OF(attr->send_cq, cq));
	return o == NULL ? NULL : &o->qp;
}

int
ibv_destroy_qp(struct ibv_qp *qp)
{
	return object_destroy(OBJECT_OF(qp, qp));
}

/* An event of a CQ that exists. */
int
ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	for (struct object *o = objects; o != NULL && (fuzz_u8(input) & 1) != 0; o = o->next)
		if (o->cq.channel == channel) {
			*cq = &o->cq;
			return 0;
		}
	errno = EAGAIN;
	return -1;
}

void
ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nb)
{
	(void)object_find(OBJECT_OF(cq, cq));
}

int
ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	const uint8_t how = fuzz_u8(input);

	errno = EAGAIN;
	if ((how & 1) == 0 || fails())
		return -1;
	memset(event, 0, sizeof(*event));
	event->event_type = any(how >> 1);
	return 0;
}

void
ibv_ack_async_event(struct ibv_async_event *event)
{
}

/* ---- libmana ------------------------------------------------------------- */

int
manadv_set_context_attr(struct ibv_context *ctx, enum manadv_set_ctx_attr_type type,
			void *attr)
{
	struct context *c = container_of(ctx, struct context, verbs.context);

	const int error = error_of_call();

	if (error == 0)
		c->rings = *(struct manadv_ctx_allocators *)attr;
	return error;
}

int
manadv_init_obj(struct manadv_obj *obj, uint64_t type)
{
	const int error = error_of_call();
	const struct object *o;

	if (error != 0)
		return error;
	o = OBJECT_OF(obj->cq.in, cq);
	obj->cq.out->buf = o->ring;
	obj->cq.out->count = any(o->ring_bytes / GDMA_CQE_BYTES);
	obj->cq.out->cq_id = any(7);
	if ((type & MANADV_OBJ_QP) != 0) {
		o = OBJECT_OF(obj->qp.in, qp);
		obj->qp.out->sq_buf = o->ring;
		obj->qp.out->sq_size = any(o->ring_bytes);
		obj->qp.out->sq_id = any(0x42);
		obj->qp.out->tx_vp_offset = any(3);
	} else {
		o = OBJECT_OF(obj->rwq.in, wq);
		obj->rwq.out->buf = o->ring;
		obj->rwq.out->size = any(o->ring_bytes);
		obj->rwq.out->wq_id = any(0x43);
	}
	return 0;
}

/* ---- The netdev: see fuzz_sysfs.c. ld --wrap sends the calls here. ------- */

int __wrap_mana_netdev_find(const char *path, uint32_t port, struct mana_netdev *netdev);
int
__wrap_mana_netdev_find(const char *path, uint32_t port, struct mana_netdev *netdev)
{
	if (port > MAX_PORTS || fails())
		return -ENODEV;
	*netdev = (struct mana_netdev){
		.ifindex = any(port),
		.mac.addr_bytes = { 2, 0, 0, 0, 0, port },
	};
	snprintf(netdev->name, sizeof(netdev->name), "eth%u", port);
	return 0;
}

int __wrap_mana_netdev_state_get(const struct mana_netdev *netdev,
				 struct mana_netdev_state *state);
int
__wrap_mana_netdev_state_get(const struct mana_netdev *netdev,
			     struct mana_netdev_state *state)
{
	memset(state, 0, sizeof(*state));
	snprintf(state->name, sizeof(state->name), "%s", netdev->name);
	if (fails())
		return -ENODEV;
	state->is_up = (any(0) & 1) != 0;
	state->carrier = (any(1) & 1) != 0;
	state->max_mtu = any(9000);
	state->master = any(0);
	return 0;
}

int __wrap_mana_netdev_max_queues_get(const struct mana_netdev *netdev, uint32_t *max);
int
__wrap_mana_netdev_max_queues_get(const struct mana_netdev *netdev, uint32_t *max)
{
	if (fails())
		return -ENOTSUP;
	*max = RTE_MAX(any(64), 1u);
	return 0;
}

int __wrap_mana_netdev_speed_get(const struct mana_netdev *netdev, uint32_t *mbps);
int
__wrap_mana_netdev_speed_get(const struct mana_netdev *netdev, uint32_t *mbps)
{
	if (fails())
		return -ENOTSUP;
	*mbps = RTE_MAX(any(100000), 1u);
	return 0;
}

int __wrap_mana_netdev_up_set(const struct mana_netdev *netdev, bool is_up,
			      struct mana_netdev_state *before);
int
__wrap_mana_netdev_up_set(const struct mana_netdev *netdev, bool is_up,
			  struct mana_netdev_state *before)
{
	int ret = __wrap_mana_netdev_state_get(netdev, before);

	return ret == 0 && before->is_up != is_up && fails() ? -EPERM : ret;
}

bool __wrap_mana_netdev_is_netvsc(unsigned int master, char name[IF_NAMESIZE]);
bool
__wrap_mana_netdev_is_netvsc(unsigned int master, char name[IF_NAMESIZE])
{
	snprintf(name, IF_NAMESIZE, "eth0");
	return (fuzz_u8(input) & 1) != 0;
}

/* ---- EAL: no thread and no timer runs beside the input ------------------- */

static struct {
	rte_intr_callback_fn callback; /* NULL: none */
	void *arg;
} intrs[8];

int
rte_intr_callback_register(const struct rte_intr_handle *handle,
			   rte_intr_callback_fn callback, void *arg)
{
	uint32_t i = 0;

	while (intrs[i].callback != NULL)
		FUZZ_CHECK(++i < RTE_DIM(intrs));
	intrs[i].callback = callback;
	intrs[i].arg = arg;
	return 0;
}

int
rte_intr_callback_unregister(const struct rte_intr_handle *handle,
			     rte_intr_callback_fn callback, void *arg)
{
	for (uint32_t i = 0; i < RTE_DIM(intrs); i++)
		if (intrs[i].callback == callback && intrs[i].arg == arg) {
			intrs[i].callback = NULL;
			return 1;
		}
	return -ENOENT;
}

int
rte_intr_callback_unregister_pending(const struct rte_intr_handle *handle,
				     rte_intr_callback_fn callback, void *arg,
				     rte_intr_unregister_callback_fn unregistered)
{
	return rte_intr_callback_unregister(handle, callback, arg);
}

static struct {
	rte_eal_alarm_callback callback;
	void *arg;
} alarms[8];
static uint32_t nb_alarms;

int
rte_eal_alarm_set(uint64_t us, rte_eal_alarm_callback callback, void *arg)
{
	FUZZ_CHECK(nb_alarms < RTE_DIM(alarms));
	alarms[nb_alarms].callback = callback;
	alarms[nb_alarms++].arg = arg;
	return 0;
}

static void
alarm_remove(uint32_t i)
{
	nb_alarms--;
	memmove(&alarms[i], &alarms[i + 1], (nb_alarms - i) * sizeof(*alarms));
}

int
rte_eal_alarm_cancel(rte_eal_alarm_callback callback, void *arg)
{
	int nb = 0;

	for (uint32_t i = 0; i < nb_alarms;) {
		if (alarms[i].callback != callback || alarms[i].arg != arg) {
			i++;
			continue;
		}
		alarm_remove(i);
		nb++;
	}
	return nb;
}

/* The oldest one: a look at the queues, or a step of the recovery. */
static void
alarm_ring(void)
{
	rte_eal_alarm_callback callback = alarms[0].callback;
	void *arg = alarms[0].arg;

	if (nb_alarms == 0)
		return;
	alarm_remove(0);
	callback(arg);
}

/* The driver waits 20 ms of this clock for packets that are not sent. */
uint64_t
rte_get_tsc_hz(void)
{
	return 1000000;
}

void
rte_delay_us_sleep(unsigned int us)
{
}

/*
 * Memory of the driver: from the C library, where the address sanitizer sees each access
 * behind the end. ethdev frees a port's own structure.
 */
static uint32_t nb_blocks;

static bool
is_libc(const char *type)
{
	return type != NULL && strncmp(type, "mana_", 5) == 0;
}

static void *
block_new(size_t size, unsigned int align)
{
	void *block = NULL;

	if (posix_memalign(&block, RTE_MAX(align, (unsigned int)RTE_CACHE_LINE_SIZE),
			   size) != 0)
		return NULL;
	nb_blocks++;
	return memset(block, 0, size);
}

void *__real_rte_zmalloc(const char *type, size_t size, unsigned int align);
void *__wrap_rte_zmalloc(const char *type, size_t size, unsigned int align);
void *
__wrap_rte_zmalloc(const char *type, size_t size, unsigned int align)
{
	return is_libc(type) ? block_new(size, align) : __real_rte_zmalloc(type, size, align);
}

void *__real_rte_zmalloc_socket(const char *type, size_t size, unsigned int align,
				int socket);
void *__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned int align,
				int socket);
void *
__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned int align, int socket)
{
	return is_libc(type) ? block_new(size, align) :
			       __real_rte_zmalloc_socket(type, size, align, socket);
}

static bool
is_block(const void *ptr)
{
	return ptr != NULL && rte_mem_virt2memseg_list(ptr) == NULL;
}

void __real_rte_free(void *ptr);
void __wrap_rte_free(void *ptr);
void
__wrap_rte_free(void *ptr)
{
	if (!is_block(ptr)) {
		__real_rte_free(ptr);
		return;
	}
	nb_blocks--;
	free(ptr);
}

int __real_rte_malloc_validate(const void *ptr, size_t *size);
int __wrap_rte_malloc_validate(const void *ptr, size_t *size);
int
__wrap_rte_malloc_validate(const void *ptr, size_t *size)
{
	if (!is_block(ptr))
		return __real_rte_malloc_validate(ptr, size);
	*size = malloc_usable_size((void *)(uintptr_t)ptr);
	return 0;
}

/* EAL clears memory as it is freed: most of an input's time with pools of full size. */
struct rte_mempool *__real_rte_pktmbuf_pool_create(const char *name, unsigned int n,
						   unsigned int cache_size,
						   uint16_t priv_size, uint16_t room,
						   int socket_id);
struct rte_mempool *__wrap_rte_pktmbuf_pool_create(const char *name, unsigned int n,
						   unsigned int cache_size,
						   uint16_t priv_size, uint16_t room,
						   int socket_id);
struct rte_mempool *
__wrap_rte_pktmbuf_pool_create(const char *name, unsigned int n, unsigned int cache_size,
			       uint16_t priv_size, uint16_t room, int socket_id)
{
	return __real_rte_pktmbuf_pool_create(name, RTE_MIN(n, NB_COPIES), cache_size,
					      priv_size, room, socket_id);
}

static struct rte_pci_driver *driver;

/* The constructor of mana_probe.c calls this, before those of EAL's plug-ins. */
void
rte_pci_register(struct rte_pci_driver *registered)
{
	if (driver == NULL && registered->id_table->vendor_id == MANA_PCI_VENDOR_ID)
		driver = registered;
}

void
rte_pci_unregister(struct rte_pci_driver *registered)
{
}

/* ---- The application ----------------------------------------------------- */

static struct rte_pci_device pci_device = {
	.addr = { .domain = 0x7870 },
	.device = { .name = "7870:00:00.0", .numa_node = SOCKET_ID_ANY },
};

static void
configure(uint16_t port)
{
	const uint8_t how = fuzz_u8(input);
	const uint16_t nb_rxq = how % (MAX_QUEUES + 1),
		       nb_txq = (how >> 3) % (MAX_QUEUES + 1);
	struct rte_eth_conf conf = {
		.rxmode.mtu = any(1500),
		.rxmode.offloads = (how & 0x40) != 0 ? RTE_ETH_RX_OFFLOAD_SCATTER |
							       RTE_ETH_RX_OFFLOAD_RSS_HASH :
						       0,
		.rxmode.mq_mode = nb_rxq > 1 ? RTE_ETH_MQ_RX_RSS : RTE_ETH_MQ_RX_NONE,
		.txmode.offloads = (how & 0x80) != 0 ? RTE_ETH_TX_OFFLOAD_MULTI_SEGS : 0,
		.intr_conf.rxq = (how & 0x20) != 0,
	};

	if (rte_eth_dev_configure(port, nb_rxq, nb_txq, &conf) != 0)
		return;
	for (uint16_t i = 0; i < nb_rxq; i++)
		(void)rte_eth_rx_queue_setup(port, i, any(64), SOCKET_ID_ANY, NULL, pool);
	for (uint16_t i = 0; i < nb_txq; i++)
		(void)rte_eth_tx_queue_setup(port, i, any(64), SOCKET_ID_ANY, NULL);
}

/* Any bytes in the ring of an object, if it is a CQ's. */
static void
device_write(void)
{
	uint32_t nth = fuzz_u8(input), at = fuzz_u8(input) * 16u;
	struct object *o = objects;

	while (o != NULL && (o->ring == NULL || nth-- > 0))
		o = o->next;
	if (o != NULL)
		fuzz_read(input, (uint8_t *)o->ring + at,
			  RTE_MIN(fuzz_u8(input), RING_BYTES - at));
}

static void
traffic(uint16_t port)
{
	const struct rte_eth_dev_data *data = rte_eth_devices[port].data;
	struct rte_mbuf *pkts[8];
	uint16_t nb;

	if (!data->dev_started)
		return;
	for (uint16_t q = 0; q < data->nb_rx_queues; q++) {
		nb = rte_eth_rx_burst(port, q, pkts, RTE_DIM(pkts));
		rte_pktmbuf_free_bulk(pkts, nb);
	}
	for (uint16_t q = 0; q < data->nb_tx_queues; q++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

		if (m == NULL)
			return;
		(void)rte_pktmbuf_append(m, 60);
		if (rte_eth_tx_burst(port, q, &m, 1) == 0)
			rte_pktmbuf_free(m);
	}
}

static void
query(uint16_t port)
{
	struct rte_eth_dev_info info;
	struct rte_eth_xstat *xstats;
	struct rte_eth_link link;
	int nb = rte_eth_xstats_get(port, NULL, 0);

	if (rte_eth_dev_info_get(port, &info) == 0) {
		FUZZ_CHECK(info.max_rx_queues <= MANA_MAX_QUEUES);
		FUZZ_CHECK(info.max_tx_queues <= MANA_MAX_QUEUES);
		FUZZ_CHECK(info.max_mtu <= UINT16_MAX);
	}
	(void)rte_eth_link_get_nowait(port, &link);
	if (nb > 0) {
		xstats = calloc(nb, sizeof(*xstats));
		(void)rte_eth_xstats_get(port, xstats, nb);
		free(xstats);
	}
}

static void
set_reta(uint16_t port)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };

	for (uint32_t i = 0; i < RTE_DIM(reta.reta); i++)
		reta.reta[i] = fuzz_u8(input) % MAX_QUEUES;
	(void)rte_eth_dev_rss_reta_update(port, &reta, RTE_DIM(reta.reta));
}

static void
set_key(uint16_t port)
{
	uint8_t key[MANA_RSS_KEY_BYTES] = { fuzz_u8(input) };
	struct rte_eth_rss_conf conf = { .rss_key = key, .rss_key_len = sizeof(key) };

	(void)rte_eth_dev_rss_hash_update(port, &conf);
}

enum action {
	CONFIGURE,
	START,
	STOP,
	TRAFFIC,
	DEVICE_WRITE,
	QUERY,
	SET_RETA,
	SET_KEY,
	SET_MTU,
	RXQ,
	TXQ,
	INTERRUPT,
	RX_INTERRUPT,
	CLOSE,
	ALARM,
	OTHER,
};

/* Other actions, by the bits behind. */
enum other {
	RESET,
	DUMP,
	STATUS,
	CLEANUP,
	VLAN,
	LINK,
};

static void
other(uint16_t port, enum other what, bool is_on)
{
	const struct rte_eth_dev_data *data = rte_eth_devices[port].data;

	switch (what) {
	case RESET:
		(void)rte_eth_dev_reset(port);
		break;
	case DUMP:
		(void)rte_eth_dev_priv_dump(port, null_file);
		break;
	case STATUS:
		for (uint16_t q = 0; data->dev_started && q < data->nb_rx_queues; q++) {
			(void)rte_eth_rx_queue_count(port, q);
			(void)rte_eth_rx_descriptor_status(port, q, fuzz_u8(input));
		}
		for (uint16_t q = 0; data->dev_started && q < data->nb_tx_queues; q++)
			(void)rte_eth_tx_descriptor_status(port, q, fuzz_u8(input));
		break;
	case CLEANUP:
		for (uint16_t q = 0; data->dev_started && q < data->nb_tx_queues; q++)
			(void)rte_eth_tx_done_cleanup(port, q, fuzz_u8(input) & 7);
		break;
	case VLAN:
		(void)rte_eth_dev_set_vlan_offload(port, is_on ? RTE_ETH_VLAN_STRIP_OFFLOAD : 0);
		break;
	case LINK:
		(void)(is_on ? rte_eth_dev_set_link_up(port) :
			       rte_eth_dev_set_link_down(port));
		break;
	}
}

static void
act(uint16_t port)
{
	const uint8_t action = fuzz_u8(input);
	const uint16_t queue = action >> 4 & 3;
	const bool is_on = (action & 0x40) != 0;

	switch ((enum action)(action & 0x0f)) {
	case CONFIGURE:
		configure(port);
		break;
	case START:
		(void)rte_eth_dev_start(port);
		break;
	case STOP:
		(void)rte_eth_dev_stop(port);
		break;
	case TRAFFIC:
		traffic(port);
		break;
	case DEVICE_WRITE:
		device_write();
		break;
	case QUERY:
		query(port);
		break;
	case SET_RETA:
		set_reta(port);
		break;
	case SET_KEY:
		set_key(port);
		break;
	case SET_MTU:
		(void)rte_eth_dev_set_mtu(port, any(1500));
		break;
	case RXQ:
		(void)(is_on ? rte_eth_dev_rx_queue_start(port, queue) :
			       rte_eth_dev_rx_queue_stop(port, queue));
		break;
	case TXQ:
		(void)(is_on ? rte_eth_dev_tx_queue_start(port, queue) :
			       rte_eth_dev_tx_queue_stop(port, queue));
		break;
	case INTERRUPT:
		if (intrs[queue].callback != NULL)
			intrs[queue].callback(intrs[queue].arg);
		break;
	case RX_INTERRUPT:
		(void)(is_on ? rte_eth_dev_rx_intr_enable(port, queue) :
			       rte_eth_dev_rx_intr_disable(port, queue));
		break;
	case CLOSE:
		(void)rte_eth_dev_stop(port);
		(void)rte_eth_dev_close(port);
		break;
	case ALARM:
		alarm_ring();
		break;
	case OTHER:
		other(port, action >> 4 & 7, (action & 0x80) != 0);
		break;
	}
}

/* ---- Inputs -------------------------------------------------------------- */

static void
make_link(void)
{
	char path[64];

	FUZZ_CHECK(mkdtemp(ibdev_path) != NULL);
	snprintf(path, sizeof(path), "%s/7870:00:00.0", ibdev_path);
	FUZZ_CHECK(mkdir(path, 0700) == 0);
	snprintf(path, sizeof(path), "%s/device", ibdev_path);
	FUZZ_CHECK(symlink("7870:00:00.0", path) == 0);
}

static void
remove_link(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/device", ibdev_path);
	unlink(path);
	snprintf(path, sizeof(path), "%s/7870:00:00.0", ibdev_path);
	rmdir(path);
	rmdir(ibdev_path);
}

/* The kernel frees what it has kept when the program ends. */
static void
objects_forget(void)
{
	while (objects != NULL) {
		struct object *o = objects;

		objects = o->next;
		free(o);
	}
}

/* Probes the function, does what the input says, and removes it. */
static void
run(struct fuzz_input *in)
{
	/* By the length of the input. */
	static char args[][64] = {
		"", "recovery_timeout=0", "netdev_down=1", "rx_scrub=1",
		"hw_rxq=8", "tx_oob=long",
	};
	static struct rte_devargs devargs;
	uint16_t port;

	input = in;
	nb_calls = 0;
	nb_kept = 0;
	nb_blocks = 0;
	devargs.args = args[in->nb_left % RTE_DIM(args)];
	pci_device.device.devargs = &devargs;
	pci_device.driver = driver;
	pci_device.device.driver = &driver->driver;
	if (driver->probe(driver, &pci_device) == 0) {
		for (uint32_t i = 0; i < MAX_ACTIONS && in->nb_left > 0; i++)
			RTE_ETH_FOREACH_DEV(port)
				act(port);
		(void)driver->remove(&pci_device);
	}
	FUZZ_CHECK(nb_contexts == 0);
	for (uint32_t i = 0; i < RTE_DIM(intrs); i++)
		FUZZ_CHECK(intrs[i].callback == NULL);
	FUZZ_CHECK(nb_alarms == 0);
	if (nb_kept == 0)
		FUZZ_CHECK(objects == NULL && nb_blocks == 0);
	objects_forget();
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char *args[] = {
		(char *)(uintptr_t) "fuzz",
		(char *)(uintptr_t) "--no-huge",
		(char *)(uintptr_t) "--no-pci",
		(char *)(uintptr_t) "--no-shconf",
		(char *)(uintptr_t) "--no-telemetry",
		(char *)(uintptr_t) "-m",
		(char *)(uintptr_t) "256",
		lcores_anywhere(),
	};

	make_link();
	atexit(remove_link);
	FUZZ_CHECK(rte_eal_init(RTE_DIM(args), args) >= 0);
	null_file = fopen("/dev/null", "w");
	(void)rte_openlog_stream(null_file);
	pool = rte_pktmbuf_pool_create_by_ops("pool", NB_MBUFS, 0, 0,
					      RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY,
					      "fuzz");
	FUZZ_CHECK(pool != NULL);
	owner_watch(pool);
	/* ethdev and the driver keep some memory for all later ports. */
	run(&(struct fuzz_input){ .bytes = (const uint8_t *)"" });
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t nb_bytes)
{
	struct fuzz_input in = { .bytes = data, .nb_left = nb_bytes };
	struct rte_malloc_socket_stats before, after;

	(void)rte_malloc_get_socket_stats(0, &before);
	run(&in);
	(void)rte_malloc_get_socket_stats(0, &after);
	if (nb_kept != 0) {
		/* Better lost than written by a device that may still use them. */
		owner_recover(pool);
		return 0;
	}
	FUZZ_CHECK(rte_mempool_avail_count(pool) == NB_MBUFS);
	FUZZ_CHECK(after.alloc_count == before.alloc_count);
	return 0;
}
