/* SPDX-License-Identifier: MIT */
/* What one record of the agent costs the thread that makes it, on this machine and now. */
#pragma once

#include <stdint.h>

#include "probes/agent/layout.h"

/* Nanoseconds, an estimate: reading the clock, which is most of it, and storing the record. */
uint64_t gt_agent_cost_measure(enum gt_agent_clock clock);
