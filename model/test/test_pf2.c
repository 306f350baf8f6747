/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An adapter with the second physical id, whose card may refuse verbs a vPort.
 *
 * usage: mana-model --ports 2 --device-id c1 --quirk pf2-verbs=ANSWER -- this
 *        ANSWER
 */

#include <linux/netlink.h>
#include <sys/socket.h>

#include "verbs_fixture.h"

static bool is_refused;

FX_TEST(all_verbs_but_vport_succeed)
{
	struct fixture *fx = *state;
	struct ibv_device_attr_ex attr;

	assert_int_equal(fx_open(fx, 0, 2), 0);
	assert_int_equal(ibv_query_device_ex(fx->ctx, NULL, &attr), 0);
	assert_int_equal(attr.phys_port_cnt_ex, 2);
	assert_int_equal(fx_add_rx(fx), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fx_add_tx(fx), is_refused ? EPROTO : 0);
	if (!is_refused) {
		assert_int_equal(fx_start_rx(fx), 0);
		fx_fill(fx, &fx->rx[0], 1);
	}
	assert_int_equal(fx_close(fx), 0);
	assert_no_objects();
}

/* Then the vPort is free for the netdev. */
FX_TEST(refused_vport_is_free_for_netdev)
{
	struct fixture *fx = *state;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	assert_int_equal(fx_add_tx(fx), is_refused ? EPROTO : 0);
	assert_int_equal(MODEL_CALL(mana_model_netdev_set)("mana0p0", true),
			 is_refused ? 0 : -EBUSY);
	if (is_refused)
		assert_int_equal(MODEL_CALL(mana_model_netdev_set)("mana0p0",
								   false), 0);
}

static bool
has_line(const char *text, ssize_t len, const char *wanted)
{
	const char *line;

	for (line = text; line < text + len; line += strlen(line) + 1)
		if (strcmp(line, wanted) == 0)
			return true;
	return false;
}

TEST(uevents_report_device_id)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int sock = socket(PF_NETLINK, SOCK_RAW | SOCK_NONBLOCK,
			  NETLINK_KOBJECT_UEVENT);
	char text[2048];
	ssize_t len;

	assert_true(sock >= 0);
	assert_int_equal(bind(sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	fx_do("uevent fn=0 change");
	len = recv(sock, text, sizeof(text), 0);
	assert_true(len > 0);
	assert_true(has_line(text, len, "PCI_ID=1414:00C1"));
	assert_true(has_line(text, len, "PCI_SUBSYS_ID=1414:00C1"));
	assert_true(has_line(text, len, "MODALIAS=pci:v00001414d000000C1"
					"sv00001414sd000000C1bc02sc00i00"));
	close(sock);
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	is_refused = strcmp(argv[1], "refused") == 0;
	return test_run("pf2", NULL, NULL);
}
