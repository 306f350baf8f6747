/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One access to a real doorbell page that is no valid doorbell, chosen by name.
 * It uses a second mapping of the context, as a secondary process does.
 *
 * usage: bad_doorbell narrow|wide|load|modify|string|offset|good
 */

#include <infiniband/verbs.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static volatile char *page;

static void
narrow(void)
{
	*(volatile uint16_t *)page = 1;
}

static void
wide(void)
{
	__asm__ volatile("movups %%xmm0, (%0)" : : "r"(page) : "memory");
}

static void
load(void)
{
	(void)*(volatile uint64_t *)page;
}

static void
modify(void)
{
	__atomic_fetch_or((uint64_t *)(uintptr_t)page, 1, __ATOMIC_RELAXED);
}

static void
string(void)
{
	volatile char *at = page;

	__asm__ volatile("stosq" : "+D"(at) : "a"(1) : "memory");
}

static void
offset(void)
{
	*(volatile uint64_t *)(page + 0x20) = 1;
}

/* No access: map and unmap only. */
static void
good(void)
{
}

static const struct {
	const char *name;
	void (*act)(void);
} acts[] = {
	{"narrow", narrow}, {"wide", wide},	{"load", load},
	{"modify", modify}, {"string", string}, {"offset", offset},
	{"good", good},
};

int
main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;
	void *addr;

	if (argc != 2 || list == NULL || list[0] == NULL)
		return 2;
	ctx = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	if (ctx == NULL)
		return 2;
	addr = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, ctx->cmd_fd, 0);
	if (addr == MAP_FAILED)
		return 2;
	page = addr;
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		if (strcmp(acts[i].name, argv[1]) == 0)
			acts[i].act();
	if (munmap(addr, 4096) != 0 || ibv_close_device(ctx) != 0)
		return 1;
	return 0;
}
