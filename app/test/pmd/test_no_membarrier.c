/* SPDX-License-Identifier: BSD-3-Clause */

/* A seccomp filter forbids membarrier(2), as in some containers: no queue can be paused. */

#include <errno.h>
#include <stddef.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <rte_cycles.h>

#include "fixture.h"

static const struct fx_config config = { .nb_rxq = 2, .nb_txq = 1, .rss_hf = FX_RSS,
					 .intr = { .rmv = 1 } };
static bool is_removed;

static int
on_removal(uint16_t port __rte_unused, enum rte_eth_event_type type __rte_unused,
	   void *arg __rte_unused, void *ret_param __rte_unused)
{
	__atomic_store_n(&is_removed, true, __ATOMIC_RELEASE);
	return 0;
}

static void
test_no_recovery(void **state)
{
	struct fixture *fx = *state;
	uint64_t end = fx_deadline();

	fx_expect_error("");
	assert_true(fx_nb_logged(RTE_LOG_NOTICE, "membarrier") > 0);
	fx_start(fx, &config);
	fx_drain(fx);
	assert_int_equal(rte_eth_dev_callback_register(fx->port[0],
			 RTE_ETH_EVENT_INTR_RMV, on_removal, NULL), 0);
	fx_command("remove fn=0");
	while (!__atomic_load_n(&is_removed, __ATOMIC_ACQUIRE)) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(100);
	}
	fx_stop(fx);
	assert_int_equal(rte_eth_dev_callback_unregister(fx->port[0],
			 RTE_ETH_EVENT_INTR_RMV, on_removal, NULL), 0);
	fx_remove(fx);
	fx_command("return fn=0");
	assert_int_equal(fx_probe(fx, ""), 0);
}

/* The running port keeps its key, and works. */
static void
test_no_change(void **state)
{
	uint8_t key[40] = { 1 };
	struct rte_eth_rss_conf conf = { .rss_key = key, .rss_key_len = sizeof(key),
					 .rss_hf = FX_RSS };
	struct fixture *fx = *state;

	fx_expect_error("membarrier");
	fx_start(fx, &config);
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[0], &conf), -ENOTSUP);
	fx_send_one(fx, 1);
	fx_drain(fx);
	fx_stop(fx);
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[0], &conf), 0);
}

static int
forbid(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = RTE_DIM(filter), .filter = filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ? -1 :
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		FX_TEST(test_no_recovery),
		FX_TEST(test_no_change),
	};

	/* Before EAL creates threads. */
	if (forbid() != 0) {
		perror("seccomp");
		return 1;
	}
	return FX_RUN("no_membarrier", tests);
}
