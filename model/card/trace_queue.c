/* SPDX-License-Identifier: BSD-3-Clause */

#include "trace_layout.h"
#include "trace_queue.h"

#define NO_OFFSET UINT64_MAX

/* Where in its region an SGE lies; NO_OFFSET when its key names none there. */
static uint64_t
sge_offset(const struct mem_table *keys, const struct hw_sge *sge)
{
	const struct mem_region *region = mem_region_find(keys, sge->key);

	if (region == NULL || sge->addr < region->addr ||
	    sge->addr - region->addr >= region->size_bytes)
		return NO_OFFSET;
	return sge->addr - region->addr;
}

/* key+offset:size, and the offset in place of the address in raw. */
static void
add_sge(struct trace_line *line, uint32_t i, const struct mem_table *keys,
	uint8_t *raw)
{
	struct hw_sge sge = hw_sge_read(raw);
	const uint64_t offset = sge_offset(keys, &sge);

	if (offset == NO_OFFSET)
		trace_add(line, " sge%u=0x%x+?:%u", i, sge.key, sge.size_bytes);
	else
		trace_add(line, " sge%u=0x%x+0x%llx:%u", i, sge.key,
			  (unsigned long long)offset, sge.size_bytes);
	hw_put_le32(raw + HW_SGE_ADDR_OFF, (uint32_t)offset);
	hw_put_le32(raw + HW_SGE_ADDR_OFF + 4, (uint32_t)(offset >> 32));
}

void
trace_wqe(const struct wq *wq, uint32_t port, const struct mem_table *keys,
	  const uint8_t *raw, uint32_t nb_bytes)
{
	const struct hw_wqe wqe = hw_wqe_read(raw);
	uint8_t shown[HW_SQ_WQE_MAX_BYTES] = { 0 };
	const uint32_t oob_bytes = 4u * wqe.oob_div4;
	uint32_t at = HW_WQE_HEADER_BYTES + oob_bytes, i;
	struct trace_line line;

	/* Of an Rx WQE the OOB is what was in the ring before: not shown. */
	memcpy(shown, raw, nb_bytes);
	if (!wq->is_sq)
		memset(shown + HW_WQE_HEADER_BYTES, 0,
		       at < nb_bytes ? oob_bytes : nb_bytes - HW_WQE_HEADER_BYTES);
	trace_begin(&line, TRACE_wqe);
	trace_add(&line, " fn=%u port=%u queue=%s id=%u pos=%u bytes=%u", wq->fn,
		  port, wq->is_sq ? "sq" : "rq", wq->id, wq->ci / HW_BU_BYTES,
		  hw_wqe_bytes(&wqe));
	trace_add_fields(&line, trace_wqe_header, shown);
	if (wq->is_sq && oob_bytes >= HW_SHORT_OOB_BYTES)
		trace_add_fields(&line, trace_oob_short,
				 shown + HW_WQE_HEADER_BYTES);
	if (wq->is_sq && oob_bytes >= HW_LONG_OOB_BYTES)
		trace_add_fields(&line, trace_oob_long,
				 shown + HW_WQE_HEADER_BYTES);
	at = hw_wqe_sgl_offset(&wqe);
	for (i = 0; i < wqe.nb_sge && at + HW_SGE_BYTES <= nb_bytes; i++) {
		add_sge(&line, i, keys, shown + at);
		at += HW_SGE_BYTES;
	}
	trace_add_raw(&line, shown, at < nb_bytes ? at : nb_bytes);
	trace_end(&line);
}

void
trace_cqe(const struct cq *cq, const uint8_t cqe[HW_CQE_BYTES])
{
	const uint32_t type = trace_field_get(trace_cqe_type, cqe);
	const char *name = trace_cqe_type_name(type);
	struct trace_line line;

	trace_begin(&line, TRACE_cqe);
	trace_add(&line, " fn=%u cq=%u index=%u", cq->fn, cq->id, cq->pi);
	if (name != NULL)
		trace_add(&line, " type=%s", name);
	else
		trace_add(&line, " type=%u", type);
	trace_add_fields(&line, trace_cqe_header, cqe);
	trace_add_fields(&line, trace_cqe_fields(cqe), cqe);
	trace_add_fields(&line, trace_cqe_trailer, cqe);
	trace_add_raw(&line, cqe, HW_CQE_BYTES);
	trace_end(&line);
}
