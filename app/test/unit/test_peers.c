/* SPDX-License-Identifier: BSD-3-Clause */

/* Messages between processes: good and bad ones, late ones, and the end of a process. */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>

#include <cmocka.h>

#include "peers_play.h"

#define PORT PLAY_FIRST_PORT
#define SECOND_MS 1000

static const int no_fds[1];

/* ---- A secondary process that the test plays ------------------------------------ */

struct process {
	uint32_t id;
	int notes;
	int requests;
	int others[2]; /* the other ends of these */
	struct play_joined joined;
	int nb_reply_fds;
};

/* The answer to a join. Descriptors of the message do not belong to the test any more. */
static struct play_joined
joined_of(const void *join, size_t len, const int *fds, int nb_fds)
{
	const uint32_t nb_replies = play.nb_replies;
	struct play_joined joined;

	assert_int_equal(play_join(join, len, fds, nb_fds), 0);
	assert_int_equal(play.nb_replies, nb_replies + 1);
	assert_string_equal(play.reply.name, "net_mana");
	assert_int_equal(play.reply.len_param, sizeof(joined));
	memcpy(&joined, play.reply.param, sizeof(joined));
	return joined;
}

/* The first join of a process. */
static int
process_begin(struct process *process, uint32_t port_id)
{
	const struct play_join join = { .port_id = port_id };
	int notes[2], requests[2];

	play_sockets(notes);
	play_sockets(requests);
	process->notes = notes[0];
	process->requests = requests[0];
	process->others[0] = notes[1];
	process->others[1] = requests[1];
	process->joined = joined_of(&join, sizeof(join),
				    (const int[]){ notes[1], requests[1] }, 2);
	process->id = process->joined.process_id;
	return process->joined.ret;
}

static void
process_end(const struct process *process)
{
	close(process->notes);
	close(process->requests);
	play_interrupts();
}

/* Receives a message, at most that long: its length, -1 if there is none. */
static ssize_t
receive(int sock, void *data, size_t len)
{
	return recv(sock, data, len, MSG_DONTWAIT);
}

static bool
has_message(int sock)
{
	char byte;

	return recv(sock, &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
}

/* The process has followed news of this number. */
static void
followed(const struct process *process, uint64_t nr)
{
	play_send(process->notes, &nr, sizeof(nr), 0);
}

/* ---- Fixture ---------------------------------------------------------------------- */

static uint32_t nb_fds_before;

static int
setup(void **state)
{
	RTE_SET_USED(state);
	play_open();
	nb_fds_before = play_nb_fds();
	return 0;
}

/* Nothing is left of the processes of a test. */
static int
teardown(void **state)
{
	RTE_SET_USED(state);
	play_close();
	assert_false(mana_peers_exist());
	assert_null(play.on_join);
	assert_int_equal(play_nb_fds(), nb_fds_before);
	return 0;
}

/* ---- Ports -------------------------------------------------------------------------- */

/* One action serves all ports; without secondary processes there is none. */
static void
test_open_and_close(void **state)
{
	RTE_SET_USED(state);
	assert_int_equal(play.nb_actions, 1);
	mana_peers_close(&play_ports[0]);
	mana_peers_close(&play_ports[0]);
	assert_non_null(play.on_join);
	mana_peers_close(&play_ports[1]);
	assert_null(play.on_join);

	play.action_error = EEXIST;
	assert_int_equal(mana_peers_open(&play_ports[0]), -EEXIST);
	play.action_error = ENOTSUP;
	assert_int_equal(mana_peers_open(&play_ports[0]), 0);
	mana_peers_close(&play_ports[0]);
}

/* ---- Joins --------------------------------------------------------------------------- */

/* The join is refused, its descriptors are closed, and no process is known. */
static void
assert_refused(const void *join, size_t len, int nb_fds, int error)
{
	const uint32_t nb_fds_open = play_nb_fds();
	const struct mana_news none = { .nr = 0 };
	struct play_joined joined;
	int fds[RTE_MP_MAX_FD_NUM];

	for (int i = 0; i < nb_fds; i++)
		fds[i] = play_socket();
	joined = joined_of(join, len, fds, nb_fds);
	assert_int_equal(joined.ret, error);
	assert_memory_equal(&joined.news, &none, sizeof(none));
	assert_int_equal(play.reply.num_fds, 0);
	assert_false(mana_peers_exist());
	assert_int_equal(play_nb_fds(), nb_fds_open);
}

static void
test_bad_joins(void **state)
{
	const struct play_join first = { .port_id = PORT };
	const struct play_join no_port = { .port_id = PORT + PLAY_NB_PORTS };
	const struct play_join no_process = { .port_id = PORT, .process_id = 12345 };
	uint8_t large[sizeof(first) + 1] = { PORT };

	RTE_SET_USED(state);
	assert_refused(&first, 0, 2, -EINVAL);
	assert_refused(&first, sizeof(first) - 1, 2, -EINVAL);
	assert_refused(large, sizeof(large), 2, -EINVAL);
	for (int nb = 0; nb <= RTE_MP_MAX_FD_NUM; nb++)
		if (nb != 2)
			assert_refused(&first, sizeof(first), nb, -EINVAL);
	assert_refused(&no_port, sizeof(no_port), 2, -ENODEV);
	assert_refused(&no_process, sizeof(no_process), 0, -EINVAL);
	assert_refused(&no_process, sizeof(no_process), 2, -EINVAL);
	mana_peers_close(&play_ports[0]);
	assert_refused(&first, sizeof(first), 2, -ENODEV);
}

static void
test_joins_that_fail(void **state)
{
	const struct play_join first = { .port_id = PORT };
	struct process process;

	RTE_SET_USED(state);
	play.share_result = -ENOTSUP;
	assert_refused(&first, sizeof(first), 2, -ENOTSUP);
	play.share_result = 0;
	play.has_no_memory = true;
	assert_refused(&first, sizeof(first), 2, -ENOMEM);
	play.has_no_memory = false;
	play.watch_error = -ENOMEM;
	assert_refused(&first, sizeof(first), 2, -ENOMEM);
	play.watch_error = 0;

	/* The process is known, and ends its sockets when it is refused. */
	play.check_result = -EPERM;
	assert_int_equal(process_begin(&process, PORT), -EPERM);
	assert_int_equal(play.reply.num_fds, 0);
	process_end(&process);
	assert_false(mana_peers_exist());
}

/* EAL leaves older numbers in a message that counts descriptors and carries none. */
static void
test_counted_descriptors(void **state)
{
	const struct play_join first = { .port_id = PORT };
	const int devices[] = { play_device, play_device };
	struct process process;

	RTE_SET_USED(state);
	assert_int_equal(process_begin(&process, PORT), 0);
	assert_int_equal(joined_of(&first, sizeof(first), process.others, 2).ret, -EINVAL);
	assert_int_equal(joined_of(&first, sizeof(first), process.others, 1).ret, -EINVAL);
	assert_int_equal(joined_of(&first, sizeof(first), devices, 2).ret, -EINVAL);
	assert_int_equal(joined_of(&first, sizeof(first), devices, -1).ret, -EINVAL);
	/* None of them was closed. */
	assert_int_not_equal(fcntl(process.others[0], F_GETFD), -1);
	assert_int_not_equal(fcntl(process.others[1], F_GETFD), -1);
	assert_int_not_equal(fcntl(play_device, F_GETFD), -1);
	assert_true(mana_peers_exist());
	process_end(&process);
	assert_false(mana_peers_exist());
}

static void
test_good_joins(void **state)
{
	struct process a, b;
	struct play_join second = { .port_id = PORT + 1 };
	struct play_joined joined;

	RTE_SET_USED(state);
	mana_peers_tell(&play_ports[0], true, true);
	assert_int_equal(play_ports[0].news.flags, MANA_NEWS_DEVICE | MANA_NEWS_RUNS);
	mana_atomic_store(&play_ports[0].is_lost, 1);
	mana_peers_tell(&play_ports[0], true, true);
	assert_int_equal(play_ports[0].news.flags, 0);
	mana_atomic_store(&play_ports[0].is_lost, 0);
	/* A port that is rebuilt does not run before its recovery has succeeded. */
	mana_atomic_store(&play_ports[0].state, MANA_STATE_RECOVERING);
	mana_peers_tell(&play_ports[0], true, true);
	mana_atomic_store(&play_ports[0].state, MANA_STATE_READY);
	assert_false(mana_peers_exist());
	assert_int_equal(process_begin(&a, PORT), 0);
	assert_true(mana_peers_exist());
	assert_int_not_equal(a.id, 0);
	assert_int_not_equal(a.id, MANA_PROCESS_PRIMARY);
	assert_memory_equal(&a.joined.news, &play_ports[0].news, sizeof(a.joined.news));
	assert_int_equal(a.joined.news.port_id, PORT);
	assert_int_equal(a.joined.news.flags, MANA_NEWS_DEVICE);
	assert_int_equal(a.joined.news.state, MANA_STATE_RECOVERING);
	assert_int_equal(a.joined.news.device_nr, 1);
	assert_int_equal(play.reply.num_fds, 1);
	assert_int_equal(play.reply.fds[0], play_device);

	/* Another port: the number of the first join instead of descriptors. */
	mana_peers_tell(&play_ports[1], false, false);
	second.process_id = a.id;
	joined = joined_of(&second, sizeof(second), no_fds, 0);
	assert_int_equal(joined.ret, 0);
	assert_int_equal(joined.process_id, a.id);
	assert_int_equal(joined.news.port_id, PORT + 1);
	assert_true(joined.news.nr > a.joined.news.nr);
	assert_int_equal(play.reply.num_fds, 0);
	/* Of a known process, with a descriptor. */
	joined = joined_of(&second, sizeof(second), (const int[]){ play_socket() }, 1);
	assert_int_equal(joined.ret, -EINVAL);

	assert_int_equal(process_begin(&b, PORT), 0);
	assert_int_not_equal(b.id, a.id);
	process_end(&a);
	assert_true(mana_peers_exist());
	joined = joined_of(&second, sizeof(second), no_fds, 0);
	assert_int_equal(joined.ret, -EINVAL);
	process_end(&b);
	assert_false(mana_peers_exist());
}

/* ---- Requests ------------------------------------------------------------------------ */

static void
test_requests(void **state)
{
	const struct {
		struct play_request request;
		char more[8];
	} large = { .request = {
		.nr = 9, .addr = 0x1000, .len = 0x200, .pool = 0x77, .port_id = PORT + 1,
	} };
	const struct play_request good = large.request;
	struct play_request no_port = good;
	struct play_answer answer;
	struct process process;

	RTE_SET_USED(state);
	assert_int_equal(process_begin(&process, PORT), 0);
	play_send(process.requests, &good, sizeof(good), 0);
	play_interrupts();
	assert_int_equal(play.nb_serves, 1);
	assert_ptr_equal(play.served, &play_ports[1]);
	assert_int_equal(play.serve.addr, good.addr);
	assert_int_equal(play.serve.len, good.len);
	assert_int_equal(play.serve.pool, good.pool);
	assert_int_equal(receive(process.requests, &answer, sizeof(answer)),
			 sizeof(answer));
	assert_int_equal(answer.nr, 9);
	assert_int_equal(answer.ret, 0);
	assert_int_equal(answer.base, good.addr - 1);
	assert_int_equal(answer.len, good.len + 2);
	assert_int_equal(answer.lkey, 77);

	/* Unexpected descriptors are closed. */
	play.serve_result = -EACCES;
	for (uint32_t nb_fds = 1; nb_fds <= 4; nb_fds++) {
		play_send(process.requests, &good, sizeof(good), nb_fds);
		play_interrupts();
		assert_int_equal(receive(process.requests, &answer, sizeof(answer)),
				 sizeof(answer));
		assert_int_equal(answer.ret, -EACCES);
	}

	no_port.port_id = PORT + PLAY_NB_PORTS;
	no_port.nr = 10;
	play_send(process.requests, &no_port, sizeof(no_port), 0);
	play_interrupts();
	assert_int_equal(play.nb_serves, 5);
	assert_int_equal(receive(process.requests, &answer, sizeof(answer)),
			 sizeof(answer));
	assert_int_equal(answer.nr, 10);
	assert_int_equal(answer.ret, -ENODEV);

	play_send(process.requests, &good, 1, 0);
	play_send(process.requests, &good, sizeof(good) - 1, 1);
	play_send(process.requests, &large, sizeof(large), 0);
	play_interrupts();
	assert_int_equal(play.nb_serves, 5);
	assert_false(has_message(process.requests));
	process_end(&process);
}

/* ---- The end of a process --------------------------------------------------------------- */

/* The marks of a queue; the burst of a secondary process stores user, and look is for status. */
struct marks {
	uint32_t user;
	uint32_t look;
};

static struct marks
marks_of_rx(const struct mana_eth_rxq *ctl)
{
	return (struct marks){ mana_atomic_load(&ctl->list.user),
			       mana_atomic_load(&ctl->list.look) };
}

static struct marks
marks_of_tx(const struct mana_eth_txq *ctl)
{
	return (struct marks){ mana_atomic_load(&ctl->txq.user),
			       mana_atomic_load(&ctl->txq.look) };
}

static void
test_marks_of_an_ended_process(void **state)
{
	static struct mana_eth_rxq rx[3];
	static struct mana_eth_txq tx[3];
	static union {
		struct mana_rx_set set;
		char space[sizeof(struct mana_rx_set) + 4 * sizeof(struct mana_rx_hwq)];
	} rx_set = { .set.nb = 4 };
	struct process dies, lives;
	struct mana_rx_hwq *hwqs = rx_set.set.hwqs;
	struct mana_priv *priv = &play_ports[1];

	RTE_SET_USED(state);
	assert_int_equal(process_begin(&dies, PORT), 0);
	assert_int_equal(process_begin(&lives, PORT), 0);
	for (uint32_t i = 0; i < 4; i++)
		hwqs[i].owner = i == 3 ? 0 : i;
	priv->rx_set = &rx_set.set;
	/* Of each direction: a burst of it, only a look, and nothing of it. */
	for (uint32_t i = 0; i < 3; i++) {
		/* Numbers of queues may have gaps. */
		priv->rxqs[i] = &rx[i];
		priv->txqs[MANA_MAX_QUEUES - 1 - i] = &tx[i];
		rx[i].list.user = i == 0 ? dies.id : lives.id;
		rx[i].list.look = i == 1 ? dies.id : lives.id;
		tx[i].txq.user = i == 0 ? dies.id : MANA_PROCESS_PRIMARY;
		tx[i].txq.look = i == 1 ? dies.id : MANA_PROCESS_PRIMARY;
	}

	/* The driver may rebuild the queues at once, whatever failed before. */
	priv->recovery.repair_ns = 1;
	process_end(&dies);
	assert_int_equal(priv->recovery.repair_ns, 0);
	assert_true(mana_peers_exist());
	for (uint32_t i = 0; i < 3; i++) {
		const struct marks of_rx = marks_of_rx(&rx[i]), of_tx = marks_of_tx(&tx[i]);

		assert_int_equal(of_rx.user, i == 0 ? 0 : lives.id);
		assert_int_equal(of_rx.look, i == 1 ? 0 : lives.id);
		assert_int_equal(of_tx.user, i == 0 ? 0 : MANA_PROCESS_PRIMARY);
		assert_int_equal(of_tx.look, i == 1 ? 0 : MANA_PROCESS_PRIMARY);
		assert_int_equal(mana_txq_failure(&tx[i].txq),
				 i == 0 ? MANA_FAILURE_KILLED : MANA_FAILURE_NONE);
	}
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(mana_rxq_failure(&hwqs[i].rxq), hwqs[i].owner == 0 ?
				 MANA_FAILURE_KILLED : MANA_FAILURE_NONE);

	/* Without a set, as in a port that is stopped. */
	priv->rx_set = NULL;
	process_end(&lives);
	assert_int_equal(marks_of_rx(&rx[1]).user, 0);
	assert_int_equal(marks_of_rx(&rx[2]).look, 0);
	assert_int_equal(mana_rxq_failure(&hwqs[1].rxq), MANA_FAILURE_NONE);
	assert_false(mana_peers_exist());
	memset(priv->rxqs, 0, sizeof(priv->rxqs));
	memset(priv->txqs, 0, sizeof(priv->txqs));
}

/* A thread waits for a burst of a process that has ended, and is the interrupt thread. */
static void
test_marks_before_the_interrupt(void **state)
{
	static struct mana_eth_txq tx;
	struct process dies, lives;
	struct mana_priv *priv = &play_ports[0];

	RTE_SET_USED(state);
	assert_int_equal(process_begin(&dies, PORT), 0);
	assert_int_equal(process_begin(&lives, PORT), 0);
	priv->txqs[0] = &tx;
	tx.txq.user = dies.id;
	mana_peers_reap();
	assert_int_equal(marks_of_tx(&tx).user, dies.id);
	close(dies.notes);
	close(dies.requests);
	mana_peers_reap();
	assert_int_equal(marks_of_tx(&tx).user, 0);
	assert_int_equal(tx.txq.failure, MANA_FAILURE_KILLED);
	play_interrupts();
	process_end(&lives);
	assert_false(mana_peers_exist());
	priv->txqs[0] = NULL;
}

/* ---- News of the primary process ----------------------------------------------------------- */

/* The process has one message, this news. With a descriptor, that is closed here. */
static void
assert_told(const struct process *process, const struct mana_news *news, uint32_t nb_fds)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct mana_news got;
	struct iovec iov = { .iov_base = &got, .iov_len = sizeof(got) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	int fd;

	assert_int_equal(recvmsg(process->notes, &msg, MSG_DONTWAIT), sizeof(got));
	assert_int_equal(msg.msg_flags & MSG_TRUNC, 0);
	assert_memory_equal(&got, news, sizeof(got));
	assert_int_equal(msg.msg_controllen != 0, nb_fds);
	if (nb_fds != 0) {
		memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
		assert_int_equal(close(fd), 0);
	}
	assert_false(has_message(process->notes));
}

static void
test_news_reaches_all(void **state)
{
	struct process all[2];
	uint64_t nr;

	RTE_SET_USED(state);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(process_begin(&all[i], PORT), 0);
	for (uint32_t has_device = 0; has_device < 2; has_device++) {
		nr = RTE_MAX(play_ports[0].news.nr, play_ports[1].news.nr) + 1;
		for (uint32_t i = 0; i < 2; i++) {
			/* Too late for others. A descriptor is closed. */
			followed(&all[i], nr - 1);
			play_send(all[i].notes, &nr, sizeof(nr), 1);
		}
		mana_peers_tell(&play_ports[1], has_device, false);
		assert_int_equal(play_ports[1].news.nr, nr);
		assert_int_equal(play.waited_ms, 0);
		for (uint32_t i = 0; i < 2; i++)
			assert_told(&all[i], &play_ports[1].news, has_device);
	}
	nr++;
	for (uint32_t i = 0; i < 2; i++)
		followed(&all[i], nr);
	mana_peers_close(&play_ports[1]);
	assert_int_equal(play_ports[1].news.flags, MANA_NEWS_CLOSED);
	for (uint32_t i = 0; i < 2; i++) {
		assert_told(&all[i], &play_ports[1].news, 0);
		process_end(&all[i]);
	}
}

/* An answer of the wrong size is none, not even if some of it is right. */
static void
test_wrong_answers_to_news(void **state)
{
	struct process process;
	uint64_t numbers[2], now_ns;

	RTE_SET_USED(state);
	assert_int_equal(process_begin(&process, PORT), 0);
	for (size_t len = 1; len < sizeof(numbers); len++) {
		/* Another size. */
		if (len == sizeof(numbers[0]))
			continue;
		numbers[0] = RTE_MAX(play_ports[0].news.nr, play_ports[1].news.nr) + 1;
		numbers[1] = 0;
		followed(&process, numbers[0] ^ 0xff);
		play_send(process.notes, numbers, len, 0);
		now_ns = play.now_ns;
		mana_peers_tell(&play_ports[0], false, false);
		assert_int_not_equal(play.now_ns, now_ns);
		/* Nor is it a sign that the process follows again. */
		now_ns = play.now_ns;
		play_send(process.notes, numbers, len, 0);
		mana_peers_tell(&play_ports[0], false, false);
		assert_int_equal(play.now_ns, now_ns);
	}
	process_end(&process);
}

/* A signal in the thread that waits does not end the time. */
static void
test_signal_while_telling(void **state)
{
	struct process process;

	RTE_SET_USED(state);
	assert_int_equal(process_begin(&process, PORT), 0);
	followed(&process, RTE_MAX(play_ports[0].news.nr, play_ports[1].news.nr) + 1);
	play.nb_poll_signals = 2;
	mana_peers_tell(&play_ports[0], false, false);
	assert_int_equal(play.nb_poll_signals, 0);
	/* The answer was read. */
	assert_int_equal(play.nb_waits, 1);
	process_end(&process);
}

/* All wait together for what one process lacks, once. */
static void
test_late_process(void **state)
{
	struct process late, good;
	struct mana_priv *priv = &play_ports[0];
	uint64_t limit_ms, now_ns, first;
	uint32_t nb_waits;

	RTE_SET_USED(state);
	assert_int_equal(process_begin(&good, PORT), 0);
	assert_int_equal(process_begin(&late, PORT), 0);
	first = RTE_MAX(play_ports[0].news.nr, play_ports[1].news.nr) + 1;
	followed(&good, first);
	now_ns = play.now_ns;
	mana_peers_tell(priv, true, true);
	limit_ms = (play.now_ns - now_ns) / 1000000;
	assert_true(limit_ms >= 500 && limit_ms < SECOND_MS);

	/* The other is waited for as before, whose answer is there. */
	followed(&good, first + 1);
	now_ns = play.now_ns;
	nb_waits = play.nb_waits;
	mana_peers_tell(priv, false, false);
	assert_int_equal(play.now_ns, now_ns);
	assert_int_equal(play.nb_waits, nb_waits + 1);
	/* It has followed all that it missed. */
	followed(&good, first + 2);
	for (uint32_t i = 0; i < 3; i++)
		followed(&late, first + i);
	mana_peers_tell(priv, true, true);
	assert_int_equal(play.now_ns, now_ns);
	/* Hence it is waited for. */
	followed(&good, first + 3);
	mana_peers_tell(priv, false, false);
	assert_int_equal((play.now_ns - now_ns) / 1000000, limit_ms);
	/* A process that has ended is not waited for. */
	now_ns = play.now_ns;
	close(late.notes);
	close(late.requests);
	followed(&good, first + 4);
	mana_peers_tell(priv, false, false);
	assert_int_equal(play.now_ns, now_ns);
	play_interrupts();
	process_end(&good);
}

/* ---- A secondary process ---------------------------------------------------------------- */

static const struct mana_news first_news = {
	.nr = 4, .port_id = PORT, .flags = MANA_NEWS_DEVICE,
};

/* What the primary process answers to a join. */
static void
reply_set(int result, size_t len, int nb_fds)
{
	const struct play_joined joined = {
		.ret = result, .process_id = 5, .news = first_news,
	};

	play.join_reply = (struct rte_mp_msg){ .len_param = len, .num_fds = nb_fds };
	memcpy(play.join_reply.param, &joined, sizeof(joined));
}

/* The end of the primary process, or of its part. */
static void
primary_end(void)
{
	close(play.notes);
	close(play.requests);
}

static void
secondary_begin(void)
{
	reply_set(0, sizeof(struct play_joined), 1);
	assert_int_equal(mana_peers_join(PORT, &play_ops), 0);
	assert_int_equal(mana_process_id, 5);
	assert_int_equal(play.join.num_fds, 2);
	assert_int_equal(play.nb_follows, 1);
	assert_true(play.had_device);
}

static void
secondary_end(void)
{
	mana_peers_leave();
	assert_int_equal(mana_process_id, MANA_PROCESS_NONE);
	primary_end();
}

/* The first join fails: it returns this and keeps nothing. */
static void
assert_join_fails(int error)
{
	const uint32_t nb_fds = play_nb_fds();

	play.notes = play.requests = -1;
	assert_int_equal(mana_peers_join(PORT, &play_ops), error);
	primary_end();
	assert_int_equal(play_nb_fds(), nb_fds);
	assert_int_equal(play.nb_follows, 0);
	assert_int_equal(mana_peers_mr_get(&play_ports[0], 1, 1, NULL, NULL), -EPIPE);
	mana_peers_leave();
}

static void
test_join_fails(void **state)
{
	RTE_SET_USED(state);
	mana_peers_leave();
	play.share_result = -ENOTSUP;
	assert_join_fails(-ENOTSUP);
	play.share_result = 0;
	for (uint32_t i = 1; i <= 2; i++) {
		play.failing_socketpair = i;
		assert_join_fails(-EMFILE);
	}
	play.request_error = ENOTSUP;
	assert_join_fails(-ENOTSUP);
	play.request_error = ETIMEDOUT;
	assert_join_fails(-ETIMEDOUT);
	play.request_error = 0;
	play.has_no_reply = true;
	assert_join_fails(-ETIMEDOUT);
	play.has_no_reply = false;
	reply_set(0, sizeof(struct play_joined) - 1, 0);
	assert_join_fails(-EPROTO);
	reply_set(0, sizeof(struct play_joined) + 1, 0);
	assert_join_fails(-EPROTO);
	for (int nb_fds = 1; nb_fds <= 2; nb_fds++) {
		reply_set(0, sizeof(struct play_joined) - 1, nb_fds);
		assert_join_fails(-EPROTO);
	}
	reply_set(-ENODEV, sizeof(struct play_joined), 2);
	assert_join_fails(-ENODEV);
	reply_set(1, sizeof(struct play_joined), 1);
	assert_join_fails(-EPROTO);
	reply_set(INT32_MIN, sizeof(struct play_joined), 1);
	assert_join_fails(-EPROTO);
	reply_set(-EPERM, sizeof(struct play_joined), 1);
	assert_join_fails(-EPERM);
	reply_set(0, sizeof(struct play_joined), 1);
	play.watch_error = -ENOMEM;
	assert_join_fails(-ENOMEM);
}

static void
test_join(void **state)
{
	struct play_join join;

	RTE_SET_USED(state);
	secondary_begin();
	assert_string_equal(play.join.name, "net_mana");
	assert_int_equal(play.join.len_param, sizeof(join));
	memcpy(&join, play.join.param, sizeof(join));
	assert_int_equal(join.port_id, PORT);
	assert_int_equal(join.process_id, 0);
	assert_memory_equal(&play.news, &first_news, sizeof(first_news));

	/* Another port. Which of two descriptors is the device's is not known. */
	reply_set(0, sizeof(struct play_joined), 2);
	assert_int_equal(mana_peers_join(PORT + 1, &play_ops), 0);
	memcpy(&join, play.join.param, sizeof(join));
	assert_int_equal(play.join.num_fds, 0);
	assert_int_equal(join.port_id, PORT + 1);
	assert_int_equal(join.process_id, 5);
	assert_int_equal(play.nb_follows, 2);
	assert_false(play.had_device);
	/* One that fails: the process stays. */
	reply_set(-ENODEV, sizeof(struct play_joined), 0);
	assert_int_equal(mana_peers_join(PORT + 1, &play_ops), -ENODEV);
	assert_int_equal(play.nb_follows, 2);
	assert_int_equal(mana_process_id, 5);
	secondary_end();
}

static void
test_news(void **state)
{
	const struct {
		struct mana_news news;
		char more[8];
	} large = { .news = {
		.nr = 88, .port_id = PORT, .flags = MANA_NEWS_DEVICE,
	} };
	struct mana_news news = large.news;
	uint64_t nr;

	RTE_SET_USED(state);
	secondary_begin();
	play_send(play.notes, &news, 1, 0);
	play_send(play.notes, &news, sizeof(news) - 1, 1);
	play_send(play.notes, &large, sizeof(large), 2);
	play_interrupts();
	assert_int_equal(play.nb_follows, 1);
	assert_int_equal(play.nb_notifies, 0);
	assert_false(has_message(play.notes));

	play_send(play.notes, &news, sizeof(news), 1);
	play_interrupts();
	assert_int_equal(play.nb_follows, 2);
	assert_true(play.had_device);
	assert_memory_equal(&play.news, &news, sizeof(news));
	assert_int_equal(play.nb_notifies, 1);
	assert_int_equal(play.answered_nr, 88);
	assert_int_equal(receive(play.notes, &nr, sizeof(nr)), sizeof(nr));
	assert_int_equal(nr, 88);

	news.nr++;
	play_send(play.notes, &news, sizeof(news), 0);
	play_interrupts();
	assert_int_equal(play.nb_follows, 3);
	assert_false(play.had_device);
	secondary_end();
}

/* The callback of the interrupt thread runs while the process leaves. */
static void
test_leave_waits(void **state)
{
	uint64_t now_ns;

	RTE_SET_USED(state);
	secondary_begin();
	play.nb_busy_unregisters = 2;
	now_ns = play.now_ns;
	secondary_end();
	assert_int_equal(play.nb_busy_unregisters, 0);
	assert_true(play.now_ns > now_ns);
	mana_peers_leave();
	assert_int_equal(play.nb_lost, 0);
}

static void
test_end_of_the_primary_process(void **state)
{
	RTE_SET_USED(state);
	secondary_begin();
	primary_end();
	play_interrupts();
	assert_int_equal(play.nb_lost, 1);
	assert_int_equal(mana_process_id, MANA_PROCESS_NONE);
	mana_peers_leave();
	play_interrupts();
	assert_int_equal(play.nb_lost, 1);
	assert_int_equal(play.nb_follows, 1);
	assert_int_equal(mana_peers_mr_get(&play_ports[0], 1, 1, NULL, NULL), -EPIPE);
}

/* ---- Its requests ------------------------------------------------------------------------ */

static struct play_request asked; /* the last one */
static uint32_t nb_asked;
/* Answers to a request: their difference to its number, their length. */
static struct {
	int64_t nr;
	size_t len;
} answers[4];
static uint32_t nb_answers;
static int answer_result;

/* The primary process. */
static void
answer_all(void)
{
	struct {
		struct play_answer answer;
		char more[8];
	} message = { .answer = { .ret = answer_result, .lkey = 77 } };

	if (receive(play.requests, &asked, sizeof(asked)) != sizeof(asked))
		return;
	nb_asked++;
	for (uint32_t i = 0; i < nb_answers; i++) {
		message.answer.nr = asked.nr + answers[i].nr;
		/* Which one it is. */
		message.answer.base = i;
		message.answer.len = 0x1000;
		play_send(play.requests, &message, answers[i].len, i & 1);
	}
}

/* Its result; what a request finds in *range. */
static int
mr_get(struct mana_mr_range *range)
{
	*range = (struct mana_mr_range){ .lkey = 1 };
	return mana_peers_mr_get(&play_ports[0], 0x2000, 0x30,
				 (const struct rte_mempool *)&asked, range);
}

static void
test_requests_for_regions(void **state)
{
	const size_t len = sizeof(struct play_answer);
	struct mana_mr_range range;
	uint64_t nr;

	RTE_SET_USED(state);
	secondary_begin();
	play.on_poll = answer_all;
	nb_asked = 0;

	answers[0].len = len;
	nb_answers = 1;
	assert_int_equal(mr_get(&range), 0);
	assert_int_equal(nb_asked, 1);
	assert_int_equal(asked.addr, 0x2000);
	assert_int_equal(asked.len, 0x30);
	assert_int_equal(asked.pool, (uintptr_t)&asked);
	assert_int_equal(asked.port_id, PORT);
	assert_int_equal(range.base, 0);
	assert_int_equal(range.len_bytes, 0x1000);
	assert_int_equal(range.lkey, 77);

	/* A late one, a short one and a long one; a descriptor is closed. */
	answers[0].nr = -1;
	answers[1].len = len - 1;
	answers[2].len = len + 1;
	answers[3].len = len;
	nb_answers = 4;
	nr = asked.nr;
	assert_int_equal(mr_get(&range), 0);
	assert_int_equal(asked.nr, nr + 1);
	assert_int_equal(range.base, 3);
	/* A signal in the thread of the burst. */
	play.nb_poll_signals = 2;
	assert_int_equal(mr_get(&range), 0);
	assert_int_equal(play.nb_poll_signals, 0);

	/* A refusal does not stop requests. */
	for (uint32_t i = 0; i < 2; i++) {
		answer_result = -EACCES;
		nb_answers = 4;
		assert_int_equal(mr_get(&range), -EACCES);
		assert_int_equal(range.lkey, 1);
	}
	assert_int_equal(nb_asked, 5);
	/* No errno at all. */
	answer_result = 1;
	assert_int_equal(mr_get(&range), -EPROTO);
	answer_result = INT32_MIN;
	assert_int_equal(mr_get(&range), -EPROTO);
	assert_int_equal(range.lkey, 1);
	answer_result = 0;
	secondary_end();
}

static void
test_primary_process_does_not_answer(void **state)
{
	struct mana_mr_range range;
	uint64_t now_ns, waited_ms;

	RTE_SET_USED(state);
	secondary_begin();
	play.on_poll = answer_all;
	nb_asked = 0;
	nb_answers = 0;
	now_ns = play.now_ns;
	assert_int_equal(mr_get(&range), -ETIMEDOUT);
	waited_ms = (play.now_ns - now_ns) / 1000000;
	assert_true(waited_ms >= 500 && waited_ms < SECOND_MS);
	assert_int_equal(nb_asked, 1);

	/* For a second, bursts do not wait, and make no request. */
	answers[0].nr = 0;
	answers[0].len = sizeof(struct play_answer);
	nb_answers = 1;
	now_ns = play.now_ns;
	assert_int_equal(mr_get(&range), -ETIMEDOUT);
	play.now_ns += UINT64_C(999999999);
	assert_int_equal(mr_get(&range), -ETIMEDOUT);
	assert_int_equal(nb_asked, 1);
	play.now_ns++;
	assert_int_equal(mr_get(&range), 0);
	assert_int_equal(nb_asked, 2);
	secondary_end();
}

/* The primary process ends before a request, and during one. */
static void
test_primary_process_ends_in_a_request(void **state)
{
	struct mana_mr_range range;

	RTE_SET_USED(state);
	for (uint32_t is_during = 0; is_during < 2; is_during++) {
		play.nb_follows = 0;
		secondary_begin();
		if (is_during)
			play.on_poll = primary_end;
		else
			primary_end();
		assert_int_equal(mr_get(&range), -EPIPE);
		assert_int_equal(range.lkey, 1);
		play.on_poll = NULL;
		mana_peers_leave();
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(open_and_close),
		TEST(bad_joins),
		TEST(joins_that_fail),
		TEST(counted_descriptors),
		TEST(good_joins),
		TEST(requests),
		TEST(marks_of_an_ended_process),
		TEST(marks_before_the_interrupt),
		TEST(news_reaches_all),
		TEST(wrong_answers_to_news),
		TEST(signal_while_telling),
		TEST(late_process),
		TEST(join_fails),
		TEST(join),
		TEST(news),
		TEST(leave_waits),
		TEST(end_of_the_primary_process),
		TEST(requests_for_regions),
		TEST(primary_process_does_not_answer),
		TEST(primary_process_ends_in_a_request),
	};

	return cmocka_run_group_tests_name("peers", tests, NULL, NULL);
}
