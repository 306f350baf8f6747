/* SPDX-License-Identifier: BSD-3-Clause */

/* Objects of a guest's driver, created and destroyed by requests. */

#ifndef MODEL_TEST_HWC_OBJECTS_H
#define MODEL_TEST_HWC_OBJECTS_H

#include "hwc_guest.h"

/* All assert that the requests succeed, unless they return a status. */
struct hwc_device {
	enum device_type type;
	uint32_t pdn, page, key;
};
void device_register(struct hwc_device *dev, enum device_type type);
void device_deregister(const struct hwc_device *dev);

struct guest_ring eq_create(const struct hwc_device *dev, uint32_t vector);
uint32_t eq_test(const struct guest_ring *eq);
void eq_destroy(const struct guest_ring *eq);

/* A user's context and PD. */
struct hwc_user {
	uint32_t pdn, page;
	uint64_t pd_handle;
};
void user_open(struct hwc_user *user);
void user_close(const struct hwc_user *user);
/* Returns the key. */
uint32_t user_mr(const struct hwc_user *user, uint64_t region, uint64_t iova,
		 uint64_t *mr_handle);
void user_mr_destroy(uint64_t mr_handle);

/* A port with an SQ and an RQ, which is its default RQ without RSS. */
struct hwc_port {
	uint64_t vport;
	uint32_t pdn, page, vp_offset;
	struct guest_ring sq, scq, rq, rcq;
	uint64_t sq_handle, rq_handle;
	uint64_t buf; /* gpa of 4096 bytes: sent from, received to */
};
/* The PD and the doorbell page are those of a device or of a user. */
void port_start(struct hwc_port *port, uint32_t index, uint32_t pdn,
		uint32_t page, uint32_t eq_id);
/* Port 0 of the device, with what it needs: registration, and the EQ returned. */
struct guest_ring device_port_start(struct hwc_port *port,
				    struct hwc_device *dev);
void port_stop(const struct hwc_port *port);
#define STEER_NOTHING 0u
#define STEER_DEFAULT (1u << 0)
#define STEER_KEY     (1u << 1)
#define STEER_TABLE   (1u << 2)
#define STEER_ALL     7u
uint32_t port_steer(const struct hwc_port *port, enum tri_state rx,
		    enum tri_state rss, uint32_t updates);
void port_post_rx(struct hwc_port *port, uint32_t key, uint32_t nb_bytes);
/* Send bytes of buf, or at an address. */
void port_send(struct hwc_port *port, uint32_t key, uint32_t nb_bytes);
void port_send_at(struct hwc_port *port, uint32_t key, uint64_t addr,
		  uint32_t nb_bytes);

#endif /* MODEL_TEST_HWC_OBJECTS_H */
