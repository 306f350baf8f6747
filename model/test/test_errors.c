/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Errors of verbs that mana-kernel-walk cannot cause on a real kernel: a command
 * that fails, a missing right, a limit, an exhausted adapter. Each row of the
 * table is a test. The rows run on each kernel version.
 *
 * usage: mana-model --functions 2 --ports 2 --kernel AGE --rnic -- this AGE
 */

#include <sys/resource.h>

#include "uverbs_calls.h"
#include "verbs_fixture.h"

#define PAGE 4096
#define MANY 2000 /* more than the card has protection domains */

enum {
	AGE_7_2 /* and 7.3 */,
	AGE_6_12,
	AGE_6_2,
	NB_AGES
};
static uint32_t error_age;
static struct rlimit usual_limit;

/* What the row spoils before its last verb. */
enum spoil {
	NOTHING,
	FAULT,
	MEMLOCK,
	NO_NET_RAW
};

/*
 * A verb, what is wrong, and the errno in each version. The fixture is open on
 * port 1; the verb's objects are gone when run() returns.
 */
struct error_case {
	const char *what;
	int (*run)(struct fixture *fx);
	int expected[NB_AGES];
	enum spoil spoil;
	const char *call; /* FAULT: this call of the kernel fails */
	int error; /* FAULT: with this errno */
};
#define SAME(error)                 \
	{                           \
		error, error, error \
	}

/* errno of a verb that returns a pointer; destroys the object that it returned. */
#define ERRNO_OF(verb, destroy)                              \
	__extension__({                                      \
		__auto_type made_ = (errno = 0, (verb));     \
		int error_ = made_ == NULL ? errno : 0;      \
		if (made_ != NULL)                           \
			assert_int_equal(destroy(made_), 0); \
		error_;                                      \
	})

static const struct error_case *row; /* that runs */

static void
spoil(void)
{
	struct rlimit limit = usual_limit;

	switch (row->spoil) {
	case NOTHING:
		break;
	case FAULT:
		assert_int_equal(MODEL_CALL(mana_model_fault_arm)(row->call, 1,
								  row->error),
				 0);
		break;
	case MEMLOCK: /* the fixture has pinned more than that already */
		limit.rlim_cur = PAGE;
		assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
		MODEL_CALL(mana_model_privileges)(true, false);
		break;
	case NO_NET_RAW:
		MODEL_CALL(mana_model_privileges)(false, true);
		break;
	}
}

static void
unspoil(void)
{
	MODEL_CALL(mana_model_fault_disarm)();
	MODEL_CALL(mana_model_privileges)(true, true);
	setrlimit(RLIMIT_MEMLOCK, &usual_limit);
}

static struct ibv_context *
open_again(const struct fixture *fx)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;
	int error;

	assert_non_null(list);
	errno = 0;
	ctx = ibv_open_device(list[fx->device]);
	error = errno;
	ibv_free_device_list(list);
	errno = error;
	return ctx;
}

static int
open_device(struct fixture *fx)
{
	spoil();
	return ERRNO_OF(open_again(fx), ibv_close_device);
}

/* Make objects until the adapter has none left. */
static int
open_devices(struct fixture *fx)
{
	static struct ibv_context *all[MANY];
	uint32_t nb = 0;
	int error;

	while (nb < MANY && (all[nb] = open_again(fx)) != NULL)
		nb++;
	error = errno;
	assert_uint_in_range(nb, 100, MANY - 1);
	assert_int_equal(ibv_close_device(all[--nb]), 0);
	assert_int_equal(ERRNO_OF(open_again(fx), ibv_close_device), 0);
	while (nb > 0)
		assert_int_equal(ibv_close_device(all[--nb]), 0);
	return error;
}

static int
alloc_pds(struct fixture *fx)
{
	static struct ibv_pd *pds[MANY];
	uint32_t nb = 0;
	int error;

	errno = 0;
	while (nb < MANY && (pds[nb] = ibv_alloc_pd(fx->ctx)) != NULL)
		nb++;
	error = errno;
	assert_uint_in_range(nb, 100, MANY - 1);
	while (nb > 0)
		assert_int_equal(ibv_dealloc_pd(pds[--nb]), 0);
	return error;
}

static int
reg_mrs(struct fixture *fx)
{
	const uint32_t at_most = 1 << 20;
	struct ibv_mr **mrs = calloc(at_most, sizeof(*mrs));
	struct ibv_device_attr attr;
	uint32_t nb = 0;
	int error;

	errno = 0;
	while (nb < at_most &&
	       (mrs[nb] = ibv_reg_mr(fx->pd, fx->buf, 64,
				     IBV_ACCESS_LOCAL_WRITE)) != NULL)
		nb++;
	error = errno;
	/* The limit of query_device includes the fixture's domain. */
	assert_int_equal(ibv_query_device(fx->ctx, &attr), 0);
	if (error_age != AGE_6_2)
		assert_int_equal(nb + 1, attr.max_mr);
	while (nb > 0)
		assert_int_equal(ibv_dereg_mr(mrs[--nb]), 0);
	free(mrs);
	return error;
}

static int
alloc_pd(struct fixture *fx)
{
	spoil();
	return ERRNO_OF(ibv_alloc_pd(fx->ctx), ibv_dealloc_pd);
}

static int
reg_mr(struct fixture *fx)
{
	const int access = IBV_ACCESS_LOCAL_WRITE;
	int error;

	spoil();
	error = ERRNO_OF(ibv_reg_mr(fx->pd, fx->buf, 4 * PAGE, access),
			 ibv_dereg_mr);
	if (row->spoil == MEMLOCK) { /* CAP_IPC_LOCK allows more than the limit */
		MODEL_CALL(mana_model_privileges)(true, true);
		assert_int_equal(ERRNO_OF(ibv_reg_mr(fx->pd, fx->buf, 4 * PAGE,
						     access),
					  ibv_dereg_mr),
				 0);
	}
	return error;
}

static int
create_channel(struct fixture *fx)
{
	spoil();
	return ERRNO_OF(ibv_create_comp_channel(fx->ctx),
			ibv_destroy_comp_channel);
}

static int
create_cq(struct fixture *fx)
{
	spoil();
	return ERRNO_OF(ibv_create_cq(fx->ctx, 64, NULL, NULL, 0),
			ibv_destroy_cq);
}

static int
create_wq(struct fixture *fx)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = 64,
		.max_sge = 1,
		.pd = fx->parent,
		.cq = ibv_create_cq(fx->ctx, 64, NULL, NULL, 0),
	};
	int error;

	assert_non_null(attr.cq);
	spoil();
	error = ERRNO_OF(ibv_create_wq(fx->ctx, &attr), ibv_destroy_wq);
	unspoil();
	assert_int_equal(ibv_destroy_cq(attr.cq), 0);
	return error;
}

static int
create_qp(struct fixture *fx)
{
	struct ibv_cq *cq = ibv_create_cq(fx->ctx, 64, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = fx_qp_attr(cq);
	int error;

	assert_non_null(cq);
	spoil();
	error = ERRNO_OF(ibv_create_qp(fx->parent, &attr), ibv_destroy_qp);
	unspoil();
	assert_int_equal(ibv_destroy_cq(cq), 0);
	return error;
}

/* A new CQ gets the number of a queue pair's CQ, which is not yet destroyed. */
static int
cq_number_in_table(struct fixture *fx)
{
	int error;

	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(ibv_destroy_qp(fx->tx[0].qp), 0);
	fx->tx[0].qp = NULL;
	error = fx_add_tx(fx);
	/* A new attempt succeeds after the old CQ is destroyed. */
	assert_int_equal(ibv_destroy_cq(fx->tx[0].cq), 0);
	fx->tx[0].cq = NULL;
	assert_int_equal(fx_add_tx(fx), 0);
	return error;
}

/* Create the table of nb entries: the WQs, of which the last one repeats. */
static int
create_table(struct fixture *fx, uint32_t nb)
{
	struct ibv_wq *wqs[128];
	struct ibv_rwq_ind_table_init_attr attr = { .ind_tbl = wqs };

	while (1u << attr.log_ind_tbl_size < nb)
		attr.log_ind_tbl_size++;
	for (uint32_t i = 0; i < nb; i++)
		wqs[i] = fx->rx[i < fx->nb_rx ? i : fx->nb_rx - 1].wq;
	errno = 0;
	fx->ind = ibv_create_rwq_ind_table(fx->ctx, &attr);
	return fx->ind == NULL ? errno : 0;
}

static int
create_rss(struct fixture *fx)
{
	struct ibv_qp_init_attr_ex attr = fx_rss_attr(fx);

	return ERRNO_OF(ibv_create_qp_ex(fx->ctx, &attr), ibv_destroy_qp);
}

static int
rss(struct fixture *fx)
{
	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	assert_int_equal(create_table(fx, 1), 0);
	spoil();
	return create_rss(fx);
}

static int
rss_of_128(struct fixture *fx)
{
	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	assert_int_equal(create_table(fx, 128), 0);
	return create_rss(fx);
}

static int
table(struct fixture *fx)
{
	assert_int_equal(fx_add_rx(fx), 0);
	spoil();
	return create_table(fx, 1);
}

static int
second_rss_of_port(struct fixture *fx)
{
	struct fixture second;
	int error;

	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	assert_int_equal(fx_start_rx(fx), 0);
	second = *fx;
	second.ind = NULL;
	second.rss = NULL;
	second.nb_rx = 0;
	memset(second.rx, 0, sizeof(second.rx));
	assert_int_equal(fx_add_rx(&second), 0);
	error = fx_start_rx(&second);
	assert_int_equal(fx_stop_rx(&second), 0);
	return error;
}

static int
cq_of_two_wqs(struct fixture *fx)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = 64,
		.max_sge = 1,
		.pd = fx->parent,
	};
	int error;

	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	attr.cq = fx->rx[0].cq;
	fx->rx[1].wq = ibv_create_wq(fx->ctx, &attr);
	assert_non_null(fx->rx[1].wq);
	fx->nb_rx = 2;
	assert_int_equal(create_table(fx, 2), 0);
	error = create_rss(fx);
	assert_int_equal(ibv_destroy_rwq_ind_table(fx->ind), 0);
	fx->ind = NULL;
	assert_int_equal(ibv_destroy_wq(fx->rx[1].wq), 0);
	fx->rx[1].wq = NULL;
	fx->nb_rx = 1;
	return error;
}

/* A CQ with these words of driver data behind the address of its ring. */
static int
cq_of_data(struct fixture *fx, uint64_t flags, uint64_t unknown)
{
	uint64_t uhw[3] = { (uintptr_t)fx->buf, flags, unknown };
	struct call call = new_call(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	struct call destroy = new_call(UVERBS_OBJECT_CQ,
				       UVERBS_METHOD_CQ_DESTROY);
	uint32_t cqe, events[2];
	int error;

	add(&call, UVERBS_ATTR_CREATE_CQ_HANDLE, 0, 0);
	add(&call, UVERBS_ATTR_CREATE_CQ_CQE, 4, 64);
	add(&call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8, 0);
	add(&call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4, 0);
	add(&call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4, (uintptr_t)&cqe);
	add(&call, UVERBS_ATTR_UHW_IN, sizeof(uhw), (uintptr_t)uhw);
	error = run(fx->ctx->cmd_fd, &call);
	if (error != 0)
		return error;
	add(&destroy, UVERBS_ATTR_DESTROY_CQ_HANDLE, 0, call.attr[0].data);
	add(&destroy, UVERBS_ATTR_DESTROY_CQ_RESP, 8, (uintptr_t)events);
	return run(fx->ctx->cmd_fd, &destroy);
}

/* Linux 7.2 and later look at the word behind the known members. */
static int
cq_of_unknown_data(struct fixture *fx)
{
	return cq_of_data(fx, 0, 1);
}

/* The device, not this flag, decides whether the CQ is the RNIC's. */
static int
cq_of_rnic_flag(struct fixture *fx)
{
	return cq_of_data(fx, 1, 0);
}

static int
rss_of_unknown_data(struct fixture *fx)
{
	struct {
		uint64_t fields;
		uint8_t function, reserved[7];
		uint32_t key_bytes;
		uint8_t key[40];
		uint32_t port;
		uint64_t more;
	} uhw = { 0x3, 1, { 0 }, 40, { 0x6d, 0x5a }, 1, 1 };
	struct call call = new_call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	struct call destroy = new_call(UVERBS_OBJECT_QP,
				       UVERBS_METHOD_QP_DESTROY);
	uint32_t cap[5] = { 0 }, number, events;
	uint8_t answer[520];
	int error;

	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	assert_int_equal(create_table(fx, 1), 0);
	add(&call, UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	add(&call, UVERBS_ATTR_CREATE_QP_PD_HANDLE, 0, fx->pd->handle);
	add(&call, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE, 0,
	    fx->ind->ind_tbl_handle);
	add(&call, UVERBS_ATTR_CREATE_QP_TYPE, 8, IBV_QPT_RAW_PACKET);
	add(&call, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8, 0);
	add(&call, UVERBS_ATTR_CREATE_QP_CAP, sizeof(cap), (uintptr_t)cap);
	add(&call, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(cap), (uintptr_t)cap);
	add(&call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4, (uintptr_t)&number);
	add(&call, UVERBS_ATTR_UHW_IN, 72, (uintptr_t)&uhw);
	add(&call, UVERBS_ATTR_UHW_OUT, sizeof(answer), (uintptr_t)answer);
	error = run(fx->ctx->cmd_fd, &call);
	if (error != 0)
		return error;
	add(&destroy, UVERBS_ATTR_DESTROY_QP_HANDLE, 0, call.attr[0].data);
	add(&destroy, UVERBS_ATTR_DESTROY_QP_RESP, 4, (uintptr_t)&events);
	return run(fx->ctx->cmd_fd, &destroy);
}

static int
query_device(struct fixture *fx)
{
	struct ibv_device_attr_ex attr;

	spoil();
	return ibv_query_device_ex(fx->ctx, NULL, &attr);
}

/*
 * A destroy command that fails leaves the object, and a second one succeeds.
 * Here for each object of a port with a Tx and an Rx queue.
 */
#define DESTROY(name, destroy, member, before)            \
	static int name(struct fixture *fx)               \
	{                                                 \
		int error;                                \
                                                          \
		assert_int_equal(fx_add_tx(fx), 0);       \
		assert_int_equal(fx_add_rx(fx), 0);       \
		assert_int_equal(fx_start_rx(fx), 0);     \
		before;                                   \
		spoil();                                  \
		error = destroy(fx->member);              \
		assert_int_equal(destroy(fx->member), 0); \
		fx->member = NULL;                        \
		return error;                             \
	}
#define WITHOUT(destroy, member)                          \
	do {                                              \
		assert_int_equal(destroy(fx->member), 0); \
		fx->member = NULL;                        \
	} while (0)
#define WITHOUT_RSS WITHOUT(ibv_destroy_qp, rss)
#define WITHOUT_TABLE \
	WITHOUT_RSS;  \
	WITHOUT(ibv_destroy_rwq_ind_table, ind)
DESTROY(destroy_rss, ibv_destroy_qp, rss, )
DESTROY(destroy_qp, ibv_destroy_qp, tx[0].qp, )
DESTROY(destroy_table, ibv_destroy_rwq_ind_table, ind, WITHOUT_RSS)
DESTROY(destroy_wq, ibv_destroy_wq, rx[0].wq, WITHOUT_TABLE)
DESTROY(destroy_cq, ibv_destroy_cq, tx[0].cq, WITHOUT(ibv_destroy_qp, tx[0].qp))
DESTROY(dereg_mr, ibv_dereg_mr, mr, )

static int
dealloc_pd(struct fixture *fx)
{
	struct ibv_pd *pd = ibv_alloc_pd(fx->ctx);
	int error;

	spoil();
	error = ibv_dealloc_pd(pd);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	return error;
}

#define FAILS(call, error) SAME(error), FAULT, call, error
static const struct error_case rows[] = {
	{ "open: no memory", open_device, FAILS("get_context", ENOMEM) },
	{ "open: device gone", open_device, FAILS("get_context", EIO) },
	/* libibverbs has another errno of its own. */
	{ "open: doorbell mapping fails", open_device, SAME(ENOENT), FAULT,
	  "mmap", EINVAL },
	{ "open: no doorbell page left", open_devices, SAME(EPROTO) },
	{ "alloc_pd: none left", alloc_pds, SAME(EPROTO) },
	{ "alloc_pd: command fails", alloc_pd, FAILS("alloc_pd", EPROTO) },
	{ "alloc_pd: channel dead", alloc_pd, FAILS("alloc_pd", ETIMEDOUT) },
	{ "dealloc_pd: command fails", dealloc_pd, FAILS("dealloc_pd", EPROTO) },
	{ "reg_mr: RLIMIT_MEMLOCK", reg_mr, SAME(ENOMEM), MEMLOCK },
	{ "reg_mr: table full", reg_mrs, SAME(EPROTO) },
	{ "reg_mr: command fails", reg_mr, FAILS("reg_mr", EPROTO) },
	{ "reg_mr: no space", reg_mr, FAILS("reg_mr", ENOSPC) },
	{ "dereg_mr: command fails", dereg_mr, FAILS("dereg_mr", EPROTO) },
	{ "create_comp_channel: no memory", create_channel,
	  FAILS("alloc_channel", ENOMEM) },
	{ "create_cq: RLIMIT_MEMLOCK", create_cq, SAME(ENOMEM), MEMLOCK },
	{ "create_cq: region refused", create_cq, FAILS("create_cq", EPROTO) },
	{ "create_cq: unknown data", cq_of_unknown_data, { EOPNOTSUPP, 0, 0 } },
	{ "create_cq: flag of the RNIC", cq_of_rnic_flag, SAME(0) },
	{ "destroy_cq: command fails", destroy_cq, FAILS("destroy_cq", EPROTO) },
	{ "create_wq: RLIMIT_MEMLOCK", create_wq, SAME(ENOMEM), MEMLOCK },
	{ "create_wq: region refused", create_wq, FAILS("create_wq", EPROTO) },
	{ "destroy_wq: command fails", destroy_wq, FAILS("destroy_wq", EPROTO) },
	{ "table: no memory", table, FAILS("create_ind", ENOMEM) },
	{ "destroy table: channel dead", destroy_table,
	  FAILS("destroy_ind", ETIMEDOUT) },
	{ "create_qp: CAP_NET_RAW", create_qp, SAME(EPERM), NO_NET_RAW },
	{ "create_qp: RLIMIT_MEMLOCK", create_qp, SAME(ENOMEM), MEMLOCK },
	{ "create_qp: command fails", create_qp, FAILS("create_qp", EPROTO) },
	{ "create_qp: CQ number still in the table",
	  cq_number_in_table,
	  { EINVAL, EINVAL, 0 } },
	{ "destroy_qp: command fails", destroy_qp, FAILS("destroy_qp", EPROTO) },
	{ "RSS: CAP_NET_RAW", rss, SAME(EPERM), NO_NET_RAW },
	{ "RSS: steering refused", rss, FAILS("create_qp", EPROTO) },
	{ "RSS: table of 128", rss_of_128, SAME(EINVAL) },
	{ "RSS: second one of a port", second_rss_of_port, { EBUSY, 0, 0 } },
	{ "RSS: CQ of two WQs", cq_of_two_wqs, SAME(EPROTO) },
	{ "RSS: unknown data", rss_of_unknown_data, { EOPNOTSUPP, 0, 0 } },
	{ "destroy RSS: command fails", destroy_rss, FAILS("destroy_qp", EPROTO) },
	{ "query_device: device gone", query_device, FAILS("query_device", EIO) },
};
#define NB_ROWS (sizeof(rows) / sizeof(rows[0]))

static void
run_case(void **state)
{
	struct fixture fx = { 0 };
	int error;

	row = *state;
	assert_int_equal(fx_open(&fx, 0, 1), 0);
	error = row->run(&fx);
	unspoil();
	assert_int_equal(fx_close(&fx), 0);
	assert_int_equal(fx_nb_rings, 0);
	assert_no_objects();
	assert_int_equal(error, row->expected[error_age]);
}

int
main(int argc, char **argv)
{
	static const char *const ages[NB_AGES] = { "7.2", "6.12", "6.2" };
	const char *version = "";

	/* 7.3 has the errors of 7.2. */
	if (argc > 1)
		version = strcmp(argv[1], "7.3") == 0 ? "7.2" : argv[1];
	while (error_age < NB_AGES && strcmp(ages[error_age], version) != 0)
		error_age++;
	if (error_age == NB_AGES)
		return 1;
	getrlimit(RLIMIT_MEMLOCK, &usual_limit);
	/* The first device has raw queue pairs in all versions. */
	for (size_t i = 0; i < NB_ROWS; i++)
		test_add((struct CMUnitTest){
			.name = rows[i].what,
			.test_func = run_case,
			.initial_state = (void *)(uintptr_t)&rows[i],
		});
	return test_run("errors", NULL, NULL);
}
