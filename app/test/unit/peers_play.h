/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * All that mana_peers.c calls, and the other process of each socket. One thread plays
 * everything, and time passes only while poll() waits.
 */

#ifndef PEERS_PLAY_H
#define PEERS_PLAY_H

#include <rte_eal.h>
#include <rte_interrupts.h>

#include "mana.h"
#include "mana_rx_set.h"

#define PLAY_NB_PORTS 2u
#define PLAY_FIRST_PORT 3u /* and the next one */

/* ---- Messages, as mana_peers.c has them ------------------------------------- */

struct play_join {
	uint32_t port_id;
	uint32_t process_id;
};

struct play_joined {
	int32_t ret;
	uint32_t process_id;
	struct mana_news news;
};

struct play_request {
	uint64_t nr;
	uint64_t addr;
	uint64_t len;
	uint64_t pool;
	uint32_t port_id;
};

struct play_answer {
	uint64_t nr;
	uint64_t base;
	uint64_t len;
	uint32_t lkey;
	int32_t ret;
};

/* ---- What is played ------------------------------------------------------------ */

struct play_watch {
	int fd; /* -1: unused */
	rte_intr_callback_fn callback;
	void *arg;
	rte_intr_unregister_callback_fn unregistered; /* when the callback returns */
	bool is_active;
};

struct play {
	/* Results of functions; 0: success. */
	int action_error; /* a value of rte_errno, as the next one */
	int request_error;
	int watch_error;
	int share_result;
	int check_result;
	int serve_result;
	uint32_t nb_busy_unregisters; /* as if the callback ran */
	uint32_t nb_poll_signals; /* calls of poll() that a signal ends */
	uint32_t failing_socketpair; /* the first or second; 0: none */
	bool has_no_memory;

	uint64_t now_ns;
	uint32_t nb_waits; /* calls of poll() that may wait */
	uint64_t waited_ms;
	void (*on_poll)(void); /* before poll() */

	/* Calls of the driver. */
	uint32_t nb_actions;
	rte_mp_t on_join;
	struct play_watch watches[16];
	uint32_t nb_replies;
	struct rte_mp_msg reply; /* the last one */
	uint32_t nb_serves;
	const struct mana_priv *served;
	struct play_request serve; /* arguments of the last call */

	/* The primary process, for a secondary one. */
	struct rte_mp_msg join; /* the last one */
	struct rte_mp_msg join_reply; /* fds are played, too */
	bool has_no_reply;
	int notes; /* its sockets: of the last first join */
	int requests;

	/* Calls of the secondary process's operations. */
	uint32_t nb_follows, nb_notifies, nb_lost;
	struct mana_news news;
	bool had_device;
	uint64_t answered_nr; /* before notify() */
};

extern struct play play;
extern struct mana_priv play_ports[PLAY_NB_PORTS];
extern const struct mana_peers_ops play_ops;
extern int play_device; /* the command descriptor of the ports */

/* Opens the ports, of which all is zero. */
void play_open(void);
/* Closes the ports; all sockets of the test are closed before. */
void play_close(void);
/* The interrupt thread: until no callback has anything to do. */
void play_interrupts(void);
/* Sends a message with so many descriptors, 4 at most. */
void play_send(int sock, const void *data, size_t len, uint32_t nb_fds);
/* Two connected sockets, as a process creates them. */
void play_sockets(int socks[2]);
/* One, whose other end is closed. */
int play_socket(void);
/* A message of EAL's channel; has descriptors of its own. Returns its result. */
int play_join(const void *data, size_t len, const int *fds, int nb_fds);
/* Descriptors that the process has open. */
uint32_t play_nb_fds(void);

#endif /* PEERS_PLAY_H */
