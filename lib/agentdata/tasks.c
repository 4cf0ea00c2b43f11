/* SPDX-License-Identifier: MIT */
/*
 * Births, names and ends of threads, out of what the agent has said of each. Where the kernel tells
 * of them, only where the file with the GIL is mapped is taken from here.
 *
 * The model makes up every thread that an event names as a parent. So only those are named that
 * live, as far as has been told.
 */
#include <errno.h>
#include <string.h>

#include "agentdata/reader.h"
#include "base/log.h"

static struct gt_event *push(struct gt_agentdata *data, enum gt_event_type type, uint64_t time_ns,
			     uint32_t pid, uint32_t tid)
{
	struct gt_event *event = &data->queue[data->queue_count++];

	*event = (struct gt_event){
		.time_ns = time_ns, .pid = pid, .tid = tid, .type = type, .ring = GT_EVENT_NO_RING};
	return event;
}

static void push_fork(struct gt_agentdata *data, uint64_t time_ns, uint32_t pid, uint32_t tid,
		      uint32_t ppid, uint32_t ptid)
{
	struct gt_event *event = push(data, GT_EVENT_FORK, time_ns, pid, tid);

	event->fork.ppid = ppid;
	event->fork.ptid = ptid;
}

static void push_name(struct gt_agentdata *data, uint64_t time_ns, uint32_t pid, uint32_t tid,
		      bool exec)
{
	struct gt_event *event = push(data, GT_EVENT_COMM, time_ns, pid, tid);

	event->comm.name = data->name;
	event->comm.exec = exec;
}

static void set_name(struct gt_agentdata *data, const char comm[static GT_AGENT_COMM_BYTES])
{
	memcpy(data->name, comm, GT_AGENT_COMM_BYTES);
	data->name[GT_AGENT_COMM_BYTES] = '\0';
}

/* The process PID that has living threads, or NULL. */
static struct gt_reader_process *find_living_process(struct gt_agentdata *data, uint32_t pid)
{
	uint32_t process = gt_hash_get(&data->process_by_pid, pid);

	if (process == GT_HASH_NONE || (data->processes.items[process].living == 0 &&
					!data->processes.items[process].main_is_living))
		return NULL;
	return &data->processes.items[process];
}

static bool is_living(const struct gt_agentdata *data, const struct gt_reader_process *process,
		      uint32_t tid)
{
	uint32_t thread = gt_hash_get(&data->thread_by_tid, tid);
	const struct gt_reader_thread *item;

	if (tid == process->pid)
		return process->main_is_living;
	if (thread == GT_HASH_NONE)
		return false;
	item = &data->threads.items[thread];
	return item->is_living && &data->processes.items[item->process] == process;
}

/* A thread that a new one of PROCESS, which lives, may come from: TID if that one lives. */
static uint32_t choose_parent(const struct gt_agentdata *data,
			      const struct gt_reader_process *process, uint32_t tid)
{
	if (is_living(data, process, tid))
		return tid;
	if (process->main_is_living)
		return process->pid;
	gt_array_for_each (&data->threads, thread)
		if (thread->is_living && &data->processes.items[thread->process] == process)
			return thread->tid;
	return process->pid;
}

/* Its main thread is told of first, also where another one is the first that was seen. */
static void tell_process(struct gt_agentdata *data, struct gt_reader_process *process,
			 const struct gt_agent_thread_block *block, uint64_t time_ns)
{
	const struct gt_reader_process *parent =
		block->ppid != block->pid ? find_living_process(data, block->ppid) : NULL;
	/* Only fork tells its child which thread called it. What has no such parent, or was started
	 * by exec, knows nothing of a GIL as it begins. */
	bool exec = !parent || block->ptid == 0;

	if (parent)
		push_fork(data, time_ns, block->pid, block->pid, parent->pid,
			  choose_parent(data, parent, block->ptid));
	if (exec || data->name[0])
		push_name(data, time_ns, block->pid, block->pid, exec);
	process->main_is_living = true;
	process->main_is_guessed = block->tid != block->pid;
}

static void tell_birth(struct gt_agentdata *data, struct gt_reader_process *process,
		       const struct gt_agent_thread_block *block, uint64_t time_ns)
{
	bool is_known = block->tid == block->pid && process->main_is_guessed;

	if (is_known)
		process->main_is_guessed = false;
	else if (process->main_is_living || process->living > 0)
		push_fork(data, time_ns, block->pid, block->tid, block->pid,
			  choose_parent(data, process, block->pid));
	if (data->name[0])
		push_name(data, time_ns, block->pid, block->tid, false);
}

static void tell_map(struct gt_agentdata *data, struct gt_reader_process *process,
		     const struct gt_agent_thread_block *block, uint64_t time_ns)
{
	struct gt_event *event;

	if (!data->gil_file || block->map_bytes == 0 || process->map_start == block->map_start)
		return;
	process->map_start = block->map_start;
	event = push(data, GT_EVENT_MAP, time_ns, block->pid, block->tid);
	event->map.start = block->map_start;
	event->map.length = block->map_bytes;
	event->map.file_offset = block->map_offset;
	event->map.path = data->gil_file;
	event->map.build_id = data->build_id_bytes > 0 ? data->build_id : NULL;
	event->map.build_id_size = data->build_id_bytes;
	event->map.by_agent = true;
}

static int add_process(struct gt_agentdata *data, const struct gt_agent_thread_block *block,
		       uint32_t *ret)
{
	uint32_t old = gt_hash_get(&data->process_by_pid, block->pid);
	struct gt_reader_process *process = gt_array_push(&data->processes);

	*ret = data->processes.count - 1;
	if (!process || gt_hash_set(&data->process_by_number, block->process, *ret) < 0 ||
	    gt_hash_set(&data->process_by_pid, block->pid, *ret) < 0)
		return gt_error_oom();
	process->pid = block->pid;
	if (old != GT_HASH_NONE) {
		data->processes.items[old].is_replaced = true;
		data->processes.items[old].living = 0;
		data->processes.items[old].main_is_living = false;
	}
	return 0;
}

/* Counts out a thread. False when its end is no news. */
static bool leave_process(struct gt_agentdata *data, struct gt_reader_thread *thread)
{
	struct gt_reader_process *process;

	if (!thread->is_living)
		return false;
	thread->is_living = false;
	process = &data->processes.items[thread->process];
	if (process->is_replaced)
		return false;
	process->living--;
	if (thread->tid == process->pid)
		process->main_is_living = false;
	return true;
}

/*
 * Fills in the numbers that are not known (see struct gt_agent_thread_block). False when the pid is
 * not that of PROCESS, which is NULL for a new one: only a broken file has that.
 */
static bool complete(const struct gt_reader_process *process, uint32_t thread,
		     struct gt_agent_thread_block *block)
{
	uint32_t made_up = GT_AGENT_MADE_UP_TID + thread;

	if (process && (block->pid == 0 || process->pid_is_made_up))
		block->pid = process->pid;
	if (block->pid == 0)
		block->pid = made_up;
	if (block->tid == 0)
		block->tid = made_up;
	return !process || process->pid == block->pid;
}

/* What a thread says that contradicts others is left out. */
static void refuse_thread(struct gt_agentdata *data, struct gt_reader_thread *thread,
			  const struct gt_reader_process *process,
			  const struct gt_agent_thread_block *block, uint64_t time_ns)
{
	gt_agentdata_warn(data, (uint64_t)((const uint8_t *)thread->block - data->map),
			  "process %u has two pids, %u and %u\n"
			  "  what thread %u did from there on counts as lost",
			  block->process, process->pid, block->pid, block->block.thread);
	gt_agentdata_leave_out(data, thread);
	if (!data->gil_events_only && leave_process(data, thread))
		push(data, GT_EVENT_EXIT, time_ns, thread->pid, thread->tid);
}

int gt_agentdata_tell_thread(struct gt_agentdata *data, uint32_t thread_index,
			     const struct gt_agent_thread_block *told, uint64_t time_ns)
{
	struct gt_agent_thread_block completed = *told;
	const struct gt_agent_thread_block *block = &completed;
	struct gt_reader_thread *thread = &data->threads.items[thread_index];
	uint32_t index = gt_hash_get(&data->process_by_number, block->process);
	struct gt_reader_process *process;
	bool is_new = index == GT_HASH_NONE;
	int r;

	process = is_new ? NULL : &data->processes.items[index];
	if (!complete(process, thread_index, &completed)) {
		refuse_thread(data, thread, process, block, time_ns);
		return 0;
	}
	set_name(data, block->comm);
	if (is_new) {
		r = add_process(data, block, &index);
		if (r < 0)
			return r;
		data->processes.items[index].pid_is_made_up = told->pid == 0;
	}
	process = &data->processes.items[index];
	if (is_new && !data->gil_events_only)
		tell_process(data, process, block, time_ns);
	if (thread->process != index || thread->tid != block->tid) {
		leave_process(data, thread);
		if (!data->gil_events_only && !(is_new && block->tid == block->pid))
			tell_birth(data, process, block, time_ns);
		thread->process = index;
		thread->pid = block->pid;
		thread->tid = block->tid;
		thread->is_living = true;
		process->living++;
		if (block->tid == block->pid)
			process->main_is_living = true;
		if (gt_hash_set(&data->thread_by_tid, block->tid, thread_index) < 0)
			return gt_error_oom();
	}
	tell_map(data, process, block, time_ns);
	return 0;
}

void gt_agentdata_tell_name(struct gt_agentdata *data, uint32_t thread_index,
			    const struct gt_agent_name_block *block, uint64_t time_ns)
{
	const struct gt_reader_thread *thread = &data->threads.items[thread_index];

	if (data->gil_events_only || !thread->is_living ||
	    data->processes.items[thread->process].is_replaced)
		return;
	set_name(data, block->comm);
	if (data->name[0])
		push_name(data, time_ns, thread->pid, thread->tid, false);
}

void gt_agentdata_tell_end(struct gt_agentdata *data, uint32_t thread_index,
			   const struct gt_agent_end_block *block, uint64_t time_ns)
{
	struct gt_reader_thread *thread = &data->threads.items[thread_index];
	struct gt_reader_process *process = &data->processes.items[thread->process];

	if (block->time_ns == 0 || data->gil_events_only || !leave_process(data, thread))
		return;
	push(data, GT_EVENT_EXIT, time_ns, thread->pid, thread->tid);
	/* With the last one that was seen ends the one that was not. */
	if (process->living == 0 && process->main_is_guessed && process->main_is_living) {
		process->main_is_living = false;
		push(data, GT_EVENT_EXIT, time_ns, process->pid, process->pid);
	}
}
