/* SPDX-License-Identifier: MIT */
/*
 * Not run, only looked at: a lock of the shape of CPython's GIL, to be compiled in the ways in
 * which interpreters are. Besides the two functions there is what the finder has to tell apart from
 * them.
 */
#include <pthread.h>
#include <stdlib.h>

struct gil {
	int locked;
	int requested;
	void *holder;
	pthread_cond_t cond;
	pthread_mutex_t mutex;
	pthread_cond_t switch_cond;
	pthread_mutex_t switch_mutex;
};

#define EXPORT __attribute__((visibility("default"), noinline))
#define CHECK(call)                                                                                \
	do {                                                                                       \
		if (call)                                                                          \
			abort();                                                                   \
	} while (0)

/* A compiler that splits functions moves the code that calls it into a part of its own. */
#ifdef SPLIT
static __attribute__((noinline, cold)) void note_wait(struct gil *gil)
{
	gil->requested = 0;
	__asm__ volatile("" ::: "memory");
}
#else
#define note_wait(gil) (void)0
#endif

static __attribute__((noinline)) void take_gil(struct gil *gil, void *thread,
					       const struct timespec *limit)
{
	CHECK(pthread_mutex_lock(&gil->mutex));
	if (gil->locked)
		goto wait;
take:
	CHECK(pthread_mutex_lock(&gil->switch_mutex));
	gil->locked = 1;
	gil->holder = thread;
	CHECK(pthread_cond_signal(&gil->switch_cond));
	CHECK(pthread_mutex_unlock(&gil->switch_mutex));
	CHECK(pthread_mutex_unlock(&gil->mutex));
	return;
wait:
	note_wait(gil);
	do {
		if (pthread_cond_timedwait(&gil->cond, &gil->mutex, limit))
			gil->requested = 1;
	} while (gil->locked);
	goto take;
}

static inline __attribute__((always_inline)) void drop(struct gil *gil, void *thread)
{
	CHECK(pthread_mutex_lock(&gil->mutex));
	gil->locked = 0;
	CHECK(pthread_cond_signal(&gil->cond));
	CHECK(pthread_mutex_unlock(&gil->mutex));
	if (gil->requested && thread) {
		CHECK(pthread_mutex_lock(&gil->switch_mutex));
		if (gil->holder == thread) {
			gil->requested = 0;
			CHECK(pthread_cond_wait(&gil->switch_cond, &gil->switch_mutex));
		}
		CHECK(pthread_mutex_unlock(&gil->switch_mutex));
	}
}

static __attribute__((noinline)) void drop_gil(struct gil *gil, void *thread)
{
	drop(gil, thread);
}

EXPORT void fixture_evaluate(struct gil *gil, void *thread, const struct timespec *limit);
EXPORT void fixture_attach(struct gil *gil, void *thread, const struct timespec *limit);
EXPORT void fixture_detach(struct gil *gil, void *thread);
EXPORT void fixture_detach_inlined(struct gil *gil, void *thread);
EXPORT int fixture_reattach(struct gil *gil, void *thread, const struct timespec *limit);
EXPORT int fixture_wake(pthread_cond_t *cond);

/* A requested drop, in the way of the eval loop up to 3.12: the retake is here. */
void fixture_evaluate(struct gil *gil, void *thread, const struct timespec *limit)
{
	while (gil->requested) {
		drop_gil(gil, thread);
		take_gil(gil, thread, limit);
	}
}

void fixture_attach(struct gil *gil, void *thread, const struct timespec *limit)
{
	if (thread)
		take_gil(gil, thread, limit);
}

void fixture_detach(struct gil *gil, void *thread)
{
	drop_gil(gil, thread);
}

void fixture_detach_inlined(struct gil *gil, void *thread)
{
	drop(gil, thread);
}

/* Something is done in between: no retake. */
int fixture_reattach(struct gil *gil, void *thread, const struct timespec *limit)
{
	int number;

	drop_gil(gil, thread);
	number = rand();
	take_gil(gil, thread, limit);
	return number;
}

/* A signal that no unlock follows: not the GIL's. */
int fixture_wake(pthread_cond_t *cond)
{
	return pthread_cond_signal(cond);
}

/*
 * A program with all libraries linked in has locks that are much like it: whoever waits for work
 * signals nobody, and whoever brings some does not wait for another one to take the lock.
 */
#ifdef PROGRAM
static struct {
	int count;
	pthread_cond_t cond;
	pthread_mutex_t mutex;
} queue;

static __attribute__((noinline)) void queue_wait(const struct timespec *limit)
{
	CHECK(pthread_mutex_lock(&queue.mutex));
	while (!queue.count)
		CHECK(pthread_cond_timedwait(&queue.cond, &queue.mutex, limit));
	queue.count--;
	CHECK(pthread_mutex_unlock(&queue.mutex));
}

static __attribute__((noinline)) void queue_add(void)
{
	CHECK(pthread_mutex_lock(&queue.mutex));
	queue.count++;
	CHECK(pthread_cond_signal(&queue.cond));
	CHECK(pthread_mutex_unlock(&queue.mutex));
}

int main(void)
{
	static struct gil gil;
	struct timespec limit = {0};

	queue_add();
	queue_wait(&limit);
	fixture_evaluate(&gil, NULL, &limit);
	return fixture_reattach(&gil, NULL, &limit);
}
#endif
