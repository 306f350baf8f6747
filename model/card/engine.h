/* SPDX-License-Identifier: BSD-3-Clause */

/* From doorbells to work. With the machine's lock held. */

#ifndef MODEL_ENGINE_H
#define MODEL_ENGINE_H

#include "card.h"

/* Take an SQ out of its process's list of work, before it is destroyed. */
void engine_forget(struct wq *sq);

#endif /* MODEL_ENGINE_H */
