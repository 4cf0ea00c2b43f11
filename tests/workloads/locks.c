/* SPDX-License-Identifier: MIT */
/* A library for ctypes: how long a lock and an unlock of a program's own take, in nanoseconds. */
#include <pthread.h>
#include <time.h>

double locks_measure(long count);

double locks_measure(long count)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec start, end;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (long i = 0; i < count; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
	       (double)count;
}
