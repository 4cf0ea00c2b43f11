/* SPDX-License-Identifier: MIT */
/* How much memory events get: what --buffer-size says, or else what suits the machine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gt_options;

/* Bytes of each CPU's ring. */
uint64_t gt_buffer_size_of_ring(const struct gt_options *options);

/* Bytes of the memory that all threads under the agent share. */
uint64_t gt_buffer_size_of_agents(const struct gt_options *options);

/* Of each CPU's ring for states. */
uint64_t gt_buffer_size_of_states(const struct gt_options *options, bool has_stacks);
