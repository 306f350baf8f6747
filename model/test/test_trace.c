/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Lines of the trace against constant lines from the specification: positions
 * of fields, names, order.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nic.h"
#include "fixture.h"
#include "trace.h"
#include "trace_layout.h"

#define MAX_TEXT (1u << 20)

/* Parts that several lines have. */
#define WQE_HEADER(div4)                                                  \
	"reserved=0x0 last_vbytes=0 num_sge=1 inline_oob_size_div4=" div4 \
	" client_oob_in_sgl=0 consume_credit=0 fence=0 reserved1=0x0 "    \
	"client_data_unit=0 check_sn=0 sgl_direct=0 "
#define RX_CQE(vlan)                                                    \
	" client_type=1 vendor_err=0x0 " vlan                           \
	" rx_outer_iphdr_csum_succeed=0 rx_outer_iphdr_csum_fail=0 "    \
	"reserved1=0x0 rx_hashtype=0x0 rx_iphdr_csum_succeed=1 "        \
	"rx_iphdr_csum_fail=0 rx_tcp_csum_succeed=0 rx_tcp_csum_fail=0 " \
	"rx_udp_csum_succeed=1 rx_udp_csum_fail=0 reserved2=0x0 "       \
	"ppi0.pkt_len=60 ppi0.pkt_hash=0x0 "
#define RX_CQE_END                                                         \
	"ppi2.pkt_len=0 ppi2.pkt_hash=0x0 ppi3.pkt_len=0 "                 \
	"ppi3.pkt_hash=0x0 rx_wqe_offset=0 wq_num=561 is_sq=0 "            \
	"reserved3=0x0 owner=1 raw="
#define TX_CQE(vendor_err)                                              \
	" client_type=1 vendor_err=" vendor_err " tx_data_offset=0 "    \
	"tx_sgl_offset=0 tx_wqe_offset=0 wq_num=1008 is_sq=1 "          \
	"reserved3=0x0 owner=1 raw="
#define ZEROS_4 "00000000,00000000,00000000,00000000,"
#define ZEROS_14 ZEROS_4 ZEROS_4 ZEROS_4 "00000000,00000000,"

static struct fixture fx;
static char text[MAX_TEXT];

/* Start a fixture that writes these classes (0: all) to a new file. */
static void
start(uint32_t classes)
{
	fx_defaults(&fx);
	snprintf(fx.config.trace, sizeof(fx.config.trace),
		 "/tmp/mana-test-trace-%d", (int)getpid());
	fx.config.trace_classes = classes;
	fx.config.seed = 7;
	fx_start(&fx);
}

static int
remove_trace(void **state)
{
	unlink(fx.config.trace);
	fx_stop(&fx);
	return 0;
}

/* The text written since the last call. */
static char *
read_new_lines(void)
{
	static off_t seen;
	struct stat st;
	ssize_t n;
	int fd = open(fx.config.trace, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	if (st.st_size < seen || strncmp(text, "0 trace", 7) != 0)
		seen = 0; /* a new file */
	n = pread(fd, text + seen, sizeof(text) - 1 - (size_t)seen, seen);
	assert_true(n >= 0);
	close(fd);
	seen += n;
	text[seen] = '\0';
	return text + seen - n;
}

static void
forget(void)
{
	memset(text, 0, sizeof(text));
	read_new_lines();
}

TEST_WITH(first_lines, NULL, remove_trace)
{
	memset(text, 0, sizeof(text));
	start(0);
	assert_string_equal(read_new_lines(),
		"0 trace version=1 seed=7 mode=sync max_mtu=9000 vp_offset=5 "
		"functions=1 ports=2\n"
		"0 event kind=queue_created fn=0 port=1 queue=sq id=1008 "
		"bytes=8192 cq=304 cqes=256\n"
		"0 event kind=queue_created fn=0 port=1 queue=rq id=560 "
		"bytes=8192 cq=305 cqes=256\n"
		"0 event kind=queue_created fn=0 port=2 queue=sq id=1009 "
		"bytes=8192 cq=306 cqes=256\n"
		"0 event kind=queue_created fn=0 port=2 queue=rq id=561 "
		"bytes=8192 cq=307 cqes=256\n");
}

/* One UDP frame from port 1 to port 2: each class but verbs. */
TEST_WITH(one_packet, NULL, remove_trace)
{
	struct fx_wqe wqe;

	start(0);
	forget();
	fx_frame(a->buf + 64, NIC_PROTO_UDP, 18);
	fx_fill_rq(b, 3);
	wqe = fx_tx_wqe(a, 64, 60);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	fx_ring_cq(a, &a->scq, true);
	assert_string_equal(read_new_lines(),
		"1000 doorbell fn=0 page=2 reg=rq short=0 id=561 tail=96 "
		"wqe_cnt=0 arm=0 wqes=3\n"
		"2000 doorbell fn=0 page=1 reg=sq short=0 id=1008 tail=32 "
		"wqe_cnt=0 arm=0 wqes=1\n"
		"2000 wqe fn=0 port=1 queue=sq id=1008 pos=0 bytes=32 "
		WQE_HEADER("2") "pkt_fmt=0 is_outer_ipv4=0 "
		"is_outer_ipv6=0 comp_iphdr_csum=0 comp_tcp_csum=0 "
		"comp_udp_csum=0 suppress_txcqe_gen=0 vcq_num=304 "
		"trans_off=0 vsq_frame=0 short_vp_offset=5 "
		"sge0=0x4000+0x40:60 raw=00000000,00000201,00013000,"
		"05000000,00000040,00000000,00004000,0000003c\n"
		"2000 wqe fn=0 port=2 queue=rq id=561 pos=0 bytes=32 "
		WQE_HEADER("2") "sge0=0x4001+0x80000:2048 "
		"raw=00000000,00000201,00000000,00000000,00080000,00000000,"
		"00004001,00000800\n"
		"2000 cqe fn=0 cq=307 index=256 type=RX_OKAY"
		RX_CQE("rx_vlan_id=0 rx_vlantag_present=0")
		"ppi1.pkt_len=0 ppi1.pkt_hash=0x0 " RX_CQE_END
		"00000041,22000000,0000003c," ZEROS_4 ZEROS_4 ZEROS_4
		"20000231\n"
		"2000 cqe fn=0 cq=304 index=256 type=TX_OKAY" TX_CQE("0x0")
		"00000060," ZEROS_14 "210003f0\n"
		"3000 doorbell fn=0 page=1 reg=cq short=0 id=304 tail=257 "
		"wqe_cnt=0 arm=1 wqes=0\n");
}

/* Specification 4.9, second case: VLAN, the long form, fields of all kinds. */
TEST_WITH(long_oob, NULL, remove_trace)
{
	struct fx_wqe wqe;

	start(1u << TRACE_wqe);
	forget();
	fx_frame(a->buf, NIC_PROTO_UDP, 18);
	wqe = fx_tx_wqe(a, 0, 60);
	fx_tx_long(a, &wqe);
	wqe.oob[0] |= 0x44; /* IPv4, UDP checksum */
	wqe.oob[1] |= 34;
	wqe.oob[2] = 0x06430008;
	fx_send(a, &wqe);
	assert_string_equal(read_new_lines(),
		"1000 wqe fn=0 port=1 queue=sq id=1008 pos=0 bytes=64 "
		WQE_HEADER("6") "pkt_fmt=1 is_outer_ipv4=1 "
		"is_outer_ipv6=0 comp_iphdr_csum=0 comp_tcp_csum=0 "
		"comp_udp_csum=1 suppress_txcqe_gen=0 vcq_num=304 "
		"trans_off=34 vsq_frame=0 short_vp_offset=5 is_encap=0 "
		"inner_is_ipv6=0 inner_tcp_opt=0 inject_vlan_pri_tag=1 "
		"reserved2=0x0 pcp=3 dei=0 vlan_id=100 inner_frame_offset=0 "
		"inner_ip_rel_offset=0 long_vp_offset=5 reserved3=0x0 "
		"reserved4=0x0 reserved5=0x0 sge0=0x4000+0x0:60 "
		"raw=00000000,00000601,00013045,05000022,06430008,00050000,"
		"00000000,00000000,00000000,00000000,00004000,0000003c\n");
}

/* Every bit of the header and the OOB, and an SGE that has no region. */
TEST_WITH(all_bits, NULL, remove_trace)
{
	struct fx_wqe wqe;

	start(1u << TRACE_wqe);
	forget();
	wqe = fx_tx_wqe(a, 0, 60);
	fx_tx_long(a, &wqe);
	wqe.header[0] = 0xfedcba98;
	wqe.header[1] = 0xabcdfe01;
	wqe.oob[0] = 0x12345679;
	wqe.oob[1] = 0x9abcdef0;
	wqe.oob[2] = 0xfffffff7;
	wqe.oob[3] = 0x89abcdef;
	wqe.oob[4] = 0xffffffff;
	wqe.oob[5] = 1;
	wqe.sge[0].key = 0x777;
	fx_send(a, &wqe);
	assert_string_equal(read_new_lines(),
		"1000 wqe fn=0 port=1 queue=sq id=1008 pos=0 bytes=64 "
		"reserved=0xdcba98 last_vbytes=254 num_sge=1 "
		"inline_oob_size_div4=6 client_oob_in_sgl=1 "
		"consume_credit=1 fence=1 reserved1=0x3 "
		"client_data_unit=11213 check_sn=0 sgl_direct=1 pkt_fmt=1 "
		"is_outer_ipv4=0 is_outer_ipv6=1 comp_iphdr_csum=1 "
		"comp_tcp_csum=1 comp_udp_csum=1 suppress_txcqe_gen=0 "
		"vcq_num=1193046 trans_off=752 vsq_frame=12087 "
		"short_vp_offset=154 is_encap=1 inner_is_ipv6=1 "
		"inner_tcp_opt=1 inject_vlan_pri_tag=0 reserved2=0xfff "
		"pcp=7 dei=1 vlan_id=4095 inner_frame_offset=495 "
		"inner_ip_rel_offset=51 long_vp_offset=2475 reserved3=0x8 "
		"reserved4=0xffffffff reserved5=0x1 sge0=0x777+?:60 "
		"raw=fedcba98,abcdfe01,12345679,9abcdef0,fffffff7,89abcdef,"
		"ffffffff,00000001,ffffffff,ffffffff,00000777,0000003c\n");
}

/* Each table covers each bit of its words once. */
static void
cover(const struct trace_field *field, uint32_t first, uint32_t last,
      uint32_t seen[16])
{
	for (; field->name != NULL; field++) {
		const uint64_t mask = ((UINT64_C(1) << field->nb_bits) - 1)
				      << field->shift;

		assert_uint_in_range(field->word, first, last);
		assert_true(mask <= UINT32_MAX);
		assert_int_equal(seen[field->word] & mask, 0);
		seen[field->word] |= (uint32_t)mask;
	}
}

TEST(layouts)
{
	uint32_t wqe[16] = { 0 }, oob[16] = { 0 }, rx[16] = { 0 }, i;
	uint8_t bytes[64] = { 0 };

	cover(trace_wqe_header, 0, 1, wqe);
	assert_int_equal(wqe[0] & wqe[1], UINT32_MAX);
	cover(trace_oob_short, 0, 1, oob);
	cover(trace_oob_long, 2, 5, oob);
	for (i = 0; i < 6; i++)
		assert_int_equal(oob[i], UINT32_MAX);
	cover(trace_cqe_type, 0, 0, rx);
	cover(trace_cqe_header, 0, 0, rx);
	cover(trace_cqe_rx, 1, 14, rx);
	cover(trace_cqe_trailer, 15, 15, rx);
	for (i = 0; i < 16; i++)
		assert_int_equal(rx[i], i == 3 || i == 6 || i == 9 || i == 12 ?
						0 :
					i == 2 || i == 5 || i == 8 || i == 11 ?
						0xffff :
						UINT32_MAX);
	hw_put_le32(bytes + 8, 0xffffffe0);
	assert_int_equal(trace_field_get(&trace_cqe_tx[2], bytes), 0x7ffffff);
	hw_put_le32(bytes + 8, 1 << 5 | 0x1f);
	assert_int_equal(trace_field_get(&trace_cqe_tx[2], bytes), 1);
	assert_string_equal(trace_cqe_type_name(42), "TX_GDMA_ERR");
	assert_null(trace_cqe_type_name(43));
	assert_null(trace_cqe_type_name(64));
}

TEST_WITH(unknown_key, NULL, remove_trace)
{
	struct fx_wqe wqe;

	start(1u << TRACE_cqe | 1u << TRACE_event);
	forget();
	wqe = fx_tx_wqe(a, 0, 60);
	wqe.sge[0].key = 0x777;
	fx_send(a, &wqe);
	assert_string_equal(read_new_lines(),
		"1000 event kind=violation name=sge_key_unknown fn=0 "
		"queue=sq id=1008 index=0 count=1\n"
		"1000 cqe fn=0 cq=304 index=256 type=TX_GDMA_ERR"
		TX_CQE("0x206") "0002066a," ZEROS_14 "210003f0\n");
}

/* Two packets in one CQE, with a VLAN tag and a hash of no kind. */
TEST_WITH(coalesced, NULL, remove_trace)
{
	struct fx_wqe wqe;
	uint32_t i;

	start(1u << TRACE_cqe);
	fx_stop(&fx);
	fx.config.coalesce = true;
	fx_start(&fx);
	forget();
	fx_frame(a->buf, NIC_PROTO_UDP, 18);
	fx_fill_rq(b, 4);
	for (i = 0; i < 2; i++) {
		wqe = fx_tx_wqe(a, 0, 60);
		fx_tx_long(a, &wqe);
		wqe.oob[2] = 0x06430008;
		fx_post(&a->sq, &wqe);
	}
	fx_ring_sq(a);
	assert_non_null(strstr(read_new_lines(),
		"2000 cqe fn=0 cq=307 index=256 type=RX_COALESCED_4"
		RX_CQE("rx_vlan_id=100 rx_vlantag_present=1")
		"ppi1.pkt_len=60 ppi1.pkt_hash=0x0 " RX_CQE_END
		"00000042,22001064,0000003c,00000000,00000000,0000003c,"
		ZEROS_4 ZEROS_4 "00000000,20000231\n"));
}

TEST_WITH(doorbells, NULL, remove_trace)
{
	start(1u << TRACE_doorbell | 1u << TRACE_event);
	forget();
	fx_doorbell(a, 0x810, 0x80000000u | 0x130 << 16 | 5, 4);
	fx_doorbell(a, 0x400, UINT64_C(0x0000002003000230), 8);
	fx_doorbell(a, 0x000, UINT64_C(0x0000000000000999), 8);
	fx_doorbell(a, 0x020, 1, 8);
	assert_string_equal(read_new_lines(),
		"1000 doorbell fn=0 page=1 reg=cq short=1 id=304 tail=5 "
		"wqe_cnt=0 arm=1 wqes=0\n"
		"2000 doorbell fn=0 page=1 reg=rq short=0 id=560 tail=32 "
		"wqe_cnt=3 arm=0 wqes=1\n"
		"2000 event kind=violation name=rq_doorbell_wqe_cnt fn=0 "
		"queue=rq id=560 index=0 count=1\n"
		"3000 doorbell fn=0 page=1 reg=sq short=0 id=2457 tail=0 "
		"wqe_cnt=0 arm=0 wqes=0\n"
		"3000 event kind=violation name=doorbell_unknown_queue fn=0 "
		"queue=sq id=2457 index=0 count=1\n"
		"4000 event kind=violation name=doorbell_bad_offset fn=0 "
		"index=32 count=1\n");
}

/* Only the chosen classes; no file without a trace. */
TEST_WITH(classes, NULL, remove_trace)
{
	struct fx_wqe wqe;
	uint32_t class;
	char *line;

	for (class = TRACE_doorbell; class <= TRACE_event; class++) {
		start(1u << class);
		wqe = fx_tx_wqe(a, 0, 60);
		fx_send(a, &wqe);
		memset(text, 0, sizeof(text));
		line = strchr(read_new_lines(), '\n') + 1;
		assert_int_not_equal(*line, '\0');
		for (; *line != '\0'; line = strchr(line, '\n') + 1) {
			const char *word = strchr(line, ' ') + 1;
			const char *name = trace_class_name(class);

			assert_int_equal(strncmp(word, name, strlen(name)), 0);
			assert_int_equal(word[strlen(name)], ' ');
		}
		if (class < TRACE_event)
			remove_trace(NULL);
	}
}

TEST_WITH(no_file_without_trace, NULL, fx_teardown)
{
	struct fx_wqe wqe;

	fx_defaults(&fx);
	fx_start(&fx);
	for (enum trace_class class = 0; class < NB_TRACE_CLASSES; class++)
		assert_false(trace_is_on(class));
	wqe = fx_tx_wqe(a, 0, 60);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
}

/* The longest WQE fits into a line; truncation is marked. */
TEST_WITH(long_lines, NULL, remove_trace)
{
	struct fx_wqe wqe;
	uint32_t i;
	char *line;

	start(1u << TRACE_wqe);
	forget();
	wqe = fx_tx_wqe(a, 0, 100);
	for (i = 1; i < 31; i++)
		fx_tx_add_sge(a, &wqe, FX_BUF_BYTES - 65536 + i, 2000 + i);
	fx_send(a, &wqe);
	line = read_new_lines();
	assert_non_null(strstr(line, " sge30=0x4000+0xf001e:2030 raw="));
	assert_null(strstr(line, "..."));
	/* 8 + 8 + 31 * 16 bytes, as words with a comma between. */
	line = strstr(line, " raw=") + 5;
	assert_int_equal(strlen(line), 128 * 9);

	trace_put(TRACE_event, "%05000d", 1);
	line = read_new_lines();
	assert_int_equal(strlen(line), TRACE_LINE_BYTES - 1);
	assert_string_equal(line + strlen(line) - 4, "...\n");
}

#define NB_WRITERS 3
#define NB_LINES   2000

/* All lines of all processes are complete. */
TEST_WITH(several_writers, NULL, remove_trace)
{
	unsigned int next[NB_WRITERS] = { 0 }, writer, n;
	int status, i, used;
	char *line;

	start(1u << TRACE_event);
	forget();
	for (i = 0; i < NB_WRITERS; i++) {
		if (fork() == 0) {
			for (n = 0; n < NB_LINES; n++)
				trace_event("writer=%d n=%u %0*d", i, n,
					    (int)(n % 97) + 1, 0);
			_exit(0);
		}
	}
	for (i = 0; i < NB_WRITERS; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	for (line = read_new_lines(); *line != '\0';
	     line = strchr(line, '\n') + 1) {
		used = 0;
		assert_int_equal(sscanf(line, "0 event writer=%u n=%u 0%n",
					&writer, &n, &used), 2);
		assert_true(writer < NB_WRITERS && used > 0);
		assert_int_equal(n, next[writer]++);
		assert_int_equal(strspn(line + used, "0"), n % 97);
		assert_int_equal(line[used + (int)(n % 97)], '\n');
	}
	for (i = 0; i < NB_WRITERS; i++)
		assert_int_equal(next[i], NB_LINES);
}

/* A program closes all descriptors, or reuses the number. */
TEST_WITH(closed_descriptor_is_not_written, NULL, remove_trace)
{
	char other[64], byte;
	int fd, i;

	start(1u << TRACE_event);
	forget();
	closefrom(3);
	trace_event("n=1");
	assert_string_equal(read_new_lines(), "0 event n=1\n");

	snprintf(other, sizeof(other), "/tmp/mana-test-other-%d", (int)getpid());
	fd = open(other, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (i = 900; i < 1024; i++)
		if (fcntl(i, F_GETFD) >= 0)
			dup2(fd, i);
	trace_event("n=2");
	assert_string_equal(read_new_lines(), "0 event n=2\n");
	assert_int_equal(pread(fd, &byte, 1, 0), 0);
	unlink(other);
	closefrom(3);
}

TEST_WITH(quoting, NULL, remove_trace)
{
	struct trace_line line;

	start(1u << TRACE_event);
	forget();
	trace_begin(&line, TRACE_event);
	trace_add_text(&line, "line", "a b=\"c\"\n\x7f%d");
	trace_end(&line);
	assert_string_equal(read_new_lines(), "0 event line=\"a b=?c???%d\"\n");
	assert_string_equal(trace_result(0), "0");
	assert_string_equal(trace_result(5), "0");
	assert_string_equal(trace_result(-ENOSPC), "ENOSPC");
	assert_string_equal(trace_result(-99999), "?");
	/* FNV-1a 64 of "", "a", "foobar": the authors' test vectors. */
	assert_true(trace_hash("", 0) == UINT64_C(0xcbf29ce484222325));
	assert_true(trace_hash("a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(trace_hash("foobar", 6) == UINT64_C(0x85944171f73967e8));
}

/* The pipe has no reader any more: logged once, and the program continues. */
TEST_WITH(closed_pipe_is_logged_once, NULL, fx_teardown)
{
	int fds[2], err[2], saved = dup(STDERR_FILENO);
	char said[512] = "";

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pipe(err), 0);
	dup2(fds[1], STDERR_FILENO);
	fx_defaults(&fx);
	strcpy(fx.config.trace, "-");
	fx_start(&fx);
	close(fds[0]);
	dup2(err[1], STDERR_FILENO);
	trace_event("n=1");
	trace_event("n=2");
	dup2(saved, STDERR_FILENO);
	assert_int_equal(trace_on, 0);
	assert_true(read(err[0], said, sizeof(said) - 1) > 0);
	assert_non_null(strstr(said, "stderr is not complete: Broken pipe"));
	assert_ptr_equal(strchr(said, '\n'), strrchr(said, '\n'));
	close(fds[1]);
	close(err[0]);
	close(err[1]);
	close(saved);
}

