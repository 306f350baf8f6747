/* SPDX-License-Identifier: BSD-3-Clause */

/* For the files that interpose functions of the C library. */

#ifndef MODEL_PRELOAD_H
#define MODEL_PRELOAD_H

#include <dlfcn.h>
#include <stdbool.h>
#include <sys/types.h>

/* The library is built with hidden visibility; this exports a name. */
#define MODEL_EXPORT __attribute__((visibility("default")))

/*
 * The next definition of an interposed function, looked up once. dlsym() does
 * not allocate memory if it finds the name, and a race of two threads is
 * harmless: both find the same.
 */
#define MODEL_REAL(name)                                                       \
	({                                                                     \
		static __typeof__(&name) real_;                                \
		__typeof__(&name) found_ =                                     \
			__atomic_load_n(&real_, __ATOMIC_RELAXED);             \
		if (found_ == NULL) {                                          \
			found_ = (__typeof__(&name))dlsym(RTLD_NEXT, #name);   \
			__atomic_store_n(&real_, found_, __ATOMIC_RELAXED);    \
		}                                                              \
		found_;                                                        \
	})

/*
 * A program attaches to the machine when it first uses something modelled.
 *
 * Attach this process, if it is not attached yet. False: there is no machine,
 * or it is full; the real kernel then serves the call. Cheap once attached. Not
 * for signal handlers.
 */
bool attach_machine(void);
/* Whether this process is attached; async-signal-safe. */
bool attach_is_attached(void);
/*
 * Whether a file may be the machine's, by its device. For descriptors that
 * another process may have passed to this one.
 */
bool attach_is_candidate(dev_t dev);

/*
 * The device thread of a program.
 *
 * Start the thread, if this process has none. 0 or -errno.
 */
int device_thread_start(void);

#endif /* MODEL_PRELOAD_H */
