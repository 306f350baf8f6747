/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Requests on the hardware channel. A handler reads the copied request, and
 * writes the part of its answer behind the header. It returns the status.
 */

#ifndef MODEL_REQUEST_H
#define MODEL_REQUEST_H

#include "adapter.h"

struct request {
	uint32_t fn;
	struct adapter *a;
	struct card_function *f;
	struct request_header hdr;
	/* Zeros follow the request, up to HWC_MAX_MESSAGE_BYTES. */
	const uint8_t *bytes;
	uint32_t nb_bytes;
	/* Zeros; HWC_MAX_MESSAGE_BYTES of room. */
	uint8_t *answer;
	uint16_t answer_version; /* at most what the guest expects */
};

typedef uint32_t request_handler(struct request *r);

struct request_kind {
	enum request_code code;
	uint16_t max_version; /* of the request */
	uint16_t answer_version; /* newest known */
	enum device_type device; /* that dev_id must name, or DEVICE_NONE */
	uint32_t min_bytes, max_bytes; /* of the request */
	uint32_t answer_bytes;
	request_handler *handler;
};
/* Its sizes: min_bytes and max_bytes, and answer_bytes. */
#define HEADER	       sizeof(struct request_header)
#define SIZE(req)      sizeof(struct req), sizeof(struct req)
#define UP_TO(req)     sizeof(struct req), HWC_MAX_MESSAGE_BYTES
#define ANSWER(answer) sizeof(struct answer)
#define NO_ANSWER      sizeof(struct answer_header)
extern const struct request_kind gdma_requests[], mana_requests[],
	rnic_requests[];
extern const uint32_t nb_gdma_requests, nb_mana_requests, nb_rnic_requests;
/* NULL if there is no such request. */
const struct request_kind *request_kind(uint32_t code);
/* The handler of those that the adapter knows, and does not have. */
request_handler request_unsupported;

/*
 * Answer a request of nb_bytes (at least its header). Returns the size of the
 * answer, at most HWC_MAX_MESSAGE_BYTES; 0: none is possible. Clears the bytes
 * behind the request.
 */
uint32_t request_answer(uint32_t fn, uint8_t *message, uint32_t nb_bytes,
			uint8_t *answer);

/* Record a violation of the request, with violation_detail(); STATUS_REFUSED. */
uint32_t request_refuse(const struct request *r, enum violation violation,
			const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for the handle of something, which should be what is wanted. */
uint32_t request_refuse_handle(const struct request *r, const char *name,
			       uint64_t handle, const char *wanted);

/*
 * Handles in requests: their kind and an id, so that a handle of another kind is
 * detected.
 */
enum handle_kind {
	HANDLE_PD = 0x5044,
	HANDLE_MR = 0x4d52,
	HANDLE_VPORT = 0x5650,
	HANDLE_SQ = 0x5351,
	HANDLE_RQ = 0x5251,
	HANDLE_RNIC_ADAPTER = 0x5241,
	HANDLE_RNIC_CQ = 0x5243,
	HANDLE_RNIC_QP = 0x5250,
};
static inline uint64_t
handle_make(enum handle_kind kind, uint32_t id)
{
	return (uint64_t)kind << 32 | id;
}
/* UINT32_MAX for a handle of another kind. */
static inline uint32_t
handle_id(enum handle_kind kind, uint64_t handle)
{
	return handle >> 32 == (uint64_t)kind ? (uint32_t)handle : UINT32_MAX;
}

/*
 * The largest ring. ASSUMED; the drivers' largest has 8 MiB: 16384 WQEs of an SQ,
 * of 512 bytes (Linux mana.h MAX_TX_BUFFERS_PER_QUEUE). It bounds the work of a
 * request: the device reads or fills a new ring.
 */
#define REQUEST_MAX_RING_BYTES (16u << 20)

/* The region of a handle; NULL, and a violation, if there is none. */
struct region *request_region(const struct request *r, uint64_t handle);
/* The same; one that is used or lacks pages is a violation, too. */
struct region *request_free_region(const struct request *r, uint64_t handle);
/*
 * A ring of nb_bytes for a new queue, in a complete and unused region. A
 * violation if it is not; STATUS_OK otherwise.
 */
uint32_t request_ring(const struct request *r, uint64_t region,
		      uint32_t nb_bytes, struct card_memory *ring);
/* A queue or memory key has the region now. */
void request_region_use(const struct request *r, uint64_t region);

/* NULL, and a violation, if there is no such EQ. */
struct eq *request_eq(const struct request *r, uint32_t id);

/* The PD of a handle of GDMA_CREATE_PD; UINT32_MAX if there is none. */
uint32_t request_pd_of(const struct request *r, uint64_t handle);

/* For card_cq_create(): create a CQ with its EQ, or CQ_NO_EQ. */
uint32_t request_cq_create(const struct request *r, uint32_t pdn, uint32_t page,
			   uint64_t region, uint32_t nb_bytes, uint32_t eq_id,
			   uint32_t *cq_id);
void request_cq_destroy(const struct request *r, uint32_t cq_id);

#endif /* MODEL_REQUEST_H */
