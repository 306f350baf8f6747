/* SPDX-License-Identifier: BSD-3-Clause */

#include <linux/pci_regs.h>
#include <string.h>

#include "config.h"
#include "config_space.h"
#include "dma.h"
#include "hw.h"
#include "msix.h"

#define CLASS_ETHERNET 0x020000u

/* The capabilities: PCI Express version 2, then MSI-X. */
#define EXPRESS		0x40u
#define EXPRESS_VERSION 2u /* a type 0 endpoint */
#define MSIX		0x80u
#define BAR4_OF_TABLE	4u /* "BIR" */
#define LINK_2_5GT_BY_1 0x11u

struct config_space {
	uint8_t bytes[CONFIG_SPACE_BYTES];
	uint8_t writable[CONFIG_SPACE_BYTES]; /* bits */
};

static struct config_space functions[MODEL_MAX_FUNCTIONS];

static uint32_t
get16(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8;
}

/* A 64-bit BAR, whose size is a power of two. */
static void
put_bar(struct config_space *c, uint32_t bar, uint32_t size_bytes)
{
	const uint32_t at = PCI_BASE_ADDRESS_0 + bar * 4;

	hw_put_le32(c->bytes + at, PCI_BASE_ADDRESS_SPACE_MEMORY |
					   PCI_BASE_ADDRESS_MEM_TYPE_64);
	hw_put_le32(c->writable + at, ~(size_bytes - 1));
	hw_put_le32(c->writable + at + 4, UINT32_MAX);
}

static void
put_header(struct config_space *c)
{
	hw_put_le16(c->bytes + PCI_VENDOR_ID, MODEL_PCI_VENDOR);
	hw_put_le16(c->bytes + PCI_DEVICE_ID, MODEL_PCI_VF);
	hw_put_le16(c->writable + PCI_COMMAND,
		    PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY |
			    PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE);
	hw_put_le16(c->bytes + PCI_STATUS, PCI_STATUS_CAP_LIST);
	hw_put_le32(c->bytes + PCI_CLASS_REVISION, CLASS_ETHERNET << 8);
	c->writable[PCI_CACHE_LINE_SIZE] = 0xff;
	put_bar(c, 0, CONFIG_BAR0_BYTES);
	put_bar(c, 4, MSIX_BAR_BYTES);
	/* ASSUMED: the ids of the subsystem are those of the device. */
	hw_put_le16(c->bytes + PCI_SUBSYSTEM_VENDOR_ID, MODEL_PCI_VENDOR);
	hw_put_le16(c->bytes + PCI_SUBSYSTEM_ID, MODEL_PCI_VF);
	c->bytes[PCI_CAPABILITY_LIST] = EXPRESS;
	/* The interrupt pin is 0: none. */
	c->writable[PCI_INTERRUPT_LINE] = 0xff;
}

static void
put_express(uint8_t *bytes, uint8_t *writable)
{
	bytes[PCI_CAP_LIST_ID] = PCI_CAP_ID_EXP;
	bytes[PCI_CAP_LIST_NEXT] = MSIX;
	hw_put_le16(bytes + PCI_EXP_FLAGS, EXPRESS_VERSION);
	hw_put_le32(bytes + PCI_EXP_DEVCAP,
		    PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR);
	/* The reset bit is not kept: it always reads as 0. */
	hw_put_le16(writable + PCI_EXP_DEVCTL,
		    0xffffu & ~(uint32_t)PCI_EXP_DEVCTL_BCR_FLR);
	hw_put_le32(bytes + PCI_EXP_LNKCAP, LINK_2_5GT_BY_1);
	hw_put_le16(bytes + PCI_EXP_LNKSTA, LINK_2_5GT_BY_1);
}

static void
put_msix(uint8_t *bytes, uint8_t *writable)
{
	bytes[PCI_CAP_LIST_ID] = PCI_CAP_ID_MSIX;
	hw_put_le16(bytes + PCI_MSIX_FLAGS, MSIX_NB_VECTORS - 1);
	hw_put_le16(writable + PCI_MSIX_FLAGS,
		    PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	hw_put_le32(bytes + PCI_MSIX_TABLE, MSIX_TABLE_OFFSET | BAR4_OF_TABLE);
	hw_put_le32(bytes + PCI_MSIX_PBA, MSIX_PBA_OFFSET | BAR4_OF_TABLE);
}

/* Tell the other parts of the function what the guest has set. */
static void
apply(uint32_t fn)
{
	const uint8_t *bytes = functions[fn].bytes;
	const uint32_t control = get16(bytes + MSIX + PCI_MSIX_FLAGS);

	dma_enable(fn, (get16(bytes + PCI_COMMAND) & PCI_COMMAND_MASTER) != 0);
	msix_control(fn, (control & PCI_MSIX_FLAGS_ENABLE) != 0,
		     (control & PCI_MSIX_FLAGS_MASKALL) != 0);
}

void
config_space_reset(uint32_t fn)
{
	struct config_space *c = &functions[fn];

	memset(c, 0, sizeof(*c));
	put_header(c);
	put_express(c->bytes + EXPRESS, c->writable + EXPRESS);
	put_msix(c->bytes + MSIX, c->writable + MSIX);
	apply(fn);
}

void
config_space_read(uint32_t fn, uint64_t offset, uint8_t *buf, size_t nb_bytes)
{
	memcpy(buf, functions[fn].bytes + offset, nb_bytes);
}

bool
config_space_write(uint32_t fn, uint64_t offset, const uint8_t *buf,
		   size_t nb_bytes)
{
	const uint64_t reset_byte = EXPRESS + PCI_EXP_DEVCTL + 1;
	struct config_space *c = &functions[fn];

	for (size_t i = 0; i < nb_bytes; i++) {
		const uint64_t at = offset + i;

		c->bytes[at] = (uint8_t)((c->bytes[at] & ~c->writable[at]) |
					 (buf[i] & c->writable[at]));
	}
	apply(fn);
	return offset <= reset_byte && reset_byte - offset < nb_bytes &&
	       (buf[reset_byte - offset] & PCI_EXP_DEVCTL_BCR_FLR >> 8) != 0;
}
