/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The fault plan: which call of the kernel fails, and how; on a PCI machine,
 * which request of a hardware channel.
 *
 * The plan is in the segment; --fault, the command fail and tests add rules.
 * Call these with the machine's lock held; they are async-signal-safe.
 */

#ifndef MODEL_FAULT_H
#define MODEL_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * X(name): the kernel calls that can be made to fail, as users name them. "any"
 * stands for all of them, counted together.
 */
#define MODEL_FAULT_CALLS(X) \
	X(any)               \
	X(open)              \
	X(get_context)       \
	X(query_device)      \
	X(query_port)        \
	X(alloc_async)       \
	X(alloc_channel)     \
	X(mmap)              \
	X(alloc_pd)          \
	X(dealloc_pd)        \
	X(reg_mr)            \
	X(dereg_mr)          \
	X(create_cq)         \
	X(destroy_cq)        \
	X(create_wq)         \
	X(destroy_wq)        \
	X(create_ind)        \
	X(destroy_ind)       \
	X(create_qp)         \
	X(destroy_qp)        \
	X(netlink)           \
	X(rtnetlink)         \
	X(ethtool)           \
	X(ifflags)

/*
 * X(name, code): the requests that can be made to fail, as users name them, and
 * their codes: Linux gdma.h enum gdma_request_type, mana.h enum
 * mana_command_code, mana_ib.h enum mana_ib_command_code; OpenVMM gdma_defs. Codes
 * that are not listed count as "other".
 */
#define MODEL_FAULT_REQUESTS(X)			\
	X(other, 0)				\
	X(verify_vf_driver_version, 1)		\
	X(query_max_resources, 2)		\
	X(list_devices, 3)			\
	X(register_device, 4)			\
	X(deregister_device, 5)			\
	X(generate_test_eqe, 10)		\
	X(generate_reset_request_eqe, 11)	\
	X(create_queue, 12)			\
	X(disable_queue, 13)			\
	X(allocate_resource_range, 22)		\
	X(destroy_resource_range, 24)		\
	X(create_dma_region, 25)		\
	X(dma_region_add_pages, 26)		\
	X(destroy_dma_region, 27)		\
	X(create_pd, 29)			\
	X(destroy_pd, 30)			\
	X(create_mr, 31)			\
	X(destroy_mr, 32)			\
	X(change_msix_for_eq, 81)		\
	X(query_hwc_timeout, 84)		\
	X(alloc_dm, 96)				\
	X(destroy_dm, 97)			\
	X(query_dev_config, 0x20001)		\
	X(query_gf_stat, 0x20002)		\
	X(config_vport_tx, 0x20003)		\
	X(create_wq_obj, 0x20004)		\
	X(destroy_wq_obj, 0x20005)		\
	X(fence_rq, 0x20006)			\
	X(config_vport_rx, 0x20007)		\
	X(query_vport_config, 0x20008)		\
	X(query_link_config, 0x2000a)		\
	X(set_bw_clamp, 0x2000b)		\
	X(query_phy_stat, 0x2000c)		\
	X(get_adapter_cap, 0x30001)		\
	X(create_adapter, 0x30002)		\
	X(destroy_adapter, 0x30003)		\
	X(config_ip_addr, 0x30004)		\
	X(config_mac_addr, 0x30005)		\
	X(create_ud_qp, 0x30006)		\
	X(destroy_ud_qp, 0x30007)		\
	X(create_rnic_cq, 0x30008)		\
	X(destroy_rnic_cq, 0x30009)		\
	X(set_qp_state, 0x3000d)		\
	X(query_vf_counters, 0x30022)		\
	X(query_device_counters, 0x30023)

/* FAULT_any also stands for all requests. */
enum fault_call {
#define MODEL_FAULT_ENUM(name) FAULT_##name,
	MODEL_FAULT_CALLS(MODEL_FAULT_ENUM)
#undef MODEL_FAULT_ENUM
	NB_FAULT_KERNEL_CALLS,
	FAULT_FIRST_REQUEST = NB_FAULT_KERNEL_CALLS,
	FAULT_BEFORE_REQUESTS = NB_FAULT_KERNEL_CALLS - 1,
#define MODEL_FAULT_ENUM(name, code) FAULT_REQUEST_##name,
	MODEL_FAULT_REQUESTS(MODEL_FAULT_ENUM)
#undef MODEL_FAULT_ENUM
	NB_FAULT_CALLS
};
#define NB_FAULT_REQUESTS ((uint32_t)NB_FAULT_CALLS - FAULT_FIRST_REQUEST)

/* The hardware status of a request that fails, if a rule gives none. */
#define FAULT_DEFAULT_STATUS 1u

#define FAULT_MAX_RULES 32

struct fault_rule {
	enum fault_call call;
	uint64_t nth; /* as nb_calls counts */
	uint32_t error; /* positive errno; of a request: hardware status */
	bool and_later;
};

struct fault_plan {
	/* Since the machine was created; [FAULT_any]: sum over all calls. */
	uint64_t nb_calls[NB_FAULT_CALLS];
	uint64_t nb_failed[NB_FAULT_CALLS]; /* made to fail */
	uint64_t nb_fired; /* sum of nb_failed */
	uint32_t nb_rules;
	struct fault_rule rules[FAULT_MAX_RULES];
	uint64_t slow_ns[NB_FAULT_CALLS]; /* time that a call takes on a slow host */
};

const char *fault_call_name(enum fault_call call);

/* Count a call (not FAULT_any). Returns 0, or the -errno with which to fail. */
int fault_check(enum fault_call call);

/*
 * The entry of a request, by its code. fault_request_check() counts a request;
 * returns 0, or the hardware status with which to fail it.
 */
enum fault_call fault_request(uint32_t code);
uint32_t fault_request_check(uint32_t code);

/*
 * Parse the name of a call, or on a PCI machine of a request; an errno by name
 * or number, or on a PCI machine a hardware status. 0 or -EINVAL.
 */
int fault_call_read(const char *text, enum fault_call *call);
int fault_error_read(const char *text, uint32_t *error);
/* The error of a rule that gives none. */
uint32_t fault_default_error(void);
/* The first entry of the machine's kind besides FAULT_any, and behind the last. */
enum fault_call fault_first(bool is_pci);
enum fault_call fault_end(bool is_pci);

/*
 * Make the nth call from now on (1: the next) fail, and all later ones if
 * and_later. 0, or -ENOSPC if there are FAULT_MAX_RULES rules already.
 */
int fault_add(enum fault_call call, uint64_t nth, bool and_later, uint32_t error);

/*
 * Add the rule "CALL:N[+][:ERRNO]": the N-th call fails, with '+' all later
 * ones, too. ERRNO is a name or a number, by default ENOMEM; on a PCI machine,
 * CALL is a request, and ERRNO a hardware status, by default 1. Returns 0, or
 * -EINVAL / -ENOSPC with the reason in message.
 */
int fault_plan_add(const char *rule, char *message, size_t message_bytes);

/*
 * A slow host: the time that this thread's calls take, summed up since the last
 * call of this function. Needs no lock.
 */
uint64_t fault_slow_take(void);

/* Remove all rules. */
void fault_plan_clear(void);

#endif /* MODEL_FAULT_H */
