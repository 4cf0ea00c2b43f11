/* SPDX-License-Identifier: MIT */
/*
 * Which GIL an event is about. Its sites name it by three addresses: acquired by that of
 * switch_cond, release by that of cond, switched by that of switch_mutex. From 3.7 on they lie at
 * fixed distances; in 3.6 they are separate variables, and what belongs together is learned from
 * the first thread that acquires and then releases.
 */
#include <errno.h>

#include "trace/machine.h"

/*
 * Distances from cond in struct _gil_runtime_state (Include/internal/pycore_gil.h: cond, mutex,
 * switch_cond, switch_mutex) with glibc's sizes of 48 and 40 bytes (x86-64) or 48 and 48 (aarch64).
 */
static const struct {
	uint64_t switch_cond, switch_mutex;
} layouts[] = {
	{0x58, 0x88},
	{0x60, 0x90},
};

/* Whether the two addresses are those of one GIL; an address that is not known yet is 0. */
static bool is_laid_out(uint64_t release, uint64_t acquired, uint64_t switched)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		uint64_t cond = release	   ? release
				: acquired ? acquired - layouts[i].switch_cond
					   : switched - layouts[i].switch_mutex;

		if ((!acquired || acquired == cond + layouts[i].switch_cond) &&
		    (!switched || switched == cond + layouts[i].switch_mutex))
			return true;
	}
	return false;
}

/* Whether an address that NAME lacks could be this event's, by the layout. */
static bool fits_layout(const struct gt_gil_name *name, const struct gt_event *event)
{
	uint64_t release = name->has_release ? name->release : 0;
	uint64_t acquired = name->has_acquired ? name->acquired : 0;

	switch (event->type) {
	case GT_EVENT_ACQUIRED:
		return is_laid_out(release, event->lock, name->has_switched ? name->switched : 0);
	case GT_EVENT_RELEASE:
		return is_laid_out(event->lock, acquired, name->has_switched ? name->switched : 0);
	default:
		return is_laid_out(release, acquired, event->lock);
	}
}

static bool *name_has(struct gt_gil_name *name, enum gt_event_type type)
{
	return type == GT_EVENT_ACQUIRED  ? &name->has_acquired
	       : type == GT_EVENT_RELEASE ? &name->has_release
					  : &name->has_switched;
}

static uint64_t *name_address(struct gt_gil_name *name, enum gt_event_type type)
{
	return type == GT_EVENT_ACQUIRED  ? &name->acquired
	       : type == GT_EVENT_RELEASE ? &name->release
					  : &name->switched;
}

static bool is_named(struct gt_gil_name *name, const struct gt_event *event)
{
	return *name_has(name, event->type) && *name_address(name, event->type) == event->lock;
}

int gt_gil_new(struct gt_trace *trace, uint32_t process, uint32_t *ret_gil)
{
	struct gt_process *owner = &trace->processes.items[process];
	struct gt_gil *gil = gt_array_push(&trace->gils);
	struct gt_gil_state *state = gt_array_push(&trace->machine->gils);

	if (!gil || !state)
		return -ENOMEM;
	*ret_gil = trace->gils.count - 1;
	gil->process = process;
	gil->next_in_process = GT_NONE;
	if (owner->last_gil == GT_NONE)
		owner->first_gil = *ret_gil;
	else
		trace->gils.items[owner->last_gil].next_in_process = *ret_gil;
	owner->last_gil = *ret_gil;
	state->holder = state->last_holder = GT_NONE;
	return 0;
}

static void set_address(struct gt_trace *trace, const struct gt_gil_name *name)
{
	struct gt_gil *gil = &trace->gils.items[name->gil];

	if (name->has_release)
		gil->address = name->release;
	else if (name->has_acquired)
		gil->address = name->acquired - layouts[0].switch_cond;
	else
		gil->address = name->switched - layouts[0].switch_mutex;
}

/* The name that a thread's own GIL goes by, or NULL. */
static struct gt_gil_name *own_name(struct gt_process_state *process, uint32_t gil)
{
	if (gil == GT_NONE)
		return NULL;
	for (uint32_t i = 0; i < process->names.count; i++)
		if (process->names.items[i].gil == gil)
			return &process->names.items[i];
	return NULL;
}

/*
 * The name that a new address belongs to, or NULL. The layout decides first. Else it is the GIL
 * that the thread has, or has just released, if that lacks such an address; or, in the other order,
 * the only one of the process that does.
 */
static struct gt_gil_name *find_owner(struct gt_process_state *process,
				      const struct gt_thread_state *thread,
				      const struct gt_event *event)
{
	struct gt_gil_name *name, *lacking = NULL;
	uint32_t lacking_count = 0;

	for (uint32_t i = 0; i < process->names.count; i++) {
		name = &process->names.items[i];
		if (*name_has(name, event->type))
			continue;
		if (fits_layout(name, event))
			return name;
		lacking = name;
		lacking_count++;
	}
	name = own_name(process, thread->gil);
	if (name && !*name_has(name, event->type) && event->type != GT_EVENT_ACQUIRED)
		return name;
	return lacking_count == 1 && process->names.count == 1 ? lacking : NULL;
}

int gt_gil_identify(struct gt_trace *trace, uint32_t thread, const struct gt_event *event,
		    uint32_t *ret_gil)
{
	uint32_t process = trace->threads.items[thread].process;
	struct gt_process_state *state = &trace->machine->processes.items[process];
	struct gt_gil_name *name = NULL;
	int r;

	for (uint32_t i = 0; i < state->names.count && !name; i++)
		if (is_named(&state->names.items[i], event))
			name = &state->names.items[i];
	if (!name) {
		name = find_owner(state, &trace->machine->threads.items[thread], event);
		if (!name && event->type != GT_EVENT_ACQUIRED && state->names.count > 0) {
			/* Only take_gil can show a further GIL: this is some other lock's site. */
			*ret_gil = GT_NONE;
			return 0;
		}
		if (!name) {
			name = gt_array_push(&state->names);
			if (!name)
				return -ENOMEM;
			name->gil = GT_NONE;
		}
		*name_has(name, event->type) = true;
		*name_address(name, event->type) = event->lock;
		if (name->gil != GT_NONE)
			set_address(trace, name);
	}
	if (name->gil == GT_NONE) {
		r = gt_gil_new(trace, process, &name->gil);
		if (r < 0)
			return r;
		set_address(trace, name);
	}
	*ret_gil = name->gil;
	return 0;
}

int gt_gil_identity_fork(struct gt_trace *trace, uint32_t parent, uint32_t child)
{
	struct gt_process_state *from = &trace->machine->processes.items[parent];
	struct gt_process_state *to = &trace->machine->processes.items[child];

	gt_array_for_each (&from->names, name) {
		struct gt_gil_name *copy = gt_array_push(&to->names);

		if (!copy)
			return -ENOMEM;
		*copy = *name;
		copy->gil = GT_NONE;
	}
	return 0;
}
