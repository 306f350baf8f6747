/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_devargs.h>
#include <rte_kvargs.h>

#include "mana_devargs.h"
#include "mana_log.h"

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Six pairs of digits and five colons: nothing else is a MAC address here. */
static int
mac_parse(const char *text, struct rte_ether_addr *mac)
{
	unsigned int i;

	if (text == NULL || strlen(text) != RTE_ETHER_ADDR_FMT_SIZE - 1)
		return -EINVAL;
	for (i = 0; i < RTE_ETHER_ADDR_LEN; i++, text += 3) {
		int high = hex_digit(text[0]);
		int low = hex_digit(text[1]);

		if (high < 0 || low < 0 ||
		    text[2] != (i + 1 < RTE_ETHER_ADDR_LEN ? ':' : '\0'))
			return -EINVAL;
		mac->addr_bytes[i] = high << 4 | low;
	}
	return 0;
}

static int
mac_add(struct mana_devargs *devargs, const char *text)
{
	struct rte_ether_addr mac;
	unsigned int i;

	if (mac_parse(text, &mac) != 0) {
		MANA_INIT_LOG(ERR,
			      "%s=%s: not a MAC address; give six pairs of hexadecimal digits, as in %s=00:0d:3a:00:00:01",
			      MANA_DEVARG_MAC, text != NULL ? text : "",
			      MANA_DEVARG_MAC);
		return -EINVAL;
	}
	if (!rte_is_valid_assigned_ether_addr(&mac)) {
		MANA_INIT_LOG(ERR, "%s=%s: no port has this address, it is %s",
			      MANA_DEVARG_MAC, text,
			      rte_is_zero_ether_addr(&mac) ? "zero" :
							     "a multicast one");
		return -EINVAL;
	}
	for (i = 0; i < devargs->nb_macs; i++) {
		if (rte_is_same_ether_addr(&devargs->macs[i], &mac)) {
			MANA_INIT_LOG(ERR, "%s=%s is given twice",
				      MANA_DEVARG_MAC, text);
			return -EINVAL;
		}
	}
	if (devargs->nb_macs == MANA_DEVARGS_MAX_MACS) {
		MANA_INIT_LOG(ERR,
			      "%s=%s: more than %d addresses; leave %s= out to use all ports of the function",
			      MANA_DEVARG_MAC, text, MANA_DEVARGS_MAX_MACS,
			      MANA_DEVARG_MAC);
		return -E2BIG;
	}
	devargs->macs[devargs->nb_macs++] = mac;
	return 0;
}

static int
pair_parse(const char *key, const char *value, struct mana_devargs *devargs)
{
	if (strcmp(key, MANA_DEVARG_MAC) == 0)
		return mac_add(devargs, value);
	/* EAL's own, when the device is named as "class=eth,driver=...". */
	if (strcmp(key, RTE_DEVARGS_KEY_CLASS) == 0 ||
	    strcmp(key, RTE_DEVARGS_KEY_DRIVER) == 0)
		return 0;
	MANA_INIT_LOG(ERR, "unknown device argument '%s'; known: %s=<address>",
		      key, MANA_DEVARG_MAC);
	return -EINVAL;
}

int
mana_devargs_parse(const char *args, struct mana_devargs *devargs)
{
	struct rte_kvargs *pairs;
	unsigned int i;
	int ret = 0;

	memset(devargs, 0, sizeof(*devargs));
	if (args == NULL || *args == '\0')
		return 0;
	pairs = rte_kvargs_parse(args, NULL);
	if (pairs == NULL) {
		MANA_INIT_LOG(ERR,
			      "malformed device arguments '%s'; expected %s=<address>[,%s=<address>...]",
			      args, MANA_DEVARG_MAC, MANA_DEVARG_MAC);
		return -EINVAL;
	}
	for (i = 0; i < pairs->count && ret == 0; i++)
		ret = pair_parse(pairs->pairs[i].key, pairs->pairs[i].value,
				 devargs);
	rte_kvargs_free(pairs);
	return ret;
}
