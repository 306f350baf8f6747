/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * rte_flow: there is no flow steering for Ethernet vPorts (Linux mana has no
 * command for it). Without these operations ethdev would say that a function
 * is not implemented; with them the application is told the reason.
 */

#include <errno.h>
#include <stddef.h>

#include <rte_flow_driver.h>

#include "mana_ethdev.h"

static int
refuse(struct rte_flow_error *error)
{
	return rte_flow_error_set(
		error, ENOTSUP, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
		"the adapter has no flow steering; RSS spreads the packets");
}

static int
flow_validate(struct rte_eth_dev *dev, const struct rte_flow_attr *attr,
	      const struct rte_flow_item *pattern,
	      const struct rte_flow_action *actions,
	      struct rte_flow_error *error)
{
	RTE_SET_USED(dev);
	RTE_SET_USED(attr);
	RTE_SET_USED(pattern);
	RTE_SET_USED(actions);
	return refuse(error);
}

static struct rte_flow *
flow_create(struct rte_eth_dev *dev, const struct rte_flow_attr *attr,
	    const struct rte_flow_item *pattern,
	    const struct rte_flow_action *actions,
	    struct rte_flow_error *error)
{
	(void)flow_validate(dev, attr, pattern, actions, error);
	return NULL;
}

static int
flow_flush(struct rte_eth_dev *dev, struct rte_flow_error *error)
{
	RTE_SET_USED(dev);
	return refuse(error);
}

static int
flow_isolate(struct rte_eth_dev *dev, int is_on, struct rte_flow_error *error)
{
	RTE_SET_USED(dev);
	RTE_SET_USED(is_on);
	return refuse(error);
}

int
mana_flow_ops_get(struct rte_eth_dev *dev, const struct rte_flow_ops **ops)
{
	static const struct rte_flow_ops flow_ops = {
		.validate = flow_validate,
		.create = flow_create,
		.flush = flow_flush,
		.isolate = flow_isolate,
	};

	RTE_SET_USED(dev);
	*ops = &flow_ops;
	return 0;
}
