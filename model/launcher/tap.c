/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device.h"
#include "options.h"
#include "segment.h"
#include "tap.h"

#define MAX_FRAME_BYTES 65536
/* Frames of one interface in a row, so that the others have their turn. */
#define BURST 32

struct tap {
	int fd;
	uint32_t fn, port;
};

static struct tap *taps;
static uint32_t nb_taps;
static uint8_t frame[MAX_FRAME_BYTES];

/* MTU and IFF_UP, by a socket. */
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
open_one(uint32_t k, struct tap *tap)
{
	struct ifreq ifr;
	int ret = 0;

	memset(&ifr, 0, sizeof(ifr));
	ifr.ifr_flags = IFF_TAP | IFF_NO_PI;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "mtap%u", k);
	tap->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (tap->fd < 0 || ioctl(tap->fd, TUNSETIFF, &ifr) != 0)
		ret = -errno;
	if (ret == 0)
		ret = bring_up(&ifr);
	if (ret != 0)
		options_complain("cannot make the interface mtap%u: %s; %s", k,
				 strerror(-ret), remedy(-ret));
	return ret;
}

int
tap_open(void)
{
	const struct model_config *config = segment_config();

	taps = calloc(options_nb_ports(config), sizeof(*taps));
	if (taps == NULL) {
		options_complain("no memory for the TAP interfaces");
		return -1;
	}
	for (uint32_t fn = 0; fn < config->nb_functions; fn++) {
		for (uint32_t port = 0; port < config->nb_ports[fn]; port++) {
			struct tap *tap = &taps[nb_taps];

			tap->fn = fn;
			tap->port = port;
			nb_taps++;
			if (open_one(nb_taps - 1, tap) != 0) {
				tap_close();
				return -1;
			}
		}
	}
	return 0;
}

/* The kernel removes an interface with its descriptor. */
void
tap_close(void)
{
	for (uint32_t k = 0; k < nb_taps; k++)
		if (taps[k].fd >= 0)
			close(taps[k].fd);
	free(taps);
	taps = NULL;
	nb_taps = 0;
}

uint32_t
tap_pollfds(struct pollfd *fds)
{
	for (uint32_t k = 0; fds != NULL && k < nb_taps; k++) {
		fds[k].fd = taps[k].fd;
		fds[k].events = POLLIN;
	}
	return nb_taps;
}

void
tap_receive(const struct pollfd *fds)
{
	for (uint32_t k = 0; k < nb_taps; k++) {
		if ((fds[k].revents & POLLIN) == 0)
			continue;
		for (int i = 0; i < BURST; i++) {
			ssize_t length = read(taps[k].fd, frame, sizeof(frame));

			if (length <= 0)
				break;
			segment_lock();
			device_port_receive(taps[k].fn, taps[k].port, frame,
					    (uint32_t)length);
			segment_unlock();
		}
	}
}

static const struct tap *
tap_of(uint32_t fn, uint32_t port)
{
	for (uint32_t k = 0; k < nb_taps; k++)
		if (taps[k].fn == fn && taps[k].port == port)
			return &taps[k];
	return NULL;
}

void
tap_transmit(void)
{
	for (;;) {
		const struct tap *tap;
		uint32_t fn, port, length;

		segment_lock();
		length = device_tap_next(&fn, &port, frame, sizeof(frame));
		segment_unlock();
		if (length == 0)
			return;
		tap = tap_of(fn, port);
		/* An interface that is down or full drops, as any other. */
		if (tap != NULL && write(tap->fd, frame, length) < 0 &&
		    errno == EINTR)
			continue;
	}
}
