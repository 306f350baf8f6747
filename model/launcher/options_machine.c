/* SPDX-License-Identifier: BSD-3-Clause */

/* The machine: functions, ports, addresses. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "options_parse.h"

static const char *
parse_functions(struct options *options, const char *value)
{
	uint64_t n = 0;
	const char *wrong = options_number(value, 1, MODEL_MAX_FUNCTIONS, &n);

	options->config.nb_functions = (uint32_t)n;
	return wrong;
}

/* One number for all functions, or one each: settled by finish(). */
static const char *
parse_ports(struct options *options, const char *value)
{
	char copy[256], *next = copy, *item;
	uint32_t nb = 0;

	memset(options->config.nb_ports, 0, sizeof(options->config.nb_ports));
	if (strlen(value) >= sizeof(copy))
		return options_explain("the list is too long");
	strcpy(copy, value);
	while ((item = strsep(&next, ",")) != NULL) {
		uint64_t n = 0;
		const char *wrong = options_number(
			item, 1, MODEL_MAX_PORTS_PER_FUNCTION, &n);

		if (wrong != NULL)
			return wrong;
		if (nb == MODEL_MAX_FUNCTIONS)
			return options_explain("at most %d functions",
				       MODEL_MAX_FUNCTIONS);
		options->config.nb_ports[nb++] = (uint32_t)n;
	}
	return NULL;
}

static const char *
parse_mac_base(struct options *options, const char *value)
{
	uint8_t *mac = options->config.mac_base;
	uint8_t any = 0;
	int nb_read = 0;

	if (sscanf(value, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &mac[0],
		   &mac[1], &mac[2], &mac[3], &mac[4], &mac[5], &nb_read) != 6 ||
	    value[nb_read] != '\0' || strlen(value) != 17)
		return options_explain("give six bytes as 00:0d:3a:00:00:01");
	for (size_t i = 0; i < 6; i++)
		any |= mac[i];
	if ((mac[0] & 1) != 0 || any == 0)
		return options_explain("give a unicast address: the first byte is even "
			       "and not all bytes are 0");
	return NULL;
}

static const char *
parse_max_mtu(struct options *options, const char *value)
{
	uint64_t n = 0;
	const char *wrong = options_number(value, OPTIONS_MIN_MTU, OPTIONS_MAX_MTU, &n);

	options->config.max_mtu = (uint32_t)n;
	return wrong;
}

static const char *
parse_vp_offset(struct options *options, const char *value)
{
	uint64_t n = 0;
	const char *wrong = options_number(value, 0, OPTIONS_MAX_VP_OFFSET, &n);

	options->config.vp_offset_base = (uint32_t)n;
	return wrong;
}

static const char *
parse_kernel(struct options *options, const char *value)
{
	static const struct options_choice choices[] = {
		{"7.2", MODEL_KERNEL_7_2},
		{"6.12", MODEL_KERNEL_6_12},
		{"6.2", MODEL_KERNEL_6_2},
		{NULL, 0},
	};
	uint32_t chosen = MODEL_KERNEL_7_2;
	const char *wrong = options_choice(value, choices, &chosen);

	options->config.kernel = (enum model_kernel)chosen;
	return wrong;
}

static const char *
parse_device_id(struct options *options, const char *value)
{
	static const struct options_choice choices[] = {
		{"ba", MODEL_PCI_VF},
		{"b9", MODEL_PCI_PF},
		{"c1", MODEL_PCI_PF2},
		{NULL, 0},
	};
	uint32_t chosen = MODEL_PCI_VF;
	const char *wrong = options_choice(value, choices, &chosen);

	options->config.pci_device = (uint16_t)chosen;
	return wrong;
}

static const char *
parse_rnic(struct options *options, const char *value)
{
	(void)value;
	options->config.rnic = true;
	return NULL;
}

const struct options_row options_machine[] = {
	{"functions", "N", parse_functions,
	 "PCI functions (1): 7870:00:00.0 and on"},
	{"ports", "N[,N..]", parse_ports,
	 "ports of every function, or of each (2)"},
	{"mac-base", "MAC", parse_mac_base,
	 "address of the first port (00:0d:3a:00:00:01); each further port "
	 "has the next one"},
	{"max-mtu", "N", parse_max_mtu, "largest MTU of the ports (1500)"},
	{"vp-offset", "N", parse_vp_offset,
	 "Tx vPort offset of the first port (5)"},
	{"kernel", "7.2", parse_kernel,
	 "what mana and mana_ib of that Linux say and do (default)"},
	{"kernel", "6.12", parse_kernel, "needs --rnic for any RDMA device"},
	{"kernel", "6.2", parse_kernel, "the first one that has mana_ib"},
	{"device-id", "ba", parse_device_id,
	 "PCI device id of the functions: 1414:00ba, the virtual one (default)"},
	{"device-id", "b9", parse_device_id, "1414:00b9, the physical one"},
	{"device-id", "c1", parse_device_id,
	 "1414:00c1, the second physical one; needs --kernel 7.2"},
	{"rnic", NULL, parse_rnic,
	 "the adapter has an RNIC function too; with --kernel 7.2 that is a "
	 "second RDMA device, which makes no raw QPs"},
	{NULL},
};
