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

/* Takes key and hash types of the configuration. */
static int
rss_conf_take(struct mana_priv *priv, const struct rte_eth_rss_conf *conf)
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
	memcpy(priv->rss_key, conf->rss_key != NULL ? conf->rss_key : default_key,
	       MANA_RSS_KEY_BYTES);
	return 0;
}

int
mana_rss_configure(struct mana_priv *priv)
{
	const struct rte_eth_conf *conf = &priv->data->dev_conf;
	uint16_t nb_rxq = priv->data->nb_rx_queues;

	memcpy(priv->rss_key, default_key, sizeof(default_key));
	priv->has_rss = false;
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
	if (nb_rxq != 0 && !rte_is_power_of_2(nb_rxq)) {
		MANA_PORT_LOG(ERR, priv->data->name,
			      "%u receive queues: the device's RSS needs a power of two",
			      nb_rxq);
		return -EINVAL;
	}
	priv->has_rss = true;
	return rss_conf_take(priv, &conf->rx_adv_conf.rss_conf);
}

uint32_t
mana_rss_nb_wqs(const struct mana_priv *priv)
{
	uint32_t nb_rxq = priv->data->nb_rx_queues;

	return priv->has_rss ? nb_rxq : RTE_MIN(nb_rxq, 1u);
}

/*
 * What has no hash (ARP and other protocols) goes to the WQ of the last
 * entry (Linux mana_ib_create_qp_rss), and shall arrive on queue 0.
 */
uint16_t
mana_rss_queue_of(uint32_t entry, uint32_t nb_wqs)
{
	return (entry + 1) & (nb_wqs - 1);
}

int
mana_rss_create(struct mana_priv *priv)
{
	struct ibv_wq *wqs[MANA_MAX_RXQ];
	uint32_t i;
	int ret;

	if (priv->nb_wqs > RTE_DIM(wqs))
		return -EINVAL;
	for (i = 0; i < priv->nb_wqs; i++) {
		uint16_t queue_id = mana_rss_queue_of(i, priv->nb_wqs);

		wqs[i] = mana_rxq_ctl_of(priv->data->rx_queues[queue_id])->wq;
	}
	ret = mana_verbs_ind_create(priv->ctx, wqs, priv->nb_wqs, &priv->ind);
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
