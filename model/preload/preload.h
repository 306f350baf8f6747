/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Common to the files that interpose functions of the C library.
 */

#ifndef MODEL_PRELOAD_H
#define MODEL_PRELOAD_H

#include <dlfcn.h>

/* The library is built with hidden visibility: these few names are seen. */
#define MODEL_EXPORT __attribute__((visibility("default")))

/*
 * The next definition of an interposed function, looked up once. dlsym()
 * does not allocate when it finds the name, and the race of two threads is
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

#endif /* MODEL_PRELOAD_H */
