/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A PCI machine: each function is served on a Unix socket, DIR/function-<n>, to a
 * virtual machine's monitor. One thread of one process does all work: the launcher.
 * No call waits. The functions take the machine's lock themselves.
 */

#ifndef MODEL_PCI_H
#define MODEL_PCI_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Descriptors of a function: its listening socket and its client. */
#define PCI_NB_FDS 2u

/*
 * Create dir, unless it exists, and its sockets, for this user only. Sockets that
 * a killed machine has left there are replaced. 0, or -1 with cause and remedy in
 * message; pci_close() is needed in either case.
 */
int pci_open(const char *dir, uint32_t nb_functions, char *message,
	     size_t message_bytes);
/* Remove the sockets, and dir if pci_open() has created it. */
void pci_close(void);

/* Fill fds, unless it is NULL. Returns the number of entries. */
uint32_t pci_pollfds(struct pollfd *fds);
bool pci_has_clients(void);
/*
 * Accept and receive, and let the card work. True if there is more to do: call it
 * again without waiting. fds: as after poll(). is_stepping: carry out at most one
 * message of each client, since a command may be due after it. No signal handler of the thread may
 * take the machine's lock, since the signals are not blocked meanwhile.
 */
bool pci_receive(const struct pollfd *fds, bool is_stepping);

#endif /* MODEL_PCI_H */
