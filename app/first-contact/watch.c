/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The watcher: logs what happens to the adapter while the host services it. It only
 * listens: to events of the RDMA devices, to uevents, to changes of netdevs and to the
 * kernel's log.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "first_contact.h"

#define NB_DEVICES    16
#define NB_NETDEVS    64
#define MESSAGE_BYTES 8192
#define MAX_PER_WAKE  64 /* messages of one source before the others are read */
#define SEARCH_MS     1000
#define GROUP_KERNEL  1 /* of NETLINK_KOBJECT_UEVENT; udev itself uses 2 */
#define RECEIVE_BYTES (1 << 20)

enum {
	UEVENT,
	LINK,
	KERNEL_LOG,
	NB_FILES
};

/* What is known of a netdev, to print changes only. */
struct netdev {
	int index; /* 0: a free row */
	unsigned int flags;
	int master; /* index of the netdev above it */
	char name[IFNAMSIZ];
};

struct watch {
	int fds[NB_FILES];
	struct ibv_context *devices[NB_DEVICES];
	uint32_t nb_devices;
	bool searches; /* an RDMA device may have come */
	bool is_started; /* netdevs of the start are no news */
	struct netdev netdevs[NB_NETDEVS];
	uint64_t last_ns;
};

static volatile sig_atomic_t is_stopped;

static void
stop(int signal)
{
	(void)signal;
	is_stopped = 1;
}

/* One line: UTC, seconds since the line before, source, text. */
static void __attribute__((format(printf, 3, 4)))
say(struct watch *watch, const char *source, const char *format, ...)
{
	const uint64_t now_ns = fc_now_ns();
	struct timespec now;
	struct tm utc;
	char text[32];
	va_list args;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &utc);
	printf("%s.%06ld %+11.6f  %-7s ", text, now.tv_nsec / 1000,
	       watch->last_ns == 0 ? 0 : (double)(now_ns - watch->last_ns) / 1e9,
	       source);
	watch->last_ns = now_ns;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

/* ---- RDMA devices ---- */

static bool
is_watched(const struct watch *watch, const struct ibv_device *device)
{
	for (uint32_t i = 0; i < watch->nb_devices; i++)
		if (strcmp(watch->devices[i]->device->name, device->name) == 0)
			return true;
	return false;
}

/* Opens MANA devices that are not watched yet. */
static void
devices_find(struct watch *watch)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	watch->searches = false;
	for (uint32_t i = 0; list != NULL && list[i] != NULL; i++) {
		struct ibv_context *ctx;

		if (!fc_is_microsoft(list[i]) || is_watched(watch, list[i]) ||
		    watch->nb_devices == NB_DEVICES)
			continue;
		ctx = ibv_open_device(list[i]);
		if (ctx == NULL) {
			/* Its node may not be there yet. */
			watch->searches = true;
			continue;
		}
		fcntl(ctx->async_fd, F_SETFL, O_NONBLOCK);
		watch->devices[watch->nb_devices++] = ctx;
		say(watch, "verbs", "%s: watched", list[i]->name);
	}
	if (list != NULL)
		ibv_free_device_list(list);
}

/* Prints events of a device; false: it is gone. */
static bool
device_read(struct watch *watch, struct ibv_context *ctx)
{
	struct ibv_async_event event;

	for (uint32_t i = 0; i < MAX_PER_WAKE; i++) {
		errno = EIO;
		if (ibv_get_async_event(ctx, &event) != 0)
			return errno == EAGAIN || errno == EINTR;
		say(watch, "verbs", "%s: %s", ctx->device->name,
		    event.event_type == IBV_EVENT_DEVICE_FATAL ?
			    "DEVICE_FATAL" :
			    ibv_event_type_str(event.event_type));
		ibv_ack_async_event(&event);
		/* The node of a lost device is readable for ever. */
		if (event.event_type == IBV_EVENT_DEVICE_FATAL)
			return false;
	}
	return true;
}

static void
device_close(struct watch *watch, uint32_t i)
{
	ibv_close_device(watch->devices[i]);
	watch->devices[i] = watch->devices[--watch->nb_devices];
	watch->searches = true;
}

/* ---- Uevents ---- */

/* The value of a key in a uevent; "" if it lacks. */
static const char *
uevent_value(const char *text, size_t nb_bytes, const char *key)
{
	const size_t length = strlen(key);

	for (const char *at = text; at < text + nb_bytes; at += strlen(at) + 1)
		if (strncmp(at, key, length) == 0 && at[length] == '=')
			return at + length + 1;
	return "";
}

static void
uevent_print(struct watch *watch, const char *text, size_t nb_bytes)
{
	static const char *const subsystems[] = {
		"pci", "net", "infiniband", "infiniband_verbs", "vmbus", "uio",
	};
	const char *subsystem = uevent_value(text, nb_bytes, "SUBSYSTEM");
	const char *path = uevent_value(text, nb_bytes, "DEVPATH");
	const char *driver = uevent_value(text, nb_bytes, "DRIVER");
	const char *name = strrchr(path, '/');

	for (uint32_t i = 0; i < RTE_DIM(subsystems); i++) {
		if (strcmp(subsystem, subsystems[i]) != 0)
			continue;
		say(watch, "uevent", "%s %s %s%s%s",
		    uevent_value(text, nb_bytes, "ACTION"), subsystem,
		    name != NULL ? name + 1 : path,
		    driver[0] != '\0' ? ", driver " : "", driver);
		watch->searches |= strncmp(subsystem, "infiniband", 10) == 0;
	}
}

/* ---- Netdevs ---- */

/* The row of a netdev, a free one for a new netdev; NULL: there is none. */
static struct netdev *
netdev_row(struct watch *watch, int index)
{
	struct netdev *found = NULL;

	for (uint32_t i = 0; i < NB_NETDEVS; i++) {
		if (watch->netdevs[i].index == index)
			return &watch->netdevs[i];
		if (watch->netdevs[i].index == 0 && found == NULL)
			found = &watch->netdevs[i];
	}
	return found;
}

static void
netdev_read_attrs(struct nlmsghdr *header, struct netdev *netdev)
{
	struct ifinfomsg *info = NLMSG_DATA(header);
	int left = (int)IFLA_PAYLOAD(header);

	for (struct rtattr *at = IFLA_RTA(info); RTA_OK(at, left);
	     at = RTA_NEXT(at, left)) {
		if (at->rta_type == IFLA_IFNAME)
			snprintf(netdev->name, sizeof(netdev->name), "%.*s",
				 (int)RTA_PAYLOAD(at),
				 (const char *)RTA_DATA(at));
		else if (at->rta_type == IFLA_MASTER &&
			 RTA_PAYLOAD(at) >= sizeof(netdev->master))
			memcpy(&netdev->master, RTA_DATA(at),
			       sizeof(netdev->master));
	}
}

static void
link_print(struct watch *watch, struct nlmsghdr *header)
{
	const struct ifinfomsg *info = NLMSG_DATA(header);
	struct netdev now = { 0 }, *row;

	if (header->nlmsg_len < NLMSG_LENGTH(sizeof(*info)))
		return;
	now.index = info->ifi_index;
	now.flags = info->ifi_flags & (IFF_UP | IFF_RUNNING);
	netdev_read_attrs(header, &now);
	row = netdev_row(watch, now.index);
	if (header->nlmsg_type == RTM_DELLINK) {
		say(watch, "link", "%s (%d): gone", now.name, now.index);
		if (row != NULL)
			row->index = 0;
		return;
	}
	if (row != NULL && memcmp(row, &now, sizeof(now)) == 0)
		return;
	if (row != NULL)
		*row = now;
	if (!watch->is_started)
		return;
	say(watch, "link", "%s (%d): %s, %s carrier, master %d", now.name,
	    now.index, (now.flags & IFF_UP) != 0 ? "up" : "down",
	    (now.flags & IFF_RUNNING) != 0 ? "has" : "no", now.master);
}

static void
links_print(struct watch *watch, void *message, int nb_bytes)
{
	for (struct nlmsghdr *at = message; NLMSG_OK(at, (uint32_t)nb_bytes);
	     at = NLMSG_NEXT(at, nb_bytes)) {
		if (at->nlmsg_type == RTM_NEWLINK || at->nlmsg_type == RTM_DELLINK)
			link_print(watch, at);
		watch->is_started |= at->nlmsg_type == NLMSG_DONE;
	}
}

/* Asks for all netdevs. */
static void
links_ask(int fd)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg info;
	} request = {
		.header = { .nlmsg_len = sizeof(request),
			    .nlmsg_type = RTM_GETLINK,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.info = { .ifi_family = AF_UNSPEC },
	};

	send(fd, &request, sizeof(request), 0);
}

/* ---- The kernel's log ---- */

/* A record: "priority,sequence,time,flags;text", and lines of keys. */
const char *
fc_kernel_log_text(char *record)
{
	static const char *const words[] = { "mana", "netvsc", "hv_", "vmbus" };
	char *text = strchr(record, ';');

	if (text == NULL)
		return NULL;
	text++;
	text[strcspn(text, "\n")] = '\0';
	for (uint32_t i = 0; i < RTE_DIM(words); i++)
		if (strstr(text, words[i]) != NULL)
			return text;
	return NULL;
}

static void
kernel_log_print(struct watch *watch, char *record)
{
	const char *text = fc_kernel_log_text(record);

	if (text != NULL)
		say(watch, "kernel", "%s", text);
}

/* ---- All sources ---- */

static int
netlink_open(int protocol, uint32_t groups)
{
	struct sockaddr_nl address = {
		.nl_family = AF_NETLINK,
		.nl_groups = groups,
	};
	const int room = RECEIVE_BYTES;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			protocol);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

static void
sources_open(struct watch *watch)
{
	static const char *const names[NB_FILES] = {
		[UEVENT] = "uevents",
		[LINK] = "netdevs",
		[KERNEL_LOG] = "/dev/kmsg",
	};

	for (uint32_t i = 0; i < NB_FILES; i++) {
		errno = 0;
		watch->fds[i] =
			i == UEVENT ? netlink_open(NETLINK_KOBJECT_UEVENT,
						   GROUP_KERNEL) :
			i == LINK   ? netlink_open(NETLINK_ROUTE, RTMGRP_LINK) :
				      open("/dev/kmsg",
					   O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (watch->fds[i] < 0)
			say(watch, "watch", "%s: not watched: %s%s", names[i],
			    strerror(errno),
			    i == KERNEL_LOG ? "; run as root" : "");
	}
	if (watch->fds[LINK] >= 0)
		links_ask(watch->fds[LINK]);
	/* From now on. */
	if (watch->fds[KERNEL_LOG] >= 0)
		lseek(watch->fds[KERNEL_LOG], 0, SEEK_END);
}

static void
source_read(struct watch *watch, uint32_t source)
{
	_Alignas(struct nlmsghdr) char message[MESSAGE_BYTES + 1];

	for (uint32_t i = 0; i < MAX_PER_WAKE; i++) {
		const ssize_t n = read(watch->fds[source], message,
				       MESSAGE_BYTES);

		if (n < 0 && (errno == ENOBUFS || errno == EPIPE)) {
			say(watch, "watch", "messages were lost: %s",
			    strerror(errno));
			continue;
		}
		if (n <= 0)
			return;
		message[n] = '\0';
		if (source == UEVENT)
			uevent_print(watch, message, (size_t)n);
		else if (source == LINK)
			links_print(watch, message, (int)n);
		else
			kernel_log_print(watch, message);
	}
}

/* Waits for the next event of any source, and prints what there is. */
static void
wait_and_read(struct watch *watch)
{
	struct pollfd fds[NB_FILES + NB_DEVICES];

	for (uint32_t i = 0; i < NB_FILES; i++)
		fds[i] = (struct pollfd){ .fd = watch->fds[i], .events = POLLIN };
	for (uint32_t i = 0; i < watch->nb_devices; i++)
		fds[NB_FILES + i] = (struct pollfd){
			.fd = watch->devices[i]->async_fd,
			.events = POLLIN,
		};
	if (poll(fds, NB_FILES + watch->nb_devices,
		 watch->searches ? SEARCH_MS : -1) < 0)
		return;
	/* From the last one: a lost device leaves its place to the last one. */
	for (uint32_t i = watch->nb_devices; i-- > 0;)
		if (fds[NB_FILES + i].revents != 0 &&
		    !device_read(watch, watch->devices[i]))
			device_close(watch, i);
	for (uint32_t i = 0; i < NB_FILES; i++)
		if (fds[i].revents != 0)
			source_read(watch, i);
	if (watch->searches)
		devices_find(watch);
}

int
fc_watch(void)
{
	static struct watch watch;
	const struct sigaction action = { .sa_handler = stop };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sources_open(&watch);
	devices_find(&watch);
	say(&watch, "watch", "until SIGINT; RDMA devices now: %u",
	    watch.nb_devices);
	while (!is_stopped)
		wait_and_read(&watch);
	while (watch.nb_devices > 0)
		device_close(&watch, watch.nb_devices - 1);
	for (uint32_t i = 0; i < NB_FILES; i++)
		if (watch.fds[i] >= 0)
			close(watch.fds[i]);
	return 0;
}
