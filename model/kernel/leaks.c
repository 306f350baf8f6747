/* SPDX-License-Identifier: BSD-3-Clause */

#include "leaks.h"
#include "object.h"

/* Can be done again, as long as the leak is recorded. */
void
leak_repair(void)
{
	struct kernel *kernel = segment_kernel();
	struct kernel_leak *leak = &kernel->leak;

	if (leak->flag_at == 0)
		return;
	kernel->leaks = leak->after;
	*((uint8_t *)kernel + leak->flag_at) = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	leak->flag_at = 0;
}

void
leak_count(bool *is_counted, enum object_kind kind)
{
	struct kernel *kernel = segment_kernel();
	struct kernel_leak *leak = &kernel->leak;

	if (*is_counted)
		return;
	leak->after = kernel->leaks;
	object_count(kind, &leak->after);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	leak->flag_at = (uint32_t)((uint8_t *)is_counted - (uint8_t *)kernel);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	leak_repair();
}
