/* SPDX-License-Identifier: MIT */
/*
 * The functions that stand in front of those of libc: each calls the real one, and before it notes
 * a moment of the GIL if the call comes from one of its sites.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probes/agent/note.h"

#define EXPORT __attribute__((visibility("default")))

/* Those that get their names below, with versions. */
int gt_agent_signal(pthread_cond_t *cond);
int gt_agent_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until);
int gt_agent_old_signal(pthread_cond_t *cond);
int gt_agent_old_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			   const struct timespec *until);

/*
 * The symbol versions under which programs ask for these functions: those of each are interposed,
 * and passed on to the same version, as an old pthread_cond_t is another structure.
 */
#if defined(__x86_64__)
#define VERSION_BASE "GLIBC_2.2.5"
#define VERSION_COND "GLIBC_2.3.2"
#else
#define VERSION_BASE "GLIBC_2.17"
#define VERSION_COND "GLIBC_2.17"
#endif

/*
 * Before glibc 2.34 the first two are in a library of its own, which a program may lack: then
 * libc's own door to it is used, which is not there any more since.
 */
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlvsym
extern void *__libc_dlopen_mode(const char *, int) __attribute__((weak));
extern void *__libc_dlsym(void *, const char *) __attribute__((weak));
extern int __pthread_mutex_lock(pthread_mutex_t *) __attribute__((weak));
extern int __pthread_mutex_unlock(pthread_mutex_t *) __attribute__((weak));

/*
 * What comes behind this library: of another one that was preloaded, or of libc. Without a version
 * glibc before 2.36 may give the oldest.
 */
static void find(void *pointer, const char *name, const char *version)
{
	void *(*look_up)(void *, const char *) = dlsym;
	void *(*look_up_version)(void *, const char *, const char *) = dlvsym;
	void *library, *real;

	if (!look_up && __libc_dlopen_mode && __libc_dlsym) {
		library = __libc_dlopen_mode("libdl.so.2", (int)(RTLD_NOW | 0x80000000u));
		look_up = library ? (void *(*)(void *, const char *))__libc_dlsym(library, "dlsym")
				  : NULL;
		look_up_version = library ? (void *(*)(void *, const char *,
						       const char *))__libc_dlsym(library, "dlvsym")
					  : NULL;
	}
	real = look_up ? look_up(RTLD_NEXT, name) : NULL;
	if (real && look_up_version && real == look_up_version(RTLD_NEXT, name, VERSION_BASE))
		real = look_up_version(RTLD_NEXT, name, version);
	if (real)
		memcpy(pointer, &real, sizeof(real));
}

/*
 * The real functions. All are found before the program starts, but constructors of other libraries
 * may come first; and the search itself may allocate, and the allocator lock.
 */
static int early_lock(pthread_mutex_t *mutex)
{
	return __pthread_mutex_lock ? __pthread_mutex_lock(mutex) : 0;
}

static int early_unlock(pthread_mutex_t *mutex)
{
	return __pthread_mutex_unlock ? __pthread_mutex_unlock(mutex) : 0;
}

static int early_signal(pthread_cond_t *cond);
static int early_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			   const struct timespec *until);

struct gt_agent_hot gt_agent_hot = {
	.lock = early_lock,
	.unlock = early_unlock,
	.signal = early_signal,
	.timedwait = early_timedwait,
	.clock_gettime = clock_gettime,
};

static void (*real_exit)(int);

static void find_clock(void)
{
	void *vdso = dlopen && dlsym ? dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD) : NULL;
	void *function = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;

	if (function)
		memcpy(&gt_agent_hot.clock_gettime, &function, sizeof(function));
}

void gt_agent_find_functions(void)
{
	find(&gt_agent_hot.lock, "pthread_mutex_lock", VERSION_BASE);
	find(&gt_agent_hot.unlock, "pthread_mutex_unlock", VERSION_BASE);
	find(&gt_agent_hot.signal, "pthread_cond_signal", VERSION_COND);
	find(&gt_agent_hot.timedwait, "pthread_cond_timedwait", VERSION_COND);
	find(&real_exit, "_exit", VERSION_BASE);
	find_clock();
}

static int early_signal(pthread_cond_t *cond)
{
	gt_agent_find_functions();
	return gt_agent_hot.signal == early_signal ? 0 : gt_agent_hot.signal(cond);
}

static int early_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			   const struct timespec *until)
{
	gt_agent_find_functions();
	return gt_agent_hot.timedwait == early_timedwait
		       ? 0
		       : gt_agent_hot.timedwait(cond, mutex, until);
}

/* Of glibc 2.32 and later: not 0 while there is no other thread. */
extern char __libc_single_threaded __attribute__((weak));

/*
 * One thread alone has nobody to wait for, and nobody asks it to let go: its locks and unlocks are
 * of no interest.
 */
static inline bool is_alone(void)
{
	return &__libc_single_threaded && __libc_single_threaded;
}

/*
 * The word is glibc's, and part of its binary interface, as static initializers set it. Who is
 * faster between this look and the lock is waited for unseen: for as long as a few instructions
 * take.
 */
static inline bool is_locked(const pthread_mutex_t *mutex)
{
	return __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) != 0;
}

/* Whether take_gil returns to where a drop on request is followed by it. */
static inline bool is_retake(uint64_t caller)
{
	for (uint32_t i = 0; i < gt_agent.retake_count; i++)
		if (gt_agent.retakes[i] == caller)
			return true;
	return false;
}

/* take_gil has to wait, or follows a drop on request. */
static __attribute__((noinline)) int lock_slowly(pthread_mutex_t *mutex)
{
	gt_agent_self.took = true;
	gt_agent_note(GT_AGENT_TAKE, gt_agent_self.caller);
	return gt_agent_hot.lock(mutex);
}

/*
 * The GIL is wanted. If its mutex is free, and the GIL too (no timed wait follows), it is had at
 * once, and that is not worth a look at the clock.
 *
 * What the stack pointer was at the call is this frame's canonical address; the frame pointer was
 * saved as its first word, as the compiler is asked for it here.
 */
EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	const struct gt_agent_call *call = gt_agent_find_call(__builtin_return_address(0));
	struct gt_agent_thread *self = &gt_agent_self;
	const char *base;

	if (likely(!call) || is_alone())
		return gt_agent_hot.lock(mutex);
	base = call->by_frame_pointer ? *(const char **)__builtin_frame_address(0)
				      : (const char *)__builtin_dwarf_cfa();
	self->caller = *(const uint64_t *)(base + call->caller_offset);
	self->took = false;
	if (unlikely(is_locked(mutex) || is_retake(self->caller)))
		return lock_slowly(mutex);
	return gt_agent_hot.lock(mutex);
}

static __attribute__((noinline)) int unlock_switched(pthread_mutex_t *mutex)
{
	gt_agent_note(GT_AGENT_SWITCHED, (uint64_t)mutex);
	return gt_agent_hot.unlock(mutex);
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	if (likely(!gt_agent_find_call(__builtin_return_address(0))))
		return gt_agent_hot.unlock(mutex);
	return unlock_switched(mutex);
}

static __attribute__((noinline)) int signal_slowly(pthread_cond_t *cond, enum gt_agent_kind kind)
{
	gt_agent_note(kind, (uint64_t)cond);
	return gt_agent_hot.signal(cond);
}

/*
 * The two moments of every hand-over. Whatever calls another function is called behind everything
 * else, so that the rest needs no frame: that is a third of what it costs.
 */
static inline __attribute__((always_inline)) int signal_gil(pthread_cond_t *cond,
							    enum gt_agent_kind kind)
{
	struct gt_agent_record *record;

	if (unlikely(gt_agent_hot.clock != GT_AGENT_CLOCK_TSC))
		return signal_slowly(cond, kind);
	record = gt_agent_next(&gt_agent_self);
	if (unlikely(!record))
		return signal_slowly(cond, kind);
	gt_agent_write(record, kind, gt_agent_order(kind, gt_agent_counter()), (uint64_t)cond);
	return gt_agent_hot.signal(cond);
}

EXPORT int gt_agent_signal(pthread_cond_t *cond)
{
	const struct gt_agent_call *call = gt_agent_find_call(__builtin_return_address(0));

	if (!call)
		return gt_agent_hot.signal(cond);
	return call->kind == GT_GIL_CALL_RELEASE ? signal_gil(cond, GT_AGENT_RELEASE)
						 : signal_gil(cond, GT_AGENT_ACQUIRED);
}

static __attribute__((noinline)) int wait_for_gil(pthread_cond_t *cond, pthread_mutex_t *mutex,
						  const struct timespec *until)
{
	if (!gt_agent_self.took) {
		gt_agent_self.took = true;
		gt_agent_note(GT_AGENT_TAKE, gt_agent_self.caller);
	}
	return gt_agent_hot.timedwait(cond, mutex, until);
}

EXPORT int gt_agent_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			      const struct timespec *until)
{
	if (likely(!gt_agent_find_call(__builtin_return_address(0))))
		return gt_agent_hot.timedwait(cond, mutex, until);
	return wait_for_gil(cond, mutex, until);
}

/* os._exit(), and so each child of multiprocessing, ends here. */
EXPORT void _exit(int status)
{
	gt_agent_end_program();
	if (real_exit)
		real_exit(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

#if defined(__x86_64__)
/*
 * LinuxThreads' conditions, of programs older than any Python that has a GIL to be seen. They are
 * looked up at each call.
 */
EXPORT int gt_agent_old_signal(pthread_cond_t *cond)
{
	int (*real)(pthread_cond_t *) =
		(int (*)(pthread_cond_t *))dlvsym(RTLD_NEXT, "pthread_cond_signal", VERSION_BASE);

	return real ? real(cond) : 0;
}

EXPORT int gt_agent_old_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  const struct timespec *until)
{
	int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *) =
		(int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))dlvsym(
			RTLD_NEXT, "pthread_cond_timedwait", VERSION_BASE);

	return real ? real(cond, mutex, until) : 0;
}

__asm__(".symver gt_agent_old_signal, pthread_cond_signal@" VERSION_BASE);
__asm__(".symver gt_agent_old_timedwait, pthread_cond_timedwait@" VERSION_BASE);
#endif
__asm__(".symver gt_agent_signal, pthread_cond_signal@@" VERSION_COND);
__asm__(".symver gt_agent_timedwait, pthread_cond_timedwait@@" VERSION_COND);
