/* SPDX-License-Identifier: BSD-3-Clause */

/* Device arguments: accepted and rejected values. */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "../../../model/test/test.h"
#include "mana_ethdev.h"
#include "mana_log.h"
#include "mana_txq.h"

/* Defined in mana_probe.c. */
int mana_logtype_init;
int mana_logtype_driver;

TEST(test_port_by_mac)
{
	struct mana_devargs args;

	assert_int_equal(mana_devargs_parse(NULL, &args), 0);
	assert_int_equal(args.nb_selects, 0);
	assert_int_equal(mana_devargs_parse("", &args), 0);
	assert_int_equal(args.nb_selects, 0);
	assert_int_equal(mana_devargs_parse("mac=00:0d:3a:00:00:01,mac=00:0D:3A:Ff:fe:0a",
					    &args), 0);
	assert_int_equal(args.nb_selects, 2);
	assert_memory_equal(args.selects[0].mac.addr_bytes, "\x00\x0d\x3a\x00\x00\x01", 6);
	assert_memory_equal(args.selects[1].mac.addr_bytes, "\x00\x0d\x3a\xff\xfe\x0a", 6);
	/* EAL's own keys, from "class=eth,driver=net_mana". */
	assert_int_equal(mana_devargs_parse("driver=net_mana,mac=00:0d:3a:00:00:01",
					    &args), 0);
	assert_int_equal(args.nb_selects, 1);
	assert_string_equal(args.key, "mac");
}

TEST(test_port_by_netdev_or_number)
{
	struct mana_devargs args;

	assert_int_equal(mana_devargs_parse("netdev=eth1,netdev=123456789012345", &args),
			 0);
	assert_string_equal(args.key, "netdev");
	assert_int_equal(args.nb_selects, 2);
	assert_string_equal(args.selects[0].netdev, "eth1");
	assert_string_equal(args.selects[1].netdev, "123456789012345");
	assert_int_equal(mana_devargs_parse("port=1,port=255,port=010", &args), 0);
	assert_string_equal(args.key, "port");
	assert_int_equal(args.nb_selects, 3);
	assert_int_equal(args.selects[0].port, 1);
	assert_int_equal(args.selects[1].port, 255);
	assert_int_equal(args.selects[2].port, 10);
}

TEST(test_options)
{
	struct mana_devargs args;

	assert_int_equal(mana_devargs_parse("", &args), 0);
	assert_false(args.options.netdev_down);
	/* What another layer of -a has is added. */
	assert_int_equal(mana_devargs_parse("driver=net_mana,hw_rxq=4", &args), 0);
	assert_int_equal(mana_devargs_add("class=eth,mac=00:0d:3a:00:00:01", &args), 0);
	assert_int_equal(mana_devargs_add(NULL, &args), 0);
	assert_int_equal(args.nb_selects, 1);
	assert_int_equal(args.options.hw_rxq, 4);
	assert_int_equal(mana_devargs_parse("netdev_down=1,port=1", &args), 0);
	assert_true(args.options.netdev_down);
	assert_int_equal(mana_devargs_parse("port=1", &args), 0);
	assert_int_equal(args.nb_selects, 1);
	assert_int_equal(mana_devargs_parse("netdev_down=0", &args), 0);
	assert_false(args.options.netdev_down);
	assert_int_equal(args.options.max_desc, 0);
	assert_int_equal(args.options.max_send_sge, 30);
	assert_int_equal(mana_devargs_parse("max_desc=64,max_send_sge=3", &args), 0);
	assert_int_equal(args.options.max_desc, 64);
	assert_int_equal(args.options.max_send_sge, 3);
	assert_int_equal(mana_devargs_parse("max_desc=2048,max_send_sge=30", &args), 0);
	assert_int_equal(args.options.max_desc, 2048);
	assert_int_equal(args.options.max_send_sge, 30);
	assert_int_equal(mana_devargs_parse("", &args), 0);
	assert_int_equal(args.options.tx.form, MANA_TX_FORM_AUTO);
	assert_int_equal(args.options.tx.vport, MANA_TX_VPORT_BOTH);
	assert_int_equal(mana_devargs_parse("tx_oob=short,tx_vport=long", &args), 0);
	assert_int_equal(args.options.tx.form, MANA_TX_FORM_SHORT);
	assert_int_equal(args.options.tx.vport, MANA_TX_VPORT_LONG);
	assert_int_equal(mana_devargs_parse("tx_oob=long,tx_vport=short", &args), 0);
	assert_int_equal(args.options.tx.form, MANA_TX_FORM_LONG);
	assert_int_equal(args.options.tx.vport, MANA_TX_VPORT_SHORT);
	assert_true(args.options.tx.suppress);
	assert_int_equal(mana_devargs_parse("tx_suppress=0", &args), 0);
	assert_false(args.options.tx.suppress);
	assert_int_equal(mana_devargs_parse("tx_suppress=1", &args), 0);
	assert_true(args.options.tx.suppress);
	assert_true(args.options.rx_intr);
	assert_int_equal(mana_devargs_parse("rx_intr=0", &args), 0);
	assert_false(args.options.rx_intr);
	assert_int_equal(mana_devargs_parse("rx_intr=1", &args), 0);
	assert_true(args.options.rx_intr);
	assert_false(args.options.rx_scrub);
	assert_int_equal(mana_devargs_parse("rx_scrub=1", &args), 0);
	assert_true(args.options.rx_scrub);
	assert_int_equal(mana_devargs_parse("rx_scrub=0", &args), 0);
	assert_false(args.options.rx_scrub);
	assert_int_equal(args.options.recovery_timeout, MANA_RECOVERY_TIMEOUT_S);
	assert_int_equal(mana_devargs_parse("recovery_timeout=60,port=1", &args), 0);
	assert_int_equal(args.options.recovery_timeout, 60);
	assert_int_equal(mana_devargs_parse("recovery_timeout=0", &args), 0);
	assert_int_equal(args.options.recovery_timeout, 0);
}

/* Parses, expects this result, and returns the log. */
static char *
parse(const char *text, struct mana_devargs *args, int expected)
{
	static char logged[4096];
	FILE *log = fmemopen(logged, sizeof(logged), "w");
	int ret;

	assert_non_null(log);
	assert_int_equal(rte_openlog_stream(log), 0);
	ret = mana_devargs_parse(text, args);
	assert_int_equal(rte_openlog_stream(NULL), 0);
	fclose(log);
	if (ret != expected)
		fail_msg("%s: %d", text, ret);
	return logged;
}

#define PORT_NUMBER "not the number of a port; the ports of a function count from 1"
#define SELECTED "ports are already selected by "
#define FLAG "give 0 or 1"

/* Each message names the argument and a valid value. */
TEST(test_refused)
{
	static const struct {
		const char *said, *texts[16];
	} bad[] = {
		{ "not a MAC address; give six pairs of hexadecimal digits, as in mac=00:0d",
		  { "mac=", "mac", "mac=0", "mac=00:0d:3a:00:00", "mac=00:0d:3a:00:00:01:02",
		    "mac=00:0d:3a:00:00:1", "mac=00:0d:3a:00:00:001",
		    "mac=0:0d:3a:00:00:011", "mac=00-0d-3a-00-00-01", "mac=000d:3a00:0001",
		    "mac=00:0d:3a:00:00:0g", "mac=+0:0d:3a:00:00:01",
		    "mac=00:0d:3a:00:00:01 ", "mac=0x:0d:3a:00:00:01",
		    "mac=00:0d:3a:00:00_01" } },
		{ "it is zero or multicast",
		  { "mac=00:00:00:00:00:00", "mac=ff:ff:ff:ff:ff:ff", "mac=01:0d:3a:00:00:01" } },
		{ "mac=00:0D:3A:00:00:01 is given twice; give it once",
		  { "mac=00:0d:3a:00:00:01,mac=00:0D:3A:00:00:01" } },
		{ "not the name of a netdev, which has 1 to 15 characters",
		  { "netdev=", "netdev", "netdev=a-name-of-16-chr", "netdev=a/b", "netdev=a b",
		    "netdev=a:b" } },
		{ "netdev=a is given twice", { "netdev=a,netdev=a" } },
		{ PORT_NUMBER,
		  { "port=", "port", "port=0", "port=256", "port=1000", "port=4294967297",
		    "port=-1", "port=+1", "port= 1", "port=1 ", "port=0x1", "port=1x",
		    "port=x" } },
		{ "port=1 is given twice", { "port=1,port=2,port=1" } },
		{ "port=01 is given twice", { "port=1,port=01" } },
		{ SELECTED "port=", { "port=1,netdev=eth1", "port=1,mac=00:0d:3a:00:00:01" } },
		{ SELECTED "netdev=", { "netdev=eth1,mac=00:0d:3a:00:00:01" } },
		{ SELECTED "mac=", { "mac=00:0d:3a:00:00:01,port=1" } },
		{ FLAG, { "netdev_down", "netdev_down=", "netdev_down=2", "netdev_down=on",
			  "netdev_down=01", "tx_suppress", "tx_suppress=no", "rx_intr",
			  "rx_intr=off", "rx_scrub", "rx_scrub=2" } },
		{ "netdev_down=0 is given twice", { "netdev_down=1,netdev_down=0" } },
		{ "is given twice",
		  { "tx_suppress=0,tx_suppress=0", "rx_intr=0,rx_intr=1",
		    "rx_scrub=1,rx_scrub=1", "tx_oob=long,tx_oob=long",
		    "tx_vport=both,tx_vport=both", "max_desc=64,max_desc=64",
		    "tx_outer=1,tx_outer=1" /* removed */ } },
		{ "give short or long;", { "tx_oob", "tx_oob=auto", "tx_oob=0" } },
		{ "give both, short or long", { "tx_vport", "tx_vport=1" } },
		{ "give a power of two from 64 to 2048",
		  { "max_desc", "max_desc=", "max_desc=32", "max_desc=100", "max_desc=4096",
		    "max_desc=4294967360", "max_desc=-64" } },
		{ "give a number from 3 to 30",
		  { "max_send_sge", "max_send_sge=2", "max_send_sge=31", "max_send_sge=5x" } },
		{ "give a power of two from 1 to 64", { "hw_rxq=0", "hw_rxq=3", "hw_rxq=128" } },
		{ "give seconds from 0 (no recovery) to 3600", { "recovery_timeout=3601" } },
		{ "unknown device argument 'macs'; known: mac=", { "macs=00:0d:3a:00:00:01" } },
		{ "unknown device argument 'MAC'", { "MAC=00:0d:3a:00:00:01" } },
		{ "unknown device argument 'x'", { "mac=00:0d:3a:00:00:01,x=1" } },
		{ "device argument", { "=", ",,,x" } },
	};
	struct mana_devargs args;

	for (size_t i = 0; i < RTE_DIM(bad); i++)
		for (size_t k = 0; k < RTE_DIM(bad[i].texts) && bad[i].texts[k] != NULL; k++) {
			const char *logged = parse(bad[i].texts[k], &args, -EINVAL);

			if (strstr(logged, bad[i].said) == NULL)
				fail_msg("%s: %s", bad[i].texts[k], logged);
		}
}

/* An argument that was removed is taken, and one warning names its replacement. */
TEST(test_removed)
{
	static const struct {
		const char *args, *instead;
	} removed[] = {
		{ "foreign_mem=refuse", "is registered, with a notice" },
		{ "netdev_mtu=1", "ip link set dev <netdev> mtu" },
		{ "promisc=reject", "are always on" },
		{ "rx_path=scalar", "--force-max-simd-bitwidth" },
		{ "tx_outer=1", "checksums of tunnels in the application" },
		{ "tx_outer", "tx_outer= has no effect" },
		{ "tx_path=scalar", "one Tx burst function" },
	};
	struct mana_devargs args, none;

	assert_int_equal(mana_devargs_parse("", &none), 0);
	for (size_t i = 0; i < RTE_DIM(removed); i++) {
		char *text = parse(removed[i].args, &args, 0);

		if (strstr(text, removed[i].instead) == NULL)
			fail_msg("%s: %s", removed[i].args, text);
		/* One line. */
		assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
		assert_memory_equal(&args, &none, sizeof(args));
		/* The help does not name it. */
		*strchr(text, '=') = '\0';
		assert_null(strstr(MANA_DEVARGS_HELP, text + strlen("MANA: ")));
	}
}

TEST(test_number)
{
	struct mana_devargs args;
	char text[9 * 24] = "";
	unsigned int i;

	for (i = 1; i <= 9; i++) {
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len,
			 "%smac=00:0d:3a:00:00:%02x", i > 1 ? "," : "", i);
		assert_int_equal(mana_devargs_parse(text, &args),
				 i <= 8 ? 0 : -E2BIG);
	}
	assert_int_equal(mana_devargs_parse("port=1,port=2,port=3,port=4,port=5,"
					    "port=6,port=7,port=8,port=9", &args),
			 -E2BIG);
}
