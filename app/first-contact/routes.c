/* SPDX-License-Identifier: BSD-3-Clause */

/* The default route of the machine: the ports behind it are left alone. */

#include <net/if.h>
#include <net/route.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "first_contact.h"

/* Whether a netdev has the address of the port, as its master has. */
static bool
has_address(const char *netdev, const uint8_t mac[FC_MAC_BYTES])
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "" };
	bool is_same;

	if (fd < 0)
		return false;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", netdev);
	is_same = ioctl(fd, SIOCGIFHWADDR, &request) == 0 &&
		  memcmp(request.ifr_hwaddr.sa_data, mac, FC_MAC_BYTES) == 0;
	close(fd);
	return is_same;
}

static bool
is_of_port(const char *netdev, const struct fc_port *port)
{
	return strcmp(netdev, port->netdev) == 0 || has_address(netdev, port->mac);
}

/* The netdev of a line of /proc/net/route, if it is a default route. */
static bool
read_ipv4(const char *line, char netdev[IFNAMSIZ])
{
	unsigned int destination, flags, mask;

	return sscanf(line, "%15s %x %*x %x %*d %*d %*d %x", netdev, &destination,
		      &flags, &mask) == 4 &&
	       destination == 0 && mask == 0 && (flags & RTF_UP) != 0;
}

/* The same of /proc/net/ipv6_route. */
static bool
read_ipv6(const char *line, char netdev[IFNAMSIZ])
{
	unsigned int prefix_bits, flags;
	char destination[33];

	return sscanf(line, "%32s %x %*s %*x %*s %*x %*x %*x %x %15s", destination,
		      &prefix_bits, &flags, netdev) == 4 &&
	       prefix_bits == 0 && strspn(destination, "0") == 32 &&
	       (flags & RTF_REJECT) == 0;
}

static bool
search(const char *path, bool (*read)(const char *line, char netdev[IFNAMSIZ]),
       const struct fc_port *port, char netdev[IFNAMSIZ])
{
	bool is_found = false;
	char line[256];
	FILE *file = fopen(path, "re");

	if (file == NULL)
		return false;
	while (!is_found && fgets(line, sizeof(line), file) != NULL)
		is_found = read(line, netdev) && is_of_port(netdev, port);
	fclose(file);
	return is_found;
}

const char *
fc_port_default_route(const struct fc_port *port)
{
	static char netdev[IFNAMSIZ];

	return search("/proc/net/route", read_ipv4, port, netdev) ||
			       search("/proc/net/ipv6_route", read_ipv6, port, netdev) ?
		       netdev : "";
}
