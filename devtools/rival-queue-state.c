/* SPDX-License-Identifier: BSD-3-Clause
 *
 * build-rival.sh compiles this file into DPDK's own net/mana. In 22.11 that driver
 * does not set the state of its queues when a port starts, and testpmd of 22.11
 * then forwards nothing on them. This file wraps the start and stop of each port:
 * the linker (--wrap) redirects the driver's call of rte_eth_dev_probing_finish()
 * to it. Nothing else of the driver is changed.
 */

#include <ethdev_driver.h>

void __real_rte_eth_dev_probing_finish(struct rte_eth_dev *dev);
void __wrap_rte_eth_dev_probing_finish(struct rte_eth_dev *dev);

static const struct eth_dev_ops *rival_ops;
static struct eth_dev_ops wrapped_ops;

static void
set_states(struct rte_eth_dev *dev, uint8_t state)
{
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++)
		dev->data->rx_queue_state[i] = state;
	for (i = 0; i < dev->data->nb_tx_queues; i++)
		dev->data->tx_queue_state[i] = state;
}

static int
wrapped_start(struct rte_eth_dev *dev)
{
	int ret = rival_ops->dev_start(dev);

	if (ret == 0)
		set_states(dev, RTE_ETH_QUEUE_STATE_STARTED);
	return ret;
}

static int
wrapped_stop(struct rte_eth_dev *dev)
{
	set_states(dev, RTE_ETH_QUEUE_STATE_STOPPED);
	return rival_ops->dev_stop(dev);
}

void
__wrap_rte_eth_dev_probing_finish(struct rte_eth_dev *dev)
{
	if (rte_eal_process_type() == RTE_PROC_PRIMARY) {
		if (rival_ops == NULL) {
			rival_ops = dev->dev_ops;
			wrapped_ops = *rival_ops;
			wrapped_ops.dev_start = wrapped_start;
			wrapped_ops.dev_stop = wrapped_stop;
		}
		dev->dev_ops = &wrapped_ops;
	}
	__real_rte_eth_dev_probing_finish(dev);
}
