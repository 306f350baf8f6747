/* SPDX-License-Identifier: BSD-3-Clause */

/* RSS: which packets go to which ethdev queue. Hash key, hash types, RSS table. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <ethdev_driver.h>
#include <rte_bitops.h>

#include "mana_ethdev.h"
#include "mana_locks.h"
#include "mana_log.h"
#include "mana_queues.h"

/* The key of the NDIS verification suite, which most drivers start with. */
static const uint8_t default_key[MANA_RSS_KEY_BYTES] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
	0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
	0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/* ---- Configuration ------------------------------------------------------------- */

static int
conf_check(struct mana_priv *priv, const struct rte_eth_rss_conf *conf)
{
	const char *name = priv->data->name;

	if ((conf->rss_hf & ~MANA_RSS_TYPES) != 0)
		return MANA_PORT_ERR(-EINVAL, name,
				     "RSS hash types %#" PRIx64
				     " are not supported; use some of %#" PRIx64,
				     conf->rss_hf & ~MANA_RSS_TYPES, (uint64_t)MANA_RSS_TYPES);
	/* rte_ethdev.h of 22.11: drivers assume 40 bytes without a length. */
	if (conf->rss_key != NULL && conf->rss_key_len != 0 &&
	    conf->rss_key_len != MANA_RSS_KEY_BYTES)
		return MANA_PORT_ERR(-EINVAL, name,
				     "an RSS key has %d bytes, not %u; give a key of that length and set rss_key_len, or leave rss_key NULL",
				     MANA_RSS_KEY_BYTES, conf->rss_key_len);
	if (conf->rss_hf != 0 && conf->rss_hf != MANA_RSS_TYPES && !priv->is_rss_types_noted) {
		MANA_PORT_LOG(NOTICE, name,
			      "the device always hashes all IP packets, TCP and UDP with their ports: RSS hash types are %#" PRIx64,
			      (uint64_t)MANA_RSS_TYPES);
		priv->is_rss_types_noted = true;
	}
	return 0;
}

/* Hardware Rx queues of any table: a power of two, or 0. */
static uint32_t
nb_hwqs_least(const struct mana_priv *priv)
{
	uint32_t nb_rxq = priv->data->nb_rx_queues;

	if (!priv->has_rss || nb_rxq == 0)
		return RTE_MIN(nb_rxq, 1u);
	return RTE_MAX(rte_align32pow2(nb_rxq), priv->options.hw_rxq);
}

/*
 * Sets at once what other threads read: RSS off, or on with this key, and the first
 * table. Packets without a hash (ARP and other protocols) go to the hardware queue of
 * the last entry (Linux mana_ib_create_qp_rss), which queue 0 polls.
 */
static void
settings_put(struct mana_priv *priv, bool has_rss, const uint8_t *key)
{
	struct mana_rx_table *rss = &priv->rss;

	mana_registry_lock();
	priv->has_rss = has_rss;
	memcpy(rss->key, key, sizeof(rss->key));
	memset(rss->reta, 0, sizeof(rss->reta));
	rss->nb = nb_hwqs_least(priv);
	for (uint32_t i = 0; rss->nb > 1 && i < MANA_RETA_SIZE; i++)
		rss->reta[i] = ((i + 1) & (rss->nb - 1)) % priv->data->nb_rx_queues;
	mana_registry_unlock();
}

int
mana_rss_configure(struct mana_priv *priv)
{
	const struct rte_eth_conf *conf = &priv->data->dev_conf;
	const struct rte_eth_rss_conf *rss_conf = &conf->rx_adv_conf.rss_conf;
	int ret;

	settings_put(priv, false, default_key);
	if ((conf->rxmode.mq_mode & ~RTE_ETH_MQ_RX_RSS) != 0)
		return MANA_PORT_ERR(-ENOTSUP, priv->data->name,
				     "Rx mq_mode %#x not supported, use NONE or RSS",
				     conf->rxmode.mq_mode);
	/* Without hash types no packet has a hash. */
	if ((conf->rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG) == 0 || rss_conf->rss_hf == 0)
		return 0;
	ret = conf_check(priv, rss_conf);
	settings_put(priv, true, ret == 0 && rss_conf->rss_key != NULL ?
					 rss_conf->rss_key : default_key);
	return ret;
}

/* ---- Hash key and types --------------------------------------------------------- */

int
mana_rss_hash_conf_get(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	const struct mana_priv *priv = mana_registry_hold(dev);

	if (priv == NULL)
		return -ENODEV;
	conf->rss_hf = priv->has_rss ? MANA_RSS_TYPES : 0;
	/* 0: as 22.11's header says, 40 bytes */
	if (conf->rss_key != NULL &&
	    (conf->rss_key_len == 0 || conf->rss_key_len >= MANA_RSS_KEY_BYTES))
		memcpy(conf->rss_key, priv->rss.key, MANA_RSS_KEY_BYTES);
	conf->rss_key_len = MANA_RSS_KEY_BYTES;
	mana_registry_unlock();
	return 0;
}

/*
 * The hash types are fixed, so it is the key that can change. With one hardware queue the adapter
 * hashes nothing (Linux mana_ib_cfg_vport_steering, rss_enable): the RSS object can stay.
 */
static int
hash_update(struct mana_priv *priv, const struct rte_eth_rss_conf *conf)
{
	bool is_on = conf->rss_hf != 0;
	int ret = conf_check(priv, conf);

	if (ret == 0 && is_on != priv->has_rss && priv->data->nb_rx_queues > 1)
		ret = MANA_PORT_ERR(-ENOTSUP, priv->data->name,
				    "RSS with several Rx queues can only be switched on or off by rte_eth_dev_configure()");
	if (ret == 0 && conf->rss_key != NULL && priv->rss.nb > 1)
		ret = mana_rx_set_key(priv, conf->rss_key);
	if (ret == 0) {
		mana_registry_lock();
		if (conf->rss_key != NULL)
			memcpy(priv->rss.key, conf->rss_key, MANA_RSS_KEY_BYTES);
		priv->has_rss = is_on;
		mana_registry_unlock();
	}
	return ret;
}

int
mana_rss_hash_update(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	return MANA_OPERATION(dev, hash_update(dev->data->dev_private, conf), "RSS update");
}

/* ---- RSS table -------------------------------------------------------------------- */

/*
 * ethdev's table is the adapter's: the kernel fills its 64 entries with the n hardware queues of
 * the port in turn (Linux mana_ib_cfg_vport_steering, MANA_INDIRECT_TABLE_DEF_SIZE). The table of
 * the host's NDIS, which net_netvsc passes on, has twice as many.
 */
#define RETA_NDIS_SIZE (2 * MANA_RETA_SIZE)

/* The queue of an entry in ethdev's array of groups; NULL: not in the mask. */
static uint16_t *
reta_entry(struct rte_eth_rss_reta_entry64 *conf, uint16_t i)
{
	struct rte_eth_rss_reta_entry64 *group = &conf[i / RTE_ETH_RETA_GROUP_SIZE];

	i %= RTE_ETH_RETA_GROUP_SIZE;
	return (group->mask & RTE_BIT64(i)) != 0 ? &group->reta[i] : NULL;
}

int
mana_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	const struct mana_priv *priv = mana_registry_hold(dev);
	bool has_table;

	if (priv == NULL)
		return -ENODEV;
	has_table = priv->rss.nb != 0 && (size == MANA_RETA_SIZE || size == RETA_NDIS_SIZE);
	for (uint16_t i = 0; has_table && i < size; i++) {
		uint16_t *queue_id = reta_entry(conf, i);

		if (queue_id != NULL)
			*queue_id = priv->rss.reta[i % MANA_RETA_SIZE];
	}
	mana_registry_unlock();
	return has_table ? 0 : -EINVAL;
}

/* The smallest number of hardware queues that has these entries, a power of two. */
static uint32_t
reta_period(const struct mana_priv *priv, const uint8_t *reta)
{
	uint32_t nb = nb_hwqs_least(priv);

	for (uint32_t i = 0; i < MANA_RETA_SIZE; i++)
		while (reta[i] != reta[i & (nb - 1)])
			nb *= 2;
	return nb;
}

/*
 * The table that the update asks for: its entries in the mask, and the present ones. Entry i of
 * the adapter is also entry i + 64 of a larger table. net_netvsc calls without ethdev's checks.
 */
static int
reta_take(const struct mana_priv *priv, struct rte_eth_rss_reta_entry64 *conf,
	  uint16_t size, uint8_t *reta)
{
	const char *name = priv->data->name;

	if (size != MANA_RETA_SIZE && size != RETA_NDIS_SIZE)
		return MANA_PORT_ERR(-EINVAL, name,
				     "RSS table of %u entries: the adapter's has %u entries; give these, or %u that repeat them",
				     size, MANA_RETA_SIZE, RETA_NDIS_SIZE);
	if (priv->rss.nb == 0)
		return MANA_PORT_ERR(-EINVAL, name,
				     "RSS table: the port has no Rx queues; configure it first");
	for (uint16_t i = 0; i < size; i++) {
		const uint16_t *queue_id = reta_entry(conf, i);
		const uint16_t at = i % MANA_RETA_SIZE;
		uint16_t wanted = queue_id != NULL ? *queue_id : priv->rss.reta[at];

		if (wanted >= priv->data->nb_rx_queues)
			return MANA_PORT_ERR(-EINVAL, name,
					     "RSS table: entry %u is Rx queue %u, but the port has %u Rx queues",
					     i, wanted, priv->data->nb_rx_queues);
		if (at == i)
			reta[i] = wanted;
		else if (wanted != reta[at])
			return MANA_PORT_ERR(-ENOTSUP, name,
					     "RSS table: entry %u is queue %u and entry %u is queue %u, but the adapter's table has %u entries: a table of %u must repeat its first half",
					     at, reta[at], i, wanted,
					     MANA_RETA_SIZE, RETA_NDIS_SIZE);
	}
	return 0;
}

static int
reta_set(struct mana_priv *priv, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	const uint32_t max = rte_align32prevpow2(priv->limits.max_queues);
	uint8_t reta[MANA_RETA_SIZE];
	uint32_t nb;
	int ret = reta_take(priv, conf, size, reta);

	if (ret != 0)
		return ret;
	nb = reta_period(priv, reta);
	if (nb > 1 && !priv->has_rss)
		return MANA_PORT_ERR(-ENOTSUP, priv->data->name,
				     "RSS table: RSS is off, so all packets go to one queue; configure the port with RTE_ETH_MQ_RX_RSS and hash types");
	if (nb > max)
		return MANA_PORT_ERR(-ENOTSUP, priv->data->name,
				     "RSS table: it repeats after %u entries, so it needs as many hardware Rx queues (hw_rxq=%u), and the port has at most %u (`ethtool -l %s`): make it repeat earlier",
				     nb, nb, max, priv->netdev.name);
	return mana_rx_set_assign(priv, reta, nb);
}

int
mana_reta_update(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	return MANA_OPERATION(dev, reta_set(dev->data->dev_private, conf, size),
			      "RETA update of %u entries", size);
}
