/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Probe and removal of a PCI function: one ethdev port for each of its ports that
 * the device arguments select, all of them or none.
 */

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include <bus_pci_driver.h>
#include <ethdev_driver.h>
#include <ethdev_pci.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_string_fns.h>

#include "mana_ethdev.h"
#include "mana_locks.h"
#include "mana_log.h"
#include "mana_peers.h"

RTE_LOG_REGISTER_SUFFIX(mana_logtype_init, init, NOTICE);
RTE_LOG_REGISTER_SUFFIX(mana_logtype_driver, driver, NOTICE);

/* Linux gdma_main.c mana_id_table. */
static const struct rte_pci_id mana_pci_ids[] = {
	{ RTE_PCI_DEVICE(MANA_PCI_VENDOR_ID, MANA_PCI_DEVICE_ID_VF) },
	{ RTE_PCI_DEVICE(MANA_PCI_VENDOR_ID, MANA_PCI_DEVICE_ID_PF) },
	{ RTE_PCI_DEVICE(MANA_PCI_VENDOR_ID, MANA_PCI_DEVICE_ID_PF2) },
	{ .vendor_id = 0 },
};

/* Of this project, see drivers/meson.build; a copy in DPDK's tree has DPDK's version. */
#ifndef MANA_VERSION
#define MANA_VERSION "in DPDK's tree"
#endif

/* ---- Which driver ---------------------------------------------------------- */

/* Looks at a loaded file: is it another driver of this name, which DPDK has, too? */
static int
is_other_driver(struct dl_phdr_info *info, size_t size __rte_unused, void *arg)
{
	if (strstr(info->dlpi_name, "librte_net_mana.so") == NULL ||
	    strcmp(info->dlpi_name, mana_driver_file()) == 0)
		return 0;
	MANA_INIT_LOG(WARNING,
		      "two drivers net_mana are loaded, %s and %s: the first one gets the adapters. Keep one of them: give no -d for the other, or move it out of EAL's folder of plug-ins",
		      *(bool *)arg ? mana_driver_file() : info->dlpi_name,
		      *(bool *)arg ? info->dlpi_name : mana_driver_file());
	return 1;
}

/* The other driver was loaded before: it gets the adapters, so this one is not called. */
RTE_INIT(first_driver_check)
{
	(void)dl_iterate_phdr(is_other_driver, &(bool){ false });
}

/* Once, at the first probe. */
static void
driver_report(void)
{
	static bool is_reported;

	if (is_reported)
		return;
	is_reported = true;
	MANA_INIT_LOG(NOTICE,
		      "driver net_mana of dpdk-mana " MANA_VERSION " for DPDK %d.%02d.%d (not DPDK's own driver of this name): %s",
		      MANA_DPDK_YEAR, MANA_DPDK_MONTH, MANA_DPDK_MINOR, mana_driver_file());
	(void)dl_iterate_phdr(is_other_driver, &(bool){ true });
}

/* ---- One port ------------------------------------------------------------ */

/* Undoes port_create(), also half-way, before the port is announced. */
static void
port_destroy(struct rte_eth_dev *dev)
{
	if (dev->data->dev_private != NULL)
		(void)dev->dev_ops->dev_close(dev);
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

/*
 * The name of a port never changes: the PCI address if one port is selected and the name is
 * free, else ADDRESS_pN. It is short, since Suricata names a mempool after it, in 25 characters.
 */
static int
port_create(struct rte_pci_device *pci_dev, struct ibv_device *device,
	    const struct mana_port_info *info, bool is_only,
	    const struct mana_options *options, struct rte_eth_dev **out)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	struct rte_eth_dev *dev;
	struct mana_priv *priv;
	int ret = -ENOMEM;

	snprintf(name, sizeof(name), "%s", pci_dev->device.name);
	if (!is_only || rte_eth_dev_allocated(name) != NULL)
		snprintf(name, sizeof(name), "%s_p%u", pci_dev->device.name, info->port);
	dev = rte_eth_dev_allocate(name);
	if (dev == NULL)
		return MANA_INIT_ERR(-ENOSPC,
				     "%s: all %d ethdev ports are in use; build DPDK with a larger max_ethports",
				     name, RTE_MAX_ETHPORTS);
	mana_dev_init(dev, &pci_dev->device);
	rte_eth_copy_pci_info(dev, pci_dev);
	dev->intr_handle = NULL; /* not the function's: mana_events_open() */
	priv = priv_alloc(name, pci_dev->device.numa_node);
	dev->data->dev_private = priv;
	if (priv != NULL) {
		priv->data = dev->data;
		priv->options = *options;
		priv->recovery.addr = pci_dev->addr;
		ret = mana_port_open(priv, device, info->port, &info->netdev);
	}
	if (ret == 0)
		ret = mana_peers_open(priv);
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

/* A port without a netdev is not usable: no selection holds for it. */
static bool
select_holds(const struct mana_select *select, const struct mana_port_info *info)
{
	const struct mana_netdev *netdev = &info->netdev;

	return info->netdev_error == 0 &&
	       (select->port == 0 || select->port == info->port) &&
	       (*select->netdev == '\0' || strcmp(select->netdev, netdev->name) == 0) &&
	       (rte_is_zero_ether_addr(&select->mac) ||
		rte_is_same_ether_addr(&select->mac, &netdev->mac));
}

/* Without selections each usable port is. */
static bool
is_selected(const struct mana_devargs *devargs, const struct mana_port_info *info)
{
	for (unsigned int i = 0; i < devargs->nb_selects; i++)
		if (select_holds(&devargs->selects[i], info))
			return true;
	return devargs->nb_selects == 0 && info->netdev_error == 0;
}

/* Whether every selected port exists and is usable; false after a message. */
static bool
are_usable(const struct mana_devargs *devargs, const struct mana_function *function)
{
	bool is_met = true;

	for (unsigned int i = 0; i < devargs->nb_selects; i++) {
		const struct mana_select *select = &devargs->selects[i];
		unsigned int at = 0;

		while (at < function->nb_ports && !select_holds(select, &function->ports[at]))
			at++;
		if (at < function->nb_ports)
			continue;
		MANA_INIT_LOG(ERR, "%s: no usable port matches %s; ports:",
			      function->pci_name, select->text);
		is_met = false;
	}
	if (!is_met)
		mana_discover_log_ports(function);
	return is_met;
}

static bool
is_probed(const struct rte_pci_device *pci_dev, uint32_t port)
{
	const struct mana_priv *priv;
	uint16_t port_id;

	RTE_ETH_FOREACH_DEV_OF(port_id, &pci_dev->device) {
		priv = rte_eth_devices[port_id].data->dev_private;
		if (priv->port == port)
			return true;
	}
	return false;
}

/* ---- All ports ------------------------------------------------------------ */

/* Creates the selected ports that are not probed yet; returns how many, or an error. */
static int
ports_create(struct rte_pci_device *pci_dev, const struct mana_function *function,
	     const struct mana_devargs *devargs, struct rte_eth_dev **devs)
{
	unsigned int nb_selected = 0;
	int nb = 0;

	for (unsigned int i = 0; i < function->nb_ports; i++)
		nb_selected += is_selected(devargs, &function->ports[i]);
	if (nb_selected == 0) {
		MANA_INIT_LOG(ERR, "%s: none of its %u ports is usable:",
			      function->pci_name, function->nb_ports);
		mana_discover_log_ports(function);
		return -ENODEV;
	}
	for (unsigned int i = 0; i < function->nb_ports; i++) {
		const struct mana_port_info *info = &function->ports[i];
		int ret;

		if (devargs->nb_selects == 0 && info->netdev_error != 0) {
			MANA_INIT_LOG(WARNING, "%s: port %u is left out:",
				      function->pci_name, info->port);
			mana_diag_no_netdev(function->pci_name, info->port, info->netdev_error);
		}
		if (!is_selected(devargs, info) || is_probed(pci_dev, info->port))
			continue;
		ret = port_create(pci_dev, function->device, info, nb_selected == 1,
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
	if (nb == 0)
		return MANA_INIT_ERR(-EEXIST, "%s: the selected ports are probed already",
				     function->pci_name);
	return nb;
}

static int
function_probe(struct rte_pci_device *pci_dev, const struct mana_devargs *devargs)
{
	struct rte_eth_dev *devs[RTE_MAX_ETHPORTS];
	struct mana_function function;
	int nb = mana_discover(&pci_dev->addr, pci_dev->device.name, true, &function);
	char names[256] = "";

	if (nb != 0)
		return nb;
	nb = are_usable(devargs, &function) ?
		     ports_create(pci_dev, &function, devargs, devs) : -ENODEV;
	/* The ports are announced together, so no function is half-probed. */
	for (int i = 0; i < nb; i++) {
		const struct mana_priv *priv = devs[i]->data->dev_private;
		const size_t len = strlen(names);

		snprintf(&names[len], sizeof(names) - len, " %s", priv->netdev.name);
		rte_eth_dev_probing_finish(devs[i]);
	}
	if (nb > 1 && devargs->nb_selects == 0)
		MANA_INIT_LOG(NOTICE,
			      "%s: all %d ports are used, also those that the kernel may need (netdevs%s); give the MAC addresses of those to use: -a %s,mac=...",
			      function.pci_name, nb, names, function.pci_name);
	mana_discover_release(&function);
	return nb < 0 ? nb : 0;
}

/* ---- A secondary process ------------------------------------------------------ */

/* The name of the next port of the function that the primary process has. */
static bool
next_shared(const struct rte_pci_device *pci_dev, uint32_t *at, char name[RTE_ETH_NAME_MAX_LEN])
{
	const struct mana_priv *priv;
	bool is_found = false;

	mana_registry_lock();
	while (!is_found && (priv = mana_registry_next(at)) != NULL) {
		is_found = rte_pci_addr_cmp(&priv->recovery.addr, &pci_dev->addr) == 0;
		(void)rte_strscpy(name, priv->data->name, RTE_ETH_NAME_MAX_LEN);
	}
	mana_registry_unlock();
	return is_found;
}

/* Attaches the primary's port of this name, unless it is attached; false after a message. */
static bool
secondary_attach(struct rte_device *device, const char *name)
{
	struct rte_eth_dev *dev = rte_eth_dev_allocated(name);

	/* ethdev also finds ports that were detached here. */
	if (dev == NULL || dev->device != device || !mana_secondary_has(dev)) {
		dev = rte_eth_dev_attach_secondary(name);
		if (dev == NULL)
			return MANA_INIT_ERR(false, "%s: cannot attach it: %s", name,
					     strerror(ENODEV));
		/* Until the close; the caller has the list open. */
		(void)mana_registry_open();
		mana_dev_init(dev, device);
		rte_eth_dev_probing_finish(dev);
	}
	mana_secondary_join(dev);
	return true;
}

/*
 * Attaches all ports of the function that the primary process has now, under their names there.
 * No argument selects among them: they have one device, which this process has or has not. Never
 * fails, or EAL would make the primary process remove the function, and its ports that run.
 */
static int
secondary_probe(struct rte_pci_device *pci_dev)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	unsigned int nb = 0;
	uint32_t at = 0;
	int ret = mana_registry_open();

	if (ret == -EINVAL) {
		MANA_INIT_LOG(ERR,
			      "%s: the primary process has loaded another version of this driver, %s, so this process attaches no port; load that file, not %s",
			      pci_dev->device.name, mana_registry_file(),
			      mana_driver_file());
		return 0;
	}
	while (ret == 0 && next_shared(pci_dev, &at, name))
		nb += secondary_attach(&pci_dev->device, name);
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
mana_pci_probe(struct rte_pci_driver *pci_drv __rte_unused, struct rte_pci_device *pci_dev)
{
	const struct rte_devargs *args = pci_dev->device.devargs;
	struct mana_devargs devargs;
	int ret = mana_devargs_parse(args != NULL ? args->args : NULL, &devargs);

	driver_report();
	/* "class=eth,mac=..." of "bus=pci,addr=.../class=eth,mac=..." */
	if (ret == 0 && args != NULL)
		ret = mana_devargs_add(args->cls_str, &devargs);
	if (ret != 0)
		return ret;
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return secondary_probe(pci_dev);
	/* Without membarrier(2) no queue of a running port can be replaced. */
	devargs.options.no_membarrier = mana_threads_barrier() != 0;
	if (devargs.options.no_membarrier) {
		devargs.options.recovery_timeout = 0;
		MANA_INIT_LOG(WARNING,
			      "%s: the kernel refuses membarrier(2) (seccomp). Stop a port to change its Rx queues, RSS table or key; restart it if a queue fails. A lost device counts as removed, without recovery. Secondary processes pass no packets. Allow membarrier(2) to have all of these",
			      pci_dev->device.name);
	}
	return function_probe(pci_dev, &devargs);
}

static int
mana_pci_remove(struct rte_pci_device *pci_dev)
{
	uint16_t port_id;
	int ret = 0;

	RTE_ETH_FOREACH_DEV_OF(port_id, &pci_dev->device) {
		if (rte_eal_process_type() == RTE_PROC_PRIMARY &&
		    rte_eth_devices[port_id].data->dev_started)
			(void)rte_eth_dev_stop(port_id);
		ret = RTE_MIN(ret, rte_eth_dev_close(port_id));
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
			ret = RTE_MIN(ret, change(rte_eth_devices[port_id].data->dev_private,
						  (uintptr_t)addr, len));
	if (ret == 0)
		return 0;
	rte_errno = -ret;
	return -1;
}

static int
mana_dma_unmap(struct rte_pci_device *pci_dev, void *addr, uint64_t iova __rte_unused, size_t len)
{
	return dma_change(pci_dev, addr, len, mana_mr_remove_range);
}

static int
mana_dma_map(struct rte_pci_device *pci_dev, void *addr, uint64_t iova __rte_unused, size_t len)
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
	.drv_flags = RTE_PCI_DRV_PROBE_AGAIN | RTE_PCI_DRV_INTR_LSC | RTE_PCI_DRV_INTR_RMV,
	.probe = mana_pci_probe,
	.remove = mana_pci_remove,
	.dma_map = mana_dma_map,
	.dma_unmap = mana_dma_unmap,
};

RTE_PMD_REGISTER_PCI(net_mana, mana_pci_driver);
RTE_PMD_REGISTER_PCI_TABLE(net_mana, mana_pci_ids);
RTE_PMD_REGISTER_KMOD_DEP(net_mana, "* ib_uverbs & mana_ib");
RTE_PMD_REGISTER_PARAM_STRING(net_mana, MANA_DEVARGS_HELP);
