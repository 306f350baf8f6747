/* SPDX-License-Identifier: BSD-3-Clause */

/* The device arguments: the driver parses them, and checks those of a further probe. */

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_devargs.h>
#include <rte_kvargs.h>
#include <rte_string_fns.h>

#include "mana_ethdev.h"
#include "mana_log.h"
#include "mana_txq.h"

/* The port number of verbs has 8 bits (ibv_query_port). */
#define MAX_PORT 255

/* A decimal number, without sign. */
static bool
number_parse(const char *text, uint32_t min, uint32_t max, uint32_t *number)
{
	size_t len = strspn(text, "0123456789");

	if (len == 0 || len > 6 || text[len] != '\0')
		return false;
	*number = strtoul(text, NULL, 10);
	return *number >= min && *number <= max;
}

/* ---- Ports: a parser returns what is wrong with the text, or NULL -------- */

/* rte_ether_unformat_addr() accepts shorter forms, too. */
static const char *
mac_parse(const char *text, struct mana_select *select)
{
	if (strlen(text) != RTE_ETHER_ADDR_FMT_SIZE - 1 ||
	    strspn(text, "0123456789abcdefABCDEF:") != strlen(text) ||
	    rte_ether_unformat_addr(text, &select->mac) != 0)
		return "not a MAC address; give six pairs of hexadecimal digits, as in mac=00:0d:3a:00:00:01";
	if (!rte_is_valid_assigned_ether_addr(&select->mac))
		return "no port can have this address, it is zero or multicast; `ip link show` lists the ports' addresses";
	return NULL;
}

/* Linux net/core/dev.c dev_valid_name(). */
static const char *
netdev_parse(const char *text, struct mana_select *select)
{
	if (*text == '\0' || strpbrk(text, "/: \t\n\v\f\r") != NULL ||
	    rte_strscpy(select->netdev, text, sizeof(select->netdev)) < 0)
		return "not the name of a netdev, which has 1 to 15 characters and no slash, colon or space; `ip link show` lists the names";
	return NULL;
}

static const char *
port_parse(const char *text, struct mana_select *select)
{
	return number_parse(text, 1, MAX_PORT, &select->port) ? NULL :
		"not the number of a port; the ports of a function count from 1, as in port=1";
}

static const struct selector {
	const char *key;
	const char *(*parse)(const char *text, struct mana_select *select);
} selectors[] = {
	{ "mac", mac_parse },
	{ "netdev", netdev_parse },
	{ "port", port_parse },
};

static int
twice(const char *key, const char *text)
{
	return MANA_INIT_ERR(-EINVAL, "%s=%s is given twice; give it once", key, text);
}

static int
select_add(struct mana_devargs *devargs, const struct selector *selector, const char *text)
{
	const char *key = selector->key;
	struct mana_select select = { 0 };
	const char *wrong = selector->parse(text, &select);

	if (wrong != NULL)
		return MANA_INIT_ERR(-EINVAL, "%s=%s: %s", key, text, wrong);
	if (devargs->key != NULL && devargs->key != key)
		return MANA_INIT_ERR(-EINVAL,
				     "%s=%s: ports are already selected by %s=; use one of mac=, netdev= and port=",
				     key, text, devargs->key);
	for (unsigned int i = 0; i < devargs->nb_selects; i++)
		if (memcmp(&devargs->selects[i], &select, offsetof(struct mana_select, text)) == 0)
			return twice(key, text);
	if (devargs->nb_selects == MANA_DEVARGS_MAX_SELECTS)
		return MANA_INIT_ERR(-E2BIG,
				     "%s=%s: more than %d; remove %s= to use all ports of the function",
				     key, text, MANA_DEVARGS_MAX_SELECTS, key);
	snprintf(select.text, sizeof(select.text), "%s=%s", key, text);
	devargs->key = key;
	devargs->selects[devargs->nb_selects++] = select;
	return 0;
}

/* ---- Options --------------------------------------------------------------- */

static const struct option {
	const char *key;
	uint16_t offset; /* in struct mana_options */
	bool is_power; /* a number that is a power of two */
	bool is_removed; /* of the release before: has no effect but a warning */
	uint32_t min, max; /* of a number; 0: the index of one of the words */
	const char *words[4]; /* the value of each is its index */
	const char *advice;
} options[] = {
#define MEMBER(member) offsetof(struct mana_options, member)
#define FLAG(name) \
	{ #name, MEMBER(name), .words = { "0", "1" }, .advice = "give 0 or 1" }
#define REMOVED(name, instead) { name, .is_removed = true, .advice = (instead) }
	FLAG(netdev_down),
	{ "tx_suppress", MEMBER(tx.suppress), .words = { "0", "1" }, .advice = "give 0 or 1" },
	FLAG(rx_intr),
	FLAG(rx_scrub),
	{ "tx_oob", MEMBER(tx.form),
	  .words = { [MANA_TX_FORM_SHORT] = "short", [MANA_TX_FORM_LONG] = "long" },
	  .advice = "give short or long; remove the argument to let the driver find out" },
	{ "tx_vport", MEMBER(tx.vport),
	  .words = { [MANA_TX_VPORT_BOTH] = "both", [MANA_TX_VPORT_SHORT] = "short",
		     [MANA_TX_VPORT_LONG] = "long" },
	  .advice = "give both, short or long" },
	{ "max_desc", MEMBER(max_desc), .is_power = true, .min = 64, .max = 2048,
	  .advice = "give a power of two from 64 to 2048" },
	{ "hw_rxq", MEMBER(hw_rxq), .is_power = true, .min = 1,
	  .max = MANA_MAX_QUEUES, .advice = "give a power of two from 1 to 64" },
	{ "recovery_timeout", MEMBER(recovery_timeout), .max = 3600,
	  .advice = "give seconds from 0 (no recovery) to 3600" },
	{ "max_send_sge", MEMBER(max_send_sge), .min = 3,
	  .max = GDMA_SQ_WQE_MAX_SGE, .advice = "give a number from 3 to 30" },
	REMOVED("foreign_mem", "memory that DPDK does not manage is registered, with a notice"),
	REMOVED("netdev_mtu", "set the netdev's MTU with `ip link set dev <netdev> mtu <mtu>` while no program uses the port"),
	REMOVED("promisc", "promiscuous and all-multicast mode are accepted, they are always on"),
	REMOVED("rx_path", "limit the vectors by EAL's --force-max-simd-bitwidth=64, =128 or =256"),
	REMOVED("tx_outer", "compute the checksums of tunnels in the application"),
	REMOVED("tx_path", "there is one Tx burst function"),
};

static bool
option_parse(const struct option *option, const char *text, uint32_t *value)
{
	if (option->max != 0)
		return number_parse(text, option->min, option->max, value) &&
		       (!option->is_power || rte_is_power_of_2(*value));
	for (*value = 0; *value < RTE_DIM(option->words); (*value)++)
		if (option->words[*value] != NULL && strcmp(option->words[*value], text) == 0)
			return true;
	return false;
}

static int
option_take(struct mana_options *to, const struct option *option, const char *text)
{
	uint32_t value;

	if (option->is_removed) {
		MANA_INIT_LOG(WARNING,
			      "%s=%s has no effect, this device argument was removed: %s",
			      option->key, text, option->advice);
		return 0;
	}
	if (!option_parse(option, text, &value))
		return MANA_INIT_ERR(-EINVAL, "%s=%s: %s", option->key, text, option->advice);
	memcpy((uint8_t *)to + option->offset, &value, sizeof(value));
	return 0;
}

/* ---- Pairs ------------------------------------------------------------------- */

static int
pair_take(const struct rte_kvargs *pairs, unsigned int at, struct mana_devargs *devargs)
{
	const char *key = pairs->pairs[at].key, *value = pairs->pairs[at].value;
	const char *text = value != NULL ? value : ""; /* NULL: a key alone */

	for (unsigned int i = 0; i < RTE_DIM(selectors); i++)
		if (strcmp(key, selectors[i].key) == 0)
			return select_add(devargs, &selectors[i], text);
	for (unsigned int i = 0; i < at; i++)
		if (strcmp(pairs->pairs[i].key, key) == 0)
			return twice(key, text);
	for (unsigned int i = 0; i < RTE_DIM(options); i++)
		if (strcmp(key, options[i].key) == 0)
			return option_take(&devargs->options, &options[i], text);
	/* EAL's own keys come with "class=eth,driver=net_mana". */
	if (strcmp(key, RTE_DEVARGS_KEY_CLASS) == 0 || strcmp(key, RTE_DEVARGS_KEY_DRIVER) == 0)
		return 0;
	return MANA_INIT_ERR(-EINVAL, "unknown device argument '%s'; known: %s", key,
			     MANA_DEVARGS_HELP);
}

int
mana_devargs_parse(const char *args, struct mana_devargs *devargs)
{
	memset(devargs, 0, sizeof(*devargs));
	devargs->options.tx.suppress = true;
	devargs->options.rx_intr = true;
	devargs->options.recovery_timeout = MANA_RECOVERY_TIMEOUT_S;
	devargs->options.max_send_sge = GDMA_SQ_WQE_MAX_SGE;
	return mana_devargs_add(args, devargs);
}

int
mana_devargs_add(const char *args, struct mana_devargs *devargs)
{
	struct rte_kvargs *pairs;
	int ret = 0;

	if (args == NULL || *args == '\0')
		return 0;
	pairs = rte_kvargs_parse(args, NULL);
	if (pairs == NULL)
		return MANA_INIT_ERR(-EINVAL,
				     "malformed device arguments '%s'; expected <key>=<value>[,<key>=<value>...] of %s",
				     args, MANA_DEVARGS_HELP);
	for (unsigned int i = 0; i < pairs->count && ret == 0; i++)
		ret = pair_take(pairs, i, devargs);
	rte_kvargs_free(pairs);
	return ret;
}
