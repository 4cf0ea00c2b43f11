/* SPDX-License-Identifier: MIT */
#include "python/gil_flow.h"

#include <errno.h>

#include "base/log.h"

/* No walk through a real interpreter takes more than some thousand. */
#define MAX_STEPS 200000

/* How far a way has come since the release. */
enum stage {
	STAGE_RELEASED,	 /* mutex is still locked */
	STAGE_UNLOCKED,	 /* the GIL is free; was a drop requested? */
	STAGE_SWITCHING, /* it was: switch_mutex is locked */
	STAGE_SWITCHED,	 /* and unlocked again */
};

struct step {
	uint64_t address;
	enum stage stage;
	bool in_caller; /* the function that the release is in has returned */
};

struct walk {
	struct gt_gil_code *code;
	const struct gt_gil_landmarks *landmarks;
	struct gt_gil_aftermath *aftermath;
	uint32_t home; /* the whole function that the release is in */
	GT_ARRAY(struct step) pending;
	struct gt_hash seen; /* steps that were taken, by step_key() */
	uint32_t steps;
};

static void walk_clear(struct walk *walk)
{
	gt_array_clear(&walk->pending);
	gt_hash_clear(&walk->seen);
}

static uint64_t step_key(const struct step *step)
{
	return step->address << 3 | (uint64_t)step->stage << 1 | (step->in_caller ? 1 : 0);
}

static int go(struct walk *walk, uint64_t address, enum stage stage, bool in_caller)
{
	struct step next = {.address = address, .stage = stage, .in_caller = in_caller};
	struct step *step;

	if (gt_hash_get(&walk->seen, step_key(&next)) != GT_HASH_NONE)
		return 0;
	if (gt_hash_set(&walk->seen, step_key(&next), 0) < 0)
		return gt_error_oom();
	step = gt_array_push(&walk->pending);
	if (!step)
		return gt_error_oom();
	*step = next;
	return 0;
}

static int add_address(gt_gil_offsets *addresses, uint64_t address)
{
	uint64_t *added;

	gt_array_for_each (addresses, known)
		if (*known == address)
			return 0;
	added = gt_array_push(addresses);
	if (!added)
		return gt_error_oom();
	*added = address;
	return 0;
}

/* The whole function that ADDRESS is in, or UINT32_MAX. */
static uint32_t whole_at(const struct walk *walk, uint64_t address)
{
	uint32_t function = gt_elf_function_at(&walk->code->functions, address);

	return function == UINT32_MAX ? UINT32_MAX : gt_gil_code_whole(walk->code, function);
}

static bool is_take(const struct walk *walk, uint64_t entry)
{
	return entry && gt_hash_get(&walk->landmarks->takes, entry) != GT_HASH_NONE;
}

static bool is_in_take(const struct walk *walk, uint64_t address)
{
	uint32_t whole = whole_at(walk, address);

	return whole != UINT32_MAX && is_take(walk, walk->code->functions.items[whole].start);
}

/*
 * Where drop_gil is a function of its own, the way leads back to all who call it. One level is
 * enough: nobody takes the GIL again, or waits for the switch, further out.
 */
static int step_return(struct walk *walk, const struct step *step)
{
	uint64_t home = walk->code->functions.items[walk->home].start;
	uint32_t callee = gt_hash_get(&walk->landmarks->callees, home);
	int r;

	if (step->in_caller || step->stage == STAGE_RELEASED || step->stage == STAGE_SWITCHING ||
	    callee == GT_HASH_NONE)
		return 0;
	gt_array_for_each (&walk->landmarks->callers, call) {
		if (call->callee != callee || call->kind != GT_INSTRUCTION_CALL)
			continue;
		r = go(walk, call->next, step->stage, true);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * The next stage behind a call of CALLEE, or -1 where this way does not lead to what is looked for.
 * Before the switch no other function is called on it: what calls one is the way to a fatal error,
 * and need not even return.
 */
static int stage_behind(enum stage stage, enum gt_gil_callee callee)
{
	switch (stage) {
	case STAGE_RELEASED:
		return callee == GT_GIL_CALLEE_MUTEX_UNLOCK ? STAGE_UNLOCKED : -1;
	case STAGE_UNLOCKED:
		return callee == GT_GIL_CALLEE_MUTEX_LOCK ? STAGE_SWITCHING : -1;
	case STAGE_SWITCHING:
		if (callee == GT_GIL_CALLEE_MUTEX_UNLOCK)
			return STAGE_SWITCHED;
		/* 3.9 – 3.11 ask for the thread's identity here. */
		if (callee == GT_GIL_CALLEE_COND_WAIT || callee == GT_GIL_CALLEE_OTHER)
			return STAGE_SWITCHING;
		return -1;
	case STAGE_SWITCHED:
		return -1;
	}
	return -1;
}

/*
 * A call of take_gil is the eval loop's own only in the function that drops the GIL as well. A way
 * that leads out of it ends in functions that others use too, and who do not come from a drop.
 */
static int step_take(struct walk *walk, const struct step *step, uint64_t call, uint64_t behind)
{
	if (step->stage != STAGE_UNLOCKED && step->stage != STAGE_SWITCHED)
		return 0;
	if (!step->in_caller && whole_at(walk, call) != walk->home)
		return 0;
	return add_address(&walk->aftermath->retakes, behind);
}

/* Once a drop was requested, it may have to wait for switch_mutex, for switch_cond, and for both.
 */
static bool waits_for_switch(enum stage stage, enum gt_gil_callee callee)
{
	return stage == STAGE_UNLOCKED ||
	       (stage == STAGE_SWITCHING && callee != GT_GIL_CALLEE_OTHER);
}

static int step_call(struct walk *walk, const struct step *step,
		     const struct gt_instruction *instruction)
{
	enum gt_gil_callee callee = gt_gil_code_callee(walk->code, instruction);
	uint64_t behind = instruction->address + instruction->size;
	int stage, r;

	if (is_take(walk, instruction->target))
		return step_take(walk, step, instruction->address, behind);
	stage = stage_behind(step->stage, callee);
	if (stage < 0)
		return 0;
	if (stage == STAGE_UNLOCKED)
		walk->aftermath->unlocks = true;
	if (stage == STAGE_SWITCHED) {
		/* take_gil unlocks switch_mutex too, when it has the lock. */
		if (is_in_take(walk, instruction->address))
			return 0;
		r = add_address(&walk->aftermath->switched, instruction->address);
		if (r < 0)
			return r;
	}
	if (waits_for_switch(step->stage, callee) && instruction->kind == GT_INSTRUCTION_CALL &&
	    !is_in_take(walk, instruction->address)) {
		r = add_address(&walk->aftermath->waits, behind);
		if (r < 0)
			return r;
	}
	if (instruction->kind != GT_INSTRUCTION_CALL)
		return step_return(walk, &(struct step){.stage = (enum stage)stage,
							.in_caller = step->in_caller});
	return go(walk, behind, (enum stage)stage, step->in_caller);
}

/* On to the next instruction, if it is one of the same function. */
static int step_on(struct walk *walk, const struct step *step,
		   const struct gt_instruction *instruction)
{
	uint64_t behind = instruction->address + instruction->size;

	if (gt_elf_function_at(&walk->code->functions, instruction->address) !=
	    gt_elf_function_at(&walk->code->functions, behind))
		return 0;
	return go(walk, behind, step->stage, step->in_caller);
}

static int step_jump(struct walk *walk, const struct step *step,
		     const struct gt_instruction *instruction)
{
	if (gt_gil_code_callee(walk->code, instruction) != GT_GIL_CALLEE_OTHER)
		return step_call(walk, step, instruction);
	/* A tail call of take_gil returns to a caller that cannot be told from here. */
	if (!instruction->target || is_take(walk, instruction->target))
		return 0;
	/* The function that the release is in may have parts that are not known as such. */
	if (step->in_caller &&
	    whole_at(walk, instruction->target) != whole_at(walk, instruction->address))
		return 0;
	return go(walk, instruction->target, step->stage, step->in_caller);
}

static int take_step(struct walk *walk, const struct step *step)
{
	struct gt_instruction instruction;
	int r;

	if (!gt_disassemble(walk->code->disassembler, step->address, &instruction))
		return 0;
	switch (instruction.kind) {
	case GT_INSTRUCTION_CALL:
		return step_call(walk, step, &instruction);
	case GT_INSTRUCTION_BRANCH:
		r = step_on(walk, step, &instruction);
		if (r < 0)
			return r;
		return step_jump(walk, step, &instruction);
	case GT_INSTRUCTION_JUMP:
		return step_jump(walk, step, &instruction);
	case GT_INSTRUCTION_RETURN:
		return step_return(walk, step);
	case GT_INSTRUCTION_TRAP:
		return 0;
	case GT_INSTRUCTION_PLAIN:
		return step_on(walk, step, &instruction);
	}
	return 0;
}

int gt_gil_flow_follow(struct gt_gil_code *code, const struct gt_gil_landmarks *landmarks,
		       const struct gt_gil_call *release, struct gt_gil_aftermath *ret)
{
	_cleanup_(walk_clear) struct walk walk = {
		.code = code, .landmarks = landmarks, .aftermath = ret};
	int r;

	walk.home = gt_gil_code_whole(code, release->function);
	r = go(&walk, release->next, STAGE_RELEASED, false);
	while (r >= 0 && walk.pending.count > 0 && walk.steps++ < MAX_STEPS) {
		struct step step = walk.pending.items[--walk.pending.count];

		r = take_step(&walk, &step);
	}
	return r;
}

void gt_gil_aftermath_clear(struct gt_gil_aftermath *aftermath)
{
	gt_array_clear(&aftermath->switched);
	gt_array_clear(&aftermath->retakes);
	gt_array_clear(&aftermath->waits);
}
