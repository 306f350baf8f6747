/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Notifications of mana_netdev_watch, on a modelled machine and without a port,
 * where a lost notification would only cause a delay.
 */

#include <net/if.h>

#include "fixture.h"
#include "mana_netdev.h"

#define NAME "mana0p1"
#define OTHER "mana0p0"

static void
test_changes(void **state)
{
	struct mana_netdev netdev = { .ifindex = if_nametoindex(NAME) };
	struct nl_sock *sock;
	int fd;

	(void)state;
	assert_int_not_equal(netdev.ifindex, 0);
	assert_int_equal(mana_netdev_watch_open(&sock, &fd), 0);
	assert_false(mana_netdev_watch_read(sock, &netdev));
	fx_set_txqlen(NAME, 500);
	assert_true(mana_netdev_watch_read(sock, &netdev));
	assert_false(mana_netdev_watch_read(sock, &netdev));
	fx_set_txqlen(OTHER, 500);
	assert_false(mana_netdev_watch_read(sock, &netdev));
	fx_set_txqlen(OTHER, 1000);
	fx_set_txqlen(NAME, 1000);
	fx_set_txqlen(OTHER, 900);
	assert_true(mana_netdev_watch_read(sock, &netdev));
	assert_false(mana_netdev_watch_read(sock, &netdev));
	mana_netdev_watch_close(sock);
}

/* A socket buffer overflow: a lost notification may be this netdev's. */
static void
test_overflow(void **state)
{
	struct mana_netdev netdev = { .ifindex = if_nametoindex(NAME) };
	unsigned int i, nb_reads = 0;
	struct nl_sock *sock;
	bool is_notified = false;
	int fd;

	(void)state;
	assert_int_equal(mana_netdev_watch_open(&sock, &fd), 0);
	for (i = 0; i < 5000; i++)
		fx_set_txqlen(OTHER, i % 2 == 0 ? 500 : 1000);
	while (!is_notified && nb_reads++ < 1000)
		is_notified = mana_netdev_watch_read(sock, &netdev);
	assert_true(is_notified);
	mana_netdev_watch_close(sock);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_overflow),
	};

	return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
