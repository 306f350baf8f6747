/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RSS: which packets go to which queue. Policy, and the objects that carry
 * it out: the verbs table and the RSS QP.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "mana.h"
#include "mana_log.h"
#include "mana_queue.h"

/* The key of the NDIS verification suite, which most drivers start with. */
static const uint8_t default_key[MANA_RSS_KEY_BYTES] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
	0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
	0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

int
mana_rss_conf_check(struct mana_priv *priv, const struct rte_eth_rss_conf *conf)
{
	const char *name = priv->data->name;

	if ((conf->rss_hf & ~MANA_RSS_TYPES) != 0) {
		MANA_PORT_LOG(ERR, name,
			      "RSS hash types %#" PRIx64
			      " are not of the device, which has %#" PRIx64,
			      conf->rss_hf & ~MANA_RSS_TYPES,
			      (uint64_t)MANA_RSS_TYPES);
		return -EINVAL;
	}
	if (conf->rss_key != NULL && conf->rss_key_len != 0 &&
	    conf->rss_key_len != MANA_RSS_KEY_BYTES) {
		MANA_PORT_LOG(ERR, name, "an RSS key has %d bytes, not %u",
			      MANA_RSS_KEY_BYTES, conf->rss_key_len);
		return -EINVAL;
	}
	if (conf->rss_hf != MANA_RSS_TYPES && !priv->is_rss_types_noted) {
		MANA_PORT_LOG(
			NOTICE, name,
			"the device hashes IPv4, IPv6, TCP and UDP always: RSS hash types are %#" PRIx64,
			(uint64_t)MANA_RSS_TYPES);
		priv->is_rss_types_noted = true;
	}
	return 0;
}

uint32_t
mana_rss_nb_wqs(const struct mana_priv *priv)
{
	uint32_t nb_rxq = priv->data->nb_rx_queues;

	return priv->has_rss && nb_rxq != 0 ? rte_align32pow2(nb_rxq) :
					      RTE_MIN(nb_rxq, 1u);
}

uint16_t
mana_rss_queue_of(const struct mana_priv *priv, uint32_t entry)
{
	return mana_rx_slot_owner(priv, priv->reta[entry]);
}

/*
 * What has no hash (ARP and other protocols) goes to the WQ of the last
 * entry (Linux mana_ib_create_qp_rss), and shall arrive on queue 0.
 */
static uint32_t
default_slot(uint32_t entry, uint32_t nb_wqs)
{
	return (entry + 1) & (nb_wqs - 1);
}

static void
reta_reset(struct mana_priv *priv, uint32_t nb_wqs)
{
	uint32_t i;

	for (i = 0; i < RTE_MIN(nb_wqs, RTE_DIM(priv->reta)); i++)
		priv->reta[i] = default_slot(i, nb_wqs);
}

int
mana_rss_configure(struct mana_priv *priv)
{
	const struct rte_eth_conf *conf = &priv->data->dev_conf;
	const struct rte_eth_rss_conf *rss_conf = &conf->rx_adv_conf.rss_conf;
	int ret;

	memcpy(priv->rss_key, default_key, sizeof(default_key));
	priv->has_rss = false;
	reta_reset(priv, 1);
	if ((conf->rxmode.mq_mode & ~RTE_ETH_MQ_RX_RSS) != 0) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "receive mode %#x: the device spreads packets by RSS or not at all",
			      conf->rxmode.mq_mode);
		return -ENOTSUP;
	}
	/* Without hash types nothing is to be spread. */
	if ((conf->rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG) == 0 ||
	    conf->rx_adv_conf.rss_conf.rss_hf == 0)
		return 0;
	priv->has_rss = true;
	reta_reset(priv, mana_rss_nb_wqs(priv));
	ret = mana_rss_conf_check(priv, rss_conf);
	if (ret == 0 && rss_conf->rss_key != NULL)
		memcpy(priv->rss_key, rss_conf->rss_key, MANA_RSS_KEY_BYTES);
	return ret;
}

int
mana_rss_table_create(struct mana_priv *priv, struct ibv_wq *const *by_slot,
		      struct ibv_rwq_ind_table **ind)
{
	struct ibv_wq *wqs[MANA_MAX_RXQ];
	uint32_t i;

	for (i = 0; i < priv->nb_wqs; i++)
		wqs[i] = by_slot[priv->reta[i]];
	return mana_verbs_ind_create(priv->ctx, wqs, priv->nb_wqs, ind);
}

int
mana_rss_create(struct mana_priv *priv)
{
	struct ibv_wq *wqs[MANA_MAX_RXQ];
	uint32_t i;
	int ret;

	for (i = 0; i < priv->nb_wqs; i++)
		wqs[i] = priv->slots[i]->wq;
	ret = mana_rss_table_create(priv, wqs, &priv->ind);
	if (ret == 0)
		ret = mana_verbs_rss_create(priv->parent, priv->ind,
					    priv->rss_key, &priv->rss_qp);
	return ret;
}

bool
mana_rss_destroy(struct mana_priv *priv)
{
	bool is_gone;
	int ret;

	ret = mana_verbs_qp_destroy(priv->rss_qp);
	is_gone = mana_queue_is_gone(priv, "RSS object", ret);
	ret = mana_verbs_ind_destroy(priv->ind);
	(void)mana_queue_is_gone(priv, "RSS table", ret);
	priv->rss_qp = NULL;
	priv->ind = NULL;
	return is_gone;
}
