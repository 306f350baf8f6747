/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "hw.h"
#include "segment.h"
#include "trace.h"
#include "violation_log.h"

uint32_t trace_on;

/*
 * The trace file and this process's descriptor for it. The program does not know the
 * descriptor: it may close it, for instance with closefrom(), or use its number for
 * another file. The file is then opened again.
 */

/* Programs rarely have descriptors from here on; below FD_SETSIZE. */
#define HIGH_FD 1000

static int trace_fd = -1;
static struct stat trace_stat; /* identity of the file */
static bool may_signal; /* a failed write may raise a signal */

/* Direct system calls: the preload library may interpose libc's functions. */
static int
host_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path,
			    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags,
			    0644);
}

/* Duplicate fd to a high number, or to any if the limit is low. -1 on error. */
static int
high_copy(int fd)
{
	int high = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HIGH_FD);

	return high >= 0 ? high :
			   (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
}

/* 0 or a negative errno, also in errno. is_new: empty the file. */
static int
file_open(bool is_new)
{
	const char *path = segment_config()->trace;
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
	int fd, high;

	if (strcmp(path, "-") == 0) {
		high = high_copy(STDERR_FILENO);
	} else {
		fd = host_open(path, is_new ? O_TRUNC : 0);
		if (fd < 0)
			return -errno;
		high = high_copy(fd);
		syscall(SYS_close, fd);
	}
	if (high < 0 || syscall(SYS_fstat, high, &trace_stat) < 0)
		return -errno;
	getrlimit(RLIMIT_FSIZE, &limit);
	may_signal = !S_ISREG(trace_stat.st_mode) ||
		     limit.rlim_cur != RLIM_INFINITY;
	trace_fd = high;
	return 0;
}

void
trace_close(void)
{
	trace_on = 0;
	if (trace_fd >= 0)
		syscall(SYS_close, trace_fd);
	trace_fd = -1;
}

/* Log (once per machine) the incomplete trace; stop it in this process. */
static void
file_failed(int error)
{
	const char *path = segment_config()->trace;

	trace_on = 0;
	if (__atomic_exchange_n(&segment_violation_log()->is_trace_cut, true,
				__ATOMIC_RELAXED))
		return;
	model_log("the trace in %s is not complete: %s; the run continues without "
		  "it", strcmp(path, "-") == 0 ? "stderr" : path,
		  strerrordesc_np(error));
}

/* Is trace_fd still the trace file? */
static bool
is_trace_file(void)
{
	struct stat now;

	return trace_fd >= 0 && syscall(SYS_fstat, trace_fd, &now) == 0 &&
	       now.st_dev == trace_stat.st_dev && now.st_ino == trace_stat.st_ino;
}

/* 0 or an errno. */
static int
write_all(const char *bytes, size_t nb_bytes)
{
	while (nb_bytes > 0) {
		long n = syscall(SYS_write, trace_fd, bytes, nb_bytes);
		struct pollfd room = { .fd = trace_fd, .events = POLLOUT };

		if (n > 0) {
			bytes += n;
			nb_bytes -= (size_t)n;
		} else if (errno == EAGAIN) {
			poll(&room, 1, -1); /* a non-blocking pipe */
		} else if (errno != EINTR) {
			return errno;
		}
	}
	return 0;
}

#define SIGNAL_BIT(signo) (UINT64_C(1) << ((signo) - 1))

/* Hide SIGPIPE (pipe without reader) and SIGXFSZ (file at its limit). */
static int
write_without_signals(const char *bytes, size_t nb_bytes)
{
	const uint64_t raised = SIGNAL_BIT(SIGPIPE) | SIGNAL_BIT(SIGXFSZ);
	const struct timespec at_once = { 0 };
	uint64_t before, pending = 0, taken;
	int error;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &raised, &before, sizeof(before));
	syscall(SYS_rt_sigpending, &pending, sizeof(pending));
	error = write_all(bytes, nb_bytes);
	taken = error == EPIPE ? SIGNAL_BIT(SIGPIPE) & ~pending :
		error == EFBIG ? SIGNAL_BIT(SIGXFSZ) & ~pending :
				 0;
	if (taken != 0)
		syscall(SYS_rt_sigtimedwait, &taken, NULL, &at_once,
			sizeof(taken));
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return error;
}

/* Write all bytes. 0 or a negative errno. */
static int
file_write(const char *bytes, size_t nb_bytes)
{
	const int saved = errno;
	int error = 0;

	if (!is_trace_file()) {
		/* The program uses the number now. */
		trace_fd = -1;
		error = -file_open(false);
	}
	if (error == 0)
		error = may_signal ? write_without_signals(bytes, nb_bytes) :
				     write_all(bytes, nb_bytes);
	errno = saved;
	return -error;
}

static const char *const class_names[] = {
#define TRACE_NAME(name) #name,
	TRACE_CLASSES(TRACE_NAME)
#undef TRACE_NAME
};

const char *
trace_class_name(enum trace_class class)
{
	return class < NB_TRACE_CLASSES ? class_names[class] : NULL;
}

/* Write the configuration into the first line, which identifies the machine. */
static int
put_header(void)
{
	static const char *const modes[] = {
		[MODEL_MODE_SYNC] = "sync",
		[MODEL_MODE_THREAD] = "thread",
		[MODEL_MODE_STEP] = "step",
	};
	const struct model_config *config = segment_config();
	struct trace_line line = { 0 };
	uint32_t fn;

	trace_add(&line,
		  "0 trace version=%d seed=%" PRIu64 " mode=%s max_mtu=%u "
		  "vp_offset=%u functions=%u ports=",
		  TRACE_VERSION, config->seed,
		  modes[config->mode],
		  config->max_mtu, config->vp_offset_base,
		  config->nb_functions);
	for (fn = 0; fn < config->nb_functions; fn++)
		trace_add(&line, "%s%u", fn == 0 ? "" : ",",
			  config->nb_ports[fn]);
	line.text[line.len++] = '\n';
	return file_write(line.text, line.len);
}

static void
switch_on(void)
{
	const uint32_t classes = segment_config()->trace_classes;

	trace_on = classes != 0 ? classes : (1u << NB_TRACE_CLASSES) - 1;
}

int
trace_create(void)
{
	int rc;

	if (segment_config()->trace[0] == '\0')
		return 0;
	rc = file_open(true);
	if (rc == 0)
		rc = put_header();
	if (rc == 0)
		switch_on();
	return rc;
}

void
trace_open(void)
{
	int rc;

	if (segment_config()->trace[0] == '\0')
		return;
	rc = file_open(false);
	if (rc == 0)
		switch_on();
	else
		file_failed(-rc);
}

static void
add_list(struct trace_line *line, const char *format, va_list args)
{
	/* The last byte is for the line feed. */
	const uint32_t room = TRACE_LINE_BYTES - 1 - line->len;
	int n;

	n = vsnprintf(line->text + line->len, room, format, args);
	if (n > 0)
		line->len += (uint32_t)n < room ? (uint32_t)n : room - 1;
	if (n >= (int)room)
		memcpy(line->text + line->len - 3, "...", 3);
}

void
trace_add(struct trace_line *line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_list(line, format, args);
	va_end(args);
}

void
trace_begin(struct trace_line *line, enum trace_class class)
{
	line->len = 0;
	trace_add(line, "%" PRIu64 " %s", clock_now(), class_names[class]);
}

void
trace_end(struct trace_line *line)
{
	int rc;

	line->text[line->len++] = '\n';
	rc = file_write(line->text, line->len);
	if (rc < 0)
		file_failed(-rc);
}

void
trace_put(enum trace_class class, const char *format, ...)
{
	struct trace_line line;
	va_list args;

	trace_begin(&line, class);
	trace_add(&line, " ");
	va_start(args, format);
	add_list(&line, format, args);
	va_end(args);
	trace_end(&line);
}

const char *
trace_result(int rc)
{
	const char *name;

	if (rc >= 0)
		return "0";
	name = strerrorname_np(-rc);
	return name != NULL ? name : "?";
}

void
trace_add_text(struct trace_line *line, const char *key, const char *text)
{
	trace_add(line, " %s=\"", key);
	for (; *text != '\0'; text++)
		trace_add(line, "%c",
			  *text < ' ' || *text == '"' || *text == 0x7f ? '?' :
									 *text);
	trace_add(line, "\"");
}

static uint32_t
field_mask(const struct trace_field *field)
{
	return field->nb_bits == 32 ? UINT32_MAX : (1u << field->nb_bits) - 1;
}

uint32_t
trace_field_get(const struct trace_field *field, const uint8_t *bytes)
{
	return hw_le32(bytes + 4u * field->word) >> field->shift &
	       field_mask(field);
}

void
trace_add_fields(struct trace_line *line, const struct trace_field *fields,
		 const uint8_t *bytes)
{
	for (; fields->name != NULL; fields++)
		trace_add(line, fields->is_hex ? " %s=0x%x" : " %s=%u",
			  fields->name, trace_field_get(fields, bytes));
}

void
trace_add_raw(struct trace_line *line, const uint8_t *bytes, uint32_t nb_bytes)
{
	uint32_t i;

	for (i = 0; i + 4 <= nb_bytes; i += 4)
		trace_add(line, "%s%08x", i == 0 ? " raw=" : ",",
			  hw_le32(bytes + i));
}

uint64_t
trace_hash(const void *bytes, size_t nb_bytes)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	const uint8_t *p = bytes;

	while (nb_bytes-- > 0)
		hash = (hash ^ *p++) * UINT64_C(0x100000001b3);
	return hash;
}

uint32_t
trace_port(uint32_t fn, uint32_t port)
{
	uint32_t n = port + 1, i;

	for (i = 0; i < fn; i++)
		n += segment_config()->nb_ports[i];
	return n;
}
