/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Files that the user names, before they are opened.
 */

#ifndef MODEL_FILE_CHECK_H
#define MODEL_FILE_CHECK_H

/*
 * 0, or -1 after a complaint: opening it would wait for somebody, perhaps for
 * ever. path may be NULL; what is the name of its option.
 */
int file_check(const char *what, const char *path);

#endif /* MODEL_FILE_CHECK_H */
