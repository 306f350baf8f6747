/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames and WQEs with offload requests. */

#include "nic.h"
#include "fixture.h"

#define OOB_IS_IPV4  (1u << 2)
#define OOB_IS_IPV6  (1u << 3)
#define OOB_IP_CSUM  (1u << 4)
#define OOB_TCP_CSUM (1u << 5)
#define OOB_UDP_CSUM (1u << 6)

/* Write the pseudo-header sum of a new frame, and 0 as IPv4 header checksum. */
static void
fx_put_seeds(uint8_t *frame, bool v6, uint8_t proto, uint32_t l4_bytes)
{
	const uint8_t *addrs = frame + (v6 ? 22 : 26);
	uint8_t *l4 = frame + (v6 ? 54 : 34);
	uint32_t sum = proto + l4_bytes, i;

	for (i = 0; i < (v6 ? 32u : 8u); i += 2)
		sum += hw_be16(addrs + i);
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	hw_put_be16(l4 + (proto == NIC_PROTO_TCP ? 16 : 6), (uint16_t)sum);
	if (!v6)
		hw_put_be16(frame + 24, 0);
}

struct fx_wqe
fx_csum_wqe(const struct fx_port *p, uint8_t proto, bool v6)
{
	const uint32_t n = v6 ? fx_frame6(p->buf, proto, 30) :
				fx_frame(p->buf, proto, 30);
	const uint32_t l4_off = v6 ? 54 : 34;
	struct fx_wqe wqe = fx_tx_wqe(p, 0, n);

	fx_put_seeds(p->buf, v6, proto, n - l4_off);
	wqe.oob[0] |= v6 ? OOB_IS_IPV6 : OOB_IS_IPV4 | OOB_IP_CSUM;
	wqe.oob[0] |= proto == NIC_PROTO_TCP ? OOB_TCP_CSUM : OOB_UDP_CSUM;
	wqe.oob[1] |= l4_off;
	return wqe;
}

struct fx_wqe
fx_lso_wqe(const struct fx_port *p, bool v6, uint32_t payload)
{
	const uint32_t header = v6 ? 74 : 54;
	struct fx_wqe wqe;

	if (v6)
		fx_frame6(p->buf, NIC_PROTO_TCP, payload);
	else
		fx_frame(p->buf, NIC_PROTO_TCP, payload);
	fx_put_seeds(p->buf, v6, NIC_PROTO_TCP, 0);
	hw_put_be16(p->buf + (v6 ? 18 : 16), 0);
	wqe = fx_tx_wqe(p, 0, header);
	fx_tx_add_sge(p, &wqe, header, payload);
	wqe.header[0] = header << 24;
	wqe.header[1] |= 1u << 11 | 1000u << 16;
	wqe.oob[0] |= OOB_TCP_CSUM |
		      (v6 ? OOB_IS_IPV6 : OOB_IS_IPV4 | OOB_IP_CSUM);
	wqe.oob[1] |= header - 20;
	return wqe;
}

void
fx_add_tag(const struct fx_port *p, struct fx_wqe *wqe, uint16_t tci)
{
	uint32_t i, n = 0;

	for (i = 0; i < wqe->nb_sge; i++) {
		n += wqe->sge[i].size_bytes;
		wqe->sge[i].addr += i > 0 ? 4 : 0;
	}
	memmove(p->buf + 16, p->buf + 12, n - 12);
	hw_put_be16(p->buf + 12, NIC_ETHERTYPE_VLAN);
	hw_put_be16(p->buf + 14, tci);
	wqe->sge[0].size_bytes += 4;
	if ((wqe->header[1] & 1u << 11) != 0)
		wqe->header[0] += 4u << 24;
	wqe->oob[1] += 4;
}

void
fx_insert_tag(const struct fx_port *p, struct fx_wqe *wqe, uint16_t tci)
{
	fx_tx_long(p, wqe);
	wqe->oob[2] = (uint32_t)(tci >> 13) << 16 |
		      (uint32_t)(tci >> 12 & 1) << 19 |
		      (uint32_t)(tci & 0xfff) << 20 | 1u << 3;
}
