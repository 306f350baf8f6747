/* SPDX-License-Identifier: BSD-3-Clause */

/* Netlink messages in a buffer of the caller, without libnl, which allocates memory. */

#ifndef MODEL_NL_WRITE_H
#define MODEL_NL_WRITE_H

#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct nl_write {
	char *buf; /* aligned as struct nlmsghdr is */
	size_t room, nb_bytes;
};

/* Append len bytes, zeroed and padded; NULL if there is no room. */
static inline void *
nl_write_space(struct nl_write *w, size_t len)
{
	char *at = w->buf + w->nb_bytes;

	if (NLMSG_ALIGN(len) > w->room - w->nb_bytes)
		return NULL;
	memset(at, 0, NLMSG_ALIGN(len));
	w->nb_bytes += NLMSG_ALIGN(len);
	return at;
}

/* Start a message; nl_write_end() sets its length. */
static inline struct nlmsghdr *
nl_write_begin(struct nl_write *w, uint16_t type, uint16_t flags, uint32_t seq,
	       const void *payload, size_t nb_bytes)
{
	struct nlmsghdr *hdr = nl_write_space(w, sizeof(*hdr));
	void *body = nl_write_space(w, nb_bytes);

	if (hdr == NULL || body == NULL)
		return NULL;
	hdr->nlmsg_type = type;
	hdr->nlmsg_flags = flags;
	hdr->nlmsg_seq = seq;
	memcpy(body, payload, nb_bytes);
	return hdr;
}

static inline void
nl_write_end(const struct nl_write *w, struct nlmsghdr *hdr)
{
	if (hdr != NULL)
		hdr->nlmsg_len = (uint32_t)(w->buf + w->nb_bytes - (char *)hdr);
}

static inline void
nl_write_attr(struct nl_write *w, uint16_t type, const void *data, size_t len)
{
	struct nlattr *attr = nl_write_space(w, NLA_HDRLEN + len);

	if (attr == NULL)
		return;
	attr->nla_len = (uint16_t)(NLA_HDRLEN + len);
	attr->nla_type = type;
	memcpy((char *)attr + NLA_HDRLEN, data, len);
}

static inline void
nl_write_u8(struct nl_write *w, uint16_t type, uint8_t value)
{
	nl_write_attr(w, type, &value, sizeof(value));
}

static inline void
nl_write_u32(struct nl_write *w, uint16_t type, uint32_t value)
{
	nl_write_attr(w, type, &value, sizeof(value));
}

static inline void
nl_write_u64(struct nl_write *w, uint16_t type, uint64_t value)
{
	nl_write_attr(w, type, &value, sizeof(value));
}

static inline void
nl_write_text(struct nl_write *w, uint16_t type, const char *text)
{
	nl_write_attr(w, type, text, strlen(text) + 1);
}

#endif /* MODEL_NL_WRITE_H */
