/* SPDX-License-Identifier: BSD-3-Clause */

/* Queries of device, ports, GIDs and P_Keys. */

#include <stdio.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "uverbs.h"

static void
print_device(const struct ib_uverbs_query_device_resp *d)
{
#define FIELD(member) \
	walk_note(#member, "0x%llx", (unsigned long long)d->member)
	FIELD(fw_ver);
	FIELD(sys_image_guid);
	FIELD(max_mr_size);
	FIELD(page_size_cap);
	FIELD(vendor_id);
	FIELD(vendor_part_id);
	FIELD(hw_ver);
	FIELD(max_qp);
	FIELD(max_qp_wr);
	FIELD(device_cap_flags);
	FIELD(max_sge);
	FIELD(max_sge_rd);
	FIELD(max_cq);
	FIELD(max_cqe);
	FIELD(max_mr);
	FIELD(max_pd);
	FIELD(max_qp_rd_atom);
	FIELD(max_ee_rd_atom);
	FIELD(max_res_rd_atom);
	FIELD(max_qp_init_rd_atom);
	FIELD(max_ee_init_rd_atom);
	FIELD(atomic_cap);
	FIELD(max_ee);
	FIELD(max_rdd);
	FIELD(max_mw);
	FIELD(max_raw_ipv6_qp);
	FIELD(max_raw_ethy_qp);
	FIELD(max_mcast_grp);
	FIELD(max_mcast_qp_attach);
	FIELD(max_total_mcast_qp_attach);
	FIELD(max_ah);
	FIELD(max_fmr);
	FIELD(max_map_per_fmr);
	FIELD(max_srq);
	FIELD(max_srq_wr);
	FIELD(max_srq_sge);
	FIELD(max_pkeys);
	FIELD(local_ca_ack_delay);
	FIELD(phys_port_cnt);
#undef FIELD
	walk_note("node_guid", "%s", d->node_guid == 0 ? "0" : "guid");
}

static void
query_device(int fd)
{
	struct ib_uverbs_query_device in = { 0 };
	struct ib_uverbs_query_device_resp out;
	struct uverbs_command c = uverbs_make(IB_USER_VERBS_CMD_QUERY_DEVICE,
					      &in, sizeof(in), &out,
					      sizeof(out));

	memset(&out, 0, sizeof(out));
	walk_name("query_device");
	walk_result(uverbs_command(fd, &c), "ioctl");
	print_device(&out);
	c.out_bytes -= 8;
	walk_result(uverbs_command(fd, &c), "short answer");
}

static void
query_device_ex(int fd)
{
	struct ib_uverbs_ex_query_device in = { 0 };
	struct ib_uverbs_ex_query_device_resp out;
	struct uverbs_command c =
		uverbs_make(EXTENDED | IB_USER_VERBS_EX_CMD_QUERY_DEVICE, &in,
			    sizeof(in), &out, sizeof(out));
	static const uint16_t sizes[] = { 0, 8, 176, 184, 208, 240, 296, 304 };
	char what[64];
	int error;

	walk_name("query_device_ex");
	memset(&out, 0, sizeof(out));
	error = uverbs_command(fd, &c);
	walk_say(error, "ioctl", "comp_mask 0x%x, response_length %u",
		 out.comp_mask, out.response_length);
#define FIELD(member) \
	walk_note(#member, "0x%llx", (unsigned long long)out.member)
	FIELD(odp_caps.general_caps);
	FIELD(timestamp_mask);
	FIELD(hca_core_clock);
	FIELD(device_cap_flags_ex);
	FIELD(rss_caps.supported_qpts);
	FIELD(rss_caps.max_rwq_indirection_tables);
	FIELD(rss_caps.max_rwq_indirection_table_size);
	FIELD(max_wq_type_rq);
	FIELD(raw_packet_caps);
	FIELD(tm_caps.flags);
	FIELD(cq_moderation_caps.max_cq_moderation_count);
	FIELD(max_dm_size);
	FIELD(xrc_odp_caps);
#undef FIELD
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(&out, 0, sizeof(out));
		c.out_bytes = sizes[i];
		snprintf(what, sizeof(what), "answer of %u bytes", sizes[i]);
		error = uverbs_command(fd, &c);
		walk_say(error, what, "response_length %u", out.response_length);
	}
	c.out_bytes = sizeof(out);
	in.comp_mask = 1;
	walk_result(uverbs_command(fd, &c), "comp_mask = 1");
	in.comp_mask = 0;
	in.reserved = 1;
	walk_result(uverbs_command(fd, &c), "reserved = 1");
}

static void
print_port(int error, const char *what, const struct ib_uverbs_query_port_resp *p)
{
	walk_say(error, what,
		 "port_cap_flags 0x%x, max_msg_sz 0x%x, bad_pkey_cntr %u, "
		 "qkey_viol_cntr %u, gid_tbl_len %u, pkey_tbl_len %u, lid %u, "
		 "sm_lid %u, state %u, max_mtu %u, active_mtu %u, lmc %u, "
		 "max_vl_num %u, sm_sl %u, subnet_timeout %u, "
		 "init_type_reply %u, active_width %u, active_speed %u, "
		 "phys_state %u, link_layer %u, flags 0x%x",
		 p->port_cap_flags, p->max_msg_sz, p->bad_pkey_cntr,
		 p->qkey_viol_cntr, p->gid_tbl_len, p->pkey_tbl_len, p->lid,
		 p->sm_lid, p->state, p->max_mtu, p->active_mtu, p->lmc,
		 p->max_vl_num, p->sm_sl, p->subnet_timeout, p->init_type_reply,
		 p->active_width, p->active_speed, p->phys_state, p->link_layer,
		 p->flags);
}

static void
query_port(int fd)
{
	static const uint8_t ports[] = { 1, 2, 0, 3, 255 };
	struct ib_uverbs_query_port_resp_ex ex;
	struct call call;
	char what[64];
	int error;

	walk_name("query_port");
	for (size_t i = 0; i < sizeof(ports); i++) {
		memset(&ex, 0, sizeof(ex));
		call = new_call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
		add(&call, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 8, ports[i]);
		add(&call, UVERBS_ATTR_QUERY_PORT_RESP, sizeof(ex),
		    (uintptr_t)&ex);
		snprintf(what, sizeof(what), "port %u, method", ports[i]);
		print_port(run(fd, &call), what, &ex.legacy_resp);
	}
	call.attr[0].data = 1;
	error = run(fd, &call);
	walk_say(error, "port 1, method", "port_cap_flags2 0x%x",
		 ex.port_cap_flags2);
	call.attr[0].len = 1;
	walk_result(run(fd, &call), "port number of 1 byte");
	call.attr[0].len = 4;
	walk_result(run(fd, &call), "port number of 4 bytes");
	call.attr[0].len = 8;
	call.attr[0].data = 0x101;
	walk_result(run(fd, &call), "port 0x101");
	call.attr[0].data = 1;
	call.attr[1].len = 40;
	walk_result(run(fd, &call), "answer of 40 bytes");
	call.attr[1].len = 64;
	walk_result(run(fd, &call), "answer of 64 bytes");
	call.hdr.num_attrs = 1;
	call.hdr.length -= 16;
	walk_result(run(fd, &call), "no answer");
}

static const char *
netdev_of(uint32_t ifindex)
{
	for (uint32_t p = 0; p < walk_device.nb_ports; p++)
		if (walk_device.ifindex[p] == ifindex)
			return walk_symbols(walk_device.netdev[p]);
	return ifindex == 0 ? "none" : "other";
}

static void
query_gids(int fd)
{
	struct ib_uverbs_gid_entry entries[64];
	uint64_t nb_entries = 0;
	struct call call;
	char what[64];
	int error;

	walk_name("query_gid_table");
	memset(entries, 0, sizeof(entries));
	call = new_call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE);
	add(&call, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, 8, sizeof(entries[0]));
	add(&call, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 4, 0);
	add(&call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, sizeof(entries),
	    (uintptr_t)entries);
	add(&call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, 8,
	    (uintptr_t)&nb_entries);
	error = run(fd, &call);
	walk_say(error, "64 entries", "%llu", (unsigned long long)nb_entries);
	for (uint64_t i = 0; i < nb_entries && i < 64; i++) {
		snprintf(what, sizeof(what), "entry %llu", (unsigned long long)i);
		walk_note(what, "index %u, port %u, type %u, netdev %s",
			  entries[i].gid_index, entries[i].port_num,
			  entries[i].gid_type,
			  netdev_of(entries[i].netdev_ifindex));
	}
	call.attr[0].data = 16;
	walk_result(run(fd, &call), "entries of 16 bytes");
	call.attr[0].data = sizeof(entries[0]);
	call.attr[1].data = 1;
	walk_result(run(fd, &call), "flags = 1");

	walk_name("query_gid_entry");
	for (uint64_t port = 0; port <= 3; port++) {
		static const uint64_t indices[] = { 0, 1, 15, 16, 1000 };

		for (size_t i = 0; i < 5; i++) {
			call = new_call(UVERBS_OBJECT_DEVICE,
					UVERBS_METHOD_QUERY_GID_ENTRY);
			add(&call, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 8, port);
			add(&call, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, 8,
			    indices[i]);
			add(&call, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 4, 0);
			add(&call, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY,
			    sizeof(entries[0]), (uintptr_t)entries);
			snprintf(what, sizeof(what), "port %u, index %u",
				 (uint32_t)port, (uint32_t)indices[i]);
			error = run(fd, &call);
			walk_say(error, what, "type %u, netdev %s",
				 entries[0].gid_type,
				 netdev_of(entries[0].netdev_ifindex));
		}
	}
}

void
walk_query(void)
{
	int fd = uverbs_open_context();

	query_device(fd);
	query_device_ex(fd);
	query_port(fd);
	query_gids(fd);
	close(fd);
}
