/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "msix.h"
#include "pci.h"
#include "pci_device.h"
#include "pci_function.h"
#include "pci_status.h"
#include "segment.h"
#include "trace.h"
#include "vfio_user.h"
#include "violation_log.h"

/*
 * Messages of a client, and runs of the card, before others get their turn. A
 * write to a doorbell is a message, after which the client continues at once.
 */
#define MAX_MESSAGES 32
#define MAX_RUNS     4
#define MAX_ROUNDS   16

enum { FD_LISTENER, FD_CLIENT };

struct served {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int listener; /* -1: none */
	bool is_paused; /* nothing could be accepted: skip one poll */
	bool is_idle; /* the client has sent nothing, nor closed */
	bool has_refused; /* a second client of the present client's time */
	struct vfio_user client;
};

static struct served functions[MODEL_MAX_FUNCTIONS];
static uint32_t nb_functions;
static char folder[MODEL_MAX_PATH];
static int folder_fd = -1; /* locked: another machine does not use the folder */
static bool has_made_folder;

/* Open and lock the folder. A path that is too long fails later, in make_path(). */
static int
open_folder(const char *dir, char *message, size_t message_bytes)
{
	snprintf(folder, sizeof(folder), "%s", dir);
	has_made_folder = mkdir(dir, 0700) == 0;
	folder_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder_fd < 0) {
		snprintf(message, message_bytes,
			 "cannot use the folder: %s; give one that this user "
			 "may write",
			 strerror(errno));
		return -1;
	}
	if (flock(folder_fd, LOCK_EX | LOCK_NB) != 0) {
		snprintf(message, message_bytes,
			 "another machine serves its functions there: give "
			 "another folder");
		return -1;
	}
	return 0;
}

static int
make_path(struct served *served, uint32_t fn, char *message,
	  size_t message_bytes)
{
	const int n = snprintf(served->path, sizeof(served->path),
			       "%s/function-%u", folder, fn);

	if (n > 0 && (size_t)n < sizeof(served->path))
		return 0;
	snprintf(message, message_bytes,
		 "the name of a socket has at most %zu bytes: give a folder "
		 "with a shorter path",
		 sizeof(served->path) - 1);
	return -1;
}

/*
 * A socket of another name, which is complete before its file has the real one:
 * who waits for the file can connect.
 */
static int
make_listener(struct served *served, uint32_t fn)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	/* It fits, being shorter than the real name. */
	const int n = snprintf(address.sun_path, sizeof(address.sun_path),
			       "%s/.%u", folder, fn);
	mode_t mask;
	int fd, ret;

	if (n < 0 || (size_t)n >= sizeof(address.sun_path))
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	unlink(address.sun_path);
	/* A client accesses the machine as its user does. */
	mask = umask(0077);
	ret = bind(fd, (const struct sockaddr *)&address, sizeof(address));
	umask(mask);
	if (ret == 0 && (listen(fd, 1) != 0 ||
			 rename(address.sun_path, served->path) != 0)) {
		ret = -1;
		unlink(address.sun_path);
	}
	if (ret == 0)
		served->listener = fd;
	else
		close(fd);
	return ret;
}

/* The lock of the folder proves that no machine uses a socket that is there. */
static int
listen_at(struct served *served, uint32_t fn)
{
	struct stat st;

	if (lstat(served->path, &st) == 0 && !S_ISSOCK(st.st_mode)) {
		errno = EEXIST;
		return -1;
	}
	return make_listener(served, fn);
}

static int
open_function(uint32_t fn, char *message, size_t message_bytes)
{
	struct served *served = &functions[fn];

	served->listener = -1;
	vfio_user_open(&served->client, fn, -1);
	segment_lock();
	pci_function_detach(fn);
	segment_unlock();
	if (make_path(served, fn, message, message_bytes) != 0)
		return -1;
	if (listen_at(served, fn) == 0)
		return 0;
	snprintf(message, message_bytes,
		 "cannot make the socket function-%u: %s; give a folder that "
		 "this user may write, without a file of that name",
		 fn, strerror(errno));
	return -1;
}

/*
 * Descriptors: an eventfd for each vector, two sockets, those of a message; and the
 * other ones of the process.
 */
#define FUNCTION_NB_FDS (MSIX_NB_VECTORS + 2 + VFIO_USER_MAX_FDS)
#define OTHER_NB_FDS	256u

/* Without success, accept_client() fails later. */
static void
raise_limit(uint32_t nb)
{
	const rlim_t needed = OTHER_NB_FDS + nb * FUNCTION_NB_FDS;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
		return;
	limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int
pci_open(const char *dir, uint32_t nb, char *message, size_t message_bytes)
{
	raise_limit(nb);
	if (open_folder(dir, message, message_bytes) != 0)
		return -1;
	for (uint32_t fn = 0; fn < nb; fn++) {
		nb_functions = fn + 1;
		if (open_function(fn, message, message_bytes) != 0)
			return -1;
	}
	return 0;
}

static void
end_client(uint32_t fn)
{
	if (functions[fn].client.fd >= 0)
		trace_event("kind=client fn=%u connected=0", fn);
	vfio_user_close(&functions[fn].client);
	functions[fn].has_refused = false;
	pci_status(fn)->is_connected = false;
	pci_function_detach(fn);
}

void
pci_close(void)
{
	if (nb_functions != 0) {
		segment_lock();
		for (uint32_t fn = 0; fn < nb_functions; fn++)
			end_client(fn);
		segment_unlock();
	}
	for (uint32_t fn = 0; fn < nb_functions; fn++) {
		struct served *served = &functions[fn];

		if (served->listener < 0)
			continue;
		unlink(served->path);
		close(served->listener);
		served->listener = -1;
	}
	nb_functions = 0;
	if (has_made_folder)
		rmdir(folder);
	has_made_folder = false;
	if (folder_fd >= 0)
		close(folder_fd);
	folder_fd = -1;
}

uint32_t
pci_pollfds(struct pollfd *fds)
{
	for (uint32_t fn = 0; fds != NULL && fn < nb_functions; fn++) {
		struct served *served = &functions[fn];
		struct pollfd *own = fds + fn * PCI_NB_FDS;

		own[FD_LISTENER] = (struct pollfd){
			.fd = served->is_paused ? -1 : served->listener,
			.events = POLLIN,
		};
		served->is_paused = false;
		own[FD_CLIENT] = (struct pollfd){
			.fd = served->client.fd,
			.events = vfio_user_events(&served->client),
		};
	}
	return nb_functions * PCI_NB_FDS;
}

bool
pci_has_clients(void)
{
	bool has_any = false;

	for (uint32_t fn = 0; fn < nb_functions; fn++)
		has_any |= functions[fn].client.fd >= 0;
	return has_any;
}

/* Called when a present client's messages have been read, and its end, too. */
static void
accept_client(uint32_t fn)
{
	struct served *served = &functions[fn];
	const int fd = accept4(served->listener, NULL, NULL,
			       SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0) {
		served->is_paused = true; /* such as EMFILE */
		return;
	}
	if (served->client.fd < 0) {
		vfio_user_open(&served->client, fn, fd);
		trace_event("kind=client fn=%u connected=1", fn);
		pci_status(fn)->is_connected = true;
		pci_status(fn)->nb_connections++;
		return;
	}
	close(fd);
	if (!served->has_refused)
		model_log("function-%u: a second client is refused: a function "
			  "belongs to one virtual machine", fn);
	served->has_refused = true;
}

/* Carry out up to max messages of a client. True if there was one. */
static bool
serve(uint32_t fn, int max)
{
	struct vfio_user *client = &functions[fn].client;
	enum vfio_user_result result = VFIO_USER_NONE;
	int n;

	for (n = 0; client->fd >= 0 && n < max; n++) {
		result = vfio_user_receive(client);
		if (result != VFIO_USER_DONE)
			break;
	}
	if (result == VFIO_USER_GONE)
		end_client(fn);
	functions[fn].is_idle = n == 0 || client->fd < 0;
	return n != 0;
}

/* Let all functions work. True if it did. */
static bool
work(void)
{
	bool has_worked = false;

	for (uint32_t fn = 0; fn < nb_functions; fn++)
		for (int i = 0; i < MAX_RUNS && pci_device_run(fn); i++)
			has_worked = true;
	return has_worked;
}

bool
pci_receive(const struct pollfd *fds, bool is_stepping)
{
	const int nb_rounds = is_stepping ? 1 : MAX_ROUNDS;
	const int nb_messages = is_stepping ? 1 : MAX_MESSAGES;
	bool is_active = true;

	for (int round = 0; is_active && round < nb_rounds; round++) {
		is_active = false;
		/* Each doorbell of a guest comes here: no system call. */
		segment_lock_masked();
		for (uint32_t fn = 0; fn < nb_functions; fn++)
			is_active |= serve(fn, nb_messages);
		is_active |= work();
		segment_unlock_masked();
	}
	for (uint32_t fn = 0; fds != NULL && fn < nb_functions; fn++) {
		if (fds[fn * PCI_NB_FDS + FD_LISTENER].revents == 0 ||
		    !functions[fn].is_idle)
			continue;
		segment_lock();
		accept_client(fn);
		segment_unlock();
		is_active = true;
	}
	return is_active;
}
