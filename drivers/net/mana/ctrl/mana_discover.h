/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The device of a port: its netdev (mana_netdev.c), the RDMA device of a PCI function
 * (mana_discover.c), and the messages where these cannot be found or used (mana_diag.c).
 *
 * Functions return 0 or a negative errno. They need no privilege, unless said otherwise.
 */

#ifndef MANA_DISCOVER_H
#define MANA_DISCOVER_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_pci.h>

struct ibv_device;
struct mana_priv;

/* ---- mana_netdev.c: what no verb reports, by sysfs, rtnetlink and ethtool ----- */

/* Constant while the netdev exists. */
struct mana_netdev {
	unsigned int ifindex;
	struct rte_ether_addr mac;
	char name[IF_NAMESIZE]; /* when it was found; it may be renamed */
};

struct mana_netdev_state {
	char name[IF_NAMESIZE];
	bool is_up;   /* administratively: then the kernel owns the vPort */
	bool carrier;
	uint32_t mtu; /* 0: unknown */
	uint32_t max_mtu; /* 0: the kernel does not report it */
	unsigned int master; /* ifindex of the interface it is a slave of, or 0 */
};

/*
 * The interface of a verbs port (from 1) of the RDMA device at ibdev_path. -ENOENT: the kernel has
 * made none; -ENODEV: it has, in another network namespace than /sys shows. (Linux hides such
 * entries of the folder net/, which is there while the device has any netdev: drivers/base/core.c,
 * class_dir_child_ns_type().)
 */
int mana_netdev_find(const char *ibdev_path, uint32_t port, struct mana_netdev *netdev);
/* -ENODEV: the netdev is not in this network namespace; state has only its name. */
int mana_netdev_state_get(const struct mana_netdev *netdev, struct mana_netdev_state *state);
/*
 * As `ip link set`, unless it was so before. -ENODEV as above; -EPERM: the program lacks
 * CAP_NET_ADMIN; -EBUSY: a program has the port; -EIO: no answer.
 */
int mana_netdev_up_set(const struct mana_netdev *netdev, bool is_up,
		       struct mana_netdev_state *before);
/* Queues of each direction that the vPort may have (ethtool -l). */
int mana_netdev_max_queues_get(const struct mana_netdev *netdev, uint32_t *max_queues);
/* "mana 6.12.117": the kernel's driver and its version (ethtool -i). */
#define MANA_NETDEV_DRIVER_BYTES 65
int mana_netdev_driver_get(const struct mana_netdev *netdev, char text[MANA_NETDEV_DRIVER_BYTES]);
/* Speed in Mb/s; -ENOTSUP when the kernel does not know it. */
int mana_netdev_speed_get(const struct mana_netdev *netdev, uint32_t *mbps);
/* Whether a master is Hyper-V's synthetic interface (and no bond or bridge); its name. */
bool mana_netdev_is_netvsc(unsigned int master, char name[IF_NAMESIZE]);

/* ---- mana_discover.c: the RDMA device of a PCI function, its ports ----- */

struct mana_port_info {
	uint32_t port; /* verbs port, from 1 */
	int netdev_error; /* 0, or why mana_netdev_find() failed */
	struct mana_netdev netdev;
};

/* A PCI function as seen through its RDMA device. */
struct mana_function {
	const char *pci_name;
	struct ibv_device **list; /* keeps device alive */
	struct ibv_device *device;
	unsigned int nb_ports;
	struct mana_port_info *ports;
};

/*
 * Finds the Ethernet RDMA device of the function. After a failure *function holds
 * nothing; is_logged: false for a device that may not be there yet. pci_name is kept.
 */
int mana_discover(const struct rte_pci_addr *addr, const char *pci_name, bool is_logged,
		  struct mana_function *function);
void mana_discover_release(struct mana_function *function);
/* Logs one line per port: MAC, netdev, state. */
void mana_discover_log_ports(const struct mana_function *function);

/* ---- mana_diag.c: each logs an error of the kernel, with cause and remedy -------- */

/* There is no list of RDMA devices at all. */
void mana_diag_no_rdma(const char *pci_name, int error);
/* No RDMA device belongs to the function, or only `refused`, the RNIC (else NULL). */
void mana_diag_no_device(const char *pci_name, const char *refused);
/* The netdev of a port was not found: what mana_netdev_find() returned. */
void mana_diag_no_netdev(const char *pci_name, uint32_t port, int error);
/* The RDMA device, with this node below /dev/infiniband, cannot be used. */
void mana_diag_open(const char *pci_name, const char *device, const char *node, int error);
/* An object cannot be created: "Tx queue" and its number, or MANA_DIAG_NO_ID. */
#define MANA_DIAG_NO_ID UINT32_MAX
void mana_diag_object(const struct mana_priv *priv, const char *what, uint32_t id, int error);
/* netdev_down=1: the netdev cannot be set down. */
void mana_diag_netdev_down(const char *name, const char *netdev, int error);
/* Memory cannot be registered. */
void mana_diag_mr(const struct mana_priv *priv, uintptr_t addr, size_t len, int error);

#endif /* MANA_DISCOVER_H */
