/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The processes that share ports: joins, good and bad ones, news, requests, and the end of a
 * process. The test plays EAL, and the other processes: the other ends of sockets.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/wait.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_interrupts.h>

#include "../../../model/test/test.h"
#include "mana_locks.h"
#include "mana_log.h"
#include "mana_peers.h"
#include "mana_queues.h"

#define NB_PORTS 2u
#define PORT 3u /* and the next one */

int mana_logtype_init;
int mana_logtype_driver;

static struct play {
	/* Results of functions; 0: success. */
	int action_error; /* a value of rte_errno */
	int watch_result;
	int share_result;
	int check_result;
	int serve_result;

	void (*on_serve)(void);

	/* Calls of the driver. */
	struct rte_mp_msg reply; /* the last one */
	uint32_t nb_serves;
	const struct mana_priv *served;
	struct mana_mr_ask serve; /* the last call's arguments */
} play;

/* What the driver registers once. */
static rte_mp_t on_join;
static rte_intr_callback_fn on_interrupt;
static int interrupt_fd;

static struct mana_priv ports[NB_PORTS];
static struct rte_eth_dev_data port_data[NB_PORTS];
static struct ibv_context device;
static bool is_locked; /* the registry */
static bool is_removed[NB_PORTS]; /* from it */

/* ---- EAL ---------------------------------------------------------------------- */

int
rte_mp_action_register(const char *name, rte_mp_t action)
{
	assert_string_equal(name, "net_mana");
	rte_errno = play.action_error != 0 ? play.action_error : EEXIST;
	if (on_join != NULL || play.action_error != 0)
		return -1;
	on_join = action;
	return 0;
}

/* Copies descriptors as the kernel does that sends them. */
static void
fds_copy(int *to, const int *fds, int nb)
{
	for (int i = 0; i < nb; i++)
		to[i] = dup(fds[i]);
}

int
rte_mp_reply(struct rte_mp_msg *msg, const char *to)
{
	assert_string_equal(to, "process");
	play.reply = *msg;
	fds_copy(play.reply.fds, msg->fds, msg->num_fds);
	return 0;
}

int
rte_intr_callback_register(const struct rte_intr_handle *handle,
			   rte_intr_callback_fn callback, void *arg)
{
	assert_null(arg);
	assert_null(on_interrupt);
	if (play.watch_result != 0)
		return play.watch_result;
	on_interrupt = callback;
	interrupt_fd = rte_intr_fd_get(handle);
	return 0;
}

static bool
is_readable(int fd)
{
	struct pollfd event = { .fd = fd, .events = POLLIN };

	return poll(&event, 1, 0) > 0;
}

/* The interrupt thread: until the callback has nothing to do. */
static void
interrupts(void)
{
	while (is_readable(interrupt_fd))
		on_interrupt(NULL);
}

/* ---- The driver ------------------------------------------------------------------ */

int
mana_pause_share(void)
{
	return play.share_result;
}

int
mana_threads_barrier(void)
{
	return play.check_result;
}

void
mana_registry_lock(void)
{
	assert_false(is_locked);
	is_locked = true;
}

void
mana_registry_unlock(void)
{
	assert_true(is_locked);
	is_locked = false;
}

struct mana_priv *
mana_registry_find(uint64_t port_id)
{
	assert_true(is_locked);
	return port_id - PORT < NB_PORTS && !is_removed[port_id - PORT] ?
		&ports[port_id - PORT] : NULL;
}

void
mana_registry_remove(struct mana_priv *priv)
{
	is_removed[priv - ports] = true;
}

struct mana_priv *
mana_registry_next(uint32_t *port_id)
{
	struct mana_priv *priv = NULL;

	while (priv == NULL && *port_id < PORT + NB_PORTS)
		priv = mana_registry_find((*port_id)++);
	return priv;
}

int
mana_mr_serve(struct mana_priv *priv, uintptr_t addr, size_t len,
	      const struct rte_mempool *pool)
{
	void (*func)(void) = play.on_serve;

	assert_false(is_locked);
	/* An operation of the application waits. */
	assert_false(mana_mutex_trylock(&priv->control));
	play.nb_serves++;
	play.served = priv;
	play.serve = (struct mana_mr_ask){ .addr = addr, .len_bytes = len, .pool = pool };
	play.on_serve = NULL;
	if (func != NULL)
		func();
	return play.serve_result;
}

void
mana_hwq_fail(struct mana_hwq *rxq, enum mana_queue_failure failure)
{
	rxq->failure = failure;
}

void
mana_txq_fail(struct mana_txq *txq, enum mana_queue_failure failure)
{
	txq->failure = failure;
}

/* Referenced by inline functions of headers in builds without optimization. */
int
mana_mr_miss(struct mana_mr_cache *cache __rte_unused,
	     const struct rte_mbuf *m __rte_unused, uintptr_t addr __rte_unused,
	     uint64_t len_bytes __rte_unused)
{
	abort();
}

/* ---- Secondary processes ------------------------------------------------------------ */

struct process {
	int socket;
	uint32_t id;
	struct mana_joined joined;
};

/* The reply to a join with these descriptors, which the driver takes. */
static struct mana_joined
join(const void *data, size_t len, const int *fds, int nb_fds)
{
	struct rte_mp_msg msg = { .len_param = len, .num_fds = nb_fds };
	struct mana_joined joined;

	memcpy(msg.param, data, len);
	if (nb_fds > 0)
		memcpy(msg.fds, fds, nb_fds * sizeof(*fds));
	play.reply.len_param = 0;
	assert_int_equal(on_join(&msg, "process"), 0);
	assert_string_equal(play.reply.name, "net_mana");
	assert_int_equal(play.reply.len_param, sizeof(joined));
	memcpy(&joined, play.reply.param, sizeof(joined));
	return joined;
}

static void
reply_close(void)
{
	for (int i = 0; i < play.reply.num_fds; i++)
		assert_int_equal(close(play.reply.fds[i]), 0);
	play.reply.num_fds = 0;
}

/* A process joins the first port. Its reply stays open. */
static void
process_begin_open(struct process *process)
{
	const uint32_t first = PORT;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	process->socket = ends[0];
	process->joined = join(&first, sizeof(first), &ends[1], 1);
	process->id = process->joined.process_id;
}

static void
process_begin(struct process *process)
{
	process_begin_open(process);
	assert_int_equal(process->joined.ret, 0);
	reply_close();
}

static void
process_kill(struct process *process)
{
	if (process->socket >= 0)
		close(process->socket);
	process->socket = -1;
}

static void
process_end(struct process *process)
{
	process_kill(process);
	interrupts();
}

/* ---- Fixture ---------------------------------------------------------------------- */

static uint32_t nb_fds_before;

/* Descriptors that the process has open. */
static uint32_t
nb_open(void)
{
	uint32_t nb = 0;

	for (int fd = 0; fd < 1024; fd++)
		nb += fcntl(fd, F_GETFD) != -1;
	return nb;
}

static int
group_setup(void **state)
{
	struct process process;

	RTE_SET_USED(state);
	device.cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (uint32_t i = 0; i < NB_PORTS; i++) {
		port_data[i].port_id = PORT + i;
		ports[i].data = &port_data[i];
		ports[i].ctx = &device;
		ports[i].device = 1;
	}
	if (mana_peers_open(&ports[0]) != 0)
		return -1;
	nb_fds_before = nb_open();
	play.watch_result = -ENOMEM;
	process_begin_open(&process);
	process_kill(&process);
	if (process.joined.ret != -ENOMEM || nb_open() != nb_fds_before)
		return -1;
	play.watch_result = 0;
	process_begin(&process);
	process_end(&process);
	mana_peers_close(&ports[0]);
	return 0;
}

static int
setup(void **state)
{
	RTE_SET_USED(state);
	memset(&play, 0, sizeof(play));
	memset(is_removed, 0, sizeof(is_removed));
	for (uint32_t i = 0; i < NB_PORTS; i++)
		assert_int_equal(mana_peers_open(&ports[i]), 0);
	nb_fds_before = nb_open();
	return 0;
}

/* Nothing is left of the processes of a test. */
static int
teardown(void **state)
{
	RTE_SET_USED(state);
	interrupts();
	for (uint32_t i = 0; i < NB_PORTS; i++)
		mana_peers_close(&ports[i]);
	assert_false(mana_peers_exist());
	assert_int_equal(nb_open(), nb_fds_before);
	return 0;
}

#define PEERS_TEST(name) TEST_WITH(name, setup, teardown)

/* ---- Ports and joins ------------------------------------------------------------------- */

PEERS_TEST(test_open_and_close)
{
	mana_peers_close(&ports[0]);
	mana_peers_close(&ports[0]);
	play.action_error = ENOMEM;
	assert_int_equal(mana_peers_open(&ports[0]), -ENOMEM);
	/* EAL has no secondary processes. */
	play.action_error = ENOTSUP;
	assert_int_equal(mana_peers_open(&ports[0]), 0);
}

/* The join is refused, its descriptors are closed, and no process is known. */
static void
assert_refused(const void *data, size_t len, int nb_fds, int error)
{
	int fds[RTE_MP_MAX_FD_NUM] = { 0 };
	struct mana_joined joined;

	for (int i = 0; i < nb_fds; i++)
		fds[i] = open("/dev/null", O_RDWR);
	joined = join(data, len, fds, nb_fds);
	assert_int_equal(joined.ret, error);
	assert_int_equal(joined.process_id, 0);
	assert_int_equal(joined.device, 0);
	assert_int_equal(play.reply.num_fds, 0);
	assert_false(mana_peers_exist());
	assert_int_equal(nb_open(), nb_fds_before);
}

PEERS_TEST(test_bad_joins)
{
	const uint32_t first = PORT;
	const uint32_t no_port = PORT + NB_PORTS;
	uint8_t large[sizeof(first) + 1] = { PORT };

	assert_refused(&first, 0, 1, -EINVAL);
	assert_refused(&first, sizeof(first) - 1, 1, -EINVAL);
	assert_refused(large, sizeof(large), 1, -EINVAL);
	for (int nb = 2; nb <= RTE_MP_MAX_FD_NUM; nb++)
		assert_refused(&first, sizeof(first), nb, -EINVAL);
	assert_refused(&no_port, sizeof(no_port), 1, -ENODEV);
	/* A file, which nothing can wait for, is no socket. */
	assert_refused(&first, sizeof(first), 1, -EPERM);
	play.share_result = -ENOTSUP;
	assert_refused(&first, sizeof(first), 1, -ENOTSUP);
	mana_peers_close(&ports[0]);
	assert_refused(&first, sizeof(first), 1, -ENODEV);
}

PEERS_TEST(test_good_joins)
{
	const uint32_t second = PORT + 1;
	struct mana_joined joined;
	struct process a, b;

	assert_false(mana_peers_exist());
	process_begin_open(&a);
	assert_true(mana_peers_exist());
	assert_int_equal(a.joined.ret, 0);
	assert_true(a.id > MANA_PROCESS_PRIMARY);
	assert_int_equal(a.joined.device, 1);
	assert_int_equal(play.reply.num_fds, 1);
	assert_int_equal(write(play.reply.fds[0], "", 1), 1);
	reply_close();

	/* Another port, with a device and without. */
	for (uint32_t nb = 1; nb < 2; nb--) {
		joined = join(&second, sizeof(second), NULL, 0);
		assert_int_equal(joined.ret, 0);
		assert_int_equal(joined.process_id, 0);
		assert_int_equal(joined.device, nb);
		assert_int_equal(play.reply.num_fds, nb);
		reply_close();
		mana_peers_tell(&ports[1], false);
	}

	process_begin(&b);
	assert_int_not_equal(b.id, a.id);
	process_end(&a);
	assert_true(mana_peers_exist());
	/* The process is known when the kernel refuses the barrier, and may end. */
	play.check_result = -ENOTSUP;
	process_begin_open(&a);
	assert_int_equal(a.joined.ret, -ENOTSUP);
	assert_int_equal(play.reply.num_fds, 0);
	process_end(&a);
	process_end(&b);
	assert_false(mana_peers_exist());
}

/* A forked child does not keep the sockets, so the end of its parent is seen. */
PEERS_TEST(test_forked_child)
{
	struct process process;
	uint32_t nb_fds;
	int status;
	pid_t pid;

	process_begin(&process);
	mana_primary_socket = dup(process.socket);
	nb_fds = nb_open();
	pid = fork();
	if (pid == 0)
		_exit(nb_fds - nb_open());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 2);
	close(mana_primary_socket);
	mana_primary_socket = -1;
	process_end(&process);
}

PEERS_TEST(test_too_many_processes)
{
	static struct process all[MANA_MAX_SECONDARIES + 1];

	for (uint32_t i = 0; i < MANA_MAX_SECONDARIES; i++)
		process_begin(&all[i]);
	process_begin_open(&all[MANA_MAX_SECONDARIES]);
	assert_int_equal(all[MANA_MAX_SECONDARIES].joined.ret, -ENOSPC);
	process_end(&all[7]);
	process_end(&all[MANA_MAX_SECONDARIES]);
	process_begin(&all[MANA_MAX_SECONDARIES]);
	assert_int_equal(all[MANA_MAX_SECONDARIES].id, all[7].id);
	for (uint32_t i = 0; i <= MANA_MAX_SECONDARIES; i++)
		if (i != 7)
			process_end(&all[i]);
}

/* ---- Requests ------------------------------------------------------------------------ */

/* Queues of the second port, and what they ask for. */
static struct mana_txq asking, other;

static void
ask_for(struct mana_txq *txq, uintptr_t addr)
{
	struct mana_mr_ask *ask = &txq->mr.ask;

	ask->addr = addr;
	ask->len_bytes = 0x200;
	ask->pool = (const struct rte_mempool *)txq;
	ask->nr++;
}

/* The secondary process asks for other memory meanwhile. */
static void
ask_again(void)
{
	ask_for(&asking, 0x9000);
}

PEERS_TEST(test_requests)
{
	const struct mana_mr_ask *ask = &asking.mr.ask, *second = &other.mr.ask;
	struct process process;

	ports[1].txqs[3] = &asking;
	ports[1].txqs[5] = &other;
	mana_peers_ask();
	process_begin(&process);
	mana_primary_socket = process.socket;
	/* Nothing is asked for. */
	mana_peers_ask();
	interrupts();
	assert_int_equal(play.nb_serves, 0);

	ask_for(&asking, 0x1000);
	interrupts();
	assert_int_equal(play.nb_serves, 0);
	mana_peers_ask();
	interrupts();
	assert_int_equal(play.nb_serves, 1);
	assert_ptr_equal(play.served, &ports[1]);
	assert_int_equal(play.serve.addr, 0x1000);
	assert_int_equal(play.serve.len_bytes, 0x200);
	assert_ptr_equal(play.serve.pool, &asking);
	assert_int_equal(ask->nr_answered, ask->nr);
	assert_int_equal(ask->error, 0);

	/* Two queues ask, and wake the primary process once. */
	play.serve_result = -EACCES;
	ask_for(&asking, 0x2000);
	ask_for(&other, 0x3000);
	mana_peers_ask();
	mana_peers_ask();
	interrupts();
	assert_int_equal(play.nb_serves, 3);
	assert_int_equal(ask->nr_answered, ask->nr);
	assert_int_equal(ask->error, -EACCES);
	assert_int_equal(second->nr_answered, second->nr);

	/* The answer is not taken for that of a later request. */
	play.on_serve = ask_again;
	ask_for(&asking, 0x3000);
	mana_peers_ask();
	interrupts();
	assert_int_not_equal(ask->nr_answered, ask->nr);
	play.serve_result = 0;
	mana_peers_ask();
	interrupts();
	assert_int_equal(play.serve.addr, 0x9000);
	assert_int_equal(ask->nr_answered, ask->nr);
	assert_int_equal(ask->error, 0);

	/* While an operation is at work, the process has to ask again. */
	ask_for(&asking, 0x4000);
	play.nb_serves = 0;
	mana_mutex_lock(&ports[1].control);
	mana_peers_ask();
	interrupts();
	assert_int_equal(play.nb_serves, 0);
	mana_mutex_unlock(&ports[1].control);
	/* Nothing waits for a primary process that does not serve requests. */
	for (uint32_t i = 0; i < 5000; i++)
		mana_peers_ask();
	interrupts();
	assert_int_equal(play.nb_serves, 1);

	/* Of a port that is closed. */
	ask_for(&asking, 0x4000);
	play.nb_serves = 0;
	mana_primary_socket = dup(process.socket);
	mana_peers_close(&ports[1]);
	mana_peers_ask();
	interrupts();
	assert_int_equal(play.nb_serves, 0);
	close(mana_primary_socket);
	mana_primary_socket = -1;
	process_end(&process);
	memset(ports[1].txqs, 0, sizeof(ports[1].txqs));
}

/* ---- The end of a process --------------------------------------------------------------- */

/* The marks of a queue; the burst of a secondary process stores user, and query_lock is for queries. */
struct marks {
	uint32_t user;
	uint32_t query_lock;
};

static struct marks
marks_of_rx(const struct mana_rxq *rxq)
{
	return (struct marks){ mana_atomic_load(&rxq->user),
			       mana_atomic_load(&rxq->query_lock) >> 32 };
}

static struct marks
marks_of_tx(const struct mana_txq *txq)
{
	return (struct marks){ mana_atomic_load(&txq->user),
			       mana_atomic_load(&txq->query_lock) >> 32 };
}

PEERS_TEST(test_marks_of_an_ended_process)
{
	static struct mana_rxq rx[3];
	static struct mana_txq tx[3];
	static union {
		struct mana_rx_set set;
		char space[sizeof(struct mana_rx_set) + 4 * sizeof(struct mana_hwq)];
	} rx_set = { .set.nb = 4 };
	struct process dies, lives;
	struct mana_hwq *hwqs = rx_set.set.hwqs;
	struct mana_priv *priv = &ports[1];

	process_begin(&dies);
	process_begin(&lives);
	for (uint32_t i = 0; i < 4; i++)
		hwqs[i].queue_id = i == 3 ? 0 : i;
	priv->rx_set = &rx_set.set;
	/* Of each direction: a burst of it, only a query, and nothing of it. */
	for (uint32_t i = 0; i < 3; i++) {
		/* Numbers of queues may have gaps. */
		priv->rxqs[i] = &rx[i];
		priv->txqs[MANA_MAX_QUEUES - 1 - i] = &tx[i];
		rx[i].user = i == 0 ? dies.id : lives.id;
		rx[i].query_lock = (uint64_t)(i == 1 ? dies.id : lives.id) << 32;
		tx[i].user = i == 0 ? dies.id : MANA_PROCESS_PRIMARY;
		tx[i].query_lock = (uint64_t)(i == 1 ? dies.id : MANA_PROCESS_PRIMARY) << 32;
	}

	/* The driver may rebuild the queues at once, whatever failed before. */
	priv->recovery.repair_ns = 1;
	process_end(&dies);
	assert_int_equal(priv->recovery.repair_ns, 0);
	assert_true(mana_peers_exist());
	for (uint32_t i = 0; i < 3; i++) {
		const struct marks of_rx = marks_of_rx(&rx[i]), of_tx = marks_of_tx(&tx[i]);

		assert_int_equal(of_rx.user, i == 0 ? 0 : lives.id);
		assert_int_equal(of_rx.query_lock, i == 1 ? 0 : lives.id);
		assert_int_equal(of_tx.user, i == 0 ? 0 : MANA_PROCESS_PRIMARY);
		assert_int_equal(of_tx.query_lock, i == 1 ? 0 : MANA_PROCESS_PRIMARY);
		assert_int_equal(mana_txq_failure(&tx[i]),
				 i == 0 ? MANA_FAILURE_KILLED : MANA_FAILURE_NONE);
	}
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(mana_hwq_failure(&hwqs[i]), hwqs[i].queue_id == 0 ?
				 MANA_FAILURE_KILLED : MANA_FAILURE_NONE);

	/* Without a set, as in a port that is stopped. */
	priv->rx_set = NULL;
	process_end(&lives);
	assert_int_equal(marks_of_rx(&rx[1]).user, 0);
	assert_int_equal(marks_of_rx(&rx[2]).query_lock, 0);
	assert_int_equal(mana_hwq_failure(&hwqs[1]), MANA_FAILURE_NONE);
	assert_false(mana_peers_exist());
	memset(priv->rxqs, 0, sizeof(priv->rxqs));
	memset(priv->txqs, 0, sizeof(priv->txqs));
}

/* A thread waits for a burst of a process that has ended, and is the interrupt thread. */
PEERS_TEST(test_marks_before_the_interrupt)
{
	static struct mana_txq tx;
	struct process dies, lives;
	struct mana_priv *priv = &ports[0];

	process_begin(&dies);
	process_begin(&lives);
	priv->txqs[0] = &tx;
	tx.user = dies.id;
	mana_peers_reap();
	assert_int_equal(marks_of_tx(&tx).user, dies.id);
	process_kill(&dies);
	mana_peers_reap();
	assert_int_equal(marks_of_tx(&tx).user, 0);
	assert_int_equal(tx.failure, MANA_FAILURE_KILLED);
	process_end(&dies);
	process_end(&lives);
	assert_false(mana_peers_exist());
	priv->txqs[0] = NULL;
}

/* ---- News of the primary process ----------------------------------------------------------- */

static bool
is_woken(const struct process *process)
{
	return mana_socket_drain(process->socket);
}

PEERS_TEST(test_news_reaches_all)
{
	struct process all[2];
	struct mana_news *news = &ports[1].news;

	process_begin(&all[0]);
	process_begin(&all[1]);
	for (uint32_t has_device = 0; has_device < 2; has_device++) {
		mana_peers_tell(&ports[1], has_device != 0);
		assert_int_equal(news->device, has_device);
		assert_true(is_woken(&all[0]) && is_woken(&all[1]));
		assert_false(is_woken(&all[0]) || is_woken(&all[1]));
	}
	mana_atomic_store(&ports[1].state, MANA_STATE_RECOVERING);
	mana_peers_tell(&ports[1], true);
	assert_int_equal(news->device, 1);
	assert_int_equal(news->state, MANA_STATE_RECOVERING);
	assert_true(is_woken(&all[0]) && is_woken(&all[1]));
	mana_atomic_store(&ports[1].state, MANA_STATE_READY);
	/* A device that is lost is none. */
	mana_atomic_store(&ports[1].is_lost, 1);
	mana_peers_tell(&ports[1], true);
	assert_int_equal(news->device, 0);
	mana_atomic_store(&ports[1].is_lost, 0);
	assert_true(is_woken(&all[0]) && is_woken(&all[1]));

	/* A process that is stopped reads nothing, and is woken when it continues. */
	for (uint32_t i = 0; i < 5000; i++)
		mana_peers_tell(&ports[1], true);
	assert_true(is_woken(&all[0]));
	mana_peers_close(&ports[1]);
	assert_int_equal(news->device, 0);
	assert_true(is_woken(&all[1]));
	process_end(&all[0]);
	process_end(&all[1]);
}

int
main(void)
{
	return test_run("peers", group_setup, NULL);
}
