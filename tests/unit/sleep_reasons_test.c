/* SPDX-License-Identifier: MIT */
/* What stacks say a thread waits for. They are as perf has shown them, of kernels 4.19 to 6.18. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <asm/perf_regs.h>

#include "base/macros.h"
#include "stack_text.h"
#include "trace/sleep_reasons.h"
#include "trace/trace.h"

struct stack_case {
	const char *functions; /* see stack_text.h */
	enum gt_sleep_reason reason;
};

static void check(const struct stack_case *cases, size_t count,
		  const struct gt_stack_sample *sample)
{
	_cleanup_(gt_stacks_freep) struct gt_stacks *stacks = gt_stacks_new();

	assert_non_null(stacks);
	for (size_t i = 0; i < count; i++) {
		uint32_t stack = stack_text_make(stacks, cases[i].functions);
		enum gt_sleep_reason found = gt_sleep_reason_find(stacks, stack, sample);

		if (found != cases[i].reason)
			fail_msg("%s: %s", cases[i].functions, gt_sleep_reason_name(found));
	}
}

#define IN "__schedule schedule "
#define ENTRY " do_syscall_64 entry_SYSCALL_64_after_hwframe | "
#define FUTEX IN "futex_do_wait __futex_wait futex_wait do_futex __x64_sys_futex" ENTRY

static void test_system_calls(void **state)
{
	static const struct stack_case cases[] = {
		{IN "anon_pipe_read vfs_read ksys_read" ENTRY "read _Py_read os_read",
		 GT_SLEEP_READ},
		{IN "pipe_read new_sync_read vfs_read ksys_read __arm64_sys_read | read",
		 GT_SLEEP_READ},
		{IN "anon_pipe_write vfs_write ksys_write" ENTRY "write", GT_SLEEP_WRITE},
		{IN "schedule_timeout unix_stream_read_generic sock_recvmsg __sys_recvfrom "
		    "__x64_sys_recvfrom" ENTRY "__libc_recv",
		 GT_SLEEP_RECV},
		{IN "sock_sendmsg ____sys_sendmsg ___sys_sendmsg __sys_sendmsg" ENTRY "x",
		 GT_SLEEP_SEND},
		{IN "schedule_timeout inet_csk_accept inet_accept do_accept __sys_accept4" ENTRY
		    "accept4",
		 GT_SLEEP_ACCEPT},
		{IN "inet_stream_connect __sys_connect __x64_sys_connect" ENTRY "x",
		 GT_SLEEP_CONNECT},
		{IN "wait_for_partner fifo_open do_dentry_open vfs_open path_openat do_filp_open "
		    "do_sys_openat2 __x64_sys_openat" ENTRY "open os_open",
		 GT_SLEEP_OPEN},
		{IN "poll_schedule_timeout.constprop.0 do_select core_sys_select "
		    "do_pselect.constprop.0 __x64_sys_pselect6" ENTRY "__select",
		 GT_SLEEP_POLL},
		{IN "poll_schedule_timeout.constprop.0 do_sys_poll __x64_sys_poll" ENTRY "__poll",
		 GT_SLEEP_POLL},
		{IN "schedule_hrtimeout_range_clock do_epoll_wait __x64_sys_epoll_wait" ENTRY "x",
		 GT_SLEEP_POLL},
		{IN "io_cqring_wait __do_sys_io_uring_enter" ENTRY "syscall", GT_SLEEP_POLL},
		{IN "read_events do_io_getevents __x64_sys_io_getevents" ENTRY "x", GT_SLEEP_POLL},
		{IN "do_nanosleep hrtimer_nanosleep common_nsleep_timens "
		    "__x64_sys_clock_nanosleep" ENTRY "clock_nanosleep@GLIBC_2.2.5 time_sleep",
		 GT_SLEEP_SLEEP},
		{IN "do_wait kernel_wait4" ENTRY "__GI___wait4 os_waitpid", GT_SLEEP_WAIT},
		{IN "schedule_timeout __wait_for_common wait_for_completion_state kernel_clone "
		    "__x64_sys_vfork" ENTRY "__vfork",
		 GT_SLEEP_WAIT},
		{IN "__mutex_lock copy_process kernel_clone __x64_sys_clone" ENTRY "clone",
		 GT_SLEEP_UNEXPLAINED},
		{IN "do_sigtimedwait.isra.0 __x64_sys_rt_sigtimedwait" ENTRY "__sigtimedwait",
		 GT_SLEEP_SIGNAL},
		{IN "__x64_sys_pause" ENTRY "pause", GT_SLEEP_SIGNAL},
		{IN "do_signal_stop get_signal arch_do_signal_or_restart exit_to_user_mode_loop "
		    "__x64_sys_read" ENTRY "read",
		 GT_SLEEP_SIGNAL},
		{IN "ptrace_stop ptrace_signal get_signal __x64_sys_read" ENTRY "read",
		 GT_SLEEP_UNEXPLAINED},
		{IN "flock_lock_inode_wait locks_lock_inode_wait __x64_sys_flock" ENTRY "flock",
		 GT_SLEEP_LOCK},
		{IN "fcntl_setlk do_fcntl __x64_sys_fcntl" ENTRY "fcntl", GT_SLEEP_LOCK},
		{IN "do_exit __x64_sys_exit" ENTRY "start_thread", GT_SLEEP_UNEXPLAINED},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases), NULL);
}

/* They come from whatever system call, and what is read or written is not what is waited for. */
static void test_disk_and_memory(void **state)
{
	static const struct stack_case cases[] = {
		{IN "io_schedule folio_wait_bit_common filemap_get_pages filemap_read vfs_read "
		    "ksys_read" ENTRY "read",
		 GT_SLEEP_DISK},
		{IN "schedule_timeout io_schedule_timeout wait_for_completion_io_timeout "
		    "submit_bio_wait blkdev_issue_flush ext4_sync_file do_fsync" ENTRY "fsync",
		 GT_SLEEP_DISK},
		{IN "jbd2_log_wait_commit ext4_sync_file do_fsync __x64_sys_fdatasync" ENTRY "x",
		 GT_SLEEP_DISK},
		{IN "schedule_timeout balance_dirty_pages balance_dirty_pages_ratelimited "
		    "generic_perform_write vfs_write ksys_write" ENTRY "write",
		 GT_SLEEP_DISK},
		{IN "io_schedule folio_wait_bit_common filemap_fault exc_page_fault "
		    "asm_exc_page_fault | take_gil",
		 GT_SLEEP_DISK},
		{IN "schedule_preempt_disabled rwsem_down_read_slowpath down_read "
		    "do_user_addr_fault exc_page_fault asm_exc_page_fault | memset",
		 GT_SLEEP_MEMORY},
		{IN "schedule_preempt_disabled rwsem_down_write_slowpath down_write_killable "
		    "__vm_munmap __x64_sys_munmap" ENTRY "__munmap",
		 GT_SLEEP_MEMORY},
		{IN "schedule_preempt_disabled rwsem_down_read_slowpath down_read "
		    "find_active_uprobe_rcu uprobe_notify_resume irqentry_exit_to_user_mode "
		    "asm_exc_int3 | take_gil PyEval_RestoreThread",
		 GT_SLEEP_MEMORY},
		{IN "io_schedule folio_wait_bit_common do_filp_open __x64_sys_openat" ENTRY "open",
		 GT_SLEEP_DISK},
		{IN "rwsem_down_write_slowpath vm_mmap_pgoff ksys_mmap_pgoff" ENTRY "x",
		 GT_SLEEP_MEMORY},
		/* The lock of a file. */
		{IN "rwsem_down_write_slowpath ext4_buffered_write_iter vfs_write ksys_write" ENTRY
		    "write",
		 GT_SLEEP_WRITE},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases), NULL);
}

static void test_other_threads(void **state)
{
	static const struct stack_case cases[] = {
		{FUTEX "__futex_abstimed_wait_common pthread_cond_timedwait@@GLIBC_2.3.2 take_gil "
		       "_PyThreadState_Attach",
		 GT_SLEEP_GIL},
		{FUTEX "__GI___lll_lock_wait __pthread_mutex_cond_lock pthread_cond_timedwait "
		       "take_gil.constprop.0 PyEval_RestoreThread",
		 GT_SLEEP_GIL},
		/* Stripped; and where drop_gil was put into the eval loop. */
		{FUTEX "pthread_cond_timedwait !python3.11+0x123 PyEval_RestoreThread",
		 GT_SLEEP_GIL},
		{FUTEX "pthread_cond_wait !_PyEval_EvalFrameDefault PyEval_EvalCode", GT_SLEEP_GIL},
		/* Of drop_gil's two locks one is the switch's; its condition always is. */
		{FUTEX "pthread_mutex_lock drop_gil PyEval_SaveThread", GT_SLEEP_LOCK},
		{FUTEX "__pthread_mutex_cond_lock pthread_cond_wait@@GLIBC_2.3.2 "
		       "drop_gil.constprop.0 f",
		 GT_SLEEP_GIL},
		{FUTEX "pthread_cond_wait f drop_gil", GT_SLEEP_LOCK},
		{FUTEX "__futex_abstimed_wait_common __new_sem_wait_slow64.constprop.0 "
		       "PyThread_acquire_lock_timed lock_PyThread_acquire_lock",
		 GT_SLEEP_LOCK},
		{FUTEX "libc.so.6+0x1 libc.so.6+0x2 PyThread_acquire_lock_timed python3.11+0x3",
		 GT_SLEEP_LOCK},
		{FUTEX "sem_clockwait _PySemaphore_Wait _PyParkingLot_Park _PyMutex_LockTimed",
		 GT_SLEEP_LOCK},
		{FUTEX "python3.14+0x1 _PyMutex_LockTimed", GT_SLEEP_LOCK},
		{FUTEX "libc.so.6+0x1 _multiprocessing.cpython-314-x86_64-linux-gnu.so+0x2 f",
		 GT_SLEEP_LOCK},
		{FUTEX "libc.so.6+0x1 _multiprocessing_SemLock_acquire_impl f", GT_SLEEP_LOCK},
		{FUTEX "pthread_rwlock_rdlock f", GT_SLEEP_LOCK},
		{FUTEX "__pthread_clockjoin_ex PyThread_join_thread", GT_SLEEP_LOCK},
		{FUTEX "libc.so.6+0x1 libc.so.6+0x2 python3.15+0x3 _PyOnceFlag_CallOnceSlow f",
		 GT_SLEEP_LOCK},
		{FUTEX "___pthread_mutex_lock std::mutex::lock f", GT_SLEEP_LOCK},
		{FUTEX "std::sys::futex_wait std::thread::park f", GT_SLEEP_FUTEX},
		{IN "futex_wait_queue_me futex_wait do_futex __x64_sys_futex" ENTRY "syscall f",
		 GT_SLEEP_FUTEX},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases), NULL);
}

/* Where a plain user records, or the kernel's names are hidden. */
static void test_without_the_kernel(void **state)
{
	static const struct stack_case cases[] = {
		{"[kernel] [kernel] | __poll select_poll_poll", GT_SLEEP_POLL},
		{"__GI___read_nocancel _IO_file_read", GT_SLEEP_READ},
		{"__libc_read _Py_read", GT_SLEEP_READ},
		{"__GI___open64_nocancel f", GT_SLEEP_OPEN},
		{"__libc_recv sock_recv", GT_SLEEP_RECV},
		{"clock_nanosleep@@GLIBC_2.17 time_sleep", GT_SLEEP_SLEEP},
		{"__select select_select_impl.constprop.0", GT_SLEEP_POLL},
		{"epoll_wait select_epoll_poll", GT_SLEEP_POLL},
		{"__GI___wait4 os_waitpid", GT_SLEEP_WAIT},
		{"pthread_cond_timedwait !python3.11+0x123", GT_SLEEP_GIL},
		{"__futex_abstimed_wait_common sem_wait PyThread_acquire_lock_timed",
		 GT_SLEEP_LOCK},
		{"syscall f", GT_SLEEP_UNEXPLAINED},
		/* The one that makes a process; and a thread that was made. */
		{"__clone3 __spawnix posix_spawn", GT_SLEEP_WAIT},
		{"libgomp.so.1+0x1 libgomp.so.1+0x2 libc.so.6+0x3 __clone", GT_SLEEP_UNEXPLAINED},
		/* What is that deep in a program is its own. */
		{"a b c d e read", GT_SLEEP_UNEXPLAINED},
		{"", GT_SLEEP_UNEXPLAINED},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases), NULL);
}

#if defined(__x86_64__)
#define FIRST_ARGUMENT PERF_REG_X86_DI
#define SECOND_ARGUMENT PERF_REG_X86_SI
#elif defined(__aarch64__)
#define FIRST_ARGUMENT PERF_REG_ARM64_X0
#define SECOND_ARGUMENT PERF_REG_ARM64_X1
#endif

/* time.sleep() up to 3.10 is a select() of nothing. */
static void test_waits_for_no_file(void **state)
{
	static const struct stack_case selects[] = {
		{IN "do_select core_sys_select" ENTRY "__select time_sleep", GT_SLEEP_SLEEP},
		{"__select time_sleep", GT_SLEEP_SLEEP},
		{IN "do_sys_poll __x64_sys_poll" ENTRY "poll", GT_SLEEP_POLL},
		{IN "do_epoll_wait" ENTRY "epoll_wait", GT_SLEEP_POLL},
	};
	static const struct stack_case polls[] = {
		{IN "do_sys_poll __x64_sys_poll" ENTRY "poll", GT_SLEEP_SLEEP},
		{IN "do_select core_sys_select" ENTRY "__select", GT_SLEEP_POLL},
	};
	uint64_t registers[64] = {0};
	struct gt_stack_sample sample = {
		.registers = registers,
		.register_mask = UINT64_C(1) << FIRST_ARGUMENT | UINT64_C(1) << SECOND_ARGUMENT,
	};
	/* In the order of their numbers. */
	uint32_t first = FIRST_ARGUMENT > SECOND_ARGUMENT;

	(void)state;
	registers[!first] = 7;
	/* An int: the upper half is anything. */
	registers[first] = UINT64_C(5) << 32;
	check(selects, ARRAY_SIZE(selects), &sample);
	registers[first] = 7;
	registers[!first] = 0;
	check(polls, ARRAY_SIZE(polls), &sample);
}

static void test_names(void **state)
{
	static const struct {
		uint8_t kind, reason;
		const char *name;
	} cases[] = {
		{GT_STATE_SLEEPING, GT_SLEEP_GIL, "S(GIL)"},
		{GT_STATE_SLEEPING, GT_SLEEP_CONNECT, "S(connect)"},
		{GT_STATE_SLEEPING, GT_SLEEP_UNEXPLAINED, "S"},
		{GT_STATE_UNINTERRUPTIBLE, GT_SLEEP_DISK, "D(disk)"},
		{GT_STATE_UNINTERRUPTIBLE, GT_SLEEP_UNEXPLAINED, "D"},
		{GT_STATE_RUNNABLE, 0, "R"},
		{GT_STATE_UNKNOWN, 0, "state unknown"},
	};
	struct gt_state_interval running = {.kind = GT_STATE_RUNNING};
	char text[GT_STATE_NAME_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct gt_state_interval interval = {.kind = cases[i].kind,
						     .reason = cases[i].reason};

		assert_string_equal(gt_state_name(&interval, text), cases[i].name);
	}
	assert_null(gt_state_name(&running, text));
	assert_null(gt_sleep_reason_name(GT_SLEEP_UNEXPLAINED));
	for (enum gt_sleep_reason i = GT_SLEEP_UNEXPLAINED + 1; i < GT_SLEEP_REASONS; i++)
		assert_non_null(gt_sleep_reason_name(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_system_calls),	  cmocka_unit_test(test_disk_and_memory),
		cmocka_unit_test(test_other_threads),	  cmocka_unit_test(test_without_the_kernel),
		cmocka_unit_test(test_waits_for_no_file), cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
