/* SPDX-License-Identifier: BSD-3-Clause */

/* Backends that are Linux TAP interfaces: mtap<k> for port k, from 0. */

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend.h"
#include "options.h"
#include "segment.h"

/* Set MTU and IFF_UP, with a socket. */
static int
bring_up(struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int ret = 0;

	if (fd < 0)
		return -errno;
	ifr->ifr_mtu = (int)segment_config()->max_mtu;
	if (ioctl(fd, SIOCSIFMTU, ifr) != 0)
		ret = -errno;
	if (ret == 0 && ioctl(fd, SIOCGIFFLAGS, ifr) != 0)
		ret = -errno;
	ifr->ifr_flags |= IFF_UP;
	if (ret == 0 && ioctl(fd, SIOCSIFFLAGS, ifr) != 0)
		ret = -errno;
	close(fd);
	return ret;
}

static const char *
remedy(int error)
{
	switch (error) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return "load the kernel module tun";
	case EPERM:
	case EACCES:
		return "run mana-model as root or with CAP_NET_ADMIN, or use "
		       "--wire pair";
	case EBUSY:
		return "another machine with --wire tap is running";
	default:
		return "--wire pair needs no interfaces";
	}
}

static int
tap_open(struct backend *backend, const char *args)
{
	struct ifreq ifr;
	int ret = 0;

	(void)args;
	memset(&ifr, 0, sizeof(ifr));
	ifr.ifr_flags = IFF_TAP | IFF_NO_PI;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "mtap%u", backend->number);
	backend->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (backend->fd < 0 || ioctl(backend->fd, TUNSETIFF, &ifr) != 0)
		ret = -errno;
	if (ret == 0)
		ret = bring_up(&ifr);
	if (ret == 0)
		return 0;
	options_error("cannot make the interface mtap%u: %s; %s",
		      backend->number, strerror(-ret), remedy(-ret));
	return -1;
}

/* Closing the descriptor removes the interface. */
static void
tap_close(struct backend *backend)
{
	if (backend->fd >= 0)
		close(backend->fd);
}

static uint32_t
tap_receive(struct backend *backend, void *buf, uint32_t buf_bytes)
{
	const ssize_t n = read(backend->fd, buf, buf_bytes);

	return n > 0 ? (uint32_t)n : 0;
}

/* Like any interface, one that is down or full drops frames. */
static bool
tap_transmit(struct backend *backend, const void *frame, uint32_t nb_bytes,
	     uint64_t at_ns)
{
	ssize_t n;

	(void)at_ns;
	do
		n = write(backend->fd, frame, nb_bytes);
	while (n < 0 && errno == EINTR);
	return n >= 0;
}

const struct backend_ops backend_tap = {
	.open = tap_open,
	.receive = tap_receive,
	.transmit = tap_transmit,
	.close = tap_close,
};
