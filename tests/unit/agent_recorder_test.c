/* SPDX-License-Identifier: MIT */
/* Plays the agents: writes to the memory as they do, and worse, and reads the file back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "agentdata/format.h"
#include "base/array.h"
#include "base/io.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/time.h"
#include "elf/elf_file.h"
#include "probes/agent/layout.h"
#include "record/agent.h"
#include "record/agent_clock.h"

#define SMALL_BYTES (UINT64_C(1) << 20)

/* Longer than the recorder waits for a record that was begun, or leaves a silent thread alone. */
#define PATIENCE_MS 120

/* No process has such a number, so nobody finds it to be gone. */
#define FIRST_PID ((uint32_t)INT_MAX + 1)

struct recording {
	char path[40];
	struct gt_elf *elf;
	struct gt_gil_sites sites;
	struct gt_agent_recorder *recorder;
	struct gt_agent_shared *shared; /* as an agent has mapped it */
	struct gt_agent_counts counts;
};

static void close_recording(struct recording *recording)
{
	if (recording->recorder)
		gt_agent_recorder_close(recording->recorder);
	if (recording->shared)
		munmap(recording->shared, recording->shared->bytes);
	gt_gil_sites_clear(&recording->sites);
	free(recording->sites.calls.items);
	if (recording->elf)
		gt_elf_close(recording->elf);
	unlink(recording->path);
}

/* Maps the memory by what an agent finds in its environment. */
static struct gt_agent_shared *map_memory(const char *address)
{
	struct gt_agent_shared *shared;
	struct stat status;
	uint64_t token;
	char path[64];
	int fd;

	assert_int_equal(sscanf(address, "%" SCNx64 ":%63s", &token, path), 2);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	shared = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	assert_ptr_not_equal(shared, MAP_FAILED);
	assert_int_equal(shared->token, token);
	assert_int_equal(shared->bytes, status.st_size);
	return shared;
}

static void add_call(struct recording *recording, enum gt_gil_call_kind kind, uint64_t offset)
{
	struct gt_gil_call_site *call = gt_array_push(&recording->sites.calls);

	assert_non_null(call);
	*call = (struct gt_gil_call_site){
		.kind = kind, .return_offset = offset, .caller_offset = -16};
}

static void prepare(struct recording *recording)
{
	strcpy(recording->path, "/tmp/agent_recorder_test.XXXXXX");
	close(mkstemp(recording->path));
	assert_int_equal(gt_elf_open("/proc/self/exe", &recording->elf), 0);
}

static void start(struct recording *recording, enum gt_agent_clock clock, uint64_t buffer_bytes,
		  uint64_t keep_ns)
{
	struct gt_agent_recorder_spec spec = {.path = recording->path,
					      .sites = &recording->sites,
					      .buffer_bytes = buffer_bytes,
					      .keep_ns = keep_ns,
					      .clock = clock};

	prepare(recording);
	spec.elf = recording->elf;
	add_call(recording, GT_GIL_CALL_TAKE_LOCK, 0x1000);
	add_call(recording, GT_GIL_CALL_ACQUIRED, 0x2000);
	assert_int_equal(gt_agent_recorder_open(&spec, &recording->recorder), 0);
	recording->shared = map_memory(gt_agent_recorder_address(recording->recorder));
}

static void drain(struct recording *recording)
{
	assert_int_equal(gt_agent_recorder_drain(recording->recorder), 0);
}

static void finish(struct recording *recording)
{
	assert_int_equal(gt_agent_recorder_finish(recording->recorder, &recording->counts), 0);
	assert_int_equal(recording->shared->closed, 1);
}

/* A thread of a traced process. */
struct player {
	struct gt_agent_shared *shared;
	uint32_t process, number, pid, tid;
	const char *comm;
	struct gt_agent_chunk *chunk;
	uint32_t next;
};

static struct player make_player(const struct recording *recording, uint32_t number)
{
	return (struct player){.shared = recording->shared,
			       .process = 1,
			       .number = number,
			       .pid = FIRST_PID,
			       .tid = number,
			       .comm = "python3"};
}

static struct gt_agent_chunk *take_chunk(struct gt_agent_shared *shared)
{
	uint64_t first = __atomic_load_n(&shared->free, __ATOMIC_ACQUIRE), rest;
	uint32_t index;

	while ((uint32_t)first != 0) {
		struct gt_agent_chunk *chunk = gt_agent_chunk_at(shared, (uint32_t)first - 1);

		assert_true((uint32_t)first <= shared->chunk_count);
		rest = ((first >> 32) + 1) << 32 | chunk->next;
		if (__atomic_compare_exchange_n(&shared->free, &first, rest, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return chunk;
	}
	if (shared->touched >= shared->chunk_count)
		return NULL;
	index = __atomic_fetch_add(&shared->touched, 1, __ATOMIC_RELAXED);
	return index < shared->chunk_count ? gt_agent_chunk_at(shared, index) : NULL;
}

static void begin_chunk(struct player *player, struct gt_agent_chunk *chunk)
{
	struct gt_agent_chunk *old = player->chunk;

	if (chunk != old)
		assert_int_equal(chunk->state, GT_AGENT_CHUNK_FREE);
	chunk->process = player->process;
	chunk->thread = player->number;
	chunk->pid = player->pid;
	chunk->tid = player->tid;
	chunk->map_start = 0x400000;
	chunk->map_bytes = 0x1000;
	chunk->lost_before = old ? old->lost : 0;
	chunk->lost = 0;
	chunk->exit_time = 0;
	memset(chunk->comm, 0, sizeof(chunk->comm));
	if (!old)
		memcpy(chunk->comm, player->comm, strlen(player->comm));
	memset(chunk->records, 0, GT_AGENT_CHUNK_RECORDS * sizeof(chunk->records[0]));
	__atomic_store_n(&chunk->state, GT_AGENT_CHUNK_USED, __ATOMIC_RELEASE);
	if (old && old != chunk)
		__atomic_store_n(&old->state, GT_AGENT_CHUNK_LEFT, __ATOMIC_RELEASE);
	player->chunk = chunk;
	player->next = 0;
}

/* Where the next record goes, or NULL: it is lost. */
static struct gt_agent_record *reserve(struct player *player)
{
	struct gt_agent_chunk *chunk;

	if (player->chunk && player->next < GT_AGENT_CHUNK_RECORDS)
		return &player->chunk->records[player->next++];
	chunk = take_chunk(player->shared);
	if (!chunk && player->chunk && player->chunk->state == GT_AGENT_CHUNK_EMPTIED)
		chunk = player->chunk;
	if (chunk) {
		begin_chunk(player, chunk);
		return &player->chunk->records[player->next++];
	}
	if (player->chunk)
		player->chunk->lost++;
	else
		player->shared->lost_without_chunk++;
	return NULL;
}

static void write_record(struct gt_agent_record *record, enum gt_agent_kind kind, uint64_t time,
			 uint64_t value)
{
	if (!record)
		return;
	record->value = value;
	__atomic_store_n(&record->time, (uint64_t)kind << GT_AGENT_KIND_SHIFT | time,
			 __ATOMIC_RELEASE);
}

static void note(struct player *player, uint64_t time, uint64_t value)
{
	write_record(reserve(player), GT_AGENT_ACQUIRED, time, value);
}

/* COUNT records of now, with the values from FIRST on. */
static void note_many(struct player *player, uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		note(player, gt_clock_ns(CLOCK_MONOTONIC), first + i);
}

static void end_thread(struct player *player, const char *comm)
{
	memset(player->chunk->comm, 0, sizeof(player->chunk->comm));
	memcpy(player->chunk->comm, comm, strlen(comm));
	player->chunk->exit_time = gt_clock_ns(CLOCK_MONOTONIC);
	__atomic_store_n(&player->chunk->state, GT_AGENT_CHUNK_LEFT, __ATOMIC_RELEASE);
}

/* What the file says of a thread. */
struct read_thread {
	uint32_t number;
	struct gt_agent_thread_block told;
	GT_ARRAY(struct gt_agent_record) records;
	uint64_t lost_before;	/* of all blocks */
	uint64_t lost_position; /* how many records came before the last loss */
	char comm[GT_AGENT_COMM_BYTES];
	bool has_ended;
	uint64_t end_ns, end_lost;
};

struct read_file {
	struct gt_agent_file_header header;
	GT_ARRAY(struct read_thread) threads;
	uint64_t records, lost;
	bool is_complete;
};

static void free_file(struct read_file *file)
{
	gt_array_for_each (&file->threads, thread)
		gt_array_clear(&thread->records);
	gt_array_clear(&file->threads);
}

static struct read_thread *find_thread(struct read_file *file, uint32_t number)
{
	gt_array_for_each (&file->threads, thread)
		if (thread->number == number)
			return thread;
	return NULL;
}

static void read_records(struct read_file *file, struct read_thread *thread,
			 const struct gt_agent_records_block *block)
{
	const struct gt_agent_record *records = (const struct gt_agent_record *)(block + 1);
	uint32_t bytes = block->block.bytes - (uint32_t)sizeof(*block);

	assert_int_equal(bytes % sizeof(*records), 0);
	assert_true(bytes > 0);
	if (block->lost_before) {
		thread->lost_before += block->lost_before;
		thread->lost_position = thread->records.count;
		file->lost += block->lost_before;
	}
	for (uint32_t i = 0; i < bytes / sizeof(*records); i++) {
		struct gt_agent_record *record = gt_array_push(&thread->records);

		assert_non_null(record);
		*record = records[i];
		record->time &= GT_AGENT_TIME_MASK;
		assert_in_range(records[i].time >> GT_AGENT_KIND_SHIFT, GT_AGENT_TAKE,
				GT_AGENT_SWITCHED);
		if (thread->records.count > 1)
			assert_true(record[-1].time <= record->time);
		file->records++;
	}
}

static void read_block(struct read_file *file, const struct gt_agent_block *block)
{
	struct read_thread *thread = find_thread(file, block->thread);

	assert_int_equal(block->bytes % 8, 0);
	assert_false(file->is_complete);
	if (block->type == GT_AGENT_BLOCK_LOST) {
		assert_int_equal(block->thread, 0);
		file->lost += ((const struct gt_agent_lost_block *)block)->lost;
		file->is_complete = true;
		return;
	}
	if (block->type == GT_AGENT_BLOCK_THREAD && !thread) {
		thread = gt_array_push(&file->threads);
		assert_non_null(thread);
		thread->number = block->thread;
		thread->told = *(const struct gt_agent_thread_block *)block;
		memcpy(thread->comm, thread->told.comm, sizeof(thread->comm));
	}
	assert_non_null(thread);
	assert_false(thread->has_ended);
	switch (block->type) {
	case GT_AGENT_BLOCK_RECORDS:
		read_records(file, thread, (const struct gt_agent_records_block *)block);
		break;
	case GT_AGENT_BLOCK_NAME:
		memcpy(thread->comm, ((const struct gt_agent_name_block *)block)->comm,
		       sizeof(thread->comm));
		break;
	case GT_AGENT_BLOCK_END:
		thread->has_ended = true;
		thread->end_ns = ((const struct gt_agent_end_block *)block)->time_ns;
		thread->end_lost = ((const struct gt_agent_end_block *)block)->lost;
		file->lost += thread->end_lost;
		break;
	default:
		assert_int_equal(block->type, GT_AGENT_BLOCK_THREAD);
	}
	assert_int_equal(thread->comm[GT_AGENT_COMM_BYTES - 1], 0);
}

static struct read_file read_back(const struct recording *recording)
{
	_cleanup_free_ char *text = NULL;
	struct read_file file = {0};
	size_t size, offset;

	assert_int_equal(gt_read_file(recording->path, UINT32_MAX, &text, &size), 0);
	memcpy(&file.header, text, sizeof(file.header));
	assert_int_equal(file.header.magic, GT_AGENT_FILE_MAGIC);
	assert_int_equal(file.header.version, GT_AGENT_FILE_VERSION);
	for (offset = file.header.header_bytes; offset < size;) {
		const struct gt_agent_block *block = (const void *)(text + offset);

		assert_true(block->bytes >= sizeof(*block) && block->bytes <= size - offset);
		read_block(&file, block);
		offset += block->bytes;
	}
	assert_true(file.is_complete);
	assert_int_equal(file.records, recording->counts.records);
	assert_int_equal(file.lost, recording->counts.lost);
	return file;
}

/* The thread's values are FIRST and those behind it. */
static void check_values(struct read_file *file, uint32_t number, uint64_t first, uint64_t count)
{
	const struct read_thread *thread = find_thread(file, number);

	assert_non_null(thread);
	assert_int_equal(thread->records.count, count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(thread->records.items[i].value, first + i);
}

static void test_agents_find_what_they_need(void **state)
{
	_cleanup_(close_recording) struct recording recording = {0};
	char build_id[2 * GT_AGENT_BUILD_ID_BYTES + 1] = "";

	(void)state;
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, 0, 0);
	assert_int_equal(recording.shared->magic, GT_AGENT_MAGIC);
	assert_int_equal(recording.shared->version, GT_AGENT_VERSION);
	assert_int_equal(recording.shared->bytes, 64 << 20);
	assert_int_equal(recording.shared->chunk_count, (64 << 20) / GT_AGENT_CHUNK_BYTES - 1);
	assert_int_equal(recording.shared->site_count, 2);
	assert_int_equal(recording.shared->sites[1].offset, 0x2000);
	assert_int_equal(recording.shared->sites[1].kind, GT_GIL_CALL_ACQUIRED);
	assert_int_equal(recording.shared->sites[0].caller_offset, -16);
	for (uint32_t i = 0; i < recording.shared->build_id_bytes; i++)
		sprintf(build_id + 2 * i, "%02x", recording.shared->build_id[i]);
	assert_string_equal(build_id, gt_elf_build_id(recording.elf));
	assert_true(recording.shared->inode != 0);
	/* Nobody can make it smaller, and so end giltrace. */
	assert_int_not_equal(
		truncate(strchr(gt_agent_recorder_address(recording.recorder), ':') + 1, 4096), 0);
}

static void test_sites_that_cannot_be_told_are_refused(void **state)
{
	_cleanup_(close_recording) struct recording recording = {0};
	struct gt_agent_recorder_spec spec = {.path = recording.path, .sites = &recording.sites};
	struct gt_log_capture capture;
	char *message;

	(void)state;
	prepare(&recording);
	spec.elf = recording.elf;
	gt_log_start_capture(&capture);
	assert_int_equal(gt_agent_recorder_open(&spec, &recording.recorder), -EOPNOTSUPP);
	for (uint32_t i = 0; i <= GT_AGENT_MAX_SITES; i++)
		add_call(&recording, GT_GIL_CALL_RELEASE, i);
	assert_int_equal(gt_agent_recorder_open(&spec, &recording.recorder), -EOPNOTSUPP);
	message = gt_log_end_capture(&capture);
	assert_non_null(strstr(message, "too many"));
	free(message);
	assert_null(recording.recorder);
}

static void test_each_thread_keeps_its_order(void **state)
{
	enum { THREADS = 3, ROUNDS = 40, RECORDS = 500 };
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player players[THREADS];
	uint64_t before = gt_clock_ns(CLOCK_MONOTONIC);

	(void)state;
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, SMALL_BYTES, 0);
	for (uint32_t i = 0; i < THREADS; i++)
		players[i] = make_player(&recording, i + 1);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < THREADS; i++)
			note_many(&players[i], round * RECORDS, RECORDS);
		if (round % 3 == 0)
			drain(&recording);
	}
	/* They came again, instead of new ones. */
	assert_true(recording.shared->touched < 12);
	finish(&recording);
	file = read_back(&recording);
	assert_int_equal(file.threads.count, THREADS);
	assert_int_equal(file.lost, 0);
	assert_int_equal(file.header.window_start_ns, 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		const struct read_thread *thread = find_thread(&file, i + 1);

		check_values(&file, i + 1, 0, ROUNDS * RECORDS);
		assert_true(thread->records.items[0].time >= before);
		assert_int_equal(thread->told.time_ns, thread->records.items[0].time);
		assert_int_equal(thread->told.tid, i + 1);
		assert_int_equal(thread->told.map_start, 0x400000);
		assert_string_equal(thread->comm, "python3");
		assert_false(thread->has_ended);
	}
}

static void test_losses_are_told_where_they_were(void **state)
{
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player greedy, late;
	uint64_t room;

	(void)state;
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, SMALL_BYTES, 0);
	room = recording.shared->chunk_count * GT_AGENT_CHUNK_RECORDS;
	greedy = make_player(&recording, 1);
	late = make_player(&recording, 2);
	note_many(&greedy, 0, room + 7);
	note_many(&late, 0, 5); /* never had a chunk: nobody knows whose they were */
	drain(&recording);
	note_many(&greedy, room, 10);
	note_many(&late, 0, 3);
	/* Again, with nothing behind it. */
	while (take_chunk(recording.shared))
		;
	note_many(&late, 3, GT_AGENT_CHUNK_RECORDS - 3 + 2);
	finish(&recording);
	file = read_back(&recording);
	assert_int_equal(find_thread(&file, 1)->lost_before, 7);
	assert_int_equal(find_thread(&file, 1)->lost_position, room);
	assert_int_equal(find_thread(&file, 2)->end_lost, 2);
	assert_int_equal(find_thread(&file, 2)->end_ns, 0);
	assert_int_equal(file.lost, 7 + 5 + 2);
	check_values(&file, 1, 0, room + 10);
	check_values(&file, 2, 0, GT_AGENT_CHUNK_RECORDS);
}

/* Threads that have all chunks between them, each a full one, go on all the same. */
static void test_a_full_chunk_is_offered_to_its_thread(void **state)
{
	enum { ROUNDS = 5 };
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player players[64];
	uint32_t count;

	(void)state;
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, SMALL_BYTES, 0);
	count = recording.shared->chunk_count;
	assert_in_range(count, 1, ARRAY_SIZE(players));
	for (uint32_t i = 0; i < count; i++)
		players[i] = make_player(&recording, i + 1);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < count; i++)
			note_many(&players[i], round * GT_AGENT_CHUNK_RECORDS,
				  GT_AGENT_CHUNK_RECORDS);
		if (round == 0) {
			note(&players[0], gt_clock_ns(CLOCK_MONOTONIC), 0);
			assert_int_equal(players[0].chunk->lost, 1);
		}
		drain(&recording);
	}
	finish(&recording);
	file = read_back(&recording);
	assert_int_equal(file.lost, 1);
	for (uint32_t i = 0; i < count; i++)
		check_values(&file, i + 1, 0, ROUNDS * GT_AGENT_CHUNK_RECORDS);
}

/* Also when it has filled it a second time, and left it, before anybody looks. */
static void test_a_chunk_that_was_taken_again_is_read_again(void **state)
{
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct gt_agent_chunk *spare;
	struct player player;

	(void)state;
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, SMALL_BYTES, 0);
	player = make_player(&recording, 1);
	note_many(&player, 0, GT_AGENT_CHUNK_RECORDS);
	spare = take_chunk(recording.shared);
	while (take_chunk(recording.shared))
		;
	drain(&recording);
	assert_int_equal(player.chunk->state, GT_AGENT_CHUNK_EMPTIED);
	note_many(&player, GT_AGENT_CHUNK_RECORDS, GT_AGENT_CHUNK_RECORDS);
	begin_chunk(&player, spare);
	note_many(&player, 2 * GT_AGENT_CHUNK_RECORDS, 1);
	drain(&recording);
	/* One that is emptied and then left is given back. */
	note_many(&player, 2 * GT_AGENT_CHUNK_RECORDS + 1, GT_AGENT_CHUNK_RECORDS - 1);
	drain(&recording);
	finish(&recording);
	file = read_back(&recording);
	assert_int_equal(file.lost, 0);
	check_values(&file, 1, 0, 3 * GT_AGENT_CHUNK_RECORDS);
}

static void test_ends_and_names_are_told(void **state)
{
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player polite, killed, self;
	uint64_t killed_ns;
	int status;
	pid_t pid;

	(void)state;
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, SMALL_BYTES, 0);
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	polite = make_player(&recording, 1);
	killed = make_player(&recording, 2);
	killed.pid = killed.tid = (uint32_t)pid;
	killed.process = 2;
	self = make_player(&recording, 3);
	self.process = 3;
	self.pid = (uint32_t)getpid();
	self.tid = (uint32_t)gettid();
	note_many(&polite, 0, 10);
	note_many(&killed, 0, 20);
	note_many(&self, 0, 30);
	killed.chunk->lost = 4;
	drain(&recording);
	poll(NULL, 0, PATIENCE_MS);
	drain(&recording);
	assert_int_equal((uint32_t)recording.shared->free, 0);

	end_thread(&polite, "worker");
	killed_ns = gt_clock_ns(CLOCK_MONOTONIC);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	prctl(PR_SET_NAME, "a new name");
	note_many(&self, 30, 1);
	for (int i = 0; i < 10; i++) {
		poll(NULL, 0, PATIENCE_MS);
		drain(&recording);
	}
	/* Both chunks were given back, the last one in front. */
	assert_int_not_equal((uint32_t)recording.shared->free, 0);
	assert_int_not_equal(
		gt_agent_chunk_at(recording.shared, (uint32_t)recording.shared->free - 1)->next, 0);
	finish(&recording);
	file = read_back(&recording);
	check_values(&file, 1, 0, 10);
	assert_string_equal(find_thread(&file, 1)->comm, "worker");
	assert_int_equal(find_thread(&file, 1)->end_ns, polite.chunk->exit_time);
	check_values(&file, 2, 0, 20);
	assert_int_equal(find_thread(&file, 2)->end_lost, 4);
	assert_in_range(find_thread(&file, 2)->end_ns, killed_ns, killed_ns + GT_NS_PER_SEC / 2);
	check_values(&file, 3, 0, 31);
	assert_string_equal(find_thread(&file, 3)->comm, "a new name");
	assert_false(find_thread(&file, 3)->has_ended);
}

/* After an exec the same thread has another number; the chunk of the old one is not lost. */
static void test_an_exec_ends_a_thread(void **state)
{
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player before, after;

	(void)state;
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, SMALL_BYTES, 0);
	before = make_player(&recording, 1);
	before.pid = (uint32_t)getpid();
	before.tid = (uint32_t)gettid();
	after = before;
	after.number = after.process = 2;
	note_many(&before, 0, 5);
	drain(&recording);
	note_many(&after, 0, 5);
	for (int i = 0; i < 3; i++) {
		poll(NULL, 0, PATIENCE_MS);
		drain(&recording);
	}
	assert_int_equal(before.chunk->state, GT_AGENT_CHUNK_FREE);
	finish(&recording);
	file = read_back(&recording);
	assert_true(find_thread(&file, 1)->has_ended);
	assert_true(find_thread(&file, 1)->end_ns > 0);
	assert_false(find_thread(&file, 2)->has_ended);
}

/* Also when its new chunk is in front of the old one, so that it is seen first. */
static void test_a_newer_thread_keeps_its_tid(void **state)
{
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player before, after;
	struct gt_agent_chunk *first;

	(void)state;
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, SMALL_BYTES, 0);
	before = make_player(&recording, 1);
	before.pid = (uint32_t)getpid();
	before.tid = (uint32_t)gettid();
	after = before;
	after.number = after.process = 2;
	first = take_chunk(recording.shared);
	note_many(&before, 0, 5);
	begin_chunk(&after, first);
	note_many(&after, 0, 5);
	for (int i = 0; i < 5; i++) {
		poll(NULL, 0, PATIENCE_MS);
		drain(&recording);
		note_many(&after, 5 + (uint64_t)i * GT_AGENT_CHUNK_RECORDS, GT_AGENT_CHUNK_RECORDS);
	}
	assert_int_not_equal(after.chunk->state, GT_AGENT_CHUNK_FREE);
	finish(&recording);
	file = read_back(&recording);
	assert_int_equal(file.lost, 0);
	check_values(&file, 1, 0, 5);
	assert_true(find_thread(&file, 1)->end_ns > 0);
	check_values(&file, 2, 0, 5 + 5 * GT_AGENT_CHUNK_RECORDS);
	assert_int_equal(find_thread(&file, 2)->end_ns, 0);
}

/* What a chunk holds that contradicts others, or is of no thread, counts as lost. */
static void test_contradictions_are_lost(void **state)
{
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player sound, other_pid, other_tid, other_process, nobody;
	struct gt_agent_chunk *left;

	(void)state;
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, SMALL_BYTES, 0);
	sound = make_player(&recording, 1);
	note_many(&sound, 0, 3);
	drain(&recording);
	other_pid = make_player(&recording, 2);
	other_pid.pid++;
	other_tid = make_player(&recording, 1);
	other_tid.tid++;
	other_process = make_player(&recording, 1);
	other_process.process++;
	nobody = make_player(&recording, 0);
	note_many(&other_pid, 0, GT_AGENT_CHUNK_RECORDS);
	left = other_pid.chunk;
	note_many(&other_pid, 0, 10);
	other_pid.chunk->lost = 5;
	note_many(&other_tid, 0, 100);
	note_many(&other_process, 0, 1000);
	note_many(&nobody, 0, 1);
	drain(&recording);
	note_many(&sound, 3, 3);
	/* It is not kept from the others. */
	assert_int_equal(left->state, GT_AGENT_CHUNK_FREE);
	finish(&recording);
	file = read_back(&recording);
	assert_int_equal(file.threads.count, 1);
	check_values(&file, 1, 0, 6);
	assert_int_equal(file.lost, GT_AGENT_CHUNK_RECORDS + 10 + 5 + 100 + 1000 + 1);
}

/* In a namespace without our /proc. Nobody is asked after them, and they do not end one another. */
static void test_numbers_that_are_not_known(void **state)
{
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player players[4];
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, SMALL_BYTES, 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(players); i++) {
		players[i] = make_player(&recording, i + 1);
		players[i].process = i < 2 ? 1 : 2;
		players[i].pid = i < 2 ? 0 : (uint32_t)pid;
		players[i].tid = 0;
	}
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < ARRAY_SIZE(players); i++)
			note_many(&players[i], (uint64_t)round * 10, 10);
		poll(NULL, 0, PATIENCE_MS);
		drain(&recording);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	poll(NULL, 0, PATIENCE_MS);
	drain(&recording);
	finish(&recording);
	file = read_back(&recording);
	assert_int_equal(file.lost, 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(players); i++) {
		check_values(&file, i + 1, 0, 30);
		assert_int_equal(find_thread(&file, i + 1)->told.tid, 0);
		assert_int_equal(find_thread(&file, i + 1)->has_ended, i >= 2);
	}
}

/* Nobody has asked after it yet, so that its number still leads to it. */
static void test_a_killed_process_has_ended(void **state)
{
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player player;
	siginfo_t info;
	uint64_t killed_ns;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, SMALL_BYTES, 0);
	player = make_player(&recording, 1);
	player.pid = player.tid = (uint32_t)pid;
	note_many(&player, 0, 10);
	poll(NULL, 0, PATIENCE_MS);
	drain(&recording);
	killed_ns = gt_clock_ns(CLOCK_MONOTONIC);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	for (int i = 0; i < 3; i++) {
		poll(NULL, 0, PATIENCE_MS);
		drain(&recording);
	}
	assert_int_equal(player.chunk->state, GT_AGENT_CHUNK_FREE);
	finish(&recording);
	waitpid(pid, NULL, 0);
	file = read_back(&recording);
	check_values(&file, 1, 0, 10);
	assert_in_range(find_thread(&file, 1)->end_ns, killed_ns, killed_ns + GT_NS_PER_SEC / 2);
}

/* The word of a thread that has not left its chunk holds if it is gone, and was its last. */
static void test_an_end_in_a_chunk_that_was_not_left(void **state)
{
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player players[3];
	uint64_t said_ns;
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, SMALL_BYTES, 0);
	waitpid(pid, &status, 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(players); i++) {
		players[i] = make_player(&recording, i + 1);
		players[i].process = i + 1;
		/* The last one lives. */
		players[i].pid = players[i].tid = (uint32_t)(i < 2 ? pid : getpid());
		players[i].tid += i == 1;
		note_many(&players[i], 0, 10);
	}
	said_ns = gt_clock_ns(CLOCK_MONOTONIC);
	for (uint32_t i = 0; i < ARRAY_SIZE(players); i++) {
		players[i].chunk->exit_time = said_ns;
		memcpy(players[i].chunk->comm, "xxx", 3);
	}
	/* It was a child of vfork that ended. */
	note_many(&players[1], 10, 1);
	poll(NULL, 0, 5);
	drain(&recording);
	finish(&recording);
	file = read_back(&recording);
	assert_int_equal(find_thread(&file, 1)->end_ns, said_ns);
	assert_true(find_thread(&file, 2)->end_ns > said_ns + GT_NS_PER_MS);
	assert_false(find_thread(&file, 3)->has_ended);
	assert_int_equal(file.lost, 0);
}

/* A clock that somebody has put forward or back, in the program alone. */
static void test_times_that_have_not_come(void **state)
{
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player ahead, behind, usual;
	uint64_t now = gt_clock_ns(CLOCK_MONOTONIC);

	(void)state;
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, SMALL_BYTES, 0);
	ahead = make_player(&recording, 1);
	behind = make_player(&recording, 2);
	usual = make_player(&recording, 3);
	note(&ahead, now, 0);
	for (uint32_t i = 0; i < 3 * GT_AGENT_CHUNK_RECORDS; i++)
		note(&ahead, now + 3600 * GT_NS_PER_SEC + i, 1);
	for (uint32_t i = 0; i < 3 * GT_AGENT_CHUNK_RECORDS; i++)
		note(&behind, now / 2 + i, i);
	drain(&recording);
	/* Nothing of it was left to wait for. */
	assert_true((uint32_t)recording.shared->free != 0);
	note(&ahead, gt_clock_ns(CLOCK_MONOTONIC), 1);
	note_many(&usual, 0, 3);
	/* Not before the recording's end. */
	poll(NULL, 0, 5);
	drain(&recording);
	note(&usual, gt_clock_ns(CLOCK_MONOTONIC) + 3600 * GT_NS_PER_SEC, 7);
	finish(&recording);
	file = read_back(&recording);
	check_values(&file, 1, 0, 2);
	assert_int_equal(find_thread(&file, 1)->lost_before, 3 * GT_AGENT_CHUNK_RECORDS);
	check_values(&file, 2, 0, 3 * GT_AGENT_CHUNK_RECORDS);
	check_values(&file, 3, 0, 3);
	assert_int_equal(find_thread(&file, 3)->end_lost, 1);
}

/* As it may while a machine sleeps: what is from before is told by what was read then. */
static void test_a_counter_that_starts_anew(void **state)
{
	enum { BILLION = 1000000000 };
	struct gt_agent_converter *converter = calloc(1, sizeof(*converter));
	const uint64_t start = UINT64_MAX >> 5; /* no counter gets there */

	(void)state;
	gt_agent_converter_start(converter, GT_AGENT_CLOCK_TSC);
	converter->ticks = converter->largest_ticks = start;
	converter->ns = 5 * (uint64_t)BILLION;
	converter->segments[0].start_ticks = converter->segments[0].end_ticks = start;
	/* Two ticks in a nanosecond. */
	gt_agent_converter_add(converter, start + 2 * (uint64_t)BILLION, 6 * (uint64_t)BILLION);
	assert_int_equal(gt_agent_converter_judge(converter, start + 3 * (uint64_t)BILLION),
			 GT_AGENT_TIME_WRONG);
	gt_agent_converter_add(converter, 1000, 6 * (uint64_t)BILLION + 800);
	gt_agent_converter_add(converter, 3000, 6 * (uint64_t)BILLION + 1800);
	assert_int_equal(gt_agent_converter_judge(converter, 2000), GT_AGENT_TIME_KNOWN);
	assert_int_equal(gt_agent_converter_judge(converter, start + BILLION), GT_AGENT_TIME_KNOWN);
	assert_int_equal(gt_agent_converter_judge(converter, start + 3 * (uint64_t)BILLION),
			 GT_AGENT_TIME_WRONG);
	assert_in_range(gt_agent_converter_ns(converter, start + BILLION),
			5 * (uint64_t)BILLION + BILLION / 2 - 1,
			5 * (uint64_t)BILLION + BILLION / 2);
	assert_in_range(gt_agent_converter_ns(converter, 500), 6 * (uint64_t)BILLION + 549,
			6 * (uint64_t)BILLION + 550);
	assert_in_range(gt_agent_converter_ns(converter, 2000), 6 * (uint64_t)BILLION + 1299,
			6 * (uint64_t)BILLION + 1300);
	free(converter);
}

static void test_holes_are_waited_for_and_passed(void **state)
{
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player filled, open;
	struct gt_agent_record *begun, *never;
	struct gt_agent_chunk *left;

	(void)state;
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, SMALL_BYTES, 0);
	filled = make_player(&recording, 1);
	open = make_player(&recording, 2);
	note_many(&filled, 0, 10);
	begun = reserve(&filled);
	note_many(&filled, 11, GT_AGENT_CHUNK_RECORDS);
	note_many(&open, 0, 10);
	never = reserve(&open);
	left = open.chunk;
	note_many(&open, 10, GT_AGENT_CHUNK_RECORDS);
	drain(&recording);
	/* Nothing behind it was read, so that it still has its place. */
	write_record(begun, GT_AGENT_RELEASE, gt_clock_ns(CLOCK_MONOTONIC), 10);
	drain(&recording);
	poll(NULL, 0, PATIENCE_MS);
	drain(&recording);
	/* Its thread may still write to it: it is not given to another one. */
	assert_int_equal(left->state, GT_AGENT_CHUNK_LEFT);
	write_record(never, GT_AGENT_RELEASE, gt_clock_ns(CLOCK_MONOTONIC), 10);
	finish(&recording);
	file = read_back(&recording);
	check_values(&file, 1, 0, GT_AGENT_CHUNK_RECORDS + 11);
	assert_int_equal(find_thread(&file, 1)->lost_before, 0);
	check_values(&file, 2, 0, GT_AGENT_CHUNK_RECORDS + 10);
	assert_int_equal(find_thread(&file, 2)->lost_before, 1);
	assert_int_equal(find_thread(&file, 2)->lost_position, 10);
}

/* Everything that any process may write to the memory. What is sound still arrives. */
static void test_nonsense_does_no_harm(void **state)
{
	enum { SOUND = 1, ROUNDS = 400 };
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player sound;
	uint64_t seed = 1;

	(void)state;
	start(&recording, GT_AGENT_CLOCK_TSC, SMALL_BYTES, 0);
	sound = make_player(&recording, SOUND);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct gt_agent_shared *shared = recording.shared;

		note(&sound, 1, round);
		shared->touched = round % 2 ? UINT32_MAX : shared->chunk_count;
		shared->chunk_count = UINT32_MAX;
		shared->bytes = 0;
		for (uint32_t i = 1; i < 31; i++) {
			uint64_t *words = (uint64_t *)gt_agent_chunk_at(shared, i);
			struct gt_agent_chunk *chunk = (struct gt_agent_chunk *)words;

			for (uint32_t word = 0; word < GT_AGENT_CHUNK_BYTES / 8; word += 1) {
				seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
				words[word] = seed >> (round % 4 == 1 ? 0 : seed >> 59);
			}
			memset(chunk->comm, 'x', sizeof(chunk->comm));
			chunk->state = (uint32_t)(seed >> 32) % 6;
			if (chunk->thread == SOUND)
				chunk->thread = 0;
			if (round % 3 == 0)
				chunk->thread = (seed >> 40) % 4 ? 2 : 0;
		}
		shared->free = round % 5 ? seed : UINT64_MAX;
		drain(&recording);
	}
	recording.shared->free = UINT64_MAX;
	finish(&recording);
	recording.shared->bytes = SMALL_BYTES;
	file = read_back(&recording);
	check_values(&file, SOUND, 0, ROUNDS);
}

#ifdef __x86_64__
static void test_the_counter_becomes_time(void **state)
{
	enum { RECORDS = 10000, CLOSE_TICKS = 1000 };
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player player;
	const struct read_thread *thread;
	uint64_t worst = 0, last = 0;
	uint32_t count = 0;

	(void)state;
	if (gt_agent_clock_choose() != GT_AGENT_CLOCK_TSC) {
		print_message("skipped: the kernel keeps time by something else\n");
		skip();
	}
	start(&recording, GT_AGENT_CLOCK_TSC, SMALL_BYTES, 0);
	player = make_player(&recording, 1);
	while (count < RECORDS) {
		uint64_t before = __rdtsc(), ns = gt_clock_ns(CLOCK_MONOTONIC), after = __rdtsc();

		/* Not one with an interrupt in it. */
		if (after - before > CLOSE_TICKS)
			continue;
		note(&player, before + (after - before) / 2, ns);
		count++;
		if (count % 100 == 0)
			poll(NULL, 0, 1);
		if (count % 1000 == 0)
			drain(&recording);
	}
	end_thread(&player, "");
	player.chunk->exit_time = __rdtsc();
	last = gt_clock_ns(CLOCK_MONOTONIC);
	finish(&recording);
	file = read_back(&recording);
	thread = find_thread(&file, 1);
	assert_int_equal(thread->records.count, RECORDS);
	gt_array_for_each (&thread->records, record) {
		uint64_t difference = record->time > record->value ? record->time - record->value
								   : record->value - record->time;

		worst = GT_MAX(worst, difference);
	}
	print_message("the counter's time was off by at most %" PRIu64 " ns\n", worst);
	assert_true(worst < 1000);
	assert_in_range(thread->end_ns, last - GT_NS_PER_MS, last + 1000);
	assert_string_equal(thread->comm, "python3");
}
#endif

static void test_the_flight_recorder_keeps_the_newest(void **state)
{
	enum { KEEP_MS = 200 };
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player gone, early, steady;
	uint64_t begin = gt_clock_ns(CLOCK_MONOTONIC), end, window;

	(void)state;
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, SMALL_BYTES, KEEP_MS * GT_NS_PER_MS);
	gone = make_player(&recording, 1);
	early = make_player(&recording, 2);
	steady = make_player(&recording, 3);
	note_many(&gone, 0, 100);
	end_thread(&gone, "gone");
	note_many(&early, 0, 100);
	for (uint64_t i = 0; gt_clock_ns(CLOCK_MONOTONIC) < begin + 3 * KEEP_MS * GT_NS_PER_MS;
	     i++) {
		note_many(&steady, i * 100, 100);
		poll(NULL, 0, 5);
		drain(&recording);
	}
	end_thread(&steady, "steady");
	end = gt_clock_ns(CLOCK_MONOTONIC);
	/* That giltrace is late does not shorten what is kept. */
	for (int i = 0; i < 3; i++) {
		poll(NULL, 0, KEEP_MS / 2);
		drain(&recording);
	}
	finish(&recording);
	file = read_back(&recording);
	window = file.header.window_start_ns;
	assert_in_range(window, end - (KEEP_MS + 50) * GT_NS_PER_MS, end - KEEP_MS * GT_NS_PER_MS);
	assert_null(find_thread(&file, 1));
	assert_int_equal(find_thread(&file, 2)->records.count, 0);
	assert_true(find_thread(&file, 3)->records.count > 500);
	assert_string_equal(find_thread(&file, 3)->comm, "steady");
	assert_int_equal(find_thread(&file, 3)->end_ns, steady.chunk->exit_time);
	gt_array_for_each (&find_thread(&file, 3)->records, record)
		assert_true(record->time >= window);
	check_values(&file, 3, find_thread(&file, 3)->records.items[0].value,
		     find_thread(&file, 3)->records.count);
	/* Counted are those that are in the file. */
	assert_int_equal(recording.counts.lost, 0);
}

static void test_a_short_flight_is_whole(void **state)
{
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player player;

	(void)state;
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, SMALL_BYTES, 60 * GT_NS_PER_SEC);
	player = make_player(&recording, 1);
	note_many(&player, 0, 3 * GT_AGENT_CHUNK_RECORDS);
	drain(&recording);
	finish(&recording);
	file = read_back(&recording);
	assert_int_equal(file.header.window_start_ns, 0);
	check_values(&file, 1, 0, 3 * GT_AGENT_CHUNK_RECORDS);
}

static void test_many_threads(void **state)
{
	enum { THREADS = 1000, ROUNDS = 3, RECORDS = 50 };
	_cleanup_(close_recording) struct recording recording = {0};
	_cleanup_(free_file) struct read_file file = {0};
	struct player *players = calloc(THREADS, sizeof(*players));

	(void)state;
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, 0, 0);
	for (uint32_t i = 0; i < THREADS; i++)
		players[i] = make_player(&recording, i + 1);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < THREADS; i++)
			note_many(&players[i], round * RECORDS, RECORDS);
		drain(&recording);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		end_thread(&players[i], "ended");
	finish(&recording);
	file = read_back(&recording);
	assert_int_equal(file.threads.count, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		check_values(&file, i + 1, 0, ROUNDS * RECORDS);
		assert_true(find_thread(&file, i + 1)->end_ns > 0);
	}
	free(players);
}

static void test_speed(void **state)
{
	enum { ROUNDS = 3 };
	_cleanup_(close_recording) struct recording recording = {0};
	struct player player;
	uint64_t records = 0, spent = 0;

	(void)state;
	start(&recording, gt_agent_clock_choose(), UINT64_C(64) << 20, 0);
	player = make_player(&recording, 1);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint64_t count = (recording.shared->chunk_count - 1) * GT_AGENT_CHUNK_RECORDS;
		uint64_t before;

		for (uint64_t i = 0; i < count; i++)
			note(&player,
#ifdef __x86_64__
			     recording.shared->clock == GT_AGENT_CLOCK_TSC
				     ? __rdtsc()
				     :
#endif
				     gt_clock_ns(CLOCK_MONOTONIC),
			     i);
		before = gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		drain(&recording);
		spent += gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before;
		records += count;
	}
	finish(&recording);
	assert_int_equal(recording.counts.records, records);
	assert_int_equal(recording.counts.lost, 0);
	print_message("drained %" PRIu64 " records, %" PRIu64 " million in a second of CPU time\n",
		      records, records * 1000 / spent);
}

/* A disk that is full is told once, and the rest fails in silence. */
static void test_a_full_disk_is_told_once(void **state)
{
	_cleanup_(close_recording) struct recording recording = {0};
	struct gt_log_capture capture;
	struct player player;
	char *message, *first;
	int full;

	(void)state;
	start(&recording, GT_AGENT_CLOCK_MONOTONIC, 0, 0);
	player = make_player(&recording, 1);
	/* The file, open by a number that only the recorder knows, becomes one that is full. */
	full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	for (int fd = 3; fd < full; fd++) {
		char path[PATH_MAX] = "";
		_cleanup_free_ char *link = gt_format("/proc/self/fd/%d", fd);

		if (readlink(link, path, sizeof(path) - 1) > 0 && strcmp(path, recording.path) == 0)
			dup2(full, fd);
	}
	close(full);
	note_many(&player, 0, 20 * GT_AGENT_CHUNK_RECORDS);
	gt_log_start_capture(&capture);
	assert_int_equal(gt_agent_recorder_drain(recording.recorder), -ENOSPC);
	note_many(&player, 0, 100);
	assert_int_equal(gt_agent_recorder_drain(recording.recorder), -ENOSPC);
	assert_int_equal(gt_agent_recorder_finish(recording.recorder, &recording.counts), -ENOSPC);
	message = gt_log_end_capture(&capture);
	first = strstr(message, recording.path);
	assert_non_null(first);
	assert_null(strstr(first + 1, recording.path));
	free(message);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agents_find_what_they_need),
		cmocka_unit_test(test_sites_that_cannot_be_told_are_refused),
		cmocka_unit_test(test_each_thread_keeps_its_order),
		cmocka_unit_test(test_losses_are_told_where_they_were),
		cmocka_unit_test(test_a_full_chunk_is_offered_to_its_thread),
		cmocka_unit_test(test_a_chunk_that_was_taken_again_is_read_again),
		cmocka_unit_test(test_ends_and_names_are_told),
		cmocka_unit_test(test_an_exec_ends_a_thread),
		cmocka_unit_test(test_a_newer_thread_keeps_its_tid),
		cmocka_unit_test(test_contradictions_are_lost),
		cmocka_unit_test(test_numbers_that_are_not_known),
		cmocka_unit_test(test_a_killed_process_has_ended),
		cmocka_unit_test(test_an_end_in_a_chunk_that_was_not_left),
		cmocka_unit_test(test_times_that_have_not_come),
		cmocka_unit_test(test_a_counter_that_starts_anew),
		cmocka_unit_test(test_holes_are_waited_for_and_passed),
		cmocka_unit_test(test_nonsense_does_no_harm),
#ifdef __x86_64__
		cmocka_unit_test(test_the_counter_becomes_time),
#endif
		cmocka_unit_test(test_the_flight_recorder_keeps_the_newest),
		cmocka_unit_test(test_a_short_flight_is_whole),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_speed),
		cmocka_unit_test(test_a_full_disk_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
