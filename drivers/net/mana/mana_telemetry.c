/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a running program tells of its ports: commands of dpdk-telemetry.py.
 * The names are read by programs, doc/guides/nics/mana.rst lists them: add
 * some, but do not change any.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mana.h"
#include "mana_log.h"
#include "mana_registry.h"
#include "mana_telemetry.h"

/* ---- Parameters and errors ----------------------------------------------- */

int
mana_tel_number_take(const char **params, uint64_t *value)
{
	char *end;

	if (*params == NULL || **params < '0' || **params > '9')
		return -EINVAL;
	errno = 0;
	*value = strtoull(*params, &end, 10);
	if (errno != 0 || (*end != '\0' && *end != ','))
		return -EINVAL;
	*params = *end == ',' ? end + 1 : NULL;
	return 0;
}

int
mana_tel_fail(struct rte_tel_data *d, const char *format, ...)
{
	char text[RTE_TEL_MAX_STRING_LEN];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_string(d, "error", text);
	return 0;
}

int
mana_tel_port_take(const char **params, struct rte_tel_data *d, uint64_t *port_id)
{
	if (mana_tel_number_take(params, port_id) == 0)
		return 0;
	mana_tel_fail(d, "give the number of a port; /mana/list has them");
	return -EINVAL;
}

int
mana_tel_fail_port(struct rte_tel_data *d, uint64_t port_id)
{
	return mana_tel_fail(d,
			     "%" PRIu64
			     " is no port of this driver; /mana/list has them",
			     port_id);
}

void
mana_tel_add_hex(struct rte_tel_data *d, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	rte_tel_data_add_dict_string(d, name, text);
}

/* ---- /mana/list ---------------------------------------------------------- */

static int
tel_list(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct mana_priv *priv;

	RTE_SET_USED(cmd);
	RTE_SET_USED(params);
	rte_tel_data_start_array(d, RTE_TEL_INT_VAL);
	mana_registry_lock();
	for (priv = mana_registry_next(0); priv != NULL;
	     priv = mana_registry_next(priv->data->port_id + 1))
		rte_tel_data_add_array_int(d, priv->data->port_id);
	mana_registry_unlock();
	return 0;
}

/* ---- /mana/port ---------------------------------------------------------- */

/* "7870:00:00.0" of "7870:00:00.0_port1". */
static void
add_pci(struct rte_tel_data *d, const char *name)
{
	char pci[RTE_ETH_NAME_MAX_LEN];

	snprintf(pci, sizeof(pci), "%.*s", (int)strcspn(name, "_"), name);
	rte_tel_data_add_dict_string(d, "pci", pci);
}

static void
add_mac(struct rte_tel_data *d, const struct rte_ether_addr *mac)
{
	char text[RTE_ETHER_ADDR_FMT_SIZE];

	rte_ether_format_addr(text, sizeof(text), mac);
	rte_tel_data_add_dict_string(d, "mac", text);
}

static const char *
port_state_name(const struct mana_priv *priv)
{
	if (mana_is_gone(priv))
		return "removed";
	return priv->data->dev_started ? "started" : "stopped";
}

/* The burst function in use; a stopped port has none. */
static void
add_path(struct rte_tel_data *d, const char *name, const struct mana_path *path)
{
	rte_tel_data_add_dict_string(d, name,
				     path != NULL ? path->name : "none");
}

static void
add_port(struct rte_tel_data *d, const struct mana_priv *priv)
{
	const struct rte_eth_dev_data *data = priv->data;
	const struct rte_eth_dev *dev = &rte_eth_devices[data->port_id];

	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_int(d, "port_id", data->port_id);
	rte_tel_data_add_dict_string(d, "name", data->name);
	add_pci(d, data->name);
	rte_tel_data_add_dict_string(d, "rdma_device",
				     mana_verbs_context_name(priv->ctx));
	rte_tel_data_add_dict_int(d, "verbs_port", priv->port);
	add_mac(d, &priv->netdev.mac);
	rte_tel_data_add_dict_string(d, "state", port_state_name(priv));
	rte_tel_data_add_dict_int(d, "nb_rxq", data->nb_rx_queues);
	rte_tel_data_add_dict_int(d, "nb_txq", data->nb_tx_queues);
	rte_tel_data_add_dict_int(d, "mtu", data->mtu);
	rte_tel_data_add_dict_int(d, "max_mtu", priv->max_mtu);
	rte_tel_data_add_dict_int(d, "max_queues", priv->max_queues);
	rte_tel_data_add_dict_int(d, "max_rx_desc", priv->max_rx_desc);
	rte_tel_data_add_dict_int(d, "max_tx_desc", priv->max_tx_desc);
	rte_tel_data_add_dict_int(d, "max_tx_segs", priv->tx_max_sge);
	rte_tel_data_add_dict_int(d, "rss", priv->has_rss);
	add_path(d, "rx_path", mana_rx_path_find(dev->rx_pkt_burst));
	add_path(d, "tx_path", mana_tx_path_find(dev->tx_pkt_burst));
	rte_tel_data_add_dict_int(d, "netdev_taken", priv->is_netdev_taken);
}

/* Asks the kernel: not under the lock. */
static void
add_netdev(struct rte_tel_data *d, const struct mana_netdev *netdev)
{
	struct mana_netdev_state state;
	const char *word = "unknown";
	int ret;

	ret = mana_netdev_state_get(netdev, &state);
	if (ret == 0)
		word = state.is_up ? "up" : "down";
	else if (ret == -ENODEV) /* gone, or in another network namespace */
		word = "absent";
	rte_tel_data_add_dict_string(d, "netdev", state.name);
	rte_tel_data_add_dict_int(d, "netdev_ifindex", netdev->ifindex);
	rte_tel_data_add_dict_string(d, "netdev_state", word);
}

static int
tel_port(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct mana_netdev netdev;
	struct mana_priv *priv;
	uint64_t port_id;

	RTE_SET_USED(cmd);
	if (mana_tel_port_take(&params, d, &port_id) != 0)
		return 0;
	if (params != NULL)
		return mana_tel_fail(d, "give the number of a port alone, as in 0");
	mana_registry_lock();
	priv = mana_registry_find(port_id);
	if (priv != NULL) {
		add_port(d, priv);
		netdev = priv->netdev;
	}
	mana_registry_unlock();
	if (priv == NULL)
		return mana_tel_fail_port(d, port_id);
	add_netdev(d, &netdev);
	return 0;
}

/* ---- Commands ------------------------------------------------------------ */

RTE_INIT(mana_telemetry_register)
{
	static const struct {
		const char *name;
		telemetry_cb fn;
		const char *help;
	} commands[] = {
		{ "/mana/list", tel_list,
		  "Numbers of the MANA ports. Takes no parameters" },
		{ "/mana/port", tel_port,
		  "A port, its limits and its netdev. Parameters: int port_id" },
		{ "/mana/queue", mana_tel_queue,
		  "Queues of a port, or one. Parameters: int port_id[,rx|tx,int queue]" },
		{ "/mana/mr", mana_tel_mr,
		  "Memory regions of a port, 64 at a time. Parameters: int port_id[,int first]" },
		{ "/mana/events", mana_tel_events,
		  "Last control events of a port, or the first 64 after one. Parameters: int port_id[,int after]" },
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(commands); i++)
		if (rte_telemetry_register_cmd(commands[i].name, commands[i].fn,
					       commands[i].help) != 0)
			MANA_INIT_LOG(WARNING, "no telemetry command %s",
				      commands[i].name);
}
