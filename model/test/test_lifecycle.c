/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Removal and return of devices: DEVICE_FATAL and the rest of a context,
 * resets, links. Run under mana-model with one port on the first function,
 * joined to the first of two on the second.
 */

#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../base/hw.h"
#include "lifecycle_fixture.h"

static int
setup(void **state)
{
	fx_do("link port=1 up");
	fx_do("link port=2 up");
	return fx_setup(state);
}

/* Restore all devices for the next test. */
static int
teardown(void **state)
{
	int rc = fx_teardown(state);

	fx_command("return fn=0");
	fx_command("return fn=1");
	return rc;
}

/* Indices in the list of libibverbs change. */
static uint32_t
device_index(unsigned int fn)
{
	struct function function;

	read_function(fn, &function);
	return device_of(&function);
}

static int
up(struct fixture *fx, unsigned int fn, uint32_t port, uint32_t nb_tx,
   uint32_t nb_rx)
{
	return fx_up(fx, device_index(fn), port, nb_tx, nb_rx);
}

/* ---- the asynchronous file ---- */

/* mana-kernel-walk reads the event, with evidence of Linux. */
TEST_WITH(no_event_follows_fatal, setup, teardown)
{
	struct fixture *fx = *state;
	struct ibv_async_event event;
	struct pollfd pollfd;

	assert_int_equal(up(fx, 0, 1, 1, 1), 0);
	pollfd = (struct pollfd){ .fd = fx->ctx->async_fd,
				  .events = POLLIN | POLLPRI };
	assert_int_equal(poll(&pollfd, 1, 0), 0);
	fx_do("fatal fn=0");
	assert_int_equal(ibv_get_async_event(fx->ctx, &event), 0);
	ibv_ack_async_event(&event);
	assert_int_equal(poll(&pollfd, 1, 0), 0);
	fx_do("return fn=0");
	fx_do("remove fn=0");
	assert_int_equal(poll(&pollfd, 1, 0), 0);
}

TEST_WITH(fatal_reaches_every_context_of_function, setup, teardown)
{
	struct fixture *fx = *state, second = { 0 }, other = { 0 };
	struct ibv_async_event event;
	struct pollfd pollfd;

	assert_int_equal(up(fx, 0, 1, 1, 0), 0);
	assert_int_equal(fx_open(&second, device_index(0), 1), 0);
	assert_int_equal(up(&other, 1, 1, 1, 0), 0);
	fx_do("fatal fn=0");
	assert_int_equal(ibv_get_async_event(fx->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	assert_int_equal(ibv_get_async_event(second.ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);

	pollfd = (struct pollfd){ .fd = other.ctx->async_fd, .events = POLLIN };
	assert_int_equal(poll(&pollfd, 1, 0), 0);
	fx_check_sends(&other);
	assert_int_equal(fx_close(&second), 0);
	assert_int_equal(fx_close(&other), 0);
}

/* ---- completion channels ---- */

static void
check_channel_fails(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	const struct timespec never = { .tv_sec = 1000 };
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 77 };
	uint64_t record;
	int epoll;

	assert_int_equal(poll(&pollfd, 1, -1), 1);
	assert_int_equal(pollfd.revents, POLLERR);
	pollfd.events = 0;
	pollfd.revents = 0;
	assert_int_equal(ppoll(&pollfd, 1, &never, NULL), 1);
	assert_int_equal(pollfd.revents, POLLERR);

	epoll = epoll_create1(EPOLL_CLOEXEC);
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
	memset(&event, 0, sizeof(event));
	assert_int_equal(epoll_wait(epoll, &event, 1, -1), 1);
	assert_int_equal(event.events, EPOLLERR);
	assert_int_equal(event.data.u64, 77);
	assert_int_equal(epoll_pwait(epoll, &event, 1, -1, NULL), 1);
	assert_int_equal(event.events, EPOLLERR);
	close(epoll);

	/* Also if it may block. */
	fcntl(fd, F_SETFL, 0);
	assert_int_equal(read(fd, &record, sizeof(record)), -1);
	assert_int_equal(errno, EIO);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(read(fd, &record, sizeof(record)), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(read(fd, &record, 1), -1);
	assert_int_equal(errno, EIO);
}

TEST_WITH(channels_return_error_after_remove, setup, teardown)
{
	struct fixture *fx = *state;
	struct pollfd pollfd;
	struct ibv_cq *cq;
	void *context;
	int fd;

	fx->has_channels = true;
	assert_int_equal(up(fx, 0, 1, 1, 1), 0);
	fd = fx->rx[0].channel->fd;
	pollfd = (struct pollfd){ .fd = fd, .events = POLLIN };
	assert_int_equal(poll(&pollfd, 1, 0), 0);
	fx_do("remove fn=0");
	check_channel_fails(fd);
	assert_int_equal(ibv_get_cq_event(fx->rx[0].channel, &cq, &context),
			 -1);
	fx_do("return fn=0");
	check_channel_fails(fd);
}

/* Linux ib_uverbs_release_ucq(): destroying the CQ removes its events. */
TEST_WITH(fatal_discards_unread_cq_events, setup, teardown)
{
	struct fixture *fx = *state, from = { 0 };
	struct pollfd pollfd;
	uint64_t record;

	fx->has_channels = true;
	assert_int_equal(up(fx, 1, 1, 1, 1), 0);
	assert_int_equal(up(&from, 0, 1, 1, 0), 0);
	fx_fill(fx, &fx->rx[0], 8);
	fx_ring_cq(fx, &fx->rx[0], true);
	fx_check_sends(&from);
	pollfd = (struct pollfd){ .fd = fx->rx[0].channel->fd,
				  .events = POLLIN };
	assert_int_equal(poll(&pollfd, 1, -1), 1);
	assert_int_equal(pollfd.revents, POLLIN);

	fx_do("fatal fn=1");
	check_channel_fails(fx->rx[0].channel->fd);
	assert_int_equal(read(fx->rx[0].channel->fd, &record, 8), -1);
	/* The library waits for the reported events only. */
	assert_int_equal(fx_close(fx), 0);
	assert_int_equal(fx_close(&from), 0);
}

static void *
read_channel(void *arg)
{
	struct waiter *waiter = arg;
	uint64_t record;

	waiter_starts(waiter);
	waiter->rc = read(waiter->fd, &record, sizeof(record));
	waiter->error = errno;
	return NULL;
}

static void *
poll_channel(void *arg)
{
	struct waiter *waiter = arg;
	struct pollfd pollfd = { .fd = waiter->fd, .events = POLLIN };

	waiter_starts(waiter);
	waiter->rc = poll(&pollfd, 1, -1);
	waiter->error = pollfd.revents;
	return NULL;
}

static void *
epoll_channel(void *arg)
{
	struct waiter *waiter = arg;
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	event.data.fd = waiter->fd;
	epoll_ctl(epoll, EPOLL_CTL_ADD, waiter->fd, &event);
	waiter_starts(waiter);
	waiter->rc = epoll_wait(epoll, &event, 1, -1);
	waiter->error = (int)event.events;
	close(epoll);
	return NULL;
}

TEST_WITH(remove_wakes_channel_waiters, setup, teardown)
{
	struct waiter readers[3] = { 0 }, poller = { 0 }, epoller = { 0 };
	struct fixture *fx = *state;
	int fd, i;

	fx->has_channels = true;
	assert_int_equal(up(fx, 0, 1, 1, 1), 0);
	fd = fx->rx[0].channel->fd;
	for (i = 0; i < 3; i++)
		waiter_start(&readers[i], fd, read_channel);
	waiter_start(&poller, fd, poll_channel);
	waiter_start(&epoller, fd, epoll_channel);
	fx_do("remove fn=0");
	for (i = 0; i < 3; i++) {
		waiter_join(&readers[i]);
		assert_int_equal(readers[i].rc, -1);
		assert_int_equal(readers[i].error, EIO);
	}
	waiter_join(&poller);
	assert_int_equal(poller.rc, 1);
	assert_int_equal(poller.error, POLLERR);
	waiter_join(&epoller);
	assert_int_equal(epoller.rc, 1);
	assert_int_equal(epoller.error, EPOLLERR);
}

/* On a channel with a device each read() gives one record, for any size. */
TEST_WITH(channel_read_returns_one_record, setup, teardown)
{
	struct fixture *fx = *state, from = { 0 };
	uint64_t records[4];
	int i, fd;

	fx->has_channels = true;
	assert_int_equal(up(fx, 1, 1, 1, 1), 0);
	assert_int_equal(up(&from, 0, 1, 1, 0), 0);
	fx_fill(fx, &fx->rx[0], 8);
	fd = fx->rx[0].channel->fd;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(read(fd, records, 7), -1);
	assert_int_equal(errno, EAGAIN);
	for (i = 0; i < 2; i++) {
		fx_ring_cq(fx, &fx->rx[0], true);
		fx_check_sends(&from);
		assert_non_null(fx_cqe(&fx->rx[0]));
	}
	assert_int_equal(read(fd, records, 7), -1);
	assert_int_equal(errno, EINVAL);
	for (i = 0; i < 2; i++) {
		assert_int_equal(read(fd, records, sizeof(records)), 8);
		assert_ptr_equal(records[0], fx->rx[0].cq);
	}
	assert_int_equal(read(fd, records, sizeof(records)), -1);
	assert_int_equal(errno, EAGAIN);
	ibv_ack_cq_events(fx->rx[0].cq, 2);
	assert_int_equal(fx_close(&from), 0);
}

/* ---- commands, mappings, doorbells ---- */

/* Beyond the part "reset" of mana-kernel-walk. */
TEST_WITH(commands_after_fatal_return_eio, setup, teardown)
{
	struct ibv_device_attr_ex attr;
	struct fixture *fx = *state;
	struct ibv_port_attr port;
	struct ibv_qp_init_attr qp_attr;
	struct ibv_wq_init_attr wq_attr = { .wq_type = IBV_WQT_RQ,
					    .max_wr = 64, .max_sge = 1 };

	assert_int_equal(up(fx, 0, 1, 1, 1), 0);
	fx_do("fatal fn=0");
	assert_int_equal(ibv_query_device_ex(fx->ctx, NULL, &attr), EIO);
	assert_int_equal(ibv_query_port(fx->ctx, 1, &port), EIO);
	assert_fails(ibv_create_comp_channel(fx->ctx), EIO);
	qp_attr = fx_qp_attr(fx->tx[0].cq);
	assert_fails(ibv_create_qp(fx->parent, &qp_attr), EIO);
	wq_attr.pd = fx->parent;
	wq_attr.cq = fx->rx[0].cq;
	assert_fails(ibv_create_wq(fx->ctx, &wq_attr), EIO);
	/* Also for otherwise wrong arguments. */
	assert_ptr_equal(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED,
			      fx->ctx->cmd_fd, 4096), MAP_FAILED);
	assert_int_equal(errno, EIO);
	assert_int_equal(fx_close(fx), 0);
}

TEST_WITH(returned_port_is_free_for_new_context, setup, teardown)
{
	struct fixture *fx = *state, next = { 0 };

	assert_int_equal(up(fx, 0, 1, 2, 2), 0);
	fx_do("fatal fn=0");
	fx_do("return fn=0");
	/* The old objects do not disturb new ones. */
	assert_int_equal(up(&next, 0, 1, 2, 2), 0);
	fx_check_sends(&next);
	assert_int_equal(fx_close(fx), 0);
	fx_check_sends(&next);
	assert_int_equal(fx_close(&next), 0);
}

TEST_WITH(doorbells_after_fatal_have_no_effect, setup, teardown)
{
	const uint64_t before = MODEL_CALL(mana_model_violations)(NULL);
	struct fixture *fx = *state, next = { 0 };
	volatile uint64_t *page, *other;
	uint32_t i;

	assert_int_equal(up(fx, 0, 1, 1, 1), 0);
	other = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fx->ctx->cmd_fd, 0);
	assert_ptr_not_equal(other, MAP_FAILED);
	fx_do("fatal fn=0");
	page = fx->doorbell;
	fx_send(fx, &fx->tx[0], 0, 60);
	fx_ring_cq(fx, &fx->tx[0], true);
	for (i = 0; i < 512; i++)
		page[i] = i + 1; /* also at offsets without a register */
	*(volatile uint8_t *)page = 0x11;
	/* One page for all mappings of the file. */
	assert_int_equal(page[511], 512);
	assert_int_equal(other[511], 512);
	other[3] = 99;
	assert_int_equal(page[3], 99);
	assert_int_equal(munmap((void *)(uintptr_t)other, 4096), 0);

	/* Nor those of the next device, which has the same number. */
	fx_do("return fn=0");
	assert_int_equal(up(&next, 0, 1, 1, 1), 0);
	assert_int_equal(next.tx[0].id, fx->tx[0].id);
	fx_send(fx, &fx->tx[0], 0, 60);
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), before);
	fx_check_sends(&next);
	assert_int_equal(fx_close(&next), 0);
}

TEST_WITH(memory_is_not_written_after_fatal, setup, teardown)
{
	struct fixture *fx = *state, from = { 0 };
	uint8_t before[FX_BUF_BYTES];
	uint32_t i;

	assert_int_equal(up(fx, 1, 1, 1, 1), 0);
	assert_int_equal(up(&from, 0, 1, 1, 0), 0);
	fx_fill(fx, &fx->rx[0], 8);
	memcpy(before, fx->buf, sizeof(before));
	fx_do("fatal fn=1");
	for (i = 0; i < 4; i++)
		fx_check_sends(&from);
	assert_memory_equal(fx->buf, before, sizeof(before));
	for (i = 0; i < FX_NB_CQE * HW_CQE_BYTES; i++)
		assert_int_equal(fx->rx[0].cq_ring[i], 0);
	assert_int_equal(fx_close(&from), 0);
}

/* ---- what programs find of a function ---- */

TEST_WITH(fatal_removes_only_rdma_device, setup, teardown)
{
	struct function before, after;

	read_function(0, &before);
	assert_true(before.has_pci && before.has_rdma && before.has_net);
	fx_do("fatal fn=0");
	read_function(0, &after);
	assert_true(after.has_pci);
	assert_false(after.has_rdma);
	assert_true(after.has_net);
	assert_int_equal(after.ifindex, before.ifindex);
	refused("fatal fn=0");
	fx_do("return fn=0");
	read_function(0, &after);
	assert_true(after.has_rdma);
	assert_int_equal(after.ifindex, before.ifindex);
	assert_string_not_equal(after.rdma, before.rdma);
	refused("return fn=0");
}

TEST_WITH(removed_function_has_no_devices, setup, teardown)
{
	struct function before, after, other, other_after;
	struct fixture *fx = *state;
	struct stat st;
	char path[64];

	read_function(0, &before);
	read_function(1, &other);
	fx_do("remove fn=0");
	read_function(0, &after);
	assert_false(after.has_pci || after.has_rdma || after.has_net);
	assert_int_equal(if_nametoindex(before.netdev), 0);
	snprintf(path, sizeof(path), "/dev/infiniband/%s", before.uverbs);
	assert_int_equal(open(path, O_RDWR), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(errno, ENOENT);
	read_function(1, &other_after);
	assert_memory_equal(&other, &other_after, sizeof(other));
	refused("remove fn=0");
	refused("fatal fn=0");
	refused("reset fn=0");
	refused("netdev port=1 up");

	fx_do("return fn=0");
	read_function(0, &after);
	assert_true(after.has_pci && after.has_rdma && after.has_net);
	assert_string_not_equal(after.rdma, before.rdma);
	assert_string_not_equal(after.uverbs, before.uverbs);
	assert_int_not_equal(after.ifindex, before.ifindex);
	assert_string_equal(after.mac, before.mac);
	assert_int_equal(after.dev_port, before.dev_port);
	assert_string_equal(after.netdev, before.netdev);
	assert_int_equal(up(fx, 0, 1, 1, 1), 0);
	fx_check_sends(fx);
}

/* An open file keeps its number. */
TEST_WITH(open_file_keeps_its_device_number, setup, teardown)
{
	struct fixture *fx = *state;
	struct stat before, after;

	assert_int_equal(fx_open(fx, device_index(0), 1), 0);
	assert_int_equal(fstat(fx->ctx->cmd_fd, &before), 0);
	fx_do("remove fn=0");
	assert_int_equal(fstat(fx->ctx->cmd_fd, &after), 0);
	assert_true(S_ISCHR(after.st_mode));
	assert_int_equal(after.st_rdev, before.st_rdev);
	fx_do("return fn=0");
	assert_int_equal(fstat(fx->ctx->cmd_fd, &after), 0);
	assert_int_equal(after.st_rdev, before.st_rdev);
}

TEST_WITH(returned_netdev_is_down, setup, teardown)
{
	struct fixture *fx = *state;

	assert_int_equal(MODEL_CALL(mana_model_netdev_set)("mana0p0", true), 0);
	assert_int_equal(up(fx, 0, 1, 1, 0), EBUSY);
	fx_do("remove fn=0");
	assert_int_equal(MODEL_CALL(mana_model_netdev_set)("mana0p0", true),
			 -ENODEV);
	fx_close(fx);
	fx_do("return fn=0");
	assert_int_equal(up(fx, 0, 1, 1, 0), 0);
}

/* ---- resets ---- */

static void
assert_reset_keeps_function(struct fixture *fx, const char *line)
{
	struct function before, after;
	struct ibv_async_event event;

	read_function(0, &before);
	assert_int_equal(up(fx, 0, 1, 1, 1), 0);
	fx_do(line);
	assert_int_equal(ibv_get_async_event(fx->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	wait_for_device(0, &after);
	assert_string_not_equal(after.rdma, before.rdma);
	assert_int_equal(after.ifindex, before.ifindex);
	assert_int_equal(fx_close(fx), 0);
	assert_int_equal(up(fx, 0, 1, 1, 1), 0);
	fx_check_sends(fx);
}

TEST_WITH(reset_ends_after_its_outage, setup, teardown)
{
	assert_reset_keeps_function(*state, "reset fn=0 outage=300ms");
}

/* core/dev.c: a detached netdev only answers queries, and can be set down. */
TEST_WITH(netdevs_are_detached_during_reset, setup, teardown)
{
	struct function now;
	int i, mtu, up_again;

	/* Virtual time may advance at once on an idle machine. */
	for (i = 0; i < 100; i++) {
		fx_do("netdev port=1 up");
		fx_do("reset fn=0 outage=1000s");
		mtu = fx_command("mtu port=1 mtu=1000");
		fx_do("mtu port=1 mtu=1500");
		fx_do("netdev port=1 up");
		fx_do("netdev port=1 down");
		up_again = MODEL_CALL(mana_model_netdev_set)("mana0p0", true);
		read_function(0, &now);
		if (!now.has_rdma)
			break;
		fx_do("netdev port=1 down");
	}
	assert_true(i < 100);
	assert_int_equal(mtu, -ENODEV);
	assert_int_equal(up_again, -ENODEV);
	assert_true(now.has_pci && now.has_net);
	fx_command("return fn=0");
	fx_do("mtu port=1 mtu=1000");
	fx_do("mtu port=1 mtu=1500");
}

static void
assert_function_returns_as_new(const char *line)
{
	struct function before, after;

	read_function(1, &before);
	fx_do(line);
	wait_for_device(1, &after);
	assert_true(after.has_pci && after.has_net);
	assert_string_not_equal(after.rdma, before.rdma);
	assert_int_not_equal(after.ifindex, before.ifindex);
	assert_string_equal(after.mac, before.mac);
}

TEST_WITH(pci_reset_gives_netdev_a_new_ifindex, setup, teardown)
{
	assert_function_returns_as_new("reset fn=1 outage=300ms pci");
}

TEST_WITH(removal_ends_reset, setup, teardown)
{
	struct function now;

	fx_do("reset fn=0 outage=1s");
	fx_do("remove fn=0");
	fx_do("return fn=0");
	read_function(0, &now);
	assert_true(now.has_pci && now.has_rdma && now.has_net);
	refused("reset fn=0 outage=1");
	refused("reset fn=0 outage=1s often");
	refused("reset fn=7 outage=1s");
}

/* ---- services ---- */

TEST_WITH(service_takes_the_function_and_returns_it, setup, teardown)
{
	static const char *const lines[] = {
		"service fn=1 kind=remove outage=300ms",
		"service fn=1 kind=move outage=300ms withdraw=never report=before",
		"service fn=1 kind=reconfigure outage=300ms report=never",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_function_returns_as_new(lines[i]);
}

TEST_WITH(service_goes_on_by_command, setup, teardown)
{
	struct function now;
	int i, rc = -1;

	/* Virtual time may advance at once on an idle machine. */
	for (i = 0; i < 100 && rc != 0; i++) {
		fx_do("service fn=0 kind=remove withdraw=after report=before "
		      "gap=1000s outage=4000s");
		read_function(0, &now);
		rc = fx_command("service fn=0 next");
		rc |= fx_command("service fn=0 next");
		if (rc == 0)
			rc = fx_command("service fn=0 next");
	}
	assert_int_equal(rc, 0);
	assert_false(now.has_pci);
	read_function(0, &now);
	assert_true(now.has_pci && now.has_rdma && now.has_net);
	refused("service fn=0 next");
	refused("service fn=0 next kind=remove");
}

TEST_WITH(service_by_reset_keeps_the_function, setup, teardown)
{
	assert_reset_keeps_function(*state,
				    "service fn=0 kind=reset outage=300ms");
}

TEST_WITH(revoked_function_returns_by_command_only, setup, teardown)
{
	struct function now;

	fx_do("service fn=0 kind=revoke outage=1ms");
	for (int i = 0; i < 20; i++) {
		usleep(1000);
		read_function(0, &now);
		assert_false(now.has_pci || now.has_net || now.has_rdma);
	}
	refused("service fn=0 kind=remove");
	fx_do("return fn=0");
	read_function(0, &now);
	assert_true(now.has_pci && now.has_rdma && now.has_net);
	refused("service fn=0");
	refused("service fn=0 kind=repair");
	refused("service fn=0 kind=remove report=later");
	refused("service fn=0 kind=remove outage=10ms gap=6ms");
	refused("service fn=0 kind=remove outage=10");
	refused("service fn=7 kind=remove");
	read_function(0, &now);
	assert_true(now.has_pci && now.has_rdma && now.has_net);
}

/* ---- links ---- */

TEST_WITH(link_change_affects_all_ports_of_function, setup, teardown)
{
	struct mana_model_port before, after;
	struct fixture *fx = *state, from = { 0 };
	struct function now;

	assert_int_equal(up(fx, 1, 1, 1, 1), 0);
	assert_int_equal(up(&from, 0, 1, 1, 0), 0);
	fx_fill(fx, &fx->rx[0], 8);
	fx_do("link port=3 down"); /* the other port of the function */
	read_function(1, &now);
	assert_int_equal(netdev_carrier("mana1p0"), 0);
	assert_int_equal(netdev_carrier("mana1p1"), 0);
	assert_int_equal(netdev_carrier("mana0p0"), 1);
	fx_do("netdev port=3 up"); /* else its carrier is not reported */
	assert_int_equal(sysfs_number("class/net/mana1p1/carrier"), 0);
	before = fx_counters(1, 0);
	fx_check_sends(&from); /* the sender does not notice */
	fx_check_sends(fx);
	fx_do("link port=2 up");
	assert_int_equal(netdev_carrier("mana1p1"), 1);
	assert_int_equal(sysfs_number("class/net/mana1p1/carrier"), 1);
	fx_do("netdev port=3 down");
	after = fx_counters(1, 0);
	assert_int_equal(after.rx_packets, before.rx_packets);
	assert_int_equal(after.tx_packets, before.tx_packets + 1);
	assert_int_equal(fx->rx[0].cq_ring[HW_CQE_TRAILER_OFF], 0);

	fx_check_sends(&from);
	assert_non_null(fx_cqe(&fx->rx[0]));
	refused("link port=2");
	refused("link port=4 up");
	assert_int_equal(fx_close(&from), 0);
}

/* ---- a slow host ---- */

/* A call so slow that a reset ends during it. */
TEST_WITH(slow_call_spans_reset, setup, teardown)
{
	struct function now;
	struct fixture *fx = *state;
	struct ibv_pd *pd;

	assert_int_equal(up(fx, 1, 1, 1, 0), 0);
	fx_do("slow calls=alloc_pd for=60ms");
	fx_do("reset fn=0 outage=50ms");
	pd = ibv_alloc_pd(fx->ctx);
	read_function(0, &now);
	assert_true(now.has_rdma);
	assert_non_null(pd);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	fx_do("slow off");
	refused("slow calls=alloc_pd");
	refused("slow calls=nothing for=1ms");
	refused("slow calls=any for=1");
}
