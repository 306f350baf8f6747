/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Walks the kernel's interface for MANA, with right and wrong arguments, and
 * writes down every answer as text: one line for each step. Values that a
 * kernel chooses (handles, keys, names, addresses) are replaced, so diff(1)
 * compares two kernels, or a kernel and its model.
 *
 * It needs nothing but the C library, so it also runs in a small initramfs.
 */

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "walk.h"

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	/* Before the netdevs were ever up. */
	{ "rtnetlink", walk_rtnetlink },
	{ "sysfs", walk_sysfs },
	{ "netdev", walk_netdev },
	{ "rdma-netlink", walk_rdma_netlink },
	{ "envelope", walk_envelope },
	{ "query", walk_query },
	{ "memory", walk_memory },
	{ "queues", walk_queues },
	{ "qp", walk_qp },
	{ "rss", walk_rss },
	{ "files", walk_files },
	/* These need run-walk.py. */
	{ "link", walk_link },
	{ "reset", walk_reset },
};
#define NB_PARTS (sizeof(parts) / sizeof(parts[0]))

static const char usage[] =
	"usage: mana-kernel-walk [--settle MS] [PART...]\n"
	"\n"
	"Calls the kernel's interface for a MANA adapter and prints each answer.\n"
	"It walks the first RDMA device for raw queue pairs. Its netdevs must be\n"
	"down, and nothing else may use the ports. The walk sets them up and down.\n"
	"It needs root, or CAP_NET_RAW, CAP_NET_ADMIN and CAP_SETUID.\n"
	"\n"
	"  --settle MS  wait so long for further events (default 1500)\n"
	"  --ctl        also run link and reset, for which run-walk.py runs\n"
	"               commands of mana-model\n"
	"\n"
	"Parts (default: all but link and reset):";

static void
print_usage(FILE *file)
{
	fputs(usage, file);
	for (size_t i = 0; i < NB_PARTS; i++)
		fprintf(file, " %s", parts[i].name);
	fputc('\n', file);
}

static const struct part *
find_part(const char *name)
{
	for (size_t i = 0; i < NB_PARTS; i++)
		if (strcmp(parts[i].name, name) == 0)
			return &parts[i];
	fprintf(stderr, "mana-kernel-walk: no part \"%s\"\n", name);
	print_usage(stderr);
	exit(2);
}

int
main(int argc, char *argv[])
{
	static const struct option options[] = {
		{ "settle", required_argument, NULL, 's' },
		{ "ctl", no_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct utsname system;
	bool has_ctl = false;
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'h') {
			print_usage(stdout);
			return 0;
		}
		if (option == 'c') {
			has_ctl = true;
			continue;
		}
		if (option != 's') {
			print_usage(stderr);
			return 2;
		}
		walk_settle_ms = atoi(optarg);
	}
	for (int i = optind; i < argc; i++)
		find_part(argv[i]);
	/* A line is written whole, also if the kernel dies at the next step. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	walk_find_device();
	walk_map_memory();
	uname(&system);
	printf("# %s %s\n", system.sysname, system.release);
	for (size_t i = 0; i < NB_PARTS && optind == argc; i++)
		if (has_ctl ||
		    (parts[i].run != walk_link && parts[i].run != walk_reset))
			parts[i].run();
	for (int i = optind; i < argc; i++)
		find_part(argv[i])->run();
	return 0;
}
