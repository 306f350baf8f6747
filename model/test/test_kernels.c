/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RDMA devices of all functions in each kernel version, and packets with their
 * events. mana-kernel-walk compares the answers of one function.
 *
 * usage: mana-model --functions 2 --ports 2 --kernel AGE [--rnic] -- this AGE
 * 	[rnic]
 */

#include <poll.h>
#include <stdio.h>

#include "../base/hw.h"
#include "verbs_fixture.h"

struct age {
	const char *version;
	const char *names[5]; /* of all RDMA devices, in order */
	bool rnic_is_apart; /* else it is the same device */
	bool needs_rnic; /* to have an RDMA device */
	bool has_events;
};

#define LINUX_7                                    \
	.rnic_is_apart = true, .has_events = true, \
	.names = { "manae_0", "mana_0", "manae_1", "mana_1" }
static const struct age ages[] = {
	{ .version = "7.3", LINUX_7 },
	{ .version = "7.2", LINUX_7 },
	{ .version = "6.12",
	  .needs_rnic = true,
	  .has_events = true,
	  .names = { "mana_0", "mana_1" } },
	{ .version = "6.2", .names = { "mana_0", "mana_1" } },
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

	list = ibv_get_device_list(&nb);
	for (i = 0; i < nb; i++) {
		char path[512], text[512] = "", slot[64];
		FILE *file;

		snprintf(path, sizeof(path), "%s/device/uevent",
			 list[i]->ibdev_path);
		file = fopen(path, "r");
		assert_non_null(file);
		assert_uint_in_range(fread(text, 1, sizeof(text) - 1, file), 1, 511);
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

/* The failed one does not affect the existing one. */
static void
second_rss_qp_of_table_is_refused(void **state)
{
	struct fixture *fx = *state, sender = { 0 };
	struct ibv_qp_init_attr_ex attr;

	assert_int_equal(fx_up(fx, raw_device(0), 1, 1, 1), 0);
	attr = fx_rss_attr(fx);
	assert_null(ibv_create_qp_ex(fx->ctx, &attr));

	assert_int_equal(fx_up(&sender, raw_device(0), 2, 1, 0), 0);
	fx_fill(fx, &fx->rx[0], 4);
	memset(sender.buf, 0x55, 60);
	fx_send(&sender, &sender.tx[0], 0, 60);
	fx_take(&fx->rx[0], HW_CQE_RX_OKAY);
	assert_int_equal(fx_close(&sender), 0);
}

/* Packets pass in all versions; events depend on the version. */
static void
packets_pass_with_events_of_version(void **state)
{
	struct fixture *fx = *state, other = { .has_channels = true };
	const uint32_t len = 200;
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
	fx_take(&other.rx[0], HW_CQE_RX_OKAY);
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

/* A function returns many times, with a new name and number each time. */
static void
returned_function_gets_new_names(void **state)
{
	struct ibv_device **list;
	int nb = 0, i, k;
	uint32_t n;

	for (n = 0; n < 150; n++) {
		fx_do("remove fn=1");
		fx_do("return fn=1");
		list = ibv_get_device_list(&nb);
		assert_non_null(list);
		assert_uint_in_range(nb, 2, 4);
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
		/* The others need a device. */
		T(second_rss_qp_of_table_is_refused),
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
		const struct CMUnitTest few[] = { tests[0] };

		return cmocka_run_group_tests(few, NULL, NULL);
	}
	if (age->rnic_is_apart && has_rnic &&
	    cmocka_run_group_tests(second_device, NULL, NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
