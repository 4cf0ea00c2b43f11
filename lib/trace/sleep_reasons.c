/* SPDX-License-Identifier: MIT */
#include "trace/sleep_reasons.h"

#include <asm/perf_regs.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "base/strings.h"

struct rule {
	const char *name; /* up to a '*', which stands for anything at the end */
	enum gt_sleep_reason reason;
	/* Of a wait for any of some files: which argument says of how many, from 1 on. */
	unsigned count_argument;
};

/*
 * System calls: as the kernel's functions are called behind __x64_sys_, ksys_ and the like, and as
 * the C library's are.
 */
static const struct rule calls[] = {
	{"read", GT_SLEEP_READ, 0},
	{"pread*", GT_SLEEP_READ, 0},
	{"readv", GT_SLEEP_READ, 0},
	{"write", GT_SLEEP_WRITE, 0},
	{"pwrite*", GT_SLEEP_WRITE, 0},
	{"writev", GT_SLEEP_WRITE, 0},
	{"sendfile*", GT_SLEEP_WRITE, 0},
	{"copy_file_range", GT_SLEEP_WRITE, 0},
	{"splice", GT_SLEEP_WRITE, 0},
	{"recv", GT_SLEEP_RECV, 0},
	{"recvfrom", GT_SLEEP_RECV, 0},
	{"recvmsg", GT_SLEEP_RECV, 0},
	{"recvmmsg*", GT_SLEEP_RECV, 0},
	{"mq_timedreceive*", GT_SLEEP_RECV, 0},
	{"msgrcv", GT_SLEEP_RECV, 0},
	{"send", GT_SLEEP_SEND, 0},
	{"sendto", GT_SLEEP_SEND, 0},
	{"sendmsg", GT_SLEEP_SEND, 0},
	{"sendmmsg", GT_SLEEP_SEND, 0},
	{"mq_timedsend*", GT_SLEEP_SEND, 0},
	{"msgsnd", GT_SLEEP_SEND, 0},
	{"accept", GT_SLEEP_ACCEPT, 0},
	{"accept4", GT_SLEEP_ACCEPT, 0},
	{"connect", GT_SLEEP_CONNECT, 0},
	{"open", GT_SLEEP_OPEN, 0},
	{"open64", GT_SLEEP_OPEN, 0},
	{"openat*", GT_SLEEP_OPEN, 0},
	{"creat*", GT_SLEEP_OPEN, 0},
	/* time.sleep() was a select() of no file up to 3.10. */
	{"select", GT_SLEEP_POLL, 1},
	{"pselect*", GT_SLEEP_POLL, 1},
	{"poll", GT_SLEEP_POLL, 2},
	{"ppoll*", GT_SLEEP_POLL, 2},
	{"epoll_wait*", GT_SLEEP_POLL, 0},
	{"epoll_pwait*", GT_SLEEP_POLL, 0},
	{"io_uring_enter", GT_SLEEP_POLL, 0},
	{"io_getevents*", GT_SLEEP_POLL, 0},
	{"io_pgetevents*", GT_SLEEP_POLL, 0},
	{"nanosleep*", GT_SLEEP_SLEEP, 0},
	{"clock_nanosleep*", GT_SLEEP_SLEEP, 0},
	{"wait", GT_SLEEP_WAIT, 0},
	{"wait3", GT_SLEEP_WAIT, 0},
	{"wait4*", GT_SLEEP_WAIT, 0},
	{"waitid", GT_SLEEP_WAIT, 0},
	{"waitpid", GT_SLEEP_WAIT, 0},
	/* The child has its parent's memory until it executes another program. */
	{"vfork", GT_SLEEP_WAIT, 0},
	{"clone", GT_SLEEP_WAIT, 0},
	{"clone3", GT_SLEEP_WAIT, 0},
	{"rt_sigtimedwait*", GT_SLEEP_SIGNAL, 0},
	{"rt_sigsuspend", GT_SLEEP_SIGNAL, 0},
	{"sigtimedwait", GT_SLEEP_SIGNAL, 0},
	{"sigsuspend", GT_SLEEP_SIGNAL, 0},
	{"sigwait*", GT_SLEEP_SIGNAL, 0},
	{"pause", GT_SLEEP_SIGNAL, 0},
	{"flock", GT_SLEEP_LOCK, 0},
	{"fcntl*", GT_SLEEP_LOCK, 0},
	{"semop", GT_SLEEP_LOCK, 0},
	{"semtimedop*", GT_SLEEP_LOCK, 0},
	{"fsync", GT_SLEEP_DISK, 0},
	{"fdatasync", GT_SLEEP_DISK, 0},
	{"sync", GT_SLEEP_DISK, 0},
	{"syncfs", GT_SLEEP_DISK, 0},
	{"sync_file_range*", GT_SLEEP_DISK, 0},
	{"msync", GT_SLEEP_DISK, 0},
	{"mmap*", GT_SLEEP_MEMORY, 0},
	{"munmap", GT_SLEEP_MEMORY, 0},
	{"mremap", GT_SLEEP_MEMORY, 0},
	{"mprotect", GT_SLEEP_MEMORY, 0},
	{"madvise", GT_SLEEP_MEMORY, 0},
	{"brk", GT_SLEEP_MEMORY, 0},
	{"futex*", GT_SLEEP_FUTEX, 0},
};

/* Other functions of the kernel, which say more than the system call, or are all that is there. */
static const struct rule kernel_functions[] = {
	{"io_schedule*", GT_SLEEP_DISK, 0},
	{"bit_wait_io*", GT_SLEEP_DISK, 0},
	{"folio_wait_*", GT_SLEEP_DISK, 0},
	{"wait_on_page_*", GT_SLEEP_DISK, 0},
	{"wait_for_completion_io*", GT_SLEEP_DISK, 0},
	{"submit_bio_wait", GT_SLEEP_DISK, 0},
	{"balance_dirty_pages*", GT_SLEEP_DISK, 0},
	{"jbd2_log_wait_commit", GT_SLEEP_DISK, 0},
	{"do_fsync", GT_SLEEP_DISK, 0},
	{"__mmap_lock_*", GT_SLEEP_MEMORY, 0},
	{"mmap_lock_*", GT_SLEEP_MEMORY, 0},
	{"lock_mm_and_find_vma", GT_SLEEP_MEMORY, 0},
	{"vm_mmap_pgoff", GT_SLEEP_MEMORY, 0},
	{"__vm_munmap", GT_SLEEP_MEMORY, 0},
	{"dup_mmap", GT_SLEEP_MEMORY, 0},
	/* Which probe it has hit, is looked up in the address space. */
	{"find_active_uprobe*", GT_SLEEP_MEMORY, 0},
	/* A new thread is being made: not what clone() waits for behind that. */
	{"copy_process", GT_SLEEP_UNEXPLAINED, 0},
	{"do_user_addr_fault", GT_SLEEP_MEMORY, 0},
	{"exc_page_fault", GT_SLEEP_MEMORY, 0},
	{"asm_exc_page_fault", GT_SLEEP_MEMORY, 0},
	{"do_page_fault", GT_SLEEP_MEMORY, 0},
	{"do_futex", GT_SLEEP_FUTEX, 0},
	{"futex_*", GT_SLEEP_FUTEX, 0},
	{"__futex_*", GT_SLEEP_FUTEX, 0},
	{"do_select", GT_SLEEP_POLL, 1},
	{"core_sys_select", GT_SLEEP_POLL, 1},
	{"do_pselect", GT_SLEEP_POLL, 1},
	{"do_sys_poll", GT_SLEEP_POLL, 2},
	{"do_epoll_wait", GT_SLEEP_POLL, 0},
	{"ep_poll", GT_SLEEP_POLL, 0},
	{"do_nanosleep", GT_SLEEP_SLEEP, 0},
	{"hrtimer_nanosleep", GT_SLEEP_SLEEP, 0},
	{"do_wait", GT_SLEEP_WAIT, 0},
	{"kernel_wait*", GT_SLEEP_WAIT, 0},
	{"wait_for_vfork_done", GT_SLEEP_WAIT, 0},
	{"do_sigtimedwait", GT_SLEEP_SIGNAL, 0},
	/* By a signal, until there is another one; by a debugger. */
	{"do_signal_stop", GT_SLEEP_SIGNAL, 0},
	{"ptrace_stop*", GT_SLEEP_UNEXPLAINED, 0},
	{"fcntl_setlk", GT_SLEEP_LOCK, 0},
	{"locks_lock_inode_wait", GT_SLEEP_LOCK, 0},
};

/* Where a thread that waits for another one waits for a lock. */
static const struct rule lock_functions[] = {
	{"PyThread_acquire_lock*", GT_SLEEP_LOCK, 0},
	{"PyMutex_Lock*", GT_SLEEP_LOCK, 0},
	{"PyRWMutex_*", GT_SLEEP_LOCK, 0},
	{"PyRecursiveMutex_Lock*", GT_SLEEP_LOCK, 0},
	{"PyEvent_Wait*", GT_SLEEP_LOCK, 0},
	{"PyParkingLot_Park*", GT_SLEEP_LOCK, 0},
	{"PySemaphore_Wait*", GT_SLEEP_LOCK, 0},
	/* Its semaphores, where the C library's function has jumped to another without a name. */
	{"multiprocessing*", GT_SLEEP_LOCK, 0},
	{"sem_wait*", GT_SLEEP_LOCK, 0},
	{"sem_timedwait*", GT_SLEEP_LOCK, 0},
	{"sem_clockwait*", GT_SLEEP_LOCK, 0},
	{"pthread_mutex_*", GT_SLEEP_LOCK, 0},
	{"pthread_cond_*", GT_SLEEP_LOCK, 0},
	{"pthread_rwlock_*", GT_SLEEP_LOCK, 0},
	{"pthread_barrier_wait", GT_SLEEP_LOCK, 0},
	/* Thread.join(), which waits for a lock first, and then for the last steps of the thread:
	 * from 3.13 on, in a stripped Python only the flag around it has a name. */
	{"pthread_join", GT_SLEEP_LOCK, 0},
	{"pthread_timedjoin*", GT_SLEEP_LOCK, 0},
	{"pthread_clockjoin*", GT_SLEEP_LOCK, 0},
	{"PyOnceFlag_*", GT_SLEEP_LOCK, 0},
	{"lll_lock_wait*", GT_SLEEP_LOCK, 0},
	{"mtx_lock", GT_SLEEP_LOCK, 0},
	{"mtx_timedlock", GT_SLEEP_LOCK, 0},
	{"cnd_wait", GT_SLEEP_LOCK, 0},
	{"cnd_timedwait", GT_SLEEP_LOCK, 0},
};

/* What the kernel puts before the name of a system call; longer ones first. */
static const char *const call_prefixes[] = {
	"__x64_sys_", "__ia32_sys_", "__arm64_sys_", "__se_sys_", "__do_sys_",
	"___sys_",    "__sys_",	     "ksys_",	     "SyS_",	  "sys_"};

/* The C library has its functions under several names; that of a wrapper is among its first frames.
 */
#define MAX_WRAPPERS 4

const char *gt_sleep_reason_name(enum gt_sleep_reason reason)
{
	static const char *const names[GT_SLEEP_REASONS] = {
		[GT_SLEEP_GIL] = "GIL",	      [GT_SLEEP_LOCK] = "lock",
		[GT_SLEEP_SLEEP] = "sleep",   [GT_SLEEP_POLL] = "poll",
		[GT_SLEEP_READ] = "read",     [GT_SLEEP_WRITE] = "write",
		[GT_SLEEP_RECV] = "recv",     [GT_SLEEP_SEND] = "send",
		[GT_SLEEP_ACCEPT] = "accept", [GT_SLEEP_CONNECT] = "connect",
		[GT_SLEEP_OPEN] = "open",     [GT_SLEEP_WAIT] = "wait",
		[GT_SLEEP_SIGNAL] = "signal", [GT_SLEEP_FUTEX] = "futex",
		[GT_SLEEP_DISK] = "disk",     [GT_SLEEP_MEMORY] = "memory",
	};

	return reason < GT_SLEEP_REASONS ? names[reason] : NULL;
}

/*
 * Behind a name there may be what compilers (".isra.0"), linkers ("@GLIBC_2.2.5") and the C library
 * put there.
 */
static bool matches(const char *pattern, const char *name)
{
	const char *rest;
	size_t length;

	/* Of a hundred patterns, this leaves few. */
	if (pattern[0] != name[0])
		return false;
	length = strcspn(pattern, "*");
	rest = name + length;
	if (strncmp(pattern, name, length) != 0)
		return false;
	return pattern[length] == '*' || rest[0] == '\0' || rest[0] == '.' || rest[0] == '@' ||
	       strcmp(rest, "_nocancel") == 0;
}

static const struct rule *find_rule(const struct rule *rules, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (matches(rules[i].name, name))
			return &rules[i];
	return NULL;
}

static const struct rule *find_kernel_rule(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(call_prefixes); i++)
		if (gt_string_starts_with(name, call_prefixes[i]))
			return find_rule(calls, ARRAY_SIZE(calls), name + strlen(call_prefixes[i]));
	return find_rule(kernel_functions, ARRAY_SIZE(kernel_functions), name);
}

static bool strip(const char **name, const char *prefix)
{
	if (!gt_string_starts_with(*name, prefix))
		return false;
	*name += strlen(prefix);
	return true;
}

/* "__GI___poll" → "poll", "__libc_recv" → "recv", "_PyMutex_LockTimed" → "PyMutex_LockTimed". */
static const char *plain_name(const char *name)
{
	while (strip(&name, "_") || strip(&name, "GI_") || strip(&name, "libc_") ||
	       strip(&name, "new_"))
		;
	return name;
}

/* What the innermost of the functions says that are known, of the kernel's. NULL: nothing. */
static const struct rule *read_kernel(const struct gt_stacks *stacks, uint32_t *stack)
{
	const struct rule *rule = NULL;

	for (; *stack != GT_STACK_NONE; *stack = stacks->stacks.items[*stack].parent) {
		const struct gt_frame *frame = gt_stacks_top(stacks, *stack);

		if (frame->kind == GT_FRAME_USER)
			break;
		if (!rule && frame->kind == GT_FRAME_KERNEL)
			rule = find_kernel_rule(frame->name);
	}
	return rule;
}

/* The same of the program's, where the kernel's names are not known. */
static const struct rule *read_wrappers(const struct gt_stacks *stacks, uint32_t stack)
{
	for (uint32_t i = 0; i < MAX_WRAPPERS && stack != GT_STACK_NONE; i++) {
		const struct gt_frame *frame = gt_stacks_top(stacks, stack);
		const char *name = plain_name(frame->name);
		const struct rule *rule = find_rule(calls, ARRAY_SIZE(calls), name);

		/* Whoever was called by it is the new thread, which waits for something else. */
		if (i > 0 && gt_string_starts_with(name, "clone"))
			return NULL;
		if (rule && frame->kind == GT_FRAME_USER)
			return rule;
		stack = stacks->stacks.items[stack].parent;
	}
	return NULL;
}

/*
 * By their names. take_gil calls nothing but what waits for the GIL, and drop_gil waits for a
 * condition only after a requested drop; which of its locks it waits for, a name does not tell.
 */
static bool waits_for_gil(const struct gt_frame *frame, bool in_cond_wait)
{
	return frame->waits_for_gil || gt_string_starts_with(frame->name, "take_gil") ||
	       (in_cond_wait && gt_string_starts_with(frame->name, "drop_gil"));
}

/* Which other thread's doing is waited for. */
static enum gt_sleep_reason read_locks(const struct gt_stacks *stacks, uint32_t stack)
{
	enum gt_sleep_reason reason = GT_SLEEP_UNEXPLAINED;
	bool in_cond_wait = false;

	for (; stack != GT_STACK_NONE; stack = stacks->stacks.items[stack].parent) {
		const struct gt_frame *frame = gt_stacks_top(stacks, stack);
		const char *name = plain_name(frame->name);

		if (frame->kind != GT_FRAME_USER)
			continue;
		if (waits_for_gil(frame, in_cond_wait))
			return GT_SLEEP_GIL;
		in_cond_wait = matches("pthread_cond_wait*", name);
		if (reason == GT_SLEEP_UNEXPLAINED &&
		    find_rule(lock_functions, ARRAY_SIZE(lock_functions), name))
			reason = GT_SLEEP_LOCK;
	}
	return reason;
}

/* False when the argument NUMBER of the system call is 0, as far as is known. */
static bool has_argument(const struct gt_stack_sample *sample, unsigned number)
{
#if defined(__x86_64__)
	static const unsigned registers[] = {PERF_REG_X86_DI, PERF_REG_X86_SI};
#elif defined(__aarch64__)
	static const unsigned registers[] = {PERF_REG_ARM64_X0, PERF_REG_ARM64_X1};
#else
	static const unsigned registers[] = {UINT8_MAX, UINT8_MAX};
#endif
	uint64_t value;

	if (!sample || registers[number - 1] >= 64 ||
	    !gt_stack_sample_register(sample, registers[number - 1], &value))
		return true;
	/* It is an int. */
	return (uint32_t)value != 0;
}

enum gt_sleep_reason gt_sleep_reason_find(const struct gt_stacks *stacks, uint32_t stack,
					  const struct gt_stack_sample *sample)
{
	const struct rule *rule = read_kernel(stacks, &stack);
	enum gt_sleep_reason reason;

	if (!rule || rule->reason == GT_SLEEP_FUTEX) {
		reason = read_locks(stacks, stack);
		if (reason != GT_SLEEP_UNEXPLAINED)
			return reason;
	}
	if (!rule)
		rule = read_wrappers(stacks, stack);
	if (!rule)
		return GT_SLEEP_UNEXPLAINED;
	if (rule->count_argument && !has_argument(sample, rule->count_argument))
		return GT_SLEEP_SLEEP;
	return rule->reason;
}
