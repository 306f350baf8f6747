/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Notifications of the kernel: each listening socket, in any process, receives
 * them once and in order; others receive none. Run under mana-model with two
 * functions of two ports.
 */

#include <linux/netlink.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "verbs_fixture.h"

#define MODALIAS "pci:v00001414d000000BAsv00001414sd000000BAbc02sc00i00"

static char text[4096];

/* As DPDK's lib/eal/linux/eal_dev.c dev_uev_socket_fd_create(). */
static int
open_listener(uint32_t groups)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK,
				    .nl_groups = groups };
	int sock = socket(PF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			  NETLINK_KOBJECT_UEVENT);

	assert_true(sock >= 0);
	assert_int_equal(bind(sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return sock;
}

/* The value of a line KEY=..., in the datagram of that length. */
static const char *
value_of(const char *key, ssize_t len)
{
	const char *line;

	for (line = text; line < text + len; line += strlen(line) + 1)
		if (strncmp(line, key, strlen(key)) == 0 &&
		    line[strlen(key)] == '=')
			return line + strlen(key) + 1;
	return "";
}

static void
assert_silent(int sock)
{
	assert_int_equal(recv(sock, text, sizeof(text), 0), -1);
	assert_int_equal(errno, EAGAIN);
}

TEST(uevent_has_format_of_kernel)
{
	static const char expected[] =
		"change@/devices/pci7871:00/7871:00:00.0\0"
		"ACTION=change\0"
		"DEVPATH=/devices/pci7871:00/7871:00:00.0\0"
		"SUBSYSTEM=pci\0"
		"SYNTH_UUID=0\0"
		"PCI_CLASS=20000\0"
		"PCI_ID=1414:00BA\0"
		"PCI_SUBSYS_ID=1414:00BA\0"
		"PCI_SLOT_NAME=7871:00:00.0\0"
		"MODALIAS=" MODALIAS "\0"
		"SEQNUM="; /* and a number */
	int sock = open_listener(0xffffffff);
	unsigned long first;
	ssize_t len;

	assert_silent(sock);
	assert_int_equal(fx_command("uevent fn=1 change"), 0);
	len = recv(sock, text, sizeof(text), 0);
	assert_true(len > (ssize_t)sizeof(expected));
	assert_memory_equal(text, expected, sizeof(expected) - 1);
	assert_int_equal(text[len - 1], '\0');
	first = strtoul(value_of("SEQNUM", len), NULL, 10);
	assert_silent(sock);

	assert_int_equal(fx_command("uevent fn=0 remove"), 0);
	assert_int_equal(fx_command("uevent fn=0 add"), 0);
	len = read(sock, text, sizeof(text));
	assert_string_equal(value_of("ACTION", len), "remove");
	assert_string_equal(value_of("PCI_SLOT_NAME", len), "7870:00:00.0");
	assert_int_equal(strtoul(value_of("SEQNUM", len), NULL, 10), first + 1);
	len = recv(sock, text, sizeof(text), 0);
	assert_string_equal(value_of("ACTION", len), "add");
	assert_int_equal(strtoul(value_of("SEQNUM", len), NULL, 10), first + 2);
	close(sock);
	assert_int_equal(fx_command("uevent fn=0 swap"), -EINVAL);
}

TEST(uevent_is_received_like_datagram)
{
	int sock = open_listener(1), ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN };
	struct sockaddr_nl from = { .nl_pid = 7 };
	char little[7];
	struct iovec iov = { little, sizeof(little) };
	struct msghdr msg = { .msg_name = &from, .msg_namelen = sizeof(from),
			      .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t len;

	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, sock, &event), 0);
	assert_int_equal(epoll_wait(ep, &event, 1, 0), 0);
	assert_int_equal(fx_command("uevent fn=0 bind"), 0);
	assert_int_equal(epoll_wait(ep, &event, 1, 0), 1);
	len = recv(sock, NULL, 0, MSG_PEEK | MSG_TRUNC);
	assert_true(len > 100);
	assert_int_equal(recvmsg(sock, &msg, 0), sizeof(little));
	assert_memory_equal(little, "bind@/d", sizeof(little));
	assert_true(msg.msg_flags & MSG_TRUNC);
	assert_int_equal(from.nl_pid, 0);
	assert_int_equal(from.nl_groups, 1);
	assert_int_equal(epoll_wait(ep, &event, 1, 0), 0);
	close(ep);
	close(sock);
}

/* udev takes no event without them (systemd sd-device/device-monitor.c). */
TEST(uevent_credentials_are_of_kernel)
{
	union {
		struct cmsghdr hdr;
		char room[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec iov = { text, sizeof(text) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	int sock = open_listener(1), one = 1;
	struct cmsghdr *cmsg;
	struct ucred ucred;

	assert_int_equal(setsockopt(sock, SOL_SOCKET, SO_PASSCRED, &one,
				    sizeof(one)), 0);
	assert_int_equal(fx_command("uevent fn=0 change"), 0);
	assert_true(recvmsg(sock, &msg, 0) > 0);
	cmsg = CMSG_FIRSTHDR(&msg);
	assert_non_null(cmsg);
	assert_int_equal(cmsg->cmsg_level, SOL_SOCKET);
	assert_int_equal(cmsg->cmsg_type, SCM_CREDENTIALS);
	memcpy(&ucred, CMSG_DATA(cmsg), sizeof(ucred));
	assert_int_equal(ucred.uid, 0);
	assert_int_equal(ucred.pid, 0);
	close(sock);
}

TEST(uevent_reaches_only_group_members)
{
	int none = open_listener(0), udev = open_listener(2), late;
	int group = 1;

	assert_int_equal(fx_command("uevent fn=0 change"), 0);
	assert_silent(none);
	assert_silent(udev);
	assert_int_equal(setsockopt(none, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP,
				    &group, sizeof(group)), 0);
	assert_int_equal(fx_command("uevent fn=0 change"), 0);
	late = open_listener(1);
	assert_true(recv(none, text, sizeof(text), 0) > 0);
	assert_silent(none);
	assert_silent(late);
	assert_int_equal(setsockopt(none, SOL_NETLINK, NETLINK_DROP_MEMBERSHIP,
				    &group, sizeof(group)), 0);
	assert_int_equal(fx_command("uevent fn=0 change"), 0);
	assert_silent(none);
	assert_true(recv(late, text, sizeof(text), 0) > 0);
	assert_int_equal(send(late, "add@/x", 7, 0), -1);
	assert_int_equal(errno, EPERM);
	close(none);
	close(udev);
	close(late);
}

TEST(uevent_reaches_each_process)
{
	int sock = open_listener(1), to_parent[2], to_child[2], status;
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(to_parent) | pipe(to_child), 0);
	pid = fork();
	if (pid == 0) {
		struct pollfd pfd = { .events = POLLIN };

		pfd.fd = open_listener(1);
		if (write(to_parent[1], &byte, 1) != 1 ||
		    poll(&pfd, 1, 10000) != 1 ||
		    recv(pfd.fd, text, sizeof(text), 0) < 0 ||
		    strncmp(text, "unbind@", 7) != 0)
			_exit(1);
		/* And in the other direction. */
		if (fx_command("uevent fn=1 bind") != 0)
			_exit(2);
		_exit(0);
	}
	assert_int_equal(read(to_parent[0], &byte, 1), 1);
	assert_int_equal(fx_command("uevent fn=1 unbind"), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(recv(sock, text, sizeof(text), 0) > 0);
	assert_memory_equal(text, "unbind@", 7);
	assert_true(recv(sock, text, sizeof(text), 0) > 0);
	assert_memory_equal(text, "bind@", 5);
	close(sock);
	close(to_parent[0]);
	close(to_parent[1]);
	close(to_child[0]);
	close(to_child[1]);
}

/* Like a program that becomes a daemon. */
TEST(child_receives_on_inherited_socket)
{
	int sock = open_listener(1), to_parent[2], status;
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(to_parent), 0);
	assert_int_equal(fx_command("uevent fn=0 add"), 0);
	pid = fork();
	if (pid == 0) {
		struct pollfd pfd = { .fd = sock, .events = POLLIN };

		/*
		 * Both processes share the socket: it receives each event once.
		 */
		if (recv(sock, text, sizeof(text), 0) <= 0 ||
		    strncmp(text, "add@", 4) != 0)
			_exit(1);
		if (recv(sock, text, sizeof(text), 0) != -1 ||
		    errno != EAGAIN || fx_command("uevent fn=0 bind") != 0)
			_exit(2);
		if (recv(sock, text, sizeof(text), 0) <= 0 ||
		    strncmp(text, "bind@", 5) != 0)
			_exit(3);
		if (recv(sock, text, sizeof(text), 0) != -1)
			_exit(4);
		if (write(to_parent[1], &byte, 1) != 1 ||
		    poll(&pfd, 1, 10000) != 1 ||
		    recv(sock, text, sizeof(text), 0) <= 0 ||
		    strncmp(text, "unbind@", 7) != 0)
			_exit(5);
		_exit(0);
	}
	close(to_parent[1]);
	if (read(to_parent[0], &byte, 1) != 1) {
		waitpid(pid, &status, 0);
		fail_msg("the child ended with status %#x", status);
	}
	close(sock);
	assert_int_equal(fx_command("uevent fn=0 unbind"), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(to_parent[0]);
}

/* More listeners than the machine has room for at a time, closed or killed. */
TEST(closed_or_killed_listeners_free_their_slots)
{
	char byte = 0;
	int own = open_listener(1), nb = 0, sock, i;

	for (i = 0; i < 200; i++)
		close(open_listener(1));
	for (i = 0; i < 100; i++) {
		int fds[2];
		pid_t pid;

		assert_int_equal(pipe(fds), 0);
		pid = fork();
		if (pid == 0) {
			open_listener(1);
			if (fx_command("uevent fn=0 add") != 0 ||
			    write(fds[1], &byte, 1) != 1)
				_exit(1);
			pause();
		}
		assert_int_equal(read(fds[0], &byte, 1), 1);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_int_equal(fx_command("uevent fn=0 change"), 0);
		close(fds[0]);
		close(fds[1]);
	}
	while (recv(own, text, sizeof(text), 0) > 0)
		nb++;
	assert_int_equal(nb, 2 * 100);
	close(own);
	sock = open_listener(1);
	assert_int_equal(fx_command("uevent fn=0 change"), 0);
	assert_true(recv(sock, text, sizeof(text), 0) > 0);
	close(sock);
}

TEST(slow_reader_gets_enobufs)
{
	int sock = open_listener(1), nb_missed = 0, i;

	for (i = 0; i < 300; i++)
		assert_int_equal(fx_command("uevent fn=0 change"), 0);
	while (recv(sock, text, sizeof(text), 0) < 0 && errno == ENOBUFS)
		nb_missed++;
	assert_memory_equal(text, "change@", 7);
	assert_true(nb_missed > 0);
	while (recv(sock, text, sizeof(text), 0) > 0)
		continue;
	assert_int_equal(errno, EAGAIN);
	close(sock);
}
