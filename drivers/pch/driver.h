/* SPDX-License-Identifier: BSD-3-Clause */

/* Headers for -Db_pch=true: those that take most of the time to compile the driver. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ethdev_driver.h>
#include <ethdev_pci.h>
#include <infiniband/manadv.h>
#include <infiniband/verbs.h>
