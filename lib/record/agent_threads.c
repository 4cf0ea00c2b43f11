/* SPDX-License-Identifier: MIT */
#include "record/agent_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agentdata/format.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/time.h"
#include "record/agent_file.h"

/* Of a recording. More can only come from a memory that was written to by something else. */
#define MAX_THREADS (UINT32_C(1) << 20)

/*
 * A thread that ends without a word is noticed this much later; it costs a system call for each
 * that lives. A change of name costs three.
 */
#define CHECK_INTERVAL_NS (20 * GT_NS_PER_MS)
#define CHECK_INTERVAL_OF_MANY_NS (100 * GT_NS_PER_MS)
#define MANY_THREADS 1000
#define NAME_INTERVAL_NS GT_NS_PER_SEC

/* To see that a process waits for its parent's question takes a file of /proc to be read. */
#define ZOMBIE_INTERVAL_NS (100 * GT_NS_PER_MS)
#define SILENCE_NS GT_NS_PER_MS

void gt_agent_threads_clear(struct gt_agent_threads *threads)
{
	gt_array_clear(&threads->items);
	gt_array_clear(&threads->living);
	gt_array_clear(&threads->processes);
	gt_hash_clear(&threads->by_number);
	gt_hash_clear(&threads->by_tid);
	gt_hash_clear(&threads->process_by_number);
	gt_hash_clear(&threads->process_by_pid);
}

static uint64_t tid_key(const struct gt_agent_identity *identity)
{
	return (uint64_t)identity->pid << 32 | identity->tid;
}

static struct gt_agent_identity read_identity(const struct gt_agent_chunk *chunk)
{
	return (struct gt_agent_identity){
		.process = chunk->process,
		.pid = chunk->pid,
		.tid = chunk->tid,
		.ppid = chunk->ppid,
		.ptid = chunk->ptid,
		.map_start = chunk->map_start,
		.map_bytes = chunk->map_bytes,
		.map_offset = chunk->map_offset,
	};
}

static void copy_comm(char *to, const char *from)
{
	memset(to, 0, GT_AGENT_COMM_BYTES);
	memcpy(to, from, strnlen(from, GT_AGENT_COMM_BYTES - 1));
}

/*
 * A process image has one number and one pid; what is not known of it in one chunk is taken from
 * the others. -EINVAL for a chunk that contradicts them: a reader could not tell whom it is about.
 */
static int check_process(struct gt_agent_threads *threads, struct gt_agent_identity *identity)
{
	uint32_t index = gt_hash_get(&threads->process_by_number, identity->process);
	uint32_t known_pid = index == GT_HASH_NONE ? 0 : threads->processes.items[index].pid;

	if (identity->pid == 0)
		identity->pid = known_pid;
	return known_pid != 0 && identity->pid != known_pid ? -EINVAL : 0;
}

static int add_process(struct gt_agent_threads *threads, const struct gt_agent_identity *identity)
{
	uint32_t index = gt_hash_get(&threads->process_by_number, identity->process), other;
	struct gt_agent_process *process;

	if (index == GT_HASH_NONE) {
		process = gt_array_push(&threads->processes);
		index = threads->processes.count - 1;
		if (!process ||
		    gt_hash_set(&threads->process_by_number, identity->process, index) < 0)
			return gt_error_oom();
		process->number = identity->process;
	}
	process = &threads->processes.items[index];
	if (identity->pid == 0 || process->pid != 0)
		return 0;
	process->pid = identity->pid;
	other = gt_hash_get(&threads->process_by_pid, process->pid);
	if (other != GT_HASH_NONE && threads->processes.items[other].number > process->number)
		return 0;
	return gt_hash_set(&threads->process_by_pid, process->pid, index) < 0 ? gt_error_oom() : 0;
}

/*
 * Chunks come in any order, so that the one behind an exec may be seen before the one in front of
 * it: the thread with the higher number is the newer one.
 */
static int claim_tid(struct gt_agent_threads *threads, uint32_t index)
{
	const struct gt_agent_thread *thread = &threads->items.items[index];
	uint32_t other;

	if (thread->identity.pid == 0 || thread->identity.tid == 0)
		return 0;
	other = gt_hash_get(&threads->by_tid, tid_key(&thread->identity));
	if (other != GT_HASH_NONE && threads->items.items[other].number > thread->number)
		return 0;
	return gt_hash_set(&threads->by_tid, tid_key(&thread->identity), index) < 0 ? gt_error_oom()
										    : 0;
}

static int add_thread(struct gt_agent_threads *threads, uint32_t number,
		      const struct gt_agent_identity *identity, uint32_t *ret_index)
{
	struct gt_agent_thread *thread;
	uint32_t *living;
	int r;

	if (threads->items.count == MAX_THREADS)
		return -EINVAL;
	r = add_process(threads, identity);
	if (r < 0)
		return r;
	thread = gt_array_push(&threads->items);
	living = gt_array_push(&threads->living);
	if (!thread || !living ||
	    gt_hash_set(&threads->by_number, number, threads->items.count - 1) < 0)
		return gt_error_oom();
	thread->number = number;
	thread->identity = *identity;
	*living = *ret_index = threads->items.count - 1;
	return claim_tid(threads, *ret_index);
}

/* A thread's number is given once, to one thread of one process. */
static bool is_same_thread(const struct gt_agent_identity *known,
			   const struct gt_agent_identity *told)
{
	return told->process == known->process && told->pid == known->pid &&
	       told->tid == known->tid;
}

int gt_agent_threads_add(struct gt_agent_threads *threads, const struct gt_agent_chunk *chunk,
			 uint32_t *ret_index)
{
	struct gt_agent_identity identity = read_identity(chunk);
	uint32_t number = chunk->thread, index;
	struct gt_agent_thread *thread;
	int r;

	if (number == 0)
		return -EINVAL;
	r = check_process(threads, &identity);
	if (r < 0)
		return r;
	index = gt_hash_get(&threads->by_number, number);
	if (index == GT_HASH_NONE) {
		r = add_thread(threads, number, &identity, ret_index);
		if (r == 0)
			copy_comm(threads->items.items[*ret_index].comm, chunk->comm);
		return r;
	}
	thread = &threads->items.items[index];
	/* Where its pid has become known since, it is told of as it began. */
	if (thread->identity.pid == 0 && thread->identity.process == identity.process)
		identity.pid = 0;
	if (thread->has_ended || !is_same_thread(&thread->identity, &identity))
		return -EINVAL;
	if (memcmp(&identity, &thread->identity, sizeof(identity)) != 0) {
		thread->identity = identity;
		thread->is_told = false;
	}
	*ret_index = index;
	return 0;
}

static int put_name(struct gt_agent_thread *thread, struct gt_agent_file *file, uint64_t time_ns)
{
	struct gt_agent_name_block name = {
		.block = {.type = GT_AGENT_BLOCK_NAME,
			  .thread = thread->number,
			  .bytes = sizeof(name)},
		.time_ns = time_ns,
	};

	/* A window's threads are told of at the end, by the name that they have then. */
	if (file->has_window || !thread->has_records)
		return 0;
	memcpy(name.comm, thread->comm, sizeof(name.comm));
	return gt_agent_file_put(file, &name.block);
}

void gt_agent_thread_set_exit(struct gt_agent_thread *thread, const char *comm, uint64_t exit_ns)
{
	thread->exit_ns = exit_ns;
	copy_comm(thread->exit_comm, comm[0] ? comm : thread->comm);
}

static int put_thread(const struct gt_agent_thread *thread, struct gt_agent_file *file)
{
	const struct gt_agent_identity *identity = &thread->identity;
	struct gt_agent_thread_block block = {
		.block = {.type = GT_AGENT_BLOCK_THREAD,
			  .thread = thread->number,
			  .bytes = sizeof(block)},
		.time_ns = thread->first_ns,
		.process = identity->process,
		.pid = identity->pid,
		.tid = identity->tid,
		.ppid = identity->ppid,
		.ptid = identity->ptid,
		.map_start = identity->map_start,
		.map_bytes = identity->map_bytes,
		.map_offset = identity->map_offset,
	};

	memcpy(block.comm, thread->comm, sizeof(block.comm));
	return gt_agent_file_put(file, &block.block);
}

int gt_agent_thread_tell(struct gt_agent_thread *thread, struct gt_agent_file *file)
{
	thread->is_told = true;
	return file->has_window ? 0 : put_thread(thread, file);
}

static int rename_thread(struct gt_agent_thread *thread, const char *comm,
			 struct gt_agent_file *file, uint64_t time_ns)
{
	if (strncmp(thread->comm, comm, GT_AGENT_COMM_BYTES) == 0)
		return 0;
	copy_comm(thread->comm, comm);
	return put_name(thread, file, time_ns);
}

/* The name that the kernel has for a thread. False when it has none, because there is none. */
static bool read_comm(const struct gt_agent_identity *identity, char *comm)
{
	_cleanup_close_ int fd = -1;
	char path[64];
	ssize_t size;

	if (identity->pid == 0 || identity->tid == 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", identity->pid, identity->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, comm, GT_AGENT_COMM_BYTES);
	if (size <= 0)
		return false;
	comm[size - 1] = '\0'; /* instead of the end of the line */
	return true;
}

static int read_names(struct gt_agent_threads *threads, struct gt_agent_file *file, uint64_t now_ns)
{
	char comm[GT_AGENT_COMM_BYTES];
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < threads->living.count; i++) {
		struct gt_agent_thread *thread = &threads->items.items[threads->living.items[i]];

		/* One that gives itself a name holds the GIL, and has records behind it. */
		if (!thread->has_moved || thread->is_dead || thread->exit_ns != 0)
			continue;
		thread->has_moved = false;
		if (read_comm(&thread->identity, comm))
			r = rename_thread(thread, comm, file, now_ns);
	}
	return r;
}

/* Whether another process, behind an exec or an end, or another thread has its numbers. */
static bool is_replaced(const struct gt_agent_threads *threads, uint32_t index)
{
	const struct gt_agent_identity *identity = &threads->items.items[index].identity;
	uint32_t process = gt_hash_get(&threads->process_by_pid, identity->pid);

	if (threads->processes.items[process].number != identity->process)
		return true;
	return identity->tid != 0 && gt_hash_get(&threads->by_tid, tid_key(identity)) != index;
}

/* Whether there is no such thread; of one whose tid is not known, no such process. */
static bool is_unknown_to_kernel(const struct gt_agent_identity *identity)
{
	if (identity->pid > INT_MAX || identity->tid > INT_MAX)
		return false;
	if (identity->tid == 0)
		return kill((pid_t)identity->pid, 0) < 0 && errno == ESRCH;
	return syscall(SYS_tgkill, identity->pid, identity->tid, 0) < 0 && errno == ESRCH;
}

/*
 * Whether it has ended, and its parent has not asked after it. Of a process that was killed, only
 * the main thread is kept for that.
 */
static bool is_zombie(const struct gt_agent_identity *identity)
{
	_cleanup_close_ int fd = -1;
	char text[256], *name_end;
	ssize_t size;

	if (identity->pid != identity->tid)
		return false;
	snprintf(text, sizeof(text), "/proc/%u/stat", identity->pid);
	fd = open(text, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (size <= 0)
		return false;
	text[size] = '\0';
	/* "PID (NAME) STATE ...", and the name may have anything in it. */
	name_end = strrchr(text, ')');
	return name_end && name_end[1] == ' ' && (name_end[2] == 'Z' || name_end[2] == 'X');
}

/* IS_SILENT: it has written nothing for some time. */
static bool is_gone(const struct gt_agent_threads *threads, uint32_t index, bool is_silent)
{
	const struct gt_agent_identity *identity = &threads->items.items[index].identity;

	/* Nobody can be asked after it. */
	if (identity->pid == 0)
		return false;
	return is_replaced(threads, index) || is_unknown_to_kernel(identity) ||
	       (is_silent && is_zombie(identity));
}

static void find_dead(struct gt_agent_threads *threads, bool with_zombies, uint64_t now_ns)
{
	gt_array_for_each (&threads->living, index) {
		struct gt_agent_thread *thread = &threads->items.items[*index];
		bool is_silent = with_zombies && now_ns > thread->last_ns + SILENCE_NS;

		if (thread->is_dead || !is_gone(threads, *index, is_silent))
			continue;
		thread->is_dead = true;
		thread->dead_ns = now_ns;
	}
}

void gt_agent_threads_find_dead(struct gt_agent_threads *threads, uint64_t now_ns)
{
	find_dead(threads, true, now_ns);
}

/* When a thread ended: by its own word, or when it was found dead. 0: it has not. */
static uint64_t find_end_ns(const struct gt_agent_thread *thread)
{
	uint64_t end_ns = thread->exit_ns ? thread->exit_ns : thread->dead_ns;

	return end_ns ? GT_MAX(end_ns, thread->last_ns) : 0;
}

static int put_end(struct gt_agent_thread *thread, struct gt_agent_file *file)
{
	struct gt_agent_end_block end = {
		.block = {.type = GT_AGENT_BLOCK_END,
			  .thread = thread->number,
			  .bytes = sizeof(end)},
		.time_ns = find_end_ns(thread),
		.lost = thread->lost,
	};
	int r;

	if (end.time_ns == 0 && end.lost == 0)
		return 0;
	if (thread->exit_ns != 0) {
		r = rename_thread(thread, thread->exit_comm, file, end.time_ns);
		if (r < 0)
			return r;
	}
	return gt_agent_file_put(file, &end.block);
}

/* Ends the threads that are dead and have been read to their end. */
static int end_dead(struct gt_agent_threads *threads, struct gt_agent_file *file)
{
	uint32_t kept = 0;
	int r = 0;

	for (uint32_t i = 0; i < threads->living.count; i++) {
		uint32_t index = threads->living.items[i];
		struct gt_agent_thread *thread = &threads->items.items[index];

		if (r == 0 && thread->is_dead && thread->chunks == 0) {
			thread->has_ended = true;
			if (!file->has_window && thread->is_told)
				r = put_end(thread, file);
		} else {
			threads->living.items[kept++] = index;
		}
	}
	threads->living.count = kept;
	return r;
}

int gt_agent_threads_tend(struct gt_agent_threads *threads, struct gt_agent_file *file,
			  uint64_t now_ns)
{
	uint64_t interval_ns = threads->living.count > MANY_THREADS ? CHECK_INTERVAL_OF_MANY_NS
								    : CHECK_INTERVAL_NS;
	bool with_zombies;
	int r = 0;

	if (now_ns >= threads->named_ns + NAME_INTERVAL_NS) {
		threads->named_ns = now_ns;
		r = read_names(threads, file, now_ns);
	}
	if (r == 0 && now_ns >= threads->checked_ns + interval_ns) {
		threads->checked_ns = now_ns;
		r = end_dead(threads, file);
		with_zombies = now_ns >= threads->looked_for_zombies_ns + ZOMBIE_INTERVAL_NS;
		if (with_zombies)
			threads->looked_for_zombies_ns = now_ns;
		find_dead(threads, with_zombies, now_ns);
	}
	return r;
}

void gt_agent_threads_span(const struct gt_agent_threads *threads, uint64_t *ret_first_ns,
			   uint64_t *ret_last_ns)
{
	*ret_first_ns = UINT64_MAX;
	*ret_last_ns = 0;
	gt_array_for_each (&threads->items, thread) {
		if (thread->has_records)
			*ret_first_ns = GT_MIN(*ret_first_ns, thread->first_ns);
		*ret_last_ns = GT_MAX(*ret_last_ns, thread->last_ns);
		*ret_last_ns = GT_MAX(*ret_last_ns, thread->exit_ns);
	}
}

int gt_agent_threads_finish(struct gt_agent_threads *threads, struct gt_agent_file *file,
			    uint64_t window_start_ns)
{
	int r = 0;

	if (file->has_window) {
		gt_array_for_each (&threads->items, thread) {
			/* Those that were gone before the window have no place in it. */
			if (!thread->has_records ||
			    (find_end_ns(thread) != 0 && find_end_ns(thread) < window_start_ns))
				continue;
			thread->is_in_window = true;
			if (thread->exit_ns != 0)
				copy_comm(thread->comm, thread->exit_comm);
			r = put_thread(thread, file);
			if (r < 0)
				return r;
		}
		r = gt_agent_file_put_window(file, window_start_ns);
	}
	gt_array_for_each (&threads->items, thread) {
		if (r < 0)
			return r;
		if (file->has_window ? thread->is_in_window : thread->is_told && !thread->has_ended)
			r = put_end(thread, file);
	}
	return r;
}
