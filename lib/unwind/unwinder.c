/* SPDX-License-Identifier: MIT */
#include "unwind/unwinder.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "unwind/address_space.h"
#include "unwind/code_file.h"
#include "unwind/kernel_symbols.h"
#include "unwind/step.h"

/* More of one stack are not of interest, and a broken one may have any number. */
#define MAX_FRAMES 512u

/* How many addresses are known at once; a power of two. */
#define MAX_PLACES 16384u

/* Instead of the id of a map: the kernel is the same in all of them. */
#define KERNEL_MAP UINT64_MAX

/* What is known of an address in one map: in others, it is a different place. */
struct place {
	uint64_t map, address;
	uint64_t file_offset;
	uint32_t frame;
	bool has_rule;
	struct gt_cfi_rule rule;
};

struct gt_unwinder {
	struct gt_unwinder_spec spec;
	gt_elf_ranges gil_waits;
	struct gt_address_spaces spaces;
	struct gt_code_files files;
	struct gt_kernel_symbols *kernel_symbols;
	bool has_read_kernel_symbols;
	struct gt_stacks *stacks;
	struct gt_unwinder_counts counts;
	uint32_t unknown, cut; /* the frames that mark where a stack ends before its end */
	struct place *places;
	/* Of the stack at hand, innermost first. */
	uint32_t frames[MAX_FRAMES];
	uint64_t offsets[MAX_FRAMES]; /* in their files */
	uint32_t frame_count;
};

static int copy_text(const char *text, const char **ret)
{
	if (!text)
		return 0;
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

static int copy_spec(struct gt_unwinder *unwinder, const struct gt_unwinder_spec *spec)
{
	struct gt_unwinder_spec *copy = &unwinder->spec;

	if (copy_text(spec->kernel_symbols, &copy->kernel_symbols) < 0 ||
	    copy_text(spec->kept_files, &copy->kept_files) < 0 ||
	    copy_text(spec->root, &copy->root) < 0 ||
	    copy_text(spec->gil_build_id, &copy->gil_build_id) < 0 ||
	    copy_text(spec->gil_path, &copy->gil_path) < 0)
		return -ENOMEM;
	copy->gil_waits = &unwinder->gil_waits;
	if (!spec->gil_waits)
		return 0;
	gt_array_for_each (spec->gil_waits, range) {
		struct gt_elf_range *added = gt_array_push(&unwinder->gil_waits);

		if (!added)
			return -ENOMEM;
		*added = *range;
	}
	return 0;
}

int gt_unwinder_new(const struct gt_unwinder_spec *spec, struct gt_unwinder **ret)
{
	static const struct gt_frame unknown = {.name = "[unknown]", .kind = GT_FRAME_MARK};
	static const struct gt_frame cut = {.name = "[cut]", .kind = GT_FRAME_MARK};
	_cleanup_(gt_unwinder_freep) struct gt_unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (!unwinder || copy_spec(unwinder, spec) < 0)
		return gt_error_oom();
	unwinder->files.spec = &unwinder->spec;
	unwinder->places = calloc(MAX_PLACES, sizeof(*unwinder->places));
	unwinder->stacks = gt_stacks_new();
	if (!unwinder->places || !unwinder->stacks ||
	    gt_stacks_add_frame(unwinder->stacks, &unknown, &unwinder->unknown) < 0 ||
	    gt_stacks_add_frame(unwinder->stacks, &cut, &unwinder->cut) < 0)
		return gt_error_oom();
	*ret = GT_STEAL(unwinder);
	return 0;
}

void gt_unwinder_free(struct gt_unwinder *unwinder)
{
	gt_address_spaces_clear(&unwinder->spaces);
	gt_code_files_clear(&unwinder->files);
	if (unwinder->kernel_symbols)
		gt_kernel_symbols_free(unwinder->kernel_symbols);
	if (unwinder->stacks)
		gt_stacks_free(unwinder->stacks);
	gt_array_clear(&unwinder->gil_waits);
	free((char *)unwinder->spec.kernel_symbols);
	free((char *)unwinder->spec.kept_files);
	free((char *)unwinder->spec.root);
	free((char *)unwinder->spec.gil_build_id);
	free((char *)unwinder->spec.gil_path);
	free(unwinder->places);
	free(unwinder);
}

int gt_unwinder_map(struct gt_unwinder *unwinder, uint32_t space, const struct gt_mapping *mapping)
{
	struct gt_code_mapping code = {.start = mapping->start,
				       .end = mapping->start + mapping->length,
				       .file_offset = mapping->file_offset};
	int r = gt_code_files_add(&unwinder->files, mapping, &code.file);

	return r < 0 ? r : gt_address_spaces_map(&unwinder->spaces, space, &code);
}

int gt_unwinder_fork(struct gt_unwinder *unwinder, uint32_t parent, uint32_t child)
{
	return gt_address_spaces_fork(&unwinder->spaces, parent, child);
}

void gt_unwinder_exec(struct gt_unwinder *unwinder, uint32_t space)
{
	gt_address_spaces_exec(&unwinder->spaces, space);
}

static int look_up(struct gt_unwinder *unwinder, const struct gt_code_mapping *mapping,
		   struct place *place)
{
	int r;

	place->file_offset = place->address - mapping->start + mapping->file_offset;
	r = gt_code_file_frame(&unwinder->files, mapping->file, place->file_offset,
			       unwinder->stacks, &place->frame);
	if (r < 0)
		return r;
	place->has_rule = gt_code_file_rule(&unwinder->files, mapping->file, place->file_offset,
					    &place->rule);
	return 0;
}

/* The place of an address. -ENOENT when no code is mapped there; -ENOMEM. */
static int find_place(struct gt_unwinder *unwinder, const struct gt_code_map *map, uint64_t address,
		      const struct place **ret)
{
	uint64_t hash = (address ^ map->id << 7) * UINT64_C(0x9e3779b97f4a7c15);
	struct place *place = &unwinder->places[hash >> 32 & (MAX_PLACES - 1)];
	const struct gt_code_mapping *mapping;
	int r;

	if (place->map != map->id || place->address != address) {
		struct place found = {.map = map->id, .address = address};

		mapping = gt_code_map_at(map, address);
		if (!mapping)
			return -ENOENT;
		r = look_up(unwinder, mapping, &found);
		if (r < 0)
			return r;
		*place = found;
	}
	*ret = place;
	return 0;
}

static void add_frame(struct gt_unwinder *unwinder, uint32_t frame, uint64_t file_offset)
{
	unwinder->offsets[unwinder->frame_count] = file_offset;
	unwinder->frames[unwinder->frame_count++] = frame;
}

/* The stack cannot be followed any further, for want of sense. */
static void end_broken(struct gt_unwinder *unwinder, uint32_t *outermost)
{
	unwinder->counts.broken++;
	*outermost = unwinder->unknown;
}

/*
 * Only the innermost frame may do without a rule: whoever was called by code without one, and
 * keeps the frame pointer for itself, has no caller that can be told.
 */
static enum gt_step step(const struct place *place, struct gt_walk *walk, bool is_innermost)
{
	if (place->has_rule)
		return gt_walk_step(walk, &place->rule);
	return is_innermost ? gt_walk_step_by_frame_pointer(walk) : GT_STEP_BROKEN;
}

/* Collects the frames of a walk. OUTERMOST is set when it ends before the stack does. */
static int follow(struct gt_unwinder *unwinder, const struct gt_code_map *map, struct gt_walk *walk,
		  uint32_t *outermost)
{
	enum gt_step next = GT_STEP_CALLER;

	while (next == GT_STEP_CALLER) {
		const struct place *place;
		int r;

		if (unwinder->frame_count == MAX_FRAMES) {
			next = GT_STEP_CUT;
			break;
		}
		r = find_place(unwinder, map, walk->pc - !walk->is_interrupted, &place);
		if (r == -ENOMEM)
			return r;
		if (r < 0) {
			next = GT_STEP_BROKEN;
			break;
		}
		add_frame(unwinder, place->frame, place->file_offset);
		next = step(place, walk, unwinder->frame_count == 1);
	}
	if (next == GT_STEP_CUT)
		*outermost = unwinder->cut;
	else if (next == GT_STEP_BROKEN)
		end_broken(unwinder, outermost);
	return 0;
}

static int unwind_registers(struct gt_unwinder *unwinder, const struct gt_code_map *map,
			    const struct gt_stack_sample *sample, struct gt_walk *walk,
			    uint32_t *outermost)
{
	walk->numbers = gt_registers_numbers();
	walk->is_interrupted = true;
	walk->stack = sample->stack;
	walk->stack_bytes = sample->stack ? sample->stack_bytes : 0;
	walk->stack_start = walk->registers.values[walk->numbers->stack_pointer];
	return follow(unwinder, map, walk, outermost);
}

/* The addresses between MARK and the next mark in a call chain. */
struct chain {
	const char *at;
	uint32_t count;
};

static uint64_t chain_at(const char *frames, uint32_t index)
{
	uint64_t address;

	memcpy(&address, frames + (size_t)index * sizeof(address), sizeof(address));
	return address;
}

static struct chain find_chain(const struct gt_stack_sample *sample, uint64_t mark)
{
	struct chain chain = {.count = 0};
	bool is_inside = false;

	for (uint32_t i = 0; i < sample->frame_count; i++) {
		uint64_t address = chain_at(sample->frames, i);

		if (address >= (uint64_t)PERF_CONTEXT_MAX) {
			if (is_inside)
				break;
			is_inside = address == mark;
			chain.at = (const char *)sample->frames + (i + 1) * sizeof(address);
		} else if (is_inside) {
			chain.count++;
		}
	}
	return chain;
}

/* The function that threads start in: by the tables, nobody has called it. */
static bool is_start(const struct place *place)
{
	return place && place->has_rule && place->rule.from[GT_CFI_RETURN] == GT_CFI_UNDEFINED;
}

/*
 * As the kernel has followed the frame pointers: where code without them led it astray is not
 * told, but then it hardly arrives where threads start.
 */
static int take_user_chain(struct gt_unwinder *unwinder, const struct gt_code_map *map,
			   struct chain chain, uint32_t *outermost)
{
	const struct place *place = NULL;

	unwinder->counts.chains += chain.count > 0;
	for (uint32_t i = 0; i < chain.count; i++) {
		uint64_t address = chain_at(chain.at, i);
		int r;

		if (unwinder->frame_count == MAX_FRAMES) {
			*outermost = unwinder->cut;
			return 0;
		}
		r = find_place(unwinder, map, address - (i > 0), &place);
		if (r == -ENOMEM)
			return r;
		if (r < 0) {
			end_broken(unwinder, outermost);
			return 0;
		}
		add_frame(unwinder, place->frame, place->file_offset);
	}
	unwinder->counts.whole_chains += is_start(place);
	return 0;
}

static int push_user_frames(struct gt_unwinder *unwinder, uint32_t outermost, uint32_t *stack)
{
	int r = 0;

	if (outermost != UINT32_MAX)
		r = gt_stacks_push(unwinder->stacks, *stack, outermost, stack);
	for (uint32_t i = unwinder->frame_count; r == 0 && i > 0; i--)
		r = gt_stacks_push(unwinder->stacks, *stack, unwinder->frames[i - 1], stack);
	return r;
}

static int unwind_user(struct gt_unwinder *unwinder, uint32_t space,
		       const struct gt_stack_sample *sample, uint32_t *stack)
{
	const struct gt_code_map *map = gt_address_spaces_get(&unwinder->spaces, space);
	struct chain chain = find_chain(sample, (uint64_t)PERF_CONTEXT_USER);
	uint32_t outermost = UINT32_MAX;
	struct gt_walk walk;
	bool has_registers = gt_registers_read(sample, &walk.registers, &walk.pc);
	int r = 0;

	unwinder->frame_count = 0;
	/* The registers are those that called the kernel, in the program before. */
	if (gt_address_spaces_is_new(&unwinder->spaces, space))
		return 0;
	if (!map && (has_registers || chain.count > 0))
		end_broken(unwinder, &outermost);
	else if (has_registers)
		r = unwind_registers(unwinder, map, sample, &walk, &outermost);
	else
		r = take_user_chain(unwinder, map, chain, &outermost);
	unwinder->counts.frames += unwinder->frame_count;
	/* More room does not help where we end, nor a thread in execve(): its stack is gone. */
	unwinder->counts.cut +=
		outermost == unwinder->cut && sample->is_cut && unwinder->frame_count < MAX_FRAMES;
	return r < 0 ? r : push_user_frames(unwinder, outermost, stack);
}

static const char *kernel_name(struct gt_unwinder *unwinder, uint64_t address)
{
	const char *name = NULL;

	if (!unwinder->has_read_kernel_symbols && unwinder->spec.kernel_symbols)
		(void)gt_kernel_symbols_read(unwinder->spec.kernel_symbols,
					     &unwinder->kernel_symbols);
	unwinder->has_read_kernel_symbols = true;
	if (unwinder->kernel_symbols)
		name = gt_kernel_symbols_find(unwinder->kernel_symbols, address);
	return name ? name : "[kernel]";
}

/* The same address is the same function in all processes. */
static int find_kernel_frame(struct gt_unwinder *unwinder, uint64_t address, uint32_t *ret)
{
	struct gt_frame frame = {.kind = GT_FRAME_KERNEL};
	uint64_t hash = address * UINT64_C(0x9e3779b97f4a7c15);
	struct place *place = &unwinder->places[hash >> 32 & (MAX_PLACES - 1)];
	int r;

	if (place->map != KERNEL_MAP || place->address != address) {
		frame.name = kernel_name(unwinder, address);
		r = gt_stacks_add_frame(unwinder->stacks, &frame, ret);
		if (r < 0)
			return r;
		*place = (struct place){.map = KERNEL_MAP, .address = address, .frame = *ret};
	}
	*ret = place->frame;
	return 0;
}

/* Frames without names, which would be the same "[kernel]" many times over, are one. */
static int push_kernel_frames(struct gt_unwinder *unwinder, const struct gt_stack_sample *sample,
			      uint32_t *stack)
{
	struct chain chain = find_chain(sample, (uint64_t)PERF_CONTEXT_KERNEL);
	uint32_t unnamed = UINT32_MAX;

	for (uint32_t i = chain.count; i > 0; i--) {
		uint64_t address = chain_at(chain.at, i - 1) - (i > 1);
		uint32_t frame;
		int r = find_kernel_frame(unwinder, address, &frame);

		if (r < 0)
			return r;
		if (frame == unnamed)
			continue;
		r = gt_stacks_push(unwinder->stacks, *stack, frame, stack);
		if (r < 0)
			return r;
		unnamed = unwinder->stacks->frames.items[frame].name[0] == '[' ? frame : UINT32_MAX;
	}
	return 0;
}

int gt_unwinder_unwind(struct gt_unwinder *unwinder, uint32_t space,
		       const struct gt_stack_sample *sample, uint32_t *ret_stack)
{
	uint32_t stack = GT_STACK_NONE;
	int r;

	unwinder->counts.samples++;
	r = unwind_user(unwinder, space, sample, &stack);
	if (r == 0)
		r = push_kernel_frames(unwinder, sample, &stack);
	if (r < 0)
		return r;
	*ret_stack = stack;
	return 0;
}

uint32_t gt_unwinder_offsets(const struct gt_unwinder *unwinder, const uint64_t **ret_offsets)
{
	*ret_offsets = unwinder->offsets;
	return unwinder->frame_count;
}

struct gt_stacks *gt_unwinder_stacks(struct gt_unwinder *unwinder)
{
	return unwinder->stacks;
}

struct gt_unwinder_counts gt_unwinder_counts(const struct gt_unwinder *unwinder)
{
	return unwinder->counts;
}
