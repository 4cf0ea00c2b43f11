/* SPDX-License-Identifier: MIT */
/*
 * The recorder's side of the agents: makes the memory that they share (probes/agent/layout.h), and
 * writes what they put there to the file gil.agent (agentdata/format.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "probes/agent/layout.h"
#include "python/gil_sites.h"
#include "record/session.h"

/*
 * Of the memory that all threads share. Only what is used of it is taken, but all counts against
 * what a process may map.
 */
#define GT_AGENT_DEFAULT_BYTES (UINT64_C(64) << 20)
#define GT_AGENT_MIN_BYTES (UINT64_C(1) << 20)

struct gt_agent_recorder;
struct gt_elf;

struct gt_agent_recorder_spec {
	const char *path;	  /* of gil.agent; made, or emptied */
	const struct gt_elf *elf; /* the file that has the GIL */
	const struct gt_gil_sites *sites;
	uint64_t buffer_bytes;	   /* of the memory that all threads share; 0: the default */
	uint64_t keep_ns;	   /* keep the newest of them only (flight recorder); 0: all */
	enum gt_agent_clock clock; /* that the agents are to use: see gt_agent_clock_choose() */
};

struct gt_agent_counts {
	uint64_t records; /* written */
	uint64_t lost;
	uint32_t processes, threads; /* that have attached */
};

/* The time-stamp counter where the kernel itself keeps time by it, else CLOCK_MONOTONIC. */
enum gt_agent_clock gt_agent_clock_choose(void);

/* What it shows now: ticks of the counter, or nanoseconds. */
uint64_t gt_agent_clock_read(enum gt_agent_clock clock);

/* Logs what failed. -EOPNOTSUPP when the sites have no calls that an agent can tell. */
int gt_agent_recorder_open(const struct gt_agent_recorder_spec *spec,
			   struct gt_agent_recorder **ret);

/* The value of the variable GT_AGENT_VARIABLE for the target. Owned by the recorder. */
const char *gt_agent_recorder_address(const struct gt_agent_recorder *recorder);

/* As gt_pass_drain() and gt_pass_rest_ms(). */
int gt_agent_recorder_drain(struct gt_agent_recorder *recorder);
uint32_t gt_agent_recorder_rest_ms(const struct gt_agent_recorder *recorder);

struct gt_session_source gt_agent_recorder_source(struct gt_agent_recorder *recorder);

/* Tells the agents to stop, drains for the last time, and completes the file. */
int gt_agent_recorder_finish(struct gt_agent_recorder *recorder,
			     struct gt_agent_counts *ret_counts);
void gt_agent_recorder_close(struct gt_agent_recorder *recorder);
GT_DEFINE_CLEANUP(struct gt_agent_recorder *, gt_agent_recorder_close)
