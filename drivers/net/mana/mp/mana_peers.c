/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Communication of the processes that share ports.
 *
 * What the primary process tells stands in memory that all share: the news of each port.
 * Its queues say when bursts may use them (mana_pause.c).
 *
 * A secondary process sends one kind of message, by EAL's multi-process channel: the join
 * of a port. The reply brings the descriptor of the device, whose doorbell page the process
 * maps, so it joins again after each recovery. The first join carries one end of a socket
 * pair. A byte in it wakes the interrupt thread of the other side: there is news, or a
 * queue asks for a memory key, which stands in the queue. The kernel closes it when a
 * process ends, so each side learns the death of the other. The primary process waits for no
 * answer: a process that is stopped, or has not loaded the driver, cannot hold it up.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <sys/epoll.h>
#include <sys/socket.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "mana_locks.h"
#include "mana_log.h"
#include "mana_peers.h"
#include "mana_queues.h"

/* Protects peers, and the order of news. */
static struct mana_mutex peers_lock;
static int peers[MANA_MAX_SECONDARIES]; /* the sockets; 0: none */
#define PEERS_END (peers + RTE_DIM(peers))
static uint32_t nb_peers; /* also read without the lock */
MANA_ATOMIC(int) mana_primary_socket = -1;

/* ---- Sockets ---------------------------------------------------------------------- */

/* All sockets of the process. EAL watches it, also without any, until the process ends. */
static int watched = -1;

static int
watched_open(rte_intr_callback_fn callback)
{
	struct rte_intr_handle *handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	int fd = epoll_create1(EPOLL_CLOEXEC);
	int ret = fd < 0 ? -errno : rte_intr_fd_set(handle, fd);

	/* As in mana_recovery.c. */
	(void)rte_intr_type_set(handle, RTE_INTR_HANDLE_VDEV);
	if (ret == 0)
		ret = rte_intr_callback_register(handle, callback, NULL);
	/* EAL has a copy. */
	rte_intr_instance_free(handle);
	if (ret == 0)
		watched = fd;
	else if (fd >= 0)
		close(fd);
	return ret;
}

int
mana_socket_watch(int fd, rte_intr_callback_fn callback)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ret = watched >= 0 ? 0 : watched_open(callback);

	if (ret == 0 && epoll_ctl(watched, EPOLL_CTL_ADD, fd, &event) != 0)
		ret = -errno;
	return ret;
}

void
mana_socket_unwatch(int fd)
{
	(void)epoll_ctl(watched, EPOLL_CTL_DEL, fd, NULL);
}

/* A full socket wakes the other side, too. */
void
mana_socket_wake(int fd)
{
	(void)send(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool
mana_socket_drain(int fd)
{
	char bytes[256];

	return recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0;
}

bool
mana_socket_has_ended(int fd)
{
	struct pollfd event = { .fd = fd };

	return poll(&event, 1, 0) == 1;
}

/* A forked child is no process with ports: the other side must not take it for one. */
static void
on_child(void)
{
	if (mana_primary_socket >= 0)
		close(mana_primary_socket);
	mana_primary_socket = -1;
	for (int *peer = peers; peer < PEERS_END; peer++)
		if (*peer != 0)
			close(*peer);
	mana_mutex_init(&peers_lock, MANA_LOCK_PEERS);
}

RTE_INIT(peers_init)
{
	mana_mutex_init(&peers_lock, MANA_LOCK_PEERS);
	(void)pthread_atfork(NULL, NULL, on_child);
}

void
mana_peers_ask(void)
{
	const int fd = mana_atomic_load(&mana_primary_socket);

	if (fd >= 0)
		mana_socket_wake(fd);
}

/* ---- The end of a process ----------------------------------------------------------- */

bool
mana_peers_exist(void)
{
	return __atomic_load_n(&nb_peers, __ATOMIC_RELAXED) != 0;
}

static uint32_t
peer_id(const int *peer)
{
	return MANA_PROCESS_PRIMARY + 1 + (peer - peers);
}

/*
 * Unlocks a queue that an ended process has locked. Returns whether the process was in a
 * burst of the queue: the state of the rings is unknown then.
 */
static bool
marks_remove(const MANA_ATOMIC(uint32_t) *user, MANA_ATOMIC(uint64_t) *lock, uint32_t id)
{
	if (mana_atomic_load(lock) >> 32 == id)
		mana_query_unlock(lock);
	return mana_atomic_load(user) == id;
}

/* Returns the number of queues that fail. The registry's lock is held. */
static uint32_t
port_marks_remove(struct mana_priv *priv, uint32_t id)
{
	uint32_t nb = 0;

	for (uint16_t i = 0; i < MANA_MAX_QUEUES; i++) {
		struct mana_rxq *rxq = priv->rxqs[i];
		struct mana_txq *txq = priv->txqs[i];
		struct mana_hwq *hwq;

		if (rxq != NULL && marks_remove(&rxq->user, &rxq->query_lock, id)) {
			MANA_FOREACH_HWQ_OF(priv->rx_set, i, hwq)
				mana_hwq_fail(hwq, MANA_FAILURE_KILLED);
			mana_burst_leave(&rxq->is_busy);
			mana_atomic_release(&rxq->user, 0);
			nb++;
		}
		if (txq != NULL && marks_remove(&txq->user, &txq->query_lock, id)) {
			mana_txq_fail(txq, MANA_FAILURE_KILLED);
			mana_burst_leave(&txq->is_busy);
			mana_atomic_release(&txq->user, 0);
			nb++;
		}
	}
	/* The repair comes at once: the device is not at fault. */
	if (nb != 0)
		priv->recovery.repair_ns = 0;
	return nb;
}

/* peers_lock is held. */
static void
peer_end(int *peer)
{
	struct mana_priv *priv;
	uint32_t from = 0, nb = 0;

	mana_registry_lock();
	while ((priv = mana_registry_next(&from)) != NULL)
		nb += port_marks_remove(priv, peer_id(peer));
	mana_registry_unlock();
	mana_socket_unwatch(*peer);
	close(*peer);
	*peer = 0;
	__atomic_store_n(&nb_peers, nb_peers - 1, __ATOMIC_RELAXED);
	if (nb != 0)
		MANA_INIT_LOG(WARNING,
			      "secondary process %u has ended in the middle of a burst: %u queues have failed, and some of their mbufs may be lost",
			      peer_id(peer), nb);
	else
		MANA_INIT_LOG(INFO, "secondary process %u has ended", peer_id(peer));
}

void
mana_peers_reap(void)
{
	mana_mutex_lock(&peers_lock);
	for (int *peer = peers; peer < PEERS_END; peer++)
		if (*peer != 0 && mana_socket_has_ended(*peer))
			peer_end(peer);
	mana_mutex_unlock(&peers_lock);
}

/* ---- Requests ----------------------------------------------------------------------- */

/* The port of this number, which is not freed while peers_lock is held; or NULL. */
static struct mana_priv *
port_find(uint32_t port_id)
{
	struct mana_priv *priv;

	mana_registry_lock();
	priv = mana_registry_find(port_id);
	mana_registry_unlock();
	return priv;
}

/*
 * Serves what a queue asks for, if it does. The secondary process may change that at any
 * time, so it is copied once. priv->control is held.
 */
static void
ask_serve(struct mana_priv *priv, struct mana_mr_ask *ask)
{
	const uint32_t nr = mana_atomic_acquire(&ask->nr);
	struct mana_mr_ask asked;

	if (nr == ask->nr_answered)
		return;
	/* A later request that this copy mixes in has a later number. */
	asked = *ask;
	ask->error = mana_mr_serve(priv, asked.addr, asked.len_bytes, asked.pool);
	mana_atomic_release(&ask->nr_answered, nr);
}

static void
requests_serve(void)
{
	struct mana_priv *priv;
	struct mana_hwq *hwq;
	sigset_t before;
	bool is_locked;

	/* The mutexes below are not unlocked in the reverse order, and each restores the mask. */
	mana_signals_block(&before);
	for (uint32_t port_id = 0; port_id < RTE_MAX_ETHPORTS; port_id++) {
		/*
		 * With priv->control queues and port stay. In the order of locks it comes
		 * before peers_lock. If an operation is at work the burst asks again.
		 */
		mana_mutex_lock(&peers_lock);
		priv = port_find(port_id);
		is_locked = priv != NULL && mana_mutex_trylock(&priv->control);
		mana_mutex_unlock(&peers_lock);
		if (!is_locked)
			continue;
		MANA_FOREACH_HWQ(priv->rx_set, hwq)
			ask_serve(priv, &hwq->mr.ask);
		for (uint32_t i = 0; i < MANA_MAX_QUEUES; i++)
			if (priv->txqs[i] != NULL)
				ask_serve(priv, &priv->txqs[i]->mr.ask);
		mana_mutex_unlock(&priv->control);
	}
	mana_signals_restore(&before);
}

/* Interrupt thread: processes have asked, or ended. */
static void
on_event(void *arg __rte_unused)
{
	bool is_asked = false;

	mana_mutex_lock(&peers_lock);
	for (int *peer = peers; peer < PEERS_END; peer++)
		is_asked |= *peer != 0 && mana_socket_drain(*peer);
	mana_mutex_unlock(&peers_lock);
	mana_peers_reap();
	if (is_asked)
		requests_serve();
}

/* ---- News --------------------------------------------------------------------------- */

void
mana_peers_tell(struct mana_priv *priv, bool has_device)
{
	mana_mutex_lock(&peers_lock);
	/* Locked, so news of a loss is not older than news of the state before it. */
	has_device = has_device && priv->ctx != NULL && !mana_is_gone(priv);
	mana_registry_lock();
	priv->news.device = has_device ? priv->device : 0;
	priv->news.state = mana_state(priv);
	mana_registry_unlock();
	for (int *peer = peers; peer < PEERS_END; peer++)
		if (*peer != 0)
			mana_socket_wake(*peer);
	mana_mutex_unlock(&peers_lock);
}

/* ---- Joins -------------------------------------------------------------------------- */

/* Keeps a copy of the socket. peers_lock is held. */
static int
peer_add(int fd, uint32_t *id)
{
	int *peer = peers;
	int ret;

	while (peer < PEERS_END && *peer != 0)
		peer++;
	if (peer == PEERS_END)
		return -ENOSPC;
	/* A program that is executed does not keep it open. */
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 1);
	if (fd < 0)
		return -errno;
	ret = mana_socket_watch(fd, on_event);
	if (ret != 0) {
		close(fd);
		return ret;
	}
	*peer = fd;
	__atomic_store_n(&nb_peers, nb_peers + 1, __ATOMIC_RELAXED);
	*id = peer_id(peer);
	return 0;
}

/* Answers a join, with the descriptor of the device for the caller to close, or -1. */
static int
join_serve(const struct rte_mp_msg *msg, struct mana_joined *joined, int *device)
{
	const struct mana_priv *priv;
	uint32_t port_id;
	int ret = 0;

	if (msg->len_param != sizeof(port_id) || msg->num_fds > 1)
		return -EINVAL;
	memcpy(&port_id, msg->param, sizeof(port_id));
	priv = port_find(port_id);
	if (priv == NULL)
		return -ENODEV;
	if (msg->num_fds == 1) {
		/* The pauses of this process reach the new one from now on. */
		ret = mana_pause_share();
		if (ret == 0)
			ret = peer_add(msg->fds[0], &joined->process_id);
		/* The new peer sees what a pause that has not seen it has paused before this. */
		if (ret == 0)
			ret = mana_threads_barrier();
	}
	if (ret != 0 || priv->news.device == 0)
		return ret;
	/* The port may close its own while EAL sends this. */
	*device = fcntl(priv->ctx->cmd_fd, F_DUPFD_CLOEXEC, 0);
	if (*device < 0)
		return -errno;
	joined->device = priv->news.device;
	return 0;
}

/* EAL's thread of the multi-process channel. */
static int
on_join(const struct rte_mp_msg *msg, const void *from)
{
	struct rte_mp_msg reply = {
		.name = MANA_JOIN_ACTION, .len_param = sizeof(struct mana_joined),
	};
	struct mana_joined joined = { .ret = 0 };
	int device = -1, ret;

	static_assert(sizeof(joined) <= RTE_MP_MAX_PARAM_LEN, "fits a message");
	mana_mutex_lock(&peers_lock);
	joined.ret = join_serve(msg, &joined, &device);
	mana_mutex_unlock(&peers_lock);
	memcpy(reply.param, &joined, sizeof(joined));
	reply.num_fds = device >= 0;
	reply.fds[0] = device;
	ret = rte_mp_reply(&reply, from);
	if (device >= 0)
		close(device);
	for (int i = 0; i < msg->num_fds; i++)
		close(msg->fds[i]);
	return ret;
}

int
mana_peers_open(struct mana_priv *priv)
{
	/* The action of the first port stays. */
	if (rte_mp_action_register(MANA_JOIN_ACTION, on_join) != 0 &&
	    rte_errno != EEXIST && rte_errno != ENOTSUP)
		return -rte_errno;
	mana_peers_tell(priv, true);
	return 0;
}

void
mana_peers_close(struct mana_priv *priv)
{
	mana_registry_remove(priv);
	mana_peers_tell(priv, false);
	/* A request for the port may be at work, and none begins. */
	mana_mutex_lock(&priv->control);
	mana_mutex_unlock(&priv->control);
}
