/* SPDX-License-Identifier: BSD-3-Clause */

/* RDMA devices, their ports and netdevs, protection domains, memory. */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/manadv.h>

#include "first_contact.h"

/* The Ethernet function: Linux gdma.h GDMA_DEVICE_MANA. */
#define PART_ETHERNET 2

int
fc_fail(struct fc *fc, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(fc->reason, sizeof(fc->reason), format, args);
	va_end(args);
	return error;
}

/* ---- sysfs ---- */

bool
fc_read_line(const char *folder, const char *name, char *line, size_t room)
{
	char path[PATH_MAX];
	FILE *file;
	bool has_line = false;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >=
	    (int)sizeof(path))
		return false;
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	if (fgets(line, (int)room, file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		has_line = true;
	}
	fclose(file);
	return has_line;
}

bool
fc_read_number(const char *folder, const char *name, unsigned long *number)
{
	char line[32];

	if (!fc_read_line(folder, name, line, sizeof(line)))
		return false;
	*number = strtoul(line, NULL, 0);
	return true;
}

/* The netdev with this dev_port, below the PCI function of an RDMA device. */
static void
find_netdev(const char *ibdev_path, struct fc_port *port)
{
	char folder[PATH_MAX], netdev[PATH_MAX], line[32];
	struct dirent *entry;
	unsigned long dev_port;
	DIR *dir;

	if (snprintf(folder, sizeof(folder), "%s/device/net", ibdev_path) >=
	    (int)sizeof(folder))
		return;
	dir = opendir(folder);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' ||
		    snprintf(netdev, sizeof(netdev), "%s/%s", folder,
			     entry->d_name) >= (int)sizeof(netdev) ||
		    !fc_read_number(netdev, "dev_port", &dev_port) ||
		    dev_port + 1 != port->number)
			continue;
		snprintf(port->netdev, sizeof(port->netdev), "%.*s",
			 (int)sizeof(port->netdev) - 1, entry->d_name);
		if (fc_read_line(netdev, "address", line, sizeof(line)))
			sscanf(line, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx",
			       &port->mac[0], &port->mac[1], &port->mac[2],
			       &port->mac[3], &port->mac[4], &port->mac[5]);
	}
	closedir(dir);
}

static bool
netdev_has(const struct fc_port *port, unsigned int flag)
{
	char folder[PATH_MAX];
	unsigned long flags;

	snprintf(folder, sizeof(folder), "/sys/class/net/%s", port->netdev);
	return port->netdev[0] != '\0' &&
	       fc_read_number(folder, "flags", &flags) && (flags & flag) != 0;
}

bool
fc_port_is_slave(const struct fc_port *port)
{
	return netdev_has(port, IFF_SLAVE);
}

/* A number in the folder of the port's netdev; 0: there is none. */
static uint32_t
netdev_number(const struct fc_port *port, const char *name)
{
	char folder[PATH_MAX];
	unsigned long number;

	snprintf(folder, sizeof(folder), "/sys/class/net/%s", port->netdev);
	/* "-1" is an unknown speed. */
	return port->netdev[0] != '\0' && fc_read_number(folder, name, &number) &&
			       number <= INT32_MAX ?
		       (uint32_t)number : 0;
}

uint32_t
fc_port_speed(const struct fc_port *port)
{
	return netdev_number(port, "speed");
}

uint32_t
fc_port_revision(const struct fc_port *port)
{
	return netdev_number(port, "device/revision");
}

static void
find_pci(const char *ibdev_path, struct fc_port *port)
{
	char folder[PATH_MAX], line[128];
	unsigned long id;
	ssize_t n;

	snprintf(folder, sizeof(folder), "%s/device", ibdev_path);
	if (fc_read_number(folder, "device", &id))
		port->pci_device = (uint32_t)id;
	n = readlink(folder, line, sizeof(line) - 1);
	if (n > 0) {
		line[n] = '\0';
		snprintf(port->pci, sizeof(port->pci), "%.*s",
			 (int)sizeof(port->pci) - 1,
			 strrchr(line, '/') != NULL ? strrchr(line, '/') + 1 :
						      line);
	}
}

bool
fc_is_microsoft(const struct ibv_device *device)
{
	char folder[PATH_MAX];
	unsigned long vendor;

	snprintf(folder, sizeof(folder), "%s/device", device->ibdev_path);
	return fc_read_number(folder, "vendor", &vendor) &&
	       vendor == MANA_PCI_VENDOR_ID;
}

/* ---- Errors ---- */

int
fc_port_fail(struct fc *fc, const struct fc_port *port, const char *what,
	     int error)
{
	const char *remedy = "";
	char text[128] = "";

	switch (abs(error)) {
	case EPERM:
		remedy = "; raw queues need CAP_NET_RAW: run as root, or setcap "
			 "cap_net_raw,cap_ipc_lock+ep";
		break;
	case EBUSY:
	case ENODEV:
		if (netdev_has(port, IFF_UP)) {
			snprintf(text, sizeof(text),
				 "; the kernel uses the port: ip link set %s down, "
				 "unless you are logged in through it",
				 port->netdev);
			remedy = text;
		} else {
			remedy = "; another program uses the port: end it";
		}
		break;
	case ENOMEM:
		remedy = "; allow more pinned memory (ulimit -l unlimited), or add "
			 "CAP_IPC_LOCK";
		break;
	case EPROTO:
		remedy = "; the adapter refused it";
		break;
	}
	return fc_fail(fc, -abs(error), "%s port %u: %s: %s%s", port->device,
		       port->number, what, strerror(abs(error)), remedy);
}

static int
fail_open(struct fc *fc, const struct ibv_device *device, int error)
{
	char path[PATH_MAX];
	int fd;

	/* libibverbs ends with ENOENT if it may not open the node. */
	snprintf(path, sizeof(path), "/dev/infiniband/%s", device->dev_name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	else
		error = errno;
	return fc_fail(fc, -error, "%s: cannot open %s: %s%s", device->name,
		       path, strerror(error),
		       error == EACCES || error == EPERM ?
			       "; make it readable and writable for this user" :
			       "");
}

/* ---- Ports ---- */

/*
 * Opens a device if it is the Ethernet one of its function. 0: it is; 1: it is
 * not; -errno.
 */
static int
open_device(struct fc *fc, struct ibv_device *device, struct ibv_context **ctx,
	    uint32_t *nb_ports)
{
	struct ibv_device_attr_ex attr = { .comp_mask = 0 };
	int ret;

	errno = EIO;
	*ctx = ibv_open_device(device);
	if (*ctx == NULL)
		return fail_open(fc, device, errno);
	ret = ibv_query_device_ex(*ctx, NULL, &attr);
	if (ret == 0 && (attr.orig_attr.vendor_part_id == 0 ||
			 (attr.orig_attr.vendor_part_id == PART_ETHERNET &&
			  attr.raw_packet_caps != 0))) {
		*nb_ports = attr.orig_attr.phys_port_cnt;
		return 0;
	}
	ibv_close_device(*ctx);
	*ctx = NULL;
	return ret == 0 ? 1 :
			  fc_fail(fc, -ret, "%s: cannot query it: %s",
				  device->name, strerror(ret));
}

#define MAX_PORTS 64

/* All ports of the adapter with their netdevs, not opened. Their number. */
static uint32_t
find_ports(struct fc *fc, struct fc_port ports[MAX_PORTS])
{
	int nb_devices = 0;
	struct ibv_device **list = ibv_get_device_list(&nb_devices);
	uint32_t nb = 0, nb_ports;
	struct ibv_context *ctx;

	for (int i = 0; list != NULL && i < nb_devices; i++) {
		if (!fc_is_microsoft(list[i]) ||
		    open_device(fc, list[i], &ctx, &nb_ports) != 0)
			continue;
		for (uint32_t n = 1; n <= nb_ports && nb < MAX_PORTS; n++) {
			struct fc_port *port = &ports[nb++];

			memset(port, 0, sizeof(*port));
			snprintf(port->device, sizeof(port->device), "%s",
				 list[i]->name);
			port->number = n;
			find_netdev(list[i]->ibdev_path, port);
			find_pci(list[i]->ibdev_path, port);
		}
		ibv_close_device(ctx);
	}
	if (list != NULL)
		ibv_free_device_list(list);
	return nb;
}

int
fc_port_list(struct fc *fc, FILE *file)
{
	struct fc_port ports[MAX_PORTS];
	const uint32_t nb = find_ports(fc, ports);

	for (uint32_t i = 0; i < nb; i++) {
		const struct fc_port *port = &ports[i];
		const char *route = fc_port_default_route(port);

		fprintf(file, "%s:%u  %-15s  %-4s  %s%s%s%s\n", port->device, port->number,
		       port->netdev[0] != '\0' ? port->netdev : "no netdev here",
		       netdev_has(port, IFF_UP) ? "up" : "down", port->pci,
		       fc_port_is_slave(port) ? "  slave" : "",
		       route[0] != '\0' ? "  default route: " : "", route);
	}
	return nb > 0 ? 0 :
			fc_fail(fc, -ENODEV, "no MANA port: modprobe -a mana mana_ib "
					     "ib_uverbs, and see ibv_devices");
}

/* Device and number of the port that has a netdev; false: none has it. */
static bool
find_by_netdev(struct fc *fc, const char *netdev, char *device, size_t room,
	       uint32_t *number)
{
	struct fc_port ports[MAX_PORTS];
	const uint32_t nb = find_ports(fc, ports);

	for (uint32_t i = 0; i < nb; i++)
		if (strcmp(ports[i].netdev, netdev) == 0) {
			snprintf(device, room, "%s", ports[i].device);
			*number = ports[i].number;
			return true;
		}
	return false;
}

/* DEVICE:PORT, DEVICE or PORT; number 0: any. */
static int
parse_name(struct fc *fc, const char *text, char *device, size_t room,
	   uint32_t *number)
{
	const char *colon = strchr(text, ':');
	const char *digits = colon != NULL ? colon + 1 : text;
	unsigned long n = 0;
	char *end = NULL;

	device[0] = '\0';
	*number = 0;
	if (isdigit((unsigned char)*digits))
		n = strtoul(digits, &end, 10);
	if (end != NULL && *end == '\0' && n > 0 && n < 256)
		*number = (uint32_t)n;
	else if (colon != NULL || end != NULL)
		return fc_fail(fc, -EINVAL,
			       "'%s' is no port: give DEVICE:PORT, "
			       "DEVICE, PORT from 1, or a netdev; --list-ports "
			       "prints them",
			       text);
	if (*number == 0 || colon != NULL)
		snprintf(device, room, "%.*s",
			 (int)(colon != NULL ? colon - text :
					       (ptrdiff_t)strlen(text)),
			 text);
	return 0;
}

/* Has the port a netdev here, which is down? */
static bool
is_free(const struct ibv_device *device, uint32_t number)
{
	struct fc_port port = { .number = number };

	find_netdev(device->ibdev_path, &port);
	return port.netdev[0] != '\0' && !netdev_has(&port, IFF_UP);
}

/* Does the default route lead through the port? */
static bool
leads_out(const struct ibv_device *device, uint32_t number)
{
	struct fc_port port = { .number = number };

	find_netdev(device->ibdev_path, &port);
	return port.netdev[0] != '\0' && fc_port_default_route(&port)[0] != '\0';
}

/*
 * A port of a device that no other port of this program is, from the next one on.
 * Ports of the default route are not chosen, but named.
 * number: this one; or 0, then a free one, or, if use_any is set, any. 0: none.
 */
static uint32_t
choose_number(const struct ibv_device *device, uint32_t nb_ports,
	      uint32_t number, const struct fc_port *other, bool use_any)
{
	const bool is_same = other != NULL &&
			     strcmp(other->device, device->name) == 0;
	const uint32_t first = is_same ? other->number : 0;

	if (number != 0)
		return number <= nb_ports ? number : 0;
	for (uint32_t i = 0; i < nb_ports; i++) {
		const uint32_t n = (first + i) % nb_ports + 1;

		if (is_same && n == other->number)
			continue;
		if ((other != NULL || !use_any) && leads_out(device, n))
			continue;
		if (use_any || is_free(device, n))
			return n;
	}
	return 0;
}

static int
open_domain(struct fc *fc, struct fc_port *port)
{
	struct ibv_parent_domain_init_attr attr = {
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		/* providers/mana: the context of the parent domain is the port. */
		.pd_context = (void *)(uintptr_t)port->number,
	};

	errno = EIO;
	port->pd = ibv_alloc_pd(port->ctx);
	if (port->pd == NULL)
		return fc_port_fail(fc, port, "protection domain", errno);
	attr.pd = port->pd;
	port->parent = ibv_alloc_parent_domain(port->ctx, &attr);
	if (port->parent == NULL)
		return fc_port_fail(fc, port, "parent domain", errno);
	return 0;
}

/* Rings: zeros, and page aligned (Linux mana_ib_create_zero_offset_dma_region). */
static void *
ring_alloc(size_t nb_bytes, void *data)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t room = (nb_bytes + page - 1) / page * page;
	void *ring = aligned_alloc(page, room);

	(void)data;
	if (ring != NULL)
		memset(ring, 0, room);
	return ring;
}

static void
ring_free(void *ring, void *data)
{
	(void)data;
	free(ring);
}

static int
take_port(struct fc *fc, struct fc_port *port, const struct ibv_device *device,
	  uint32_t number)
{
	struct manadv_ctx_allocators allocators = {
		.alloc = ring_alloc,
		.free = ring_free,
	};
	int ret;

	snprintf(port->device, sizeof(port->device), "%s", device->name);
	port->number = number;
	find_netdev(device->ibdev_path, port);
	find_pci(device->ibdev_path, port);
	if (port->netdev[0] == '\0')
		return fc_fail(fc, -ENODEV,
			       "%s port %u: its netdev is not in this network "
			       "namespace, so its address is unknown: run the "
			       "program there (ip netns exec)",
			       port->device, number);
	if (fc_port_default_route(port)[0] != '\0')
		return fc_fail(fc, -EBUSY,
			       "%s port %u (%s): the default route of this machine "
			       "leads through %s, so this port may be its only way "
			       "out: take another one with --port and --rx-port",
			       port->device, number, port->netdev,
			       fc_port_default_route(port));
	ret = manadv_set_context_attr(port->ctx, MANADV_CTX_ATTR_BUF_ALLOCATORS,
				      &allocators);
	if (ret != 0)
		return fc_port_fail(fc, port, "libmana", ret);
	return open_domain(fc, port);
}

int
fc_port_open(struct fc *fc, struct fc_port *port, const char *name,
	     const struct fc_port *other)
{
	struct ibv_device **list;
	uint32_t wanted = 0, nb_ports = 0, number = 0;
	char device[64] = "";
	int nb_devices = 0, ret = 1;

	if (name != NULL &&
	    !find_by_netdev(fc, name, device, sizeof(device), &wanted) &&
	    parse_name(fc, name, device, sizeof(device), &wanted) != 0)
		return -EINVAL;
	list = ibv_get_device_list(&nb_devices);
	if (list == NULL)
		return fc_fail(fc, -errno,
			       "cannot list RDMA devices: %s; "
			       "modprobe -a mana mana_ib ib_uverbs",
			       strerror(errno));
	/* First the free ports, then all. */
	for (int i = 0; i < 2 * nb_devices && ret >= 0; i++) {
		struct ibv_device *at = list[i % nb_devices];

		if (device[0] != '\0' ? strcmp(at->name, device) != 0 :
					!fc_is_microsoft(at))
			continue;
		ret = open_device(fc, at, &port->ctx, &nb_ports);
		if (ret != 0)
			continue;
		number = choose_number(at, nb_ports, wanted, other,
				       i >= nb_devices);
		if (number != 0) {
			ret = take_port(fc, port, at, number);
			break;
		}
		ibv_close_device(port->ctx);
		port->ctx = NULL;
		ret = 1;
	}
	ibv_free_device_list(list);
	if (ret != 1)
		return ret;
	if (other != NULL && name == NULL)
		return fc_fail(fc, -ENODEV,
			       "there is only one MANA port: run "
			       "'mana-first-contact --reflect' on another machine, "
			       "and give its address with --peer");
	if (name != NULL && nb_devices > 0)
		return fc_fail(fc, -ENODEV,
			       "'%s' is neither a MANA port nor the netdev of one: "
			       "--list-ports prints them",
			       name);
	return fc_fail(fc, -ENODEV,
		       "no MANA port%s%s: modprobe -a mana mana_ib "
		       "ib_uverbs, and see ibv_devices%s",
		       name != NULL ? " " : "", name != NULL ? name : "",
		       nb_devices == 0 ? ", which lists nothing now" : "");
}

int
fc_memory_open(struct fc *fc)
{
	void *memory = mmap(NULL, FC_MEMORY_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return fc_fail(fc, -errno, "no memory: %s", strerror(errno));
	fc->memory = memory;
	for (uint32_t i = 0; i < RTE_DIM(fc->ports); i++) {
		struct fc_port *port = &fc->ports[i];

		if (port->pd == NULL)
			continue;
		errno = EIO;
		port->mr = ibv_reg_mr(port->pd, memory, FC_MEMORY_BYTES,
				      IBV_ACCESS_LOCAL_WRITE);
		if (port->mr == NULL)
			return fc_port_fail(fc, port, "memory region", errno);
	}
	return 0;
}

void
fc_port_close(struct fc_port *port)
{
	if (port->mr != NULL)
		ibv_dereg_mr(port->mr);
	if (port->parent != NULL)
		ibv_dealloc_pd(port->parent);
	if (port->pd != NULL)
		ibv_dealloc_pd(port->pd);
	if (port->ctx != NULL)
		ibv_close_device(port->ctx);
	memset(port, 0, sizeof(*port));
}
