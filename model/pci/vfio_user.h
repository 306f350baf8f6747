/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A client's connection to a PCI function by the vfio-user protocol (QEMU
 * docs/interop/vfio-user.rst, version 0.0). The client is a virtual machine's
 * monitor, such as QEMU's device vfio-user-pci.
 *
 * A client may send anything. A message that the function refuses gets an error
 * reply. One whose size or type is wrong ends the connection, because the next
 * message cannot be found.
 */

#ifndef MODEL_VFIO_USER_H
#define MODEL_VFIO_USER_H

#include <stdbool.h>
#include <stdint.h>

/* QEMU sends up to 4824 bytes in a message, and 16 descriptors. */
#define VFIO_USER_MAX_BYTES 8192u /* with the header */
#define VFIO_USER_MAX_FDS   16u
#define VFIO_USER_OUT_BYTES 65536u /* of replies that wait for the client */

/* Initialise it with vfio_user_open(). */
struct vfio_user {
	uint32_t fn;
	int fd; /* -1: no client */
	bool has_version; /* the client has sent its version */
	bool has_complained; /* about a message that was refused */
	/* The message being received, and descriptors that came with it. */
	uint32_t nb_in;
	uint32_t nb_fds;
	bool has_bad_fds; /* more than VFIO_USER_MAX_FDS, or of a wrong kind */
	int fds[VFIO_USER_MAX_FDS];
	/*
	 * The replies being sent. Messages are received meanwhile: one may hold the
	 * client's own end of the socket. A client with too many replies is ended.
	 */
	uint32_t nb_out, out_at;
	uint8_t in[VFIO_USER_MAX_BYTES];
	uint8_t out[VFIO_USER_OUT_BYTES];
};

/* Take over a connected stream socket; fd -1: no client. */
void vfio_user_open(struct vfio_user *client, uint32_t fn, int fd);
/* Close the socket and forget the client. */
void vfio_user_close(struct vfio_user *client);

enum vfio_user_result {
	VFIO_USER_NONE, /* no whole message was received */
	VFIO_USER_DONE, /* a message was carried out */
	VFIO_USER_GONE, /* the connection has ended: call vfio_user_close() */
};
/*
 * Receive a message, carry it out and reply, without waiting. With the machine's
 * lock held.
 */
enum vfio_user_result vfio_user_receive(struct vfio_user *client);
/* What to poll the socket for. */
short vfio_user_events(const struct vfio_user *client);

/* The header of a message; all numbers have the byte order of the host. */
struct vfio_user_header {
	uint16_t id; /* of the request, also in its reply */
	uint16_t command;
	uint32_t size_bytes; /* with the header */
	uint32_t flags;
	uint32_t error; /* errno, in a reply with VFIO_USER_FLAG_ERROR */
};

#define VFIO_USER_FLAG_TYPE	0x0fu /* 0: request, 1: reply */
#define VFIO_USER_FLAG_REPLY	0x01u
#define VFIO_USER_FLAG_NO_REPLY 0x10u
#define VFIO_USER_FLAG_ERROR	0x20u

#define VFIO_USER_MAX_PAYLOAD \
	(VFIO_USER_MAX_BYTES - (uint32_t)sizeof(struct vfio_user_header))

/*
 * vfio_user_requests.c: carry out a request. It writes the payload of the reply
 * to reply, which has VFIO_USER_MAX_PAYLOAD bytes, and returns its size, or a
 * negative errno: -ENOTSUP if the server lacks something optional. A descriptor
 * that it takes over becomes -1 in client->fds.
 */
int vfio_user_request(struct vfio_user *client, uint16_t command,
		      const uint8_t *payload, uint32_t nb_bytes, uint8_t *reply);

#endif /* MODEL_VFIO_USER_H */
