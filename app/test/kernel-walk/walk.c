/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "walk.h"

struct walk_device walk_device;
int walk_settle_ms = 1500;
static const char *name;

void
walk_name(const char *new_name)
{
	name = new_name;
}

const char *
walk_errno(int error)
{
	const char *text = strerrorname_np(error);
	static char number[16];

	if (error == 0)
		return "ok";
	if (text != NULL)
		return text;
	snprintf(number, sizeof(number), "errno %d", error);
	return number;
}

void
walk_say(int error, const char *what, const char *format, ...)
{
	va_list args;

	printf("%s: %s -> %s", name, what, walk_errno(error));
	if (error == 0) {
		putchar(' ');
		va_start(args, format);
		vprintf(format, args);
		va_end(args);
	}
	putchar('\n');
}

void
walk_result(int error, const char *what)
{
	printf("%s: %s -> %s\n", name, what, walk_errno(error));
}

void
walk_note(const char *what, const char *format, ...)
{
	va_list args;

	printf("%s: %s -> ", name, what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

const char *
walk_id(uint32_t value)
{
	return value == 0 ? "0" : value == UINT32_MAX ? "none" : "id";
}

/* ---- symbols ---- */

static bool
is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Replace a name where it is a word of its own. */
static void
replace(char *text, size_t text_bytes, const char *old, const char *new)
{
	size_t old_bytes = strlen(old), new_bytes = strlen(new);
	char *at = text;

	if (old_bytes == 0)
		return;
	while ((at = strstr(at, old)) != NULL) {
		if ((at > text && is_word(at[-1])) || is_word(at[old_bytes]) ||
		    strlen(text) + new_bytes >= text_bytes) {
			at += old_bytes;
			continue;
		}
		memmove(at + new_bytes, at + old_bytes,
			strlen(at + old_bytes) + 1);
		memcpy(at, new, new_bytes);
		at += new_bytes;
	}
}

const char *
walk_symbols(const char *text)
{
	static char result[4096];
	char new[32];

	snprintf(result, sizeof(result), "%s", text);
	replace(result, sizeof(result), walk_device.rdma, "RDMA");
	replace(result, sizeof(result), walk_device.uverbs, "UVERBS");
	replace(result, sizeof(result), walk_device.pci, "PCI");
	for (uint32_t p = 0; p < walk_device.nb_ports; p++) {
		snprintf(new, sizeof(new), "NETDEV%u", p + 1);
		replace(result, sizeof(result), walk_device.netdev[p], new);
	}
	return result;
}

/* ---- memory ---- */

static void
map(uint64_t address, size_t nb_bytes, int prot)
{
	void *where = (void *)(uintptr_t)address;

	if (mmap(where, nb_bytes, prot,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		 0) == where)
		return;
	fprintf(stderr, "cannot map memory at 0x%llx: %s\n",
		(unsigned long long)address, strerror(errno));
	exit(2);
}

void
walk_settle(void)
{
	poll(NULL, 0, walk_settle_ms);
}

void
walk_map_memory(void)
{
	map(WALK_RAM, WALK_RAM_BYTES, PROT_READ | PROT_WRITE);
	map(WALK_READ_ONLY, WALK_AREA_BYTES, PROT_READ);
	map(WALK_NO_ACCESS, WALK_AREA_BYTES, PROT_NONE);
}

void
walk_apply(const struct walk_variant *variant, void *request)
{
	const struct walk_change *change;

	for (change = variant->change; change->nb_bytes != 0; change++)
		memcpy((char *)request + change->offset, &change->value,
		       change->nb_bytes);
}

/* ---- the function under test ---- */

static bool
read_line(const char *path, char *line, size_t line_bytes)
{
	FILE *file = fopen(path, "re");
	bool is_read;

	if (file == NULL)
		return false;
	is_read = fgets(line, (int)line_bytes, file) != NULL;
	fclose(file);
	if (is_read)
		line[strcspn(line, "\n")] = '\0';
	return is_read;
}

/* Whether an entry of class/infiniband is the one to walk. */
static void
consider(const char *entry)
{
	/* manae_N is the Ethernet device beside mana_N, the RNIC's. */
	bool is_ethernet = strncmp(entry, "manae_", 6) == 0;

	if (!is_ethernet && strncmp(entry, "mana_", 5) != 0)
		return;
	if (walk_device.rdma[0] != '\0' &&
	    (!is_ethernet || strncmp(walk_device.rdma, "manae_", 6) == 0) &&
	    strcmp(entry, walk_device.rdma) > 0)
		return;
	snprintf(walk_device.rdma, sizeof(walk_device.rdma), "%.60s", entry);
}

static void
for_each_entry(const char *path, void (*visit)(const char *entry))
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			visit(entry->d_name);
	closedir(dir);
}

static void
consider_node(const char *entry)
{
	char path[512], device[64];

	snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/%.60s/ibdev",
		 entry);
	if (read_line(path, device, sizeof(device)) &&
	    strcmp(device, walk_device.rdma) == 0)
		snprintf(walk_device.uverbs, sizeof(walk_device.uverbs),
			 "%.60s", entry);
}

static void
consider_netdev(const char *entry)
{
	char path[512], text[64];
	unsigned long port;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%.60s/device/net/%.60s/dev_port",
		 walk_device.rdma, entry);
	if (!read_line(path, text, sizeof(text)))
		return;
	port = strtoul(text, NULL, 10);
	if (port >= WALK_MAX_PORTS)
		return;
	snprintf(walk_device.netdev[port], sizeof(walk_device.netdev[port]),
		 "%.60s", entry);
	snprintf(path, sizeof(path), "/sys/class/net/%.60s/ifindex", entry);
	if (read_line(path, text, sizeof(text)))
		walk_device.ifindex[port] = (uint32_t)strtoul(text, NULL, 10);
	if (port >= walk_device.nb_ports)
		walk_device.nb_ports = (uint32_t)port + 1;
}

bool
walk_try_device(void)
{
	char path[512], target[512];
	ssize_t len;

	for_each_entry("/sys/class/infiniband", consider);
	if (walk_device.rdma[0] != '\0')
		for_each_entry("/sys/class/infiniband_verbs", consider_node);
	if (walk_device.uverbs[0] == '\0')
		return false;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device",
		 walk_device.rdma);
	len = readlink(path, target, sizeof(target) - 1);
	if (len > 0) {
		target[len] = '\0';
		snprintf(walk_device.pci, sizeof(walk_device.pci), "%.60s",
			 strrchr(target, '/') == NULL ? target :
							strrchr(target, '/') + 1);
	}
	strcat(path, "/net");
	for_each_entry(path, consider_netdev);
	return true;
}

void
walk_find_device(void)
{
	if (walk_try_device())
		return;
	fprintf(stderr,
		"no RDMA device of MANA with a node in /dev/infiniband: "
		"load mana, mana_ib and ib_uverbs, or start this program with "
		"mana-model\n");
	exit(2);
}

void
walk_ctl(const char *command)
{
	char done[16];

	printf("# ctl %s\n", command);
	if (fgets(done, sizeof(done), stdin) == NULL)
		walk_note(command, "not run");
}
