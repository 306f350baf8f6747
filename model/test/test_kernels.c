/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Differences between kernel versions, as seen by libibverbs, libmana and
 * ethtool. The expected values are written down independently of the model's
 * table.
 *
 * usage: mana-model --functions 2 --ports 2 --kernel AGE [--rnic] -- this AGE
 */

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../base/hw.h"
#include "verbs_fixture.h"

#define NAME "mana0p0"

struct age {
	const char *version;
	const char *names[5]; /* of all RDMA devices, in order */
	uint32_t vendor_id, part_id, raw_caps;
	int max_qp, max_qp_wr, max_cq, max_cqe, max_mr, max_pd;
	uint64_t page_sizes;
	bool rnic_is_apart; /* else it is the same device */
	bool needs_rnic;    /* to have an RDMA device */
	bool has_guid;
	uint8_t link_layer, state, max_mtu;
	int nb_gids, width, speed; /* of port 1 */
	int width2;		   /* of port 2 */
	int nb_vectors;
	bool has_events;
	int busy;	 /* vPort in use */
	int second_port; /* PD in use by another port */
	int rss_first, rss_second;
	int id_in_table; /* a CQ id that another CQ had */
	int remote_atomic;
	bool carrier_is_link;
	int link_settings; /* and ETHTOOL_GLINK */
	int rings;
	uint32_t rx_ring;
	int coalescing, private_flags;
	uint32_t nb_statistics; /* of nb_channels channels */
	const char *statistics[3]; /* the third, the fourth from the end, the last */
	uint32_t nb_channels;
};

#define LINUX_7								\
	.rnic_is_apart = true,						\
	.names = { "manae_0", "mana_0", "manae_1", "mana_1" },		\
	.vendor_id = 0x1414, .part_id = 2, .raw_caps = 4,		\
	.max_qp = 1024, .max_qp_wr = 2048, .max_cq = 2048,		\
	.max_cqe = 2048, .max_mr = 16384, .max_pd = 0x6000,		\
	.page_sizes = 0x3ff000,						\
	.link_layer = IBV_LINK_LAYER_ETHERNET, .state = IBV_PORT_DOWN,	\
	.max_mtu = IBV_MTU_4096,					\
	.nb_vectors = 64, .has_events = true,				\
	.busy = EBUSY, .second_port = EINVAL,				\
	.rss_first = EINVAL, .rss_second = EBUSY,			\
	.id_in_table = EINVAL,						\
	.carrier_is_link = true, .nb_channels = 16,			\
	.rx_ring = 1024,						\
	.statistics = { "tx_cq_err", "tx_15_long_pkt_fmt",		\
			"tx_15_mana_map_err" }

static const struct age ages[] = {
	{
		.version = "7.3",
		LINUX_7,
		.nb_statistics = 83 + 16 * 24,
	}, {
		.version = "7.2",
		LINUX_7,
		.nb_statistics = 83 + 16 * 20,
	}, {
		.version = "6.12",
		.needs_rnic = true,
		.names = { "mana_0", "mana_1" },
		.max_qp = 1024, .max_qp_wr = 2048, .max_cq = 2048,
		.max_cqe = 2048, .max_mr = 16384, .max_pd = 0x6000,
		.page_sizes = 0x3ff000, .has_guid = true,
		.link_layer = IBV_LINK_LAYER_ETHERNET, .state = IBV_PORT_DOWN,
		.max_mtu = IBV_MTU_4096,
		.nb_gids = 16, .width = 1, .speed = 1,
		.nb_vectors = 64, .has_events = true,
		.busy = ENODEV, .second_port = EPROTO, .rss_first = EPROTO,
		.id_in_table = EINVAL,
		.remote_atomic = EINVAL,
		.link_settings = EOPNOTSUPP, .nb_channels = 64,
		.rx_ring = 512,
		.coalescing = EOPNOTSUPP, .private_flags = EOPNOTSUPP,
		.nb_statistics = 33 + 64 * 16,
		.statistics = { "hc_rx_discards_no_wqe", "tx_63_long_pkt_fmt",
				"tx_63_mana_map_err" },
	}, {
		.version = "6.2",
		.names = { "mana_0", "mana_1" },
		.max_qp = 64, .max_qp_wr = 256, .max_cqe = 256,
		.max_mr = 0xffffff,
		.link_layer = IBV_LINK_LAYER_INFINIBAND,
		.nb_vectors = 1,
		.busy = ENODEV, .second_port = EPROTO, .rss_first = EPROTO,
		.remote_atomic = EINVAL,
		.link_settings = EOPNOTSUPP, .nb_channels = 64,
		.rings = EOPNOTSUPP,
		.coalescing = EOPNOTSUPP, .private_flags = EOPNOTSUPP,
		.nb_statistics = 2 + 64 * 8,
		.statistics = { "rx_0_packets", "tx_62_xdp_xmit",
				"tx_63_xdp_xmit" },
	},
};

static const struct age *age;
static bool has_rnic;

/* The index of the n-th device with raw QPs. */
static uint32_t
raw_device(uint32_t n)
{
	return has_rnic && age->rnic_is_apart ? 2 * n : n;
}

static void
device_names_match_version(void **state)
{
	const char *const no_rnic[] = { "manae_0", "manae_1", NULL };
	const char *const *names = age->names;
	struct ibv_device **list;
	uint32_t i;
	int nb = 0;

	(void)state;
	if (!has_rnic && age->rnic_is_apart)
		names = no_rnic;
	list = ibv_get_device_list(&nb);
	assert_non_null(list);
	for (i = 0; names[i] != NULL && !(age->needs_rnic && !has_rnic); i++) {
		char node[16];

		assert_true((int)i < nb);
		assert_string_equal(ibv_get_device_name(list[i]), names[i]);
		snprintf(node, sizeof(node), "uverbs%u", i);
		assert_string_equal(list[i]->dev_name, node);
	}
	assert_int_equal(nb, i);
	ibv_free_device_list(list);
}

/* Both RDMA devices of a function belong to its PCI device and netdevs. */
static void
devices_belong_to_a_pci_function(void **state)
{
	struct ibv_device **list;
	int nb = 0, i;

	(void)state;
	list = ibv_get_device_list(&nb);
	for (i = 0; i < nb; i++) {
		char path[512], text[512] = "", slot[64];
		FILE *file;

		snprintf(path, sizeof(path), "%s/device/uevent",
			 list[i]->ibdev_path);
		file = fopen(path, "r");
		assert_non_null(file);
		assert_in_range(fread(text, 1, sizeof(text) - 1, file), 1, 511);
		fclose(file);
		snprintf(slot, sizeof(slot), "PCI_SLOT_NAME=787%u:00:00.0\n",
			 nb == 4 ? i / 2 : i);
		assert_non_null(strstr(text, slot));
		snprintf(path, sizeof(path), "%s/device/net/mana%up1/dev_port",
			 list[i]->ibdev_path, nb == 4 ? i / 2 : i);
		assert_int_equal(access(path, R_OK), 0);
	}
	ibv_free_device_list(list);
}

static void
device_limits_match_version(void **state)
{
	const uint8_t guid[8] = { 0x02, 0x0d, 0x3a, 0xff, 0xfe, 0, 0, 1 };
	const uint8_t none[8] = { 0 };
	struct fixture *fx = *state;
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr *attr = &ex.orig_attr;

	assert_int_equal(fx_open(fx, raw_device(0), 1), 0);
	assert_int_equal(ibv_query_device_ex(fx->ctx, NULL, &ex), 0);
	assert_int_equal(attr->vendor_id, age->vendor_id);
	assert_int_equal(attr->vendor_part_id, age->part_id);
	assert_int_equal(ex.raw_packet_caps, age->raw_caps);
	assert_int_equal(attr->max_qp, age->max_qp);
	assert_int_equal(attr->max_qp_wr, age->max_qp_wr);
	assert_int_equal(attr->max_sge, 15);
	assert_int_equal(attr->max_cq, age->max_cq);
	assert_int_equal(attr->max_cqe, age->max_cqe);
	assert_int_equal(attr->max_mr, age->max_mr);
	assert_int_equal(attr->max_pd, age->max_pd);
	assert_int_equal(attr->max_mr_size, UINT64_MAX);
	assert_int_equal(attr->page_size_cap, age->page_sizes);
	assert_int_equal(attr->phys_port_cnt, 2);
	assert_memory_equal(&attr->node_guid, age->has_guid ? guid : none, 8);
	assert_int_equal(ex.rss_caps.max_rwq_indirection_table_size, 0);
	assert_int_equal(ex.max_wq_type_rq, 0);
	assert_int_equal(fx->ctx->num_comp_vectors, age->nb_vectors);
	assert_fails(ibv_create_cq(fx->ctx, 64, NULL, NULL, age->nb_vectors),
		     EINVAL);
}

static void
port_state_matches_version(void **state)
{
	struct fixture *fx = *state;
	struct ibv_port_attr port;

	assert_int_equal(fx_open(fx, raw_device(0), 1), 0);
	assert_int_equal(ibv_query_port(fx->ctx, 1, &port), 0);
	assert_int_equal(port.link_layer, age->link_layer);
	assert_int_equal(port.state, age->state);
	assert_int_equal(port.max_mtu, age->max_mtu);
	assert_int_equal(port.active_mtu, age->max_mtu ? IBV_MTU_1024 : 0);
	assert_int_equal(port.gid_tbl_len, age->nb_gids);
	assert_int_equal(port.active_width, age->width);
	assert_int_equal(port.active_speed, age->speed);
	assert_int_equal(ibv_query_port(fx->ctx, 2, &port), 0);
	assert_int_equal(port.active_width, age->width2);
	assert_int_equal(ibv_query_port(fx->ctx, 3, &port), EINVAL);

	assert_int_equal(MODEL_CALL(mana_model_netdev_set)(NAME, true), 0);
	assert_int_equal(ibv_query_port(fx->ctx, 1, &port), 0);
	assert_int_equal(port.state, age->state ? IBV_PORT_ACTIVE : 0);
	assert_int_equal(MODEL_CALL(mana_model_netdev_set)(NAME, false), 0);
}

static void
queues_and_netdev_exclude_each_other(void **state)
{
	struct fixture *fx = *state, other = { 0 };

	assert_int_equal(fx_up(fx, raw_device(0), 1, 1, 0), 0);
	assert_int_equal(fx_open(&other, raw_device(0), 1), 0);
	assert_int_equal(fx_add_tx(&other), age->busy);
	assert_int_equal(fx_close(&other), 0);
	assert_int_equal(fx_close(fx), 0);

	assert_int_equal(MODEL_CALL(mana_model_netdev_set)(NAME, true), 0);
	assert_int_equal(fx_open(fx, raw_device(0), 1), 0);
	assert_int_equal(fx_add_tx(fx), age->busy);
	assert_int_equal(MODEL_CALL(mana_model_netdev_set)(NAME, false), 0);
	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(MODEL_CALL(mana_model_netdev_set)(NAME, true), -EBUSY);
}

static void
second_port_of_pd_matches_version(void **state)
{
	struct ibv_parent_domain_init_attr parent_attr = {
		.pd_context = (void *)(uintptr_t)2,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
	};
	struct fixture *fx = *state;
	struct ibv_qp_init_attr attr;
	struct ibv_pd *other;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	assert_int_equal(fx_up(fx, raw_device(0), 1, 1, 0), 0);
	parent_attr.pd = fx->pd;
	other = ibv_alloc_parent_domain(fx->ctx, &parent_attr);
	cq = ibv_create_cq(fx->ctx, 64, NULL, NULL, 0);
	attr = fx_qp_attr(cq);
	errno = 0;
	qp = ibv_create_qp(other, &attr);
	assert_int_equal(qp == NULL ? errno : 0, age->second_port);
	if (qp != NULL)
		assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
}

static void
rss_qp_before_sq_matches_version(void **state)
{
	struct fixture *fx = *state;

	assert_int_equal(fx_open(fx, raw_device(0), 1), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	assert_int_equal(fx_start_rx(fx), age->rss_first);
	assert_int_equal(fx_stop_rx(fx), 0);
	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	assert_int_equal(fx_start_rx(fx), 0);
}

static void
second_rss_qp_of_port_matches_version(void **state)
{
	struct fixture *fx = *state, saved;

	assert_int_equal(fx_up(fx, raw_device(0), 1, 1, 1), 0);
	saved = *fx;
	fx->nb_rx = 0;
	memset(fx->rx, 0, sizeof(fx->rx));
	fx->ind = NULL;
	fx->rss = NULL;
	assert_int_equal(fx_add_rx(fx), 0);
	assert_int_equal(fx_start_rx(fx), age->rss_second);
	assert_int_equal(fx_stop_rx(fx), 0);

	fx->nb_rx = saved.nb_rx;
	memcpy(fx->rx, saved.rx, sizeof(fx->rx));
	fx->ind = saved.ind;
	fx->rss = saved.rss;
}

/* The failed one does not affect the existing one. */
static void
second_rss_qp_of_table_is_refused(void **state)
{
	struct fixture *fx = *state, sender = { 0 };
	struct ibv_qp_init_attr_ex attr;
	const uint8_t *cqe;

	assert_int_equal(fx_up(fx, raw_device(0), 1, 1, 1), 0);
	attr = fx_rss_attr(fx);
	assert_fails(ibv_create_qp_ex(fx->ctx, &attr),
		     age->rss_second != 0 ? age->rss_second : EPROTO);

	assert_int_equal(fx_up(&sender, raw_device(0), 2, 1, 0), 0);
	fx_fill(fx, &fx->rx[0], 4);
	memset(sender.buf, 0x55, 60);
	fx_send(&sender, &sender.tx[0], 0, 60);
	cqe = fx_cqe(&fx->rx[0]);
	assert_non_null(cqe);
	assert_int_equal(cqe[0] & 0x3f, 1); /* RX_OKAY */
	assert_int_equal(fx_close(&sender), 0);
}

static void
cq_id_reuse_matches_version(void **state)
{
	struct fixture *fx = *state;

	assert_int_equal(fx_up(fx, raw_device(0), 1, 1, 0), 0);
	assert_int_equal(ibv_destroy_qp(fx->tx[0].qp), 0);
	fx->tx[0].qp = NULL;
	assert_int_equal(fx_add_tx(fx), age->id_in_table);
}

static void
mr_access_flags_match_version(void **state)
{
	struct fixture *fx = *state;
	struct ibv_mr *mr;

	assert_int_equal(fx_open(fx, raw_device(0), 1), 0);
	errno = 0;
	mr = ibv_reg_mr(fx->pd, fx->buf, 4096, IBV_ACCESS_LOCAL_WRITE |
			IBV_ACCESS_REMOTE_ATOMIC);
	assert_int_equal(mr == NULL ? errno : 0, age->remote_atomic);
	if (mr != NULL)
		assert_int_equal(ibv_dereg_mr(mr), 0);
	/* Optional access flags are dropped if unknown. */
	mr = ibv_reg_mr(fx->pd, fx->buf, 4096, IBV_ACCESS_LOCAL_WRITE |
			IBV_ACCESS_RELAXED_ORDERING);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* Packets pass in all versions; events depend on the version. */
static void
packets_pass_with_events_of_version(void **state)
{
	struct fixture *fx = *state, other = { .has_channels = true };
	const uint32_t len = 200;
	const uint8_t *cqe;
	struct ibv_cq *cq;
	struct pollfd pfd;
	void *context;
	uint32_t i;

	assert_int_equal(fx_up(fx, raw_device(0), 1, 1, 1), 0);
	assert_int_equal(fx_up(&other, raw_device(0), 2, 1, 1), 0);
	for (i = 0; i < len; i++)
		fx->buf[i] = i < 6 ? 0xff : i;
	fx_fill(&other, &other.rx[0], 4);
	fx_ring_cq(&other, &other.rx[0], true);
	fx_send(fx, &fx->tx[0], 0, len);
	cqe = fx_cqe(&other.rx[0]);
	assert_non_null(cqe);
	assert_int_equal(cqe[0] & HW_CQE_TYPE_M, HW_CQE_RX_OKAY);
	assert_memory_equal(other.buf + FX_BUF_BYTES / 2, fx->buf, len);
	assert_non_null(fx_cqe(&fx->tx[0]));

	pfd.fd = other.rx[0].channel->fd;
	pfd.events = POLLIN;
	assert_int_equal(poll(&pfd, 1, age->has_events ? 1000 : 0),
			 age->has_events);
	if (age->has_events) {
		assert_int_equal(ibv_get_cq_event(other.rx[0].channel, &cq,
						  &context), 0);
		ibv_ack_cq_events(cq, 1);
	}
	assert_int_equal(fx_close(&other), 0);
}

/* By ethtool, if supported. */
static int
carrier(void)
{
	struct ethtool_value link = { .cmd = ETHTOOL_GLINK };
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = { .ifr_name = NAME };
	bool is_running;

	assert_int_equal(ioctl(sock, SIOCGIFFLAGS, &ifr), 0);
	close(sock);
	is_running = (ifr.ifr_flags & IFF_RUNNING) != 0;
	assert_int_equal(fx_ethtool(NAME, &link), age->link_settings);
	if (age->link_settings == 0)
		assert_int_equal(link.data, is_running);
	return is_running;
}

static void
netdev_link_settings_match_version(void **state)
{
	/* struct ethtool_link_settings, and room for its masks. */
	uint32_t link[128] = { ETHTOOL_GLINKSETTINGS };
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };

	(void)state;
	assert_int_equal(fx_ethtool(NAME, link), age->link_settings);
	assert_int_equal(fx_ethtool(NAME, &channels), 0);
	assert_int_equal(channels.combined_count, age->nb_channels);
	assert_int_equal(channels.max_combined, 64);
	assert_int_equal(MODEL_CALL(mana_model_netdev_set)(NAME, true), 0);
	assert_int_equal(carrier(), 1);
	assert_int_equal(MODEL_CALL(mana_model_netdev_set)(NAME, false), 0);
	assert_int_equal(carrier(), 0);
}

/* Names of the statistics of the netdev; the caller frees it. */
static struct ethtool_gstrings *
statistics(void)
{
	struct ethtool_gstrings *names =
		calloc(1, sizeof(*names) + 4096 * ETH_GSTRING_LEN);

	assert_non_null(names);
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_STATS;
	assert_int_equal(fx_ethtool(NAME, names), 0);
	return names;
}

static const char *
name_at(const struct ethtool_gstrings *names, uint32_t n)
{
	return (const char *)names->data + n * ETH_GSTRING_LEN;
}

static void
ethtool_commands_match_version(void **state)
{
	struct ethtool_ringparam rings = { .cmd = ETHTOOL_GRINGPARAM };
	struct ethtool_coalesce coalesce = { .cmd = ETHTOOL_GCOALESCE };
	struct ethtool_value flags = { .cmd = ETHTOOL_GPFLAGS };
	struct ethtool_drvinfo driver = { .cmd = ETHTOOL_GDRVINFO };
	struct ethtool_gstrings *names = statistics(), private_names = {
		.cmd = ETHTOOL_GSTRINGS,
		.string_set = ETH_SS_PRIV_FLAGS,
	};

	(void)state;
	assert_int_equal(fx_ethtool(NAME, &rings), age->rings);
	assert_int_equal(rings.rx_pending, age->rx_ring);
	rings = (struct ethtool_ringparam){ .cmd = ETHTOOL_SRINGPARAM,
					    .rx_pending = 2048,
					    .tx_pending = 256 };
	assert_int_equal(fx_ethtool(NAME, &rings), age->rings);
	assert_int_equal(fx_ethtool(NAME, &coalesce), age->coalescing);
	assert_int_equal(fx_ethtool(NAME, &flags), age->private_flags);
	assert_int_equal(fx_ethtool(NAME, &driver), 0);
	assert_int_equal(driver.n_priv_flags, age->private_flags == 0);
	if (age->private_flags != 0)
		assert_int_equal(fx_ethtool(NAME, &private_names), EINVAL);

	assert_int_equal(driver.n_stats, age->nb_statistics);
	assert_int_equal(names->len, age->nb_statistics);
	assert_string_equal(name_at(names, 0), "stop_queue");
	assert_string_equal(name_at(names, 2), age->statistics[0]);
	assert_string_equal(name_at(names, names->len - 4), age->statistics[1]);
	assert_string_equal(name_at(names, names->len - 1), age->statistics[2]);
	free(names);
}

static void
command(const char *line)
{
	char message[256] = "";

	if (MODEL_CALL(mana_model_command)(line, message, sizeof(message)) != 0)
		fail_msg("%s: %s", line, message);
}

/* A function returns many times, with a new name and number each time. */
static void
returned_function_gets_new_names(void **state)
{
	struct ibv_device **list;
	int nb = 0, i, k;
	uint32_t n;

	(void)state;
	for (n = 0; n < 150; n++) {
		command("remove fn=1");
		command("return fn=1");
		list = ibv_get_device_list(&nb);
		assert_non_null(list);
		assert_in_range(nb, 2, 4);
		for (i = 0; i < nb; i++) {
			for (k = 0; k < i; k++) {
				assert_string_not_equal(list[i]->name,
							list[k]->name);
				assert_string_not_equal(list[i]->dev_name,
							list[k]->dev_name);
			}
		}
		ibv_free_device_list(list);
	}
}

/* The RNIC's device of 7.2, beside the Ethernet one, refuses raw QPs. */
static void
rnic_refuses_raw_qp(void **state)
{
	struct fixture *fx = *state;
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;

	assert_int_equal(fx_open(fx, 1, 1), 0);
	assert_int_equal(ibv_query_device_ex(fx->ctx, NULL, &attr), 0);
	assert_int_equal(attr.orig_attr.vendor_id, 0x1414);
	assert_int_equal(attr.orig_attr.vendor_part_id, 3);
	assert_int_equal(attr.raw_packet_caps, 0);
	assert_int_equal(attr.orig_attr.phys_port_cnt, 1);
	assert_int_not_equal(attr.orig_attr.node_guid, 0);
	assert_int_equal(ibv_query_port(fx->ctx, 1, &port), 0);
	assert_int_equal(port.gid_tbl_len, 16);
	assert_int_equal(ibv_query_port(fx->ctx, 2, &port), EINVAL);
	assert_int_equal(fx_add_tx(fx), EPROTO);
}

int
main(int argc, char **argv)
{
#define T(test) \
	cmocka_unit_test_setup_teardown(test, fx_setup, fx_teardown)
	const struct CMUnitTest tests[] = {
		T(device_names_match_version),
		T(devices_belong_to_a_pci_function),
		T(netdev_link_settings_match_version),
		T(ethtool_commands_match_version),
		/* The others need a device; this one runs last, without one. */
		T(device_limits_match_version),
		T(port_state_matches_version),
		T(queues_and_netdev_exclude_each_other),
		T(second_port_of_pd_matches_version),
		T(rss_qp_before_sq_matches_version),
		T(second_rss_qp_of_port_matches_version),
		T(second_rss_qp_of_table_is_refused),
		T(cq_id_reuse_matches_version),
		T(mr_access_flags_match_version),
		T(packets_pass_with_events_of_version),
		T(returned_function_gets_new_names),
	};
	const struct CMUnitTest second_device[] = {
		T(rnic_refuses_raw_qp),
	};
	uint32_t i;

	for (i = 0; argc > 1 && i < sizeof(ages) / sizeof(ages[0]); i++)
		if (strcmp(ages[i].version, argv[1]) == 0)
			age = &ages[i];
	if (age == NULL)
		return 1;
	has_rnic = argc > 2 && strcmp(argv[2], "rnic") == 0;
	if (age->needs_rnic && !has_rnic) {
		const struct CMUnitTest few[] = { tests[0], tests[2] };

		return cmocka_run_group_tests(few, NULL, NULL);
	}
	if (age->rnic_is_apart && has_rnic &&
	    cmocka_run_group_tests(second_device, NULL, NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
