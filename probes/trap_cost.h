/* SPDX-License-Identifier: MIT */
/* What one probe costs the thread that runs into it, on this machine and now. */
#pragma once

#include <stdint.h>

struct gt_uprobes;

/*
 * Measures it, with a probe on a function of giltrace's own in the group of UPROBES, which is gone
 * again afterwards. Takes a few milliseconds. A negative errno when it cannot be measured.
 */
int gt_trap_cost_measure(const struct gt_uprobes *uprobes, uint64_t *ret_ns);
