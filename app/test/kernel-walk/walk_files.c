/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The files: doorbell page, event files, other processes, closing with objects,
 * and queue pairs while the interface is up.
 */

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netdev.h"
#include "objects.h"

static void
try_map(int fd, const char *what, size_t nb_bytes, int prot, int flags,
	off_t offset)
{
	void *page = mmap(NULL, nb_bytes, prot, flags, fd, offset);

	walk_result(page == MAP_FAILED ? errno : 0, what);
	if (page != MAP_FAILED)
		munmap(page, nb_bytes);
}

static void
map_doorbells(int fd)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *first, *second;

	walk_name("mmap");
	try_map(fd, "write", page, PROT_WRITE, MAP_SHARED, 0);
	try_map(fd, "read and write", page, PROT_READ | PROT_WRITE, MAP_SHARED,
		0);
	try_map(fd, "read", page, PROT_READ, MAP_SHARED, 0);
	try_map(fd, "no access", page, PROT_NONE, MAP_SHARED, 0);
	try_map(fd, "execute", page, PROT_WRITE | PROT_EXEC, MAP_SHARED, 0);
	try_map(fd, "private", page, PROT_WRITE, MAP_PRIVATE, 0);
	try_map(fd, "two pages", 2 * page, PROT_WRITE, MAP_SHARED, 0);
	try_map(fd, "1 byte", 1, PROT_WRITE, MAP_SHARED, 0);
	try_map(fd, "0 bytes", 0, PROT_WRITE, MAP_SHARED, 0);
	try_map(fd, "second page", page, PROT_WRITE, MAP_SHARED, (off_t)page);
	try_map(fd, "offset 1 GiB", page, PROT_WRITE, MAP_SHARED, 1 << 30);
	try_map(fd, "offset 100", page, PROT_WRITE, MAP_SHARED, 100);
	first = mmap(NULL, page, PROT_WRITE, MAP_SHARED, fd, 0);
	second = mmap(NULL, page, PROT_WRITE, MAP_SHARED, fd, 0);
	walk_result(second == MAP_FAILED ? errno : 0, "a second time");
	walk_result(mprotect(first, page, PROT_READ) < 0 ? errno : 0,
		    "mprotect to read");
	walk_result(mprotect(first, page, PROT_READ | PROT_WRITE | PROT_EXEC) < 0 ?
			    errno :
			    0,
		    "mprotect to execute");
	munmap(first, page);
	munmap(second, page);
}

/* What a file is, and how it answers to calls that it has no use for. */
static void
describe(int fd, const char *name)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN | POLLOUT };
	char buf[64] = { 0 };
	struct stat st;
	ssize_t len;
	int nb;

	walk_name(name);
	if (fstat(fd, &st) == 0)
		walk_note("fstat", "type 0%o, device %s", st.st_mode & S_IFMT,
			  S_ISCHR(st.st_mode) ? "number" : "none");
	if (S_ISCHR(st.st_mode))
		walk_note("major", "%u", major(st.st_rdev));
	walk_note("open flags", "0%o, close-on-exec %d",
		  fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK),
		  fcntl(fd, F_GETFD));
	walk_result(fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? errno : 0,
		    "set O_NONBLOCK");
	nb = poll(&pfd, 1, 0);
	walk_note("poll", "%d, events 0x%x", nb, pfd.revents);
	len = read(fd, buf, sizeof(buf));
	walk_say(len < 0 ? errno : 0, "read", "%zd", len);
	len = read(fd, buf, 4);
	walk_say(len < 0 ? errno : 0, "read 4 bytes", "%zd", len);
	walk_result(lseek(fd, 0, SEEK_SET) < 0 ? errno : 0, "lseek");
	walk_result(ioctl(fd, 0x1234, buf) < 0 ? errno : 0, "ioctl");
	if (S_ISCHR(st.st_mode))
		return;
	len = write(fd, buf, 8);
	walk_say(len < 0 ? errno : 0, "write", "%zd", len);
	walk_result(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ?
			    errno :
			    0,
		    "mmap");
}

static void
event_files(int fd)
{
	int32_t channel = -1;
	struct call call = new_call(UVERBS_OBJECT_ASYNC_EVENT, 0);
	int async;

	describe(fd, "uverbs file");
	walk_name("async event file");
	add(&call, 0, 0, 0);
	walk_result(run(fd, &call), "alloc");
	async = (int)uverbs_value(&call, 0);
	describe(async, "async event file");
	close(async);
	walk_name("completion channel");
	walk_result(uverbs_create_channel(fd, &channel), "create");
	describe(channel, "completion channel");
	close(channel);
}

/* A child of fork uses the file of its parent. */
static void
other_process(int fd)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *doorbells = mmap(NULL, page, PROT_WRITE, MAP_SHARED, fd, 0);
	uint32_t pd = object_pd(fd), other = 0;
	struct uverbs_mr mr = uverbs_good_mr(pd);

	walk_name("child process");
	fflush(stdout);
	if (fork() == 0) {
		walk_result(uverbs_alloc_pd(fd, &other),
			    "alloc_pd by ioctl");
		walk_result(uverbs_reg_mr(fd, &mr), "reg_mr");
		try_map(fd, "mmap", page, PROT_WRITE, MAP_SHARED, 0);
		uverbs_try_destroy(fd, UVERBS_OBJECT_PD, pd,
				   "destroy the parent's PD, with a region");
		uverbs_try_destroy(fd, UVERBS_OBJECT_MR, mr.handle, "dereg_mr");
		uverbs_try_destroy(fd, UVERBS_OBJECT_PD, pd,
				   "destroy the parent's PD");
		walk_result(munmap(doorbells, page) < 0 ? errno : 0,
			    "unmap the parent's doorbells");
		/* The model needs no root, and is not asked by another user. */
		if (setuid(65534) < 0)
			errno = 0;
		walk_result(uverbs_alloc_pd(fd, &other),
			    "alloc_pd by ioctl, as another user");
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	walk_name("parent process");
	uverbs_try_destroy(fd, UVERBS_OBJECT_PD, pd,
			   "destroy the PD that its child destroyed");
	munmap(doorbells, page);
}

/* Objects belong to a context. */
static void
two_contexts(int fd)
{
	int other = uverbs_open_context();
	uint32_t pd, cq;
	struct uverbs_cq with_other = UVERBS_CQ;
	struct object_rq rq;
	struct uverbs_qp qp;

	walk_name("another context");
	pd = object_pd(other);
	/* The same handles exist in the first one only by chance. */
	for (int i = 0; i < 16; i++)
		object_pd(other);
	cq = object_cq(other, 64, 0);
	uverbs_try_destroy(fd, UVERBS_OBJECT_CQ, cq, "destroy its CQ");
	qp = object_raw_qp(pd, cq, 1);
	qp.pd = object_pd(fd);
	walk_result(uverbs_create_qp(fd, &qp), "queue pair with its CQ");
	with_other.channel = other;
	walk_result(uverbs_create_cq(fd, &with_other), "its file as channel");
	rq = object_rq(other, pd, 1);
	uverbs_try_destroy(fd, UVERBS_OBJECT_WQ, rq.wq, "destroy its WQ");
	object_destroy(fd, UVERBS_OBJECT_PD, qp.pd);
	close(other);
}

/* Whether a port is free: a queue pair of a new context. */
static void
try_port(const char *what, uint32_t port)
{
	int fd = uverbs_open_context(), error;
	uint32_t pd = object_pd(fd);
	struct uverbs_qp qp = object_raw_qp(pd, object_cq(fd, 64, 2), port);

	qp.raw.buffer += 2 << 20;
	error = uverbs_create_qp(fd, &qp);
	walk_result(error, what);
	close(fd);
}

static void
close_with_objects(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = uverbs_open_context(), copy;
	uint32_t pd = object_pd(fd);
	struct object_rq rq = object_rq(fd, pd, 0);
	uint32_t table = object_table(fd, &rq, 0);
	struct uverbs_qp qp = object_raw_qp(pd, object_cq(fd, 64, 61), 1);
	struct uverbs_qp rss = object_rss_qp(pd, table, 1);
	void *doorbells;

	walk_name("close with objects");
	walk_result(uverbs_create_qp(fd, &qp), "Tx queue pair");
	walk_result(uverbs_create_qp(fd, &rss), "RSS queue pair");
	try_port("another context, port 1", 1);
	try_port("another context, port 2", 2);
	doorbells = mmap(NULL, page, PROT_WRITE, MAP_SHARED, fd, 0);
	copy = dup(fd);
	close(fd);
	try_port("closed, a copy is open", 1);
	close(copy);
	try_port("closed, doorbells are mapped", 1);
	munmap(doorbells, page);
	try_port("unmapped", 1);
}

static void
with_interface_up(void)
{
	int fd = uverbs_open_context();
	uint32_t pd = object_pd(fd);
	struct uverbs_qp qp = object_raw_qp(pd, object_cq(fd, 64, 0), 1);

	walk_name("interface up");
	walk_result(netdev_set_up(0, true), "set port 1 up");
	walk_result(uverbs_create_qp(fd, &qp), "Tx queue pair of port 1");
	object_destroy(fd, UVERBS_OBJECT_CQ, qp.send_cq);
	qp.send_cq = qp.recv_cq = object_cq(fd, 64, 0);
	qp.raw.port = 2;
	walk_result(uverbs_create_qp(fd, &qp), "Tx queue pair of port 2");
	walk_result(netdev_set_up(1, true), "set port 2 up, with a queue pair");
	walk_result(netdev_set_up(0, false), "set port 1 down");
	object_destroy(fd, UVERBS_OBJECT_QP, qp.handle);
	walk_result(netdev_set_up(1, true), "set port 2 up, without");
	walk_result(netdev_set_up(1, false), "set port 2 down");
	close(fd);
}

void
walk_files(void)
{
	int fd = uverbs_open_context();

	map_doorbells(fd);
	event_files(fd);
	other_process(fd);
	two_contexts(fd);
	close(fd);
	close_with_objects();
	with_interface_up();
}
