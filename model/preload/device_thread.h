/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The device's own thread in a program, in --mode thread.
 */

#ifndef MODEL_DEVICE_THREAD_H
#define MODEL_DEVICE_THREAD_H

/* Start it if this process has none. 0 or -errno. */
int device_thread_start(void);

#endif /* MODEL_DEVICE_THREAD_H */
