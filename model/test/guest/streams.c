/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Pseudo-random data over TCP and UDP, in both directions at once, in writes of random
 * sizes. The receiver generates the same data and compares each byte. Linked to nothing,
 * so it runs in each guest.
 */

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define USAGE                                                                               \
	"usage: streams serve PORT\n"                                                       \
	"       streams tcp ADDRESS PORT SEED BYTES [CONNECTIONS [MAX_WRITE_BYTES]]\n"      \
	"       streams udp ADDRESS PORT SEED DATAGRAMS [MAX_BYTES]\n"                      \
	"\n"                                                                                \
	"serve answers tcp and udp until a signal ends it. tcp sends BYTES and receives\n"  \
	"as many on each connection. udp sends DATAGRAMS of up to MAX_BYTES (1472), each\n" \
	"of which is answered by one. IPv4 addresses. Exit status 1: wrong data, data\n"    \
	"missing, or no progress; lost datagrams are counted.\n"

#define MAGIC		0x4d414e4173747265u
#define MAX_WRITE_BYTES (1u << 18)
#define MAX_CONNECTIONS 64
/* Datagrams that are sent before their answers arrive. */
#define WINDOW 16
/* Without any data for this time, the connection is broken. */
#define IDLE_MS 60000
/* Then datagrams without answer are lost. */
#define LOST_MS	     2000
#define MAX_DATAGRAM 65507

static _Noreturn void __attribute__((format(printf, 1, 2)))
fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("streams: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

/* ---- Data ---- */

/* splitmix64 of the index: any byte of a stream can be generated alone. */
static uint64_t
word_at(uint64_t seed, uint64_t index)
{
	uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static void
generate(uint64_t seed, uint64_t offset, uint8_t *data, size_t nb_bytes)
{
	uint64_t word = word_at(seed, offset / 8);

	for (; offset % 8 != 0 && nb_bytes > 0; nb_bytes--, offset++)
		*data++ = (uint8_t)(word >> (offset % 8 * 8));
	for (; nb_bytes >= sizeof(word); nb_bytes -= 8, data += 8, offset += 8) {
		word = htole64(word_at(seed, offset / 8));
		memcpy(data, &word, sizeof(word));
	}
	word = word_at(seed, offset / 8);
	for (; nb_bytes > 0; nb_bytes--, word >>= 8)
		*data++ = (uint8_t)word;
}

static void
compare(const char *what, uint64_t seed, uint64_t offset, const uint8_t *data,
	size_t nb_bytes)
{
	static uint8_t expected[MAX_WRITE_BYTES];

	generate(seed, offset, expected, nb_bytes);
	if (memcmp(data, expected, nb_bytes) == 0)
		return;
	for (size_t i = 0; i < nb_bytes; i++)
		if (data[i] != expected[i])
			fail("%s: byte %llu is %#x instead of %#x", what,
			     (unsigned long long)(offset + i), data[i],
			     expected[i]);
}

/* From 1 to max; each order of magnitude is as likely. */
static uint32_t
random_size(uint64_t *state, uint32_t max)
{
	const uint64_t value = word_at(0x73697a65, (*state)++);
	uint32_t limit = 2u << (value >> 32) % 18;

	if (limit > max)
		limit = max;
	return 1 + (uint32_t)value % limit;
}

/* ---- TCP ---- */

/* The client's first bytes. */
struct hello {
	uint64_t magic;
	uint64_t seed;
	uint64_t nb_bytes;
	uint64_t max_write_bytes;
};

/* One end of a connection. */
struct stream {
	int fd;
	bool is_server;
	struct hello hello;
	uint64_t nb_sent;
	uint64_t nb_received;
	uint64_t random; /* for sizes */
	/* Bytes of the write that the socket has not taken yet. */
	uint32_t nb_pending;
	bool is_end_sent;
	bool is_end_received;
};

static uint64_t
stream_seed(const struct stream *stream, bool of_server)
{
	return word_at(stream->hello.seed, of_server ? 2 : 1);
}

static void
stream_send(struct stream *stream)
{
	static uint8_t data[MAX_WRITE_BYTES];
	const uint64_t left = stream->hello.nb_bytes - stream->nb_sent;
	ssize_t nb;

	if (left == 0) {
		/* The server's end says that it has compared all data. */
		if (stream->is_server && !stream->is_end_received)
			return;
		if (shutdown(stream->fd, SHUT_WR) != 0)
			fail("shutdown: %s", strerror(errno));
		stream->is_end_sent = true;
		return;
	}
	if (stream->nb_pending == 0)
		stream->nb_pending =
			random_size(&stream->random,
				    (uint32_t)stream->hello.max_write_bytes);
	if (stream->nb_pending > left)
		stream->nb_pending = (uint32_t)left;
	generate(stream_seed(stream, stream->is_server), stream->nb_sent, data,
		 stream->nb_pending);
	/* The end of a write is the end of a segment, so segments have random sizes. */
	nb = send(stream->fd, data, stream->nb_pending,
		  MSG_NOSIGNAL | MSG_DONTWAIT | MSG_EOR);
	if (nb < 0 && errno != EAGAIN)
		fail("TCP send: %s", strerror(errno));
	if (nb > 0) {
		stream->nb_sent += (uint64_t)nb;
		stream->nb_pending -= (uint32_t)nb;
	}
}

static void
stream_receive(struct stream *stream)
{
	static uint8_t data[MAX_WRITE_BYTES];
	const uint32_t wanted = random_size(&stream->random, MAX_WRITE_BYTES);
	const ssize_t nb = recv(stream->fd, data, wanted, MSG_DONTWAIT);

	if (nb < 0) {
		if (errno != EAGAIN)
			fail("TCP receive: %s", strerror(errno));
		return;
	}
	if (nb == 0) {
		if (stream->nb_received != stream->hello.nb_bytes)
			fail("TCP: the peer ended after %llu of %llu bytes",
			     (unsigned long long)stream->nb_received,
			     (unsigned long long)stream->hello.nb_bytes);
		stream->is_end_received = true;
		return;
	}
	if ((uint64_t)nb > stream->hello.nb_bytes - stream->nb_received)
		fail("TCP: more than %llu bytes arrived",
		     (unsigned long long)stream->hello.nb_bytes);
	compare("TCP", stream_seed(stream, !stream->is_server),
		stream->nb_received, data, (size_t)nb);
	stream->nb_received += (uint64_t)nb;
}

static bool
stream_wants_to_send(const struct stream *stream)
{
	return !stream->is_end_sent &&
	       (stream->nb_sent < stream->hello.nb_bytes ||
		!stream->is_server || stream->is_end_received);
}

/* Both directions of some connections until their end. */
static void
streams_run(struct stream *streams, uint32_t nb)
{
	struct pollfd fds[MAX_CONNECTIONS];
	bool is_open = true;
	int ready;

	while (is_open) {
		is_open = false;
		for (uint32_t i = 0; i < nb; i++) {
			const struct stream *s = &streams[i];

			fds[i] = (struct pollfd){
				.fd = s->is_end_sent && s->is_end_received ?
					      -1 :
					      s->fd,
				.events = (short)((s->is_end_received ? 0 : POLLIN) |
						  (stream_wants_to_send(s) ?
							   POLLOUT :
							   0)),
			};
			is_open |= fds[i].fd >= 0;
		}
		if (!is_open)
			break;
		ready = poll(fds, nb, IDLE_MS);
		if (ready == 0)
			fail("TCP: nothing moved for %d s", IDLE_MS / 1000);
		for (uint32_t i = 0; i < nb && ready > 0; i++) {
			if (fds[i].fd < 0)
				continue;
			if ((fds[i].revents & (POLLIN | POLLERR | POLLHUP)) != 0 &&
			    !streams[i].is_end_received)
				stream_receive(&streams[i]);
			if ((fds[i].revents & POLLOUT) != 0)
				stream_send(&streams[i]);
		}
	}
}

/* Without waiting for the acknowledgment of what was sent before. */
static void
send_at_once(int fd)
{
	const int yes = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) != 0)
		fail("TCP_NODELAY: %s", strerror(errno));
}

static void
serve_connection(int fd)
{
	struct stream stream = { .fd = fd, .is_server = true };

	send_at_once(fd);
	if (recv(fd, &stream.hello, sizeof(stream.hello), MSG_WAITALL) !=
		    (ssize_t)sizeof(stream.hello) ||
	    stream.hello.magic != MAGIC || stream.hello.max_write_bytes == 0 ||
	    stream.hello.max_write_bytes > MAX_WRITE_BYTES)
		fail("TCP: the client sent no hello");
	stream.random = stream.hello.seed + 1;
	streams_run(&stream, 1);
}

/*
 * Room for all datagrams of a window: of a large MTU, each takes 16 KiB. Without the
 * privilege the default stays.
 */
static void
enlarge_buffer(int fd)
{
	const int nb_bytes = 4 << 20;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &nb_bytes,
			 sizeof(nb_bytes));
}

static int
connect_to(const struct sockaddr_in *address, int type)
{
	const int fd = socket(AF_INET, type, 0);

	if (fd < 0 || connect(fd, (const void *)address, sizeof(*address)) != 0)
		fail("cannot connect to %s: %s", inet_ntoa(address->sin_addr),
		     strerror(errno));
	if (type == SOCK_STREAM)
		send_at_once(fd);
	return fd;
}

static void
run_tcp(const struct sockaddr_in *address, uint64_t seed, uint64_t nb_bytes,
	uint32_t nb_connections, uint64_t max_write_bytes)
{
	static struct stream streams[MAX_CONNECTIONS];

	for (uint32_t i = 0; i < nb_connections; i++) {
		streams[i] = (struct stream){
			.fd = connect_to(address, SOCK_STREAM),
			.hello = { MAGIC, seed + i, nb_bytes, max_write_bytes },
			.random = seed + i,
		};
		if (send(streams[i].fd, &streams[i].hello, sizeof(struct hello),
			 MSG_NOSIGNAL) != (ssize_t)sizeof(struct hello))
			fail("TCP send: %s", strerror(errno));
	}
	streams_run(streams, nb_connections);
	printf("tcp: %llu bytes in each direction of %u connections are right\n",
	       (unsigned long long)nb_bytes, nb_connections);
}

/* ---- UDP ---- */

/*
 * A datagram is its number, its length and data, cut to its size. The seed contains the
 * direction.
 */
static size_t
datagram_make(uint8_t *data, uint64_t seed, uint64_t number, uint32_t max_bytes)
{
	uint64_t random = seed ^ (number << 8);
	uint32_t nb_bytes = random_size(&random, max_bytes);
	const uint64_t head[] = { MAGIC, seed, number, nb_bytes };

	if (nb_bytes < sizeof(head))
		nb_bytes = sizeof(head);
	memcpy(data, head, sizeof(head));
	generate(word_at(seed, number), 0, data + sizeof(head),
		 nb_bytes - sizeof(head));
	return nb_bytes;
}

/* Compares, and returns the number. */
static uint64_t
datagram_check(const uint8_t *data, size_t nb_bytes, uint64_t *seed)
{
	uint64_t head[4];

	if (nb_bytes < sizeof(head))
		fail("UDP: a datagram of %zu bytes arrived", nb_bytes);
	memcpy(head, data, sizeof(head));
	if (head[0] != MAGIC ||
	    nb_bytes != (head[3] < sizeof(head) ? sizeof(head) : head[3]))
		fail("UDP: the head of a datagram of %zu bytes is wrong",
		     nb_bytes);
	compare("UDP", word_at(head[1], head[2]), 0, data + sizeof(head),
		nb_bytes - sizeof(head));
	*seed = head[1];
	return head[2];
}

static void
serve_datagram(int fd)
{
	static uint8_t data[MAX_DATAGRAM];
	struct sockaddr_in peer;
	socklen_t peer_bytes = sizeof(peer);
	uint64_t seed, number;
	const ssize_t nb = recvfrom(fd, data, sizeof(data), 0, (void *)&peer,
				    &peer_bytes);

	/* Errors of earlier answers (ICMP) are reported here. */
	if (nb < 0)
		return;
	number = datagram_check(data, (size_t)nb, &seed);
	/* Of at most the same size, which the path takes. */
	(void)sendto(fd, data, datagram_make(data, ~seed, number, (uint32_t)nb),
		     0, (void *)&peer, peer_bytes);
}

static void
run_udp(const struct sockaddr_in *address, uint64_t seed, uint64_t nb_datagrams,
	uint32_t max_bytes)
{
	static uint8_t data[MAX_DATAGRAM];
	const int fd = connect_to(address, SOCK_DGRAM);
	uint64_t nb_answers = 0, first = 0;
	bool is_answered[WINDOW];

	enlarge_buffer(fd);
	while (first < nb_datagrams) {
		const uint32_t window = nb_datagrams - first < WINDOW ?
						(uint32_t)(nb_datagrams - first) :
						WINDOW;
		uint32_t nb_missing = window;

		memset(is_answered, 0, sizeof(is_answered));
		for (uint32_t i = 0; i < window; i++) {
			const size_t nb = datagram_make(data, seed, first + i,
							max_bytes);

			if (send(fd, data, nb, 0) != (ssize_t)nb)
				fail("UDP send: %s", strerror(errno));
		}
		while (nb_missing > 0 &&
		       poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1,
			    LOST_MS) > 0) {
			const ssize_t nb = recv(fd, data, sizeof(data), 0);
			uint64_t answer_seed, number;

			if (nb < 0)
				fail("UDP receive: %s", strerror(errno));
			number = datagram_check(data, (size_t)nb, &answer_seed);
			if (answer_seed != ~seed || number >= first + window)
				fail("UDP: an answer to no datagram arrived");
			if (number < first)
				continue; /* late: counted as lost */
			if (is_answered[number - first])
				fail("UDP: answer %llu arrived twice",
				     (unsigned long long)number);
			is_answered[number - first] = true;
			nb_answers++;
			nb_missing--;
		}
		first += window;
		if (nb_answers == 0)
			fail("UDP: no answer arrived");
	}
	printf("udp: %llu of %llu datagrams were answered, all data are right\n",
	       (unsigned long long)nb_answers, (unsigned long long)nb_datagrams);
}

/* ---- The program ---- */

static void
serve(const struct sockaddr_in *address)
{
	struct pollfd fds[2];
	int status;

	for (int i = 0; i < 2; i++) {
		const int type = i == 0 ? SOCK_STREAM : SOCK_DGRAM, yes = 1;
		const int fd = socket(AF_INET, type, 0);

		if (fd < 0 ||
		    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes,
			       sizeof(yes)) != 0 ||
		    bind(fd, (const void *)address, sizeof(*address)) != 0 ||
		    (i == 0 && listen(fd, MAX_CONNECTIONS) != 0))
			fail("cannot listen: %s", strerror(errno));
		if (type == SOCK_DGRAM)
			enlarge_buffer(fd);
		fds[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
	puts("streams: ready");
	fflush(stdout);
	for (;;) {
		if (poll(fds, 2, -1) < 0)
			fail("poll: %s", strerror(errno));
		if ((fds[1].revents & (POLLIN | POLLERR)) != 0)
			serve_datagram(fds[1].fd);
		if ((fds[0].revents & POLLIN) != 0) {
			const int fd = accept(fds[0].fd, NULL, NULL);

			if (fd >= 0 && fork() == 0) {
				serve_connection(fd);
				exit(0);
			}
			close(fd);
		}
		/* Its message is on standard error, and its client fails. */
		while (waitpid(-1, &status, WNOHANG) > 0)
			;
	}
}

static uint64_t
number(const char *text, uint64_t min, uint64_t max)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0' || value < min ||
	    value > max)
		fail("'%s' is no number from %llu to %llu", text,
		     (unsigned long long)min, (unsigned long long)max);
	return value;
}

int
main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	const char *mode = argc > 1 ? argv[1] : "";

	if (strcmp(mode, "serve") == 0 && argc == 3) {
		address.sin_port = htons((uint16_t)number(argv[2], 1, UINT16_MAX));
		serve(&address);
	}
	if (argc < 6 || argc > 8 ||
	    (strcmp(mode, "tcp") != 0 && strcmp(mode, "udp") != 0)) {
		fputs(USAGE, stderr);
		return 2;
	}
	if (inet_pton(AF_INET, argv[2], &address.sin_addr) != 1)
		fail("'%s' is no IPv4 address", argv[2]);
	address.sin_port = htons((uint16_t)number(argv[3], 1, UINT16_MAX));
	if (strcmp(mode, "tcp") == 0)
		run_tcp(&address, number(argv[4], 0, UINT64_MAX),
			number(argv[5], 0, UINT64_MAX),
			argc > 6 ? (uint32_t)number(argv[6], 1, MAX_CONNECTIONS) :
				   1,
			argc > 7 ? number(argv[7], 1, MAX_WRITE_BYTES) :
				   MAX_WRITE_BYTES);
	else
		run_udp(&address, number(argv[4], 0, UINT64_MAX),
			number(argv[5], 1, UINT64_MAX),
			argc > 6 ? (uint32_t)number(argv[6], 32, MAX_DATAGRAM) :
				   1472);
	return 0;
}
