/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Whether the dynamic linker will load the model's library into a program.
 */

#ifndef MODEL_LOADABLE_H
#define MODEL_LOADABLE_H

/*
 * Why a program, named as for execvp(), will run on the real machine instead
 * of the modelled one; NULL when nothing speaks against it.
 */
const char *loadable_why_not(const char *program);

#endif /* MODEL_LOADABLE_H */
