/* SPDX-License-Identifier: MIT */
/* The rings of a set of events, and what was lost in them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/ring.h"

struct gt_event_set;
struct gt_pass_output;

struct gt_pass_ring {
	struct gt_ring ring;
	uint64_t lost;	 /* that records of it told of */
	uint64_t breaks; /* each is a loss of nobody knows how much */
};

struct gt_pass_rings {
	struct gt_event_set *set;
	struct gt_pass_ring *rings; /* one for each of SET */
	uint32_t count;
};

/* SET must stay where it is. -ENOMEM (logged). */
int gt_pass_rings_init(struct gt_pass_rings *rings, struct gt_event_set *set);
void gt_pass_rings_clear(struct gt_pass_rings *rings);

/* Adds what RECORD tells of losses. */
void gt_pass_ring_note(struct gt_pass_ring *ring, const struct gt_ring_record *record);

/*
 * Ends the reading of ring INDEX. That it was broken is added to OUTPUT, as a loss of the set's
 * event EVENT. Logs what failed.
 */
int gt_pass_rings_end(struct gt_pass_rings *rings, uint32_t index, uint32_t event,
		      struct gt_pass_output *output);

/* Whether a ring was more than a quarter full when its reading was begun. */
bool gt_pass_ring_is_behind(const struct gt_pass_ring *ring);

/* Lost in all rings, as far as that was told. */
uint64_t gt_pass_rings_lost(const struct gt_pass_rings *rings);

/*
 * The kernel tells of a loss in front of the next record that finds room; there may have been none.
 * What it has counted and not told is added to OUTPUT, as a loss of the set's event EVENT. Logs
 * what failed.
 */
int gt_pass_rings_add_untold(struct gt_pass_rings *rings, uint32_t event,
			     struct gt_pass_output *output);
