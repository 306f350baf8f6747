/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Communication of the processes that share ports.
 *
 * A secondary process joins by a request of EAL's multi-process channel, and passes two
 * sockets with it. A socket delivers every message, in order, and its end is the end of
 * the process, however that came about: EAL's channel has neither. Each socket is for
 * requests of one side:
 *
 *   notes     the primary process sends struct mana_news, maybe with a descriptor; the
 *             secondary one answers with its number when it has followed
 *   requests  the secondary process sends struct request, and gets struct answer
 *
 * The interrupt thread of each process answers. Nothing here waits without a limit. A
 * message of the wrong size, with wrong values or too late is refused or ignored.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_interrupts.h>

#include "mana.h"
#include "mana_log.h"
#include "mana_rx_set.h"

#define ACTION "net_mana"
/* For an answer: of a process to a note, of the primary process to a burst, to a join. */
#define NOTE_MS 500
#define REQUEST_MS 500
#define JOIN_S 5
/* After a request without an answer, bursts make none for so long. Also between messages. */
#define DEAF_NS UINT64_C(1000000000)

struct join {
	uint32_t port_id;
	uint32_t process_id; /* 0: the first join, with descriptors */
};

struct joined {
	int32_t ret;
	uint32_t process_id;
	struct mana_news news; /* with a descriptor if its flags say so */
};

/* As the arguments of mana_peers_mr_get(). */
struct request {
	uint64_t nr;
	uint64_t addr;
	uint64_t len;
	uint64_t pool;
	uint32_t port_id;
};

struct answer {
	uint64_t nr;
	uint64_t base;
	uint64_t len;
	uint32_t lkey;
	int32_t ret;
};

/* ---- Sockets ---------------------------------------------------------------- */

static int
left_ms(uint64_t end_ns)
{
	uint64_t now_ns = mana_now_ns(CLOCK_MONOTONIC);

	return now_ns >= end_ns ? 0 : (end_ns - now_ns) / 1000000 + 1;
}

/* Waits for a message or the end of the other process. Signals do not end the wait. */
static bool
note_wait(int sock, uint64_t end_ns)
{
	struct pollfd event = { .fd = sock, .events = POLLIN };
	int ret;

	do {
		ret = poll(&event, 1, left_ms(end_ns));
	} while (ret < 0 && errno == EINTR);
	return ret > 0;
}

/*
 * Sends a message with a descriptor, or -1. A full socket is one whose process does not
 * read.
 */
static int
note_send(int sock, const void *data, size_t len, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .space = { 0 } };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	return sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/*
 * Receives a message without waiting: its length, which may be more than len, 0 at the
 * end of the other process, or a negative errno. *fd is -1 or a descriptor that came with
 * it; the kernel closes others.
 */
static ssize_t
note_receive(int sock, void *data, size_t len, int *fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		/* The space has room for two descriptors. */
		.msg_controllen = CMSG_LEN(sizeof(int)),
	};
	const struct cmsghdr *header;
	ssize_t ret = recvmsg(sock, &msg,
			      MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);

	*fd = -1;
	if (ret < 0)
		return -errno;
	header = CMSG_FIRSTHDR(&msg);
	if (header != NULL && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(header), sizeof(*fd));
	return ret;
}

static bool
is_end(ssize_t received)
{
	return received == 0 || (received < 0 && received != -EAGAIN &&
				 received != -EINTR);
}

/* A result in a message: 0, or a negative errno (Linux MAX_ERRNO). */
static int
result_check(int32_t result)
{
	return result <= 0 && result >= -4095 ? result : -EPROTO;
}

/* Calls callback(arg) in the interrupt thread when the socket is readable, or has ended. */
static struct rte_intr_handle *
watch_begin(int sock, rte_intr_callback_fn callback, void *arg)
{
	struct rte_intr_handle *watch =
		rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);

	/* As in mana_events.c. */
	if (watch != NULL && rte_intr_type_set(watch, RTE_INTR_HANDLE_VDEV) == 0 &&
	    rte_intr_fd_set(watch, sock) == 0 &&
	    rte_intr_callback_register(watch, callback, arg) == 0)
		return watch;
	rte_intr_instance_free(watch);
	return NULL;
}

static void
close_all(const int *fds, int nb)
{
	for (int i = 0; i < nb; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* ---- Primary process: which there are ------------------------------------------ */

struct peer {
	struct peer *next;
	uint32_t id;
	int notes;
	int requests;
	bool is_late; /* it has not answered in time: nothing waits for it */
	uint32_t nb_failed; /* queues, by its end */
	struct rte_intr_handle *watch; /* of requests */
};

/* Protects the list and the news of ports. */
static pthread_mutex_t peers_lock = PTHREAD_MUTEX_INITIALIZER;
/* Of a port that serves a request, which may wait for EAL's memory lock. */
static pthread_mutex_t serve_lock = PTHREAD_MUTEX_INITIALIZER;
static struct peer *peers;
static uint32_t nb_peers; /* also read without the lock */
static uint32_t last_id = MANA_PROCESS_PRIMARY;
static uint64_t last_nr;
static unsigned int nb_ports;

bool
mana_peers_exist(void)
{
	return __atomic_load_n(&nb_peers, __ATOMIC_RELAXED) != 0;
}

static void
peer_free(struct peer *peer)
{
	close(peer->notes);
	close(peer->requests);
	rte_intr_instance_free(peer->watch);
	free(peer);
}

static void
on_unregistered(struct rte_intr_handle *watch __rte_unused, void *arg)
{
	peer_free(arg);
}

/* ---- Its marks ------------------------------------------------------------------- */

/*
 * Removes the mark that an ended process has left on a queue's lock. Returns whether the
 * process was in a burst of the queue: the state of the rings is unknown then.
 */
static bool
marks_remove(const MANA_ATOMIC(uint32_t) *user, MANA_ATOMIC(uint32_t) *look, uint32_t id)
{
	if (mana_atomic_load(look) == id)
		mana_look_unlock(look);
	return mana_atomic_load(user) == id;
}

/* Returns the number of queues that fail. The registry's lock is held. */
static uint32_t
port_marks_remove(struct mana_priv *priv, uint32_t id)
{
	uint32_t nb = 0;

	for (uint16_t i = 0; i < MANA_MAX_QUEUES; i++) {
		struct mana_eth_rxq *rx = priv->rxqs[i];
		struct mana_eth_txq *tx = priv->txqs[i];
		struct mana_rx_set *set = priv->rx_set;

		if (rx != NULL && marks_remove(&rx->list.user, &rx->list.look, id)) {
			for (uint32_t j = 0; set != NULL && j < set->nb; j++)
				if (set->hwqs[j].owner == i)
					mana_rxq_fail(&set->hwqs[j].rxq,
						      MANA_FAILURE_KILLED);
			mana_burst_leave(&rx->list.is_busy);
			mana_burst_leave(&rx->list.user);
			nb++;
		}
		if (tx != NULL && marks_remove(&tx->txq.user, &tx->txq.look, id)) {
			mana_txq_fail(&tx->txq, MANA_FAILURE_KILLED);
			mana_burst_leave(&tx->txq.is_busy);
			mana_burst_leave(&tx->txq.user);
			nb++;
		}
	}
	return nb;
}

/* The lock is held. */
static void
peer_marks_remove(struct peer *peer)
{
	struct mana_priv *priv;
	uint32_t from = 0, nb;

	mana_registry_lock();
	while ((priv = mana_registry_next(from)) != NULL) {
		from = priv->data->port_id + 1;
		nb = port_marks_remove(priv, peer->id);
		peer->nb_failed += nb;
		/* At once: the device is not at fault. */
		if (nb != 0)
			priv->recovery.repair_ns = 0;
	}
	mana_registry_unlock();
}

void
mana_peers_reap(void)
{
	struct pollfd event = { .events = 0 };
	struct peer *peer;

	pthread_mutex_lock(&peers_lock);
	for (peer = peers; peer != NULL; peer = peer->next) {
		event.fd = peer->requests;
		if (poll(&event, 1, 0) == 1 && (event.revents & POLLHUP) != 0)
			peer_marks_remove(peer);
	}
	pthread_mutex_unlock(&peers_lock);
}

static void
peer_ended(struct peer *peer)
{
	struct peer **at = &peers;

	pthread_mutex_lock(&peers_lock);
	while (*at != peer)
		at = &(*at)->next;
	*at = peer->next;
	peer_marks_remove(peer);
	__atomic_store_n(&nb_peers, nb_peers - 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&peers_lock);
	if (peer->nb_failed != 0)
		MANA_INIT_LOG(WARNING,
			      "secondary process %u has ended in the middle of a burst: %u queues have failed, and some of their mbufs may be lost",
			      peer->id, peer->nb_failed);
	else
		MANA_INIT_LOG(INFO, "secondary process %u has ended", peer->id);
}

/* ---- Its requests ---------------------------------------------------------------- */

static void
request_serve(const struct request *request, struct answer *answer)
{
	struct mana_mr_range range = { .base = 0 };
	struct mana_priv *priv;

	/* A port that is joinable is not closed before the lock is free. */
	pthread_mutex_lock(&serve_lock);
	mana_registry_lock();
	priv = mana_registry_find(request->port_id);
	if (priv != NULL && !priv->is_joinable)
		priv = NULL;
	mana_registry_unlock();
	answer->ret = priv == NULL ? -ENODEV :
		mana_mr_serve(priv, request->addr, request->len,
			      (const void *)(uintptr_t)request->pool, &range);
	pthread_mutex_unlock(&serve_lock);
	answer->base = range.base;
	answer->len = range.len_bytes;
	answer->lkey = range.lkey;
}

static void
on_request(void *arg)
{
	struct peer *peer = arg;
	struct request request;
	struct answer answer = { .nr = 0 };
	int fd;
	ssize_t ret = note_receive(peer->requests, &request, sizeof(request), &fd);

	close_all(&fd, 1);
	if (is_end(ret)) {
		peer_ended(peer);
		(void)rte_intr_callback_unregister_pending(peer->watch, on_request, peer,
							   on_unregistered);
		return;
	}
	if (ret != sizeof(request))
		return;
	answer.nr = request.nr;
	request_serve(&request, &answer);
	(void)note_send(peer->requests, &answer, sizeof(answer), -1);
}

/* ---- Primary process: news ------------------------------------------------------- */

static int
news_fd(const struct mana_priv *priv)
{
	return (priv->news.flags & MANA_NEWS_DEVICE) != 0 ? priv->ctx->cmd_fd : -1;
}

/* Whether the peer has followed. */
static bool
peer_wait(struct peer *peer, uint64_t nr, uint64_t end_ns)
{
	uint64_t seen;
	ssize_t ret;
	int fd;

	do {
		if (!note_wait(peer->notes, peer->is_late ? 0 : end_ns))
			return false;
		ret = note_receive(peer->notes, &seen, sizeof(seen), &fd);
		close_all(&fd, 1);
		/* The interrupt thread learns it, too. */
		if (is_end(ret))
			return true;
		if (ret == sizeof(seen))
			peer->is_late = false;
	} while (ret != sizeof(seen) || seen != nr);
	return true;
}

/* The lock is held. */
static void
news_send(const struct mana_priv *priv)
{
	for (struct peer *peer = peers; peer != NULL; peer = peer->next)
		(void)note_send(peer->notes, &priv->news, sizeof(priv->news),
				news_fd(priv));
}

/* The same, and waits until the processes have followed. */
static void
news_tell(struct mana_priv *priv)
{
	uint64_t end_ns = mana_now_ns(CLOCK_MONOTONIC) + NOTE_MS * UINT64_C(1000000);
	struct peer *peer;

	news_send(priv);
	for (peer = peers; peer != NULL; peer = peer->next) {
		if (peer_wait(peer, priv->news.nr, end_ns) || peer->is_late)
			continue;
		peer->is_late = true;
		MANA_PORT_LOG(WARNING, priv->data->name,
			      "secondary process %u does not follow a change of the port for %d ms: it is stopped, or a callback blocks its interrupt thread",
			      peer->id, NOTE_MS);
	}
}

/* The lock is held, so news of a loss is not older than news of the state before it. */
static uint32_t
news_flags(const struct mana_priv *priv, bool has_device, bool runs)
{
	if (!has_device || priv->ctx == NULL || mana_is_gone(priv))
		return 0;
	return MANA_NEWS_DEVICE |
	       (runs && mana_state(priv) == MANA_STATE_READY ? MANA_NEWS_RUNS : 0);
}

static void
news_make(struct mana_priv *priv, uint32_t flags)
{
	priv->news = (struct mana_news){
		.nr = ++last_nr,
		.port_id = priv->data->port_id,
		.flags = flags,
		.state = mana_state(priv),
		.device_nr = priv->nb_opens,
	};
}

void
mana_peers_tell(struct mana_priv *priv, bool has_device, bool runs)
{
	pthread_mutex_lock(&peers_lock);
	news_make(priv, news_flags(priv, has_device, runs));
	news_tell(priv);
	pthread_mutex_unlock(&peers_lock);
}

void
mana_peers_send_loss(struct mana_priv *priv)
{
	pthread_mutex_lock(&peers_lock);
	news_make(priv, 0);
	news_send(priv);
	pthread_mutex_unlock(&peers_lock);
}

void
mana_peers_tell_link(struct mana_priv *priv)
{
	pthread_mutex_lock(&peers_lock);
	priv->news.nr = ++last_nr;
	priv->news.flags |= MANA_NEWS_LINK;
	news_tell(priv);
	/* For a process that joins it is no change. */
	priv->news.flags &= ~MANA_NEWS_LINK;
	pthread_mutex_unlock(&peers_lock);
}

/* ---- Primary process: joins -------------------------------------------------------- */

/* Takes the descriptors if it succeeds. */
static struct peer *
peer_add(const int fds[2])
{
	struct peer *peer = calloc(1, sizeof(*peer));

	if (peer == NULL)
		return NULL;
	peer->notes = fds[0];
	peer->requests = fds[1];
	peer->id = ++last_id;
	/* A program that is executed must not keep the sockets open. */
	(void)fcntl(fds[0], F_SETFD, FD_CLOEXEC);
	(void)fcntl(fds[1], F_SETFD, FD_CLOEXEC);
	peer->watch = watch_begin(peer->requests, on_request, peer);
	if (peer->watch == NULL) {
		free(peer);
		return NULL;
	}
	peer->next = peers;
	peers = peer;
	__atomic_store_n(&nb_peers, nb_peers + 1, __ATOMIC_RELAXED);
	return peer;
}

/*
 * Whether descriptors of a message are its sockets. A message may count descriptors that it
 * does not carry: EAL then leaves older numbers there, of other files. The lock is held.
 */
static bool
are_new_sockets(const int *fds, int nb)
{
	int type, domain;
	socklen_t size;

	for (int i = 0; i < nb; i++) {
		size = sizeof(type);
		if (getsockopt(fds[i], SOL_SOCKET, SO_TYPE, &type, &size) != 0 ||
		    type != SOCK_SEQPACKET)
			return false;
		size = sizeof(domain);
		if (getsockopt(fds[i], SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
		    domain != AF_UNIX)
			return false;
		for (const struct peer *peer = peers; peer != NULL; peer = peer->next)
			if (fds[i] == peer->notes || fds[i] == peer->requests)
				return false;
	}
	return nb != 2 || fds[0] != fds[1];
}

/*
 * The lock is held, the message has the right size. fds: where the descriptors of the
 * message are, which a new peer takes.
 */
static int
join_serve(const struct join *join, int nb_fds, bool *has_taken, const int *fds,
	   uint32_t *process_id)
{
	const struct peer *peer = peers;

	*process_id = join->process_id;
	while (join->process_id != 0 && peer != NULL && peer->id != join->process_id)
		peer = peer->next;
	if (join->process_id != 0)
		return peer != NULL && nb_fds == 0 ? 0 : -EINVAL;
	if (nb_fds != 2)
		return -EINVAL;
	/* The pauses of this process reach the new one from now on. */
	if (mana_has_fences || mana_pause_share() != 0)
		return -ENOTSUP;
	peer = peer_add(fds);
	if (peer == NULL)
		return -ENOMEM;
	*has_taken = true;
	*process_id = peer->id;
	/*
	 * A pause that has not seen the new peer has paused its queues before this, and
	 * the new peer sees that.
	 */
	return mana_pause_check();
}

/* EAL's thread of the multi-process channel. */
static int
on_join(const struct rte_mp_msg *msg, const void *from)
{
	struct rte_mp_msg reply = { .len_param = sizeof(struct joined) };
	struct joined joined = { .ret = -EINVAL };
	bool has_sockets, has_taken = false;
	struct mana_priv *priv;
	struct join join;
	int ret;

	pthread_mutex_lock(&peers_lock);
	has_sockets = msg->num_fds >= 0 && msg->num_fds <= RTE_MP_MAX_FD_NUM &&
		      are_new_sockets(msg->fds, msg->num_fds);
	if (has_sockets && msg->len_param == sizeof(join)) {
		memcpy(&join, msg->param, sizeof(join));
		mana_registry_lock();
		priv = mana_registry_find(join.port_id);
		/* A port that is not closed yet waits for the lock of the peers. */
		if (priv != NULL && (priv->news.flags & MANA_NEWS_CLOSED) != 0)
			priv = NULL;
		mana_registry_unlock();
		joined.ret = priv == NULL ? -ENODEV :
					    join_serve(&join, msg->num_fds, &has_taken,
						       msg->fds, &joined.process_id);
		if (priv != NULL && joined.ret == 0) {
			joined.news = priv->news;
			if (news_fd(priv) >= 0)
				reply.fds[reply.num_fds++] = news_fd(priv);
		}
	}
	(void)rte_strscpy(reply.name, ACTION, sizeof(reply.name));
	memcpy(reply.param, &joined, sizeof(joined));
	/* With the lock held: the descriptor of the device is open. */
	ret = rte_mp_reply(&reply, from);
	pthread_mutex_unlock(&peers_lock);
	if (has_sockets && !has_taken)
		close_all(msg->fds, msg->num_fds);
	return ret;
}

int
mana_peers_open(struct mana_priv *priv)
{
	int ret = 0;

	static_assert(sizeof(struct joined) <= RTE_MP_MAX_PARAM_LEN, "fits a message");
	pthread_mutex_lock(&peers_lock);
	if (nb_ports == 0 && rte_mp_action_register(ACTION, on_join) != 0 &&
	    rte_errno != ENOTSUP)
		ret = -rte_errno;
	if (ret == 0) {
		nb_ports++;
		priv->is_joinable = true;
		news_make(priv, MANA_NEWS_DEVICE);
	}
	pthread_mutex_unlock(&peers_lock);
	return ret;
}

void
mana_peers_close(struct mana_priv *priv)
{
	pthread_mutex_lock(&peers_lock);
	if (priv->is_joinable) {
		pthread_mutex_lock(&serve_lock);
		priv->is_joinable = false;
		pthread_mutex_unlock(&serve_lock);
		news_make(priv, MANA_NEWS_CLOSED);
		news_tell(priv);
		if (--nb_ports == 0)
			rte_mp_action_unregister(ACTION);
	}
	pthread_mutex_unlock(&peers_lock);
}

/* ---- Secondary process ---------------------------------------------------------- */

static struct {
	pthread_mutex_t lock;
	int notes; /* -1: not joined */
	int requests;
	struct rte_intr_handle *watch; /* of notes */
	struct rte_intr_handle *left; /* as watch, until its callback returns */
	const struct mana_peers_ops *ops;
	uint64_t nr; /* of the last request */
	uint64_t deaf_ns; /* no request before this time */
	uint64_t log_ns; /* no message from a burst before this time */
} self = { .lock = PTHREAD_MUTEX_INITIALIZER, .notes = -1, .requests = -1 };

static void
self_close(void)
{
	pthread_mutex_lock(&self.lock);
	close_all((int[]){ self.notes, self.requests }, 2);
	self.notes = -1;
	self.requests = -1;
	mana_atomic_store(&mana_process_id, MANA_PROCESS_NONE);
	pthread_mutex_unlock(&self.lock);
}

/* EAL gives its copy of the handle, and frees that. */
static void
on_left(struct rte_intr_handle *copy __rte_unused, void *arg __rte_unused)
{
	rte_intr_instance_free(self.left);
	self.left = NULL;
}

static void
on_news(void *arg __rte_unused)
{
	struct mana_news news;
	int fd;
	ssize_t ret = note_receive(self.notes, &news, sizeof(news), &fd);

	if (is_end(ret)) {
		MANA_INIT_LOG(ERR,
			      "the primary process has ended: its ports are gone, close them and end this process");
		mana_peers_leave();
		self.ops->lost();
	} else if (ret == sizeof(news)) {
		self.ops->follow(&news, fd);
		(void)note_send(self.notes, &news.nr, sizeof(news.nr), -1);
		self.ops->notify(news.port_id);
	}
	close_all(&fd, 1);
}

/* The sockets of a first join: [0] of each pair is this process's. */
static int
sockets_open(int notes[2], int requests[2])
{
	int ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, notes) != 0)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, requests) == 0)
		return 0;
	ret = -errno;
	close_all(notes, 2);
	return ret;
}

static int
join_request(struct rte_mp_msg *msg, const struct join *join, struct joined *joined,
	     int *fd)
{
	const struct timespec limit = { .tv_sec = JOIN_S };
	struct rte_mp_reply reply;
	int ret = -EPROTO;

	(void)rte_strscpy(msg->name, ACTION, sizeof(msg->name));
	msg->len_param = sizeof(*join);
	memcpy(msg->param, join, sizeof(*join));
	if (rte_mp_request_sync(msg, &reply, &limit) != 0)
		return rte_errno != 0 ? -rte_errno : -EIO;
	if (reply.nb_received == 0)
		return -ETIMEDOUT;
	if (reply.msgs[0].len_param == sizeof(*joined)) {
		memcpy(joined, reply.msgs[0].param, sizeof(*joined));
		ret = result_check(joined->ret);
	}
	if (reply.msgs[0].num_fds == 1)
		*fd = reply.msgs[0].fds[0];
	else
		close_all(reply.msgs[0].fds, reply.msgs[0].num_fds);
	free(reply.msgs);
	return ret;
}

int
mana_peers_join(uint32_t port_id, const struct mana_peers_ops *ops)
{
	int notes[2] = { -1, -1 }, requests[2] = { -1, -1 }, fd = -1, ret = 0;
	struct rte_mp_msg msg = { .num_fds = 0 };
	struct join join = { .port_id = port_id };
	const bool is_first = self.notes < 0;
	struct joined joined = { .ret = 0 };
	struct rte_intr_handle *watch;

	if (is_first) {
		ret = mana_pause_share();
		if (ret == 0)
			ret = sockets_open(notes, requests);
		if (ret != 0)
			return ret;
		msg.fds[0] = notes[1];
		msg.fds[1] = requests[1];
		msg.num_fds = 2;
	} else {
		join.process_id = mana_atomic_load(&mana_process_id);
	}
	ret = join_request(&msg, &join, &joined, &fd);
	close_all((int[]){ notes[1], requests[1] }, 2);
	if (ret == 0 && is_first) {
		pthread_mutex_lock(&self.lock);
		self.ops = ops;
		self.notes = notes[0];
		self.requests = requests[0];
		mana_atomic_store(&mana_process_id, joined.process_id);
		/* The primary process may end now, and the interrupt thread leave it. */
		watch = self.watch = watch_begin(self.notes, on_news, NULL);
		pthread_mutex_unlock(&self.lock);
		if (watch == NULL) {
			self_close();
			ret = -ENOMEM;
		}
	} else if (is_first) {
		close_all((int[]){ notes[0], requests[0] }, 2);
	}
	if (ret == 0)
		ops->follow(&joined.news, fd);
	close_all(&fd, 1);
	return ret;
}

void
mana_peers_leave(void)
{
	struct rte_intr_handle *watch;
	int ret;

	pthread_mutex_lock(&self.lock);
	watch = self.watch;
	self.watch = NULL;
	pthread_mutex_unlock(&self.lock);
	if (watch == NULL)
		return;
	while ((ret = rte_intr_callback_unregister(watch, on_news, NULL)) == -EAGAIN &&
	       !rte_thread_is_intr())
		rte_delay_us_sleep(100);
	if (ret == -EAGAIN) {
		self.left = watch;
		(void)rte_intr_callback_unregister_pending(watch, on_news, NULL, on_left);
	} else {
		rte_intr_instance_free(watch);
	}
	self_close();
}

/* ---- From a burst of a secondary process ------------------------------------------- */

/* Reports the result of a request, once a second. The lock is held. */
static void
request_log(const struct mana_priv *priv, const struct request *request, int result)
{
	uint64_t now_ns = mana_now_ns(CLOCK_MONOTONIC);

	if (now_ns < self.log_ns || request->len == 0)
		return;
	self.log_ns = now_ns + DEAF_NS;
	if (result == -EACCES)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "no key for %" PRIu64 " bytes at 0x%" PRIx64
			      ": the primary process does not have this memory; use DPDK's own memory, or have the primary process map it (rte_dev_dma_map)",
			      request->len, request->addr);
	else
		MANA_PORT_LOG(ERR, priv->data->name,
			      "no key for %" PRIu64 " bytes at 0x%" PRIx64
			      " from the primary process: %s",
			      request->len, request->addr, strerror(-result));
}

/* Waits for the answer of this number; those before it came too late. */
static int
answer_get(int sock, uint64_t nr, struct answer *answer)
{
	uint64_t end_ns = mana_now_ns(CLOCK_MONOTONIC) + REQUEST_MS * UINT64_C(1000000);
	ssize_t ret;
	int fd;

	do {
		if (!note_wait(sock, end_ns))
			return -ETIMEDOUT;
		ret = note_receive(sock, answer, sizeof(*answer), &fd);
		close_all(&fd, 1);
		if (is_end(ret))
			return -EPIPE;
	} while (ret != sizeof(*answer) || answer->nr != nr);
	return result_check(answer->ret);
}

int
mana_peers_mr_get(const struct mana_priv *priv, uintptr_t addr, size_t len,
		  const struct rte_mempool *pool, struct mana_mr_range *range)
{
	struct request request = {
		.addr = addr,
		.len = len,
		.pool = (uintptr_t)pool,
		.port_id = priv->data->port_id,
	};
	struct answer answer = { .nr = 0 };
	int ret = -EPIPE;

	pthread_mutex_lock(&self.lock);
	if (mana_now_ns(CLOCK_MONOTONIC) < self.deaf_ns)
		ret = -ETIMEDOUT;
	else if (self.requests >= 0) {
		request.nr = ++self.nr;
		ret = note_send(self.requests, &request, sizeof(request), -1);
		if (ret == 0)
			ret = answer_get(self.requests, request.nr, &answer);
		if (ret == -ETIMEDOUT || ret == -EAGAIN)
			self.deaf_ns = mana_now_ns(CLOCK_MONOTONIC) + DEAF_NS;
		if (ret != 0)
			request_log(priv, &request, ret);
	}
	pthread_mutex_unlock(&self.lock);
	if (ret == 0)
		*range = (struct mana_mr_range){
			.base = answer.base,
			.len_bytes = answer.len,
			.lkey = answer.lkey,
		};
	return ret;
}
