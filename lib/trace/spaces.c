/* SPDX-License-Identifier: MIT */
#include "trace/machine.h"
#include "unwind/unwinder.h"

int gt_space_fork(struct gt_trace *trace, uint32_t parent, uint32_t child)
{
	trace->machine->processes.items[child].has_maps =
		trace->machine->processes.items[parent].has_maps;
	return trace->unwinder ? gt_unwinder_fork(trace->unwinder, parent, child) : 0;
}

void gt_space_exec(struct gt_trace *trace, uint32_t process)
{
	trace->machine->processes.items[process].has_maps = false;
	if (trace->unwinder)
		gt_unwinder_exec(trace->unwinder, process);
}

int gt_space_map(struct gt_trace *trace, uint32_t process, const struct gt_event *event)
{
	struct gt_process_state *state = &trace->machine->processes.items[process];
	struct gt_mapping mapping = {
		.start = event->map.start,
		.length = event->map.length,
		.file_offset = event->map.file_offset,
		.path = event->map.path,
		.build_id = event->map.build_id,
		.build_id_size = event->map.build_id_size,
	};

	/* The kernel tells of all, and an agent of no more than some. */
	if (event->map.by_agent && state->has_maps)
		return 0;
	state->has_maps = state->has_maps || !event->map.by_agent;
	if (!trace->unwinder || !mapping.path || mapping.length == 0)
		return 0;
	return gt_unwinder_map(trace->unwinder, process, &mapping);
}
