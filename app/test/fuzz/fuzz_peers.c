/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages of any bytes, sizes and descriptors between processes. This file plays
 * secondary processes and the primary process, the driver plays the others.
 */

#include <sys/socket.h>
#include <unistd.h>

#include <rte_log.h>

#include "fuzz.h"
#include "peers_play.h"

#define MAX_ACTIONS   24u
#define MAX_PROCESSES 3u
#define MAX_MESSAGE   80u

enum action {
	/* A secondary process. */
	ACTION_JOIN,
	ACTION_REQUEST,
	ACTION_FOLLOWED,
	ACTION_MARK,
	ACTION_END,
	/* The primary process. */
	ACTION_TELL,
	ACTION_CLOSE,
	/* The secondary process of the driver, and its primary process. */
	ACTION_SECONDARY_JOIN,
	ACTION_NEWS,
	ACTION_ANSWERS,
	ACTION_PRIMARY_END,
	ACTION_LEAVE,
	NB_ACTIONS
};

/* Sockets of the secondary processes that the driver knows; -1: none. */
static struct process {
	uint32_t id;
	int notes;
	int requests;
} processes[MAX_PROCESSES];

static struct mana_eth_rxq rxq;
static struct mana_eth_txq txq;
static union {
	struct mana_rx_set set;
	char space[sizeof(struct mana_rx_set) + sizeof(struct mana_rx_hwq)];
} rx_set = { .set.nb = 1 };

static struct fuzz_input *input; /* for answers to bursts */
static bool is_answered; /* by an answer of the right size and number */

static size_t
message_read(struct fuzz_input *in, uint8_t message[MAX_MESSAGE])
{
	const size_t len = fuzz_u8(in) % MAX_MESSAGE;

	memset(message, 0, MAX_MESSAGE);
	fuzz_read(in, message, len);
	return len;
}

static void
close_both(int *a, int *b)
{
	if (*a >= 0) {
		close(*a);
		close(*b);
	}
	*a = *b = -1;
}

/* ---- Secondary processes ---------------------------------------------------- */

/* The driver has taken the sockets of a join unless it refused it. */
FUZZ_ORACLE static void
check_joined(const struct play_joined *joined, bool is_right_size)
{
	const struct mana_news none = { .nr = 0 };
	const bool has_device = joined->ret == 0 &&
		(joined->news.flags & MANA_NEWS_DEVICE) != 0;

	FUZZ_CHECK(strcmp(play.reply.name, "net_mana") == 0);
	FUZZ_CHECK(play.reply.len_param == sizeof(*joined));
	FUZZ_CHECK(joined->ret <= 0 && (joined->ret < 0 || is_right_size));
	FUZZ_CHECK(play.reply.num_fds == has_device);
	FUZZ_CHECK(!has_device || play.reply.fds[0] == play_device);
	if (joined->ret != 0) {
		FUZZ_CHECK(memcmp(&joined->news, &none, sizeof(none)) == 0);
	} else {
		FUZZ_CHECK(joined->process_id > MANA_PROCESS_PRIMARY);
		FUZZ_CHECK(joined->news.port_id - PLAY_FIRST_PORT < PLAY_NB_PORTS);
		FUZZ_CHECK((joined->news.flags & MANA_NEWS_CLOSED) == 0);
	}
}

static void
process_join(struct fuzz_input *in, struct process *process)
{
	const uint8_t flags = fuzz_u8(in);
	int nb_fds = flags % 4, notes[2] = { -1, -1 }, requests[2], fds[4];
	const uint32_t nb_replies = play.nb_replies;
	uint8_t message[MAX_MESSAGE];
	struct play_joined joined;
	struct play_join join;
	size_t len;

	len = message_read(in, message);
	/* Else the number of a known process would be a guess. */
	if ((flags & 4) != 0 && len == sizeof(join)) {
		memcpy(&join, message, sizeof(join));
		join.process_id = process->id;
		memcpy(message, &join, sizeof(join));
	}
	if (nb_fds == 2 && process->notes < 0) {
		play_sockets(notes);
		play_sockets(requests);
		fds[0] = notes[1];
		fds[1] = requests[1];
	} else {
		/* Of no message: the number of another file. */
		for (int i = 0; i < nb_fds; i++)
			fds[i] = (flags & 128) != 0 ? play_device : play_socket();
		/* They would belong to a process that the target does not know. */
		if (nb_fds == 2)
			message[len++] = 0;
	}
	play.share_result = (flags & 8) != 0 ? -ENOTSUP : 0;
	play.check_result = (flags & 16) != 0 ? -EPERM : 0;
	play.watch_error = (flags & 32) != 0 ? -ENOMEM : 0;
	play.has_no_memory = (flags & 64) != 0;
	(void)play_join(message, len, fds, nb_fds);
	play.has_no_memory = false;
	play.watch_error = play.share_result = 0;
	FUZZ_CHECK(play.nb_replies == nb_replies + 1);
	memcpy(&joined, play.reply.param, sizeof(joined));
	check_joined(&joined, len == sizeof(join));
	if (notes[0] >= 0 && joined.ret == 0)
		*process = (struct process){
			.id = joined.process_id,
			.notes = notes[0],
			.requests = requests[0],
		};
	else
		close_both(&notes[0], &requests[0]);
}

/* A process is killed at any time: nothing of it is left, all else is. */
static void
process_end(struct process *process)
{
	const uint32_t id = process->id;
	const bool was_busy = mana_atomic_load(&rxq.list.user) == id ||
		mana_atomic_load(&txq.txq.user) == id;
	const uint32_t look = mana_atomic_load(&rxq.list.look);

	if (process->notes < 0)
		return;
	close_both(&process->notes, &process->requests);
	rx_set.set.hwqs[0].rxq.failure = txq.txq.failure = MANA_FAILURE_NONE;
	play_interrupts();
	FUZZ_CHECK(mana_atomic_load(&rxq.list.user) != id);
	FUZZ_CHECK(mana_atomic_load(&txq.txq.user) != id);
	FUZZ_CHECK(mana_atomic_load(&rxq.list.look) == (look == id ? 0 : look));
	FUZZ_CHECK(mana_atomic_load(&txq.txq.look) != id);
	FUZZ_CHECK(was_busy == (rx_set.set.hwqs[0].rxq.failure != MANA_FAILURE_NONE ||
				txq.txq.failure != MANA_FAILURE_NONE));
}

/* One answer to a message of the right size, none to others. */
static void
process_request(struct fuzz_input *in, struct process *process)
{
	const uint8_t flags = fuzz_u8(in);
	struct play_request request;
	struct play_answer answer;
	uint8_t message[MAX_MESSAGE];
	const size_t len = message_read(in, message);
	const struct mana_priv *priv;
	bool must_answer;
	ssize_t ret;

	play.serve_result = (flags & 4) != 0 ? -EACCES : 0;
	play.nb_serves = 0;
	play_send(process->requests, message, len, flags % 4);
	/* As the end of the socket. */
	if (len == 0) {
		process_end(process);
		return;
	}
	play_interrupts();
	ret = recv(process->requests, &answer, sizeof(answer), MSG_DONTWAIT | MSG_TRUNC);
	must_answer = process->requests >= 0 && len == sizeof(request);
	FUZZ_CHECK(must_answer ? ret == sizeof(answer) : ret <= 0);
	FUZZ_CHECK(recv(process->requests, &request, 1, MSG_DONTWAIT) <= 0);
	if (!must_answer) {
		FUZZ_CHECK(play.nb_serves == 0);
		return;
	}
	memcpy(&request, message, sizeof(request));
	FUZZ_CHECK(answer.nr == request.nr);
	priv = request.port_id - PLAY_FIRST_PORT < PLAY_NB_PORTS ?
		&play_ports[request.port_id - PLAY_FIRST_PORT] : NULL;
	if (priv == NULL || !priv->is_joinable) {
		FUZZ_CHECK(play.nb_serves == 0 && answer.ret == -ENODEV);
		return;
	}
	FUZZ_CHECK(play.nb_serves == 1 && answer.ret == play.serve_result);
	FUZZ_CHECK(play.served == priv);
	FUZZ_CHECK(play.serve.addr == request.addr && play.serve.len == request.len &&
		   play.serve.pool == request.pool);
}

/* Answers to news: any bytes, or the right number. */
static void
process_followed(struct fuzz_input *in, const struct process *process)
{
	const uint8_t flags = fuzz_u8(in);
	uint8_t message[MAX_MESSAGE];
	size_t len = message_read(in, message);
	const uint64_t nr = RTE_MAX(play_ports[0].news.nr, play_ports[1].news.nr) + 1;

	if ((flags & 4) != 0) {
		memcpy(message, &nr, sizeof(nr));
		len = RTE_MAX(len, sizeof(nr));
	}
	play_send(process->notes, message, len, flags % 4);
}

static void
process_mark(struct fuzz_input *in, const struct process *process)
{
	const uint8_t what = fuzz_u8(in);

	if (process->notes < 0)
		return;
	if ((what & 1) != 0)
		mana_atomic_store(&rxq.list.user, process->id);
	if ((what & 2) != 0)
		mana_atomic_store(&rxq.list.look, process->id);
	if ((what & 4) != 0)
		mana_atomic_store(&txq.txq.user, process->id);
	if ((what & 8) != 0)
		mana_atomic_store(&txq.txq.look, process->id);
}

/* ---- The primary process -------------------------------------------------------- */

/* Never waits for longer than it says, and all that live are told. */
static void
tell(struct fuzz_input *in)
{
	const uint8_t flags = fuzz_u8(in);
	struct mana_priv *priv = &play_ports[flags % PLAY_NB_PORTS];
	const uint64_t now_ns = play.now_ns;

	if (!priv->is_joinable)
		return;
	play.nb_poll_signals = (flags >> 4) % 4;
	mana_peers_tell(priv, true, (flags & 4) != 0);
	play.nb_poll_signals = 0;
	FUZZ_CHECK(play.now_ns - now_ns <= UINT64_C(600000000));
}

/* ---- The secondary process of the driver ----------------------------------------- */

static void
secondary_join(struct fuzz_input *in)
{
	const int notes = play.notes, requests = play.requests;
	const uint8_t flags = fuzz_u8(in);
	uint8_t message[MAX_MESSAGE];
	int ret;

	play.join_reply = (struct rte_mp_msg){
		.len_param = message_read(in, message),
		.num_fds = flags % 4,
	};
	memcpy(play.join_reply.param, message, sizeof(message));
	play.has_no_reply = (flags & 4) != 0;
	play.request_error = (flags & 8) != 0 ? ETIMEDOUT : 0;
	play.watch_error = (flags & 16) != 0 ? -ENOMEM : 0;
	play.failing_socketpair = (flags >> 5) % 3;
	play.nb_follows = 0;
	play.join.num_fds = 0;
	ret = mana_peers_join(PLAY_FIRST_PORT, &play_ops);
	play.failing_socketpair = 0;
	play.watch_error = 0;
	FUZZ_CHECK(ret <= 0);
	FUZZ_CHECK(play.nb_follows == (ret == 0));
	FUZZ_CHECK(ret != 0 || play.join_reply.len_param == sizeof(struct play_joined));
	/* New sockets, of which only those of a success stay. */
	if (play.notes != notes && ret != 0) {
		close_both(&play.notes, &play.requests);
		play.notes = notes;
		play.requests = requests;
	}
}

/* Only news of the right size are followed, and answered with their number. */
static void
news_send(struct fuzz_input *in)
{
	const uint8_t flags = fuzz_u8(in);
	uint8_t message[MAX_MESSAGE];
	const size_t len = message_read(in, message);
	bool is_good;
	uint64_t nr = 0;

	play.nb_follows = play.nb_notifies = 0;
	play_send(play.notes, message, len, flags % 4);
	play_interrupts();
	is_good = play.notes >= 0 && len == sizeof(struct mana_news);
	FUZZ_CHECK(play.nb_follows == is_good && play.nb_notifies == is_good);
	while (recv(play.notes, &nr, sizeof(nr), MSG_DONTWAIT | MSG_TRUNC) == sizeof(nr))
		;
	if (!is_good)
		return;
	FUZZ_CHECK(memcmp(&play.news, message, len) == 0);
	FUZZ_CHECK(play.had_device == (flags % 4 != 0));
	FUZZ_CHECK(nr == play.news.nr && play.answered_nr == nr);
}

/* Answers of any bytes, with the right number or another one. */
static void
answers_send(void)
{
	uint8_t message[MAX_MESSAGE], flags;
	struct play_request request;
	size_t len;

	if (recv(play.requests, &request, sizeof(request), MSG_DONTWAIT | MSG_TRUNC) <= 0)
		return;
	FUZZ_CHECK(request.port_id == PLAY_FIRST_PORT);
	for (flags = fuzz_u8(input); (flags & 1) != 0; flags = fuzz_u8(input)) {
		len = message_read(input, message);
		if ((flags & 2) != 0)
			memcpy(message, &request.nr, sizeof(request.nr));
		is_answered |= len == sizeof(struct play_answer) &&
			memcmp(message, &request.nr, sizeof(request.nr)) == 0;
		play_send(play.requests, message, len, (flags >> 2) % 4);
	}
}

static void
region_get(struct fuzz_input *in)
{
	struct mana_mr_range range = { .lkey = 1 };
	const uint64_t now_ns = play.now_ns;
	int ret;

	input = in;
	is_answered = false;
	play.on_poll = answers_send;
	ret = mana_peers_mr_get(&play_ports[0], 0x1000, 64, NULL, &range);
	play.on_poll = NULL;
	FUZZ_CHECK(ret <= 0);
	FUZZ_CHECK(ret == 0 ? is_answered : range.lkey == 1);
	FUZZ_CHECK(play.now_ns - now_ns <= UINT64_C(600000000));
	play.now_ns += UINT64_C(1000000000);
}

/* ---- An input -------------------------------------------------------------------- */

static void
act(struct fuzz_input *in)
{
	const uint8_t byte = fuzz_u8(in);
	struct process *process = &processes[byte / NB_ACTIONS % MAX_PROCESSES];

	switch ((enum action)(byte % NB_ACTIONS)) {
	case ACTION_JOIN:
		if (play.on_join != NULL)
			process_join(in, process);
		break;
	case ACTION_REQUEST:
		process_request(in, process);
		break;
	case ACTION_FOLLOWED:
		process_followed(in, process);
		break;
	case ACTION_MARK:
		process_mark(in, process);
		break;
	case ACTION_END:
		process_end(process);
		break;
	case ACTION_TELL:
		tell(in);
		break;
	case ACTION_CLOSE:
		mana_peers_close(&play_ports[byte / NB_ACTIONS % PLAY_NB_PORTS]);
		break;
	case ACTION_SECONDARY_JOIN:
		secondary_join(in);
		break;
	case ACTION_NEWS:
		news_send(in);
		break;
	case ACTION_ANSWERS:
		region_get(in);
		break;
	case ACTION_PRIMARY_END:
		close_both(&play.notes, &play.requests);
		break;
	case ACTION_LEAVE:
		mana_peers_leave();
		close_both(&play.notes, &play.requests);
		break;
	case NB_ACTIONS:
		break;
	}
	play_interrupts();
	FUZZ_CHECK(play.nb_lost <= 1);
	/* The process may join again. */
	if (play.nb_lost != 0)
		close_both(&play.notes, &play.requests);
	play.nb_lost = 0;
	FUZZ_CHECK(rte_thread_is_intr() == 0);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	rte_log_set_global_level(RTE_LOG_EMERG);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t nb_bytes)
{
	struct fuzz_input in = { .bytes = data, .nb_left = nb_bytes };
	static uint32_t nb_fds;

	play_open();
	/* The library opens files itself before the first input. */
	nb_fds = play_nb_fds();
	play_ports[0].rxqs[0] = &rxq;
	play_ports[0].txqs[0] = &txq;
	play_ports[0].rx_set = &rx_set.set;
	for (uint32_t i = 0; i < MAX_PROCESSES; i++)
		processes[i] = (struct process){ .notes = -1, .requests = -1 };
	for (uint32_t i = 0; i < MAX_ACTIONS && in.nb_left != 0; i++)
		act(&in);
	mana_peers_leave();
	close_both(&play.notes, &play.requests);
	for (uint32_t i = 0; i < MAX_PROCESSES; i++)
		process_end(&processes[i]);
	play_close();
	FUZZ_CHECK(!mana_peers_exist());
	FUZZ_CHECK(play_nb_fds() == nb_fds);
	return 0;
}
