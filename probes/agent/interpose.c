/* SPDX-License-Identifier: MIT */
/*
 * The functions that stand in front of those of libc: each calls the real one, and before it notes
 * a moment of the GIL if the call comes from one of its sites.
 */
#include <dlfcn.h>
#include <pthread.h>
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
 * Before glibc 2.34 dlvsym is in a library of its own, which a program may lack: then libc's own
 * door to it is used. It is not there any more since.
 */
#pragma weak dlvsym
extern void *__libc_dlopen_mode(const char *, int) __attribute__((weak));
extern void *__libc_dlsym(void *, const char *) __attribute__((weak));

/* Of glibc 2.32 and later. */
extern char __libc_single_threaded __attribute__((weak));

static void *find_real(const char *name, const char *version)
{
	void *(*look_up)(void *, const char *, const char *) = dlvsym;
	void *library;

	if (!look_up && __libc_dlopen_mode && __libc_dlsym) {
		library = __libc_dlopen_mode("libdl.so.2", (int)(RTLD_NOW | 0x80000000u));
		if (library)
			look_up = (void *(*)(void *, const char *, const char *))__libc_dlsym(
				library, "dlvsym");
	}
	return look_up ? look_up(RTLD_NEXT, name, version) : NULL;
}

/*
 * A pointer to the real function, which at first leads to one that finds it: so calls do not have
 * to ask. Constructors of other libraries may come before ours.
 */
#define REAL(name, function, version, parameters, arguments)                                       \
	static int find_##name parameters;                                                         \
	static int(*real_##name) parameters = find_##name;                                         \
	static int find_##name parameters                                                          \
	{                                                                                          \
		int(*real) parameters = (int(*) parameters)find_real(function, version);           \
                                                                                                   \
		if (!real)                                                                         \
			__builtin_trap();                                                          \
		__atomic_store_n(&real_##name, real, __ATOMIC_RELAXED);                            \
		return real arguments;                                                             \
	}

REAL(lock, "pthread_mutex_lock", VERSION_BASE, (pthread_mutex_t * mutex), (mutex))
REAL(trylock, "pthread_mutex_trylock", VERSION_BASE, (pthread_mutex_t * mutex), (mutex))
REAL(unlock, "pthread_mutex_unlock", VERSION_BASE, (pthread_mutex_t * mutex), (mutex))
REAL(signal, "pthread_cond_signal", VERSION_COND, (pthread_cond_t * cond), (cond))
REAL(timedwait, "pthread_cond_timedwait", VERSION_COND,
     (pthread_cond_t * cond, pthread_mutex_t *mutex, const struct timespec *until),
     (cond, mutex, until))

/* Whether take_gil returns to where a drop on request is followed by it. */
static inline bool is_retake(uint64_t caller)
{
	for (uint32_t i = 0; i < gt_agent.retake_count; i++)
		if (gt_agent.retakes[i] == caller)
			return true;
	return false;
}

static __attribute__((noinline)) void note_take(struct gt_agent_thread *self)
{
	self->took = true;
	gt_agent_note(GT_AGENT_TAKE, self->caller);
}

/*
 * The GIL is wanted. If its mutex is free, and the GIL too (no timed wait follows), it is had at
 * once: that is not worth a look at the clock.
 */
static __attribute__((noinline)) int lock_to_take(pthread_mutex_t *mutex, uint64_t caller)
{
	struct gt_agent_thread *self = &gt_agent_self;

	self->caller = caller;
	self->took = false;
	/* Nobody else can have it; and libc then locks without an atomic instruction. */
	if (&__libc_single_threaded && __libc_single_threaded)
		return real_lock(mutex);
	if (unlikely(is_retake(caller)))
		note_take(self);
	if (likely(real_trylock(mutex) == 0))
		return 0;
	if (!self->took)
		note_take(self);
	return real_lock(mutex);
}

/*
 * What the stack pointer was at the call is this frame's canonical address; the frame pointer was
 * saved as its first word, as the compiler is asked for it here.
 */
EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	const struct gt_agent_call *call = gt_agent_find_call(__builtin_return_address(0));
	const char *base;

	if (likely(!call))
		return real_lock(mutex);
	base = call->by_frame_pointer ? *(const char **)__builtin_frame_address(0)
				      : (const char *)__builtin_dwarf_cfa();
	return lock_to_take(mutex, *(const uint64_t *)(base + call->caller_offset));
}

static __attribute__((noinline)) int unlock_switched(pthread_mutex_t *mutex)
{
	gt_agent_note(GT_AGENT_SWITCHED, (uint64_t)mutex);
	return real_unlock(mutex);
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	if (likely(!gt_agent_find_call(__builtin_return_address(0))))
		return real_unlock(mutex);
	return unlock_switched(mutex);
}

EXPORT int gt_agent_signal(pthread_cond_t *cond)
{
	const struct gt_agent_call *call = gt_agent_find_call(__builtin_return_address(0));

	if (call && call->kind == GT_GIL_CALL_RELEASE)
		gt_agent_note(GT_AGENT_RELEASE, (uint64_t)cond);
	else if (call)
		gt_agent_note(GT_AGENT_ACQUIRED, (uint64_t)cond);
	return real_signal(cond);
}

static __attribute__((noinline)) int wait_for_gil(pthread_cond_t *cond, pthread_mutex_t *mutex,
						  const struct timespec *until)
{
	if (!gt_agent_self.took)
		note_take(&gt_agent_self);
	return real_timedwait(cond, mutex, until);
}

EXPORT int gt_agent_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			      const struct timespec *until)
{
	if (likely(!gt_agent_find_call(__builtin_return_address(0))))
		return real_timedwait(cond, mutex, until);
	return wait_for_gil(cond, mutex, until);
}

/*
 * os._exit(), and so each child of multiprocessing, ends here. A child of vfork that does is not
 * the thread whose memory it uses.
 */
EXPORT void _exit(int status)
{
	if (gt_agent_self.chunk && syscall(SYS_gettid) == gt_agent_self.own_tid)
		gt_agent_end_thread(NULL);
	for (;;)
		syscall(SYS_exit_group, status);
}

#if defined(__x86_64__)
/* LinuxThreads' conditions, of programs older than any Python that has a GIL to be seen. */
REAL(old_signal, "pthread_cond_signal", VERSION_BASE, (pthread_cond_t * cond), (cond))
REAL(old_timedwait, "pthread_cond_timedwait", VERSION_BASE,
     (pthread_cond_t * cond, pthread_mutex_t *mutex, const struct timespec *until),
     (cond, mutex, until))

EXPORT int gt_agent_old_signal(pthread_cond_t *cond)
{
	return real_old_signal(cond);
}

EXPORT int gt_agent_old_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  const struct timespec *until)
{
	return real_old_timedwait(cond, mutex, until);
}

__asm__(".symver gt_agent_old_signal, pthread_cond_signal@" VERSION_BASE);
__asm__(".symver gt_agent_old_timedwait, pthread_cond_timedwait@" VERSION_BASE);
#endif
__asm__(".symver gt_agent_signal, pthread_cond_signal@@" VERSION_COND);
__asm__(".symver gt_agent_timedwait, pthread_cond_timedwait@@" VERSION_COND);
