/* SPDX-License-Identifier: BSD-3-Clause */

/* The operations on RSS: hash key, hash types and indirection table. */

#include <errno.h>
#include <string.h>

#include <ethdev_driver.h>

#include "mana.h"
#include "mana_ethdev.h"
#include "mana_log.h"

int
mana_rss_hash_conf_get(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	const struct mana_priv *priv = dev->data->dev_private;

	conf->rss_hf = priv->has_rss ? MANA_RSS_TYPES : 0;
	if (conf->rss_key != NULL && conf->rss_key_len >= MANA_RSS_KEY_BYTES)
		memcpy(conf->rss_key, priv->rss_key, MANA_RSS_KEY_BYTES);
	conf->rss_key_len = MANA_RSS_KEY_BYTES;
	return 0;
}

int
mana_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf,
		uint16_t size)
{
	const struct mana_priv *priv = dev->data->dev_private;
	uint32_t nb_wqs = mana_rss_nb_wqs(priv);
	uint16_t i;

	if (!priv->has_rss || size != nb_wqs)
		return -EINVAL;
	for (i = 0; i < size; i++)
		if ((conf[i / RTE_ETH_RETA_GROUP_SIZE].mask &
		     RTE_BIT64(i % RTE_ETH_RETA_GROUP_SIZE)) != 0)
			conf[i / RTE_ETH_RETA_GROUP_SIZE]
				.reta[i % RTE_ETH_RETA_GROUP_SIZE] =
				mana_rss_queue_of(priv, i);
	return 0;
}

/* The hash types are fixed, so it is the key that can change. */
int
mana_rss_hash_update(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	struct mana_priv *priv = dev->data->dev_private;
	struct mana_rx_setting setting;
	int ret;

	ret = mana_gone_check(priv);
	if (ret == 0 && (!priv->has_rss || conf->rss_hf == 0)) {
		MANA_PORT_LOG(ERR, dev->data->name,
			      "RSS is switched on and off by rte_eth_dev_configure() only");
		ret = -ENOTSUP;
	}
	if (ret == 0)
		ret = mana_rss_conf_check(priv, conf);
	if (ret == 0 && conf->rss_key != NULL) {
		mana_rx_setting_get(priv, &setting);
		memcpy(setting.key, conf->rss_key, sizeof(setting.key));
		ret = mana_rx_change(priv, &setting);
	}
	mana_event_add(&priv->events, MANA_EVENT_RSS, mana_rss_nb_wqs(priv), 0,
		       ret);
	return ret;
}

/* A work queue of this ethdev queue that is not yet in the table. */
static int
free_slot(const struct mana_priv *priv, uint64_t used, uint16_t queue_id)
{
	uint32_t nb_wqs = mana_rss_nb_wqs(priv);
	uint32_t slot;

	for (slot = 0; slot < nb_wqs; slot++)
		if ((used & RTE_BIT64(slot)) == 0 &&
		    mana_rx_slot_owner(priv, slot) == queue_id)
			return slot;
	return -ENOENT;
}

/* The slot of each entry that is to change, in the place of what there is. */
static int
reta_fill(const struct mana_priv *priv,
	  const struct rte_eth_rss_reta_entry64 *conf, uint16_t size,
	  uint8_t *reta)
{
	uint64_t used = 0;
	uint64_t open = 0;
	uint16_t i, queue_id;
	int slot;

	for (i = 0; i < size; i++) {
		queue_id = conf[i / RTE_ETH_RETA_GROUP_SIZE]
				   .reta[i % RTE_ETH_RETA_GROUP_SIZE];
		if ((conf[i / RTE_ETH_RETA_GROUP_SIZE].mask &
		     RTE_BIT64(i % RTE_ETH_RETA_GROUP_SIZE)) != 0 &&
		    queue_id != mana_rss_queue_of(priv, i))
			open |= RTE_BIT64(i);
		else
			used |= RTE_BIT64(reta[i]);
	}
	for (i = 0; i < size; i++) {
		if ((open & RTE_BIT64(i)) == 0)
			continue;
		queue_id = conf[i / RTE_ETH_RETA_GROUP_SIZE]
				   .reta[i % RTE_ETH_RETA_GROUP_SIZE];
		slot = free_slot(priv, used, queue_id);
		if (slot < 0) {
			MANA_PORT_LOG(ERR, priv->data->name,
				      "RSS table: queue %u would be in it too often; the adapter takes each of its queues once, so only the order of the table can change",
				      queue_id);
			return -ENOTSUP;
		}
		used |= RTE_BIT64(slot);
		reta[i] = slot;
	}
	return 0;
}

int
mana_reta_update(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf,
		 uint16_t size)
{
	struct mana_priv *priv = dev->data->dev_private;
	struct mana_rx_setting setting;
	int ret;

	ret = mana_gone_check(priv);
	if (ret == 0 && (!priv->has_rss || size != mana_rss_nb_wqs(priv))) {
		MANA_PORT_LOG(ERR, dev->data->name,
			      "RSS table of %u entries: the port has %u", size,
			      priv->has_rss ? mana_rss_nb_wqs(priv) : 0);
		ret = -EINVAL;
	}
	if (ret == 0) {
		mana_rx_setting_get(priv, &setting);
		ret = reta_fill(priv, conf, size, setting.reta);
	}
	if (ret == 0)
		ret = mana_rx_change(priv, &setting);
	mana_event_add(&priv->events, MANA_EVENT_RSS, size, 0, ret);
	return ret;
}
