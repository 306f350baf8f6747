/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_devargs.h>
#include <rte_kvargs.h>
#include <rte_string_fns.h>

#include "mana_devargs.h"
#include "mana_log.h"
#include "mana_path.h"

/* The port number of verbs has 8 bits (ibv_query_port). */
#define MAX_PORT 255

/* The names of enum mana_select_by. */
static const char *const select_keys[] = {
	[MANA_SELECT_ALL] = NULL,
	[MANA_SELECT_MAC] = MANA_DEVARG_MAC,
	[MANA_SELECT_NETDEV] = MANA_DEVARG_NETDEV,
	[MANA_SELECT_PORT] = MANA_DEVARG_PORT,
};

/* ---- Values: what is wrong with a text, or NULL ---------------------------- */

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Six pairs of digits and five colons: nothing else is a MAC address here. */
static const char *
mac_parse(const char *text, struct mana_select *select)
{
	static const char wrong[] =
		"not a MAC address; give six pairs of hexadecimal digits, as in mac=00:0d:3a:00:00:01";
	unsigned int i;

	if (strlen(text) != RTE_ETHER_ADDR_FMT_SIZE - 1)
		return wrong;
	for (i = 0; i < RTE_ETHER_ADDR_LEN; i++, text += 3) {
		int high = hex_digit(text[0]);
		int low = hex_digit(text[1]);

		if (high < 0 || low < 0 ||
		    text[2] != (i + 1 < RTE_ETHER_ADDR_LEN ? ':' : '\0'))
			return wrong;
		select->mac.addr_bytes[i] = high << 4 | low;
	}
	if (rte_is_zero_ether_addr(&select->mac))
		return "no port has this address, it is zero; `ip link show` tells the ports' addresses";
	if (rte_is_multicast_ether_addr(&select->mac))
		return "no port has this address, it is a multicast one; `ip link show` tells the ports' addresses";
	return NULL;
}

/* Linux net/core/dev.c dev_valid_name(). */
static const char *
netdev_parse(const char *text, struct mana_select *select)
{
	const char *c;

	if (*text == '\0' ||
	    rte_strscpy(select->netdev, text, sizeof(select->netdev)) < 0)
		return "not the name of an interface, which has 1 to 15 characters; `ip link show` tells the names";
	for (c = text; *c != '\0'; c++)
		if (*c == '/' || *c == ':' || isspace((unsigned char)*c))
			return "not the name of an interface, which has no slash, colon or space; `ip link show` tells the names";
	return NULL;
}

static const char *
port_parse(const char *text, struct mana_select *select)
{
	const char *c;

	for (c = text; isdigit((unsigned char)*c); c++)
		;
	if (*text != '\0' && *c == '\0' && c - text <= 3)
		select->port = strtoul(text, NULL, 10);
	if (select->port == 0 || select->port > MAX_PORT)
		return "not the number of a port; the ports of a function count from 1, as in port=1";
	return NULL;
}

static const char *
flag_parse(const char *text, bool *flag)
{
	if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
		return "give 0 or 1";
	*flag = *text == '1';
	return NULL;
}

/*
 * A burst function that this build and this processor have. Says what is wrong
 * itself: who forces one wants to know which there are.
 */
static int
path_parse(const char *key, const char *text, const struct mana_path *paths,
	   uint32_t nb_paths, const char **chosen)
{
	const struct mana_path *path = mana_path_of_key(paths, nb_paths, text);
	char keys[64];

	if (path != NULL && mana_path_is_allowed(path)) {
		*chosen = path->key;
		return 0;
	}
	mana_path_keys(paths, nb_paths, keys, sizeof(keys));
	MANA_INIT_LOG(ERR, "%s=%s: %s; give one of %s, or leave it out", key,
		      text,
		      path == NULL ?
			      "this build has no such burst function" :
			      "the processor has no such vectors, or --force-max-simd-bitwidth forbids them",
		      keys);
	return -EINVAL;
}

/* ---- Ports ------------------------------------------------------------------ */

static bool
is_same_select(const struct mana_select *a, const struct mana_select *b)
{
	return rte_is_same_ether_addr(&a->mac, &b->mac) &&
	       strcmp(a->netdev, b->netdev) == 0 && a->port == b->port;
}

static int
select_add(struct mana_devargs *devargs, enum mana_select_by by,
	   const char *text, const struct mana_select *select)
{
	const char *key = select_keys[by];
	unsigned int i;

	if (devargs->nb_selects != 0 && devargs->select_by != by) {
		MANA_INIT_LOG(ERR,
			      "%s=%s: ports are named by %s= already; name all of them in one way",
			      key, text, select_keys[devargs->select_by]);
		return -EINVAL;
	}
	for (i = 0; i < devargs->nb_selects; i++) {
		if (is_same_select(&devargs->selects[i], select)) {
			MANA_INIT_LOG(ERR, "%s=%s is given twice; give it once",
				      key, text);
			return -EINVAL;
		}
	}
	if (devargs->nb_selects == MANA_DEVARGS_MAX_SELECTS) {
		MANA_INIT_LOG(ERR,
			      "%s=%s: more than %d; leave %s= out to use all ports of the function",
			      key, text, MANA_DEVARGS_MAX_SELECTS, key);
		return -E2BIG;
	}
	devargs->select_by = by;
	devargs->selects[devargs->nb_selects++] = *select;
	return 0;
}

/* ---- Pairs ------------------------------------------------------------------- */

static int
pair_select(struct mana_devargs *devargs, enum mana_select_by by,
	    const char *text)
{
	struct mana_select select = { .port = 0 };
	const char *wrong;

	if (by == MANA_SELECT_MAC)
		wrong = mac_parse(text, &select);
	else if (by == MANA_SELECT_NETDEV)
		wrong = netdev_parse(text, &select);
	else
		wrong = port_parse(text, &select);
	if (wrong != NULL) {
		MANA_INIT_LOG(ERR, "%s=%s: %s", select_keys[by], text, wrong);
		return -EINVAL;
	}
	return select_add(devargs, by, text, &select);
}

/* One that may be given once; the caller has made sure of that. */
static int
pair_option(struct mana_devargs *devargs, const char *key, const char *text)
{
	const char *wrong;

	if (strcmp(key, MANA_DEVARG_NETDEV_DOWN) == 0) {
		wrong = flag_parse(text, &devargs->netdev_down);
	} else if (strcmp(key, MANA_DEVARG_PROMISC) == 0) {
		wrong = strcmp(text, "reject") == 0 ?
				NULL :
				"the one value is reject; leave it out to have promiscuous mode accepted";
		devargs->reject_promisc = true;
	} else if (strcmp(key, MANA_DEVARG_RX_PATH) == 0) {
		return path_parse(key, text, mana_rx_paths, mana_rx_nb_paths,
				  &devargs->rx_path);
	} else if (strcmp(key, MANA_DEVARG_TX_PATH) == 0) {
		return path_parse(key, text, mana_tx_paths, mana_tx_nb_paths,
				  &devargs->tx_path);
	} else if (strcmp(key, RTE_DEVARGS_KEY_CLASS) == 0 ||
		   strcmp(key, RTE_DEVARGS_KEY_DRIVER) == 0) {
		/* EAL's own, when the device is named as "class=eth,...". */
		wrong = NULL;
	} else {
		MANA_INIT_LOG(ERR, "unknown device argument '%s'; known: %s",
			      key, MANA_DEVARGS_HELP);
		return -EINVAL;
	}
	if (wrong != NULL)
		MANA_INIT_LOG(ERR, "%s=%s: %s", key, text, wrong);
	return wrong != NULL ? -EINVAL : 0;
}

static int
pair_parse(const struct rte_kvargs *pairs, unsigned int i,
	   struct mana_devargs *devargs)
{
	const char *key = pairs->pairs[i].key;
	const char *text = pairs->pairs[i].value;
	enum mana_select_by by;
	unsigned int before;

	if (text == NULL) /* a key alone */
		text = "";
	for (by = MANA_SELECT_MAC; by < RTE_DIM(select_keys); by++)
		if (strcmp(key, select_keys[by]) == 0)
			return pair_select(devargs, by, text);
	for (before = 0; before < i; before++) {
		if (strcmp(pairs->pairs[before].key, key) == 0) {
			MANA_INIT_LOG(ERR, "%s=%s is given twice; give it once",
				      key, text);
			return -EINVAL;
		}
	}
	return pair_option(devargs, key, text);
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
			      "malformed device arguments '%s'; expected <key>=<value>[,<key>=<value>...] of %s",
			      args, MANA_DEVARGS_HELP);
		return -EINVAL;
	}
	for (i = 0; i < pairs->count && ret == 0; i++)
		ret = pair_parse(pairs, i, devargs);
	rte_kvargs_free(pairs);
	return ret;
}
