/* SPDX-License-Identifier: BSD-3-Clause */

/* The virtio port to mana-vm: its messages, and buffers for what waits. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

#define PORT_NAME    "mana-vm"
#define PORT_WAIT_MS 60000

static int port = -1;
static struct pipe_buffer to_port;
static struct pipe_buffer from_port;

void
buffer_add(struct pipe_buffer *b, const void *bytes, size_t nb_bytes)
{
	if (b->nb_bytes + nb_bytes > b->size_bytes && b->nb_done > 0) {
		b->nb_bytes -= b->nb_done;
		memmove(b->bytes, b->bytes + b->nb_done, b->nb_bytes);
		b->nb_done = 0;
	}
	if (b->nb_bytes + nb_bytes > b->size_bytes) {
		b->size_bytes = 2 * (b->nb_bytes + nb_bytes);
		b->bytes = realloc(b->bytes, b->size_bytes);
		if (b->bytes == NULL)
			die("no memory for %zu bytes", b->size_bytes);
	}
	if (nb_bytes > 0)
		memcpy(b->bytes + b->nb_bytes, bytes, nb_bytes);
	b->nb_bytes += nb_bytes;
}

size_t
buffer_left(const struct pipe_buffer *b)
{
	return b->nb_bytes - b->nb_done;
}

bool
buffer_write(struct pipe_buffer *b, int fd)
{
	while (buffer_left(b) > 0) {
		ssize_t n = write(fd, b->bytes + b->nb_done, buffer_left(b));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		b->nb_done += n;
	}
	return true;
}

/* Opens the port of that name: /sys/class/virtio-ports/vport0p1/name. */
static int
find_port(void)
{
	DIR *ports = opendir("/sys/class/virtio-ports");
	struct dirent *entry;
	int fd = -1;

	while (fd < 0 && ports != NULL && (entry = readdir(ports)) != NULL) {
		char path[512], name[64] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name",
			 entry->d_name);
		file = fopen(path, "r");
		if (file == NULL)
			continue;
		if (fgets(name, sizeof(name), file) != NULL)
			name[strcspn(name, "\n")] = '\0';
		fclose(file);
		if (strcmp(name, PORT_NAME) != 0)
			continue;
		snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	}
	if (ports != NULL)
		closedir(ports);
	return fd;
}

int
port_open(void)
{
	struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

	/* The kernel adds ports some time after their driver. */
	for (int ms = 0; (port = find_port()) < 0; ms += 10) {
		if (ms > PORT_WAIT_MS)
			die("no virtio port " PORT_NAME ": %s", strerror(errno));
		nanosleep(&pause, NULL);
	}
	return port;
}

bool
port_is_full(void)
{
	return buffer_left(&to_port) > READ_BYTES;
}

bool
port_has_output(void)
{
	return buffer_left(&to_port) > 0;
}

bool
port_write(void)
{
	return buffer_write(&to_port, port);
}

bool
port_read(void (*receive)(const struct message_head *head, char *bytes))
{
	uint8_t bytes[READ_BYTES];
	ssize_t n = read(port, bytes, sizeof(bytes));
	struct message_head head;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	buffer_add(&from_port, bytes, n);
	while (buffer_left(&from_port) >= sizeof(head)) {
		char *at = (char *)from_port.bytes + from_port.nb_done;

		memcpy(&head, at, sizeof(head));
		if (head.nb_bytes > MESSAGE_MAX_BYTES)
			die("message of %u bytes", head.nb_bytes);
		if (buffer_left(&from_port) < sizeof(head) + head.nb_bytes)
			break;
		receive(&head, at + sizeof(head));
		from_port.nb_done += sizeof(head) + head.nb_bytes;
	}
	/* Keep the part of a message at the start of the buffer. */
	if (from_port.nb_done > 0) {
		memmove(from_port.bytes, from_port.bytes + from_port.nb_done,
			buffer_left(&from_port));
		from_port.nb_bytes -= from_port.nb_done;
		from_port.nb_done = 0;
	}
	return true;
}

void
send_message(enum message_type type, uint32_t channel, const void *bytes,
	     size_t nb_bytes)
{
	struct message_head head = {
		.type = type,
		.channel = channel,
		.nb_bytes = (uint32_t)nb_bytes,
	};

	buffer_add(&to_port, &head, sizeof(head));
	buffer_add(&to_port, bytes, nb_bytes);
}

void
send_number(enum message_type type, uint32_t channel, uint32_t number)
{
	send_message(type, channel, &number, sizeof(number));
}

void
send_failure(uint32_t channel, const char *format, ...)
{
	char text[512];
	va_list arguments;
	int nb_bytes;

	va_start(arguments, format);
	nb_bytes = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (nb_bytes >= (int)sizeof(text))
		nb_bytes = sizeof(text) - 1;
	send_message(MSG_FAILURE, channel, text, nb_bytes);
}
