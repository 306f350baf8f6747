/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Discovery of a function's RDMA device and netdevs, and the state of a netdev, with any
 * bytes in the files of sysfs, in the answers of netlink and of ethtool. This file plays
 * the kernel; libnl parses the messages.
 *
 * ld --wrap sends the calls here. libFuzzer's own pass on, because they are not made
 * while an input is tested.
 */

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>

#include <netlink/handlers.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "fuzz.h"
#include "mana_discover.h"
#include "mana_verbs.h"

#define MAX_FILE   160u
#define MAX_NAMES  4u
#define NB_DEVICES 2u

int mana_logtype_init;
int mana_logtype_driver;

static struct fuzz_input *input; /* NULL: no input is tested */
static struct ibv_device devices[NB_DEVICES];

/* ---- Files --------------------------------------------------------------- */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *
__wrap_fopen(const char *path, const char *mode)
{
	static char bytes[MAX_FILE];
	uint32_t nb;
	FILE *f;

	if (input == NULL)
		return __real_fopen(path, mode);
	nb = fuzz_u8(input);
	if (nb > MAX_FILE) {
		errno = ENOENT;
		return NULL;
	}
	fuzz_read(input, bytes, nb);
	/* An empty file has an end, too. */
	f = fmemopen(bytes, nb == 0 ? 1 : nb, "r");
	if (f != NULL && nb == 0)
		(void)fgetc(f);
	return f;
}

/* Where a link leads: any name in the root folder. */
char *__real_realpath(const char *path, char *target);
char *__wrap_realpath(const char *path, char *target);
char *
__wrap_realpath(const char *path, char *target)
{
	uint32_t nb;

	if (input == NULL)
		return __real_realpath(path, target);
	nb = fuzz_u8(input);
	if (nb > MAX_FILE) {
		errno = ENOENT;
		return NULL;
	}
	memset(target, 0, nb + 2);
	target[0] = '/';
	fuzz_read(input, target + 1, nb);
	return target;
}

/* A folder that is read has up to MAX_NAMES entries. */
static struct dirent entry;
static uint32_t nb_names;

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
DIR *
__wrap_opendir(const char *path)
{
	if (input == NULL)
		return __real_opendir(path);
	nb_names = fuzz_u8(input);
	if (nb_names <= MAX_NAMES)
		return (DIR *)&entry;
	errno = ENOENT;
	return NULL;
}

struct dirent *__real_readdir(DIR *d);
struct dirent *__wrap_readdir(DIR *d);
struct dirent *
__wrap_readdir(DIR *d)
{
	if (d != (DIR *)&entry)
		return __real_readdir(d);
	if (nb_names == 0)
		return NULL;
	nb_names--;
	/* Names of any length that the kernel can give. */
	memset(entry.d_name, 'e', sizeof(entry.d_name));
	fuzz_read(input, entry.d_name, 17);
	entry.d_name[fuzz_u8(input)] = '\0';
	return &entry;
}

int __real_closedir(DIR *d);
int __wrap_closedir(DIR *d);
int
__wrap_closedir(DIR *d)
{
	return d == (DIR *)&entry ? 0 : __real_closedir(d);
}

/* ---- Netlink ------------------------------------------------------------- */

static uint32_t sequence;

static int
message_send(struct nl_sock *sock, struct nl_msg *msg)
{
	sequence = nlmsg_hdr(msg)->nlmsg_seq;
	return nlmsg_hdr(msg)->nlmsg_len;
}

/* A datagram of any bytes; a likely one with header and sequence number. */
static int
message_receive(struct nl_sock *sock, struct sockaddr_nl *from, unsigned char **buf,
		struct ucred **creds)
{
	const uint8_t how = fuzz_u8(input);
	struct nlmsghdr header;
	uint32_t nb = fuzz_u8(input) | (how & 1u) << 8;

	if (input->nb_left == 0)
		return -NLE_AGAIN;
	if (nb == 0)
		return 0;
	memset(from, 0, sizeof(*from));
	/* libnl frees it. Of this size, so that the sanitizer finds a load behind it. */
	*buf = malloc(nb);
	fuzz_read(input, *buf, nb);
	if ((how & 2) != 0 && nb >= sizeof(header)) {
		memcpy(&header, *buf, sizeof(header));
		header.nlmsg_seq = sequence;
		header.nlmsg_len = nb;
		if ((how & 4) != 0)
			header.nlmsg_type = RTM_NEWLINK;
		header.nlmsg_flags &= how;
		memcpy(*buf, &header, sizeof(header));
	}
	return nb;
}

int __wrap_nl_connect(struct nl_sock *sock, int protocol);
int
__wrap_nl_connect(struct nl_sock *sock, int protocol)
{
	struct nl_cb *cb = nl_socket_get_cb(sock);

	nl_cb_overwrite_send(cb, message_send);
	nl_cb_overwrite_recv(cb, message_receive);
	nl_cb_put(cb);
	return 0;
}

/* ---- Requests to a netdev ------------------------------------------------ */

int __wrap_socket(int domain, int type, int protocol);
int
__wrap_socket(int domain, int type, int protocol)
{
	return INT_MAX; /* close() refuses it */
}

static size_t
ethtool_bytes(const void *data)
{
	const struct ethtool_link_settings *link = data;

	switch (link->cmd) {
	case ETHTOOL_GDRVINFO:
		return sizeof(struct ethtool_drvinfo);
	case ETHTOOL_GCHANNELS:
		return sizeof(struct ethtool_channels);
	default: /* ETHTOOL_GLINKSETTINGS: as many masks as there was room for */
		return sizeof(*link) +
		       (link->link_mode_masks_nwords > 0 ?
				3 * sizeof(uint32_t) * link->link_mode_masks_nwords :
				0);
	}
}

int __wrap_ioctl(int fd, unsigned long request, ...);
int
__wrap_ioctl(int fd, unsigned long request, ...)
{
	struct ifreq *ifr;
	va_list args;

	va_start(args, request);
	ifr = va_arg(args, struct ifreq *);
	va_end(args);
	if ((fuzz_u8(input) & 0x80) != 0) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (request == SIOCGIFNAME)
		fuzz_read(input, ifr->ifr_name, sizeof(ifr->ifr_name));
	else
		fuzz_read(input, ifr->ifr_data, ethtool_bytes(ifr->ifr_data));
	return 0;
}

/* ---- Verbs: not the subject here ----------------------------------------- */

int
mana_verbs_error(void)
{
	return -EIO;
}

struct ibv_device **
ibv_get_device_list(int *nb_devices)
{
	static struct ibv_device *all[NB_DEVICES + 1];

	for (uint32_t i = 0; i < NB_DEVICES; i++)
		all[i] = &devices[i];
	*nb_devices = NB_DEVICES;
	return all;
}

void
ibv_free_device_list(struct ibv_device **list)
{
}

int
mana_verbs_open(struct ibv_device *device, struct ibv_context **ctx)
{
	*ctx = (struct ibv_context *)device;
	return 0;
}

int
mana_verbs_close(struct ibv_context *ctx)
{
	return 0;
}

int
mana_verbs_query(struct ibv_context *ctx, struct mana_verbs_caps *caps)
{
	*caps = (struct mana_verbs_caps){ .nb_ports = fuzz_u8(input) % 5 };
	return 0;
}

void
mana_diag_no_rdma(const char *pci_name, int error)
{
}

void
mana_diag_no_device(const char *pci_name, const char *refused)
{
}

void
mana_diag_no_netdev(const char *pci_name, uint32_t port, int error)
{
}

void
mana_diag_open(const char *pci_name, const char *device, const char *node, int error)
{
}

/* ---- Inputs -------------------------------------------------------------- */

/* 0 or a negative errno, whatever the kernel has answered. Returns whether it is 0. */
static bool
check_result(int ret)
{
	FUZZ_CHECK(ret <= 0 && ret >= -4095);
	return ret == 0;
}

static void
check_netdev(const struct mana_netdev *netdev)
{
	char text[MANA_NETDEV_DRIVER_BYTES], master[IF_NAMESIZE];
	struct mana_netdev_state state;
	uint32_t n;

	FUZZ_CHECK(netdev->ifindex != 0);
	FUZZ_CHECK(memchr(netdev->name, 0, sizeof(netdev->name)) != NULL);
	check_result(mana_netdev_state_get(netdev, &state));
	FUZZ_CHECK(memchr(state.name, 0, sizeof(state.name)) != NULL);
	if (mana_netdev_is_netvsc(state.master, master))
		FUZZ_CHECK(memchr(master, 0, sizeof(master)) != NULL);
	check_result(mana_netdev_up_set(netdev, true, &state));
	if (check_result(mana_netdev_max_queues_get(netdev, &n)))
		FUZZ_CHECK(n != 0);
	if (check_result(mana_netdev_speed_get(netdev, &n)))
		FUZZ_CHECK(n != 0);
	if (check_result(mana_netdev_driver_get(netdev, text)))
		FUZZ_CHECK(memchr(text, 0, sizeof(text)) != NULL);
}

static void
discover(void)
{
	const struct rte_pci_addr addr = { .domain = 0x7870 };
	struct mana_function function;

	for (uint32_t i = 0; i < NB_DEVICES; i++)
		fuzz_read(input, devices[i].ibdev_path, 8);
	if (!check_result(mana_discover(&addr, "7870:00:00.0", true, &function)))
		return;
	FUZZ_CHECK(function.nb_ports != 0);
	mana_discover_log_ports(&function);
	for (uint32_t i = 0; i < function.nb_ports; i++)
		if (check_result(function.ports[i].netdev_error))
			check_netdev(&function.ports[i].netdev);
	mana_discover_release(&function);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	return rte_openlog_stream(fopen("/dev/null", "w"));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t nb_bytes)
{
	const struct mana_netdev netdev = { .ifindex = 7, .name = "eth1" };
	struct fuzz_input in = { .bytes = data, .nb_left = nb_bytes };
	const uint8_t how = fuzz_u8(&in);

	input = &in;
	if ((how & 1) != 0)
		check_netdev(&netdev);
	else
		discover();
	input = NULL;
	return 0;
}
