/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A PCI function appears or goes: one ethdev port for each of its ports that
 * the device arguments select, all of them or none.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bus_pci_driver.h>
#include <ethdev_driver.h>
#include <ethdev_pci.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include "mana.h"
#include "mana_devargs.h"
#include "mana_diag.h"
#include "mana_discover.h"
#include "mana_ethdev.h"
#include "mana_log.h"

RTE_LOG_REGISTER_SUFFIX(mana_logtype_init, init, NOTICE);
RTE_LOG_REGISTER_SUFFIX(mana_logtype_driver, driver, NOTICE);

/* Linux gdma_main.c mana_id_table. */
#define PCI_VENDOR_MICROSOFT 0x1414
#define PCI_DEVICE_MANA_VF   0x00ba
#define PCI_DEVICE_MANA_PF   0x00b9
#define PCI_DEVICE_MANA_PF2  0x00c1

static const struct rte_pci_id mana_pci_ids[] = {
	{ RTE_PCI_DEVICE(PCI_VENDOR_MICROSOFT, PCI_DEVICE_MANA_VF) },
	{ RTE_PCI_DEVICE(PCI_VENDOR_MICROSOFT, PCI_DEVICE_MANA_PF) },
	{ RTE_PCI_DEVICE(PCI_VENDOR_MICROSOFT, PCI_DEVICE_MANA_PF2) },
	{ .vendor_id = 0 },
};

/* ---- One port ------------------------------------------------------------ */

static void
port_name(char name[RTE_ETH_NAME_MAX_LEN], const struct rte_pci_device *pci_dev,
	  uint32_t port)
{
	snprintf(name, RTE_ETH_NAME_MAX_LEN, "%s_port%u", pci_dev->device.name,
		 port);
}

/* Undoes port_create(), also half-way; for a port that nobody knows yet. */
static void
port_destroy(struct rte_eth_dev *dev)
{
	if (dev == NULL)
		return;
	if (dev->data->dev_private != NULL)
		(void)mana_dev_ops.dev_close(dev);
	rte_eth_dev_release_port(dev);
}

static int
port_create(struct rte_pci_device *pci_dev, struct ibv_device *device,
	    const struct mana_port_info *info,
	    const struct mana_devargs *devargs, struct rte_eth_dev **out)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	struct rte_eth_dev *dev;
	struct mana_priv *priv;
	int ret;

	port_name(name, pci_dev, info->port);
	dev = rte_eth_dev_allocate(name);
	if (dev == NULL) {
		MANA_INIT_LOG(ERR, "%s: ethdev has no port left (of %d)", name,
			      RTE_MAX_ETHPORTS);
		return -ENOSPC;
	}
	dev->device = &pci_dev->device;
	dev->dev_ops = &mana_dev_ops;
	dev->rx_pkt_burst = rte_eth_pkt_burst_dummy;
	dev->tx_pkt_burst = rte_eth_pkt_burst_dummy;
	mana_status_ops_set(dev);
	rte_eth_copy_pci_info(dev, pci_dev);
	priv = rte_zmalloc_socket(name, sizeof(*priv), RTE_CACHE_LINE_SIZE,
				  pci_dev->device.numa_node);
	if (priv == NULL) {
		rte_eth_dev_release_port(dev);
		return -ENOMEM;
	}
	dev->data->dev_private = priv;
	priv->data = dev->data;
	priv->netdev_down = devargs->netdev_down;
	priv->reject_promisc = devargs->reject_promisc;
	priv->rx_path = devargs->rx_path;
	priv->tx_path = devargs->tx_path;
	ret = mana_port_open(priv, device, info->port, &info->netdev);
	if (ret == 0)
		ret = mana_events_open(dev);
	if (ret != 0) {
		port_destroy(dev);
		return ret;
	}
	dev->data->mac_addrs = &priv->netdev.mac;
	*out = dev;
	return 0;
}

/* ---- Which ports --------------------------------------------------------- */

static bool
select_holds(enum mana_select_by by, const struct mana_select *select,
	     const struct mana_port_info *info)
{
	if (by == MANA_SELECT_PORT)
		return info->port == select->port;
	if (info->netdev_error != 0)
		return false;
	if (by == MANA_SELECT_MAC)
		return rte_is_same_ether_addr(&info->netdev.mac, &select->mac);
	return strcmp(info->netdev.name, select->netdev) == 0;
}

static bool
is_selected(const struct mana_devargs *devargs, const struct mana_port_info *info)
{
	unsigned int i;

	for (i = 0; i < devargs->nb_selects; i++)
		if (select_holds(devargs->select_by, &devargs->selects[i], info))
			return true;
	return devargs->nb_selects == 0;
}

/* A select as it was given. */
static void
select_format(char *text, size_t size, enum mana_select_by by,
	      const struct mana_select *select)
{
	const uint8_t *mac = select->mac.addr_bytes;

	if (by == MANA_SELECT_MAC)
		snprintf(text, size, "%s=" RTE_ETHER_ADDR_PRT_FMT,
			 MANA_DEVARG_MAC, mac[0], mac[1], mac[2], mac[3],
			 mac[4], mac[5]);
	else if (by == MANA_SELECT_NETDEV)
		snprintf(text, size, "%s=%s", MANA_DEVARG_NETDEV,
			 select->netdev);
	else
		snprintf(text, size, "%s=%u", MANA_DEVARG_PORT, select->port);
}

/* Each port that the arguments name is there and can be used. */
static int
devargs_check(const struct mana_devargs *devargs,
	      const struct mana_function *function)
{
	unsigned int i;
	unsigned int p;
	int ret = 0;

	for (i = 0; i < devargs->nb_selects; i++) {
		const struct mana_select *select = &devargs->selects[i];
		char text[64];

		for (p = 0; p < function->nb_ports; p++)
			if (select_holds(devargs->select_by, select,
					 &function->ports[p]))
				break;
		if (p < function->nb_ports && function->ports[p].netdev_error == 0)
			continue;
		select_format(text, sizeof(text), devargs->select_by, select);
		MANA_INIT_LOG(ERR, "%s: %s is none of its ports that can be used:",
			      function->pci_name, text);
		ret = -ENODEV;
	}
	if (ret != 0)
		mana_discover_log_ports(function);
	return ret;
}

static bool
is_probed(const struct rte_pci_device *pci_dev, uint32_t port)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	port_name(name, pci_dev, port);
	return rte_eth_dev_allocated(name) != NULL;
}

/* ---- All ports ------------------------------------------------------------ */

/* Makes the selected ports that are not there yet into devs; returns how many. */
static int
ports_create(struct rte_pci_device *pci_dev, const struct mana_function *function,
	     const struct mana_devargs *devargs, struct rte_eth_dev **devs)
{
	unsigned int i;
	int nb = 0;
	int ret;

	for (i = 0; i < function->nb_ports; i++) {
		const struct mana_port_info *info = &function->ports[i];

		if (!is_selected(devargs, info) || info->netdev_error != 0 ||
		    is_probed(pci_dev, info->port))
			continue;
		ret = port_create(pci_dev, function->device, info, devargs,
				  &devs[nb]);
		if (ret != 0) {
			MANA_INIT_LOG(ERR, "%s: port %u: %s", function->pci_name,
				      info->port, strerror(-ret));
			while (nb > 0)
				port_destroy(devs[--nb]);
			return ret;
		}
		nb++;
	}
	return nb;
}

/* Of all ports, some may lack what they need: said where others are used. */
static void
log_left_out(const struct mana_function *function)
{
	unsigned int i;

	for (i = 0; i < function->nb_ports; i++) {
		const struct mana_port_info *info = &function->ports[i];

		if (info->netdev_error == 0)
			continue;
		MANA_INIT_LOG(WARNING, "%s: port %u is left out:",
			      function->pci_name, info->port);
		mana_diag_no_netdev(function->pci_name, info->port,
				    info->netdev_error);
	}
}

/* Why there was nothing to do. */
static int
no_ports(const struct rte_pci_device *pci_dev,
	 const struct mana_function *function)
{
	unsigned int i;

	for (i = 0; i < function->nb_ports; i++) {
		if (!is_probed(pci_dev, function->ports[i].port))
			continue;
		MANA_INIT_LOG(ERR, "%s: the ports asked for are there already",
			      function->pci_name);
		return -EEXIST;
	}
	MANA_INIT_LOG(ERR, "%s: none of its %u ports can be used:",
		      function->pci_name, function->nb_ports);
	mana_discover_log_ports(function);
	return -ENODEV;
}

static int
function_probe(struct rte_pci_device *pci_dev, const struct mana_devargs *devargs)
{
	struct mana_function function;
	struct rte_eth_dev **devs;
	int nb;
	int i;

	nb = mana_discover(&pci_dev->addr, pci_dev->device.name, &function);
	if (nb != 0)
		return nb;
	devs = calloc(function.nb_ports, sizeof(*devs));
	if (devs == NULL)
		nb = -ENOMEM;
	else
		nb = devargs_check(devargs, &function);
	if (nb == 0)
		nb = ports_create(pci_dev, &function, devargs, devs);
	/* Announced when all of them work, so nothing is half-probed. */
	for (i = 0; i < nb; i++)
		rte_eth_dev_probing_finish(devs[i]);
	if (nb > 0 && devargs->nb_selects == 0)
		log_left_out(&function);
	if (nb == 0)
		nb = no_ports(pci_dev, &function);
	free(devs);
	mana_discover_release(&function);
	return nb < 0 ? nb : 0;
}

static int
mana_pci_probe(struct rte_pci_driver *pci_drv, struct rte_pci_device *pci_dev)
{
	const struct rte_devargs *args = pci_dev->device.devargs;
	struct mana_devargs devargs;
	int ret;

	RTE_SET_USED(pci_drv);
	if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
		MANA_INIT_LOG(ERR,
			      "%s: only a primary process can use its ports; secondary processes are not supported",
			      pci_dev->device.name);
		return -ENOTSUP;
	}
	ret = mana_devargs_parse(args != NULL ? args->args : NULL, &devargs);
	if (ret != 0)
		return ret;
	return function_probe(pci_dev, &devargs);
}

static int
mana_pci_remove(struct rte_pci_device *pci_dev)
{
	uint16_t port_id;
	int ret = 0;

	RTE_ETH_FOREACH_DEV_OF(port_id, &pci_dev->device)
	{
		int err;

		if (rte_eth_devices[port_id].data->dev_started)
			(void)rte_eth_dev_stop(port_id);
		err = rte_eth_dev_close(port_id);
		if (err != 0)
			ret = err;
	}
	return ret;
}

/* ---- Memory that the application maps for the device itself ---------------- */

static int
mana_dma_unmap(struct rte_pci_device *pci_dev, void *addr, uint64_t iova,
	       size_t len)
{
	uint16_t port_id;
	int ret = 0;

	RTE_SET_USED(iova);
	RTE_ETH_FOREACH_DEV_OF(port_id, &pci_dev->device)
	{
		int err = mana_mr_remove_range(
			rte_eth_devices[port_id].data->dev_private,
			(uintptr_t)addr, len);

		if (err != 0)
			ret = err;
	}
	if (ret != 0)
		rte_errno = -ret;
	return ret != 0 ? -1 : 0;
}

static int
mana_dma_map(struct rte_pci_device *pci_dev, void *addr, uint64_t iova, size_t len)
{
	uint16_t port_id;
	int ret = 0;

	RTE_ETH_FOREACH_DEV_OF(port_id, &pci_dev->device)
	{
		ret = mana_mr_add_range(rte_eth_devices[port_id].data->dev_private,
					(uintptr_t)addr, len);
		if (ret != 0)
			break;
	}
	if (ret == 0)
		return 0;
	(void)mana_dma_unmap(pci_dev, addr, iova, len);
	rte_errno = -ret;
	return -1;
}

static struct rte_pci_driver mana_pci_driver = {
	.id_table = mana_pci_ids,
	/* No mapping: the kernel driver keeps the function. */
	.drv_flags = RTE_PCI_DRV_PROBE_AGAIN | RTE_PCI_DRV_INTR_LSC |
		     RTE_PCI_DRV_INTR_RMV,
	.probe = mana_pci_probe,
	.remove = mana_pci_remove,
	.dma_map = mana_dma_map,
	.dma_unmap = mana_dma_unmap,
};

RTE_PMD_REGISTER_PCI(net_mana, mana_pci_driver);
RTE_PMD_REGISTER_PCI_TABLE(net_mana, mana_pci_ids);
RTE_PMD_REGISTER_KMOD_DEP(net_mana, "* ib_uverbs & mana_ib");
RTE_PMD_REGISTER_PARAM_STRING(net_mana, MANA_DEVARGS_HELP);
