/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Probe and removal of a PCI function: one ethdev port for each of its ports that
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
#include "mana_ethdev.h"
#include "mana_log.h"

RTE_LOG_REGISTER_SUFFIX(mana_logtype_init, init, NOTICE);
RTE_LOG_REGISTER_SUFFIX(mana_logtype_driver, driver, NOTICE);

/* Linux gdma_main.c mana_id_table. */
static const struct rte_pci_id mana_pci_ids[] = {
	{ RTE_PCI_DEVICE(MANA_PCI_VENDOR_ID, MANA_PCI_DEVICE_ID_VF) },
	{ RTE_PCI_DEVICE(MANA_PCI_VENDOR_ID, MANA_PCI_DEVICE_ID_PF) },
	{ RTE_PCI_DEVICE(MANA_PCI_VENDOR_ID, MANA_PCI_DEVICE_ID_PF2) },
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

/* Undoes port_create(), also half-way, before the port is announced. */
static void
port_destroy(struct rte_eth_dev *dev)
{
	if (dev->data->dev_private != NULL)
		(void)mana_dev_ops.dev_close(dev);
	rte_eth_dev_release_port(dev);
}

/* On the device's NUMA node, if EAL has memory there. */
static struct mana_priv *
priv_alloc(const char *name, int numa_node)
{
	struct mana_priv *priv = rte_zmalloc_socket(
		name, sizeof(*priv), RTE_CACHE_LINE_SIZE, numa_node);

	if (priv != NULL)
		return priv;
	priv = rte_zmalloc(name, sizeof(*priv), RTE_CACHE_LINE_SIZE);
	if (priv != NULL)
		MANA_INIT_LOG(NOTICE,
			      "%s: no memory on the device's NUMA node %d, the port uses another node's, which is slower; use --socket-mem to give each node memory",
			      name, numa_node);
	return priv;
}

static int
port_create(struct rte_pci_device *pci_dev, struct ibv_device *device,
	    const struct mana_port_info *info,
	    const struct mana_options *options, struct rte_eth_dev **out)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	/* Before an event of the port may need it. */
	const bool has_membarrier = mana_pause_begin();
	struct rte_eth_dev *dev;
	struct mana_priv *priv;
	int ret = -ENOMEM;

	port_name(name, pci_dev, info->port);
	dev = rte_eth_dev_allocate(name);
	if (dev == NULL)
		return MANA_INIT_ERR(-ENOSPC,
				     "%s: all %d ethdev ports are in use; build DPDK with a larger max_ethports",
				     name, RTE_MAX_ETHPORTS);
	dev->device = &pci_dev->device;
	dev->dev_ops = &mana_dev_ops;
	dev->rx_pkt_burst = rte_eth_pkt_burst_dummy;
	dev->tx_pkt_burst = rte_eth_pkt_burst_dummy;
	mana_status_ops_set(dev);
	rte_eth_copy_pci_info(dev, pci_dev);
	priv = priv_alloc(name, pci_dev->device.numa_node);
	dev->data->dev_private = priv;
	if (priv != NULL) {
		priv->data = dev->data;
		priv->options = *options;
		priv->recovery.addr = pci_dev->addr;
		ret = mana_port_open(priv, device, info->port, &info->netdev);
	}
	if (ret == 0)
		ret = mana_events_open(dev);
	if (ret == 0 && !has_membarrier)
		MANA_PORT_LOG(NOTICE, name,
			      "the kernel refuses membarrier(2) (seccomp): each burst executes fences, so bursts are slower, and secondary processes pass no packets");
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
select_holds(const struct mana_select *select, const struct mana_port_info *info)
{
	const struct mana_netdev *netdev = &info->netdev;

	return (select->port == 0 || select->port == info->port) &&
	       (*select->netdev == '\0' || strcmp(select->netdev, netdev->name) == 0) &&
	       (rte_is_zero_ether_addr(&select->mac) ||
		rte_is_same_ether_addr(&select->mac, &netdev->mac));
}

static bool
is_selected(const struct mana_devargs *devargs, const struct mana_port_info *info)
{
	for (unsigned int i = 0; i < devargs->nb_selects; i++)
		if (select_holds(&devargs->selects[i], info))
			return true;
	return devargs->nb_selects == 0;
}

/* Every selected port must exist and be usable. */
static int
devargs_check(const struct mana_devargs *devargs,
	      const struct mana_function *function)
{
	int ret = 0;

	for (unsigned int i = 0; i < devargs->nb_selects; i++) {
		const struct mana_select *select = &devargs->selects[i];
		const struct mana_port_info *info = function->ports;
		const struct mana_port_info *end = info + function->nb_ports;

		while (info < end && (info->netdev_error != 0 ||
				      !select_holds(select, info)))
			info++;
		if (info < end)
			continue;
		MANA_INIT_LOG(ERR, "%s: no usable port matches %s; ports:",
			      function->pci_name, select->text);
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

/* Creates the selected ports that are not probed yet; returns how many. */
static int
ports_create(struct rte_pci_device *pci_dev, const struct mana_function *function,
	     const struct mana_devargs *devargs, struct rte_eth_dev **devs)
{
	int nb = 0;

	for (unsigned int i = 0; i < function->nb_ports; i++) {
		const struct mana_port_info *info = &function->ports[i];
		int ret;

		if (!is_selected(devargs, info) || info->netdev_error != 0 ||
		    is_probed(pci_dev, info->port))
			continue;
		ret = port_create(pci_dev, function->device, info,
				  &devargs->options, &devs[nb]);
		if (ret != 0) {
			while (nb > 0)
				port_destroy(devs[--nb]);
			return MANA_INIT_ERR(ret, "%s: port %u: %s",
					     function->pci_name, info->port,
					     strerror(-ret));
		}
		nb++;
	}
	return nb;
}

/* Reports why no port was created. */
static int
no_ports(const struct rte_pci_device *pci_dev,
	 const struct mana_function *function)
{
	for (unsigned int i = 0; i < function->nb_ports; i++)
		if (is_probed(pci_dev, function->ports[i].port))
			return MANA_INIT_ERR(-EEXIST,
					     "%s: the selected ports are probed already",
					     function->pci_name);
	MANA_INIT_LOG(ERR, "%s: none of its %u ports is usable:",
		      function->pci_name, function->nb_ports);
	mana_discover_log_ports(function);
	return -ENODEV;
}

static int
function_probe(struct rte_pci_device *pci_dev, const struct mana_devargs *devargs)
{
	struct rte_eth_dev *devs[RTE_MAX_ETHPORTS];
	struct mana_function function;
	int nb = mana_discover(&pci_dev->addr, pci_dev->device.name, &function);

	if (nb != 0)
		return nb;
	nb = devargs_check(devargs, &function);
	if (nb == 0)
		nb = ports_create(pci_dev, &function, devargs, devs);
	/* The ports are announced together, so no function is half-probed. */
	for (int i = 0; i < nb; i++)
		rte_eth_dev_probing_finish(devs[i]);
	/* Reports the ports that lack a netdev, where the others are used. */
	for (unsigned int i = 0;
	     nb > 0 && devargs->nb_selects == 0 && i < function.nb_ports; i++) {
		const struct mana_port_info *info = &function.ports[i];

		if (info->netdev_error == 0)
			continue;
		MANA_INIT_LOG(WARNING, "%s: port %u is left out:",
			      function.pci_name, info->port);
		mana_diag_no_netdev(function.pci_name, info->port,
				    info->netdev_error);
	}
	if (nb == 0)
		nb = no_ports(pci_dev, &function);
	mana_discover_release(&function);
	return nb < 0 ? nb : 0;
}

/* ---- A secondary process ------------------------------------------------------ */

/* The next of the primary's ports that the arguments select, and its name. */
static bool
next_shared(const struct rte_pci_device *pci_dev,
	    const struct mana_devargs *devargs, uint32_t *at,
	    char name[RTE_ETH_NAME_MAX_LEN])
{
	const struct mana_priv *priv;
	bool is_found = false;

	mana_registry_lock();
	while (!is_found && (priv = mana_registry_next(*at)) != NULL) {
		struct mana_port_info info = {
			.port = priv->port,
			.netdev = priv->netdev,
		};

		*at = priv->data->port_id + 1;
		port_name(name, pci_dev, priv->port);
		is_found = strcmp(name, priv->data->name) == 0 &&
			   is_selected(devargs, &info);
	}
	mana_registry_unlock();
	return is_found;
}

/*
 * Attaches the ports that the primary process has now. It never fails: EAL
 * makes the primary process remove a function, and the ports of it that run,
 * when one secondary process fails to attach it.
 */
static int
secondary_probe(struct rte_pci_device *pci_dev, const struct mana_devargs *devargs)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	unsigned int nb = 0;
	uint32_t at = 0;
	int ret;

	/* Keeps the list mapped until the ports keep it. */
	ret = mana_registry_open();
	if (ret == -EINVAL) {
		MANA_INIT_LOG(ERR,
			      "%s: the primary process has loaded another version of this driver, so this process attaches no port; load the same file in both",
			      pci_dev->device.name);
		return 0;
	}
	while (ret == 0 && next_shared(pci_dev, devargs, &at, name)) {
		int error = mana_secondary_attach(&pci_dev->device, name,
						  devargs->options.rx_path);

		if (error == 0)
			nb++;
		else
			MANA_INIT_LOG(ERR, "%s: cannot attach it: %s", name,
				      strerror(-error));
	}
	if (ret == 0)
		mana_registry_close();
	/* Without devargs EAL probes every function. */
	if (nb == 0 && pci_dev->device.devargs != NULL)
		MANA_INIT_LOG(NOTICE,
			      "%s: the primary process has no such port; attach the port there, it then appears in this process",
			      pci_dev->device.name);
	return 0;
}

/* ---- What the PCI bus calls ------------------------------------------------- */

static int
mana_pci_probe(struct rte_pci_driver *pci_drv __rte_unused,
	       struct rte_pci_device *pci_dev)
{
	const struct rte_devargs *args = pci_dev->device.devargs;
	struct mana_devargs devargs;
	int ret = mana_devargs_parse(args != NULL ? args->args : NULL, &devargs);

	if (ret != 0)
		return ret;
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return secondary_probe(pci_dev, &devargs);
	return function_probe(pci_dev, &devargs);
}

static int
mana_pci_remove(struct rte_pci_device *pci_dev)
{
	bool is_primary = rte_eal_process_type() == RTE_PROC_PRIMARY;
	uint16_t port_id;
	int ret = 0;

	RTE_ETH_FOREACH_DEV_OF(port_id, &pci_dev->device)
	{
		int err;

		if (is_primary && rte_eth_devices[port_id].data->dev_started)
			(void)rte_eth_dev_stop(port_id);
		err = rte_eth_dev_close(port_id);
		if (is_primary && err != 0)
			ret = err;
	}
	return ret;
}

/* ---- Memory that the application maps for the device itself ---------------- */

/* Adds or removes the memory at each port; returns -1 with rte_errno, as EAL expects. */
static int
dma_change(struct rte_pci_device *pci_dev, void *addr, size_t len,
	   int (*change)(struct mana_priv *priv, uintptr_t addr, size_t len))
{
	uint16_t port_id;
	int ret = 0;

	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		ret = MANA_PORT_ERR(-ENOTSUP, pci_dev->device.name,
				    "only the primary process can map memory for the device");
	else
		RTE_ETH_FOREACH_DEV_OF(port_id, &pci_dev->device)
		{
			int err = change(rte_eth_devices[port_id].data->dev_private,
					 (uintptr_t)addr, len);

			if (err != 0)
				ret = err;
		}
	if (ret == 0)
		return 0;
	rte_errno = -ret;
	return -1;
}

static int
mana_dma_unmap(struct rte_pci_device *pci_dev, void *addr,
	       uint64_t iova __rte_unused, size_t len)
{
	return dma_change(pci_dev, addr, len, mana_mr_remove_range);
}

static int
mana_dma_map(struct rte_pci_device *pci_dev, void *addr,
	     uint64_t iova __rte_unused, size_t len)
{
	int ret = dma_change(pci_dev, addr, len, mana_mr_add_range);
	int error = rte_errno;

	if (ret != 0 && rte_eal_process_type() == RTE_PROC_PRIMARY) {
		(void)dma_change(pci_dev, addr, len, mana_mr_remove_range);
		rte_errno = error;
	}
	return ret;
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
