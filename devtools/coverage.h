/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Included first in the build of coverage.sh: templates are functions there, whose
 * flags are arguments. Inlined, each copy would have branches that its constant flags
 * never take.
 */

#if __has_include(<rte_common.h>)
#include <rte_common.h>
#undef __rte_always_inline
#define __rte_always_inline inline
#endif
