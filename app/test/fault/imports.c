/* SPDX-License-Identifier: BSD-3-Clause */

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_interrupts.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "imports.h"

#if defined(__x86_64__)
#define IS_IMPORT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_IMPORT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#endif

static unsigned int left; /* 0: not armed */
static unsigned int nb_hits;

static bool
strikes(void)
{
	if (left == 0 || --left != 0)
		return false;
	nb_hits++;
	errno = ENOMEM;
	rte_errno = ENOMEM;
	return true;
}

void
imports_arm(unsigned int nth)
{
	nb_hits = 0;
	left = nth;
}

void
imports_disarm(void)
{
	left = 0;
}

unsigned int
imports_hits(void)
{
	return nb_hits;
}

static void *
hook_malloc(size_t size)
{
	return strikes() ? NULL : malloc(size);
}

static void *
hook_calloc(size_t nb, size_t size)
{
	return strikes() ? NULL : calloc(nb, size);
}

static void *
hook_realloc(void *old, size_t size)
{
	return strikes() ? NULL : realloc(old, size);
}

static void *
hook_zmalloc(const char *type, size_t size, unsigned int align)
{
	return strikes() ? NULL : rte_zmalloc(type, size, align);
}

static void *
hook_zmalloc_socket(const char *type, size_t size, unsigned int align, int socket)
{
	return strikes() ? NULL : rte_zmalloc_socket(type, size, align, socket);
}

static struct rte_mempool *
hook_pool_create(const char *name, unsigned int n, unsigned int cache,
		 uint16_t priv, uint16_t room, int socket)
{
	return strikes() ? NULL :
		rte_pktmbuf_pool_create(name, n, cache, priv, room, socket);
}

static struct rte_intr_handle *
hook_intr_alloc(uint32_t flags)
{
	return strikes() ? NULL : rte_intr_instance_alloc(flags);
}

static int
hook_intr_register(const struct rte_intr_handle *handle, rte_intr_callback_fn cb,
		   void *arg)
{
	return strikes() ? -ENOMEM : rte_intr_callback_register(handle, cb, arg);
}

static int
hook_socket(int domain, int type, int protocol)
{
	return strikes() ? -1 : socket(domain, type, protocol);
}

#define HOOK(name, function) { name, (uintptr_t)(function) }

static const struct {
	const char *name;
	uintptr_t function;
} hooks[] = {
	HOOK("malloc", hook_malloc),
	HOOK("calloc", hook_calloc),
	HOOK("realloc", hook_realloc),
	HOOK("rte_zmalloc", hook_zmalloc),
	HOOK("rte_zmalloc_socket", hook_zmalloc_socket),
	HOOK("rte_pktmbuf_pool_create", hook_pool_create),
	HOOK("socket", hook_socket),
	HOOK("rte_intr_instance_alloc", hook_intr_alloc),
	HOOK("rte_intr_callback_register", hook_intr_register),
};

/* Read-only after relocation: open the page for the moment. */
static int
replace(uintptr_t *slot, uintptr_t function)
{
	uintptr_t page_bytes = sysconf(_SC_PAGESIZE);
	void *page = (void *)((uintptr_t)slot & ~(page_bytes - 1));

	if (mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0)
		return -errno;
	*slot = function;
	return mprotect(page, page_bytes, PROT_READ) == 0 ? 0 : -errno;
}

static int
hook_table(const struct link_map *map, const ElfW(Rela) *rela, size_t nb,
	   const ElfW(Sym) *symbols, const char *strings)
{
	int nb_found = 0;

	for (size_t i = 0; i < nb; i++) {
		const char *name = strings + symbols[ELF64_R_SYM(rela[i].r_info)].st_name;

		if (!IS_IMPORT(ELF64_R_TYPE(rela[i].r_info)))
			continue;
		for (size_t h = 0; h < RTE_DIM(hooks); h++) {
			int ret;

			if (strcmp(name, hooks[h].name) != 0)
				continue;
			ret = replace((uintptr_t *)(map->l_addr + rela[i].r_offset),
				      hooks[h].function);
			if (ret != 0)
				return ret;
			nb_found++;
		}
	}
	return nb_found;
}

int
imports_hook(const char *library)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
	const ElfW(Rela) *plt = NULL, *rela = NULL;
	const ElfW(Sym) *symbols = NULL;
	const char *strings = NULL;
	size_t plt_bytes = 0, rela_bytes = 0;
	struct link_map *map;
	int ret, nb_found;

	if (handle == NULL || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
		return -ENOENT;
	for (const ElfW(Dyn) *dyn = map->l_ld; dyn->d_tag != DT_NULL; dyn++) {
		const void *at = (const void *)dyn->d_un.d_ptr;

		switch (dyn->d_tag) {
		case DT_JMPREL:
			plt = at;
			break;
		case DT_PLTRELSZ:
			plt_bytes = dyn->d_un.d_val;
			break;
		case DT_RELA:
			rela = at;
			break;
		case DT_RELASZ:
			rela_bytes = dyn->d_un.d_val;
			break;
		case DT_SYMTAB:
			symbols = at;
			break;
		case DT_STRTAB:
			strings = at;
			break;
		default:
			break;
		}
	}
	ret = hook_table(map, plt, plt_bytes / sizeof(*plt), symbols, strings);
	if (ret < 0)
		return ret;
	nb_found = ret;
	ret = hook_table(map, rela, rela_bytes / sizeof(*rela), symbols, strings);
	return ret < 0 ? ret : nb_found + ret;
}
