/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The file of the trace, and this process's descriptor for it. A program knows
 * nothing of the descriptor and may close it, by closefrom() for instance, or
 * have its number for something else: then the file is opened again.
 */

#ifndef MODEL_TRACE_FILE_H
#define MODEL_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* 0 or a negative errno, also in errno. is_new: empty the file. */
int trace_file_open(bool is_new);
void trace_file_close(void);
/* All of it. 0 or a negative errno. */
int trace_file_write(const char *bytes, size_t nb_bytes);
/*
 * Say, once for the machine, that the trace is not complete, and end that of
 * this process.
 */
void trace_file_failed(int error);

#endif /* MODEL_TRACE_FILE_H */
