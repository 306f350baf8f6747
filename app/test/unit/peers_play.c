/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_errno.h>

#include "mana_log.h"
#include "peers_play.h"

int mana_logtype_init;
int mana_logtype_driver;

struct play play;
struct mana_priv play_ports[PLAY_NB_PORTS];
int play_device = -1;

static struct rte_eth_dev_data port_data[PLAY_NB_PORTS];
static struct ibv_context device;
static bool is_locked; /* the registry */

/* ---- The C library ------------------------------------------------------------ */

int __real_poll(struct pollfd *fds, nfds_t nb, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t nb, int ms);
int
__wrap_poll(struct pollfd *fds, nfds_t nb, int ms)
{
	int ret;

	if (play.nb_poll_signals != 0) {
		play.nb_poll_signals--;
		errno = EINTR;
		return -1;
	}
	if (play.on_poll != NULL)
		play.on_poll();
	ret = __real_poll(fds, nb, 0);
	if (ms <= 0)
		return ret;
	play.nb_waits++;
	if (ret == 0) {
		play.waited_ms += ms;
		play.now_ns += ms * UINT64_C(1000000);
	}
	return ret;
}

int __real_socketpair(int domain, int type, int protocol, int socks[2]);
int __wrap_socketpair(int domain, int type, int protocol, int socks[2]);
int
__wrap_socketpair(int domain, int type, int protocol, int socks[2])
{
	if (play.failing_socketpair == 0 || --play.failing_socketpair != 0)
		return __real_socketpair(domain, type, protocol, socks);
	errno = EMFILE;
	return -1;
}

void *__real_calloc(size_t nb, size_t len);
void *__wrap_calloc(size_t nb, size_t len);
void *
__wrap_calloc(size_t nb, size_t len)
{
	return play.has_no_memory ? NULL : __real_calloc(nb, len);
}

/* ---- EAL ---------------------------------------------------------------------- */

int
rte_mp_action_register(const char *name, rte_mp_t action)
{
	RTE_VERIFY(strcmp(name, "net_mana") == 0);
	rte_errno = play.action_error;
	if (play.action_error != 0)
		return -1;
	play.nb_actions++;
	play.on_join = action;
	return 0;
}

void
rte_mp_action_unregister(const char *name)
{
	RTE_VERIFY(strcmp(name, "net_mana") == 0);
	play.on_join = NULL;
}

int
rte_mp_reply(struct rte_mp_msg *msg, const char *to)
{
	RTE_VERIFY(strcmp(to, "process") == 0);
	play.reply = *msg;
	play.nb_replies++;
	return 0;
}

int
rte_mp_request_sync(struct rte_mp_msg *msg, struct rte_mp_reply *reply,
		    const struct timespec *limit)
{
	RTE_VERIFY(limit->tv_sec > 0);
	play.join = *msg;
	memset(reply, 0, sizeof(*reply));
	rte_errno = play.request_error;
	if (play.request_error != 0)
		return -1;
	if (msg->num_fds == 2) {
		play.notes = dup(msg->fds[0]);
		play.requests = dup(msg->fds[1]);
	}
	if (play.has_no_reply)
		return 0;
	reply->nb_received = 1;
	reply->msgs = malloc(sizeof(*reply->msgs));
	*reply->msgs = play.join_reply;
	for (int i = 0; i < play.join_reply.num_fds; i++)
		reply->msgs->fds[i] = dup(play_device);
	return 0;
}

static struct play_watch *
watch_find(rte_intr_callback_fn callback, const void *arg)
{
	for (uint32_t i = 0; i < RTE_DIM(play.watches); i++)
		if (play.watches[i].fd >= 0 && play.watches[i].callback == callback &&
		    play.watches[i].arg == arg)
			return &play.watches[i];
	return NULL;
}

int
rte_intr_callback_register(const struct rte_intr_handle *handle,
			   rte_intr_callback_fn callback, void *arg)
{
	uint32_t i = 0;

	if (play.watch_error != 0)
		return play.watch_error;
	while (play.watches[i].fd >= 0)
		RTE_VERIFY(++i < RTE_DIM(play.watches));
	play.watches[i] = (struct play_watch){
		.fd = rte_intr_fd_get(handle), .callback = callback, .arg = arg,
	};
	return 0;
}

int
rte_intr_callback_unregister(const struct rte_intr_handle *handle,
			     rte_intr_callback_fn callback, void *arg)
{
	struct play_watch *watch = watch_find(callback, arg);

	RTE_VERIFY(watch != NULL && watch->fd == rte_intr_fd_get(handle));
	if (watch->is_active)
		return -EAGAIN;
	if (play.nb_busy_unregisters != 0) {
		play.nb_busy_unregisters--;
		return -EAGAIN;
	}
	watch->fd = -1;
	return 1;
}

int
rte_intr_callback_unregister_pending(const struct rte_intr_handle *handle,
				     rte_intr_callback_fn callback, void *arg,
				     rte_intr_unregister_callback_fn unregistered)
{
	struct play_watch *watch = watch_find(callback, arg);

	RTE_VERIFY(watch != NULL && watch->fd == rte_intr_fd_get(handle));
	if (!watch->is_active)
		return -EAGAIN;
	watch->unregistered = unregistered;
	return 0;
}

int
rte_thread_is_intr(void)
{
	for (uint32_t i = 0; i < RTE_DIM(play.watches); i++)
		if (play.watches[i].fd >= 0 && play.watches[i].is_active)
			return 1;
	return 0;
}

void
rte_delay_us_sleep(unsigned int us)
{
	play.now_ns += us * UINT64_C(1000);
}

static bool
watch_run(struct play_watch *watch)
{
	struct pollfd event = { .fd = watch->fd, .events = POLLIN };
	struct rte_intr_handle *copy;

	if (watch->fd < 0 || __real_poll(&event, 1, 0) <= 0)
		return false;
	watch->is_active = true;
	watch->callback(watch->arg);
	watch->is_active = false;
	if (watch->unregistered != NULL) {
		watch->fd = -1;
		/* As EAL, which has a handle of its own. */
		copy = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
		watch->unregistered(copy, watch->arg);
		rte_intr_instance_free(copy);
	}
	return true;
}

void
play_interrupts(void)
{
	for (uint32_t i = 0; i < RTE_DIM(play.watches); i++)
		while (watch_run(&play.watches[i]))
			;
}

/* ---- The driver ------------------------------------------------------------------ */

uint64_t
mana_now_ns(clockid_t clock)
{
	RTE_VERIFY(clock == CLOCK_MONOTONIC);
	return play.now_ns;
}

int
mana_pause_share(void)
{
	return play.share_result;
}

int
mana_pause_check(void)
{
	return play.check_result;
}

void
mana_registry_lock(void)
{
	RTE_VERIFY(!is_locked);
	is_locked = true;
}

void
mana_registry_unlock(void)
{
	RTE_VERIFY(is_locked);
	is_locked = false;
}

struct mana_priv *
mana_registry_find(uint64_t port_id)
{
	RTE_VERIFY(is_locked);
	return port_id - PLAY_FIRST_PORT < PLAY_NB_PORTS ?
		&play_ports[port_id - PLAY_FIRST_PORT] : NULL;
}

struct mana_priv *
mana_registry_next(uint32_t from_port_id)
{
	return mana_registry_find(RTE_MAX(from_port_id, PLAY_FIRST_PORT));
}

int
mana_mr_serve(struct mana_priv *priv, uintptr_t addr, size_t len,
	      const struct rte_mempool *pool, struct mana_mr_range *range)
{
	RTE_VERIFY(!is_locked);
	play.nb_serves++;
	play.served = priv;
	play.serve = (struct play_request){
		.addr = addr, .len = len, .pool = (uintptr_t)pool,
	};
	if (play.serve_result == 0)
		*range = (struct mana_mr_range){
			.base = addr - 1, .len_bytes = len + 2, .lkey = 77,
		};
	return play.serve_result;
}

void
mana_rxq_fail(struct mana_rxq *rxq, enum mana_queue_failure failure)
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
	     uint32_t len_bytes __rte_unused, struct mana_mr_range *range __rte_unused)
{
	abort();
}

/* ---- A secondary process's operations ---------------------------------------------- */

static void
follow(const struct mana_news *news, int fd)
{
	play.nb_follows++;
	play.news = *news;
	play.had_device = fcntl(fd, F_GETFD) >= 0;
}

static void
notify(uint32_t port_id __rte_unused)
{
	play.nb_notifies++;
	play.answered_nr = 0;
	(void)recv(play.notes, &play.answered_nr, sizeof(play.answered_nr),
		   MSG_DONTWAIT | MSG_PEEK);
}

static void
lost(void)
{
	play.nb_lost++;
}

const struct mana_peers_ops play_ops = {
	.follow = follow, .notify = notify, .lost = lost,
};

/* ---- For tests ------------------------------------------------------------------- */

void
play_sockets(int socks[2])
{
	RTE_VERIFY(__real_socketpair(AF_UNIX, SOCK_SEQPACKET, 0, socks) == 0);
}

int
play_socket(void)
{
	int socks[2];

	play_sockets(socks);
	close(socks[0]);
	return socks[1];
}

int
play_join(const void *data, size_t len, const int *fds, int nb_fds)
{
	struct rte_mp_msg msg = { .len_param = len, .num_fds = nb_fds };

	memcpy(msg.param, data, len);
	memcpy(msg.fds, fds, RTE_MAX(nb_fds, 0) * sizeof(*fds));
	return play.on_join(&msg, "process");
}

void
play_send(int sock, const void *data, size_t len, uint32_t nb_fds)
{
	const int fds[4] = { play_device, play_device, play_device, play_device };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(fds))];
	} control = { .header = {
		.cmsg_len = CMSG_LEN(nb_fds * sizeof(*fds)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
	} };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	memcpy(CMSG_DATA(&control.header), fds, nb_fds * sizeof(*fds));
	if (nb_fds != 0) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nb_fds * sizeof(*fds));
	}
	(void)sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

uint32_t
play_nb_fds(void)
{
	struct pollfd fds[128];
	uint32_t nb = 0;

	for (uint32_t i = 0; i < RTE_DIM(fds); i++)
		fds[i] = (struct pollfd){ .fd = i };
	RTE_VERIFY(__real_poll(fds, RTE_DIM(fds), 0) >= 0);
	for (uint32_t i = 0; i < RTE_DIM(fds); i++)
		nb += (fds[i].revents & POLLNVAL) == 0;
	return nb;
}

void
play_open(void)
{
	uint64_t now_ns = play.now_ns;

	if (play_device < 0)
		play_device = open("/dev/null", O_RDWR | O_CLOEXEC);
	device.cmd_fd = play_device;
	memset(&play, 0, sizeof(play));
	/* Beyond the time in which a secondary process makes no requests. */
	play.now_ns = now_ns + UINT64_C(10000000000);
	play.notes = play.requests = -1;
	for (uint32_t i = 0; i < RTE_DIM(play.watches); i++)
		play.watches[i].fd = -1;
	for (uint32_t i = 0; i < PLAY_NB_PORTS; i++) {
		struct mana_priv *priv = &play_ports[i];

		port_data[i].port_id = PLAY_FIRST_PORT + i;
		priv->data = &port_data[i];
		priv->ctx = &device;
		priv->nb_opens = 1;
		RTE_VERIFY(mana_peers_open(priv) == 0);
	}
}

void
play_close(void)
{
	play_interrupts();
	for (uint32_t i = 0; i < PLAY_NB_PORTS; i++)
		mana_peers_close(&play_ports[i]);
}
